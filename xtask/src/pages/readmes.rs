//! Generates the README of each library crate from the front page of its documentation. The example there is
//! a test.

use anyhow::Result;

use crate::cargo::Workspace;

/// Generates all READMEs. Returns their paths and texts.
pub(crate) fn readmes(workspace: &Workspace) -> Result<Vec<(String, String)>> {
    let metadata = workspace.metadata("--no-deps")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    // A manifest may forbid that its package is published. The program uses the README of the project.
    let libraries =
        packages.filter(|package| package["publish"].is_null() && package["name"] != "forage-cli");
    let names = libraries.filter_map(|package| package["name"].as_str());
    let file = |name: &str| {
        let source = workspace.read(format!("crates/{name}/src/lib.rs"))?;
        Ok((format!("crates/{name}/README.md"), readme(name, &source)))
    };
    names.map(file).collect()
}

/// Converts the front page to plain Markdown. Removes lines that only a test needs, and links to items.
fn readme(name: &str, source: &str) -> String {
    let front = source.lines().map_while(|line| line.strip_prefix("//!"));
    let mut text = format!(
        "# {name}\n\n<!-- Written by `cargo xtask generate` from the front page of src/lib.rs; don't edit. -->\n\n"
    );
    let mut in_code = false;
    for line in front.map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        match line.strip_prefix("```") {
            Some(kind) if !in_code => {
                in_code = true;
                text.push_str(if kind.is_empty() || kind == "no_run" { "```rust" } else { line });
            }
            Some(_) => {
                in_code = false;
                text.push_str(line);
            }
            None if in_code && (line == "#" || line.starts_with("# ")) => continue,
            None if in_code => text.push_str(line),
            None => text.push_str(&without_links(line)),
        }
        text.push('\n');
    }
    text.push_str("\n## Licence\n\nMIT or Apache-2.0, at your choice. A part of Forage, code search for agents and people.\n");
    text
}

/// Replaces links to items in a line with their names.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("[`") {
        text.push_str(before);
        let Some((item, after)) = after.split_once("`]") else {
            text.push_str("[`");
            rest = after;
            continue;
        };
        text.push_str(&format!("`{item}`"));
        rest = after.strip_prefix('(').and_then(|target| Some(target.split_once(')')?.1)).unwrap_or(after);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readme_is_the_front_page_without_compiler_directives() {
        let source = "//! What it is: a [`Root`] and [`walk`](fn@walk).\n//!\n//! ```\n//! let a = 1;\n//! # hidden();\n//! #[x]\n//! ```\n\nmod a;\n//! none\n";
        let text = readme("x", source);
        assert!(
            text.contains("What it is: a `Root` and `walk`.\n\n```rust\nlet a = 1;\n#[x]\n```\n"),
            "{text}"
        );
        assert!(!text.contains("hidden") && !text.contains("none"), "{text}");
    }
}

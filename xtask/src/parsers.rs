//! Every parser of foreign bytes has a fuzz target.
//!
//! A source file that calls a parser declares its targets in comment lines: `// fuzz: TEST` for a test of its own,
//! `// fuzz: FILE TEST` for one of another file (below `crates`), or `// not fuzzed: REASON`. The check finds files that
//! call a parser without such a line, and lines that name a test which does not exist.

use std::collections::BTreeSet;

use crate::cargo::Workspace;
use crate::house;

/// Calls by which formats are read.
const CALLS: [&str; 11] = [
    "serde_json::from_slice(",
    "serde_json::from_slice::<",
    "serde_json::from_str(",
    "serde_json::from_str::<",
    "Deserializer::from_",
    "toml::from_str",
    "parse::<Table>",
    "::from_le_bytes",
    "httparse::Request",
    "GitignoreBuilder::new",
    "encoding_rs::UTF",
];

/// The part of a source that is in the product: up to the module with its tests.
fn product(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let begins_tests = |at: &usize| {
        let is_for_tests = lines[*at].starts_with("#[cfg(test)]") || lines[*at].starts_with("#[cfg(all(test");
        // A module in a file of its own leaves the rest of this one in the product.
        let item = lines[*at..].iter().find(|line| line.starts_with("mod ") || line.starts_with("pub"));
        is_for_tests && item.is_some_and(|line| line.ends_with('{'))
    };
    let end = (0..lines.len()).find(begins_tests).unwrap_or(lines.len());
    lines[..end].to_vec()
}

fn is_reader(text: &str) -> bool {
    product(text)
        .iter()
        .filter(|line| !line.trim_start().starts_with("//"))
        .any(|line| CALLS.iter().any(|call| line.contains(call)))
}

/// Checks the declarations of all source files.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let (mut found, mut readers, mut targets) = (Vec::new(), 0, BTreeSet::new());
    for path in house::sources(workspace)? {
        let shown = workspace.shown(&path);
        let is_test =
            shown.contains("/tests/") || shown.ends_with("/tests.rs") || shown.ends_with("/fuzz.rs");
        // The fuzz harness makes the inputs and reads none.
        if is_test || !shown.contains("/src/") || shown.starts_with("crates/forage-fuzz/") {
            continue;
        }
        let text = workspace.read(&path)?;
        let named: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("// fuzz: ")).collect();
        let has_reason = text.lines().any(|line| line.starts_with("// not fuzzed: "));
        if is_reader(&text) && named.is_empty() && !has_reason {
            found.push(format!(
                "{shown} reads a format and has no fuzz target: write one and name it there, in a line `// fuzz: TEST`"
            ));
        }
        readers += usize::from(!named.is_empty() || has_reason);
        for target in named {
            let (file, test) = match target.split_once(' ') {
                Some((file, test)) => (format!("crates/{file}"), test),
                None => (shown.clone(), target),
            };
            let text = workspace.read(&workspace.path(&file)).unwrap_or_default();
            if !text.contains(&format!("fn {test}()")) {
                found.push(format!("{file} has no fuzz target {test}, which {shown} names"));
            }
            targets.insert((file, test.to_owned()));
        }
    }
    if !found.is_empty() {
        return Err(found.join("\n"));
    }
    println!("    {readers} files that read foreign bytes have {} fuzz targets", targets.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_a_format_in_the_product_is_seen() {
        assert!(is_reader("fn f() {\n    let x = serde_json::from_slice(b);\n}\n"));
        assert!(is_reader("fn f() { u32::from_le_bytes(x) }\n#[cfg(test)]\nmod tests {}\n"));
        assert!(is_reader("#[cfg(test)]\nmod tests;\nfn f() { toml::from_str(x) }\n"));
        assert!(!is_reader("// serde_json::from_slice(\nfn f() {}\n"));
        assert!(!is_reader("fn f() {}\n#[cfg(test)]\nmod tests {\n    toml::from_str(\"\");\n}\n"));
    }

    #[test]
    fn every_parser_of_this_source_has_its_target() {
        check(&Workspace::of_this_source()).unwrap();
    }
}

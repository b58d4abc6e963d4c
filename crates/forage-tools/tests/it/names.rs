//! Texts for callers must not contain the built-in name of a tool, because the user may have renamed it.

use std::path::{Path, PathBuf};

use forage_tools::registry::TOOLS;

/// Collects the sources of this crate, except for tests.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            found.push(path);
        }
    }
}

/// Finds tool names in a line's string literals that are not part of a template's `{name}`.
fn bare_names(line: &str) -> Vec<&'static str> {
    let line = line.trim_start();
    let is_text = line.contains('"') || line.ends_with('\\') || line.ends_with("\",");
    let is_name = ["//", "const NAME", "mod ", "use ", "pub use"].iter().any(|start| line.starts_with(start));
    if !is_text || is_name || line.contains("include_str!") {
        return Vec::new();
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // `Search` is also an ordinary word, so we can't check it.
    let ids = TOOLS.iter().map(|tool| tool.id()).filter(|id| *id != "Search");
    ids.filter(|id| {
        line.match_indices(id).any(|(at, _)| {
            let (before, behind) = (&line[..at], &line[at + id.len()..]);
            let is_word = !before.ends_with(is_part) && !behind.starts_with(is_part);
            is_word && !(before.ends_with('{') && behind.starts_with(['}', '.'])) && !behind.starts_with("::")
        })
    })
    .collect()
}

#[test]
fn texts_name_other_tools_as_they_are_called() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 40, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        for (number, line) in code.lines().enumerate() {
            let is_description = file.extension().is_some_and(|extension| extension == "md");
            let names = bare_names(&if is_description { format!("\"{line}") } else { line.to_owned() });
            assert_eq!(names, [""; 0], "{}:{}: {line}", file.display(), number + 1);
        }
    }
}

#[test]
fn the_look_at_the_sources_can_fail() {
    assert_eq!(bare_names("    \"read them with read_file\""), ["read_file"]);
    assert_eq!(bare_names("    list it with list_directory, or \\"), ["list_directory"]);
    for fine in [
        "\"[[read them with {read_file}]]\"",
        "// read_file \"x\"",
        "const NAME: &str = \"read_file\";",
        "\"read_files\"",
    ] {
        assert_eq!(bare_names(fine), [""; 0], "{fine}");
    }
}

//! Compares the definitions of the files in `fixtures`, at least one per language, with the `.outline` file
//! of each.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read their fixtures, print what differs, and fail by panicking"
)]

use std::fmt::Write as _;
use std::path::Path;

use forage_base::Stop;
use forage_syntax::{Language, definitions};

/// Formats the definitions of a text, one per line.
fn outline(language: &'static Language, text: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut outline = String::new();
    for definition in definitions(language, text, &Stop::never())? {
        let indent = "  ".repeat(definition.depth as usize);
        let scope = definition.scope.map(|scope| format!("{scope} → ")).unwrap_or_default();
        let lines = match definition.start_line == definition.line {
            true => format!("{}-{}", definition.line, definition.end_line),
            false => format!("{}/{}-{}", definition.start_line, definition.line, definition.end_line),
        };
        let error = if definition.has_error { " (error)" } else { "" };
        writeln!(outline, "{indent}{} {scope}{} {lines}{error}", definition.kind, definition.name)?;
    }
    Ok(outline)
}

/// Compares each `fixtures/NAME/FILE` with `fixtures/NAME/FILE.outline`, where `NAME` is the language. If you
/// set `UPDATE_FIXTURES=1`, this writes the outlines instead. You must then review the difference.
#[test]
fn outlines_of_fixtures() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let (mut failures, mut compared) = (String::new(), 0);
    let mut directories: Vec<_> = std::fs::read_dir(root)?.collect::<Result<_, _>>()?;
    directories.sort_by_key(std::fs::DirEntry::file_name);
    for directory in directories {
        let name = directory.file_name().to_string_lossy().into_owned();
        let mut files: Vec<_> = std::fs::read_dir(directory.path())?.collect::<Result<_, _>>()?;
        files.sort_by_key(std::fs::DirEntry::file_name);
        for file in files {
            let path = file.path();
            if path.extension().is_some_and(|extension| extension == "outline") {
                continue;
            }
            let shown = path.to_string_lossy();
            let language =
                Language::for_name(&name, &shown).ok_or_else(|| format!("no grammar for {name}"))?;
            let found = outline(language, &std::fs::read_to_string(&path)?)?;
            let expected_path = format!("{shown}.outline");
            if std::env::var_os("UPDATE_FIXTURES").is_some() {
                std::fs::write(&expected_path, &found)?;
            }
            let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
            compared += 1;
            if found != expected {
                writeln!(failures, "--- {shown}\n{found}")?;
            }
        }
    }
    assert!(failures.is_empty() && compared > 0, "{compared} compared\n{failures}");
    Ok(())
}

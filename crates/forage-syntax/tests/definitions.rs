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

/// A comment about the file or module is no documentation of the definition on the next line.
#[test]
fn comments_about_the_file_document_no_definition() -> Result<(), Box<dyn std::error::Error>> {
    for (name, text, expected) in [
        ("rust", "//! About the module.\n//! More.\nfn first() {}\n", "fn first 3-3\n"),
        ("rust", "//! About the module.\n/// About it.\nfn first() {}\n", "fn first 2/3-3\n"),
        ("rust", "/*! About the module. */\nfn first() {}\n", "fn first 2-2\n"),
        (
            "rust",
            "mod inner {\n    //! About the module.\n    fn first() {}\n}\n",
            "mod inner 1-4\n  fn first 3-3\n",
        ),
        ("zig", "//! About the file.\nfn first() void {}\n", "fn first 2-2\n"),
        ("bash", "#!/bin/sh\nfirst() {\n  :\n}\n", "function first 2-4\n"),
        ("python", "#!/usr/bin/env python3\ndef first():\n    pass\n", "def first 2-3\n"),
        ("javascript", "/**\n * @file Helpers.\n */\nfunction first() {}\n", "function first 4-4\n"),
        (
            "c",
            "/** \\file\n * Helpers. */\n/** About it. */\nint first(void) { return 1; }\n",
            "function first 3/4-4\n",
        ),
        // Controls: these comments are about the definition. In C++, `//!` begins documentation.
        ("rust", "/// About it.\nfn first() {}\n", "fn first 1/2-2\n"),
        ("bash", "# About it.\nfirst() {\n  :\n}\n", "function first 1/2-4\n"),
        ("cpp", "//! About it.\nint first() { return 1; }\n", "function first 1/2-2\n"),
        ("javascript", "/** Opens an @file. */\nfunction first() {}\n", "function first 1/2-2\n"),
    ] {
        let language = Language::for_name(name, "").ok_or_else(|| format!("no grammar for {name}"))?;
        assert_eq!(outline(language, text)?, expected, "{name}: {text}");
    }
    Ok(())
}

//! Tests that notebooks are searched by the lines of their cells, with and without an index.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use forage_fs::{RelPath, WalkOptions};
use forage_search::{FileEvents, Pattern, PatternOptions, ScanOptions};
use serde_json::json;

use crate::external::Wanted;
use crate::index::{SETTLED, answer, index, segment};
use crate::trees::Random;
use crate::watched::watched_index;

const LINES: &[&str] = &[
    "import pandas as pd",
    "print(\"größer\", 'x')",
    "\tpath = \"C:\\\\data\" # needle",
    "# 查询 needle",
    "",
    "def load(path): # emoji \u{1f600}",
    "x = \"a\\n\" + b",
];

/// Encodes text as JSON, with or without escapes for non-ASCII characters.
fn string(text: &str, is_ascii: bool) -> String {
    let quoted = json!(text).to_string();
    if !is_ascii {
        return quoted;
    }
    let escape = |character: char| match character.is_ascii() {
        true => character.to_string(),
        false => character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    };
    quoted.chars().map(escape).collect()
}

/// Generates a notebook, and the text that is searched in it.
fn notebook(random: &mut Random) -> (String, String) {
    let (mut stored, mut text) = (String::new(), String::new());
    let mut line = |json: &str, shown: &str| {
        stored += &format!("{json}\n");
        text += &format!("{shown}\n");
    };
    line("{\n \"cells\": [", "\n");
    let (cells, is_ascii) = (1 + random.below(4), random.one_in(2));
    for cell in 0..cells {
        let kind = random.pick(&["code", "markdown", "raw"]);
        line(&format!("  {{\n   \"cell_type\": \"{kind}\","), "\n");
        line("   \"outputs\": [{\"text\": [\"needle 查询 größer in an output\\n\"]}],", "");
        line("   \"source\": [", "");
        let lines = 1 + random.below(6);
        for number in 0..lines {
            let (content, is_last) = (random.pick(LINES), number + 1 == lines);
            let feed = if is_last { "" } else { "\n" };
            let comma = if is_last { "" } else { "," };
            line(&format!("    {}{comma}", string(&format!("{content}{feed}"), is_ascii)), content);
        }
        let comma = if cell + 1 == cells { "" } else { "," };
        line(&format!("   ]\n  }}{comma}"), "\n");
    }
    line(" ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}", "\n\n\n\n");
    (stored, text)
}

fn wanted(scan: ScanOptions) -> Wanted {
    let (options, walk) = (PatternOptions::default(), WalkOptions::default());
    Wanted { text: "", options, walk, scan, shown: String::new() }
}

fn shown(files: &[FileEvents]) -> Vec<FileEvents> {
    files.iter().map(|file| FileEvents { is_stored_notebook: false, ..file.clone() }).collect()
}

#[test]
fn index_changes_no_notebook_answer() {
    let mut random = Random::new(59);
    let directory = tempfile::tempdir().unwrap();
    let [stored, plain] = ["stored", "plain"].map(|name| directory.path().join(name));
    [&stored, &plain].iter().for_each(|root| fs::create_dir(root).unwrap());
    for number in 0..40 {
        let (json, text) = notebook(&mut random);
        fs::write(stored.join(format!("{number}.ipynb")), json).unwrap();
        fs::write(plain.join(format!("{number}.ipynb")), text).unwrap();
    }
    std::thread::sleep(SETTLED);
    let base = segment(&stored, None);
    let layers = Arc::new(index(&[&base]));
    let (_watched, listed) = watched_index(&stored, &[&base]);
    let patterns = [
        "print(\"größer\"",
        "C:\\\\data",
        "# 查询 needle$",
        "^\tpath",
        "emoji \u{1f600}",
        "in an output",
        "cell_type|\"source\"",
        "needle",
        "import",
        "zzzz",
    ];
    let mut matches = 0;
    for text in patterns {
        for round in 0..6 {
            let is_literal = !text.contains(['$', '^', '|']);
            let fuzzy = u8::from(round == 5 && text.len() > 6);
            let options = PatternOptions { literal: is_literal, fuzzy, ..PatternOptions::default() };
            let pattern = Pattern::new(text, &options).unwrap();
            let context = round % 3;
            let wanted = wanted(ScanOptions {
                before_context: context,
                after_context: context,
                invert: round == 4,
                exhaustive: true,
                ..ScanOptions::default()
            });
            let answer = |root: &Path, index: Option<&Arc<_>>| {
                answer(root, &RelPath::root(), &pattern, &wanted, usize::MAX, index)
            };
            let expected = answer(&plain, None);
            let scanned = answer(&stored, None);
            assert_eq!(shown(&scanned.0), shown(&expected.0), "{text}");
            assert!(scanned.0.iter().all(|file| !file.is_stored_notebook), "{text}");
            assert_eq!(answer(&stored, Some(&layers)), scanned, "{text}, with an index");
            assert_eq!(answer(&stored, Some(&listed)), scanned, "{text}, in a watched tree");
            matches += scanned.0.len();
        }
    }
    assert!(matches > 500, "{matches}");
}

#[test]
fn notebook_without_cells_is_searched_as_stored() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let cells = json!({ "cells": [
        { "cell_type": "code", "source": ["import \"a\"\n", "needle()\n"], "outputs": [] },
    ], "metadata": {}, "nbformat": 4 });
    fs::write(root.join("1.ipynb"), cells.to_string()).unwrap();
    let of_conflict = "{\n<<<<<<< ours\n \"cells\": [\n \"needle\"\n";
    fs::write(root.join("2.ipynb"), of_conflict).unwrap();
    let one_string = "{\"cells\": [\n{\"cell_type\": \"code\",\n \"source\": \"a\\nneedle\"},\n\
        {\"cell_type\": \"code\",\n \"source\": \"x = 'needle'\"}], \"metadata\": {}}\n";
    fs::write(root.join("3.ipynb"), one_string).unwrap();
    let old = "{\"worksheets\": [{\"cells\": [\n{\"input\": \"needle\"}]}]}\n";
    fs::write(root.join("4.ipynb"), old).unwrap();
    let pattern = Pattern::new("needle", &PatternOptions::default()).unwrap();
    let wanted = wanted(ScanOptions::default());
    let (files, report) = answer(root, &RelPath::root(), &pattern, &wanted, usize::MAX, None);
    let found: Vec<(u64, String)> = files
        .iter()
        .flat_map(|file| &file.events)
        .map(|event| (event.line_number, String::from_utf8_lossy(&event.bytes).trim_end().to_owned()))
        .collect();
    let line = |number: u64, text: &str| (number, text.to_owned());
    assert_eq!(
        found,
        [
            line(1, &cells.to_string()),
            line(4, " \"needle\""),
            line(3, " \"source\": \"a\\nneedle\"},"),
            line(5, "x = 'needle'"),
            line(2, "{\"input\": \"needle\"}]}]}"),
        ]
    );
    assert!(files.iter().all(|file| file.is_stored_notebook));
    // Only the third notebook has omitted parts.
    assert!(report.contains("skipped: Skipped([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])"), "{report}");
}

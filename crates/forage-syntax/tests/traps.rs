//! Tests sources full of traps, e.g. heredocs with code in them, signatures over several lines, nested
//! comments, and operators as names. `traps/expected.json` lists the definitions that an outline should have.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read their fixtures, print what differs, and fail by panicking"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use forage_base::Stop;
use forage_syntax::{Category, Definition, Language, definitions};
use serde_json::Value;

/// The language of each file, by extension or name.
const LANGUAGES: &[(&str, &str)] = &[
    ("Makefile", "make"),
    ("adb", "ada"),
    ("clj", "clojure"),
    ("cls", "apex"),
    ("cpp", "cpp"),
    ("dart", "dart"),
    ("ex", "elixir"),
    ("fs", "fsharp"),
    ("graphql", "graphql"),
    ("hs", "haskell"),
    ("ipynb", "jupyter"),
    ("java", "java"),
    ("jl", "julia"),
    ("lua", "lua"),
    ("m", "objective-c"),
    ("ml", "ocaml"),
    ("pas", "pascal"),
    ("pm", "perl"),
    ("c", "c"),
    ("rs", "rust"),
    ("scala", "scala"),
    ("sh", "bash"),
    ("sv", "verilog"),
    ("svelte", "svelte"),
    ("tcl", "tcl"),
    ("ts", "typescript"),
    ("zig", "zig"),
];

/// Minimum share of the definitions that we must find by name and line, for languages that have a grammar.
const LEAST_FOUND: f64 = 0.95;

#[test]
fn traps() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traps");
    let expected: BTreeMap<String, Vec<Value>> =
        serde_json::from_str(&std::fs::read_to_string(root.join("expected.json"))?)?;
    let (mut report, mut all, mut right, mut wrong_ends, mut extra) = (String::new(), 0, 0, 0, 0);
    for (file, wanted) in &expected {
        let by = file.rsplit_once('.').map_or(file.as_str(), |(_, extension)| extension);
        let name = LANGUAGES.iter().find(|(extension, _)| *extension == by).map_or("", |(_, name)| name);
        let Some(language) = Language::for_name(name, file) else {
            writeln!(report, "{file}: no grammar")?;
            continue;
        };
        let found = definitions(language, &std::fs::read_to_string(root.join(file))?, &Stop::never())?;
        let at = |wanted: &Value, found: &&Definition| {
            let is_name = wanted["name"].as_str() == Some(&found.name);
            is_name && wanted["line"].as_u64() == Some(found.line.into())
        };
        for entry in wanted.iter().filter(|entry| entry["opt"] == false) {
            all += 1;
            match found.iter().find(|found| at(entry, found)) {
                None => writeln!(report, "{file}: missing {} {}", entry["line"], entry["name"])?,
                Some(found) if entry["end"].as_u64().is_some_and(|end| end != u64::from(found.end_line)) => {
                    right += 1;
                    wrong_ends += 1;
                    writeln!(
                        report,
                        "{file}: {} ends at {}, not {}",
                        found.name, entry["end"], found.end_line
                    )?;
                }
                Some(_) => right += 1,
            }
        }
        let outlined = found.iter().filter(|found| found.category != Category::Field);
        for found in outlined.filter(|found| !wanted.iter().any(|entry| at(entry, found))) {
            extra += 1;
            writeln!(report, "{file}: extra {} {} {}", found.line, found.kind, found.name)?;
        }
    }
    let summary = format!("{right} of {all} found, {wrong_ends} with a wrong end, {extra} not expected");
    println!("{report}{summary}");
    assert!(f64::from(right) >= f64::from(all) * LEAST_FOUND, "{summary}");
    Ok(())
}

//! Runs the real ripgrep as the requirements do: from the root, without a path, without configuration.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Runs `rg`. Note that exit status 1 (nothing found) is not an error.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Vec<u8> {
    let output = Command::new(forage_fuzz::peers::program("rg"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .current_dir(root)
        .stdin(Stdio::null())
        .arg("--no-config")
        .args(["--sort", "path"])
        .args(arguments)
        .output()
        .unwrap();
    let (code, errors) = (output.status.code(), String::from_utf8_lossy(&output.stderr));
    // ripgrep also exits with 2 if the rules leave nothing to search, and for broken or circular links.
    let harmless =
        ["No files were searched", "os error 2", "os error 40", "File system loop", "Running with --debug"];
    let expected = matches!(code, Some(0 | 1))
        || errors.lines().all(|line| line.is_empty() || harmless.iter().any(|known| line.contains(known)));
    assert!(expected, "rg {arguments:?} ended with {code:?}: {errors}");
    output.stdout
}

/// A line as both sides report it: path, number, whether it matches, bytes, spans.
pub(crate) type Record = (Vec<u8>, u64, bool, Vec<u8>, Vec<(usize, usize)>);

/// Collects the records of `rg --json` for text files. Also returns the number of files with both a match and
/// a NUL byte.
pub(crate) fn records(root: &Path, arguments: &[String]) -> (Vec<Record>, u64) {
    let mut all = vec!["--json".to_owned()];
    all.extend_from_slice(arguments);
    let output = run(root, &all);
    let (mut records, mut binary) = (Vec::new(), 0);
    let lines = output.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    for event in lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()) {
        let data = &event["data"];
        match event["type"].as_str().unwrap() {
            "end" if !data["binary_offset"].is_null() => {
                let path = bytes(&data["path"]);
                records.retain(|record: &Record| record.0 != path);
                binary += 1;
            }
            kind @ ("match" | "context") => records.push(record(data, kind == "match")),
            _ => {}
        }
    }
    (records, binary)
}

fn record(data: &Value, is_match: bool) -> Record {
    let offset = |span: &Value, end: &str| usize::try_from(span[end].as_u64().unwrap()).unwrap();
    let spans = data["submatches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| (offset(span, "start"), offset(span, "end")));
    let spans = if is_match { spans.collect() } else { Vec::new() };
    (bytes(&data["path"]), data["line_number"].as_u64().unwrap(), is_match, bytes(&data["lines"]), spans)
}

/// Decodes ripgrep's `{"text": …}` or `{"bytes": base64}`.
fn bytes(value: &Value) -> Vec<u8> {
    if let Some(text) = value["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let encoded = value["bytes"].as_str().unwrap().trim_end_matches('=').as_bytes();
    let mut out = Vec::new();
    for chunk in encoded.chunks(4) {
        let word =
            chunk.iter().fold(0u32, |word, &c| word << 6 | u32::from(digit(c))) << (6 * (4 - chunk.len()));
        out.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    out
}

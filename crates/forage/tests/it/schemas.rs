//! What `--json` prints keeps to what `forage schema` says, as somebody else's validator sees it.
#![expect(clippy::panic, reason = "in the helpers of tests, too, a panic is a failed test")]

use std::process::Command;

use serde_json::{Value, json};

use crate::contract::{cases, project};
use crate::mcp_clients::Peers;
use crate::peer::{Peer, good};
use crate::{Project, Run};

/// Commands whose JSON is for people and for reports of bugs, and no promise to scripts.
const NOT_PROMISED: &[&str] = &["completions", "doctor", "eval", "man", "schema", "setup", "tools"];

/// The schema of what a command prints.
fn schema_of(arguments: &[&str]) -> &'static str {
    let words = arguments.iter().copied().filter(|word| !word.starts_with('-'));
    let words: Vec<&str> = words.collect();
    match (words.first().copied().unwrap_or(""), words.get(1).copied()) {
        ("call", Some("grep_search")) | ("grep", _) => "grep",
        ("call", Some("search_index")) | ("rank", _) => "rank",
        // The command has lines, the call one document.
        ("call", Some("Search")) => "call-search",
        ("call", _) => "error",
        ("search", _) => "search",
        ("keyword", _) => "keyword",
        ("lookup", _) => "lookup",
        ("list", _) => "list",
        ("files", _) => "files",
        ("read", _) => "read",
        ("ask", _) => "ask",
        ("models", _) => "models",
        ("config", _) => "config",
        ("telemetry", _) => "telemetry",
        ("index", Some("build")) if arguments.contains(&"--ranked") => "index-build-ranked",
        ("index", Some("build")) => "index-build",
        ("index", Some("status")) => "index-status",
        ("index", Some("drop")) => "index-drop",
        ("index", Some("verify")) => "index-verify",
        ("sparse", Some("index")) => "sparse-index",
        ("sparse", Some("status")) => "sparse-status",
        ("sparse", Some("drop")) => "sparse-drop",
        ("no_such_command", _) => "error",
        ("", _) => "",
        (word, _) if NOT_PROMISED.contains(&word) => "",
        other => panic!("{other:?} has no schema"),
    }
}

/// What was printed, each document with the schema that it should keep to.
struct Printed {
    project: Project,
    documents: Vec<Value>,
}

impl Printed {
    fn take(&mut self, arguments: &[&str]) -> Run {
        let with_json = [arguments, &["--json"][..]].concat();
        let run = self.project.run(&with_json);
        let name = schema_of(arguments);
        for document in run.stdout.lines() {
            let document: Value = serde_json::from_str(document).unwrap();
            let name = if document["type"] == "error" && name.is_empty() { "error" } else { name };
            if !name.is_empty() {
                self.documents.push(json!([name, arguments.join(" "), document]));
            }
        }
        run
    }
}

#[test]
fn what_is_printed_keeps_to_its_schema() {
    let Some(peers) = Peers::find() else { return };
    let mut printed = Printed { project: project(), documents: Vec::new() };
    for (_, arguments) in cases() {
        printed.take(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let project = &printed.project;
    project.write("secret.txt", "needle = \"AKIAIOSFODNN7EXAMPLE\"\n");
    project.write("latin.txt", "needle \u{e9}\n");
    std::fs::write(project.root.join("bytes.txt"), b"needle \xff\xfe needle\n").unwrap();
    project.write("node_modules/a.js", "needle\n");
    let other = crate::contract::project();
    let [first, second] = [&project.root, &other.root].map(|root| root.display().to_string());
    let of_both = |words: &[&'static str]| {
        let roots = ["--root".to_owned(), first.clone(), "--root".to_owned(), second.clone()];
        [&roots[..], &words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()].concat()
    };
    let log = project.home.join("log.jsonl").display().to_string();
    let peer = Peer::start(vec![good("In `src/lib.rs:1` and `no/such.rs:3`."); 3]);
    let model = format!("[[models]]\nprovider = \"acme\"\nmodel = \"big\"\nbase_url = \"{}\"\n", peer.url());
    project.configure(&format!("{model}[telemetry]\npath = \"{log}\"\n"));
    let more: Vec<Vec<String>> = [
        "grep needle -C 1 -m 1",
        "grep -e needle -e Needle src README.md",
        "grep --count needle",
        "grep -l needle",
        "grep --uses needle",
        "search needle -C 1 --fuzzy 1",
        "search needle -m 1",
        "keyword --filter lexical q needle main README",
        "keyword --filter lexical --candidates union q needle main",
        "rank --code needle",
        "rank needle main no-such-word -n 1",
        r#"call search_index {"query":"needle","explain":true,"code_tokens":400}"#,
        "list",
        "list -r --timeout-ms 5000",
        "files *.rs",
        "files nedle.rs",
        "read src/lib.rs -s 1 -e 1",
        "read src/lib.rs --outline",
        "index build",
        "index build --ranked",
        "index status",
        "index verify",
        "ask where-is-needle",
        "models",
        "models --check",
        "telemetry",
        "telemetry --since 7d",
    ]
    .iter()
    .map(|words| words.split(' ').map(str::to_owned).collect())
    .chain([of_both(&["grep", "needle"]), of_both(&["search", "needle"]), of_both(&["index", "status"])])
    .collect();
    for arguments in &more {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let name = words.iter().position(|word| *word == first || *word == second);
        let run = match name {
            // The roots stand in front of the command.
            Some(_) => {
                let command: Vec<&str> = words[4..].to_vec();
                let with_roots = [&command[..], &words[..4]].concat();
                printed.take(&with_roots)
            }
            None => printed.take(&words),
        };
        assert!(run.status < 2, "{arguments:?}: {run:?}");
    }
    #[cfg(feature = "embedded-store")]
    for arguments in [
        &["sparse", "index", "."][..],
        &["sparse", "status"],
        &["lookup", "needle"],
        &["lookup", "absent_from_everything"],
        &["sparse", "drop"],
    ] {
        let run = printed.take(arguments);
        assert!(run.status < 2, "{arguments:?}: {run:?}");
    }
    let schemas = printed.project.run(&["schema", "--json"]).json();
    for name in schemas.as_object().unwrap().keys() {
        assert_eq!(printed.project.run(&["schema", name]).json(), schemas[name], "{name}");
    }
    assert_eq!(printed.project.run(&["schema", "nothing"]).status, 2);
    let given = json!({ "schemas": schemas, "documents": printed.documents }).to_string();
    let path = printed.project.home.join("documents.json");
    std::fs::write(&path, given).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/schemas.py");
    let mut python = Command::new(peers.python(2));
    let output = python.arg(script).stdin(std::fs::File::open(&path).unwrap()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(said.trim_end().ends_with("all documents keep to their schemas"), "{said}");
}

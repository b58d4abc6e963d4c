//! The `--json` output must conform to `forage schema`. We check this with an independent validator.
#![expect(clippy::panic, reason = "in the helpers of tests, too, a panic is a failed test")]

use std::process::Command;

use serde_json::{Value, json};

use crate::contract::{cases, project};
use crate::eval::{forage, repository};
use crate::mcp_clients::Peers;
use crate::peer::{Peer, good};
use crate::support::stable;
use crate::{Project, Run};

/// Commands that have no record of their own.
const NOT_PROMISED: &[&str] = &["completions", "man", "schema"];

/// Names the schema for a command's output.
fn schema_of(arguments: &[&str]) -> &'static str {
    let words = arguments.iter().copied().filter(|word| !word.starts_with('-'));
    let words: Vec<&str> = words.collect();
    match (words.first().copied().unwrap_or(""), words.get(1).copied()) {
        ("call", Some("grep_search")) => "grep-uses",
        ("grep", _) if arguments.contains(&"--uses") => "grep-uses",
        ("grep", _) if arguments.contains(&"-Z") || arguments.contains(&"--engine") => "grep-fuzzy",
        // The lines of ripgrep's JSON have no schema of ours.
        ("grep" | "search", _) => "",
        ("call", Some("search_index")) | ("rank", _) => "rank",
        ("call", Some("Search")) => "call-search",
        ("call", _) => "error",
        ("keyword", _) => "keyword",
        ("lookup", _) => "lookup",
        ("list", _) => "list",
        ("files", _) => "files",
        ("read", _) => "read",
        ("history", _) => "history",
        ("why", _) => "why",
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
        ("", _) => "start",
        ("doctor", _) => "doctor",
        ("setup", _) if arguments.contains(&"--plugin-files") => "setup-plugin-files",
        ("setup", Some("other" | "gemini")) => "setup-other",
        ("setup", None) if !arguments.contains(&"--detected") => "setup",
        ("setup", _) => "setup-client",
        ("tools", _) if arguments.contains(&"--cost") => "tools-cost",
        ("tools", _) => "tools",
        ("eval", _) => "eval",
        (word, _) if NOT_PROMISED.contains(&word) => "",
        other => panic!("{other:?} has no schema"),
    }
}

/// The printed documents, each with its expected schema.
struct Printed {
    project: Project,
    documents: Vec<Value>,
}

impl Printed {
    fn take(&mut self, arguments: &[&str]) -> Run {
        let run = self.project.run(&with_json(arguments));
        self.keep(arguments, &run);
        run
    }

    fn keep(&mut self, arguments: &[&str], run: &Run) {
        let name = schema_of(arguments);
        for document in run.stdout.lines() {
            let document: Value = serde_json::from_str(document).unwrap();
            let name = if document["type"] == "error" && name.is_empty() { "error" } else { name };
            if !name.is_empty() {
                self.documents.push(json!([name, arguments.join(" "), document]));
            }
        }
    }
}

fn with_json<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--json"][..]].concat()
}

/// Runs `forage` and `forage doctor` in several projects.
fn print_diagnoses(printed: &mut Printed) {
    let path = forage_fuzz::peers::path();
    let key = ("OPENAI_API_KEY", "sk-planted0123456789abcdefghijklmnop");
    let mut look = |project: &Project, status: i32, environment: &[(&str, &str)]| {
        let [start, found] = [&[][..], &["doctor"]].map(|arguments| {
            let run = project.run_in(&project.root, &with_json(arguments), environment);
            printed.keep(arguments, &run);
            run
        });
        assert_eq!((start.status, found.status), (0, status), "{found:?}");
        found.json()
    };
    let project = project();
    let found = look(&project, 0, &[("PATH", &path), key]);
    assert_eq!(found["usable"], true);
    assert!(found["models"]["chosen"].is_object() && found["models"]["providers"][0].is_object(), "{found}");
    project.run(&["index", "build"]);
    assert_eq!(look(&project, 0, &[])["index"]["roots"][0]["index"]["state"], "there");
    let file = project.root.join("README.md").display().to_string();
    let found = look(&project, 0, &[("XDG_CACHE_HOME", &file)]);
    assert!(found["caches"]["problem"].is_string(), "{found}");
    let inside = project.root.display().to_string();
    let found = look(&project, 0, &[("XDG_CACHE_HOME", &inside)]);
    assert!(found["index"]["roots"][0]["index"]["problem"].is_string(), "{found}");
    project.configure("[[models]]\nprovider = \"openai\"\nmodel = \"m\"\n");
    assert!(look(&project, 0, &[key])["models"]["named"].is_object());
    let problems = [
        "[providers.acme]\nkey_env = [\"KEY\"]\n",
        "model = [\n",
        "roots = [\"/nonexistent/root\"]\n",
        "sandbox = \"off\"\n[tools.search]\nenabled = true\nengine = \"ugrep\"\n",
    ]
    .map(|text| {
        project.configure(text);
        stable(&look(&project, 2, &[("PATH", "/nonexistent")])["problems"].to_string())
    });
    insta::assert_snapshot!(problems.join("\n"));
}

/// Runs `forage setup`, and then `forage doctor` on the result.
fn print_setups(printed: &mut Printed) {
    let project = project();
    let mut run = |status: i32, words: &str| {
        let arguments: Vec<&str> = words.split(' ').collect();
        let run = project.run(&with_json(&arguments));
        printed.keep(&arguments, &run);
        assert_eq!(run.status, status, "{words}: {run:?}");
        run.json()
    };
    run(0, "setup");
    run(2, "setup --write");
    run(0, "setup --plugin-files");
    run(0, "setup other");
    assert_ne!(run(2, "setup gemini")["similar"], json!([]));
    run(2, "setup gemini --write");
    assert_eq!(run(0, "setup --detected"), json!({ "answers": [] }));
    run(0, "setup gemini-cli");
    let write = format!("setup gemini-cli --write --command {}", env!("CARGO_BIN_EXE_forage"));
    assert_eq!(run(0, &write)["check"]["serves"], true);
    assert_eq!(run(0, &write)["change"], "none");
    run(0, "setup");
    run(0, "doctor");
    run(0, "setup gemini-cli --remove --dry-run");
    assert_eq!(run(0, "setup gemini-cli --remove")["change"], "delete");
    assert_eq!(run(0, "setup gemini-cli --remove")["change"], "none");
    assert_ne!(run(0, "setup claude-code --with all --write --no-check --command forage")["with"], json!([]));
    run(0, "setup claude-code --with all");
    assert_ne!(run(0, "setup zed --with all")["not_taken"], json!([]));
    run(2, "setup zed --with hooks");
    run(0, "setup claude-code --scope project --write --no-check");
    let settings = project.home.join(".claude/settings.json");
    std::fs::write(settings, "{ broken").unwrap();
    let refused = run(2, "setup claude-code --with hooks --write --no-check --command forage");
    assert_eq!(refused["with"][0]["change"], "refused");
    // Entries that don't work, that Forage did not write or can't parse, and that are not trusted.
    let failing = run(2, "setup codex --write --command /nonexistent/forage");
    assert_eq!(failing["check"]["works"], false);
    for (file, text) in [
        (".cursor/mcp.json", "{ broken"),
        (".gemini/settings.json", r#"{"mcpServers": {"forage": {"command": "rm"}}}"#),
    ] {
        let path = project.home.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let entry = r#"{"mcpServers": {"forage": {"command": "forage", "args": ["mcp"], "env": {"A": "b"}}}}"#;
    project.write(".mcp.json", entry);
    run(2, "setup cursor");
    let found = run(2, "doctor");
    let states = ["set_up", "foreign", "not_understood"];
    assert!(states.iter().all(|state| found["clients"].to_string().contains(state)), "{found}");
    let tried = |is_tried: bool| {
        let clients = found["clients"].as_array().unwrap();
        clients.iter().any(|client| client["check"]["tried"] == is_tried)
    };
    assert!(tried(true) && tried(false), "{found}");
    run(0, "setup");
    let detected = run(2, "setup --detected --write --no-check --command forage");
    assert!(detected["error"].is_string() && detected.to_string().contains("refused"), "{detected}");
    // This client has no project file.
    std::fs::create_dir_all(project.home.join(".codeium/windsurf")).unwrap();
    let detected = run(0, "setup --detected --scope project --command forage");
    let answers = detected["answers"].as_array().unwrap();
    assert!(
        answers.iter().any(|answer| answer["file"].is_null() && answer["change"] == "none"),
        "{detected}"
    );
}

/// Runs `forage eval` in all of its forms: on query sets, and on histories of a few commits.
fn print_evaluations(printed: &mut Printed) {
    let history = repository();
    let lines = json!({ "src/alpha.rs": [[1, 2]] });
    let of_lines =
        json!({ "query": "retry backoff", "relevant": ["src/alpha.rs"], "lines": lines, "commit": "c1" });
    let gone = json!({ "query": "parse header", "relevant": ["src/gone.rs"] });
    let set = json!([{ "name": "shop", "language": "rust", "queries": [of_lines, gone] }]);
    history.write("lines.json", &set.to_string());
    history.write("empty.json", r#"{"name": "empty", "queries": []}"#);
    let mut run = |status: i32, words: &str| {
        let arguments: Vec<&str> = words.split(' ').collect();
        let run = forage(&history, &with_json(&arguments));
        printed.keep(&arguments, &run);
        assert_eq!(run.status, status, "{words}: {run:?}");
        run.json()
    };
    assert!(run(0, "eval --from-git 7 --save set.json")["saved"].is_string());
    assert!(run(0, "eval set.json --at-revision --ablate")["ablation"].is_array());
    let measured = run(0, "eval lines.json --lines 1000");
    assert_ne!(measured["missing_targets"], json!([]));
    history.write("before.json", &measured.to_string());
    let beside = run(0, "eval lines.json --lines 1000 --beside before=before.json");
    assert!(beside["lines"]["ways"][1]["forage_less_this"].is_object(), "{beside}");
    assert_eq!(run(1, "eval empty.json")["latency_ms"]["p50"], Value::Null);
    run(2, "eval");
    run(2, "eval gone.json");
    assert!(run(0, "history -p src -m 1")["commits"][0]["files"].is_array());
    assert_eq!(run(1, "history -F absent_from_everything")["complete"], true);
}

#[test]
fn printed_documents_match_their_schema() {
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
        "grep --uses needle",
        "grep --uses needle --max-results 1",
        "grep needle -C 1 -Z 1",
        "grep needle -Z 1 --max-results 1",
        r#"call grep_search {"pattern":"needle","output":"counts"}"#,
        r#"call grep_search {"pattern":"needle","output":"files"}"#,
        "keyword --filter lexical q needle main README",
        "keyword --filter lexical --candidates union q needle main",
        "rank --code needle",
        "rank needle main no-such-word -m 1",
        r#"call search_index {"query":"needle","explain":true,"code_tokens":400}"#,
        "list",
        "list --recursive --timeout-ms 5000",
        "files *.rs",
        "files nedle.rs",
        "read src/lib.rs --start-line 1 --end-line 1",
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
        "tools --all",
        "tools --all --cost",
        "tools --all --format mcp --every-argument",
        "tools --all --format openai-strict",
        "tools --all --format anthropic",
        "tools --all --format gemini",
    ]
    .iter()
    .map(|words| words.split(' ').map(str::to_owned).collect())
    .chain([
        of_both(&["grep", "--uses", "needle"]),
        of_both(&["grep", "-Z", "1", "needle"]),
        of_both(&["index", "status"]),
    ])
    .collect();
    for arguments in &more {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let name = words.iter().position(|word| *word == first || *word == second);
        let run = match name {
            // The roots come first here, before the command.
            Some(_) => {
                let command: Vec<&str> = words[4..].to_vec();
                let with_roots = [&command[..], &words[..4]].concat();
                printed.take(&with_roots)
            }
            None => printed.take(&words),
        };
        assert!(run.status < 2, "{arguments:?}: {run:?}");
    }
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
    print_diagnoses(&mut printed);
    print_setups(&mut printed);
    print_evaluations(&mut printed);
    let written = crate::mcp::team::audit_lines().into_iter();
    printed.documents.extend(written.map(|line| json!(["audit-line", "mcp --audit", line])));
    #[cfg(unix)]
    printed.documents.extend(crate::ui::journal_lines().into_iter().map(|line| {
        let name = if line["type"] == "process" { "ui-process" } else { "ui-call" };
        json!([name, "mcp with a journal", line])
    }));
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
    assert!(said.trim_end().ends_with("all documents conform to their schemas"), "{said}");
}

//! The `--json` contract of every command. The output is always one document, or lines that each have a
//! `type`. This includes the error if there is one.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::peer::{Peer, Reply, good};
use crate::{Project, Run};

/// Returns the single document of a run, or the last of its typed lines.
fn document(run: &Run) -> Value {
    if let Ok(document) = serde_json::from_str(&run.stdout) {
        return document;
    }
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect();
    assert!(
        lines.iter().all(|line| line["type"].is_string()),
        "neither one document nor typed lines: {run:?}"
    );
    let is_end = |line: &Value| line["type"] == "summary" || line["type"] == "error";
    assert_eq!(lines.iter().filter(|line| is_end(line)).count(), 1, "not one end: {run:?}");
    assert!(lines.last().is_some_and(is_end), "{run:?}");
    lines.last().unwrap().clone()
}

/// Checks that a run kept the contract, and returns its document.
fn kept(arguments: &[&str], run: &Run) -> Value {
    let document = document(run);
    let has_error = document.get("error").is_some();
    assert_eq!(has_error, run.stderr.contains("forage: error: "), "{arguments:?}: {run:?}");
    assert!(document["error"].is_string() || !has_error, "{arguments:?}: {run:?}");
    assert_eq!(has_error, run.status == 2, "{arguments:?}: {run:?}");
    document
}

pub(crate) fn project() -> Project {
    let project = Project::new(&[
        ("src/main.rs", "fn main() {\n    needle();\n}\n"),
        ("src/lib.rs", "pub fn needle() {}\n// Needle, needles\n"),
        ("README.md", "A needle.\n"),
    ]);
    // The cases also call `Search`, which is off by default.
    project.configure("[tools.search]\nenabled = true\n");
    project
}

/// Lists command lines that cover the outcomes of each command, with their exit status.
pub(crate) fn cases() -> Vec<(i32, Vec<String>)> {
    let absent = "absent_from_everything";
    let call = |request: Value| request.to_string();
    let (found, nothing) = (call(json!({"pattern": "needle"})), call(json!({"pattern": absent})));
    let (bad, outside) = (call(json!({"pattern": "["})), call(json!({"pattern": "x", "path": "../.."})));
    let cases: &[(i32, &[&str])] = &[
        (0, &["call", "grep_search", &found]),
        (0, &["call", "Search", &found]),
        (1, &["call", "grep_search", &nothing]),
        (1, &["call", "Search", &nothing]),
        (2, &["call", "grep_search", &bad]),
        (2, &["call", "Search", &bad]),
        (2, &["call", "grep_search", &outside]),
        (2, &["call", "Search", &outside]),
        (2, &["call", "grep_search", "{"]),
        (2, &["call", "no_such_tool"]),
        (2, &["call"]),
        (0, &["grep", "needle"]),
        (0, &["grep", "needle", "-m", "1", "src"]),
        (0, &["grep", "--uses", "needle"]),
        (0, &["grep", "-Z", "1", "needle"]),
        (2, &["grep", "-Z", "1", "needle", "no/such/path"]),
        (1, &["grep", absent]),
        (2, &["grep", "("]),
        (2, &["grep"]),
        (2, &["grep", "needle", "--no-such-option"]),
        (0, &["search", "needle"]),
        (2, &["search", "needle", "--engine", "ugrep"]),
        (0, &["keyword", "--filter", "lexical", "q", "needle"]),
        (1, &["keyword", "--filter", "lexical", "q", absent]),
        (2, &["keyword", "--filter", "lexical", "q", "("]),
        (2, &["keyword", "q", "needle"]),
        (2, &["keyword", "--filter", "nobody", "q", "needle"]),
        (0, &["rank", "needle"]),
        (1, &["rank", absent]),
        (2, &["rank", ""]),
        (2, &["rank", "needle", "-p", "no/such/path"]),
        (2, &["history", "needle"]),
        (2, &["history"]),
        (0, &["why", "src/main.rs"]),
        (1, &["why", ".git"]),
        (2, &["why", "no/such/file"]),
        (0, &["read", "src/main.rs"]),
        (2, &["read", "src"]),
        (2, &["read", "no/such/file"]),
        (2, &["read", "src/main.rs", "--start-line", "x"]),
        (0, &["list", "--recursive"]),
        (2, &["list", "src/main.rs"]),
        (2, &["list", "no/such/path"]),
        (2, &["lookup", "needle"]),
        (2, &["lookup"]),
        (2, &["ask", "where?"]),
        (2, &["ask"]),
        (1, &["index", "status"]),
        (2, &["index", "verify"]),
        (0, &["index", "build"]),
        (0, &["index", "status"]),
        (0, &["index", "verify"]),
        (0, &["index", "drop"]),
        (1, &["index", "drop"]),
        (2, &["index", "status", "--root", "no/such/path"]),
        (0, &["config"]),
        (2, &["config", "--config", "no/such/file"]),
        (0, &["tools"]),
        (0, &["tools", "--cost"]),
        (0, &["tools", "--format", "openai"]),
        (2, &["tools", "--format", "x"]),
        (1, &["models"]),
        (2, &["models", "--config", "no/such/file"]),
        (0, &["doctor"]),
        (2, &["doctor", "--config", "no/such/file"]),
        // The collection does not exist.
        (1, &["sparse", "status"]),
        (2, &["no_such_command"]),
        (0, &[]),
        (0, &["man"]),
        (0, &["man", "--list"]),
        (0, &["completions", "bash"]),
    ];
    let owned = |arguments: &[&str]| arguments.iter().map(|&argument| argument.to_owned()).collect();
    cases.iter().map(|(status, arguments)| (*status, owned(arguments))).collect()
}

#[test]
fn every_command_gives_one_document_or_typed_lines() {
    let project = project();
    for (status, mut arguments) in cases() {
        arguments.push("--json".to_owned());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let run = project.run(&arguments);
        kept(&arguments, &run);
        assert_eq!(run.status, status, "{arguments:?}: {run:?}");
    }
    // Control: without the option, wrong arguments are only reported to people.
    assert_eq!(project.run(&["grep"]).stdout, "");
    // A server's stdout belongs to its client.
    for arguments in [&["mcp", "--json", "--root", "no/such/path"][..], &["mcp", "--nope", "--json"]] {
        let run = project.run(arguments);
        assert!(run.stdout.is_empty() && run.status == 2, "{run:?}");
    }
}

/// If an answer can't be written, no command may claim success.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_can_not_be_written_is_an_error() {
    let project = project();
    let found = json!({"pattern": "needle"}).to_string();
    let cases: &[&[&str]] = &[
        &["grep", "needle"],
        &["grep", "("],
        &["grep", "--uses", "needle"],
        &["rank", "needle"],
        &["list", "--recursive"],
        &["read", "src/main.rs"],
        &["keyword", "--filter", "lexical", "q", "needle"],
        &["call", "grep_search", &found],
        &["tools"],
        &["config"],
        &["doctor"],
        &["setup"],
        &["sparse", "encode", "needle"],
    ];
    let mut all = std::collections::BTreeSet::new();
    for arguments in cases {
        for json in [&[][..], &["--json"]] {
            let run = |full: &str| {
                let output = std::process::Command::new(env!("CARGO_BIN_EXE_forage"))
                    .args(arguments.iter().chain(json))
                    .current_dir(&project.root)
                    .env_clear()
                    .env("HOME", &project.home)
                    .stdout(std::fs::OpenOptions::new().write(true).open(full).unwrap())
                    .output()
                    .unwrap();
                (output.status.code(), String::from_utf8(output.stderr).unwrap())
            };
            let (status, stderr) = run("/dev/full");
            assert_eq!(status, Some(2), "{arguments:?} {json:?}: {stderr}");
            all.insert(stderr);
            // Control: this device accepts everything.
            let (_, stderr) = run("/dev/null");
            assert!(!stderr.contains("No space left"), "{arguments:?} {json:?}: {stderr}");
        }
    }
    insta::assert_snapshot!(crate::support::stable(&all.into_iter().collect::<String>()));
}

/// Tests `forage setup` in each of its states.
#[cfg(unix)]
#[test]
fn setup_gives_one_document_whatever_it_finds_and_does() {
    let project = project();
    let broken = project.home.join(".cursor/mcp.json");
    std::fs::create_dir_all(broken.parent().unwrap()).unwrap();
    std::fs::write(&broken, "{ broken").unwrap();
    std::fs::create_dir_all(project.home.join(".codex")).unwrap();
    // One program is this one. Another has the same name but is no server.
    let silent = project.home.join("bin/forage");
    std::fs::create_dir_all(silent.parent().unwrap()).unwrap();
    std::fs::write(&silent, "#!/bin/sh\nexit 3\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&silent, mode).unwrap();
    let silent = silent.to_str().unwrap();
    let cases: &[(i32, &[&str])] = &[
        (0, &[]),
        (2, &["--write"]),
        (0, &["gemini-cli"]),
        (0, &["gemini-cli", "--write"]),
        (0, &["gemini-cli", "--write"]),
        (0, &["gemini-cli", "--remove", "--dry-run"]),
        (0, &["gemini-cli", "--remove"]),
        (0, &["gemini-cli", "--remove"]),
        (2, &["gemini-cli", "--write", "--command", silent]),
        (0, &["gemini-cli", "--write", "--command", silent, "--no-check"]),
        (2, &["gemini-cli", "--write", "--command", "other"]),
        (2, &["cursor"]),
        (2, &["cursor", "--write"]),
        (2, &["cursor", "--remove"]),
        (2, &["claude-desktop", "--scope", "project"]),
        (2, &["gemini"]),
        (0, &["other"]),
        (2, &["gemini", "--write"]),
        (2, &["gemini-cli", "--write", "--remove"]),
        (2, &["--detected"]),
        (2, &["--detected", "--scope", "nobodys"]),
    ];
    for (status, arguments) in cases {
        let arguments = [&["setup"], *arguments, &["--json"][..]].concat();
        let run = project.run(&arguments);
        kept(&arguments, &run);
        assert_eq!(run.status, *status, "{arguments:?}: {run:?}");
    }
    let document = |arguments: &[&str]| kept(arguments, &project.run(arguments));
    // Nothing may be written without `--write`.
    let planned = document(&["setup", "codex", "--json"]);
    assert_eq!((&planned["change"], &planned["written"]), (&json!("create"), &json!(false)));
    assert!(!project.home.join(".codex/config.toml").exists());
    // Each detected client has an answer, even one that was refused.
    let all = document(&["setup", "--detected", "--write", "--no-check", "--json"]);
    let of = |client: &str| {
        let answers = all["answers"].as_array().unwrap();
        answers.iter().find(|answer| answer["client"] == client).unwrap().clone()
    };
    assert_eq!((&of("cursor")["change"], &of("cursor")["written"]), (&json!("refused"), &json!(false)));
    insta::assert_snapshot!(crate::support::stable(&format!(
        "{}\n{}",
        of("cursor")["problem"],
        all["error"]
    )));
    assert_eq!(of("codex")["written"], true);
    assert_eq!(std::fs::read_to_string(&broken).unwrap(), "{ broken");
    // Without a refusal the document has the same structure.
    std::fs::write(&broken, "{}").unwrap();
    let all = document(&["setup", "--detected", "--json"]);
    assert!(all["answers"].as_array().is_some_and(|answers| answers.len() >= 3), "{all}");
    assert_eq!(document(&["setup", "gemini", "--json"])["similar"], json!(["gemini-cli"]));
}

/// A search that streams its output should cover all roots, like any other search.
#[test]
fn a_search_is_about_all_roots() {
    let (one, two) = (project(), project());
    let [first, second] = [&one, &two].map(|project| project.root.display().to_string());
    let of_both = ["--root", &first, "--root", &second];
    let lines = |run: &Run| -> Vec<String> {
        let is_match = |line: &&str| line.contains("needle");
        run.stdout.lines().filter(is_match).map(str::to_owned).collect()
    };
    let of_first = lines(&one.run(&["grep", "needle"]));
    assert!(of_first.len() > 1, "{of_first:?}");
    // Paths of the first root are the same as in a search without the other root. Paths of the second root
    // are absolute.
    let run = one.run(&[&of_both, &["grep", "needle"][..]].concat());
    let (own, others): (Vec<_>, Vec<_>) = lines(&run).into_iter().partition(|line| !line.starts_with('/'));
    let whole: Vec<String> = of_first.iter().map(|line| format!("{second}/{line}")).collect();
    assert_eq!((own, others), (of_first.clone(), whole.clone()), "{run:?}");
    let run = one.run(&[&of_both, &["grep", "absent_from_everything"][..]].concat());
    assert_eq!(run.status, 1, "{run:?}");
    let run = one.run(&[&of_both, &["grep", "needle", &second][..]].concat());
    assert_eq!(lines(&run), whole, "{run:?}");
}

/// A command with several roots also prints one document, which has an answer for each root.
#[test]
fn of_several_roots_there_is_one_document() {
    let (one, two) = (project(), project());
    let [first, second] = [&one, &two].map(|project| project.root.display().to_string());
    let arguments = ["index", "build", "--json", "--root", &first, "--root", &second];
    let built = kept(&arguments, &one.run(&arguments));
    let roots: Vec<&Value> =
        built["answers"].as_array().unwrap().iter().map(|answer| &answer["root"]).collect();
    assert_eq!(roots, [&json!(first), &json!(second)]);
    // An unusable root must not affect the other.
    let arguments = ["index", "status", "--json", "--root", &first, "--root", "no/such/path"];
    let status = kept(&arguments, &one.run(&arguments));
    assert_eq!(status["answers"].as_array().map(Vec::len), Some(1), "{status}");
    insta::assert_snapshot!(crate::support::stable(status["error"].as_str().unwrap()));
}

/// If a search ends before it has found anything, its own answer must contain the error and no result.
#[test]
fn at_a_deadline_the_error_is_in_the_answer() {
    let project = project();
    project.write("slow/a.txt", &"a".repeat(4 << 20));
    project.write("quick/a.txt", "a");
    // A candidate begins at every position, but fails only 16,000 letters later.
    let slow = &format!("(?i){}b?c", "a".repeat(16_000));
    let request = json!({"pattern": slow, "path": "slow"}).to_string();
    // This is enough time to compile the pattern at the machine's current speed, but far less than the search
    // takes.
    let began = Instant::now();
    assert_eq!(project.run(&["grep", slow, "quick"]).status, 1);
    let time = (3 * began.elapsed()).max(Duration::from_millis(200)).as_millis().to_string();
    let cases: &[&[&str]] = &[
        &["call", "Search", &request],
        &["call", "grep_search", &request],
        &["keyword", "--filter", "lexical", "q", slow],
    ];
    for arguments in cases {
        let arguments = [arguments, &["--timeout-ms", &time, "--json"][..]].concat();
        let run = project.run(&arguments);
        let document = kept(&arguments, &run);
        assert_eq!(
            document["error"], "the search ended before anything was found; give it more time",
            "{run:?}"
        );
        assert!(run.stderr.ends_with("give it more time with --timeout-ms\n"), "{run:?}");
        let answer = if document["type"] == "summary" { &document["data"] } else { &document };
        assert_eq!(answer["truncated_by"], "timeout", "{run:?}");
        assert_eq!(answer["not_searched"]["complete"], false, "{run:?}");
        assert!(answer["files_searched"].as_u64().unwrap() < 4, "{run:?}");
    }
    let arguments = ["grep", slow, "slow", "--timeout-ms", &time, "--json"];
    let document = kept(&arguments, &project.run(&arguments));
    insta::assert_snapshot!(document["error"].as_str().unwrap());
    // These may have a result by then, but they must still print one document.
    for arguments in [&["rank", "needle"][..], &["list", "--recursive"], &["read", "slow/a.txt"]] {
        let arguments = [arguments, &["--timeout-ms", "100", "--json"]].concat();
        kept(&arguments, &project.run(&arguments));
    }
}

#[test]
fn an_answer_of_the_agent_is_one_document() {
    let project = project();
    let cases: [(i32, Vec<Reply>, &[&str]); 3] =
        [(0, vec![good("In `src/lib.rs:1`.")], &[]), (2, vec![], &[]), (2, vec![], &["--total-ms", "1"])];
    for (status, replies, flags) in cases {
        let peer = Peer::start(replies);
        project.configure(&format!(
            "[[models]]\nprovider = \"acme\"\nmodel = \"big\"\nbase_url = \"{}\"\n",
            peer.url()
        ));
        let arguments = [&["ask", "where is needle?", "--json"], flags].concat();
        let run = project.run(&arguments);
        kept(&arguments, &run);
        assert_eq!(run.status, status, "{flags:?}: {run:?}");
    }
}

/// Dependency directories are excluded with and without an index, and also by a server that watches its tree.
#[test]
fn an_index_enters_no_directory_that_a_search_leaves_out() {
    let project = project();
    project.write("node_modules/a/index.js", "needle();\nonly_there();\n");
    let run = |arguments: &[&str]| {
        let run = project.run(arguments);
        (run.status, run.stdout.replace(|c: char| c.is_ascii_digit(), "0"))
    };
    let call = |pattern: &str, all: bool| json!({ "pattern": pattern, "include_ignored": all }).to_string();
    let (needle, there, all) = (call("needle", false), call("only_there", false), call("only_there", true));
    let asked = [
        &["call", "grep_search", &needle][..],
        &["call", "grep_search", &there],
        &["call", "grep_search", &all],
        &["list", "--recursive"],
        &["grep", "needle"],
    ];
    let before = asked.map(run);
    insta::assert_snapshot!(
        before.each_ref().map(|(status, text)| format!("{text}--- status {status}\n")).join("\n")
    );
    assert_eq!(project.run(&["index", "build"]).status, 0);
    assert_eq!(asked.map(run), before);
}

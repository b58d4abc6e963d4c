//! Every call from every surface writes a line. This line must contain nothing of the query or the results.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::Project;
use crate::mcp::call;
use crate::mcp::wire::Pipes;
use crate::peer::{Peer, Reply, content};

const REVISION: &str = "2025-11-25";

/// Words in queries, terms, paths, texts and the names of roots. They occur in none of our own texts.
const WORDS: [&str; 5] = ["quxquery", "quxterm", "quxpath", "quxtext", "quxroot"];

fn project() -> Project {
    Project::new(&[
        ("quxroot/quxpath.rs", "fn quxtext() { quxterm() }\n"),
        ("quxroot/other_quxpath.rs", "fn other() { quxterm() }\n"),
    ])
}

fn log(project: &Project) -> PathBuf {
    project.home.join("logs/telemetry.jsonl")
}

fn configure(project: &Project, peer: Option<&Peer>, more: &str) {
    let model = peer.map(|peer| {
        format!("[[models]]\nprovider = \"acme\"\nmodel = \"small\"\nbase_url = \"{}\"\n", peer.url())
    });
    project.configure(&format!(
        "{more}\n{}[telemetry]\npath = \"{}\"\n",
        model.unwrap_or_default(),
        log(project).display()
    ));
}

fn events(project: &Project) -> Vec<Value> {
    let text = fs::read_to_string(log(project)).unwrap_or_default();
    for word in WORDS {
        assert!(!text.contains(word), "{word}: {text}");
    }
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn says(text: &str) -> Reply {
    content(&serde_json::to_string(text).unwrap())
}

#[test]
fn every_tool_is_told_of_from_every_surface() {
    let project = project();
    configure(&project, None, "filter = \"lexical\"");
    let path = "quxroot/quxpath.rs";
    for (arguments, tool, surface, status, count) in [
        (vec!["grep", "quxterm"], "grep_search", "command", "found", None),
        (vec!["grep", "quxterm_absent"], "grep_search", "command", "nothing_found", None),
        (vec!["keyword", "quxquery", "quxterm"], "keyword_search", "command", "found", Some(2)),
        (vec!["grep", "--json", "quxterm"], "grep_search", "command", "found", None),
        (vec!["grep", "--uses", "quxterm"], "grep_search", "command", "found", Some(2)),
        (vec!["grep", "-Z", "1", "quxterm"], "Search", "command", "found", Some(2)),
        (vec!["grep", "-Z", "1", "quxterm", "--json"], "Search", "command", "found", Some(2)),
        (vec!["rank", "quxterm"], "search_index", "command", "found", None),
        (vec!["list", "quxroot"], "list_directory", "command", "found", None),
        (vec!["read", path], "read_file", "command", "found", None),
        (vec!["read", "quxroot/absent_quxpath"], "read_file", "command", "error", None),
        (vec!["call", "grep_search", "{\"pattern\": \"quxterm\"}"], "grep_search", "call", "found", None),
        (vec!["call", "grep_search", "{\"quxterm\": 1}"], "grep_search", "call", "error", None),
    ] {
        let before = events(&project).len();
        let run = project.run(&arguments);
        let events = events(&project);
        assert_eq!(events.len(), before + 1, "{arguments:?}: {run:?}");
        let event = &events[before];
        assert_eq!(
            (&event["tool"], &event["surface"], &event["status"]),
            (&json!(tool), &json!(surface), &json!(status)),
            "{event}"
        );
        if let Some(count) = count {
            assert_eq!(event["result_count"], count, "{event}");
        }
        assert_eq!(event["error_type"].is_string(), status == "error", "{event}");
        assert!(event["latency_ms"].is_u64() && event["ts"].as_str().unwrap().ends_with('Z'), "{event}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(log(&project)).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

/// The event of a search must not depend on the output format.
#[test]
fn a_search_has_one_account_however_it_is_printed() {
    let project = project();
    configure(&project, None, "");
    let reported = |flags: &[&str]| {
        project.run(&[&["grep", "quxterm"], flags].concat());
        let mut event = events(&project).pop().unwrap();
        event.as_object_mut().unwrap().retain(|name, _| name != "ts" && name != "latency_ms");
        event
    };
    for limits in [&[][..], &["-C", "1"], &["--max-results", "1"], &["-C", "1", "--max-results", "1"]] {
        let text = reported(&[&["-Z", "1"], limits].concat());
        assert!(text["result_count"].as_u64().is_some_and(|count| count > 0), "{text}");
        assert_eq!(text["truncated"], limits.contains(&"--max-results"), "{text}");
        assert_eq!(reported(&[&["-Z", "1"], limits, &["--json"]].concat()), text, "{limits:?}");
    }
    // We don't count the lines of streamed output.
    let text = reported(&[]);
    let expected =
        json!({ "tool": "grep_search", "surface": "command", "status": "found", "timed_out": false });
    assert_eq!(text, expected);
    for flags in [&["--json"][..], &["-C", "1"], &["-m", "1"], &["-l"], &["-c"], &["-q"]] {
        assert_eq!(reported(flags), text, "{flags:?}");
    }
}

#[test]
fn telemetry_uses_advertised_tool_names_and_known_clients() {
    let project = project();
    configure(&project, None, "filter = \"lexical\"\n[mcp]\nprefix = \"code_\"");
    let mut pipes = Pipes::connect(&project, &[], REVISION);
    pipes.ask(&call(REVISION, 1, "code_grep_search", json!({ "pattern": "quxterm" })));
    pipes.ask(&call(REVISION, 2, "code_grep_search", json!({ "pattern": "quxterm(" })));
    pipes.ask(&call(REVISION, 3, "code_read_file", json!({ "path": "quxroot/absent_quxpath" })));
    let events = events(&project);
    let reported: Vec<String> = events
        .iter()
        .map(|event| format!("{} {} {}", event["tool"], event["surface"], event["status"]).replace('"', ""))
        .collect();
    // A call that is corrected counts once.
    assert_eq!(
        reported,
        ["code_grep_search mcp found", "code_grep_search mcp found", "code_read_file mcp error"]
    );
}

#[test]
fn a_tool_has_one_name_however_it_is_called() {
    let project = project();
    configure(
        &project,
        None,
        "[tools.grep_search]\nname = \"find_text\"\n[tools.search]\nenabled = true\nname = \"lines\"",
    );
    for arguments in [
        vec!["grep", "quxterm"],
        vec!["call", "find_text", "{\"pattern\": \"quxterm\"}"],
        vec!["call", "grep_search", "{\"pattern\": \"quxterm\"}"],
        vec!["grep", "-Z", "1", "quxterm"],
        vec!["grep", "-Z", "1", "quxterm", "--json"],
    ] {
        project.run(&arguments);
    }
    let reported: Vec<Value> = events(&project).into_iter().map(|mut event| event["tool"].take()).collect();
    assert_eq!(reported, ["find_text", "find_text", "find_text", "lines", "lines"]);
}

/// A call may ask the client's model and be repeated with its answer. This counts once, with the last round.
#[test]
fn a_call_in_rounds_is_one_call() {
    const IN_ROUNDS: &str = "2026-07-28";
    let project = project();
    configure(&project, None, "");
    let mut pipes = Pipes::connect(&project, &[], IN_ROUNDS);
    let terms = json!({ "query": "quxquery", "search_terms": ["quxterm"] });
    let mut message = call(IN_ROUNDS, 1, "keyword_search", terms);
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({ "sampling": {} });
    let asked = pipes.ask(&message)["result"].take();
    let (key, _) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(events(&project), Vec::<Value>::new());
    let said = json!({
        "model": "theirs", "role": "assistant", "stopReason": "endTurn",
        "content": { "type": "text", "text": "quxroot/quxpath.rs: it is quxtext" },
    });
    message["params"]["inputResponses"] = json!({ key: said });
    message["params"]["requestState"] = asked["requestState"].clone();
    pipes.ask(&message);
    let events = events(&project);
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(
        (&events[0]["status"], &events[0]["models"][0]["status"]),
        (&json!("found"), &json!("answered"))
    );
}

#[test]
fn telemetry_has_tokens_attempts_and_outcome_of_models() {
    let project = project();
    // The first model's answer is unusable, but the second one's is usable.
    let (first, second) = (
        Peer::start([says("I would rather not say")]),
        Peer::start([says("quxroot/quxpath.rs: it is quxtext")]),
    );
    let model = |provider: &str, peer: &Peer| {
        format!("[[models]]\nprovider = \"{provider}\"\nmodel = \"small\"\nbase_url = \"{}\"\n", peer.url())
    };
    project.configure(&format!(
        "{}{}[telemetry]\npath = \"{}\"\n",
        model("acme", &first),
        model("other", &second),
        log(&project).display()
    ));
    let run = project.run(&["keyword", "quxquery", "quxterm"]);
    assert_eq!(run.status, 0, "{run:?}");
    let events = events(&project);
    assert_eq!(events.len(), 1, "{events:?}");
    let models = events[0]["models"].as_array().unwrap();
    let reported: Vec<String> = models
        .iter()
        .map(|model| {
            let number = |name: &str| model[name].as_u64().unwrap();
            format!(
                "{} {} {} {} {} {}",
                model["provider"].as_str().unwrap(),
                model["status"].as_str().unwrap(),
                number("attempts"),
                number("input_tokens"),
                number("cached_input_tokens"),
                number("output_tokens")
            )
        })
        .collect();
    assert_eq!(reported, ["acme unreadable 1 11 5 7", "other answered 1 11 5 7"]);

    let summed = project.run(&["telemetry", "--json"]).json();
    assert_eq!(
        (&summed["total"]["calls"], &summed["total"]["input_tokens"], &summed["unreadable_lines"]),
        (&json!(1), &json!(22), &json!(0)),
        "{summed}"
    );
    let text = project.run(&["telemetry", "--since", "1d"]).stdout;
    for name in ["keyword_search", "acme/small"] {
        assert!(text.split_whitespace().any(|word| word == name), "{name}: {text}");
    }
}

#[test]
fn unwritable_telemetry_file_is_reported_once() {
    let project = project();
    fs::write(project.home.join("file"), "").unwrap();
    project.configure(&format!(
        "filter = \"lexical\"\n[telemetry]\npath = \"{}\"\n",
        project.home.join("file/telemetry.jsonl").display()
    ));
    let run = project.run(&["grep", "quxterm"]);
    let found =
        "quxroot/other_quxpath.rs:fn other() { quxterm() }\nquxroot/quxpath.rs:fn quxtext() { quxterm() }\n";
    assert_eq!((run.status, run.stdout.as_str()), (0, found));
    assert_eq!(run.stderr.matches("can't be written").count(), 1, "{run:?}");
}

#[test]
fn sums_of_nothing_say_what_to_do() {
    let project = project();
    project.configure("filter = \"lexical\"\n");
    let run = project.run(&["telemetry"]);
    insta::assert_snapshot!(run.shown());
    configure(&project, None, "filter = \"lexical\"");
    let run = project.run(&["telemetry"]);
    assert!(run.status == 1 && run.stdout.starts_with("No calls were recorded."), "{run:?}");
    assert_eq!(project.run(&["telemetry", "--since", "yesterday"]).status, 2);
    let run = project.run(&["telemetry", "/no/such/log.jsonl"]);
    assert_eq!(run.stderr.matches("/no/such/log.jsonl").count(), 1, "{run:?}");
    assert!(run.status == 2 && run.stderr.matches("No such file").count() == 1, "{run:?}");
}

#[test]
fn unanswered_question_is_recorded() {
    let project = project();
    configure(&project, None, "");
    assert_eq!(project.run(&["ask", "quxquery?"]).status, 2);
    let events = events(&project);
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!((&events[0]["tool"], &events[0]["status"]), (&"ask".into(), &"error".into()));
}

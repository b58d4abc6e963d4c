//! Records runs of the program against a scripted server, and replays them without it.

use serde_json::{Value, json as value};

use crate::peer::{Peer, Reply, good, json};
use crate::support::line_with;
use crate::{Project, Run};

const KEY: &str = "key-of-this-test-51c";

fn project() -> Project {
    Project::new(&[
        ("src/retry.rs", "//! Retries.\nfn retry_with_backoff() {}\n"),
        ("src/client.rs", "fn send() { retry_with_backoff() }\n"),
    ])
}

fn configure(project: &Project, peer: &Peer) {
    let model =
        "provider = \"acme\"\nmodel = \"small\"\nmax_completion_tokens = true\nkey_env = \"ACME_KEY\"\n";
    project.configure(&format!("[[models]]\n{model}base_url = \"{}\"\n", peer.url()));
}

fn call(name: &str, arguments: &Value) -> Reply {
    let function = value!({"name": name, "arguments": arguments.to_string()});
    let call = value!({"id": "call-0", "type": "function", "function": function});
    let message = value!({"role": "assistant", "content": null, "tool_calls": [call]});
    let choice = value!({"index": 0, "message": message, "finish_reason": "tool_calls"});
    json(200, "", &value!({"choices": [choice]}).to_string())
}

/// Returns the output of a run without the time that the model took.
fn without_time(run: &Run) -> String {
    let line = |line: &str| match line.starts_with("[filtered by ") {
        true => line.rsplit_once(", ").map_or("", |(without_time, _)| without_time).to_owned(),
        false => line.to_owned(),
    };
    run.stdout.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn recorded_search_is_replayed_offline() {
    let project = project();
    let tape = project.root.join("../tape.jsonl").display().to_string();
    let refused = json(429, "retry-after: 0\r\n", "{}");
    let peer = Peer::start([refused, good("src/client.rs: calls it")]);
    configure(&project, &peer);
    let search = ["keyword", "how are requests retried", "retry"];
    let recorded =
        project.run_in(&project.root, &[&search[..], &["--record", &tape]].concat(), &[("ACME_KEY", KEY)]);
    assert_eq!(recorded.status, 0, "{recorded:?}");
    assert_eq!(line_with(&recorded.stdout, "src/client.rs"), "src/client.rs: calls it");
    let lines = std::fs::read_to_string(&tape).unwrap();
    assert_eq!(lines.lines().count(), 2, "the refusal and the answer");
    assert!(!lines.contains(KEY), "{lines}");
    let mut exchanges = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert!(exchanges.all(|exchange| exchange["provider"] == "acme"), "{lines}");

    // A replay needs neither the key nor the model's address, and the server is gone.
    drop(peer);
    let again = project.run(&[&search[..], &["--replay", &tape]].concat());
    assert_eq!(again.status, 0, "{again:?}");
    assert_eq!(without_time(&again), without_time(&recorded));

    let other = project.run(&["keyword", "something else", "retry", "--replay", &tape]);
    insta::assert_snapshot!(other.shown());
}

#[test]
fn a_recorded_question_is_played_again_with_its_calls() {
    let project = project();
    let tape = project.root.join("../tape.jsonl").display().to_string();
    let peer = Peer::start([
        call("grep_search", &value!({"pattern": "retry_with"})),
        good("Retries are in src/retry.rs:2."),
    ]);
    configure(&project, &peer);
    let question = ["ask", "where are retries?", "--json"];
    let recorded =
        project.run_in(&project.root, &[&question[..], &["--record", &tape]].concat(), &[("ACME_KEY", KEY)]);
    assert_eq!(recorded.status, 0, "{recorded:?}");
    drop(peer);
    let again = project.run(&[&question[..], &["--replay", &tape]].concat());
    assert_eq!(again.status, 0, "{again:?}");
    let (first, second) = (recorded.json(), again.json());
    assert_eq!(first["answer"], "Retries are in src/retry.rs:2.");
    for field in ["answer", "citations", "models", "stop_reason"] {
        assert_eq!(first[field], second[field], "{field}");
    }
    let calls = |records: &Value| records["turns"][0]["calls"][0]["bytes"].clone();
    assert!(calls(&first).as_u64() > Some(10) && calls(&first) == calls(&second), "{first}");

    // The tree has changed, so the tool finds something else. The recording does not contain this request.
    std::fs::write(project.root.join("src/more.rs"), "retry_with\n").unwrap();
    let changed = project.run(&[&question[..], &["--replay", &tape]].concat());
    insta::assert_snapshot!(changed.shown());
}

#[test]
fn unusable_recording_is_reported_before_any_request() {
    let project = project();
    let peer = Peer::start([]);
    configure(&project, &peer);
    let path = |name: &str| project.root.join("..").join(name).display().to_string();
    std::fs::write(path("there.jsonl"), "{\"format\":7}\n").unwrap();
    std::fs::write(path("empty.jsonl"), "\n").unwrap();
    let runs = [
        ("--record", "there.jsonl"),
        ("--replay", "there.jsonl"),
        ("--replay", "empty.jsonl"),
        ("--replay", "missing.jsonl"),
    ]
    .map(|(flag, name)| project.run(&["keyword", "q", "retry", flag, &path(name)]).shown());
    insta::assert_snapshot!(runs.join("\n"));
    assert!(peer.requests().is_empty());
    // A run without a request must leave no file.
    let run = project.run(&["keyword", "q", "word-of-no-file", "--record", &path("new.jsonl")]);
    assert!(run.status == 1 && !std::path::Path::new(&path("new.jsonl")).exists(), "{run:?}");
}

//! `keyword_search` with a model. A scripted server plays the model.

use std::time::{Duration, Instant};

use crate::peer::{Peer, Reply, content, json};
use crate::support::{line_with, stable};
use crate::{Project, Run};

/// A secret that every set of redaction rules should find.
const SECRET: &str = "ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd";

fn project() -> Project {
    Project::new(&[
        ("src/retry.rs", "//! Retries.\nfn retry_with_backoff() {}\n"),
        ("src/client.rs", &format!("fn send() {{ retry_with_backoff() }}\nlet token = \"{SECRET}\";\n")),
        ("docs/notes.md", "How a retry works, and its backoff.\n"),
        ("unrelated.txt", "nothing to see\n"),
        (".env", "RETRY_KEY=canary-in-dotenv retry\n"),
    ])
}

/// Runs a keyword search with models at the peers, in order.
fn search(project: &Project, peers: &[&Peer], extra: &str, flags: &[&str]) -> Run {
    let models: String = peers
        .iter()
        .enumerate()
        .map(|(i, peer)| format!("[[models]]\nprovider = \"acme{}\"\nmodel = \"small-{i}\"\nbase_url = \"{}\"\nkey_env = \"ACME_KEY\"\n", "-b".repeat(i), peer.url()))
        .collect();
    project.configure(&format!("{extra}\n{models}"));
    let arguments =
        [&["keyword", "how are requests retried", "retry", "backoff", "absent_term"], flags].concat();
    project.run_in(&project.root, &arguments, &[("ACME_KEY", "key-of-this-test-51c")])
}

fn answer(lines: &[&str]) -> Reply {
    content(&serde_json::to_string(&lines.join("\n")).unwrap())
}

#[test]
fn keeps_the_models_files_in_its_order_with_our_line_numbers() {
    let project = project();
    let root = project.root.display();
    let peer = Peer::start([answer(&[
        &format!("{root}/src/retry.rs: implements the retry loop"),
        "src/client.rs: calls it",
    ])]);
    insta::assert_snapshot!("answer_by_a_model", search(&project, &[&peer], "", &[]).shown());
    let [request] = &peer.requests()[..] else { panic!("one request") };
    assert_eq!(line_with(request, "authorization: "), "authorization: Bearer key-of-this-test-51c");
    let body: serde_json::Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    let [system, user] = [0_usize, 1].map(|index| body["messages"][index]["content"].as_str().unwrap());
    insta::assert_snapshot!("request_to_a_model", stable(&format!("{system}\n{user}")));
}

/// Builds a response with this text in the format of each wire.
fn said(wire: &str, text: &str) -> Reply {
    let answer = match wire {
        "openai-chat" => {
            serde_json::json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})
        }
        "anthropic" => {
            serde_json::json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"})
        }
        _ => {
            serde_json::json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]})
        }
    };
    json(200, "", &answer.to_string())
}

#[test]
fn json_is_asked_for_where_a_schema_is_sent() {
    const JSON: &str = r#"{"files": [{"path": "src/retry.rs", "why": "the loop"}]}"#;
    const LIST: &str = "src/retry.rs: the loop";
    let refusal = || json(400, "", r#"{"error": {"message": "no such field"}}"#);
    for wire in ["openai-chat", "anthropic", "gemini"] {
        for (takes_schema, replies, expected) in [
            (true, vec![said(wire, JSON)], &[true][..]),
            (true, vec![refusal(), said(wire, LIST)], &[true, false]),
            (false, vec![said(wire, LIST)], &[false]),
        ] {
            let (project, peer) = (project(), Peer::start(replies));
            project.configure(&format!(
                "[[models]]\nprovider = \"acme\"\nmodel = \"m\"\nwire = \"{wire}\"\nbase_url = \"{}\"\n\
                 [[model_facts]]\nmatch = [\"m\"]\nanswer_schema = {takes_schema}\n",
                if wire == "openai-chat" { peer.url() } else { peer.root() },
            ));
            let run = project.run(&["keyword", "how are requests retried", "retry"]);
            insta::assert_snapshot!("the_loop", run.shown());
            let requests = peer.requests();
            assert_eq!(requests.len(), expected.len(), "{wire}");
            for (request, has_schema) in requests.iter().zip(expected) {
                assert!(request.contains(r"- Use absolute file paths\n"), "{request}");
                for word in ["respond with one JSON object", "additionalProperties"] {
                    assert_eq!(request.contains(word), *has_schema, "{wire} {word}: {request}");
                }
            }
        }
    }
}

/// Builds a response that calls the tool for answers, in the format of each wire.
fn called(wire: &str, arguments: &serde_json::Value) -> Reply {
    let tool = "relevant_files";
    let answer = match wire {
        "openai-chat" => serde_json::json!({"choices": [{"message": {"content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}},
        ]}, "finish_reason": "stop"}]}),
        "anthropic" => serde_json::json!({"content": [
            {"type": "tool_use", "id": "c", "name": tool, "input": arguments},
        ], "stop_reason": "tool_use"}),
        _ => serde_json::json!({"candidates": [{"content": {"parts": [
            {"functionCall": {"name": tool, "args": arguments}},
        ]}, "finishReason": "STOP"}]}),
    };
    json(200, "", &answer.to_string())
}

#[test]
fn tool_call_replaces_a_missing_schema() {
    const LIST: &str = "src/retry.rs: the loop";
    const FORCED: [&str; 3] = [
        r#""tool_choice":{"type":"function","function":{"name":"relevant_files"}}"#,
        r#""tool_choice":{"type":"tool","name":"relevant_files"}"#,
        r#""functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["relevant_files"]}"#,
    ];
    let files = serde_json::json!({"files": [{"path": "src/retry.rs", "why": "the loop"}]});
    let refusal = || json(400, "", r#"{"error": {"message": "no such field"}}"#);
    for (wire, forced) in ["openai-chat", "anthropic", "gemini"].into_iter().zip(FORCED) {
        for (replies, expected, is_read) in [
            (vec![called(wire, &files)], &[true][..], true),
            (vec![said(wire, LIST)], &[true], true),
            (vec![refusal(), said(wire, LIST)], &[true, false], true),
            (vec![refusal(), said(wire, "I think it is the retry code.")], &[true, false], false),
        ] {
            let (project, peer) = (project(), Peer::start(replies));
            project.configure(&format!(
                "[[models]]\nprovider = \"acme\"\nmodel = \"m\"\nwire = \"{wire}\"\nbase_url = \"{}\"\n\
                 [[model_facts]]\nmatch = [\"m\"]\nanswer_tool = true\n",
                if wire == "openai-chat" { peer.url() } else { peer.root() },
            ));
            let run = project.run(&["keyword", "how are requests retried", "retry"]);
            insta::assert_snapshot!(if is_read { "the_loop" } else { "prose" }, run.shown());
            let requests = peer.requests();
            let has_tool: Vec<bool> = requests.iter().map(|request| request.contains(forced)).collect();
            assert_eq!(has_tool, expected, "{wire}: {requests:?}");
        }
    }
}

#[test]
fn secrets_never_reach_the_model_unless_redaction_is_off() {
    for (setting, leaks) in [("", false), ("[secrets]\nredact = false\n", true)] {
        let project = project();
        let peer = Peer::start([answer(&["No relevant files found"])]);
        // TOML requires the table of secrets after the models.
        let models = format!(
            "[[models]]\nprovider = \"acme\"\nmodel = \"m\"\nbase_url = \"{}\"\n{setting}",
            peer.url()
        );
        project.configure(&models);
        let run = project.run(&["keyword", "q", "retry", "token"]);
        assert_eq!(run.status, 1, "{run:?}");
        let request = peer.requests().concat();
        assert!(request.contains("retry_with_backoff"), "something was sent");
        assert_eq!(request.contains(SECRET), leaks, "the control must leak and the product must not");
        assert!(!request.contains("canary-in-dotenv"), "a secrets file is never read");
    }
}

#[test]
fn invented_and_outside_paths_are_dropped_and_counted() {
    let project = project();
    let reply = answer(&[
        "src/invented.rs: made up",
        "/etc/passwd: outside",
        "../project-private/x.rs: outside",
        "- `src/retry.rs`: real",
        "src/retry.rs: again",
    ]);
    let peer = Peer::start([reply]);
    let run = search(&project, &[&peer], "", &["--json"]);
    assert_eq!(run.status, 0);
    let records = run.json();
    let files = records["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{records}");
    assert_eq!(
        (files[0]["explanation"].as_str(), records["model"]["dropped_paths"].as_u64()),
        (Some("real"), Some(3))
    );
    assert!(!run.stdout.contains("passwd") && !run.stdout.contains("invented"));
}

#[test]
fn nothing_relevant_and_thinking_before_the_answer_are_answers() {
    let project = project();
    let peer = Peer::start([content("\"<think>retry? /etc/shadow: hm</think>\\nsrc/retry.rs: it is\"")]);
    insta::assert_snapshot!("thinking", search(&project, &[&peer], "", &[]).shown());
    let peer = Peer::start([answer(&["No relevant files found"])]);
    insta::assert_snapshot!("nothing_relevant", search(&project, &[&peer], "", &[]).shown());
}

#[test]
fn every_failure_goes_to_the_next_model() {
    let big = format!("\"{}\"", "x".repeat(10 << 20));
    let failures = [
        ("a 10 MB answer", vec![content(&big)]),
        ("an empty answer", vec![content("\"\"")]),
        ("prose without a file", vec![content("\"I would rather not say\"")]),
        ("401", vec![json(401, "", "{\"error\":{\"message\":\"bad key\"}}")]),
        ("429 with a long retry-after", vec![json(429, "retry-after: 3600\r\n", "{}")]),
        ("500 twice", vec![json(500, "", "{}"), json(500, "", "{}")]),
        ("a cut connection", vec![Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec()); 2]),
        ("no JSON", vec![Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n<>".to_vec()); 2]),
    ];
    let mut warnings = String::new();
    for (name, replies) in failures {
        let project = project();
        let (bad, good) = (Peer::start(replies), Peer::start([answer(&["src/retry.rs: from the second"])]));
        let run = search(&project, &[&bad, &good], "", &[]);
        assert_eq!(run.status, 0, "{name}: {run:?}");
        assert_eq!(line_with(&run.stdout, "src/"), "src/retry.rs: from the second", "{name}");
        warnings += &format!("{name}: {}\n", line_with(&run.stdout, "[warning: "));
        assert!(!format!("{run:?}").contains("key-of-this-test"), "{name}");
    }
    insta::assert_snapshot!(stable(&warnings));
}

#[test]
fn a_429_with_retry_after_is_tried_once_more() {
    let project = project();
    let peer = Peer::start([json(429, "retry-after: 1\r\n", "{}"), answer(&["src/retry.rs: second try"])]);
    let started = Instant::now();
    let run = search(&project, &[&peer], "", &[]);
    assert_eq!((run.status, line_with(&run.stdout, "src/")), (0, "src/retry.rs: second try"));
    assert!(started.elapsed() >= Duration::from_secs(1), "the pause that was asked for is kept");
}

#[test]
fn a_hang_ends_by_the_deadline() {
    for hang in
        [Reply::Hang(Vec::new()), Reply::Hang(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec())]
    {
        let project = project();
        let peer = Peer::start([hang]);
        let started = Instant::now();
        let run = search(&project, &[&peer], "model_timeout_ms = 600", &[]);
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        insta::assert_snapshot!("hang", run.shown());
    }
}

#[test]
fn when_all_fail_lexical_order_comes_only_if_it_was_asked_for() {
    let failing = || Peer::start([json(401, "", "{}")]);
    let project = project();
    let peer = failing();
    let run = search(&project, &[&peer], "", &[]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{run:?}");
    let peer = failing();
    let run = search(&project, &[&peer], "on_model_failure = \"lexical\"", &[]);
    insta::assert_snapshot!(run.shown());
}

#[test]
fn without_a_model_it_is_an_error_before_any_search() {
    let project = project();
    assert_eq!(project.run(&["keyword", "q", "retry"]).status, 2);
    // The report should name a model whose key is missing, but must never contain a value.
    project.configure(
        "[[models]]\nmodel = \"m1\"\nbase_url = \"https://api.example.com/v1\"\nkey_env = \"NO_SUCH_KEY\"\n",
    );
    let run = project.run(&["keyword", "q", "retry"]);
    assert_eq!(
        (run.status, line_with(&run.stderr, "m1")),
        (2, "Configured but not usable: m1 at api.example.com, because the variable NO_SUCH_KEY is not set.")
    );
}

#[test]
fn no_hits_and_too_broad_terms_never_reach_the_model() {
    let project = project();
    let line = "needle in a line that is long enough to add up quickly, over and over again\n";
    project.write("big.txt", &line.repeat(1_000));
    let peer = Peer::start([answer(&["src/retry.rs: must not be asked"])]);
    let settings = format!("[[models]]\nmodel = \"m\"\nbase_url = \"{}\"\n", peer.url());
    project.configure(&settings);
    insta::assert_snapshot!("no_hits", project.run(&["keyword", "q", "absent_term"]).shown());
    let strict =
        |terms: &[&str]| project.run(&[&["keyword", "--breadth", "requirement", "q"], terms].concat());
    insta::assert_snapshot!("broad_terms", strict(&["needle", "line that"]).shown());
    insta::assert_snapshot!("broad_term_and_no_hits", strict(&["needle", "absent_term"]).shown());
    // The default does the same if nothing distinguishes the files.
    (0..9).for_each(|number| project.write(&format!("more/{number}.txt"), &line.repeat(200)));
    let run = project.run(&["keyword", "q", "needle"]);
    assert_eq!(
        (run.status, line_with(&run.stderr, "`needle`")),
        (2, "- `needle`: on nearly every line of 10 files")
    );
    assert_eq!(peer.requests().len(), 0);
}

/// The requirement's rule refuses a broad term. By default we search it with less context, and the answer
/// says so.
#[test]
fn a_broad_term_is_asked_with_less_around_it() {
    let project = project();
    let text = |rest: &str| {
        (0..60).map(|at| format!("{at} {}\n", if at % 9 == 4 { rest } else { "x" })).collect::<String>()
    };
    (0..200).for_each(|number| {
        project
            .write(&format!("f{number}.txt"), &text("the backlog in a line that is long enough to add up"));
    });
    project.write("here.txt", &text("the backlog of the zebra"));
    let peer = Peer::start([answer(&["here.txt: it"])]);
    project.configure(&format!("[[models]]\nmodel = \"m\"\nbase_url = \"{}\"\n", peer.url()));
    let run = project.run(&["keyword", "q", "backlog", "zebra"]);
    assert_eq!((run.status, line_with(&run.stdout, "here")), (0, "here.txt: it"));
    // The number of lines depends on the length of the root's path.
    let note = line_with(&run.stdout, "backlog").split_once(" (").unwrap().0;
    assert_eq!(note, "[broad terms, shown to the model only in part: `backlog`");
    let request = peer.requests().concat();
    assert!(request.contains("f199.txt") && request.len() < 200 << 10, "{} bytes", request.len());
    assert!(request.contains("only the best lines are shown"), "{}", &request[..3000]);
}

/// A long line must be redacted before it is cut, because half of a secret would not be recognized.
#[test]
fn cut_line_leaks_no_partial_secret() {
    let project = Project::new(&[]);
    // For every position that we test, the cut falls inside the secret.
    let line =
        format!("{} needle {} token={SECRET} {}\n", "a".repeat(3_000), "b ".repeat(85), "c".repeat(3_000));
    project.write("long.txt", &line);
    let peer = Peer::start([answer(&["long.txt: it"])]);
    project.configure(&format!("[[models]]\nmodel = \"m\"\nbase_url = \"{}\"\n", peer.url()));
    let run = project.run(&["keyword", "q", "needle"]);
    assert_eq!(run.status, 0, "{run:?}");
    let request = peer.requests().concat();
    let evidence = request.split("> 1: ").nth(1).unwrap();
    let evidence = &evidence[..evidence.find("===== END").unwrap()];
    let (before, after) = ("a".repeat(216), "b ".repeat(85));
    let expected = format!("[2,784 bytes] …{before} needle {after} token… [3,025 bytes more]\\n");
    assert_eq!(evidence, expected);
    assert_eq!(
        line_with(&run.stdout, "secret"),
        "[1 secret redacted before the results were sent to the model]"
    );
}

#[test]
fn the_requirements_rule_holds_without_a_model_too() {
    let broad = "a line with a needle in it, and some more words\n".repeat(3_000);
    let project = Project::new(&[("a.txt", &broad)]);
    let run =
        |more: &[&str]| project.run(&[&["keyword", "--filter", "lexical", "q", "needle"], more].concat());
    assert_eq!(run(&[]).status, 0);
    let refused = run(&["--breadth", "requirement"]);
    assert_eq!(
        (refused.status, line_with(&refused.stderr, "`needle`")),
        (2, "- `needle`: over 65,536 bytes of matches with context")
    );
}

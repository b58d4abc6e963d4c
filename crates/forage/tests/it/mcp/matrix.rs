//! Properties that must hold for each transport and each revision.

use std::io::Read as _;
use std::time::Duration;

use serde_json::json;

use super::wire::{Http, Pipes, read_all};
use super::{REVISIONS, call, hanging_project, initialize, is_stateless, project, request, shown, slow_call};

/// Time in which work must end once it is no longer wanted. The product needs 100 ms, and the rest is for a
/// busy machine. Without cancellation the work of these tests would never end.
const STOPPED: Duration = Duration::from_secs(20);

const TOOLS: [&str; 5] =
    ["search_index", "grep_search", "keyword_search", "list_project_directory", "read_project_file"];

#[test]
fn tools_are_listed_with_titles_and_annotations() {
    let project = project();
    project.configure("filter = \"lexical\"\n");
    let http = Http::start(&project, &[]);
    for revision in REVISIONS {
        let list = request(revision, 1, "tools/list", json!({}));
        let pipes = Pipes::connect(&project, &[], revision).ask(&list);
        for answer in [pipes, http.ask(revision, &list)] {
            let tools = answer["result"]["tools"].as_array().unwrap();
            let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
            assert_eq!(names, TOOLS, "{revision}");
            for tool in tools {
                let annotations = &tool["annotations"];
                assert!(tool["title"].is_string() && tool.get("outputSchema").is_none(), "{tool}");
                for (hint, value) in
                    [("readOnlyHint", true), ("destructiveHint", false), ("idempotentHint", true)]
                {
                    assert_eq!(annotations[hint], value, "{tool}");
                }
                assert_eq!(annotations["openWorldHint"], tool["name"] == "keyword_search", "{tool}");
            }
            assert_eq!(answer["result"]["ttlMs"].is_number(), is_stateless(revision), "{answer}");
            assert_eq!(answer["result"]["resultType"] == "complete", is_stateless(revision), "{answer}");
        }
        let unknown = request(revision, 2, "tools/list", json!({ "cursor": "page two" }));
        for answer in [Pipes::connect(&project, &[], revision).ask(&unknown), http.ask(revision, &unknown)] {
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
    }
}

#[test]
fn calls_give_text_and_errors_that_show_a_call_that_works() {
    let project = project();
    let http = Http::start(&project, &[]);
    let mut all = std::collections::BTreeSet::new();
    for revision in REVISIONS {
        let mut pipes = Pipes::connect(&project, &[], revision);
        let mut said = [String::new(), String::new()];
        for (tool, arguments) in [
            ("grep_search", json!({ "pattern": "retry\\(" })),
            ("read_file", json!({ "path": "README.md" })),
            ("grep_search", json!({ "query": "retry(" })),
            ("grep_search", json!({ "context_lines": "many" })),
            ("read_file", json!({ "path": "../home/.config/forage/config.toml" })),
            ("no_such_tool", json!({})),
            ("Search", json!({ "pattern": "x" })),
        ] {
            let message = call(revision, 7, tool, arguments);
            for (said, answer) in said.iter_mut().zip([pipes.ask(&message), http.ask(revision, &message)]) {
                assert!(answer["result"].get("structuredContent").is_none(), "{answer}");
                // The first answer of a connection also names the root.
                let shown = shown(&answer);
                let lines = shown.lines().filter(|line| !line.is_empty() && !line.starts_with("[root: "));
                *said += &(lines.collect::<Vec<_>>().join("\n") + "\n\n");
            }
        }
        all.extend(said);
    }
    assert_eq!(all.len(), 1, "the transports or the revisions differ: {all:?}");
    insta::assert_snapshot!(all.pop_first().unwrap());
}

/// The problem, the advice and the list of tools all use one name. This is the client's name, if we are
/// certain of it.
#[test]
fn an_error_has_one_name_for_a_tool() {
    let project = project();
    let mut all = String::new();
    for (client, name) in [
        ("raw", "read_project_file"),
        ("fast-agent-mcp", "read_file"),
        ("claude-code", "grep_search"),
        ("qwen-cli-mcp-client-forage", "mcp__forage__grep_search"),
    ] {
        let mut pipes = Pipes::start(&project, &[]);
        let mut hello = initialize("2025-11-25", 0);
        hello["params"]["clientInfo"]["name"] = json!(client);
        pipes.handshake(hello);
        let answer = pipes.ask(&call("2025-11-25", 1, name, json!({})));
        let unknown = pipes.ask(&call("2025-11-25", 2, "no_such_tool", json!({})));
        all += &format!("{client}\n{}\n{}\n\n", shown(&answer), shown(&unknown));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn what_is_not_declared_is_not_there() {
    let project = project();
    let http = Http::start(&project, &[]);
    for revision in REVISIONS {
        let mut pipes = Pipes::connect(&project, &[], revision);
        for (method, params, code) in [
            ("prompts/list", json!({}), -32601),
            ("resources/list", json!({}), -32601),
            ("resources/templates/list", json!({}), -32601),
            ("no/such", json!({}), -32601),
            ("tools/call", json!({ "name": 42 }), -32602),
            ("tools/call", json!({}), -32602),
        ] {
            let message = request(revision, 3, method, params);
            assert_eq!(pipes.ask(&message)["error"]["code"], code, "{revision} {method}");
            // Over HTTP, newer revisions require the tool's name in a header, which is checked before the
            // body.
            let answer = http.ask(revision, &message);
            let refused = answer["error"]["code"].as_i64().unwrap();
            assert!(
                refused == code || is_stateless(revision) && refused == -32020,
                "{revision} {method} {answer}"
            );
        }
    }
}

#[test]
fn a_cancelled_call_stops_its_work_and_has_no_answer() {
    let (project, model) = hanging_project();
    for revision in REVISIONS {
        let mut pipes = Pipes::connect(&project, &[], revision);
        pipes.send(&slow_call(revision, 5));
        model.next_event();
        let asked = std::time::Instant::now();
        let params = request(revision, 0, "", json!({ "requestId": 5 }))["params"].clone();
        pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
        let took = model.next_event().duration_since(asked);
        assert!(took < STOPPED, "{revision}: {took:?}");
        // The next answer must belong to the next request.
        let next = request(revision, 6, "tools/list", json!({}));
        assert!(pipes.ask(&next)["result"]["tools"].is_array());
    }
}

#[test]
fn a_client_that_leaves_an_http_call_stops_its_work() {
    let (project, model) = hanging_project();
    let http = Http::start(&project, &[]);
    for revision in REVISIONS {
        let stream = http.begin(revision, &slow_call(revision, 5));
        model.next_event();
        let left = std::time::Instant::now();
        drop(stream);
        let took = model.next_event().duration_since(left);
        assert!(took < STOPPED, "{revision}: {took:?}");
    }
}

#[test]
fn progress_is_sent_on_request_and_increases() {
    let (project, _model) = hanging_project();
    let http = Http::start(&project, &[]);
    for revision in REVISIONS {
        let mut slow = slow_call(revision, 5);
        slow["params"]["_meta"]["progressToken"] = json!("token");
        let mut pipes = Pipes::connect(&project, &[], revision);
        pipes.send(&slow);
        let reported: Vec<_> = (0..2).map(|_| pipes.receive()).collect();
        drop(pipes);

        let mut stream = http.begin(revision, &slow);
        let mut begin = Vec::new();
        while String::from_utf8_lossy(&begin).matches("notifications/progress").count() < 2 {
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece).unwrap();
            assert!(count > 0, "{revision}: {}", String::from_utf8_lossy(&begin));
            begin.extend_from_slice(&piece[..count]);
        }
        // Read the rest of the messages until none arrives.
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let response = read_all(&mut std::io::Cursor::new(begin).chain(&mut stream));
        assert_eq!(response.header("content-type"), Some("text/event-stream"), "{response:?}");
        let streamed: Vec<_> = response.messages();

        for reported in [reported, streamed] {
            assert!(reported.len() >= 2, "{revision}: {reported:?}");
            let progress: Vec<f64> = reported
                .iter()
                .map(|message| {
                    assert_eq!(message["method"], "notifications/progress", "{message}");
                    assert_eq!(message["params"]["progressToken"], "token");
                    assert!(
                        message["params"]["message"].as_str().unwrap().starts_with("waiting for "),
                        "{message}"
                    );
                    message["params"]["progress"].as_f64().unwrap()
                })
                .collect();
            assert!(progress.is_sorted_by(|a, b| a < b), "{progress:?}");
        }
    }
    // A client that did not request progress must not get it.
    let mut pipes = Pipes::connect(&project, &[], "2025-11-25");
    pipes.send(&slow_call("2025-11-25", 5));
    assert_eq!(pipes.receive_within(Duration::from_millis(1_200)), None);
}

//! A single client on pipes: invalid lines, the end of input, sizes.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::wire::{Http, Pipes};
use super::{REVISIONS, call, hanging_project, initialize, is_stateless, project, request, slow_call, text};

/// Less than the 90 seconds that running calls have until their answers are read.
const AT_ONCE: Duration = Duration::from_secs(20);

#[test]
fn a_bad_line_is_answered_and_the_session_goes_on() {
    let project = project();
    for revision in REVISIONS {
        for early in [true, false] {
            let mut pipes = Pipes::start(&project, &[]);
            if !early && !is_stateless(revision) {
                pipes.handshake(initialize(revision, 0));
            }
            let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":8,\"x\":\"{}\"}}\n", "y".repeat(9 << 20));
            let deep = "[".repeat(200_000) + "\n";
            for (line, code, id) in [
                ("no json\n", -32700, Value::Null),
                ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\n", -32700, json!(7)),
                ("[]\n", -32600, Value::Null),
                ("{\"jsonrpc\":\"2.0\",\"id\":9}\n", -32600, json!(9)),
                ("\u{feff}{\"id\":\"ten\"}\r\n", -32600, json!("ten")),
                ("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"\u{0}\"\n", -32700, json!(3)),
                (&long, -32600, json!(8)),
                (&deep, -32700, Value::Null),
            ] {
                pipes.send_bytes(line.as_bytes());
                let answer = pipes.receive();
                let shown: String = line.chars().take(60).collect();
                assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{shown}");
            }
            // Messages that need no answer must get none: blank lines, notifications, and answers to
            // questions that we never asked.
            pipes.send_bytes(b"\n  \r\n");
            pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } }));
            pipes.send(&json!({ "jsonrpc": "2.0", "method": "$/unknown", "params": [1] }));
            pipes.send(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
            pipes.send_bytes(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":5}\n");
            pipes.send_bytes(&[0xff, 0xfe, b'\n']);
            assert_eq!(pipes.receive()["error"]["code"], -32700);
            if early && !is_stateless(revision) {
                pipes.handshake(initialize(revision, 0));
            }
            let answer = pipes.ask(&call(revision, 20, "grep_search", json!({ "pattern": "retry" })));
            assert!(!text(&answer).1, "{answer}");
        }
    }
}

/// Some clients write the id last, and some send `server/discover` before they choose a revision.
#[test]
fn requests_are_answered_however_they_are_written() {
    let project = project();
    let mut pipes = Pipes::start(&project, &[]);
    let discover = request("2026-07-28", 1, "server/discover", json!({}));
    assert!(pipes.ask(&discover)["result"]["supportedVersions"].is_array());
    pipes.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
    );
    pipes.send(&json!({ "jsonrpc": "2.0", "method": "ping", "id": 2 }));
    assert_eq!(pipes.receive()["id"], 2);
    pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    pipes.handshake(initialize("2025-11-25", 3));
    for id in [json!(8), json!("eight")] {
        let long = "y".repeat(2 << 20);
        let line = format!(
            "{{\"method\":\"tools/call\",\"params\":{{\"x\":\"{long}\",\"id\":5}},\"jsonrpc\":\"2.0\",\"id\":{id}}}\n"
        );
        pipes.send_bytes(line.as_bytes());
        let answer = pipes.receive();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &id));
    }
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let (project, model) = hanging_project();
    let mut pipes = Pipes::connect(&project, &[], "2025-11-25");
    pipes.send(&slow_call("2025-11-25", 5));
    model.next_event();
    pipes.send(&call("2025-11-25", 5, "read_file", json!({ "path": "README.md" })));
    let refused = pipes.receive();
    assert!(refused["error"]["code"] == -32600 && refused["id"].is_null(), "{refused}");
    let cancel = json!({ "requestId": 5 });
    pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }));
    let next = pipes.ask(&call("2025-11-25", 6, "read_file", json!({ "path": "README.md" })));
    assert!(text(&next).0.contains("# Example"));
}

/// A client that sends requests but never reads must neither keep the server from ending nor push it over its
/// limits.
#[test]
fn server_ends_although_the_client_does_not_read() {
    let project = project();
    project.write("long.txt", &"retry and much more text to fill the line\n".repeat(1_000));
    for enough in [false, true] {
        let mut server = super::wire::Server::start(&project, &[], &[]);
        let mut stdin = server.child.stdin.take().unwrap();
        let mut send = |message: &Value| stdin.write_all(format!("{message}\n").as_bytes());
        send(&initialize("2025-11-25", 0)).unwrap();
        let read = |id| call("2025-11-25", id, "read_file", json!({ "path": "long.txt" }));
        let max = if enough { 20_000 } else { 100 };
        // Don't send faster than the server answers, because calls beyond the limit get short answers.
        let pace =
            |id: u64| std::thread::sleep(Duration::from_millis(if id.is_multiple_of(100) { 200 } else { 0 }));
        let sent = (1..=max).inspect(|id| pace(*id)).take_while(|id| send(&read(*id)).is_ok()).count();
        // With 64 MiB unread the client counts as gone. With less, its end of input ends the server.
        assert_eq!(sent < max as usize, enough, "{sent}");
        let closed = Instant::now();
        drop(stdin);
        assert!(server.child.wait().unwrap().success());
        assert!(closed.elapsed() < AT_ONCE, "{:?}", closed.elapsed());
    }
}

#[test]
fn searches_do_not_queue_after_model_calls() {
    let (project, model) = hanging_project();
    let mut pipes = Pipes::connect(&project, &[], "2025-11-25");
    for id in 1..=10 {
        pipes.send(&slow_call("2025-11-25", id));
    }
    model.next_event();
    let answer = pipes.ask(&call("2025-11-25", 99, "grep_search", json!({ "pattern": "retry" })));
    assert!(text(&answer).0.contains("src/retry.rs"), "{answer}");
}

#[test]
fn bad_lines_without_end_are_not_answered_without_end() {
    let project = project();
    let mut pipes = Pipes::connect(&project, &[], "2025-11-25");
    pipes.send_bytes("nonsense\n".repeat(5_000).as_bytes());
    pipes.send(&request("2025-11-25", 1, "ping", json!({})));
    let mut errors = 0;
    while pipes.receive()["id"] != 1 {
        errors += 1;
    }
    assert_eq!(errors, forage_mcp::limits::BAD_LINES_ANSWERED);
}

/// Tests a script such as `printf '…' | forage mcp`.
#[test]
fn requests_before_end_of_input_are_answered() {
    let project = project();
    for revision in REVISIONS {
        let mut pipes = Pipes::start(&project, &[]);
        if !is_stateless(revision) {
            pipes.send(&initialize(revision, 0));
            pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        let asked = [
            ("grep_search", json!({ "pattern": "retry" })),
            ("search_index", json!({ "query": "how is it retried?" })),
            ("read_file", json!({ "path": "README.md" })),
        ];
        for (id, (tool, arguments)) in (1..).zip(asked) {
            pipes.send(&call(revision, id, tool, arguments));
        }
        drop(pipes.stdin.take());
        let mut answered: Vec<u64> = (0..3 + usize::from(!is_stateless(revision)))
            .map(|_| {
                let answer = pipes.receive();
                let id = answer["id"].as_u64().unwrap();
                assert!(id == 0 || !text(&answer).1, "{answer}");
                id
            })
            .filter(|id| *id > 0)
            .collect();
        answered.sort_unstable();
        assert_eq!(answered, [1, 2, 3], "{revision}");
        assert!(pipes.server.child.wait().unwrap().success());
    }
    // The same without any message before.
    let mut pipes = Pipes::start(&project, &[]);
    let closed = Instant::now();
    drop(pipes.stdin.take());
    assert!(pipes.server.child.wait().unwrap().success());
    assert!(closed.elapsed() < AT_ONCE, "{:?}", closed.elapsed());
}

#[cfg(unix)]
#[test]
fn disconnected_client_ends_the_server_and_its_work() {
    let (project, model) = hanging_project();
    for revision in REVISIONS {
        let mut server = super::wire::Server::start(&project, &[], &[]);
        let (stdin, stdout) = (server.child.stdin.take(), server.child.stdout.take());
        let mut stdin = stdin.unwrap();
        let mut send = |message: &Value| stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
        if !is_stateless(revision) {
            send(&initialize(revision, 0));
            send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        send(&slow_call(revision, 5));
        model.next_event();
        drop(stdin);
        // Positive control: while the answer can still be read, the work continues.
        std::thread::sleep(Duration::from_secs(1));
        assert!(server.child.try_wait().unwrap().is_none(), "{revision}");
        let gone = Instant::now();
        drop(stdout);
        let status = server.child.wait().unwrap();
        let took = gone.elapsed();
        assert!(status.success() && took < AT_ONCE, "{revision}: {status} {took:?}");
        model.next_event();
    }
}

#[test]
fn a_thousand_calls_at_once_are_all_answered_once() {
    let project = project();
    let mut pipes = Pipes::connect(&project, &[], "2025-11-25");
    for id in 1..=1_000 {
        let tool = ["grep_search", "read_file", "list_directory"][id as usize % 3];
        let arguments = match tool {
            "grep_search" => json!({ "pattern": "retry" }),
            "read_file" => json!({ "path": "README.md" }),
            _ => json!({}),
        };
        pipes.send(&call("2025-11-25", id, tool, arguments));
    }
    let mut answered: Vec<u64> = (0..1_000)
        .map(|_| {
            let answer = pipes.receive();
            assert!(!text(&answer).1, "{answer}");
            answer["id"].as_u64().unwrap()
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, (1..=1_000).collect::<Vec<_>>());
}

/// Reading a file must not wait for hanging searches, but searches above the limit must wait.
#[test]
fn quick_calls_do_not_queue_after_searches() {
    let (project, model) = hanging_project();
    let mut pipes = Pipes::connect(&project, &[], "2025-11-25");
    for id in 1..=50 {
        pipes.send(&slow_call("2025-11-25", id));
    }
    model.next_event();
    let answer = pipes.ask(&call("2025-11-25", 99, "read_file", json!({ "path": "README.md" })));
    assert!(text(&answer).0.contains("# Example"));
}

#[test]
fn answers_fit_the_client() {
    let project = project();
    project.write("long.txt", &"retry and much more text to fill the line\n".repeat(2_000));
    let size = |client: &str, arguments: &[&str]| {
        let mut pipes = Pipes::start(&project, arguments);
        let mut hello = initialize("2025-11-25", 0);
        hello["params"]["clientInfo"]["name"] = json!(client);
        pipes.handshake(hello);
        let arguments = json!({ "path": "long.txt" });
        let answer = pipes.ask(&call("2025-11-25", 1, "read_file", arguments));
        text(&answer).0.len()
    };
    for (client, max) in [
        ("claude-code", 46_000),
        ("codex-mcp-client", 40_000),
        ("@cline/core", 7_500),
        ("github-copilot-developer", 20_000),
        ("not known", 40_000),
    ] {
        let size = size(client, &[]);
        assert!(size > max - 1_000 && size <= max, "{client}: {size}");
    }
    // The user's setting takes precedence.
    let size = size("@cline/core", &["--text-bytes", "60000"]);
    assert!(size > 59_000 && size <= 60_000, "{size}");
}

/// Checks what each client's model sees: no tool that the client has itself, none that can't answer, and
/// names in the client's form.
#[test]
fn tools_and_instructions_fit_the_client() {
    let project = project();
    let shown = |client: &str| {
        let mut pipes = Pipes::start(&project, &[]);
        let mut hello = initialize("2025-11-25", 0);
        hello["params"]["clientInfo"]["name"] = json!(client);
        let hello = pipes.handshake(hello);
        let list = pipes.ask(&super::request("2025-11-25", 1, "tools/list", json!({})));
        let tools = list["result"]["tools"].as_array().unwrap().clone();
        (hello["result"]["instructions"].as_str().unwrap().to_owned(), tools)
    };
    let names = |tools: &[serde_json::Value]| {
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let (instructions, tools) = shown("not known");
    assert_eq!(names(&tools), "search_index grep_search list_project_directory read_project_file");
    assert!(
        instructions.contains("`read_project_file`") && !instructions.contains("keyword_search"),
        "{instructions}"
    );
    assert!(tools.iter().all(|tool| tool.get("_meta").is_none()));

    // A client that adds its own prefix gets the plain names.
    assert_eq!(names(&shown("fast-agent-mcp").1), "search_index grep_search list_directory read_file");

    // The server can't know under which name the client has registered it, so texts have no prefix.
    let (instructions, tools) = shown("gemini-cli-mcp-client");
    assert_eq!(names(&tools), "search_index grep_search");
    assert!(instructions.contains("`grep_search`") && !instructions.contains("mcp_"), "{instructions}");
    assert!(
        !instructions.contains("read_file") && !instructions.contains("list_directory"),
        "{instructions}"
    );
    let descriptions = tools.iter().map(|tool| tool["description"].as_str().unwrap()).collect::<String>();
    assert!(descriptions.contains("use search_index") && !descriptions.contains("list_directory"));
    // This client names the server in the handshake.
    let (instructions, _) = shown("qwen-cli-mcp-client-forage");
    assert!(instructions.contains("`mcp__forage__grep_search`"), "{instructions}");

    let (_, tools) = shown("claude-code");
    assert_eq!(names(&tools), "search_index grep_search");
    for tool in &tools {
        assert_eq!(tool["_meta"]["anthropic/alwaysLoad"], true, "{tool}");
        assert_eq!(tool["_meta"]["anthropic/maxResultSizeChars"], 46_000, "{tool}");
    }

    // Now with a model and with the user's own settings.
    project.configure("filter = \"lexical\"\n[mcp]\nprefix = \"my_\"\nprofile = \"all\"\n[tools.read_file]\nenabled = false\n");
    let (instructions, tools) = shown("claude-code");
    assert_eq!(names(&tools), "my_search_index my_grep_search my_keyword_search my_list_directory");
    assert!(instructions.contains("`my_keyword_search`"), "{instructions}");
    let mut pipes = Pipes::connect(&project, &[], "2025-11-25");
    for name in ["my_grep_search", "grep_search", "mcp__forage__my_grep_search", "mcp__forage__grep_search"] {
        let answer = pipes.ask(&call("2025-11-25", 1, name, json!({ "pattern": "retry" })));
        assert!(text(&answer).0.starts_with("Found"), "{name}: {answer}");
    }
}

/// The advice must use this client's tool names, and only mention tools that are offered.
#[test]
fn broad_terms_hint_at_offered_tools() {
    let project = project();
    let line = "common words in a line that is long enough to add up\n";
    (0..40).for_each(|number| project.write(&format!("broad/{number}.txt"), &line.repeat(200)));
    for (settings, reported, untold) in [
        ("", "search_index ranks files", "my_"),
        ("[mcp]\nprefix = \"my_\"\n", " my_grep_search finds a pattern", " grep_search"),
        ("[tools.search_index]\nenabled = false\n", " grep_search finds a pattern", "search_index"),
    ] {
        project.configure(settings);
        let mut pipes = Pipes::start(&project, &[]);
        let mut hello = initialize("2025-11-25", 0);
        hello["params"]["capabilities"] = json!({ "sampling": {} });
        pipes.handshake(hello);
        let terms = json!({ "query": "what is common?", "search_terms": ["common"] });
        let answer = pipes.ask(&call("2025-11-25", 1, "keyword_search", terms));
        let (text, is_error) = text(&answer);
        assert!(is_error && text.starts_with("each of those search terms yielded too many"), "{text}");
        assert!(text.contains(reported) && !text.contains(untold) && !text.contains("forage rank"), "{text}");
    }
}

/// We offer the filtered search to clients that support sampling, but not to clients that would wait forever.
#[test]
fn keyword_search_is_offered_where_a_model_can_answer() {
    let project = project();
    for (client, is_offered) in [("not known", true), ("github-copilot-developer", false)] {
        let mut pipes = Pipes::start(&project, &[]);
        let mut hello = initialize("2025-11-25", 0);
        hello["params"]["clientInfo"]["name"] = json!(client);
        hello["params"]["capabilities"] = json!({ "sampling": {} });
        pipes.handshake(hello);
        let list = pipes.ask(&super::request("2025-11-25", 1, "tools/list", json!({})));
        assert_eq!(list.to_string().contains("\"keyword_search\""), is_offered, "{client}: {list}");
        if !is_offered {
            let answer = pipes.ask(&slow_call("2025-11-25", 2));
            let (text, is_error) = text(&answer);
            assert!(is_error && text.contains("use search_index for a question; use grep_search"), "{text}");
            assert!(text.len() < 300, "{text}");
        }
    }
}

#[test]
fn arguments_in_a_text_are_read() {
    let project = project();
    for revision in REVISIONS {
        let mut pipes = Pipes::connect(&project, &[], revision);
        let http = Http::start(&project, &[]);
        for arguments in
            [json!("{\"pattern\": \"retry\"}"), json!({ "pattern": "retry", "wait_for_previous": true })]
        {
            let message = call(revision, 3, "grep_search", arguments);
            for answer in [pipes.ask(&message), http.ask(revision, &message)] {
                assert_eq!(answer["id"], 3, "{answer}");
                assert!(text(&answer).0.starts_with("Found 2 matches"), "{revision}: {answer}");
            }
        }
        let answer = pipes.ask(&call(revision, 4, "list_directory", json!([])));
        assert!(text(&answer).0.contains("README.md"), "{answer}");
        let answer = pipes.ask(&call(revision, 5, "grep_search", json!("no JSON")));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[test]
fn structured_answers_are_complete() {
    let project = project();
    let mut pipes = Pipes::connect(&project, &["--output", "structured"], "2025-11-25");
    let tools = pipes.ask(&request("2025-11-25", 1, "tools/list", json!({})));
    assert_eq!(tools["result"]["tools"][1]["outputSchema"]["type"], "object");
    let answer = pipes.ask(&call("2025-11-25", 2, "grep_search", json!({ "pattern": "retry" })));
    let records = &answer["result"]["structuredContent"];
    let run = project.run(&["call", "grep_search", "{\"pattern\": \"retry\"}", "--json"]).json();
    for (name, value) in run.as_object().unwrap() {
        if name != "elapsed_ms" {
            assert_eq!(&records[name], value, "{name}");
        }
    }
    assert!(!text(&answer).0.is_empty());
    // An error has the same text as on the command line, in the same record.
    let error = pipes.ask(&call("2025-11-25", 3, "grep_search", json!({})));
    assert!(text(&error).1, "{error}");
    let record = json!({ "type": "error", "error": text(&error).0, "code": "request" });
    assert_eq!(error["result"]["structuredContent"], record);
}

#[test]
fn the_clients_model_filters_when_there_is_no_other() {
    let project = project();
    let said = json!({
        "model": "theirs", "role": "assistant", "stopReason": "endTurn",
        "content": { "type": "text", "text": "src/retry.rs: retries" },
    });
    for revision in REVISIONS {
        let mut pipes = Pipes::start(&project, &["--root", "."]);
        let answer = if is_stateless(revision) {
            let mut message = slow_call(revision, 1);
            message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                json!({ "sampling": {} });
            let asked = pipes.ask(&message);
            let result = &asked["result"];
            let (key, question) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
            assert_eq!(question["method"], "sampling/createMessage");
            assert!(question["params"].to_string().contains("how is it retried?"));
            message["params"]["inputResponses"] = json!({ key: said });
            message["params"]["requestState"] = result["requestState"].clone();
            pipes.ask(&message)
        } else {
            let mut hello = initialize(revision, 0);
            hello["params"]["capabilities"] = json!({ "sampling": {} });
            pipes.handshake(hello);
            pipes.send(&slow_call(revision, 1));
            let asked = pipes.receive();
            assert_eq!(asked["method"], "sampling/createMessage", "{asked}");
            pipes.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": said }));
            pipes.receive()
        };
        let (text, is_error) = text(&answer);
        assert!(!is_error && text.contains("src/retry.rs: retries"), "{revision}: {text}");
        assert!(text.contains("client/theirs"), "{text}");
    }
    // Without a model the error lists what was searched for.
    let mut pipes = Pipes::connect(&project, &[], "2025-11-25");
    let answer = pipes.ask(&slow_call("2025-11-25", 1));
    assert!(text(&answer).1 && text(&answer).0.contains("no usable model is configured"), "{answer}");
}

/// The resources of a process, from `/proc`.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Holds {
    descriptors: usize,
    threads: usize,
    resident_kib: u64,
    children: String,
}

#[cfg(target_os = "linux")]
impl Holds {
    fn from_pid(pid: u32) -> Self {
        let process = format!("/proc/{pid}");
        let count = |what: &str| std::fs::read_dir(format!("{process}/{what}")).unwrap().count();
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let children = std::fs::read_dir(format!("{process}/task")).unwrap().map(|thread| {
            let thread = thread.unwrap().path();
            // A thread may have ended in the meantime.
            std::fs::read_to_string(thread.join("children")).unwrap_or_default()
        });
        Self {
            descriptors: count("fd"),
            children: children.collect(),
            threads: count("task"),
            resident_kib: resident.trim().trim_end_matches(" kB").parse().unwrap(),
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ten_thousand_random_calls_leave_nothing_behind() {
    let project = project();
    project.write("long.txt", &"retry and much more text to fill the line\n".repeat(400));
    // Use one heap for all threads. With a heap per thread, the memory in use would depend on which threads
    // there were.
    let environment = [("FORAGE_FILTER", "lexical"), ("MALLOC_ARENA_MAX", "1")];
    let mut pipes = Pipes::start_with(&project, &[], &environment);
    pipes.handshake(initialize("2025-11-25", 0));
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let mut before = None;
    let (mut answered, mut failed) = (0, 0);
    for id in 1..=10_000 {
        if id == 2_000 {
            before = Some(Holds::from_pid(pipes.server.child.id()));
        }
        let words = ["retry", "fn \\w+", "(", "", "main", "x{1000}{1000}", "times", "é"];
        let word = words[random(8) as usize];
        let path = [".", "src", "../..", "src/retry.rs", "no/such", "/etc/passwd"][random(6) as usize];
        let (tool, arguments) = match random(7) {
            0 => ("grep_search", json!({ "pattern": word, "path": path, "context_lines": random(60) })),
            1 => ("read_file", json!({ "path": path, "start_line": random(9), "end_line": random(9) })),
            2 => ("list_directory", json!({ "path": path, "recursive": random(2) == 1 })),
            3 => (
                "keyword_search",
                json!({ "query": word, "search_terms": [word, words[random(8) as usize]] }),
            ),
            4 => ("no_such_tool", json!({})),
            5 => ("grep_search", json!({ word: path })),
            _ => ("grep_search", json!({ "pattern": "retry", "max_results": 2_000 })),
        };
        pipes.send(&call("2025-11-25", id, tool, arguments));
        if random(20) == 0 {
            let cancel = json!({ "requestId": id });
            pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }));
            // The next messages show if the answer was already on its way.
            pipes.send(&request("2025-11-25", 100_000 + id, "ping", json!({})));
            while pipes.receive()["id"] != 100_000 + id {}
            continue;
        }
        let answer = pipes.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answered += 1;
        failed += u64::from(answer["error"].is_object() || answer["result"]["isError"] == true);
    }
    assert!(answered > 9_000 && failed > 1_000 && failed < answered, "{answered} {failed}");
    let (before, after) = (before.unwrap(), Holds::from_pid(pipes.server.child.id()));
    assert_eq!(
        (after.descriptors, after.children.as_str()),
        (before.descriptors, ""),
        "{before:?} {after:?}"
    );
    assert!(after.threads <= before.threads + 16, "{before:?} {after:?}");
    assert!(after.resident_kib <= before.resident_kib + 16 * 1024, "{before:?} {after:?}");
}

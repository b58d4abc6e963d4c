//! Runs real agents in the versions of `tests/clients/real/package.json`, each in a separate home.
//! `forage setup` writes the entry, the agent starts the server, and a scripted model
//! (`tests/clients/model.py`) sees what the agent shows it.
//!
//! These tests take minutes and gigabytes, so they only run if `FORAGE_TEST_CLIENTS` names the agents'
//! folder. `cargo xtask peers --all` fills this folder, and `cargo xtask check --all` sets the variable.
#![expect(clippy::panic, reason = "in the helpers of tests, too, a panic is a failed test")]

mod hooks;
mod plugins;
mod stage;
mod table;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::HangingModel;
use crate::mcp::wire::Pipes;
use stage::{LAST_WORD, Stage};
use table::{Client, Instructions};

/// Time limits for an interrupted client to end, and then for its server to be gone. Each takes a second or
/// two.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// Characters at the end of the instructions that we compare. They show if the instructions arrived
/// completely.
const END: usize = 250;

const NEEDLE: (&str, &str) = ("src/hay.rs", "// hay\n// a needle in it\n");

macro_rules! clients {
    ($($name:ident: $client:expr;)*) => {
        $(mod $name {
            #[test]
            fn the_model_sees_the_tools() {
                super::the_model_sees_the_tools(&$client);
            }

            #[test]
            fn a_result_arrives_whole() {
                super::a_result_arrives_whole(&$client);
            }

            #[test]
            fn an_error_arrives_and_the_session_goes_on() {
                super::an_error_arrives_and_the_session_goes_on(&$client);
            }

            #[test]
            fn ctrl_c_ends_a_call_and_the_server() {
                super::ctrl_c_ends_a_call_and_the_server(&$client);
            }

            #[test]
            fn the_entry_is_taken_out_again() {
                super::the_entry_is_taken_out_again(&$client);
            }
        })*
    };
}

clients! {
    claude_code: super::table::CLAUDE_CODE;
    codex: super::table::CODEX;
    codex_with_programs: super::table::CODEX_PROGRAMS;
    gemini_cli: super::table::GEMINI_CLI;
    qwen_code: super::table::QWEN_CODE;
    opencode: super::table::OPENCODE;
    kilo: super::table::KILO;
    copilot_cli: super::table::COPILOT_CLI;
    cline: super::table::CLINE;
    continue_cli: super::table::CONTINUE;
    continue_cli_with_servers: super::table::CONTINUE_WITH_SERVERS;
}

fn last_word() -> Value {
    json!({ "text": LAST_WORD })
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({ "calls": [{ "tool": tool, "arguments": arguments }] })
}

/// Opens a session under the client's name. This gives us the text that the client should pass on.
fn session(stage: &Stage) -> (Pipes, Value) {
    let mut pipes = Pipes::start(&stage.project, &[]);
    let client = json!({ "name": stage.client.introduces, "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let answer =
        pipes.handshake(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
    (pipes, answer)
}

/// Collects all strings in a value.
fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// Normalizes white space, since some clients indent the text that they pass on.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn the_model_sees_the_tools(client: &'static Client) {
    let Some(stage) = Stage::set_up(client, &[NEEDLE], &json!([last_word()])) else { return };
    stage.run();
    let first = stage.conversation().remove(0);
    assert_eq!((&first["wire"], &first["stream"]), (&json!(client.wire), &json!(true)));
    let names: Vec<&str> =
        first["offered"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let ours = |name: &&str| name.contains("forage") || client.offered.contains(name);
    let mut offered: Vec<&str> = names.iter().copied().filter(ours).collect();
    offered.sort_unstable();
    assert_eq!(offered, client.offered, "of {names:?}");
    let finder = names.iter().find(|name| ["ToolSearch", "tool_search"].contains(name));
    assert_eq!(finder.copied(), client.finder, "of {names:?}");

    let (_pipes, answer) = session(&stage);
    let text = answer["result"]["instructions"].as_str().unwrap();
    let (beginning, instructions) = (flat(text.split("\n\n").next().unwrap()), flat(text));
    let mut shown = Vec::new();
    texts(&first["body"], &mut shown);
    let shown = flat(&shown.join("\n"));
    // We can't compare the middle, which depends on the tools that Forage can offer in the client's
    // environment.
    let end: String = instructions.chars().skip(instructions.chars().count() - END).collect();
    let seen = match (shown.contains(&beginning), shown.contains(&end)) {
        (true, true) => Instructions::Whole,
        (true, false) => Instructions::Beginning,
        (false, _) => Instructions::None,
    };
    assert_eq!(seen, client.instructions, "{instructions}\n{shown}");
}

/// Uses the largest answer that Forage gives this client.
fn a_result_arrives_whole(client: &'static Client) {
    let Some((expected, result)) = large_result(client, "") else { return };
    // The answer must be close to the limit, or we would not notice a client that cuts earlier.
    let bytes = client.text_bytes * 9 / 10..=client.text_bytes;
    assert!(bytes.contains(&expected.len()), "{} bytes, not {bytes:?}", expected.len());
    assert!(is_whole(&expected, &result), "{} bytes of {}:\n{result}", result.len(), expected.len());
}

/// Positive control: an answer above the client's limit does not arrive completely.
#[test]
fn a_result_beyond_the_bound_is_cut_and_that_is_seen() {
    let settings = "[limits]\ntext_bytes = 12000\n";
    let Some((expected, result)) = large_result(&table::CLINE, settings) else { return };
    assert!(expected.len() > 11_000, "{}", expected.len());
    assert!(!is_whole(&expected, &result), "{result}");
}

/// Returns the server's own answer, and the text that the client shows its model.
fn large_result(client: &'static Client, settings: &str) -> Option<(String, String)> {
    let line = |number: usize| {
        format!("let needle_{number:04} = \"a line that is long enough to fill an answer soon\";\n")
    };
    let text: String = (0..1_000).map(line).collect();
    let arguments = json!({ "pattern": "needle", "max_results": 1_000, "context_lines": 0 });
    let script = json!([call("grep_search", &arguments), last_word()]);
    let stage = Stage::set_up(client, &[("src/hay.rs", &text)], &script)?;
    stage.project.configure(settings);
    stage.run();

    let (mut pipes, _) = session(&stage);
    let params = json!({ "name": "grep_search", "arguments": arguments });
    let answer = pipes.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    let expected = answer["result"]["content"][0]["text"].as_str().unwrap().trim_end();
    Some((expected.to_owned(), stage.result(0)))
}

fn is_whole(expected: &str, result: &str) -> bool {
    // Some clients pass the answer on as escaped JSON.
    let quoted = serde_json::to_string(expected).unwrap();
    result.contains(expected) || result.contains(quoted.trim_matches('"'))
}

fn an_error_arrives_and_the_session_goes_on(client: &'static Client) {
    let missing = json!({ "pattern": "needle", "path": "does/not/exist" });
    let there = json!({ "pattern": "needle" });
    let script = json!([call("grep_search", &missing), call("grep_search", &there), last_word()]);
    let Some(stage) = Stage::set_up(client, &[NEEDLE], &script) else { return };
    stage.run();
    let (error, result) = (stage.result(0), stage.result(1));
    assert!(error.contains("does/not/exist") && error.contains("does not exist"), "{error}");
    assert!(result.contains("a needle in it"), "{result}");
}

/// Interrupts the client during a call that waits for a silent model.
fn ctrl_c_ends_a_call_and_the_server(client: &'static Client) {
    let arguments = json!({ "query": "where is the needle?", "search_terms": ["needle"] });
    let script = json!([call("keyword_search", &arguments), last_word()]);
    let Some(stage) = Stage::set_up(client, &[NEEDLE], &script) else { return };
    let model = HangingModel::start();
    model.configure(&stage.project);
    let mut running = stage.start();
    model.next_event();
    // Positive control: there are processes that must be ended.
    assert!(!stage.processes().is_empty(), "{}", stage.printed());
    running.signal("INT");
    running.wait(GONE_WITHIN);
    model.next_event();
    let interrupted = Instant::now();
    while !stage.processes().is_empty() {
        assert!(interrupted.elapsed() < GONE_WITHIN, "still there: {:?}", stage.processes());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// `forage setup` must remove exactly the text that it has written.
fn the_entry_is_taken_out_again(client: &'static Client) {
    let name = client.setup;
    let script = json!([call("grep_search", &json!({ "pattern": "needle" })), last_word()]);
    let Some(stage) = Stage::new(client, &[NEEDLE], &script) else { return };
    let before = stage.file();
    stage.setup(name, "--write");
    let written = stage.file();
    assert_ne!(written, before);
    stage.setup(name, "--remove");
    assert_eq!(stage.file(), before, "a file that nobody has touched");

    stage.setup(name, "--write");
    stage.run();
    let used = stage.file();
    stage.setup(name, "--remove");
    let after = stage.file();
    if used == written {
        assert_eq!(after, before, "a file that the client has left as it was");
        return;
    }
    // The client has changed its own file, which is JSON with comments on separate lines. Everything except
    // the entry must remain.
    let parsed = |text: Option<String>| -> Value {
        let text = text.unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        serde_json::from_str(&lines.join("\n")).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let (mut used, mut after) = (parsed(used), parsed(after));
    let section = ["mcpServers", "mcp"].into_iter().find(|section| used[*section].is_object()).unwrap();
    assert!(used[section].as_object_mut().unwrap().remove("forage").is_some(), "{used}");
    for file in [&mut used, &mut after] {
        if file[section].as_object().is_some_and(serde_json::Map::is_empty) {
            file.as_object_mut().unwrap().remove(section);
        }
    }
    assert_eq!(after, used);
}

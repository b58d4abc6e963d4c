//! `forage ask` on a terminal, which shows the text of models while they write it.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json as value};

use crate::Project;
use crate::ask::{configure, project};
use crate::peer::{Peer, Reply};

/// Runs a program on a new terminal and prints everything that the terminal receives.
const TERMINAL: &str = r#"
import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    sys.stdout.buffer.write(piece)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;

/// Runs the command on a terminal. Returns its status and the terminal's output.
fn on_a_terminal(project: &Project, arguments: &[&str]) -> (i32, String) {
    on_a_terminal_with(project, arguments, &[])
}

/// Like [`on_a_terminal`], with environment variables.
pub(crate) fn on_a_terminal_with(
    project: &Project,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> (i32, String) {
    let output = Command::new(forage_fuzz::peers::program("python3"))
        .args(["-c", TERMINAL, env!("CARGO_BIN_EXE_forage")])
        .args(arguments)
        .current_dir(&project.root)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", &project.home)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stdout).unwrap().replace('\r', ""))
}

/// Builds a stream of the OpenAI protocol: text in pieces, tool calls, and the finish reason, if it has one.
fn stream(pieces: &[&str], calls: &[(&str, Value)], finish: Option<&str>) -> Vec<u8> {
    let mut deltas: Vec<Value> = pieces.iter().map(|piece| value!({ "content": piece })).collect();
    deltas.extend(calls.iter().enumerate().map(|(index, (name, arguments))| {
        let function = value!({ "name": name, "arguments": arguments.to_string() });
        let call =
            value!({ "index": index, "id": format!("c{index}"), "type": "function", "function": function });
        value!({ "tool_calls": [call] })
    }));
    let choices = deltas.into_iter().map(|delta| value!({ "index": 0, "delta": delta }));
    let end = finish.map(|reason| value!({ "index": 0, "delta": {}, "finish_reason": reason }));
    let events: String =
        choices.chain(end).map(|choice| format!("data: {}\n\n", value!({ "choices": [choice] }))).collect();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{events}").into_bytes()
}

/// Sends the stream in pieces with pauses, so that the progress line is redrawn before and during the text.
fn slowly(bytes: Vec<u8>) -> Reply {
    Reply::Drip(bytes, 20, Duration::from_millis(60))
}

const FIRST: &str = "I look at the agent first.";
const ANSWER: &str = "Calls are made at src/agent.py:9.";

fn look() -> [(&'static str, Value); 1] {
    [("grep_search", value!({ "pattern": "class Agent" }))]
}

/// Builds the first turn, which contains text and calls.
fn looking() -> Reply {
    slowly(stream(&["I look at ", "the agent first."], &look(), Some("tool_calls")))
}

fn assert_once(printed: &str, text: &str) {
    assert_eq!(printed.matches(text).count(), 1, "{text:?} in {printed:?}");
}

#[test]
fn model_text_is_shown_once() {
    forage_fuzz::needs!("python3");
    let project = project();
    let answer = || slowly(stream(&["Calls are ", "made at ", "src/agent.py:9."], &[], Some("stop")));
    for flags in [&[][..], &["--quiet"]] {
        let peer = Peer::start([looking(), answer()]);
        configure(&project, &[&peer], "");
        let (status, printed) = on_a_terminal(&project, &[&["ask", "where?"], flags].concat());
        assert_eq!(status, 0, "{printed}");
        assert_once(&printed, FIRST);
        assert_once(&printed, ANSWER);
        assert!(printed.contains("[acme/big-0: turns 2, calls 1"), "{printed}");
        // Control: the progress line is shown or hidden as requested.
        assert_eq!(printed.contains("turn 1/8"), flags.is_empty(), "{printed:?}");
    }
}

/// In the last turn no calls are made, so the text next to them is the answer.
#[test]
fn answer_next_to_calls_is_shown_once() {
    forage_fuzz::needs!("python3");
    let project = project();
    let peer = Peer::start([slowly(stream(&[ANSWER], &look(), Some("tool_calls")))]);
    configure(&project, &[&peer], "");
    let (status, printed) = on_a_terminal(&project, &["ask", "where?", "--turns", "1"]);
    assert_eq!(status, 0, "{printed}");
    assert_once(&printed, ANSWER);
    assert!(printed.contains("no turns are left"), "{printed}");
}

/// A server's template may swallow the opening tag of the reasoning. The answer still begins after the
/// closing tag.
#[test]
fn answer_after_reasoning_is_shown_once() {
    forage_fuzz::needs!("python3");
    let project = project();
    let peer = Peer::start([slowly(stream(&["The user asks.\n</think>\n", ANSWER], &[], Some("stop")))]);
    configure(&project, &[&peer], "");
    let (status, printed) = on_a_terminal(&project, &["ask", "where?"]);
    assert_eq!(status, 0, "{printed}");
    assert_once(&printed, ANSWER);
}

#[test]
fn failed_answer_prints_the_streamed_text_once() {
    forage_fuzz::needs!("python3");
    let project = project();
    let peer = Peer::start([looking(), Reply::Hang(stream(&["Calls are"], &[], None))]);
    configure(&project, &[&peer], "");
    let (status, printed) = on_a_terminal(&project, &["ask", "where?", "--total-ms", "6000"]);
    assert_eq!(status, 2, "{printed}");
    assert_once(&printed, FIRST);
    assert_once(&printed, "Calls are");
    assert!(printed.contains("No answer: the time limit was reached"), "{printed}");
    assert!(printed.contains("Calls made:\n\n  1. grep_search"), "{printed}");
}

#[test]
fn a_text_that_was_broken_off_is_marked_as_that() {
    forage_fuzz::needs!("python3");
    let project = project();
    let peer = Peer::start([
        Reply::Raw(stream(&["Calls are m"], &[], None)),
        slowly(stream(&[ANSWER], &[], Some("stop"))),
    ]);
    configure(&project, &[&peer], "");
    let (status, printed) = on_a_terminal(&project, &["ask", "where?"]);
    assert_eq!(status, 0, "{printed}");
    assert_once(&printed, ANSWER);
    assert!(printed.contains("Calls are m …\n\n[interrupted]\n\n"), "{printed:?}");
}

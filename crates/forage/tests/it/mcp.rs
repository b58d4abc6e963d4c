//! Tests the server with a raw client: every transport, every revision, and every kind of error.
#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "an answer that does not come, or is none, is a failed test"
)]

#[cfg(target_os = "linux")]
mod engines;
mod http;
mod index;
mod matrix;
#[cfg(target_os = "linux")]
mod memory;
mod page;
mod redaction;
mod roots;
mod same;
mod stdio;
pub(crate) mod team;
#[cfg(unix)]
mod unauthenticated;
mod unusable;
#[cfg(target_os = "linux")]
mod walls;
pub(crate) mod wire;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::stable;
use crate::{Project, Run};

/// How long we wait for an answer. Eight heavy calls of a development build take more than a minute on a busy
/// machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// The revisions that we test separately. The server treats the older ones alike.
const REVISIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

fn is_stateless(revision: &str) -> bool {
    revision >= "2026-07-28"
}

/// Builds a request in the form that this revision requires.
fn request(revision: &str, id: u64, method: &str, mut params: Value) -> Value {
    if is_stateless(revision) {
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = json!(revision);
        if meta["io.modelcontextprotocol/clientCapabilities"].is_null() {
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "raw", "version": "1" });
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn initialize(revision: &str, id: u64) -> Value {
    let client = json!({ "name": "raw", "version": "1" });
    let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params })
}

pub(crate) fn call(revision: &str, id: u64, tool: &str, arguments: Value) -> Value {
    request(revision, id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// Returns the text of a tool's answer. The flag is true if the answer is an error.
fn text(answer: &Value) -> (&str, bool) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"));
    (text, result["isError"] == true)
}

/// Formats a tool's answer for a snapshot or an exact comparison.
fn shown(answer: &Value) -> String {
    if let Some(message) = answer["error"]["message"].as_str() {
        return stable(&format!("error {}: {message}", answer["error"]["code"]));
    }
    let (text, is_error) = text(answer);
    stable(&format!("{}{text}", if is_error { "error: " } else { "" }))
}

/// Returns the first line of a tool's answer.
fn first_line(answer: &Value) -> &str {
    text(answer).0.lines().next().unwrap_or_default()
}

/// Returns the error that ended a server. The log before it depends on the machine.
fn error(run: &Run) -> String {
    stable(run.stderr.split_once("forage: error: ").unwrap().1)
}

/// The first line of `README.md` as `read_file` shows it.
const README: &str = "     1\t# Example";

fn project() -> Project {
    Project::new(&[
        ("src/main.rs", "fn main() {\n    retry(3);\n}\n"),
        ("src/retry.rs", "/// Tries again.\npub fn retry(times: u32) {\n    let _ = times;\n}\n"),
        ("README.md", "# Example\n"),
    ])
}

/// A model that accepts requests but never responds. It reports when it is called and when the caller
/// disconnects.
pub(crate) struct HangingModel {
    url: String,
    events: Receiver<Instant>,
}

impl HangingModel {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (tell, events) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream: TcpStream = stream.unwrap();
                let mut bytes = [0; 65536];
                let _ = stream.read(&mut bytes);
                if tell.send(Instant::now()).is_err() {
                    return;
                }
                while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
                let _ = stream.flush();
                if tell.send(Instant::now()).is_err() {
                    return;
                }
            }
        });
        Self { url, events }
    }

    pub(crate) fn configure(&self, project: &Project) {
        project.configure(&format!("[[models]]\nmodel = \"m\"\nbase_url = \"{}\"\n", self.url));
    }

    /// Waits for the next request or disconnection.
    pub(crate) fn next_event(&self) -> Instant {
        self.events.recv_timeout(PATIENCE).unwrap()
    }
}

/// Creates a project whose concept searches wait for a model that never responds.
fn hanging_project() -> (Project, HangingModel) {
    let (project, model) = (project(), HangingModel::start());
    model.configure(&project);
    (project, model)
}

/// Builds a call that runs until the model responds.
fn slow_call(revision: &str, id: u64) -> Value {
    call(revision, id, "keyword_search", json!({ "query": "how is it retried?", "search_terms": ["retry"] }))
}

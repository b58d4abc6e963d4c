//! Starts the command of a client's entry as the client would, and talks to it: a handshake, the list of
//! tools, and one call.
//!
//! This must only happen at the user's request: by `forage`, `forage doctor` or the health page of
//! `forage ui`, or when a client is set up. It takes at most [`PROBE_TIME`], and all processes that it starts
//! end with it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use forage_base::count;
use forage_redact::Redactor;
use forage_tools::{clip, sanitize_line};
use serde_json::{Value, json};

use super::launch::Launch;
use crate::child::{self, ChildServer, RequestFailure};
use crate::config::UNUSABLE;
use crate::limits::{PROBE_SHOWN_BYTES, PROBE_TIME};

/// The search pattern of the probe, which occurs in no other file.
const PATTERN: &str = "a name that nobody gives: qvzhxk";

/// The first protocol revision without a handshake. Revisions are dates, so we can compare them as strings.
const STATELESS: &str = "2026-07-28";

/// The process that a client would start.
#[derive(Debug)]
pub(crate) struct ProbeStart {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// All environment variables of the process.
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) directory: PathBuf,
}

/// A tool as the client sees it.
#[derive(Debug)]
pub(crate) struct ProbedTool {
    pub(crate) name: String,
    /// True if the tool asks to be shown to the model from the start.
    pub(crate) is_marked: bool,
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct ProbeCall {
    pub(crate) tool: String,
    /// The error that the call returned.
    pub(crate) error: Option<String>,
}

/// The result of a probe.
#[derive(Debug)]
pub(crate) struct ProbeReport {
    pub(crate) tools: Vec<ProbedTool>,
    /// The time from the start to the list of tools.
    pub(crate) elapsed: Duration,
    /// `None` if there was no tool to call.
    pub(crate) call: Option<ProbeCall>,
    /// The first output line that is not a message. Some clients ignore such lines, but others end the
    /// session.
    pub(crate) noise: Option<String>,
}

/// Why a client would fail. The text must read well after "as CLIENT starts it: ".
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeFailure {
    #[error("there is no program {0}")]
    Missing(String),
    #[error("`{0}` is a relative path, which depends on the working directory")]
    Relative(String),
    #[error("{0} can't be started: {1}")]
    NotStarted(String, io::Error),
    #[error("it ends before it answers ({status}){said}")]
    Ended { status: String, said: String },
    #[error("it does not answer within {}{said}", count(PROBE_TIME.as_secs(), "second"))]
    Silent { said: String },
    #[error("it prints a line that is not a protocol message: {0}")]
    Noise(String),
    #[error("it is another program, which calls itself {0}")]
    Stranger(String),
    #[error("it answers `{0}` with an error: {1}")]
    Refused(&'static str, String),
    /// The server runs, but only to report this problem.
    #[error("it runs, but its settings can't be used: {0}")]
    Unusable(String),
}

/// Finds the program that a client would run for this command and these variables. Relative directories in
/// `PATH` are skipped.
pub(crate) fn program(command: &str, variables: &[(OsString, OsString)]) -> Result<PathBuf, ProbeFailure> {
    let path = Path::new(command);
    if path.is_absolute() {
        return if path.exists() { Ok(path.to_owned()) } else { Err(ProbeFailure::Missing(shown(command))) };
    }
    if command.contains(['/', '\\']) {
        return Err(ProbeFailure::Relative(shown(command)));
    }
    let name = if cfg!(windows) && path.extension().is_none() {
        format!("{command}.exe")
    } else {
        command.to_owned()
    };
    let search_path = variables.iter().find(|(name, _)| name.eq_ignore_ascii_case("PATH"));
    let directories = search_path.into_iter().flat_map(|(_, value)| std::env::split_paths(value));
    let mut found = directories.filter(|directory| directory.is_absolute()).map(|it| it.join(&name));
    found
        .find(|program| program.is_file())
        .ok_or_else(|| ProbeFailure::Missing(format!("`{}` on its PATH", shown(command))))
}

/// Starts the server and talks to it.
pub(crate) fn talk(start: &ProbeStart, launch: &Launch) -> Result<ProbeReport, ProbeFailure> {
    let running = RunningProbe::begin(start)?;
    let hello = running.greet(launch)?;
    let name = hello["serverInfo"]["name"].as_str();
    let name = name.or_else(|| hello["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].as_str());
    if name != Some("forage") {
        return Err(ProbeFailure::Stranger(name.map_or_else(|| "nothing".to_owned(), shown)));
    }
    // The instructions consist of the prefix, the problem, and advice for the model (see
    // `cli::mcp::unusable`).
    if let Some(problem) = hello["instructions"].as_str().and_then(|text| text.strip_prefix(UNUSABLE)) {
        return Err(ProbeFailure::Unusable(shown(problem.split(". Every call ").next().unwrap_or_default())));
    }
    let listed = running.ask("tools/list", with_meta(launch, json!({})))?;
    let elapsed = running.began.elapsed();
    let tools = listed["tools"].as_array().into_iter().flatten();
    let tools: Vec<ProbedTool> = tools
        .filter_map(|tool| {
            let is_marked = tool["_meta"]["anthropic/alwaysLoad"] == true;
            Some(ProbedTool { name: shown(tool["name"].as_str()?), is_marked })
        })
        .collect();
    let call = running.call(launch, &tools)?;
    Ok(ProbeReport { tools, elapsed, call, noise: running.noise() })
}

/// Completes the parameters of a request for this client's revision.
fn with_meta(launch: &Launch, mut params: Value) -> Value {
    if launch.revision >= STATELESS {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": launch.revision,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": client(launch),
        });
    }
    params
}

fn client(launch: &Launch) -> Value {
    json!({ "name": launch.name, "version": env!("CARGO_PKG_VERSION") })
}

/// Prepares foreign text for display: no control characters, no secrets, limited length.
fn shown(text: &str) -> String {
    let text = Redactor::standard().redact(text).as_str().to_owned();
    clip(&sanitize_line(text.trim()), PROBE_SHOWN_BYTES)
}

/// A running server and its start time.
struct RunningProbe {
    server: ChildServer,
    began: Instant,
}

impl RunningProbe {
    fn begin(start: &ProbeStart) -> Result<Self, ProbeFailure> {
        let began = Instant::now();
        let ProbeStart { program, arguments, variables, directory } = start;
        let server = ChildServer::start(child::command(program, arguments, variables, directory))
            .map_err(|error| ProbeFailure::NotStarted(program.display().to_string(), error))?;
        Ok(Self { server, began })
    }

    /// Performs the handshake of the client's revision. Returns what the server says about itself.
    fn greet(&self, launch: &Launch) -> Result<Value, ProbeFailure> {
        if launch.revision >= STATELESS {
            return self.ask("server/discover", with_meta(launch, json!({})));
        }
        let params =
            json!({ "protocolVersion": launch.revision, "capabilities": {}, "clientInfo": client(launch) });
        let hello = self.ask("initialize", params)?;
        self.server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        Ok(hello)
    }

    /// Makes one call that is fast in any directory.
    fn call(&self, launch: &Launch, tools: &[ProbedTool]) -> Result<Option<ProbeCall>, ProbeFailure> {
        let with_name =
            |end: &str| tools.iter().map(|tool| tool.name.as_str()).find(|name| name.ends_with(end));
        let (name, arguments) = match (with_name("grep_search"), with_name("list_directory")) {
            (Some(name), _) => (name, json!({ "pattern": PATTERN, "max_results": 1 })),
            (None, Some(name)) => (name, json!({ "path": "." })),
            (None, None) => return Ok(None),
        };
        let params = with_meta(launch, json!({ "name": name, "arguments": arguments }));
        let result = self.ask("tools/call", params)?;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let error = (result["isError"] == true).then(|| shown(text));
        Ok(Some(ProbeCall { tool: name.to_owned(), error }))
    }

    /// Sends a request and waits for its result.
    fn ask(&self, method: &'static str, params: Value) -> Result<Value, ProbeFailure> {
        let is_over = || self.began.elapsed() >= PROBE_TIME;
        self.server.ask(method, params, &is_over).map_err(|no_answer| match (no_answer, self.noise()) {
            (RequestFailure::Refused(error), _) => ProbeFailure::Refused(method, shown(&error)),
            (_, Some(noise)) => ProbeFailure::Noise(noise),
            (RequestFailure::Late, None) => ProbeFailure::Silent { said: self.last_error_line() },
            (RequestFailure::Ended(_) | RequestFailure::Unreadable, None) => self.ended(),
        })
    }

    /// Returns the first output line that is not a message, prepared for display.
    fn noise(&self) -> Option<String> {
        self.server.noise().map(|line| shown(&line))
    }

    /// Describes the failure of a server that has closed its output.
    fn ended(&self) -> ProbeFailure {
        let status = self.server.end();
        let status =
            status.map_or_else(|| "it has closed its output".to_owned(), |status| status.to_string());
        ProbeFailure::Ended { status, said: self.last_error_line() }
    }

    /// Picks the most informative line from the server's standard error.
    fn last_error_line(&self) -> String {
        let text = self.server.stderr();
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let line = lines
            .clone()
            .find(|line| line.to_ascii_lowercase().contains("error"))
            .or_else(|| lines.next_back());
        line.map(|line| format!(": {}", shown(line))).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_what_others_have_written_is_told_harmlessly() {
        let seeds = forage_fuzz::seeds([
            "Starting…\n",
            "\u{1b}[31mred\r\n",
            "key ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd",
        ]);
        forage_fuzz::target!(&seeds, |line| {
            let shown = shown(&String::from_utf8_lossy(line));
            assert!(shown.len() <= PROBE_SHOWN_BYTES + '…'.len_utf8(), "{shown}");
            assert!(!shown.contains(['\n', '\r', '\u{1b}']), "{shown}");
        });
    }
}

//! Starts the command of a client's entry as that client would and talks to it: a handshake, the list of tools, one call.
//!
//! The person asks for it, by `forage doctor` or by having the entry written;
//! it lasts no longer than [`LIMIT`], and all that it has started ends with it.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use forage_llm::Redactor;
use forage_tools::{clip, sanitize_line};
use serde_json::{Value, json};

#[cfg(unix)]
use super::launch::Launch;
use crate::child;
use crate::config::UNUSABLE;

/// Time for all of it. Clients wait 10 to 60 seconds for a server; Forage takes some milliseconds.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// Time to end by itself once nobody talks to it any more.
const GRACE: Duration = Duration::from_millis(300);

/// Pause between two looks at whether it has ended.
const TICK: Duration = Duration::from_millis(5);

/// Bytes of a line: a list of tools is the longest, and has some ten thousand.
const LINE_BYTES: u64 = 1 << 20;

/// Lines that wait to be read; whoever prints more waits.
const LINES: usize = 16;

/// Bytes of what it says on standard error that are kept.
const STDERR_BYTES: u64 = 64 << 10;

/// Requests of the server's that are answered, and bytes of the id of one: together less than a pipe takes at once.
const ANSWERS: usize = 64;
const ID_BYTES: usize = 256;

/// Bytes of what others have written that are shown.
const SHOWN_BYTES: usize = 500;

/// What is searched for: it stands in no file but this one.
const PATTERN: &str = "a name that nobody gives: qvzhxk";

/// From this revision on there is no handshake.
const STATELESS: &str = "2026-07-28";

/// What a client would start.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// All variables that it gets.
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) directory: PathBuf,
}

/// A tool as the client gets to know it.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// It asks to be in front of the model from the start.
    pub(crate) is_marked: bool,
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) tool: String,
    /// The error that it was answered with.
    pub(crate) error: Option<String>,
}

/// What it said.
#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) tools: Vec<Tool>,
    /// From its start to its list of tools.
    pub(crate) elapsed: Duration,
    /// `None` where there is nothing to call.
    pub(crate) call: Option<Call>,
    /// The first line that is no message. Some clients pass over such, others end the session.
    pub(crate) noise: Option<String>,
}

/// Why a client would get nowhere; to be read after «as CLIENT starts it: ».
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("there is no program {0}")]
    Missing(String),
    #[error("`{0}` is a relative path, which means another file in each directory")]
    Relative(String),
    #[error("{0} can't be started: {1}")]
    NotStarted(String, io::Error),
    #[error("it ends before it answers ({status}){said}")]
    Ended { status: String, said: String },
    #[error("it does not answer within {} seconds{said}", LIMIT.as_secs())]
    Silent { said: String },
    #[error("it prints what is no message of the protocol: {0}")]
    Noise(String),
    #[error("it is not Forage; it calls itself {0}")]
    Stranger(String),
    #[error("it answers `{0}` with an error: {1}")]
    Refused(&'static str, String),
    /// The server runs to say this.
    #[error("it runs, and its settings can't be used: {0}")]
    Unusable(String),
}

/// The program that a command means where these variables are set; a directory of `PATH` that depends on where one
/// stands is passed over.
pub(crate) fn program(command: &str, variables: &[(OsString, OsString)]) -> Result<PathBuf, Failure> {
    let path = Path::new(command);
    if path.is_absolute() {
        return if path.exists() { Ok(path.to_owned()) } else { Err(Failure::Missing(shown(command))) };
    }
    if command.contains(['/', '\\']) {
        return Err(Failure::Relative(shown(command)));
    }
    let name = if cfg!(windows) && path.extension().is_none() {
        format!("{command}.exe")
    } else {
        command.to_owned()
    };
    let search_path = variables.iter().find(|(name, _)| name.eq_ignore_ascii_case("PATH"));
    let directories = search_path.into_iter().flat_map(|(_, value)| std::env::split_paths(value));
    let mut found = directories.filter(|directory| directory.is_absolute()).map(|it| it.join(&name));
    found.find(|program| program.is_file()).ok_or_else(|| {
        Failure::Missing(format!("`{}` in the directories of the PATH that it has there", shown(command)))
    })
}

/// Starts it and talks to it.
pub(crate) fn talk(start: &Start, launch: &Launch) -> Result<Talk, Failure> {
    let mut running = Running::begin(start)?;
    let hello = running.greet(launch)?;
    let name = hello["serverInfo"]["name"].as_str();
    let name = name.or_else(|| hello["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].as_str());
    if name != Some("forage") {
        return Err(Failure::Stranger(name.map_or_else(|| "nothing".to_owned(), shown)));
    }
    if let Some(problem) = hello["instructions"].as_str().and_then(|text| text.strip_prefix(UNUSABLE)) {
        return Err(Failure::Unusable(shown(problem.split(". Every call ").next().unwrap_or_default())));
    }
    let listed = running.ask("tools/list", with_meta(launch, json!({})))?;
    let elapsed = running.began.elapsed();
    let tools = listed["tools"].as_array().into_iter().flatten();
    let tools: Vec<Tool> = tools
        .filter_map(|tool| {
            let is_marked = tool["_meta"]["anthropic/alwaysLoad"] == true;
            Some(Tool { name: shown(tool["name"].as_str()?), is_marked })
        })
        .collect();
    let call = running.call(launch, &tools)?;
    Ok(Talk { tools, elapsed, call, noise: running.noise.take() })
}

/// Parameters as a client of this revision sends them.
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

/// A line of the protocol.
fn message(line: &[u8]) -> Option<Value> {
    let message: Value = serde_json::from_slice(line).ok()?;
    (message["jsonrpc"] == "2.0").then_some(message)
}

/// What somebody else has written, as it may be shown: no control characters, no secrets, not long.
fn shown(text: &str) -> String {
    let text = Redactor::standard().redact(text).as_str().to_owned();
    clip(&sanitize_line(text.trim()), SHOWN_BYTES)
}

/// A started server. However this goes out of scope, it and all that it has started in its group are ended.
struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_reader: Option<JoinHandle<()>>,
    began: Instant,
    asked: u64,
    answered: usize,
    noise: Option<String>,
    /// It was waited for, so that its number may be another's.
    is_reaped: bool,
}

impl Running {
    fn begin(start: &Start) -> Result<Self, Failure> {
        let began = Instant::now();
        let failed = |error| Failure::NotStarted(start.program.display().to_string(), error);
        let mut child = child::spawn(child::command(
            &start.program,
            &start.arguments,
            &start.variables,
            &start.directory,
        ))
        .map_err(failed)?;
        let (tell, lines) = sync_channel(LINES);
        let stdout = child.stdout.take();
        std::thread::spawn(move || stdout.map(|stdout| read_lines(stdout, &tell)));
        let kept = Arc::<Mutex<Vec<u8>>>::default();
        let (stderr, keep) = (child.stderr.take(), Arc::clone(&kept));
        let stderr_reader = std::thread::spawn(move || {
            let Some(mut stderr) = stderr else { return };
            let mut first = [0; 4096];
            let mut left = STDERR_BYTES as usize;
            // All of it is read, or who writes it would wait.
            while let Ok(count @ 1..) = stderr.read(&mut first) {
                let taken = count.min(left);
                left -= taken;
                keep.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&first[..taken]);
            }
        });
        Ok(Self {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr: kept,
            stderr_reader: Some(stderr_reader),
            began,
            asked: 0,
            answered: 0,
            noise: None,
            is_reaped: false,
        })
    }

    /// What the client and the server say of themselves.
    fn greet(&mut self, launch: &Launch) -> Result<Value, Failure> {
        if launch.revision >= STATELESS {
            return self.ask("server/discover", with_meta(launch, json!({})));
        }
        let params =
            json!({ "protocolVersion": launch.revision, "capabilities": {}, "clientInfo": client(launch) });
        let hello = self.ask("initialize", params)?;
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        Ok(hello)
    }

    /// One call that is quick wherever it is made.
    fn call(&mut self, launch: &Launch, tools: &[Tool]) -> Result<Option<Call>, Failure> {
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
        Ok(Some(Call { tool: name.to_owned(), error }))
    }

    /// Sends a message. Who does not take it has ended, which is seen where its answer is waited for.
    fn say(&mut self, message: &Value) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{message}\n").as_bytes()).and_then(|()| stdin.flush());
        }
    }

    /// Sends a request and waits for its result.
    fn ask(&mut self, method: &'static str, params: Value) -> Result<Value, Failure> {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let left = LIMIT.saturating_sub(self.began.elapsed());
            // Lines that wait already would be handed over for as long as more come.
            if left.is_zero() {
                return Err(self.silent());
            }
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => return Err(self.silent()),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
            };
            let Some(mut message) = message(&line) else {
                self.noise.get_or_insert_with(|| shown(&String::from_utf8_lossy(&line)));
                continue;
            };
            if message["method"].is_string() {
                // Whoever asks a client that has declared nothing gets nothing; one that asks on and on without reading, no
                // answer either, for that would wait for it.
                let is_short = message["id"].to_string().len() <= ID_BYTES;
                if !message["id"].is_null() && is_short && self.answered < ANSWERS {
                    self.answered += 1;
                    let error = json!({ "code": -32601, "message": "not offered by this client" });
                    self.say(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
                }
            } else if message["id"] == id {
                return match message["error"]["message"].as_str() {
                    Some(error) => Err(Failure::Refused(method, shown(error))),
                    None => Ok(message["result"].take()),
                };
            }
        }
    }

    fn silent(&mut self) -> Failure {
        match self.noise.take() {
            Some(noise) => Failure::Noise(noise),
            None => Failure::Silent { said: self.said() },
        }
    }

    /// It has closed its output.
    fn ended(&mut self) -> Failure {
        if let Some(noise) = self.noise.take() {
            return Failure::Noise(noise);
        }
        let status =
            self.wait().map_or_else(|| "it has closed its output".to_owned(), |status| status.to_string());
        let until = Instant::now() + GRACE;
        while self.stderr_reader.as_ref().is_some_and(|reader| !reader.is_finished())
            && Instant::now() < until
        {
            std::thread::sleep(TICK);
        }
        Failure::Ended { status, said: self.said() }
    }

    /// The line of its errors that says most.
    fn said(&self) -> String {
        let bytes = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let line = lines
            .clone()
            .find(|line| line.to_ascii_lowercase().contains("error"))
            .or_else(|| lines.next_back());
        line.map(|line| format!(": {}", shown(line))).unwrap_or_default()
    }

    /// Its status, if it ends within [`GRACE`].
    fn wait(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + GRACE;
        while !child::has_exited(&mut self.child) {
            if Instant::now() >= until {
                return None;
            }
            std::thread::sleep(TICK);
        }
        self.end()
    }

    /// Ends it with its group.
    fn end(&mut self) -> Option<ExitStatus> {
        self.is_reaped = true;
        child::end(&mut self.child).ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The end of its input is how a client says goodbye.
        self.stdin = None;
        if !self.is_reaped {
            self.wait();
        }
        if !self.is_reaped {
            self.end();
        }
    }
}

/// Hands lines over until nobody wants them any more; one that is too long comes in pieces, which are no messages.
fn read_lines(stdout: ChildStdout, tell: &SyncSender<Vec<u8>>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        match reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(1..) if tell.send(line).is_ok() => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_a_line_is_a_message_or_is_told_harmlessly() {
        let seeds = forage_fuzz::seeds([
            r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"forage"}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}"#,
            "Starting…\n",
        ]);
        forage_fuzz::target!(&seeds, |line| {
            if let Some(message) = message(line) {
                assert!(message.is_object());
            }
            let shown = shown(&String::from_utf8_lossy(line));
            assert!(shown.len() <= SHOWN_BYTES + '…'.len_utf8(), "{shown}");
            assert!(!shown.contains(['\n', '\r', '\u{1b}']), "{shown}");
        });
    }
}

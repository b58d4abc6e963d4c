//! A server's process: its streams, and its end.
//!
//! The wall keeps a walled thread from signalling what is outside of it, so the thread that ends the process is started
//! before the wall, like the process itself.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use forage_tools::{clip, sanitize_line};
use serde_json::{Value, json};

use super::protocol::{self, Line};
use crate::child;
use crate::config::{ServerSettings, variables};
use crate::setup::program;

/// Variables that every program needs to find itself, its user and its temporary files. None is a secret.
const VARIABLES: [&str; 13] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "SYSTEMROOT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "TEMP",
    "TMP",
];

/// Time to end by itself once nobody talks to it any more.
const GRACE: Duration = Duration::from_millis(300);

/// Pause between two looks.
const TICK: Duration = Duration::from_millis(10);

/// Bytes of a line; a server that sends a longer one is not listened to any more.
const LINE_BYTES: u64 = 4 << 20;

/// Bytes of what it says on standard error that are kept.
const STDERR_BYTES: usize = 16 << 10;

/// Requests of the server's that are answered. One that asks on and on is not.
const ANSWERS: usize = 1_000;

type Waiting = Arc<Mutex<HashMap<u64, Sender<Result<Value, String>>>>>;

/// A server that runs.
pub(super) struct Process {
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    waiting: Waiting,
    stderr: Arc<Mutex<Vec<u8>>>,
    asked: AtomicU64,
    /// What has it ended, and who waits for that; gone once it is ended.
    end: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl Process {
    pub(super) fn start(server: &ServerSettings, home: &Path, roots: &[&Path]) -> Result<Self, String> {
        let variables = environment(&server.env);
        let program = program(&server.command, &variables).map_err(|failure| failure.to_string())?;
        let real = crate::answer_cache::resolved(&program);
        if let Some(root) = roots.iter().find(|root| program.starts_with(root) || real.starts_with(root)) {
            let (program, root) = (program.display(), root.display());
            return Err(format!("{program} lies in the root {root}: nothing of a repository is run"));
        }
        let mut child = child::command(&program, &server.args, &variables, home)
            .spawn()
            .map_err(|error| format!("{} can't be started: {error}", program.display()))?;
        let stdin = Arc::new(Mutex::new(child.stdin.take()));
        let (waiting, stderr) = (Waiting::default(), Arc::<Mutex<Vec<u8>>>::default());
        listen(&mut child, &waiting, &stdin, &stderr);
        let (end, ended) = channel();
        let input = Arc::clone(&stdin);
        let ender = thread::Builder::new()
            .name("forage-server".to_owned())
            .spawn(move || end_with(child, &ended, &input));
        let ender = ender.map_err(|error| error.to_string())?;
        Ok(Self { stdin, waiting, stderr, asked: AtomicU64::new(0), end: Mutex::new(Some((end, ender))) })
    }

    /// Sends a message. Who does not take it has ended, which is seen where its answer is waited for.
    pub(super) fn say(&self, message: &Value) {
        say(&self.stdin, message);
    }

    /// Sends a request and waits for its result, until `is_over`.
    pub(super) fn ask(
        &self,
        method: &str,
        params: Value,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Value, String> {
        let id = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let (tell, told) = channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, tell);
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let result = loop {
            match told.recv_timeout(TICK) {
                Ok(result) => break result,
                Err(RecvTimeoutError::Disconnected) => break Err(format!("it has ended{}", self.said())),
                Err(RecvTimeoutError::Timeout) if is_over() => {
                    let cancelled = json!({ "requestId": id, "reason": "no time is left" });
                    self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
                    break Err(format!("it did not answer in time{}", self.said()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        result
    }

    /// Ends it and what it has started, and returns when they are gone. Who still waits for an answer gets an error.
    pub(super) fn end(&self) {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((end, ender)) = end {
            drop(end);
            let _ = ender.join();
        }
    }

    /// The last line of its errors.
    fn said(&self) -> String {
        let bytes = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().rfind(|line| !line.trim().is_empty());
        line.map(|line| format!(": {}", clip(&sanitize_line(line.trim()), 300))).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn say(stdin: &Mutex<Option<ChildStdin>>, message: &Value) {
    if let Some(stdin) = stdin.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        let _ = stdin.write_all(format!("{message}\n").as_bytes()).and_then(|()| stdin.flush());
    }
}

/// The variables that a server gets.
fn environment(names: &[String]) -> Vec<(OsString, OsString)> {
    let is_given = |name: &OsString| {
        name.to_str().is_some_and(|name| VARIABLES.contains(&name) || names.iter().any(|given| given == name))
    };
    variables().into_iter().filter(|(name, _)| is_given(name)).collect()
}

/// Reads what the server says, on threads that end with its streams.
fn listen(
    child: &mut Child,
    waiting: &Waiting,
    stdin: &Arc<Mutex<Option<ChildStdin>>>,
    stderr: &Arc<Mutex<Vec<u8>>>,
) {
    let (waiting, stdin, kept) = (Arc::clone(waiting), Arc::clone(stdin), Arc::clone(stderr));
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let (mut line, mut answered) = (Vec::new(), 0);
            loop {
                line.clear();
                match reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
                    Ok(1..) if line.ends_with(b"\n") => {}
                    _ => break,
                }
                match protocol::read(&line) {
                    Line::Answer(id, result) => {
                        let asked = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                        // Whoever asked may have gone.
                        let _ = asked.map(|asked| asked.send(result));
                    }
                    Line::Request(id, result) if answered < ANSWERS => {
                        answered += 1;
                        let error = json!({ "code": -32601, "message": "not offered by this client" });
                        say(
                            &stdin,
                            &match result {
                                Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                                None => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
                            },
                        );
                    }
                    Line::Request(..) | Line::Other => {}
                }
            }
            // Nobody will be answered any more.
            waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
        });
    }
    if let Some(mut stderr) = child.stderr.take() {
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // All of it is read, or who writes it would wait; its end is kept.
            while let Ok(count @ 1..) = stderr.read(&mut piece) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&piece[..count]);
                let over = kept.len().saturating_sub(STDERR_BYTES);
                kept.drain(..over);
            }
        });
    }
}

/// Waits until the process is to end, lets it end by itself, and ends it with its group.
fn end_with(mut child: Child, ended: &Receiver<()>, stdin: &Mutex<Option<ChildStdin>>) {
    let _ = ended.recv();
    // The end of its input is how a client says goodbye; a writer that is stuck keeps it open, and is ended with it.
    if let Ok(mut stdin) = stdin.try_lock() {
        *stdin = None;
    }
    let until = Instant::now() + GRACE;
    while !child::has_exited(&mut child) && Instant::now() < until {
        thread::sleep(TICK);
    }
    child::kill_group(&mut child);
    let _ = child.wait();
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::{Running, Servers};
    use super::*;

    #[test]
    fn servers_end_although_a_call_to_one_still_waits() {
        let settings = ServerSettings {
            command: "sleep".to_owned(),
            args: vec!["300".to_owned()],
            env: Vec::new(),
            tools: None,
        };
        let process = Arc::new(Process::start(&settings, Path::new("/"), &[]).unwrap());
        let running =
            Running { name: "s".to_owned(), process: Arc::clone(&process), tools: Vec::new(), chosen: None };
        let servers = Servers { running: vec![running], problems: Vec::new() };
        let call = thread::spawn(move || process.ask("tools/call", json!({}), &|| false));
        thread::sleep(TICK * 5);
        let began = Instant::now();
        drop(servers);
        // Its streams are closed only when the program is gone.
        assert!(call.join().unwrap().unwrap_err().starts_with("it has ended"));
        assert!(began.elapsed() < Duration::from_secs(60), "it was not waited for to end by itself");
    }
}

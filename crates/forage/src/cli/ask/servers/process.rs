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
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use forage_tools::{clip, sanitize_line};
use serde_json::{Value, json};

use super::protocol::{self, Line};
use crate::child;
use crate::config::{ServerSettings, is_outside, outside, variables};
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

/// Why nobody is answered any more, where nothing else is known.
const ENDED: &str = "it has ended";

/// Bytes of a line; a server that sends a longer one is not listened to any more.
const LINE_BYTES: u64 = 4 << 20;

/// Bytes of what it says on standard error that are kept.
const STDERR_BYTES: usize = 16 << 10;

/// Requests of the server's that are answered. One that asks on and on is not.
const ANSWERS: usize = 1_000;

/// Messages that wait for a server to take them. One that takes none is not spoken to any more.
const UNTAKEN: usize = 64;

/// Bytes of the id of a server's request, which its answer repeats.
const ID_BYTES: usize = 200;

/// Who waits for which answer; why nobody is answered any more.
type Waiting = Arc<Mutex<Result<HashMap<u64, Sender<Result<Value, String>>>, &'static str>>>;

/// Where messages are put for the thread that writes them: a server that does not read stops that thread alone.
type Input = Arc<Mutex<Option<SyncSender<String>>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server that runs.
pub(super) struct Process {
    input: Input,
    waiting: Waiting,
    stderr: Arc<Mutex<Vec<u8>>>,
    asked: AtomicU64,
    /// What has it ended, and who waits for that; gone once it is ended.
    end: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl Process {
    pub(super) fn start(server: &ServerSettings, home: &Path, roots: &[&Path]) -> Result<Self, String> {
        let variables = environment(&server.env, roots)?;
        let program = program(&server.command, &variables).map_err(|failure| failure.to_string())?;
        if !is_outside(&program, roots) {
            return Err(format!(
                "{} lies in a root that is searched: nothing of a repository is run",
                program.display()
            ));
        }
        let mut child = child::spawn(child::command(&program, &server.args, &variables, home))
            .map_err(|error| format!("{} can't be started: {error}", program.display()))?;
        let (put, puts) = sync_channel(UNTAKEN);
        if let Some(stdin) = child.stdin.take() {
            thread::spawn(move || write(stdin, &puts));
        }
        let input: Input = Arc::new(Mutex::new(Some(put)));
        let waiting: Waiting = Arc::new(Mutex::new(Ok(HashMap::new())));
        let stderr = Arc::<Mutex<Vec<u8>>>::default();
        listen(&mut child, &waiting, &input, &stderr);
        let (end, ended) = channel();
        let closed = Arc::clone(&input);
        let ender = thread::Builder::new()
            .name("forage-server".to_owned())
            .spawn(move || end_with(child, &ended, &closed));
        let ender = ender.map_err(|error| error.to_string())?;
        Ok(Self { input, waiting, stderr, asked: AtomicU64::new(0), end: Mutex::new(Some((end, ender))) })
    }

    /// Sends a message. Who does not take it has ended, which is seen where its answer is waited for.
    pub(super) fn say(&self, message: &Value) {
        say(&self.input, message);
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
        match &mut *lock(&self.waiting) {
            Ok(waiting) => drop(waiting.insert(id, tell)),
            Err(why) => return Err(format!("{why}{}", self.said())),
        }
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let result = loop {
            match told.recv_timeout(TICK) {
                Ok(result) => break result,
                Err(RecvTimeoutError::Disconnected) => {
                    let why = lock(&self.waiting).as_ref().err().copied().unwrap_or(ENDED);
                    break Err(format!("{why}{}", self.said()));
                }
                Err(RecvTimeoutError::Timeout) if is_over() => {
                    let cancelled = json!({ "requestId": id, "reason": "no time is left" });
                    self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
                    break Err(format!("it did not answer in time{}", self.said()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        if let Ok(waiting) = &mut *lock(&self.waiting) {
            waiting.remove(&id);
        }
        result
    }

    /// Ends it and what it has started, and returns when they are gone. Who still waits for an answer gets an error.
    pub(super) fn end(&self) {
        let end = lock(&self.end).take();
        if let Some((end, ender)) = end {
            drop(end);
            let _ = ender.join();
        }
    }

    /// The last line of its errors.
    fn said(&self) -> String {
        let bytes = lock(&self.stderr);
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

fn say(input: &Input, message: &Value) {
    let mut input = lock(input);
    // It has ended, or reads nothing.
    if input.as_ref().is_some_and(|input| input.try_send(format!("{message}\n")).is_err()) {
        *input = None;
    }
}

fn write(mut stdin: ChildStdin, puts: &Receiver<String>) {
    for line in puts {
        if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// The variables that a server gets: its `PATH` without what a repository could fill, for it starts programs by name, too.
fn environment(names: &[String], roots: &[&Path]) -> Result<Vec<(OsString, OsString)>, String> {
    let is_given = |name: &OsString| {
        name.to_str().is_some_and(|name| VARIABLES.contains(&name) || names.iter().any(|given| given == name))
    };
    let mut given: Vec<(OsString, OsString)> =
        variables().into_iter().filter(|(name, _)| is_given(name)).collect();
    for (_, path) in given.iter_mut().filter(|(name, _)| name.eq_ignore_ascii_case("PATH")) {
        *path = std::env::join_paths(outside(path, roots)).map_err(|error| error.to_string())?;
    }
    Ok(given)
}

/// Reads what the server says, on threads that end with its streams.
fn listen(child: &mut Child, waiting: &Waiting, input: &Input, stderr: &Arc<Mutex<Vec<u8>>>) {
    let (waiting, input, kept) = (Arc::clone(waiting), Arc::clone(input), Arc::clone(stderr));
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let (mut line, mut answered) = (Vec::new(), 0);
            let why = loop {
                line.clear();
                match reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
                    Ok(1..) if line.ends_with(b"\n") => {}
                    Ok(read) if read as u64 == LINE_BYTES => break "it sent a line of more than 4 MiB",
                    _ => break ENDED,
                }
                match protocol::read(&line) {
                    Line::Answer(id, result) => {
                        let asked = lock(&waiting).as_mut().ok().and_then(|waiting| waiting.remove(&id));
                        // Whoever asked may have gone.
                        let _ = asked.map(|asked| asked.send(result));
                    }
                    Line::Request(id, result) if answered < ANSWERS && id.to_string().len() <= ID_BYTES => {
                        answered += 1;
                        let error = json!({ "code": -32601, "message": "not offered by this client" });
                        say(
                            &input,
                            &match result {
                                Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                                None => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
                            },
                        );
                    }
                    // It may have been anybody's answer.
                    Line::Broken => {
                        let all = lock(&waiting).as_mut().map(std::mem::take).unwrap_or_default();
                        let why = "it sent a line that begins as an answer and is no JSON";
                        all.into_values().for_each(|asked| drop(asked.send(Err(why.to_owned()))));
                    }
                    Line::Request(..) | Line::Other => {}
                }
            };
            // Nobody will be answered any more.
            *lock(&waiting) = Err(why);
        });
    }
    if let Some(mut stderr) = child.stderr.take() {
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // All of it is read, or who writes it would wait; its end is kept.
            while let Ok(count @ 1..) = stderr.read(&mut piece) {
                let mut kept = lock(&kept);
                kept.extend_from_slice(&piece[..count]);
                let over = kept.len().saturating_sub(STDERR_BYTES);
                kept.drain(..over);
            }
        });
    }
}

/// Waits until the process is to end, lets it end by itself, and ends it with its group.
fn end_with(mut child: Child, ended: &Receiver<()>, input: &Input) {
    let _ = ended.recv();
    // The end of its input is how a client says goodbye; a writer that is stuck keeps it open, and is ended with it.
    *lock(input) = None;
    let until = Instant::now() + GRACE;
    while !child::has_exited(&mut child) && Instant::now() < until {
        thread::sleep(TICK);
    }
    let _ = child::end(&mut child);
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
        let running = Running {
            name: "s".to_owned(),
            process: Arc::clone(&process),
            tools: Vec::new(),
            is_cut: false,
            chosen: None,
        };
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

//! A client for a program that serves MCP over its standard streams. It sends requests, waits for responses,
//! collects other output, and ends the program.
//!
//! A thread inside the sandbox can't signal processes outside of it. So the thread that ends the server must
//! be started before we enter the sandbox, like the server itself.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::line::{self, ChildLine};
use crate::limits::{
    SERVER_GRACE, SERVER_ID_BYTES, SERVER_LINE_BYTES, SERVER_NOISE_BYTES, SERVER_QUEUE_MESSAGES,
    SERVER_REQUESTS, SERVER_STDERR_BYTES,
};

/// Pause between two polls.
const TICK: Duration = Duration::from_millis(5);

/// The default reason why no request is answered any more.
const ENDED: &str = "it has ended";

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestFailure {
    /// The server responded with this error.
    Refused(String),
    /// The server sent something that we can't parse, and this may have been the response.
    Unreadable,
    /// We no longer read from the server, for this reason.
    Ended(&'static str),
    /// The deadline has passed.
    Late,
}

/// The pending requests by number, each with the channel for its response. Once we have stopped reading from
/// the server, this holds the reason instead.
type WaitingReplies = Arc<Mutex<Result<HashMap<u64, Sender<Result<Value, RequestFailure>>>, &'static str>>>;

/// The queue to the writer thread. A server that does not read its input should block only that thread.
type Input = Arc<Mutex<Option<SyncSender<String>>>>;

/// The channel whose end tells a thread to end the server, and that thread.
type ServerEnd = (Sender<()>, JoinHandle<Option<ExitStatus>>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The server's output other than messages.
#[derive(Debug, Default)]
struct SideOutput {
    stderr: Vec<u8>,
    stderr_has_ended: bool,
    /// The first line on standard output that is not a message.
    noise: Option<Vec<u8>>,
}

/// A running server. Dropping this ends the server and all processes of its group, even during a panic.
pub(crate) struct ChildServer {
    input: Input,
    waiting: WaitingReplies,
    beside: Arc<Mutex<SideOutput>>,
    asked: AtomicU64,
    /// `None` once the server has been ended.
    end: Mutex<Option<ServerEnd>>,
}

impl ChildServer {
    pub(crate) fn start(command: Command) -> io::Result<Self> {
        let mut child = super::spawn(command)?;
        let (put, puts) = sync_channel(SERVER_QUEUE_MESSAGES);
        let input: Input = Arc::new(Mutex::new(Some(put)));
        let waiting: WaitingReplies = Arc::new(Mutex::new(Ok(HashMap::new())));
        let beside = Arc::<Mutex<SideOutput>>::default();
        if let Some(stdin) = child.stdin.take() {
            thread::spawn(move || write(stdin, &puts));
        }
        if let Some(stdout) = child.stdout.take() {
            let heard = (Arc::clone(&waiting), Arc::clone(&input), Arc::clone(&beside));
            thread::spawn(move || listen(stdout, &heard.0, &heard.1, &heard.2));
        }
        if let Some(stderr) = child.stderr.take() {
            let kept = Arc::clone(&beside);
            thread::spawn(move || keep(stderr, &kept));
        }
        let (end, ended) = channel();
        let closed = Arc::clone(&input);
        let ender = thread::Builder::new()
            .name("forage-server".to_owned())
            .spawn(move || end_with(child, &ended, &closed))?;
        Ok(Self { input, waiting, beside, asked: AtomicU64::new(0), end: Mutex::new(Some((end, ender))) })
    }

    /// Sends a message. This does not report whether the server is still running; [`Self::ask`] does.
    pub(crate) fn send(&self, message: &Value) {
        send(&self.input, message);
    }

    /// Sends a request and waits for its result until `is_over` returns true. We then tell the server that
    /// the request is cancelled.
    pub(crate) fn ask(
        &self,
        method: &str,
        params: Value,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Value, RequestFailure> {
        let id = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, receiver) = channel();
        match &mut *lock(&self.waiting) {
            Ok(waiting) => drop(waiting.insert(id, sender)),
            Err(why) => return Err(RequestFailure::Ended(why)),
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let result = loop {
            match receiver.recv_timeout(TICK) {
                Ok(result) => break result,
                Err(RecvTimeoutError::Disconnected) => {
                    let why = lock(&self.waiting).as_ref().err().copied().unwrap_or(ENDED);
                    break Err(RequestFailure::Ended(why));
                }
                Err(RecvTimeoutError::Timeout) if is_over() => {
                    let cancelled = json!({ "requestId": id, "reason": "no time is left" });
                    self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
                    break Err(RequestFailure::Late);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        if let Ok(waiting) = &mut *lock(&self.waiting) {
            waiting.remove(&id);
        }
        result
    }

    /// Returns the beginning of the first line that is not a message. Note that some clients ignore such
    /// lines, whereas others end the session.
    pub(crate) fn noise(&self) -> Option<String> {
        let beside = lock(&self.beside);
        beside.noise.as_ref().map(|line| String::from_utf8_lossy(line).into_owned())
    }

    /// Returns the tail of the server's output on standard error.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&lock(&self.beside).stderr).into_owned()
    }

    /// Ends the server and the processes of its group, and waits until they are gone. Pending requests get an
    /// error. Returns the server's exit status if it exited on its own after we closed its input.
    pub(crate) fn end(&self) -> Option<ExitStatus> {
        let (end, ender) = lock(&self.end).take()?;
        drop(end);
        let status = ender.join().ok().flatten();
        // The server's last output may not have arrived yet. Another process may hold the stream open, so
        // don't wait forever.
        let until = Instant::now() + SERVER_GRACE;
        while !lock(&self.beside).stderr_has_ended && Instant::now() < until {
            thread::sleep(TICK);
        }
        status
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn send(input: &Input, message: &Value) {
    let mut input = lock(input);
    // If this fails, the server has ended or does not read its input. We stop writing in either case.
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

/// Reads the server's output until it ends, and passes each response to the caller that waits for it.
fn listen(stdout: ChildStdout, waiting: &WaitingReplies, input: &Input, beside: &Mutex<SideOutput>) {
    let mut reader = BufReader::new(stdout);
    let (mut line, mut answered) = (Vec::new(), 0);
    let noise = |line: &[u8]| {
        let noise = &mut lock(beside).noise;
        noise.get_or_insert_with(|| line[..line.len().min(SERVER_NOISE_BYTES)].to_vec());
    };
    let why = loop {
        line.clear();
        match reader.by_ref().take(SERVER_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(read) if read as u64 == SERVER_LINE_BYTES && !line.ends_with(b"\n") => {
                noise(&line);
                break "it sent a line of more than 4 MiB";
            }
            // Note that the last line may lack a line feed.
            Ok(1..) => {}
            _ => break ENDED,
        }
        match line::read(&line) {
            ChildLine::Answer(id, result) => {
                let asked = lock(waiting).as_mut().ok().and_then(|waiting| waiting.remove(&id));
                // The caller may have given up waiting.
                let _ = asked.map(|asked| asked.send(result.map_err(RequestFailure::Refused)));
            }
            ChildLine::Request(id, result)
                if answered < SERVER_REQUESTS && id.to_string().len() <= SERVER_ID_BYTES =>
            {
                answered += 1;
                let error = json!({ "code": -32601, "message": "not offered by this client" });
                send(
                    input,
                    &match result {
                        Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                        None => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
                    },
                );
            }
            // This line may have been the response to any pending request, so all of them must fail.
            ChildLine::Broken => {
                noise(&line);
                let all = lock(waiting).as_mut().map(std::mem::take).unwrap_or_default();
                all.into_values().for_each(|asked| drop(asked.send(Err(RequestFailure::Unreadable))));
            }
            ChildLine::Noise => noise(&line),
            ChildLine::Request(..) | ChildLine::Other => {}
        }
    };
    // From now on, no request will be answered.
    *lock(waiting) = Err(why);
}

/// Keeps the tail of the server's standard error. We must read all of it, or the server would block on a full
/// pipe.
fn keep(mut stderr: ChildStderr, beside: &Mutex<SideOutput>) {
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut piece) {
        let kept = &mut lock(beside).stderr;
        kept.extend_from_slice(&piece[..count]);
        let over = kept.len().saturating_sub(SERVER_STDERR_BYTES);
        kept.drain(..over);
    }
    lock(beside).stderr_has_ended = true;
}

/// Waits until the server should end, gives it time to exit on its own, then kills its group.
fn end_with(mut child: Child, ended: &Receiver<()>, input: &Input) -> Option<ExitStatus> {
    let _ = ended.recv();
    // In MCP, a client ends a session by closing the server's input. If our writer thread is blocked, this
    // can't close the input, but the thread will end with the process.
    *lock(input) = None;
    let until = Instant::now() + SERVER_GRACE;
    let mut has_exited = super::has_exited(&mut child);
    while !has_exited && Instant::now() < until {
        thread::sleep(TICK);
        has_exited = super::has_exited(&mut child);
    }
    let status = super::end(&mut child).ok();
    status.filter(|_| has_exited)
}

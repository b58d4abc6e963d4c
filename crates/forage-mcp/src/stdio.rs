//! Serves one client on stdin and stdout, one message per line.
//!
//! rmcp's own transport has three problems. It silently drops lines that are too long or not JSON, so a
//! client that sent a request in one waits forever. A notification before the first request ends the session.
//! A client that does not read keeps the server from ending.
//!
//! This transport answers such lines, with the request's id if it can still be read, and ignores such
//! notifications. Neither reading nor writing waits for the other side. At the end of input the server still
//! answers all earlier requests, unless the client no longer reads. Scripts that write their requests and
//! close the pipe expect this. (Among the official SDKs, the TypeScript server does this without a limit, the
//! Rust server for five seconds, and the Python server cancels the calls.)

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rmcp::model::{
    ClientNotification, ClientRequest, ErrorCode, ErrorData, GetMeta as _, JsonRpcMessage, ProtocolVersion,
    RequestId,
};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::io::stdio_pipes;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::limits;

/// Bytes at each end of an overlong line that are searched for its id.
const END_BYTES: usize = 4 << 10;

/// Maximum number of cancelled request ids that are kept so that they can't be reused yet.
const CANCELLED_KEPT: usize = 256;

/// Maximum number of lines that are read ahead.
const LINES_AHEAD: usize = 64;

/// Interval at which we check for pending answers and output at the end.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Serves the client on stdin and stdout until it closes stdin and has its answers. Then this cancels
/// `shutdown`, which ends every call that is still running.
///
/// # Errors
///
/// Fails if the runtime can't be started or the client spoke another protocol.
pub fn serve(handler: impl ServerHandler, shutdown: &CancellationToken) -> io::Result<()> {
    // One thread carries the messages of one client. With more threads, an answer would also wait for
    // wake-ups.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let served = runtime.block_on(async {
        let (reader, writer) = stdio_pipes();
        let transport = StdinLines::new(reader, writer, shutdown.clone());
        let session = async {
            match handler.serve(transport).await {
                Ok(running) => running.waiting().await.map(|_| ()).map_err(io::Error::other),
                // The client went away before it sent anything.
                Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                Err(error) => Err(io::Error::other(error)),
            }
        };
        let gone = async {
            shutdown.cancelled().await;
            tokio::time::sleep(limits::SHUTDOWN).await;
        };
        tokio::select! {
            served = session => served,
            () = gone => Ok(()),
        }
    });
    shutdown.cancel();
    runtime.shutdown_timeout(limits::SHUTDOWN);
    served
}

/// The messages of one client.
struct StdinLines {
    lines: mpsc::Receiver<StdinLine>,
    output: mpsc::UnboundedSender<Vec<u8>>,
    /// Bytes of `output` that are not written yet.
    unwritten: Arc<AtomicUsize>,
    /// Requests without an answer.
    open: HashSet<RequestId>,
    /// Open requests that stay unanswered until the session ends, e.g. subscriptions.
    lasting: HashSet<RequestId>,
    /// The most recently cancelled requests. The remains of their handlers must not answer a new request with
    /// the same id.
    cancelled: VecDeque<RequestId>,
    /// Consecutive lines that were not messages and had no id.
    bad_lines: u32,
    /// True once the client has chosen a lifecycle. Before that, we ignore messages other than requests.
    opened: bool,
    ending: Option<GracePeriod>,
    shutdown: CancellationToken,
}

/// The time after the end of input.
struct GracePeriod {
    since: Instant,
    /// Unwritten bytes at the last check, and the time at which that number last changed.
    unwritten: (usize, Instant),
}

enum StdinLine {
    Whole(Vec<u8>),
    /// A line that is too long, with its id if either end of the line shows it.
    TooLong(Option<RequestId>),
}

impl StdinLines {
    /// Starts separate tasks for reading and writing so that neither waits for the other.
    fn new(
        reader: impl AsyncRead + Unpin + Send + 'static,
        mut writer: impl AsyncWrite + Unpin + Send + 'static,
        shutdown: CancellationToken,
    ) -> Self {
        let (read, lines) = mpsc::channel(LINES_AHEAD);
        let (output, mut to_write) = mpsc::unbounded_channel::<Vec<u8>>();
        let unwritten = Arc::<AtomicUsize>::default();
        let gone = shutdown.clone();
        tokio::spawn(async move {
            let mut reader = BufReader::with_capacity(64 << 10, reader);
            while let Some(line) = read_line(&mut reader).await {
                if read.send(line).await.is_err() {
                    break;
                }
            }
        });
        let written = Arc::clone(&unwritten);
        tokio::spawn(async move {
            while let Some(line) = to_write.recv().await {
                let result = async {
                    writer.write_all(&line).await?;
                    writer.flush().await
                };
                if result.await.is_err() {
                    // No later output would reach the client.
                    gone.cancel();
                    return;
                }
                written.fetch_sub(line.len(), Ordering::Relaxed);
            }
        });
        Self {
            lines,
            output,
            unwritten,
            open: HashSet::new(),
            lasting: HashSet::new(),
            cancelled: VecDeque::new(),
            bad_lines: 0,
            opened: false,
            ending: None,
            shutdown,
        }
    }

    fn write(&self, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let unwritten = self.unwritten.fetch_add(line.len(), Ordering::Relaxed);
        if unwritten > limits::UNREAD_BYTES {
            // The client sends requests but does not read, so no later output would reach it.
            self.shutdown.cancel();
        }
        self.output.send(line).map_err(|_| io::ErrorKind::NotConnected.into())
    }

    /// After the end of input, waits until all requests are answered and written, or the client has gone.
    async fn answered(&mut self) {
        while self.is_waited_for() {
            tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                () = self.shutdown.cancelled() => return,
            }
        }
    }

    fn is_waited_for(&mut self) -> bool {
        let (now, unwritten) = (Instant::now(), self.unwritten.load(Ordering::Relaxed));
        let ending = self.ending.get_or_insert(GracePeriod { since: now, unwritten: (unwritten, now) });
        if ending.unwritten.0 != unwritten {
            ending.unwritten = (unwritten, now);
        }
        // If nothing was written for this long, the client has stopped reading.
        let is_read = now - ending.unwritten.1 < limits::SHUTDOWN / 2;
        let is_written = unwritten == 0 || !is_read;
        let is_answered = self.open.iter().all(|id| self.cancelled.contains(id) || self.lasting.contains(id));
        !(is_answered && is_written) && now - ending.since < limits::LAST_ANSWERS && !client_disconnected()
    }

    /// Parses a complete line. Returns the message to pass on, if any.
    fn parse(&mut self, line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let message: RxJsonRpcMessage<RoleServer> = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(_) => {
                self.answer_bad_line(line);
                return None;
            }
        };
        self.bad_lines = 0;
        match &message {
            JsonRpcMessage::Request(request) => {
                if !self.open.insert(request.id.clone()) {
                    let error =
                        ErrorData::invalid_request("another request with this id has no answer yet", None);
                    // The id belongs to the earlier request, whose answer is still to come.
                    let _ = self.write(&JsonRpcMessage::error(error, None));
                    return None;
                }
                self.opened |= chooses_lifecycle(&request.request);
                if matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) {
                    self.lasting.insert(request.id.clone());
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                    && self.open.contains(id)
                {
                    self.cancelled.push_back(id.clone());
                    if self.cancelled.len() > CANCELLED_KEPT
                        && let Some(oldest) = self.cancelled.pop_front()
                    {
                        self.open.remove(&oldest);
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        (self.opened || matches!(message, JsonRpcMessage::Request(_))).then_some(message)
    }

    fn answer_bad_line(&mut self, line: &[u8]) {
        let text = std::str::from_utf8(line);
        let is_json = text.is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
        let value = serde_json::from_slice::<Value>(line).unwrap_or_default();
        // A line with a method but without an id is a notification, and notifications are never answered.
        if value["method"].is_string() && value.get("id").is_none() {
            return;
        }
        let error = match is_json {
            true => ErrorData::invalid_request("the line is not a valid JSON-RPC message", None),
            false => ErrorData::new(ErrorCode::PARSE_ERROR, "the line is not valid JSON", None),
        };
        self.answer_error(error, request_id(line));
    }

    /// Answers with an error. We limit the number of answers without an id, because a client that echoes our
    /// errors would be answered forever.
    fn answer_error(&mut self, error: ErrorData, id: Option<RequestId>) {
        self.bad_lines += u32::from(id.is_none());
        if id.is_some() || self.bad_lines <= limits::BAD_LINES_ANSWERED {
            let _ = self.write(&JsonRpcMessage::error(error, id));
        }
    }
}

/// Returns true if this request makes rmcp change from waiting for a handshake to serving.
fn chooses_lifecycle(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && meta
                    .protocol_version()
                    .is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}

/// Returns true if the other end of stdout is closed. Otherwise we would notice this only by writing.
#[cfg(unix)]
fn client_disconnected() -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    poll(&mut fds, Some(&rustix::event::Timespec::default())).is_ok()
        && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

#[cfg(not(unix))]
fn client_disconnected() -> bool {
    false
}

/// Reads the next line without its line feed. Returns `None` at the end of input. An unterminated last line
/// is not a message.
async fn read_line(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<StdinLine> {
    let (mut line, mut tail, mut too_long) = (Vec::new(), Vec::new(), false);
    loop {
        let available = reader.fill_buf().await.ok().filter(|bytes| !bytes.is_empty())?;
        let newline = available.iter().position(|&byte| byte == b'\n');
        let bytes = &available[..newline.unwrap_or(available.len())];
        if !too_long && line.len() + bytes.len() > limits::REQUEST_BYTES {
            too_long = true;
            tail = line.split_off(END_BYTES.min(line.len()));
        }
        if too_long {
            tail.extend_from_slice(bytes);
            tail.drain(..tail.len().saturating_sub(END_BYTES));
        } else {
            line.extend_from_slice(bytes);
        }
        let consumed = bytes.len() + usize::from(newline.is_some());
        reader.consume(consumed);
        if newline.is_some() {
            return Some(match too_long {
                false => StdinLine::Whole(line),
                true => StdinLine::TooLong(request_id(&line).or_else(|| last_id(&tail))),
            });
        }
    }
}

impl Transport<RoleServer> for StdinLines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        match &message {
            JsonRpcMessage::Response(response) => drop(self.open.remove(&response.id)),
            JsonRpcMessage::Error(error) => {
                error.id.as_ref().map(|id| self.open.remove(id));
            }
            _ => {}
        }
        std::future::ready(self.write(&message))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // This is safe to cancel: a line is either still in the queue or taken.
            let Some(line) = self.lines.recv().await else {
                self.answered().await;
                self.shutdown.cancel();
                return None;
            };
            match line {
                StdinLine::Whole(line) => {
                    let message = self.parse(&line);
                    if message.is_some() {
                        return message;
                    }
                }
                StdinLine::TooLong(id) => {
                    let data = json!({ "limit_bytes": limits::REQUEST_BYTES });
                    let message = format!("the line is longer than {} bytes", limits::REQUEST_BYTES);
                    self.answer_error(ErrorData::invalid_request(message, Some(data)), id);
                }
            }
        }
    }

    /// Gives pending output time to be written.
    async fn close(&mut self) -> io::Result<()> {
        let written = async {
            while self.unwritten.load(Ordering::Relaxed) > 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let _ = tokio::time::timeout(limits::SHUTDOWN / 2, written).await;
        Ok(())
    }
}

/// Finds the id at the end of a request, where some clients write it. It must be the last member of the
/// outermost object, or the last one except for the version.
fn last_id(tail: &[u8]) -> Option<RequestId> {
    let text = std::str::from_utf8(&tail[tail.iter().position(|&byte| byte == b',')?..]).ok()?;
    let at = text.rfind("\"id\"")?;
    let members: Value = serde_json::from_str(&format!("{{{}", text[at..].trim_end())).ok()?;
    let is_end = members.as_object()?.keys().all(|name| matches!(name.as_str(), "id" | "jsonrpc"));
    is_end.then(|| serde_json::from_value(members["id"].clone()).ok()).flatten()
}

/// Finds the id of a request that may be incomplete or invalid after the id.
fn request_id(text: &[u8]) -> Option<RequestId> {
    struct FindId<'a>(&'a mut Option<RequestId>);

    impl<'de> Visitor<'de> for FindId<'_> {
        type Value = ();

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(name) = map.next_key::<String>()? {
                match name.as_str() {
                    "id" => *self.0 = Some(map.next_value()?),
                    _ => {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
            }
            Ok(())
        }
    }

    let mut id = None;
    // We can ignore an error: the id is found before the text ends or becomes invalid, or not at all.
    let _ = serde_json::Deserializer::from_slice(text).deserialize_map(FindId(&mut id));
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_at_the_end_of_what_there_is_of_a_request() {
        let cases = [
            (r#"aaa","b":[1]},"jsonrpc":"2.0","id":7}"#, Some(RequestId::Number(7))),
            (r#"aaa"},"id":"seven","jsonrpc":"2.0"}"#, Some(RequestId::String("seven".into()))),
            (r#"aaa","id":7}}"#, None),
            (r#"aaa"},"id":7,"other":1}"#, None),
            (r#"aaa"},"id":{}}"#, None),
            ("no comma", None),
        ];
        for (text, expected) in cases {
            assert_eq!(last_id(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn the_id_is_found_in_what_there_is_of_a_request() {
        let number = |id| Some(RequestId::Number(id));
        let cases = [
            (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"bb"#, number(7)),
            (r#"{"id":7,"method":"#, number(7)),
            (r#"{"params":{"id":9},"id":7,]"#, number(7)),
            (r#"{"id":"seven","method":}"#, Some(RequestId::String("seven".into()))),
            (r#"{"params":{"id":9"#, None),
            (r#"{"id":{"no":1},"#, None),
            (r#"[{"id":7}]"#, None),
            ("no json", None),
        ];
        for (text, expected) in cases {
            assert_eq!(request_id(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn fuzz_a_line_is_a_message_or_gets_one_answer() {
        let seeds = forage_fuzz::seeds([
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
            r#"{"jsonrpc":"2.0","id":"seven","method":"tools/call","params":{"name":"grep_search","arguments":{"pattern":"x"},"_meta":{"progressToken":3}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"result":{"roots":[{"uri":"file:///a"}]}}"#,
            "{\"params\":{\"id\":9},\"id\":-7,]",
            "[{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}]",
        ]);
        forage_fuzz::target!(&seeds, |line| {
            let (_unread, lines) = mpsc::channel(1);
            let (output, mut written) = mpsc::unbounded_channel();
            let mut reader = StdinLines {
                lines,
                output,
                unwritten: Arc::default(),
                open: HashSet::new(),
                lasting: HashSet::new(),
                cancelled: VecDeque::new(),
                bad_lines: 0,
                opened: true,
                ending: None,
                shutdown: CancellationToken::new(),
            };
            let message = reader.parse(line);
            let mut answers: Vec<Value> = Vec::new();
            while let Ok(answer) = written.try_recv() {
                assert_eq!(answer.iter().filter(|byte| **byte == b'\n').count(), 1);
                answers.push(serde_json::from_slice(&answer).unwrap());
            }
            assert!(answers.len() <= usize::from(message.is_none()), "{message:?} {answers:?}");
            assert!(answers.iter().all(|answer| answer["error"]["code"].is_i64()), "{answers:?}");
            // A line that has an id but is not a message is answered under that id, if the JSON before the id
            // is valid.
            if message.is_none()
                && let Some(id) = request_id(line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line))
            {
                assert_eq!(answers.len(), 1);
                assert_eq!(answers[0]["id"], serde_json::to_value(&id).unwrap());
            }
            if let Some(id) = last_id(line) {
                assert!(line.ends_with(b"}") || line.trim_ascii_end().ends_with(b"}"), "{id}");
            }
        });
    }

    #[test]
    fn fuzz_lines_are_what_stands_between_line_feeds() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let seeds = forage_fuzz::seeds(["{\"id\":1}\n{\"id\":2}\r\n\n{", "\n\n", "no end"]);
        forage_fuzz::target!(&seeds, |input| {
            let mut expected: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
            expected.pop();
            for capacity in [1, 7, 64 << 10] {
                let read = runtime.block_on(async {
                    let (mut reader, mut read) = (BufReader::with_capacity(capacity, input), Vec::new());
                    while let Some(line) = read_line(&mut reader).await {
                        match line {
                            StdinLine::Whole(line) => read.push(line),
                            StdinLine::TooLong(_) => panic!("no input is as long"),
                        }
                    }
                    read
                });
                assert!(read.iter().eq(&expected), "{capacity}: {read:?}");
            }
        });
    }
}

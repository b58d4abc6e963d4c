//! One client on stdin and stdout, a message on each line.
//!
//! rmcp's own transport drops lines that are too long or no JSON without a word, and a client that sent a request in
//! them waits for ever; a notification before the first request ends its session. Here such lines are answered, with
//! the id of the request where it can still be read, and the session goes on.

use std::io;
use std::sync::Arc;

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::io::stdio_pipes;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::limits;

/// Bytes of the beginning of a line that is too long in which its id is looked for.
const HEAD_BYTES: usize = 4 << 10;

/// Serves the client on stdin and stdout until it closes stdin. `shutdown` is cancelled then, and ends every call that
/// is still running.
///
/// # Errors
/// The runtime can't be started, or the client spoke another protocol.
pub fn serve(handler: impl ServerHandler, shutdown: &CancellationToken) -> io::Result<()> {
    let runtime = super::runtime()?;
    let served = runtime.block_on(async {
        let (reader, writer) = stdio_pipes();
        let transport = Lines::new(reader, writer, shutdown.clone());
        match handler.serve(transport).await {
            Ok(running) => running.waiting().await.map(|_| ()).map_err(io::Error::other),
            // The client has gone before it said anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    });
    shutdown.cancel();
    runtime.shutdown_timeout(limits::SHUTDOWN);
    served
}

struct Lines<R, W> {
    reader: BufReader<R>,
    /// What is read of the present line. It outlives a `receive` that is dropped half-way.
    line: Vec<u8>,
    /// The rest of the present line is too long and thrown away.
    discarding: bool,
    writer: Arc<Mutex<Option<W>>>,
    /// Lines in a row that were no message.
    bad_lines: u32,
    /// A request was seen.
    opened: bool,
    shutdown: CancellationToken,
}

enum Line {
    Whole,
    /// Longer than allowed; its beginning is in `line`.
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    fn new(reader: R, writer: W, shutdown: CancellationToken) -> Self {
        Self {
            reader: BufReader::with_capacity(64 << 10, reader),
            line: Vec::new(),
            discarding: false,
            writer: Arc::new(Mutex::new(Some(writer))),
            bad_lines: 0,
            opened: false,
            shutdown,
        }
    }

    /// Reads on until a line ends. Nothing is lost when the future is dropped: bytes are consumed and kept without a
    /// pause between.
    async fn read_line(&mut self) -> Line {
        loop {
            let Ok(available) = self.reader.fill_buf().await else { return Line::End };
            if available.is_empty() {
                return Line::End;
            }
            let newline = available.iter().position(|&byte| byte == b'\n');
            let bytes = &available[..newline.unwrap_or(available.len())];
            let (length, fits) = (bytes.len(), self.line.len() + bytes.len() <= limits::REQUEST_BYTES);
            if !self.discarding && fits {
                self.line.extend_from_slice(bytes);
            }
            self.reader.consume(length + usize::from(newline.is_some()));
            match (self.discarding, fits, newline.is_some()) {
                (true, _, ends) => self.discarding = !ends,
                (false, false, ends) => {
                    self.discarding = !ends;
                    self.line.truncate(HEAD_BYTES);
                    return Line::TooLong;
                }
                (false, true, true) => return Line::Whole,
                (false, true, false) => {}
            }
        }
    }

    /// What to hand on of a whole line.
    fn parse(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        match serde_json::from_slice(line) {
            Ok(RxJsonRpcMessage::<RoleServer>::Request(request)) => {
                (self.opened, self.bad_lines) = (true, 0);
                Some(RxJsonRpcMessage::<RoleServer>::Request(request))
            }
            // Before the first request there is nothing that it could belong to.
            Ok(message) => self.opened.then_some(message),
            Err(_) => {
                let is_json = serde_json::from_slice::<IgnoredAny>(line).is_ok();
                // What has a method and no id is a notification, and notifications are never answered.
                let value = serde_json::from_slice::<Value>(line).unwrap_or_default();
                if value["method"].is_string() && value.get("id").is_none() {
                    return None;
                }
                let error = match is_json {
                    true => {
                        ErrorData::invalid_request("the line is no JSON-RPC message of this protocol", None)
                    }
                    false => ErrorData::new(ErrorCode::PARSE_ERROR, "the line is not valid JSON", None),
                };
                let id = request_id(line);
                self.answer_bad_line(error, id);
                None
            }
        }
    }

    /// Answers on a task of its own: `receive` may be dropped at any time, and half a line must not be left behind.
    fn answer_bad_line(&mut self, error: ErrorData, id: Option<RequestId>) {
        self.bad_lines += 1;
        if self.bad_lines <= limits::BAD_LINES_ANSWERED {
            let message = TxJsonRpcMessage::<RoleServer>::error(error, id);
            tokio::spawn(write(Arc::clone(&self.writer), message));
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(
    writer: Arc<Mutex<Option<W>>>,
    message: TxJsonRpcMessage<RoleServer>,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(&message)?;
    line.push(b'\n');
    let mut writer = writer.lock().await;
    let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    writer.write_all(&line).await?;
    writer.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        write(Arc::clone(&self.writer), message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.read_line().await {
                Line::Whole => {
                    let message = self.parse();
                    self.line.clear();
                    if message.is_some() {
                        return message;
                    }
                }
                Line::TooLong => {
                    let id = request_id(&self.line);
                    self.line = Vec::new();
                    let data = json!({ "limit_bytes": limits::REQUEST_BYTES });
                    let message = format!("the line is longer than {} bytes", limits::REQUEST_BYTES);
                    self.answer_bad_line(ErrorData::invalid_request(message, Some(data)), id);
                }
                Line::End => {
                    self.shutdown.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.lock().await.take();
        Ok(())
    }
}

/// The id of a request of which only the beginning may be there, or only that may be right.
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
    // Where the text ends or goes wrong does not matter: the id is found before that, or not at all.
    let _ = serde_json::Deserializer::from_slice(text).deserialize_map(FindId(&mut id));
    id
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

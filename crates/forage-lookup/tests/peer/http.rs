//! An HTTP/1.1 server on the loopback interface. Each connection is kept alive and has its own thread.
#![allow(dead_code, reason = "the program and the tests use parts of it each")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The target including its query.
    pub(crate) target: String,
    /// Headers with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The JSON body; null if there is none.
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| &**value)
    }

    /// Returns method and path, without the query.
    pub(crate) fn kind(&self) -> String {
        format!("{} {}", self.method, self.path())
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// An answer, or a failure instead of one.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Json {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Value,
    },
    Text {
        status: u16,
        text: String,
    },
    /// Never answers. Sends a message when the client has disconnected.
    Never(Option<Sender<()>>),
    /// Sends these bytes and closes the connection.
    Bytes(Vec<u8>),
    /// Sends the first bytes at once, and the others one by one with pauses. Then closes the connection.
    Drip(Vec<u8>, Vec<u8>, Duration),
}

impl Reply {
    /// Creates a successful answer in Qdrant's envelope.
    pub(crate) fn result(result: Value) -> Self {
        let body = json!({"result": result, "status": "ok", "time": 0.001});
        Self::Json { status: 200, headers: Vec::new(), body }
    }

    /// Creates an error answer in Qdrant's envelope.
    pub(crate) fn error(status: u16, error: &str) -> Self {
        let body = json!({"status": {"error": error}, "time": 0.001});
        Self::Json { status, headers: Vec::new(), body }
    }
}

pub(crate) type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

/// The server. Dropping it closes its sockets.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// Number of connections that clients have opened so far.
    pub(crate) connections: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(
        listener: TcpListener,
        tls: Option<Arc<ServerConfig>>,
        handler: Arc<Handler>,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let is_over = Arc::<AtomicBool>::default();
        let (open, connections) = (Arc::<Mutex<Vec<TcpStream>>>::default(), Arc::<AtomicUsize>::default());
        let (over, streams, count) = (Arc::clone(&is_over), Arc::clone(&open), Arc::clone(&connections));
        let thread = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                count.fetch_add(1, Ordering::SeqCst);
                streams.lock().unwrap().extend(stream.try_clone());
                let (handler, tls) = (Arc::clone(&handler), tls.clone());
                // We ignore errors here: in several tests, clients disconnect in the middle.
                thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    let closed = stream.try_clone();
                    let _ = match tls {
                        None => serve(stream, &*handler),
                        Some(tls) => ServerConnection::new(tls)
                            .map_err(std::io::Error::other)
                            .and_then(|connection| serve(StreamOwned::new(connection, stream), &*handler)),
                    };
                    // The list also has a handle of it, so we must close it explicitly.
                    let _ = closed.and_then(|stream| stream.shutdown(Shutdown::Both));
                });
            }
        });
        Ok(Self { address, connections, is_over, open, thread: Some(thread) })
    }

    /// Closes open connections, as a server would after a long idle time.
    pub(crate) fn close_connections(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Answers until the process ends.
    pub(crate) fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.close_connections();
    }
}

fn serve(stream: impl Read + Write, handler: &Handler) -> std::io::Result<()> {
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    while let Some(asked) = read(&mut stream)? {
        let is_last = asked.header("connection") == Some("close");
        match handler(&asked) {
            Reply::Json { status, headers, body } => {
                let body = serde_json::to_vec(&body)?;
                write(stream.get_mut(), status, "application/json", &headers, &body)?;
            }
            Reply::Text { status, text } => {
                write(stream.get_mut(), status, "text/plain", &[], text.as_bytes())?;
            }
            Reply::Never(left) => {
                // This read ends when the client disconnects.
                let _ = stream.read(&mut [0]);
                let _ = left.map(|left| left.send(()));
                return Ok(());
            }
            Reply::Bytes(bytes) => return stream.get_mut().write_all(&bytes),
            Reply::Drip(first, bytes, pause) => {
                stream.get_mut().write_all(&first)?;
                for byte in bytes {
                    stream.get_mut().write_all(&[byte])?;
                    stream.get_mut().flush()?;
                    thread::sleep(pause);
                }
                return Ok(());
            }
        }
        if is_last {
            break;
        }
    }
    Ok(())
}

fn read(stream: &mut impl BufRead) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (method, target) = (word(), word());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut asked = Request { method, target, headers, body: Value::Null };
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    if !body.is_empty() {
        asked.body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    }
    Ok(Some(asked))
}

fn write(
    stream: &mut impl Write,
    status: u16,
    kind: &str,
    headers: &[(&'static str, String)],
    body: &[u8],
) -> std::io::Result<()> {
    let mut answer =
        format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        answer.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut answer = format!("{answer}\r\n").into_bytes();
    answer.extend(body);
    stream.write_all(&answer)?;
    stream.flush()
}

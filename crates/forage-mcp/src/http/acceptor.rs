//! Accepts unauthenticated connections.
//!
//! We spend as little on them as possible: one thread for all of them, one request head each, and no parsing
//! of bodies. A refused connection gets one short answer before we close it. Accepting a connection never
//! waits for anything else.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use bytes::BufMut as _;
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use rmcp::ServerHandler;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::super::limits;
use super::{HttpGuard, ShortAnswer};

/// Accepts connections on a separate thread until `shutdown`. If that thread ends early, it cancels
/// `shutdown`.
pub(super) fn open<H: ServerHandler + Clone>(
    listener: std::net::TcpListener,
    front: Arc<HttpGuard<H>>,
    clients: &Runtime,
    shutdown: &CancellationToken,
) -> io::Result<JoinHandle<io::Result<()>>> {
    let (clients, shutdown) = (clients.handle().clone(), shutdown.clone());
    std::thread::Builder::new().name("http-door".to_owned()).spawn(move || {
        let _guard = shutdown.clone().drop_guard();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let ended = runtime.block_on(async {
            let listener = TcpListener::from_std(listener)?;
            // This task is scheduled like those of the connections, so each of them gets a turn before we
            // accept more.
            let ending = front.ending.clone();
            let mut accepting = tokio::spawn(accept(listener, front, clients));
            tokio::select! {
                ended = &mut accepting => return ended.map_err(io::Error::other),
                // Aborting the task closes the listener. We still answer connections that are already open.
                () = ending.cancelled() => accepting.abort(),
                () = shutdown.cancelled() => return Ok(()),
            }
            shutdown.cancelled().await;
            Ok(())
        });
        // This does not wait for a readiness check that hangs.
        runtime.shutdown_background();
        ended
    })
}

async fn accept<H: ServerHandler + Clone>(listener: TcpListener, front: Arc<HttpGuard<H>>, clients: Handle) {
    let (unauthenticated, max) =
        (Arc::new(UnauthenticatedConnections::default()), super::places(limits::UNAUTHENTICATED_CONNECTIONS));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if unauthenticated.count() >= max {
                    unauthenticated.evict();
                }
                let (front, clients) = (Arc::clone(&front), clients.clone());
                unauthenticated.admit(|place| stranger(stream, place, front, clients));
            }
            // Most likely there are no file descriptors left. Unauthenticated connections are the first to be
            // evicted.
            Err(_) if unauthenticated.evict() => tokio::task::yield_now().await,
            Err(_) => tokio::time::sleep(limits::ACCEPT_PAUSE).await,
        }
    }
}

/// Reads the first request head of a connection, and hands the connection on or ends it.
async fn stranger<H: ServerHandler + Clone>(
    mut stream: TcpStream,
    mut place: UnauthenticatedPermit,
    front: Arc<HttpGuard<H>>,
    clients: Handle,
) {
    let mut read = Vec::new();
    let head = match timeout(limits::HTTP_READ, first_head(&mut stream, &mut read)).await {
        Ok(Some(head)) => head,
        Ok(None) => return,
        // A client that has sent nothing gets no answer.
        Err(_) if read.is_empty() => return,
        Err(_) => Err(ShortAnswer::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive")),
    };
    let is_to_head = head.as_ref().is_ok_and(|head| head.method == Method::HEAD);
    let admitted = match head {
        Ok(head) => front.admits(&head).await,
        Err(refusal) => Err(refusal),
    };
    let message = "all connections are busy; try again later";
    let busy = || ShortAnswer::new(StatusCode::SERVICE_UNAVAILABLE, message);
    match admitted.and_then(|holder| front.clients.admit(holder.as_ref()).ok_or_else(busy)) {
        Ok(client) => {
            if let Ok(stream) = stream.into_std() {
                clients.spawn(front.serve(stream, read, client));
            }
        }
        Err(answer) => {
            let answer = front.counted(answer);
            place.answered();
            let _ = timeout(limits::LINGER, end_with(&answer.to_bytes(is_to_head), stream, read)).await;
        }
    }
}

/// Reads to the end of the first head, and possibly beyond it. Returns `None` if the connection ends before
/// that.
async fn first_head(stream: &mut TcpStream, read: &mut Vec<u8>) -> Option<Result<Parts, ShortAnswer>> {
    loop {
        let before = read.len();
        let mut free = (&mut *read).limit(limits::HEAD_BYTES - before);
        if stream.read_buf(&mut free).await.ok()? == 0 {
            if before < limits::HEAD_BYTES {
                return None;
            }
            let message = "the request head is too large";
            return Some(Err(ShortAnswer::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, message)));
        }
        // The first bytes already show whether this is HTTP. After that we parse only when a head may be
        // complete, so that a client that sends single bytes costs little. We look two bytes back, because
        // the end of a head may arrive in several reads.
        if before == 0 || ends_head(&read[before.saturating_sub(2)..]) {
            match head(read) {
                Ok(None) => {}
                Ok(Some(head)) => return Some(Ok(head)),
                Err(refusal) => return Some(Err(refusal)),
            }
        }
    }
}

/// Returns true if `bytes` contain the end of an empty line, which ends every head.
fn ends_head(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

/// Parses the head at the start of `bytes`. Returns `Ok(None)` if it is incomplete.
fn head(bytes: &[u8]) -> Result<Option<Parts>, ShortAnswer> {
    let mut fields = [httparse::EMPTY_HEADER; limits::HEAD_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Partial) => return Ok(None),
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => {
            let message = "the request has too many headers";
            return Err(ShortAnswer::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, message));
        }
        Err(_) => return Err(ShortAnswer::new(StatusCode::BAD_REQUEST, "this is not an HTTP/1.1 request")),
    }
    let (method, path) = (parsed.method.unwrap_or_default(), parsed.path.unwrap_or_default());
    let request =
        parsed.headers.iter().fold(Request::builder().method(method).uri(path), |request, field| {
            request.header(field.name, field.value)
        });
    match request.body(()) {
        Ok(request) => Ok(Some(request.into_parts().0)),
        Err(_) => Err(ShortAnswer::new(StatusCode::BAD_REQUEST, "the request head is not valid")),
    }
}

/// Sends an answer and gives the other side time to read it. If we closed the connection while it is still
/// sending, the answer would be lost.
async fn end_with(answer: &[u8], mut stream: TcpStream, mut buffer: Vec<u8>) -> io::Result<()> {
    stream.write_all(answer).await?;
    stream.shutdown().await?;
    buffer.resize(limits::HEAD_BYTES, 0);
    let mut rest = limits::REQUEST_BYTES;
    while rest > 0 {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            count => rest = rest.saturating_sub(count),
        }
    }
    Ok(())
}

/// The permits of unauthenticated connections, in order of eviction: first those that have got their answer,
/// then the oldest.
#[derive(Default)]
struct UnauthenticatedConnections(Mutex<OpenConnections>);

#[derive(Default)]
struct OpenConnections {
    next: u64,
    open: BTreeMap<(Stage, u64), AbortHandle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Answered,
    Asking,
}

impl UnauthenticatedConnections {
    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) -> usize {
        self.lock().open.len()
    }

    /// Starts a task with a permit.
    fn admit<F: Future<Output = ()> + Send + 'static>(
        self: &Arc<Self>,
        task: impl FnOnce(UnauthenticatedPermit) -> F,
    ) {
        let mut connections = self.lock();
        let key = (Stage::Asking, connections.next);
        connections.next += 1;
        // The task may end at once, but it needs our lock to return its permit, so the entry is always
        // inserted first.
        let task = tokio::spawn(task(UnauthenticatedPermit { unauthenticated: Arc::clone(self), key }));
        connections.open.insert(key, task.abort_handle());
    }

    /// Evicts the first connection. Returns false if there are no connections.
    fn evict(&self) -> bool {
        let first = self.lock().open.pop_first();
        first.inspect(|(_, task)| task.abort()).is_some()
    }
}

/// The permit of an unauthenticated connection, returned when it is dropped.
struct UnauthenticatedPermit {
    unauthenticated: Arc<UnauthenticatedConnections>,
    key: (Stage, u64),
}

impl UnauthenticatedPermit {
    /// Marks the connection as answered; it stays open only so that the client can read the answer.
    fn answered(&mut self) {
        let mut connections = self.unauthenticated.lock();
        if let Some(task) = connections.open.remove(&self.key) {
            self.key.0 = Stage::Answered;
            connections.open.insert(self.key, task);
        }
    }
}

impl Drop for UnauthenticatedPermit {
    fn drop(&mut self) {
        self.unauthenticated.lock().open.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_a_head_is_read_once_it_is_whole_and_no_sooner() {
        let seeds = forage_fuzz::seeds([
            "POST /mcp HTTP/1.1\r\nHost: localhost:8930\r\nAuthorization: Bearer abc\r\nContent-Length: 2\r\n\r\n{}",
            "GET http://h/x?y#z HTTP/1.0\nHost: h\n\n",
            "OPTIONS * HTTP/1.1\r\nOrigin: null\r\nX: \u{e9}\r\nAccept:\r\n\r\n",
        ]);
        forage_fuzz::target!(&seeds, |input| {
            let whole = head(input);
            let shown = |head: &Parts| format!("{head:?}");
            for end in [input.len() / 2, input.len().saturating_sub(1), input.len() * 3 / 4] {
                match (head(&input[..end]), &whole) {
                    // A head that parses in a prefix must parse to the same in the whole input.
                    (Ok(Some(part)), Ok(Some(whole))) => assert_eq!(shown(&part), shown(whole)),
                    (Ok(Some(part)), _) => panic!("{part:?} was read of a part alone"),
                    (Err(_), Ok(Some(whole))) => panic!("{whole:?} was refused in part"),
                    _ => {}
                }
            }
            if let Ok(Some(parts)) = whole {
                assert!(parts.headers.len() <= limits::HEAD_FIELDS);
                // A complete head must end where `ends_head` looks for its end.
                assert!((1..=input.len()).any(|end| ends_head(&input[end.saturating_sub(3)..end])));
            }
        });
    }
}

//! Streamable HTTP at `/mcp`: stateless unless sessions are asked for, for this machine alone unless there is a token.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use super::limits;

const PATH: &str = "/mcp";
const SESSION: &str = "mcp-session-id";

/// Where and for whom the server listens.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// The address. Port 0 takes a free one.
    pub address: SocketAddr,
    /// The token that every request must bear; without one, only this machine is listened to.
    pub token: Option<Token>,
    /// Names of hosts, beside those of this machine, by which clients may call the server.
    pub hosts: Vec<String>,
    /// Sessions at the same time, for clients of older revisions that let the server ask them; 0 for none.
    pub sessions: usize,
}

/// A secret that clients send.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token; `None` when the text can't be one.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| Self(text.to_owned()))
    }

    /// Takes as long for a token that is nearly right as for any other of its length.
    fn is(&self, other: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), other.as_bytes());
        let differ = |difference, (a, b): (&u8, &u8)| difference | (a ^ b);
        ours.len() == theirs.len() && ours.iter().zip(theirs).fold(0, differ) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(***)")
    }
}

/// Why the server does not listen.
#[derive(Debug, Error)]
pub enum HttpError {
    /// Anybody could reach it.
    #[error(
        "{address} can be reached from other machines, so clients must show a token: set FORAGE_MCP_TOKEN, or \
         listen on 127.0.0.1"
    )]
    NeedsToken {
        /// The address.
        address: SocketAddr,
    },
    /// The address can't be had.
    #[error("can't listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The runtime can't be started, or listening failed later.
    #[error("the HTTP server failed: {0}")]
    Io(#[from] io::Error),
}

/// Serves clients until Ctrl-C, a request to terminate, or `shutdown`. `listening` is told the address.
///
/// # Errors
/// [`HttpError`].
pub fn serve<H: ServerHandler + Clone>(
    handler: H,
    settings: &HttpSettings,
    shutdown: &CancellationToken,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), HttpError> {
    if settings.token.is_none() && !settings.address.ip().is_loopback() {
        return Err(HttpError::NeedsToken { address: settings.address });
    }
    let runtime = super::runtime()?;
    let served = runtime.block_on(async {
        let listen = |source| HttpError::Listen { address: settings.address, source };
        let listener = TcpListener::bind(settings.address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let front = Arc::new(Front::new(handler, settings, address, shutdown));
        let end = asked_to_end()?;
        listening(address);
        tokio::select! {
            () = accept(&listener, &front) => {}
            () = end => {}
            () = shutdown.cancelled() => {}
        }
        Ok(())
    });
    shutdown.cancel();
    runtime.shutdown_timeout(limits::SHUTDOWN);
    served
}

/// Takes connections. Beyond as many as there is room for, the oldest that has not sent a request yet makes room for
/// the next: to hold connections open must not lock others out.
async fn accept<H: ServerHandler + Clone>(listener: &TcpListener, front: &Arc<Front<H>>) {
    let places = Arc::new(Semaphore::new(limits::CONNECTIONS));
    let mut silent: VecDeque<(CancellationToken, Weak<AtomicBool>)> = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                silent
                    .retain(|(_, asked)| asked.upgrade().is_some_and(|asked| !asked.load(Ordering::Relaxed)));
                if places.available_permits() == 0
                    && let Some((close, _)) = silent.pop_front()
                {
                    close.cancel();
                }
                // Nobody closes the semaphore.
                let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
                let (close, asked) = (CancellationToken::new(), Arc::<AtomicBool>::default());
                silent.push_back((close.clone(), Arc::downgrade(&asked)));
                let front = Arc::clone(front);
                tokio::spawn(async move {
                    tokio::select! {
                        () = front.connection(stream, asked) => {}
                        () = close.cancelled() => {}
                    }
                    drop(place);
                });
            }
            // No file descriptors left, most likely: they come back when connections end.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    }
}

/// Ctrl-C, or a request to terminate: listened for from now on, and awaited later.
#[cfg(unix)]
fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Ctrl-C.
#[cfg(not(unix))]
fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

type Body = BoxBody<Bytes, Infallible>;

/// What stands before the protocol: path, token, sizes and times.
struct Front<H: ServerHandler + Clone> {
    service: StreamableHttpService<H, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    most_sessions: usize,
    /// Held while a session is opened, so that they are counted.
    opening: Mutex<()>,
    token: Option<Token>,
}

impl<H: ServerHandler + Clone> Front<H> {
    fn new(handler: H, settings: &HttpSettings, address: SocketAddr, shutdown: &CancellationToken) -> Self {
        let port = address.port();
        let own = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("http://{host}:{port}"));
        let mut hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        if !address.ip().is_unspecified() {
            hosts.push(address.ip().to_string());
        }
        hosts.extend(settings.hosts.iter().cloned());
        let mut config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts)
            .with_allowed_origins(own)
            .enforce_origin_validation()
            .with_legacy_session_mode(settings.sessions > 0)
            // Only calls that have something to tell before their answer are streamed.
            .with_json_response(true)
            .with_cancellation_token(shutdown.child_token());
        config.max_request_body_bytes = limits::REQUEST_BYTES;
        let sessions = Arc::<LocalSessionManager>::default();
        let service = StreamableHttpService::new(move || Ok(handler.clone()), Arc::clone(&sessions), config);
        let (most_sessions, token) = (settings.sessions, settings.token.clone());
        Self { service, sessions, most_sessions, opening: Mutex::default(), token }
    }

    async fn connection(self: Arc<Self>, stream: TcpStream, asked: Arc<AtomicBool>) {
        let _ = stream.set_nodelay(true);
        let answer = |request| {
            asked.store(true, Ordering::Relaxed);
            let front = Arc::clone(&self);
            async move { Ok::<_, Infallible>(front.answer(request).await) }
        };
        // A connection that breaks concerns its client alone.
        let _ = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits::HTTP_READ)
            .serve_connection(TokioIo::new(stream), service_fn(answer))
            .await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if request.uri().path().trim_end_matches('/') != PATH {
            return refusal(StatusCode::NOT_FOUND, "the server is at /mcp");
        }
        if let Some(token) = &self.token
            && !bearer(request.headers()).is_some_and(|shown| token.is(shown))
        {
            let mut response = refusal(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
            let challenge = HeaderValue::from_static("Bearer realm=\"forage\", error=\"invalid_token\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            return response;
        }
        let (head, body) = request.into_parts();
        let collected =
            tokio::time::timeout(limits::HTTP_READ, Limited::new(body, limits::REQUEST_BYTES).collect());
        let body = match collected.await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
            }
            Ok(Err(_)) => return refusal(StatusCode::BAD_REQUEST, "the request could not be read"),
            Err(_) => return refusal(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive"),
        };
        let _opening = match self.most_sessions > 0
            && head.method == Method::POST
            && !head.headers.contains_key(SESSION)
            && opens_session(&body)
        {
            false => None,
            true => {
                let opening = self.opening.lock().await;
                if self.sessions.sessions.read().await.len() >= self.most_sessions {
                    let message = "there are too many sessions; try again later";
                    return refusal(StatusCode::SERVICE_UNAVAILABLE, message);
                }
                Some(opening)
            }
        };
        let ends_session = head.method == Method::DELETE;
        let mut response = self.service.handle(Request::from_parts(head, Full::new(body))).await;
        // rmcp says "accepted"; the Python SDK takes that for a session that could not be ended, and warns of it.
        if ends_session && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        response
    }
}

fn opens_session(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        method: std::borrow::Cow<'a, str>,
    }
    serde_json::from_slice::<Message<'_>>(body).is_ok_and(|message| message.method == "initialize")
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// An answer to what is not even looked at: a JSON-RPC error without id, which clients of the protocol can show.
fn refusal(status: StatusCode, message: &str) -> Response<Body> {
    let body: Value = json!({ "jsonrpc": "2.0", "error": { "code": -32600, "message": message } });
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

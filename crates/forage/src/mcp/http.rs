//! Streamable HTTP at `/mcp`: stateless unless sessions are asked for, for this machine alone unless there is a token.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

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
use tokio::sync::Semaphore;
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
    /// Origins (`https://host:port`), beside those of this machine at the server's port, from which browsers may call.
    pub origins: Vec<String>,
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
        listening(address);
        tokio::select! {
            () = accept(&listener, &front) => {}
            () = asked_to_end() => {}
            () = shutdown.cancelled() => {}
        }
        Ok(())
    });
    shutdown.cancel();
    runtime.shutdown_timeout(limits::SHUTDOWN);
    served
}

/// Takes connections, as many at a time as there is room for; the others wait in the system's queue.
async fn accept<H: ServerHandler + Clone>(listener: &TcpListener, front: &Arc<Front<H>>) {
    let places = Arc::new(Semaphore::new(limits::CONNECTIONS));
    loop {
        // Nobody closes the semaphore.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let front = Arc::clone(front);
                tokio::spawn(async move {
                    front.connection(stream).await;
                    drop(place);
                });
            }
            // No file descriptors left, most likely: they come back when connections end.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    }
}

async fn asked_to_end() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
}

type Body = BoxBody<Bytes, Infallible>;

/// What stands before the protocol: path, token, sizes and times.
struct Front<H: ServerHandler + Clone> {
    service: StreamableHttpService<H, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    most_sessions: usize,
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
            .with_allowed_origins(own.into_iter().chain(settings.origins.iter().cloned()))
            .enforce_origin_validation()
            .with_legacy_session_mode(settings.sessions > 0)
            // Only calls that have something to tell before their answer are streamed.
            .with_json_response(true)
            .with_cancellation_token(shutdown.child_token());
        config.max_request_body_bytes = limits::REQUEST_BYTES;
        let sessions = Arc::<LocalSessionManager>::default();
        let service = StreamableHttpService::new(move || Ok(handler.clone()), Arc::clone(&sessions), config);
        Self { service, sessions, most_sessions: settings.sessions, token: settings.token.clone() }
    }

    async fn connection(self: Arc<Self>, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let answer = |request| {
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
        if self.most_sessions > 0
            && head.method == Method::POST
            && !head.headers.contains_key(SESSION)
            && self.sessions.sessions.read().await.len() >= self.most_sessions
            && opens_session(&body)
        {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions; try again later");
        }
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

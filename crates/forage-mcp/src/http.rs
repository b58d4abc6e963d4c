//! Streamable HTTP at `/mcp`: stateless unless sessions are enabled, and limited to this machine unless a
//! token is set.
//!
//! Every connection is unauthenticated until one of its requests is admitted. One thread accepts all
//! connections, reads only the first request head of each, and refuses the connection or hands it on
//! ([`acceptor`]). The runtime serves the admitted connections ([`clients`]). Unauthenticated connections
//! therefore compete only with each other, for their own permits and for that one thread.

mod acceptor;
mod answer;
mod clients;
#[cfg(test)]
mod fuzz;
mod readiness;
mod short_answer;
mod tokens;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, Cursor};
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use thiserror::Error;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use self::answer::AnswerBody;
use self::clients::{Clients, ConnectionPermit};
use self::readiness::Readiness;
use self::short_answer::ShortAnswer;
use self::tokens::KnownTokens;
use super::caller::{Caller, RequestKind, TurnSlot};
use super::limits;
use super::metrics::ServerMetrics;

pub use self::readiness::ReadyCheck;
pub use self::tokens::{AccessToken, TokenDigest};

const PATH: &str = "/mcp";
const METRICS: &str = "/metrics";
const READINESS: &str = "/readyz";
const SESSION: &str = "mcp-session-id";

/// Settings of the HTTP server: its address, and the clients that it accepts.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// The address to listen on. Port 0 picks a free port.
    pub address: SocketAddr,
    /// The tokens, one of which every request must carry. Without tokens, the server must listen on a
    /// loopback address.
    pub tokens: Vec<AccessToken>,
    /// Host names by which clients may address the server, in addition to those of this machine (e.g.
    /// `localhost`).
    pub hosts: Vec<String>,
    /// Maximum number of sessions at the same time, for clients of older revisions that let the server ask
    /// them; 0 disables sessions.
    pub sessions: usize,
    /// The check for `/readyz`. Without one, the server is ready as long as it listens.
    pub ready: Option<ReadyCheck>,
    /// The metrics in which refused requests are counted.
    pub metrics: ServerMetrics,
    /// True if the metrics are served at `/metrics`.
    pub shows_metrics: bool,
}

impl HttpSettings {
    /// Creates settings without tokens and without sessions, which only allow a loopback address.
    pub fn at(address: SocketAddr) -> Self {
        Self {
            address,
            tokens: Vec::new(),
            hosts: Vec::new(),
            sessions: 0,
            ready: None,
            metrics: ServerMetrics::new(),
            shows_metrics: false,
        }
    }
}

/// Reasons why the server can't start or has stopped.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The address can be reached from other machines and there is no token.
    #[error(
        "{address} can be reached from other machines, so clients need a token: set FORAGE_MCP_TOKEN, \
         pass --tokens, or listen on 127.0.0.1"
    )]
    NeedsToken {
        /// The address.
        address: SocketAddr,
    },
    /// Listening on the address failed.
    #[error("can't listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system error.
        source: io::Error,
    },
    /// The runtime could not be started, or accepting connections failed later.
    #[error("the HTTP server failed: {0}")]
    Io(#[from] io::Error),
}

/// Serves clients until Ctrl-C, a request to terminate, or `shutdown`. `listening` is called with the bound
/// address.
///
/// # Errors
///
/// Fails if the address needs a token, can't be bound, or the server fails.
pub fn serve<H: ServerHandler + Clone>(
    handler: H,
    settings: &HttpSettings,
    shutdown: &CancellationToken,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), HttpError> {
    if settings.tokens.is_empty() && !settings.address.ip().is_loopback() {
        return Err(HttpError::NeedsToken { address: settings.address });
    }
    let runtime = super::runtime()?;
    let served = runtime.block_on(async {
        let refused = |source| HttpError::Listen { address: settings.address, source };
        let listener = listen(settings.address).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        // The accepting thread has a runtime of its own.
        let listener = listener.into_std()?;
        let front = Arc::new(HttpGuard::new(handler, settings, address, shutdown));
        let mut requests = ShutdownSignals::listen()?;
        let acceptor = acceptor::open(listener, Arc::clone(&front), &runtime, shutdown)?;
        listening(address);
        tokio::select! {
            () = requests.next() => {
                // New clients should go elsewhere. We still answer running calls unless a second signal asks
                // us to stop at once.
                front.ending.cancel();
                let answered = async {
                    front.clients.answered().await;
                    // Connections that only listen are closed after this timeout.
                    let _ = tokio::time::timeout(limits::LINGER, front.clients.gone()).await;
                };
                tokio::select! {
                    () = answered => {}
                    () = tokio::time::sleep(limits::DRAIN) => {}
                    () = requests.next() => {}
                }
            }
            // `shutdown` is also cancelled when the accepting thread ends.
            () = shutdown.cancelled() => {}
        }
        Ok::<_, HttpError>(acceptor)
    });
    shutdown.cancel();
    let ended = served.map(|acceptor| acceptor.join());
    runtime.shutdown_timeout(limits::SHUTDOWN);
    match ended? {
        Ok(ended) => Ok(ended?),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Listens like [`TcpListener::bind`], but with a longer queue of pending connections.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // We don't set this on Windows, where it would allow other programs to listen on the same port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(limits::BACKLOG)
}

/// Computes how many connections of a kind we can hold: `max`, or fewer if the process may open only few
/// files. There are three kinds: unauthenticated, authenticated, and evicted ones that have not closed yet.
fn places(max: usize) -> usize {
    let share = |files: u64| usize::try_from(files.saturating_sub(limits::FILES_RESERVED) / 3).unwrap_or(max);
    files().map_or(max, share).clamp(limits::PLACES_MIN, max)
}

/// The maximum number of file descriptors of the process, or `None` if there is no limit.
#[cfg(unix)]
fn files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// The maximum number of file descriptors of the process, or `None` if there is no limit.
#[cfg(not(unix))]
fn files() -> Option<u64> {
    None
}

/// Listens for Ctrl-C and requests to terminate from the moment it is created.
#[cfg(unix)]
struct ShutdownSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl ShutdownSignals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Listens for Ctrl-C.
#[cfg(not(unix))]
struct ShutdownSignals;

#[cfg(not(unix))]
impl ShutdownSignals {
    fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

type Body = BoxBody<Bytes, Infallible>;

/// Checks a request's path, host, token, sizes and timeouts before the protocol layer sees it.
struct HttpGuard<H: ServerHandler + Clone> {
    clients: Clients,
    service: StreamableHttpService<H, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    max_sessions: usize,
    max_sessions_of_token: usize,
    /// The tokens with which sessions were opened. Locked while a session is opened so that the limits on
    /// sessions hold.
    holders: Mutex<HashMap<SessionId, Option<Arc<Caller>>>>,
    tokens: KnownTokens,
    readiness: Readiness,
    metrics: ServerMetrics,
    shows_metrics: bool,
    /// Cancelled when the server is asked to shut down. It then accepts no new connections, and answers the
    /// existing ones.
    ending: CancellationToken,
}

impl<H: ServerHandler + Clone> HttpGuard<H> {
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
            // We stream only calls that have something to send before their answer.
            .with_json_response(true)
            .with_cancellation_token(shutdown.child_token());
        config.max_request_body_bytes = limits::REQUEST_BYTES;
        let sessions = Arc::<LocalSessionManager>::default();
        let service = StreamableHttpService::new(move || Ok(handler.clone()), Arc::clone(&sessions), config);
        let ending = CancellationToken::new();
        // If there are several tokens, each gets at most half of the capacity.
        let share_of = |max: usize| if settings.tokens.len() > 1 { max.div_ceil(2) } else { max };
        let max = places(limits::CLIENTS);
        Self {
            clients: Clients::new(max, share_of(max)),
            service,
            sessions,
            max_sessions: settings.sessions,
            max_sessions_of_token: share_of(settings.sessions),
            holders: Mutex::default(),
            tokens: KnownTokens::new(&settings.tokens),
            readiness: Readiness::new(settings.ready.clone(), ending.clone()),
            metrics: settings.metrics.clone(),
            shows_metrics: settings.shows_metrics,
            ending,
        }
    }

    /// Counts the answer in the metrics if it refuses a request.
    fn counted(&self, answer: ShortAnswer) -> ShortAnswer {
        if let Some(reason) = answer.reason() {
            self.metrics.refuses(reason);
        }
        answer
    }

    /// Decides by its head alone whether a request is admitted. Returns the token's holder, or the answer
    /// that refuses the request.
    async fn admits(&self, head: &Parts) -> Result<Option<Arc<Caller>>, ShortAnswer> {
        let path = head.uri.path();
        let is_of_metrics = self.shows_metrics && path == METRICS;
        if path == READINESS {
            return Err(ShortAnswer::readiness(&head.method, self.readiness.state().await));
        }
        if path.trim_end_matches('/') != PATH && !is_of_metrics {
            return Err(ShortAnswer::beside(&head.method, path));
        }
        let named = if has_one_host(head) { self.host(head).await } else { StatusCode::BAD_REQUEST };
        match named {
            StatusCode::METHOD_NOT_ALLOWED => {}
            StatusCode::FORBIDDEN => {
                let message = "the Host or Origin header does not match this server; allow other names with --allow-host";
                return Err(ShortAnswer::new(StatusCode::FORBIDDEN, message));
            }
            _ => {
                return Err(ShortAnswer::new(
                    StatusCode::BAD_REQUEST,
                    "the Host header is missing or invalid",
                ));
            }
        }
        let token = bearer(&head.headers).and_then(|shown| self.tokens.find(shown));
        if token.is_none() && !self.tokens.is_empty() {
            return Err(ShortAnswer::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong"));
        }
        if is_of_metrics {
            return Err(match token {
                Some(token) if !token.reads_metrics() => {
                    ShortAnswer::new(StatusCode::FORBIDDEN, "this token may not read metrics")
                }
                _ => ShortAnswer::metrics(&head.method, self.metrics.text()),
            });
        }
        let holder = token.and_then(AccessToken::holder);
        if let Some(limit) = holder.and_then(|holder| holder.exhausted()) {
            return Err(ShortAnswer::limited(&limit));
        }
        Ok(holder.cloned())
    }

    /// Determines the status with which rmcp judges `Host` and `Origin`. It checks these headers first. We
    /// therefore send it a request with an unsupported method, for which it checks nothing else.
    async fn host(&self, head: &Parts) -> StatusCode {
        let mut question = Request::new(Full::<Bytes>::default());
        *question.method_mut() = Method::TRACE;
        *question.uri_mut() = head.uri.clone();
        for name in [HOST, ORIGIN] {
            for value in head.headers.get_all(&name) {
                question.headers_mut().append(&name, value.clone());
            }
        }
        self.service.handle(question).await.status()
    }

    /// Serves a connection whose first request was admitted. `read` holds the bytes read so far.
    async fn serve(self: Arc<Self>, stream: std::net::TcpStream, read: Vec<u8>, place: ConnectionPermit) {
        let Ok(stream) = TcpStream::from_std(stream) else { return };
        let _ = stream.set_nodelay(true);
        let (input, output) = stream.into_split();
        // The first request begins with the bytes that were read to admit it.
        let stream = tokio::io::join(Cursor::new(read).chain(input), output);
        let answer = |request| {
            let (front, place) = (Arc::clone(&self), place.clone());
            async move { Ok::<_, Infallible>(front.answer(request, &place).await) }
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits::HTTP_READ)
            .max_buf_size(limits::HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service_fn(answer));
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            // A broken connection concerns only its client.
            _ = connection.as_mut() => return,
            () = place.evicted() => {}
            () = self.ending.cancelled() => {
                // A connection that has just been admitted gets its first request answered, and is then
                // closed.
                if place.has_asked() {
                    connection.as_mut().graceful_shutdown();
                }
                let _ = connection.await;
                return;
            }
        }
        // We still finish a request that has just arrived or an answer that is being sent.
        connection.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(limits::EVICTION, connection).await;
    }

    async fn answer(&self, request: Request<Incoming>, place: &ConnectionPermit) -> Response<Body> {
        place.asks();
        let response = self.respond(request, place).await;
        let mut response = response.unwrap_or_else(|answer| self.counted(answer).into_response());
        // A refused connection must not stay open, and after a 404 the client can connect again.
        if self.ending.is_cancelled()
            || matches!(
                response.status(),
                StatusCode::UNAUTHORIZED
                    | StatusCode::FORBIDDEN
                    | StatusCode::NOT_FOUND
                    | StatusCode::TOO_MANY_REQUESTS
            )
        {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Refuses a session that was opened with another token. The answer must be the same as for an unknown
    /// session.
    async fn is_its_own(
        &self,
        session: &HeaderValue,
        caller: Option<&Arc<Caller>>,
    ) -> Result<(), ShortAnswer> {
        let holders = self.holders.lock().await;
        let holder = session.to_str().ok().and_then(|session| holders.get(session));
        match holder.is_some_and(|holder| !is_same(holder.as_ref(), caller)) {
            true => Err(ShortAnswer::new(StatusCode::NOT_FOUND, "there is no such session")),
            false => Ok(()),
        }
    }

    /// Takes the lock that we must hold while we open a session. Fails if the server or the token has reached
    /// its limit.
    async fn opening(
        &self,
        caller: Option<&Arc<Caller>>,
    ) -> Result<MutexGuard<'_, HashMap<SessionId, Option<Arc<Caller>>>>, ShortAnswer> {
        let mut holders = self.holders.lock().await;
        let sessions = self.sessions.sessions.read().await;
        holders.retain(|session, _| sessions.contains_key(session));
        let own =
            holders.values().filter(|holder| caller.is_some() && is_same(holder.as_ref(), caller)).count();
        if sessions.len() >= self.max_sessions || own >= self.max_sessions_of_token {
            let message = "there are too many sessions; try again later";
            return Err(ShortAnswer::new(StatusCode::SERVICE_UNAVAILABLE, message));
        }
        drop(sessions);
        Ok(holders)
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        place: &ConnectionPermit,
    ) -> Result<Response<Body>, ShortAnswer> {
        let (mut head, body) = request.into_parts();
        // Only the first request of a connection was admitted before, and others may have another token.
        let caller = self.admits(&head).await?;
        let body = read_body(body).await?;
        let method = (head.method == Method::POST).then(|| method_of(&body)).flatten();
        let (mut turn, mut processing) = (None, None);
        if let Some(caller) = &caller {
            let kind = match &method {
                _ if head.method == Method::GET => RequestKind::Stream,
                Some(method) if method == "tools/call" => RequestKind::Call,
                _ => RequestKind::Other,
            };
            match (kind, caller.begin(kind)) {
                (RequestKind::Call, begun) => drop(head.extensions.insert(TurnSlot::new(begun))),
                (_, Ok(begun)) => turn = Some(begun),
                (_, Err(limit)) => return Err(ShortAnswer::limited(&limit)),
            }
            if kind == RequestKind::Other {
                processing = caller.process().await;
            }
            head.extensions.insert(Arc::clone(caller));
        }
        let mut opening = None;
        match head.headers.get(SESSION) {
            Some(session) => self.is_its_own(session, caller.as_ref()).await?,
            None if self.max_sessions > 0 && method.as_deref() == Some("initialize") => {
                opening = Some(self.opening(caller.as_ref()).await?);
            }
            None => {}
        }
        let (ends_session, is_json) = (head.method == Method::DELETE, is_json(&head.headers));
        // A stream that only listens for messages of the server is not a call, so it can be evicted to make
        // room for one.
        let is_call = head.method != Method::GET;
        let call = is_call.then(|| place.call());
        let request = Request::from_parts(head, Full::new(body.clone()));
        let mut response = self.service.handle(request).await;
        drop(processing);
        let opened = response.headers().get(SESSION).and_then(|session| session.to_str().ok());
        if let (Some(mut holders), Some(session)) = (opening, opened) {
            holders.insert(session.into(), caller);
        }
        match response.status() {
            // rmcp answers "202 Accepted"; the Python SDK takes that for a failure to end the session and
            // warns about it.
            StatusCode::ACCEPTED if ends_session => *response.status_mut() = StatusCode::NO_CONTENT,
            // rmcp gives this status also to a body that is declared as JSON but is not a message.
            StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => return Err(ShortAnswer::no_message(&body)),
            _ => {}
        }
        let place = is_call.then(|| place.clone());
        Ok(response.map(|body| AnswerBody { body, place, call, _turn: turn }.boxed()))
    }
}

/// Reads a body, within the limits on its size and its time.
async fn read_body(body: Incoming) -> Result<Bytes, ShortAnswer> {
    let collected =
        tokio::time::timeout(limits::HTTP_READ, Limited::new(body, limits::REQUEST_BYTES).collect());
    match collected.await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            Err(ShortAnswer::new(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large"))
        }
        Ok(Err(_)) => Err(ShortAnswer::new(StatusCode::BAD_REQUEST, "the request could not be read")),
        Err(_) => Err(ShortAnswer::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive")),
    }
}

/// Returns true if the request names exactly one host, consisting only of a host and a port. If there were
/// several hosts, a proxy in front of the server might choose a different one.
fn has_one_host(head: &Parts) -> bool {
    let mut hosts = head.headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    if head.headers.get_all(ORIGIN).iter().count() > 1 {
        return false;
    }
    let is_port = |authority: &Authority| match authority.as_str().rsplit_once(':') {
        // In an IPv6 address, the last colon is inside the brackets.
        Some((_, port)) if !port.ends_with(']') => authority.port_u16().is_some(),
        _ => true,
    };
    let named = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    named.is_some_and(|named| {
        let is_its_own = head.uri.authority().is_none_or(|target| *target == named);
        is_its_own && is_port(&named) && !named.as_str().contains('@')
    })
}

/// Parses the method of a message. Returns `None` if it has none or can't be read as a message.
fn method_of(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct HttpMessage<'a> {
        #[serde(borrow)]
        method: std::borrow::Cow<'a, str>,
    }
    // The parser does not validate skipped parts as UTF-8, but a body that is not UTF-8 must not count as a
    // message.
    let message =
        std::str::from_utf8(body).ok().and_then(|body| serde_json::from_str::<HttpMessage<'_>>(body).ok());
    message.map(|message| message.method.into_owned())
}

/// Returns true if both holders are the same, or both are `None`.
fn is_same(one: Option<&Arc<Caller>>, other: Option<&Arc<Caller>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns true if the body is declared as JSON, judged the same way as in rmcp.
fn is_json(headers: &HeaderMap) -> bool {
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    named.is_some_and(|named| {
        named.split(';').next().unwrap_or(named).trim().eq_ignore_ascii_case("application/json")
    })
}

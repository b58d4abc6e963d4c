//! The page's server. It must only accept requests from this machine that carry the token of the printed
//! address.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderMap, HeaderValue,
    ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};

use super::api::{Api, Refusal};
use super::connections::{ConnectionPermit, Connections};
use super::limits;
use super::query::Query;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Number of random bytes in a token.
const TOKEN_BYTES: usize = 18;

/// Reasons why the page can't be served.
#[derive(Debug, Error)]
pub enum PageError {
    /// Listening on the port failed.
    #[error("can't listen on 127.0.0.1:{port}: {source}")]
    Listen {
        /// The port.
        port: u16,
        /// The system error.
        source: io::Error,
    },
    /// The system provides no random bytes for a token.
    #[error("can't create a token: {0}")]
    Token(getrandom::Error),
    /// The server can't run.
    #[error("can't serve the page: {0}")]
    Io(#[from] io::Error),
}

/// The page, and the content security policy under which browsers show it.
struct PageServer {
    page: Bytes,
    policy: HeaderValue,
    token: String,
    /// The host names by which requests may address this server.
    hosts: [String; 2],
    api: Arc<Api>,
}

/// Serves the page on a port of this machine (0 picks a free port) until `ended` completes. `listening` is
/// called with the address.
pub(crate) fn serve(
    api: Api,
    port: u16,
    listening: impl FnOnce(&str),
    ended: impl Future<Output = ()>,
) -> Result<(), PageError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(limits::CONNECTIONS)
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let refused = |source| PageError::Listen { port, source };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let served = Arc::new(PageServer::new(api, address.port())?);
        listening(&format!("http://{address}/?token={}", served.token));
        tokio::select! {
            () = accept(&listener, &served) => {}
            () = ended => {}
        }
        Ok(())
    });
    // Requests that still read files must not delay the end.
    runtime.shutdown_background();
    served
}

async fn accept(listener: &TcpListener, served: &Arc<PageServer>) {
    let connections = Arc::<Connections>::default();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => connections.admit(|permit| connection(stream, Arc::clone(served), permit)),
            // The most likely reason is that there are no file descriptors left.
            Err(_) if connections.evict() => tokio::task::yield_now().await,
            Err(_) => tokio::time::sleep(limits::LOOK_INTERVAL).await,
        }
    }
}

async fn connection(stream: TcpStream, served: Arc<PageServer>, permit: Arc<ConnectionPermit>) {
    let service = service_fn(move |request| {
        let (served, permit) = (Arc::clone(&served), Arc::clone(&permit));
        async move { Ok::<_, Infallible>(served.answer(&request, &permit).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits::HEAD_TIME).max_buf_size(limits::HEAD_BYTES);
    // An error means that the browser has gone.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

impl PageServer {
    fn new(api: Api, port: u16) -> Result<Self, PageError> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(PageError::Token)?;
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; img-src data:; base-uri \
             'none'; form-action 'none'; frame-ancestors 'none'",
            hash(SCRIPT),
            hash(STYLE)
        );
        let page = PAGE.replacen("/*css*/", STYLE, 1).replacen("/*js*/", SCRIPT, 1);
        Ok(Self {
            page: page.into(),
            policy: HeaderValue::from_str(&policy).map_err(io::Error::other)?,
            token: URL_SAFE_NO_PAD.encode(bytes),
            hosts: ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}")),
            api: Arc::new(api),
        })
    }

    async fn answer(&self, request: &Request<Incoming>, permit: &ConnectionPermit) -> Response<Full<Bytes>> {
        let query = Query::parse(request.uri().query().unwrap_or_default());
        if let Err(refusal) = self.authorize(request, &query) {
            return self.refused(&refusal);
        }
        permit.authenticate();
        let path = request.uri().path();
        if path == "/" {
            return self
                .with_headers(Response::new(Full::new(self.page.clone())), "text/html; charset=utf-8");
        }
        let Some(path) = path.strip_prefix("/api/").map(str::to_owned) else {
            return self.refused(&refusal(StatusCode::NOT_FOUND, "not found"));
        };
        if path == "calls" {
            return self.json(&self.calls(&query).await);
        }
        let api = Arc::clone(&self.api);
        // The answer may read files, so it must not block this thread.
        let answered = tokio::task::spawn_blocking(move || api.answer(&path, &query)).await;
        match answered {
            Ok(Ok(value)) => self.json(&value),
            Ok(Err(refusal)) => self.refused(&refusal),
            Err(_) => self.refused(&refusal(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal error: the request panicked; please report it",
            )),
        }
    }

    /// Returns new calls and processes. Waits for a change if the request asks for this.
    async fn calls(&self, query: &Query) -> Value {
        let number = |name| query.get(name).and_then(|text| text.parse::<usize>().ok());
        let after = number("after").unwrap_or_default();
        let gathered = &self.api.gathered;
        // We subscribe before we read, so that no change in between is missed.
        let mut news = gathered.subscribe();
        news.mark_unchanged();
        let answer = gathered.after(after);
        if number("wait").is_none() || answer.has_calls() {
            return json!(answer);
        }
        // A process that has started or ended also counts as a change.
        let _ = tokio::time::timeout(limits::NEWS_WAIT, news.changed()).await;
        json!(gathered.after(after))
    }

    /// Admits a request only if it is a GET, names this machine as its host, comes from our page or no page
    /// at all, and carries the token.
    fn authorize(&self, request: &Request<Incoming>, query: &Query) -> Result<(), Refusal> {
        if request.method() != Method::GET {
            return Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "only GET is supported"));
        }
        let headers = request.headers();
        let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("?"));
        // If another site makes its name resolve to this machine, its page still sends that name.
        if !text(HOST).is_some_and(|host| self.hosts.iter().any(|own| own == host)) {
            return Err(refusal(StatusCode::MISDIRECTED_REQUEST, "wrong host name"));
        }
        let is_own = |origin: &str| self.hosts.iter().any(|own| origin == format!("http://{own}"));
        let is_foreign = comes_from_another_site(headers) && !opens_the_page(request);
        if text(ORIGIN).is_some_and(|origin| !is_own(origin)) || is_foreign {
            return Err(refusal(StatusCode::FORBIDDEN, "requests from other sites are refused"));
        }
        let borne = text(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        // A browser that opens the address does not send this header.
        let in_address = query.get("token").filter(|_| request.uri().path() == "/");
        match borne.or(in_address) {
            Some(token) if is_same(token, &self.token) => Ok(()),
            _ => Err(refusal(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong; use the printed address",
            )),
        }
    }

    fn json(&self, value: &impl serde::Serialize) -> Response<Full<Bytes>> {
        match serde_json::to_vec(value) {
            Ok(text) => self.with_headers(Response::new(Full::new(text.into())), "application/json"),
            Err(error) => {
                let answer = refusal(StatusCode::INTERNAL_SERVER_ERROR, &format!("internal error: {error}"));
                self.refused(&answer)
            }
        }
    }

    fn refused(&self, answer: &Refusal) -> Response<Full<Bytes>> {
        let record = json!({ "type": "error", "error": answer.problem, "code": answer.code });
        let mut response =
            self.with_headers(Response::new(Full::new(record.to_string().into())), "application/json");
        *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_REQUEST);
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
        }
        response
    }

    fn with_headers(
        &self,
        mut response: Response<Full<Bytes>>,
        content: &'static str,
    ) -> Response<Full<Bytes>> {
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content));
        headers.insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
        headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
        response
    }
}

fn refusal(status: StatusCode, problem: &str) -> Refusal {
    let code = match status {
        StatusCode::INTERNAL_SERVER_ERROR => forage_tools::ErrorCode::Internal,
        _ => forage_tools::ErrorCode::Request,
    };
    Refusal { problem: problem.to_owned(), code, status: status.as_u16() }
}

/// Returns true if the browser reports that the request comes from another site. We need this check because
/// such requests may have no `Origin`.
fn comes_from_another_site(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|value| !matches!(value.as_bytes(), b"same-origin" | b"none"))
}

/// Returns true if the browser opens the page in a tab, for example from the file of `forage ui --open`. The
/// site that led there can't read the page.
fn opens_the_page(request: &Request<Incoming>) -> bool {
    let is = |name: &str, value: &str| {
        request.headers().get(name).is_some_and(|it| it.as_bytes() == value.as_bytes())
    };
    request.uri().path() == "/" && is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document")
}

/// Compares tokens in a time that does not reveal where they differ.
fn is_same(given: &str, token: &str) -> bool {
    Sha256::digest(given.as_bytes()) == Sha256::digest(token.as_bytes())
}

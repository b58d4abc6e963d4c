//! Requests and their connections.

use std::io::Read as _;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use forage_base::{Stop, Stopped};
use forage_http::ureq::http::{Method, Request, Response};
use forage_http::ureq::{self, Body};
use forage_http::{ConnectHalt, ConnectStage, Line, LineSettings};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::limits;
use crate::qdrant::error::{Refusal, ServerName};
use crate::qdrant::settings::ServerSettings;
use crate::store::StoreError;

/// A request for a collection.
pub(crate) struct CollectionRequest<'a> {
    pub(crate) method: Method,
    /// The part of the URL after the collection, for example `/points/query`.
    pub(crate) path: &'a str,
    /// The body as JSON. Empty for a request without a body.
    pub(crate) body: Vec<u8>,
    /// Maximum size of the answer in bytes.
    pub(crate) max_bytes: u64,
}

/// A pool of connections to a server. Each call uses one of them.
pub(crate) struct Calls {
    pub(crate) server: ServerName,
    request_timeout: Duration,
    /// The URL of the collection.
    base: String,
    /// Set by the first call, so that creating the pool does not read certificates from disk.
    settings: OnceLock<LineSettings>,
    idle: Mutex<Vec<Line>>,
}

/// The envelope of every answer.
#[derive(Deserialize)]
struct Envelope<Answer> {
    result: Answer,
}

impl Calls {
    /// Creates the pool without connecting.
    pub(crate) fn new(settings: &ServerSettings) -> Result<Self, StoreError> {
        let address = settings.address()?;
        let name = utf8_percent_encode(&settings.collection, NON_ALPHANUMERIC);
        let base = format!("{}/collections/{name}", address.url);
        let shown = crate::qdrant::shown::clean(&settings.collection, None);
        let server = ServerName {
            place: format!("collection `{shown}` at {address}"),
            key: settings.api_key.clone(),
            connect_timeout: settings.connect_timeout,
            address,
        };
        let request_timeout = settings.request_timeout;
        Ok(Self { server, request_timeout, base, settings: OnceLock::new(), idle: Mutex::default() })
    }

    /// Sends a request and waits for the answer, until `stop` ends the call or the request times out. In both
    /// cases we close the connection, so that the server ends the request too.
    pub(crate) fn ask<Answer: DeserializeOwned>(
        &self,
        request: &CollectionRequest<'_>,
        stop: &Stop,
    ) -> Result<Answer, StoreError> {
        let body = self.exchange(request, stop)?;
        let envelope: Envelope<Answer> = serde_json::from_slice(&body).map_err(|error| {
            // We show only the position of the error, because the answer may contain payloads.
            let place = format!("line {}, column {}", error.line(), error.column());
            self.server.invalid(&format!(
                "unexpected answer ({place}); check that this is the address of Qdrant's REST API, and the \
                 server's version"
            ))
        })?;
        Ok(envelope.result)
    }

    /// Sends a request and returns the body of a successful answer. If the server has closed an idle
    /// connection, we try once more on a new one.
    fn exchange(&self, request: &CollectionRequest<'_>, stop: &Stop) -> Result<Vec<u8>, StoreError> {
        let begun = Instant::now();
        let stop = stop.within(self.request_timeout);
        let ended = |stopped| match stopped {
            Stopped::Cancelled => StoreError::Cancelled,
            Stopped::Deadline => self.server.timeout(begun.elapsed()),
        };
        if let Some(stopped) = stop.check() {
            return Err(ended(stopped));
        }
        let kept = self.idle().pop();
        let mut is_kept = kept.is_some();
        let mut line = kept.map_or_else(|| self.line(), Ok)?;
        loop {
            let call = line.begin(&stop, None);
            match self.send(&line, request) {
                Ok(answer) => {
                    let mut idle = self.idle();
                    if idle.len() < limits::IDLE_CONNECTIONS {
                        idle.push(line);
                    }
                    return answer;
                }
                Err(error) => match (call.halt(), call.stage()) {
                    (Some(ConnectHalt::Stopped(stopped)), _) => return Err(ended(stopped)),
                    // If the server has closed this connection, we assume that it has closed the others too.
                    (_, ConnectStage::Reused) if is_kept => {
                        self.idle().clear();
                        line = self.line()?;
                        is_kept = false;
                    }
                    (_, stage) => return Err(self.server.broken(stage, &error)),
                },
            }
        }
    }

    /// Sends a request over a connection. The outer error is an error of the connection. The inner error is
    /// about the server's answer; after it, the connection can be reused.
    fn send(
        &self,
        line: &Line,
        request: &CollectionRequest<'_>,
    ) -> Result<Result<Vec<u8>, StoreError>, ureq::Error> {
        let CollectionRequest { method, path, body, max_bytes } = request;
        let mut head = Request::builder().method(method).uri(format!("{}{path}", self.base));
        if let Some(key) = &self.server.key {
            head = head.header("api-key", key.expose());
        }
        let response = if body.is_empty() {
            line.run(head.body(())?)?
        } else {
            line.run(head.header("content-type", "application/json").body(&body[..])?)?
        };
        let (status, headers) = (response.status().as_u16(), response.headers());
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let retry_after = header("retry-after").and_then(|seconds| seconds.trim().parse().ok());
        if (200..300).contains(&status) {
            return Ok(read(response, *max_bytes)?.ok_or_else(|| {
                let max = max_bytes >> 10;
                self.server.invalid(&format!("the answer is larger than {max} KiB; ask for less at once"))
            }));
        }
        let body = read(response, limits::REFUSAL_BYTES)?.unwrap_or_default();
        let refusal = Refusal::new(status, &body, retry_after.map(Duration::from_secs));
        Ok(Err(self.server.refused(&refusal)))
    }

    fn line(&self) -> Result<Line, StoreError> {
        if let Some(settings) = self.settings.get() {
            return Ok(Line::new(settings.clone()));
        }
        let mut settings = LineSettings {
            connect_timeout: self.server.connect_timeout,
            keep_alive: true,
            ..LineSettings::default()
        };
        if self.server.address.is_tls {
            let read = settings.with_system_roots();
            settings = read.map_err(|error| self.server.without_roots(&error))?;
        }
        Ok(Line::new(self.settings.get_or_init(|| settings).clone()))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Line>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the body of a response. Returns `None` if the body is too long.
fn read(mut response: Response<Body>, max: u64) -> Result<Option<Vec<u8>>, ureq::Error> {
    let mut body = Vec::new();
    if response.body().content_length().is_some_and(|length| length > max) {
        return Ok(None);
    }
    let count = response.body_mut().as_reader().take(max + 1).read_to_end(&mut body)?;
    Ok((count as u64 <= max).then_some(body))
}

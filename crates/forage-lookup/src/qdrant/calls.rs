//! Requests, and the connections that they go over.

// fuzz: forage-lookup/src/qdrant/wire.rs fuzz_any_answer_is_hits_with_ids_and_payloads_or_an_error

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
pub(crate) struct Asked<'a> {
    pub(crate) method: Method,
    /// The part of the address after the collection's, such as `/points/query`.
    pub(crate) path: &'a str,
    /// JSON, or nothing.
    pub(crate) body: Vec<u8>,
}

impl<'a> Asked<'a> {
    pub(crate) fn bare(method: Method, path: &'a str) -> Self {
        Self { method, path, body: Vec::new() }
    }
}

/// The connections to a server, which calls share: each takes one for itself.
pub(crate) struct Calls {
    pub(crate) server: ServerName,
    request_timeout: Duration,
    /// The address of the collection.
    base: String,
    /// Made when the first call is: certificates are read from the disk.
    settings: OnceLock<LineSettings>,
    idle: Mutex<Vec<Line>>,
}

/// The frame of every answer.
#[derive(Deserialize)]
struct Answered<Answer> {
    result: Answer,
}

impl Calls {
    /// Connects to nothing.
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

    /// Asks, and waits for the answer, for the end of `stop` or for that of the time for a request. What is given up is
    /// taken back from the server: its connection is closed.
    pub(crate) fn ask<Answer: DeserializeOwned>(
        &self,
        asked: &Asked<'_>,
        stop: &Stop,
    ) -> Result<Answer, StoreError> {
        let body = self.exchange(asked, stop)?;
        let answered: Answered<Answer> = serde_json::from_slice(&body).map_err(|error| {
            // Where it stands, and no text of the answer.
            let place = format!("line {}, column {}", error.line(), error.column());
            self.server.invalid(&format!(
                "the answer is not what Qdrant says to this request ({place}); check that the address is that of its REST \
                 interface, and its version"
            ))
        })?;
        Ok(answered.result)
    }

    /// Sends a request; the body of a success.
    fn exchange(&self, asked: &Asked<'_>, stop: &Stop) -> Result<Vec<u8>, StoreError> {
        let begun = Instant::now();
        let stop = stop.within(self.request_timeout);
        let ended = |stopped| match stopped {
            Stopped::Cancelled => StoreError::Cancelled,
            Stopped::Deadline => self.server.timeout(begun.elapsed()),
        };
        if let Some(stopped) = stop.check() {
            return Err(ended(stopped));
        }
        let mut line = match self.idle().pop() {
            Some(line) => line,
            None => self.line()?,
        };
        loop {
            let call = line.begin(&stop, None);
            match self.over(&line, asked) {
                Ok(answer) => {
                    let mut idle = self.idle();
                    if idle.len() < limits::KEPT_CONNECTIONS {
                        idle.push(line);
                    }
                    return answer;
                }
                Err(error) => match (call.halt(), call.stage()) {
                    (Some(ConnectHalt::Stopped(stopped)), _) => return Err(ended(stopped)),
                    // The server has closed it, and the others as well.
                    (_, ConnectStage::Reused) => {
                        self.idle().clear();
                        line = self.line()?;
                    }
                    (_, stage) => return Err(self.server.broken(stage, &error)),
                },
            }
        }
    }

    /// The error of the outside is the connection's, that of the inside the server's: after that the connection can be
    /// used again.
    fn over(&self, line: &Line, asked: &Asked<'_>) -> Result<Result<Vec<u8>, StoreError>, ureq::Error> {
        let mut request =
            Request::builder().method(&asked.method).uri(format!("{}{}", self.base, asked.path));
        if let Some(key) = &self.server.key {
            request = request.header("api-key", key.expose());
        }
        let response = if asked.body.is_empty() {
            line.run(request.body(())?)?
        } else {
            line.run(request.header("content-type", "application/json").body(&asked.body[..])?)?
        };
        let (status, headers) = (response.status().as_u16(), response.headers());
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let retry_after = header("retry-after").and_then(|seconds| seconds.trim().parse().ok());
        if (200..300).contains(&status) {
            return Ok(read(response, limits::RESPONSE_BYTES)?.ok_or_else(|| {
                let most = limits::RESPONSE_BYTES >> 20;
                self.server.invalid(&format!("the answer is larger than {most} MiB; ask for less at once"))
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

/// The body of a response; `None` for one of more bytes.
fn read(mut response: Response<Body>, most: u64) -> Result<Option<Vec<u8>>, ureq::Error> {
    let mut body = Vec::new();
    if response.body().content_length().is_some_and(|length| length > most) {
        return Ok(None);
    }
    let count = response.body_mut().as_reader().take(most + 1).read_to_end(&mut body)?;
    Ok((count as u64 <= most).then_some(body))
}

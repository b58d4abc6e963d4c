//! Converts errors of the server to errors of the store interface. The statuses are those of Qdrant 1.18 to
//! 1.20.

use std::io;
use std::time::Duration;

use forage_base::ApiKey;
use forage_http::{ConnectStage, ureq};
use serde_json::Value;

use crate::limits;
use crate::qdrant::settings::Address;
use crate::qdrant::shown::clean;
use crate::store::StoreError;

/// The server that a message refers to.
pub(crate) struct ServerName {
    pub(crate) address: Address,
    /// For example "collection `code` at http://…".
    pub(crate) place: String,
    pub(crate) key: Option<ApiKey>,
    pub(crate) connect_timeout: Duration,
}

/// An answer that is not a success.
pub(crate) struct Refusal {
    status: u16,
    text: String,
    /// True if the text comes from Qdrant itself, as opposed to its authentication layer or another program.
    is_said: bool,
    retry_after: Option<Duration>,
}

impl Refusal {
    pub(crate) fn new(status: u16, body: &[u8], retry_after: Option<Duration>) -> Self {
        let said = serde_json::from_slice(body).ok();
        let said = said.and_then(|answer: Value| answer["status"]["error"].as_str().map(str::to_owned));
        let is_said = said.is_some();
        let text = said.unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned());
        Self { status, text, is_said, retry_after }
    }
}

impl ServerName {
    /// Creates the error for an invalid request or answer.
    pub(crate) fn invalid(&self, what: &str) -> StoreError {
        StoreError::Invalid(format!("{}: {what}", self.place))
    }

    /// Creates the error for a request without an answer after `waited`.
    pub(crate) fn timeout(&self, waited: Duration) -> StoreError {
        let seconds = waited.as_secs_f64();
        StoreError::Timeout(format!(
            "{}: no answer within {seconds:.1} s; allow more time, or check the server's load",
            self.place
        ))
    }

    /// Converts an error answer of the server.
    pub(crate) fn refused(&self, refusal: &Refusal) -> StoreError {
        let place = &self.place;
        let text = match &*self.clean(&refusal.text) {
            "" => format!("HTTP {}", refusal.status),
            text => text.to_owned(),
        };
        let unavailable = |what: &str| StoreError::Unavailable(format!("{place}: {what}: {text}"));
        let unauthorized = |what: &str| StoreError::Unauthorized(format!("{place}: {what}: {text}"));
        let exists = || StoreError::Exists(format!("{place} already exists: {text}"));
        match refusal.status {
            300..400 => {
                let what = "the server redirects, and redirects are not followed; use the target address";
                self.invalid(&format!("{what} ({text})"))
            }
            // This comes from the authentication layer. Older servers also use 403.
            401 | 403 if !refusal.is_said && self.key.is_none() => {
                unauthorized("the server requires an API key, and none is set")
            }
            401 => unauthorized("the server rejected the API key; check that it belongs to this server"),
            403 if !refusal.is_said => {
                unauthorized("the server rejected the API key; check that it belongs to this server")
            }
            403 => {
                unauthorized("the API key does not allow this; use one that may read or write the collection")
            }
            404 | 405 if !refusal.is_said => self.invalid(&format!(
                "the server does not know this request; check that this is the address of Qdrant's REST API, \
                 and the server's version: {text}"
            )),
            404 => StoreError::NoCollection(format!("{place} does not exist: {text}")),
            408 | 504 => StoreError::Timeout(format!("{place}: the server timed out: {text}")),
            409 => exists(),
            // Servers answer this for shard keys, and old servers also for collections.
            400 if refusal.text.contains("already exists") => exists(),
            400 if refusal.text.contains("Not existing vector name") => {
                self.invalid(&format!("it has no sparse vector of that name: {text}"))
            }
            429 => StoreError::RateLimited {
                message: format!("{place}: too many requests: {text}"),
                retry_after: refusal.retry_after,
            },
            400..500 => self.invalid(&text),
            507 => unavailable("the server is out of disk or memory"),
            _ => unavailable("the server failed"),
        }
    }

    /// Creates the error for a system without root certificates.
    pub(crate) fn without_roots(&self, error: &io::Error) -> StoreError {
        StoreError::Unavailable(format!(
            "can't reach Qdrant at {}: no root certificates can be read ({error}); install the system's, or \
             name a file of them in `SSL_CERT_FILE`",
            self.address
        ))
    }

    /// Creates the error for a connection that could not be established, or broke before the answer was
    /// complete.
    pub(crate) fn broken(&self, stage: ConnectStage, error: &ureq::Error) -> StoreError {
        let text = self.clean(&error.to_string());
        let kind = if let ureq::Error::Io(error) = error { Some(error.kind()) } else { None };
        let (reason, advice) = match (stage, kind) {
            // The request failed before a connection was attempted, so its URL or its key is invalid.
            (ConnectStage::Reused, _) => {
                let advice = "check the name of the collection and the API key";
                return self.invalid(&format!("the request can't be sent ({text}); {advice}"));
            }
            (ConnectStage::Connected, _) if self.address.port == limits::GRPC_PORT => {
                return self.invalid(&format!(
                    "{} is Qdrant's gRPC port, which does not answer over HTTP; use the port of its REST \
                     API, {}",
                    limits::GRPC_PORT,
                    limits::REST_PORT
                ));
            }
            (ConnectStage::Connected, _) => {
                return StoreError::Unavailable(format!(
                    "{}: the connection broke; check that the server is running and that the port is that of \
                     its REST API: {text}",
                    self.place
                ));
            }
            (ConnectStage::Resolving, _) => {
                ("the host name can't be resolved".to_owned(), "check the address and the network")
            }
            (ConnectStage::Connecting, Some(io::ErrorKind::ConnectionRefused)) => (
                "nothing is listening there".to_owned(),
                "check that Qdrant is running and that the port is that of its REST API",
            ),
            (ConnectStage::Connecting, Some(io::ErrorKind::TimedOut)) => {
                let seconds = self.connect_timeout.as_secs_f64();
                (
                    format!("no connection within {seconds:.1} s"),
                    "check the address, the network and firewalls",
                )
            }
            (ConnectStage::Connecting, _) => (text, "check the address, and that Qdrant is running there"),
            (ConnectStage::Securing, _) if text.contains("certificate") => (
                format!("its certificate is not trusted ({text})"),
                "add its certificate authority to the system's, or name a file of authorities in \
                 `SSL_CERT_FILE`",
            ),
            (ConnectStage::Securing, _) => (
                format!("it does not speak TLS as expected ({text})"),
                "check the port, and whether the server uses TLS",
            ),
        };
        StoreError::Unavailable(format!("can't reach Qdrant at {}: {reason}; {advice}", self.address))
    }

    fn clean(&self, text: &str) -> String {
        clean(text, self.key.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdrant::settings::ServerSettings;

    const KEY: &str = "key-0f9e8d7c";

    #[test]
    fn fuzz_any_refusal_is_an_error_without_the_key() {
        let key = ApiKey::new(KEY).ok();
        let settings =
            ServerSettings { api_key: key.clone(), ..ServerSettings::new("http://localhost", "code") };
        let name = ServerName {
            address: settings.address().unwrap(),
            place: "collection `code`".to_owned(),
            key,
            connect_timeout: Duration::from_secs(1),
        };
        let said = format!(r#"{{"status":{{"error":"{KEY} already exists"}},"time":0.1}}"#);
        forage_fuzz::target!(&forage_fuzz::seeds([said.as_str(), KEY, "<html>", "{}"]), |input| {
            for status in [302, 400, 401, 403, 404, 405, 408, 409, 422, 429, 500, 503, 507] {
                let text = name.refused(&Refusal::new(status, input, None)).to_string();
                assert!(!text.contains(KEY) && !text.contains(char::is_control), "{text:?}");
            }
        });
    }
}

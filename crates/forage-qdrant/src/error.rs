//! What went wrong, in the terms of the interface. Statuses are those of Qdrant 1.18 to 1.20 and of tonic.

use std::error::Error as _;
use std::time::Duration;

use forage_base::ApiKey;
use forage_lookup::StoreError;
use qdrant_client::QdrantError;
use tonic::{Code, Status};

use crate::settings::Address;
use crate::shown::clean;

/// How the client begins what it says when there is no connection: the one thing that tells it from what a server says.
const NO_CONNECTION: &str = "Failed to connect to ";

/// Qdrant's mark at "resource exhausted" that tells a full disk from too many requests.
const NO_STORAGE: &str = "qdrant-insufficient-storage";

/// Whom a message speaks of.
pub(crate) struct ServerName {
    pub(crate) address: Address,
    /// "collection `code` at http://…".
    pub(crate) place: String,
    pub(crate) key: Option<ApiKey>,
    pub(crate) connect_timeout: Duration,
}

impl ServerName {
    /// An error of the client, which may be the server's or the network's.
    pub(crate) fn error(&self, error: QdrantError) -> StoreError {
        match error {
            QdrantError::ResourceExhaustedError { status, retry_after_seconds } => {
                self.exhausted(&status, Some(Duration::from_secs(retry_after_seconds)))
            }
            QdrantError::ResponseError { status } => self.status(&status),
            other => self.invalid(&self.clean(&other.to_string())),
        }
    }

    /// The request or the answer makes no sense.
    pub(crate) fn invalid(&self, what: &str) -> StoreError {
        StoreError::Invalid(format!("{}: {what}", self.place))
    }

    /// There was no answer after `waited`.
    pub(crate) fn timeout(&self, waited: Duration) -> StoreError {
        let seconds = waited.as_secs_f64();
        StoreError::Timeout(format!(
            "{}: no answer within {seconds:.1} s; allow more time, or look at the server's load",
            self.place
        ))
    }

    fn status(&self, status: &Status) -> StoreError {
        let place = &self.place;
        let text = self.clean(status.message());
        match status.code() {
            Code::ResourceExhausted => self.exhausted(status, None),
            Code::Unauthenticated if self.key.is_none() => StoreError::Unauthorized(format!(
                "{place}: the server asks for an API key and none is set: {text}"
            )),
            Code::Unauthenticated => StoreError::Unauthorized(format!(
                "{place}: the server does not accept the API key; check that it is this server's: {text}"
            )),
            Code::PermissionDenied => StoreError::Unauthorized(format!(
                "{place}: the API key does not allow this; use one that may read or write the collection: {text}"
            )),
            Code::NotFound => StoreError::NoCollection(format!("{place}: there is none: {text}")),
            Code::AlreadyExists => StoreError::Exists(format!("{place}: it is there already: {text}")),
            // Shard keys, and collections on servers of old.
            Code::InvalidArgument if status.message().contains("already exists") => {
                StoreError::Exists(format!("{place}: it is there already: {text}"))
            }
            Code::InvalidArgument if status.message().contains("Not existing vector name") => {
                self.invalid(&format!("it has no sparse vector of that name: {text}"))
            }
            Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => self.invalid(&text),
            Code::Unimplemented => self.invalid(&format!(
                "the server does not know this request; check that the port is Qdrant's for gRPC and the server's \
                 version: {text}"
            )),
            Code::DeadlineExceeded => {
                StoreError::Timeout(format!("{place}: the server gave up for lack of time: {text}"))
            }
            Code::Internal if status.message().starts_with(NO_CONNECTION) => {
                self.unreachable(status.message())
            }
            _ if status.source().is_some() => StoreError::Unavailable(format!(
                "{place}: the connection broke; check that the server runs and that the port is its port for gRPC: \
                 {text}"
            )),
            _ => StoreError::Unavailable(format!("{place}: the server failed: {text}")),
        }
    }

    fn exhausted(&self, status: &Status, retry_after: Option<Duration>) -> StoreError {
        let text = self.clean(status.message());
        if status.metadata().contains_key(NO_STORAGE) {
            return StoreError::Unavailable(format!(
                "{}: the server is out of disk or memory: {text}",
                self.place
            ));
        }
        StoreError::RateLimited { message: format!("{}: too many requests: {text}", self.place), retry_after }
    }

    /// `text` is the client's, with the error of the system in Rust's notation.
    fn unreachable(&self, text: &str) -> StoreError {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let (reason, advice) = if has(&["ConnectionRefused"]) {
            (
                "nothing listens there".to_owned(),
                "check that Qdrant runs and that the port is its port for gRPC",
            )
        } else if has(&["dns error"]) {
            ("the name can't be resolved".to_owned(), "check the address and the network")
        } else if has(&["InvalidCertificate", "UnknownIssuer"]) {
            let reason = format!("its certificate is not trusted ({})", self.tail(text));
            (reason, "add its authority to the system's, or name a file of authorities in `SSL_CERT_FILE`")
        } else if self.address.is_tls
            && has(&["InvalidMessage", "InvalidContentType", "Corrupt", "Alert", "HandshakeFailure", "tls"])
        {
            ("it does not speak TLS as expected".to_owned(), "check the port, and whether the server has TLS")
        } else if has(&["TimedOut", "Elapsed", "timed out"]) {
            let seconds = self.connect_timeout.as_secs_f64();
            (format!("no connection within {seconds:.1} s"), "check the address, the network and firewalls")
        } else {
            (self.tail(text), "check the address, and that Qdrant runs there")
        };
        StoreError::Unavailable(format!("can't reach Qdrant at {}: {reason}; {advice}", self.address))
    }

    /// The end of what the client says, where the cause stands.
    fn tail(&self, text: &str) -> String {
        let text = text.strip_prefix(NO_CONNECTION).unwrap_or(text);
        self.clean(text.split_once(": ").map_or(text, |(_, cause)| cause))
    }

    fn clean(&self, text: &str) -> String {
        clean(text, self.key.as_ref())
    }
}

//! HTTP requests to a model server and their responses, from the network or a recording.

use std::ops::ControlFlow;
use std::time::Duration;

use forage_base::ApiKey;
use forage_http::ureq::http::HeaderValue;
use serde_json::Value;

use crate::error::ChatError;
use crate::limits::MAX_PAUSE;

/// A request to send.
pub(crate) struct HttpCall<'a> {
    /// `provider/model`, for error messages.
    pub(crate) name: &'a str,
    /// The name of the wire protocol.
    pub(crate) wire: &'static str,
    /// The model id. Empty for a list of models.
    pub(crate) model: &'a str,
    /// The key, which must be removed from recordings.
    pub(crate) key: Option<&'a ApiKey>,
    /// The address without a trailing slash.
    pub(crate) base_url: &'a str,
    /// The path after the address, including the query.
    pub(crate) path: &'a str,
    /// Headers other than content type and length.
    pub(crate) headers: Vec<(&'static str, HeaderValue)>,
    /// The document to post; `None` for a `GET` request.
    pub(crate) body: Option<&'a Value>,
    /// Maximum size of a successful body, in bytes.
    pub(crate) limit: usize,
}

impl HttpCall<'_> {
    pub(crate) fn cannot(&self, why: String) -> ChatError {
        ChatError::Recording { model: self.name.to_owned(), why }
    }

    pub(crate) fn too_large(&self) -> ChatError {
        ChatError::AnswerTooLarge { model: self.name.to_owned(), limit: self.limit }
    }
}

/// A response of any status.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// 0 until a response has arrived.
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    /// The body of a success, unless it was passed on in pieces. For a 4xx, this is the part of the body that
    /// we could read, up to [`MAX_ERROR_BODY_BYTES`](crate::limits::MAX_ERROR_BODY_BYTES). Otherwise empty.
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}

/// A callback that receives the body of a success as it arrives. It should break when it needs no more.
pub(crate) type BodyPieces<'a> = &'a mut dyn FnMut(&[u8]) -> Result<ControlFlow<()>, ChatError>;

/// Converts the pause in seconds that a server requests. Returns `None` for an invalid number. We cut a pause
/// that is longer than any deadline.
pub(crate) fn pause(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().map(|pause| pause.min(MAX_PAUSE))
}

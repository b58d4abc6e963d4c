//! A request to a model server and its response, wherever that comes from.

use std::ops::ControlFlow;
use std::time::Duration;

use forage_base::ApiKey;
use forage_http::ureq::http::HeaderValue;
use serde_json::Value;

use crate::error::ChatError;
use crate::limits::MAX_PAUSE;

/// A request to send.
pub(crate) struct HttpCall<'a> {
    /// `provider/model`, for errors.
    pub(crate) name: &'a str,
    /// The name of the wire protocol.
    pub(crate) wire: &'static str,
    /// The model id; empty for a list of models.
    pub(crate) model: &'a str,
    /// The key, so that a recording can be kept free of it.
    pub(crate) key: Option<&'a ApiKey>,
    /// The address without a trailing slash.
    pub(crate) base_url: &'a str,
    /// What comes behind it, query included.
    pub(crate) path: &'a str,
    /// Headers beside content type and length.
    pub(crate) headers: Vec<(&'static str, HeaderValue)>,
    /// The document to post; none for a `GET`.
    pub(crate) body: Option<&'a Value>,
    /// Most bytes of a successful body that are read.
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

/// A response, whatever its status.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// 0 as long as there is none.
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    /// The body of a success, unless it was passed on in pieces; of a 4xx at most [`MAX_ERROR_BODY_BYTES`](crate::limits::MAX_ERROR_BODY_BYTES), as far as
    /// it could be read; else empty.
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}

/// Takes the body of a success as it arrives, and says when it has enough.
pub(crate) type BodyPieces<'a> = &'a mut dyn FnMut(&[u8]) -> Result<ControlFlow<()>, ChatError>;

/// A pause in seconds, as a server asks for it; none for what is no time. A longer one than any deadline is cut to that.
pub(crate) fn pause(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().map(|pause| pause.min(MAX_PAUSE))
}

//! The interface of a wire protocol, and shared parts that protocols are built from.

use forage_http::ureq::http::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::listed::ListedModel;
use crate::chat::{ChatRequest, ToolCall, Usage};
use crate::endpoint::Endpoint;
use crate::error::ChatError;
use crate::finish::Finish;

/// The parts that differ between wire protocols.
pub(super) trait Protocol: Sync {
    /// Returns the path after the base address. A base address that ends with the path's first segment
    /// already contains it.
    fn path(&self, model: &str, streamed: bool) -> String;

    /// Returns the name of the header that carries a key, and the prefix of its value.
    fn key_header(&self) -> (&'static str, &'static str);

    /// Returns additional headers.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Returns the request's document.
    fn body(&self, endpoint: &Endpoint, request: &ChatRequest, streamed: bool) -> Value;

    /// Parses a whole answer.
    fn read(&self, answer: Value) -> Result<RawAnswer, Fault>;

    /// Starts parsing an answer in events.
    fn events(&self) -> Box<dyn Events>;

    /// Returns the path of the model list. `cursor` comes from the previous page.
    fn listing_path(&self, cursor: Option<&str>) -> String;

    /// Parses a page: the models, and the cursor of the next page.
    fn read_listing(&self, page: &Value) -> Option<(Vec<ListedModel>, Option<String>)>;
}

/// Assembles a whole answer from its events.
pub(super) trait Events {
    /// Adds an event and appends its part of the answer's text to `text`. An event without a meaning is
    /// ignored.
    fn take(&mut self, event: Value, text: &mut String) -> Result<(), Fault>;

    /// Returns true if the model has sent its finish reason, so that the answer is complete.
    fn is_whole(&self) -> bool;

    /// Returns true if nothing more will arrive.
    fn is_over(&self) -> bool;

    /// Returns the answer in the form in which it would have arrived whole.
    fn whole(self: Box<Self>) -> Value;
}

/// A parsed answer, before the processing that all wire protocols share.
#[derive(Debug, PartialEq)]
pub(super) struct RawAnswer {
    /// The text, which may contain reasoning between marks.
    pub(super) text: String,
    /// The calls, after `unique_ids` of `answer`.
    pub(super) calls: Vec<ToolCall>,
    pub(super) finish: Finish,
    pub(super) usage: Option<Usage>,
    /// Data that the provider wants back.
    pub(super) state: Option<Value>,
}

/// The reason why an answer cannot be used.
#[derive(Debug)]
pub(super) enum Fault {
    /// The answer does not follow the protocol.
    Bad(&'static str),
    /// An error of the server, in a document with an `error`.
    Error(Value),
    /// The answer exceeded a limit, in bytes.
    TooLarge(usize),
}

/// Builds the headers of a request to the endpoint.
pub(super) fn headers(
    protocol: &dyn Protocol,
    endpoint: &Endpoint,
) -> Result<Vec<(&'static str, HeaderValue)>, ChatError> {
    let mut headers: Vec<_> =
        protocol.headers().iter().map(|(name, value)| (*name, HeaderValue::from_static(value))).collect();
    if let Some(key) = endpoint.key() {
        let (name, prefix) = protocol.key_header();
        // This cannot fail because a key is printable ASCII, but an error is still better than a panic.
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", key.expose()))
            .map_err(|_| ChatError::Unauthorized { model: endpoint.name(), status: 401 })?;
        value.set_sensitive(true);
        headers.push((name, value));
    }
    Ok(headers)
}

/// Returns the base address, without the path's first segment if the user has included it.
pub(super) fn base<'a>(endpoint: &'a Endpoint, path: &str) -> &'a str {
    let url = endpoint.base_url();
    let segment = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    // Only versions are written twice; `…/chat` + `/chat/completions` could be intended.
    match segment.starts_with('v') {
        true => url.strip_suffix(segment).and_then(|url| url.strip_suffix('/')).unwrap_or(url),
        false => url,
    }
}

/// All characters except those that RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes text as one path segment or one query value. Only characters that RFC 3986 calls unreserved are
/// kept.
pub(super) fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

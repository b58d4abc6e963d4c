//! The interface of a wire protocol, and parts that protocols share.

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
    /// The path after the base address. If the base address ends with the path's first segment, that segment
    /// is not repeated.
    fn path(&self, model: &str, streamed: bool) -> String;

    /// The name of the header that contains the key, and the prefix of its value.
    fn key_header(&self) -> (&'static str, &'static str);

    /// Additional headers.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Builds the document of a request.
    fn body(&self, endpoint: &Endpoint, request: &ChatRequest, streamed: bool) -> Value;

    /// Parses a whole answer.
    fn read(&self, answer: Value) -> Result<RawAnswer, Fault>;

    /// Starts parsing an answer that arrives in events.
    fn events(&self) -> Box<dyn Events>;

    /// The path of the model list. `cursor` comes from the previous page.
    fn listing_path(&self, cursor: Option<&str>) -> String;

    /// Parses a page of the model list: the models, and the cursor of the next page.
    fn read_listing(&self, page: &Value) -> Option<(Vec<ListedModel>, Option<String>)>;
}

/// Assembles a whole answer from its events.
pub(super) trait Events {
    /// Adds an event, and appends its part of the answer's text to `text`. Events without a meaning must be
    /// ignored.
    fn take(&mut self, event: Value, text: &mut String) -> Result<(), Fault>;

    /// Returns true if the model has sent its finish reason, so that the answer is complete.
    fn is_whole(&self) -> bool;

    /// Returns true if nothing more will arrive.
    fn is_over(&self) -> bool;

    /// Returns the answer as if it had arrived whole.
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

/// Why an answer can't be used.
#[derive(Debug)]
pub(super) enum Fault {
    /// The answer does not follow the protocol.
    Bad(&'static str),
    /// An error of the server, as a document with an `error` field.
    Error(Value),
    /// The answer is larger than this limit, in bytes.
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
        // This can't fail, because a key is printable ASCII. Still, an error is better than a panic.
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", key.expose()))
            .map_err(|_| ChatError::Unauthorized { model: endpoint.name(), status: 401 })?;
        value.set_sensitive(true);
        headers.push((name, value));
    }
    Ok(headers)
}

/// Returns the base address, without the path's first segment if the user has included that.
pub(super) fn base<'a>(endpoint: &'a Endpoint, path: &str) -> &'a str {
    let url = endpoint.base_url();
    let segment = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    // Users repeat only versions. With `…/chat` and `/chat/completions`, the repetition may be intended.
    match segment.starts_with('v') {
        true => url.strip_suffix(segment).and_then(|url| url.strip_suffix('/')).unwrap_or(url),
        false => url,
    }
}

/// All characters except for those that RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes text as one path segment or one query value. This keeps only the characters that RFC 3986 calls
/// unreserved.
pub(super) fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

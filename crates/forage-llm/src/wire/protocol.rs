//! What differs from wire to wire, and the pieces that protocols are put together from.

use forage_http::ureq::http::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::listed::ListedModel;
use crate::chat::{ChatRequest, ToolCall, Usage};
use crate::endpoint::Endpoint;
use crate::error::ChatError;
use crate::finish::Finish;

/// What differs from wire to wire.
pub(super) trait Protocol: Sync {
    /// The path behind the base address. A base address that ends with the path's first segment already holds it.
    fn path(&self, model: &str, streamed: bool) -> String;

    /// The header that carries a key, and the text in front of the key.
    fn key_header(&self) -> (&'static str, &'static str);

    /// Further headers.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The request's document.
    fn body(&self, endpoint: &Endpoint, request: &ChatRequest, streamed: bool) -> Value;

    /// Reads a whole answer.
    fn read(&self, answer: Value) -> Result<RawAnswer, Fault>;

    /// Begins to read an answer in events.
    fn events(&self) -> Box<dyn Events>;

    /// The path of the list of models; `cursor` is what the page before said.
    fn listing_path(&self, cursor: Option<&str>) -> String;

    /// The models of a page, and the cursor of the next one.
    fn read_listing(&self, page: &Value) -> Option<(Vec<ListedModel>, Option<String>)>;
}

/// Puts a whole answer together from its events.
pub(super) trait Events {
    /// Takes an event and appends the answer's text in it to `text`. An event that has no meaning is passed over.
    fn take(&mut self, event: Value, text: &mut String) -> Result<(), Fault>;

    /// Whether the model has said why it stopped, so that all of the answer is there.
    fn is_whole(&self) -> bool;

    /// Whether nothing more will come.
    fn is_over(&self) -> bool;

    /// The answer as it would have come whole.
    fn whole(self: Box<Self>) -> Value;
}

/// What an answer says, before what all wires share is done to it.
#[derive(Debug, PartialEq)]
pub(super) struct RawAnswer {
    /// The text, perhaps with reasoning in marks.
    pub(super) text: String,
    /// The calls, with `unique_ids` of `answer`.
    pub(super) calls: Vec<ToolCall>,
    pub(super) finish: Finish,
    pub(super) usage: Option<Usage>,
    /// What the provider wants back.
    pub(super) state: Option<Value>,
}

/// Why an answer can't be used.
#[derive(Debug)]
pub(super) enum Fault {
    /// It is not what the protocol says.
    Bad(&'static str),
    /// It is an error of the server's, in a document with an `error`.
    Error(Value),
    /// It passed a limit, in bytes.
    TooLarge(usize),
}

/// The headers of a request to the endpoint.
pub(super) fn headers(
    protocol: &dyn Protocol,
    endpoint: &Endpoint,
) -> Result<Vec<(&'static str, HeaderValue)>, ChatError> {
    let mut headers: Vec<_> =
        protocol.headers().iter().map(|(name, value)| (*name, HeaderValue::from_static(value))).collect();
    if let Some(key) = endpoint.key() {
        let (name, prefix) = protocol.key_header();
        // Cannot fail: a key is printable ASCII. An error is still better than a panic.
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", key.expose()))
            .map_err(|_| ChatError::Unauthorized { model: endpoint.name(), status: 401 })?;
        value.set_sensitive(true);
        headers.push((name, value));
    }
    Ok(headers)
}

/// The base address, without the path's first segment where the user has written that too.
pub(super) fn base<'a>(endpoint: &'a Endpoint, path: &str) -> &'a str {
    let url = endpoint.base_url();
    let segment = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    // Only versions are written twice; `…/chat` + `/chat/completions` could be meant.
    match segment.starts_with('v') {
        true => url.strip_suffix(segment).and_then(|url| url.strip_suffix('/')).unwrap_or(url),
        false => url,
    }
}

/// All but what RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Text as one segment of a path or one value of a query: only what RFC 3986 calls unreserved stays.
pub(super) fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

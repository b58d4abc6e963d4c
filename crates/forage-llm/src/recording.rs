//! Records exchanges with model servers, and replays them without a network.
//!
//! This layer is below the wire protocols. It stores the body of the request, and the response as it arrived.
//! A replay is therefore parsed in the same way as a response from the network. `docs/recordings.md`
//! describes the format, which has one JSON document per line. We do not store the headers of requests, and
//! we mask a key that occurs in a body.

use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use forage_base::ApiKey;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::error::ChatError;
use crate::exchange::{BodyPieces, HttpCall, Reply};
use crate::limits::QUOTED_KEY_CHARS;
use crate::wire_name::Wire;

/// The version of the format, stored in every line.
const FORMAT: u64 = 1;

/// Where answers come from: the network, with or without recording, or a recording.
#[derive(Debug, Clone, Default)]
pub enum ExchangeMode {
    /// The network.
    #[default]
    Live,
    /// The network. The sink also receives every exchange.
    Record(Arc<dyn ExchangeSink>),
    /// A recording only, never the network.
    Replay(Arc<Recordings>),
}

/// Receives exchanges as they happen, on any thread.
pub trait ExchangeSink: fmt::Debug + Send + Sync {
    /// Stores the exchange; see [`RecordedExchange::to_line`].
    ///
    /// # Errors
    ///
    /// Returns the reason if the exchange can't be stored. The call then fails too, because a gap in the
    /// recording would cause a failure later, in another place.
    fn take(&self, exchange: &RecordedExchange) -> Result<(), String>;
}

/// A request and its response or failure.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedExchange {
    /// The provider of the model. It is not part of the lookup key.
    provider: String,
    request: RequestKey,
    status: u16,
    retry_after: Option<Duration>,
    body: Vec<u8>,
    failure: Option<RecordedFailure>,
}

/// The lookup key of an exchange.
#[derive(Debug, Clone, PartialEq)]
struct RequestKey {
    wire: String,
    model: String,
    path: String,
    body: Value,
}

/// How a transfer failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordedFailure {
    Unreachable,
    ConnectionLost,
    Deadline,
    Stalled(Duration),
    TooLarge,
    NotHttp,
}

impl RecordedExchange {
    /// Creates the exchange to store. `streamed` is the body of an answer that was passed on in pieces.
    /// Returns `None` if the caller has cancelled the call.
    pub(crate) fn new(
        call: &HttpCall<'_>,
        reply: &Reply,
        streamed: Option<Vec<u8>>,
        error: Option<&ChatError>,
    ) -> Option<Self> {
        let failure = match error {
            Some(ChatError::Cancelled { .. }) => return None,
            Some(ChatError::Unreachable { .. }) => Some(RecordedFailure::Unreachable),
            Some(ChatError::ConnectionLost { .. }) => Some(RecordedFailure::ConnectionLost),
            Some(ChatError::DeadlineExceeded { .. }) => Some(RecordedFailure::Deadline),
            Some(ChatError::Stalled { idle, .. }) => Some(RecordedFailure::Stalled(*idle)),
            Some(ChatError::AnswerTooLarge { .. }) => Some(RecordedFailure::TooLarge),
            Some(ChatError::BadAnswer { .. }) if reply.status == 0 => Some(RecordedFailure::NotHttp),
            // The reader of the stream found the error, and will find it again in a replay.
            _ => None,
        };
        let body = match streamed {
            Some(body) if reply.is_success() => body,
            _ => reply.body.clone(),
        };
        let provider = call.name.split('/').next().unwrap_or_default();
        Some(Self {
            provider: provider.to_owned(),
            request: RequestKey::from_call(call),
            status: reply.status,
            retry_after: reply.retry_after,
            body: masked(body, call.key),
            failure,
        })
    }

    /// Formats the exchange as one line of JSON, without the line end.
    pub fn to_line(&self) -> String {
        let RequestKey { wire, model, path, body } = &self.request;
        let mut line = Map::new();
        line.insert("format".to_owned(), json!(FORMAT));
        line.insert("provider".to_owned(), json!(self.provider));
        line.insert("wire".to_owned(), json!(wire));
        line.insert("model".to_owned(), json!(model));
        line.insert("path".to_owned(), json!(path));
        line.insert("request".to_owned(), body.clone());
        line.insert("digest".to_owned(), json!(self.request.digest()));
        line.insert("status".to_owned(), json!(self.status));
        if let Some(pause) = self.retry_after {
            line.insert("retry_after_ms".to_owned(), milliseconds(pause));
        }
        match std::str::from_utf8(&self.body) {
            Ok(text) => line.insert("body".to_owned(), json!(text)),
            Err(_) => line.insert("body_bytes".to_owned(), json!(self.body)),
        };
        if let Some(failure) = self.failure {
            line.insert("failure".to_owned(), json!(failure.name()));
            if let RecordedFailure::Stalled(idle) = failure {
                line.insert("stalled_ms".to_owned(), milliseconds(idle));
            }
        }
        Value::Object(line).to_string()
    }

    /// Returns the model that we asked, or `None` for a list of models.
    fn model(&self) -> Option<RecordedModel> {
        let RequestKey { wire, model, .. } = &self.request;
        let wire = Wire::from_name(wire).filter(|_| !model.is_empty())?;
        Some(RecordedModel { provider: self.provider.clone(), wire, model: model.clone() })
    }

    fn from_line(line: &str) -> Result<Self, &'static str> {
        let line: Value = serde_json::from_str(line).map_err(|_| "it is not JSON")?;
        if line["format"].as_u64() != Some(FORMAT) {
            return Err("its `format` is not 1, the only one that this version supports");
        }
        let text = |name: &'static str, wrong| line[name].as_str().map(str::to_owned).ok_or(wrong);
        let provider = text("provider", "it has no `provider`")?;
        let request = RequestKey {
            wire: text("wire", "it has no `wire`")?,
            model: text("model", "it has no `model`")?,
            path: text("path", "it has no `path`")?,
            body: line["request"].clone(),
        };
        let byte = |byte: &Value| byte.as_u64().and_then(|byte| u8::try_from(byte).ok());
        let body = match (&line["body"], &line["body_bytes"]) {
            (Value::String(text), _) => text.clone().into_bytes(),
            (_, Value::Array(bytes)) => {
                bytes.iter().map(byte).collect::<Option<_>>().ok_or("its `body_bytes` are not bytes")?
            }
            _ => return Err("it has neither `body` nor `body_bytes`"),
        };
        let status = line["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let pause = |name: &str| line[name].as_u64().map(Duration::from_millis);
        let failure = match &line["failure"] {
            Value::Null => None,
            name => {
                let idle = pause("stalled_ms").unwrap_or_default();
                let named = |failure: &RecordedFailure| name.as_str() == Some(failure.name());
                Some(RecordedFailure::all(idle).into_iter().find(named).ok_or("its `failure` is unknown")?)
            }
        };
        let status = status.ok_or("it has no `status`")?;
        Ok(Self { provider, request, status, retry_after: pause("retry_after_ms"), body, failure })
    }
}

fn milliseconds(duration: Duration) -> Value {
    json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

impl RecordedFailure {
    fn all(idle: Duration) -> [Self; 6] {
        [
            Self::Unreachable,
            Self::ConnectionLost,
            Self::Deadline,
            Self::Stalled(idle),
            Self::TooLarge,
            Self::NotHttp,
        ]
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::ConnectionLost => "connection_lost",
            Self::Deadline => "deadline",
            Self::Stalled(_) => "stalled",
            Self::TooLarge => "too_large",
            Self::NotHttp => "not_http",
        }
    }

    fn error(self, call: &HttpCall<'_>) -> ChatError {
        let model = call.name.to_owned();
        match self {
            Self::Unreachable => ChatError::Unreachable { model, why: "recorded failure".to_owned() },
            Self::ConnectionLost => ChatError::ConnectionLost { model },
            Self::Deadline => ChatError::DeadlineExceeded { model },
            Self::Stalled(idle) => ChatError::Stalled { model, idle },
            Self::TooLarge => call.too_large(),
            Self::NotHttp => {
                ChatError::BadAnswer { model, why: "the server does not speak HTTP/1.1".to_owned() }
            }
        }
    }
}

impl RequestKey {
    fn from_call(call: &HttpCall<'_>) -> Self {
        let body = call.body.map_or(Value::Null, |body| {
            let Some(key) = call.key.filter(|key| is_secret(key)) else { return body.clone() };
            let text = body.to_string();
            // A key is printable ASCII, and JSON escapes its quotes and backslashes. The text can therefore
            // contain only the escaped form.
            let escaped = Value::String(key.expose().to_owned()).to_string();
            let escaped = escaped.trim_matches('"');
            match text.contains(escaped) {
                true => serde_json::from_str(&text.replace(escaped, MASK)).unwrap_or(Value::Null),
                false => body.clone(),
            }
        });
        Self { wire: call.wire.to_owned(), model: call.model.to_owned(), path: call.path.to_owned(), body }
    }

    /// Returns a text that is equal for equal requests, regardless of the order of fields in objects.
    fn key(&self) -> String {
        let Self { wire, model, path, body } = self;
        let mut key = json!([wire, model, path]).to_string();
        canonical(body, &mut key);
        key
    }

    fn digest(&self) -> String {
        format!("{:016x}", fnv1a(self.key().as_bytes()))
    }
}

/// Appends JSON in which the fields of objects are sorted by name.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            for (index, (name, value)) in fields.into_iter().enumerate() {
                text.push(if index == 0 { '{' } else { ',' });
                text.push_str(&json!(name).to_string());
                text.push(':');
                canonical(value, text);
            }
            text.push('}');
        }
        Value::Array(values) => {
            text.push('[');
            for value in values {
                canonical(value, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

/// Computes a 64-bit FNV-1a hash. We use it only to name a request in messages; security must not depend on
/// it.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns true if a key must be masked. Servers on this machine accept words such as `test`, which also
/// occur in ordinary text.
fn is_secret(key: &ApiKey) -> bool {
    key.expose().len() >= QUOTED_KEY_CHARS
}

const MASK: &str = "[key]";

/// Masks the key in a body. Some servers repeat it when they reject it.
fn masked(body: Vec<u8>, key: Option<&ApiKey>) -> Vec<u8> {
    let Some(key) = key.filter(|key| is_secret(key)).map(|key| key.expose().as_bytes()) else { return body };
    let mut clean = Vec::with_capacity(body.len());
    let mut rest = body.as_slice();
    while let Some(at) = rest.windows(key.len()).position(|window| window == key) {
        clean.extend_from_slice(&rest[..at]);
        clean.extend_from_slice(MASK.as_bytes());
        rest = &rest[at + key.len()..];
    }
    clean.extend_from_slice(rest);
    clean
}

/// A recording that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line} of the recording can't be used: {why}; record it again")]
pub struct RecordingError {
    /// The number of the line, counted from 1.
    pub line: usize,
    why: &'static str,
}

/// A model with recorded answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedModel {
    /// The provider, as returned by [`crate::Endpoint::provider`].
    pub provider: String,
    /// The protocol.
    pub wire: Wire,
    /// The model id.
    pub model: String,
}

/// Recorded exchanges that provide the answers. The nth call with a certain request gets the nth recorded
/// response to it. The order of different requests does not matter.
#[derive(Default)]
pub struct Recordings {
    exchanges: HashMap<String, Vec<RecordedExchange>>,
    models: Vec<RecordedModel>,
    used: Mutex<HashMap<String, usize>>,
}

impl fmt::Debug for Recordings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Recordings").field("exchanges", &self.len()).finish_non_exhaustive()
    }
}

impl Recordings {
    /// Parses lines written by [`RecordedExchange::to_line`]. Empty lines are skipped.
    ///
    /// # Errors
    ///
    /// Returns [`RecordingError`] for the first line that is not an exchange.
    pub fn from_lines(text: &str) -> Result<Self, RecordingError> {
        let mut recordings = Self::default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let exchange =
                RecordedExchange::from_line(line).map_err(|why| RecordingError { line: index + 1, why })?;
            if let Some(model) = exchange.model().filter(|model| !recordings.models.contains(model)) {
                recordings.models.push(model);
            }
            recordings.exchanges.entry(exchange.request.key()).or_default().push(exchange);
        }
        Ok(recordings)
    }

    /// The recorded models, in the order of their first exchange.
    pub fn models(&self) -> &[RecordedModel] {
        &self.models
    }

    /// Counts the exchanges.
    pub fn len(&self) -> usize {
        self.exchanges.values().map(Vec::len).sum()
    }

    /// Returns true if there are no exchanges.
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// Looks up the recorded response to a call.
    pub(crate) fn answer(
        &self,
        call: &HttpCall<'_>,
        pieces: Option<BodyPieces<'_>>,
    ) -> Result<Reply, ChatError> {
        let exchange = self.next(call)?;
        let mut reply =
            Reply { status: exchange.status, retry_after: exchange.retry_after, body: Vec::new() };
        let mut passed_on = false;
        match pieces {
            Some(pieces) if reply.is_success() => {
                passed_on = pieces(&exchange.body)? == ControlFlow::Break(());
            }
            _ => reply.body.clone_from(&exchange.body),
        }
        // As on the network, a reader that has enough does not see a later failure.
        match exchange.failure {
            Some(failure) if !passed_on => Err(failure.error(call)),
            _ => Ok(reply),
        }
    }

    fn next(&self, call: &HttpCall<'_>) -> Result<&RecordedExchange, ChatError> {
        let asked = RequestKey::from_call(call);
        let key = asked.key();
        let which = || format!("{} of {} {}", asked.digest(), call.wire, call.path);
        let Some(exchanges) = self.exchanges.get(&key) else {
            let why = format!(
                "the request {} is not in the recording, which has {} exchanges; record it again",
                which(),
                self.len(),
            );
            return Err(call.cannot(why));
        };
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let count = used.entry(key).or_default();
        let exchange = exchanges.get(*count).ok_or_else(|| {
            call.cannot(format!(
                "the request {} was made more often than in the recording ({} times); record it again",
                which(),
                exchanges.len(),
            ))
        })?;
        *count += 1;
        Ok(exchange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(body: Value) -> RecordedExchange {
        let request = RequestKey { wire: "w".to_owned(), model: "m".to_owned(), path: "/p".to_owned(), body };
        RecordedExchange {
            provider: "acme".to_owned(),
            request,
            status: 200,
            retry_after: None,
            body: b"{}".to_vec(),
            failure: None,
        }
    }

    #[test]
    fn a_line_gives_back_what_it_was_made_of() {
        let plain = exchange(json!({"a": 1}));
        let failures = RecordedFailure::all(Duration::from_millis(1500)).map(|failure| RecordedExchange {
            failure: Some(failure),
            status: 0,
            ..plain.clone()
        });
        let bytes = RecordedExchange { body: b"caf\xe9\n".to_vec(), ..plain.clone() };
        let pause =
            RecordedExchange { retry_after: Some(Duration::from_millis(2500)), status: 429, ..plain.clone() };
        for exchange in failures.into_iter().chain([plain, bytes, pause]) {
            let line = exchange.to_line();
            assert!(!line.contains('\n'));
            assert_eq!(RecordedExchange::from_line(&line), Ok(exchange), "{line}");
        }
    }

    #[test]
    fn the_order_of_fields_does_not_matter_and_that_of_lists_does() {
        let key = |body| exchange(body).request.key();
        assert_eq!(
            key(json!({"a": 1, "b": {"c": [1, 2], "d": 3}})),
            key(json!({"b": {"d": 3, "c": [1, 2]}, "a": 1}))
        );
        assert_ne!(key(json!([1, 2])), key(json!([2, 1])));
        assert_ne!(key(json!([1, [2]])), key(json!([[1], 2])));
        assert_ne!(key(json!({"a": "b"})), key(json!({"a": ["b"]})));
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        let good = exchange(json!({})).to_line();
        for (bad, why) in [
            ("{".to_owned(), "not JSON"),
            (good.replace("\"format\":1", "\"format\":2"), "format"),
            (good.replace("\"body\"", "\"corpse\""), "body"),
            (good.replace("\"status\":200", "\"status\":\"ok\""), "status"),
            (good.replace("\"status\"", "\"failure\":\"sloth\",\"status\""), "failure"),
        ] {
            let error = Recordings::from_lines(&format!("{good}\n\n{bad}\n")).unwrap_err();
            assert_eq!(error.line, 3, "{bad}");
            assert!(error.to_string().contains(why), "{error}");
        }
        assert_eq!(Recordings::from_lines(&format!("{good}\r\n\n{good}")).unwrap().len(), 2);
    }

    #[test]
    fn a_repeated_key_is_masked() {
        let key = ApiKey::new("abc-1234").unwrap();
        assert_eq!(masked(b"xabc-1234abc-1234y\xff".to_vec(), Some(&key)), b"x[key][key]y\xff");
        // A word in place of a key is not a secret, and masking it would damage other text.
        let word = ApiKey::new("test").unwrap();
        assert_eq!(masked(b"tests/a.rs".to_vec(), Some(&word)), b"tests/a.rs");
    }

    #[test]
    fn fuzz_what_is_read_of_a_recording_is_what_was_written() {
        let bytes =
            RecordedExchange { body: b"caf\xe9\n".to_vec(), ..exchange(json!({"a": [1, {"b": null}]})) };
        let failed = RecordedExchange {
            failure: Some(RecordedFailure::Stalled(Duration::from_millis(1500))),
            ..bytes.clone()
        };
        let lines =
            [bytes, failed, exchange(json!({"messages": "hello"}))].map(|exchange| exchange.to_line());
        let mut seeds = forage_fuzz::seeds(&lines);
        seeds.push(lines.join("\n").into_bytes());
        forage_fuzz::target!(&seeds, |input| {
            let text = String::from_utf8_lossy(input);
            let Ok(recordings) = Recordings::from_lines(&text) else { return };
            assert!(recordings.models().len() <= recordings.len());
            for exchange in recordings.exchanges.values().flatten() {
                let line = exchange.to_line();
                assert!(!line.contains(['\n', '\r']), "{line}");
                // A fraction with many digits may be parsed as a neighboring value.
                let body = exchange.request.body.to_string();
                if serde_json::from_str::<Value>(&body).is_ok_and(|read| read == exchange.request.body) {
                    assert_eq!(RecordedExchange::from_line(&line).as_ref(), Ok(exchange), "{line}");
                }
            }
        });
    }
}

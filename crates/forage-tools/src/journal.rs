//! Journal of calls, for inspection. It contains requests and summaries of answers, but must never contain
//! text of files.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forage_fs::RelPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::call::Call;
use crate::error::ToolError;
use crate::head::AnswerHead;
use crate::limits;
use crate::outcome::Answer;
use crate::sanitize::sanitize_line;
use crate::text::{absolute, clip};
use crate::tool::{AnyTool, Egress};

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// Something was found.
    Found,
    /// Nothing was found.
    Nothing,
    /// The answer is partial.
    Partial,
    /// There is no answer.
    Error,
    /// The caller cancelled.
    Cancelled,
}

/// The parent span of another program, from its W3C trace context.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TraceParent {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits.
    pub parent_id: String,
}

impl TraceParent {
    /// Parses a `traceparent` header as defined by W3C Trace Context. Anything else is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace_id, parent_id, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |part: &str, digits: usize| {
            part.len() == digits && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_set = |part: &str| part.bytes().any(|b| b != b'0');
        // A later version may append more parts.
        let is_known = is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        let is_valid = is_known && is_hex(trace_id, 32) && is_hex(parent_id, 16) && is_hex(flags, 2);
        (is_valid && is_set(trace_id) && is_set(parent_id))
            .then(|| Self { trace_id: trace_id.to_owned(), parent_id: parent_id.to_owned() })
    }
}

/// A completed call.
#[derive(Clone, Debug, JsonSchema, Serialize, Deserialize)]
pub struct CallHead {
    /// When it began, in microseconds since 1970.
    pub began_us: u64,
    /// How long it took, in microseconds.
    pub elapsed_us: u64,
    /// `mcp`, `ask`, or the name of another program.
    pub surface: String,
    /// The client, if it is a known one.
    pub client: Option<String>,
    /// The tool.
    pub tool: String,
    /// The arguments as the caller wrote them, without secrets.
    pub arguments: Value,
    /// True if arguments were too long to be stored completely.
    pub arguments_cut: bool,
    /// Byte limit of the answer's text.
    pub text_bytes: u64,
    /// True if the text names the root.
    pub names_root: bool,
    /// The directory in the first root that relative paths in the arguments start from.
    pub base: String,
    /// How it ended.
    pub status: CallStatus,
    /// The error code for programs.
    pub code: Option<String>,
    /// The error in a sentence.
    pub error: Option<String>,
    /// Bytes of the answer's text.
    pub bytes: u64,
    /// A hash of the text, to compare it with a repeated answer.
    pub digest: String,
    /// The summary of the answer.
    #[serde(flatten)]
    pub head: Arc<AnswerHead>,
    /// The models that took part.
    pub models: Vec<Value>,
    /// The trace that the call belongs to.
    pub trace: Option<TraceParent>,
}

impl CallHead {
    /// Creates a record with only the tool and the status.
    pub fn new(surface: &str, tool: &str, status: CallStatus) -> Self {
        Self {
            began_us: 0,
            elapsed_us: 0,
            surface: surface.to_owned(),
            client: None,
            tool: tool.to_owned(),
            arguments: json!({}),
            arguments_cut: false,
            text_bytes: 0,
            names_root: false,
            base: String::new(),
            status,
            code: None,
            error: None,
            bytes: 0,
            digest: String::new(),
            head: Arc::default(),
            models: Vec::new(),
            trace: None,
        }
    }
}

/// A tool call as reported to observers.
pub struct AskedTool<'a> {
    /// The name that the caller used.
    pub name: &'a str,
    /// The tool's original name, even if the user renamed it.
    pub id: &'a str,
    /// The arguments, for the journal. We do not record a call without them.
    pub arguments: Option<&'a Value>,
    /// Whether the tool may send requests to models.
    pub asks_models: bool,
}

impl<'a> AskedTool<'a> {
    /// Creates the record of a tool call with its arguments.
    pub fn new(tool: &'a dyn AnyTool, arguments: Option<&'a Value>) -> Self {
        Self { name: tool.name(), id: tool.id(), arguments, asks_models: tool.spec().egress != Egress::None }
    }
}

/// Summarizes a completed call for the journal.
pub(crate) fn head(
    tool: &str,
    arguments: &Value,
    call: &Call,
    result: Result<&Answer, &ToolError>,
    (began, elapsed): (SystemTime, Duration),
    models: Vec<Value>,
) -> CallHead {
    let mut arguments = arguments.clone();
    let mut room = limits::JOURNAL_ARGUMENT_BYTES;
    let arguments_cut = bound(&mut arguments, &mut room, call);
    let (status, error) = match result {
        Ok(answer) if answer.partial() => (CallStatus::Partial, None),
        Ok(answer) if answer.found => (CallStatus::Found, None),
        Ok(_) => (CallStatus::Nothing, None),
        Err(ToolError::Cancelled) => (CallStatus::Cancelled, None),
        Err(error) => (CallStatus::Error, Some(error)),
    };
    let mut head = result.map(|answer| Arc::clone(&answer.head)).unwrap_or_default();
    // A call that failed has no summary, but its record should name the roots.
    if head.roots.is_empty() {
        let roots = call.roots.all().iter().map(|root| absolute(root, &RelPath::root()));
        head = Arc::new(AnswerHead { roots: roots.collect(), ..AnswerHead::clone(&head) });
    }
    let message = result.err().map(|error| error.message(tool, &call.workspace.names)).unwrap_or_default();
    let text = result.map_or(message.as_str(), |answer| answer.text.as_str());
    let observers = &call.workspace.observers;
    CallHead {
        began_us: since_1970(began),
        elapsed_us: microseconds(elapsed),
        client: observers.client.map(str::to_owned),
        arguments,
        arguments_cut,
        text_bytes: call.limits.text_bytes as u64,
        names_root: call.names_root,
        base: call.roots.base().display().into_owned(),
        code: error.and_then(|error| json!(error.code()).as_str().map(str::to_owned)),
        error: error.map(|_| {
            clip(&call.workspace.without_secrets(&sanitize_line(&message)), limits::JOURNAL_ERROR_BYTES)
        }),
        bytes: text.len() as u64,
        digest: digest(text),
        head,
        models,
        trace: call.trace.clone(),
        ..CallHead::new(observers.surface, tool, status)
    }
}

/// Hashes a text for [`CallHead::digest`].
pub fn digest(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

/// Converts a time to microseconds since 1970, the unit of [`CallHead::began_us`].
pub fn since_1970(time: SystemTime) -> u64 {
    microseconds(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Converts a duration to microseconds, the unit of [`CallHead::elapsed_us`].
pub fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Redacts a value and cuts it to `room` bytes: cuts strings and drops further values. Returns true if
/// anything was cut.
fn bound(value: &mut Value, room: &mut usize, call: &Call) -> bool {
    let mut is_cut = false;
    match value {
        Value::String(text) => {
            // A secret that is cut off may not be recognized any more, so we redact first.
            *text = call.workspace.without_secrets(text);
            if text.len() > *room {
                *text = clip(text, *room);
                is_cut = true;
            }
            *room -= text.len().min(*room);
        }
        Value::Array(values) => {
            values.retain_mut(|value| {
                let is_kept = *room > 0;
                is_cut |= !is_kept || bound(value, room, call);
                is_kept
            });
        }
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let is_kept = *room > name.len();
                *room -= name.len().min(*room);
                is_cut |= !is_kept || bound(value, room, call);
                is_kept
            });
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => *room -= (*room).min(8),
    }
    is_cut
}

#[cfg(test)]
mod tests {
    use forage_fs::{Root, RootPolicy, SecretPolicy};
    use serde_json::json;

    use super::*;

    /// A rule may not recognize the first part of a secret.
    #[test]
    fn secrets_are_redacted_before_a_cut() {
        let directory = tempfile::tempdir().unwrap();
        let policy = RootPolicy { home: None, allow_broad: true };
        let root = Root::open(directory.path(), &policy, SecretPolicy::standard(&[])).unwrap();
        let roots = forage_fs::Roots::new(vec![root], forage_fs::RelPath::root()).unwrap();
        let call = crate::workspace::Workspace::new(roots).start_call();
        let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        for room in 1..60 {
            let mut value = json!({ "pattern": format!("find {secret}") });
            bound(&mut value, &mut { room }, &call);
            assert!(!value.to_string().contains("ghp_a"), "{value}");
        }
    }
}

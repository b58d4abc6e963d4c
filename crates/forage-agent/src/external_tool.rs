//! Wraps tools that are not ours, so that the same rules apply to them as to our own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use forage_redact::Redactor;
use forage_tools::registry::AnyTool;
use forage_tools::{Answer, Call, ToolError, ToolSpec, clip, sanitize};
use serde_json::Value;

use super::limits::EXTERNAL_ERROR_BYTES;

/// Interval at which we check for cancellation.
const TICK: Duration = Duration::from_millis(20);

/// A program's own tool. Its description and schema are redacted and sanitized like its answers.
pub(super) struct ExternalTool {
    tool: Arc<dyn AnyTool>,
    spec: ToolSpec,
    schema: Value,
}

impl ExternalTool {
    pub(super) fn new(tool: Arc<dyn AnyTool>, redactor: &Redactor) -> Self {
        let clean = |text: &str| sanitize(redactor.redact(text).as_str());
        let spec = tool.spec().clone();
        let spec = ToolSpec { description: clean(&spec.description).into(), ..spec };
        let mut schema = tool.input_schema();
        clean_texts(&mut schema, &clean);
        Self { tool, spec, schema }
    }

    fn failed(&self, message: &str) -> ToolError {
        ToolError::Request(format!("{}: {}", self.tool.name(), clip(message.trim(), EXTERNAL_ERROR_BYTES)))
    }
}

impl AnyTool for ExternalTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn input_schema(&self) -> Value {
        self.schema.clone()
    }

    /// Runs the tool on a thread that is abandoned when the time is up, because we can't force foreign code
    /// to stop.
    fn call(&self, call: &Call, request: Value) -> Result<Answer, ToolError> {
        let (sender, receiver) = channel();
        let (tool, mut own) = (Arc::clone(&self.tool), call.clone());
        let stop = call.stop.within(call.limits.timeout);
        own.stop = stop.clone();
        let work = move || {
            let called = catch_unwind(AssertUnwindSafe(|| tool.call(&own, request)));
            // The receiver is gone if the call has ended meanwhile.
            let _ = sender.send(called.unwrap_or_else(|_| {
                Err(ToolError::Internal {
                    tool: tool.name().to_owned(),
                    message: "the call panicked".to_owned(),
                })
            }));
        };
        let started = thread::Builder::new().name("forage-guest".to_owned()).spawn(work);
        started.map_err(|error| self.failed(&error.to_string()))?;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(called) => {
                    return called.map(|answer| bounded(answer, call)).map_err(|error| match error {
                        ToolError::Cancelled | ToolError::Internal { .. } => error,
                        error => self.failed(call.workspace.redactor.redact(&error.to_string()).as_str()),
                    });
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.failed("the result was lost")),
                Err(RecvTimeoutError::Timeout) if call.stop.is_cancelled() => {
                    return Err(ToolError::Cancelled);
                }
                Err(RecvTimeoutError::Timeout) if stop.check().is_some() => {
                    return Err(self.failed("it did not answer in time"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// Cleans all texts of a schema. Property names stay unchanged: the model must write them exactly.
fn clean_texts(value: &mut Value, clean: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = clean(text),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_texts(item, clean)),
        Value::Object(fields) => fields.values_mut().for_each(|field| clean_texts(field, clean)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Treats an answer like one of our own tools: this redacts it, removes control characters, and cuts it at
/// the maximum size of an answer.
fn bounded(mut answer: Answer, call: &Call) -> Answer {
    let redacted = call.workspace.redactor.redact(&answer.text);
    answer.hidden.add_counts(redacted.counts());
    let text = sanitize(redacted.as_str());
    answer.text = match text.len() > call.limits.text_bytes {
        true => {
            format!("{}\n[the answer was too long; the rest is cut]\n", clip(&text, call.limits.text_bytes))
        }
        false => text,
    };
    answer
}

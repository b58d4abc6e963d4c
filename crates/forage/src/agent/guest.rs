//! A tool that is not ours, behind the border of those that are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use forage_tools::registry::AnyTool;
use forage_tools::{Answer, Context, Egress, ToolError, clip, sanitize};
use serde_json::Value;

/// Pause between two looks at whether a call is to end.
const TICK: Duration = Duration::from_millis(20);

/// Bytes of an error.
const ERROR_BYTES: usize = 2_000;

/// A tool of a program's own.
pub(super) struct Guest(Arc<dyn AnyTool>);

impl Guest {
    pub(super) fn new(tool: Arc<dyn AnyTool>) -> Self {
        Self(tool)
    }

    fn failed(&self, message: &str) -> ToolError {
        ToolError::Request(format!("{}: {}", self.0.name(), clip(message.trim(), ERROR_BYTES)))
    }
}

impl AnyTool for Guest {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn id(&self) -> &str {
        self.0.id()
    }

    fn aliases(&self) -> &[&'static str] {
        self.0.aliases()
    }

    fn title(&self) -> &str {
        self.0.title()
    }

    fn description(&self) -> &str {
        self.0.description()
    }

    fn egress(&self) -> Egress {
        self.0.egress()
    }

    fn input_schema(&self) -> Value {
        self.0.input_schema()
    }

    /// Runs it on a thread that is left alone when the time is up: nothing makes a stranger keep to it.
    fn call(&self, context: &Context, request: Value) -> Result<Answer, ToolError> {
        let (tell, told) = channel();
        let (tool, own) = (Arc::clone(&self.0), context.clone());
        let work = move || {
            let called = catch_unwind(AssertUnwindSafe(|| tool.call(&own, request)));
            // Nobody may wait any more.
            let _ = tell.send(called.unwrap_or_else(|_| {
                Err(ToolError::Internal {
                    tool: tool.name().to_owned(),
                    message: "the call panicked".to_owned(),
                })
            }));
        };
        let started = thread::Builder::new().name("forage-guest".to_owned()).spawn(work);
        started.map_err(|error| self.failed(&error.to_string()))?;
        loop {
            match told.recv_timeout(TICK) {
                Ok(called) => {
                    return called.map(|answer| bounded(answer, context)).map_err(|error| match error {
                        ToolError::Cancelled | ToolError::Internal { .. } => error,
                        error => self.failed(&error.to_string()),
                    });
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.failed("the result was lost")),
                Err(RecvTimeoutError::Timeout) if context.stop.is_cancelled() => {
                    return Err(ToolError::Cancelled);
                }
                Err(RecvTimeoutError::Timeout) if context.stop.check().is_some() => {
                    return Err(self.failed("it did not answer in time"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// The answer as one of ours would be: without secrets, without control characters, within the bytes of an answer.
fn bounded(mut answer: Answer, context: &Context) -> Answer {
    let redacted = context.redactor.redact(&answer.text);
    answer.hidden.add_counts(redacted.counts());
    let text = sanitize(redacted.as_str());
    answer.text = match text.len() > context.text_bytes {
        true => format!("{}\n[the answer was too long and is cut here]\n", clip(&text, context.text_bytes)),
        false => text,
    };
    answer
}

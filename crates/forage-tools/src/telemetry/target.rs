//! Observers of calls, and the report of a model request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use forage_llm::{ChatAnswer, ChatError, ChatModel};
use serde_json::{Map, Value, json};

use crate::journal::CallHead;

/// Receives the calls that have ended, as `E`: a [`TelemetryEvent`], an [`EndedCall`] or a [`CallHead`]. The
/// type limits what a sink can see: only a [`CallHead`] has texts of the user. Reporting a call must not fail
/// or delay it, so reports that can't be written are lost.
pub trait CallSink<E>: Send + Sync {
    /// Called when a call begins.
    fn begun(&self) {}

    /// Called when a call has ended.
    fn ended(&self, call: E);

    /// Waits a short time until all reports so far are persistent. No calls may follow.
    fn finish(&self) {}
}

/// The fields of an ended call for telemetry. Names may contain dots. Values are numbers, booleans, names of
/// tools and models, or one of a few fixed words.
pub type TelemetryEvent = Map<String, Value>;

/// A request to a server that has ended, without its arguments or its answer. Its tool may still run if the
/// client cancelled it.
#[derive(Clone, Copy, Debug)]
pub struct EndedCall<'a> {
    /// The built-in name of the tool, or `unknown` if the tool does not exist.
    pub tool: &'a str,
    /// The name of the token that came with the call; `None` if tokens have no names.
    pub token: Option<&'a str>,
    /// The client, by the name of its profile; `unknown` if it has none.
    pub client: &'a str,
    /// `answered`, the code of an error, `asked` if the client must answer a question first, `refused` by the
    /// protocol, or `cancelled`.
    pub outcome: &'a str,
    /// Size of the answer's text in bytes.
    pub bytes: usize,
    /// Time from the request to its answer.
    pub elapsed: Duration,
}

/// Decides whether a completed call should be reported.
pub type CallCounts = Arc<dyn Fn() -> bool + Send + Sync>;

/// The observers of calls, and the source of the calls.
#[derive(Clone, Default)]
pub struct CallObservers {
    /// Receive an event for each call made by [`super::call`] or [`super::watched`].
    pub telemetry: Vec<Arc<dyn CallSink<TelemetryEvent>>>,
    /// Receives the summary of each such call.
    pub journal: Option<Arc<dyn CallSink<CallHead>>>,
    /// Receive each request to a server, also one that reaches no tool.
    pub requests: Vec<Arc<dyn for<'a> CallSink<EndedCall<'a>>>>,
    /// The source of the calls: `command`, `call`, `mcp`, `ask`, or a program's own name.
    pub surface: &'static str,
    /// The client, but only if it is a known one. A client can report any name.
    pub client: Option<&'static str>,
}

/// The models that one call has used, and the event of its lookup.
#[derive(Default)]
pub(crate) struct CallTelemetry(Mutex<(Vec<Value>, TelemetryEvent)>);

impl CallTelemetry {
    pub(super) fn lock(&self) -> MutexGuard<'_, (Vec<Value>, TelemetryEvent)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a model that the call has used.
    pub(crate) fn model(
        &self,
        model: &dyn ChatModel,
        attempts: u32,
        began: Instant,
        answer: Result<(&ChatAnswer, bool), &ChatError>,
    ) {
        let status = match answer {
            Ok((_, true)) => "answered",
            Ok((_, false)) => "unreadable",
            Err(error) if error.is_stop() => "stopped",
            Err(_) => "failed",
        };
        let mut event = model_report(&model.name(), status, attempts, began.elapsed());
        if let Ok((answer, _)) = answer {
            event["provider"] = json!(plain(&answer.provider));
            event["model"] = json!(plain(&answer.model));
            add_usage(&mut event, answer.usage, answer.cost_usd);
        }
        self.lock().0.push(event);
    }

    /// Adds a model whose answer came from the cache.
    pub(crate) fn kept(&self, model: &dyn ChatModel) {
        self.lock().0.push(model_report(&model.name(), "from_cache", 0, Duration::ZERO));
    }

    /// Adds the fields of the call's lookup.
    pub(crate) fn lookup(&self, fields: TelemetryEvent) {
        self.lock().1.extend(fields);
    }
}

/// Builds the report of a request to the model `provider/model` as a JSON object.
pub fn model_report(name: &str, status: &str, attempts: u32, latency: Duration) -> Value {
    let (provider, model) = name.split_once('/').unwrap_or(("", name));
    json!({
        "provider": plain(provider),
        "model": plain(model),
        "status": status,
        "attempts": attempts,
        "latency_ms": milliseconds(latency),
    })
}

/// Adds tokens and cost to a report, if known.
pub fn add_usage(model: &mut Value, usage: Option<forage_llm::Usage>, cost_usd: Option<f64>) {
    if let Some(usage) = usage {
        model["input_tokens"] = json!(usage.input_tokens);
        model["cached_input_tokens"] = json!(usage.cached_input_tokens);
        model["output_tokens"] = json!(usage.output_tokens);
    }
    if let Some(cost) = cost_usd {
        model["cost_usd"] = json!(cost);
    }
}

impl CallObservers {
    /// Creates the observers of calls from this surface.
    pub fn new(telemetry: Option<Arc<dyn CallSink<TelemetryEvent>>>, surface: &'static str) -> Self {
        Self { telemetry: telemetry.into_iter().collect(), surface, ..Self::default() }
    }

    /// Reports an event to telemetry.
    pub fn record(&self, event: &TelemetryEvent) {
        self.telemetry.iter().for_each(|sink| sink.ended(event.clone()));
    }
}

pub(super) fn milliseconds(time: Duration) -> Value {
    json!(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// Cleans the name of a model or provider. Local servers name a model by the path of its file, so we keep
/// only the last component.
fn plain(name: &str) -> String {
    let is_path = name.starts_with(['/', '~', '.']) || name.contains('\\') || name.ends_with(".gguf");
    let name = if is_path { name.rsplit(['/', '\\']).next().unwrap_or_default() } else { name };
    name.chars().filter(|c| c.is_ascii_graphic()).take(NAME_BYTES).collect()
}

/// Maximum bytes of a name of a model or provider.
const NAME_BYTES: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_and_its_path_is_not() {
        for (name, provider, model) in [
            ("acme/small-0", "acme", "small-0"),
            ("openrouter/qwen/qwen3-coder", "openrouter", "qwen/qwen3-coder"),
            ("local//home/someone/models/tiny.gguf", "local", "tiny.gguf"),
            ("local/models/tiny.gguf", "local", "tiny.gguf"),
            ("local/C:\\Users\\someone\\tiny", "local", "tiny"),
            ("small", "", "small"),
        ] {
            let event = model_report(name, "answered", 1, Duration::ZERO);
            assert_eq!((&event["provider"], &event["model"]), (&json!(provider), &json!(model)), "{name}");
        }
    }
}

//! What is told of calls to whoever runs Forage: a line for each. Never a query, a pattern, a term, a path, a name of a root
//! or text of a file.

pub(crate) mod target;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::error::ToolError;
use crate::journal::{AskedModels, AskedTool, JournaledCall, taken};
use crate::outcome::{Answer, Limit};
use crate::tool::AnyTool;
use target::milliseconds;
pub use target::{Telemetry, TelemetryTarget, add_usage, of_model};

/// Makes a call and tells of it, by the name that the tool is advertised by.
///
/// # Errors
/// Those of the call.
pub fn call(tool: &dyn AnyTool, context: &Context, request: Value) -> Result<Answer, ToolError> {
    let arguments = context.journal.to.is_some().then(|| request.clone());
    let asked = AskedTool::of(tool, arguments.as_ref());
    watched(&asked, context, |context| tool.call(context, request))
}

/// As [`call`], for a call that takes more than one attempt.
///
/// # Errors
/// Those of the call.
pub fn watched(
    asked: &AskedTool<'_>,
    context: &Context,
    call: impl FnOnce(&Context) -> Result<Answer, ToolError>,
) -> Result<Answer, ToolError> {
    let Some(journaled) = JournaledCall::begin(asked, context) else {
        return told(asked.name, context, &AskedModels::default(), call);
    };
    let models = AskedModels::default();
    let result = match asked.asks_models {
        true => {
            let mut inner = context.clone();
            inner.telemetry.asked = Some(Arc::clone(&models));
            told(asked.name, &inner, &models, call)
        }
        // To copy a context takes longer than all else that is done here.
        false => told(asked.name, context, &models, call),
    };
    journaled.end(asked, context, result.as_ref(), taken(&models));
    result
}

/// Makes a call and tells whoever is told of calls; `models` are those that it asks.
fn told(
    tool: &str,
    context: &Context,
    models: &AskedModels,
    call: impl FnOnce(&Context) -> Result<Answer, ToolError>,
) -> Result<Answer, ToolError> {
    let Some(to) = &context.telemetry.to else { return call(context) };
    let began = Instant::now();
    let lookup = Arc::<LookupTelemetry>::default();
    let mut inner = context.clone();
    inner.telemetry.asked = Some(Arc::clone(models));
    inner.lookup.telemetry = Some(Arc::clone(&lookup) as _);
    let result = call(&inner);
    let mut event = head(tool, &context.telemetry);
    match &result {
        Ok(answer) => add_answer(&mut event, answer),
        Err(error) => add_error(&mut event, error),
    }
    event.insert("latency_ms".to_owned(), milliseconds(began.elapsed()));
    add_models(&mut event, models.lock().unwrap_or_else(PoisonError::into_inner).clone());
    let mut of_lookup = std::mem::take(&mut *lookup.0.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(name) = of_lookup.get_mut("retrieval.tool") {
        *name = json!(tool);
    }
    event.extend(of_lookup);
    to.record(event);
    result
}

/// Records a search whose results were printed as they came.
pub fn printed(tool: &str, context: &Context, began: Instant, (found, partial): (bool, bool)) {
    let Some(to) = &context.telemetry.to else { return };
    let mut event = head(tool, &context.telemetry);
    event.insert("status".to_owned(), json!(status(found, partial)));
    event.insert("timed_out".to_owned(), json!(partial && !context.stop.is_cancelled()));
    event.insert("latency_ms".to_owned(), milliseconds(began.elapsed()));
    to.record(event);
}

/// The event of something else than a tool that asks models, such as an agent: `models` as [`of_model`] makes them.
pub fn asked(name: &str, told: &TelemetryTarget, status: &str, latency: Duration, models: Vec<Value>) {
    let Some(to) = &told.to else { return };
    let mut event = head(name, told);
    event.insert("status".to_owned(), json!(status));
    event.insert("latency_ms".to_owned(), milliseconds(latency));
    add_models(&mut event, models);
    to.record(event);
}

/// What the tool itself tells of a lookup, to stand in the call's line.
#[derive(Default)]
struct LookupTelemetry(Mutex<Map<String, Value>>);

impl Telemetry for LookupTelemetry {
    fn record(&self, event: Map<String, Value>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(event);
    }
}

fn head(tool: &str, told: &TelemetryTarget) -> Map<String, Value> {
    let mut event = Map::new();
    event.insert("tool".to_owned(), json!(tool));
    event.insert("surface".to_owned(), json!(told.surface));
    if let Some(client) = told.client {
        event.insert("client".to_owned(), json!(client));
    }
    event
}

fn status(found: bool, partial: bool) -> &'static str {
    match (found, partial) {
        (true, _) => "found",
        (false, false) => "nothing_found",
        (false, true) => "unfinished",
    }
}

fn add_answer(event: &mut Map<String, Value>, answer: &Answer) {
    let records = answer.records();
    event.insert("status".to_owned(), json!(status(answer.found, answer.partial())));
    // Each tool has its own word for what it lists.
    let listed = ["files", "hits", "results", "matches", "entries", "lines"]
        .iter()
        .find_map(|name| records.get(*name)?.as_array().map(Vec::len));
    if let Some(count) = listed {
        event.insert("result_count".to_owned(), json!(count));
    }
    let is_cut = records["truncated"] == true || records["text_cut"] == true;
    event.insert("truncated".to_owned(), json!(is_cut));
    event.insert("timed_out".to_owned(), json!(answer.truncated_by == Some(Limit::Timeout)));
}

fn add_error(event: &mut Map<String, Value>, error: &ToolError) {
    let status = if matches!(error, ToolError::Cancelled) { "cancelled" } else { "error" };
    event.insert("status".to_owned(), json!(status));
    event.insert("error_type".to_owned(), json!(error.code()));
}

fn add_models(event: &mut Map<String, Value>, models: Vec<Value>) {
    if models.is_empty() {
        return;
    }
    let costs = models.iter().filter_map(|model| model["cost_usd"].as_f64());
    let (count, sum) = costs.fold((0, 0.0), |(count, sum), cost| (count + 1, sum + cost));
    if count > 0 {
        event.insert("cost_usd".to_owned(), json!(sum));
    }
    event.insert("models".to_owned(), json!(models));
}

//! Reports calls: one telemetry event per call, and a summary for the journal. An event must never contain a
//! query, pattern, term, path, root name or text of a file.

pub(crate) mod target;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::call::Call;
use crate::error::ToolError;
use crate::journal::{self, AskedTool};
use crate::outcome::{Answer, Limit};
use crate::tool::AnyTool;
pub use target::{CallCounts, CallObservers, CallSink, EndedCall, TelemetryEvent, add_usage, model_report};
use target::{CallTelemetry, milliseconds};

/// Makes a call and reports it under the tool's advertised name.
///
/// # Errors
///
/// Fails with the error of the call.
pub fn call(tool: &dyn AnyTool, call: &Call, request: Value) -> Result<Answer, ToolError> {
    let arguments = call.workspace.observers.journal.is_some().then(|| request.clone());
    let asked = AskedTool::new(tool, arguments.as_ref());
    watched(&asked, call, |call| tool.call(call, request))
}

/// Like [`call`], but for a call that takes several attempts.
///
/// # Errors
///
/// Fails with the error of the call.
pub fn watched(
    asked: &AskedTool<'_>,
    call: &Call,
    run: impl FnOnce(&Call) -> Result<Answer, ToolError>,
) -> Result<Answer, ToolError> {
    let to = &call.workspace.observers;
    let journal = to.journal.as_ref().zip(asked.arguments);
    if to.telemetry.is_empty() && journal.is_none() {
        return run(call);
    }
    let (began, at) = (SystemTime::now(), Instant::now());
    let noted = Arc::<CallTelemetry>::default();
    let result = match !to.telemetry.is_empty() || asked.asks_models {
        true => run(&Call { noted: Arc::clone(&noted), ..call.clone() }),
        // Don't clone the call if no one needs its notes: this would take longer than everything else
        // here.
        false => run(call),
    };
    let elapsed = at.elapsed();
    if call.counts.as_ref().is_some_and(|counts| !counts()) {
        return result;
    }
    let (models, mut lookup) = std::mem::take(&mut *noted.lock());
    if let Some(name) = lookup.get_mut("retrieval.tool") {
        *name = json!(asked.name);
    }
    record(asked.name, to, outcome(&result), elapsed, &models, lookup);
    // This is lazy because it sets the flag.
    let is_entered =
        || call.is_entered.as_ref().is_some_and(|is_entered| is_entered.swap(true, Ordering::AcqRel));
    if let Some((journal, arguments)) = journal.filter(|_| !is_entered()) {
        journal.ended(journal::head(asked.id, arguments, call, result.as_ref(), (began, elapsed), models));
    }
    result
}

/// Records a search whose results were printed while it ran.
pub fn printed(tool: &str, call: &Call, began: Instant, (found, partial): (bool, bool)) {
    let timed_out = partial && !call.stop.is_cancelled();
    let outcome = vec![("status", json!(status(found, partial))), ("timed_out", json!(timed_out))];
    record(tool, &call.workspace.observers, outcome, began.elapsed(), &[], TelemetryEvent::new());
}

/// Records an event for a caller of models that is not a tool, for example an agent. You can create `models`
/// with [`model_report`].
pub fn asked(name: &str, to: &CallObservers, status: &str, latency: Duration, models: &[Value]) {
    record(name, to, vec![("status", json!(status))], latency, models, TelemetryEvent::new());
}

fn record(
    tool: &str,
    to: &CallObservers,
    outcome: Vec<(&str, Value)>,
    latency: Duration,
    models: &[Value],
    lookup: TelemetryEvent,
) {
    if to.telemetry.is_empty() {
        return;
    }
    let costs: Vec<f64> = models.iter().filter_map(|model| model["cost_usd"].as_f64()).collect();
    let mut fields = vec![("tool", json!(tool)), ("surface", json!(to.surface))];
    fields.extend(to.client.map(|client| ("client", json!(client))));
    fields.extend(outcome);
    fields.push(("latency_ms", milliseconds(latency)));
    if !costs.is_empty() {
        fields.push(("cost_usd", json!(costs.iter().sum::<f64>())));
    }
    if !models.is_empty() {
        fields.push(("models", json!(models)));
    }
    to.record(&fields.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(lookup).collect());
}

fn status(found: bool, partial: bool) -> &'static str {
    match (found, partial) {
        (true, _) => "found",
        (false, false) => "nothing_found",
        (false, true) => "unfinished",
    }
}

fn outcome(result: &Result<Answer, ToolError>) -> Vec<(&'static str, Value)> {
    let answer = match result {
        Ok(answer) => answer,
        Err(error) => {
            let status = if matches!(error, ToolError::Cancelled) { "cancelled" } else { "error" };
            return vec![("status", json!(status)), ("error_type", json!(error.code()))];
        }
    };
    let records = answer.records();
    // Each tool has its own name for its results.
    let listed = ["files", "hits", "results", "matches", "entries", "lines"]
        .iter()
        .find_map(|name| records.get(*name)?.as_array().map(Vec::len));
    let is_cut = records["truncated"] == true || records["text_cut"] == true;
    let mut fields = vec![("status", json!(status(answer.found, answer.partial())))];
    fields.extend(listed.map(|count| ("result_count", json!(count))));
    fields.push(("truncated", json!(is_cut)));
    fields.push(("timed_out", json!(answer.truncated_by == Some(Limit::Timeout))));
    fields
}

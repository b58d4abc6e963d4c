//! Telemetry event of a lookup. It must never contain the words.

use std::time::Instant;

use forage_lookup::{CollectionError, Lookup, LookupState, Retriever};
use serde_json::{Value, json};

use super::records::status;
use crate::telemetry::TelemetryEvent;

pub(super) fn event(
    tool: &str,
    retriever: &Retriever,
    limit: usize,
    result: &Result<Lookup, CollectionError>,
    began: Instant,
) -> TelemetryEvent {
    let (state, error, count) = match result {
        Ok(lookup) => {
            let error = match &lookup.state {
                LookupState::EncoderUnavailable(_) => Some("encoder_unavailable"),
                LookupState::StoreUnavailable(error) => Some(error.kind()),
                _ => None,
            };
            (status(lookup).name(), error, lookup.hits.len())
        }
        Err(error) => ("refused", Some(error.kind()), 0),
    };
    let is_fallback = matches!(result, Ok(Lookup { state: LookupState::EncoderUnavailable(_), .. }));
    let mut event = TelemetryEvent::new();
    let mut put = |name: &str, value: Value| drop(event.insert(format!("retrieval.{name}"), value));
    put("backend", json!(retriever.backend));
    put("tool", json!(tool));
    put("vector", json!(retriever.using));
    put("top_k", json!(limit));
    put("return_count", json!(count));
    put("latency_ms", json!(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)));
    put("sparse_fallback", json!(is_fallback));
    put("qdrant_timeout_s", json!(retriever.timeout.as_secs_f64()));
    put("status", json!(state));
    if let Some(error) = error {
        put("error_type", json!(error));
    }
    event
}

/// Builds the event for a missing store. We record it for each call, and once for a server that would have
/// offered the tool.
pub fn fallback(tool: &str, limit: u64) -> TelemetryEvent {
    let mut event = TelemetryEvent::new();
    let mut put = |name: &str, value: Value| drop(event.insert(format!("retrieval.{name}"), value));
    put("backend", json!("none"));
    put("tool", json!(tool));
    put("top_k", json!(limit));
    put("return_count", json!(0));
    put("latency_ms", json!(0));
    put("sparse_fallback", json!(true));
    put("status", json!("no_store"));
    put("error_type", json!("no_store"));
    event
}

//! What is told of calls to whoever runs Forage. Never a query, a pattern, a term or text of a file.

use serde_json::{Map, Value};

/// Takes events. Telling of a call must not fail it: what can't be written is lost.
pub trait Telemetry: Send + Sync {
    /// Takes one event: names with dots, values that are numbers, truth values or one of a few words.
    fn record(&self, event: Map<String, Value>);
}

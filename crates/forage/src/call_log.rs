//! `--verbose`: writes one line per call to standard error. A line has the same fields as telemetry, so it
//! contains no query and no path.

use std::io::{self, Write as _};
use std::time::SystemTime;

use forage_tools::{CallSink, TelemetryEvent, sanitize};
use serde_json::Value;

use crate::telemetry::timestamp;

/// Writes a line for each call.
pub(crate) struct CallLog;

impl CallSink<TelemetryEvent> for CallLog {
    fn ended(&self, event: TelemetryEvent) {
        let _ = writeln!(io::stderr(), "{}", sanitize(&line(&timestamp(SystemTime::now()), &event)));
    }
}

/// Formats an event in logfmt, i.e. as `name=value` for each field.
fn line(time: &str, event: &TelemetryEvent) -> String {
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(text) if !text.is_empty() && !text.contains([' ', '"', '=']) => {
            format!(" {name}={text}")
        }
        other => format!(" {name}={other}"),
    };
    format!("forage: time={time}{}", event.iter().map(pair).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_a_line_of_names_and_values() {
        let event = json!({ "tool": "grep_search", "status": "found", "result_count": 3, "models": [{ "a": "b c" }], "x": "a b" });
        let expected =
            r#"forage: time=T tool=grep_search status=found result_count=3 models=[{"a":"b c"}] x="a b""#;
        assert_eq!(line("T", event.as_object().unwrap()), expected);
    }
}

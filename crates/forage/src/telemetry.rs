//! Telemetry of calls, written as lines of JSON to a file that the user chooses.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use forage_sandbox::UnsandboxedWorker;
use forage_tools::journal::since_1970;
use forage_tools::{CallSink, TelemetryEvent};
use serde_json::{Value, json};

use crate::rotated_file::RotatedFile;

/// Formats a time, for example as `2026-01-11T08:30:00.123Z`.
pub(crate) fn timestamp(time: SystemTime) -> String {
    forage_ui::record::timestamp(since_1970(time))
}

/// The telemetry file. Its directory is not accessible from inside the sandbox, so a thread outside of the
/// sandbox must write it.
pub(crate) struct TelemetryFile(UnsandboxedWorker<String>);

impl TelemetryFile {
    /// Starts the thread, which reopens the file for each line. Returns `None` if the thread can't be
    /// started.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let file = Arc::new(RotatedFile::new(path, "telemetry.path"));
        let written = Arc::clone(&file);
        let started = UnsandboxedWorker::start("telemetry", move |line: String| written.add(&line));
        started.inspect_err(|error| file.lose(error)).ok().map(Self)
    }
}

impl CallSink<TelemetryEvent> for TelemetryFile {
    fn ended(&self, event: TelemetryEvent) {
        let mut line = TelemetryEvent::new();
        line.insert("ts".to_owned(), json!(timestamp(SystemTime::now())));
        line.extend(event);
        self.0.ask(format!("{}\n", Value::Object(line)));
    }
}

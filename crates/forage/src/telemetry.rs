//! What is told of calls, as lines of JSON in a file of the user's choice.

use std::path::Path;
use std::time::SystemTime;

use forage_tools::Telemetry;
use forage_tools::journal::since_1970;
use serde_json::{Map, Value, json};

use crate::rotated_file::RotatedFile;

/// A time as `2026-01-11T08:30:00.123Z`.
pub(crate) fn timestamp(time: SystemTime) -> String {
    forage_ui::record::timestamp(since_1970(time))
}

/// The file.
pub(crate) struct TelemetryFile(RotatedFile);

impl TelemetryFile {
    /// Opens nothing yet.
    pub(crate) fn new(path: &Path) -> Self {
        Self(RotatedFile::new(path, "telemetry.path"))
    }
}

impl Telemetry for TelemetryFile {
    fn record(&self, event: Map<String, Value>) {
        let mut line = Map::new();
        line.insert("ts".to_owned(), json!(timestamp(SystemTime::now())));
        line.extend(event);
        self.0.add(&format!("{}\n", Value::Object(line)));
    }
}

//! What is told of calls, as lines of JSON in a file of the user's choice.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use forage_fs::{NamedFile, PrivateError};
use forage_tools::Telemetry;
use serde_json::{Map, Value, json};

use crate::private_file::create_directory;

/// One file, and one generation before it.
pub(crate) struct TelemetryFile {
    path: PathBuf,
    /// Bytes after which the file becomes the one before; 0 for never.
    rotate_bytes: u64,
    /// One line at a time.
    writing: Mutex<()>,
}

impl TelemetryFile {
    /// Opens nothing yet.
    pub(crate) fn new(path: &Path, rotate_bytes: u64) -> Self {
        Self { path: path.to_owned(), rotate_bytes, writing: Mutex::new(()) }
    }

    fn write(&self, line: &str) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = self.path.parent() {
            create_directory(directory)?;
        }
        let named = NamedFile::at(&self.path)?;
        let mut file = named.append()?;
        let size = file.metadata()?.len();
        if self.rotate_bytes > 0 && size > 0 && size + line.len() as u64 > self.rotate_bytes {
            let mut before = self.path.file_name().unwrap_or_default().to_owned();
            before.push(".1");
            named.rename(before)?;
            file = named.append()?;
        }
        // One write of a file that is appended to: lines of several processes do not mix.
        file.write_all(line.as_bytes())
    }

    /// Why nothing is told, if something is in place of the file that can't be trusted.
    pub(crate) fn problem(path: &Path) -> Option<PrivateError> {
        NamedFile::at(path).and_then(|named| named.check()).err().filter(PrivateError::is_distrust)
    }
}

impl Telemetry for TelemetryFile {
    fn record(&self, event: Map<String, Value>) {
        let mut line = Map::new();
        line.insert("ts".to_owned(), json!(timestamp(SystemTime::now())));
        line.extend(event);
        // Whoever called must not fail for what nobody reads at the moment.
        let _ = self.write(&format!("{}\n", Value::Object(line)));
    }
}

/// A time as `2026-01-11T08:30:00.123Z`.
fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// The date so many days after 1970-01-01, in the Gregorian calendar.
fn date(mut days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = |year| if is_leap(year) { 366 } else { 365 };
    while days >= length(year) {
        days -= length(year);
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests read files of their own")]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_772_323_199, "2026-02-28T23:59:59.000Z"),
            (1_798_761_599, "2026-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn a_full_file_becomes_the_one_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("logs/telemetry.jsonl");
        let file = TelemetryFile::new(&path, 300);
        for number in 0..20 {
            file.record(Map::from_iter([("number".to_owned(), json!(number))]));
        }
        let lines = |path: &Path| -> Vec<Value> {
            fs::read_to_string(path)
                .unwrap()
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()
        };
        let (now, before) = (lines(&path), lines(&directory.path().join("logs/telemetry.jsonl.1")));
        assert_eq!(now.last().unwrap()["number"], 19);
        let numbers: Vec<_> =
            before.iter().chain(&now).map(|line| line["number"].as_u64().unwrap()).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]) && numbers.len() > 6, "{numbers:?}");
        assert!(fs::metadata(&path).unwrap().len() <= 300);
    }

    #[test]
    fn what_can_not_be_written_fails_nobody() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "").unwrap();
        TelemetryFile::new(&directory.path().join("file/telemetry.jsonl"), 0).record(Map::new());
    }
}

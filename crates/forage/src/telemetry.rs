//! What is told of calls, as lines of JSON in a file of the user's choice.

use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use forage_fs::{NamedFile, PrivateError};
use forage_tools::{Telemetry, sanitize};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use crate::private_file::create_directory;

/// Times that a file is looked for again because another process has put a new one in its place.
const ATTEMPTS: usize = 4;
/// Time that another process may have the file to itself: a line takes far less, unless that process stands still.
const LOCK_TIME: Duration = Duration::from_millis(200);

/// One file, and one generation before it.
pub(crate) struct TelemetryFile {
    path: PathBuf,
    /// Bytes after which the file becomes the one before; 0 for never.
    rotate_bytes: u64,
    /// One line at a time.
    writing: Mutex<()>,
    /// Is told once that nothing can be written.
    complain: Box<dyn Fn(&str) + Send + Sync>,
    has_complained: AtomicBool,
}

impl TelemetryFile {
    /// Opens nothing yet. What can't be written is told on standard error.
    pub(crate) fn new(path: &Path, rotate_bytes: u64) -> Self {
        let complain = |problem: &str| {
            let _ = writeln!(io::stderr(), "forage: {}", sanitize(problem));
        };
        Self {
            path: path.to_owned(),
            rotate_bytes,
            writing: Mutex::new(()),
            complain: Box::new(complain),
            has_complained: AtomicBool::new(false),
        }
    }

    fn write(&self, line: &str) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = self.path.parent() {
            create_directory(directory)?;
        }
        let named = NamedFile::at(&self.path)?;
        for _ in 0..ATTEMPTS {
            let mut file = named.append()?;
            let is_alone = lock(&file);
            // Another process may have put a new file in its place before this one had the lock.
            if !named.is(&file)? {
                continue;
            }
            let size = file.metadata()?.len();
            let is_full = self.rotate_bytes > 0 && size > 0 && size + line.len() as u64 > self.rotate_bytes;
            if is_full && is_alone {
                let mut before = self.path.file_name().unwrap_or_default().to_owned();
                before.push(".1");
                named.rename(before)?;
                continue;
            }
            // One write of a file that is appended to: lines of several processes do not mix, locked or not.
            let written = file.write_all(line.as_bytes());
            if written.is_err() && is_alone {
                // The next line must not go on with half of this one.
                let _ = file.set_len(size);
            }
            return written;
        }
        Err(io::Error::other("other processes replace it all the time"))
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
        let written = self.write(&format!("{}\n", Value::Object(line)));
        if let Err(error) = written
            && !self.has_complained.swap(true, Ordering::Relaxed)
        {
            let path = self.path.display();
            (self.complain)(&format!(
                "`telemetry.path`: {path} can't be written: {error}; calls go on, and nothing is told of them meanwhile"
            ));
        }
    }
}

/// Waits a little for the file to be this process's alone; where files can't be locked, it is taken for that.
fn lock(file: &File) -> bool {
    let until = Instant::now() + LOCK_TIME;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                thread::sleep(Duration::from_millis(2))
            }
            Err(TryLockError::WouldBlock) => return false,
            Ok(()) | Err(TryLockError::Error(_)) => return true,
        }
    }
}

/// A time as `2026-01-11T08:30:00.123Z`.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    // A clock beyond the year 9999 is as wrong as one before 1970.
    let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second) = at.to_hms();
    // Put together here: the formats of `time` write a fraction as long as it happens to be, or round it.
    let (month, milliseconds) = (u8::from(month), since.subsec_millis());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
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
    fn what_can_not_be_written_fails_nobody_and_is_said_once() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "").unwrap();
        let said = std::sync::Arc::<Mutex<Vec<String>>>::default();
        let heard = std::sync::Arc::clone(&said);
        let file = TelemetryFile {
            complain: Box::new(move |problem| heard.lock().unwrap().push(problem.to_owned())),
            ..TelemetryFile::new(&directory.path().join("file/telemetry.jsonl"), 0)
        };
        for _ in 0..3 {
            file.record(Map::new());
        }
        let said = said.lock().unwrap();
        assert!(said.len() == 1 && said[0].contains("file/telemetry.jsonl can't be written"), "{said:?}");
    }

    /// As several processes would, each with an open file of its own.
    #[test]
    fn many_writers_lose_and_mix_no_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("telemetry.jsonl");
        let (writers, lines) = (6, 60);
        // Large enough for one rotation: of what was before the one before, nothing is kept.
        let bytes = 60 * writers * lines * 2 / 3;
        thread::scope(|scope| {
            for writer in 0..writers {
                let path = &path;
                scope.spawn(move || {
                    let file = TelemetryFile::new(path, bytes);
                    for number in 0..lines {
                        file.record(Map::from_iter([("line".to_owned(), json!(writer * 1_000 + number))]));
                    }
                });
            }
        });
        let mut numbers = Vec::new();
        for name in ["telemetry.jsonl.1", "telemetry.jsonl"] {
            let Ok(text) = fs::read_to_string(directory.path().join(name)) else { continue };
            assert!(text.ends_with('\n') && text.len() as u64 <= bytes, "{name}: {}", text.len());
            let number = |line: &str| serde_json::from_str::<Value>(line).unwrap()["line"].as_u64().unwrap();
            numbers.extend(text.lines().map(number));
        }
        numbers.sort_unstable();
        let all: Vec<u64> =
            (0..writers).flat_map(|writer| (0..lines).map(move |line| writer * 1_000 + line)).collect();
        assert_eq!(numbers, all);
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("telemetry.jsonl");
        TelemetryFile::new(&path, 0).record(Map::new());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

//! A log file that several processes may append to, with one rotated generation. The user chooses its path.

use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use forage_fs::{NamedFile, PrivateError};
use forage_tools::sanitize;

use crate::limits::ROTATE_BYTES;
use crate::private_file::create_directory;

/// Maximum attempts to open the file while other processes keep replacing it.
const ATTEMPTS: usize = 4;
/// How long to wait for another process to release the lock. Writing a line takes far less, unless that
/// process is suspended.
const LOCK_TIME: Duration = Duration::from_millis(200);

/// A log file with one rotated generation.
pub(crate) struct RotatedFile {
    path: PathBuf,
    /// Size in bytes at which the file is rotated.
    rotate_bytes: u64,
    /// Name of the setting that configures the path, for messages.
    setting: &'static str,
    /// Serializes the writes of this process.
    writing: Mutex<()>,
    /// Called with the first problem, and only once.
    complain: Box<dyn Fn(&str) + Send + Sync>,
    has_complained: AtomicBool,
}

impl RotatedFile {
    /// Creates the value without opening the file. The first write error will be reported on standard error.
    pub(crate) fn new(path: &Path, setting: &'static str) -> Self {
        let complain = |problem: &str| {
            let _ = writeln!(io::stderr(), "forage: {}", sanitize(problem));
        };
        Self {
            path: path.to_owned(),
            rotate_bytes: ROTATE_BYTES,
            setting,
            writing: Mutex::new(()),
            complain: Box::new(complain),
            has_complained: AtomicBool::new(false),
        }
    }

    /// Appends a line. If this fails, the line is lost: a call must not fail just because its log does.
    pub(crate) fn add(&self, line: &str) {
        if let Err(error) = self.write(line) {
            self.lose(&error);
        }
    }

    /// Reports why lines are lost, unless a problem has been reported before.
    pub(crate) fn lose(&self, why: &dyn Display) {
        let what = "calls still work but are not logged";
        self.complain_once(&format_args!("can't be written: {why}; {what}"));
    }

    fn complain_once(&self, what: &dyn Display) {
        if !self.has_complained.swap(true, Ordering::Relaxed) {
            (self.complain)(&format!("`{}`: {} {what}", self.setting, self.path.display()));
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
            // Another process may have replaced the file before we got the lock.
            if !named.is(&file)? {
                continue;
            }
            let size = file.metadata()?.len();
            // If a line alone exceeds the limit, rotating an empty file would not help.
            let is_full = size > 0 && size + line.len() as u64 > self.rotate_bytes;
            if is_full && is_alone {
                match named.rename(before(&self.path).file_name().unwrap_or_default()) {
                    Ok(()) => continue,
                    // On Windows we can't rename a file that another process has open. The file grows until
                    // we can.
                    Err(error) => self.complain_once(&format_args!("can't be rotated and grows: {error}")),
                }
            }
            // This must be a single write in append mode, so that lines of several processes do not
            // interleave even without the lock.
            let written = file.write_all(line.as_bytes());
            if written.is_err() && is_alone {
                // Remove the partial line, so that the next line does not continue it.
                let _ = file.set_len(size);
            }
            return written;
        }
        Err(io::Error::other("other processes replace it all the time"))
    }

    /// Returns why nothing will be written, if the file exists and can't be trusted, e.g. because of its
    /// owner.
    pub(crate) fn problem(path: &Path) -> Option<PrivateError> {
        NamedFile::at(path).and_then(|named| named.check()).err().filter(PrivateError::is_distrust)
    }
}

/// The path of the rotated generation: `telemetry.jsonl.1`, for example.
pub(crate) fn before(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".1");
    path.with_file_name(name)
}

/// Waits up to [`LOCK_TIME`] for an exclusive lock. Returns true if we got it, or if the file system has no
/// locks.
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests read files of their own")]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_full_file_becomes_the_one_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("logs/telemetry.jsonl");
        let file = RotatedFile { rotate_bytes: 300, ..RotatedFile::new(&path, "telemetry.path") };
        for number in 0..20 {
            file.add(&format!("{}\n", json!({ "number": number, "ts": "2026-01-11T08:30:00.123Z" })));
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

    /// Creates a log file that collects its complaints.
    fn heard(path: &Path, rotate_bytes: u64) -> (RotatedFile, Arc<Mutex<Vec<String>>>) {
        let said = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&said);
        let file = RotatedFile {
            complain: Box::new(move |problem| heard.lock().unwrap().push(problem.to_owned())),
            rotate_bytes,
            ..RotatedFile::new(path, "telemetry.path")
        };
        (file, said)
    }

    #[test]
    fn unrotatable_file_grows_and_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("telemetry.jsonl");
        // This directory is not empty, so a rename can't replace it.
        fs::create_dir_all(directory.path().join("telemetry.jsonl.1/within")).unwrap();
        let (file, said) = heard(&path, 10);
        for number in 0..9 {
            file.add(&format!("{number}{number}{number}\n"));
        }
        let lines: Vec<_> = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 9);
        let said = said.lock().unwrap();
        assert!(said.len() == 1 && said[0].contains("can't be rotated and grows"), "{said:?}");
    }

    #[test]
    fn unwritable_rotated_file_is_reported_once() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "").unwrap();
        let (file, said) = heard(&directory.path().join("file/telemetry.jsonl"), ROTATE_BYTES);
        for _ in 0..3 {
            file.add("{}\n");
        }
        let said = said.lock().unwrap();
        assert!(said.len() == 1 && said[0].contains("file/telemetry.jsonl can't be written"), "{said:?}");
    }

    /// The writers behave like separate processes: each has its own open file.
    #[test]
    fn many_writers_lose_and_mix_no_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("telemetry.jsonl");
        let (writers, lines) = (6, 60);
        // This size allows only one rotation. A second one would delete lines.
        let bytes = 60 * writers * lines * 2 / 3;
        thread::scope(|scope| {
            for writer in 0..writers {
                let path = &path;
                scope.spawn(move || {
                    let file =
                        RotatedFile { rotate_bytes: bytes, ..RotatedFile::new(path, "telemetry.path") };
                    for number in 0..lines {
                        let number = writer * 1_000 + number;
                        file.add(&format!(
                            "{}\n",
                            json!({ "ts": "2026-01-11T08:30:00.123Z", "line": number })
                        ));
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
        RotatedFile::new(&path, "telemetry.path").add("{}\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

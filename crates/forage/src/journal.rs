//! What is kept of calls: in memory, for the same user, and in a file where that is wanted.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Instant;

use forage_fs::PrivatePlace;
use forage_tools::{CallJournal, JournalTarget};
use forage_ui::{CallRecord, CallSink, KeptCalls, ProcessRecord, otlp};

use crate::cli::version;
use crate::config::JournalFormat;
use crate::limits::{JOURNAL_END, JOURNAL_LOOKS, JOURNAL_PAUSE, JOURNAL_WAITING};
use crate::rotated_file::RotatedFile;

/// The calls of this process, and the socket from which the same user reads them.
pub(crate) struct LiveCalls {
    kept: Arc<KeptCalls>,
    #[cfg(unix)]
    _socket: Option<forage_ui::CallSocket>,
    /// Why nobody can read them, although that is wanted.
    pub(crate) problem: Option<String>,
}

impl LiveCalls {
    /// Hands them on from now on, where there is a place for that.
    pub(crate) fn begin(kept: Arc<KeptCalls>, place: Option<PrivatePlace>) -> Self {
        #[cfg(unix)]
        {
            let opened = place.map(|place| forage_ui::CallSocket::open(&place, Arc::clone(&kept)));
            let (socket, problem) = match opened.transpose() {
                Ok(socket) => (socket, None),
                // Calls are answered all the same.
                Err(error) => (None, Some(format!("`forage ui` can't see these calls: {error}"))),
            };
            Self { kept, _socket: socket, problem }
        }
        #[cfg(not(unix))]
        {
            drop(place);
            Self { kept, problem: None }
        }
    }

    /// Where calls of a context go.
    pub(crate) fn target(&self) -> JournalTarget {
        JournalTarget { to: Some(Arc::clone(&self.kept) as Arc<dyn CallJournal>), trace: None }
    }
}

impl Drop for LiveCalls {
    /// The last calls of a process that ends in order are written.
    fn drop(&mut self) {
        self.kept.close();
    }
}

/// A file that calls are written into by a thread in front of the wall, which no call waits for.
pub(crate) struct JournalFile {
    file: Arc<RotatedFile>,
    handed: Arc<HandedRecords>,
    writer: Option<Thread>,
}

/// What is handed to the thread that writes.
#[derive(Default)]
struct HandedRecords {
    records: Mutex<Vec<WrittenRecord>>,
    /// Those that are not written yet: a disk that stands still must not fill the memory.
    unwritten: AtomicUsize,
    /// The thread has to be woken. To wake it takes longer than all else that keeping a call does, so that while there are
    /// calls it looks by itself.
    is_asleep: AtomicBool,
}

/// What is written.
enum WrittenRecord {
    Process(Box<ProcessRecord>),
    Call(Arc<CallRecord>),
}

impl HandedRecords {
    fn records(&self) -> MutexGuard<'_, Vec<WrittenRecord>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what comes, for as long as the process runs.
    fn write(&self, file: &RotatedFile, format: JournalFormat) {
        let mut looks = 0;
        loop {
            let records = std::mem::take(&mut *self.records());
            if !records.is_empty() {
                looks = 0;
                for record in records {
                    if let Some(mut line) = line(&record, format) {
                        line.push('\n');
                        file.add(&line);
                    }
                    self.unwritten.fetch_sub(1, Ordering::AcqRel);
                }
                continue;
            }
            looks += 1;
            if looks < JOURNAL_LOOKS {
                thread::sleep(JOURNAL_PAUSE);
                continue;
            }
            self.is_asleep.store(true, Ordering::SeqCst);
            // One that was handed in before that wakes nobody.
            if self.records().is_empty() {
                thread::park();
            }
            self.is_asleep.store(false, Ordering::SeqCst);
            looks = 0;
        }
    }
}

impl JournalFile {
    pub(crate) fn new(path: &Path, format: JournalFormat, surface: &str) -> Self {
        let file = Arc::new(RotatedFile::new(path, "journal.path"));
        let handed = Arc::<HandedRecords>::default();
        let (inner, written) = (Arc::clone(&handed), Arc::clone(&file));
        let writer = thread::Builder::new().name("journal".to_owned());
        let writer = writer.spawn(move || inner.write(&written, format)).map_err(|error| file.lose(&error));
        let writer = writer.ok().map(|writer| writer.thread().clone());
        let journal = Self { file, handed, writer };
        journal.hand(WrittenRecord::Process(Box::new(ProcessRecord::own(surface, &version()))));
        journal
    }

    fn hand(&self, record: WrittenRecord) {
        let Some(writer) = &self.writer else { return };
        if self.handed.unwritten.fetch_add(1, Ordering::AcqRel) >= JOURNAL_WAITING {
            self.handed.unwritten.fetch_sub(1, Ordering::AcqRel);
            self.file.lose(&format_args!("{JOURNAL_WAITING} calls wait for it"));
            return;
        }
        self.handed.records().push(record);
        if self.handed.is_asleep.swap(false, Ordering::SeqCst) {
            writer.unpark();
        }
    }
}

impl CallSink for JournalFile {
    fn take(&self, call: Arc<CallRecord>) {
        self.hand(WrittenRecord::Call(call));
    }

    fn finish(&self) {
        let until = Instant::now() + JOURNAL_END;
        while self.handed.unwritten.load(Ordering::Acquire) > 0 && Instant::now() < until {
            thread::sleep(JOURNAL_PAUSE);
        }
    }
}

/// A line of the file.
fn line(entry: &WrittenRecord, format: JournalFormat) -> Option<String> {
    match (format, entry) {
        (JournalFormat::Records, WrittenRecord::Process(process)) => serde_json::to_string(process).ok(),
        (JournalFormat::Records, WrittenRecord::Call(call)) => serde_json::to_string(&**call).ok(),
        (JournalFormat::Otlp, WrittenRecord::Process(_)) => None,
        (JournalFormat::Otlp, WrittenRecord::Call(call)) => {
            Some(otlp::traces(&[&**call], &version()).to_string())
        }
    }
}

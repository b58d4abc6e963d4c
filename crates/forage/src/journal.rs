//! The journal of calls. It keeps records in memory, offers them to the same user over a socket, and writes
//! them to a file if one is configured.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use forage_fs::PrivatePlace;
use forage_tools::{CallHead, CallSink};
use forage_ui::{CallRecord, ProcessRecord, RecentCalls, otlp};
use serde_json::json;

use crate::cli::version;
use crate::config::JournalFormat;
use crate::limits::{JOURNAL_END, JOURNAL_LOOKS, JOURNAL_PAUSE, JOURNAL_WAITING};
use crate::rotated_file::RotatedFile;

/// The calls of this process, and the socket over which the same user can read them.
pub(crate) struct LiveCalls {
    kept: Arc<RecentCalls>,
    #[cfg(unix)]
    _socket: Option<forage_ui::CallSocket>,
    /// Why `forage ui` can't read the calls, if it should be able to.
    pub(crate) problem: Option<String>,
}

impl LiveCalls {
    /// Starts to publish the calls over a socket, if `place` is given.
    pub(crate) fn begin(kept: Arc<RecentCalls>, place: Option<PrivatePlace>) -> Self {
        #[cfg(unix)]
        {
            let opened = place.map(|place| forage_ui::CallSocket::open(&place, Arc::clone(&kept)));
            let (socket, problem) = match opened.transpose() {
                Ok(socket) => (socket, None),
                // We can still answer calls without a socket.
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

    /// Returns the journal to set in the observers of a context.
    pub(crate) fn journal(&self) -> Arc<dyn CallSink<CallHead>> {
        Arc::clone(&self.kept) as _
    }
}

impl Drop for LiveCalls {
    /// Writes the last calls. This runs only if the process ends normally.
    fn drop(&mut self) {
        self.kept.close();
    }
}

/// The journal's file. A separate thread writes it, so that no call has to wait for the disk. The thread is
/// started outside of the sandbox, because the directory of the file is not accessible inside it.
pub(crate) struct JournalFile {
    file: Arc<RotatedFile>,
    writer: Mutex<Option<JournalWriter>>,
}

/// The ends of the channels to the writer thread.
struct JournalWriter {
    calls: SyncSender<Arc<CallRecord>>,
    /// The writer thread closes this channel once all calls are written.
    done: Receiver<()>,
}

impl JournalFile {
    pub(crate) fn new(path: &Path, format: JournalFormat, surface: &str) -> Self {
        let file = Arc::new(RotatedFile::new(path, "journal.path"));
        let process = ProcessRecord::own(surface, &version());
        // The queue must be bounded so that a blocked disk can't fill the memory.
        let (calls, received) = sync_channel(JOURNAL_WAITING);
        let (is_writing, done) = sync_channel(0);
        let written = Arc::clone(&file);
        let write = move || {
            if format == JournalFormat::Records {
                written.add(&format!("{}\n", json!(process)));
            }
            while let Some(call) = next(&received) {
                let line = match format {
                    JournalFormat::Records => serde_json::to_string(&*call).unwrap_or_default(),
                    JournalFormat::Otlp => otlp::traces(&[&*call], &version()).to_string(),
                };
                written.add(&format!("{line}\n"));
            }
            drop(is_writing);
        };
        if let Err(error) = thread::Builder::new().name("journal".to_owned()).spawn(write) {
            file.lose(&error);
        }
        Self { file, writer: Mutex::new(Some(JournalWriter { calls, done })) }
    }

    fn writer(&self) -> MutexGuard<'_, Option<JournalWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the next call. Waking a blocked thread takes longer than all the other work of recording a call,
/// so this polls for a while before it blocks.
fn next(calls: &Receiver<Arc<CallRecord>>) -> Option<Arc<CallRecord>> {
    for _ in 0..JOURNAL_LOOKS {
        match calls.try_recv() {
            Err(TryRecvError::Empty) => thread::sleep(JOURNAL_PAUSE),
            result => return result.ok(),
        }
    }
    calls.recv().ok()
}

impl CallSink<Arc<CallRecord>> for JournalFile {
    fn ended(&self, call: Arc<CallRecord>) {
        let sent = self.writer().as_ref().map(|writer| writer.calls.try_send(call));
        if let Some(Err(TrySendError::Full(_))) = sent {
            self.file.lose(&format_args!("{JOURNAL_WAITING} calls are waiting for it"));
        }
    }

    fn finish(&self) {
        let Some(JournalWriter { calls, done }) = self.writer().take() else { return };
        drop(calls);
        let _ = done.recv_timeout(JOURNAL_END);
    }
}

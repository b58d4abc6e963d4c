//! Records agents' calls and shows them on a local page. The process that answers a call keeps it in memory
//! and passes it to other processes of the same user.
//!
//! A process that answers calls sets a [`RecentCalls`] as the journal of its contexts, and opens a
//! [`CallSocket`] from which the same user reads the calls. [`serve`] serves the page for all running
//! processes and for files. We never keep or pass on text of files. If a user asks for the text of an answer,
//! we repeat the call.

mod api;
mod call_history;
mod connections;
mod files;
#[cfg(test)]
mod fuzz;
pub mod limits;
mod look;
pub mod otlp;
#[cfg(unix)]
mod processes;
mod query;
mod recent_calls;
pub mod record;
mod server;
#[cfg(unix)]
mod socket;

use std::fs::File;
use std::sync::Arc;

use forage_fs::PrivatePlace;

use self::api::Api;
use self::call_history::CallHistory;

pub use self::files::JournalPart;
pub use self::look::PageHost;
pub use self::recent_calls::{JournalSink, RecentCalls};
pub use self::record::{CallRecord, ProcessRecord};
pub use self::server::PageError;
#[cfg(unix)]
pub use self::socket::{CallSocket, SocketError};

/// The calls that the page shows.
pub struct PageCalls(Arc<CallHistory>);

impl Default for PageCalls {
    fn default() -> Self {
        Self(Arc::new(CallHistory::new()))
    }
}

impl PageCalls {
    /// Adds the calls of a transcript, a recording or a journal.
    ///
    /// # Errors
    ///
    /// Fails with a sentence that says why the file can't be shown.
    pub fn file(&self, file: File, name: &str) -> Result<(), String> {
        files::read(&self.0, file, name)
    }

    /// Adds the calls of all running processes, from now on.
    pub fn processes(&self, place: PrivatePlace) {
        #[cfg(unix)]
        processes::watch(&self.0, place);
        #[cfg(not(unix))]
        {
            let _ = place;
            self.0.note(
                "calls of running processes can't be shown on this system; keep a journal instead".to_owned(),
            );
        }
    }

    /// Adds the calls of a journal while other processes write it. `open` must open the requested part each
    /// time, because rotation may have replaced the file.
    pub fn journal(&self, open: impl FnMut(JournalPart) -> Option<File> + Send + 'static) {
        files::follow(&self.0, open);
    }

    /// Adds a note for the reader of the page.
    pub fn note(&self, note: String) {
        self.0.note(note);
    }

    /// Returns all calls known so far, in order of arrival.
    pub fn calls(&self) -> Vec<Arc<CallRecord>> {
        self.0.calls()
    }
}

/// Serves the page on a port of this machine (0 picks a free port) until `ended` completes. `listening` is
/// called with the address, which includes the token.
///
/// # Errors
///
/// Returns [`PageError`] if the port, a token or the server is not available.
pub fn serve(
    shown: &PageCalls,
    look: Arc<dyn PageHost>,
    port: u16,
    listening: impl FnOnce(&str),
    ended: impl Future<Output = ()>,
) -> Result<(), PageError> {
    server::serve(Api { gathered: Arc::clone(&shown.0), look }, port, listening, ended)
}

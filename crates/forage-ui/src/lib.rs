//! What agents asked and what they were shown: kept in memory by the process that answers, handed to the same user, and shown by
//! a page on this machine.
//!
//! A process that answers calls has a [`KeptCalls`] as the journal of its contexts, and a [`CallSocket`] from which the same user
//! reads them. [`serve`] is the page over all processes that run, and over files. No text of files is kept or handed on: what a
//! call has shown is made again when somebody asks for it.

mod api;
mod files;
#[cfg(test)]
mod fuzz;
mod kept;
pub mod limits;
mod look;
pub mod otlp;
#[cfg(unix)]
mod processes;
mod query;
pub mod record;
mod seen;
mod server;
#[cfg(unix)]
mod socket;

use std::fs::File;
use std::sync::Arc;

use forage_fs::PrivatePlace;

use self::api::Api;
use self::seen::SeenCalls;

pub use self::files::JournalPart;
pub use self::kept::{CallSink, KeptCalls};
pub use self::look::PageHost;
pub use self::record::{CallRecord, ProcessRecord};
pub use self::server::PageError;
#[cfg(unix)]
pub use self::socket::{CallSocket, SocketError};

/// What is shown.
pub struct Shown(Arc<SeenCalls>);

impl Default for Shown {
    fn default() -> Self {
        Self(Arc::new(SeenCalls::new()))
    }
}

impl Shown {
    /// The calls of a transcript, a recording or a journal.
    ///
    /// # Errors
    /// In a sentence, why it can't be shown.
    pub fn file(&self, file: File, name: &str) -> Result<(), String> {
        files::read(&self.0, file, name)
    }

    /// The calls of processes that run, from now on.
    pub fn processes(&self, place: PrivatePlace) {
        #[cfg(unix)]
        processes::watch(&self.0, place);
        #[cfg(not(unix))]
        {
            let _ = place;
            self.0
                .note("calls of processes that run are not shown on this system; a journal's are".to_owned());
        }
    }

    /// The calls of a journal, as long as others write it; `open` opens it each time, as another file may have taken its place,
    /// or the file before it.
    pub fn journal(&self, open: impl FnMut(JournalPart) -> Option<File> + Send + 'static) {
        files::follow(&self.0, open);
    }

    /// Something that whoever looks should know.
    pub fn note(&self, note: String) {
        self.0.note(note);
    }

    /// All calls that are known now, in the order in which they came.
    pub fn calls(&self) -> Vec<Arc<CallRecord>> {
        self.0.calls()
    }
}

/// Serves the page on a port of this machine, 0 for a free one; `listening` is told its address, with the token. It ends with
/// `ended`.
///
/// # Errors
/// [`PageError`].
pub fn serve(
    shown: &Shown,
    look: Arc<dyn PageHost>,
    port: u16,
    listening: impl FnOnce(&str),
    ended: impl Future<Output = ()>,
) -> Result<(), PageError> {
    server::serve(Api { gathered: Arc::clone(&shown.0), look }, port, listening, ended)
}

//! `[journal]`: the record of calls for `forage ui`.

use std::sync::Arc;

use forage_fs::PrivatePlace;
use forage_ui::{JournalSink, RecentCalls};

use super::{Config, environment};
use crate::cli::version;
use crate::journal::{JournalFile, LiveCalls};
use crate::rotated_file::RotatedFile;

/// Lists the directories of the sockets over which processes publish their calls to the same user. The list
/// is empty if there is no suitable directory.
pub(crate) fn call_sockets() -> Vec<PrivatePlace> {
    environment::runtime_directories()
}

impl Config {
    /// Creates the recorder that stores and publishes the calls of a server or an agent. Returns `None` if
    /// the user wants neither. This must be called before the sandbox is entered.
    pub(crate) fn live_calls(&self, surface: &str) -> Option<LiveCalls> {
        let journal = &self.settings.journal;
        let file = self
            .settings
            .journal
            .path
            .as_deref()
            .map(|path| Box::new(JournalFile::new(path, journal.format, surface)) as Box<JournalSink>);
        if file.is_none() && !journal.live {
            return None;
        }
        let kept = Arc::new(RecentCalls::new(surface, &version(), file));
        let place = call_sockets().into_iter().next().filter(|_| journal.live);
        Some(LiveCalls::begin(kept, place))
    }

    /// Explains why nothing is written to the journal, if the existing file can't be trusted.
    pub(crate) fn journal_problem(&self) -> Option<String> {
        let problem = RotatedFile::problem(self.settings.journal.path.as_deref()?)?;
        Some(format!("`journal.path` has no effect: {problem}"))
    }
}

//! `[journal]`: what is kept of calls for `forage ui`.

use std::sync::Arc;

use forage_fs::PrivatePlace;
use forage_ui::{CallSink, KeptCalls};

use super::{Config, environment};
use crate::cli::version;
use crate::journal::{JournalFile, LiveCalls};
use crate::rotated_file::RotatedFile;

/// Where processes hand their calls to the same user; nowhere when there is no telling where that is.
pub(crate) fn call_sockets() -> Vec<PrivatePlace> {
    environment::runtime_directories()
}

impl Config {
    /// What keeps the calls of a server or an agent, and hands them on; nothing where neither is wanted. It has to be asked in
    /// front of the wall.
    pub(crate) fn live_calls(&self, surface: &str) -> Option<LiveCalls> {
        let journal = &self.settings.journal;
        let file = self
            .settings
            .journal
            .path
            .as_deref()
            .map(|path| Box::new(JournalFile::new(path, journal.format, surface)) as Box<dyn CallSink>);
        if file.is_none() && !journal.live {
            return None;
        }
        let kept = Arc::new(KeptCalls::new(surface, &version(), file));
        let place = call_sockets().into_iter().next().filter(|_| journal.live);
        Some(LiveCalls::begin(kept, place))
    }

    /// Why nothing is kept in it, if something is in its place that can't be trusted.
    pub(crate) fn journal_problem(&self) -> Option<String> {
        let problem = RotatedFile::problem(self.settings.journal.path.as_deref()?)?;
        Some(format!("`journal.path` has no effect: {problem}"))
    }
}

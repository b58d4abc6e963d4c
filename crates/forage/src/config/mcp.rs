//! `[mcp]`: the settings of the server.

use std::path::{Path, PathBuf};

use super::Config;

/// The beginning of the server's instructions if its settings can't be used.
pub(crate) const UNUSABLE: &str = "Forage can't search, because its settings can't be used: ";

impl Config {
    /// Returns the directories beneath which a client may choose the roots.
    pub(crate) fn client_roots(&self, working: &Path) -> Vec<PathBuf> {
        let home = self.home.as_deref();
        let absolute = |directory: &PathBuf| match directory.strip_prefix("~") {
            Ok(below) => Some(home?.join(below)),
            Err(_) => Some(working.join(directory)),
        };
        match &self.settings.mcp.client_roots {
            Some(directories) => directories.iter().filter_map(absolute).collect(),
            None => home.map(Path::to_owned).into_iter().chain([working.to_owned()]).collect(),
        }
    }
}

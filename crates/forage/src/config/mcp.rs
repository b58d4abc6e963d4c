//! `[mcp]`: the settings of the server.

use std::path::{Path, PathBuf};

use super::{Config, UserPath};

/// The beginning of the server's instructions if its settings can't be used.
pub(crate) const UNUSABLE: &str = "Forage can't search, because its settings can't be used: ";

impl Config {
    /// Lists the directories below which a client may choose the roots. `standing` is the client's own
    /// directory, if we know it.
    pub(crate) fn client_roots(&self, standing: Option<&Path>) -> Vec<PathBuf> {
        let absolute = |directory: &UserPath| match directory.is_absolute() {
            true => Some(directory.to_path_buf()),
            false => Some(standing?.join(directory)),
        };
        match &self.settings.mcp.client_roots {
            Some(directories) => directories.iter().filter_map(absolute).collect(),
            None => self.home.as_deref().into_iter().chain(standing).map(Path::to_owned).collect(),
        }
    }
}

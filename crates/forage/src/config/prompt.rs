//! The user's own prompts, in files that the configuration names.

use std::io::Read as _;
use std::path::Path;

use anyhow::bail;
use forage_fs::open_named;

use super::Config;

impl Config {
    /// Reads the file that `key` names. A relative path is relative to the directory of the configuration
    /// file.
    ///
    /// # Errors
    ///
    /// Returns an error for anything but a regular file, and for a file that is empty or has more than `max`
    /// bytes.
    pub(super) fn prompt(&self, key: &str, path: &Path, max: u64) -> anyhow::Result<String> {
        let source = self.source(key);
        let path = self.file().parent().unwrap_or(Path::new(".")).join(path);
        let read = || -> anyhow::Result<String> {
            let mut text = String::new();
            open_named(&path, max)?.take(max).read_to_string(&mut text)?;
            Ok(text)
        };
        let text = read().map_err(|error| {
            // The error of opening a file may already contain the path.
            let (error, path) = (error.to_string(), path.display().to_string());
            let named = if error.contains(&path) { error } else { format!("{path}: {error}") };
            anyhow::anyhow!("`{key}` ({source}): {named}; name a readable file of UTF-8 text")
        })?;
        if text.trim().is_empty() {
            bail!("`{key}` ({source}): {} is empty; write the prompt into it", path.display());
        }
        Ok(text)
    }
}

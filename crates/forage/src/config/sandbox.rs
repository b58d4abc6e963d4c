//! `sandbox`: whether the kernel keeps the server from other files, and from which.

use std::path::{Path, PathBuf};

use anyhow::bail;
use forage::sandbox::{self, Access, Level};
use forage_tools::EngineSetting;

use super::{Config, environment};
use crate::answer_cache;
use crate::private_file;

/// What `sandbox` can be.
const MODES: [&str; 3] = ["auto", "off", "require"];

impl Config {
    pub(super) fn check_sandbox(&self) -> anyhow::Result<()> {
        if !MODES.contains(&self.sandbox.value.as_str()) {
            let (source, value) = (&self.sandbox.source, &self.sandbox.value);
            bail!("`sandbox` ({source}): {value:?} is none of \"auto\", \"off\", \"require\"");
        }
        Ok(())
    }

    /// Restricts this thread, and what it starts from now on, to reading these roots, the directories from which clients
    /// may choose theirs, and what the program itself needs. With `sandbox = "require"` or `is_required`, anything less than a full wall is an error.
    pub(crate) fn enforce_sandbox(
        &self,
        roots: &[&Path],
        for_clients: &[PathBuf],
        is_required: bool,
    ) -> anyhow::Result<Level> {
        let is_required = is_required || self.sandbox.value == "require";
        let level = match self.sandbox.value == "off" && !is_required {
            true => Level::None { reason: format!("`sandbox` is \"off\" ({})", self.sandbox.source) },
            false => {
                let mut access = self.access(roots);
                access.read.extend_from_slice(for_clients);
                sandbox::restrict(&access)
            }
        };
        if is_required && !level.is_full() {
            bail!("the sandbox is required and stands only in part or not at all: {level}");
        }
        Ok(level)
    }

    /// What the user wants: `auto`, `off` or `require`.
    pub(crate) fn sandbox_mode(&self) -> &str {
        &self.sandbox.value
    }

    /// What a server that searches these roots has to reach.
    pub(crate) fn access(&self, roots: &[&Path]) -> Access {
        let mut access = Access::of_the_system();
        access.read.extend(roots.iter().map(|root| root.to_path_buf()));
        access.read.extend(self.file.parent().map(Path::to_owned));
        access.write.extend(self.writable_cache(roots));
        access.write.extend(self.writable_for_lookups(roots));
        if let EngineSetting::External { programs, .. } = self.search_settings(roots).engine {
            access.execute.extend(programs.iter().map(|program| program.path().to_owned()));
        }
        access
    }

    /// Where the embedded store and telemetry write.
    fn writable_for_lookups(&self, roots: &[&Path]) -> Vec<PathBuf> {
        let collections = self.keeps_collections().then(|| self.collections_directory().ok()).flatten();
        let telemetry = self.telemetry_path().and_then(Path::parent).map(Path::to_owned);
        let directories = collections.into_iter().chain(telemetry).map(|path| answer_cache::resolved(&path));
        let is_outside = |path: &PathBuf| !roots.iter().any(|root| path.starts_with(root));
        directories.filter(|path| is_outside(path) && private_file::create_directory(path).is_ok()).collect()
    }

    /// The cache directory, which has to be there before anything is restricted; never within a root.
    fn writable_cache(&self, roots: &[&Path]) -> Option<PathBuf> {
        let place = environment::cache_directory()?;
        let directory = answer_cache::resolved(&place.path());
        if roots.iter().any(|root| directory.starts_with(root)) {
            return None;
        }
        place.create().ok()?;
        Some(directory)
    }
}

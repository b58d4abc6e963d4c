//! Records where a walk left out hidden files, for a later walk that visits only these.

use crate::limits;
use crate::rel_path::RelPath;
use crate::skipped::{SkipReason, Skipped};

/// The directories in which a walk left out entries, due to a rule or their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcludingDirectories {
    /// In path order.
    paths: Vec<RelPath>,
    /// True if there were more than we keep.
    is_partial: bool,
}

impl ExcludingDirectories {
    /// Returns true if there are no such directories.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.is_partial
    }

    /// Adds a directory if the counts of listing it include hidden entries.
    pub(super) fn note(&mut self, directory: &RelPath, skipped: &Skipped) {
        let reasons = [SkipReason::Ignored, SkipReason::Hidden, SkipReason::Pruned];
        if reasons.iter().any(|reason| skipped.get(*reason) > 0) {
            self.add(directory.clone());
        }
    }

    /// Adds the directories of another walk, or of another part of this one.
    pub(super) fn merge(&mut self, others: Self) {
        self.is_partial |= others.is_partial;
        others.paths.into_iter().for_each(|path| self.add(path));
    }

    fn add(&mut self, path: RelPath) {
        // This is nearly always the end, because walks report in order.
        let at = self.paths.partition_point(|other| *other < path);
        if self.paths.get(at) == Some(&path) {
            return;
        }
        match self.paths.len() < limits::HIDING_DIRECTORIES {
            true => self.paths.insert(at, path),
            false => self.is_partial = true,
        }
    }

    /// Returns true if `directory` is one of them or above one.
    pub(super) fn leads_to(&self, directory: &RelPath) -> bool {
        let at = self.paths.partition_point(|path| path < directory);
        self.is_partial || self.paths.get(at).is_some_and(|path| path.starts_with(directory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text, &RelPath::root()).unwrap()
    }

    fn hidden() -> Skipped {
        let mut skipped = Skipped::default();
        skipped.add(SkipReason::Hidden);
        skipped
    }

    #[test]
    fn only_ancestors_lead_to_a_directory() {
        let mut hiding = ExcludingDirectories::default();
        let mut binary = Skipped::default();
        binary.add(SkipReason::Binary);
        hiding.note(&path("other"), &binary);
        assert!(hiding.is_empty() && !hiding.leads_to(&RelPath::root()));
        ["src/b/c", "src-old", "a", "src/b/c"].iter().for_each(|name| hiding.note(&path(name), &hidden()));
        let leading = [".", "a", "src", "src/b", "src/b/c", "src-old"];
        let others = ["b", "src/a", "src/b/b", "src/b/c/d", "src-", "src-old/x", "z"];
        assert!(leading.iter().all(|name| hiding.leads_to(&path(name))));
        assert!(others.iter().all(|name| !hiding.leads_to(&path(name))));
    }

    #[test]
    fn overflow_includes_every_directory() {
        let mut hiding = ExcludingDirectories::default();
        (0..=limits::HIDING_DIRECTORIES)
            .for_each(|number| hiding.note(&path(&format!("d{number}")), &hidden()));
        assert!(hiding.leads_to(&path("anything")) && hiding.paths.len() == limits::HIDING_DIRECTORIES);
    }
}

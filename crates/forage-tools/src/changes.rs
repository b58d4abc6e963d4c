//! Limits a search to the files that changed between two commits, or between a commit and the working tree.

use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{FileSet, Globs, RelPath, Root, WalkOptions};
use forage_git::{
    ChangeKind, ChangeSet, Comparison, FileMode, HistoryError, ObjectError, Repository, RevisionError,
};

use crate::error::ToolError;
use crate::limits;
use crate::text::{absolute, clip, count, quoted};

/// The name of the argument.
pub(crate) const CHANGED: &str = "changed";

/// The word for a change in records.
pub(crate) fn change_word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::TypeChanged => "type changed",
        ChangeKind::Deleted => "deleted",
        ChangeKind::Renamed => "renamed",
        ChangeKind::Untracked => "untracked",
        ChangeKind::Conflicted => "conflicted",
    }
}

/// The changed files of a root.
#[derive(Clone, Debug)]
pub struct ChangedFiles {
    /// The changed files that still exist, under their current paths.
    pub files: Arc<FileSet>,
    /// Number of files that two commits differ in and that the working tree does not have.
    absent: usize,
    /// Number of changed submodules. Their files belong to other repositories.
    submodules: usize,
    pub(crate) set: ChangeSet,
    /// The range or revision as the caller wrote it.
    pub(crate) range: String,
}

impl ChangedFiles {
    /// Reads the changed files. `range` is `A...B`, `A..B`, or a revision to compare with the working tree.
    ///
    /// # Errors
    ///
    /// Fails if the root has no readable repository, or if the range names no commits.
    pub fn read(root: &Arc<Root>, range: &str, stop: &Stop) -> Result<Self, ToolError> {
        let refused = |problem: String| ToolError::argument(CHANGED, problem);
        let mut repository = Repository::open(root, stop).map_err(|error| match error {
            HistoryError::NoRepository => {
                refused(format!("{} has no git repository at its top", absolute(root, &RelPath::root())))
            }
            error => refused(error.to_string()),
        })?;
        let set = repository.changes(&Comparison::parse(range)).map_err(|error| match error {
            RevisionError::Object(ObjectError::Stopped) if stop.is_cancelled() => ToolError::Cancelled,
            error => refused(clip(&error.to_string(), limits::NOTE_BYTES)),
        })?;
        let (mut files, mut absent, mut submodules) = (Vec::new(), 0, 0);
        for file in set.files.iter().filter(|file| file.kind != ChangeKind::Deleted) {
            let Ok(path) = RelPath::from_bytes(&file.path, &RelPath::root()) else { continue };
            if file.after.is_some_and(|version| version.mode == FileMode::Submodule) {
                submodules += 1;
            } else if set.after.is_some() && !exists(root, &path) {
                absent += 1;
            } else {
                files.push(path);
            }
        }
        let files = Arc::new(files.into_iter().collect());
        Ok(Self { files, absent, submodules, set, range: range.trim().to_owned() })
    }

    /// Narrows a walk to these files. Since ignore rules do not apply to tracked files, ignored and hidden
    /// files that changed are searched as well.
    #[must_use]
    pub fn narrow(&self, options: WalkOptions) -> WalkOptions {
        let only = Some(Globs::among(options.only, &self.files));
        WalkOptions { only, hidden: true, no_ignore: true, snapshot: None, ..options }
    }

    /// Checks that a path is a directory or a changed file.
    pub(crate) fn check(&self, root: &Root, path: &RelPath) -> Result<(), ToolError> {
        let is_file = root.locate(path).is_ok_and(|(_, is_directory)| !is_directory);
        if !is_file || self.files.has(path) {
            return Ok(());
        }
        let problem = format!("{} has not changed; omit this filter, or name another path", path.display());
        Err(ToolError::argument(CHANGED, problem))
    }

    /// Describes the changed files that are not searched.
    pub fn notes(&self) -> Vec<String> {
        let range = quoted(if self.range.is_empty() { "HEAD" } else { &self.range });
        if self.set.files.is_empty() {
            return vec![format!("no file has changed ({range})")];
        }
        let deleted = self.set.files.iter().filter(|file| file.kind == ChangeKind::Deleted).count();
        let deleted = (deleted > 0).then(|| match deleted {
            1 => "1 changed file was deleted, so it was not searched".to_owned(),
            _ => format!("{} were deleted, so they were not searched", count(deleted as u64, "changed file")),
        });
        let absent = (self.absent > 0).then(|| match self.absent {
            1 => "1 changed file is not in the working tree, so it was not searched".to_owned(),
            all => format!(
                "{} are not in the working tree, so they were not searched",
                count(all as u64, "changed file")
            ),
        });
        let submodules = (self.submodules > 0).then(|| {
            let submodules = count(self.submodules as u64, "changed submodule");
            format!("not searched, because it is another repository: {submodules}")
        });
        deleted.into_iter().chain(absent).chain(submodules).chain(self.incomplete()).collect()
    }

    /// Describes the limits that cut the change set.
    pub(crate) fn incomplete(&self) -> impl Iterator<Item = String> {
        let renames = (!self.set.has_all_renames).then(|| {
            "too many or too large files were added and deleted to find all renames of edited files"
                .to_owned()
        });
        let untracked = (!self.set.has_all_untracked)
            .then(|| "there are more untracked files than are listed".to_owned());
        renames.into_iter().chain(untracked)
    }
}

/// Returns true if the working tree has an entry at this path.
fn exists(root: &Root, path: &RelPath) -> bool {
    let names = path.parent().and_then(|directory| root.look_into(&directory).ok());
    names.is_some_and(|names| !matches!(names.status(path.file_name()), Ok(None)))
}

//! Files of another revision. `REV:path` names one, and `ref:REV` all of them. We read them from the
//! repository without a checkout.

use std::fmt;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{OpenError, RelPath, Root, SkipReason, display_path};
use forage_git::{FileMode, HistoryError, ObjectError, ObjectId, Repository, RevisionError, StoredEntry};
use forage_search::{ReadStored, StoredTexts};

use crate::call::Call;
use crate::error::ToolError;
use crate::limits;
use crate::sanitize::sanitize_line;
use crate::text::clip;

/// The prefix of a revision without a path.
const REF: &str = "ref:";

/// A commit whose files we read instead of those of the working tree.
#[derive(Clone, Debug)]
pub(crate) struct Revision {
    id: ObjectId,
    /// The revision as the caller wrote it.
    pub(crate) name: String,
}

/// An entry of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RevisionEntry {
    Directory,
    File(ObjectId),
}

/// The root of a repository, a path in it, and the revision to read it at.
pub(crate) type RevisionPlace = (Arc<Root>, RelPath, Revision);

impl Call {
    /// Parses `REV:path` or `ref:REV` and resolves the revision. Returns `None` for a text of another form,
    /// or if the first part is not a revision.
    pub(crate) fn revision(&self, text: &str) -> Option<Result<RevisionPlace, ToolError>> {
        let (is_meant, rest) = match text.trim().strip_prefix(REF) {
            Some(rest) => (true, rest),
            None => (false, text.trim()),
        };
        let (name, path) = match rest.split_once(':') {
            Some((name, path)) => (name, path),
            None if is_meant => (rest, ""),
            None => return None,
        };
        let refused = |problem: String| ToolError::argument("path", clip(&problem, limits::NOTE_BYTES));
        if name.is_empty() && is_meant {
            let problem =
                format!("`{REF}` has no revision; give one, as in `{REF}main` or `{REF}HEAD~3:src`");
            return Some(Err(refused(problem)));
        }
        // On Windows, a single letter is a drive.
        if !is_meant && (name.is_empty() || cfg!(windows) && name.len() == 1) {
            return None;
        }
        let root = Arc::clone(self.roots.main());
        let mut repository = match Repository::open(&root, &self.stop) {
            Ok(repository) => repository,
            Err(error) => {
                // If there is a repository that we can't read, the text may still name a revision. We then
                // report the real problem, not a missing path.
                let is_hidden = error != HistoryError::NoRepository && is_like_a_revision(&root, name, path);
                return (is_meant || is_hidden)
                    .then(|| Err(refused(format!("{rest} can't be read: {error}"))));
            }
        };
        let id = match repository.resolve(name) {
            Ok(id) => id,
            // Without the prefix, the text may be a path with a colon.
            Err(error) => {
                let is_revision =
                    is_meant || is_of_a_revision(&error, name) && is_like_a_revision(&root, name, path);
                return is_revision.then(|| Err(refused(error.to_string())));
            }
        };
        let path = RelPath::parse(if path.is_empty() { "." } else { path }, &RelPath::root());
        let path = path.map_err(|error| refused(error.to_string()));
        Some(path.map(|path| (root, path, Revision { id, name: name.to_owned() })))
    }
}

/// Returns true for an error that only a revision can have, not a path with a colon.
fn is_of_a_revision(error: &RevisionError, name: &str) -> bool {
    match error {
        RevisionError::Unknown(_) | RevisionError::Malformed(_) => name.contains(['~', '^']),
        RevisionError::NoCommit(_) | RevisionError::Unreadable(_) => false,
        _ => true,
    }
}

/// Returns true if `name:path` looks like a file of a revision, for a repository that we can't ask. This is
/// false for a file with a line number, a qualified name (`a::b`) or a URL.
pub(crate) fn is_like_a_revision(root: &Root, name: &str, path: &str) -> bool {
    let is_path = RelPath::parse(name, &RelPath::root()).is_ok_and(|path| root.locate(&path).is_ok());
    let is_line = path.starts_with(|first: char| first.is_ascii_digit());
    !is_path && !is_line && !path.starts_with([':', '/']) && !name.contains(char::is_whitespace)
}

impl Revision {
    /// The id of the commit.
    pub(crate) fn id(&self) -> ObjectId {
        self.id
    }

    /// Formats a path so that callers can use it again.
    pub(crate) fn shown(&self, path: &str) -> String {
        format!("{}:{}", sanitize_line(&self.name), if path == "." { "" } else { path })
    }

    /// Looks up the entry at a path.
    ///
    /// # Errors
    ///
    /// Fails if there is no entry, or if we must not read it.
    pub(crate) fn entry(
        &self,
        root: &Arc<Root>,
        path: &RelPath,
        stop: &Stop,
    ) -> Result<RevisionEntry, ToolError> {
        let shown = || self.shown(&path.display());
        if let Some(rule) = root.secrets().denies(path) {
            return Err(OpenError::Secret { path: shown(), rule: rule.to_owned() }.into());
        }
        let refused = |problem: String| Err(ToolError::argument("path", problem));
        let mut repository = self.open(root, stop)?;
        match repository.entry(&self.id, path.as_bytes()).map_err(unread)? {
            Some(StoredEntry::Directory) => Ok(RevisionEntry::Directory),
            Some(StoredEntry::File(FileMode::Regular | FileMode::Executable, id)) => {
                Ok(RevisionEntry::File(id))
            }
            Some(StoredEntry::File(FileMode::Symlink, id)) => {
                let target = repository.blob(&id).map_err(unread)?;
                let target = clip(&display_path(&target), limits::QUOTED_BYTES);
                refused(format!("{} is a symbolic link to {target}; name the file that it leads to", shown()))
            }
            Some(StoredEntry::File(FileMode::Submodule, _)) => {
                refused(format!("{} is a submodule, so its files are in another repository", shown()))
            }
            None => match submodule_above(&mut repository, &self.id, path) {
                Some(module) => {
                    let module = self.shown(&module.display());
                    refused(format!("{module} is a submodule, so its files are in another repository"))
                }
                None => Err(OpenError::NotFound { path: shown() }.into()),
            },
        }
    }

    /// Reads a file.
    pub(crate) fn read(&self, root: &Arc<Root>, path: &RelPath, stop: &Stop) -> Result<Vec<u8>, ToolError> {
        match self.entry(root, path, stop)? {
            RevisionEntry::File(id) => Ok(self.open(root, stop)?.blob(&id).map_err(unread)?.to_vec()),
            RevisionEntry::Directory => {
                Err(OpenError::IsDirectory { path: self.shown(&path.display()) }.into())
            }
        }
    }

    /// Lists the regular files below a directory, or the file at a path.
    pub(crate) fn texts(
        &self,
        root: &Arc<Root>,
        start: &RelPath,
        stop: &Stop,
    ) -> Result<Arc<RevisionTexts>, ToolError> {
        Ok(Arc::new(RevisionTexts::new(root, self.stored(root, start, stop)?)))
    }

    /// Lists the same files as [`Revision::texts`], and the links and submodules there, in path order.
    pub(crate) fn listing(
        &self,
        root: &Arc<Root>,
        start: &RelPath,
        stop: &Stop,
    ) -> Result<(Arc<RevisionTexts>, Vec<OtherEntry>), ToolError> {
        let stored = self.stored(root, start, stop)?;
        let mut repository = self.open(root, stop)?;
        let mut others = Vec::new();
        for (path, mode, id) in stored.iter().filter(|file| !file.1.is_regular()) {
            // A partial clone may lack the content of a link.
            let mut target = || repository.blob(id).map(|target| display_path(&target).into_owned());
            let target = (*mode == FileMode::Symlink).then(|| target().unwrap_or_default());
            others.push(OtherEntry { path: path.clone(), target });
        }
        Ok((Arc::new(RevisionTexts::new(root, stored)), others))
    }

    /// Lists the entries below a directory, or the file at a path, in path order.
    fn stored(&self, root: &Arc<Root>, start: &RelPath, stop: &Stop) -> Result<Vec<StoredFile>, ToolError> {
        if let RevisionEntry::File(id) = self.entry(root, start, stop)? {
            return Ok(vec![(start.clone(), FileMode::Regular, id)]);
        }
        let files = self.open(root, stop)?.files_below(&self.id, start.as_bytes()).map_err(unread)?;
        let path = |path: &[u8]| RelPath::from_bytes(path, &RelPath::root()).ok();
        let mut files: Vec<StoredFile> =
            files.into_iter().filter_map(|(name, mode, id)| Some((path(&name)?, mode, id))).collect();
        files.sort();
        Ok(files)
    }

    fn open(&self, root: &Arc<Root>, stop: &Stop) -> Result<Repository, ToolError> {
        let refused = |problem: String| ToolError::argument("path", clip(&problem, limits::NOTE_BYTES));
        Repository::open(root, stop).map_err(|error| refused(error.to_string()))
    }
}

/// Finds the submodule of a commit that a path leads into.
pub(crate) fn submodule_above(
    repository: &mut Repository,
    commit: &ObjectId,
    path: &RelPath,
) -> Option<RelPath> {
    let mut above = std::iter::successors(path.parent(), RelPath::parent);
    above.find(|above| {
        let entry = repository.entry(commit, above.as_bytes());
        matches!(entry, Ok(Some(StoredEntry::File(FileMode::Submodule, _))))
    })
}

/// The files of another revision, for a caller that prints their lines itself.
#[derive(Clone, Debug)]
pub struct RevisionFiles {
    revision: Revision,
    root: Arc<Root>,
    start: RelPath,
    texts: Arc<RevisionTexts>,
}

impl RevisionFiles {
    /// Lists the files that `REV:path` or `ref:REV` names. Returns `None` for a text of another form.
    #[must_use]
    pub fn named(call: &Call, text: &str) -> Option<Result<Self, ToolError>> {
        let found = call.revision(text)?.and_then(|(root, start, revision)| {
            let texts = revision.texts(&root, &start, &call.stop)?;
            Ok(Self { revision, root, start, texts })
        });
        Some(found)
    }

    /// Returns the root, and the named directory or file below it.
    #[must_use]
    pub fn place(&self) -> (&Arc<Root>, &RelPath) {
        (&self.root, &self.start)
    }

    /// Returns the files.
    #[must_use]
    pub fn texts(&self) -> Arc<dyn StoredTexts> {
        Arc::clone(&self.texts) as Arc<dyn StoredTexts>
    }

    /// Formats a path so that callers can use it again.
    #[must_use]
    pub fn shown(&self, path: &RelPath) -> String {
        self.revision.shown(&path.display())
    }
}

fn unread(error: ObjectError) -> ToolError {
    ToolError::argument("path", error.to_string())
}

/// A file of a revision: its path, its mode and its content.
type StoredFile = (RelPath, FileMode, ObjectId);

/// A link or a submodule of a revision.
pub(crate) struct OtherEntry {
    pub(crate) path: RelPath,
    /// The target of a link; `None` for a submodule.
    pub(crate) target: Option<String>,
}

/// The regular files of a revision.
pub(crate) struct RevisionTexts {
    root: Arc<Root>,
    paths: Vec<RelPath>,
    ids: Vec<ObjectId>,
}

impl RevisionTexts {
    fn new(root: &Arc<Root>, files: Vec<StoredFile>) -> Self {
        let files = files.into_iter().filter(|file| file.1.is_regular());
        let (paths, ids) = files.map(|(path, _, id)| (path, id)).unzip();
        Self { root: Arc::clone(root), paths, ids }
    }
}

impl fmt::Debug for RevisionTexts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RevisionTexts").field("files", &self.paths.len()).finish_non_exhaustive()
    }
}

impl StoredTexts for RevisionTexts {
    fn paths(&self) -> &[RelPath] {
        &self.paths
    }

    fn reader(&self, stop: &Stop) -> ReadStored<'_> {
        let mut repository = Repository::open(&self.root, stop).ok();
        Box::new(move |number| {
            // `Revision::texts` lists directories and does not check each of their files.
            if self.root.secrets().denies(&self.paths[number]).is_some() {
                return Err(SkipReason::Denied);
            }
            let repository = repository.as_mut().ok_or(SkipReason::Unreadable)?;
            repository.blob(&self.ids[number]).map(|bytes| bytes.to_vec()).map_err(|error| match error {
                ObjectError::TooLarge(_) => SkipReason::TooLarge,
                _ => SkipReason::Unreadable,
            })
        })
    }
}

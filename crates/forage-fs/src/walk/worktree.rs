//! Nested worktrees of a repository, which contain copies of the same files.
//!
//! `git worktree add` creates a directory with a file `.git` that says `gitdir: …/.git/worktrees/NAME`. If
//! this refers to the root's own repository, a search of the root should find each file only once. You can
//! still search the other worktree by naming it.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::ignore_rules::read_bounded;
use crate::rel_path::{RelPath, os_str};
use crate::root::Root;
use crate::sys::{self, Directory};

/// The name that marks a git work tree.
pub(super) const GIT: &[u8] = b".git";

/// The label of files in another worktree.
pub(super) const LABEL: &str = "another worktree of this repository, which is not entered by default";

/// Returns true if a directory below the root with a file `.git` is a worktree of the root's own repository.
pub(super) fn is_of_root(root: &Root, path: &RelPath, directory: &Directory) -> bool {
    let Some(below) = os_str(path.as_bytes()) else { return false };
    let at = root.path().join(Path::new(&*below));
    repository(directory, &at).is_some_and(|repository| Some(repository) == root_repository(root))
}

/// Finds the repository of the root: its own `.git`, or the repository that it is a worktree of.
pub(crate) fn root_repository(root: &Root) -> Option<PathBuf> {
    let directory = sys::open_directory(root.handle(), &RelPath::root()).ok()?;
    match sys::node_kind(&directory, GIT).ok()? {
        sys::NodeKind::Directory => Some(root.path().join(".git")),
        sys::NodeKind::File => repository(&directory, root.path()),
        _ => None,
    }
}

/// Finds the repository of the worktree at this path. This reads only the content of its `.git` file.
fn repository(directory: &Directory, at: &Path) -> Option<PathBuf> {
    let own = folded(&at.join(git_directory(directory)?))?;
    let worktrees = own.parent()?;
    (worktrees.file_name()? == "worktrees").then(|| worktrees.parent().map(Path::to_owned))?
}

/// Opens the directory that contains git's `exclude` for a work tree: `info` in its `.git`, or in the
/// repository of a linked worktree.
pub(crate) fn git_info(directory: &Directory) -> io::Result<Directory> {
    match sys::open_child(directory, GIT) {
        Ok(git) => sys::open_child(&git, b"info"),
        Err(error) => {
            let info = linked(directory).map(|(_, repository)| repository.join("info"));
            info.map_or(Err(error), |info| sys::open_root(&info))
        }
    }
}

/// Lists the paths outside of a work tree that we read in order to apply git's rules there. There are none
/// unless it is a linked worktree.
pub fn files_of_worktree(path: &Path) -> Vec<PathBuf> {
    let linked = sys::open_root(path).ok().and_then(|directory| linked(&directory));
    linked.map_or(Vec::new(), |(own, repository)| vec![own, repository.join("info")])
}

/// Finds the directories of a linked worktree and of its repository. A hostile tree can name any repository,
/// so the repository must name the worktree too.
fn linked(directory: &Directory) -> Option<(PathBuf, PathBuf)> {
    // Git writes an absolute path by default.
    let own = PathBuf::from(git_directory(directory)?);
    let place = own.is_absolute().then(|| sys::open_root(&own).ok())??;
    let worktree = sys::open_root(Path::new(&text(&place, b"gitdir")?).parent()?).ok()?;
    let identity = sys::identity(directory)?;
    (sys::identity(&worktree) == Some(identity)).then_some(())?;
    let repository = own.join(text(&place, b"commondir")?);
    Some((own, repository))
}

/// Parses the path in the `.git` file of a worktree.
fn git_directory(directory: &Directory) -> Option<String> {
    Some(text(directory, GIT)?.strip_prefix("gitdir:")?.trim().to_owned())
}

fn text(directory: &Directory, name: &[u8]) -> Option<String> {
    Some(String::from_utf8(read_bounded(directory, name).ok()??).ok()?.trim_end().to_owned())
}

/// Resolves `.` and `..` lexically.
fn folded(path: &Path) -> Option<PathBuf> {
    let mut folded = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => folded.pop().then_some(())?,
            other => folded.push(other),
        }
    }
    Some(folded)
}

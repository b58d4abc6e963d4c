//! A client's configuration file. It is read once and replaced atomically, but only if no other program has
//! changed it in the meantime.
#![expect(
    clippy::disallowed_methods,
    reason = "the configuration of a client, which the user asks to be changed"
)]

use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use super::{FileChange, SetupRefusal};
use crate::config::ClientDirectories;
use crate::private_file;

/// Maximum bytes of a configuration file. The limit is high because Claude Code keeps its history in such a
/// file, which can grow to several megabytes.
const MAX_BYTES: u64 = 64 << 20;

/// A file in the state in which it was read.
#[derive(Debug)]
pub(super) struct FoundFile {
    /// The path of the file itself, with all links resolved.
    target: PathBuf,
    is_link: bool,
    /// The content, or `None` if the file does not exist.
    pub(super) text: Option<String>,
    /// The project that contains the file. Such a file is created with shared permissions, since other people
    /// read it too.
    project: Option<PathBuf>,
}

/// Reads a file. The path of a project's file must not lead out of the project, which may come from a
/// stranger.
pub(super) fn read(path: &Path, project: Option<&Path>) -> Result<FoundFile, SetupRefusal> {
    let refuse = |problem: String| SetupRefusal::new(problem);
    let link = fs::symlink_metadata(path);
    let is_link = link.as_ref().is_ok_and(Metadata::is_symlink);
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound && !is_link => return missing(path, project),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(refuse(format!("it is a dangling link ({error})")));
        }
        Err(error) => return Err(refuse(format!("it can't be accessed: {error}"))),
    };
    check_within(&target, project)?;
    let metadata = fs::metadata(&target).map_err(|error| refuse(format!("it can't be accessed: {error}")))?;
    if !metadata.is_file() {
        return Err(refuse("it is not a file".to_owned()));
    }
    let text = Some(text_of(&target)?);
    Ok(FoundFile { target, is_link, text, project: project.map(real) })
}

/// Describes a file that does not exist yet. Its parent directories may be missing too.
fn missing(path: &Path, project: Option<&Path>) -> Result<FoundFile, SetupRefusal> {
    let there = path.ancestors().skip(1).find(|directory| fs::symlink_metadata(directory).is_ok());
    if let Some(there) = there {
        let real = fs::canonicalize(there)
            .map_err(|error| SetupRefusal::new(format!("{} can't be accessed: {error}", there.display())))?;
        check_within(&real, project)?;
    }
    Ok(FoundFile { target: path.to_owned(), is_link: false, text: None, project: project.map(real) })
}

fn check_within(target: &Path, project: Option<&Path>) -> Result<(), SetupRefusal> {
    let Some(project) = project else { return Ok(()) };
    match target.starts_with(real(project)) {
        true => Ok(()),
        false => Err(SetupRefusal::new(format!("it leads out of the project, to {}", target.display()))),
    }
}

fn real(directory: &Path) -> PathBuf {
    fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned())
}

fn text_of(target: &Path) -> Result<String, SetupRefusal> {
    let failed = |error: std::io::Error| SetupRefusal::new(format!("it can't be read: {error}"));
    let mut bytes = Vec::new();
    let file = fs::File::open(target).map_err(failed)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(SetupRefusal::new(format!("it is over {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| SetupRefusal::new("it is not UTF-8".to_owned()))
}

impl FoundFile {
    /// Returns true if the file may be deleted when it becomes empty. The target of a link must stay, since
    /// it was created for another purpose.
    pub(super) fn may_go(&self) -> bool {
        !self.is_link
    }

    /// Replaces the file's text. Owner, group and permissions stay.
    pub(super) fn write(&self, text: &str) -> Result<(), SetupRefusal> {
        self.check_unchanged()?;
        let written = match &self.text {
            None if self.project.is_some() => private_file::create_shared(&self.target, text.as_bytes()),
            None => private_file::replace(&self.target, text.as_bytes()),
            Some(_) => private_file::replace_like(&self.target, text.as_bytes()),
        };
        written.map_err(|error| SetupRefusal::new(format!("it can't be written: {error}")))
    }

    /// Applies an edit.
    pub(super) fn apply(&self, change: &FileChange) -> Result<(), SetupRefusal> {
        match change {
            FileChange::None => Ok(()),
            FileChange::Create(text)
            | FileChange::Add(text)
            | FileChange::Update(text)
            | FileChange::Remove(text) => self.write(text),
            FileChange::Delete => self.remove(),
        }
    }

    /// Removes the file, and then the empty directories around it.
    pub(super) fn remove(&self) -> Result<(), SetupRefusal> {
        self.check_unchanged()?;
        fs::remove_file(&self.target)
            .map_err(|error| SetupRefusal::new(format!("it can't be removed: {error}")))?;
        // Go up to the project, or to the base directories of the user's files. An empty directory should not
        // stay, because it would look like an installed client.
        let bases = match &self.project {
            Some(project) => vec![project.clone()],
            None => ClientDirectories::find().bases().iter().map(|base| real(base)).collect(),
        };
        for directory in self.target.ancestors().skip(1) {
            let is_own = bases.iter().any(|base| directory.starts_with(base))
                && !bases.iter().any(|base| base.starts_with(directory));
            // `remove_dir` fails if a directory is not empty, which ends this loop.
            if !is_own || fs::remove_dir(directory).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn check_unchanged(&self) -> Result<(), SetupRefusal> {
        let now = match fs::symlink_metadata(&self.target) {
            Ok(_) => Some(text_of(&self.target)?),
            Err(_) => None,
        };
        match now == self.text {
            true => Ok(()),
            false => Err(SetupRefusal::new("another program has just changed it; try again".to_owned())),
        }
    }
}

//! The directory of collections: the one home of this crate's files, but for the lock and the journal.
#![expect(clippy::disallowed_methods, reason = "the user's own directory of collections, not a repository")]

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::limits;

const DESCRIPTION: &str = "collection.json";
const TEMPORARY: &str = "collection.json.new";
const JOURNAL: &str = "journal";
const SHARD: &str = "shard";

/// What stands where a collection's directory would.
pub(crate) enum Found {
    Nothing,
    /// A directory with nothing in it but what this crate makes, and something of that.
    Ours,
    /// A directory without anything.
    Empty,
    /// A link, a file, or a directory that holds this, too.
    Foreign(PathBuf),
}

/// Whether something is there that is no directory. A link is none, wherever it leads.
pub(crate) fn is_other(collection: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(collection) {
        Ok(metadata) => Ok(!metadata.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Before anything is removed.
pub(crate) fn look(collection: &Path) -> io::Result<Found> {
    if is_other(collection)? {
        return Ok(Found::Foreign(collection.to_owned()));
    }
    let entries = match fs::read_dir(collection) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error),
    };
    let mut is_empty = true;
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        let is_ours = if name == OsStr::new(SHARD) {
            kind.is_dir()
        } else {
            kind.is_file() && [DESCRIPTION, TEMPORARY, JOURNAL].iter().any(|ours| name == OsStr::new(ours))
        };
        if !is_ours {
            return Ok(Found::Foreign(entry.path()));
        }
        is_empty = false;
    }
    Ok(if is_empty { Found::Empty } else { Found::Ours })
}

/// Creates a directory for its owner alone, and those above it.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// A file of the user's alone, made if need be.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// `None` if there is no such file.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(limits::DESCRIPTION_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Writes `collection.json` whole or not at all, and through to the disk.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_file_name(TEMPORARY);
    let mut file = open(&temporary)?;
    file.set_len(0)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&temporary, path)?;
    #[cfg(unix)]
    if let Some(directory) = path.parent() {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

pub(crate) fn journal(collection: &Path) -> PathBuf {
    collection.join(JOURNAL)
}

pub(crate) fn shard(collection: &Path) -> PathBuf {
    collection.join(SHARD)
}

/// Removes what this crate made. In an order in which what is left, should it be interrupted, is no collection.
pub(crate) fn remove(collection: &Path) -> io::Result<()> {
    for file in [DESCRIPTION, TEMPORARY, JOURNAL] {
        allow_missing(fs::remove_file(collection.join(file)))?;
    }
    allow_missing(fs::remove_dir_all(collection.join(SHARD)))?;
    allow_missing(fs::remove_dir(collection))
}

fn allow_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The complete files of the engine's log, oldest first.
pub(crate) fn complete_logs(shard: &Path) -> io::Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    let entries = match fs::read_dir(shard.join("wal")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("closed-")).map(str::parse::<u64>);
        if let Some(Ok(number)) = number {
            logs.push((number, entry.path()));
        }
    }
    logs.sort_unstable();
    Ok(logs.into_iter().map(|(_, path)| path).collect())
}

/// Removes all complete files of the engine's log but the last, from which the engine goes on numbering: as its newer
/// versions do when they have written through to the disk. Only while no engine has the shard open.
pub(crate) fn shorten_log(shard: &Path) -> io::Result<()> {
    let mut logs = complete_logs(shard)?;
    logs.pop();
    logs.iter().try_for_each(fs::remove_file)
}

//! The directory of collections: the one home of this crate's files, but for the lock and the journal.
//!
//! All of them are opened through a [`PrivateDirectory`]; the engine opens its own by their paths, after all of them were
//! looked at.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use forage_fs::{PrivateDirectory, PrivatePlace};

use crate::limits;

pub(crate) const DESCRIPTION: &str = "collection.json";
const TEMPORARY: &str = "collection.json.new";
pub(crate) const JOURNAL: &str = "journal";
pub(crate) const SEAL: &str = "seal";
const SHARD: &str = "shard";

/// What stands where a collection's directory would.
pub(crate) enum DirectoryContents {
    Nothing,
    /// A directory with nothing in it but what this crate makes, and something of that.
    Ours,
    /// A directory without anything.
    Empty,
    /// A link, a file, or a directory that holds this, too.
    Foreign(PathBuf),
}

/// Where the directory of this path would be, in the directory of collections.
fn place(path: &Path) -> PrivatePlace {
    match (path.parent(), path.file_name()) {
        (Some(home), Some(name)) => PrivatePlace::at(home).join(name),
        _ => PrivatePlace::at(path),
    }
}

/// The directory that holds a file of this path, and the file's name.
fn split(path: &Path) -> io::Result<(PrivatePlace, &OsStr)> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    Ok((place(directory), name))
}

/// Whether something is there that is no directory. A link is none, wherever it leads.
pub(crate) fn is_other(collection: &Path) -> io::Result<bool> {
    let (Some(home), Some(name)) = (collection.parent(), collection.file_name()) else { return Ok(true) };
    let entry = PrivatePlace::at(home).open()?.and_then(|home| home.entry(name));
    Ok(entry.is_some_and(|entry| !entry.is_directory))
}

/// Before anything is removed.
pub(crate) fn look(collection: &Path) -> io::Result<DirectoryContents> {
    if is_other(collection)? {
        return Ok(DirectoryContents::Foreign(collection.to_owned()));
    }
    let Some(directory) = place(collection).open()? else { return Ok(DirectoryContents::Nothing) };
    let mut is_empty = true;
    for entry in directory.entries()? {
        let is_ours = if entry.name == SHARD {
            entry.is_directory
        } else {
            entry.is_file && [DESCRIPTION, TEMPORARY, JOURNAL, SEAL].iter().any(|ours| entry.name == *ours)
        };
        if !is_ours {
            return Ok(DirectoryContents::Foreign(collection.join(entry.name)));
        }
        is_empty = false;
    }
    Ok(if is_empty { DirectoryContents::Empty } else { DirectoryContents::Ours })
}

/// Creates the directory of collections for its owner alone, and those above it.
pub(crate) fn create(home: &Path) -> io::Result<()> {
    PrivatePlace::at(home).create()?;
    Ok(())
}

/// Creates the directory of a collection, and that of its shard.
pub(crate) fn create_shard(collection: &Path) -> io::Result<()> {
    place(collection).create()?.create_directory(SHARD)?;
    Ok(())
}

/// Looks at all files of the shard before the engine opens them by their paths, or this crate removes some.
pub(crate) fn check_shard(collection: &Path) -> io::Result<()> {
    let shard = place(collection).open()?.map(|directory| directory.directory(SHARD)).transpose()?.flatten();
    shard.map_or(Ok(()), |shard: PrivateDirectory| Ok(shard.check_all(|_| limits::ENGINE_FILE_BYTES)?))
}

/// The lock of a collection, made if need be in the directory of collections, which is there.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    let (Some(home), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let home = PrivatePlace::at(home).open()?.ok_or(io::ErrorKind::NotFound)?;
    Ok(home.open_or_create(name)?)
}

/// A file of a collection, made if need be, and not larger than so many bytes.
pub(crate) fn open(path: &Path, most: u64) -> io::Result<File> {
    let (directory, name) = split(path)?;
    let directory = directory.open()?.ok_or(io::ErrorKind::NotFound)?;
    let file = directory.open_or_create(name)?;
    directory.check_file(name, most)?;
    Ok(file)
}

/// `None` if there is no such file.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let (directory, name) = split(path)?;
    let Some(directory) = directory.open()? else { return Ok(None) };
    Ok(directory.read(name, limits::DESCRIPTION_BYTES)?)
}

/// Writes a file whole or not at all, and through to the disk.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (directory, name) = split(path)?;
    let directory = directory.open()?.ok_or(io::ErrorKind::NotFound)?;
    directory.remove(TEMPORARY)?;
    let mut file = directory.create_new(TEMPORARY)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    directory.rename(TEMPORARY, name)?;
    Ok(directory.sync()?)
}

pub(crate) fn journal(collection: &Path) -> PathBuf {
    collection.join(JOURNAL)
}

pub(crate) fn shard(collection: &Path) -> PathBuf {
    collection.join(SHARD)
}

/// Removes what this crate made. In an order in which what is left, should it be interrupted, is no collection.
pub(crate) fn remove(collection: &Path) -> io::Result<()> {
    let (Some(home), Some(name)) = (collection.parent(), collection.file_name()) else { return Ok(()) };
    let Some(home) = PrivatePlace::at(home).open()? else { return Ok(()) };
    if let Some(directory) = home.directory(name)? {
        for file in [SEAL, DESCRIPTION, TEMPORARY, JOURNAL] {
            directory.remove(file)?;
        }
        directory.remove_all(SHARD)?;
    }
    home.remove_empty(name)?;
    Ok(())
}

/// `None` if the collection is not sealed.
pub(crate) fn read_seal(collection: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(directory) = place(collection).open()? else { return Ok(None) };
    Ok(directory.read(SEAL, limits::SEAL_BYTES)?)
}

pub(crate) fn is_sealed(collection: &Path) -> io::Result<bool> {
    Ok(place(collection).open()?.is_some_and(|directory| directory.entry(SEAL).is_some()))
}

/// Before the first change, and through to the disk: a seal must not come back with files that were changed since.
pub(crate) fn remove_seal(collection: &Path) -> io::Result<()> {
    let Some(directory) = place(collection).open()? else { return Ok(()) };
    if directory.remove(SEAL)? {
        directory.sync()?;
    }
    Ok(())
}

/// The files that a seal is about, by their paths in the collection: all but itself and the journal, which is empty then.
/// The shard was looked at.
#[expect(
    clippy::disallowed_methods,
    reason = "the engine's own directory below the user's, not a repository"
)]
pub(crate) fn sealed_files(collection: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    let description = collection.join(DESCRIPTION);
    if fs::symlink_metadata(&description).is_ok() {
        files.insert(DESCRIPTION.to_owned(), description);
    }
    let mut directories = vec![(SHARD.to_owned(), collection.join(SHARD))];
    while let Some((name, path)) = directories.pop() {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let Ok(last) = entry.file_name().into_string() else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            let below = (format!("{name}/{last}"), entry.path());
            if entry.file_type()?.is_dir() {
                directories.push(below);
            } else {
                files.insert(below.0, below.1);
            }
        }
    }
    Ok(files)
}

/// The complete files of the engine's log, oldest first. The shard was looked at.
#[expect(
    clippy::disallowed_methods,
    reason = "the engine's own directory below the user's, not a repository"
)]
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
#[expect(
    clippy::disallowed_methods,
    reason = "the engine's own directory below the user's, not a repository"
)]
pub(crate) fn shorten_log(shard: &Path) -> io::Result<()> {
    let mut logs = complete_logs(shard)?;
    logs.pop();
    logs.iter().try_for_each(fs::remove_file)
}

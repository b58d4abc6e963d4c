//! Files that the user names, or a client's configuration: for their owner alone, and replaced as a whole. What is below
//! the user's cache and data directories is opened through [`forage_fs::PrivateDirectory`] instead.
#![expect(clippy::disallowed_methods, reason = "files that the user names, and those that clients read")]

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use forage_search::index::ReadAt;

/// Creates a file that does not exist yet.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path)
}

/// Writes the file whole or not at all: under another name first, which is then given its own. Its directory is
/// created, too.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        create_directory(directory)?;
    }
    replace_with(path, |mut file| file.write_all(bytes))
}

/// The same for a file that exists: whoever may read or write it before may do so afterwards.
pub(crate) fn replace_like(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let old = fs::metadata(path)?;
    replace_with(path, |mut file| {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let new = file.metadata()?;
            if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
                std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()))?;
            }
        }
        file.set_permissions(old.permissions())?;
        file.write_all(bytes)
    })
}

/// Writes a file that does not exist yet, for everyone whom the system's defaults let read it.
pub(crate) fn create_shared(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let written = OpenOptions::new().write(true).create_new(true).open(path);
    written.and_then(|mut file| file.write_all(bytes))
}

fn replace_with(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_file_name(format!("{}-{number}.tmp", std::process::id()));
    let written =
        create_new(&temporary).and_then(|file| write(&file)).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Creates a directory for its owner alone, and those above it.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// A file that only [`forage_fs::PrivateDirectory::replace`] changes, of which large parts are not read but mapped into memory: that takes a sixth
/// of the time. A page that can't be read later on, or is cut off the file, ends the processes that have it mapped, so
/// that it is for those that end soon.
pub(crate) struct Mapped(pub(crate) File);

impl ReadAt for Mapped {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn byte_len(&self) -> io::Result<u64> {
        self.0.byte_len()
    }

    // Elsewhere it is not told whether all of it can be read, or a file that is mapped can't be replaced.
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "nobody but this program may write the file, and it never does in place")]
    fn bytes(&self, range: std::ops::Range<u64>) -> io::Result<bytes::Bytes> {
        let map = || {
            let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
            let mut options = memmap2::MmapOptions::new();
            // SAFETY: What is mapped may change or go away only if somebody writes the file in place or cuts it. Nobody
            // else may write it: it was opened through a `PrivateDirectory`, so that it is this user's, of one name and
            // writable for nobody else, and `is_safe_to_map` asks the open handle that once more, and for a disk of this
            // machine. This program replaces it by another file, and leaves the mapped one as it is. Whoever has the
            // rights of this user can write the memory of this process, too. The bytes are taken for what they may be:
            // every number read from them is checked against the length of the mapping.
            let mapped = unsafe { options.offset(range.start).len(length).map(&self.0)? };
            // Reads all of it, or says that it can't.
            mapped.advise(memmap2::Advice::PopulateRead)?;
            Ok::<_, io::Error>(bytes::Bytes::from_owner(mapped))
        };
        match forage_fs::is_safe_to_map(&self.0) {
            true => map().or_else(|_| self.0.bytes(range.clone())),
            false => self.0.bytes(range.clone()),
        }
    }
}

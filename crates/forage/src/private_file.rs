//! Creates and replaces files that the user names, and configuration files of clients. New files are readable
//! only by their owner, except for those of [`create_shared`]. Existing files are replaced atomically. For
//! files in the user's cache and data directories, use [`forage_fs::PrivateDirectory`] instead.
#![expect(clippy::disallowed_methods, reason = "files that the user names, and those that clients read")]

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Creates a file that only its owner can read. This fails if the file exists.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path)
}

/// Replaces the file atomically by writing a temporary file and renaming it. Creates the directory if
/// necessary.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        create_directory(directory)?;
    }
    replace_with(path, |mut file| file.write_all(bytes))
}

/// Like [`replace`], but keeps the owner and the permissions of the file, which must exist.
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

/// Creates a file with the system's default permissions. This fails if the file exists.
pub(crate) fn create_shared(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let written = OpenOptions::new().write(true).create_new(true).open(path);
    written.and_then(|mut file| file.write_all(bytes))
}

fn replace_with(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let mut named = tempfile::Builder::new();
    // We use `make_in` with our own `create_new` because `tempfile` adds the temporary name to its errors,
    // which would only confuse the user.
    let file = named.suffix(".tmp").make_in(directory.unwrap_or(Path::new(".")), create_new)?;
    write(file.as_file())?;
    file.persist(path)?;
    Ok(())
}

/// Creates a directory and its parents, accessible only to their owner.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

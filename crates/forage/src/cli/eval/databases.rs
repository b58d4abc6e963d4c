//! Locates the directories that git reads for a repository's history. Note that these are not always inside
//! the repository, e.g. for a linked worktree.
#![expect(
    clippy::disallowed_methods,
    reason = "git's own files, of which nothing but the places of others is taken"
)]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use forage_fs::find_git_root;

use super::limits;

/// Returns the directories that git reads for the repository that contains `directory`. These are its own git
/// directory, that of the main worktree, and those whose objects it borrows. The sandbox will allow access to
/// these. So we include only real git directories, whatever the repository's files claim; otherwise a
/// repository could open any directory to its readers.
pub(super) fn databases(directory: &Path) -> Vec<PathBuf> {
    let Some(top) = find_git_root(directory) else { return Vec::new() };
    let link = top.join(".git");
    let own = match link.is_dir() {
        true => Some(link),
        false => named_in(&link, Some("gitdir:")).map(|named| top.join(named)),
    };
    let Some(own) = own.filter(|own| own.join("HEAD").is_file()) else { return Vec::new() };
    let common = named_in(&own.join("commondir"), None).map_or_else(|| own.clone(), |named| own.join(named));
    let objects = common.join("objects");
    if !objects.is_dir() || !common.join("HEAD").is_file() {
        return Vec::new();
    }
    let mut found = BTreeSet::from([own, common]);
    let mut borrowed = alternates(&objects);
    for _ in 0..limits::GIT_ALTERNATES {
        borrowed.retain(|objects| found.len() < limits::GIT_DATABASES && found.insert(objects.clone()));
        borrowed = borrowed.iter().flat_map(|objects| alternates(objects)).collect();
    }
    found.into_iter().collect()
}

/// Returns the object directories that this one borrows from. A link named `objects` could lead anywhere, so
/// links are resolved.
fn alternates(objects: &Path) -> Vec<PathBuf> {
    let named = read(&objects.join("info/alternates")).unwrap_or_default();
    let lines = named.lines().filter(|line| !line.starts_with('#')).take(limits::GIT_DATABASES);
    let paths = lines.filter_map(|line| std::fs::canonicalize(objects.join(line.trim())).ok());
    paths.filter(|path| path.file_name().is_some_and(|name| name == "objects") && path.is_dir()).collect()
}

/// Reads a path from a file that contains nothing else except for an optional keyword before it.
fn named_in(file: &Path, keyword: Option<&str>) -> Option<PathBuf> {
    let text = read(file)?;
    let path = text.trim().strip_prefix(keyword.unwrap_or_default())?.trim();
    (!path.is_empty()).then(|| PathBuf::from(path))
}

fn read(file: &Path) -> Option<String> {
    // Skip anything but regular files: for example, reading a pipe might never end.
    if !file.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(file).ok()?.take(limits::GIT_LINK_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn objects_are_borrowed_of_objects_alone_and_a_circle_ends() {
        let place = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(place.path()).unwrap();
        for directory in ["one/.git/objects/info", "two/.git/objects/info", "secret"] {
            fs::create_dir_all(top.join(directory)).unwrap();
        }
        for repository in ["one", "two"] {
            fs::write(top.join(repository).join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        // We must follow each entry of a cycle only once, however often it is repeated.
        let circle = "../../../two/.git/objects\n../../../one/.git/objects\n../objects\n".repeat(500);
        let named = format!("# A comment.\n../../../secret\n../link/objects\n{circle}");
        for repository in ["one", "two"] {
            fs::write(top.join(repository).join(".git/objects/info/alternates"), &named).unwrap();
        }
        #[cfg(unix)]
        {
            fs::create_dir(top.join("one/.git/link")).unwrap();
            std::os::unix::fs::symlink(top.join("secret"), top.join("one/.git/link/objects")).unwrap();
        }
        let expected = [".git", ".git/objects"].map(|name| top.join("one").join(name));
        let found = databases(&top.join("one"));
        assert_eq!(found, [&expected[..], &[top.join("two/.git/objects")]].concat());
        // We must ignore a directory that is not a repository, even if a file names it.
        fs::write(top.join("one/.git/commondir"), "../../secret\n").unwrap();
        fs::create_dir(top.join("secret/objects")).unwrap();
        assert!(databases(&top.join("one")).is_empty());
    }
}

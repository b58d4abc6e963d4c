//! Where git keeps what it reads of a directory's history: not always below the directory.
#![expect(
    clippy::disallowed_methods,
    reason = "git's own files, of which nothing but the places of others is taken"
)]

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use forage_fs::find_git_root;

use super::limits;

/// Returns the directories that git reads of the repository which holds a directory: its own, that of the work tree
/// which it was made from, and those whose objects it borrows. What is no directory of git's is left out, although the
/// repository says so: it must not open others to whoever reads its history.
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
    if !objects.is_dir() {
        return Vec::new();
    }
    let mut found = vec![own, common];
    let mut borrowed = alternates(&objects);
    for _ in 0..limits::GIT_ALTERNATES {
        let next = borrowed.iter().flat_map(|objects| alternates(objects)).collect();
        found.append(&mut borrowed);
        borrowed = next;
    }
    found
}

/// The directories whose objects are used as if they were in this one.
fn alternates(objects: &Path) -> Vec<PathBuf> {
    let named = read(&objects.join("info/alternates")).unwrap_or_default();
    let paths = named.lines().filter(|line| !line.starts_with('#')).map(|line| objects.join(line.trim()));
    paths.filter(|path| path.file_name().is_some_and(|name| name == "objects") && path.is_dir()).collect()
}

/// The path that a file consists of, behind a keyword.
fn named_in(file: &Path, keyword: Option<&str>) -> Option<PathBuf> {
    let text = read(file)?;
    let path = text.trim().strip_prefix(keyword.unwrap_or_default())?.trim();
    (!path.is_empty()).then(|| PathBuf::from(path))
}

fn read(file: &Path) -> Option<String> {
    // A pipe would never end.
    if !file.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(file).ok()?.take(limits::GIT_LINK_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

//! Finds the repositories of a list file, or those in a directory of clones.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use forage_fs::open_named;

/// Maximum size in bytes of a list. This is enough for a hundred thousand lines of a hundred bytes.
const LIST_BYTES: u64 = 10 << 20;

/// Maximum depth of a clone below the directory, e.g. 4 for `host/owner/group/name`.
const DEPTH: usize = 4;

/// A repository and its name in the collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedRepository {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// Lists the repositories in a directory or of a list file. In a directory, a repository's name is its
/// relative path. A line of a list file is either a path, or a name, a tab and a path. These paths are
/// relative to the directory that contains the list.
pub(super) fn listed(place: &Path) -> anyhow::Result<Vec<NamedRepository>> {
    let repositories = if place.is_dir() {
        let mut found = Vec::new();
        find(place, "", DEPTH, &mut found)?;
        if found.is_empty() {
            bail!("no directory below {} is a git repository", place.display());
        }
        found
    } else {
        read(place)?
    };
    let mut names = BTreeSet::new();
    match repositories.iter().find(|repository| !names.insert(&repository.name)) {
        // With the same name, the second one would delete the points of the first.
        Some(NamedRepository { name, .. }) => {
            bail!(
                "two repositories in {} have the name {name}; write a NAME, a tab and the path on each line",
                place.display()
            )
        }
        None => Ok(repositories),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the user names the directory, and nothing is read of it but names"
)]
fn find(directory: &Path, name: &str, depth: usize, found: &mut Vec<NamedRepository>) -> anyhow::Result<()> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("{} can't be read", directory.display()))?;
    let mut below = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("{} can't be read", directory.display()))?;
        if entry.file_name() == ".git" && !name.is_empty() {
            found.push(NamedRepository { name: name.to_owned(), path: directory.to_owned() });
            return Ok(());
        }
        // Don't follow links, because they could form a cycle or lead out of the directory.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below.push((entry.file_name(), entry.path()));
        }
    }
    below.sort();
    for (file_name, path) in below.into_iter().filter(|_| depth > 0) {
        let Some(file_name) = file_name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        let name = if name.is_empty() { file_name.to_owned() } else { format!("{name}/{file_name}") };
        find(&path, &name, depth - 1, found)?;
    }
    Ok(())
}

fn read(list: &Path) -> anyhow::Result<Vec<NamedRepository>> {
    use std::io::Read as _;
    let mut text = String::new();
    let mut file = open_named(list, LIST_BYTES).map_err(|error| anyhow::anyhow!("{error}"))?;
    file.read_to_string(&mut text).with_context(|| format!("{} can't be read", list.display()))?;
    let near = list.parent().unwrap_or(Path::new(""));
    let mut repositories = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, path) = match line.split_once('\t') {
            Some((name, path)) => (Some(name.trim()), path.trim()),
            None => (None, line),
        };
        let path = near.join(path);
        let name = match name.filter(|name| !name.is_empty()) {
            Some(name) => name.to_owned(),
            None => super::repository_name(&path)?,
        };
        repositories.push(NamedRepository { name, path });
    }
    if repositories.is_empty() { bail!("{} names no repository", list.display()) } else { Ok(repositories) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make directories of their own")]
mod tests {
    use super::*;

    fn names(place: &Path) -> Vec<String> {
        listed(place).unwrap().into_iter().map(|repository| repository.name).collect()
    }

    #[test]
    fn repositories_are_those_of_a_directory_or_of_a_list() {
        let home = tempfile::tempdir().unwrap();
        for clone in
            ["acme/billing/.git", "acme/shop/.git", "acme/shop/vendor/inner/.git", "one/.git", "none/src"]
        {
            fs::create_dir_all(home.path().join(clone)).unwrap();
        }
        assert_eq!(names(home.path()), ["acme/billing", "acme/shop", "one"]);
        let list = home.path().join("list");
        let write = |text: &str| fs::write(&list, text).unwrap();
        write("# ours\n\nacme/billing\nthe shop\tacme/shop\n");
        let found = listed(&list).unwrap();
        assert_eq!(names(&list), ["billing", "the shop"]);
        assert_eq!(found[1].path, home.path().join("acme/shop"));
        for (text, said) in [("one\nacme/../one\n", "have the name one"), ("\n# \n", "names no repository")] {
            write(text);
            assert!(listed(&list).unwrap_err().to_string().contains(said), "{text}");
        }
        let error = listed(&home.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("is a git repository"), "{error}");
        assert!(listed(&home.path().join("absent")).is_err());
    }
}

//! Reads references.

use std::collections::BTreeMap;

use forage_fs::{OpenError, RelPath, Root};

use crate::error::HistoryError;
use crate::id::ObjectId;
use crate::limits;
use crate::repository::read_small;

/// Reads the commit that is checked out.
pub(crate) fn head(root: &Root, git: &RelPath) -> Result<ObjectId, HistoryError> {
    read(root, git, b"HEAD")?.ok_or(HistoryError::Unborn)
}

/// Reads the object of a reference, which may be a tag. Returns `None` if there is no such reference.
pub(crate) fn read(root: &Root, git: &RelPath, name: &[u8]) -> Result<Option<ObjectId>, HistoryError> {
    let mut name = name.to_vec();
    for _ in 0..limits::SYMBOLIC_REFS {
        match follow(root, git, &name)? {
            Some(RefValue::Id(id)) => return Ok(Some(id)),
            Some(RefValue::Name(next)) => name = next,
            // As in git, a file of its own takes precedence over the list.
            None => return packed(root, git, &name),
        }
    }
    Err(HistoryError::Unreadable(path(git, b"HEAD").display().into_owned()))
}

/// Reads the name of the branch that is checked out, e.g. `refs/heads/main`.
pub(crate) fn branch(root: &Root, git: &RelPath) -> Result<Option<Vec<u8>>, HistoryError> {
    match follow(root, git, b"HEAD")? {
        Some(RefValue::Name(name)) => Ok(Some(name)),
        _ => Ok(None),
    }
}

/// Reads the references that name a replaced object. Their values are the objects to read in place of it.
pub(crate) fn replacements(root: &Root, git: &RelPath) -> BTreeMap<ObjectId, ObjectId> {
    let list = read_small(root, &git.join(b"packed-refs"), limits::REFS_BYTES).unwrap_or_default();
    let mut found = replacements_in(&list);
    // As in git, a file of its own takes precedence over the list.
    let directory = path(git, b"refs/replace");
    for name in root.names(&directory, limits::REPLACED_OBJECTS).unwrap_or_default() {
        if let Some(id) = ObjectId::from_hex(&name)
            && let Ok(Some(value)) = read(root, git, &[&b"refs/replace/"[..], &name].concat())
        {
            found.insert(id, value);
        }
    }
    found
}

/// Finds the lines `ID refs/replace/ID` in a list.
fn replacements_in(list: &[u8]) -> BTreeMap<ObjectId, ObjectId> {
    const REPLACE: &[u8] = b" refs/replace/";
    let pair = |at: usize| {
        let start = list[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let name = list[at + REPLACE.len()..].split(|&byte| byte == b'\n').next()?;
        Some((ObjectId::from_hex(name)?, ObjectId::from_hex(&list[start..at])?))
    };
    // Nearly all lists have none, so we must not look at each line.
    memchr::memmem::find_iter(list, REPLACE).filter_map(pair).collect()
}

/// The content of a reference.
enum RefValue {
    Id(ObjectId),
    Name(Vec<u8>),
}

fn path(git: &RelPath, name: &[u8]) -> RelPath {
    name.split(|&byte| byte == b'/').fold(git.clone(), |path, part| path.join(part))
}

/// Reads the file of a reference. Returns `None` if it has no file of its own.
fn follow(root: &Root, git: &RelPath, name: &[u8]) -> Result<Option<RefValue>, HistoryError> {
    let path = path(git, name);
    let unreadable = || HistoryError::Unreadable(path.display().into_owned());
    let text = match read_small(root, &path, limits::REFS_BYTES) {
        Ok(text) => text,
        Err(OpenError::NotFound { .. } | OpenError::NotDirectory { .. } | OpenError::IsDirectory { .. }) => {
            return Ok(None);
        }
        Err(error) => return Err(HistoryError::Unreadable(error.to_string())),
    };
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
    let Some(next) = line.strip_prefix(b"ref:") else {
        // `FETCH_HEAD` has more after the id.
        let id = line.split(|&byte| matches!(byte, b'\t' | b' ')).next().and_then(ObjectId::from_hex);
        return id.map(|id| Some(RefValue::Id(id))).ok_or_else(unreadable);
    };
    let next = next.trim_ascii().to_vec();
    // Git writes this `HEAD` if the references are in a reftable.
    if next == b"refs/heads/.invalid" {
        return Err(HistoryError::RefFormat);
    }
    if is_safe(&next) && next.starts_with(b"refs/") {
        Ok(Some(RefValue::Name(next)))
    } else {
        Err(unreadable())
    }
}

/// Returns true if it is safe to join a name to the path of a repository.
pub(crate) fn is_safe(name: &[u8]) -> bool {
    let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..") && !part.ends_with(b".lock");
    name.len() <= limits::PATH_BYTES && !name.contains(&0) && name.split(|&byte| byte == b'/').all(is_plain)
}

/// Looks up a reference without a file of its own.
fn packed(root: &Root, git: &RelPath, name: &[u8]) -> Result<Option<ObjectId>, HistoryError> {
    match read_small(root, &git.join(b"packed-refs"), limits::REFS_BYTES) {
        Ok(text) => Ok(find(&text, name)),
        Err(OpenError::NotFound { .. }) => Ok(None),
        Err(error) => Err(HistoryError::Unreadable(error.to_string())),
    }
}

/// Finds the line `ID NAME` in a list.
fn find(list: &[u8], name: &[u8]) -> Option<ObjectId> {
    list.split(|&byte| byte == b'\n').find_map(|line| {
        let id = line.strip_suffix(name)?.strip_suffix(b" ")?;
        ObjectId::from_hex(id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# pack-refs with: peeled fully-peeled sorted \n\
        1111111111111111111111111111111111111111 refs/heads/main\n\
        2222222222222222222222222222222222222222 refs/heads/next/main\n\
        3333333333333333333333333333333333333333 refs/tags/v1\n\
        ^4444444444444444444444444444444444444444\n";

    const REPLACED: &str = "1111111111111111111111111111111111111111 refs/heads/main\n\
        2222222222222222222222222222222222222222 refs/replace/3333333333333333333333333333333333333333\n\
        4444444444444444444444444444444444444444 refs/replace/short\n";

    #[test]
    fn packed_replacements_are_found() {
        let found = replacements_in(REPLACED.as_bytes());
        let found: Vec<[u8; 2]> =
            found.iter().map(|(id, value)| [id.as_bytes()[0], value.as_bytes()[0]]).collect();
        assert_eq!(found, [[0x33, 0x22]]);
    }

    #[test]
    fn a_packed_reference_is_found_by_its_whole_name() {
        let found = |name: &str| find(LIST.as_bytes(), name.as_bytes()).map(|id| id.as_bytes()[0]);
        assert_eq!(found("refs/heads/main"), Some(0x11));
        assert_eq!(found("refs/heads/next/main"), Some(0x22));
        assert_eq!((found("main"), found("refs/heads/next")), (None, None));
    }

    #[test]
    fn fuzz_any_list_has_a_reference_or_not() {
        forage_fuzz::target!(&forage_fuzz::seeds([LIST, REPLACED]), |list| {
            assert!(replacements_in(list).len() <= list.len() / 80);
            if let Some(id) = find(list, b"refs/heads/main") {
                let hex = id.to_string();
                assert!(String::from_utf8_lossy(list).to_lowercase().contains(&hex));
            }
        });
    }
}

//! Resolves `HEAD` to a commit.

use forage_fs::{OpenError, RelPath, Root};

use crate::error::NoHistory;
use crate::id::ObjectId;
use crate::limits;
use crate::repository::read_small;

/// Returns the commit that is checked out.
pub(crate) fn head(root: &Root, git: &RelPath) -> Result<ObjectId, NoHistory> {
    let mut name = b"HEAD".to_vec();
    for _ in 0..limits::SYMBOLIC_REFS {
        let path = name.split(|&byte| byte == b'/').fold(git.clone(), |path, part| path.join(part));
        let text = match read_small(root, &path, limits::REFS_BYTES) {
            Ok(text) => text,
            Err(
                OpenError::NotFound { .. } | OpenError::NotDirectory { .. } | OpenError::IsDirectory { .. },
            ) => {
                return packed(root, git, &name);
            }
            Err(error) => return Err(NoHistory::Unreadable(error.to_string())),
        };
        let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        let Some(next) = line.strip_prefix(b"ref:") else {
            let unreadable = || NoHistory::Unreadable(path.display().into_owned());
            return ObjectId::from_hex(line).ok_or_else(unreadable);
        };
        name = next.trim_ascii().to_vec();
        if name == b"refs/heads/.invalid" {
            return Err(NoHistory::RefFormat);
        }
        let is_safe = name.starts_with(b"refs/")
            && name.split(|&byte| byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."));
        if !is_safe {
            return Err(NoHistory::Unreadable(path.display().into_owned()));
        }
    }
    Err(NoHistory::Unreadable(git.join(b"HEAD").display().into_owned()))
}

/// Looks up a reference without a file of its own.
fn packed(root: &Root, git: &RelPath, name: &[u8]) -> Result<ObjectId, NoHistory> {
    match read_small(root, &git.join(b"packed-refs"), limits::REFS_BYTES) {
        Ok(text) => find(&text, name).ok_or(NoHistory::Unborn),
        Err(OpenError::NotFound { .. }) => Err(NoHistory::Unborn),
        Err(error) => Err(NoHistory::Unreadable(error.to_string())),
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

    #[test]
    fn a_packed_reference_is_found_by_its_whole_name() {
        let found = |name: &str| find(LIST.as_bytes(), name.as_bytes()).map(|id| id.as_bytes()[0]);
        assert_eq!(found("refs/heads/main"), Some(0x11));
        assert_eq!(found("refs/heads/next/main"), Some(0x22));
        assert_eq!((found("main"), found("refs/heads/next")), (None, None));
    }

    #[test]
    fn fuzz_any_list_has_a_reference_or_not() {
        forage_fuzz::target!(&forage_fuzz::seeds([LIST]), |list| {
            if let Some(id) = find(list, b"refs/heads/main") {
                let hex = id.to_string();
                assert!(String::from_utf8_lossy(list).to_lowercase().contains(&hex));
            }
        });
    }
}

//! Trees of files and their differences.

use std::cmp::Ordering;

use crate::id::ObjectId;
use crate::limits;

/// An entry of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeEntry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) kind: TreeEntryKind,
    pub(crate) id: ObjectId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeEntryKind {
    Directory,
    File(FileMode),
}

/// The mode of a file as git records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileMode {
    /// A regular file.
    Regular,
    /// A regular file that may be executed.
    Executable,
    /// A symbolic link, whose content is its target.
    Symlink,
    /// A commit of a submodule.
    Submodule,
}

impl FileMode {
    /// Returns true for a regular file, executable or not.
    #[must_use]
    pub fn is_regular(self) -> bool {
        matches!(self, Self::Regular | Self::Executable)
    }
}

impl TreeEntryKind {
    /// Determines the kind for a mode, as git normalizes it.
    pub(crate) fn from_mode(mode: u32) -> Self {
        match mode & 0o170_000 {
            0o040_000 => Self::Directory,
            0o160_000 => Self::File(FileMode::Submodule),
            0o120_000 => Self::File(FileMode::Symlink),
            _ if mode & 0o100 != 0 => Self::File(FileMode::Executable),
            _ => Self::File(FileMode::Regular),
        }
    }

    /// Returns true for files and symbolic links.
    pub(crate) fn is_file(self) -> bool {
        matches!(self, Self::File(mode) if mode != FileMode::Submodule)
    }
}

impl TreeEntry<'_> {
    /// Compares entries in git's order, which sorts a directory as if its name ended with a slash.
    fn place(&self, other: &TreeEntry<'_>) -> Ordering {
        let common = self.name.len().min(other.name.len());
        let next = |entry: &TreeEntry<'_>| {
            let end = if entry.kind == TreeEntryKind::Directory { b'/' } else { 0 };
            entry.name.get(common).copied().unwrap_or(end)
        };
        let names = self.name[..common].cmp(&other.name[..common]);
        names.then_with(|| next(self).cmp(&next(other))).then(self.name.len().cmp(&other.name.len()))
    }
}

/// Iterates over the entries of a tree. An invalid entry is `None`.
pub(crate) struct TreeEntries<'a> {
    rest: &'a [u8],
    id_bytes: usize,
}

impl<'a> TreeEntries<'a> {
    pub(crate) fn new(bytes: &'a [u8], id_bytes: usize) -> Self {
        Self { rest: bytes, id_bytes }
    }

    fn read(&mut self) -> Option<TreeEntry<'a>> {
        let space = self.rest.iter().take(8).position(|&byte| byte == b' ')?;
        let (mode, rest) = (&self.rest[..space], &self.rest[space + 1..]);
        let end = rest.iter().position(|&byte| byte == 0)?;
        let (name, rest) = (&rest[..end], &rest[end + 1..]);
        let (id, rest) = rest.split_at_checked(self.id_bytes)?;
        self.rest = rest;
        // Such a name could lead to another directory.
        if name.is_empty() || name.contains(&b'/') || matches!(name, b"." | b"..") {
            return None;
        }
        let digits = mode.iter().map(|byte| u32::from(byte.wrapping_sub(b'0')));
        let kind = TreeEntryKind::from_mode(digits.fold(0, |value, digit| value << 3 | digit & 7));
        Some(TreeEntry { name, kind, id: ObjectId::from_bytes(id)? })
    }
}

impl<'a> Iterator for TreeEntries<'a> {
    type Item = Option<TreeEntry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.read();
        if entry.is_none() {
            self.rest = &[];
        }
        Some(entry)
    }
}

/// The entries with one name in two trees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeDifference<'a> {
    pub(crate) before: Option<TreeEntry<'a>>,
    pub(crate) after: Option<TreeEntry<'a>>,
}

/// Finds the entries in which two trees differ. Returns `None` if one of them is damaged.
pub(crate) fn differences<'a>(
    before: &'a [u8],
    after: &'a [u8],
    id_bytes: usize,
) -> Option<Vec<TreeDifference<'a>>> {
    let mut found = Vec::new();
    let mut left = TreeEntries::new(before, id_bytes);
    let mut right = TreeEntries::new(after, id_bytes);
    let next = |entries: &mut TreeEntries<'a>| match entries.next() {
        Some(None) => Err(()),
        Some(entry) => Ok(entry),
        None => Ok(None),
    };
    let (mut one, mut other) = (None, None);
    loop {
        if one.is_none() && other.is_none() {
            skip_common(&mut left, &mut right, id_bytes);
        }
        if one.is_none() {
            one = next(&mut left).ok()?;
        }
        if other.is_none() {
            other = next(&mut right).ok()?;
        }
        let order = match (&one, &other) {
            (None, None) => break,
            (Some(one), Some(other)) => one.place(other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
        };
        let before = one.take_if(|_| order.is_le());
        let after = other.take_if(|_| order.is_ge());
        let same = |one: TreeEntry<'_>, other: TreeEntry<'_>| (one.id, one.kind) == (other.id, other.kind);
        if !before.zip(after).is_some_and(|(before, after)| same(before, after)) {
            found.push(TreeDifference { before, after });
        }
    }
    Some(found)
}

/// Skips the entries with which both trees begin. For two successive trees, these are nearly all entries.
fn skip_common(left: &mut TreeEntries<'_>, right: &mut TreeEntries<'_>, id_bytes: usize) {
    const STEP: usize = 64;
    let (one, other) = (left.rest, right.rest);
    let steps =
        one.chunks_exact(STEP).zip(other.chunks_exact(STEP)).take_while(|(one, other)| one == other).count();
    let (after, other_behind) = (&one[steps * STEP..], &other[steps * STEP..]);
    let bytes = after.iter().zip(other_behind).take_while(|(one, other)| one == other).count();
    let common = steps * STEP + bytes;
    let mut end = 0;
    // We must skip only whole entries: the name ends with a NUL byte, which the id follows.
    while let Some(name) = memchr::memchr(0, &one[end..common]) {
        let next = end + name + 1 + id_bytes;
        if next > common {
            break;
        }
        end = next;
    }
    left.rest = &one[end..];
    right.rest = &other[end..];
}

/// Joins a path and a name. Returns `None` if the result is too long.
pub(crate) fn below(directory: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let mut path = Vec::with_capacity(directory.len() + 1 + name.len());
    path.extend_from_slice(directory);
    if !directory.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    (path.len() <= limits::PATH_BYTES).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, &str, u8)]) -> Vec<u8> {
        let entry = |(mode, name, id): &(&str, &str, u8)| {
            [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &[*id; 20]].concat()
        };
        entries.iter().flat_map(entry).collect()
    }

    fn names(before: &[u8], after: &[u8]) -> Vec<(Option<String>, Option<String>)> {
        let name = |entry: Option<TreeEntry<'_>>| {
            entry.map(|entry| String::from_utf8_lossy(entry.name).into_owned())
        };
        let found = differences(before, after, 20).unwrap();
        found.iter().map(|found| (name(found.before), name(found.after))).collect()
    }

    #[test]
    fn tree_diff_reports_added_removed_and_changed() {
        let before = tree(&[("100644", "a", 1), ("40000", "b", 2), ("100644", "b.c", 3), ("100644", "d", 4)]);
        let after = tree(&[("100644", "a", 1), ("100644", "b", 2), ("100644", "b.c", 9), ("100644", "e", 4)]);
        let some = |name: &str| Some(name.to_owned());
        // A directory `b` is sorted after `b.c`, but a file `b` before it.
        let expected = [
            (None, some("b")),
            (some("b.c"), some("b.c")),
            (some("b"), None),
            (some("d"), None),
            (None, some("e")),
        ];
        let sorted = tree(&[("100644", "a", 1), ("100644", "b.c", 3), ("40000", "b", 2), ("100644", "d", 4)]);
        assert_eq!(names(&sorted, &after), expected);
        assert_eq!(names(&sorted, &sorted), []);
        // Entries in an invalid order are not an error, since they only lead to more differences.
        assert!(!names(&before, &after).is_empty());
    }

    #[test]
    fn fuzz_any_bytes_are_entries_that_name_no_other_directory() {
        let seeds = [tree(&[("100644", "a", 1), ("40000", "b", 2), ("160000", "c", 3)])];
        forage_fuzz::target!(&forage_fuzz::seeds(seeds), |bytes| {
            for entry in TreeEntries::new(bytes, 20).flatten() {
                assert!(!entry.name.contains(&b'/') && entry.name != b"..");
            }
            if let Some(found) = differences(bytes, &[], 20) {
                assert_eq!(found.len(), TreeEntries::new(bytes, 20).count());
            }
            assert_eq!(differences(bytes, bytes, 20).map(|found| found.len()).unwrap_or(0), 0);
        });
    }
}

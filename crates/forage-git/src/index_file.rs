//! Reads git's index of versions 2 to 4 (`gitformat-index`).

use std::ops::Range;

use crate::id::ObjectId;
use crate::limits;
use crate::tree::{FileMode, TreeEntryKind};

/// A file in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) path: Vec<u8>,
    /// [`TreeEntryKind::Directory`] in a sparse index only.
    pub(crate) kind: TreeEntryKind,
    pub(crate) id: ObjectId,
    /// The state of the file when its content was last known to be that of `id`.
    pub(crate) stat: IndexStat,
    /// 0, or the side (1 to 3) of a file with a conflict.
    pub(crate) stage: u8,
    /// True if we need not look at the file in the working tree (`assume-unchanged`).
    pub(crate) is_assumed: bool,
    /// True if the file need not be in the working tree (`skip-worktree`).
    pub(crate) is_skipped: bool,
    /// True if this was added with `git add -N`, which does not store the content.
    pub(crate) is_intended: bool,
}

/// The state of a file in the units of the index: seconds and nanoseconds, cut to 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct IndexStat {
    pub(crate) changed: (u32, u32),
    pub(crate) modified: (u32, u32),
    pub(crate) inode: u32,
    pub(crate) size: u32,
}

/// A directory whose tree is known to be equal to the files of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CachedTree {
    /// `None` if the files have changed since.
    pub(crate) id: Option<ObjectId>,
    pub(crate) name: Vec<u8>,
    pub(crate) below: Vec<CachedTree>,
}

/// Git's index.
#[derive(Debug, Default)]
pub(crate) struct GitIndex {
    /// In byte order of their paths.
    pub(crate) entries: Vec<IndexEntry>,
    pub(crate) trees: Option<CachedTree>,
}

/// A reader of numbers and bytes.
struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// Takes the bytes before an end, and skips the end.
    fn until(&mut self, end: u8) -> Option<&'a [u8]> {
        let at = memchr::memchr(end, self.rest)?;
        let taken = self.take(at)?;
        self.take(1)?;
        Some(taken)
    }

    /// Takes a number that is encoded like the distances in packs.
    fn distance(&mut self) -> Option<usize> {
        let mut byte = self.take(1)?[0];
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
        }
        Some(value)
    }
}

impl GitIndex {
    /// Parses the file.
    ///
    /// # Errors
    ///
    /// Fails with the reason why it can't be read.
    pub(crate) fn parse(file: &[u8], id_bytes: usize) -> Result<Self, &'static str> {
        const DAMAGED: &str = "it is damaged";
        const SPLIT: &str = "it is a split index (`core.splitIndex`), which is not supported";
        // The file ends with a checksum, which we do not verify.
        let mut bytes = Bytes { rest: file.get(..file.len().saturating_sub(id_bytes)).unwrap_or_default() };
        let head = bytes.take(4).filter(|signature| signature == b"DIRC").and_then(|_| bytes.u32());
        let version =
            head.filter(|version| (2..=4).contains(version)).ok_or("its version is not supported")?;
        let count = bytes.u32().ok_or(DAMAGED)? as usize;
        if count > limits::GIT_INDEX_FILES {
            return Err("it has too many files");
        }
        // Each entry takes more than 43 bytes, so a damaged count can't reserve much memory.
        let mut index = Self { entries: Vec::with_capacity(count.min(file.len() / 43)), trees: None };
        let mut path = Vec::new();
        for _ in 0..count {
            // In a split index, entries without a name replace those of the shared one.
            let entry = read_entry(&mut bytes, version, id_bytes, &mut path);
            let error = if path.is_empty() { SPLIT } else { DAMAGED };
            index.entries.push(entry.ok_or(error)?);
        }
        // All look-ups are binary searches.
        if !index.entries.is_sorted_by(|a, b| (&a.path, a.stage) < (&b.path, b.stage)) {
            return Err(DAMAGED);
        }
        while bytes.rest.len() >= 8 {
            let name = bytes.take(4).ok_or(DAMAGED)?;
            let size = bytes.u32().ok_or(DAMAGED)? as usize;
            let content = bytes.take(size).ok_or(DAMAGED)?;
            match name {
                b"TREE" => index.trees = cached_tree(&mut Bytes { rest: content }, id_bytes, 0),
                b"link" => return Err(SPLIT),
                _ => {}
            }
        }
        Ok(index)
    }

    /// Finds the range of the files below a directory. Its path must end with a slash unless it is empty.
    pub(crate) fn below(&self, directory: &[u8]) -> Range<usize> {
        let from = self.entries.partition_point(|entry| entry.path.as_slice() < directory);
        let count = self.entries[from..].partition_point(|entry| entry.path.starts_with(directory));
        from..from + count
    }

    /// Returns true if a path is in the index, with or without a conflict.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        let at = self.entries.partition_point(|entry| entry.path.as_slice() < path);
        self.entries.get(at).is_some_and(|entry| entry.path == path)
    }
}

fn read_entry(
    bytes: &mut Bytes<'_>,
    version: u32,
    id_bytes: usize,
    path: &mut Vec<u8>,
) -> Option<IndexEntry> {
    let before = bytes.rest.len();
    let changed = (bytes.u32()?, bytes.u32()?);
    let modified = (bytes.u32()?, bytes.u32()?);
    let [_, inode, mode, _, _, size] =
        [bytes.u32()?, bytes.u32()?, bytes.u32()?, bytes.u32()?, bytes.u32()?, bytes.u32()?];
    let id = ObjectId::from_bytes(bytes.take(id_bytes)?)?;
    let flags = bytes.u16()?;
    let more = if flags & 0x4000 != 0 && version >= 3 { bytes.u16()? } else { 0 };
    if version == 4 {
        let cut = bytes.distance()?;
        path.truncate(path.len().checked_sub(cut)?);
        path.extend_from_slice(bytes.until(0)?);
    } else {
        path.clear();
        path.extend_from_slice(bytes.until(0)?);
        // An entry must end with one to eight NUL bytes, so that its size is a multiple of eight.
        let size = before - bytes.rest.len();
        bytes.take(size.next_multiple_of(8) - size)?;
    }
    let kind = TreeEntryKind::from_mode(mode);
    let name = match kind {
        TreeEntryKind::Directory => path.strip_suffix(b"/")?,
        TreeEntryKind::File(_) => path,
    };
    // A path must not lead out of the root.
    let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    if name.len() > limits::PATH_BYTES || !name.split(|&byte| byte == b'/').all(is_plain) {
        return None;
    }
    Some(IndexEntry {
        path: path.clone(),
        kind,
        id,
        stat: IndexStat { changed, modified, inode, size },
        stage: (flags >> 12 & 3) as u8,
        is_assumed: flags & 0x8000 != 0,
        is_skipped: more & 0x4000 != 0,
        is_intended: more & 0x2000 != 0,
    })
}

/// Parses a directory of the extension `TREE`. If this is damaged, the result is `None`.
fn cached_tree(bytes: &mut Bytes<'_>, id_bytes: usize, depth: usize) -> Option<CachedTree> {
    if depth > limits::TREE_DEPTH {
        return None;
    }
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<i64>().ok();
    let name = bytes.until(0)?.to_vec();
    let files = number(bytes.until(b' ')?)?;
    let count = number(bytes.until(b'\n')?)?;
    let id = match files {
        0.. => Some(ObjectId::from_bytes(bytes.take(id_bytes)?)?),
        _ => None,
    };
    let mut below = Vec::new();
    for _ in 0..count {
        below.push(cached_tree(bytes, id_bytes, depth + 1)?);
    }
    Some(CachedTree { id, name, below })
}

impl IndexEntry {
    /// The mode, or `None` for a directory of a sparse index.
    pub(crate) fn mode(&self) -> Option<FileMode> {
        match self.kind {
            TreeEntryKind::File(mode) => Some(mode),
            TreeEntryKind::Directory => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, flags: u16) -> Vec<u8> {
        let numbers: [u32; 10] = [1, 2, 3, 4, 5, 6, 0o100_755, 7, 8, 9];
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        bytes.extend([7; 20]);
        bytes.extend((flags | path.len() as u16).to_be_bytes());
        bytes.extend(path.as_bytes());
        bytes.extend(vec![0; 8 - bytes.len() % 8]);
        bytes
    }

    fn file(entries: &[Vec<u8>], extensions: &[u8]) -> Vec<u8> {
        let head =
            [b"DIRC".to_vec(), 2_u32.to_be_bytes().to_vec(), (entries.len() as u32).to_be_bytes().to_vec()];
        [head.concat(), entries.concat(), extensions.to_vec(), vec![0; 20]].concat()
    }

    #[test]
    fn index_entries_have_paths_modes_and_states() {
        let tree = [b"\x001 0\n".to_vec(), vec![9; 20]].concat();
        let tree = [b"TREE".to_vec(), (tree.len() as u32).to_be_bytes().to_vec(), tree].concat();
        let index =
            GitIndex::parse(&file(&[entry("a/b", 0), entry("a/b", 0x2000), entry("c", 0)], &tree), 20);
        let index = index.unwrap();
        assert_eq!(index.entries[0].mode(), Some(FileMode::Executable));
        let stat = IndexStat { changed: (1, 2), modified: (3, 4), inode: 6, size: 9 };
        assert_eq!((index.entries[0].stat, index.entries[1].stage), (stat, 2));
        assert_eq!((index.below(b"a/"), index.has(b"c"), index.has(b"a")), (0..2, true, false));
        assert_eq!(index.trees.unwrap().id, ObjectId::from_bytes(&[9; 20]));
        for wrong in [&[entry("b", 0), entry("a", 0)][..], &[entry("../a", 0)], &[entry("/a", 0)]] {
            assert!(GitIndex::parse(&file(wrong, b""), 20).is_err());
        }
    }

    #[test]
    fn fuzz_any_index_has_paths_below_the_root() {
        let mut four = file(&[entry("a/b", 0)], b"");
        four[7] = 4;
        forage_fuzz::target!(
            &forage_fuzz::seeds([file(&[entry("a/b", 0), entry("c", 0)], b""), four]),
            |bytes| {
                if let Ok(index) = GitIndex::parse(bytes, 20) {
                    assert!(index.entries.iter().all(|entry| !entry.path.starts_with(b"/")));
                }
            }
        );
    }
}

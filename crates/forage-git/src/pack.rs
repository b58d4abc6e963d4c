//! Reads packs and their indexes of version 2 (`gitformat-pack`).

use std::cmp::Ordering;

use forage_fs::OpenedFile;

use crate::error::ObjectFault;
use crate::id::{IdPrefix, ObjectId};
use crate::limits;
use crate::paged::PagedFile;

/// Size in bytes of the header of an index.
const HEAD_BYTES: u64 = 8;

/// Size in bytes of the fan-out table, which counts the ids up to each first byte.
const FANOUT_BYTES: u64 = 4 * 256;

const NAMES_AT: u64 = HEAD_BYTES + FANOUT_BYTES;

/// A pack: its index and the file of objects.
pub(crate) struct Pack {
    index: PagedFile,
    pub(crate) objects: PagedFile,
    fanout: Vec<u32>,
    id_bytes: u64,
}

/// The type of a pack entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackedKind {
    /// A complete object.
    Whole(ObjectKind),
    /// A delta against the entry at another offset of the pack.
    FromPlace(u64),
    /// A delta against an object.
    FromObject(ObjectId),
}

/// The object types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Commit,
    Tree,
    Blob,
    Tag,
}

/// A pack entry: its type, its inflated size in bytes, and the offset of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedEntry {
    pub(crate) kind: PackedKind,
    pub(crate) size: usize,
    pub(crate) at: u64,
}

impl Pack {
    /// Opens a pack. Returns `None` if the files are not a pack or have another version. This caches an index
    /// of up to `kept` bytes completely.
    pub(crate) fn new(index: OpenedFile, objects: OpenedFile, id_bytes: usize, kept: u64) -> Option<Self> {
        let (mut index, objects) = (PagedFile::index(index, kept), PagedFile::new(objects));
        let head = index.copy(0..NAMES_AT).ok()?;
        let fanout: Vec<u32> =
            head.strip_prefix(b"\xfftOc\0\0\0\x02")?.chunks_exact(4).map(big_endian).collect();
        let count = u64::from(*fanout.get(255)?);
        let id_bytes = id_bytes as u64;
        let least = NAMES_AT + count * (id_bytes + 4 + 4) + 2 * id_bytes;
        // `find` subtracts neighboring numbers of the table.
        let is_sound = fanout.is_sorted() && index.size() >= least;
        is_sound.then_some(Self { index, objects, fanout, id_bytes })
    }

    /// Looks up the offset of an object, if it is in the pack.
    pub(crate) fn find(&mut self, id: &ObjectId) -> Result<Option<u64>, ObjectFault> {
        let wanted = id.as_bytes();
        if wanted.len() as u64 != self.id_bytes {
            return Ok(None);
        }
        let first = usize::from(wanted[0]);
        let mut from = if first == 0 { 0 } else { u64::from(self.fanout[first - 1]) };
        let mut to = u64::from(self.fanout[first]);
        // Ids are hashes, so their second byte predicts the position among those with the same first byte.
        let mut guess = from + (to - from) * u64::from(wanted[1]) / 256;
        while from < to {
            let start = guess.saturating_sub(limits::INDEX_WINDOW / 2).clamp(from, to - 1);
            let end = (start + limits::INDEX_WINDOW).min(to);
            let length = self.id_bytes;
            let names = self.index.copy(NAMES_AT + start * length..NAMES_AT + end * length)?;
            let before = match position(&names, wanted) {
                Ok(index) => return self.offset(start + index).map(Some),
                Err(before) => before,
            };
            match before {
                0 => to = start,
                before if start + before == end => from = end,
                _ => return Ok(None),
            }
            guess = from + (to - from) / 2;
        }
        Ok(None)
    }

    /// Adds the ids that begin with a prefix to `found`, which will have at most `max`.
    pub(crate) fn with_prefix(
        &mut self,
        prefix: &IdPrefix,
        max: usize,
        found: &mut Vec<ObjectId>,
    ) -> Result<(), ObjectFault> {
        let first = usize::from(prefix.first_byte());
        let from = if first == 0 { 0 } else { u64::from(self.fanout[first - 1]) };
        let length = self.id_bytes;
        let to = u64::from(self.fanout[first]);
        for start in (from..to).step_by(limits::INDEX_WINDOW as usize) {
            let end = (start + limits::INDEX_WINDOW).min(to);
            let names = self.index.copy(NAMES_AT + start * length..NAMES_AT + end * length)?;
            let ids = names.chunks_exact(length as usize).filter_map(ObjectId::from_bytes);
            for id in ids.filter(|id| prefix.fits(id)) {
                if found.len() >= max {
                    return Ok(());
                }
                found.push(id);
            }
        }
        Ok(())
    }

    /// Looks up the offset of the object with this number.
    fn offset(&mut self, number: u64) -> Result<u64, ObjectFault> {
        let count = u64::from(self.fanout[255]);
        let offsets = NAMES_AT + count * (self.id_bytes + 4);
        let at = offsets + number * 4;
        let offset = big_endian(&self.index.copy(at..at + 4)?);
        if offset & 0x8000_0000 == 0 {
            return Ok(u64::from(offset));
        }
        let at = offsets + count * 4 + u64::from(offset & 0x7fff_ffff) * 8;
        let bytes = self.index.copy(at..at + 8)?;
        Ok(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// Reads the entry at an offset of the pack.
    pub(crate) fn entry(&mut self, place: u64) -> Result<PackedEntry, ObjectFault> {
        // A header has at most ten bytes for the size, and then as many for a distance or up to 32 for an id.
        let bytes = self.objects.copy(place..place.saturating_add(64))?;
        let mut entry = head(&bytes, place, self.id_bytes as usize).ok_or(ObjectFault::Damaged)?;
        entry.at += place;
        Ok(entry)
    }
}

/// Searches for an id among sorted ones. Returns its number, or the number of smaller ids as an error.
fn position(names: &[u8], wanted: &[u8]) -> Result<u64, u64> {
    let length = wanted.len();
    let (mut from, mut to) = (0, names.len() / length);
    while from < to {
        let middle = usize::midpoint(from, to);
        match names[middle * length..(middle + 1) * length].cmp(wanted) {
            Ordering::Less => from = middle + 1,
            Ordering::Equal => return Ok(middle as u64),
            Ordering::Greater => to = middle,
        }
    }
    Err(from as u64)
}

/// Parses the first bytes of an entry.
fn head(bytes: &[u8], place: u64, id_bytes: usize) -> Option<PackedEntry> {
    let mut rest = bytes.iter().copied();
    let mut byte = rest.next()?;
    let kind = byte >> 4 & 7;
    let (mut size, mut shift) = (u64::from(byte & 0x0f), 4);
    while byte & 0x80 != 0 {
        byte = rest.next()?;
        // No object can have a size of more than 60 bits.
        if shift > 53 {
            return None;
        }
        size |= u64::from(byte & 0x7f) << shift;
        shift += 7;
    }
    let kind = match kind {
        1 => PackedKind::Whole(ObjectKind::Commit),
        2 => PackedKind::Whole(ObjectKind::Tree),
        3 => PackedKind::Whole(ObjectKind::Blob),
        4 => PackedKind::Whole(ObjectKind::Tag),
        6 => {
            let mut byte = rest.next()?;
            let mut distance = u64::from(byte & 0x7f);
            while byte & 0x80 != 0 {
                byte = rest.next()?;
                distance = distance.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
            }
            // The base must be an earlier entry: an entry can't be its own base.
            PackedKind::FromPlace(place.checked_sub(distance).filter(|&base| base < place)?)
        }
        7 => {
            let id: Vec<u8> = rest.by_ref().take(id_bytes).collect();
            PackedKind::FromObject(ObjectId::from_bytes(&id)?)
        }
        _ => return None,
    };
    let at = (bytes.len() - rest.len()) as u64;
    Some(PackedEntry { kind, size: usize::try_from(size).ok()?, at })
}

fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |value, &byte| value << 8 | u32::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_git_writes_them() {
        let whole = |kind, size, at| PackedEntry { kind: PackedKind::Whole(kind), size, at };
        assert_eq!(head(&[0x95, 0x0a], 12, 20), Some(whole(ObjectKind::Commit, 0xa5, 2)));
        assert_eq!(head(&[0x2f], 12, 20), Some(whole(ObjectKind::Tree, 15, 1)));
        let from = PackedEntry { kind: PackedKind::FromPlace(1000 - 0x91), size: 3, at: 3 };
        // The second byte of a distance continues after the range of the first.
        assert_eq!(head(&[0x63, 0x80, 0x11], 1000, 20), Some(from));
        for wrong in [&[][..], &[0x95], &[0x63, 0x00], &[0x63, 0x80, 0x80], &[0x73, 1, 2], &[0x03]] {
            assert_eq!(head(wrong, 100, 20), None, "{wrong:?}");
        }
    }

    #[test]
    fn fuzz_any_head_leads_forward_only() {
        let seeds = [vec![0x95, 0x0a], vec![0x63, 0x80, 0x11], vec![0x73; 40]];
        forage_fuzz::target!(&forage_fuzz::seeds(seeds), |bytes| {
            if let Some(entry) = head(bytes, 1000, 20) {
                assert!(entry.at <= bytes.len() as u64);
                assert!(!matches!(entry.kind, PackedKind::FromPlace(place) if place >= 1000));
            }
        });
    }
}

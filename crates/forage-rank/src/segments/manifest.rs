//! The manifest: the file that lists the content of an index.
//!
//! It records the length and hash of every file, and ends with a hash of itself. So a file from another time
//! or another index is detected just like a modified one. The manifest consists of lines of text:
//!
//! ```text
//! forage_encoded_12 17                 the format, and the number of commits so far
//! note {"vector":"text"}              data that the owner of the index stores with it, if any
//! segment 3f…                         one per segment, followed by its files
//! file 3f….term 1234 a1b2…            the name, the length in bytes, XXH3 in hexadecimal digits
//! gone 3f….17.gone 64 c3d4…           like a file; the bit set of the segment's living documents
//! states 3f….17.states 640 c3d4…      like a file; the states that replace those written with its documents
//! sum e5f6…                           XXH3 of all lines before
//! ```

use std::collections::HashSet;
use std::fmt::Write as _;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::IndexError;

/// A file as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// The name within the directory of the index.
    pub name: String,
    /// The length in bytes.
    pub length: u64,
    /// XXH3 of the bytes.
    pub hash: u64,
}

/// The files of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentEntry {
    /// The engine's id of this segment.
    pub id: String,
    /// The files that were written with this segment.
    pub files: Vec<ManifestEntry>,
    /// The bit set of living documents, if some were removed.
    pub gone: Option<ManifestEntry>,
    /// The states of all documents, if some files have a new state since the segment was written but the same
    /// content.
    pub states: Option<ManifestEntry>,
}

/// The content of an index at a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The number of commits so far.
    pub commit: u64,
    /// One line that the owner of the index stores with it; empty for none.
    pub note: String,
    /// The segments.
    pub segments: Vec<SegmentEntry>,
}

impl Manifest {
    /// Returns the names of all files of this index except the manifest.
    #[must_use]
    pub fn names(&self) -> HashSet<&str> {
        self.files().map(|file| file.name.as_str()).collect()
    }

    /// Returns all files of this index except the manifest.
    pub fn files(&self) -> impl Iterator<Item = &ManifestEntry> {
        self.segments
            .iter()
            .flat_map(|segment| segment.files.iter().chain(&segment.gone).chain(&segment.states))
    }

    pub(super) fn to_text(&self, format: &str) -> String {
        let mut text = format!("{format} {}\n", self.commit);
        if !self.note.is_empty() {
            let _ = writeln!(text, "note {}", self.note);
        }
        let line = |text: &mut String, kind: &str, ManifestEntry { name, length, hash }: &ManifestEntry| {
            let _ = writeln!(text, "{kind} {name} {length} {hash:016x}");
        };
        for segment in &self.segments {
            let _ = writeln!(text, "segment {}", segment.id);
            segment.files.iter().for_each(|file| line(&mut text, "file", file));
            segment.gone.iter().for_each(|file| line(&mut text, "gone", file));
            segment.states.iter().for_each(|file| line(&mut text, "states", file));
        }
        let sum = xxh3_64(text.as_bytes());
        let _ = writeln!(text, "sum {sum:016x}");
        text
    }

    pub(super) fn from_text(format: &str, text: &str) -> Result<Self, IndexError> {
        let (theirs, _) = text.split_once(' ').ok_or(IndexError::Damaged)?;
        if theirs != format {
            return Err(IndexError::Format);
        }
        Self::parse(text).ok_or(IndexError::Damaged)
    }

    fn parse(text: &str) -> Option<Self> {
        let at = text.trim_end_matches('\n').rfind('\n')? + 1;
        let (body, last) = text.split_at(at);
        if last != format!("sum {:016x}\n", xxh3_64(body.as_bytes())) {
            return None;
        }
        let mut lines = body.lines();
        let commit = lines.next()?.split_once(' ')?.1.parse().ok()?;
        let mut manifest = Self { commit, ..Self::default() };
        for line in lines {
            let (kind, rest) = line.split_once(' ')?;
            match kind {
                "note" => manifest.note = rest.to_owned(),
                "segment" => {
                    manifest.segments.push(SegmentEntry { id: name(rest)?, ..SegmentEntry::default() })
                }
                "file" => manifest.segments.last_mut()?.files.push(file(rest)?),
                "gone" => manifest.segments.last_mut()?.gone = Some(file(rest)?),
                "states" => manifest.segments.last_mut()?.states = Some(file(rest)?),
                _ => return None,
            }
        }
        Some(manifest)
    }
}

fn file(line: &str) -> Option<ManifestEntry> {
    let mut words = line.split(' ');
    let (file, length, hash) = (words.next()?, words.next()?, words.next()?);
    let entry = ManifestEntry {
        name: name(file)?,
        length: length.parse().ok()?,
        hash: u64::from_str_radix(hash, 16).ok()?,
    };
    words.next().is_none().then_some(entry)
}

/// Parses a file name, which must not point to another directory.
fn name(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    (text.bytes().all(is_plain) && !text.starts_with('.') && !text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "format_1";

    #[test]
    fn manifest_round_trips_and_detects_any_changed_bit() {
        let file = |name: &str| ManifestEntry { name: name.to_owned(), length: 12, hash: u64::MAX / 3 };
        let segment = |id: &str, gone, states| SegmentEntry {
            id: id.to_owned(),
            files: vec![file("a.term")],
            gone,
            states,
        };
        let segments = vec![
            segment("a1", None, None),
            segment("b2", Some(file("b2.3.gone")), Some(file("b2.4.states"))),
        ];
        let manifest = Manifest { commit: 7, note: "{\"a b\":1}".to_owned(), segments };
        let text = manifest.to_text(FORMAT);
        assert_eq!(Manifest::from_text(FORMAT, &text).unwrap(), manifest);
        let empty = Manifest::default().to_text(FORMAT);
        assert_eq!(Manifest::from_text(FORMAT, &empty).unwrap(), Manifest::default());
        for bit in 0..text.len() * 8 {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            Manifest::from_text(FORMAT, &changed).unwrap_err();
        }
        for end in 0..text.len() {
            Manifest::from_text(FORMAT, &text[..end]).unwrap_err();
        }
    }

    #[test]
    fn a_manifest_names_no_file_of_another_directory() {
        for bad in ["../a.term", "/etc/passwd", ".hidden", "a/b", ""] {
            let mut text = Manifest::default().to_text(FORMAT);
            text.truncate(text.find("sum").unwrap());
            text.push_str(&format!("segment a\nfile {bad} 1 1\n"));
            let text = format!("{text}sum {:016x}\n", xxh3_64(text.as_bytes()));
            Manifest::from_text(FORMAT, &text).unwrap_err();
        }
    }

    #[test]
    fn fuzz_a_manifest_names_plain_files_and_comes_back() {
        let file = |name: &str| ManifestEntry { name: name.to_owned(), length: 12, hash: u64::MAX / 3 };
        let segments = vec![
            SegmentEntry {
                id: "a1".to_owned(),
                files: vec![file("a1.term"), file("a1.pos")],
                ..SegmentEntry::default()
            },
            SegmentEntry {
                id: "b2".to_owned(),
                files: vec![file("b2.fast")],
                gone: Some(file("b2.3.gone")),
                states: Some(file("b2.3.states")),
            },
        ];
        let manifest = Manifest { commit: 7, note: "{\"a b\":1}".to_owned(), segments };
        let seeds = forage_fuzz::seeds([manifest.to_text(FORMAT), Manifest::default().to_text(FORMAT)]);
        forage_fuzz::target!(&seeds, |input| {
            let said = String::from_utf8_lossy(input);
            // The manifest is modified and keeps the old sum.
            if let Ok(read) = Manifest::from_text(FORMAT, &said) {
                assert!(read == manifest || read == Manifest::default(), "{said}");
            }
            // The manifest is modified and has a correct sum.
            let body = said.rfind("sum ").map_or(&*said, |at| &said[..at]);
            let sealed = format!("{body}sum {:016x}\n", xxh3_64(body.as_bytes()));
            let Ok(read) = Manifest::from_text(FORMAT, &sealed) else { return };
            for name in read.names() {
                let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
                assert!(is_plain && !name.starts_with('.') && !name.is_empty(), "{name:?}");
            }
            assert_eq!(Manifest::from_text(FORMAT, &read.to_text(FORMAT)).unwrap(), read);
        });
    }
}

//! Lines that differ between two versions of a file, and signatures that say whether they can.

use std::hash::Hasher as _;
use std::ops::Range;

use forage_base::Hash64;
use imara_diff::{Algorithm, Diff, InternedInput, sources::byte_lines};

use super::HistoryFile;
use crate::limits;

/// A line that a commit added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLine {
    /// True if it was added.
    pub is_added: bool,
    /// Its number, from 1, in the new version if it was added, otherwise in the old one.
    pub number: u32,
}

/// The matches in a content. If two versions have different signatures, a match was added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signature {
    /// A binary file, which we do not compare by lines.
    Binary,
    /// The number of matches, and a hash of the matching lines that does not depend on their order.
    Matches { count: u64, hash: u64 },
}

impl Signature {
    /// The signature of a content without matches.
    pub(super) const EMPTY: Self = Self::Matches { count: 0, hash: 0 };

    /// Counts the occurrences of a text that do not overlap.
    pub(super) fn of_text(bytes: &[u8], text: &[u8]) -> Self {
        Self::Matches { count: memchr::memmem::find_iter(bytes, text).count() as u64, hash: 0 }
    }

    pub(super) fn of_lines(bytes: &[u8], lines: &[Range<usize>]) -> Self {
        let hash = |line: &Range<usize>| {
            let mut hasher = Hash64::default();
            // A line that lost its line feed has changed.
            hasher.write(&bytes[line.start..bytes.len().min(line.end + 1)]);
            hasher.finish()
        };
        let sum = lines.iter().fold(0, |sum: u64, line| sum.wrapping_add(hash(line)));
        Self::Matches { count: lines.len() as u64, hash: sum }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }
}

/// The difference of two texts by lines, as git computes it by default.
pub(super) struct LineDiff<'a> {
    before: Vec<&'a [u8]>,
    after: Vec<&'a [u8]>,
    diff: Diff,
}

impl<'a> LineDiff<'a> {
    /// Compares two texts. Returns `None` if they have too many lines.
    pub(super) fn new(before: &'a [u8], after: &'a [u8]) -> Option<Self> {
        let lines = |text: &'a [u8]| -> Option<Vec<&'a [u8]>> {
            let lines: Vec<&[u8]> = byte_lines(text).take(limits::HISTORY_DIFF_LINES + 1).collect();
            (lines.len() <= limits::HISTORY_DIFF_LINES).then_some(lines)
        };
        let (lines_before, lines_after) = (lines(before)?, lines(after)?);
        let input = InternedInput::new(byte_lines(before), byte_lines(after));
        let diff = Diff::compute(Algorithm::Myers, &input);
        Some(Self { before: lines_before, after: lines_after, diff })
    }

    /// Adds the changed lines that match to a file: first those that were removed.
    pub(super) fn collect(&self, file: &mut HistoryFile, max: usize, is_match: &dyn Fn(&[u8]) -> bool) {
        for (is_added, lines) in [(false, &self.before), (true, &self.after)] {
            for (number, line) in (0_u32..).zip(lines) {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                if self.is_changed(is_added, number) && is_match(line) {
                    file.add(is_added, number, max);
                }
            }
        }
    }

    /// Like [`LineDiff::collect`], for matching lines given by their ranges in both texts.
    pub(super) fn collect_ranges(
        &self,
        file: &mut HistoryFile,
        max: usize,
        matches: &[Vec<Range<usize>>; 2],
    ) {
        for (is_added, lines) in [(false, &self.before), (true, &self.after)] {
            let mut found = matches[usize::from(is_added)].iter().peekable();
            let mut start = 0;
            for (number, line) in (0_u32..).zip(lines) {
                let end = start + line.len();
                // An empty last line has no bytes, so each match is in one of these lines.
                if found.next_if(|it| it.start < end).is_some() && self.is_changed(is_added, number) {
                    file.add(is_added, number, max);
                }
                start = end;
            }
        }
    }

    fn is_changed(&self, is_added: bool, number: u32) -> bool {
        if is_added { self.diff.is_added(number) } else { self.diff.is_removed(number) }
    }
}

impl HistoryFile {
    fn add(&mut self, is_added: bool, number: u32, max: usize) {
        let count = if is_added { &mut self.added } else { &mut self.removed };
        *count += 1;
        if self.lines.len() < max {
            self.lines.push(HistoryLine { is_added, number: number + 1 });
        }
    }
}

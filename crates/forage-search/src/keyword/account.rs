//! Evidence, and the account of what ripgrep prints for it.

use std::ops::Range;

use forage_fs::RelPath;

use crate::key_blocks::KeyBlocks;

/// What ripgrep prints between groups of lines that do not touch.
pub(super) const SEPARATOR: &str = "--\n";

/// A line of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceLine {
    /// Counted from 1.
    pub number: u64,
    /// The terms that match the line, a bit each in the order of the terms; 0 for context.
    pub terms: u64,
    /// For a long line that matches: the byte at which the first match begins; else 0.
    pub first_match: usize,
    /// Where the line begins in the file's text.
    pub(super) start: u64,
    /// The line with its line feed, if it has one.
    pub bytes: Vec<u8>,
    /// The parts of it that lie in a block of a private key, wherever in the file that begins.
    pub in_key: Vec<Range<usize>>,
    /// It is a part of the evidence. Others are there because they may show that a line beside them has a secret.
    pub is_shown: bool,
}

/// The lines of a file that a term matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermMatches {
    /// Index of the term.
    pub term: u8,
    /// So many that they were not all counted.
    pub is_part: bool,
    /// Part of the lines that they are, 0 to 1, as far as the file was looked at; 0 where that is not known.
    pub share: f32,
    /// Lines.
    pub lines: u32,
    /// Bytes that are printed for them without context.
    pub bytes: u64,
}

impl EvidenceLine {
    pub(super) fn mark_keys(&mut self, keys: &KeyBlocks) {
        let line = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        self.in_key = keys.within(self.start, line);
    }
}

/// The evidence from one file: matching lines and those around them, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct FileEvidence {
    /// Path below the root of the search.
    pub path: RelPath,
    /// The path as ripgrep prints it, relative to where the search began, U+FFFD for what is not UTF-8.
    pub(super) printed_path: String,
    /// Lines in order.
    pub lines: Vec<EvidenceLine>,
    /// How many lines each term matches, whether they are here or not, in the order of the terms.
    pub matched: Vec<TermMatches>,
    /// Lines of context around matches.
    pub(super) context: u64,
    /// Terms that this file alone made too broad while it was read, and whose lines were given up.
    pub(super) over: u64,
    /// A NUL byte came late in the file: its lines don't count, but that it was hit by these terms does.
    pub(super) binary: u64,
}

impl FileEvidence {
    /// Keeps the lines that ripgrep would print for the terms in `mask`, and forgets the other terms.
    pub(super) fn retain(&mut self, mask: u64) {
        let mut near = Near::new(&self.lines, mask, self.context);
        self.lines.retain_mut(|line| {
            line.terms &= mask;
            near.holds(line.number)
        });
    }

    /// As [`FileEvidence::retain`] while the file is still being read: its last lines may be context of the next.
    pub(super) fn retain_so_far(&mut self, mask: u64) {
        let last = self.lines.last().map_or(0, |line| line.number);
        let mut near = Near::new(&self.lines, mask, self.context);
        self.lines.retain_mut(|line| {
            line.terms &= mask;
            near.holds(line.number) || line.number + self.context > last
        });
    }

    /// Bytes that ripgrep prints for the terms in `mask`, and the number of groups in it.
    pub(super) fn printed_bytes(&self, mask: u64) -> (u64, u64) {
        let mut printed = Printed::new(0u64);
        printed.file(self, mask);
        let groups = printed.groups;
        (printed.output, groups)
    }

    /// Bytes that this holds, about.
    pub(super) fn weight(&self) -> usize {
        self.lines.iter().map(|line| line.bytes.len() + size_of::<EvidenceLine>()).sum::<usize>()
            + size_of::<Self>()
    }

    /// Bytes printed before a line: path, number, marks; and the line feed behind it.
    pub(super) fn head_bytes(&self, line: &EvidenceLine) -> u64 {
        self.printed_path.len() as u64 + u64::from(line.number.max(1).ilog10()) + 4
    }

    /// Lines that a term matches, whether they are here or not.
    pub fn lines_of(&self, term: usize) -> u64 {
        let matches = self.matched.iter().find(|matches| usize::from(matches.term) == term);
        matches.map_or(0, |matches| u64::from(matches.lines))
    }

    /// Forgets what is known of other terms than those in `mask`.
    pub(super) fn keep_counts(&mut self, mask: u64) {
        self.matched.retain(|matches| mask >> matches.term & 1 == 1);
    }

    /// The groups of adjacent lines.
    pub fn groups(&self) -> impl Iterator<Item = &[EvidenceLine]> {
        self.lines.chunk_by(|a, b| a.number + 1 == b.number)
    }
}

/// Tells, for rising line numbers, whether a line is within the context of a match of the terms.
pub(super) struct Near {
    matches: std::iter::Peekable<std::vec::IntoIter<u64>>,
    last: Option<u64>,
    context: u64,
}

impl Near {
    fn new(lines: &[EvidenceLine], mask: u64, context: u64) -> Self {
        let matches: Vec<u64> =
            lines.iter().filter(|line| line.terms & mask != 0).map(|line| line.number).collect();
        Self::of(matches, context)
    }

    /// Of these lines, in order.
    pub(super) fn of(matches: Vec<u64>, context: u64) -> Self {
        Self { matches: matches.into_iter().peekable(), last: None, context }
    }

    pub(super) fn holds(&mut self, number: u64) -> bool {
        while let Some(passed) = self.matches.next_if(|&next| next <= number) {
            self.last = Some(passed);
        }
        let behind = self.last.is_some_and(|last| number - last <= self.context);
        behind || self.matches.peek().is_some_and(|next| next - number <= self.context)
    }
}

/// Where printed text goes: into a string, or into a count of its bytes.
pub(super) trait Output {
    fn text(&mut self, text: &str);
    /// Bytes that may not be UTF-8: each invalid sequence becomes U+FFFD.
    fn lossy(&mut self, bytes: &[u8]);
}

impl Output for String {
    fn text(&mut self, text: &str) {
        self.push_str(text);
    }

    fn lossy(&mut self, bytes: &[u8]) {
        self.push_str(&String::from_utf8_lossy(bytes));
    }
}

impl Output for u64 {
    fn text(&mut self, text: &str) {
        *self += text.len() as u64;
    }

    fn lossy(&mut self, bytes: &[u8]) {
        *self += lossy_bytes(bytes);
    }
}

/// Bytes of a text in which each invalid sequence is U+FFFD.
pub(super) fn lossy_bytes(bytes: &[u8]) -> u64 {
    let replacement = char::REPLACEMENT_CHARACTER.len_utf8();
    let length = |chunk: std::str::Utf8Chunk<'_>| {
        chunk.valid().len() + if chunk.invalid().is_empty() { 0 } else { replacement }
    };
    bytes.utf8_chunks().map(length).sum::<usize>() as u64
}

/// Prints evidence as `rg -C 10 --line-number --with-filename` does.
pub(super) struct Printed<O> {
    output: O,
    groups: u64,
}

impl<O: Output> Printed<O> {
    pub(super) fn new(output: O) -> Self {
        Self { output, groups: 0 }
    }

    pub(super) fn into_inner(self) -> O {
        self.output
    }

    /// Prints what the terms in `mask` give for a file.
    pub(super) fn file(&mut self, file: &FileEvidence, mask: u64) {
        let mut near = Near::new(&file.lines, mask, file.context);
        let mut previous = None;
        for line in file.lines.iter().filter(|line| near.holds(line.number) && line.is_shown) {
            if previous.is_none_or(|previous| previous + 1 != line.number) {
                if self.groups > 0 {
                    self.output.text(SEPARATOR);
                }
                self.groups += 1;
            }
            previous = Some(line.number);
            let mark = if line.terms & mask != 0 { ":" } else { "-" };
            self.output.text(&file.printed_path);
            self.output.text(mark);
            self.output.text(&line.number.to_string());
            self.output.text(mark);
            self.output.lossy(&line.bytes);
            if line.bytes.last() != Some(&b'\n') {
                self.output.text("\n");
            }
        }
    }
}

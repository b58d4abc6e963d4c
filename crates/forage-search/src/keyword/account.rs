//! Evidence, and the account of what ripgrep prints for it.

use std::ops::Range;

use forage_fs::{RelPath, needs_escape};

use crate::event::{CutLine, word_bytes};
use crate::key_blocks::KeyBlocks;
use crate::limits::{CHOSEN_LINE_BYTES, KEPT_LINE_BYTES};

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
    /// The line with its line feed, if it has one; of a very long one a part.
    pub bytes: Vec<u8>,
    /// Bytes of the line that are left out in front of `bytes`, and behind them.
    pub cut: CutLine,
    /// The parts of it that lie in a block of a private key, wherever in the file that begins.
    pub in_key: Vec<Range<usize>>,
    /// It is a part of the evidence. Others are there because they may show that a line beside them has a secret.
    pub is_shown: bool,
    /// A ranking chose it ([`super::KeywordFindings::add_ranked`]).
    pub is_ranked: bool,
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
    /// A line that is shown for the lines beside it.
    pub(super) fn new(number: u64, start: u64, bytes: Vec<u8>) -> Self {
        Self {
            number,
            terms: 0,
            first_match: 0,
            start,
            bytes,
            cut: CutLine::default(),
            in_key: Vec::new(),
            is_shown: true,
            is_ranked: false,
        }
    }

    /// Whether it is there for its own sake and not for a line beside it.
    pub fn is_evidence(&self) -> bool {
        self.terms != 0 || self.is_ranked
    }

    /// Keeps of a very long line what is around its first match: it is shown in part, and read for secrets so far as one
    /// can reach into that part.
    pub(super) fn shorten(&mut self) {
        let feed = usize::from(self.bytes.last() == Some(&b'\n'));
        let length = self.bytes.len() - feed;
        if length <= KEPT_LINE_BYTES {
            return;
        }
        let is_border = |at: usize| at >= length || self.bytes[at] & 0b1100_0000 != 0b1000_0000;
        let middle = self.first_match.saturating_sub(KEPT_LINE_BYTES / 2).min(length - KEPT_LINE_BYTES);
        let from = (middle.saturating_sub(3)..=middle).rev().find(|&at| is_border(at)).unwrap_or(middle);
        let end = from + KEPT_LINE_BYTES;
        let to = (end.saturating_sub(3)..=end).rev().find(|&at| is_border(at)).unwrap_or(end);
        // A word that is cut may be the half of a secret, which no rule would know for one.
        let most = KEPT_LINE_BYTES / 2 - CHOSEN_LINE_BYTES as usize;
        let from = if from > 0 { from + word_bytes(self.bytes[from..to].iter(), most) } else { from };
        let to = if to < length { to - word_bytes(self.bytes[from..to].iter().rev(), most) } else { to };
        self.bytes.truncate(to);
        self.bytes.drain(..from);
        self.bytes.extend(std::iter::repeat_n(b'\n', feed));
        self.bytes.shrink_to_fit();
        self.cut = CutLine { before: from, after: length - to };
        self.first_match = self.first_match.saturating_sub(from);
        let within = |at: usize| at.clamp(from, to) - from;
        self.in_key.iter_mut().for_each(|part| *part = within(part.start)..within(part.end));
        self.in_key.retain(|part| !part.is_empty());
    }

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
    /// The numbers of lines that the terms match, whether they are here or not, in the order of the terms.
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

    /// Whether a ranking put it there, and no term.
    pub fn is_ranked(&self) -> bool {
        self.lines.iter().any(|line| line.is_ranked)
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
pub(super) trait AccountOutput {
    fn text(&mut self, text: &str);
    /// Bytes that may not be UTF-8: each invalid sequence becomes U+FFFD.
    fn lossy(&mut self, bytes: &[u8]);
    /// Bytes that are printed and not kept.
    fn left_out(&mut self, bytes: usize);
}

impl AccountOutput for String {
    fn text(&mut self, text: &str) {
        self.push_str(text);
    }

    fn lossy(&mut self, bytes: &[u8]) {
        self.push_str(&String::from_utf8_lossy(bytes));
    }

    fn left_out(&mut self, _: usize) {}
}

impl AccountOutput for u64 {
    fn text(&mut self, text: &str) {
        *self += text.len() as u64;
    }

    fn lossy(&mut self, bytes: &[u8]) {
        *self += lossy_bytes(bytes);
    }

    fn left_out(&mut self, bytes: usize) {
        *self += bytes as u64;
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

/// Bytes of a line as a model is sent it at the most: what steers or hides is written out there, as `\x1B` or `\u{202E}`.
pub(super) fn sent_bytes(line: &[u8]) -> u64 {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let written_out = |c: char| match c {
        c if c == '\t' || !needs_escape(c) => 0,
        c if c.is_ascii() => 3,
        c => 4 + if c > '\u{ffff}' { 5 } else { 4 } - c.len_utf8() as u64,
    };
    let more = |chunk: std::str::Utf8Chunk<'_>| chunk.valid().chars().map(written_out).sum::<u64>();
    lossy_bytes(line) + 1 + line.utf8_chunks().map(more).sum::<u64>()
}

/// Prints evidence as `rg -C 10 --line-number --with-filename` does.
pub(super) struct Printed<O> {
    output: O,
    groups: u64,
}

impl<O: AccountOutput> Printed<O> {
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
            self.output.left_out(line.cut.before + line.cut.after);
            if line.bytes.last() != Some(&b'\n') {
                self.output.text("\n");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_out_counts_as_it_is_written() {
        let cases: [(&[u8], &str); 6] = [
            (b"plain\n", "plain\n"),
            (b"a\tb", "a\tb\n"),
            (b"\x1b[2J\n", "\\x1B[2J\n"),
            ("\u{202e}x".as_bytes(), "\\u{202E}x\n"),
            ("\u{e0041}".as_bytes(), "\\u{E0041}\n"),
            (b"\xff\n", "\u{fffd}\n"),
        ];
        for (line, sent) in cases {
            assert_eq!(sent_bytes(line), sent.len() as u64, "{line:?}");
        }
    }

    proptest! {
        /// What is kept of a long line is a part of it with its match, of whole characters, and its marks stand where they
        /// stood.
        #[test]
        fn a_shortened_line_is_a_part_with_its_match(
            text in proptest::collection::vec("[a-zé€\u{1f600}]", 9_000..24_000),
            at in 0.0..1.0f64, key in 0.0..1.0f64, has_feed: bool
        ) {
            let whole = text.concat();
            let border = |part: f64| (0..=(whole.len() as f64 * part) as usize).rev().find(|&at| whole.is_char_boundary(at));
            let (first_match, key) = (border(at).unwrap(), border(key).unwrap());
            let mut bytes = whole.clone().into_bytes();
            bytes.extend(has_feed.then_some(b'\n'));
            let in_key = std::iter::once(key..whole.len()).collect();
            let mut line = EvidenceLine { first_match, in_key, ..EvidenceLine::new(1, 0, bytes) };
            line.shorten();
            let CutLine { before, after } = line.cut;
            let kept = std::str::from_utf8(&line.bytes).unwrap();
            prop_assert_eq!(kept.ends_with('\n'), has_feed);
            let kept = kept.trim_end_matches('\n');
            prop_assert!(kept.len() <= KEPT_LINE_BYTES && kept.len() >= CHOSEN_LINE_BYTES as usize);
            let is_half = |at: usize| {
                let word = |at: Option<usize>| at.is_some_and(|at| whole.as_bytes()[at].is_ascii_alphanumeric());
                word(at.checked_sub(1)) && word(Some(at).filter(|&at| at < whole.len()))
            };
            prop_assert!(before == 0 || !is_half(before));
            prop_assert!(after == 0 || !is_half(whole.len() - after));
            prop_assert_eq!(kept, &whole[before..whole.len() - after]);
            prop_assert_eq!(before + line.first_match, first_match);
            let in_key: Vec<_> = line.in_key.iter().map(|part| before + part.start..before + part.end).collect();
            let end = before + kept.len();
            let expected = key.clamp(before, end)..end;
            prop_assert_eq!(in_key, if expected.is_empty() { vec![] } else { vec![expected] });
        }
    }
}

//! Evidence and the size of ripgrep's output for it.

use std::ops::Range;

use forage_fs::{RelPath, needs_escape};
use forage_redact::KeyBlocks;

use crate::event::{CutLine, word_bytes};
use crate::limits::{CHOSEN_LINE_BYTES, KEPT_LINE_BYTES};

/// ripgrep's separator between groups of non-adjacent lines.
pub(super) const SEPARATOR: &str = "--\n";

/// A line of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceLine {
    /// The line number, counted from 1.
    pub number: u64,
    /// The terms that match the line, as a bitmap in the order of the terms; 0 for context.
    pub terms: u64,
    /// For a long matching line, the offset of its first match; otherwise 0.
    pub first_match: usize,
    /// The offset of the line in the file's text.
    pub(super) start: u64,
    /// The line, including its line feed if it has one; a part of it if it is very long.
    pub bytes: Vec<u8>,
    /// Bytes of the line that are left out before and after `bytes`.
    pub cut: CutLine,
    /// The ranges of the line that belong to a private key block, even if the block begins on another line.
    pub in_key: Vec<Range<usize>>,
    /// True if the line is part of the evidence. Other lines are present because they may show that an
    /// adjacent line contains a secret.
    pub is_shown: bool,
    /// True if a ranking chose the line; see [`super::KeywordFindings::add_ranked`].
    pub is_ranked: bool,
}

/// The matching lines of one term in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermMatches {
    /// The index of the term.
    pub term: u8,
    /// True if the term has so many matches that not all were counted.
    pub is_part: bool,
    /// The share of the file's lines that match, from 0 to 1, within the part that was read; 0 if unknown.
    pub share: f32,
    /// Number of matching lines.
    pub lines: u32,
    /// Bytes printed for them without context.
    pub bytes: u64,
}

impl EvidenceLine {
    /// Creates a context line.
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

    /// Returns true if the line is evidence itself, not context of another line.
    pub fn is_evidence(&self) -> bool {
        self.terms != 0 || self.is_ranked
    }

    /// Cuts a very long line to the part around its first match. We keep more than is shown, because a secret
    /// may extend from there into the shown part.
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
        // A cut word may be half of a secret, which no rule would recognize. We therefore remove it, but not
        // so much that the part to show would be affected.
        let max = KEPT_LINE_BYTES / 2 - CHOSEN_LINE_BYTES as usize;
        let from = if from > 0 { from + word_bytes(self.bytes[from..to].iter(), max) } else { from };
        let to = if to < length { to - word_bytes(self.bytes[from..to].iter().rev(), max) } else { to };
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

/// The evidence from one file: matching lines and their context, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct FileEvidence {
    /// The path relative to the root of the search.
    pub path: RelPath,
    /// The path as ripgrep prints it: relative to the start of the search, with U+FFFD for invalid UTF-8.
    pub(super) printed_path: String,
    /// The lines in order.
    pub lines: Vec<EvidenceLine>,
    /// The number of matching lines of each term, in the order of the terms, including lines that are not in
    /// `lines`.
    pub matched: Vec<TermMatches>,
    /// Lines of context around matches.
    pub(super) context: u64,
    /// The terms that became too broad while this file was read, as a bitmap. Their lines were discarded.
    pub(super) over: u64,
    /// The terms that matched a file in which a late NUL byte was found, as a bitmap. Its lines do not count,
    /// but the hit does.
    pub(super) binary: u64,
}

impl FileEvidence {
    /// Keeps the lines that ripgrep would print for the terms in `mask`, and removes the other terms.
    pub(super) fn retain(&mut self, mask: u64) {
        let mut near = Nearby::new(&self.lines, mask, self.context);
        self.lines.retain_mut(|line| {
            line.terms &= mask;
            near.holds(line.number)
        });
    }

    /// Like [`FileEvidence::retain`], but for a file that is still being read. Its last lines may be context
    /// of the next match.
    pub(super) fn retain_so_far(&mut self, mask: u64) {
        let last = self.lines.last().map_or(0, |line| line.number);
        let mut near = Nearby::new(&self.lines, mask, self.context);
        self.lines.retain_mut(|line| {
            line.terms &= mask;
            near.holds(line.number) || line.number + self.context > last
        });
    }

    /// Counts the bytes that ripgrep prints for the terms in `mask`, and the groups of lines.
    pub(super) fn printed_bytes(&self, mask: u64) -> (u64, u64) {
        let mut printed = Printed::new(0u64);
        printed.file(self, mask);
        let groups = printed.groups;
        (printed.output, groups)
    }

    /// Estimates the memory size in bytes.
    pub(super) fn weight(&self) -> usize {
        self.lines.iter().map(|line| line.bytes.len() + size_of::<EvidenceLine>()).sum::<usize>()
            + size_of::<Self>()
    }

    /// Counts the bytes printed around a line: path, number, separators and the final line feed.
    pub(super) fn head_bytes(&self, line: &EvidenceLine) -> u64 {
        self.printed_path.len() as u64 + u64::from(line.number.max(1).ilog10()) + 4
    }

    /// Returns true if a ranking added the file, not a term.
    pub fn is_ranked(&self) -> bool {
        self.lines.iter().any(|line| line.is_ranked)
    }

    /// Looks up the number of lines that a term matches, including those that are not in `lines`.
    pub fn lines_of(&self, term: usize) -> u64 {
        let matches = self.matched.iter().find(|matches| usize::from(matches.term) == term);
        matches.map_or(0, |matches| u64::from(matches.lines))
    }

    /// Removes the counts of all terms that are not in `mask`.
    pub(super) fn keep_counts(&mut self, mask: u64) {
        self.matched.retain(|matches| mask >> matches.term & 1 == 1);
    }

    /// Iterates over the groups of adjacent lines.
    pub fn groups(&self) -> impl Iterator<Item = &[EvidenceLine]> {
        self.lines.chunk_by(|a, b| a.number + 1 == b.number)
    }
}

/// Decides for ascending line numbers whether each line is context of a match.
pub(super) struct Nearby {
    matches: std::iter::Peekable<std::vec::IntoIter<u64>>,
    last: Option<u64>,
    context: u64,
}

impl Nearby {
    fn new(lines: &[EvidenceLine], mask: u64, context: u64) -> Self {
        let matches: Vec<u64> =
            lines.iter().filter(|line| line.terms & mask != 0).map(|line| line.number).collect();
        Self::from_lines(matches, context)
    }

    /// Takes the numbers of the matching lines, which must be in ascending order.
    pub(super) fn from_lines(matches: Vec<u64>, context: u64) -> Self {
        Self { matches: matches.into_iter().peekable(), last: None, context }
    }

    pub(super) fn holds(&mut self, number: u64) -> bool {
        while let Some(passed) = self.matches.next_if(|&next| next <= number) {
            self.last = Some(passed);
        }
        let after = self.last.is_some_and(|last| number - last <= self.context);
        after || self.matches.peek().is_some_and(|next| next - number <= self.context)
    }
}

/// The destination of printed text: a string, or a count of its bytes.
pub(super) trait AccountOutput {
    fn text(&mut self, text: &str);
    /// Adds text that may not be UTF-8; each invalid sequence becomes U+FFFD.
    fn lossy(&mut self, bytes: &[u8]);
    /// Adds bytes that are printed but not kept.
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

/// Computes the length of a text after replacing each invalid sequence by U+FFFD.
pub(super) fn lossy_bytes(bytes: &[u8]) -> u64 {
    let replacement = char::REPLACEMENT_CHARACTER.len_utf8();
    let length = |chunk: std::str::Utf8Chunk<'_>| {
        chunk.valid().len() + if chunk.invalid().is_empty() { 0 } else { replacement }
    };
    bytes.utf8_chunks().map(length).sum::<usize>() as u64
}

/// Computes the maximum number of bytes of a line in a model's input. Control and invisible characters are
/// escaped there, e.g. as `\x1B` or `\u{202E}`.
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

/// Formats evidence like `rg -C 10 --line-number --with-filename`.
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

    /// Prints the matches of the terms in `mask` for a file.
    pub(super) fn file(&mut self, file: &FileEvidence, mask: u64) {
        let mut near = Nearby::new(&file.lines, mask, file.context);
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
            // ripgrep would print the whole line.
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
    fn escapes_count_as_written() {
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
        /// The kept part of a long line must contain its match and whole characters, and its marks must keep
        /// their positions.
        #[test]
        fn shortened_line_keeps_its_match(
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

//! Locates private key blocks in a text.
//!
//! An answer shows selected lines of a file, and a line from the middle of a key does not look like a key. We
//! can only recognize it in the whole text, which only a search has in memory. This module finds the
//! positions; the caller that redacts an answer chooses the replacement.

use std::ops::Range;

use memchr::memmem;

use crate::limits::{KEY_BLOCKS_KEPT, KEY_LINE_BYTES};

/// Every block has one of these strings in its first line: PEM, PGP and SSH2; OpenVPN; PuTTY.
const WORDS: [&[u8]; 3] = [b"PRIVATE KEY", b"OpenVPN Static key", PUTTY];
const PUTTY: &[u8] = b"Private-Lines:";
/// The lines that follow a PuTTY key.
const PUTTY_ENDS: [&[u8]; 2] = [b"Private-MAC:", b"Private-Hash:"];

/// Minimum length of a key's first line, in characters. If source code names the mark, a word may follow it,
/// and this must not count as a key.
const FIRST_LINE: usize = 16;
/// Minimum length of a key without an end mark, in characters.
const UNENDED_KEY: usize = 40;
/// Maximum number of successive lines without a letter between the mark and the key, and within the key.
const BLANK_LINES: usize = 4;

/// The private key blocks of a text, which may arrive in pieces.
#[derive(Debug, Default)]
pub struct KeyBlocks {
    /// Complete blocks, ascending and disjoint.
    blocks: Vec<Range<u64>>,
    /// The offset of the first byte of `rest`.
    position: u64,
    /// An incomplete line.
    rest: Vec<u8>,
    open: Option<OpenKey>,
}

/// A block whose end has not been found yet.
#[derive(Debug)]
struct OpenKey {
    start: u64,
    /// The offset after its last byte so far.
    end: u64,
    /// Characters of the key so far.
    key: usize,
    /// Lines without a letter so far.
    blank: usize,
    is_putty: bool,
}

/// The role of a line within an open block.
enum LineRole {
    Key(Range<usize>),
    Header,
    Blank,
    Other,
}

impl KeyBlocks {
    /// Finds the blocks of a whole text.
    pub fn from_text(text: &[u8]) -> Self {
        let mut this = Self::default();
        this.scan(text);
        this
    }

    /// Returns true if neither a block nor the beginning of one was found.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.open.is_none()
    }

    /// Processes the next piece of the text.
    pub fn feed(&mut self, mut piece: &[u8]) {
        if !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', piece).map_or(piece.len(), |feed| feed + 1);
            self.rest.extend_from_slice(&piece[..end]);
            piece = &piece[end..];
            if self.rest.last() != Some(&b'\n') && self.rest.len() < KEY_LINE_BYTES {
                return;
            }
            let line = std::mem::take(&mut self.rest);
            self.scan(&line);
        }
        let whole = memchr::memrchr(b'\n', piece).map_or(0, |feed| feed + 1);
        self.scan(&piece[..whole]);
        self.rest.extend_from_slice(&piece[whole..]);
    }

    /// Processes the last line of the text if it does not end with a line feed.
    pub fn end(&mut self) {
        let line = std::mem::take(&mut self.rest);
        self.scan(&line);
    }

    /// Finds the ranges of a line that belong to a key. `start` must be the line's offset in the text, and
    /// `line` must exclude its line feed. If the whole line is within a block, the result contains only the
    /// characters of the key.
    pub fn within(&self, start: u64, line: &[u8]) -> Vec<Range<usize>> {
        let end = start + line.len() as u64;
        let first = self.blocks.partition_point(|block| block.end <= start);
        let open = self.open.as_ref().filter(|open| open.key >= UNENDED_KEY).map(|open| open.start..open.end);
        let blocks = self.blocks[first..].iter().cloned().take_while(|block| block.start < end);
        blocks
            .chain(open)
            .filter(|block| block.start < end && block.end > start)
            .filter_map(|block| {
                let part = (block.start.max(start) - start) as usize..(block.end.min(end) - start) as usize;
                if part.len() < line.len() {
                    return Some(part);
                }
                let text = || line.len() - line.trim_ascii_start().len()..line.trim_ascii_end().len();
                let shown = key_characters(line).unwrap_or_else(text);
                (shown.start < shown.end).then_some(shown)
            })
            .collect()
    }

    /// Scans whole lines, or the remainder of a text.
    fn scan(&mut self, text: &[u8]) {
        let base = self.position;
        self.position += text.len() as u64;
        let mut words = WordFinder::default();
        let mut at = 0;
        while at < text.len() {
            if self.open.is_some() {
                let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |feed| at + feed);
                at = match self.continue_block(&text[at..end], base + at as u64) {
                    Some(after) => at + after,
                    None => end + 1,
                };
                continue;
            }
            let Some(word) = words.next(text, at) else { return };
            let start = memchr::memrchr(b'\n', &text[at..word]).map_or(at, |feed| at + feed + 1);
            let end = memchr::memchr(b'\n', &text[word..]).map_or(text.len(), |feed| word + feed);
            at = match self.begin(&text[start..end], base + start as u64) {
                Some(after) => start + after,
                None => end + 1,
            };
        }
    }

    /// Looks for the beginning of a block in a line. If the block also ends in this line, returns the offset
    /// after it.
    fn begin(&mut self, line: &[u8], start: u64) -> Option<usize> {
        let (mark, is_putty) = begin_mark(line)?;
        let after = &line[mark.end..];
        if let Some(end) = end_mark(after, is_putty) {
            // Source code may have an expression between the two marks that yields the key.
            let is_block = has_key(&after[..end.start]);
            let end = mark.end + end.end;
            if is_block {
                self.push(start + mark.start as u64..start + end as u64);
            }
            return Some(end);
        }
        let length = after.iter().take_while(|&&byte| is_key_byte(byte)).count();
        let key = if has_key(&after[..length]) { length } else { 0 };
        let end = start + (mark.end + length) as u64;
        self.open = Some(OpenKey { start: start + mark.start as u64, end, key, blank: 0, is_putty });
        None
    }

    /// Processes a line after the beginning of a block. Returns the offset at which the block ends in this
    /// line, if it does.
    fn continue_block(&mut self, line: &[u8], start: u64) -> Option<usize> {
        let open = self.open.as_mut()?;
        let is_next = begin_mark(line).is_some();
        if let Some(end) = end_mark(line, open.is_putty).filter(|_| !is_next) {
            let block = open.start..start + end.end as u64;
            if open.key > 0 || has_key(&line[..end.start]) {
                self.push(block);
            }
            self.open = None;
            return Some(end.end);
        }
        match if is_next { LineRole::Other } else { kind(line, open.key > 0) } {
            LineRole::Key(part) => {
                open.key += part.len();
                open.end = start + part.end as u64;
                open.blank = 0;
            }
            LineRole::Header => open.end = start + line.len() as u64,
            LineRole::Blank if open.blank < BLANK_LINES => open.blank += 1,
            LineRole::Blank | LineRole::Other => {
                let block = open.start..open.end;
                if open.key >= UNENDED_KEY {
                    self.push(block);
                }
                self.open = None;
                // This line may begin the next block, so the caller must scan it again.
                return Some(0);
            }
        }
        None
    }

    fn push(&mut self, block: Range<u64>) {
        if self.blocks.len() >= KEY_BLOCKS_KEPT {
            // Lines are requested in order, so we are least likely to need the first blocks again.
            self.blocks.drain(..KEY_BLOCKS_KEPT / 2);
        }
        self.blocks.push(block);
    }
}

/// Finds the next of [`WORDS`]. Each occurrence is only searched for once.
#[derive(Default)]
struct WordFinder([Option<usize>; WORDS.len()]);

impl WordFinder {
    fn next(&mut self, text: &[u8], at: usize) -> Option<usize> {
        for (word, found) in WORDS.iter().zip(&mut self.0) {
            if found.is_none_or(|found| found < at) {
                *found = Some(memmem::find(&text[at..], word).map_or(usize::MAX, |found| at + found));
            }
        }
        self.0.iter().flatten().copied().min().filter(|&found| found < usize::MAX)
    }
}

/// Finds the mark that begins a block. The flag is true if it is PuTTY's.
fn begin_mark(line: &[u8]) -> Option<(Range<usize>, bool)> {
    if let Some(range) = armor(line, b"BEGIN ") {
        return Some((range, false));
    }
    let at = memmem::find(line, PUTTY)?;
    let digits =
        line[at + PUTTY.len()..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b' ').count();
    (digits > 1).then_some((at..at + PUTTY.len() + digits, true))
}

/// Finds the mark that ends a block.
fn end_mark(line: &[u8], is_putty: bool) -> Option<Range<usize>> {
    if is_putty {
        let at = PUTTY_ENDS.iter().find_map(|end| memmem::find(line, end))?;
        return Some(at..line.len());
    }
    armor(line, b"END ")
}

/// Finds a mark such as `-----BEGIN RSA PRIVATE KEY-----` or `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----`.
fn armor(line: &[u8], verb: &[u8]) -> Option<Range<usize>> {
    const LABEL: usize = 60;
    const DASHES: usize = 4;
    for at in memmem::find_iter(line, verb) {
        // SSH2 has blanks between the words and the dashes.
        let before = line[..at].strip_suffix(b" ").unwrap_or(&line[..at]);
        let dashes = before.iter().rev().take_while(|&&byte| byte == b'-').count().min(5);
        let after = &line[at + verb.len()..];
        let Some(label) = memchr::memchr(b'-', &after[..after.len().min(LABEL)]) else { continue };
        let more = after[label..].iter().take_while(|&&byte| byte == b'-').count().min(5);
        let named = WORDS[..2].iter().any(|word| memmem::find(&after[..label], word).is_some());
        if dashes >= DASHES && more >= DASHES && named {
            return Some(before.len() - dashes..at + verb.len() + label + more);
        }
    }
    None
}

fn kind(line: &[u8], in_key: bool) -> LineRole {
    let line_trimmed = trimmed(line);
    if !line[line_trimmed.clone()].iter().any(u8::is_ascii_alphanumeric) {
        return LineRole::Blank;
    }
    match key_characters(line) {
        Some(part) if in_key || has_key(&line[part.clone()]) => LineRole::Key(part),
        _ if !in_key && is_header(&line[line_trimmed]) => LineRole::Header,
        _ => LineRole::Other,
    }
}

/// Recognizes header lines, for example `Proc-Type: 4,ENCRYPTED`.
fn is_header(line: &[u8]) -> bool {
    const NAME: usize = 30;
    let name = line.iter().take(NAME).take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-').count();
    name > 2 && line[0].is_ascii_uppercase() && line[name..].starts_with(b": ")
}

/// Finds the key characters of a line, if it contains nothing else except the decoration that programs,
/// quotations and listings add.
fn key_characters(line: &[u8]) -> Option<Range<usize>> {
    let part = trimmed(line);
    (!part.is_empty() && line[part.clone()].iter().copied().all(is_key_byte)).then_some(part)
}

/// Returns true if a text has the characters of a key: a run of base64 with several digits or signs. Long
/// names in programs have fewer.
fn has_key(text: &[u8]) -> bool {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    text.split(|byte| !is_base64(byte)).any(|run| {
        let signs = run.iter().filter(|byte| !byte.is_ascii_alphabetic()).count();
        run.len() >= FIRST_LINE && signs >= if run.len() < 24 { 2 } else { 3 }
    })
}

/// Accepts Base64 and escaped line ends.
fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\\')
}

/// Strips quotes, comment marks, line numbers, escaped line ends and operators from both ends of a line.
fn trimmed(line: &[u8]) -> Range<usize> {
    let is_before = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`#*>|;-,(".contains(byte);
    let is_behind = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,;.)]}".contains(byte);
    let skip = |from: usize| from + line[from..].iter().take_while(|byte| is_before(byte)).count();
    let mut start = skip(0);
    let digits = line[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let behind_number = start + digits;
    if (1..=7).contains(&digits) && line.get(behind_number).is_some_and(|byte| b" \t:|>-".contains(byte)) {
        start = skip(behind_number + 1);
        start = if line.get(start) == Some(&b':') { skip(start + 1) } else { start };
    }
    if line[start..].starts_with(b"//") && line.get(start + 2).is_none_or(u8::is_ascii_whitespace) {
        start = skip(start + 2);
    }
    let mut end = line.len();
    loop {
        let rest = &line[start..end];
        let shorter = match rest {
            [.., last] if is_behind(last) => 1,
            [.., b'\\', b'n' | b'r'] => 2,
            [.., b'\\'] => 1,
            // This is an operator, not a character of the key.
            [.., b' ' | b'\t' | b'"' | b'\'' | b'`', b'+'] => 1,
            _ => return start..end,
        };
        end -= shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a text. Each line is given with the part of it that belongs to a key.
    fn check(lines: &[(&str, &str)]) {
        let text: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
        let mut pieces = KeyBlocks::default();
        for piece in text.as_bytes().chunks(7) {
            pieces.feed(piece);
        }
        pieces.end();
        for (how, blocks) in [("whole", KeyBlocks::from_text(text.as_bytes())), ("in pieces", pieces)] {
            let mut start = 0;
            for (line, expected) in lines {
                let within = blocks.within(start, line.as_bytes());
                let found: String = within.into_iter().map(|part| &line[part]).collect();
                assert_eq!(found, *expected, "{how}: {line:?} in\n{text}");
                start += line.len() as u64 + 1;
            }
        }
    }

    const BODY: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    #[test]
    fn finds_complete_blocks() {
        let (begin, end) = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----");
        check(&[
            ("before", ""),
            (begin, begin),
            ("Proc-Type: 4,ENCRYPTED", "Proc-Type: 4,ENCRYPTED"),
            ("", ""),
            (BODY, BODY),
            ("short+/==", "short+/=="),
            (end, end),
            ("after", ""),
            (BODY, ""),
        ]);
        let quoted = format!("  \"{BODY}\\n\" +");
        // Everything after the mark in its line may belong to the key.
        check(&[
            ("key = \"-----BEGIN PRIVATE KEY-----\\n\" +", "-----BEGIN PRIVATE KEY-----\\n\" +"),
            (&quoted, BODY),
            ("  \"-----END PRIVATE KEY-----\";", "  \"-----END PRIVATE KEY-----"),
        ]);
        let numbered = format!("   12\t{BODY}");
        check(&[
            ("   11\t-----BEGIN PGP PRIVATE KEY BLOCK-----", "-----BEGIN PGP PRIVATE KEY BLOCK-----"),
            (&numbered, BODY),
            ("   13\t=AbCd", "=AbCd"),
            ("fn main() {", ""),
        ]);
        let json = format!(
            "{{\"k\": \"-----BEGIN PRIVATE KEY-----\\n{BODY}\\n-----END PRIVATE KEY-----\\n\", \"a\": 1}}"
        );
        let key = format!("-----BEGIN PRIVATE KEY-----\\n{BODY}\\n-----END PRIVATE KEY-----");
        check(&[(&json, &key), (BODY, "")]);
        check(&[
            ("Public-Lines: 1", ""),
            (BODY, ""),
            ("Private-Lines: 1", "Private-Lines: 1"),
            (BODY, BODY),
            ("Private-MAC: 12ab", "Private-MAC: 12ab"),
        ]);
        let ssh = "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----";
        check(&[(ssh, ssh), ("Comment: \"me\"", "Comment: \"me\""), (BODY, BODY)]);
        let vpn = "-----BEGIN OpenVPN Static key V1-----";
        check(&[
            (vpn, vpn),
            ("6acef03f62675b4b1bbd03e53b187727", "6acef03f62675b4b1bbd03e53b187727"),
            ("bf0b2f0c4d5e6f708192a3b4c5d6e7f8", "bf0b2f0c4d5e6f708192a3b4c5d6e7f8"),
        ]);
    }

    #[test]
    fn mark_without_key_is_no_block() {
        check(&[
            ("if text.contains(\"-----BEGIN PRIVATE KEY-----\") {", ""),
            ("    return", ""),
            ("}", ""),
            ("-----BEGIN PUBLIC KEY-----", ""),
            (BODY, ""),
            ("-----BEGIN CERTIFICATE-----", ""),
            (BODY, ""),
            ("a PRIVATE KEY", ""),
            (BODY, ""),
            ("-----BEGIN PRIVATE KEY-----", ""),
            ("...", ""),
            ("-----END PRIVATE KEY-----", ""),
        ]);
    }

    #[test]
    fn a_program_that_writes_keys_is_no_block() {
        check(&[
            (
                "return \"-----BEGIN EC PRIVATE KEY-----\\n\" + wrap(data) + \"\\n-----END EC PRIVATE KEY-----\\n\"",
                "",
            ),
            ("`-----BEGIN PRIVATE KEY-----\\n${encodeBase64(exported)}\\n-----END PRIVATE KEY-----`", ""),
            ("  \"-----BEGIN PRIVATE KEY-----\\n\" +", ""),
            ("  encoded_body + \"\\n-----END PRIVATE KEY-----\\n\"", ""),
            ("  \"-----BEGIN PRIVATE KEY-----\",", ""),
            ("  privateKeyContentsOfTheServer,", ""),
            ("  \"-----END PRIVATE KEY-----\"", ""),
        ]);
    }

    #[test]
    fn keys_may_be_double_spaced() {
        let mut lines = vec![("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----")];
        for _ in 0..8 {
            lines.extend([(BODY, BODY), ("", "")]);
        }
        lines.push(("-----END PRIVATE KEY-----", "-----END PRIVATE KEY-----"));
        check(&lines);
    }

    /// Each word should be searched for only once, so a text with many occurrences of one word and none of
    /// the others must take linear time.
    #[test]
    fn repeated_words_take_linear_time() {
        let text = "PRIVATE KEY -----BEGIN PRIVATE KEY-----\n".repeat(100_000);
        let began = std::time::Instant::now();
        assert!(
            !KeyBlocks::from_text(text.as_bytes()).blocks.iter().any(|block| block.end > text.len() as u64)
        );
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
}

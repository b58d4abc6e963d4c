//! Redacts the parts of files and the names that an answer shows.
//!
//! A single line may not show that it contains a secret. For example, the name of a value may be in the line
//! before it, or the beginning of a key fifty lines above. We therefore redact the lines of a file together,
//! with some lines of context that are not shown, and hide the lines that [`KeyBlocks`](crate::KeyBlocks)
//! found to be in a key.

use std::borrow::Cow;
use std::ops::Range;

use crate::hidden::RedactionReport;
use crate::limits::MIN_BARE_SECRET_BYTES;
use crate::mark::KEY_MARK;
use crate::redactor::Redactor;
use crate::rules::PRIVATE_KEY;

/// The separator between lines that are not adjacent.
const GAP: &str = "\n--\n";

/// A line of a file to redact.
#[derive(Debug, Clone, Copy)]
pub struct ExcerptLine<'a> {
    /// The line number.
    pub number: u64,
    /// The line without its line feed.
    pub bytes: &'a [u8],
    /// The parts of the line that belong to a private key.
    pub in_key: &'a [Range<usize>],
    /// Whether the line is shown. The others are only context for it.
    pub is_shown: bool,
}

impl Redactor {
    /// Redacts lines of one file, which must be in order, and counts the secrets of those that are shown.
    /// Returns the new text of each line that had a secret, with U+FFFD for invalid UTF-8.
    pub fn redact_lines(
        &self,
        lines: &[ExcerptLine<'_>],
        hidden: &mut RedactionReport,
    ) -> Vec<Option<String>> {
        if !self.is_active() || lines.is_empty() {
            return lines.iter().map(|_| None).collect();
        }
        let raw: Vec<Cow<'_, str>> = lines.iter().map(|line| String::from_utf8_lossy(line.bytes)).collect();
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                // Lines that are not adjacent must not be context for each other.
                text.push_str(if lines[index - 1].number + 1 == line.number { "\n" } else { GAP });
            }
            match line.in_key {
                [] => text.push_str(&raw[index]),
                parts => text.push_str(&String::from_utf8_lossy(&concealed(line.bytes, parts))),
            }
        }
        let redacted = self.redact(&text);
        let mut whole = redacted.as_str().split('\n');
        let mut last_key = None;
        let mut texts = Vec::with_capacity(lines.len());
        for (index, line) in lines.iter().enumerate() {
            // This skips the line of `GAP`.
            if index > 0 && lines[index - 1].number + 1 != line.number {
                whole.next();
            }
            let text = whole.next().unwrap_or_default();
            if text == raw[index] {
                texts.push(None);
                continue;
            }
            if line.is_shown {
                hidden.add_new(&raw[index], text, Some(PRIVATE_KEY));
                let keys = |text: &str| text.matches(KEY_MARK).count();
                if keys(text) > keys(&raw[index]) {
                    if last_key.is_none_or(|last: u64| last + 1 != line.number) {
                        hidden.add(PRIVATE_KEY);
                    }
                    last_key = Some(line.number);
                }
            }
            texts.push(Some(text.to_owned()));
        }
        texts
    }

    /// Redacts a text without context, for example a message, and counts its secrets. This is faster than
    /// [`Redactor::redact`] for the many short texts that can't contain a secret.
    pub fn redact_text(&self, text: &mut String, hidden: &mut RedactionReport) {
        if !self.is_active() || !may_hold_a_secret(text) {
            return;
        }
        let redacted = self.redact(text);
        if redacted.as_str() != text {
            hidden.add_new(text, redacted.as_str(), None);
            *text = redacted.as_str().to_owned();
        }
    }

    /// Redacts a path or the name of a file or directory. Returns true if it had a secret, because the shown
    /// name can't be opened then.
    pub fn redact_name(&self, name: &mut String, hidden: &mut RedactionReport) -> bool {
        let before = hidden.total();
        self.redact_text(name, hidden);
        let had_one = hidden.total() > before;
        if had_one {
            hidden.add_name();
        }
        had_one
    }
}

/// Replaces the parts of a line that belong to a key with the mark.
pub fn concealed(line: &[u8], in_key: &[Range<usize>]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(line.len());
    let mut at = 0;
    for part in in_key {
        shown.extend_from_slice(&line[at..part.start.max(at)]);
        shown.extend_from_slice(KEY_MARK.as_bytes());
        at = part.end.max(at);
    }
    shown.extend_from_slice(&line[at.min(line.len())..]);
    shown
}

/// Returns true if a name or message may contain a secret: it has a word as long as the shortest tokens, or a
/// character that assigns a value to a name. This check saves time: answers have thousands of names.
fn may_hold_a_secret(text: &str) -> bool {
    let is_end = |character: char| matches!(character, '/' | ' ' | '\\');
    text.contains(['=', ':', '@']) || text.split(is_end).any(|word| word.len() >= MIN_BARE_SECRET_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_blocks::KeyBlocks;

    const TOKEN: &str = "ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd";
    const KEY: &str = "yFhMgwMbRvI0MBZhpI7RSZfZ0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7Q1dKpVbX";

    fn line(number: u64, text: &str) -> ExcerptLine<'_> {
        ExcerptLine { number, bytes: text.as_bytes(), in_key: &[], is_shown: true }
    }

    fn redacted(lines: &[ExcerptLine<'_>]) -> (Vec<Option<String>>, RedactionReport) {
        let mut hidden = RedactionReport::default();
        (Redactor::standard().redact_lines(lines, &mut hidden), hidden)
    }

    #[test]
    fn only_adjacent_lines_are_context() {
        let (name, value) = ("password:", "  \"x8Kz2mQ9vR4tB7nW1pLs\"");
        let (texts, hidden) = redacted(&[line(7, name), line(8, value)]);
        assert_eq!(texts[0], None);
        assert!(texts[1].as_deref().is_some_and(|text| text.contains("[redacted:")), "{texts:?}");
        assert_eq!(hidden.total(), 1);
        let (texts, hidden) = redacted(&[line(7, name), line(9, value)]);
        assert_eq!((texts, hidden.total()), (vec![None, None], 0));
    }

    #[test]
    fn secrets_in_context_lines_are_not_counted() {
        let context = ExcerptLine { is_shown: false, ..line(1, TOKEN) };
        let (texts, hidden) = redacted(&[context, line(2, "shown")]);
        assert_eq!(texts, [Some("[redacted:github-token]".to_owned()), None]);
        assert_eq!(hidden.total(), 0);
    }

    #[test]
    fn middle_of_a_key_is_hidden_and_counts_once() {
        let text = format!("-----BEGIN PRIVATE KEY-----\n{KEY}\n{KEY}\n-----END PRIVATE KEY-----\n");
        let start = text.find('\n').unwrap() as u64 + 1;
        let in_key = KeyBlocks::from_text(text.as_bytes()).within(start, KEY.as_bytes());
        let lines = [2, 3].map(|number| ExcerptLine { in_key: &in_key, ..line(number, KEY) });
        let (texts, hidden) = redacted(&lines);
        assert_eq!(texts, vec![Some(KEY_MARK.to_owned()); 2]);
        assert_eq!(hidden.by_rule()["private-key"], 1);
        // Positive control: without the whole file, the lines are not recognized.
        assert_eq!(redacted(&[line(2, KEY), line(3, KEY)]).0, [None, None]);
    }

    #[test]
    fn names_with_secrets_are_reported() {
        let mut hidden = RedactionReport::default();
        let mut name = format!("src/{TOKEN}.txt");
        assert!(Redactor::standard().redact_name(&mut name, &mut hidden));
        assert_eq!((name.as_str(), hidden.in_names()), ("src/[redacted:github-token].txt", true));
        assert!(!Redactor::standard().redact_name(&mut "src/main.rs".to_owned(), &mut hidden));
        assert_eq!(hidden.total(), 1);
    }
}

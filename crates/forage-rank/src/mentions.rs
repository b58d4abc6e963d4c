//! Classifies mentions of a name in a file: code, strings or comments.
//!
//! As in the ranking, we separate code from comments line by line and without a grammar. Text within quotes
//! on one line is a string. Braces in this string are code because format strings contain names there.

use std::ops::Range;

use crate::chunk::{LineClassifier, LineKind};
use crate::languages::{CommentStyle, LanguageRow, SyntaxQuirk, language};
use crate::limits;

/// The part of a line that contains a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MentionKind {
    /// In code at least once.
    Code,
    /// Only in strings, or only in strings and comments.
    String,
    /// Only in comments.
    Comment,
}

impl MentionKind {
    /// Returns the word for this kind in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::String => "string",
            Self::Comment => "comment",
        }
    }
}

/// Classifies the mention of a name in each of the given lines, which are 1-based and must be ascending. A
/// line without the name as a whole word counts as code. We only look at the name of `path`, e.g. for its
/// extension.
pub fn mentions(path: &str, text: &str, name: &str, lines: &[u32]) -> Vec<MentionKind> {
    let language = language(path);
    if language.style == CommentStyle::Prose {
        return vec![MentionKind::Comment; lines.len()];
    }
    let mut reader = LineClassifier::new(language);
    let mut wanted = lines.iter().peekable();
    let mut found = Vec::with_capacity(lines.len());
    for (number, line) in (1_u32..).zip(forage_fs::lines(text)) {
        if wanted.peek().is_none() {
            break;
        }
        let in_string = reader.is_in_string();
        let kind = reader.read(line);
        if wanted.next_if(|wanted| **wanted == number).is_some() {
            found.push(match kind {
                LineKind::Comment => match after_comment(line, language) {
                    Some(at) => in_line(line, at..line.len(), name, language),
                    None => MentionKind::Comment,
                },
                LineKind::Code(_) if in_string => MentionKind::String,
                LineKind::Code(code) => in_line(line, 0..code, name, language),
                LineKind::Blank => MentionKind::Code,
            });
        }
    }
    found.resize(lines.len(), MentionKind::Code);
    found
}

/// Classifies the mentions in a line whose code is in the range `code`, including quoted text.
fn in_line(line: &str, code: Range<usize>, name: &str, language: &LanguageRow) -> MentionKind {
    let aside = parts_aside(line, code.clone(), language);
    let mut aside = aside.iter().peekable();
    let mut least = None;
    for at in whole_words(line, name) {
        while aside.next_if(|(part, _)| part.end <= at).is_some() {}
        let kind = match aside.peek() {
            Some((part, kind)) if part.contains(&at) => *kind,
            _ if code.contains(&at) => return MentionKind::Code,
            _ => MentionKind::Comment,
        };
        least = Some(least.map_or(kind, |least: MentionKind| least.min(kind)));
    }
    least.unwrap_or(MentionKind::Code)
}

/// Finds the offset of the code after a comment that ends in this line, if there is any.
fn after_comment(line: &str, language: &LanguageRow) -> Option<usize> {
    let is_marked = |text: &str| language.line_comments.iter().any(|marker| text.starts_with(marker));
    // A line comment may contain the mark that ends a block comment.
    if is_marked(line.trim_start()) {
        return None;
    }
    let ends = language.block_comments.iter().filter(|(start, end)| start != end);
    let end = ends.filter_map(|(_, end)| Some(line.rfind(end)? + end.len())).max()?;
    let rest = line[end..].trim_start();
    (!rest.is_empty() && !is_marked(rest)).then_some(end)
}

/// Finds the offsets at which a name occurs as a whole word.
fn whole_words<'a>(line: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    memchr::memmem::find_iter(line.as_bytes(), name.as_bytes()).filter(move |&at| {
        !line[..at].chars().next_back().is_some_and(is_word)
            && !line[at + name.len()..].chars().next().is_some_and(is_word)
    })
}

/// Finds the strings and block comments within the code of a line, in order. We only read the beginning of a
/// line that is too long ([`limits::MENTION_BYTES`]).
fn parts_aside(line: &str, code: Range<usize>, language: &LanguageRow) -> Vec<(Range<usize>, MentionKind)> {
    let bytes = &line.as_bytes()[..code.end.min(code.start + limits::MENTION_BYTES)];
    let mut parts = Vec::new();
    // Quotes that are known to have no closing counterpart in the rest of the line. Searching again at each
    // of them would take quadratic time.
    let mut open: Vec<u8> = Vec::new();
    let mut at = code.start;
    while at < bytes.len() {
        let comment = language
            .block_comments
            .iter()
            .find(|(start, end)| start != end && bytes[at..].starts_with(start.as_bytes()));
        if let Some((start, end)) = comment {
            let after = at + start.len();
            let stop = memchr::memmem::find(&bytes[after..], end.as_bytes())
                .map_or(bytes.len(), |found| after + found + end.len());
            parts.push((at..stop, MentionKind::Comment));
            at = stop;
            continue;
        }
        let quote = bytes[at];
        let end = match quote {
            b'"' | b'`' | b'\'' if open.contains(&quote) => None,
            b'"' | b'`' => end_of_string(bytes, at),
            b'\'' if language.has(SyntaxQuirk::SingleQuotedStrings) => end_of_string(bytes, at),
            b'\'' => {
                at = end_of_character(bytes, at).unwrap_or(at + 1);
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        match end {
            Some(end) => {
                string_parts(bytes, at..end, &mut parts);
                at = end;
            }
            None => {
                open.push(quote);
                at += 1;
            }
        }
    }
    parts
}

/// Finds the end of the string that begins at `at`, or `None` if this line doesn't close it.
fn end_of_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut next = at + 1;
    while next < bytes.len() {
        match bytes[next] {
            b'\\' => next += 2,
            byte if byte == bytes[at] => return Some(next + 1),
            _ => next += 1,
        }
    }
    None
}

/// Finds the end of a character such as `'x'` or `'\u{1F600}'`. Anything longer is a lifetime, or a separator
/// within a number.
fn end_of_character(bytes: &[u8], at: usize) -> Option<usize> {
    const LONGEST: usize = 12;
    let is_escaped = bytes.get(at + 1) == Some(&b'\\');
    let max = if is_escaped { LONGEST } else { LONGEST / 2 };
    end_of_string(&bytes[..bytes.len().min(at + max)], at)
}

/// Adds a string without the contents of its braces, where a name is code.
fn string_parts(bytes: &[u8], string: Range<usize>, parts: &mut Vec<(Range<usize>, MentionKind)>) {
    let (mut depth, mut start) = (0_usize, string.start);
    for at in string.clone() {
        match bytes[at] {
            b'{' => {
                if depth == 0 {
                    parts.push((start..at, MentionKind::String));
                }
                depth += 1;
            }
            b'}' if depth > 0 => {
                depth -= 1;
                start = at;
            }
            _ => {}
        }
    }
    // A brace that nothing closes is an ordinary character.
    parts.push((start..string.end, MentionKind::String));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_distinguished_from_code() {
        let rust = [
            ("// name", "comment"),
            ("let a = name; // other", "code"),
            ("let a = 1; // name", "comment"),
            ("call(\"name\");", "string"),
            ("call(\"{name}\");", "code"),
            ("/* name", "comment"),
            (" name */", "comment"),
            ("let x: &'a name = &'n';", "code"),
            ("println!(\"name\", name);", "code"),
            ("let b = 1; /* name */", "comment"),
            ("fn name<'a>(b: &'a str) {}", "code"),
            ("/* see below */ name(1);", "code"),
            ("/* name */ call(1);", "comment"),
            ("/* one", "comment"),
            ("name */ call(\"name\");", "string"),
        ];
        let python = [
            ("'''name", "comment"),
            ("'''", "code"),
            ("a = 'name'", "string"),
            ("b = f'{name}' + \"it's\"", "code"),
            ("sql = \"\"\"", "code"),
            ("name", "string"),
            ("\"\"\"", "code"),
            ("c = d['name'] + name", "code"),
        ];
        // An unclosed brace is an ordinary character, and a word that merely contains the name doesn't count.
        let c =
            [("f(\"{ name\");", "string"), ("f(\"} name\");", "string"), ("f(\"rename\", name);", "code")];
        let cases =
            [("a.rs", &rust[..]), ("a.py", &python), ("a.c", &c), ("a.md", &[("A name.", "comment")])];
        for (path, lines) in cases {
            let text: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
            let numbers: Vec<u32> = (1..=lines.len() as u32).collect();
            let found = mentions(path, &text, "name", &numbers);
            for ((line, expected), kind) in lines.iter().zip(found) {
                // A line without the name has no definite kind.
                let is_told = whole_words(line, "name").next().is_some();
                assert!(!is_told || kind.name() == *expected, "{path}: {line}: {kind:?}");
            }
        }
    }
}

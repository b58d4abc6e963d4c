//! Parses an answer that is a plain list, as the requirement's prompt asks for: one line per file, with its
//! path or id first.
//!
//! We strip the markup of lists, headings, tables, links and code around a path, and line numbers after it.
//! We do not interpret the words of other lines. These may come before and after the list, or below a path as
//! its reason. Anywhere else they could change the meaning of the lines around them, so we treat the answer
//! as [`Ambiguous`].

use super::answer::{Ambiguous, PartialParse, SelectedFile};
use super::names::{FileNames, ends_path, is_id};
use crate::limits;

/// The sentence that says that no file is relevant, as in the prompt.
pub(super) const NOTHING: &str = "no relevant files found";
/// Separators between a path and the words about it.
const SEPARATORS: [char; 7] = [':', '-', '–', '—', '|', '→', '：'];
/// Marks that close a path.
const CLOSING: [char; 11] = ['`', '*', '_', '"', '\'', '”', '’', '»', ')', ']', '>'];
/// The highest grade.
pub(super) const MAX_GRADE: u8 = 3;

/// A line that names a file.
pub(super) struct Entry<'t> {
    pub(super) file: usize,
    pub(super) words: &'t str,
    pub(super) grade: Option<u8>,
    /// The line, starting with the name.
    text: &'t str,
    /// Bytes of white space at the start of the line.
    indent: usize,
    /// The lines below it that are indented further, and the other lines up to the next entry.
    details: Vec<&'t str>,
    below: Vec<&'t str>,
}

impl Entry<'_> {
    /// Returns true if this is a quotation from a file and not the model's own text. We ignore shorter texts,
    /// which occur in files by chance.
    pub(super) fn is_quotation(&self, names: &FileNames<'_>) -> bool {
        self.words.split_whitespace().nth(1).is_some() && names.contains_text(self.text)
    }
}

/// Parses the lines of a text that follows `before`.
pub(super) fn read(text: &str, before: &str, names: &FileNames<'_>) -> Result<PartialParse, Ambiguous> {
    let (mut preamble, mut entries) = (vec![before], Vec::<Entry<'_>>::new());
    let (mut says_nothing, mut dropped) = (false, 0);
    let is_mark = |c: char| !c.is_alphanumeric();
    for whole in text.lines() {
        let line = untagged(whole);
        match entry(line, names) {
            _ if line.chars().all(is_mark) => {}
            Some(entry) if entry.is_quotation(names) => dropped += 1,
            Some(entry) => entries.push(Entry { indent: indent_of(whole), ..entry }),
            None if line.trim_matches(is_mark).eq_ignore_ascii_case(NOTHING) => says_nothing = true,
            None if is_foreign(line, names) => dropped += 1,
            None => match entries.last_mut() {
                None => preamble.push(line),
                Some(entry) if indent_of(whole) > entry.indent => entry.details.push(line),
                Some(entry) => entry.below.push(line),
            },
        }
    }
    // Lines between entries are their reasons only if every entry has some and no words of its own.
    // Otherwise, a line below an entry may be about the next ones.
    let last = entries.len().saturating_sub(1);
    let has_reasons_below = entries[..last].iter().any(|entry| !entry.below.is_empty());
    let has_reason_below = |(at, entry): (usize, &Entry<'_>)| {
        // After the last entry, only the first line can be its reason. The list may be followed by other
        // text.
        let below = if at == last { &entry.below[..entry.below.len().min(1)] } else { &entry.below[..] };
        entry.words.is_empty() && !below.is_empty() && !below.iter().any(|line| is_heading(line))
    };
    let is_nested = |pair: &[Entry<'_>]| !pair[0].details.is_empty() && pair[1].indent > pair[0].indent;
    // Every file should have a grade. Without one, the words may also mean that a file is not relevant.
    let is_undecided = |entry: &Entry<'_>| names.by_id() && entry.grade.is_none() && !entry.words.is_empty();
    if has_reasons_below && !entries.iter().enumerate().all(has_reason_below)
        || entries.windows(2).any(is_nested)
        || entries.iter().any(is_undecided)
        || !entries.is_empty() && says_nothing
        // If the text before this list names files, it may say anything about the list.
        || !entries.is_empty() && preamble.iter().any(|line| !names.mentioned(line).is_empty())
    {
        return Err(Ambiguous);
    }
    let kept = entries.iter().filter(|entry| entry.grade != Some(0)).map(|entry| {
        let below = if has_reasons_below { &entry.below[..] } else { &[] };
        let reason = entry.details.iter().chain(below).next().map_or("", |line| unmarked(line));
        let words = if entry.words.is_empty() { reason } else { entry.words };
        SelectedFile::new(entry.file, words, entry.grade, names)
    });
    let kept = (says_nothing || !entries.is_empty()).then(|| kept.collect());
    let prose = entries.iter().flat_map(|entry| entry.details.iter().chain(&entry.below));
    let prose = preamble[1..].iter().chain(prose);
    Ok(PartialParse { kept, dropped, prose: prose.map(|line| format!("{line}\n")).collect(), cut: false })
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_heading(line: &str) -> bool {
    let plain = line.trim_end_matches(['*', '_', '`']);
    line.starts_with('#')
        || plain.ends_with([':', '：'])
        || line.starts_with("**") && plain.len() + 2 <= line.len()
}

/// Parses the name of a file at the start of a line, and the words about it.
pub(super) fn entry<'t>(line: &'t str, names: &FileNames<'_>) -> Option<Entry<'t>> {
    let mut rest = line;
    for _ in 0..limits::ANSWER_MARKS {
        if let Some((file, after)) = names.at_start(rest) {
            let (words, grade) = words(after, names.by_id())?;
            let (details, below) = (Vec::new(), Vec::new());
            return Some(Entry { file, words, grade, text: rest, indent: 0, details, below });
        }
        rest = without_mark(rest)?;
    }
    None
}

/// Returns true if a line of a list names a file that we did not send.
fn is_foreign(line: &str, names: &FileNames<'_>) -> bool {
    let line = unmarked(line);
    let (name, after) = line.split_at(line.find(ends_path).unwrap_or(line.len()));
    (name.contains('/') || name.trim_matches('.').contains('.') || names.by_id() && is_id(name))
        && words(after, names.by_id()).is_some()
}

/// Strips the markers at the start of a line.
fn unmarked(mut line: &str) -> &str {
    for _ in 0..limits::ANSWER_MARKS {
        let Some(rest) = without_mark(line) else { break };
        line = rest;
    }
    line
}

/// Strips the first marker before a name: that of a list, a heading, bold text, code or a link, or `FILE` as
/// in the evidence.
fn without_mark(text: &str) -> Option<&str> {
    let first = text.chars().next()?;
    if let Some((name, target)) = text.strip_prefix('[').and_then(|text| text.split_once("]("))
        && !name.contains('[')
    {
        return Some(target);
    }
    // A path may begin with one of these characters.
    if !first.is_alphanumeric() && !matches!(first, '/' | '.' | '_' | '@' | '$') {
        return Some(text[first.len_utf8()..].trim_start());
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = rest.len() < text.len() && rest.trim_start().starts_with(['.', ')', ']', ':', '|']);
    if is_number {
        return Some(rest.trim_start()[1..].trim_start());
    }
    text.strip_prefix("FILE ")
}

/// Strips a tag at the start of a text, e.g. `<answer>` or `<|begin_of_box|>`.
fn without_tag(text: &str) -> Option<&str> {
    let end = text.bytes().take(limits::ANSWER_TAG_BYTES).position(|byte| byte == b'>')?;
    text.starts_with('<').then(|| &text[end + 1..])
}

/// Strips the tags around a line. An opening tag at its end, as in `Vec<T>`, belongs to its text, so we keep
/// it.
pub(super) fn untagged(mut line: &str) -> &str {
    for _ in 0..limits::ANSWER_MARKS {
        line = line.trim();
        let tag = ["</", "<|", "<｜"].iter().filter_map(|mark| line.rfind(mark)).max();
        let tag = tag.filter(|at| without_tag(&line[*at..]).is_some_and(str::is_empty));
        match (without_tag(line), tag) {
            (Some(rest), _) => line = rest,
            (None, Some(at)) => line = &line[..at],
            (None, None) => break,
        }
    }
    line
}

/// Parses the words after a name, and their grade. Returns `None` if no mark separates them from the name, as
/// in a sentence that begins with it.
fn words(after: &str, by_id: bool) -> Option<(&str, Option<u8>)> {
    if by_id && let Some((grade, words)) = graded(after) {
        return Some((trimmed(words), Some(grade)));
    }
    let rest = without_place(after).trim_start();
    let is_end = rest.trim_matches(['.', ',', ';']).is_empty();
    let words = if is_end { "" } else { trimmed(rest) };
    (is_end || rest.starts_with(SEPARATORS)).then_some((words, None))
}

/// Strips the marks that close a path, and line numbers such as `:12-20`, `#L12-L20` or `(lines 12-20)`.
fn without_place(text: &str) -> &str {
    let closed = |text: &'_ str| text.len() - text.trim_start_matches(CLOSING).len();
    let mut rest = &text[closed(text)..];
    if let Some(number) = rest.strip_prefix([':', '#'])
        && number.trim_start_matches('L').starts_with(|c: char| c.is_ascii_digit())
    {
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '–' | ',' | ':' | 'L' | '#');
        let after = number.trim_start_matches(is_number);
        let number = number[..number.len() - after.len()].trim_end_matches([':', ',', '-', '–']);
        rest = &rest[1 + number.len()..];
    }
    let is_range = |text: &str| {
        text.contains(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || "lines L,-–~".contains(c))
    };
    let opened = rest.trim_start().strip_prefix(['(', '[']);
    match opened.and_then(|rest| rest.split_once([')', ']'])).filter(|(range, _)| is_range(range)) {
        Some((_, after)) => after,
        None => &rest[closed(rest)..],
    }
}

/// Splits off the grade at the start of the words, e.g. in `(grade 3) why`, `[3/3] why` or `| 3 | why`.
fn graded(words: &str) -> Option<(u8, &str)> {
    let bare = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    let number = bare.trim_start_matches("grade").trim_start_matches([' ', ':', '=']);
    let (grade, after) = number.split_at_checked(1)?;
    let grade = grade.parse().ok().filter(|_| !after.starts_with(|c: char| c.is_ascii_digit()))?;
    let before = words[..words.len() - bare.len()].trim_end();
    let is_named = bare.starts_with("grade") || before.ends_with(['(', '[', '|']);
    is_named.then(|| (MAX_GRADE.min(grade), after.trim_start_matches("/3")))
}

/// Strips the marks around words, including the closing halves of pairs that were opened before the path.
fn trimmed(words: &str) -> &str {
    let is_mark = |c: char| c.is_whitespace() || SEPARATORS.contains(&c) || ")],;>".contains(c);
    let mut words = words.trim_start_matches(is_mark).trim_end_matches(['|', ' ', '\t']);
    for mark in ["**", "*", "_", "`", "\"", "”", "'", "»"] {
        if words.matches(mark).count() % 2 == 1 {
            words = words.strip_suffix(mark).unwrap_or(words).trim_end();
        }
    }
    words
}

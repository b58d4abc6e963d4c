//! Text formatting shared by all tools.

use std::borrow::Cow;
use std::ops::Range;

pub(crate) use forage_base::{count, grouped};
use forage_fs::{RelPath, Root, display_below, display_text};
use forage_search::shown_part;
use unicode_normalization::UnicodeNormalization as _;

use crate::limits;
use crate::sanitize::{path_bytes, sanitize_line};

/// Composes and decomposes a text, and returns the Unicode forms that differ from it.
pub(crate) fn other_forms(text: &str) -> Vec<String> {
    let mut forms: Vec<String> = vec![text.nfc().collect(), text.nfd().collect()];
    forms.retain(|form| form != text);
    forms
}

/// Formats the absolute path of a file so that it can be parsed back to the same file.
pub(crate) fn absolute(root: &Root, path: &RelPath) -> String {
    display_below(root.shown_path().as_encoded_bytes(), path.as_bytes())
}

/// Encodes the bytes of the path below the root in base64, if [`absolute`] quotes it.
pub(crate) fn absolute_bytes(root: &Root, path: &RelPath) -> Option<String> {
    (absolute(root, path).starts_with('"')).then(|| path_bytes(path)).flatten()
}

/// Quotes a term or pattern of the caller for an answer.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", sanitize_line(&clip(text, limits::QUOTED_BYTES)))
}

/// Prefixes of a name that is also a keyword, in Rust and in C#.
pub(crate) const KEYWORD_PREFIXES: [&str; 2] = ["r#", "@"];

/// Quotes a query for an answer: like [`quoted`], with spaces in place of line breaks.
pub(crate) fn quoted_query(query: &str) -> String {
    quoted(&query.split(['\n', '\r']).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
}

/// Quotes a file's name for an answer: like [`quoted`], unless the name could end the quotes.
pub(crate) fn quoted_name(name: &str) -> String {
    match display_text(name) {
        Cow::Borrowed(name) => quoted(name),
        Cow::Owned(shown) => shown,
    }
}

/// Cuts a line to at most `max` visible characters, and adds a mark if anything was cut.
pub(crate) fn clip_line(line: &str, max: usize) -> String {
    around_place(line, max, None)
}

/// Like [`clip_line`], but keeps the part of the line around `place`.
pub(crate) fn around_place(line: &str, max: usize, place: Option<&Range<usize>>) -> String {
    let part = shown_part(line.as_bytes(), max, place);
    let mark = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{}{}", mark(part.start > 0), &line[part.clone()], mark(part.end < line.len()))
}

/// Cuts text to at most `limit` bytes on a character boundary, and adds a mark.
pub fn clip(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// Splits a name in snake, kebab or camel case into lower-case words. For example, `retryLimit` becomes
/// `retry` and `limit`.
pub(crate) fn words_of_name(name: &str) -> Vec<String> {
    let (mut words, mut was_lower) = (vec![String::new()], false);
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

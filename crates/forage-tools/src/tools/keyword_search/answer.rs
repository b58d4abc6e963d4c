//! What the model said, held against what it was shown.

use forage_fs::Root;
use forage_search::keyword::Gathered;
use schemars::JsonSchema;
use serde::Serialize;

use crate::limits;
use crate::sanitize::sanitize_line;
use crate::text::{absolute, clip};

/// The sentence that says that nothing is relevant, as the prompt asks for it.
pub(super) const NOTHING_RELEVANT: &str = "no relevant files found";

/// A file that the model kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// Index among the files of the evidence.
    pub(super) file: usize,
    /// One line.
    pub(super) explanation: String,
    /// 1 to 3, from an answer by ids.
    pub(super) grade: Option<u8>,
    /// Lines that the model points at, from an answer by ids.
    pub(super) ranges: Vec<LineRange>,
}

/// Lines of a file that a model points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(super) struct LineRange {
    pub(super) first: u64,
    pub(super) last: u64,
    /// Whether the model was shown them. Of others it can't know what they hold, or whether they exist.
    pub(super) shown: bool,
}

/// An answer in the order of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) kept: Vec<Kept>,
    /// Lines or entries that name a file which is not in the evidence.
    pub(super) dropped: usize,
    /// The answer ended in the middle.
    pub(super) cut: bool,
}

/// A model's words about a file in one clean line.
pub(super) fn explanation(words: &str) -> String {
    clip(&sanitize_line(words), limits::EXPLANATION_BYTES)
}

/// Reads lines `path: explanation`. `None` when the text is no such answer at all: neither a list nor the sentence
/// that nothing is relevant.
pub(super) fn parse(text: &str, root: &Root, gathered: &Gathered) -> Option<Parsed> {
    let paths: Vec<[String; 2]> = gathered
        .files
        .iter()
        .map(|file| [absolute(root, &file.path), file.path.display().into_owned()])
        .collect();
    let mut parsed = Parsed::default();
    let mut says_nothing = false;
    for line in text.lines() {
        let line = bare(line);
        if line.is_empty() {
            continue;
        }
        if line.to_lowercase().starts_with(NOTHING_RELEVANT) {
            says_nothing = true;
        } else if let Some((file, words)) = find(line, &paths) {
            // The first mention is the most relevant one.
            if parsed.kept.iter().all(|kept| kept.file != file) {
                let explanation = explanation(words);
                parsed.kept.push(Kept { file, explanation, grade: None, ranges: Vec::new() });
            }
        } else if looks_like_path(line) {
            parsed.dropped += 1;
        }
    }
    // An answer of nothing but other paths is no verdict.
    (says_nothing || !parsed.kept.is_empty()).then_some(parsed)
}

/// A line without list marks and code marks around the path.
fn bare(line: &str) -> &str {
    let line = line.trim();
    let line = line.trim_start_matches(['-', '*', '•', '>', '`', ' ']);
    // As the evidence heads a file.
    let line = line.strip_prefix("FILE ").unwrap_or(line).trim_start_matches(['*', '`', ' ']);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line[digits..].strip_prefix(['.', ')']) {
        Some(rest) if digits > 0 && rest.starts_with(' ') => rest.trim_start_matches([' ', '*', '`']),
        _ => line,
    }
}

/// The file that a line begins with, as it was shown or relative to the root, and what follows it. The longest path
/// wins, because one may begin with another.
fn find<'a>(line: &'a str, paths: &[[String; 2]]) -> Option<(usize, &'a str)> {
    let line = line.strip_prefix("./").unwrap_or(line);
    let fits = |path: &str| {
        line.strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ', '`', '*', '\t', ',', '(']))
    };
    let shown = paths.iter().enumerate().flat_map(|(file, shown)| shown.iter().map(move |path| (file, path)));
    let (file, path) = shown.filter(|(_, path)| fits(path)).max_by_key(|(_, path)| path.len())?;
    let rest = &line[path.len()..];
    // `path:12-40: why` is a range that nobody asked for.
    let rest = rest.trim_start_matches(|c: char| {
        c.is_ascii_digit() || matches!(c, ':' | '`' | '*' | '-' | ' ' | ',' | '—' | '–')
    });
    Some((file, rest.trim()))
}

/// Whether a line names something that could be a file: its first word has a slash, or a dot within it, and a
/// colon follows.
fn looks_like_path(line: &str) -> bool {
    let first = line.split(|c: char| c.is_whitespace() || c == '`').next().unwrap_or_default();
    let (path, colon) = match first.split_once(':') {
        Some((path, _)) => (path, true),
        None => (first, line.contains(": ")),
    };
    let path = path.trim_end_matches([',', '.']);
    path.contains('/') || (colon && path.trim_start_matches('.').contains('.'))
}

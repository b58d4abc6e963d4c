//! An answer in lines: `path: why`, and what models make of that.

use super::answer::{Parsed, explanation, keep};
use super::names::Names;
use super::nothing;
use crate::limits;

/// Words in front of a path.
const LABELS: [&str; 14] = [
    "file",
    "files",
    "path",
    "filename",
    "file path",
    "filepath",
    "full path",
    "absolute path",
    "location",
    "rank",
    "result",
    "relevant file",
    "most relevant",
    "most relevant file",
];
/// Words in front of a reason.
const REASONS: [&str; 12] = [
    "why",
    "why it's relevant",
    "why relevant",
    "reason",
    "reasoning",
    "relevance",
    "relevance explanation",
    "explanation",
    "description",
    "summary",
    "rationale",
    "note",
];
/// Words in front of what is none.
const FACTS: [&str; 8] =
    ["score", "relevance score", "confidence", "line", "lines", "rank", "language", "key lines"];
/// A whole line, in front of files that are named because they are not meant.
const EXCLUSIONS: [&str; 12] = [
    "not relevant",
    "irrelevant",
    "excluded",
    "exclude",
    "left out",
    "not included",
    "omitted",
    "skipped",
    "discarded",
    "ruled out",
    "rejected",
    "not selected",
];
/// Bytes of a line that may be a heading of a part.
const HEADING_BYTES: usize = 120;

/// What lines say.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) parsed: Parsed,
    pub(super) says_nothing: bool,
}

/// A file that a line names.
pub(super) struct Named<'t> {
    pub(super) file: usize,
    pub(super) words: &'t str,
    /// In a list, or with a mark between path and words: not in a sentence.
    pub(super) is_listed: bool,
}

/// Reads the lines of an answer.
pub(super) fn read(text: &str, names: &Names<'_>) -> Lines {
    let mut lines = Lines::default();
    // Files that sentences begin with, for an answer that has no list.
    let mut told: Vec<(usize, &str)> = Vec::new();
    let mut is_excluded = false;
    // The file that waits for its reason, and whether that may stand behind an empty line.
    let mut waiting: Option<(usize, bool)> = None;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            waiting = waiting.filter(|(_, is_heading)| *is_heading);
            continue;
        }
        if is_rule(line) {
            continue;
        }
        if let Some(named) = named(line, names) {
            if is_excluded || says_not(named.words) {
                lines.says_nothing = true;
                waiting = None;
            } else if is_quotation(line, &named, names) {
                // What stands so in a file is the file's word.
                lines.parsed.dropped += 1;
            } else if named.is_listed {
                let is_new = lines.parsed.kept.iter().all(|kept| kept.file != named.file);
                keep(&mut lines.parsed, named.file, named.words);
                waiting = (is_new && named.words.is_empty())
                    .then(|| (named.file, line.starts_with(['#', '*', '<'])));
            } else {
                told.push((named.file, named.words));
            }
            continue;
        }
        if let Some(is_exclusion) = heading(line) {
            is_excluded = is_exclusion && !names.is_said(line);
            waiting = None;
            if nothing::says_nothing(line) {
                lines.says_nothing = true;
            }
        } else if let Some((file, _)) = waiting {
            if let Some(words) = reason(line) {
                let kept = lines.parsed.kept.iter_mut().find(|kept| kept.file == file);
                kept.into_iter().for_each(|kept| kept.explanation = explanation(words));
                waiting = None;
            }
        } else if looks_like_path(unmarked(line)) {
            lines.parsed.dropped += 1;
        } else if nothing::says_nothing(line) {
            lines.says_nothing = true;
        }
    }
    // A sentence about a file behind "No relevant files found" says why it is not.
    if lines.parsed.kept.is_empty() && !lines.says_nothing {
        told.into_iter().for_each(|(file, words)| keep(&mut lines.parsed, file, words));
    }
    lines
}

/// Whether a file says what a line says of it. A path alone stands in many files, and is nobody's opinion.
fn is_quotation(line: &str, named: &Named<'_>, names: &Names<'_>) -> bool {
    let says_something = !named.words.is_empty() || line.contains('"');
    says_something && (names.is_said(line) || names.is_said(unmarked(line)))
}

/// The file that a line names.
pub(super) fn named<'t>(line: &'t str, names: &Names<'_>) -> Option<Named<'t>> {
    if line.starts_with('|') {
        return of_table(line, names);
    }
    let (mut rest, mut is_listed) = (line, false);
    for _ in 0..limits::ANSWER_MARKS {
        if let Some((file, after)) = names.at_start(rest) {
            let (words, is_parted) = words(after);
            return Some(Named { file, words, is_listed: is_listed || is_parted || words.is_empty() });
        }
        rest = without_mark(rest)?.trim_start();
        is_listed = true;
    }
    None
}

/// The file of a path with line numbers behind it.
pub(super) fn path_with_lines(path: &str, names: &Names<'_>) -> Option<usize> {
    let (file, after) = names.at_start(path.trim())?;
    words(after).0.is_empty().then_some(file)
}

/// The file in the first cell that has one, and the longest of the cells behind it.
fn of_table<'t>(line: &'t str, names: &Names<'_>) -> Option<Named<'t>> {
    let cells: Vec<&str> =
        line.trim_matches('|').split('|').map(str::trim).take(limits::ANSWER_CELLS).collect();
    let of_cell =
        |cell: &'t str| named(cell.trim_start_matches('|'), names).filter(|named| named.words.is_empty());
    let (at, named) = cells.iter().enumerate().find_map(|(at, cell)| Some((at, of_cell(cell)?)))?;
    let longest = cells[at + 1..].iter().copied().max_by_key(|cell| cell.len()).unwrap_or_default();
    let before = cells[..at].iter().copied().max_by_key(|cell| cell.len()).unwrap_or_default();
    let is_text = |cell: &&str| cell.chars().any(char::is_alphabetic);
    let words = Some(longest).filter(is_text).or(Some(before).filter(is_text)).unwrap_or_default();
    Some(Named { words: trimmed(words), ..named })
}

/// Without the first mark in front of a path: of a list, a heading, bold text, code, a link, a tag, or a word such as `File:`.
fn without_mark(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let first = text.chars().next()?;
    if first == '<' {
        let end = text.find('>').filter(|end| *end < limits::ANSWER_TAG_BYTES)?;
        // `<file path="…">`
        let attribute =
            ["path=\"", "file=\"", "name=\"", "path='"].iter().find_map(|name| text[..end].find(name));
        let value = attribute.and_then(|at| text[at..].find(['"', '\'']).map(|quote| at + quote + 1));
        return Some(&text[value.unwrap_or(end + 1)..]);
    }
    // `[name](path)`, where the name is not the path.
    if first == '['
        && let Some(at) = text.find("](").filter(|at| *at < limits::ANSWER_TAG_BYTES)
        && !text[1..at].contains(['/', '['])
    {
        return Some(&text[at + 2..]);
    }
    if !first.is_alphanumeric() && !matches!(first, '/' | '.' | '_' | '@' | '$') {
        return Some(text[first.len_utf8()..].trim_start());
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if let Some(rest) = text[digits..].strip_prefix(['.', ')', ']', ':'])
        && digits > 0
    {
        return Some(rest.trim_start());
    }
    if let Some(rest) = text.strip_prefix("FILE ") {
        // As the evidence heads a file.
        return Some(rest);
    }
    let colon = text.bytes().take(limits::ANSWER_LABEL_BYTES).position(|byte| byte == b':')?;
    let label = label(&text[..colon]);
    let label = label.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ' || c == '#');
    LABELS.contains(&label).then(|| &text[colon + 1..])
}

/// Without all marks, as far as they can be told without knowing paths.
fn unmarked(mut line: &str) -> &str {
    for _ in 0..limits::ANSWER_MARKS {
        let Some(rest) = without_mark(line) else { break };
        line = rest;
    }
    line.trim()
}

fn label(text: &str) -> String {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '"' | '\'' | '-' | '•'))
        .to_lowercase()
}

/// What follows a path: the words, without line numbers and marks, and whether a mark parts them from the path.
fn words(after: &str) -> (&str, bool) {
    let (mut rest, mut is_parted) = (after, false);
    loop {
        let before = rest;
        // The other half of a link.
        if let Some(target) = rest.strip_prefix("](")
            && let Some(end) = target.find(')')
        {
            rest = &target[end + 1..];
        }
        rest = rest.strip_prefix("/>").unwrap_or(rest);
        if let Some(tag) = rest.strip_prefix("</") {
            rest = tag.find('>').map_or("", |end| &tag[end + 1..]);
        }
        rest = without_numbers(rest);
        let closed = rest.trim_start_matches(['`', '*', '"', '\'', '”', '’', '»', ')', ']', '>', '_']);
        // An opening mark of the words is theirs.
        if !rest.starts_with(char::is_whitespace) && closed.len() < rest.len() {
            rest = closed;
        }
        let parted = rest.trim_start();
        let marks = [':', '—', '–', '-', '|', '→', '：', ',', ';', '.', '•', '=', '>'];
        if parted.starts_with(marks) && !parted.starts_with("--") || parted.starts_with("--") {
            is_parted = true;
            rest = parted.trim_start_matches(marks);
        }
        if rest.len() == before.len() {
            break;
        }
    }
    is_parted |= rest.starts_with(['\t', '(']) || rest.starts_with(" (") || rest.starts_with("  ");
    (trimmed(rest), is_parted)
}

/// Without `:12-20`, `#L12-L20`, `(lines 12-20)` and the like.
fn without_numbers(text: &str) -> &str {
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '–' | ',' | ':' | 'L' | '#');
    let tail = |rest: &'_ str| rest.len() - rest.trim_start_matches(is_number).len();
    for mark in [":", "#L", ":L"] {
        if let Some(rest) = text.strip_prefix(mark)
            && rest.starts_with(|c: char| c.is_ascii_digit())
        {
            let numbers = rest[..tail(rest)].trim_end_matches([':', ',', '-', '–']);
            return &rest[numbers.len()..];
        }
    }
    let opened = text.trim_start();
    for (open, close) in [("(", ')'), ("[", ']')] {
        if let Some(rest) = opened.strip_prefix(open)
            && let Some(end) = rest.find(close)
            && is_range(&rest[..end])
        {
            return &rest[end + close.len_utf8()..];
        }
    }
    text
}

/// `12-20`, `lines 12, 20`, `L12`.
fn is_range(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let numbers = ["lines", "line", "l"].iter().find_map(|word| text.strip_prefix(word)).unwrap_or(&text);
    let is_numeric =
        |c: char| c.is_ascii_digit() || c.is_whitespace() || matches!(c, '-' | '–' | ',' | 'l' | '~');
    numbers.contains(|c: char| c.is_ascii_digit()) && numbers.chars().all(is_numeric)
}

/// Words without what the layout has put around them.
fn trimmed(words: &str) -> &str {
    let mut words = words.trim();
    for tag in ["</file>", "</li>", "</explanation>", "</answer>", "</relevance>"] {
        words = words.strip_suffix(tag).unwrap_or(words).trim_end();
    }
    for mark in ["**", "*", "_"] {
        // Half of a pair, whose other half stood before the path.
        if words.ends_with(mark) && words.matches(mark).count() == 1 {
            words = words.strip_suffix(mark).unwrap_or(words);
        }
        if let Some(inner) = words.strip_prefix(mark)
            && !inner.contains(mark)
        {
            words = inner;
        }
    }
    words.trim()
}

/// The reason in a line behind its file; `None` for a line that tells something else.
fn reason(line: &str) -> Option<&str> {
    let mut rest = line;
    for _ in 0..limits::ANSWER_MARKS {
        let text = rest.trim_start();
        let colon = text.bytes().take(limits::ANSWER_LABEL_BYTES).position(|byte| byte == b':');
        if let Some(colon) = colon {
            let label = label(&text[..colon]);
            if FACTS.contains(&label.as_str()) {
                return None;
            }
            if REASONS.contains(&label.as_str()) {
                let words = trimmed(text[colon + 1..].trim_start_matches(['*', '_', '"', ' ']));
                let is_grade = ["high", "medium", "low", "very high", "critical"]
                    .contains(&words.trim_end_matches(['.', '"', ',']).to_lowercase().as_str());
                return Some(words.trim_end_matches(['"', ',']).trim_end_matches('"'))
                    .filter(|words| !words.is_empty() && !is_grade);
            }
        }
        let first = text.chars().next()?;
        match first {
            '<' => rest = without_mark(text)?,
            '-' | '*' | '•' | '>' | '#' | '+' | '–' | '—' | '"' | '·' | '→' => {
                rest = &text[first.len_utf8()..]
            }
            _ => return Some(trimmed(text)),
        }
    }
    None
}

/// For a line that heads a part: whether the part is of files that are not meant.
fn heading(line: &str) -> Option<bool> {
    let plain = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '#' | '`'));
    let is_heading = line.starts_with('#')
        || plain.ends_with(':')
        || line.starts_with("**") && line.trim_end_matches(':').ends_with("**");
    let lower = plain.to_lowercase();
    (is_heading && line.len() <= HEADING_BYTES).then(|| EXCLUSIONS.iter().any(|words| lower.contains(words)))
}

/// Whether the words about a file are that it is not relevant, and no more.
fn says_not(words: &str) -> bool {
    let lower = words.to_lowercase();
    let lower = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    (lower.starts_with("not relevant") || lower.starts_with("irrelevant"))
        && !["but", "however", "although", "though", "except"].iter().any(|word| lower.contains(word))
}

/// Rules of Markdown, the parts of a table without words, and fences.
fn is_rule(line: &str) -> bool {
    line.starts_with("```")
        || line.chars().all(|c| matches!(c, '-' | '=' | '|' | ':' | '*' | '_' | '+' | ' '))
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

//! An answer in lines: `path: why`, and what models make of that.

use super::answer::{KeptAnswerFile, ParsedAnswer, explanation};
use super::names::FileNames;
use super::{exclusion, fences, ids, nothing};
use crate::limits;

/// Words in front of a path.
const LABELS: [&str; 18] = [
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
    "relevant",
    "relevant files",
    "answer",
    "ids",
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
/// What lines say.
#[derive(Debug, Default)]
pub(super) struct NamedLines {
    pub(super) parsed: ParsedAnswer,
    /// A sentence says that nothing is relevant.
    pub(super) says_nothing: bool,
    /// Lines name files because they are not meant.
    pub(super) leaves_out: bool,
}

/// Files that a line names: one, or several by their ids.
pub(super) struct NamedLine<'t> {
    pub(super) files: Vec<usize>,
    pub(super) words: &'t str,
    pub(super) grade: Option<u8>,
    /// In a list, or with a mark between path and words: not in a sentence.
    is_listed: bool,
    /// The line from the name on.
    text: &'t str,
}

/// Reads the lines of an answer.
pub(super) fn read(text: &str, names: &FileNames<'_>) -> NamedLines {
    let mut lines = NamedLines::default();
    // Files that are named in quotation marks, and those that sentences begin with, for an answer that has no list.
    let (mut quoted, mut told): (Vec<NamedLine<'_>>, Vec<NamedLine<'_>>) = (Vec::new(), Vec::new());
    let (mut is_excluded, mut is_attributed) = (false, false);
    // The file that waits for its reason, and whether that may stand behind an empty line.
    let mut waiting: Option<(usize, bool)> = None;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            is_attributed = false;
            waiting = waiting.filter(|(_, is_heading)| *is_heading);
            continue;
        }
        if is_rule(line) {
            continue;
        }
        if fences::attributes(line) {
            is_attributed = true;
            waiting = None;
            continue;
        }
        let is_left_out = exclusion::labelled(line).is_some_and(|rest| names_some(rest, names));
        if is_left_out && !names.is_line(line) {
            lines.leaves_out = true;
            continue;
        }
        if let Some(named) = named(line, names) {
            if is_excluded || named.grade == Some(0) || exclusion::says_not(named.words) {
                lines.leaves_out = true;
                waiting = None;
            } else if is_attributed || is_quotation(line, &named, names) {
                // What stands so in a file is the file's word.
                lines.parsed.dropped += 1;
            } else if is_in_quotes(line) {
                let words = named.words.trim_end_matches(['"', '”', '\'', '»', ',', ';']);
                quoted.push(NamedLine { words, ..named });
            } else if named.is_listed {
                let is_new = |file: &usize| lines.parsed.kept.iter().all(|kept| kept.file != *file);
                waiting = (named.files.first().copied().filter(is_new).filter(|_| named.words.is_empty()))
                    .map(|file| (file, line.starts_with(['#', '*', '<'])));
                keep(&mut lines.parsed, &named, names);
            } else {
                told.push(named);
            }
            continue;
        }
        if let Some(is_exclusion) = exclusion::heading(line) {
            is_excluded = is_exclusion && !names.is_line(line);
            waiting = None;
            if nothing::says_nothing(line) {
                lines.says_nothing = true;
            }
        } else if let Some((file, _)) = waiting {
            if let Some(words) = reason(line) {
                waiting = None;
                if exclusion::says_not(words) {
                    lines.parsed.kept.retain(|kept| kept.file != file);
                    lines.leaves_out = true;
                } else if let Some(kept) = lines.parsed.kept.iter_mut().find(|kept| kept.file == file) {
                    kept.explanation = explanation(words);
                }
            }
        } else if is_unknown(unmarked(line), names) {
            lines.parsed.dropped += 1;
        } else if nothing::says_nothing(line) {
            lines.says_nothing = true;
        }
    }
    if lines.parsed.kept.is_empty() && !lines.says_nothing {
        quoted.iter().for_each(|named| keep(&mut lines.parsed, named, names));
        // A sentence about a file behind "No relevant files found" says why it is not; one that begins with an id may
        // speak of others, too.
        if lines.parsed.kept.is_empty() && !lines.leaves_out && !names.by_id() {
            // One that ends in a colon introduces something else.
            let is_talk = |words: &str| fences::speaks(words) || words.ends_with(':');
            let told = told.iter().filter(|named| !is_talk(named.words));
            told.for_each(|named| keep(&mut lines.parsed, named, names));
        }
    } else {
        lines.parsed.dropped += quoted.len();
    }
    lines
}

fn keep(parsed: &mut ParsedAnswer, named: &NamedLine<'_>, names: &FileNames<'_>) {
    named
        .files
        .iter()
        .for_each(|&file| parsed.keep(KeptAnswerFile::new(file, named.words, named.grade, names)));
}

/// Whether a text is a list of files, be it of bare numbers.
fn names_some(text: &str, names: &FileNames<'_>) -> bool {
    named(text, names).is_some() || ids::row(text, names).is_some()
}

/// Whether a file says what a line says of it: as a line of its own, or in the middle of others, where it is more than a
/// word. A path alone stands in many files, and is nobody's opinion.
fn is_quotation(line: &str, named: &NamedLine<'_>, names: &FileNames<'_>) -> bool {
    let says_something = !named.words.is_empty() || line.contains('"');
    let is_long = named.words.split_whitespace().nth(1).is_some();
    let is_repeated = |text: &str| names.is_line(text) || is_long && names.is_said(text);
    says_something && (is_repeated(line) || is_repeated(named.text))
}

/// Whether all of a line but the marks of a list stands in quotation marks.
fn is_in_quotes(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '*' | '•' | '+'));
    let line = line.trim_end_matches([',', '.', ';']);
    [('"', '"'), ('“', '”'), ('\'', '\''), ('«', '»')].into_iter().any(|(open, close)| {
        let inner = line.strip_prefix(open).and_then(|line| line.strip_suffix(close));
        inner.is_some_and(|inner| !inner.contains([open, close]))
    })
}

/// The files that a line names.
pub(super) fn named<'t>(line: &'t str, names: &FileNames<'_>) -> Option<NamedLine<'t>> {
    if line.starts_with('|') {
        return of_table(line, names);
    }
    if let Some((label, row)) = line.split_once(':')
        && LABELS.contains(&self::label(label).as_str())
        && let Some(files) = ids::row(row, names)
    {
        return Some(NamedLine { files, words: "", grade: None, is_listed: true, text: line });
    }
    let (mut rest, mut is_listed) = (line, false);
    for _ in 0..limits::ANSWER_MARKS {
        let path = || names.at_start(rest).map(|(file, after)| (vec![file], after));
        if let Some((files, after)) = path().or_else(|| ids::at_start(rest, names)) {
            let (words, is_parted, grade) = graded_words(after, names);
            // `F3 and F4 are tests` is a sentence wherever it stands.
            let is_listed = is_parted || words.is_empty() || is_listed && files.len() == 1;
            return Some(NamedLine { files, words, grade, is_listed, text: rest });
        }
        rest = without_mark(rest)?.trim_start();
        is_listed = true;
    }
    None
}

/// What follows a name: the words, whether a mark parts them from it, and the grade where such are asked for.
fn graded_words<'t>(after: &'t str, names: &FileNames<'_>) -> (&'t str, bool, Option<u8>) {
    match names.by_id().then(|| ids::graded(after)).flatten() {
        Some((grade, rest)) => (words(rest).0, true, Some(grade)),
        None => {
            let (words, is_parted) = words(after);
            (words, is_parted, None)
        }
    }
}

/// The file of a text that is a path, with line numbers behind it perhaps.
pub(super) fn of_path(path: &str, names: &FileNames<'_>) -> Option<usize> {
    let path = path.trim();
    names.file(path).or_else(|| {
        let (file, after) = names.at_start(path)?;
        words(after).0.is_empty().then_some(file)
    })
}

/// The file in the first cell that has one, and the longest of the cells behind it.
fn of_table<'t>(line: &'t str, names: &FileNames<'_>) -> Option<NamedLine<'t>> {
    let cells: Vec<&str> =
        line.trim_matches('|').split('|').map(str::trim).take(limits::ANSWER_CELLS).collect();
    let of_cell =
        |cell: &'t str| named(cell.trim_start_matches('|'), names).filter(|named| named.words.is_empty());
    let (at, named) = cells.iter().enumerate().find_map(|(at, cell)| Some((at, of_cell(cell)?)))?;
    let is_words = |cell: &&&'t str| cell.chars().any(char::is_alphabetic) && of_cell(cell).is_none();
    let longest = |cells: &[&'t str]| cells.iter().filter(is_words).max_by_key(|cell| cell.len()).copied();
    let words = longest(&cells[at + 1..]).or_else(|| longest(&cells[..at])).unwrap_or_default();
    let grade =
        cells.iter().skip(at + 1).find_map(|cell| cell.parse().ok()).filter(|grade| *grade <= ids::MOST);
    let grade = named.grade.or(grade.filter(|_| names.by_id()));
    Some(NamedLine { words: trimmed(words), grade, text: line, ..named })
}

/// Without the first mark in front of a path: of a list, a heading, bold text, code, a link, a tag, or a word such as `File:`.
fn without_mark(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let first = text.chars().next()?;
    if first == '<' {
        let end = text.find('>').filter(|end| *end < limits::ANSWER_TAG_BYTES)?;
        // `<file path="…">`
        let attribute = ["path=\"", "file=\"", "name=\"", "id=\"", "path='"]
            .iter()
            .find_map(|name| text[..end].find(name));
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

/// Rules of Markdown, the parts of a table without words, and ends of fences.
fn is_rule(line: &str) -> bool {
    line.starts_with("```")
        || line.chars().all(|c| matches!(c, '-' | '=' | '|' | ':' | '*' | '_' | '+' | ' '))
}

/// Whether a line names something that could be a file, although no such file was sent: it begins with an id, or its
/// first word has a slash, or a dot within it, and a colon follows.
fn is_unknown(line: &str, names: &FileNames<'_>) -> bool {
    let first = line.split(|c: char| c.is_whitespace() || c == '`').next().unwrap_or_default();
    let (path, colon) = match first.split_once(':') {
        Some((path, _)) => (path, true),
        None => (first, line.contains(": ")),
    };
    let path = path.trim_end_matches([',', '.']);
    path.contains('/')
        || (colon && path.trim_start_matches('.').contains('.'))
        || (colon && names.by_id() && path.starts_with(['F', 'f']) && ids::number(path).is_some())
}

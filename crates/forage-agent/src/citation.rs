//! Finds the citations in an answer and checks that they exist.

use std::collections::HashMap;

use forage_base::Stop;
use forage_fs::{Contents, DecodedText, OpenError, ReadBuffer, count_lines, decode};
use forage_tools::Workspace;
use schemars::JsonSchema;
use serde::Serialize;

use super::limits::{CITATION_TIME, CITATIONS, CITED_FILE_BYTES, CITED_PATH_BYTES};

/// A location that an answer cites.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Citation {
    /// The path as written in the answer.
    pub path: String,
    /// First line, counted from 1.
    pub start: u64,
    /// Last line, inclusive.
    pub end: u64,
    /// The problem with the citation; absent if it is correct.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// An answer with its citations checked.
#[derive(Debug)]
pub(super) struct CheckedAnswer {
    /// The text, with a mark after each wrong citation.
    pub(super) text: String,
    pub(super) citations: Vec<Citation>,
    /// Citations that we did not check: there are too many, or no time is left.
    pub(super) unchecked: usize,
}

/// The state of a cited file.
enum CitationTarget {
    /// The file has this many lines.
    Count(u64),
    /// The file can't be cited.
    Wrong(&'static str),
    /// There was no time to count the lines.
    Unknown,
}

/// Checks the citations of a text against the disk. This opens each file within the roots and under the same
/// rules as any other read.
pub(super) fn check(text: &str, workspace: &Workspace) -> CheckedAnswer {
    let stop = workspace.stop.within(CITATION_TIME);
    let mut files = HashMap::new();
    let mut checked =
        CheckedAnswer { text: String::with_capacity(text.len()), citations: Vec::new(), unchecked: 0 };
    let mut copied = 0;
    for found in find(text) {
        if checked.citations.len() >= CITATIONS {
            checked.unchecked += 1;
            continue;
        }
        let lines = files.entry(found.path).or_insert_with(|| lines_of(found.path, workspace, &stop));
        let wrong = match lines {
            // A name followed by a number, e.g. `localhost:8080`, is a citation only if there is such a file.
            CitationTarget::Wrong(_) if !looks_like_path(found.path) => continue,
            CitationTarget::Wrong(problem) => Some((*problem).to_owned()),
            _ if found.start == 0 || found.end < found.start => Some("invalid line range".to_owned()),
            CitationTarget::Count(count) if found.end > *count => {
                Some(format!("the file has {}", forage_base::count(*count, "line")))
            }
            CitationTarget::Count(_) => None,
            CitationTarget::Unknown => {
                checked.unchecked += 1;
                continue;
            }
        };
        if let Some(problem) = &wrong {
            checked.text.push_str(&text[copied..found.at]);
            checked.text.push_str(&format!(" [wrong: {problem}]"));
            copied = found.at;
        }
        checked.citations.push(Citation {
            path: found.path.to_owned(),
            start: found.start,
            end: found.end,
            wrong,
        });
    }
    checked.text.push_str(&text[copied..]);
    checked
}

fn lines_of(path: &str, workspace: &Workspace, stop: &Stop) -> CitationTarget {
    let open = || {
        let (root, path) = workspace.roots.find(path.strip_prefix("./").unwrap_or(path))?;
        root.open_file(&path)
    };
    if stop.check().is_some() {
        return CitationTarget::Unknown;
    }
    let mut file = match open() {
        Ok(file) => file,
        Err(error) => {
            return CitationTarget::Wrong(match error {
                OpenError::NotFound { .. } | OpenError::NotDirectory { .. } => "no such file",
                OpenError::OutsideRoot { .. } => "outside of the root",
                OpenError::Secret { .. } => "a secrets file, which is never read",
                OpenError::IsDirectory { .. } => "a directory",
                OpenError::NotRegular { .. } => "not a regular file",
                OpenError::KernelFileSystem { .. } => "on a kernel file system",
                OpenError::Io { .. } => "it can't be opened",
            });
        }
    };
    let unreadable = CitationTarget::Wrong("it can't be read");
    let mut bytes = ReadBuffer::default();
    match file.read_into(&mut bytes, CITED_FILE_BYTES) {
        Err(_) => return unreadable,
        Ok(Contents::Whole) => {
            return match decode(&bytes) {
                DecodedText::Binary => CitationTarget::Wrong("a binary file"),
                DecodedText::Text { bytes, .. } => CitationTarget::Count(count_lines(&bytes)),
            };
        }
        Ok(Contents::TooLarge) => {}
    }
    // From here on only line feeds count. A piece may end within a line, and the last line may have no line
    // feed.
    let feeds = |piece: &[u8]| piece.iter().filter(|byte| **byte == b'\n').count() as u64;
    let mut count = feeds(&bytes);
    let mut ended = bytes.last() == Some(&b'\n');
    loop {
        if stop.check().is_some() {
            return CitationTarget::Unknown;
        }
        bytes.clear();
        match bytes.read_more(file.reader(), 1 << 20) {
            Err(_) => return unreadable,
            Ok(0) => return CitationTarget::Count(count + u64::from(!ended)),
            Ok(_) => {
                count += feeds(&bytes);
                ended = bytes.last() == Some(&b'\n');
            }
        }
    }
}

/// A part of a text that looks like a citation.
#[derive(Debug, PartialEq, Eq)]
struct CitationMatch<'t> {
    path: &'t str,
    start: u64,
    end: u64,
    /// The end of the citation in the text, including a backtick after it.
    at: usize,
}

/// Finds `path:12`, `path:12-40`, and the web forms `path#L12-L40` and `path:L12`. This must visit each
/// character only once, because an answer may be a single line of a mebibyte.
fn find(text: &str) -> Vec<CitationMatch<'_>> {
    let (mut found, mut word): (Vec<CitationMatch<'_>>, PathStart) = (Vec::new(), PathStart::default());
    for (at, mark) in text.char_indices() {
        let path = word.before(text, at);
        word.pass(text, at, mark);
        // In `x.py:12:5`, the column must not become a citation of its own.
        if !matches!(mark, ':' | '#') || found.last().is_some_and(|last| last.at >= at) {
            continue;
        }
        let Some((start, end, length)) = range(&text[at + 1..], mark) else { continue };
        // A URL is not a path, and neither is a time of day.
        if path.is_empty()
            || path.len() > CITED_PATH_BYTES
            || path.contains("://")
            || !path.contains(|c: char| c.is_alphabetic())
        {
            continue;
        }
        let after = at + 1 + length;
        let after = after + usize::from(text[after..].starts_with('`'));
        found.push(CitationMatch { path, start, end, at: after });
    }
    found
}

/// Parses line numbers at the beginning of a text. Returns the first line, the last line and the number of
/// bytes read.
fn range(text: &str, mark: char) -> Option<(u64, u64, usize)> {
    let number = |text: &str, needs_l: bool| {
        let digits = match text.strip_prefix('L') {
            Some(rest) => rest,
            None if needs_l => return None,
            None => text,
        };
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = digits[..length].parse().ok()?;
        Some((number, text.len() - digits.len() + length))
    };
    let (start, mut length) = number(text, mark == '#')?;
    let mut end = start;
    for dash in ["-", "–"] {
        if let Some((last, bytes)) = text[length..].strip_prefix(dash).and_then(|rest| number(rest, false)) {
            (end, length) = (last, length + dash.len() + bytes);
            break;
        }
    }
    // `10:30am` and `v1:2x` are not line numbers.
    let next = text[length..].chars().next();
    (!next.is_some_and(|c| c.is_alphanumeric() || c == '_')).then_some((start, end, length))
}

/// Tracks the start of a path that may end at the current position. Between backticks a path may contain
/// anything; elsewhere it is one word.
#[derive(Default)]
struct PathStart {
    start: usize,
    /// True between backticks.
    is_code: bool,
    /// True while only whitespace has followed the opening backtick.
    is_leading: bool,
}

impl PathStart {
    fn before<'t>(&self, text: &'t str, at: usize) -> &'t str {
        &text[self.start.min(at)..at]
    }

    /// Advances past a character.
    fn pass(&mut self, text: &str, at: usize, c: char) {
        let after = at + c.len_utf8();
        match c {
            '\n' => *self = Self { start: after, ..Self::default() },
            '`' => {
                let is_code = !self.is_code;
                *self = Self { start: after, is_code, is_leading: is_code };
            }
            c if self.is_code => {
                self.is_leading &= c.is_whitespace();
                // In a list, for example `a.rs:1, b.rs:2`, each entry starts a new path. The caller checks
                // whether its name looks like a file.
                if self.is_leading || (c == ' ' && text[..at].ends_with(',') && self.start < at) {
                    self.start = after;
                }
            }
            c if c.is_whitespace() || "\"'()[]{}<>,;|*".contains(c) => self.start = after,
            _ => {}
        }
    }
}

/// Returns true if a name looks like a file path: with a directory or an extension.
fn looks_like_path(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    name.contains('/')
        || ending.is_some_and(|ending| {
            ending.starts_with(|c: char| c.is_ascii_alphabetic())
                && ending.len() <= 12
                && ending.chars().all(char::is_alphanumeric)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<(&str, u64, u64)> {
        find(text).into_iter().map(|found| (found.path, found.start, found.end)).collect()
    }

    #[test]
    fn citations_are_found_in_every_form() {
        for (text, path, start, end) in [
            ("see src/a.rs:12.", "src/a.rs", 12, 12),
            ("see `src/a.rs:12-40`, and", "src/a.rs", 12, 40),
            ("(src/a.rs:12–40)", "src/a.rs", 12, 40),
            ("**src/a.rs:7**", "src/a.rs", 7, 7),
            ("[src/a.rs:7](x)", "src/a.rs", 7, 7),
            ("src/a.rs#L3-L9", "src/a.rs", 3, 9),
            ("src/a.rs:L3", "src/a.rs", 3, 3),
            ("at `my file.rs:5`", "my file.rs", 5, 5),
            ("at `app/[id].tsx:5`", "app/[id].tsx", 5, 5),
            ("Makefile:3", "Makefile", 3, 3),
            ("/abs/x.py:1: it", "/abs/x.py", 1, 1),
            ("x.py:12:5", "x.py", 12, 12),
        ] {
            assert_eq!(places(text), [(path, start, end)], "{text}");
        }
        assert_eq!(places("`a.rs:1` and `b.rs:2`"), [("a.rs", 1, 1), ("b.rs", 2, 2)]);
        assert_eq!(places("`a.rs:1, b.rs:2`"), [("a.rs", 1, 1), ("b.rs", 2, 2)]);
    }

    #[test]
    fn what_only_looks_like_one_is_left_alone() {
        for text in [
            "at 10:30 it",
            "http://127.0.0.1:8080/x",
            "std::io",
            "a: 5",
            "note:",
            "x.rs:12th",
            "C#5",
            ":12",
            "127.0.0.1:80",
        ] {
            assert_eq!(places(text), [], "{text}");
        }
        assert!(!looks_like_path("localhost") && looks_like_path("a.rs") && looks_like_path("src/x"));
    }

    #[test]
    fn fuzz_citations_are_parts_of_the_text_in_its_order() {
        let seeds = forage_fuzz::seeds([
            "see `src/a.rs:12-40`, src/ö.rs#L1-L4 and src/b.rs:L7.\nhttp://x/y:80, 10:30am, `a b/c.rs:1`",
            "a/b:1–2 (c.rs:18446744073709551616) \"d.rs:3\" `x, y.rs:9`",
        ]);
        forage_fuzz::target!(&seeds, |input| {
            let text = String::from_utf8_lossy(input);
            let mut before = 0;
            for found in find(&text) {
                assert!(found.at > before && text.is_char_boundary(found.at), "{found:?}");
                assert!(text[..found.at].contains(found.path) && !found.path.contains('\n'), "{found:?}");
                before = found.at;
            }
        });
    }

    /// Tests one line as long as the longest possible answer.
    #[test]
    fn citations_in_a_line_without_end_are_found_in_time() {
        for piece in ["a/b:1 ", ":1", "`:1", "#L1", "a:1-"] {
            let text = piece.repeat((1 << 20) / piece.len());
            let started = std::time::Instant::now();
            find(&text);
            let took = started.elapsed();
            assert!(took.as_secs() < 10, "{piece:?} took {took:?}");
        }
    }
}

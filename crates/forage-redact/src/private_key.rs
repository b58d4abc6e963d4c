//! Private key blocks, complete or cut.
//!
//! An excerpt can contain any part of a block. Each line may have a line number, a path, quotes or a comment
//! mark, and a whole block may be on one line with escaped line ends. We therefore work line by line,
//! forwards from a BEGIN mark and backwards from an END mark, over all lines that may belong to the block.
//!
//! Note that programs which read and write keys also contain these marks. A mark without key characters next
//! to it is not redacted.

use regex::Regex;

use crate::engine::FoundSecret;
use crate::engine::compile;
use crate::judge::is_wordy;
use crate::randomness::entropy;
use crate::rules::PRIVATE_KEY;

/// Every text with a block contains at least one of these.
const HEADS: [&str; 2] = ["PRIVATE KEY", PUTTY_LINES];

/// The line of PuTTY's format after which the lines of the key begin.
const PUTTY_LINES: &str = "Private-Lines:";

/// Maximum number of lines before an END mark that may belong to its block. A 16384-bit RSA key has about
/// 200.
const MAX_LINES_BACK: usize = 300;

/// Minimum length in characters of a body line that we find backwards, except for the last two lines of a
/// block. A mark also needs this many key characters next to it to count as part of a key. Lines that we find
/// forwards may have any length.
const MIN_BODY_BACK: usize = 16;

/// The rule for private keys.
pub(crate) struct PrivateKeys {
    begin: Regex,
    end: Regex,
    body: Regex,
    header: Regex,
}

/// Matches text before a line's own text: a path, a line number, quotes, comment marks, a mark that the line
/// was cut.
const PREFIX: &str = r#"^(?:[^\s"'`]+[:-])??[ \t>*#/|+.]*(?:[0-9]{1,7}(?:[ \t]*[:|>-]|\t))?[ \t"'`#*>|+.]*(?:\[[0-9,]+ bytes\] …)?"#;

/// Matches text after a line's own text: an escaped line end, quotes, operators, a mark that the line was
/// cut.
const SUFFIX: &str = r#"(?:… \[[0-9,]+ bytes more\])?(?:\\+[rn])*["'`,;+.…\\)\s]*$"#;

impl PrivateKeys {
    pub(crate) fn new() -> Self {
        // PEM and PGP have five dashes, SSH2 has four and a space. After BEGIN we match everything of the
        // block that is on the same line, including the END mark.
        Self {
            begin: compile(
                r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}[A-Za-z0-9+/=%\\:,. \t_-]*",
            ),
            end: compile(r"[A-Za-z0-9+/=%\\]*-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"),
            body: compile(&format!(r"{PREFIX}([A-Za-z0-9+/]+={{0,2}}|=[A-Za-z0-9+/]{{4}}){SUFFIX}")),
            header: compile(&format!(r"{PREFIX}([A-Z][A-Za-z-]{{2,30}}: [^\r\n]{{1,200}})$")),
        }
    }

    /// Finds the lines of private keys in the text. All lines of a key except for the first continue it.
    pub(crate) fn find(&self, text: &str) -> Vec<FoundSecret> {
        if !HEADS.iter().any(|head| text.contains(head)) {
            return Vec::new();
        }
        let lines = lines(text);
        let mut found: Vec<Option<(usize, usize)>> = vec![None; lines.len()];
        let mut firsts = Vec::new();
        let mut index = 0;
        while index < lines.len() {
            let (start, line) = lines[index];
            if let Some(begin) = self.begin.find(line) {
                let first = index;
                found[first] = Some((start + begin.start(), start + begin.end()));
                index += 1;
                if !begin.as_str().contains("END ") {
                    index = self.follow(&lines, index, &mut found);
                }
                if is_key(after_begin_mark(begin.as_str())) || self.has_body(text, &found[first + 1..index]) {
                    firsts.push(first);
                } else {
                    found[first..index].fill(None);
                }
                continue;
            }
            if let Some(end) = self.end.find(line) {
                let first = self.look_back(&lines, index, &mut found);
                if is_key(end.as_str()) || self.has_body(text, &found[first..index]) {
                    found[index] = Some((start + end.start(), start + end.end()));
                    firsts.push(first);
                } else {
                    found[first..index].fill(None);
                }
            } else if line.contains(PUTTY_LINES) {
                firsts.push(index + 1);
                index = self.follow(&lines, index + 1, &mut found);
                continue;
            }
            index += 1;
        }
        let marked = |(at, range): (usize, Option<(usize, usize)>)| {
            let (start, end) = range?;
            Some(FoundSecret { range: start..end, rule: PRIVATE_KEY, continues: !firsts.contains(&at) })
        };
        found.into_iter().enumerate().filter_map(marked).collect()
    }

    /// Returns true if the marked lines contain characters of a key.
    fn has_body(&self, text: &str, marked: &[Option<(usize, usize)>]) -> bool {
        let lines = || marked.iter().flatten().map(|(start, end)| &text[*start..*end]);
        // Headers contain a colon, and BEGIN and END marks contain dashes.
        let is_body = |line: &&str| !line.contains([':', '-']);
        // Several short lines may be a key together. We recognize the last line of a key by its padding.
        is_key(&lines().filter(is_body).take(8).collect::<String>())
            || lines().filter(is_body).any(|line| is_key(line) || line.ends_with('='))
    }

    /// Marks the lines of a block after its BEGIN line. Returns the first line that is not part of the block.
    fn follow(&self, lines: &[(usize, &str)], first: usize, found: &mut [Option<(usize, usize)>]) -> usize {
        let mut in_headers = true;
        // In a program that only mentions the BEGIN mark, a line such as `end` may follow.
        let is_word =
            |text: &str| text.len() < MIN_BODY_BACK && text.bytes().all(|byte| byte.is_ascii_lowercase());
        for (index, (start, line)) in lines.iter().enumerate().skip(first) {
            if self.begin.is_match(line) {
                return index;
            }
            if let Some(end) = self.end.find(line) {
                found[index] = Some((start + end.start(), start + end.end()));
                return index + 1;
            }
            let header = || self.header.captures(line).filter(|_| in_headers);
            let body = self.body.captures(line).and_then(|captures| captures.get(1));
            if let Some(body) = body.filter(|body| !in_headers || !is_word(body.as_str())) {
                in_headers = false;
                found[index] = Some((start + body.start(), start + body.end()));
            } else if let Some(header) = header().and_then(|captures| captures.get(1)) {
                found[index] = Some((start + header.start(), start + header.end()));
            } else if line.contains(|character: char| character.is_ascii_alphabetic()) {
                return index;
            }
        }
        lines.len()
    }

    /// Marks the lines of a block before its END line. Returns the first of them.
    fn look_back(&self, lines: &[(usize, &str)], end: usize, found: &mut [Option<(usize, usize)>]) -> usize {
        let mut first = end;
        for index in (end.saturating_sub(MAX_LINES_BACK)..end).rev() {
            let (start, line) = lines[index];
            let Some(body) = self.body.captures(line).and_then(|captures| captures.get(1)) else {
                return first;
            };
            // The last two lines of a block, a rest and a checksum, may be short.
            if found[index].is_some() || (body.len() < MIN_BODY_BACK && index + 2 < end) {
                return first;
            }
            found[index] = Some((start + body.start(), start + body.end()));
            first = index;
        }
        first
    }
}

/// Returns the text after a BEGIN mark on the same line.
fn after_begin_mark(begin: &str) -> &str {
    begin.split_once("KEY").map_or("", |(_, rest)| rest)
}

/// Returns true if a text contains characters of a key, that is, base64 which does not read like words.
fn is_key(text: &str) -> bool {
    text.split(|character: char| !(character.is_ascii_alphanumeric() || "+/=%".contains(character)))
        .any(|run| run.len() >= MIN_BODY_BACK && !is_wordy(run) && entropy(run) > 2.0)
}

/// Splits a text into lines, each with its start offset and without its line end.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut start = 0;
    text.split('\n')
        .map(|line| {
            let at = start;
            start += line.len() + 1;
            (at, line.strip_suffix('\r').unwrap_or(line))
        })
        .collect()
}

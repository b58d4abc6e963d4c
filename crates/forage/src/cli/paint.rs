//! Adds colours and links to answers on a terminal.
//!
//! The text of an answer must be the same in a file, in a pipe and on a terminal. So the painter colours
//! paths, line numbers, matches, directories and notes, but changes nothing else. We use the records to find
//! out which words are paths and which text matched.

use std::collections::{BTreeSet, HashMap};
use std::io::IsTerminal;
use std::path::Path;

use clap::ColorChoice;
use grep_printer::{HyperlinkFormat, HyperlinkFormatError};
use serde_json::Value;

/// The colours of paths, line numbers and matches are ripgrep's defaults.
const PATH: &str = "\x1b[35m";
const LINE_NUMBER: &str = "\x1b[32m";
const MATCH: &str = "\x1b[1m\x1b[31m";
const NOTE: &str = "\x1b[2m";
const DIRECTORY: &str = "\x1b[1m\x1b[34m";
/// These are git's.
const COMMIT: &str = "\x1b[33m";
const ADDED: &str = "\x1b[32m";
const REMOVED: &str = "\x1b[31m";
const RESET: &str = "\x1b[0m";

/// Parses a link format. This is one of ripgrep's names, `zed`, or an address with `{path}`.
pub(crate) fn link_format(text: &str) -> Result<HyperlinkFormat, HyperlinkFormatError> {
    if text == "zed" { "zed://file{path}:{line}:{column}" } else { text }.parse()
}

/// Adds colours and links to answers.
#[derive(Debug, Default)]
pub(crate) struct Painter {
    pub(crate) has_colors: bool,
    pub(crate) links: HyperlinkFormat,
    has_error_colors: bool,
}

impl Painter {
    /// Creates a painter. It adds links only if it also adds colours.
    pub(crate) fn new(colors: ColorChoice, links: Option<&HyperlinkFormat>) -> Self {
        let has_colors = match colors {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if anstyle_query::no_color() => false,
            ColorChoice::Auto if anstyle_query::clicolor_force() => true,
            ColorChoice::Auto => takes_colors(&std::io::stdout()),
        };
        let links = links.filter(|_| has_colors).cloned().unwrap_or_default();
        Self { has_colors, links, ..Self::for_errors(colors) }
    }

    /// Creates a painter that only colours errors.
    pub(crate) fn for_errors(colors: ColorChoice) -> Self {
        let is_wanted = colors != ColorChoice::Never && !anstyle_query::no_color();
        Self { has_error_colors: is_wanted && takes_colors(&std::io::stderr()), ..Self::default() }
    }

    /// Returns the prefix of an error.
    pub(crate) fn error(&self) -> String {
        if self.has_error_colors { format!("{MATCH}error:{RESET}") } else { "error:".to_owned() }
    }

    /// Adds colours and links to an answer.
    pub(crate) fn answer(&self, text: &str, records: &Value) -> String {
        let mut page = Page::default();
        if records["commits"].is_array() {
            return page.history(text);
        }
        page.gather(records, "");
        let root = records["root"].as_str().unwrap_or_default();
        let link = |path: &str, line| self.address(root, path, line);
        let notes = notes_start(text);
        let (mut is_code, mut at) = (false, 0);
        for line in text.split_inclusive('\n') {
            let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
            let (mark, place) = body.split_at(if body.starts_with("@@ ") { 3 } else { 0 });
            is_code |= !mark.is_empty();
            if at >= notes {
                page.put(NOTE, body);
            } else if is_code && mark.is_empty() {
                page.painted.push_str(body);
            } else {
                page.painted.push_str(mark);
                page.line(place, if is_code { &[' '] } else { &[':', '-'] }, link);
            }
            page.painted.push_str(end);
            at += line.len();
        }
        page.painted
    }

    /// Returns the address of a line if links are enabled. A quoted path has none, because it contains bytes
    /// that are not allowed in an address.
    fn address(&self, root: &str, path: &str, line: u64) -> Option<String> {
        if self.links.is_empty() || path.starts_with('"') {
            return None;
        }
        let absolute = Path::new(root).join(path).display().to_string();
        let absolute = if cfg!(windows) { format!("/{}", absolute.replace('\\', "/")) } else { absolute };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~:".contains(&byte);
        let encode =
            |byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        let address = self.links.to_string().replace("{line}", &line.to_string()).replace("{column}", "1");
        let address = address.replace("{host}", "").replace("{wslprefix}", "");
        Some(address.replace("{path}", &absolute.bytes().map(encode).collect::<String>()))
    }
}

/// Returns true if a stream is a terminal that supports colours.
fn takes_colors(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && anstyle_query::term_supports_color() && anstyle_query::clicolor() != Some(false)
}

/// The state while an answer is painted.
#[derive(Default)]
struct Page<'a> {
    paths: BTreeSet<&'a str>,
    /// The text and the spans of each line with matches, by path and line number.
    matches: HashMap<(&'a str, u64), (&'a str, &'a Vec<Value>)>,
    /// The most recent path. Numbered lines after it belong to this file.
    file: &'a str,
    painted: String,
}

impl<'a> Page<'a> {
    /// Collects the paths and matches in a value. `file` is the path of the record that contains it.
    fn gather(&mut self, value: &'a Value, file: &'a str) {
        // A field may also be an object that has a text and its bytes.
        let text = |name: &str| value[name].as_str().or(value[name]["text"].as_str());
        let path = text("path");
        self.paths.extend(path.filter(|path| !path.is_empty()));
        let file = path.unwrap_or(file);
        let spans = value["spans"].as_array().or(value["submatches"].as_array());
        if let (Some(line), Some(text), Some(spans)) =
            (value["line_number"].as_u64(), text("text").or(text("lines")), spans)
        {
            self.matches.insert((file, line), (text, spans));
        }
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.gather(value, file)),
            Value::Object(fields) => fields.values().for_each(|value| self.gather(value, file)),
            _ => {}
        }
    }

    /// Paints a line that is not code. It may begin with a path and one of the separators.
    fn line(&mut self, line: &str, separators: &[char], link: impl Fn(&str, u64) -> Option<String>) {
        let follows = |rest: &str| rest.is_empty() || rest.starts_with(separators);
        // Search backwards: if one path is a prefix of another, the longer one sorts last and must win.
        let mut paths = self.paths.iter().rev();
        let path = paths.find(|path| line.strip_prefix(**path).is_some_and(follows)).copied();
        let rest = path.map_or(line, |path| &line[path.len()..]);
        let (mark, number, after) = numbered(rest, path.is_some()).unwrap_or((rest, "", ""));
        let first = number.split('-').next().and_then(|first| first.parse().ok());
        if let Some(path) = path {
            self.file = path;
            let address = link(path, first.unwrap_or(1));
            self.painted.extend(address.iter().map(|address| format!("\x1b]8;;{address}\x1b\\")));
            self.put(PATH, path);
            self.painted.extend(address.map(|_| "\x1b]8;;\x1b\\"));
        }
        let name = rest.rfind("── ").map_or(rest.len(), |at| at + "── ".len());
        if path.is_none() && rest[name..].trim_end_matches(" …").ends_with('/') {
            self.painted.push_str(&rest[..name]);
            return self.put(DIRECTORY, &rest[name..]);
        }
        self.painted.push_str(mark);
        self.put(LINE_NUMBER, number);
        match first.and_then(|first| self.matches.get(&(self.file, first)).copied()) {
            Some((text, spans)) => self.matched(after, text, spans),
            None => self.painted.push_str(after),
        }
    }

    /// Paints the matches in a line. The line shows `text`, possibly without its indentation.
    fn matched(&mut self, shown: &str, text: &str, spans: &[Value]) {
        let bare = text.trim_start();
        // Skip the separator that follows the line number.
        let start = shown.get(1..).and_then(|rest| rest.find(bare)).filter(|_| !bare.is_empty());
        let end = |span: &Value, index: usize, name: &str| {
            let end = span.get(index).or(span.get(name))?.as_u64()? as usize;
            (end + start? + 1).checked_sub(text.len() - bare.len())
        };
        let mut at = 0;
        for span in spans {
            let (Some(from), Some(to)) = (end(span, 0, "start"), end(span, 1, "end")) else { continue };
            let parts = shown.get(at..from).zip(shown.get(from..to));
            let Some((before, found)) = parts else { continue };
            self.painted.push_str(before);
            self.put(MATCH, found);
            at = to;
        }
        self.painted.push_str(&shown[at..]);
    }

    /// Paints an answer with commits: their ids, the names of files, and changed lines.
    fn history(mut self, text: &str) -> String {
        let notes = notes_start(text);
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let body = line.strip_suffix('\n').unwrap_or(line);
            let (style, part) = match body.as_bytes() {
                _ if at >= notes => (NOTE, 0..body.len()),
                [b' ', b' ', b' ', b' ', b'+', ..] => (ADDED, 0..body.len()),
                [b' ', b' ', b' ', b' ', b'-', ..] => (REMOVED, 0..body.len()),
                [b' ', b' ', letter, b' ', ..] if letter.is_ascii_uppercase() => (PATH, 4..body.len()),
                bytes => (COMMIT, 0..id_length(bytes)),
            };
            self.painted.push_str(&body[..part.start]);
            self.put(style, &body[part.clone()]);
            self.painted.push_str(&line[part.end..]);
            at += line.len();
        }
        self.painted
    }

    fn put(&mut self, style: &str, text: &str) {
        if !text.is_empty() {
            self.painted.extend([style, text, RESET]);
        }
    }
}

/// Returns the offset of the notes at the end of an answer. These are lines in brackets after an empty line.
fn notes_start(text: &str) -> usize {
    let Some(at) = text.rfind("\n\n[") else { return text.len() };
    let notes = &text[at + 2..];
    if notes.lines().all(|line| line.starts_with('[') && line.ends_with(']')) { at + 2 } else { text.len() }
}

/// Returns the length of the abbreviated id that a line begins with, or 0.
fn id_length(line: &[u8]) -> usize {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits > 6 && line.get(digits) == Some(&b' ') { digits } else { 0 }
}

/// Splits a line, or the part after its path, at a line number or a range. Returns the text before the
/// number, the number, and the text after it.
fn numbered(text: &str, has_path: bool) -> Option<(&str, &str, &str)> {
    let mark = if has_path { 1 } else { text.len() - text.trim_start().len() };
    let digits = text.get(mark..)?;
    // For example, the line number in `PATH-12-3 dogs` is 12.
    let takes_range = !text.starts_with([':', '-']);
    let belongs = |character: char| character.is_ascii_digit() || takes_range && character == '-';
    let number = digits[..digits.find(|c| !belongs(c)).unwrap_or(digits.len())].trim_end_matches('-');
    let after = &digits[number.len()..];
    let ends = match number.contains('-') {
        true => after.is_empty() || after.starts_with([' ', ':', '\t']),
        false => after.starts_with('\t') || mark > 0 && after.starts_with([':', '-']),
    };
    (number.starts_with(|first: char| first.is_ascii_digit()) && ends).then(|| (&text[..mark], number, after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn painter(links: &str) -> Painter {
        Painter::new(ColorChoice::Always, Some(&link_format(links).unwrap()))
    }

    /// Removes escape sequences.
    fn plain(painted: &str) -> String {
        let mut plain = String::new();
        let mut rest = painted;
        while let Some(at) = rest.find('\x1b') {
            plain.push_str(&rest[..at]);
            let command = &rest[at..];
            let end = match command.starts_with("\x1b[") {
                true => command.find('m').unwrap() + 1,
                false => command.find("\x1b\\").unwrap() + 2,
            };
            rest = &command[end..];
        }
        plain + rest
    }

    #[test]
    fn paths_numbers_matches_and_notes_have_their_colours() {
        let grep = json!({ "root": "/r", "files": [{ "path": "src/a.rs", "lines": [
            { "line_number": 3, "type": "match", "text": "let é = find();", "spans": [[4, 6], [9, 13]] },
        ] }] });
        let text = "Found 1 match in 1 file:\n\nsrc/a.rs:\n  2- fn x() {\n  3: …let é = find();\n\n[searched 9 files]\n";
        let painted = painter("none").answer(text, &grep);
        let expected = format!(
            "Found 1 match in 1 file:\n\n{PATH}src/a.rs{RESET}:\n  {LINE_NUMBER}2{RESET}- fn x() {{\n  {LINE_NUMBER}3{RESET}: …let \
             {MATCH}é{RESET} = {MATCH}find{RESET}();\n\n{NOTE}[searched 9 files]{RESET}\n"
        );
        assert_eq!(painted, expected);
        let search = json!({ "root": "/r", "matches": [{ "type": "match", "data": {
            "path": { "text": "a-1:b.rs" }, "line_number": 7, "lines": { "text": "xfindx" },
            "submatches": [{ "start": 1, "end": 5 }],
        } }] });
        let painted = painter("vscode").answer("\na-1:b.rs:7:xfindx\n", &search);
        let link = "\x1b]8;;vscode://file/r/a-1:b.rs:7:1\x1b\\";
        let expected = format!(
            "\n{link}{PATH}a-1:b.rs{RESET}\x1b]8;;\x1b\\:{LINE_NUMBER}7{RESET}:x{MATCH}find{RESET}x\n"
        );
        assert_eq!(painted, expected);
    }

    #[test]
    fn paint_accepts_ranges_and_unindented_lines() {
        let records = json!({ "files": [{ "path": "a.rs", "lines": [
            { "line_number": 9, "text": "    use find;", "spans": [[8, 12]] },
        ] }] });
        let painted = painter("none").answer("a.rs\n  1-19 type A\n    9: use find;\n", &records);
        let expected = format!(
            "{PATH}a.rs{RESET}\n  {LINE_NUMBER}1-19{RESET} type A\n    {LINE_NUMBER}9{RESET}: use {MATCH}find{RESET};\n"
        );
        assert_eq!(painted, expected);
    }

    #[test]
    fn history_has_the_colours_of_a_diff() {
        let text = "1 commit changed `x` (newest first):\n\na013db60b9 2026-01-05 -4: M x\n  R b.rs (was a.rs)\n    \
                    -4: x\n    +5: - y\n    … 2 more lines\n\n[more results: z]\n";
        let painted = painter("file").answer(text, &json!({ "commits": [] }));
        let expected = format!(
            "1 commit changed `x` (newest first):\n\n{COMMIT}a013db60b9{RESET} 2026-01-05 -4: M x\n  R {PATH}b.rs (was \
             a.rs){RESET}\n{REMOVED}    -4: x{RESET}\n{ADDED}    +5: - y{RESET}\n    … 2 more lines\n\n{NOTE}[more \
             results: z]{RESET}\n"
        );
        assert_eq!(painted, expected);
        assert_eq!(plain(&painted), text);
    }

    /// The contents of a file can look like any other part of an answer.
    #[test]
    fn code_is_left_as_it_is() {
        let records = json!({ "files": [{ "path": "a.rs" }] });
        let text = "1 of 2 files\n@@ a.rs 1-2\n  7: x\na.rs:\n[x]\n";
        let expected =
            format!("1 of 2 files\n@@ {PATH}a.rs{RESET} {LINE_NUMBER}1-2{RESET}\n  7: x\na.rs:\n[x]\n");
        assert_eq!(painter("none").answer(text, &records), expected);
    }

    #[test]
    fn only_paths_are_linked_and_long_lines_are_skipped() {
        let records = json!({ "root": "/r", "files": [{ "path": "a.rs" }, { "path": "\"n\\n.txt\"" }] });
        let painter = painter("file");
        assert_eq!(painter.answer("@@ further files\n@@ end\n", &records), "@@ further files\n@@ end\n");
        assert!(!painter.answer("\"n\\n.txt\":\n", &records).contains("file://"));
        let line = format!("a.rs:1:{}\n", "x:y-".repeat(1 << 18));
        assert_eq!(plain(&painter.answer(&line, &records)), line);
    }

    #[test]
    fn a_format_of_links_is_a_name_or_an_address() {
        let records = json!({ "root": "/r", "files": [{ "path": "a b.rs" }] });
        for (format, address) in [
            ("zed", "zed://file/r/a%20b.rs:7:1"),
            ("file", "file:///r/a%20b.rs"),
            ("idea://open?file={path}&line={line}", "idea://open?file=/r/a%20b.rs&line=7"),
        ] {
            let painted = painter(format).answer("a b.rs:7:x\n", &records);
            assert!(painted.contains(&format!("\x1b]8;;{address}\x1b\\")), "{painted:?}");
        }
        assert!(!painter("none").answer("a b.rs:7:x\n", &records).contains("\x1b]8"));
        for bad in ["vs", "x://y", "{path}"] {
            assert!(link_format(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn outlines_have_coloured_numbers() {
        let painted = painter("none").answer("13-14\tconst A\n15\tconst B\n10 of 15\n", &json!({}));
        let expected =
            format!("{LINE_NUMBER}13-14{RESET}\tconst A\n{LINE_NUMBER}15{RESET}\tconst B\n10 of 15\n");
        assert_eq!(painted, expected);
    }

    proptest! {
        #[test]
        fn without_its_colours_a_text_is_what_it_was(
            lines in proptest::collection::vec("[ a-c:é/0-9\\[\\]@\\-─]{0,12}", 0..8),
            spans in proptest::collection::vec((0_usize..9, 0_usize..9), 0..3),
        ) {
            let text = lines.join("\n");
            let records = json!({ "root": "/r", "files": lines.iter().enumerate().map(|(index, line)| json!({
                "path": line, "line_number": index, "text": line, "spans": spans,
            })).collect::<Vec<_>>() });
            for links in ["none", "file"] {
                prop_assert_eq!(plain(&painter(links).answer(&text, &records)), text.clone());
            }
        }
    }
}

//! Colours and links on a terminal.
//!
//! An answer is text, the same bytes for a file, a pipe and a terminal. What stands where in it, its records tell: paths, numbers
//! of lines, what matched. The colours are put around these and change nothing else.

use std::collections::{HashMap, HashSet};
use std::io::IsTerminal as _;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;

/// As ripgrep has them, unless told otherwise.
const PATH: &str = "\x1b[35m";
const LINE_NUMBER: &str = "\x1b[32m";
const MATCH: &str = "\x1b[1m\x1b[31m";
const NOTE: &str = "\x1b[2m";
const DIRECTORY: &str = "\x1b[1m\x1b[34m";
const RESET: &str = "\x1b[0m";

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    // On a terminal, unless NO_COLOR is set; anywhere with CLICOLOR_FORCE. Said for a person, it would make every help long.
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorChoice {
    fn is_on(self) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if anstyle_query::no_color() => false,
            Self::Auto if anstyle_query::clicolor_force() => true,
            Self::Auto => {
                std::io::stdout().is_terminal()
                    && anstyle_query::term_supports_color()
                    && anstyle_query::clicolor() != Some(false)
            }
        }
    }
}

/// What a path on a terminal leads to when it is clicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HyperlinkFormat(String);

/// Names of formats, those of ripgrep.
const FORMATS: [(&str, &str); 8] = [
    ("none", ""),
    ("default", "file://{path}"),
    ("file", "file://{path}"),
    ("vscode", "vscode://file{path}:{line}:1"),
    ("vscode-insiders", "vscode-insiders://file{path}:{line}:1"),
    ("cursor", "cursor://file{path}:{line}:1"),
    ("zed", "zed://file{path}:{line}:1"),
    ("textmate", "txmt://open?url=file://{path}&line={line}"),
];

impl std::str::FromStr for HyperlinkFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((_, format)) = FORMATS.iter().find(|(name, _)| *name == text) {
            return Ok(Self((*format).to_owned()));
        }
        if text.contains("{path}") && text.contains("://") && !text.chars().any(char::is_control) {
            return Ok(Self(text.to_owned()));
        }
        let names: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
        Err(format!(
            "it is none of {}, and no address with {{path}} and perhaps {{line}} in it",
            names.join(", ")
        ))
    }
}

/// How answers look.
#[derive(Debug, Default)]
pub(crate) struct Painter {
    has_colors: bool,
    links: Option<String>,
}

impl Painter {
    /// As it was asked for. Links need a terminal that takes colours.
    pub(crate) fn new(colors: ColorChoice, links: Option<&HyperlinkFormat>) -> Self {
        let has_colors = colors.is_on();
        let links = links.filter(|format| has_colors && !format.0.is_empty());
        Self { has_colors, links: links.map(|format| format.0.clone()) }
    }

    /// Whether a text would be changed.
    pub(crate) fn paints(&self) -> bool {
        self.has_colors
    }

    /// The form of links, for ripgrep's printers.
    pub(crate) fn links(&self) -> Option<grep_printer::HyperlinkConfig> {
        let format: grep_printer::HyperlinkFormat = self.links.as_ref()?.parse().ok()?;
        Some(format.into_config(grep_printer::HyperlinkEnvironment::new()))
    }

    /// An answer with its colours.
    pub(crate) fn answer(&self, text: &str, records: &Value) -> String {
        if !self.has_colors {
            return text.to_owned();
        }
        let mut known = KnownPlaces::default();
        known.gather(records, None);
        let root = records["root"].as_str().unwrap_or_default();
        let page = Page { painter: self, known, root };
        page.painted(text)
    }
}

/// What the records of an answer tell of its text.
#[derive(Default)]
struct KnownPlaces<'a> {
    paths: HashSet<&'a str>,
    /// Bytes of the longest of them.
    longest: usize,
    /// The text of a line with what matched in it, by its path and number.
    matches: HashMap<(&'a str, u64), MatchedLine<'a>>,
}

struct MatchedLine<'a> {
    text: &'a str,
    spans: Vec<Range<usize>>,
}

impl<'a> KnownPlaces<'a> {
    /// Everything below a value that stands in a file's record.
    fn gather(&mut self, value: &'a Value, file: Option<&'a str>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.gather(value, file)),
            Value::Object(fields) => {
                let path = fields.get("path").and_then(text_of);
                self.paths.extend(path);
                self.longest = self.longest.max(path.map_or(0, str::len));
                let file = path.or(file);
                let text = fields.get("text").or(fields.get("lines")).and_then(text_of);
                let number = fields.get("line_number").and_then(Value::as_u64);
                let spans = fields.get("spans").or(fields.get("submatches")).and_then(Value::as_array);
                if let (Some(file), Some(text), Some(number), Some(spans)) = (file, text, number, spans) {
                    let spans = spans.iter().filter_map(span).collect();
                    self.matches.insert((file, number), MatchedLine { text, spans });
                }
                fields.values().for_each(|value| self.gather(value, file));
            }
            _ => {}
        }
    }
}

/// A text, or one that stands beside its bytes.
fn text_of(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value["text"].as_str())
}

fn span(value: &Value) -> Option<Range<usize>> {
    let (start, end) = match value {
        Value::Array(ends) => (ends.first()?, ends.get(1)?),
        other => (&other["start"], &other["end"]),
    };
    Some(start.as_u64()? as usize..end.as_u64()? as usize)
}

struct Page<'a> {
    painter: &'a Painter,
    known: KnownPlaces<'a>,
    root: &'a str,
}

impl Page<'_> {
    fn painted(&self, text: &str) -> String {
        let mut painted = String::with_capacity(text.len() * 2);
        let notes = notes_start(text);
        let (mut file, mut is_code) = (None, false);
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            if at >= notes {
                put(&mut painted, NOTE, line);
            } else if let Some(place) = line.strip_prefix("@@ ") {
                is_code = true;
                painted.push_str("@@ ");
                self.place(&mut painted, place);
            } else if is_code {
                painted.push_str(line);
            } else {
                self.line(&mut painted, line, &mut file);
            }
            painted.push_str(end);
            at += line.len() + end.len();
        }
        painted
    }

    /// A line outside of code. A path that stands alone is that of the lines below it.
    fn line<'t>(&self, painted: &mut String, line: &'t str, file: &mut Option<&'t str>) {
        let alone = line.strip_suffix(':').unwrap_or(line);
        if self.known.paths.contains(alone) {
            *file = Some(alone);
            self.path(painted, alone, None);
            return painted.push_str(&line[alone.len()..]);
        }
        if let Some((path, rest)) = self.leading_path(line) {
            match numbered(&rest[1..]).filter(|_| !rest.starts_with(": ")) {
                Some((number, behind)) => {
                    self.path(painted, path, Some(number));
                    painted.push_str(&rest[..1]);
                    put(painted, LINE_NUMBER, &rest[1..rest.len() - behind.len()]);
                    self.matched(painted, behind, path, number);
                }
                None => {
                    self.path(painted, path, None);
                    painted.push_str(rest);
                }
            }
            return;
        }
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        match numbered(text) {
            // `1-19 function main`.
            Some((_, behind)) if is_range(behind) => {
                let end = text.find([' ', ':']).unwrap_or(text.len());
                painted.push_str(indent);
                put(painted, LINE_NUMBER, &text[..end]);
                painted.push_str(&text[end..]);
            }
            Some((number, behind)) if !indent.is_empty() => {
                painted.push_str(indent);
                put(painted, LINE_NUMBER, &text[..text.len() - behind.len()]);
                self.matched(painted, behind, file.unwrap_or_default(), number);
            }
            _ => match line.rfind("── ").map(|at| line.split_at(at + "── ".len())) {
                Some((branch, name)) if name.trim_end_matches(" …").ends_with('/') => {
                    painted.push_str(branch);
                    put(painted, DIRECTORY, name);
                }
                _ => painted.push_str(line),
            },
        }
    }

    /// The longest path that a line begins with, and what follows it.
    fn leading_path<'t>(&self, line: &'t str) -> Option<(&'t str, &'t str)> {
        // A line may be as long as a file.
        let ends = line.bytes().take(self.known.longest + 1).enumerate();
        let ends = ends.filter(|(_, byte)| matches!(byte, b':' | b'-')).map(|(at, _)| at);
        let mut known = ends.filter(|&end| self.known.paths.contains(&line[..end]));
        known.next_back().map(|end| line.split_at(end))
    }

    /// `PATH FIRST-LAST`, or something else behind such a mark.
    fn place(&self, painted: &mut String, place: &str) {
        let parts = place.rsplit_once(' ').filter(|(path, _)| self.known.paths.contains(path));
        match parts.and_then(|(path, lines)| Some((path, lines, numbered(lines)?.0))) {
            Some((path, lines, first)) => {
                self.path(painted, path, Some(first));
                painted.push(' ');
                put(painted, LINE_NUMBER, lines);
            }
            None => painted.push_str(place),
        }
    }

    fn path(&self, painted: &mut String, path: &str, line: Option<u64>) {
        // A name of odd bytes stands in quotes, and is none that an address could have.
        let Some(format) = self.painter.links.as_ref().filter(|_| !path.starts_with('"')) else {
            return put(painted, PATH, path);
        };
        let mut absolute = Path::new(self.root).join(path).display().to_string();
        if cfg!(windows) {
            absolute = format!("/{}", absolute.replace('\\', "/"));
        }
        let address =
            format.replace("{path}", &encoded(&absolute)).replace("{line}", &line.unwrap_or(1).to_string());
        painted.push_str(&format!("\x1b]8;;{address}\x1b\\"));
        put(painted, PATH, path);
        painted.push_str("\x1b]8;;\x1b\\");
    }

    /// The text of a line, with what matched.
    fn matched(&self, painted: &mut String, shown: &str, path: &str, number: u64) {
        let Some(MatchedLine { text, spans }) = self.known.matches.get(&(path, number)) else {
            return painted.push_str(shown);
        };
        // It may stand between marks of what is cut, and without what it is indented by.
        let bare = text.trim_start();
        let whole = shown.find(text).map(|start| (start, 0));
        let place = whole.or_else(|| Some((shown.find(bare)?, text.len() - bare.len())));
        let Some((start, indent)) = place.filter(|_| !bare.is_empty()) else {
            return painted.push_str(shown);
        };
        let mut at = 0;
        for span in spans {
            let span = start + span.start.saturating_sub(indent)..start + span.end.saturating_sub(indent);
            let is_there = span.start >= at && span.end <= shown.len() && !span.is_empty();
            if is_there && shown.is_char_boundary(span.start) && shown.is_char_boundary(span.end) {
                painted.push_str(&shown[at..span.start]);
                put(painted, MATCH, &shown[span.clone()]);
                at = span.end;
            }
        }
        painted.push_str(&shown[at..]);
    }
}

/// Where the notes at the end of an answer begin: lines in brackets behind an empty one.
fn notes_start(text: &str) -> usize {
    let Some(at) = text.rfind("\n\n[") else { return text.len() };
    let notes = &text[at + 2..];
    if notes.lines().all(|line| line.starts_with('[') && line.ends_with(']')) { at + 2 } else { text.len() }
}

/// The number that a text begins with, and what follows it.
fn numbered(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let behind = &text[digits..];
    let number = text[..digits].parse().ok()?;
    behind.starts_with([':', '-', '\t']).then_some((number, behind))
}

/// Whether what follows a number makes a range of it.
fn is_range(behind: &str) -> bool {
    behind.strip_prefix('-').is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()))
}

fn put(painted: &mut String, style: &str, text: &str) {
    if !text.is_empty() {
        painted.extend([style, text, RESET]);
    }
}

/// A path as it stands in an address.
fn encoded(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~:".contains(&byte);
    let byte = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn painter(links: &str) -> Painter {
        let links: HyperlinkFormat = links.parse().unwrap();
        Painter::new(ColorChoice::Always, Some(&links))
    }

    /// The text without what terminals take as commands.
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
    fn a_range_is_one_number_and_a_line_may_stand_without_its_indent() {
        let records = json!({ "files": [{ "path": "a.rs", "lines": [
            { "line_number": 9, "text": "    use find;", "spans": [[8, 12]] },
        ] }] });
        let painted = painter("none").answer("a.rs\n  1-19 type A\n    9: use find;\n", &records);
        let expected = format!(
            "{PATH}a.rs{RESET}\n  {LINE_NUMBER}1-19{RESET} type A\n    {LINE_NUMBER}9{RESET}: use {MATCH}find{RESET};\n"
        );
        assert_eq!(painted, expected);
    }

    /// What a file has may look like anything.
    #[test]
    fn code_is_left_as_it_is() {
        let records = json!({ "files": [{ "path": "a.rs" }] });
        let text = "1 of 2 files\n@@ a.rs 1-2\n  7: x\na.rs:\n[x]\n";
        let expected =
            format!("1 of 2 files\n@@ {PATH}a.rs{RESET} {LINE_NUMBER}1-2{RESET}\n  7: x\na.rs:\n[x]\n");
        assert_eq!(painter("none").answer(text, &records), expected);
    }

    #[test]
    fn what_is_no_place_is_no_link_and_a_line_of_a_megabyte_is_no_work() {
        let records = json!({ "root": "/r", "files": [{ "path": "a.rs" }, { "path": "\"n\\n.txt\"" }] });
        let painter = painter("file");
        assert_eq!(painter.answer("@@ further files\n@@ end\n", &records), "@@ further files\n@@ end\n");
        assert!(!painter.answer("\"n\\n.txt\":\n", &records).contains("file://"));
        let line = format!("a.rs:1:{}\n", "x:y-".repeat(1 << 18));
        assert_eq!(plain(&painter.answer(&line, &records)), line);
    }

    #[test]
    fn a_format_of_links_is_a_name_or_an_address() {
        for good in ["none", "zed", "idea://open?file={path}&line={line}"] {
            assert!(good.parse::<HyperlinkFormat>().is_ok(), "{good}");
        }
        for bad in ["", "vs", "x://y", "{path}", "a://{path}\x1b"] {
            assert!(bad.parse::<HyperlinkFormat>().is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn without_its_colours_a_text_is_what_it_was(
            lines in proptest::collection::vec("[ a-c:é/0-9\\[\\]@\\-─]{0,12}", 0..8),
            spans in proptest::collection::vec((0_usize..9, 0_usize..9), 0..3),
        ) {
            let text = lines.join("\n");
            let records = json!({ "root": "/r", "files": lines.iter().enumerate().map(|(nth, line)| json!({
                "path": line, "line_number": nth, "text": line, "spans": spans,
            })).collect::<Vec<_>>() });
            for links in ["none", "file"] {
                prop_assert_eq!(plain(&painter(links).answer(&text, &records)), text.clone());
            }
        }
    }
}

//! Text rendering of uses.

use std::fmt::Write as _;

use super::super::{GrepDefinition, GrepFile, GrepLine, GrepResponse};
use super::{GrepWithin, part};
use crate::limits;
use crate::lines::{ContextDetail, shown_line};
use crate::text::{clip, count, grouped, quoted};

/// Returns the headline of an answer that shows `shown` lines, and which lines the qualifier excludes.
pub(in super::super) fn headline(response: &GrepResponse, shown: u64) -> String {
    let name = quoted(&response.name);
    let at_least = if response.totals_exact { "" } else { "at least " };
    let (lines, files) = (count(response.match_count, "line"), count(response.file_count, "file"));
    let further = if response.continued { " more" } else { "" };
    let showing = match shown + response.left_out_count < response.match_count {
        // The number of the lines on other pages is known, but not their kinds.
        true => format!(" (showing {}{further}; counts by kind are of these)", grouped(shown)),
        false if response.left_out_count > 0 => format!(" (showing {})", grouped(shown)),
        false => String::new(),
    };
    let mut text = format!(
        "{name} stands as a whole word in {at_least}{lines} of {files}{showing}. Told by syntax: names are compared, not resolved.\n"
    );
    if let Some(qualifier) = &response.qualifier {
        let _ = write!(text, "Narrowed to {}: ", quoted(qualifier));
        let named =
            response.left_out.iter().map(|it| format!("{} {}", quoted(&it.name), grouped(it.line_count)));
        let named: Vec<String> = named.collect();
        let others = response.left_out_count - response.left_out.iter().map(|it| it.line_count).sum::<u64>();
        let others = if others > 0 { format!(", others {}", grouped(others)) } else { String::new() };
        let _ = match response.left_out_count {
            0 => writeln!(text, "nothing left out."),
            left_out => writeln!(
                text,
                "{} of other types or modules left out ({}{others}).",
                count(left_out, "line"),
                named.join(", ")
            ),
        };
    }
    text
}

/// The lists before the uses.
pub(in super::super) struct ListedFirst<'r> {
    pub(in super::super) text: String,
    definitions: &'r [GrepDefinition],
    implementations: &'r [GrepDefinition],
}

impl<'r> ListedFirst<'r> {
    /// Lists the definitions and the types that implement or extend the name, each in at most `room` bytes
    /// except for the first entry. A continued page has no lists.
    pub(in super::super) fn new(response: &'r GrepResponse, room: usize) -> Self {
        if response.continued {
            return Self { text: String::new(), definitions: &[], implementations: &[] };
        }
        let (mut text, definitions) =
            list(&response.definitions, response.definition_count, room, |found| count(found, "definition"));
        let is_definition = |line: &GrepLine| line.mention == Some("definition");
        if definitions.is_empty() && !response.files.iter().flat_map(|file| &file.lines).any(is_definition) {
            text.push_str("\nNo definition of it is seen in what was searched.\n");
        }
        let heading = |found: u64| match found {
            1 => "1 implementation or subclass".to_owned(),
            found => format!("{} implementations and subclasses", grouped(found)),
        };
        let (more, implementations) =
            list(&response.implementations, response.implementation_count, room, heading);
        Self { text: text + &more, definitions, implementations }
    }

    pub(in super::super) fn iter(&self) -> impl Iterator<Item = &'r GrepDefinition> {
        self.definitions.iter().chain(self.implementations)
    }

    /// Returns true if a line is in the lists.
    pub(in super::super) fn has(&self, path: &str, line: &GrepLine) -> bool {
        let listed = match line.mention {
            Some("definition") => self.definitions,
            Some("implementation") => self.implementations,
            _ => return false,
        };
        listed.iter().any(|it| u64::from(it.line) == line.line_number && it.path == path)
    }
}

/// Returns a list with its heading, limited to `room` bytes, and the entries in it.
fn list(
    all: &[GrepDefinition],
    found: u64,
    room: usize,
    heading: impl Fn(u64) -> String,
) -> (String, &[GrepDefinition]) {
    let (mut list, mut shown, mut path) = (String::new(), 0, "");
    for definition in all {
        let mut entry = String::new();
        if definition.path != path {
            path = &definition.path;
            let _ = writeln!(entry, "{path}:");
        }
        let GrepDefinition { start_line, line, end_line, .. } = *definition;
        let lines = match start_line == end_line {
            true => end_line.to_string(),
            false => format!("{start_line}-{end_line}"),
        };
        let symbol = definition.symbol.iter().filter(|symbol| {
            let name = symbol.rsplit(" > ").next().unwrap_or(symbol);
            !definition.text.contains(name)
        });
        let symbol: String =
            symbol.map(|symbol| format!(" {} at {line}", clip(symbol, limits::QUOTED_BYTES))).collect();
        let _ = writeln!(entry, "  {lines}{symbol}: {}", definition.text);
        if shown > 0 && list.len() + entry.len() > room {
            break;
        }
        list.push_str(&entry);
        shown += 1;
    }
    if shown == 0 {
        return (String::new(), &[]);
    }
    let is_cut = (shown as u64) < found;
    let first = if is_cut { format!(" (the first {})", grouped(shown as u64)) } else { String::new() };
    (format!("\n{}{first}:\n{list}", heading(found)), &all[..shown])
}

/// Headings of the kinds of uses, in display order.
const KINDS: [(&[&str], &str); 7] = [
    (&["definition"], "definitions"),
    (&["implementation"], "implementations and subclasses"),
    (&["call"], "calls"),
    (&["type"], "types"),
    (&["import"], "imports"),
    (&["code"], "other code"),
    (&["string", "comment"], "comments and strings"),
];

/// Writes the first `shown` matches by kind, file and enclosing definition. Those in tests come last, and
/// those in the lists are omitted.
pub(in super::super) fn used(
    response: &GrepResponse,
    shown: u64,
    listed: &ListedFirst<'_>,
    detail: ContextDetail,
    text: &mut String,
) {
    let mut lines: Vec<(&GrepFile, &GrepLine)> = Vec::new();
    let mut matches = 0;
    for (file, line) in response.files.iter().flat_map(|file| file.lines.iter().map(move |line| (file, line)))
    {
        matches += u64::from(line.kind == "match");
        if matches > shown {
            break;
        }
        let is_wanted = detail == ContextDetail::Context || line.kind == "match";
        if is_wanted && !listed.has(&file.path, line) {
            lines.push((file, line));
        }
    }
    for (is_unknown, is_of_tests) in [(false, false), (false, true), (true, false), (true, true)] {
        for (kinds, heading) in KINDS {
            // Context lines belong to the match before them, or else to the one after.
            let group = group(&lines, |file, line| {
                kinds.contains(&line.mention.unwrap_or("code"))
                    && line.receiver.is_some() == is_unknown
                    && (part(&file.place) == 2) == is_of_tests
            });
            let matches = group.iter().filter(|(_, line)| line.kind == "match").count();
            if matches > 0 {
                let unknown = if is_unknown { ", receiver unknown" } else { "" };
                let tests = if is_of_tests { ", in tests" } else { "" };
                let _ = writeln!(text, "\n{heading}{unknown}{tests} ({}):", grouped(matches as u64));
                write_group(&group, text);
            }
        }
    }
}

/// Returns the lines whose match is of a kind, with their context.
fn group<'r>(
    lines: &[(&'r GrepFile, &'r GrepLine)],
    is_wanted: impl Fn(&GrepFile, &GrepLine) -> bool,
) -> Vec<(&'r GrepFile, &'r GrepLine)> {
    let mut group = Vec::new();
    for run in lines
        .chunk_by(|(before, a), (file, b)| std::ptr::eq(*before, *file) && a.line_number + 1 == b.line_number)
    {
        let first = run.iter().find(|(_, line)| line.kind == "match").or(run.first());
        let Some(&(_, mut last)) = first else { continue };
        for (file, line) in run {
            last = if line.kind == "match" { line } else { last };
            if is_wanted(file, last) {
                group.push((*file, *line));
            }
        }
    }
    group
}

fn write_group(group: &[(&GrepFile, &GrepLine)], text: &mut String) {
    let mut last: Option<(&str, &Option<GrepWithin>)> = None;
    for (file, line) in group {
        if last.is_none_or(|(path, _)| path != file.path) {
            let _ = writeln!(text, "{}:", file.path);
        }
        if last != Some((&file.path, &line.within)) {
            last = Some((&file.path, &line.within));
            match &line.within {
                Some(GrepWithin { symbol, start_line, end_line }) => {
                    let symbol = clip(symbol, limits::QUOTED_BYTES);
                    let _ = writeln!(text, " in {symbol} ({start_line}-{end_line})");
                }
                None => text.push_str(" outside definitions\n"),
            }
        }
        let mark = if line.kind == "match" { ':' } else { '-' };
        let shown = shown_line(&line.text, line.cut_before, line.cut_after);
        let _ = writeln!(text, "  {}{mark} {}", line.line_number, shown.trim_start());
    }
}

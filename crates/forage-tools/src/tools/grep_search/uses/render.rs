//! Text rendering of uses.

use std::fmt::Write as _;

use super::super::{GrepDefinition, GrepFile, GrepLine, GrepResponse};
use super::{GrepWithin, part};
use crate::limits;
use crate::lines::{ContextDetail, shown_line};
use crate::shown::ShownFiles;
use crate::text::{clip, count, grouped, quoted};

/// Formats the headline of an answer that shows `shown` lines, and says which lines the qualifier excludes.
pub(in super::super) fn headline(response: &GrepResponse, shown: u64) -> String {
    let name = quoted(&response.name);
    let at_least = if response.totals_exact { "" } else { "at least " };
    let (lines, files) = (count(response.match_count, "line"), count(response.file_count, "file"));
    let further = if response.continued { " more" } else { "" };
    let showing = match shown + response.left_out_count < response.match_count {
        // We know the number of lines on other pages, but not their kinds.
        true => format!(" (showing {}{further}; counts by kind cover only these)", grouped(shown)),
        false if response.left_out_count > 0 => format!(" (showing {})", grouped(shown)),
        false => String::new(),
    };
    let mut text = format!(
        "{name} occurs as a whole word in {at_least}{lines} of {files}{showing}. Names are compared, not resolved.\n"
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

/// The lists that come before the uses.
pub(in super::super) struct ListedFirst<'r> {
    pub(in super::super) text: String,
    definitions: &'r [GrepDefinition],
    implementations: &'r [GrepDefinition],
}

impl<'r> ListedFirst<'r> {
    /// Lists the definitions, and the types that implement or extend the name. Each list has at most `room`
    /// bytes, but always its first entry. A continued page has no lists.
    pub(in super::super) fn new(response: &'r GrepResponse, room: usize) -> Self {
        if response.continued {
            return Self { text: String::new(), definitions: &[], implementations: &[] };
        }
        let (mut text, definitions) =
            list(&response.definitions, response.definition_count, room, |found| count(found, "definition"));
        let is_definition = |line: &GrepLine| line.mention == Some("definition");
        if definitions.is_empty() && !response.files.iter().flat_map(|file| &file.lines).any(is_definition) {
            text.push_str("\nNo definition of it was found in the searched files.\n");
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

/// Formats a list below its heading. The entries take at most `room` bytes, but the first one is always
/// included. Also returns the included entries.
fn list(
    all: &[GrepDefinition],
    found: u64,
    room: usize,
    heading: impl Fn(u64) -> String,
) -> (String, &[GrepDefinition]) {
    let (mut list, mut shown, mut path) = (String::new(), 0, "");
    // The entry of a type includes the definitions inside it, e.g. its constructors.
    let is_inner = |outer: &GrepDefinition, inner: &GrepDefinition| {
        outer.path == inner.path && outer.line < inner.start_line && inner.end_line <= outer.end_line
    };
    let mut rest = all;
    while let [definition, after @ ..] = rest {
        let inner = after.iter().take_while(|inner| is_inner(definition, inner)).count();
        let mut entry = String::new();
        if definition.path != path {
            path = &definition.path;
            let _ = writeln!(entry, "{path}:");
        }
        let lines = range(definition);
        let is_new = |name: &&String| {
            let name = name.rsplit(" > ").next().unwrap_or(name);
            !definition.text.contains(name)
        };
        let symbol = definition.symbol.iter().filter(is_new);
        let symbol: String = symbol
            .map(|symbol| format!(" {} at {}", clip(symbol, limits::QUOTED_BYTES), definition.line))
            .collect();
        let within = definition.within.iter().filter(is_new);
        let within: String =
            within.map(|names| format!(" in {}", clip(names, limits::QUOTED_BYTES))).collect();
        let inner_lines: Vec<String> = after[..inner].iter().map(range).collect();
        let also = if inner > 0 { format!(", including {}", inner_lines.join(", ")) } else { String::new() };
        let _ = writeln!(entry, "  {lines}{symbol}{within}{also}: {}", definition.text);
        if shown > 0 && list.len() + entry.len() > room {
            break;
        }
        list.push_str(&entry);
        shown += 1 + inner;
        rest = &after[inner..];
    }
    if shown == 0 {
        return (String::new(), &[]);
    }
    let is_cut = (shown as u64) < found;
    let first = if is_cut { format!(" (the first {})", grouped(shown as u64)) } else { String::new() };
    (format!("\n{}{first}:\n{list}", heading(found)), &all[..shown])
}

/// Formats the line range of a definition.
fn range(definition: &GrepDefinition) -> String {
    let GrepDefinition { start_line, end_line, .. } = definition;
    if start_line == end_line { end_line.to_string() } else { format!("{start_line}-{end_line}") }
}

/// Headings of the kinds of uses, in display order.
const KINDS: [(&[&str], &str); 7] = [
    (&["definition"], "definitions"),
    (&["implementation"], "implementations and subclasses"),
    (&["call"], "calls"),
    (&["type"], "types"),
    (&["import"], "imports"),
    (&["code"], "other code"),
    (COMMENTS, "comments and strings"),
];

/// Kinds of uses that we fold. See [`KINDS`].
const COMMENTS: &[&str] = &["string", "comment"];

/// Uses of one kind.
pub(in super::super) struct UseGroup<'r> {
    heading: String,
    lines: Vec<(&'r GrepFile, &'r GrepLine)>,
    /// True if we display only the line numbers.
    is_folded: bool,
}

impl<'r> UseGroup<'r> {
    /// Groups the first `shown` matches by kind. Those in tests come last, and those in the lists are
    /// omitted. We fold comments, strings and tests, unless nothing else is displayed or there are context
    /// lines.
    pub(in super::super) fn all(
        response: &'r GrepResponse,
        shown: u64,
        listed: &ListedFirst<'r>,
        detail: ContextDetail,
    ) -> Vec<Self> {
        let lines = shown_lines(response, shown, listed, detail);
        let has_context = lines.iter().any(|(_, line)| line.kind != "match");
        let mut groups = Vec::new();
        for (is_unknown, is_of_tests) in [(false, false), (true, false), (false, true), (true, true)] {
            for (kinds, heading) in KINDS {
                // A context line belongs to the match before it, or else to the one after it.
                let lines = group(&lines, |file, line| {
                    kinds.contains(&line.mention.unwrap_or("code"))
                        && line.receiver.is_some() == is_unknown
                        && (part(&file.place) == 2) == is_of_tests
                });
                let matches = lines.iter().filter(|(_, line)| line.kind == "match").count();
                if matches > 0 {
                    let unknown = if is_unknown { ", receiver unknown" } else { "" };
                    let tests = if is_of_tests { ", in tests" } else { "" };
                    let heading = format!("{heading}{unknown}{tests} ({})", grouped(matches as u64));
                    groups.push(Self { heading, lines, is_folded: is_of_tests || kinds == COMMENTS });
                }
            }
        }
        if has_context || groups.iter().all(|group| group.is_folded) {
            groups.iter_mut().for_each(|group| group.is_folded = false);
        }
        groups
    }

    /// Records the lines that this group displays.
    pub(in super::super) fn record(&self, shown: &mut ShownFiles) {
        for (file, line) in &self.lines {
            match self.is_folded {
                true => shown.named(&file.path, 1),
                false => shown.line(&file.path, line.line_number, line.kind == "match"),
            }
        }
    }

    pub(in super::super) fn write(&self, text: &mut String) {
        let by_line = if self.is_folded { ", by line" } else { "" };
        let _ = writeln!(text, "\n{}{by_line}:", self.heading);
        if !self.is_folded {
            return write_group(&self.lines, text);
        }
        for of_file in self.lines.chunk_by(|(before, _), (file, _)| std::ptr::eq(*before, *file)) {
            let numbers: Vec<String> = of_file.iter().map(|(_, line)| line.line_number.to_string()).collect();
            let _ = writeln!(text, "{}: {}", of_file[0].0.path, numbers.join(", "));
        }
    }
}

/// Collects the lines of the first `shown` matches that are not in the lists.
fn shown_lines<'r>(
    response: &'r GrepResponse,
    shown: u64,
    listed: &ListedFirst<'r>,
    detail: ContextDetail,
) -> Vec<(&'r GrepFile, &'r GrepLine)> {
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
    lines
}

/// Selects the lines whose match is wanted, with their context.
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

//! The text of an answer of uses.

use std::fmt::Write as _;

use super::super::{GrepDefinition, GrepFile, GrepLine, GrepResponse};
use super::qualifier::QualifiedName;
use super::{GrepWithin, part};
use crate::limits;
use crate::lines::{ContextDetail, shown_line};
use crate::text::{clip, count, grouped, quoted};

/// The headline of an answer with so many lines, and which lines the qualifier leaves out.
pub(in super::super) fn headline(response: &GrepResponse, shown: u64) -> String {
    let name = quoted(QualifiedName::new(&response.pattern).map_or(&response.pattern, |found| found.name));
    let at_least = if response.totals_exact { "" } else { "at least " };
    let (lines, files) = (count(response.match_count, "line"), count(response.file_count, "file"));
    let further = if response.continued { " more" } else { "" };
    let showing = match shown + response.left_out_count < response.match_count {
        // Which lines a page does not have is known, and their kinds are not.
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

/// The definitions, in so many bytes at the most but for the first, and those that stand there. What goes on has none.
pub(in super::super) fn defined(response: &GrepResponse, room: usize) -> (String, &[GrepDefinition]) {
    if response.continued {
        return (String::new(), &[]);
    }
    if response.definitions.is_empty() {
        let is_definition = |line: &GrepLine| line.mention == Some("definition");
        let is_seen = response.files.iter().flat_map(|file| &file.lines).any(is_definition);
        return (if is_seen { "" } else { "\nNo definition of it is seen.\n" }.to_owned(), &[]);
    }
    let (mut list, mut shown, mut path) = (String::new(), 0, "");
    for definition in &response.definitions {
        let mut entry = String::new();
        if definition.path != path {
            path = &definition.path;
            let _ = writeln!(entry, "{}:", clip(path, limits::QUOTED_BYTES));
        }
        let GrepDefinition { start_line, end_line, .. } = *definition;
        let lines = match start_line == end_line {
            true => end_line.to_string(),
            false => format!("{start_line}-{end_line}"),
        };
        let _ = writeln!(entry, "  {lines}: {}", definition.text);
        if shown > 0 && list.len() + entry.len() > room {
            break;
        }
        list.push_str(&entry);
        shown += 1;
    }
    let is_cut = (shown as u64) < response.definition_count;
    let first = if is_cut { format!(" (the first {})", grouped(shown as u64)) } else { String::new() };
    let text = format!("\n{}{first}:\n{list}", count(response.definition_count, "definition"));
    (text, &response.definitions[..shown])
}

/// Whether a line stands among the definitions that are listed.
pub(in super::super) fn is_listed(listed: &[GrepDefinition], path: &str, line: &GrepLine) -> bool {
    let is_it = |it: &GrepDefinition| u64::from(it.line) == line.line_number && it.path == path;
    line.mention == Some("definition") && listed.iter().any(is_it)
}

/// Headings of the kinds of uses, in the order in which they are shown.
const KINDS: [(&[&str], &str); 7] = [
    (&["definition"], "definitions"),
    (&["implementation"], "implementations and subclasses"),
    (&["call"], "calls"),
    (&["type"], "types"),
    (&["import"], "imports"),
    (&["code"], "other code"),
    (&["string", "comment"], "comments and strings"),
];

/// Writes the first `shown` matches, by kind, file and enclosing definition; those of tests last, and without those that
/// are listed as definitions.
pub(in super::super) fn used(
    response: &GrepResponse,
    shown: u64,
    listed: &[GrepDefinition],
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
        if is_wanted && !is_listed(listed, &file.path, line) {
            lines.push((file, line));
        }
    }
    for (is_unknown, is_of_tests) in [(false, false), (false, true), (true, false), (true, true)] {
        for (kinds, heading) in KINDS {
            // Lines of context go with the match before them, or else with the one after.
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

/// The lines whose match is of a kind, with their context.
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

//! Text rendering of `search_index`.

use forage_fs::{Root, is_like_a_note};
use std::borrow::Cow;
use std::fmt::Write as _;

use super::{
    CutDefinition, EarlierLines, RankResponse, RankedCode, RankedFile, RankedReason, UnshownDefinition,
    similar,
};
use crate::head::Counts;
use crate::limits;
use crate::lines::fit_steps;
use crate::names::ToolNames;
use crate::notes::{notes, with_notes};
use crate::outcome::{Render, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::shown::{Rendered, ShownFiles};
use crate::text::{count, grouped, quoted, quoted_name, quoted_query};
use crate::verdict::EXCLUDED;

/// Levels of detail of each file, from most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IndexDetail {
    Lines,
    Ranges,
    Paths,
}

/// A query with more words than this counts as a bug report.
const REPORT_WORDS: usize = 40;

/// Minimum percentage of answers with a similar lead whose first file was right, for high or medium
/// confidence.
const HIGH_CONFIDENCE: u32 = 90;
const MEDIUM_CONFIDENCE: u32 = 50;

impl Render for RankResponse {
    fn redact(&mut self, redactor: &mut OutputRedactor<'_>) {
        // Paths, symbols and lines have already been redacted.
        self.not_searched.redact(redactor);
    }

    fn name_whole_paths(&mut self, _: &Root) {
        // Each path is already in the form that its root requires.
    }

    fn counts(&self) -> Counts<'_> {
        Counts {
            searched: Some(self.files_searched),
            verdict: Some(&self.not_searched),
            roots: &self.roots,
            depends_on_session: self.files.iter().any(|file| !file.shown_earlier.is_empty()),
            ..Counts::plain(self.matching_files, "files", self.matching_files)
        }
    }

    fn render(outcome: &ToolOutcome<Self>, budget: usize) -> Rendered {
        let response = &outcome.response;
        if response.like.is_some() {
            return similar::render(outcome, budget);
        }
        let notes = notes(outcome, None);
        if response.files.is_empty() {
            return Rendered::without_files(with_notes(no_results(response, &outcome.names), &notes), false);
        }
        if let Some(code) = &response.code {
            let steps = [(IndexDetail::Paths, "only paths are shown; ask for fewer files".to_owned())];
            let fitted =
                fit_steps(IndexDetail::Lines, steps, |detail| with_code(response, detail), notes, budget);
            let shown = shown(response, fitted.detail);
            let rendered = fitted.showing(shown);
            // If the text was cut, the caller did not see all of this code.
            if !rendered.is_cut {
                code.remember();
            }
            return rendered;
        }
        let steps = [
            (IndexDetail::Ranges, outcome.names.fill("lines are left out[[; read them with {read_file}]]")),
            (IndexDetail::Paths, "only paths are shown; ask for fewer files".to_owned()),
        ];
        let fitted = fit_steps(IndexDetail::Lines, steps, |detail| body(response, detail), notes, budget);
        let shown = shown(response, fitted.detail);
        fitted.showing(shown)
    }
}

/// Records the lines that [`body`] and [`with_code`] display.
fn shown(response: &RankResponse, detail: IndexDetail) -> ShownFiles {
    let mut shown = ShownFiles::default();
    for file in &response.files {
        shown.named(&file.path, 0);
        if detail != IndexDetail::Lines {
            continue;
        }
        for code in &file.code {
            shown.lines(&file.path, code.start_line.into(), code.end_line.into());
        }
        for line in file.chunks.iter().flat_map(|chunk| &chunk.lines) {
            shown.line(&file.path, line.line_number.into(), true);
        }
    }
    shown
}

fn no_results(response: &RankResponse, names: &ToolNames) -> String {
    let within = match (response.roots.as_slice(), response.path.as_str()) {
        ([], ".") => String::new(),
        ([], path) => format!(" in {path}"),
        (roots, _) => format!(" in {}", roots.join(", ")),
    };
    let mut text = match response.continued {
        true => format!("Nothing more for {}{within}.", quoted_query(&response.query)),
        false if response.provisional => {
            format!("Nothing found so far for {}{within}.", quoted_query(&response.query))
        }
        false => format!("Nothing found for {}{within}.", quoted_query(&response.query)),
    };
    if response.no_file_chosen && response.files_searched == 0 {
        text.push_str(" There are no files to search.");
    } else if response.no_file_chosen {
        text.push_str(
            " No file in the index is in the scope of this search; ignored and hidden files are not indexed",
        );
        if let Some(search) = names.search_of_all() {
            let _ = write!(text, "; {search} searches them");
        }
        text.push('.');
    }
    push_words(&mut text, response);
    let before = "\nFiles that were left out match part of it:";
    text.push_str(&response.not_searched.describe(before, "", EXCLUDED));
    text
}

/// Describes how we interpreted the query, if that is not obvious.
fn push_words(text: &mut String, response: &RankResponse) {
    let list = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ");
    if !response.unknown_words.is_empty() {
        let _ = write!(text, " Not found as whole words: {}.", list(&response.unknown_words));
    }
    if !response.own_names.is_empty() {
        let names = list(&response.own_names);
        let _ = write!(text, " {names} (the project's own name) has no weight.");
    }
    if !response.understood.is_empty() {
        let _ = write!(text, " Used as a filter: {}.", list(&response.understood));
    }
    if !response.ignored.is_empty() {
        let _ = write!(text, " Ignored: {}.", list(&response.ignored));
    }
}

fn headline(response: &RankResponse) -> String {
    let (shown, all) = (response.files.len() as u64, response.matching_files);
    let mut text = match all > shown {
        true => format!("{} of {}", grouped(shown), count(all, "file")),
        false => count(shown, "file"),
    };
    if !response.roots.is_empty() {
        let _ = write!(text, " in {}", response.roots.join(", "));
    }
    let order = match response.continued {
        _ if response.is_list => "in path order",
        true => "further down the ranking",
        false => "best first",
    };
    let _ = write!(text, " for {}, {order}.", quoted_query(&response.query));
    for history in &response.history {
        let _ = write!(text, " History: {history}.");
    }
    if response.weak {
        text.push_str(
            " Low confidence: even the best file matches little of the query, so these may not be an answer.",
        );
    }
    // The confidence was measured with complete indexes only.
    let is_measured = !response.continued && !response.provisional && !response.weak && !response.is_list;
    if is_measured && response.files.len() > 1 {
        let kind = match response.query.split_whitespace().count() > REPORT_WORDS {
            true => QueryKind::Report,
            false if response.is_translated => QueryKind::Translated,
            false => QueryKind::Question,
        };
        let _ = write!(text, " {}", how_sure(response.lead, kind));
    }
    push_words(&mut text, response);
    text.push('\n');
    text
}

/// Kinds of queries whose confidence was measured separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueryKind {
    Question,
    /// A question in another language.
    Translated,
    /// A text as long as a bug report.
    Report,
}

/// Describes how often the first file was right at a given lead over the second. We measured this with 610
/// short questions, with 888 translated ones, and with 427 fixes whose commit messages have more than 40
/// words. High confidence means at least 90 %. The last two kinds need a larger lead for that.
fn how_sure(lead: f32, kind: QueryKind) -> String {
    let (says, rights) = match lead {
        0.45.. => ("stands out", [93, 92, 96]),
        0.30.. if kind == QueryKind::Question => ("stands out", [93, 0, 0]),
        0.30.. => ("is far ahead", [0, 80, 86]),
        0.15.. => ("is ahead", [71, 78, 65]),
        0.05.. => ("is close to the second", [60, 51, 41]),
        _ => ("is nearly tied with the second", [36, 49, 29]),
    };
    let right = rights[kind as usize];
    let confidence = match right {
        HIGH_CONFIDENCE.. => "high",
        MEDIUM_CONFIDENCE.. => "medium",
        _ => "low",
    };
    format!("The first {says}: {confidence} confidence.")
}

fn body(response: &RankResponse, detail: IndexDetail) -> String {
    let mut text = headline(response);
    for file in &response.files {
        push_file(&mut text, file, detail);
    }
    text
}

/// Prefix of each line that is not code.
pub(super) const HEAD: &str = "@@ ";

fn with_code(response: &RankResponse, detail: IndexDetail) -> String {
    let mut text = headline(response);
    let (shown, rest): (Vec<&RankedFile>, Vec<&RankedFile>) = response.files.iter().partition(|file| {
        detail != IndexDetail::Paths && !(file.code.is_empty() && file.shown_earlier.is_empty())
    });
    for file in &shown {
        let path = head_path(&file.path);
        if !file.shown_earlier.is_empty() {
            let range = |it: &EarlierLines| format!("{}-{}", it.start_line, it.end_line);
            let ranges: Vec<String> = file.shown_earlier.iter().map(range).collect();
            let _ = writeln!(text, "{HEAD}{path} {}: shown earlier, unchanged", ranges.join(", "));
        }
        for RankedCode { start_line, end_line, within, within_end_line, cut, comment_lines, lines } in
            &file.code
        {
            let _ = write!(text, "{HEAD}{path} {start_line}-{end_line}");
            if let Some(within) = within {
                let _ = write!(text, " in {within}");
                let _ = within_end_line.map(|end| write!(text, " (to {end})"));
            }
            if let Some(CutDefinition { name, end_line }) = cut {
                let is_same = within.as_ref().is_some_and(|within| within.rsplit(" > ").next() == Some(name));
                let name = if is_same { "which".to_owned() } else { shown_name(name) };
                let _ = write!(text, ", {name} continues to {end_line}");
            }
            if *comment_lines > 0 {
                let _ = write!(text, ", after {}", count(*comment_lines as u64, "comment line"));
            }
            text.push('\n');
            lines.iter().for_each(|line| push_foreign(&mut text, line));
        }
        push_unshown(&mut text, file);
        push_siblings(&mut text, &format!("{HEAD}{}", head_path(&file.path)), &file.siblings);
    }
    let left_out: Vec<String> = response.left_out.iter().map(|it| count(it.files, it.kind)).collect();
    if !rest.is_empty() {
        let _ = write!(text, "{HEAD}{}", if shown.is_empty() { "files" } else { "further files" });
        if !left_out.is_empty() {
            let _ = write!(text, ", without {}", left_out.join(", "));
        }
        text.push('\n');
        rest.iter().for_each(|file| push_foreign(&mut text, &further(file, detail)));
    } else if !left_out.is_empty() {
        let _ = writeln!(text, "{HEAD}left out: {}", left_out.join(", "));
    }
    // The tool's own text continues after this line.
    let _ = writeln!(text, "{HEAD}end");
    text
}

/// Formats a file without code, with its best line and the reason for its rank.
fn further(file: &RankedFile, detail: IndexDetail) -> String {
    let line = file.chunks.iter().flat_map(|chunk| &chunk.lines).next();
    match (line.filter(|_| detail != IndexDetail::Paths), file.reason) {
        (Some(line), Some(reason)) => format!("{}:{}: {} ({reason})", file.path, line.line_number, line.text),
        (None, Some(reason)) if detail != IndexDetail::Paths => format!("{} ({reason})", file.path),
        _ => file.path.clone(),
    }
}

/// Writes a line that comes from a file. We escape it if it could pass for the tool's own text.
pub(super) fn push_foreign(text: &mut String, line: &str) {
    let escape = if line.starts_with(HEAD) || is_like_a_note(line) { "\\" } else { "" };
    let _ = writeln!(text, "{escape}{line}");
}

/// Formats a path that precedes the tool's own text. We quote the path if that text could seem to be a part
/// of it.
pub(super) fn head_path(path: &str) -> Cow<'_, str> {
    match path.contains(' ') && !path.starts_with('"') {
        true => Cow::Owned(format!("\"{path}\"")),
        false => Cow::Borrowed(path),
    }
}

/// Formats a name for the tool's own text, quoted unless it is plain.
pub(super) fn shown_name(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "_$:.-".contains(c));
    if is_plain { name.to_owned() } else { quoted_name(name) }
}

/// Writes the definitions of a file that are not shown.
fn push_unshown(text: &mut String, file: &RankedFile) {
    if file.unshown.is_empty() && file.unshown_more == 0 {
        return;
    }
    let entry = |it: &UnshownDefinition| {
        let name = shown_name(&it.name);
        // The name of a constructor may be no more than its kind.
        let kind = if it.name == it.kind { String::new() } else { format!("{} ", it.kind) };
        let end = if it.start_line == it.end_line { String::new() } else { format!("-{}", it.end_line) };
        format!("{kind}{name} {}{end}", it.start_line)
    };
    let entries: Vec<String> = file.unshown.iter().map(entry).collect();
    let more =
        (file.unshown_more > 0).then(|| format!("{} more", count(file.unshown_more as u64, "definition")));
    let all: Vec<String> = entries.into_iter().chain(more).collect();
    let _ = writeln!(text, "{HEAD}{} has more: {}", head_path(&file.path), all.join("; "));
}

/// Writes a line with the siblings of a file, after `start`.
fn push_siblings(text: &mut String, start: &str, siblings: &[String]) {
    if siblings.is_empty() {
        return;
    }
    let named = siblings.iter().take(limits::NAMED_SIBLINGS).map(|path| head_path(path).into_owned());
    let more = siblings.len().saturating_sub(limits::NAMED_SIBLINGS);
    let more = (more > 0).then(|| format!("{more} more"));
    let all: Vec<String> = named.chain(more).collect();
    let _ = writeln!(text, "{start} exists for other platforms: {}", all.join(", "));
}

fn push_file(text: &mut String, file: &RankedFile, detail: IndexDetail) {
    let gap = if detail == IndexDetail::Paths { "" } else { "\n" };
    let _ = writeln!(text, "{gap}{}", file.path);
    if detail == IndexDetail::Paths {
        return;
    }
    if !file.reasons.is_empty() {
        let reason = |reason: &RankedReason| format!("{} {:+.2}", reason.rule, reason.gives);
        let _ = writeln!(
            text,
            "  score {:.2}: {}",
            file.score,
            file.reasons.iter().map(reason).collect::<Vec<_>>().join(", ")
        );
    }
    push_siblings(text, " ", &file.siblings);
    for chunk in &file.chunks {
        let _ = write!(text, "  {}-{}", chunk.start_line, chunk.end_line);
        if let (Some(symbol), Some(kind)) = (&chunk.symbol, chunk.kind) {
            let _ = write!(text, " {kind} {symbol}");
        }
        text.push('\n');
        for line in chunk.lines.iter().filter(|_| detail == IndexDetail::Lines) {
            let _ = writeln!(text, "    {}: {}", line.line_number, line.text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn high_confidence_needs_a_larger_lead_for_some() {
        let of = |lead, kind| how_sure(lead, kind).rsplit(": ").next().unwrap_or_default().to_owned();
        let limits = [(QueryKind::Question, 0.3), (QueryKind::Translated, 0.45), (QueryKind::Report, 0.45)];
        for (kind, least) in limits {
            assert_eq!(of(least, kind), "high confidence.", "{kind:?}");
            assert_eq!(of(least - 0.01, kind), "medium confidence.", "{kind:?}");
        }
        assert_eq!(of(0.05, QueryKind::Question), "medium confidence.");
        assert_eq!(of(0.05, QueryKind::Report), "low confidence.");
    }
}

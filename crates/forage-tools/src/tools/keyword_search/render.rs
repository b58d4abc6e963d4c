//! Text rendering of `keyword_search`.

use forage_fs::Root;
use std::borrow::Cow;
use std::fmt::Write as _;

use super::answer::LineRange;
use super::{KeywordFile, KeywordResponse, ShownRecord, TermRecord};
use crate::head::Counts;
use crate::notes::{notes, notes_bytes, with_notes};
use crate::outcome::{Render, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::sanitize::sanitize_line;
use crate::settings::FilterBreadth;
use crate::shown::{Rendered, ShownFile, ShownFiles};
use crate::text::{clip, count, grouped, quoted};
use crate::verdict::EXCLUDED;

/// Maximum line numbers displayed per file.
const LINES_SHOWN: usize = 12;

impl Render for KeywordResponse {
    fn redact(&mut self, redactor: &mut OutputRedactor<'_>) {
        for file in &mut self.files {
            if redactor.name(&mut file.path) {
                file.path_bytes = None;
            }
            redactor.text(&mut file.explanation);
        }
        self.not_searched.redact(redactor);
    }

    fn name_whole_paths(&mut self, _: &Root) {
        self.names_whole_paths = true;
    }

    fn counts(&self) -> Counts<'_> {
        Counts {
            searched: Some(self.files_searched),
            verdict: Some(&self.not_searched),
            ..Counts::plain(self.files.len() as u64, "files", self.candidate_files + self.ranked_files)
        }
    }

    fn render(outcome: &ToolOutcome<Self>, budget: usize) -> Rendered {
        let response = &outcome.response;
        let mut all = term_notes(response, outcome.truncated_by.is_some_and(|limit| !limit.is_overrun()));
        all.extend(model_notes(response));
        all.extend(notes(outcome, Some(response.files_searched)));
        if response.files.is_empty() {
            return Rendered::without_files(with_notes(no_results(outcome), &all), false);
        }
        // We first omit lines. Only if this does not suffice do we omit files. The last files are the least
        // relevant ones, so they go first.
        let room = budget.saturating_sub(notes_bytes(&all));
        for (lines, evidence) in [(LINES_SHOWN, true), (LINES_SHOWN, false), (3, false)] {
            let text = files(response, response.files.len(), lines, evidence);
            if text.len() <= room {
                let shown = shown(response, response.files.len(), evidence);
                let (text, is_cut) = (with_notes(text, &all), !evidence);
                return Rendered { text, is_cut, hides_results: false, shown };
            }
        }
        let fits = |shown: usize| files(response, shown, 0, false).len() <= room;
        let max = (1..response.files.len()).rev().find(|&shown| fits(shown)).unwrap_or(1);
        let left = count((response.files.len() - max) as u64, "less relevant file");
        all.insert(0, format!("{left} left out because the answer was too long"));
        // Even a single file may exceed the room.
        let text = with_notes(clip(&files(response, max, 0, false), room), &all);
        Rendered { text, is_cut: true, hides_results: true, shown: shown(response, max, false) }
    }
}

/// Records the files that [`files`] displays.
fn shown(response: &KeywordResponse, max: usize, evidence: bool) -> Vec<ShownFile> {
    let mut shown = ShownFiles::default();
    for file in response.files.iter().take(max) {
        let path = below(&file.path, &response.project);
        shown.named(&path, file.match_lines.len() as u64 + file.more_match_lines);
        file.evidence
            .iter()
            .filter(|_| evidence)
            .for_each(|line| shown.lines(&path, line.line_number, line.line_number));
    }
    shown.into_files()
}

fn no_results(outcome: &ToolOutcome<KeywordResponse>) -> String {
    let response = &outcome.response;
    if response.candidate_files + response.ranked_files > 0 {
        return format!(
            "No relevant files found ({} matched a term{}).",
            count(response.candidate_files, "file"),
            ranked(response).trim_end_matches(',')
        );
    }
    let is_broad = |term: &TermRecord| matches!(term.fate, "too_broad" | "dropped");
    let broad: Vec<String> =
        response.terms.iter().filter(|term| is_broad(term)).map(|term| quoted(&term.term)).collect();
    let mut text = match broad.as_slice() {
        [] => "No matches found for the given search terms.".to_owned(),
        broad => format!(
            "No matches can be shown: {} too much, and the other terms match nothing.",
            if broad.len() == 1 {
                format!("{} matches", broad[0])
            } else {
                format!("{} match", broad.join(", "))
            },
        ),
    };
    if outcome.truncated_by.is_some() {
        text.push_str(" The search did not finish: there may be matches in files that were not reached.");
    }
    let before = " But there are matches in files that are not searched:";
    let search = outcome.names.search_of_all();
    let after = search.map(|search| format!("\n{search} searches those.")).unwrap_or_default();
    text.push_str(&response.not_searched.describe(before, &after, EXCLUDED));
    text
}

/// Describes how many files a ranking added to those of the terms.
fn ranked(response: &KeywordResponse) -> String {
    match response.ranked_files {
        0 => String::new(),
        files => format!(", and {} added by the ranking,", grouped(files)),
    }
}

fn files(response: &KeywordResponse, shown: usize, lines: usize, evidence: bool) -> String {
    let relevant = if response.filter == "model" { "relevant file" } else { "file" };
    let order = match response.filter {
        "model" => "most relevant first",
        "model_in_part" => "relevant ones first, then those that could not be filtered",
        _ => "best lexical match first",
    };
    let mut text = format!(
        "{} of {} that matched{} below {}, {order}:\n",
        count(response.files.len() as u64, relevant),
        grouped(response.candidate_files),
        ranked(response),
        response.project
    );
    for file in response.files.iter().take(shown) {
        let label = if file.not_filtered { "[not filtered] " } else { "" };
        // A model may not have given a reason.
        let colon = if label.is_empty() && file.explanation.is_empty() { "" } else { ": " };
        let path = match response.names_whole_paths {
            true => Cow::Borrowed(file.path.as_str()),
            false => below(&file.path, &response.project),
        };
        let _ = writeln!(text, "\n{path}{colon}{label}{}", file.explanation);
        text.push_str(&ranges(file));
        if lines > 0 {
            text.push_str(&match_lines(file, lines));
        }
        for line in file.evidence.iter().filter(|_| evidence) {
            let _ = writeln!(text, "  {}: {}", line.line_number, sanitize_line(&line.text));
        }
    }
    text
}

/// Formats a path as other tools do, relative to the root.
fn below<'a>(path: &'a str, root: &str) -> Cow<'a, str> {
    let within = |path: &'a str| path.strip_prefix(root).and_then(|path| path.strip_prefix('/'));
    match path.strip_prefix('"') {
        // If the root itself needs quotes, its prefix does not match, and we show the whole path.
        Some(quoted) => within(quoted).map_or(Cow::Borrowed(path), |rest| Cow::Owned(format!("\"{rest}"))),
        None => Cow::Borrowed(within(path).unwrap_or(path)),
    }
}

/// Formats the lines that the model points at. We mark lines that the model was not shown, because it can't
/// know them.
fn ranges(file: &KeywordFile) -> String {
    let part = |shown: bool| -> String {
        let ranges = file.ranges.iter().filter(|range| range.shown == shown);
        let range = |range: &LineRange| match range.first == range.last {
            true => range.first.to_string(),
            false => format!("{}-{}", range.first, range.last),
        };
        ranges.map(range).collect::<Vec<_>>().join(", ")
    };
    match (part(true), part(false)) {
        (shown, unseen) if shown.is_empty() && unseen.is_empty() => String::new(),
        (shown, unseen) if unseen.is_empty() => format!("  read lines {shown}\n"),
        (shown, unseen) if shown.is_empty() => format!("  unverified lines {unseen}\n"),
        (shown, unseen) => format!("  read lines {shown}; unverified lines {unseen}\n"),
    }
}

fn match_lines(file: &KeywordFile, shown: usize) -> String {
    let numbers: Vec<String> = file.match_lines.iter().take(shown).map(u64::to_string).collect();
    let more = file.match_lines.len().saturating_sub(shown) as u64 + file.more_match_lines;
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let lines = if file.match_lines.len() == 1 { "line" } else { "lines" };
    let what = if file.is_ranked { "best" } else { "matching" };
    format!("  {what} {lines}: {}{more}\n", numbers.join(", "))
}

fn term_notes(response: &KeywordResponse, is_cut: bool) -> Vec<String> {
    let names = |fate: &str| -> Vec<String> {
        let terms = response.terms.iter().filter(|term| term.fate == fate);
        terms.map(|term| quoted(&term.term)).collect()
    };
    let note = |fate: &str, text: &str| {
        let names = names(fate);
        (!names.is_empty()).then(|| format!("{text}: {}", names.join(", ")))
    };
    let invalid = |term: &TermRecord| {
        term.error.as_ref().map(|error| format!("invalid term, left out: {}: {error}", quoted(&term.term)))
    };
    let (broad, dropped) = match response.breadth {
        FilterBreadth::Adaptive if is_cut => (
            "terms with too many matches to choose from before the search ended".to_owned(),
            "terms left out because their lines would crowd out those of rarer terms".to_owned(),
        ),
        FilterBreadth::Adaptive => (
            "terms skipped because they are on nearly every line".to_owned(),
            "terms left out because their lines would crowd out those of rarer terms".to_owned(),
        ),
        FilterBreadth::Requirement => (
            format!("terms skipped because they match too much (over {} each)", size(response.bounds.0)),
            format!("least important terms dropped to keep the evidence under {}", size(response.bounds.1)),
        ),
    };
    let without = if is_cut { "terms without matches so far" } else { "terms without matches" };
    let mut notes: Vec<String> =
        [note("too_broad", &broad), note("dropped", &dropped), note("no_hits", without)]
            .into_iter()
            .flatten()
            .collect();
    notes.extend(less_shown(response));
    notes.extend(response.terms.iter().filter_map(invalid));
    notes
}

/// Describes which terms match too much to be shown completely, and how much of them was shown.
fn less_shown(response: &KeywordResponse) -> Option<String> {
    let part = |term: &TermRecord| {
        let shown = match term.shown.as_ref()? {
            ShownRecord::Less { context_lines: 0 } => "without context".to_owned(),
            ShownRecord::Less { context_lines } => {
                format!("{} of context", count(*context_lines, "line"))
            }
            ShownRecord::Best { lines, files } => {
                let at_least = if term.lines_at_least { "at least " } else { "" };
                format!(
                    "{} of {at_least}{} lines, in {} of {at_least}{} files",
                    grouped(*lines),
                    grouped(term.lines),
                    grouped(*files),
                    grouped(term.files)
                )
            }
        };
        Some(format!("{} ({shown})", quoted(&term.term)))
    };
    let parts: Vec<String> = response.terms.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| format!("broad terms, shown to the model only in part: {}", parts.join(", ")))
}

/// Formats bytes in their largest whole unit.
fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1024) {
        format!("{} KiB", bytes / 1024)
    } else {
        format!("{} bytes", grouped(bytes))
    }
}

fn model_notes(response: &KeywordResponse) -> Vec<String> {
    let Some(model) = &response.model else {
        return match response.filter {
            "lexical" => vec!["ranked without a model".to_owned()],
            _ => Vec::new(),
        };
    };
    let cached = model.cached_input_tokens.filter(|cached| *cached > 0);
    let cached = cached.map(|cached| format!(" ({} cached)", grouped(cached))).unwrap_or_default();
    let tokens = match (model.input_tokens, model.output_tokens) {
        (Some(input), Some(output)) => {
            format!(", {} tokens in{cached}, {} out", grouped(input), grouped(output))
        }
        _ => String::new(),
    };
    let cost = model.cost_usd.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
    let shards = model.shards.map(|shards| format!(" in {shards} requests")).unwrap_or_default();
    let mut notes = vec![format!(
        "filtered by {}{shards}{tokens}{cost}, {:.1} s",
        sanitize_line(&model.name),
        model.elapsed_ms as f64 / 1000.0
    )];
    if let Some(cache) = &model.from_cache {
        let part = match model.shards {
            Some(_) => format!(
                "{} from the cache, up to {} old",
                count(cache.answers as u64, "answer"),
                age(cache.age_seconds)
            ),
            None => format!("answer from the cache, {} old", age(cache.age_seconds)),
        };
        notes.push(part);
    }
    if model.dropped_paths > 0 {
        notes.push(format!(
            "{} left out of the model's answer: not among the search results, or copied from a file",
            count(model.dropped_paths as u64, "path")
        ));
    }
    if model.redacted > 0 {
        notes.push(format!(
            "{} redacted before the results were sent to the model",
            count(model.redacted as u64, "secret")
        ));
    }
    notes
}

/// Formats an age in its largest unit.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => count(seconds / 86_400, "day"),
    }
}

//! Text rendering of `keyword_lookup`.

use forage_fs::{Root, display_foreign_path, display_text};
use std::fmt::Write as _;

use serde_json::Value;

use super::records::{Has, LookupHit, LookupResponse, LookupStatus, Presence};
use crate::head::Counts;
use crate::limits;
use crate::lines::fit_steps;
use crate::notes::{notes, with_notes};
use crate::outcome::{Render, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::sanitize::sanitize_line;
use crate::shown::{Rendered, ShownFiles};
use crate::text::{clip_line, count, quoted, quoted_query};

/// Levels of detail of each hit, from most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookupDetail {
    Lines,
    Places,
}

impl Render for LookupResponse {
    fn redact(&mut self, redactor: &mut OutputRedactor<'_>) {
        // Payloads and lines have already been redacted.
        self.reason.iter_mut().for_each(|reason| redactor.text(reason));
    }

    fn name_whole_paths(&mut self, _: &Root) {
        // None of the paths are below a root.
    }

    fn counts(&self) -> Counts<'_> {
        Counts::plain(self.hits.len() as u64, "hits", 0)
    }

    fn render(outcome: &ToolOutcome<Self>, budget: usize) -> Rendered {
        let response = &outcome.response;
        let notes = notes(outcome, None);
        if response.hits.is_empty() {
            return Rendered::without_files(with_notes(no_results(response), &notes), false);
        }
        let steps = [(LookupDetail::Places, "lines are left out; ask for fewer results".to_owned())];
        let fitted = fit_steps(LookupDetail::Lines, steps, |detail| body(response, detail), notes, budget);
        let shown = shown_places(response, fitted.detail);
        fitted.showing(shown)
    }
}

/// Records the places that [`body`] displays, for points that have a path.
fn shown_places(response: &LookupResponse, detail: LookupDetail) -> ShownFiles {
    let mut files = ShownFiles::default();
    for hit in &response.hits {
        let Some(path) = hit.payload.get("path").and_then(Value::as_str) else { continue };
        let path = shown_path(path);
        files.named(&path, 0);
        let lines = hit.lines.iter().filter(|_| detail == LookupDetail::Lines);
        lines.filter_map(|line| line.line_number).for_each(|number| files.line(&path, number, true));
    }
    files
}

fn no_results(response: &LookupResponse) -> String {
    let (query, place) = (quoted_query(&response.query), sanitize_line(&response.collection));
    let reason = sanitize_line(response.reason.as_deref().unwrap_or_default());
    match response.status {
        LookupStatus::Found | LookupStatus::PartsOnly | LookupStatus::NoMatch => {
            match (response.filter.is_empty(), &response.without_filter) {
                (true, _) => format!("Nothing in {place} contains any word of {query}."),
                (false, Some(_)) => format!(
                    "Nothing in {place} contains any word of {query}, with or without the filter {}.",
                    filter(response)
                ),
                // If we don't know the result without the filter, a warning says why.
                (false, None) => {
                    format!(
                        "Nothing under the filter {} in {place} contains any word of {query}.",
                        filter(response)
                    )
                }
            }
        }
        LookupStatus::NoMatchUnderFilter => under_filter(response, &query, &place),
        LookupStatus::NoUsableWord => format!(
            "{query} has no word that can be looked up: only common words, or none. Give an identifier, a code or a \
             rare word."
        ),
        LookupStatus::EncoderUnavailable => {
            format!(
                "NOT LOOKED UP, so nothing is known about the contents: queries can't be encoded: {reason}."
            )
        }
        LookupStatus::StoreUnavailable => {
            format!(
                "NOT LOOKED UP, so nothing is known about the contents: {place} does not answer: {reason}."
            )
        }
    }
}

/// Formats the filter as the caller wrote it.
fn filter(response: &LookupResponse) -> String {
    quoted(&response.filter.join(", "))
}

/// Describes how many chunks pass the filter, and the result of a lookup without it.
fn under_filter(response: &LookupResponse, query: &str, place: &str) -> String {
    let filter = filter(response);
    let Some(beyond) = &response.without_filter else { return String::new() };
    let (chunks, more) =
        (count(beyond.chunks as u64, "chunk"), if beyond.at_least { "at least " } else { "" });
    let through = match beyond.under_filter {
        0 => "; no chunk at all passes it".to_owned(),
        many => format!("; it lets {} through", count(many, "chunk")),
    };
    format!(
        "Nothing under the filter {filter} in {place} contains any word of {query}{through}. Without the filter, \
         {more}{chunks} {} such a word.",
        if beyond.chunks == 1 && !beyond.at_least { "has" } else { "have" }
    )
}

fn body(response: &LookupResponse, detail: LookupDetail) -> String {
    let mut text = head(response);
    let mut has = None;
    for hit in &response.hits {
        if hit.has != has {
            has = hit.has;
            let gap = if detail == LookupDetail::Places { "" } else { "\n" };
            has.iter().for_each(|has| text.push_str(&format!("{gap}{}:\n", group(*has))));
        }
        push_hit(&mut text, hit, detail);
    }
    if response.cut > 0 {
        let (cut, verb) =
            (count(response.cut as u64, "more result"), if response.cut == 1 { "is" } else { "are" });
        let _ =
            writeln!(text, "\n{cut} {verb} left out for scoring less than a hundredth of the best result.");
    }
    text
}

/// Formats the headline. For a name, this first states whether the name exists.
fn head(response: &LookupResponse) -> String {
    let (hits, query) = (count(response.hits.len() as u64, "result"), quoted_query(&response.query));
    let mut place = sanitize_line(&response.collection).into_owned();
    if !response.filter.is_empty() {
        place.push_str(&format!(" under the filter {}", filter(response)));
    }
    let Some(facts) = &response.name else { return format!("{hits} for {query} in {place}, best first.\n") };
    let name = quoted(&facts.name);
    let chunks = |number: usize| {
        let verb = if number == 1 { "has" } else { "have" };
        let more = if facts.complete { "" } else { "at least " };
        format!("{more}{} {verb}", count(number as u64, "chunk"))
    };
    let said = match facts.presence {
        Presence::Present => format!("In {place}, {} {name}.", chunks(facts.whole)),
        Presence::OtherCase if facts.complete && facts.without_text == 0 => {
            format!(
                "No chunk in {place} has {name} exactly as written; {} it in another case.",
                chunks(facts.other_case)
            )
        }
        Presence::OtherCase => format!("In {place}, {} {name} in another case.", chunks(facts.other_case)),
        Presence::Absent => format!("No chunk in {place} has {name}."),
        Presence::Unknown => format!(
            "None of the {} that were compared in {place} has {name}; others may.",
            count(facts.compared as u64, "chunk")
        ),
    };
    let elsewhere = facts.without_filter.filter(|number| *number > 0);
    let elsewhere = elsewhere.map(|number| format!(" Without the filter, {} it.", chunks(number)));
    let untold = match facts.without_text {
        0 => String::new(),
        some => format!(" {} no text to compare.", chunks(some)),
    };
    format!("{said}{}{untold} {hits}, best first.\n", elsewhere.unwrap_or_default())
}

/// Names the group of results with this kind of match.
fn group(has: Has) -> &'static str {
    match has {
        Has::Whole => "As a whole",
        Has::OtherCase => "In another case",
        Has::OtherSpelling => "In another spelling",
        Has::Inside => "Within a longer name",
        Has::Parts => "Only parts of it",
        Has::Unknown => "Not compared (no text)",
    }
}

fn push_hit(text: &mut String, hit: &LookupHit, detail: LookupDetail) {
    let gap = if detail == LookupDetail::Places { "" } else { "\n" };
    let _ = writeln!(text, "{gap}{} (score {:.2}{})", place(hit), hit.score, facts(hit));
    for line in hit.lines.iter().filter(|_| detail == LookupDetail::Lines) {
        let shown = sanitize_line(&line.text);
        let _ = match line.line_number {
            Some(number) => writeln!(text, "    {number}: {shown}"),
            None => writeln!(text, "    {shown}"),
        };
    }
}

/// Formats the path with its lines, or else the id of the point.
fn place(hit: &LookupHit) -> String {
    let Some(path) = hit.payload.get("path").and_then(Value::as_str) else {
        return format!("point {}", hit.id);
    };
    let path = shown_path(path);
    let line = |end: &str| hit.payload.get("lines").and_then(|lines| lines[end].as_u64());
    match line("start").zip(line("end")) {
        Some((start, end)) => format!("{path}:{start}-{end}"),
        None => path,
    }
}

/// Formats the other short values of this hit's payload.
fn facts(hit: &LookupHit) -> String {
    let mut facts = String::new();
    for (name, value) in
        hit.payload.iter().filter(|(name, _)| !matches!(name.as_str(), "path" | "lines" | "text"))
    {
        let value = match value {
            Value::String(value) if !value.is_empty() && value.len() <= limits::RANKED_LINE_CHARACTERS => {
                shown(value)
            }
            Value::Number(value) => value.to_string(),
            Value::Bool(value) => value.to_string(),
            _ => continue,
        };
        let _ = write!(facts, ", {} {value}", shown(name));
    }
    facts
}

fn shown(text: &str) -> String {
    clip_line(&display_text(text), limits::RANKED_LINE_CHARACTERS)
}

/// Formats the path of a point, as written by the program that filled the collection.
fn shown_path(path: &str) -> String {
    clip_line(&display_foreign_path(path), limits::RANKED_LINE_CHARACTERS)
}

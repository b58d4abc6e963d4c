//! The text of an answer of `keyword_lookup`.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Record, Response, Status};
use crate::border::Border;
use crate::limits;
use crate::lines::fit_steps;
use crate::outcome::{Outcome, Render};
use crate::sanitize::sanitize_line;
use crate::text::{clip_line, count, notes, quoted, with_notes};

/// How much is shown of each hit; each step less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    Lines,
    Places,
}

impl Render for Response {
    fn redact(&mut self, border: &mut Border<'_>) {
        // Payloads and lines were taken through the border.
        self.reason.iter_mut().for_each(|reason| border.text(reason));
    }

    fn render(outcome: &Outcome<Self>, budget: usize) -> (String, bool) {
        let response = &outcome.response;
        let notes = notes(outcome, None);
        if response.hits.is_empty() {
            return (with_notes(nothing(response), &notes), false);
        }
        let steps = [(Detail::Places, "lines are left out; ask for fewer results".to_owned())];
        fit_steps(Detail::Lines, steps, |detail| body(response, detail), notes, budget)
    }
}

fn nothing(response: &Response) -> String {
    let (query, place) = (quoted(&response.query), sanitize_line(&response.collection));
    let reason = sanitize_line(response.reason.as_deref().unwrap_or_default());
    match response.status {
        Status::Found | Status::NoMatch => {
            format!("Nothing in {place} has any word of {query}.")
        }
        Status::NoUsableWord => format!(
            "{query} has no word that can be looked up: common words alone, or none. Give an identifier, a code or a rare \
             word."
        ),
        Status::EncoderUnavailable => {
            format!(
                "NOT LOOKED UP, so this says nothing of what there is: queries can't be encoded: {reason}."
            )
        }
        Status::StoreUnavailable => {
            format!(
                "NOT LOOKED UP, so this says nothing of what there is: {place} does not answer: {reason}."
            )
        }
    }
}

fn body(response: &Response, detail: Detail) -> String {
    let (hits, query) = (count(response.hits.len() as u64, "result"), quoted(&response.query));
    let mut text = format!("{hits} for {query} in {}, best first.\n", sanitize_line(&response.collection));
    for hit in &response.hits {
        push_hit(&mut text, hit, detail);
    }
    text
}

fn push_hit(text: &mut String, hit: &Record, detail: Detail) {
    let gap = if detail == Detail::Places { "" } else { "\n" };
    let _ = writeln!(text, "{gap}{} (score {:.2}{})", place(hit), hit.score, facts(hit));
    for line in hit.lines.iter().filter(|_| detail == Detail::Lines) {
        let shown = sanitize_line(&line.text);
        let _ = match line.line_number {
            Some(number) => writeln!(text, "    {number}: {shown}"),
            None => writeln!(text, "    {shown}"),
        };
    }
}

/// The path with its lines, or what names the point.
fn place(hit: &Record) -> String {
    let Some(path) = hit.payload.get("path").and_then(Value::as_str) else {
        return format!("point {}", hit.id);
    };
    let path = shown(path);
    let line = |end: &str| hit.payload.get("lines").and_then(|lines| lines[end].as_u64());
    match line("start").zip(line("end")) {
        Some((start, end)) => format!("{path}:{start}-{end}"),
        None => path,
    }
}

/// What else the payload says in a word or a number.
fn facts(hit: &Record) -> String {
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
    clip_line(&sanitize_line(text), limits::RANKED_LINE_CHARACTERS)
}

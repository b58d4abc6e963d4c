//! `grep_search` for a person or a pipe: every match as it is found, in path order, without limits on number or
//! length, in the format that grep has had for fifty years.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use forage_search::{EventKind, FileEvents, ScanOptions, search};
use serde_json::Value;

use super::grep_search::{GrepSearch, Prepared, Request};
use crate::arguments::coerce;
use crate::context::Context;
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::sanitize::line_text;
use crate::schema;
use crate::text::notes;
use crate::tool::Tool;

/// How a streamed search ended.
#[derive(Debug)]
pub struct Streamed {
    /// Whether anything was found.
    pub found: bool,
    /// The search did not finish.
    pub partial: bool,
    /// What was not searched and what went wrong.
    pub notes: Vec<String>,
}

/// A regex that matches `text` as it is.
pub fn literal_pattern(text: &str) -> String {
    forage_search::escape(text)
}

/// A regex that matches where `pattern` does and no word character touches the match.
pub fn word_pattern(pattern: &str) -> String {
    format!(r"\b{{start-half}}(?:{pattern})\b{{end-half}}")
}

/// Runs a `grep_search` request and hands over `path:line:text` lines (`path-line-text` for context, `--` between
/// groups) in pieces, until `write` returns false.
pub fn stream_matches(
    context: &Context,
    request: Value,
    mut write: impl FnMut(&str) -> bool + Send,
) -> Result<Streamed, ToolError> {
    let request =
        coerce(GrepSearch::NAME, &schema::portable::<Request>(), GrepSearch::ARGUMENT_ALIASES, request)?;
    let request: Request =
        serde_json::from_value(request).map_err(|error| ToolError::Request(error.to_string()))?;
    let Prepared { root, start, pattern, walk, context_lines } = request.prepare(context)?;
    let scan = ScanOptions {
        before_context: context_lines,
        after_context: context_lines,
        max_file_bytes: context.max_file_bytes,
        max_spans: 0,
        ..ScanOptions::default()
    };
    let stop = context.stop.within(context.timeout);
    let (mut found, mut cut, mut text) = (false, Vec::new(), String::new());
    let report = search(&root, &start, &walk, &pattern, &scan, &stop, |file| {
        text.clear();
        lines(&file, context_lines > 0, found, &mut text);
        found = true;
        if file.more {
            cut.push(format!(
                "{} has more matches than can be held; the rest is left out",
                file.path.display()
            ));
        }
        if write(&text) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let mut outcome = Outcome::new((), found);
    outcome.add_report(&report);
    outcome.warnings.extend(cut);
    Ok(Streamed { found, partial: report.stopped.is_some(), notes: notes(&outcome, Some(report.visited)) })
}

fn lines(file: &FileEvents, grouped: bool, follows: bool, text: &mut String) {
    let path = file.path.display();
    let mut previous = None;
    for event in &file.events {
        let adjacent = previous.is_some_and(|previous| previous + 1 == event.line_number);
        if grouped && !adjacent && (follows || previous.is_some()) {
            text.push_str("--\n");
        }
        previous = Some(event.line_number);
        let mark = if event.kind == EventKind::Match { ':' } else { '-' };
        let _ = writeln!(text, "{path}{mark}{}{mark}{}", event.line_number, line_text(&event.bytes));
    }
}

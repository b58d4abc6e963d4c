//! `Search` for a person or a pipe: every record as it is found.

use std::ops::ControlFlow;

use serde_json::json;

use super::record::SearchRecord;
use super::request::{PreparedSearch, SearchRequest};
use super::{Search, SearchResponse, render, run};
use crate::context::Context;
use crate::error::ToolError;
use crate::finish::Begun;
use crate::notes::notes;
use crate::outcome::{Answer, Limit, ToolOutcome};
use crate::tool::Tool as _;

/// The forms in which a stream is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFormat {
    /// `path:line:text`, and `path-line-text` for context, with `--` between groups.
    Lines,
    /// A record as JSON on each line; the last line is `{"type": "summary", "data": …}` with all that the answer of a
    /// call holds beside its records, and `error` when it ended before anything was found.
    Records,
}

/// Runs a search for all there is and hands over the records of each file, in path order, until `receive` breaks off.
///
/// # Errors
/// Of [`Search`]; also for `best_first`, which can be told only of a number of results.
pub fn each(
    context: &Context,
    request: SearchRequest,
    mut receive: impl FnMut(&[SearchRecord]) -> ControlFlow<()> + Send,
) -> Result<ToolOutcome<SearchResponse>, ToolError> {
    let begun = Begun::with(context, Search::path(&request));
    let prepared = prepare_all(context, request)?;
    let mut outcome = run(context, prepared, None, &mut |records| receive(records).is_continue())?;
    begun.complete::<Search>(&mut outcome, context, Vec::new());
    Ok(outcome)
}

fn prepare_all(context: &Context, request: SearchRequest) -> Result<PreparedSearch, ToolError> {
    let prepared = request.prepare(context, true)?;
    if prepared.best_first {
        return Err(ToolError::argument(
            "best_first",
            "the best of all can be told only with a limit on results; leave one of the two out",
        ));
    }
    Ok(prepared)
}

/// The outcome of a streamed search.
#[derive(Debug)]
pub struct Streamed {
    /// Whether anything was found.
    pub found: bool,
    /// The search did not finish.
    pub partial: bool,
    /// It found nothing because of that.
    pub problem: Option<String>,
    /// Records that were handed over, context lines included.
    pub count: usize,
    /// A limit cut it.
    pub truncated: bool,
    /// The time did.
    pub timed_out: bool,
    /// Sentences about what was not searched, what was cut and what went wrong.
    pub notes: Vec<String>,
}

/// Runs a `Search` request and hands its results over in pieces of whole lines until `write` returns false. With `all`
/// there is no limit on the number of results and on the length of their lines. It takes no type parameter, so that it is compiled
/// here and not with whoever calls it, who may have been built without optimisation.
pub fn stream(
    context: &Context,
    request: SearchRequest,
    format: StreamFormat,
    all: bool,
    write: &mut (dyn FnMut(&str) -> bool + Send),
) -> Result<Streamed, ToolError> {
    let begun = Begun::with(context, request.path.as_deref());
    let mut prepared = if all { prepare_all(context, request)? } else { request.prepare(context, false)? };
    let limit = if all { None } else { Some(prepared.max_results) };
    prepared.lines_only = format == StreamFormat::Lines && prepared.options.fuzzy == 0;
    let has_context = prepared.context_lines > 0;
    let (mut text, mut previous) = (String::new(), None);
    let (mut open, mut count) = (true, 0);
    let mut show = |records: &[SearchRecord]| {
        count += records.len();
        text.clear();
        for record in records {
            match format {
                StreamFormat::Records => {
                    text.push_str(&json!(record).to_string());
                    text.push('\n');
                }
                StreamFormat::Lines => {
                    if has_context {
                        let place = (record.data.path.text.clone(), record.data.line_number);
                        let follows = |last: (String, u64)| last.0 == place.0 && last.1 + 1 == place.1;
                        if previous.take().is_some_and(|last| !follows(last)) {
                            text.push_str("--\n");
                        }
                        previous = Some(place);
                    }
                    render::line(record, &mut text);
                }
            }
        }
        open = write(&text);
        open
    };
    let mut outcome = run(context, prepared, limit, &mut show)?;
    let found = outcome.found;
    begun.complete::<Search>(&mut outcome, context, Vec::new());
    let notes = notes(&outcome, Some(outcome.response.files_searched));
    let answer = Answer::of(outcome, context.text_bytes);
    let truncated = answer.truncated_by.is_some_and(Limit::is_overrun);
    let timed_out = answer.truncated_by == Some(Limit::Timeout);
    if open && format == StreamFormat::Records {
        let mut summary = answer.records().clone();
        if let Some(fields) = summary.as_object_mut() {
            fields.remove("matches");
            fields.remove("content");
        }
        let mut line = json!({ "type": "summary", "data": summary });
        if let (Some(problem), Some(fields)) = (&answer.problem, line.as_object_mut()) {
            fields.insert("error".to_owned(), json!(problem));
        }
        write(&format!("{line}\n"));
    }
    let (partial, problem) = (answer.partial(), answer.problem);
    Ok(Streamed { found, partial, problem, count, truncated, timed_out, notes })
}

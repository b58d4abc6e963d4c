//! `Search` for a person or a pipe: every record as it is found.

use std::borrow::Cow;
use std::ops::ControlFlow;

use forage_fs::Root;
use serde_json::{Value, json};

use super::record::SearchRecord;
use super::request::{PreparedSearch, SearchRequest};
use super::{Search, SearchResponse, render, run};
use crate::arguments::refuse_pages;
use crate::context::Context;
use crate::error::ToolError;
use crate::notes::notes;
use crate::outcome::{Answer, CallProblem, Limit, ToolOutcome};
use crate::records::{answer_schema, any_of, schema_of};
use crate::several::{RootTurn, in_turn, whole_path};

/// The forms in which a stream is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFormat {
    /// `path:line:text`, and `path-line-text` for context, with `--` between groups.
    Lines,
    /// The same for who marks what matched: finding where takes longer than finding which lines.
    MarkedLines,
    /// A record as JSON on each line; the last line is `{"type": "summary", "data": …}` with all that the answer of a
    /// call holds beside its records, and `error` when it ended before anything was found.
    Records,
}

/// Runs a search for all there is and hands over the records of each file, in path order, until `receive` breaks off.
///
/// # Errors
/// Of [`Search`]; also for `max_results` and `cursor`, which are for pages, and for `best_first`, which can be told only of a number of
/// results.
pub fn each(
    context: &Context,
    request: SearchRequest,
    mut receive: impl FnMut(&[SearchRecord]) -> ControlFlow<()> + Send,
) -> Result<ToolOutcome<SearchResponse>, ToolError> {
    in_turn::<Search>(context, &request, |turn, request| {
        let prepared = prepare_all(turn.context, request)?;
        let mut is_wanted = true;
        let outcome = run(turn.context, prepared, None, &mut |records| {
            is_wanted = receive(&named(records, turn.other)).is_continue();
            is_wanted
        })?;
        Ok((outcome, is_wanted))
    })
}

/// The records of a root, with whole paths where it is not the first.
fn named<'a>(records: &'a [SearchRecord], other: Option<&Root>) -> Cow<'a, [SearchRecord]> {
    let Some(root) = other else { return Cow::Borrowed(records) };
    let mut records = records.to_vec();
    records.iter_mut().for_each(|record| whole_path(root, &mut record.data.path.text));
    Cow::Owned(records)
}

fn prepare_all(context: &Context, request: SearchRequest) -> Result<PreparedSearch, ToolError> {
    refuse_pages(request.max_results, request.cursor.as_deref())?;
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
    pub problem: Option<CallProblem>,
    /// Records that were handed over, context lines included.
    pub count: usize,
    /// A limit cut it.
    pub truncated: bool,
    /// The time did.
    pub timed_out: bool,
    /// Sentences about what was not searched, what was cut and what went wrong.
    pub notes: Vec<String>,
}

/// Runs a `Search` request and hands its results over in pieces of whole lines, each with its records, until `write` returns false.
/// The summary has none. With `all`
/// there is no limit on the number of results and on the length of their lines. It takes no type parameter, so that it is compiled
/// here and not with whoever calls it, who may have been built without optimisation.
pub fn stream(
    context: &Context,
    request: SearchRequest,
    format: StreamFormat,
    all: bool,
    write: &mut (dyn FnMut(&str, &[SearchRecord]) -> bool + Send),
) -> Result<Streamed, ToolError> {
    let (mut text, mut previous) = (String::new(), None);
    let (mut open, mut count, mut left) = (true, 0, None);
    let mut show = |records: &[SearchRecord], has_context: bool| {
        count += records.len();
        text.clear();
        for record in records {
            match format {
                StreamFormat::Records => {
                    text.push_str(&json!(record).to_string());
                    text.push('\n');
                }
                StreamFormat::Lines | StreamFormat::MarkedLines => {
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
        open = write(&text, records);
        open
    };
    let outcome = in_turn::<Search>(context, &request, |turn, request| {
        let RootTurn { context, other, left: roots } = turn;
        let mut prepared =
            if all { prepare_all(context, request)? } else { request.prepare(context, false)? };
        // What one root leaves of its share the next ones have.
        let most = *left.get_or_insert(prepared.max_results);
        let limit = (!all).then(|| most.div_ceil(roots as u64).max(1));
        prepared.max_results = limit.unwrap_or(prepared.max_results);
        prepared.lines_only = format == StreamFormat::Lines && prepared.options.fuzzy == 0;
        let has_context = prepared.context_lines > 0;
        let mut is_open = true;
        let outcome = run(context, prepared, limit, &mut |records| {
            is_open = show(&named(records, other), has_context);
            is_open
        })?;
        left = Some(most.saturating_sub(outcome.response.count));
        Ok((outcome, is_open))
    })?;
    let notes = notes_of_all(&outcome);
    let answer = Answer::of(outcome, context.text_bytes);
    let found = answer.found;
    let truncated = answer.truncated_by.is_some_and(Limit::is_overrun);
    let timed_out = answer.truncated_by == Some(Limit::Timeout);
    if open && format == StreamFormat::Records {
        let mut summary = answer.records().clone();
        if let Some(others) = summary.get_mut("other_roots").and_then(Value::as_array_mut) {
            others.iter_mut().for_each(|other| *other = without_records(other.take()));
        }
        summary = without_records(summary);
        let mut line = json!({ "type": "summary", "data": summary });
        if let (Some(problem), Some(fields)) = (&answer.problem, line.as_object_mut()) {
            fields.insert("error".to_owned(), json!(problem.text));
            fields.insert("code".to_owned(), json!(problem.code));
        }
        write(&format!("{line}\n"), &[]);
    }
    let (partial, problem) = (answer.partial(), answer.problem);
    Ok(Streamed { found, partial, problem, count, truncated, timed_out, notes })
}

/// Returns the schema of the lines of [`StreamFormat::Records`].
pub fn line_schema() -> Value {
    let mut data = answer_schema::<Search>();
    let mut definitions = data["$defs"].take();
    if let Some(required) = data["required"].as_array_mut() {
        required.retain(|name| name != "matches");
    }
    data["properties"] = without_records(data["properties"].take());
    data["properties"]["other_roots"]["items"]["anyOf"][0] = json!({ "$ref": "#/$defs/SummaryData" });
    data["description"] = json!("What the search has to say beside its records.");
    if let Some(fields) = data.as_object_mut() {
        fields.remove("$defs");
    }
    definitions["SummaryData"] = data;
    let summary = json!({
        "type": "object",
        "description": "The last line.",
        "properties": {
            "type": { "const": "summary", "description": "What tells it from a record." },
            "data": { "$ref": "#/$defs/SummaryData" },
            "error": { "type": "string", "description": "What ended the search before anything was found." },
            "code": { "$ref": "#/$defs/ErrorCode", "description": "The same for programs." },
        },
        "required": ["type", "data"],
        "$defs": definitions,
    });
    any_of([("SearchRecord", schema_of::<SearchRecord>()), ("Summary", summary)])
}

/// What an answer holds beside the records that were handed over.
fn without_records(mut summary: Value) -> Value {
    if let Some(fields) = summary.as_object_mut() {
        fields.shift_remove("matches");
        fields.shift_remove("content");
    }
    summary
}

/// The notes of all roots, each with the name of its root where there are several.
fn notes_of_all(outcome: &ToolOutcome<SearchResponse>) -> Vec<String> {
    let of = |outcome: &ToolOutcome<SearchResponse>| notes(outcome, Some(outcome.response.files_searched));
    if outcome.others.is_empty() {
        return of(outcome);
    }
    let named = |root: &str, notes: Vec<String>| {
        let is_name = |note: &String| note.strip_prefix("root: ").is_some_and(|named| named == root);
        let own = notes.into_iter().filter(|note| !is_name(note));
        own.map(|note| format!("{root}: {note}")).collect::<Vec<_>>()
    };
    let first = outcome.root.as_ref().map_or("", |(root, _)| root.as_str());
    let others = outcome.others.iter().flat_map(|other| match &other.outcome {
        Ok(outcome) => named(&other.root, of(outcome)),
        Err(error) => named(&other.root, vec![format!("error: {error}")]),
    });
    named(first, of(outcome)).into_iter().chain(others).collect()
}

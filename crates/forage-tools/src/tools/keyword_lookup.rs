//! `keyword_lookup`: words looked up in a collection of sparse vectors.

mod render;

use std::time::Instant;

use forage_fs::{Pace, Stop};
use forage_sparse::{CollectionError, Filter, Hit, Lookup, LookupState, Retriever};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::arguments::{Clamp, Foreign};
use crate::border::{Border, Hidden};
use crate::context::Context;
use crate::error::ToolError;
use crate::limits;
use crate::outcome::{Limit, Outcome};
use crate::sanitize::without_hidden;
use crate::text::clip;
use crate::tool::Tool;

/// The tool.
pub struct KeywordLookup;

/// The arguments of `keyword_lookup`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Words to look up: an error code, an identifier, an id.
    query: String,
    /// Results to return, 1 to 100 (default: 10).
    limit: Option<i64>,
    /// Repository to look in, as the collection names it.
    repo: Option<String>,
    /// File to look in, by its whole path in the collection.
    path: Option<String>,
    /// Language to look in, such as "rust".
    language: Option<String>,
}

/// The records of `keyword_lookup`.
#[derive(Debug, Serialize)]
pub struct Response {
    query: String,
    /// Where was looked; empty where none is configured.
    collection: String,
    status: Status,
    /// Why nothing was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Best first; those that score the same by id.
    hits: Vec<Record>,
}

/// What became of the lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Found,
    /// Nothing has any of the words.
    NoMatch,
    /// The query has no word that can be looked up, as one of stop words alone.
    NoUsableWord,
    /// Nothing was looked up: queries can't be encoded.
    EncoderUnavailable,
    /// Nothing was looked up: the store doesn't answer.
    StoreUnavailable,
}

impl Status {
    /// Whether the answer tells what is in the collection.
    fn was_looked_up(self) -> bool {
        !matches!(self, Self::EncoderUnavailable | Self::StoreUnavailable)
    }

    /// As records and telemetry call it.
    fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::NoMatch => "no_match",
            Self::NoUsableWord => "no_usable_word",
            Self::EncoderUnavailable => "encoder_unavailable",
            Self::StoreUnavailable => "store_unavailable",
        }
    }
}

#[derive(Debug, Serialize)]
struct Record {
    id: String,
    score: f32,
    /// The payload fields that the configuration asks for; `text` to its first 4,000 bytes.
    payload: Map<String, Value>,
    /// The lines of the text that have most of the words.
    lines: Vec<LineRecord>,
}

#[derive(Debug, Serialize)]
struct LineRecord {
    /// Where the text says where it begins.
    line_number: Option<u64>,
    text: String,
}

impl Tool for KeywordLookup {
    const NAME: &'static str = "keyword_lookup";
    const TITLE: &'static str = "Look words up in a collection";
    const DESCRIPTION: &'static str = include_str!("keyword_lookup.md");
    const ON_BY_DEFAULT: bool = false;
    const IS_ABOUT_ROOTS: bool = false;
    const FOREIGN: &'static [(&'static str, Foreign)] = &[
        ("keywords", Foreign::Same("query")),
        ("keyword", Foreign::Same("query")),
        ("question", Foreign::Same("query")),
        ("pattern", Foreign::Same("query")),
        ("repository", Foreign::Same("repo")),
        ("file", Foreign::Same("path")),
        ("lang", Foreign::Same("language")),
        ("max_results", Foreign::Same("limit")),
        ("top_k", Foreign::Same("limit")),
    ];
    type Request = Request;
    type Response = Response;

    fn run(context: &Context, request: Request) -> Result<Outcome<Response>, ToolError> {
        let mut clamp = Clamp::default();
        let most = limits::LOOKUP_HITS_MAX;
        let limit = clamp.number("limit", request.limit, context.lookup.limit, 1, most);
        if request.query.trim().is_empty() {
            let problem = "it is empty; give the words to look up: an error code, an identifier, an id";
            return Err(ToolError::argument("query", problem));
        }
        if request.query.len() > limits::QUERY_BYTES {
            let problem = format!("it has more than {} bytes; give the words alone", limits::QUERY_BYTES);
            return Err(ToolError::argument("query", problem));
        }
        let retriever =
            context.lookup.retriever.as_ref().map_err(|problem| ToolError::Collection(problem.clone()))?;
        let named = [("repo", &request.repo), ("path", &request.path), ("language", &request.language)];
        let fields = named
            .into_iter()
            .filter_map(|(name, value)| value.as_ref().map(|value| (name.to_owned(), vec![value.clone()])));
        let filter = Filter { fields: fields.collect() };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let began = Instant::now();
        let stop = context.stop.within(context.timeout);
        let looked_up = retriever.look_up(&request.query, limit, &filter, &stop);
        if let Some(telemetry) = &context.lookup.telemetry {
            telemetry.record(event(context, retriever, limit, &looked_up, began));
        }
        let lookup = looked_up.map_err(|error| match error {
            CollectionError::Store(forage_sparse::StoreError::Cancelled) => ToolError::Cancelled,
            error => ToolError::Collection(error.to_string()),
        })?;
        let mut outcome = outcome(context, retriever, request.query, lookup, &stop);
        outcome.warnings.splice(..0, clamp.warnings);
        if context.stop.is_cancelled() { Err(ToolError::Cancelled) } else { Ok(outcome) }
    }
}

fn outcome(
    context: &Context,
    retriever: &Retriever,
    query: String,
    lookup: Lookup,
    stop: &Stop,
) -> Outcome<Response> {
    let status = status(&lookup.state);
    let reason = match &lookup.state {
        LookupState::EncoderUnavailable(reason) => Some(reason.clone()),
        LookupState::StoreUnavailable(error) => Some(error.to_string()),
        _ => None,
    };
    let words = words(&query);
    let text_field = &context.lookup.text_field;
    let pace = Pace::new(stop, COMPARED_BYTES_PER_LOOK);
    let mut hidden = Hidden::default();
    let mut border = Border::new(&context.redactor, &mut hidden);
    let hits = lookup.hits.into_iter().map(|hit| record(hit, text_field, &words, &pace, &mut border));
    let hits: Vec<Record> = hits.collect();
    let found = !hits.is_empty();
    let response = Response { query, collection: retriever.store.place(), status, reason, hits };
    let mut outcome = Outcome::new(response, found);
    outcome.hidden = hidden;
    if lookup.is_arbitrary {
        outcome.warnings.push(format!(
            "more than {} points score as the last of these, so that which of them are here is the store's choice; give \
             more words",
            forage_sparse::limits::HITS_ASKED
        ));
    }
    if !status.was_looked_up() {
        outcome.truncated_by = Some(Limit::Unavailable);
    } else if pace.is_stopped() {
        outcome.truncated_by = stop.check().map(Limit::from);
        outcome.warnings.push("of some results the first lines are shown, not the best ones".to_owned());
    }
    outcome
}

fn status(state: &LookupState) -> Status {
    match state {
        LookupState::Found => Status::Found,
        LookupState::NoMatch => Status::NoMatch,
        LookupState::NoWord => Status::NoUsableWord,
        LookupState::EncoderUnavailable(_) => Status::EncoderUnavailable,
        LookupState::StoreUnavailable(_) => Status::StoreUnavailable,
    }
}

/// What is told of a lookup: nothing of its words.
fn event(
    context: &Context,
    retriever: &Retriever,
    limit: usize,
    result: &Result<Lookup, CollectionError>,
    began: Instant,
) -> Map<String, Value> {
    let (state, error, count) = match result {
        Ok(lookup) => {
            let error = match &lookup.state {
                LookupState::EncoderUnavailable(_) => Some("encoder_unavailable"),
                LookupState::StoreUnavailable(error) => Some(error.kind()),
                _ => None,
            };
            (status(&lookup.state).name(), error, lookup.hits.len())
        }
        Err(error) => ("refused", Some(error.kind()), 0),
    };
    let is_fallback = matches!(result, Ok(Lookup { state: LookupState::EncoderUnavailable(_), .. }));
    let fields = [
        ("retrieval.backend", json!(retriever.backend)),
        ("retrieval.tool", json!(context.names.called(KeywordLookup::NAME))),
        ("retrieval.vector", json!(retriever.using)),
        ("retrieval.top_k", json!(limit)),
        ("retrieval.return_count", json!(count)),
        ("retrieval.latency_ms", json!(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX))),
        ("retrieval.sparse_fallback", json!(is_fallback)),
        ("retrieval.qdrant_timeout_s", json!(retriever.timeout.as_secs_f64())),
        ("retrieval.status", json!(state)),
    ];
    let error = error.map(|error| ("retrieval.error_type", json!(error)));
    fields.into_iter().chain(error).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The words of a query as lines are compared with them: in lower case.
fn words(query: &str) -> Vec<String> {
    let words = query.split(|character: char| !character.is_alphanumeric() && character != '_');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn record(hit: Hit, text_field: &str, words: &[String], pace: &Pace, border: &mut Border<'_>) -> Record {
    let Hit { id, score, mut payload } = hit;
    // Redacted whole, before anything is cut; a collection on a server was filled with redacted text already.
    payload.values_mut().for_each(|value| redact(value, border));
    let first = payload.get("lines").and_then(|lines| lines["start"].as_u64());
    let text = payload.get(text_field).and_then(Value::as_str).unwrap_or_default().to_owned();
    for value in payload.values_mut() {
        cut(value);
    }
    Record { id: id.to_string(), score, payload, lines: best_lines(&text, first, words, pace) }
}

/// Takes the secrets out of texts, at any depth, and writes out what hides text.
fn redact(value: &mut Value, border: &mut Border<'_>) {
    match value {
        Value::String(text) => {
            border.text(text);
            *text = without_hidden(text).into_owned();
        }
        Value::Array(values) => values.iter_mut().for_each(|value| redact(value, border)),
        Value::Object(fields) => fields.values_mut().for_each(|value| redact(value, border)),
        _ => {}
    }
}

/// Cuts long texts, at any depth.
fn cut(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > limits::LOOKUP_TEXT_BYTES => {
            *text = clip(text, limits::LOOKUP_TEXT_BYTES);
        }
        Value::Array(values) => values.iter_mut().for_each(cut),
        Value::Object(fields) => fields.values_mut().for_each(cut),
        _ => {}
    }
}

/// Bytes of lines that are compared with words between two looks at the deadline: some milliseconds.
const COMPARED_BYTES_PER_LOOK: u64 = 4 << 20;

/// The lines with most of the words, in the order of the text; the first ones if none has any, or if there is no time to
/// look for them.
fn best_lines(text: &str, first: Option<u64>, words: &[String], pace: &Pace) -> Vec<LineRecord> {
    let lines: Vec<&str> = text.lines().collect();
    let counted = lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(|(nth, line)| {
        let lower = line.to_lowercase();
        let is_in = |word: &&String| pace.allows(lower.len() as u64 + 1) && lower.contains(*word);
        (words.iter().filter(is_in).count(), nth)
    });
    let mut best: Vec<(usize, usize)> = counted.collect();
    best.sort_by_key(|&(count, nth)| (std::cmp::Reverse(count), nth));
    let has_any = best.first().is_some_and(|(count, _)| *count > 0);
    best.retain(|(count, _)| !has_any || *count > 0);
    best.truncate(limits::LOOKUP_LINES);
    best.sort_by_key(|&(_, nth)| nth);
    best.into_iter()
        .map(|(_, nth)| LineRecord {
            line_number: first.map(|first| first.saturating_add(nth as u64)),
            text: around(lines[nth].trim(), words, pace),
        })
        .collect()
}

/// A line, or of a long one the part around the first word.
fn around(line: &str, words: &[String], pace: &Pace) -> String {
    if line.len() <= limits::RANKED_LINE_BYTES {
        return line.to_owned();
    }
    let lower = line.to_lowercase();
    let find = |word: &String| if pace.allows(lower.len() as u64) { lower.find(word) } else { None };
    let first = words.iter().filter_map(find).min().unwrap_or(0);
    let begin = line.floor_char_boundary(first.saturating_sub(limits::RANKED_LINE_BYTES / 4).min(line.len()));
    let before = if begin > 0 { "…" } else { "" };
    clip(&format!("{before}{}", &line[begin..]), limits::RANKED_LINE_BYTES)
}

//! `keyword_lookup`: looks up words in a collection of sparse vectors.

mod conditions;
mod event;
mod records;
mod render;

use crate::multi_root::RootScope;
use std::collections::{BTreeSet, HashSet};
use std::time::Instant;

use aho_corasick::AhoCorasick;
use forage_base::{Pace, Stop};
use forage_lookup::{
    Adaptation, CollectionError, Lookup, LookupState, PointFilter, PointHit, Question, Retriever, Unanswered,
};
use forage_redact::RedactionReport;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

pub use self::event::fallback;
use self::records::status;
pub use self::records::{
    Has, LookupHit, LookupLine, LookupName, LookupResponse, LookupStatus, LookupWithoutFilter, Presence,
};
use crate::arguments::{ArgumentAlias, ArgumentAliases, Clamp};
use crate::call::Call;
use crate::error::ToolError;
use crate::limits;
use crate::outcome::{Limit, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::sanitize::without_hidden;
use crate::settings::LookupSettings;
use crate::text::{around_place, clip};
use crate::tool::{Tool, ToolSpec};

/// The `keyword_lookup` tool.
pub struct KeywordLookup;

/// The arguments of `keyword_lookup`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LookupRequest {
    /// Words to look up: an error code, an identifier, an id.
    pub query: String,
    /// Results to return, 1 to 100 (default: 10).
    pub limit: Option<i64>,
    /// Repository to look in, as the collection names it.
    pub repo: Option<String>,
    /// File to look in, by its whole path in the collection.
    pub path: Option<String>,
    /// Language to look in, such as "rust".
    pub language: Option<String>,
    /// Conditions on payload fields, all of which must hold: FIELD=VALUE, FIELD=VALUE|VALUE for any of them, or
    /// FIELD>=NUMBER (>, <=, <), such as ["modality=text", "page_id>=10"].
    pub filter: Option<Vec<String>>,
}

impl LookupRequest {
    /// Creates a request with the defaults: a lookup in the whole collection.
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), limit: None, repo: None, path: None, language: None, filter: None }
    }

    setters! {
        limit: i64,
        repo: String,
        path: String,
        language: String,
        filter: Vec<String>,
    }
}

impl Tool for KeywordLookup {
    const NAME: &'static str = "keyword_lookup";
    const ABOUT: RootScope = RootScope::None;
    const FOREIGN: &'static [ArgumentAliases] = &[
        (&["keywords", "keyword", "question", "pattern"], ArgumentAlias::Rename("query")),
        (&["repository"], ArgumentAlias::Rename("repo")),
        (&["file"], ArgumentAlias::Rename("path")),
        (&["lang"], ArgumentAlias::Rename("language")),
        (&["max_results", "top_k"], ArgumentAlias::Rename("limit")),
        (&["filters", "where"], ArgumentAlias::Rename("filter")),
    ];
    type Request = LookupRequest;
    type Response = LookupResponse;

    fn spec() -> ToolSpec {
        ToolSpec {
            method: "lookup".into(),
            is_on_by_default: false,
            is_about_roots: false,
            ..ToolSpec::new(
                Self::NAME,
                "Look words up in a collection",
                include_str!("keyword_lookup.md").trim_ascii_end(),
            )
        }
    }

    fn adapt(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
        conditions::adapt(fields)
    }

    fn run(call: &Call, request: LookupRequest) -> Result<ToolOutcome<LookupResponse>, ToolError> {
        let mut clamp = Clamp::new(&call.workspace.names, Self::NAME);
        let max = limits::LOOKUP_HITS_MAX;
        let limit = clamp.number("limit", request.limit, call.workspace.lookup.limit, 1, max);
        if request.query.trim().is_empty() {
            let problem = "it is empty; give the words to look up: an error code, an identifier, an id";
            return Err(ToolError::argument("query", problem));
        }
        if request.query.len() > limits::QUERY_BYTES {
            let problem = format!("it has more than {} bytes; give only the words", limits::QUERY_BYTES);
            return Err(ToolError::argument("query", problem));
        }
        let settings = &call.workspace.lookup;
        let retriever = settings.retriever.as_ref().map_err(|problem| {
            call.noted.lookup(fallback(call.workspace.names.called(Self::NAME), limit));
            ToolError::Collection { message: problem.clone(), hint: None }
        })?;
        let named = [("repo", &request.repo), ("path", &request.path), ("language", &request.language)];
        let named = named.into_iter().filter_map(|(name, value)| {
            Some(PointFilter::any_of(name, [value.as_ref()?.as_str()]).conditions)
        });
        let mut conditions: Vec<_> = named.flatten().collect();
        let fields = conditions::filterable(&retriever.fields, &settings.text_field);
        conditions.extend(conditions::parse(request.filter.as_deref().unwrap_or_default(), &fields)?);
        let filter = PointFilter { conditions, ids: None };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let began = Instant::now();
        let stop = call.stop.within(call.limits.timeout);
        let looked_up = retriever.look_up(&request.query, limit, &filter, &stop);
        let tool = call.workspace.names.called(Self::NAME);
        call.noted.lookup(event::event(tool, retriever, limit, &looked_up, began));
        let lookup = looked_up.map_err(|error| match error {
            CollectionError::Store(forage_lookup::StoreError::Cancelled) => ToolError::Cancelled,
            error => ToolError::Collection { message: error.to_string(), hint: error.hint() },
        })?;
        let mut outcome = outcome(call, retriever, request.query, &filter, lookup, &stop);
        outcome.warnings.splice(..0, clamp.warnings);
        if call.stop.is_cancelled() { Err(ToolError::Cancelled) } else { Ok(outcome) }
    }
}

fn outcome(
    call: &Call,
    retriever: &Retriever,
    query: String,
    filter: &PointFilter,
    lookup: Lookup,
    stop: &Stop,
) -> ToolOutcome<LookupResponse> {
    let status = status(&lookup);
    let reason = match &lookup.state {
        LookupState::EncoderUnavailable(reason) => Some(reason.clone()),
        LookupState::StoreUnavailable(error) => {
            Some(format!("{error}{}", call.workspace.names.hint(error.hint())))
        }
        _ => None,
    };
    let words = Words::from_query(&query);
    let settings = &call.workspace.lookup;
    let pace = Pace::new(stop, limits::LOOKUP_COMPARED_BYTES);
    let mut warnings: Vec<String> = lookup.adapted.iter().map(adapted).collect();
    warnings.extend(unanswered(&lookup));
    let mut hidden = RedactionReport::default();
    let mut redactor = OutputRedactor::new(&call.workspace.redactor, &mut hidden);
    let mut held = lookup.held.into_iter().map(Has::from);
    // We stop here if the call was cancelled: texts can have megabytes, and no one waits for this answer.
    let hits = lookup
        .hits
        .into_iter()
        .take_while(|_| !call.stop.is_cancelled())
        .map(|hit| LookupHit { has: held.next(), ..record(hit, settings, &words, &pace, &mut redactor) });
    let hits: Vec<LookupHit> = hits.collect();
    // A name that no text contains must count as not found, even if some texts contain parts of it.
    let found = status == LookupStatus::Found;
    let response = LookupResponse {
        query,
        collection: retriever.store.place(),
        status,
        reason,
        filter: filter.conditions.iter().map(ToString::to_string).collect(),
        name: lookup.name.map(LookupName::from_facts),
        without_filter: lookup.beyond.map(LookupWithoutFilter::from_counts),
        cut: lookup.cut,
        hits,
    };
    let mut outcome = ToolOutcome::new(response, found);
    outcome.hidden = hidden;
    outcome.warnings.extend(warnings);
    if lookup.is_arbitrary {
        outcome.warnings.push(
            "more points than can be requested have about the lowest of these scores, so the store chose which ones to \
             return; give more words"
                .to_owned(),
        );
    }
    if !status.was_looked_up() {
        outcome.truncated_by = Some(Limit::Unavailable);
    } else if pace.is_stopped() {
        outcome.truncated_by = stop.check().map(Limit::from);
        outcome.warnings.push("some results show their first lines instead of their best ones".to_owned());
    }
    outcome
}

/// Describes how the search of a collection differed from the settings.
fn adapted(adapted: &Adaptation) -> String {
    match adapted {
        Adaptation::Vector { asked, used } => {
            format!("the collection has no sparse vector `{asked}`; its only one, `{used}`, was searched")
        }
        Adaptation::Text { asked, used } => {
            format!("the payload has no text in `{asked}`; the text of `{used}` is shown as `{asked}`")
        }
        Adaptation::NoIdf { vector, is_weighed, common } => {
            let max = forage_lookup::limits::HITS_ASKED;
            let weighing = match (is_weighed, common) {
                (false, _) => "a common word counts as much as a rare one".to_owned(),
                (true, 0) => {
                    "words were still weighted by how many points have them, which takes more requests"
                        .to_owned()
                }
                (true, common) => format!(
                    "words were weighted by how many points have them, counted up to {max}: {common} of the words or \
                     word parts are in that many or more, and all have the same weight"
                ),
            };
            format!(
                "the sparse vector `{vector}` has no IDF modifier: {weighing}; Qdrant sets it with \
                 sparse_vectors.{vector}.modifier = \"idf\""
            )
        }
    }
}

/// Writes a sentence for each question that the store left unanswered after it had returned results.
fn unanswered(lookup: &Lookup) -> Vec<String> {
    let mut reported: Vec<Question> = Vec::new();
    let mut warnings = Vec::new();
    for Unanswered { question, error } in &lookup.unanswered {
        if reported.contains(question) {
            continue;
        }
        reported.push(*question);
        let left_open = match question {
            Question::Rarity => "words are weighted by the shard of each result, which changes the order",
            Question::Ties => "the store chose which of the results with the lowest score are here",
            Question::Name => "results with the whole name may be missing, or rank below others",
            Question::Beyond => "the results without the filter are not known",
        };
        let when = match question {
            Question::Rarity => "the store did not say how rare the words are",
            Question::Ties | Question::Name | Question::Beyond => {
                "the store stopped answering after it had returned these results"
            }
        };
        warnings.push(format!("{when} ({error}), so {left_open}; look it up again"));
    }
    warnings
}

/// Words of a query, in lower case. We search a line for all of them in one pass.
struct Words(Option<AhoCorasick>);

impl Words {
    fn from_query(query: &str) -> Self {
        let words = query.split(|character: char| !character.is_alphanumeric() && character != '_');
        let words: BTreeSet<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
        // This can fail only beyond billions of states, and the length of a query is limited. Without words,
        // the first lines count as the best.
        Self(AhoCorasick::new(words).ok())
    }

    /// Counts how many of the words a line contains. Also returns the byte offset of the first one in the
    /// lower-case line.
    fn in_line(&self, line: &str) -> (usize, Option<usize>) {
        let lower = line.to_lowercase();
        let matches = self.0.iter().flat_map(|words| words.find_overlapping_iter(&lower));
        let (mut seen, mut first) = (HashSet::new(), None);
        for found in matches {
            seen.insert(found.pattern());
            first = Some(first.map_or(found.start(), |first: usize| first.min(found.start())));
        }
        (seen.len(), first)
    }
}

fn record(
    hit: PointHit,
    settings: &LookupSettings,
    words: &Words,
    pace: &Pace,
    redactor: &mut OutputRedactor<'_>,
) -> LookupHit {
    let PointHit { id, score, mut payload } = hit;
    // We must redact the whole text before we cut anything. Note that a collection on a server may contain
    // redacted text already.
    payload.values_mut().for_each(|value| texts(value, &mut |text| redact(text, redactor)));
    let first = payload.get("lines").and_then(|lines| lines["start"].as_u64());
    let text = payload.get(&settings.text_field).and_then(Value::as_str).unwrap_or_default();
    let text = without_hidden(text).into_owned();
    if !settings.as_stored {
        let show = &mut |text: &mut String| {
            *text = clip(&without_hidden(text), limits::LOOKUP_TEXT_BYTES);
        };
        payload.values_mut().for_each(|value| texts(value, show));
    }
    LookupHit { id: id.to_string(), score, has: None, payload, lines: best_lines(&text, first, words, pace) }
}

/// Changes the texts of a value, at any depth.
fn texts(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(values) => values.iter_mut().for_each(|value| texts(value, change)),
        Value::Object(fields) => fields.values_mut().for_each(|value| texts(value, change)),
        _ => {}
    }
}

/// Redacts a text. If it is JSON, e.g. a node of LlamaIndex, we must redact the strings in it first. The
/// serialized form has no lines, and a secret in it would end with half an escape.
fn redact(text: &mut String, redactor: &mut OutputRedactor<'_>) {
    if let Ok(written @ Value::Object(_)) = serde_json::from_str(text) {
        let mut redacted = written.clone();
        texts(&mut redacted, &mut |text| redactor.text(text));
        if redacted != written {
            *text = redacted.to_string();
        }
    }
    redactor.text(text);
}

/// Selects the lines with the most words, in the order of the text, or the first lines if no line has any. If
/// there is no time to search a line, it counts as having none.
fn best_lines(text: &str, first: Option<u64>, words: &Words, pace: &Pace) -> Vec<LookupLine> {
    let lines: Vec<&str> = text.lines().collect();
    let filled = lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let counted = filled.map(|(index, line)| {
        let count = if pace.allows(line.len() as u64 + 1) { words.in_line(line).0 } else { 0 };
        (count, index)
    });
    let mut best: Vec<(usize, usize)> = counted.collect();
    best.sort_by_key(|&(count, index)| (std::cmp::Reverse(count), index));
    let has_any = best.first().is_some_and(|(count, _)| *count > 0);
    best.retain(|(count, _)| !has_any || *count > 0);
    best.truncate(limits::LOOKUP_LINES);
    best.sort_by_key(|&(_, index)| index);
    best.into_iter()
        .map(|(_, index)| LookupLine {
            line_number: first.map(|first| first.saturating_add(index as u64)),
            text: around(lines[index].trim(), words, pace),
        })
        .collect()
}

/// Formats a line. A long line is cut to the part around its first word.
fn around(line: &str, words: &Words, pace: &Pace) -> String {
    if line.len() <= limits::RANKED_LINE_CHARACTERS {
        return line.to_owned();
    }
    let first = if pace.allows(line.len() as u64) { words.in_line(line).1 } else { None };
    // The lower-case line may have another length, so this offset is only approximate.
    let place = line.floor_char_boundary(first.unwrap_or(0).min(line.len()));
    around_place(line, limits::RANKED_LINE_CHARACTERS, Some(&(place..place)))
}

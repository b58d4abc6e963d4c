//! `Search`: structured line search. Regex, literal, word and fuzzy; the embedded engine or real `ugrep` and `rg`.

mod best;
mod engine;
mod page;
mod record;
mod render;
mod request;
mod stream;

use forage_base::Stopped;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::adapted;
use crate::arguments::Foreign;
use crate::border::{Border, Hidden};
use crate::context::Context;
use crate::error::ToolError;
use crate::file_names::fits_elsewhere;
use crate::outcome::{Limit, ToolOutcome};
use crate::place::no_file_fits;
use crate::records::schema_of;
use crate::several::AboutRoots;
use crate::tool::{RecordReceiver, Tool};
use crate::verdict::{CallVerdict, unseen_matches};

pub use record::{SearchData, SearchRecord, SearchText, Submatch};
pub use request::{CaseRule, SearchRequest};
pub use stream::each;

use best::BestPage;
use engine::EMBEDDED;
use page::{PathPage, Show, TakenPage};
use request::PreparedSearch;

/// The tool.
pub struct Search;

/// The answer of `Search`.
#[derive(Debug, JsonSchema, Serialize)]
pub struct SearchResponse {
    /// The pattern, as the caller wrote it.
    pub pattern: String,
    /// Where was searched, below the root.
    pub path: String,
    /// Events: matching lines and lines of context.
    pub count: u64,
    /// Matching lines among them.
    pub match_count: u64,
    /// The events, in path order or the nearest first.
    pub matches: Vec<SearchRecord>,
    /// Files with matches, of an answer in path order.
    #[serde(skip)]
    pub files: u64,
    /// Whether the time was over first.
    pub timed_out: bool,
    /// `embedded`, `ugrep` or `rg`.
    pub engine: &'static str,
    /// That of an external engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What an external engine wrote to stderr.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Files that were searched.
    pub files_searched: u64,
    /// This answer continues another: the counts are of what follows it.
    pub continued: bool,
    /// `glob` was given and no file fits it.
    pub no_file_chosen: bool,
    /// For a search without hits: what is in files that were not searched.
    pub not_searched: CallVerdict,
}

impl Tool for Search {
    const NAME: &'static str = "Search";
    const METHOD: &'static str = "search";
    const ALIASES: &'static [&'static str] = &["search", "rg", "ripgrep", "ugrep", "ug"];
    const TITLE: &'static str = "Search lines";
    const DESCRIPTION: &'static str = include_str!("search.md");
    const ON_BY_DEFAULT: bool = false;
    const ABOUT: AboutRoots = AboutRoots::Each;
    const INCLUDES_NOISE: &'static str = "no_ignore searches them";
    const OF_PAGES: &'static [&'static str] = &["best_first", "max_results", "cursor"];
    const FOREIGN: &'static [(&'static str, Foreign)] = &[
        ("query", Foreign::Same("pattern")),
        ("regex", Foreign::Same("pattern")),
        ("search", Foreign::Same("pattern")),
        ("file_pattern", Foreign::Same("glob")),
        ("globs", Foreign::Same("glob")),
        ("include", Foreign::Same("glob")),
        ("include_pattern", Foreign::Same("glob")),
        ("directory", Foreign::Same("path")),
        ("dir", Foreign::Same("path")),
        ("dir_path", Foreign::Same("path")),
        ("file", Foreign::Same("path")),
        ("file_path", Foreign::Same("path")),
        ("paths", Foreign::Same("path")),
        ("context_lines", Foreign::Same("context")),
        ("-C", Foreign::Same("context")),
        ("limit", Foreign::Same("max_results")),
        ("head_limit", Foreign::Same("max_results")),
        ("max_count", Foreign::Same("max_results")),
        ("timeout", Foreign::Same("timeout_ms")),
        ("literal", Foreign::Same("fixed_strings")),
        ("fixed_string", Foreign::Same("fixed_strings")),
        ("-F", Foreign::Same("fixed_strings")),
        ("word", Foreign::Same("word_regexp")),
        ("whole_word", Foreign::Same("word_regexp")),
        ("-w", Foreign::Same("word_regexp")),
        ("distance", Foreign::Same("fuzzy")),
        ("edits", Foreign::Same("fuzzy")),
        ("include_hidden", Foreign::Same("hidden")),
        ("multiline", Foreign::Missing("patterns match within a line; search for one of the lines")),
        ("offset", Foreign::Missing("pass the `cursor` of the answer before to go on")),
    ];
    type Request = SearchRequest;
    type Response = SearchResponse;

    fn adapt(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
        adapted::to_search(fields)
    }

    fn path(request: &SearchRequest) -> Option<&str> {
        request.path.as_deref()
    }

    fn most<'a>(request: &'a mut SearchRequest, context: &Context) -> Option<(&'a mut Option<i64>, u64)> {
        Some((&mut request.max_results, context.search.max_results))
    }

    fn run(context: &Context, request: SearchRequest) -> Result<ToolOutcome<SearchResponse>, ToolError> {
        let (path, globs) = (request.path.clone(), request.glob.clone());
        let prepared = request.prepare(context, false)?;
        let limit = prepared.max_results;
        let mut outcome = run(context, prepared, Some(limit), &mut |_| true)?;
        if outcome.response.no_file_chosen
            && let Some([glob]) = globs.as_deref()
        {
            outcome.warnings.extend(fits_elsewhere(context, path.as_deref(), "glob", glob));
        }
        Ok(outcome)
    }

    fn piece_schema() -> Option<Value> {
        Some(schema_of::<SearchRecord>())
    }

    fn each(
        context: &Context,
        request: SearchRequest,
        receive: RecordReceiver<'_>,
    ) -> Result<ToolOutcome<SearchResponse>, ToolError> {
        each(context, request, |records| records.iter().try_for_each(|record| receive(json!(record))))
    }
}

/// Runs a request; `show` gets every record as it is found and ends the search by returning false. Without a limit
/// the records are shown and not kept.
fn run(
    context: &Context,
    mut prepared: PreparedSearch,
    limit: Option<u64>,
    show: &mut Show<'_>,
) -> Result<ToolOutcome<SearchResponse>, ToolError> {
    let stop = prepared.stop.clone();
    let continued = prepared.cursor.is_some();
    let mut hidden = Hidden::default();
    let mut border = Border::new(&context.redactor, &mut hidden);
    let (ended, taken) = if prepared.best_first {
        let scan = prepared.scan(context, limit, &border);
        let mut page = BestPage::new(prepared.max_results, &scan, prepared.cursor.as_ref());
        let ended = prepared.search(&scan, &stop, |file| page.add(file))?;
        (ended, page.finish(&mut border, show))
    } else {
        let mut page = PathPage::new(limit, prepared.options.fuzzy > 0, show);
        let scan = prepared.scan(context, limit, &border);
        let mut ended = prepared.search(&scan, &stop, |file| page.add(file, &mut border))?;
        // What is held of one file at a time is bounded, even where the answer is not.
        while let Some(place) = page.rest_of_file() {
            prepared.go_on_behind(place);
            let scan = prepared.scan(context, limit, &border);
            ended.go_on(prepared.search(&scan, &stop, |file| page.add(file, &mut border))?);
        }
        (ended, page.finish())
    };
    if prepared.globs_in_path.is_some() && ended.walk.visited == 0 && ended.walk.stopped.is_none() {
        return Err(no_file_fits(prepared.globs_in_path.as_deref()));
    }
    let TakenPage { records, count, matches, files, full, by_bytes, last } = taken;
    let complete = ended.walk.stopped.is_none() && !ended.walk.too_many_entries && !ended.incomplete;
    // In path order a page that is full lacks nothing, whatever ran out then. The best of what was searched in time
    // need not be the best: there is nothing that could be gone on from.
    let full = full && !(prepared.best_first && ended.walk.stopped.is_some());
    let looks = count == 0 && complete && !continued;
    let not_searched = match &prepared.pattern {
        // What the configuration leaves out is left out in any case.
        _ if looks && prepared.sees_everything() && context.excludes.is_none() => {
            CallVerdict::nothing_hidden(&ended.walk)
        }
        Some(pattern) if looks => {
            let PreparedSearch { root, start, walk, .. } = &prepared;
            let searched = Some(&ended.walk).filter(|_| ended.engine == EMBEDDED);
            unseen_matches(context, root, start, walk, pattern, searched, &stop)
        }
        _ => CallVerdict::none(),
    };
    let mut outcome = ToolOutcome::new(
        SearchResponse {
            path: prepared.start.display().into_owned(),
            count,
            match_count: matches,
            files,
            matches: records,
            timed_out: !full && ended.walk.stopped == Some(Stopped::Deadline),
            engine: ended.engine,
            exit_code: ended.exit_code,
            stderr: ended.stderr,
            files_searched: ended.walk.searched(),
            continued,
            no_file_chosen: prepared.walk.globs.is_some() && ended.walk.visited == 0,
            not_searched,
            pattern: prepared.text,
        },
        count > 0,
    );
    outcome.hidden = hidden;
    outcome.warnings = prepared.warnings;
    outcome.warnings.extend(ended.notes);
    outcome.add_report(&ended.walk);
    if full {
        outcome.truncated_by = Some(if by_bytes { Limit::FileBytes } else { Limit::MaxResults });
        outcome.next_cursor = last.map(|place| place.encode(prepared.fingerprint));
    }
    if ended.incomplete {
        outcome.truncated_by = Some(Limit::Engine);
    }
    Ok(outcome)
}

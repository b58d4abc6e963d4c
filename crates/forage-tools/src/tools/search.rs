//! `Search`: structured line search with regex, literal, word and fuzzy matching. Runs the embedded engine or
//! an external `ugrep` or `rg`.

mod record;
mod render;
mod request;

use std::ops::ControlFlow;

use forage_base::Stopped;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::adapted;
use super::line_search::{LineSearch, LinesFound};
use crate::arguments::{ArgumentAlias, ArgumentAliases, refuse_pages};
use crate::call::Call;
use crate::error::ToolError;
use crate::file_names::fits_elsewhere;
use crate::multi_root::{RootScope, in_turn, whole_path};
use crate::outcome::ToolOutcome;
use crate::records::schema_of;
use crate::tool::{RecordReceiver, Tool, ToolSpec};
use crate::verdict::CallVerdict;

pub use record::{SearchData, SearchRecord, SearchText, Submatch};
pub use request::{CaseRule, SearchRequest};

/// The `Search` tool.
pub struct Search;

/// The records that `Search` returns.
#[derive(Debug, JsonSchema, Serialize)]
pub struct SearchResponse {
    /// The pattern, as the caller wrote it.
    pub pattern: String,
    /// The directory or file that was searched, below the root.
    pub path: String,
    /// Events: matching lines and lines of context.
    pub count: u64,
    /// Matching lines among them.
    pub match_count: u64,
    /// The events, in path order or the nearest first.
    pub matches: Vec<SearchRecord>,
    /// Number of files with matches. Counted in path order only.
    #[serde(skip)]
    pub files: u64,
    /// True if the time limit ended the search.
    pub timed_out: bool,
    /// `embedded`, `ugrep` or `rg`.
    pub engine: &'static str,
    /// Exit code of an external engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Standard error of an external engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Files that were searched.
    pub files_searched: u64,
    /// This answer continues another. Its counts exclude the earlier ones.
    pub continued: bool,
    /// No file matches `glob`.
    pub no_file_chosen: bool,
    /// For a search without matches: the result of a check of the excluded files.
    pub not_searched: CallVerdict,
}

impl Tool for Search {
    const NAME: &'static str = "Search";
    const ABOUT: RootScope = RootScope::PerRoot;
    const INCLUDES_NOISE: Option<&'static str> = Some("{Search.no_ignore} searches them");
    const OF_PAGES: &'static [&'static str] = &["best_first", "max_results", "cursor"];
    const FOREIGN: &'static [ArgumentAliases] = &[
        (&["query", "regex", "search"], ArgumentAlias::Rename("pattern")),
        (&["file_pattern", "globs", "include", "include_pattern"], ArgumentAlias::Rename("glob")),
        (&["directory", "dir", "dir_path", "file", "file_path", "paths"], ArgumentAlias::Rename("path")),
        (&["context_lines", "-C"], ArgumentAlias::Rename("context")),
        (&["limit", "head_limit", "max_count"], ArgumentAlias::Rename("max_results")),
        (&["timeout"], ArgumentAlias::Rename("timeout_ms")),
        (&["literal", "fixed_string", "-F"], ArgumentAlias::Rename("fixed_strings")),
        (&["word", "whole_word", "-w"], ArgumentAlias::Rename("word_regexp")),
        (&["distance", "edits"], ArgumentAlias::Rename("fuzzy")),
        (&["include_hidden"], ArgumentAlias::Rename("hidden")),
        (
            &["multiline"],
            ArgumentAlias::Unsupported("patterns match within a line; search for one of the lines"),
        ),
        (&["offset"], ArgumentAlias::Unsupported("to continue, pass the `cursor` of the previous answer")),
    ];
    type Request = SearchRequest;
    type Response = SearchResponse;

    fn spec() -> ToolSpec {
        ToolSpec {
            method: "search".into(),
            aliases: &["search", "rg", "ripgrep", "ugrep", "ug"],
            is_on_by_default: false,
            ..ToolSpec::new(Self::NAME, "Search lines", include_str!("search.md").trim_ascii_end())
        }
    }

    fn adapt(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
        adapted::to_search(fields)
    }

    fn path(request: &SearchRequest) -> Option<&str> {
        request.path.as_deref()
    }

    fn max_results<'a>(request: &'a mut SearchRequest, call: &Call) -> Option<(&'a mut Option<i64>, u64)> {
        Some((&mut request.max_results, call.workspace.search.max_results))
    }

    fn run(call: &Call, request: SearchRequest) -> Result<ToolOutcome<SearchResponse>, ToolError> {
        let (asked, max_results) = request.asked(call, false);
        let mut search = LineSearch::new::<Self>(call, &request, asked)?;
        let is_fuzzy = request.is_fuzzy();
        let mut records = Vec::new();
        let found = search.run(Some(max_results), &mut |file| {
            records.extend(SearchRecord::from_file(&file, is_fuzzy));
            ControlFlow::Continue(())
        })?;
        let mut outcome = respond(&search, &request, found, records)?;
        if outcome.response.no_file_chosen
            && let Some([glob]) = request.glob.as_deref()
        {
            outcome.warnings.extend(fits_elsewhere(call, request.path.as_deref(), "glob", glob));
        }
        Ok(outcome)
    }

    fn piece_schema() -> Option<Value> {
        Some(schema_of::<SearchRecord>())
    }

    fn each(
        call: &Call,
        request: SearchRequest,
        receive: RecordReceiver<'_>,
    ) -> Result<ToolOutcome<SearchResponse>, ToolError> {
        each(call, request, |records| records.iter().try_for_each(|record| receive(json!(record))))
    }
}

/// Searches without a limit and passes the records of each file to `receive`, in path order, until it breaks.
///
/// # Errors
///
/// Fails with the errors of [`Search`]. Also fails if `max_results` or `cursor` is set: these are for pages.
/// A fuzzy search must not set `best_first`, since this needs a limit on results.
pub fn each(
    call: &Call,
    request: SearchRequest,
    mut receive: impl FnMut(&[SearchRecord]) -> ControlFlow<()> + Send,
) -> Result<ToolOutcome<SearchResponse>, ToolError> {
    refuse_pages(request.max_results, request.cursor.as_deref())?;
    let is_fuzzy = request.is_fuzzy();
    if is_fuzzy && request.best_first == Some(true) {
        return Err(ToolError::argument(
            "best_first",
            "it needs a limit on results; omit it, or set a limit",
        ));
    }
    in_turn::<Search>(call, &request, |turn, request| {
        let (asked, _) = request.asked(turn.call, true);
        let mut search = LineSearch::new::<Search>(turn.call, &request, asked)?;
        let mut is_wanted = true;
        let found = search.run(None, &mut |mut file| {
            turn.other.into_iter().for_each(|root| whole_path(root, &mut file.path));
            let flow = receive(&SearchRecord::from_file(&file, is_fuzzy));
            is_wanted = flow.is_continue();
            flow
        })?;
        Ok((respond(&search, &request, found, Vec::new())?, is_wanted))
    })
}

/// Builds the outcome of a search.
fn respond(
    search: &LineSearch<'_>,
    request: &SearchRequest,
    mut found: LinesFound,
    matches: Vec<SearchRecord>,
) -> Result<ToolOutcome<SearchResponse>, ToolError> {
    let end = &mut found.end;
    let is_whole = end.walk.stopped.is_none() && !end.walk.too_many_entries && !end.incomplete;
    let not_searched = search.verdict(&end.walk, found.lines == 0 && is_whole)?;
    let response = SearchResponse {
        pattern: request.pattern.clone(),
        path: search.start.display().into_owned(),
        count: found.lines,
        match_count: found.matches,
        matches,
        files: found.files,
        // If this page is full in path order, it is complete even if time ran out afterwards.
        timed_out: found.limit.is_none() && end.walk.stopped == Some(Stopped::Deadline),
        engine: end.engine,
        exit_code: end.exit_code,
        stderr: end.stderr.take(),
        files_searched: end.walk.searched(),
        continued: search.cursor.is_some(),
        no_file_chosen: search.no_file_chosen(&end.walk),
        not_searched,
    };
    Ok(search.outcome(response, found))
}

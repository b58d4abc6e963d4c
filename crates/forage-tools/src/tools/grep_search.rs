//! `grep_search`: searches files for a regex, grouped by file.

mod impact;
mod referencing_files;
pub(super) mod remaining;
mod render;
mod request;
mod uses;

use std::ops::ControlFlow;

use forage_fs::{RelPath, SkipReason, WalkReport};
use forage_search::SearchEvent;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub use self::impact::{GrepImpact, ImpactDefinition, ImpactEdge, ImpactFile, ImpactTests};
pub use self::referencing_files::UsesCache;
use self::remaining::Rest;
pub use self::request::{GrepOutput, GrepRequest};
pub use self::uses::{GrepDefinition, GrepReceiver, GrepWithin};
use super::adapted;
use super::line_search::{FoundFile, LineSearch, LinesFound, ResultUnit};
use crate::arguments::{ArgumentAlias, ArgumentAliases, Clamp, refuse_pages};
use crate::call::Call;
use crate::cursor::Group;
use crate::error::ToolError;
use crate::file_names::fits_elsewhere;
use crate::limits;
use crate::lines::{event_text, kind_name};
use crate::multi_root::{RootScope, in_turn, whole_path};
use crate::outcome::ToolOutcome;
use crate::records::schema_of;
use crate::tool::{RecordReceiver, Tool, ToolSpec};
use crate::verdict::CallVerdict;

/// The `grep_search` tool.
pub struct GrepSearch;

/// The records that `grep_search` returns.
#[derive(Debug, JsonSchema, Serialize)]
pub struct GrepResponse {
    /// The pattern, as the caller wrote it.
    pub pattern: String,
    /// The directory or file that was searched, below the root.
    pub path: String,
    /// Matching lines, shown or not; a lower bound unless `totals_exact`.
    pub match_count: u64,
    /// Files with matching lines; a lower bound unless `totals_exact`.
    pub file_count: u64,
    /// True if both counts are exact.
    pub totals_exact: bool,
    /// Files whose text was searched.
    pub files_searched: u64,
    /// Files with matching lines, in path order.
    pub files: Vec<GrepFile>,
    /// With uses: definitions of the name. Those in tests and those without a body come last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<GrepDefinition>,
    /// Number of all definitions that were found.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub definition_count: u64,
    /// With uses: types that implement or extend the name. Those in tests come last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub implementations: Vec<GrepDefinition>,
    /// Number of all implementations that were found.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub implementation_count: u64,
    /// The name whose uses are requested, without its qualifier.
    #[serde(skip)]
    name: String,
    /// With uses: the type or module of a qualified name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qualifier: Option<String>,
    /// Lines that this page excludes, because the name belongs to another type or module there.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub left_out_count: u64,
    /// These types and modules, those with the most lines first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<GrepReceiver>,
    /// The impact of a definition or of a change, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impact: Option<GrepImpact>,
    /// Directories with further matches that are not in `files`, those with the most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<remaining::GrepDirectory>,
    /// No file matches `file_pattern`.
    pub no_file_chosen: bool,
    /// This page continues another. Its counts exclude the earlier pages, except with `output: "uses"`.
    pub continued: bool,
    /// For a search without matches: the result of a check of the excluded files.
    pub not_searched: CallVerdict,
    /// Depth of the directories by which we count the matches that are not shown.
    #[serde(skip)]
    depth: usize,
    /// Fingerprint that cursors are bound to.
    #[serde(skip)]
    bound: u64,
    /// True if the caller set the number of context lines.
    #[serde(skip)]
    context_is_asked_for: bool,
    /// The kind of output that the caller requested.
    #[serde(skip)]
    output: GrepOutput,
    /// True if a cursor can continue this answer.
    #[serde(skip)]
    has_pages: bool,
}

impl GrepResponse {
    /// Creates a response without results.
    fn for_request(request: &GrepRequest) -> Self {
        Self {
            pattern: request.pattern.clone(),
            path: String::new(),
            match_count: 0,
            file_count: 0,
            totals_exact: false,
            files_searched: 0,
            files: Vec::new(),
            definitions: Vec::new(),
            definition_count: 0,
            implementations: Vec::new(),
            implementation_count: 0,
            name: String::new(),
            qualifier: None,
            left_out_count: 0,
            left_out: Vec::new(),
            impact: None,
            elsewhere: Vec::new(),
            no_file_chosen: false,
            continued: false,
            not_searched: CallVerdict::none(),
            depth: 0,
            bound: 0,
            context_is_asked_for: request.asks_for_context(),
            output: request.output.unwrap_or_default(),
            has_pages: true,
        }
    }
}

/// A file with matching lines.
#[derive(Debug, JsonSchema, Serialize)]
pub struct GrepFile {
    #[serde(skip)]
    place: RelPath,
    /// First sort key of the file, for cursors.
    #[serde(skip)]
    group: Group,
    /// Its path below the root.
    pub path: String,
    /// The bytes of the path in base64, if `path` is quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// Number of matching lines shown; for `output: "files"`, of all matching lines.
    pub match_count: u64,
    /// Matching lines and their context, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<GrepLine>,
}

/// A line of a file.
#[derive(Debug, JsonSchema, Serialize)]
pub struct GrepLine {
    /// From 1.
    pub line_number: u64,
    /// `match` or `context`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The line without its line feed; U+FFFD replaces bytes that are not UTF-8.
    pub text: String,
    /// The bytes of the line in base64, if `text` differs from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// Byte ranges of the matches in `bytes`, or in `text` if that is absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<[usize; 2]>,
    /// Bytes that were cut before `text`.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub cut_before: usize,
    /// Bytes that were cut after `text`.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub cut_after: usize,
    /// With uses, the use of the name: `definition`, `implementation`, `call`, `type`, `import`, `code`, `string` or
    /// `comment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mention: Option<&'static str>,
    /// `unknown` if this may be a use of the qualified name or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<&'static str>,
    /// With uses, the innermost definition around the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<GrepWithin>,
}

impl Tool for GrepSearch {
    const NAME: &'static str = "grep_search";
    const UNADVERTISED: &'static [&'static str] = GrepRequest::UNADVERTISED;
    const ABOUT: RootScope = RootScope::PerRoot;
    const INCLUDES_NOISE: Option<&'static str> = Some("{grep_search.include_ignored} searches them");
    const OF_PAGES: &'static [&'static str] = &["output", "max_results", "cursor"];
    const FOREIGN: &'static [ArgumentAliases] = &[
        (&["query", "regex", "search", "search_pattern"], ArgumentAlias::Rename("pattern")),
        (&["glob", "globs", "include", "includes", "include_pattern"], ArgumentAlias::Rename("file_pattern")),
        (&["file_glob"], ArgumentAlias::Rename("file_pattern")),
        (&["directory", "dir", "dir_path", "file", "file_path", "paths"], ArgumentAlias::Rename("path")),
        (&["context", "-C"], ArgumentAlias::Rename("context_lines")),
        (&["-A", "context_after", "after"], ArgumentAlias::Rename("after_context")),
        (&["-B", "context_before", "before"], ArgumentAlias::Rename("before_context")),
        (&["fixed_string", "literal", "is_literal", "-F"], ArgumentAlias::Rename("fixed_strings")),
        (&["is_regex", "isRegexp", "use_regex"], ArgumentAlias::Negate("fixed_strings")),
        (
            &["whole_word", "whole_words", "match_whole_word", "word", "-w"],
            ArgumentAlias::Rename("word_regexp"),
        ),
        (&["-v", "invert"], ArgumentAlias::Rename("invert_match")),
        (&["output_mode", "mode"], ArgumentAlias::Rename("output")),
        (&["limit", "head_limit", "max_count", "max_matches"], ArgumentAlias::Rename("max_results")),
        (&["case_insensitive", "insensitive", "-i"], ArgumentAlias::Rename("ignore_case")),
        (&["case_sensitive"], ArgumentAlias::Negate("ignore_case")),
        (&["hidden", "include_hidden", "no_ignore"], ArgumentAlias::Rename("include_ignored")),
        (&["offset"], ArgumentAlias::Unsupported("to continue, pass the `cursor` of the previous answer")),
    ];
    type Request = GrepRequest;
    type Response = GrepResponse;

    fn spec() -> ToolSpec {
        ToolSpec {
            method: "grep".into(),
            ..ToolSpec::new(
                Self::NAME,
                "Search file contents",
                include_str!("grep_search.md").trim_ascii_end(),
            )
        }
    }

    fn adapt(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
        adapted::to_grep(fields)
    }

    fn path(request: &GrepRequest) -> Option<&str> {
        request.path.as_deref()
    }

    fn max_results<'a>(request: &'a mut GrepRequest, _: &Call) -> Option<(&'a mut Option<i64>, u64)> {
        let most = match request.output.unwrap_or_default() {
            GrepOutput::Files | GrepOutput::Counts => limits::GREP_FILES,
            GrepOutput::Lines | GrepOutput::Uses | GrepOutput::Impact => limits::GREP_MATCHES,
        };
        Some((&mut request.max_results, most))
    }

    fn run(call: &Call, request: GrepRequest) -> Result<ToolOutcome<GrepResponse>, ToolError> {
        request.refuse_options_of_text()?;
        let (path, glob) = (request.path.clone(), request.file_pattern.clone());
        let mut outcome = match request.output.unwrap_or_default() {
            GrepOutput::Uses => uses::run(call, request),
            GrepOutput::Impact => impact::run(call, &request),
            output => page(call, &request, output),
        }?;
        if let Some(glob) = glob.filter(|_| outcome.response.no_file_chosen) {
            outcome.warnings.extend(fits_elsewhere(call, path.as_deref(), "file_pattern", &glob));
        }
        Ok(outcome)
    }

    fn piece_schema() -> Option<Value> {
        Some(schema_of::<GrepFile>())
    }

    fn each(
        call: &Call,
        request: GrepRequest,
        receive: RecordReceiver<'_>,
    ) -> Result<ToolOutcome<GrepResponse>, ToolError> {
        each(call, request, |file| receive(json!(file)))
    }
}

/// Runs the search for one page of results.
fn page(
    call: &Call,
    request: &GrepRequest,
    output: GrepOutput,
) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    let (unit, default) = match output {
        GrepOutput::Files | GrepOutput::Counts => (ResultUnit::Files, limits::GREP_FILES),
        GrepOutput::Lines | GrepOutput::Uses | GrepOutput::Impact => {
            (ResultUnit::Matches, limits::GREP_MATCHES)
        }
    };
    let mut clamp = Clamp::new(&call.workspace.names, GrepSearch::NAME);
    let max = limits::GREP_MATCHES_MAX;
    let max_results = clamp.number("max_results", request.max_results, default, 1, max);
    let mut search = LineSearch::new::<GrepSearch>(call, request, request.asked(call, unit, clamp))?;
    let mut files = Vec::new();
    let found = search.run(Some(max_results), &mut |file| {
        files.push(GrepFile::from(file));
        ControlFlow::Continue(())
    })?;
    respond(&search, request, found, files)
}

/// Searches without a limit and passes each file with matches to `receive`, in path order, until it breaks. A
/// file with very many matches comes in several consecutive parts.
///
/// # Errors
///
/// Fails with the errors of [`GrepSearch`]. Also fails if the request asks for anything but lines, or if it
/// sets `max_results` or `cursor`: these are for pages.
pub(crate) fn each(
    call: &Call,
    request: GrepRequest,
    mut receive: impl FnMut(GrepFile) -> ControlFlow<()> + Send,
) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    if request.output.is_some_and(|output| output != GrepOutput::Lines) {
        return Err(ToolError::argument("output", "this call returns all results as lines; omit it"));
    }
    request.refuse_options_of_text()?;
    refuse_pages(request.max_results, request.cursor.as_deref())?;
    in_turn::<GrepSearch>(call, &request, |turn, request| {
        let asked =
            request.asked(turn.call, ResultUnit::Lines, Clamp::new(&call.workspace.names, GrepSearch::NAME));
        let mut search = LineSearch::new::<GrepSearch>(turn.call, &request, asked)?;
        let mut is_wanted = true;
        let found = search.run(None, &mut |mut file| {
            turn.other.into_iter().for_each(|root| whole_path(root, &mut file.path));
            let flow = receive(GrepFile::from(file));
            is_wanted = flow.is_continue();
            flow
        })?;
        Ok((respond(&search, &request, found, Vec::new())?, is_wanted))
    })
}

/// Builds the outcome of a search.
fn respond(
    search: &LineSearch<'_>,
    request: &GrepRequest,
    found: LinesFound,
    files: Vec<GrepFile>,
) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    let report = &found.end.walk;
    let is_nothing = found.matches == 0;
    let not_searched =
        search.verdict(report, is_nothing && report.stopped.is_none() && !report.too_many_entries)?;
    let rest = match &found.last {
        Some(last) if found.limit.is_some() => Rest::count(search, last)?,
        _ => Rest::default(),
    };
    // If there was a limit, we know that at least one more result exists.
    let more = u64::from(found.limit.is_some());
    let more_files = if search.asked.unit == ResultUnit::Files { more } else { 0 };
    let is_exact = match found.limit {
        Some(_) => rest.is_whole,
        None => !report.broke_off,
    };
    let response = GrepResponse {
        path: search.shown_start(),
        match_count: found.matches + rest.matches.max(more),
        file_count: found.files + rest.files.max(more_files),
        // A further page does not count the matches of earlier pages.
        totals_exact: is_whole(report) && is_exact && search.cursor.is_none(),
        files_searched: report.searched().max(rest.searched),
        files,
        elsewhere: rest.directories,
        depth: search.start.depth() + 1,
        bound: search.bound,
        continued: search.cursor.is_some(),
        not_searched,
        no_file_chosen: search.no_file_chosen(report),
        ..GrepResponse::for_request(request)
    };
    Ok(search.outcome(response, found))
}

/// Returns true if everything was searched. A file whose search ended early counts as incomplete.
fn is_whole(report: &WalkReport) -> bool {
    let unknown = [SkipReason::LineTooLong, SkipReason::TooSlow];
    report.stopped.is_none()
        && !report.too_many_entries
        && unknown.iter().all(|reason| report.skipped.get(*reason) == 0)
}

impl From<FoundFile> for GrepFile {
    fn from(file: FoundFile) -> Self {
        let FoundFile { place, path, path_bytes, matches, events } = file;
        let lines = events.iter().map(line_record).collect();
        Self { place, group: Group::Part(0), path, path_bytes, match_count: matches, lines }
    }
}

fn line_record(event: &SearchEvent) -> GrepLine {
    let (text, bytes) = event_text(event);
    GrepLine {
        line_number: event.line_number,
        kind: kind_name(event.kind),
        text,
        bytes,
        spans: event.spans.iter().map(|span| [span.start, span.end]).collect(),
        cut_before: event.cut.before,
        cut_after: event.cut.after,
        mention: None,
        receiver: None,
        within: None,
    }
}

//! `grep_search`: regex over files, grouped per file.

mod by_file;
pub(crate) mod each;
mod gathered;
mod render;
mod request;
pub(super) mod rest;
mod uses;

use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{RelPath, Root, SkipReason, WalkOptions, WalkReport};
use forage_search::{Delivered, EventKind, FileEvents, Pattern, ScanOptions, SearchEvent, search};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub use self::gathered::GatheredUses;
use self::request::PreparedGrep;
pub use self::request::{GrepOutput, GrepRequest};
use self::rest::Rest;
pub use self::uses::{GrepDefinition, GrepWithin};
use super::adapted;
use crate::arguments::{Clamp, Foreign};
use crate::border::{Border, Hidden};
use crate::context::Context;
use crate::cursor::{Cursor, fingerprint};
use crate::error::ToolError;
use crate::file_names::fits_elsewhere;
use crate::limits;
use crate::lines::{event_text, kind_name};
use crate::outcome::{Limit, ToolOutcome};
use crate::place::no_file_fits;
use crate::records::schema_of;
use crate::several::AboutRoots;
use crate::tool::{RecordReceiver, Tool};
use crate::verdict::{CallVerdict, unseen_matches};

/// The tool.
pub struct GrepSearch;

/// The records of `grep_search`.
#[derive(Debug, JsonSchema, Serialize)]
pub struct GrepResponse {
    /// The pattern, as the caller wrote it.
    pub pattern: String,
    /// Where was searched, or the file, below the root.
    pub path: String,
    /// Matching lines, whether shown or not; a lower bound unless `totals_exact`.
    pub match_count: u64,
    /// Files with matching lines, likewise.
    pub file_count: u64,
    /// Whether both counts are exact.
    pub totals_exact: bool,
    /// Files whose text was searched.
    pub files_searched: u64,
    /// Files with matching lines, in path order.
    pub files: Vec<GrepFile>,
    /// Definitions of the name, where its uses are asked for: those of tests and those without a body last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<GrepDefinition>,
    /// Definitions of the name that were found, whether in `definitions` or not.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub definition_count: u64,
    /// Where those are that are not in `files`, the most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<rest::GrepDirectory>,
    /// `file_pattern` was given and no file fits it.
    pub no_file_chosen: bool,
    /// This page continues another: the counts are of what follows it, but where uses are asked for, of all.
    pub continued: bool,
    /// For a search without hits: what is in files that were not searched.
    pub not_searched: CallVerdict,
    /// Names in the path of a directory by which matches are counted that are not shown.
    #[serde(skip)]
    depth: usize,
    /// What cursors are bound to.
    #[serde(skip)]
    bound: u64,
    /// The caller has said how many lines of context there are to be.
    #[serde(skip)]
    context_is_asked_for: bool,
    /// What the caller is told of files.
    #[serde(skip)]
    output: GrepOutput,
    /// A cursor leads to what follows.
    #[serde(skip)]
    has_pages: bool,
}

impl GrepResponse {
    /// One in which nothing is found.
    fn of(request: &GrepRequest) -> Self {
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
    /// Its path below the root.
    pub path: String,
    /// The path's own bytes in base64, where `path` quotes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// Matching lines that are shown of it, or where files are asked for, all that it has.
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
    /// The line without its line feed; U+FFFD for what is not UTF-8.
    pub text: String,
    /// The line's own bytes in base64, where `text` is not all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// Where in `bytes`, or without them in `text`, the matches are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<[usize; 2]>,
    /// Bytes that are left out in front of `text`.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub cut_before: usize,
    /// Bytes that are left out behind `text`.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub cut_after: usize,
    /// Where uses are asked for, what a matching line has the name in: `code`, `string`, `comment`, or `definition`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mention: Option<&'static str>,
    /// Where uses are asked for, the innermost definition around the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<GrepWithin>,
}

impl Tool for GrepSearch {
    const NAME: &'static str = "grep_search";
    const METHOD: &'static str = "grep";
    const TITLE: &'static str = "Search file contents";
    const DESCRIPTION: &'static str = include_str!("grep_search.md");
    const UNADVERTISED: &'static [&'static str] = GrepRequest::UNADVERTISED;
    const ABOUT: AboutRoots = AboutRoots::Each;
    const INCLUDES_NOISE: &'static str = "include_ignored searches them";
    const OF_PAGES: &'static [&'static str] = &["output", "max_results", "cursor"];
    const FOREIGN: &'static [(&'static str, Foreign)] = &[
        ("query", Foreign::Same("pattern")),
        ("regex", Foreign::Same("pattern")),
        ("search", Foreign::Same("pattern")),
        ("search_pattern", Foreign::Same("pattern")),
        ("glob", Foreign::Same("file_pattern")),
        ("globs", Foreign::Same("file_pattern")),
        ("include", Foreign::Same("file_pattern")),
        ("includes", Foreign::Same("file_pattern")),
        ("include_pattern", Foreign::Same("file_pattern")),
        ("file_glob", Foreign::Same("file_pattern")),
        ("directory", Foreign::Same("path")),
        ("dir", Foreign::Same("path")),
        ("dir_path", Foreign::Same("path")),
        ("file", Foreign::Same("path")),
        ("file_path", Foreign::Same("path")),
        ("paths", Foreign::Same("path")),
        ("context", Foreign::Same("context_lines")),
        ("-C", Foreign::Same("context_lines")),
        ("-A", Foreign::Same("after_context")),
        ("context_after", Foreign::Same("after_context")),
        ("after", Foreign::Same("after_context")),
        ("-B", Foreign::Same("before_context")),
        ("context_before", Foreign::Same("before_context")),
        ("before", Foreign::Same("before_context")),
        ("fixed_string", Foreign::Same("fixed_strings")),
        ("literal", Foreign::Same("fixed_strings")),
        ("is_literal", Foreign::Same("fixed_strings")),
        ("-F", Foreign::Same("fixed_strings")),
        ("is_regex", Foreign::Opposite("fixed_strings")),
        ("isRegexp", Foreign::Opposite("fixed_strings")),
        ("use_regex", Foreign::Opposite("fixed_strings")),
        ("whole_word", Foreign::Same("word_regexp")),
        ("whole_words", Foreign::Same("word_regexp")),
        ("match_whole_word", Foreign::Same("word_regexp")),
        ("word", Foreign::Same("word_regexp")),
        ("-w", Foreign::Same("word_regexp")),
        ("-v", Foreign::Same("invert_match")),
        ("invert", Foreign::Same("invert_match")),
        ("output_mode", Foreign::Same("output")),
        ("mode", Foreign::Same("output")),
        ("limit", Foreign::Same("max_results")),
        ("head_limit", Foreign::Same("max_results")),
        ("max_count", Foreign::Same("max_results")),
        ("max_matches", Foreign::Same("max_results")),
        ("case_insensitive", Foreign::Same("ignore_case")),
        ("insensitive", Foreign::Same("ignore_case")),
        ("-i", Foreign::Same("ignore_case")),
        ("case_sensitive", Foreign::Opposite("ignore_case")),
        ("hidden", Foreign::Same("include_ignored")),
        ("include_hidden", Foreign::Same("include_ignored")),
        ("no_ignore", Foreign::Same("include_ignored")),
        ("multiline", Foreign::Missing("patterns match within a line; search for one of the lines")),
        ("offset", Foreign::Missing("pass the `cursor` of the answer before to go on")),
    ];
    type Request = GrepRequest;
    type Response = GrepResponse;

    fn adapt(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
        adapted::to_grep(fields)
    }

    fn path(request: &GrepRequest) -> Option<&str> {
        request.path.as_deref()
    }

    fn most<'a>(request: &'a mut GrepRequest, _: &Context) -> Option<(&'a mut Option<i64>, u64)> {
        let most = match request.output.unwrap_or_default() {
            GrepOutput::Files | GrepOutput::Counts => limits::GREP_FILES,
            GrepOutput::Lines | GrepOutput::Uses => limits::GREP_MATCHES,
        };
        Some((&mut request.max_results, most))
    }

    fn run(context: &Context, request: GrepRequest) -> Result<ToolOutcome<GrepResponse>, ToolError> {
        let (path, glob) = (request.path.clone(), request.file_pattern.clone());
        let mut outcome = match request.output.unwrap_or_default() {
            GrepOutput::Lines => lines(context, &request),
            GrepOutput::Files | GrepOutput::Counts => by_file::run(context, &request),
            GrepOutput::Uses => uses::run(context, request),
        }?;
        if let Some(glob) = glob.filter(|_| outcome.response.no_file_chosen) {
            outcome.warnings.extend(fits_elsewhere(context, path.as_deref(), "file_pattern", &glob));
        }
        Ok(outcome)
    }

    fn piece_schema() -> Option<Value> {
        Some(schema_of::<GrepFile>())
    }

    fn each(
        context: &Context,
        request: GrepRequest,
        receive: RecordReceiver<'_>,
    ) -> Result<ToolOutcome<GrepResponse>, ToolError> {
        each::each(context, request, |file| receive(json!(file)))
    }
}

/// A search on its way: a checked request, and what its cursors are bound to.
struct GrepRun<'a> {
    context: &'a Context,
    request: &'a GrepRequest,
    prepared: PreparedGrep,
    stop: Stop,
    bound: u64,
    cursor: Option<Cursor>,
}

/// What a page has, and what there is beyond it.
#[derive(Default)]
struct GrepFound {
    files: Vec<GrepFile>,
    /// Matching lines and the files that have them, with those beyond the page.
    totals: (u64, u64),
    rest: Rest,
    /// The place where the page ended, of a page that was full.
    last: Option<Cursor>,
    limit: Option<Limit>,
}

impl<'a> GrepRun<'a> {
    fn new(context: &'a Context, request: &'a GrepRequest) -> Result<Self, ToolError> {
        let stop = context.stop.within(context.timeout);
        let mut prepared = request.prepare(context, &stop)?;
        let PreparedGrep { root, start, globs, .. } = &prepared;
        let bound = fingerprint::<GrepSearch>(request, root, start, globs.as_deref());
        let cursor = request.cursor.as_deref().map(|text| Cursor::decode(text, bound)).transpose()?;
        prepared.walk.from = cursor.as_ref().map(|cursor| cursor.path.clone());
        Ok(Self { context, request, prepared, stop, bound, cursor })
    }

    /// The options of a scan for lines, or for their number alone.
    fn scan(&self, count_only: bool, max_file_matches: usize) -> ScanOptions {
        let after = self.cursor.as_ref().map(|cursor| Delivered::Matches(cursor.path.clone(), cursor.line));
        let PreparedGrep { root, around, invert, .. } = &self.prepared;
        let around = if count_only { (0, 0) } else { *around };
        ScanOptions {
            invert: *invert,
            count_only,
            ..scan_options(self.context, root, around, max_file_matches, after)
        }
    }

    fn search(
        &self,
        scan: &ScanOptions,
        receive: impl FnMut(FileEvents) -> ControlFlow<()> + Send,
    ) -> Result<WalkReport, ToolError> {
        let PreparedGrep { root, start, walk, pattern, .. } = &self.prepared;
        Ok(search(root, start, walk, pattern, scan, &self.stop, receive)?)
    }

    /// Counts what there is beyond a page that ended at `last`.
    fn rest(&self, last: &Cursor) -> Rest {
        let PreparedGrep { root, start, walk, pattern, invert, .. } = &self.prepared;
        Rest::count(self.context, (root, start), walk, (pattern, *invert), last, &self.stop)
    }

    /// Makes the outcome of what was found.
    fn finish(
        self,
        report: &WalkReport,
        found: GrepFound,
        hidden: Hidden,
        clamped: Vec<String>,
    ) -> Result<ToolOutcome<GrepResponse>, ToolError> {
        let Self { context, request, prepared, stop, bound, cursor } = self;
        let PreparedGrep { root, start, pattern, walk, invert, globs, warnings, .. } = prepared;
        if globs.is_some() && report.visited == 0 && report.stopped.is_none() {
            return Err(no_file_fits(request.path.as_deref()));
        }
        let is_full = found.limit.is_some();
        let complete = is_whole(report) && (is_full || !report.broke_off);
        let (match_count, file_count) = found.totals;
        let is_nothing = match_count == 0;
        let not_searched = match is_nothing && complete && cursor.is_none() && !invert {
            true => unseen(context, (&root, &start), &walk, &pattern, report, &stop),
            false => CallVerdict::none(),
        };
        let mut outcome = ToolOutcome::new(
            GrepResponse {
                path: start.display().into_owned(),
                match_count,
                file_count,
                totals_exact: complete && (!is_full || found.rest.is_whole) && cursor.is_none(),
                files_searched: report.searched().max(found.rest.searched),
                files: found.files,
                elsewhere: found.rest.directories,
                depth: start.depth() + 1,
                bound,
                continued: cursor.is_some(),
                not_searched,
                no_file_chosen: request.file_pattern.is_some() && report.visited == 0,
                ..GrepResponse::of(request)
            },
            !is_nothing,
        );
        outcome.warnings = [clamped, warnings].concat();
        outcome.add_report(report);
        outcome.next_cursor = found.last.map(|place| place.encode(bound));
        outcome.hidden = hidden;
        if is_full {
            outcome.truncated_by = found.limit;
        }
        Ok(outcome)
    }
}

fn lines(context: &Context, request: &GrepRequest) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    let mut clamp = Clamp::default();
    let most = limits::GREP_MATCHES_MAX;
    let max_results = clamp.number("max_results", request.max_results, limits::GREP_MATCHES, 1, most);
    let run = GrepRun::new(context, request)?;
    let mut hidden = Hidden::default();
    let mut border = Border::new(&context.redactor, &mut hidden);
    // One more than is wanted tells whether there is more.
    let scan = run.scan(false, usize::try_from(max_results + 1).unwrap_or(usize::MAX));
    let scan = border.widen(scan, Some(limits::GREP_LINE_CHARACTERS));
    let mut page = GrepPage::new(max_results, run.prepared.around.1 as u64);
    let report = run.search(&scan, |file| page.add(file, &mut border))?;
    let mut found =
        GrepFound { files: page.files, totals: (page.matches, page.file_count), ..GrepFound::default() };
    if page.full {
        found.rest = page.last.as_ref().map(|last| run.rest(last)).unwrap_or_default();
        // One more is known of.
        found.totals.0 += found.rest.matches.max(1);
        found.totals.1 += found.rest.files;
        found.last = page.last;
        found.limit = Some(if page.by_bytes { Limit::FileBytes } else { Limit::MaxResults });
    }
    run.finish(&report, found, hidden, clamp.warnings)
}

/// Whether all of what was to be searched was: a file whose search ended early counts as seen in part.
fn is_whole(report: &WalkReport) -> bool {
    report.stopped.is_none() && !report.too_many_entries && report.skipped.get(SkipReason::LineTooLong) == 0
}

/// What is in the files that a search without matches did not look into.
fn unseen(
    context: &Context,
    (root, start): (&Arc<Root>, &RelPath),
    walk: &WalkOptions,
    pattern: &Pattern,
    report: &WalkReport,
    stop: &Stop,
) -> CallVerdict {
    // What the configuration leaves out is left out in any case.
    match walk.no_ignore && context.excludes.is_none() {
        true => CallVerdict::nothing_hidden(report),
        false => unseen_matches(context, root, start, walk, pattern, Some(report), stop),
    }
}

fn scan_options(
    context: &Context,
    root: &Arc<Root>,
    around: (usize, usize),
    max_file_matches: usize,
    after: Option<Delivered>,
) -> ScanOptions {
    ScanOptions {
        before_context: around.0,
        after_context: around.1,
        line_bytes: None,
        max_file_matches,
        max_file_bytes: context.max_file_bytes,
        max_spans: limits::GREP_SPANS,
        after,
        invert: false,
        count_only: false,
        margin: None,
        index: context.index(root),
        exhaustive: false,
    }
}

/// Collects files until the page is full.
struct GrepPage {
    files: Vec<GrepFile>,
    matches: u64,
    file_count: u64,
    max_results: u64,
    after_context: u64,
    /// One more match than fits was seen.
    full: bool,
    /// Not the number of matches but the bytes of a file's lines filled it.
    by_bytes: bool,
    /// The last match taken.
    last: Option<Cursor>,
}

impl GrepPage {
    fn new(max_results: u64, after_context: u64) -> Self {
        Self {
            files: Vec::new(),
            matches: 0,
            file_count: 0,
            max_results,
            after_context,
            full: false,
            by_bytes: false,
            last: None,
        }
    }

    fn add(&mut self, mut file: FileEvents, border: &mut Border<'_>) -> ControlFlow<()> {
        let room = usize::try_from(self.max_results - self.matches).unwrap_or(usize::MAX);
        let mut matches = file.events.iter().enumerate().filter(|(_, event)| event.kind == EventKind::Match);
        if let Some(end) = matches.nth(room).map(|(end, _)| end) {
            self.full = true;
            border.truncate(&mut file.events, end);
        }
        let (mut record, last_match) = file_record(&mut file, border);
        self.matches += record.match_count;
        if file.more && !self.full {
            (self.full, self.by_bytes) = (true, true);
        }
        if self.full {
            // One more match is known, but not shown; nor is its context.
            record.lines.retain(|line| line.line_number <= last_match + self.after_context);
        }
        if record.match_count > 0 {
            self.file_count += 1;
            self.files.push(record);
            self.last = Some(Cursor { distance: 0, path: file.path, line: last_match });
        }
        if self.full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// What is told of a file, and the line of its last match.
fn file_record(file: &mut FileEvents, border: &mut Border<'_>) -> (GrepFile, u64) {
    border.events(&mut file.events, limits::GREP_LINE_CHARACTERS, limits::GREP_SPANS);
    let (path, path_bytes) = border.path(&file.path);
    let matches = || file.events.iter().filter(|event| event.kind == EventKind::Match);
    let last_match = matches().next_back().map_or(0, |event| event.line_number);
    let record = GrepFile {
        place: file.path.clone(),
        path,
        path_bytes,
        match_count: matches().count() as u64,
        lines: file.events.iter().map(line_record).collect(),
    };
    (record, last_match)
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
        within: None,
    }
}

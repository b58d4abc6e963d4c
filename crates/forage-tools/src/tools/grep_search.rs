//! `grep_search`: regex over files, grouped per file.

pub(crate) mod each;
pub(super) mod rest;

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{RelPath, Root, SkipReason, WalkOptions, WalkReport};
use forage_search::{
    Case, Delivered, EventKind, FileEvents, Pattern, PatternOptions, ScanOptions, SearchEvent, search,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::rest::Rest;
use super::adapted;
use crate::arguments::{Clamp, Foreign, file_globs};
use crate::border::{Border, Hidden};
use crate::context::Context;
use crate::cursor::{Cursor, fingerprint};
use crate::error::ToolError;
use crate::limits;
use crate::lines::{ContextDetail, event_text, kind_name, shown_line};
use crate::notes::{MORE, notes, notes_bytes, with_notes};
use crate::outcome::{Limit, Render, ToolOutcome};
use crate::place::{PathTarget, globs_in_path, no_file_fits};
use crate::text::{count, grouped, quoted};
use crate::tool::Tool;
use crate::verdict::{CallVerdict, unseen_matches};

/// The tool.
pub struct GrepSearch;

/// The arguments of `grep_search`.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GrepRequest {
    /// Regular expression to search for, matched line by line.
    pub pattern: String,
    /// Directory or file to search, relative to the project root or absolute within it (default: ".", the project root).
    pub path: Option<String>,
    /// Glob that chooses files: by name ("*.py"), or by path if it has a slash ("src/**/*.rs") (default: all files).
    pub file_pattern: Option<String>,
    /// Lines of context around each match, 0 to 50 (default: 2).
    pub context_lines: Option<i64>,
    /// Matching lines to return, 1 to 10000 (default: 50).
    pub max_results: Option<i64>,
    /// Match without regard to case (default: false).
    pub ignore_case: Option<bool>,
    /// Search ignored and hidden files too (default: false).
    pub include_ignored: Option<bool>,
    /// Where to go on: the cursor from a previous answer to the same request.
    pub cursor: Option<String>,
}

impl GrepRequest {
    /// Returns the request for what is asked for by default: a search for this pattern in all files, 50 matches at the most.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            path: None,
            file_pattern: None,
            context_lines: None,
            max_results: None,
            ignore_case: None,
            include_ignored: None,
            cursor: None,
        }
    }

    setters! {
        path: String,
        file_pattern: String,
        context_lines: i64,
        max_results: i64,
        ignore_case: bool,
        include_ignored: bool,
        cursor: String,
    }
}

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
    /// Where those are that are not in `files`, the most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<rest::GrepDirectory>,
    /// `file_pattern` was given and no file fits it.
    pub no_file_chosen: bool,
    /// This page continues another: the counts are of what follows it.
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
    /// Matching lines that are shown of it.
    pub match_count: u64,
    /// Matching lines and their context, in order.
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
}

impl Tool for GrepSearch {
    const NAME: &'static str = "grep_search";
    const TITLE: &'static str = "Search file contents";
    const DESCRIPTION: &'static str = include_str!("grep_search.md");
    const INCLUDES_NOISE: &'static str = "include_ignored searches them";
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

    fn run(context: &Context, request: GrepRequest) -> Result<ToolOutcome<GrepResponse>, ToolError> {
        let mut clamp = Clamp::default();
        let most = limits::GREP_MATCHES_MAX;
        let max_results = clamp.number("max_results", request.max_results, limits::GREP_MATCHES, 1, most);
        let stop = context.stop.within(context.timeout);
        let PreparedGrep { root, start, pattern, mut walk, context_lines, globs, warnings } =
            request.prepare(context, &stop)?;
        let bound = fingerprint::<Self>(&request, &root, &start, globs.as_deref());
        let cursor = request.cursor.as_deref().map(|text| Cursor::decode(text, bound)).transpose()?;

        walk.from = cursor.as_ref().map(|cursor| cursor.path.clone());
        let mut hidden = Hidden::default();
        let mut border = Border::new(&context.redactor, &mut hidden);
        // One more than is wanted tells whether there is more.
        let most = usize::try_from(max_results + 1).unwrap_or(usize::MAX);
        let after = cursor.as_ref().map(|cursor| Delivered::Matches(cursor.path.clone(), cursor.line));
        let scan = scan_options(context, &root, context_lines, most, after);
        let scan = border.widen(scan, Some(limits::GREP_LINE_CHARACTERS));
        let mut page = GrepPage::new(max_results, context_lines as u64);
        let report =
            search(&root, &start, &walk, &pattern, &scan, &stop, |file| page.add(file, &mut border))?;

        if globs.is_some() && report.visited == 0 && report.stopped.is_none() {
            return Err(no_file_fits(request.path.as_deref()));
        }
        let complete = is_whole(&report);
        let rest = match page.last.as_ref().filter(|_| page.full) {
            Some(last) => Rest::count(context, &root, &start, &walk, &pattern, last, &stop),
            None => Rest::default(),
        };
        let exact = complete && (!page.full || rest.is_whole) && cursor.is_none();
        let next = page.full.then(|| page.last.as_ref().map(|place| place.encode(bound))).flatten();
        // One more is known of.
        let (matches, files) = match page.full {
            true => (page.matches + rest.matches.max(1), page.file_count + rest.files),
            false => (page.matches, page.file_count),
        };
        let nothing = matches == 0;
        let not_searched = match nothing && complete && cursor.is_none() {
            true => unseen(context, (&root, &start), &walk, &pattern, &report, &stop),
            false => CallVerdict::none(),
        };
        let context_is_asked_for = request.context_lines.is_some();
        let mut outcome = ToolOutcome::new(
            GrepResponse {
                pattern: request.pattern,
                path: start.display().into_owned(),
                match_count: matches,
                file_count: files,
                totals_exact: exact,
                files_searched: report.searched().max(rest.searched),
                files: page.files,
                elsewhere: rest.directories,
                depth: start.depth() + 1,
                bound,
                context_is_asked_for,
                continued: cursor.is_some(),
                not_searched,
                no_file_chosen: request.file_pattern.is_some() && report.visited == 0,
            },
            !nothing,
        );
        outcome.warnings = [clamp.warnings, warnings].concat();
        outcome.add_report(&report);
        outcome.next_cursor = next;
        outcome.hidden = hidden;
        if page.full {
            outcome.truncated_by = Some(if page.by_bytes { Limit::FileBytes } else { Limit::MaxResults });
        }
        Ok(outcome)
    }
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
        false => unseen_matches(context, root, start, walk, pattern, stop),
    }
}

fn scan_options(
    context: &Context,
    root: &Arc<Root>,
    context_lines: usize,
    max_file_matches: usize,
    after: Option<Delivered>,
) -> ScanOptions {
    ScanOptions {
        before_context: context_lines,
        after_context: context_lines,
        line_bytes: None,
        max_file_matches,
        max_file_bytes: context.max_file_bytes,
        max_spans: limits::GREP_SPANS,
        after,
        count_only: false,
        margin: None,
        index: context.index(root),
        exhaustive: false,
    }
}

/// A request whose arguments are checked.
pub(super) struct PreparedGrep {
    pub(super) root: Arc<Root>,
    pub(super) start: RelPath,
    pub(super) pattern: Pattern,
    pub(super) walk: WalkOptions,
    pub(super) context_lines: usize,
    /// In `path`.
    globs: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl GrepRequest {
    /// Checks everything but the limits on the answer.
    pub(super) fn prepare(&self, context: &Context, stop: &Stop) -> Result<PreparedGrep, ToolError> {
        let mut clamp = Clamp::default();
        let (default, most) = (limits::GREP_CONTEXT, limits::GREP_CONTEXT_MAX);
        let context_lines = clamp.number("context_lines", self.context_lines, default, 0, most);
        let mut warnings = clamp.warnings;
        let PathTarget { root, path: start, globs, note, .. } =
            context.place(self.path.as_deref())?.searchable()?;
        warnings.extend(note);
        let only = match (&globs, self.file_pattern.as_deref()) {
            (Some(globs), None) => file_globs(Some(globs), &RelPath::root())?,
            (Some(_), Some(_)) => return Err(globs_in_path("file_pattern")),
            (None, globs) => file_globs(globs, &start)?,
        };
        let case = if self.ignore_case.unwrap_or(false) { Case::Insensitive } else { Case::Sensitive };
        let options = PatternOptions { case, ..PatternOptions::default() };
        let pattern = Pattern::new_within(&self.pattern, &options, stop)
            .map_err(|source| ToolError::pattern_or_glob(&self.pattern, "file_pattern", source, stop))?;
        let include_ignored = self.include_ignored.unwrap_or(false);
        let walk = WalkOptions {
            only,
            hidden: include_ignored,
            no_ignore: include_ignored,
            ..context.walk_options()
        };
        Ok(PreparedGrep {
            root,
            start,
            pattern,
            walk,
            context_lines: usize::try_from(context_lines).unwrap_or(0),
            globs,
            warnings,
        })
    }
}

/// Collects files until the page is full.
struct GrepPage {
    files: Vec<GrepFile>,
    matches: u64,
    file_count: u64,
    max_results: u64,
    context_lines: u64,
    /// One more match than fits was seen.
    full: bool,
    /// Not the number of matches but the bytes of a file's lines filled it.
    by_bytes: bool,
    /// The last match taken.
    last: Option<Cursor>,
}

impl GrepPage {
    fn new(max_results: u64, context_lines: u64) -> Self {
        Self {
            files: Vec::new(),
            matches: 0,
            file_count: 0,
            max_results,
            context_lines,
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
            record.lines.retain(|line| line.line_number <= last_match + self.context_lines);
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
    }
}

impl Render for GrepResponse {
    fn redact(&mut self, border: &mut Border<'_>) {
        self.not_searched.redact(border);
        for directory in &mut self.elsewhere {
            border.name(&mut directory.path);
        }
    }

    fn render(outcome: &ToolOutcome<Self>, budget: usize) -> (String, bool) {
        let response = &outcome.response;
        let searched = Some(response.files_searched);
        if response.match_count == 0 {
            return (with_notes(no_matches(outcome), &notes(outcome, searched)), false);
        }
        let shown: u64 = response.files.iter().map(|file| file.match_count).sum();
        let has_context = response.files.iter().any(|file| file.lines.len() as u64 > file.match_count);
        let is_too_much = !response.context_is_asked_for && shown > limits::GREP_CONTEXT_MATCHES;
        let texts = |shown: u64, detail: ContextDetail, note: Option<String>| {
            let mut all: Vec<String> = note.into_iter().chain(rest::note(response, shown)).collect();
            all.extend(notes(outcome, searched));
            (body(response, detail, shown), all)
        };
        let fits = |(text, notes): &(String, Vec<String>)| text.len() + notes_bytes(notes) <= budget;
        if !is_too_much || !has_context {
            let whole = texts(shown, ContextDetail::Context, None);
            if fits(&whole) {
                return (with_notes(whole.0, &whole.1), false);
            }
        }
        let note = match (has_context, is_too_much) {
            (false, _) => None,
            (true, true) => Some("lines of context are left out; context_lines gives them".to_owned()),
            (true, false) => Some("lines of context are left out, as the answer was too long".to_owned()),
        };
        let matches = texts(shown, ContextDetail::Matches, note.clone());
        if fits(&matches) {
            return (with_notes(matches.0, &matches.1), has_context);
        }
        // As many as there is room for, and a cursor behind them.
        let note = "the answer has room for no more; narrow `path`, `file_pattern` or `pattern`, or go on with the cursor";
        let cut = |shown: u64| {
            let (text, mut notes) = texts(shown, ContextDetail::Matches, Some(note.to_owned()));
            notes.retain(|note| !note.starts_with(MORE));
            notes.extend(rest::cursor(response, shown).map(|cursor| format!("{MORE}{cursor}\"")));
            (text, notes)
        };
        let (mut least, mut most) = (1, shown);
        while least < most {
            let middle = least + (most - least).div_ceil(2);
            if fits(&cut(middle)) { least = middle } else { most = middle - 1 }
        }
        let (text, notes) = cut(least);
        (with_notes(text, &notes), true)
    }
}

fn no_matches(outcome: &ToolOutcome<GrepResponse>) -> String {
    let response = &outcome.response;
    let within = if response.path == "." { String::new() } else { format!(" in {}", response.path) };
    // There were some on the pages before.
    let found = if response.continued { "No further matches" } else { "No matches found" };
    let mut text = format!("{found} for {}{within}.", quoted(&response.pattern));
    if response.no_file_chosen {
        text.push_str(" No file fits file_pattern.");
    }
    // The totals of a page are never exact.
    let is_cut = if response.continued { outcome.truncated_by.is_some() } else { !response.totals_exact };
    if is_cut {
        text.push_str(" The search did not finish: this says nothing about what was not reached.");
    }
    if response.files_searched == 0 && !response.no_file_chosen && outcome.truncated_by.is_none() {
        text.push_str(" Nothing was searched.");
    }
    let before = " But there are matches in files that are not searched by default (set include_ignored to search them):";
    text.push_str(&response.not_searched.describe(before, ""));
    text
}

fn headline(response: &GrepResponse, shown: u64) -> String {
    // What is said of the matches, and of the files, which a page before may have counted already.
    let (at_least, further) = match (response.totals_exact, response.continued) {
        (true, _) => ("", ""),
        (false, false) => ("at least ", ""),
        (false, true) => ("", "further "),
    };
    let matches = count(response.match_count, &format!("{further}match"));
    let files = count(response.file_count, "file");
    let showing =
        if shown < response.match_count { format!(" (showing {})", grouped(shown)) } else { String::new() };
    format!("Found {at_least}{matches} in {at_least}{files}{showing}:\n")
}

/// The first `shown` matches.
fn body(response: &GrepResponse, detail: ContextDetail, shown: u64) -> String {
    let mut text = headline(response, shown);
    let mut left = shown;
    for file in response.files.iter() {
        if left == 0 {
            break;
        }
        let _ = write!(text, "\n{}:\n", file.path);
        let mut previous: Option<u64> = None;
        for line in file.lines.iter().filter(|line| detail == ContextDetail::Context || line.kind == "match")
        {
            if line.kind == "match" {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
            if detail == ContextDetail::Context
                && previous.is_some_and(|previous| previous + 1 != line.line_number)
            {
                text.push_str("  ---\n");
            }
            previous = Some(line.line_number);
            let mark = if line.kind == "match" { ':' } else { '-' };
            let shown = shown_line(&line.text, line.cut_before, line.cut_after);
            let _ = writeln!(text, "  {}{mark} {shown}", line.line_number);
        }
    }
    text
}

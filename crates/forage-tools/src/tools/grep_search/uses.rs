//! `grep_search` for a name: its definitions, then the lines that use it, grouped by enclosing definition.
//!
//! We compare names as whole words and don't resolve them. We find all lines with the name, whatever its role
//! there, and take the enclosing definitions from `forage_rank`'s outlines. If the name is qualified,
//! [`qualifier`] narrows down these lines.

mod lists;
pub(super) mod qualifier;
mod render;
mod subtypes;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forage_base::{Stop, map_in_threads};
use forage_fs::{RelPath, Root, SkipReason, Skipped, WalkOptions, display_text};
use forage_rank::{
    Definition, DefinitionKind, FileOutline, MentionKind, Use, UseKind, is_prose, is_test, may_define,
    may_implement, mentions,
};
use forage_redact::RedactionReport;
use forage_search::{EventKind, FileEvents, Pattern, ResumePoint, ScanOptions, SearchEvent, search};
use schemars::JsonSchema;
use serde::Serialize;

pub(super) use self::lists::Listing;
use self::qualifier::{Fit, Narrowing, QualifiedName, has_word};
pub(super) use self::render::{ListedFirst, UseGroup, headline};
pub(super) use self::subtypes::Subtypes;
use super::super::line_search::{FoundFile, LineSearch, ResultUnit};
use super::referencing_files::{ReferencingFile, ReferencingFiles, UsesCacheKey, cached};
use super::remaining::DirectoryCounts;
use super::{GrepFile, GrepRequest, GrepResponse, GrepSearch, is_whole};
use crate::arguments::Clamp;
use crate::call::Call;
use crate::cursor::{Cursor, Group};
use crate::error::ToolError;
use crate::file_text::whole_text;
use crate::limits;
use crate::names::ToolNames;
use crate::outcome::{Limit, ToolOutcome};
use crate::outlines::Parsed;
use crate::output_redactor::OutputRedactor;
use crate::text::{KEYWORD_PREFIXES, clip, count, grouped, quoted};
use crate::tool::Tool as _;

/// A definition of the name, or of a type that implements or extends it.
#[derive(Debug, JsonSchema, Serialize)]
pub struct GrepDefinition {
    /// Its file, below the root.
    pub path: String,
    /// The bytes of the path in base64, if `path` is quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// The keyword of the language, such as `struct`, or a general word, such as `function`.
    pub kind: &'static str,
    /// The first line of the comments and attributes above it, from 1.
    pub start_line: u32,
    /// The line with the name.
    pub line: u32,
    /// The last line of its body.
    pub end_line: u32,
    /// The type that implements or extends the name, or the definition around an anonymous type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The definitions around a definition of the name, outermost first: `Queue > push`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The line with the name, trimmed and cut.
    pub text: String,
}

/// Lines that a qualified name excludes, because the name belongs to another type or module there.
#[derive(Clone, Debug, JsonSchema, PartialEq, Eq, Serialize)]
pub struct GrepReceiver {
    /// The other type or module.
    pub name: String,
    /// Lines of the page's files.
    pub line_count: u64,
}

/// The innermost definition around a line.
#[derive(Clone, Debug, JsonSchema, PartialEq, Eq, Serialize)]
pub struct GrepWithin {
    /// Its name, after those of the definitions around it.
    pub symbol: String,
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
}

/// Formats the advice to narrow the search.
fn narrow(names: &ToolNames) -> String {
    names.fill("narrow {grep_search.path} or {grep_search.file_pattern}")
}

/// Assigns a file to a part of the answer: code (0) comes first, then prose (1), then tests (2).
pub(super) fn part(path: &RelPath) -> u8 {
    let path = file_name(path);
    if is_test(&path) {
        return 2;
    }
    u8::from(is_prose(&path))
}

/// Converts a path so that we can detect the language of its file. This must not use the displayed path,
/// which may have a quote after its extension.
pub(super) fn file_name(path: &RelPath) -> Cow<'_, str> {
    String::from_utf8_lossy(path.as_bytes())
}

pub(super) fn run(call: &Call, request: GrepRequest) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    if let Some(name) = QualifiedName::as_written(&request.pattern) {
        // Only the first page lists definitions, so every page must look at it to decide in the same way.
        let first = run_for(call, GrepRequest { cursor: None, ..request.clone() }, name)?;
        match first.response.definition_count {
            0 => {}
            _ if request.cursor.is_none() => return Ok(first),
            _ => return run_for(call, request.clone(), name),
        }
    }
    let qualified = QualifiedName::new(&request.pattern)?;
    run_for(call, request.clone(), qualified)
}

fn run_for(
    call: &Call,
    request: GrepRequest,
    qualified: QualifiedName<'_>,
) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    let mut clamp = Clamp::new(&call.workspace.names, GrepSearch::NAME);
    let max = limits::GREP_MATCHES_MAX;
    let max_results = clamp.number("max_results", request.max_results, limits::GREP_MATCHES, 1, max);
    if request.invert_match.unwrap_or(false) {
        return Err(ToolError::argument(
            "invert_match",
            "lines without a name are not uses of it; omit this, or search for lines",
        ));
    }
    let of_name = lines_with(qualified.name, &request);
    let asked = of_name.asked(call, ResultUnit::Matches, clamp);
    let line_search = LineSearch::new::<GrepSearch>(call, &request, asked)?;
    if line_search.revision.is_some() {
        let problem = "uses are found only in the working tree; omit this, or search for lines";
        return Err(ToolError::argument("output", problem));
    }
    let LineSearch { start, bound, cursor, .. } = &line_search;
    // We know the order of the files only once we know all files, so the walk must start at the beginning.
    let walk = &WalkOptions { from: None, ..line_search.walk.clone() };
    let mut hidden = RedactionReport::default();
    let mut reader = UseReader::new(&line_search, qualified, &mut hidden)?;
    // We must not cache the files of a range: a commit changes them without changing the tree.
    let gathered = match request.changed {
        None => reader.cached_or_gathered(reader.question(*bound), start, walk)?,
        Some(_) => Arc::new(reader.gather(start, walk)?),
    };
    let ReferencingFiles { files, report, all_known, .. } = &*gathered;
    let not_searched = line_search.verdict(report, files.is_empty() && *all_known)?;
    reader.read_ahead(files, cursor.as_ref(), max_results);
    let mut notes: Vec<String> = reader.find_subtypes(&gathered, start, walk).into_iter().collect();
    if request.ignore_case.unwrap_or(false) {
        notes.push("the search is case-sensitive: names are compared exactly".to_owned());
    }
    let lists = match cursor {
        Some(_) => [Arc::default(), Arc::default()],
        None => reader.lists(&gathered),
    };
    notes.extend(lists.iter().flat_map(|list| &list.notes).cloned());
    let [(definitions, definition_count), (implementations, implementation_count)] =
        lists.map(|list| (reader.listed(&list), list.total));
    let mut page = reader.page(files, cursor.as_ref(), max_results);
    let next = page.last.as_ref().filter(|_| page.is_cut && *all_known).map(|last| last.encode(*bound));
    let response = GrepResponse {
        definitions,
        definition_count,
        implementations,
        implementation_count,
        not_searched,
        ..response(&request, qualified, &line_search, &gathered, &mut page)
    };
    let mut outcome = ToolOutcome::new(response, !files.is_empty());
    outcome.warnings = [line_search.asked.warnings.clone(), notes].concat();
    add_notes(&mut outcome, &line_search, &gathered, &page);
    outcome.next_cursor = next;
    outcome.hidden = hidden;
    Ok(outcome)
}

/// Builds the request for the lines that contain the name.
fn lines_with(name: &str, request: &GrepRequest) -> GrepRequest {
    GrepRequest {
        pattern: name.to_owned(),
        word_regexp: Some(true),
        ignore_case: None,
        fixed_strings: Some(true),
        context_lines: request.context_lines.or(Some(0)),
        ..request.clone()
    }
}

/// Builds the records except for the lists of definitions. Takes the files out of the page.
fn response(
    request: &GrepRequest,
    QualifiedName { name, qualifier }: QualifiedName<'_>,
    line_search: &LineSearch<'_>,
    gathered: &ReferencingFiles,
    page: &mut UsesPage,
) -> GrepResponse {
    let LineSearch { start, bound, cursor, .. } = line_search;
    let ReferencingFiles { files, report, is_complete, all_known, .. } = gathered;
    GrepResponse {
        path: start.display().into_owned(),
        match_count: files.iter().map(|file| file.matches).sum(),
        file_count: files.len() as u64,
        totals_exact: *is_complete,
        files_searched: report.searched(),
        files: std::mem::take(&mut page.files),
        elsewhere: std::mem::take(&mut page.elsewhere).most_first(),
        name: name.to_owned(),
        qualifier: qualifier.map(str::to_owned),
        left_out_count: page.left_out.values().sum(),
        left_out: most_first(std::mem::take(&mut page.left_out)),
        depth: start.depth() + 1,
        bound: *bound,
        continued: cursor.is_some(),
        has_pages: *all_known,
        no_file_chosen: line_search.no_file_chosen(report),
        ..GrepResponse::for_request(request)
    }
}

/// Adds the report of the search, and the warnings about missing lines.
fn add_notes(
    outcome: &mut ToolOutcome<GrepResponse>,
    line_search: &LineSearch<'_>,
    gathered: &ReferencingFiles,
    page: &UsesPage,
) {
    let ReferencingFiles { report, all_known, .. } = gathered;
    if page.not_narrowed > 0 && outcome.response.qualifier.is_some() {
        let files = count(page.not_narrowed, "file");
        outcome
            .warnings
            .push(format!("{files} read without a parser: the qualifier does not narrow the lines there"));
    }
    outcome.warnings.extend(line_search.unfit_globs());
    outcome.add_report(report);
    // The search for all files may have counted the same line already.
    if outcome.skipped.get(SkipReason::LineTooLong) == 0 {
        outcome.skipped.add_many(SkipReason::LineTooLong, page.skipped.get(SkipReason::LineTooLong));
    }
    outcome.skipped.add_many(SkipReason::Unreadable, page.skipped.get(SkipReason::Unreadable));
    let narrow = narrow(&line_search.call.workspace.names);
    if report.broke_off {
        let max = grouped(limits::GREP_USES_FILES as u64);
        outcome.warnings.push(format!("more than {max} files contain the name; {narrow}"));
        outcome.truncated_by = Some(Limit::Entries);
    }
    if !all_known && page.is_cut {
        outcome.warnings.push(format!("not all files are known, so there is no cursor; {narrow}"));
    }
    if page.is_cut {
        let limit = if page.by_bytes { Limit::FileBytes } else { Limit::MaxResults };
        outcome.truncated_by.get_or_insert(line_search.stop.check().map_or(limit, Limit::from));
    }
}

/// One page of lines.
#[derive(Default)]
struct UsesPage {
    files: Vec<GrepFile>,
    matches: u64,
    last: Option<Cursor>,
    /// True if there are more lines.
    is_cut: bool,
    /// True if the bytes of one file's lines filled the page, rather than the number of lines.
    by_bytes: bool,
    elsewhere: DirectoryCounts,
    skipped: Skipped,
    /// Lines that the qualifier excludes, by the type or module that the name belongs to there.
    left_out: BTreeMap<String, u64>,
    /// Files without a syntax tree, where we could not apply the qualifier.
    not_narrowed: u64,
}

impl UsesPage {
    /// Adds lines of a file. The page may already have other lines of this file.
    fn add(&mut self, record: GrepFile) {
        self.matches += record.match_count;
        match self.files.last_mut().filter(|last| last.place == record.place) {
            Some(last) => {
                last.match_count += record.match_count;
                last.lines.extend(record.lines);
            }
            None if record.match_count > 0 => self.files.push(record),
            None => {}
        }
    }
}

/// Sorts types and modules by their number of lines, and keeps those with the most.
fn most_first(lines: BTreeMap<String, u64>) -> Vec<GrepReceiver> {
    let mut all: Vec<GrepReceiver> = lines
        .into_iter()
        .map(|(name, line_count)| GrepReceiver { name: clip(&name, limits::QUOTED_BYTES), line_count })
        .collect();
    all.sort_by(|a, b| b.line_count.cmp(&a.line_count).then_with(|| a.name.cmp(&b.name)));
    all.truncate(limits::GREP_RECEIVERS);
    all
}

/// Some of the lines of a file.
struct FileLines {
    record: GrepFile,
    /// The last of these lines.
    last: u64,
    /// Lines with the name, including those that the qualifier excludes.
    found: u64,
    has_more: bool,
    left_out: Vec<String>,
    is_narrowed: bool,
}

/// Reads the files that contain a name.
struct UseReader<'a> {
    call: &'a Call,
    root: &'a Arc<Root>,
    qualified: QualifiedName<'a>,
    pattern: &'a Pattern,
    /// Walk options for searching a single file.
    walk: WalkOptions,
    around: (usize, usize),
    /// Depth of the directory where the search starts.
    start_depth: usize,
    stop: &'a Stop,
    redactor: OutputRedactor<'a>,
    held: HeldFiles,
    /// Types that implement or extend the qualifier.
    subtypes: Arc<Subtypes>,
}

/// Texts and outlines of the files for this answer. We will need some of them twice.
#[derive(Default)]
struct HeldFiles(HashMap<RelPath, Arc<OutlinedFile>>);

struct OutlinedFile {
    text: String,
    outline: Arc<FileOutline>,
    /// Uses of the name, if the file has a syntax tree.
    uses: Option<Arc<[Use]>>,
}

impl OutlinedFile {
    /// Estimates the memory that this file takes, in bytes.
    fn bytes(&self) -> usize {
        // We assume 20 bytes for the name of each definition.
        let definitions = self.outline.definitions.len() + self.outline.fields.len();
        let uses = self.uses.as_ref().map_or(0, |uses| uses.len()) * size_of::<Use>();
        self.text.len() + definitions * (size_of::<Definition>() + 20) + uses
    }

    /// Finds the lines where a type implements or extends the name, each with the index of its definition.
    fn implementing(&self) -> Vec<(u32, usize)> {
        let uses = self.uses.iter().flat_map(|uses| uses.iter());
        let uses = uses.filter(|found| found.kind == UseKind::Implementation);
        let definitions = &self.outline.definitions;
        // A field may be defined on the first line of its type. We want the type.
        let around = |line: u32| {
            let inner = self.outline.innermost(line);
            let mut outwards = std::iter::successors(inner, |at| definitions[*at].parent);
            outwards.find(|at| definitions[*at].kind != DefinitionKind::Constant).or(inner)
        };
        let mut lines: Vec<(u32, usize)> =
            uses.filter_map(|found| Some((found.line, around(found.line)?))).collect();
        lines.dedup();
        lines
    }
}

impl<'a> UseReader<'a> {
    fn new(
        line_search: &'a LineSearch<'a>,
        qualified: QualifiedName<'a>,
        hidden: &'a mut RedactionReport,
    ) -> Result<Self, ToolError> {
        let LineSearch { call, root, start, walk, stop, .. } = line_search;
        Ok(Self {
            call,
            root,
            qualified,
            pattern: line_search.pattern()?,
            // The search that found a file has already applied the filters.
            walk: WalkOptions {
                from: None,
                only: None,
                threads: 1,
                no_ignore: true,
                hidden: true,
                ..walk.clone()
            },
            around: line_search.asked.around,
            start_depth: start.depth(),
            stop,
            redactor: OutputRedactor::new(&call.workspace.redactor, hidden),
            held: HeldFiles::default(),
            subtypes: Arc::new(Subtypes { is_complete: true, ..Subtypes::default() }),
        })
    }

    /// Builds the key of the cache for the files that contain the name.
    fn question(&self, bound: u64) -> UsesCacheKey {
        let QualifiedName { name, qualifier } = self.qualified;
        UsesCacheKey {
            bound,
            max_file_bytes: self.call.limits.max_file_bytes,
            name: name.to_owned(),
            qualifier: qualifier.map(str::to_owned),
        }
    }

    /// Finds the subtypes of the qualifier if several files may define the name. Returns a note if some
    /// subtypes are unknown.
    fn find_subtypes(
        &mut self,
        gathered: &ReferencingFiles,
        start: &RelPath,
        walk: &WalkOptions,
    ) -> Option<String> {
        let qualifier = self.qualified.qualifier?;
        gathered.files.iter().filter(|file| file.may_define).nth(1)?;
        self.subtypes =
            cached(&gathered.subtypes, |found| found.is_complete, || self.subtypes(qualifier, start, walk));
        let qualifier = quoted(qualifier);
        (!self.subtypes.is_complete)
            .then(|| format!("not all subtypes of {qualifier} are known: lines of the others are left out"))
    }

    fn scan(&self, around: (usize, usize), max_file_matches: usize) -> ScanOptions {
        ScanOptions {
            before_context: around.0,
            after_context: around.1,
            max_file_matches,
            max_file_bytes: self.call.limits.max_file_bytes,
            max_spans: limits::GREP_SPANS,
            index: self.call.workspace.index(self.root),
            ..ScanOptions::default()
        }
    }

    /// Computes the sort key of a file. Within their part, files that contain the qualifier on a line with
    /// the name come first.
    fn group(&self, file: &FileEvents) -> Group {
        let part = part(&file.path);
        let Some(qualifier) = self.qualified.qualifier else { return Group::Part(part) };
        let is_qualified = |event: &SearchEvent| has_word(&String::from_utf8_lossy(&event.bytes), qualifier);
        Group::Part(2 * part + u8::from(!file.events.iter().any(is_qualified)))
    }

    /// Reuses the files that an earlier call gathered in the same watched tree, or gathers them now.
    fn cached_or_gathered(
        &self,
        question: UsesCacheKey,
        start: &RelPath,
        walk: &WalkOptions,
    ) -> Result<Arc<ReferencingFiles>, ToolError> {
        let Some(cache) = &self.call.workspace.gathered_uses else {
            return self.gather(start, walk).map(Arc::new);
        };
        let tree = || self.call.workspace.index(self.root)?.watched(walk);
        let before = tree();
        if let Some(gathered) = before.as_ref().and_then(|tree| cache.find(&question, tree)) {
            return Ok(gathered);
        }
        let gathered = Arc::new(self.gather(start, walk)?);
        // We cache this result only if the tree has not changed in the meantime. It must not be empty either,
        // because the system does not report every change.
        if let Some(before) = before
            && gathered.is_complete
            && !gathered.files.is_empty()
            && tree().is_some_and(|now| Arc::ptr_eq(&before, &now))
        {
            cache.keep(question, before, &gathered);
        }
        Ok(gathered)
    }

    /// Finds all files that contain the name.
    fn gather(&self, start: &RelPath, walk: &WalkOptions) -> Result<ReferencingFiles, ToolError> {
        // We reserve a part of the time for preparing the page.
        let gathering = self.stop.within(self.call.limits.timeout.mul_f64(limits::GREP_GATHER_SHARE));
        let scan = ScanOptions { exhaustive: true, ..self.scan((0, 0), usize::MAX) };
        let mut files: Vec<ReferencingFile> = Vec::new();
        // Files with more lines than we keep of one file. We count these separately.
        let mut uncounted: Vec<usize> = Vec::new();
        let report = search(self.root, start, walk, self.pattern, &scan, &gathering, |file| {
            let path = file_name(&file.path);
            let may_define = |event: &SearchEvent| {
                may_define(&path, &String::from_utf8_lossy(&event.bytes), self.qualified.name)
            };
            let may_implement = |event: &SearchEvent| {
                may_implement(&path, &String::from_utf8_lossy(&event.bytes), self.qualified.name)
            };
            if file.more {
                uncounted.push(files.len());
            }
            files.push(ReferencingFile {
                group: self.group(&file),
                matches: file.matches,
                // One of the lines that we did not keep may also be a definition.
                may_define: file.more || file.events.iter().any(may_define),
                may_implement: file.more || file.events.iter().any(may_implement),
                path: file.path.clone(),
            });
            match files.len() < limits::GREP_USES_FILES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        // Unless we know all files, a later page might find files that belong before its start.
        let all_known = report.stopped.is_none() && !report.broke_off && !report.too_many_entries;
        let mut is_complete = is_whole(&report) && all_known;
        for index in uncounted {
            match self.count(&files[index].path) {
                Some(matches) => files[index].matches = matches,
                None => is_complete = false,
            }
        }
        if all_known {
            files.sort();
        }
        Ok(ReferencingFiles { files, report, is_complete, all_known, ..ReferencingFiles::default() })
    }

    /// Reads the files for this answer in advance, in parallel.
    fn read_ahead(&mut self, files: &[ReferencingFile], cursor: Option<&Cursor>, max_results: u64) {
        let (max, most_bytes) = limits::GREP_USES_HELD;
        let is_ahead = |file: &&ReferencingFile| {
            cursor.is_none_or(|cursor| (file.group, &file.path) >= (cursor.group, &cursor.path))
        };
        let mut lines = 0;
        let page = files.iter().filter(is_ahead).take_while(|file| {
            // For a qualified name we must read more files, since the qualifier may exclude any of these
            // lines.
            let is_within = lines < max_results || self.qualified.qualifier.is_some();
            lines += file.matches;
            is_within
        });
        let paths: Vec<&RelPath> = page.take(max).map(|file| &file.path).collect();
        let bytes = AtomicUsize::new(0);
        let held = map_in_threads(&paths, self.call.walk_options().thread_count(), |path| {
            let has_room = self.stop.check().is_none() && bytes.load(Ordering::Relaxed) < most_bytes;
            let file = has_room.then(|| self.read(path, self.qualified.name, self.stop)).flatten()?;
            let held = bytes.fetch_add(file.bytes(), Ordering::Relaxed) + file.bytes();
            // If this file exceeds the limit, we will read it again when it is its turn.
            (held <= most_bytes).then(|| ((*path).clone(), Arc::new(file)))
        });
        self.held = HeldFiles(held.into_iter().flatten().collect());
    }

    fn read(&self, path: &RelPath, name: &str, stop: &Stop) -> Option<OutlinedFile> {
        let (text, ..) = whole_text(self.root, path, stop).ok()?;
        let Parsed { outline, uses } =
            self.call.workspace.outlines.outline_and_uses(&file_name(path), &text, name, stop);
        Some(OutlinedFile { text: text.into_text(), outline, uses })
    }

    /// Gets the text and the outline of a file, from the held files if possible.
    fn outlined(&self, path: &RelPath) -> Option<Arc<OutlinedFile>> {
        match self.held.0.get(path) {
            Some(file) => Some(Arc::clone(file)),
            None => self.read(path, self.qualified.name, self.stop).map(Arc::new),
        }
    }

    /// Prepares the check of a file's lines against the qualifier. `None` without a qualifier or a syntax
    /// tree.
    fn narrowing<'f>(&'f self, path: &RelPath, file: &'f OutlinedFile) -> Option<Narrowing<'f>> {
        let QualifiedName { name, qualifier } = self.qualified;
        Narrowing::new((qualifier?, &self.subtypes.names), name, &file_name(path), file)
    }

    /// Collects lines after the cursor until the page is full.
    fn page(&mut self, files: &[ReferencingFile], cursor: Option<&Cursor>, max_results: u64) -> UsesPage {
        let mut page = UsesPage::default();
        for ReferencingFile { group, path, matches, .. } in files {
            let place = (*group, path);
            let is_before = |cursor: &Cursor| place < (cursor.group, &cursor.path);
            if cursor.is_some_and(is_before) {
                continue;
            }
            let given =
                cursor.filter(|cursor| (cursor.group, &cursor.path) == place).map_or(0, |cursor| cursor.line);
            let room = max_results - page.matches;
            if room == 0 || page.is_cut || self.stop.check().is_some() {
                // We don't know how many lines of the cursor's file are left, if any, so we count all of its
                // lines.
                page.is_cut = true;
                page.elsewhere.add(path, self.start_depth, *matches);
                continue;
            }
            let (mut given, mut is_first) = (given, true);
            loop {
                let max = usize::try_from(max_results - page.matches + 1).unwrap_or(usize::MAX);
                let Some(lines) = self.file(path, given, max, &mut page.skipped) else {
                    // We know that the file has such lines, but could not read them.
                    page.is_cut |= self.stop.check().is_some();
                    break;
                };
                page.not_narrowed += u64::from(is_first && !lines.is_narrowed);
                page.last = Some(Cursor { group: *group, path: path.clone(), line: lines.last });
                page.add(GrepFile { group: *group, ..lines.record });
                lines.left_out.into_iter().for_each(|name| *page.left_out.entry(name).or_default() += 1);
                page.is_cut = lines.has_more;
                page.by_bytes = lines.has_more && lines.found + 1 < max as u64;
                // The following lines take the place of the excluded ones.
                let goes_on =
                    lines.has_more && !page.by_bytes && lines.found > 0 && page.matches < max_results;
                if !goes_on || self.stop.check().is_some() {
                    break;
                }
                (given, is_first) = (lines.last, false);
            }
        }
        page
    }

    /// Reads at most `most - 1` lines of a file, beginning after the given line.
    fn file(&mut self, path: &RelPath, tail: u64, max: usize, skipped: &mut Skipped) -> Option<FileLines> {
        let after = (tail > 0).then(|| ResumePoint::Matches(path.clone(), tail));
        // We search one file that is known to contain the name, so an index would not help.
        let scan = ScanOptions { after, index: None, ..self.scan(self.around, max) };
        let scan = self.redactor.widen(scan, Some(limits::GREP_LINE_CHARACTERS));
        let mut found = None;
        let report = search(self.root, path, &self.walk, self.pattern, &scan, self.stop, |file| {
            found = Some(file);
            ControlFlow::Break(())
        });
        let Ok(report) = report else {
            skipped.add(SkipReason::Unreadable);
            return None;
        };
        skipped.merge(&report.skipped);
        let mut file = found?;
        let mut has_more = file.more || report.stopped.is_some();
        let mut matches = file.events.iter().enumerate().filter(|(_, event)| event.kind == EventKind::Match);
        if let Some(end) = matches.nth(max - 1).map(|(end, _)| end) {
            has_more = true;
            self.redactor.truncate(&mut file.events, end);
        }
        let found =
            FoundFile::new(file, &mut self.redactor, Some(limits::GREP_LINE_CHARACTERS), limits::GREP_SPANS);
        let last = found.last_match().unwrap_or_default();
        let mut record = GrepFile::from(found.counted());
        // This drops the context of the next match, which is not shown.
        record.lines.retain(|line| line.line_number <= last + self.around.1 as u64);
        let found = record.match_count;
        let (mut left_out, mut is_narrowed) = (Vec::new(), false);
        // If this file is too large to parse, its lines will have no kind.
        if let Some(file) = self.outlined(path) {
            annotate_lines(&mut record, path, &file, self.qualified.name);
            if let Some(narrowing) = self.narrowing(path, &file) {
                left_out = leave_out(&mut record, &narrowing, self.around);
                is_narrowed = true;
            }
        }
        Some(FileLines { record, last, found, has_more, left_out, is_narrowed })
    }

    /// Counts the lines of a file with the name. `None` means that there was no time to count them.
    fn count(&self, path: &RelPath) -> Option<u64> {
        let scan = ScanOptions { count_only: true, ..self.scan((0, 0), usize::MAX) };
        let mut matches = 0;
        let report = search(self.root, path, &self.walk, self.pattern, &scan, self.stop, |file| {
            matches = file.matches;
            ControlFlow::Break(())
        });
        report.is_ok_and(|report| report.stopped.is_none()).then_some(matches)
    }
}

/// Removes the lines where the name belongs to another type or module. Returns the names of these types and
/// modules.
fn leave_out(record: &mut GrepFile, narrowing: &Narrowing<'_>, around: (usize, usize)) -> Vec<String> {
    let mut left_out = Vec::new();
    let mut kept: Vec<u64> = Vec::new();
    for line in record.lines.iter_mut().filter(|line| line.kind == "match") {
        let (fit, kind) = narrowing.line(line.line_number as u32);
        if let Fit::Other(name) = fit {
            left_out.push(name);
            // It may still be a context line of another match.
            (line.kind, line.mention) = ("context", None);
            line.spans.clear();
            continue;
        }
        kept.push(line.line_number);
        if line.mention != Some("definition") {
            line.mention = Some(kind.name());
        }
        line.receiver = (fit == Fit::Unknown).then_some("unknown");
    }
    let (before, after) = (around.0 as u64, around.1 as u64);
    let is_near = |line: u64| {
        let next = kept.partition_point(|kept| *kept + after < line);
        kept.get(next).is_some_and(|kept| *kept <= line + before)
    };
    record.lines.retain(|line| is_near(line.line_number));
    record.match_count -= left_out.len() as u64;
    left_out
}

/// Checks whether a definition has this name. In PHP, Perl and Ruby, uses of a name may have a sigil (`$` or
/// `@`) that its definition lacks. A name that is also a keyword has a prefix in some languages.
pub(super) fn is_called(definition: &Definition, name: &str) -> bool {
    let defined = definition.name.as_str();
    let is_raw = KEYWORD_PREFIXES.iter().any(|prefix| defined.strip_prefix(prefix) == Some(name));
    defined == name || is_raw || defined == name.trim_start_matches(['$', '@'])
}

/// Returns true if this kind of definition defines its name. Extensions and headings only mention it.
pub(super) fn defines(kind: DefinitionKind) -> bool {
    !matches!(kind, DefinitionKind::Extension | DefinitionKind::Heading)
}

/// Sets the kind of use and the enclosing definition of each line.
fn annotate_lines(record: &mut GrepFile, path: &RelPath, file: &OutlinedFile, name: &str) {
    let OutlinedFile { text, outline, uses } = file;
    let definitions = &outline.definitions;
    let path = file_name(path);
    let is_own = |definition: &&Definition| is_called(definition, name) && defines(definition.kind);
    let own: HashSet<u32> =
        definitions.iter().chain(&outline.fields).filter(is_own).map(|definition| definition.line).collect();
    let numbers: Vec<u32> = record.lines.iter().map(|line| line.line_number as u32).collect();
    let kinds: Vec<&'static str> = match uses {
        Some(uses) => numbers.iter().map(|number| kind_of_line(uses, *number)).collect(),
        None => mentions(&path, text, name, &numbers).into_iter().map(MentionKind::name).collect(),
    };
    for (line, kind) in record.lines.iter_mut().zip(kinds) {
        let number = line.line_number as u32;
        let is_definition = own.contains(&number);
        line.mention = (line.kind == "match").then_some(if is_definition { "definition" } else { kind });
        // If the line defines the name itself, we name the definition around it.
        let innermost = outline.innermost(number).and_then(|at| match is_definition {
            true if definitions[at].line == number => definitions[at].parent,
            _ => Some(at),
        });
        line.within = innermost.map(|at| within(outline, at));
    }
}

/// Picks the kind of use for a line: if it has several, the most informative one.
fn kind_of_line(uses: &[Use], line: u32) -> &'static str {
    let first = uses.partition_point(|used| used.line < line);
    let on_line = uses[first..].iter().take_while(|used| used.line == line);
    on_line.map(|used| used.kind).min().unwrap_or(UseKind::Code).name()
}

/// Describes a definition by its name and those of its nearest enclosing definitions.
pub(super) fn within(outline: &FileOutline, at: usize) -> GrepWithin {
    let names = outline.qualified(at);
    let nearest = &names[names.len().saturating_sub(limits::GREP_WITHIN)..];
    let names: Vec<String> = nearest.iter().map(|name| clip(name, limits::GREP_WITHIN_BYTES)).collect();
    let Definition { start_line, end_line, .. } = outline.definitions[at];
    GrepWithin { symbol: display_text(&names.join(" > ")).into_owned(), start_line, end_line }
}

//! `grep_search` for a name: its definitions, then the lines that use it, by the definitions that these stand in.
//!
//! Names are compared as whole words, and nothing is resolved. All lines with the name are found, whatever they are; the
//! definitions around them come from `forage_rank`'s outline of their files.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forage_base::{Stop, map_in_threads};
use forage_fs::{RelPath, Root, SkipReason, Skipped, WalkOptions};
use forage_rank::{
    Definition, DefinitionKind, FileOutline, MentionKind, Use, UseKind, is_prose, is_test, may_define,
    mentions, outline_and_uses,
};
use forage_search::{Delivered, EventKind, Pattern, ScanOptions, SearchEvent, search};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::line_search::{FoundFile, LineSearch, ResultUnit};
use super::gathered::{Gathered, MentioningFile};
use super::rest::DirectoryTally;
use super::{GrepFile, GrepLine, GrepRequest, GrepResponse, GrepSearch, is_whole};
use crate::arguments::Clamp;
use crate::border::{Border, Excerpt, Hidden};
use crate::context::Context;
use crate::cursor::Cursor;
use crate::error::ToolError;
use crate::file_text::whole_text;
use crate::limits;
use crate::lines::{ContextDetail, shown_line};
use crate::names::ToolNames;
use crate::outcome::{Limit, ToolOutcome};
use crate::sanitize::sanitize_line;
use crate::text::{around_place, clip, count, grouped, quoted};
use crate::tool::Tool as _;

/// A definition of the name.
#[derive(Debug, JsonSchema, Serialize)]
pub struct GrepDefinition {
    /// Its file, below the root.
    pub path: String,
    /// The path's own bytes in base64, where `path` quotes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// The language's own word, such as `struct`, or a general one, such as `function`.
    pub kind: &'static str,
    /// The first line of the comments and attributes above it, from 1.
    pub start_line: u32,
    /// The line that has the name.
    pub line: u32,
    /// The last line of its body.
    pub end_line: u32,
    /// The line that has the name, without white space around, cut.
    pub text: String,
}

/// The innermost definition that a line stands in.
#[derive(Clone, Debug, JsonSchema, PartialEq, Eq, Serialize)]
pub struct GrepWithin {
    /// Its name, behind those of the definitions around it.
    pub symbol: String,
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
}

/// The name that a pattern is, and whether something in front of it is left out.
fn name_of(pattern: &str) -> Result<(&str, bool), ToolError> {
    let bare = pattern.trim().trim_start_matches(r"\b").trim_end_matches(r"\b");
    let bare = bare.strip_suffix("()").unwrap_or(bare).trim_start_matches([':', '.', '#', '/']);
    // What begins with a separator is a name with it, such as `->cart` in Clojure.
    let behind = |separator: &&str| Some(bare.rfind(separator).filter(|at| *at > 0)? + separator.len());
    let start = ["::", "->", ".", "#", "/", ":"].iter().filter_map(behind).max().unwrap_or_default();
    let (qualifier, name) = bare.split_at(start);
    // `empty?`, `save!`, `a-b`, `foo'`, `$name` are names in some languages.
    let is_sign = |c: char| "_-?!='$@%~>".contains(c);
    let is_name = name.chars().all(|c| c.is_alphanumeric() || is_sign(c))
        && name.contains(|c: char| c.is_alphanumeric() || c == '_');
    let qualifies = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '-' | '>' | '#' | '/');
    if is_name && qualifier.chars().all(qualifies) {
        return Ok((name, !qualifier.is_empty()));
    }
    let problem = format!(
        "uses are those of one name, and {} is none; give a name such as \"parse_header\", or search for lines",
        quoted(pattern)
    );
    Err(ToolError::argument("pattern", problem))
}

/// Returns how a caller gets less.
fn narrow(names: &ToolNames) -> String {
    names.fill("narrow {grep_search.path} or {grep_search.file_pattern}")
}

/// Returns which part of the answer a file comes in: code is first, then prose, then tests.
pub(super) fn part(path: &RelPath) -> u8 {
    let path = file_name(path);
    if is_test(&path) {
        return 2;
    }
    u8::from(is_prose(&path))
}

/// A path as the language of its file is told by. In the way in which it is shown its extension may have a quote behind it.
fn file_name(path: &RelPath) -> Cow<'_, str> {
    String::from_utf8_lossy(path.as_bytes())
}

pub(super) fn run(context: &Context, request: GrepRequest) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    let mut clamp = Clamp::new(&context.names, GrepSearch::NAME);
    let most = limits::GREP_MATCHES_MAX;
    let max_results = clamp.number("max_results", request.max_results, limits::GREP_MATCHES, 1, most);
    let (name, is_qualified) = name_of(&request.pattern)?;
    if request.invert_match.unwrap_or(false) {
        return Err(ToolError::argument(
            "invert_match",
            "lines without a name are no uses of it; leave it out, or search for lines",
        ));
    }
    let of_name = GrepRequest {
        pattern: name.to_owned(),
        word_regexp: Some(true),
        ignore_case: None,
        fixed_strings: Some(true),
        context_lines: request.context_lines.or(Some(0)),
        ..request.clone()
    };
    let asked = of_name.asked(context, ResultUnit::Matches, clamp);
    let line_search = LineSearch::new::<GrepSearch>(context, &request, asked)?;
    let LineSearch { root, start, bound, cursor, .. } = &line_search;
    // The order of the files is known when all are.
    let walk = &WalkOptions { from: None, ..line_search.walk.clone() };
    let pattern = line_search.pattern()?;
    let is_cased = !request.ignore_case.unwrap_or(false);
    let mut hidden = Hidden::default();
    let mut reader = UseReader {
        context,
        root,
        name,
        pattern,
        // That it is searched was decided when it was found.
        walk: WalkOptions { only: None, threads: 1, no_ignore: true, hidden: true, ..walk.clone() },
        around: line_search.asked.around,
        start_depth: start.depth(),
        stop: &line_search.stop,
        border: Border::new(&context.redactor, &mut hidden),
        held: HeldFiles::default(),
    };
    let tree = || context.gathered_uses.as_ref().and_then(|_| context.index(root)?.watched(walk));
    let kept = context.gathered_uses.as_ref().zip(tree());
    let question = (*bound, context.max_file_bytes);
    let gathered = match kept.as_ref().and_then(|(kept, tree)| kept.find(question, tree)) {
        Some(gathered) => gathered,
        None => {
            let gathered = Arc::new(reader.gather(start, walk)?);
            // Nothing has changed meanwhile. That there is nothing at all is looked at each time: not every change is told.
            if let Some((kept, before)) = kept
                && gathered.is_complete
                && !gathered.files.is_empty()
                && tree().is_some_and(|now| Arc::ptr_eq(&before, &now))
            {
                kept.keep(question, before, &gathered);
            }
            gathered
        }
    };
    let Gathered { files, report, is_complete: complete, all_known } = &*gathered;
    let (complete, all_known) = (*complete, *all_known);
    let not_searched = line_search.verdict(report, files.is_empty() && all_known)?;
    let match_count: u64 = files.iter().map(|file| file.matches).sum();
    reader.hold(files, cursor.as_ref(), max_results);
    let mut notes = Vec::new();
    if !is_cased {
        notes.push("case is taken into account: names are compared as they are".to_owned());
    }
    let (defined, defined_count) = match cursor {
        Some(_) => (Vec::new(), 0),
        None => reader.definitions(files, &mut notes),
    };
    let page = reader.page(files, cursor.as_ref(), max_results);
    let found = !files.is_empty();
    let next = page.last.filter(|_| page.is_cut && all_known).map(|last| last.encode(*bound));
    let mut outcome = ToolOutcome::new(
        GrepResponse {
            path: start.display().into_owned(),
            match_count,
            file_count: files.len() as u64,
            totals_exact: complete,
            files_searched: report.searched(),
            files: page.files,
            elsewhere: page.elsewhere.most_first(),
            definitions: defined,
            definition_count: defined_count,
            depth: start.depth() + 1,
            bound: *bound,
            continued: cursor.is_some(),
            has_pages: all_known,
            not_searched,
            no_file_chosen: line_search.no_file_chosen(report),
            ..GrepResponse::of(&request)
        },
        found,
    );
    outcome.warnings = [line_search.asked.warnings.clone(), notes].concat();
    if is_qualified {
        let name = quoted(name);
        outcome
            .warnings
            .push(format!("only {name} is looked for: names are compared, and nothing is resolved"));
    }
    outcome.warnings.extend(line_search.unfit_globs());
    outcome.add_report(report);
    // The look for all files may have met the same.
    if outcome.skipped.get(SkipReason::LineTooLong) == 0 {
        outcome.skipped.add_many(SkipReason::LineTooLong, page.skipped.get(SkipReason::LineTooLong));
    }
    outcome.skipped.add_many(SkipReason::Unreadable, page.skipped.get(SkipReason::Unreadable));
    outcome.next_cursor = next;
    outcome.hidden = hidden;
    let narrow = narrow(&context.names);
    if report.broke_off {
        let most = grouped(limits::GREP_USES_FILES as u64);
        outcome.warnings.push(format!("more than {most} files have the name; {narrow}"));
        outcome.truncated_by = Some(Limit::Entries);
    }
    if !all_known && page.is_cut {
        outcome.warnings.push(format!("not all files are known, so that there is no cursor; {narrow}"));
    }
    if page.is_cut {
        let limit = if page.by_bytes { Limit::FileBytes } else { Limit::MaxResults };
        outcome.truncated_by.get_or_insert(line_search.stop.check().map_or(limit, Limit::from));
    }
    Ok(outcome)
}

/// Lines that are returned.
#[derive(Default)]
struct UsesPage {
    files: Vec<GrepFile>,
    matches: u64,
    last: Option<Cursor>,
    /// There are more.
    is_cut: bool,
    /// Not the number of lines but the bytes of a file's lines filled it.
    by_bytes: bool,
    elsewhere: DirectoryTally,
    skipped: Skipped,
}

/// Reads what is told of the files with a name.
struct UseReader<'a> {
    context: &'a Context,
    root: &'a Arc<Root>,
    name: &'a str,
    pattern: &'a Pattern,
    /// For one file.
    walk: WalkOptions,
    around: (usize, usize),
    /// Names in the path of what is searched.
    start_depth: usize,
    stop: &'a Stop,
    border: Border<'a>,
    held: HeldFiles,
}

/// Texts and outlines of files that are told of, some of them twice.
#[derive(Default)]
struct HeldFiles(HashMap<RelPath, Arc<OutlinedFile>>);

struct OutlinedFile {
    text: String,
    outline: FileOutline,
    /// Uses of the name in a syntax tree.
    uses: Option<Vec<Use>>,
}

impl OutlinedFile {
    fn read(root: &Arc<Root>, path: &RelPath, name: &str, stop: &Stop) -> Option<Self> {
        let (text, ..) = whole_text(root, path).ok()?;
        let (outline, uses) = outline_and_uses(&file_name(path), &text, name, stop);
        Some(Self { text, outline, uses })
    }
}

impl UseReader<'_> {
    fn scan(&self, around: (usize, usize), max_file_matches: usize) -> ScanOptions {
        ScanOptions {
            before_context: around.0,
            after_context: around.1,
            max_file_matches,
            max_file_bytes: self.context.max_file_bytes,
            max_spans: limits::GREP_SPANS,
            index: self.context.index(self.root),
            ..ScanOptions::default()
        }
    }

    /// Looks for all files with the name.
    fn gather(&self, start: &RelPath, walk: &WalkOptions) -> Result<Gathered, ToolError> {
        // What is found has to be shown, too.
        let gathering = self.stop.within(self.context.timeout.mul_f64(limits::GREP_GATHER_SHARE));
        let scan = ScanOptions { exhaustive: true, ..self.scan((0, 0), usize::MAX) };
        let mut files: Vec<MentioningFile> = Vec::new();
        // Files with more lines than are held of one at once.
        let mut uncounted: Vec<usize> = Vec::new();
        let report = search(self.root, start, walk, self.pattern, &scan, &gathering, |file| {
            let path = file_name(&file.path);
            let may_define =
                |event: &SearchEvent| may_define(&path, &String::from_utf8_lossy(&event.bytes), self.name);
            let (part, may_define) = (part(&file.path), file.events.iter().any(may_define));
            if file.more {
                uncounted.push(files.len());
            }
            let may_define = may_define || file.more;
            files.push(MentioningFile { part, matches: file.matches, may_define, path: file.path.clone() });
            match files.len() < limits::GREP_USES_FILES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        // Where not all files are known, another page would have others before its beginning.
        let all_known = report.stopped.is_none() && !report.broke_off && !report.too_many_entries;
        let mut is_complete = is_whole(&report) && all_known;
        for nth in uncounted {
            match self.count(&files[nth].path) {
                Some(matches) => files[nth].matches = matches,
                None => is_complete = false,
            }
        }
        if all_known {
            files.sort();
        }
        Ok(Gathered { files, report, is_complete, all_known })
    }

    /// Reads what will be told of, on all processors.
    fn hold(&mut self, files: &[MentioningFile], cursor: Option<&Cursor>, max_results: u64) {
        let (most, most_bytes) = limits::GREP_USES_HELD;
        let is_ahead = |file: &&MentioningFile| {
            cursor.is_none_or(|cursor| (file.part, &file.path) >= (cursor.distance, &cursor.path))
        };
        let mut lines = 0;
        let page = files.iter().filter(is_ahead).take_while(|file| {
            let is_within = lines < max_results;
            lines += file.matches;
            is_within
        });
        let defining = files.iter().filter(|file| cursor.is_none() && file.may_define);
        let mut paths: Vec<&RelPath> =
            page.take(most).chain(defining.take(most)).map(|file| &file.path).collect();
        paths.sort();
        paths.dedup();
        let bytes = AtomicUsize::new(0);
        let held = map_in_threads(&paths, self.context.walk_options().thread_count(), |path| {
            let has_room = self.stop.check().is_none() && bytes.load(Ordering::Relaxed) < most_bytes;
            let file =
                has_room.then(|| OutlinedFile::read(self.root, path, self.name, self.stop)).flatten()?;
            bytes.fetch_add(file.text.len(), Ordering::Relaxed);
            Some(((*path).clone(), Arc::new(file)))
        });
        self.held = HeldFiles(held.into_iter().flatten().collect());
    }

    /// A file's text with what it defines.
    fn outlined(&self, path: &RelPath) -> Option<Arc<OutlinedFile>> {
        match self.held.0.get(path) {
            Some(file) => Some(Arc::clone(file)),
            None => OutlinedFile::read(self.root, path, self.name, self.stop).map(Arc::new),
        }
    }

    /// The definitions of the name, those of tests and those without a body last, and how many there are.
    fn definitions(
        &mut self,
        files: &[MentioningFile],
        notes: &mut Vec<String>,
    ) -> (Vec<GrepDefinition>, u64) {
        let chosen: Vec<&MentioningFile> = files.iter().filter(|file| file.may_define).collect();
        let time = self.stop.within(limits::GREP_COUNT_TIME);
        let mut found: Vec<(u8, bool, GrepDefinition)> = Vec::new();
        let (mut all, mut too_large) = (0, 0);
        for (looked_at, MentioningFile { part, path, .. }) in chosen.iter().enumerate() {
            if time.check().is_some() {
                let left = count((chosen.len() - looked_at) as u64, "file");
                notes.push(format!(
                    "there was no time to look for definitions in {left}; {}",
                    narrow(&self.context.names)
                ));
                break;
            }
            let Some(file) = self.outlined(path) else {
                too_large += 1;
                continue;
            };
            let mut own: Vec<Definition> = file
                .outline
                .definitions
                .iter()
                .chain(&file.outline.fields)
                .filter(|definition| definition.name == self.name && defines(definition.kind))
                .cloned()
                .collect();
            all += own.len() as u64;
            own.sort_by_key(|definition| definition.kind == DefinitionKind::Declaration);
            own.truncate(limits::GREP_DEFINITIONS);
            if own.is_empty() {
                continue;
            }
            let lines: Vec<usize> = own.iter().map(|definition| definition.line as usize - 1).collect();
            let texts = self.border.chosen(&Excerpt::new(&file.text), &lines);
            for (definition, text) in own.into_iter().zip(texts) {
                let is_lesser = definition.kind == DefinitionKind::Declaration;
                found.push((*part, is_lesser, self.record(path, &definition, &text)));
            }
            // Within these the order of paths and lines stays.
            found.sort_by_key(|(part, is_lesser, _)| (*part, *is_lesser));
            found.truncate(limits::GREP_DEFINITIONS);
        }
        if too_large > 0 {
            let files = count(too_large, "file");
            notes.push(format!("{files} could not be looked at for definitions, for the size or what it is"));
        }
        (found.into_iter().map(|(.., definition)| definition).collect(), all)
    }

    fn record(&mut self, path: &RelPath, definition: &Definition, text: &str) -> GrepDefinition {
        let (path, path_bytes) = self.border.path(path);
        let text = sanitize_line(text.trim());
        let place = text.find(self.name).map(|at| at..at + self.name.len());
        GrepDefinition {
            path,
            path_bytes,
            kind: definition.word,
            start_line: definition.start_line,
            line: definition.line,
            end_line: definition.end_line,
            text: around_place(&text, limits::GREP_LINE_CHARACTERS, place.as_ref()),
        }
    }

    /// The lines behind the cursor, until there are enough.
    fn page(&mut self, files: &[MentioningFile], cursor: Option<&Cursor>, max_results: u64) -> UsesPage {
        let mut page = UsesPage::default();
        for MentioningFile { part, path, matches, .. } in files {
            let place = (*part, path);
            let is_before = |cursor: &Cursor| place < (cursor.distance, &cursor.path);
            if cursor.is_some_and(is_before) {
                continue;
            }
            let given = cursor
                .filter(|cursor| (cursor.distance, &cursor.path) == place)
                .map_or(0, |cursor| cursor.line);
            let room = max_results - page.matches;
            if room == 0 || page.is_cut || self.stop.check().is_some() {
                // Of the file of the cursor some lines are behind it, or it ended there.
                page.is_cut = true;
                page.elsewhere.add(path, self.start_depth, *matches);
                continue;
            }
            let most = usize::try_from(room + 1).unwrap_or(usize::MAX);
            let found = self.file(path, given, most, &mut page.skipped);
            let Some((record, last, has_more)) = found else {
                // What it has is known, and it is not there.
                page.is_cut |= self.stop.check().is_some();
                continue;
            };
            page.matches += record.match_count;
            page.last = Some(Cursor { distance: place.0, path: path.clone(), line: last });
            page.files.push(record);
            page.is_cut = has_more;
            page.by_bytes = has_more && page.matches < max_results;
        }
        page
    }

    /// The lines of a file behind one, at most one less than so many, the last of them, and whether it has more.
    fn file(
        &mut self,
        path: &RelPath,
        behind: u64,
        most: usize,
        skipped: &mut Skipped,
    ) -> Option<(GrepFile, u64, bool)> {
        let after = (behind > 0).then(|| Delivered::Matches(path.clone(), behind));
        let scan = ScanOptions { after, index: None, ..self.scan(self.around, most) };
        let scan = self.border.widen(scan, Some(limits::GREP_LINE_CHARACTERS));
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
        if let Some(end) = matches.nth(most - 1).map(|(end, _)| end) {
            has_more = true;
            self.border.truncate(&mut file.events, end);
        }
        let found =
            FoundFile::new(file, &mut self.border, Some(limits::GREP_LINE_CHARACTERS), limits::GREP_SPANS);
        let last = found.last_match().unwrap_or_default();
        let mut record = GrepFile::from(found.counted());
        record.lines.retain(|line| line.line_number <= last + self.around.1 as u64);
        // Of what is too large for that, lines are found and nothing is told of them.
        if let Some(file) = self.outlined(path) {
            tell(&mut record, path, &file, self.name);
        }
        Some((record, last, has_more))
    }

    /// How many lines of a file have the name; `None` if there was no time to count them.
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

/// Whether a definition of this kind is one of what its name is.
fn defines(kind: DefinitionKind) -> bool {
    !matches!(kind, DefinitionKind::Extension | DefinitionKind::Heading)
}

/// Says of each line what it has the name in, and in which definition it stands.
fn tell(record: &mut GrepFile, path: &RelPath, file: &OutlinedFile, name: &str) {
    let OutlinedFile { text, outline, uses } = file;
    let definitions = &outline.definitions;
    let path = file_name(path);
    let is_own = |definition: &&Definition| definition.name == name && defines(definition.kind);
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
        // A line that defines the name itself is shown in the definition around that.
        let innermost = outline.innermost(number).and_then(|at| match is_definition {
            true if definitions[at].line == number => definitions[at].parent,
            _ => Some(at),
        });
        line.within = innermost.map(|at| within(outline, at));
    }
}

/// The kind of the uses of a line; of several the one that says most.
fn kind_of_line(uses: &[Use], line: u32) -> &'static str {
    let first = uses.partition_point(|used| used.line < line);
    let on_line = uses[first..].iter().take_while(|used| used.line == line);
    on_line.map(|used| used.kind).min().unwrap_or(UseKind::Code).name()
}

/// A definition with the names of the nearest ones around it.
fn within(outline: &FileOutline, at: usize) -> GrepWithin {
    let names = outline.qualified(at);
    let nearest = &names[names.len().saturating_sub(limits::GREP_WITHIN)..];
    let names: Vec<String> = nearest.iter().map(|name| clip(name, limits::GREP_WITHIN_BYTES)).collect();
    let Definition { start_line, end_line, .. } = outline.definitions[at];
    GrepWithin { symbol: sanitize_line(&names.join(" > ")).into_owned(), start_line, end_line }
}

/// The headline of an answer with so many lines.
pub(super) fn headline(response: &GrepResponse, shown: u64) -> String {
    let name = quoted(name_of(&response.pattern).map_or(&response.pattern, |(name, _)| name));
    let at_least = if response.totals_exact { "" } else { "at least " };
    let (lines, files) = (count(response.match_count, "line"), count(response.file_count, "file"));
    let showing = match shown < response.match_count {
        true if response.continued => format!(" (showing {} more)", grouped(shown)),
        true => format!(" (showing {})", grouped(shown)),
        false => String::new(),
    };
    format!(
        "{name} stands as a whole word in {at_least}{lines} of {files}{showing}. Told by syntax: names are compared, not resolved.\n"
    )
}

/// The definitions, in so many bytes at the most but for the first, and those that stand there. What goes on has none.
pub(super) fn defined(response: &GrepResponse, room: usize) -> (String, &[GrepDefinition]) {
    if response.continued {
        return (String::new(), &[]);
    }
    if response.definitions.is_empty() {
        let is_definition = |line: &GrepLine| line.mention == Some("definition");
        let is_seen = response.files.iter().flat_map(|file| &file.lines).any(is_definition);
        return (if is_seen { "" } else { "\nNo definition of it is seen.\n" }.to_owned(), &[]);
    }
    let (mut list, mut shown, mut path) = (String::new(), 0, "");
    for definition in &response.definitions {
        let mut entry = String::new();
        if definition.path != path {
            path = &definition.path;
            let _ = writeln!(entry, "{}:", clip(path, limits::QUOTED_BYTES));
        }
        let GrepDefinition { start_line, end_line, .. } = *definition;
        let lines = match start_line == end_line {
            true => end_line.to_string(),
            false => format!("{start_line}-{end_line}"),
        };
        let _ = writeln!(entry, "  {lines}: {}", definition.text);
        if shown > 0 && list.len() + entry.len() > room {
            break;
        }
        list.push_str(&entry);
        shown += 1;
    }
    let is_cut = (shown as u64) < response.definition_count;
    let first = if is_cut { format!(" (the first {})", grouped(shown as u64)) } else { String::new() };
    let text = format!("\n{}{first}:\n{list}", count(response.definition_count, "definition"));
    (text, &response.definitions[..shown])
}

/// Whether a line stands among the definitions that are listed.
pub(super) fn is_listed(listed: &[GrepDefinition], path: &str, line: &GrepLine) -> bool {
    let is_it = |it: &GrepDefinition| u64::from(it.line) == line.line_number && it.path == path;
    line.mention == Some("definition") && listed.iter().any(is_it)
}

/// Headings of the kinds of uses, in the order in which they are shown.
const KINDS: [(&[&str], &str); 7] = [
    (&["definition"], "definitions"),
    (&["implementation"], "implementations and subclasses"),
    (&["call"], "calls"),
    (&["type"], "types"),
    (&["import"], "imports"),
    (&["code"], "other code"),
    (&["string", "comment"], "comments and strings"),
];

/// Writes the first `shown` matches, by kind, file and enclosing definition; those of tests last, and without those that
/// are listed as definitions.
pub(super) fn used(
    response: &GrepResponse,
    shown: u64,
    listed: &[GrepDefinition],
    detail: ContextDetail,
    text: &mut String,
) {
    let mut lines: Vec<(&GrepFile, &GrepLine)> = Vec::new();
    let mut matches = 0;
    for (file, line) in response.files.iter().flat_map(|file| file.lines.iter().map(move |line| (file, line)))
    {
        matches += u64::from(line.kind == "match");
        if matches > shown {
            break;
        }
        let is_wanted = detail == ContextDetail::Context || line.kind == "match";
        if is_wanted && !is_listed(listed, &file.path, line) {
            lines.push((file, line));
        }
    }
    for is_of_tests in [false, true] {
        for (kinds, heading) in KINDS {
            // Lines of context go with the match before them, or else with the one after.
            let group = group(&lines, |file, mention| {
                kinds.contains(&mention) && (part(&file.place) == 2) == is_of_tests
            });
            let matches = group.iter().filter(|(_, line)| line.kind == "match").count();
            if matches > 0 {
                let tests = if is_of_tests { ", in tests" } else { "" };
                let _ = writeln!(text, "\n{heading}{tests} ({}):", grouped(matches as u64));
                write_group(&group, text);
            }
        }
    }
}

/// The lines whose match is of a kind, with their context.
fn group<'r>(
    lines: &[(&'r GrepFile, &'r GrepLine)],
    is_wanted: impl Fn(&GrepFile, &str) -> bool,
) -> Vec<(&'r GrepFile, &'r GrepLine)> {
    let mut group = Vec::new();
    for run in lines
        .chunk_by(|(before, a), (file, b)| std::ptr::eq(*before, *file) && a.line_number + 1 == b.line_number)
    {
        let mut mentions = run.iter().map(|(_, line)| line.mention);
        let mut last = mentions.clone().find_map(|mention| mention).unwrap_or("code");
        for (file, line) in run {
            last = mentions.next().flatten().unwrap_or(last);
            if is_wanted(file, last) {
                group.push((*file, *line));
            }
        }
    }
    group
}

fn write_group(group: &[(&GrepFile, &GrepLine)], text: &mut String) {
    let mut last: Option<(&str, &Option<GrepWithin>)> = None;
    for (file, line) in group {
        if last.is_none_or(|(path, _)| path != file.path) {
            let _ = writeln!(text, "{}:", file.path);
        }
        if last != Some((&file.path, &line.within)) {
            last = Some((&file.path, &line.within));
            match &line.within {
                Some(GrepWithin { symbol, start_line, end_line }) => {
                    let symbol = clip(symbol, limits::QUOTED_BYTES);
                    let _ = writeln!(text, " in {symbol} ({start_line}-{end_line})");
                }
                None => text.push_str(" outside definitions\n"),
            }
        }
        let mark = if line.kind == "match" { ':' } else { '-' };
        let shown = shown_line(&line.text, line.cut_before, line.cut_after);
        let _ = writeln!(text, "  {}{mark} {}", line.line_number, shown.trim_start());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_out_of_what_it_is_written_in() {
        let cases = [
            ("spin_lock", Some(("spin_lock", false))),
            (r"\bspin_lock\b", Some(("spin_lock", false))),
            ("Client::send", Some(("send", true))),
            ("client->send()", Some(("send", true))),
            ("größe", Some(("größe", false))),
            ("::spawn", Some(("spawn", false))),
            ("empty?", Some(("empty?", false))),
            ("Account#save!", Some(("save!", true))),
            ("kebab-case", Some(("kebab-case", false))),
            ("->cart", Some(("->cart", false))),
            ("a b", None),
            ("send|receive", None),
            ("", None),
            ("::", None),
            ("x.*", None),
        ];
        for (pattern, name) in cases {
            assert_eq!(name_of(pattern).ok(), name, "{pattern}");
        }
    }
}

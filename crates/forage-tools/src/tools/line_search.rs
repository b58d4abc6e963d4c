//! The line search that `grep_search` and `Search` share. Each tool converts its arguments to a
//! [`LineRequest`], and the results to its own records.

mod best;
mod engine;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use forage_base::Stop;
use forage_fs::{Globs, RelPath, Root, WalkOptions, WalkReport, WalkStep, walk};
use forage_redact::RedactionReport;
use forage_search::index::Index;
use forage_search::{
    CodePattern, EventKind, FileEvents, Pattern, PatternBudget, PatternError, PatternOptions, ResumePoint,
    ScanOptions, SearchEvent, StoredTexts,
};
use serde::Serialize;

use self::best::BestPage;
pub(super) use self::engine::SearchEnd;
use self::engine::SearchEngine;
use crate::arguments::{file_globs, globs_at, split};
use crate::call::Call;
use crate::changes::ChangedFiles;
use crate::cursor::{Cursor, Group, UnresolvedCursor, fingerprint};
use crate::dependencies::defining;
use crate::error::ToolError;
use crate::file_names::unfit_globs;
use crate::limits;
use crate::names::ToolNames;
use crate::other_readings::{other_readings, ranked_first};
use crate::outcome::{Limit, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::place::{PathTarget, globs_in_path, no_file_fits};
use crate::revision::{Revision, RevisionTexts};
use crate::search_facts::DecodedFiles;
use crate::settings::EngineSetting;
use crate::text::{count, quoted};
use crate::tool::Tool;
use crate::verdict::{CallVerdict, EXCLUDED_UNLESS_NAMED, excluded_matches};

/// The arguments of a line search.
pub(super) struct LineRequest<'a> {
    pub(super) pattern: &'a str,
    pub(super) options: PatternOptions,
    /// Languages of a code pattern, empty for any. `None` for a regular expression or a plain text.
    pub(super) languages: Option<Vec<&'a str>>,
    pub(super) path: Option<&'a str>,
    /// Name of the tool's argument for globs.
    pub(super) globs_argument: &'static str,
    /// Comma-separated globs. They select only among the files that the ignore rules allow.
    pub(super) file_pattern: Option<&'a str>,
    /// A range of changes, e.g. `main...`. If it is set, we search only the files that it changes.
    pub(super) changed: Option<&'a str>,
    /// Globs that override ignore rules.
    pub(super) globs: &'a [String],
    pub(super) hidden: bool,
    pub(super) follow: bool,
    pub(super) no_ignore: bool,
    /// Number of context lines before and after a match.
    pub(super) around: (usize, usize),
    /// True to search for lines that do not match.
    pub(super) invert: bool,
    /// True to sort by number of edits rather than by path.
    pub(super) best_first: bool,
    /// True for all results, false for a limited number of them.
    pub(super) all: bool,
    pub(super) unit: ResultUnit,
    /// Maximum characters of a line; `None` for all.
    pub(super) characters: Option<usize>,
    /// Maximum matches per line whose positions are returned.
    pub(super) spans: usize,
    /// Maximum matching lines of a file that we pass on at once if all results are wanted.
    pub(super) piece: usize,
    pub(super) cursor: Option<&'a str>,
    pub(super) timeout: Duration,
    /// The external engine, or `None` for the embedded one.
    pub(super) engine: Option<&'a EngineSetting>,
    pub(super) warnings: Vec<String>,
}

/// The unit of a limit on results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultUnit {
    /// Matching lines and context lines.
    Lines,
    /// Matching lines.
    Matches,
    /// Files. We count their lines, but don't keep them.
    Files,
}

/// Lines of a file, redacted for display.
pub(super) struct FoundFile {
    pub(super) place: RelPath,
    pub(super) path: String,
    /// The path's bytes in base64, if `path` quotes them.
    pub(super) path_bytes: Option<String>,
    /// Number of matching lines: those in `events`, or all lines of the file if files are counted.
    pub(super) matches: u64,
    pub(super) events: Vec<SearchEvent>,
}

impl FoundFile {
    pub(super) fn new(
        file: FileEvents,
        redactor: &mut OutputRedactor<'_>,
        characters: Option<usize>,
        spans: usize,
    ) -> Self {
        let (path, path_bytes) = redactor.path(&file.path);
        let mut found =
            Self { place: file.path, path, path_bytes, matches: file.matches, events: file.events };
        redactor.events(&mut found.events, characters.unwrap_or(usize::MAX), spans);
        found
    }

    fn is_match(event: &&SearchEvent) -> bool {
        event.kind == EventKind::Match
    }

    pub(super) fn last_match(&self) -> Option<u64> {
        self.events.iter().rfind(Self::is_match).map(|event| event.line_number)
    }

    /// Counts the matching lines in `events`.
    pub(super) fn counted(mut self) -> Self {
        self.matches = self.events.iter().filter(Self::is_match).count() as u64;
        self
    }
}

/// Receives files as they are found, until it breaks.
pub(super) type Receive<'a> = dyn FnMut(FoundFile) -> ControlFlow<()> + Send + 'a;

/// Number of results, and how the search ended.
#[derive(Default)]
pub(super) struct LinesFound {
    /// Matching lines and context lines.
    pub(super) lines: u64,
    /// Matching lines.
    pub(super) matches: u64,
    /// Files with matching lines. Not counted in best-first order.
    pub(super) files: u64,
    /// The limit that ended the search. Set only if there is at least one more result.
    pub(super) limit: Option<Limit>,
    /// The last result.
    pub(super) last: Option<Cursor>,
    /// True if the file of `last` reached the limit on lines that we keep of one file.
    is_in_file: bool,
    pub(super) end: SearchEnd,
    pub(super) hidden: RedactionReport,
    decoded: DecodedFiles,
}

impl LinesFound {
    /// Counts the lines of a file up to `last`. They may be a further part of the last file.
    fn add(&mut self, file: &FoundFile, last: u64, encoding: Option<&'static str>, is_stored_notebook: bool) {
        let goes_on = self.last.as_ref().is_some_and(|last| last.path == file.place);
        if !goes_on {
            self.decoded.add(&file.path, encoding, is_stored_notebook);
        }
        self.lines += file.events.len() as u64;
        self.matches += file.matches;
        self.files += u64::from(!goes_on);
        self.last = Some(Cursor { group: Group::Part(0), path: file.place.clone(), line: last });
    }
}

/// A search with checked arguments.
pub(super) struct LineSearch<'a> {
    pub(super) call: &'a Call,
    pub(super) asked: LineRequest<'a>,
    /// `None` if only an external engine can parse the pattern.
    pattern: Option<Pattern>,
    engine: SearchEngine,
    index: Option<Arc<Index>>,
    pub(super) root: Arc<Root>,
    pub(super) start: RelPath,
    pub(super) walk: WalkOptions,
    /// Ends the call. The time runs from the start of the preparation.
    pub(super) stop: Stop,
    /// Fingerprint that the cursors of this search are bound to.
    pub(super) bound: u64,
    pub(super) cursor: Option<Cursor>,
    after: Option<ResumePoint>,
    has_globs_in_path: bool,
    has_globs: bool,
    /// The revision that we search instead of the working tree, and its files.
    pub(super) revision: Option<Revision>,
    pub(super) texts: Option<Arc<RevisionTexts>>,
}

impl<'a> LineSearch<'a> {
    /// Checks the arguments of `request`, which `asked` was converted from.
    pub(super) fn new<T: Tool>(
        call: &'a Call,
        request: &T::Request,
        mut asked: LineRequest<'a>,
    ) -> Result<Self, ToolError>
    where
        T::Request: Serialize,
    {
        let stop = call.stop.within(asked.timeout);
        let PathTarget { root, path: start, globs: in_path, note, revision, .. } =
            call.place(asked.path)?.searchable()?;
        asked.warnings.extend(note);
        let SearchGlobs { only, globs, has_any } =
            SearchGlobs::new(&asked, in_path.as_deref(), &root, &start)?;
        let changed = asked.changed.map(|range| ChangedFiles::read(&root, range, &stop)).transpose()?;
        if let Some(changed) = &changed {
            changed.check(&root, &start)?;
            asked.warnings.extend(changed.notes());
        }
        if revision.is_some() && (changed.is_some() || asked.best_first || asked.engine.is_some()) {
            let problem = "at another revision, a search can't use changed files, best-first order or an external engine";
            return Err(ToolError::argument("path", problem));
        }
        let texts = revision.as_ref().map(|revision| revision.texts(&root, &start, &stop)).transpose()?;
        let (engine, note) = SearchEngine::choose(asked.engine, asked.options.fuzzy > 0)?;
        asked.warnings.extend(note);
        let open = || {
            let index =
                (engine.is_embedded() && texts.is_none()).then(|| call.workspace.index(&root)).flatten()?;
            // A search for all results waits for the index, so opening it should start at once.
            if asked.all || asked.best_first {
                index.prefetch();
            }
            Some(index)
        };
        // Compiling a fuzzy pattern can take as long as opening the index. A command opens its index in the
        // background, so we start that first.
        let index = if asked.options.fuzzy > 0 { open() } else { None };
        let pattern = compile::<T>(call, &asked, &engine, &stop)?;
        asked.warnings.extend(pattern.as_ref().and_then(|pattern| warning(pattern, &start)));
        let index = index.or_else(open);
        // The fingerprint omits `path` and hashes the resolved path, which has neither the revision nor
        // globs.
        let bound_to = revision.as_ref().map(|revision| revision.name.as_str()).or(in_path.as_deref());
        let bound = fingerprint::<T>(request, &root, &start, bound_to);
        let group = if asked.best_first { Group::Distance } else { Group::Part };
        let sealed = asked.cursor.map(|text| UnresolvedCursor::parse(text, bound, group)).transpose()?;
        let mut walk = WalkOptions {
            globs,
            only,
            hidden: asked.hidden,
            follow: asked.follow,
            no_ignore: asked.no_ignore,
            ..call.walk_options()
        };
        if let Some(changed) = &changed {
            walk = changed.narrow(walk);
        }
        let mut search = Self {
            call,
            pattern,
            engine,
            index,
            root,
            start,
            walk,
            stop,
            bound,
            cursor: None,
            after: None,
            has_globs_in_path: in_path.is_some(),
            has_globs: has_any,
            revision,
            texts,
            asked,
        };
        if let Some(sealed) = sealed {
            search.continue_after(&sealed)?;
        }
        Ok(search)
    }

    /// Lets the search begin after the last result of the previous page.
    fn continue_after(&mut self, sealed: &UnresolvedCursor) -> Result<(), ToolError> {
        let cursor = match &self.texts {
            Some(texts) => {
                let found = texts.paths().iter().find_map(|path| sealed.at(path));
                found.ok_or_else(UnresolvedCursor::unknown)?
            }
            None => {
                let known = self.index.as_ref().map(|index| index.walk_options(&self.walk));
                let options = known.as_ref().unwrap_or(&self.walk);
                sealed.find(&self.root, &self.start, options, &self.stop)?
            }
        };
        // In best-first order, the next page may begin in any file.
        if !self.asked.best_first {
            let Cursor { path, line, .. } = cursor.clone();
            self.walk.from = Some(path.clone());
            self.after = Some(match self.asked.unit {
                ResultUnit::Lines => ResumePoint::Lines(path, line),
                ResultUnit::Matches | ResultUnit::Files => ResumePoint::Matches(path, line),
            });
        }
        self.cursor = Some(cursor);
        Ok(())
    }

    /// Returns the pattern for a search by the embedded engine.
    pub(super) fn pattern(&self) -> Result<&Pattern, ToolError> {
        let only_external = || ToolError::argument("pattern", "only an external engine supports it");
        self.pattern.as_ref().ok_or_else(only_external)
    }

    /// Returns the texts that are searched instead of the files of the tree.
    pub(super) fn stored(&self) -> Option<Arc<dyn StoredTexts>> {
        self.texts.clone().map(|texts| texts as Arc<dyn StoredTexts>)
    }

    /// Formats the path of an answer so that callers can use it again.
    pub(super) fn shown_start(&self) -> String {
        let start = self.start.display().into_owned();
        self.revision.as_ref().map_or_else(|| start.clone(), |revision| revision.shown(&start))
    }

    /// Builds the options that say what the engine must keep of each file.
    pub(super) fn scan(&self, limit: Option<u64>, redactor: &OutputRedactor<'_>) -> ScanOptions {
        let is_of_files = self.asked.unit == ResultUnit::Files;
        let scan = ScanOptions {
            before_context: self.asked.around.0,
            after_context: self.asked.around.1,
            max_file_matches: match limit {
                _ if is_of_files => usize::MAX,
                // We ask for one more result than requested to see if there are more.
                Some(limit) if !self.asked.best_first => usize::try_from(limit + 1).unwrap_or(usize::MAX),
                _ => self.asked.piece,
            },
            max_file_bytes: self.call.limits.max_file_bytes,
            max_spans: self.asked.spans,
            after: self.after.clone(),
            invert: self.asked.invert,
            index: self.index.clone(),
            stored: self.stored(),
            exhaustive: limit.is_none() || self.asked.best_first,
            ..ScanOptions::default()
        };
        match is_of_files {
            true => ScanOptions { count_only: true, before_context: 0, after_context: 0, ..scan },
            false => redactor.widen(scan, self.asked.characters),
        }
    }

    /// Runs the search for `limit` results, or for all of them. In the latter case, a file with very many
    /// matches comes in several parts, so that memory stays bounded.
    pub(super) fn run(
        &mut self,
        limit: Option<u64>,
        receive: &mut Receive<'_>,
    ) -> Result<LinesFound, ToolError> {
        let mut hidden = RedactionReport::default();
        let mut redactor = OutputRedactor::new(&self.call.workspace.redactor, &mut hidden);
        let mut found = LinesFound::default();
        if let Some(limit) = limit.filter(|_| self.asked.best_first) {
            let scan = self.scan(Some(limit), &redactor);
            let mut page = BestPage::new(limit, &scan, self.cursor.as_ref());
            found.end = self.engine.run(self, &scan, |file| page.add(file))?;
            page.finish(&mut redactor, self, &mut found, receive);
            if found.end.walk.stopped.is_some() {
                // If time ran out, the best results so far may not be the best ones overall. This answer must
                // not have a next page.
                found.limit = None;
            }
        } else {
            let mut is_later_piece = false;
            loop {
                let scan = self.scan(limit, &redactor);
                let end = self
                    .engine
                    .run(self, &scan, |file| self.take(file, limit, &mut redactor, &mut found, receive))?;
                match is_later_piece {
                    true => found.end.append(end),
                    false => (found.end, is_later_piece) = (end, true),
                }
                let Some(last) = found.last.clone().filter(|_| found.is_in_file) else { break };
                found.is_in_file = false;
                // We continue within the file, after the lines that were passed on.
                self.walk.from = Some(last.path.clone());
                self.after = Some(ResumePoint::Lines(last.path, last.line));
            }
        }
        found.hidden = hidden;
        Ok(found)
    }

    /// Passes on the wanted part of a file.
    fn take(
        &self,
        mut file: FileEvents,
        limit: Option<u64>,
        redactor: &mut OutputRedactor<'_>,
        found: &mut LinesFound,
        receive: &mut Receive<'_>,
    ) -> ControlFlow<()> {
        let taken = match self.asked.unit {
            ResultUnit::Lines => found.lines,
            ResultUnit::Matches => found.matches,
            ResultUnit::Files => found.files,
        };
        let room = usize::try_from(limit.map_or(u64::MAX, |limit| limit - taken)).unwrap_or(usize::MAX);
        let counts = |event: &SearchEvent| match self.asked.unit {
            ResultUnit::Matches => event.kind == EventKind::Match,
            ResultUnit::Lines | ResultUnit::Files => event.kind != EventKind::Margin,
        };
        let mut wanted = file.events.iter().enumerate().filter(|(_, event)| counts(event));
        let cut = wanted.nth(room).map(|(at, _)| at);
        if let Some(end) = cut {
            redactor.truncate(&mut file.events, end);
        }
        let is_of_files = self.asked.unit == ResultUnit::Files;
        if is_of_files && room == 0 && file.matches > 0 {
            found.limit = Some(Limit::MaxResults);
            return ControlFlow::Break(());
        }
        let is_full = cut.is_some();
        let has_more = file.more && !is_of_files;
        let (encoding, is_stored_notebook) = (file.detected, file.is_stored_notebook);
        let mut file = FoundFile::new(file, redactor, self.asked.characters, self.asked.spans);
        if let Some(revision) = &self.revision {
            file.path = revision.shown(&file.path);
        }
        if !is_of_files {
            file = file.counted();
        }
        let last = match self.asked.unit {
            ResultUnit::Files => Some(u64::MAX).filter(|_| file.matches > 0),
            ResultUnit::Matches => file.last_match(),
            ResultUnit::Lines => file.events.last().map(|event| event.line_number),
        };
        let mut is_wanted = true;
        if let Some(last) = last {
            if self.asked.unit == ResultUnit::Matches && (is_full || has_more) {
                // We know of one more match, but show neither that match nor its context.
                file.events.retain(|event| event.line_number <= last + self.asked.around.1 as u64);
            }
            found.add(&file, last, encoding, is_stored_notebook);
            is_wanted = receive(file).is_continue();
        }
        if is_full {
            found.limit = Some(Limit::MaxResults);
        } else if has_more && limit.is_some() {
            found.limit = Some(Limit::FileBytes);
        } else {
            found.is_in_file = has_more && is_wanted && last.is_some();
        }
        match found.limit.is_some() || found.is_in_file || !is_wanted {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Searches the files that this search skipped, so that an answer without matches can mention them.
    /// `is_whole` must be true only if the search found nothing and ran to its end.
    ///
    /// # Errors
    ///
    /// Fails if no file matches the globs in `path`.
    pub(super) fn verdict(&self, report: &WalkReport, is_whole: bool) -> Result<CallVerdict, ToolError> {
        if self.has_globs_in_path && report.visited == 0 && report.stopped.is_none() {
            return Err(no_file_fits(self.asked.path));
        }
        if !is_whole || self.cursor.is_some() || self.asked.invert || self.revision.is_some() {
            return Ok(CallVerdict::none());
        }
        // Files that the configuration excludes stay excluded even with `hidden` and `no_ignore`.
        let Self { call, asked, root, start, walk, stop, .. } = self;
        let mut verdict = match &self.pattern {
            _ if walk.hidden && walk.no_ignore && call.workspace.excludes.is_none() => {
                CallVerdict::nothing_hidden(report)
            }
            Some(pattern) => {
                let searched = Some(report).filter(|_| self.engine.is_embedded());
                excluded_matches(call, root, start, walk, pattern, searched, stop)
            }
            None => CallVerdict::none(),
        };
        // Only regular expressions have other readings.
        if asked.languages.is_some() {
            return Ok(verdict);
        }
        let budget = self.pattern.as_ref().map_or_else(PatternBudget::for_one_pattern, Pattern::budget);
        let asked_for = (asked.pattern, &asked.options, &budget);
        verdict.other_readings = other_readings(call, (root, start), walk, asked_for, stop);
        verdict.ranked_first = ranked_first(call, start, asked.pattern, stop);
        verdict.in_dependencies = defining(call, asked.pattern, &budget, stop);
        Ok(verdict)
    }

    /// Returns true if globs were given and no file matches them.
    pub(super) fn no_file_chosen(&self, report: &WalkReport) -> bool {
        self.has_globs && report.visited == 0
    }

    /// Builds a warning about globs that match no file, if several globs were given.
    pub(super) fn unfit_globs(&self) -> Option<String> {
        if !self.has_globs || self.cursor.is_some() || self.revision.is_some() {
            return None;
        }
        let (globs, template) = match self.asked.file_pattern {
            Some(globs) => (split(globs), "{grep_search.file_pattern}"),
            None => (self.asked.globs.iter().map(String::as_str).collect(), "{Search.glob}"),
        };
        let argument = (self.asked.globs_argument, template);
        let place = (&self.root, &self.start);
        unfit_globs(self.call, place, self.walk.clone(), argument, &globs)
    }

    /// Builds a warning about files whose language a code pattern does not have. With chosen languages, other
    /// files are only worth a warning if there are no files of these.
    fn other_languages(&self) -> Option<String> {
        let code = self.pattern.as_ref()?.code()?;
        if self.cursor.is_some() || self.revision.is_some() {
            return None;
        }
        let (mut all, mut others) = (0_u64, 0_u64);
        let report = walk(
            &self.root,
            &self.start,
            &self.walk,
            &self.stop.within(limits::NEAREST_TIME),
            || (),
            |(), entry, _| WalkStep::Item(entry.path.clone(), entry.path.as_bytes().len()),
            |path| {
                all += 1;
                others += u64::from(!code.fits(&String::from_utf8_lossy(path.as_bytes())));
                ControlFlow::Continue(())
            },
        );
        let is_known = report.is_ok_and(|report| report.stopped.is_none() && !report.too_many_entries);
        let is_any = self.asked.languages.as_ref().is_some_and(Vec::is_empty);
        let matters = is_known && others > 0 && (is_any || others == all);
        matters.then(|| format!("can't match because of their language: {others} of {}", count(all, "file")))
    }

    /// Builds the outcome from the response and from how the search ended.
    pub(super) fn outcome<R>(&self, response: R, found: LinesFound) -> ToolOutcome<R> {
        let mut outcome = ToolOutcome::new(response, found.lines > 0 || found.matches > 0);
        outcome.hidden = found.hidden;
        outcome.warnings = [self.asked.warnings.clone(), found.end.notes].concat();
        outcome.warnings.extend(found.decoded.notes(""));
        outcome.warnings.extend(self.unfit_globs());
        if found.matches == 0 {
            outcome.warnings.extend(self.other_languages());
        }
        outcome.add_report(&found.end.walk);
        if found.limit.is_some() {
            outcome.truncated_by = found.limit;
            outcome.next_cursor = found.last.map(|place| place.encode(self.bound));
        }
        if found.end.incomplete {
            outcome.truncated_by = Some(Limit::Engine);
        }
        outcome
    }
}

/// The globs of a search, compiled.
struct SearchGlobs {
    /// Select only among the files that the ignore rules allow.
    only: Option<Globs>,
    /// Override ignore rules.
    globs: Option<Globs>,
    /// True if an argument has globs.
    has_any: bool,
}

impl SearchGlobs {
    /// Compiles the globs of the arguments, or those in the path.
    fn new(
        asked: &LineRequest<'_>,
        in_path: Option<&str>,
        root: &Arc<Root>,
        start: &RelPath,
    ) -> Result<Self, ToolError> {
        let globs: Vec<String> = asked.globs.iter().filter(|glob| !glob.trim().is_empty()).cloned().collect();
        let has_any = !globs.is_empty() || asked.file_pattern.is_some();
        if in_path.is_some() && has_any {
            return Err(globs_in_path());
        }
        let only = match in_path {
            Some(in_path) => file_globs(Some(in_path), (root, &RelPath::root()))?,
            None => file_globs(asked.file_pattern, (root, start))?,
        };
        let globs = match globs.is_empty() {
            true => None,
            false => Some(globs_at(asked.globs_argument, &globs, (root, start))?),
        };
        Ok(Self { only, globs, has_any })
    }
}

/// Compiles the pattern of a search. Returns `None` if only an external engine can read it.
fn compile<T: Tool>(
    call: &Call,
    asked: &LineRequest<'_>,
    engine: &SearchEngine,
    stop: &Stop,
) -> Result<Option<Pattern>, ToolError> {
    let compiled = match &asked.languages {
        Some(languages) => Pattern::from_code(asked.pattern, languages),
        None => Pattern::new_within(asked.pattern, &asked.options, stop),
    };
    match compiled {
        Ok(pattern) => Ok(Some(pattern)),
        // ugrep supports a richer syntax than ours, so it may be able to read this pattern.
        Err(PatternError::LookAround { .. } | PatternError::Backreference { .. })
            if engine.reads_look_around() =>
        {
            Ok(None)
        }
        Err(source) => {
            let globs = call.workspace.names.argument(T::NAME, asked.globs_argument);
            Err(ToolError::pattern_or_glob(asked.pattern, &globs, source, stop))
        }
    }
}

/// Returns a warning about a pattern that finds little, or takes long.
fn warning(pattern: &Pattern, start: &RelPath) -> Option<String> {
    let path = String::from_utf8_lossy(start.as_bytes());
    let problem = if pattern.code().is_some_and(CodePattern::has_error) {
        "the pattern has a syntax error in each of its languages, and matches only code with the same error"
    } else if pattern.code().is_some_and(|code| code.has_error_in(&path)) {
        "the pattern has a syntax error in this file's language, and matches only code with the same error"
    } else if pattern.is_backtracking() {
        "look-around and backreferences are slower than other patterns"
    } else {
        return None;
    };
    Some(problem.to_owned())
}

/// Data for the text of an answer without matches.
pub(super) struct NoMatches<'a> {
    pub(super) pattern: &'a str,
    pub(super) path: &'a str,
    /// True if earlier pages had matches.
    pub(super) continued: bool,
    /// The argument whose globs match no file, as a template.
    pub(super) globs: Option<&'static str>,
    pub(super) is_cut: bool,
    pub(super) nothing_searched: bool,
    pub(super) not_searched: &'a CallVerdict,
    /// Arguments that make the tool search all files, as a template.
    pub(super) include: &'static str,
}

impl NoMatches<'_> {
    pub(super) fn text(&self, names: &ToolNames) -> String {
        let within = if self.path == "." { String::new() } else { format!(" in {}", self.path) };
        let found = if self.continued { "No further matches" } else { "No matches found" };
        let mut text = format!("{found} for {}{within}.", quoted(self.pattern));
        if let Some(globs) = self.globs {
            text.push_str(&names.fill(&format!(" No file matches {globs}.")));
        }
        if self.is_cut {
            text.push_str(" The search did not finish: there may be matches in files that were not reached.");
        }
        if self.nothing_searched {
            text.push_str(" Nothing was searched.");
        }
        let before = format!(
            " But there are matches in files that are not searched by default (set {} to search them):",
            names.fill(self.include)
        );
        text + &self.not_searched.describe(&before, "", EXCLUDED_UNLESS_NAMED)
    }
}

//! `search_history`: finds the commits that changed a text, a definition or a path, or may have caused a failure.

mod render;
mod subject;
mod suspects;

use std::ops::{ControlFlow, Range};
use std::rc::Rc;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{RelPath, Root, display_path};
use forage_git::{
    DefinitionQuery, FileVersion, HistoryCommit, HistoryEnd, HistoryError, HistoryFile, HistoryFilter,
    HistoryQuery, HistoryReport, ObjectError, ObjectId, Repository,
};
use forage_redact::RedactionReport;
use forage_search::{LineMatches, Pattern, PatternOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::arguments::{ArgumentAlias, ArgumentAliases, Clamp};
use crate::call::Call;
use crate::changes::change_word;
use crate::cursor::{Cursor, Group, UnresolvedCursor, fingerprint};
use crate::error::ToolError;
use crate::limits;
use crate::multi_root::RootScope;
use crate::outcome::{Limit, ToolOutcome};
use crate::output_redactor::{Excerpt, OutputRedactor};
use crate::place::PathTarget;
use crate::revision::{is_like_a_revision, submodule_above};
use crate::sanitize::without_hidden;
use crate::text::{absolute, clip, clip_line, count, grouped, quoted};
use crate::tool::{Tool, ToolSpec};
use crate::tools::read_file::definition_lines;

/// The `search_history` tool.
pub struct SearchHistory;

/// The arguments of `search_history`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HistoryRequest {
    /// Regular expression that an added or removed line matches.
    pub pattern: Option<String>,
    /// The pattern is plain text; only commits that changed how often it occurs.
    pub fixed_strings: Option<bool>,
    /// Name of a definition in the file `path`, in place of a pattern.
    pub symbol: Option<String>,
    /// A failure (trace, message, test name), in place of a pattern: the commits most likely to have caused it.
    pub suspects: Option<String>,
    /// For `suspects`: the revision that still worked, or "good..bad" (default: the newest 300 commits).
    pub since: Option<String>,
    /// Directory or file (default: the project root); "main:src" begins at another revision.
    pub path: Option<String>,
    /// Commits to return, 1 to 500 (default: 20).
    pub max_results: Option<i64>,
    /// From a previous answer, to go on.
    pub cursor: Option<String>,
}

impl HistoryRequest {
    /// Creates a request with the defaults: the newest commits of the project.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        pattern: String,
        fixed_strings: bool,
        symbol: String,
        suspects: String,
        since: String,
        path: String,
        max_results: i64,
        cursor: String,
    }
}

/// The records that `search_history` returns.
#[derive(Debug, JsonSchema, Serialize)]
pub struct HistoryResponse {
    /// The pattern, as the caller wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The definition whose history is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The commits that may have caused a failure, best first, instead of a history.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suspects: bool,
    /// The directory or file, below the root.
    pub path: String,
    /// The commits that were found, newest first; suspects are in the order of their likelihood.
    pub commits: Vec<FoundCommit>,
    /// Number of commits that were looked at, in this answer and those before it.
    pub looked_at: u64,
    /// The date of the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked_back_to: Option<String>,
    /// True if there are no more commits.
    pub complete: bool,
    /// This page continues another.
    pub continued: bool,
    #[serde(skip)]
    is_plain_text: bool,
    /// True if no commit has the path.
    #[serde(skip)]
    lacks_path: bool,
    /// True if no page follows, although commits that can't be read may be missing.
    #[serde(skip)]
    is_last: bool,
    #[serde(skip)]
    pages: HistoryPages,
}

/// Creates the cursors of a request. They name the commit with which the history begins, since a branch may
/// have new commits when the next page is requested.
#[derive(Clone, Copy, Debug)]
struct HistoryPages {
    /// The newest commit of the history.
    from: ObjectId,
    fingerprint: u64,
}

impl HistoryPages {
    /// Returns the position after `begun` pieces of the commit that follows `looked` others.
    fn cursor(&self, looked: u64, begun: usize) -> String {
        let group = Group::Pieces(u8::try_from(begun).unwrap_or(u8::MAX));
        let position = Cursor { group, path: self.place(), line: looked }.encode(self.fingerprint);
        format!("{position}.{}", self.from)
    }

    /// Reads such a position.
    fn read(cursor: &str, fingerprint: u64) -> Result<(Self, u64, usize), ToolError> {
        let (position, id) = cursor.split_once('.').unwrap_or((cursor, ""));
        let position = UnresolvedCursor::parse(position, fingerprint, Group::Pieces)?;
        let pages = ObjectId::from_hex(id.as_bytes()).map(|from| Self { from, fingerprint });
        let found = pages.and_then(|pages| Some((pages, position.at(&pages.place())?)));
        let (pages, Cursor { line, group, .. }) = found.ok_or_else(UnresolvedCursor::unknown)?;
        Ok((pages, line, group.number().into()))
    }

    /// The path that cursors contain: the commit with which the history begins.
    fn place(&self) -> RelPath {
        RelPath::root().join(self.from.to_string().as_bytes())
    }
}

/// A commit.
#[derive(Debug, JsonSchema, Serialize)]
pub struct FoundCommit {
    /// The whole id.
    pub id: String,
    /// The date of the commit, in UTC.
    pub date: String,
    /// The first line of the message, without addresses of people.
    pub subject: String,
    /// Why it is a suspect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True if the previous page has the first files or lines of this commit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
    /// The changed files that count, in path order.
    pub files: Vec<FoundChange>,
    /// Number of such files that are not in `files`.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub files_more: usize,
    /// Number of commits that were looked at before it.
    #[serde(skip)]
    looked: u64,
    /// Number of its pieces on earlier pages.
    #[serde(skip)]
    begun: usize,
}

impl FoundCommit {
    /// Number of pieces between which a page may end: its lines, its files without lines, or the whole commit
    /// if it has no files.
    fn pieces(&self) -> usize {
        self.files.iter().map(FoundChange::pieces).sum::<usize>().max(1)
    }

    /// Removes the pieces of earlier pages.
    fn begin_at(&mut self, begun: usize) {
        let mut rest = begun.min(self.pieces() - 1);
        (self.begun, self.continued) = (rest, rest > 0);
        self.files.retain_mut(|file| {
            let gone = rest.min(file.pieces());
            rest -= gone;
            file.lines.drain(..gone.min(file.lines.len()));
            file.begun = gone;
            gone == 0 || !file.lines.is_empty()
        });
    }
}

/// A changed file of a commit.
#[derive(Debug, JsonSchema, Serialize)]
pub struct FoundChange {
    /// `added`, `modified`, `deleted`, `renamed` or `type changed`.
    pub change: &'static str,
    /// Below the root, after the change.
    pub path: String,
    /// The path that a renamed file had, or the file from which the definition was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Number of matching lines that were removed.
    pub removed: u64,
    /// Number of matching lines that were added.
    pub added: u64,
    /// The first of these lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<ChangedLine>,
    #[serde(skip)]
    letter: char,
    /// Number of its lines on earlier pages.
    #[serde(skip)]
    begun: usize,
}

impl FoundChange {
    fn pieces(&self) -> usize {
        self.lines.len().max(1)
    }
}

/// A line that a commit added or removed.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ChangedLine {
    /// `added` or `removed`.
    pub change: &'static str,
    /// From 1, in the new version if it was added, otherwise in the old one.
    pub line_number: u64,
    /// The line, cut if it is long; U+FFFD replaces bytes that are not UTF-8.
    pub text: String,
}

impl Tool for SearchHistory {
    const NAME: &'static str = "search_history";
    const ABOUT: RootScope = RootScope::PerRoot;
    const FOREIGN: &'static [ArgumentAliases] = &[
        (&["query", "regex", "text"], ArgumentAlias::Rename("pattern")),
        (&["file", "file_path", "directory"], ArgumentAlias::Rename("path")),
        (&["literal", "fixed_string"], ArgumentAlias::Rename("fixed_strings")),
        (&["function", "name", "definition"], ArgumentAlias::Rename("symbol")),
        (&["limit", "max_count"], ArgumentAlias::Rename("max_results")),
    ];
    type Request = HistoryRequest;
    type Response = HistoryResponse;

    fn spec() -> ToolSpec {
        ToolSpec {
            method: "history".into(),
            is_on_by_default: false,
            ..ToolSpec::new(
                Self::NAME,
                "Search the history",
                include_str!("search_history.md").trim_ascii_end(),
            )
        }
    }

    fn path(request: &HistoryRequest) -> Option<&str> {
        request.path.as_deref()
    }

    fn max_results<'a>(request: &'a mut HistoryRequest, _: &Call) -> Option<(&'a mut Option<i64>, u64)> {
        Some((&mut request.max_results, limits::HISTORY_COMMITS))
    }

    fn run(call: &Call, request: HistoryRequest) -> Result<ToolOutcome<HistoryResponse>, ToolError> {
        let target = call.place(request.path.as_deref())?.without_globs(&call.workspace.names)?;
        let stop = call.stop.within(call.limits.timeout);
        if let Some(literal) = literal_path(call, &request, &target) {
            let literal = PathTarget::new(Arc::clone(&target.root), literal);
            let found = HistoryCall::new(call, request.clone(), literal, &stop).and_then(HistoryCall::run);
            match found {
                // If a cursor fits, the first page has been about this path too.
                Ok(outcome) if !outcome.response.lacks_path || request.cursor.is_some() => {
                    return Ok(outcome);
                }
                Err(ToolError::Cancelled) => return Err(ToolError::Cancelled),
                Ok(_) | Err(_) => {}
            }
        }
        HistoryCall::new(call, request, target, &stop)?.run()
    }
}

/// Returns the path as it is written, if the working tree does not have it and a part of it was read as the
/// path. A directory that is gone may have the name of the project, and the history must not be that of all
/// files then.
fn literal_path(call: &Call, request: &HistoryRequest, target: &PathTarget) -> Option<RelPath> {
    if target.note.is_none() || target.lines.is_some() || target.revision.is_some() {
        return None;
    }
    let (root, path) = call.roots.find(request.path.as_deref()?).ok()?;
    let is_part = target.path.is_root() || path.as_bytes().ends_with(target.path.as_bytes());
    (is_part && path != target.path && Arc::ptr_eq(&root, &target.root)).then_some(path)
}

/// A call, with its checked arguments.
struct HistoryCall<'a> {
    call: &'a Call,
    request: HistoryRequest,
    root: Arc<Root>,
    path: RelPath,
    shown_path: String,
    has_revision: bool,
    pages: HistoryPages,
    max: usize,
    /// Number of commits that earlier pages have looked at.
    skip: u64,
    /// Number of pieces of the next commit on earlier pages.
    begun: usize,
    stop: Stop,
    warnings: Vec<String>,
}

/// The commits of a page, while they are found.
struct HistoryPage<'a> {
    commits: Vec<FoundCommit>,
    /// Reads the changed files again, to redact their lines.
    repository: Repository,
    redactor: OutputRedactor<'a>,
    max: usize,
    /// Number of bytes that the text of these commits may still have.
    room: usize,
    /// The commit that an earlier page has begun, by the number of commits before it, and the number of its
    /// pieces there.
    begun: (u64, usize),
}

impl<'a> HistoryCall<'a> {
    fn new(
        call: &'a Call,
        mut request: HistoryRequest,
        target: PathTarget,
        stop: &Stop,
    ) -> Result<Self, ToolError> {
        request.suspects = request.suspects.filter(|text| !text.trim().is_empty());
        let mut clamp = Clamp::new(&call.workspace.names, SearchHistory::NAME);
        let (usual, most) = match request.suspects {
            Some(_) => (limits::HISTORY_SUSPECTS, limits::HISTORY_SUSPECTS),
            None => (limits::HISTORY_COMMITS, limits::HISTORY_COMMITS_MAX),
        };
        let max = clamp.number("max_results", request.max_results, usual, 1, most);
        request.pattern = request.pattern.filter(|pattern| !pattern.is_empty());
        request.symbol = request.symbol.filter(|symbol| !symbol.trim().is_empty());
        if request.pattern.is_some() && request.symbol.is_some() {
            return Err(ToolError::argument("symbol", "give a pattern or a symbol, not both"));
        }
        suspects::check(&request)?;
        let PathTarget { root, path, note, revision, .. } = target;
        let shown_path = match &revision {
            Some(revision) => revision.shown(&path.display()),
            None => path.display().into_owned(),
        };
        let has_revision = revision.is_some();
        let name = revision.as_ref().map(|revision| revision.name.as_str());
        let fingerprint = fingerprint::<SearchHistory>(&request, &root, &path, name);
        let (pages, skip, begun) = match (&request.cursor, revision) {
            (Some(cursor), _) => HistoryPages::read(cursor, fingerprint)?,
            (None, Some(revision)) => (HistoryPages { from: revision.id(), fingerprint }, 0, 0),
            (None, None) => {
                let state = Repository::state_of(&root).map_err(|error| no_history(&root, &error))?;
                (HistoryPages { from: state.head, fingerprint }, 0, 0)
            }
        };
        let warnings = clamp.warnings.into_iter().chain(note).collect();
        let max = usize::try_from(max).unwrap_or(1);
        Ok(Self {
            call,
            request,
            root,
            path,
            shown_path,
            has_revision,
            pages,
            max,
            skip,
            begun,
            stop: stop.clone(),
            warnings,
        })
    }

    fn open(&self, stop: &Stop) -> Result<Repository, ToolError> {
        Repository::open(&self.root, stop).map_err(|error| no_history(&self.root, &error))
    }

    fn run(self) -> Result<ToolOutcome<HistoryResponse>, ToolError> {
        if let Some(text) = self.request.suspects.clone() {
            return self.find_suspects(&text);
        }
        let mut hidden = RedactionReport::default();
        let mut repository = self.open(&self.stop)?;
        // A commit that was found in time should get its lines.
        let a_little_more = self.call.stop.within(self.call.limits.timeout + limits::HISTORY_LINES_TIME);
        let mut page = HistoryPage {
            commits: Vec::new(),
            repository: self.open(&a_little_more)?,
            redactor: OutputRedactor::new(&self.call.workspace.redactor, &mut hidden),
            max: self.max,
            room: self.call.limits.text_bytes,
            begun: (self.skip, self.begun),
        };
        let (report, too_slow) = match &self.request.symbol {
            Some(symbol) => (self.of_symbol(&mut repository, &mut page, symbol)?, 0),
            None => self.of_pattern(&mut repository, &mut page)?,
        };
        let (commits, is_full) = (page.commits, page.room == 0);
        let mut outcome = self.outcome(commits, &report, hidden)?;
        if is_full && report.end == HistoryEnd::Enough {
            outcome.truncated_by = Some(Limit::TextBytes);
        }
        if too_slow > 0 {
            outcome.warnings.push(format!(
                "{} not searched completely: the pattern takes too many steps there",
                versions_were(too_slow)
            ));
        }
        Ok(outcome)
    }

    fn of_pattern(
        &self,
        repository: &mut Repository,
        page: &mut HistoryPage<'_>,
    ) -> Result<(HistoryReport, u64), ToolError> {
        let paths: Vec<Vec<u8>> = match self.path.is_root() {
            true => Vec::new(),
            false => vec![self.path.as_bytes().to_vec()],
        };
        let text = self.request.pattern.as_deref();
        let is_plain_text = self.request.fixed_strings == Some(true);
        let pattern = match text.filter(|_| !is_plain_text) {
            Some(text) => {
                let options = PatternOptions { look_around: true, ..PatternOptions::default() };
                let pattern = Pattern::new_within(text, &options, &self.stop);
                Some(pattern.map_err(|error| ToolError::pattern("pattern", error, &self.stop))?)
            }
            None => None,
        };
        let matches = pattern.as_ref().map(|pattern| LineMatches::new(pattern, &self.stop));
        let find = |text: &[u8]| matches.as_ref().map(|matches| matches.of(text)).unwrap_or_default();
        let filter = match text {
            None => HistoryFilter::All,
            Some(text) if is_plain_text => HistoryFilter::Text(text.as_bytes()),
            Some(_) => HistoryFilter::Lines(&find),
        };
        let (from, skip, max_lines) = (self.pages.from, self.skip, limits::HISTORY_LINES);
        let query = HistoryQuery {
            from,
            paths: &paths,
            within: None,
            max_commits: u64::MAX,
            filter,
            skip,
            max_lines,
        };
        let report = repository.history(&query, &mut |commit| page.add(commit));
        let too_slow = matches.as_ref().map_or(0, LineMatches::too_slow);
        report.map(|report| (report, too_slow)).map_err(|error| self.unread(error))
    }

    fn of_symbol(
        &self,
        repository: &mut Repository,
        page: &mut HistoryPage<'_>,
        symbol: &str,
    ) -> Result<HistoryReport, ToolError> {
        let lines = |path: &[u8], text: &[u8]| -> Result<Vec<Range<usize>>, ToolError> {
            let path = RelPath::from_bytes(path, &RelPath::root());
            let path = path.map_err(|error| ToolError::argument("path", error.to_string()))?;
            let decoded = String::from_utf8_lossy(text);
            let found = definition_lines(self.call, (&path, &decoded), symbol, &self.stop)?;
            Ok(found.into_iter().filter_map(|lines| byte_range(text, lines)).collect())
        };
        let may_have = may_have_definition(symbol);
        let (mut refused, mut is_newest) = (None, true);
        let mut find = |path: &[u8], text: &[u8]| {
            // We always parse the newest version, because its error says why there is no history.
            if !std::mem::take(&mut is_newest) && !may_have(text) {
                return Vec::new();
            }
            lines(path, text).unwrap_or_else(|error| {
                refused.get_or_insert(error);
                Vec::new()
            })
        };
        let (from, skip, max_lines) = (self.pages.from, self.skip, limits::HISTORY_DEFINITION_LINES);
        let query = DefinitionQuery { from, path: self.path.as_bytes(), skip, max_lines };
        let report = repository
            .definition_history(&query, &mut find, &mut |commit| page.add(commit))
            .map_err(|error| self.unread(error))?;
        report.ok_or_else(|| {
            let problem = match self.path.is_root() {
                true => "name the file that contains the symbol".to_owned(),
                false => match self.no_revision() {
                    Some(problem) => format!("{} is not a file of this commit, and {problem}", self.shown_path),
                    None => format!(
                        "{} is not a file of this commit that can be read; name a revision that has it, as in `HEAD~3:{0}`",
                        self.path.display()
                    ),
                },
            };
            refused.unwrap_or_else(|| ToolError::argument("path", problem))
        })
    }

    /// Describes the problem if the path looks like that of a revision, but there is no such revision.
    fn no_revision(&self) -> Option<String> {
        let (name, path) = self.shown_path.split_once(':')?;
        let is_meant = !self.has_revision && name.len() > 1 && is_like_a_revision(&self.root, name, path);
        is_meant.then(|| format!("there is no branch, tag or commit {}", quoted(name)))
    }

    /// Describes a path that no commit has.
    fn no_path(&self) -> String {
        let mut repository = self.open(&self.stop).ok();
        let module = repository.as_mut().and_then(|it| submodule_above(it, &self.pages.from, &self.path));
        let of_module = module.map(|module| {
            format!("; {} is a submodule, so its history is in another repository", module.display())
        });
        format!("no commit has {}{}", self.shown_path, of_module.unwrap_or_default())
    }

    fn unread(&self, error: ObjectError) -> ToolError {
        match error {
            ObjectError::Stopped if self.call.stop.is_cancelled() => ToolError::Cancelled,
            error => ToolError::Repository(error.to_string()),
        }
    }

    fn outcome(
        self,
        commits: Vec<FoundCommit>,
        report: &HistoryReport,
        hidden: RedactionReport,
    ) -> Result<ToolOutcome<HistoryResponse>, ToolError> {
        let is_last = report.end == HistoryEnd::Whole;
        let is_whole = is_last && report.broken == 0;
        let found = !commits.is_empty();
        let is_of_path = !self.path.is_root() && self.request.symbol.is_none();
        let lacks_path = is_whole && is_of_path && !report.has_paths;
        let no_path = lacks_path.then(|| self.no_path());
        if let Some((no_path, problem)) = no_path.as_ref().zip(self.no_revision()) {
            return Err(ToolError::argument("path", format!("{no_path}, and {problem}")));
        }
        let HistoryRequest { pattern, symbol, fixed_strings, .. } = self.request;
        let mut outcome = ToolOutcome::new(
            HistoryResponse {
                pattern,
                symbol,
                suspects: false,
                path: self.shown_path,
                commits,
                looked_at: report.looked,
                looked_back_to: report.oldest.map(|(_, time)| date(time)),
                complete: is_whole,
                continued: self.skip > 0 || self.begun > 0,
                is_plain_text: fixed_strings == Some(true),
                lacks_path,
                is_last,
                pages: self.pages,
            },
            found,
        );
        outcome.truncated_by = match report.end {
            HistoryEnd::Whole => None,
            HistoryEnd::Enough => Some(Limit::MaxResults),
            HistoryEnd::Stopped => self.stop.check().map(Limit::from),
            HistoryEnd::Limit => Some(Limit::Entries),
        };
        // A commit that can't be read ends its line of the history on every page, so a cursor would lead back
        // here.
        if !is_last {
            // A call without the time to get back to a commit that was begun must not skip its rest.
            let begun = if report.looked == self.skip { self.begun } else { 0 };
            outcome.next_cursor = Some(self.pages.cursor(report.looked, begun));
        }
        outcome.warnings = self.warnings;
        outcome.warnings.extend(no_path);
        outcome.warnings.extend(unseen(report));
        outcome.hidden = hidden;
        Ok(outcome)
    }
}

impl HistoryPage<'_> {
    /// Adds a commit, unless the page is full.
    fn add(&mut self, commit: HistoryCommit) -> ControlFlow<()> {
        if self.commits.len() >= self.max || self.room == 0 {
            return ControlFlow::Break(());
        }
        let mut subject = subject::without_people(&commit.message);
        self.redactor.text(&mut subject);
        let files_more = commit.files.len().saturating_sub(limits::HISTORY_FILES);
        let files = commit.files.iter().take(limits::HISTORY_FILES);
        let mut found = FoundCommit {
            id: commit.id.to_string(),
            date: date(commit.time),
            subject: clip_line(&without_hidden(&subject), limits::HISTORY_SUBJECT_CHARACTERS),
            reason: None,
            continued: false,
            files: files.map(|file| self.change(file)).collect(),
            files_more,
            looked: commit.looked,
            begun: 0,
        };
        if self.begun.0 == commit.looked {
            found.begin_at(self.begun.1);
        }
        let bytes = render::commit_text(&found, found.pieces()).len();
        self.room = self.room.saturating_sub(bytes);
        self.commits.push(found);
        ControlFlow::Continue(())
    }

    fn change(&mut self, file: &HistoryFile) -> FoundChange {
        let change = &file.change;
        let mut name = |path: &[u8]| {
            let mut path = display_path(path).into_owned();
            self.redactor.name(&mut path);
            path
        };
        let path = name(&change.path);
        let old_path = change.old_path.as_deref().map(&mut name);
        let old = change.old_path.as_deref().unwrap_or(&change.path);
        let mut lines = self.lines(file, false, old, change.before);
        lines.extend(self.lines(file, true, &change.path, change.after));
        let (removed, added) = (file.removed, file.added);
        let (word, letter) = (change_word(change.kind), change.kind.letter());
        FoundChange { change: word, path, old_path, removed, added, lines, letter, begun: 0 }
    }

    /// Redacts the lines of one side. A line alone may not show that it is a part of a secret, so we look at
    /// the whole file.
    fn lines(
        &mut self,
        file: &HistoryFile,
        is_added: bool,
        path: &[u8],
        version: Option<FileVersion>,
    ) -> Vec<ChangedLine> {
        let numbers: Vec<u32> =
            file.lines.iter().filter(|line| line.is_added == is_added).map(|line| line.number).collect();
        if numbers.is_empty() {
            return Vec::new();
        }
        let read = |version: FileVersion| match version.submodule_line() {
            Some(line) => Some(Rc::from(line.into_bytes())),
            None => self.repository.read_version(path, Some(version.id?)),
        };
        let Some(bytes) = version.and_then(read) else { return Vec::new() };
        let text = String::from_utf8_lossy(&bytes);
        let excerpt = Excerpt::new(&text);
        let chosen: Vec<usize> = numbers.iter().map(|&number| number as usize - 1).collect();
        if chosen.iter().any(|&at| at >= excerpt.lines.len()) {
            return Vec::new();
        }
        let texts = self.redactor.chosen(&excerpt, &chosen);
        let line = |(number, text): (u32, String)| ChangedLine {
            change: if is_added { "added" } else { "removed" },
            line_number: number.into(),
            text: clip_line(&without_hidden(text.trim_end_matches('\r')), limits::GREP_LINE_CHARACTERS),
        };
        numbers.into_iter().zip(texts).map(line).collect()
    }
}

/// Formats a time as a date.
fn date(time: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp(time).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!("{:04}-{:02}-{:02}", at.year(), u8::from(at.month()), at.day())
}

/// Finds the bytes of these lines, which are counted from 1.
fn byte_range(text: &[u8], (first, last): (u64, u64)) -> Option<Range<usize>> {
    let (first, last) = (usize::try_from(first).ok()?, usize::try_from(last).ok()?);
    let mut lines = text.split_inclusive(|&byte| byte == b'\n');
    let start: usize = lines.by_ref().take(first.checked_sub(1)?).map(<[u8]>::len).sum();
    let length: usize = lines.take((last + 1).checked_sub(first)?).map(<[u8]>::len).sum();
    (length > 0).then_some(start..start + length)
}

fn no_history(root: &Root, error: &HistoryError) -> ToolError {
    let problem = match error {
        HistoryError::NoRepository => {
            format!("{} has no git repository at its top", absolute(root, &RelPath::root()))
        }
        error => error.to_string(),
    };
    ToolError::Repository(problem)
}

/// Returns a check that is false only for texts that can't have a definition of this name. Old versions of a
/// file need not be parsed if none of the name's words occurs in them.
fn may_have_definition(symbol: &str) -> impl Fn(&[u8]) -> bool {
    let words = symbol.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    move |text| {
        let text = text.to_ascii_lowercase();
        words.is_empty() || words.iter().any(|word| memchr::memmem::find(&text, word.as_bytes()).is_some())
    }
}

/// Begins a note about versions of files.
fn versions_were(versions: u64) -> String {
    match versions {
        1 => "1 version of a file was".to_owned(),
        _ => format!("{} of files were", count(versions, "version")),
    }
}

/// Describes what the search could not see.
fn unseen(report: &HistoryReport) -> Vec<String> {
    let mut notes = Vec::new();
    let is_cut = matches!(report.end, HistoryEnd::Stopped | HistoryEnd::Limit);
    let looked = count(report.looked, "commit");
    match report.oldest {
        _ if !is_cut => {}
        Some((id, time)) => {
            let id = id.to_string();
            notes.push(format!("looked back to {} ({}), {looked}", date(time), render::short(&id)));
        }
        None if report.looked > 0 => {
            notes.push(format!(
                "no time was left after the {looked} of earlier pages; give the call more time"
            ));
        }
        None => {}
    }
    if report.is_shallow {
        notes.push(
            "the clone is shallow: it lacks older commits, and the changes of its oldest ones".to_owned(),
        );
    }
    if let Some(id) = report.left_out {
        let id = render::short(&id.to_string()).to_owned();
        notes.push(format!("{id} changes too much for the time of a call, so it was left out"));
    }
    if report.broken > 0 {
        let commits = count(report.broken, "commit");
        notes.push(format!("{commits} of the history can't be read, so it is not complete"));
    }
    if report.unread > 0 {
        let versions = versions_were(report.unread);
        notes.push(format!("{versions} not searched: too large, or not in the repository"));
    }
    if let Some(first) = report.secret.first() {
        let more = match report.secret.len() {
            1 => String::new(),
            all => format!(" and {} more", grouped(all as u64 - 1)),
        };
        let first = clip(&display_path(first), limits::QUOTED_BYTES);
        notes.push(format!("not searched, because they may hold secrets: {first}{more}"));
    }
    if report.without_renames > 0 {
        let commits = count(report.without_renames, "commit");
        notes.push(format!(
            "{commits} changed too many or too large files to find all renames of edited files"
        ));
    }
    notes
}

//! The commits that may have caused a failure. `forage_rank` ranks them; this collects their words.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::{ControlFlow, Range};
use std::rc::Rc;

use forage_fs::display_path;
use forage_git::{
    HistoryCommit, HistoryEnd, HistoryFile, HistoryFilter, HistoryQuery, HistoryReport, ObjectError,
    ObjectId, Repository, RevisionError,
};
use forage_rank::{Failure, SuspectCommit, WordCounts};
use forage_redact::RedactionReport;

use super::{FoundCommit, HistoryCall, HistoryRequest, HistoryResponse, date, subject, unseen};
use crate::error::ToolError;
use crate::limits;
use crate::outcome::{Limit, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::sanitize::without_hidden;
use crate::text::{clip, clip_line, count};

/// Refuses arguments that do not go together.
pub(super) fn check(request: &HistoryRequest) -> Result<(), ToolError> {
    let refused = |argument: &'static str, problem: &str| Err(ToolError::argument(argument, problem));
    match &request.suspects {
        Some(_) if request.pattern.is_some() || request.symbol.is_some() => {
            refused("suspects", "give a failure, a pattern or a symbol, not several of them")
        }
        Some(_) if request.cursor.is_some() => refused("cursor", "suspects have no further page"),
        None if request.since.is_some() => refused("since", "it belongs to `suspects`, which is missing"),
        _ => Ok(()),
    }
}

/// A commit of the range.
struct KnownCommit {
    id: ObjectId,
    time: i64,
    subject: String,
    evidence: SuspectCommit,
    /// A file that the failure names.
    named: Option<String>,
    /// For each word of the failure, the first line of code that the commit added with it.
    lines: HashMap<usize, (Rc<str>, u32)>,
}

/// The newest commit, and the commits to look at if they are limited.
type CommitRange = (ObjectId, Option<BTreeSet<ObjectId>>);

impl HistoryCall<'_> {
    pub(super) fn find_suspects(self, text: &str) -> Result<ToolOutcome<HistoryResponse>, ToolError> {
        let failure = Failure::parse(text);
        if failure.is_empty() {
            return Err(ToolError::argument(
                "suspects",
                "it has no word to look for; give a trace or a message",
            ));
        }
        let mut repository = self.open(&self.stop)?;
        let (from, within) = self.range(&mut repository)?;
        let paths: Vec<Vec<u8>> = match self.path.is_root() {
            true => Vec::new(),
            false => vec![self.path.as_bytes().to_vec()],
        };
        let max = match within {
            Some(_) => limits::SUSPECT_COMMITS_MAX,
            None => limits::SUSPECT_COMMITS,
        };
        let query = HistoryQuery {
            from,
            paths: &paths,
            within: within.as_ref(),
            max_commits: u64::MAX,
            filter: HistoryFilter::All,
            skip: 0,
            max_lines: limits::SUSPECT_LINES,
        };
        let mut commits: Vec<KnownCommit> = Vec::new();
        let report = repository.history(&query, &mut |commit| {
            if commits.len() >= max {
                return ControlFlow::Break(());
            }
            commits.push(known(&failure, &commit));
            ControlFlow::Continue(())
        });
        let report = report.map_err(|error| self.unread(error))?;
        let find = finder(&failure);
        // The same commits again. The first pass has the messages and paths of all, even if time runs out now.
        let query = HistoryQuery { filter: HistoryFilter::Lines(&find), max_commits: report.looked, ..query };
        let lines = self.add_lines(&mut repository, &query, &failure, &mut commits)?;
        Ok(self.suspects_outcome(&failure, commits, &report, &lines))
    }

    /// Reads the range of commits.
    fn range(&self, repository: &mut Repository) -> Result<CommitRange, ToolError> {
        let Some(since) = self.request.since.as_deref() else { return Ok((self.pages.from, None)) };
        let refused = |error: RevisionError| match error {
            RevisionError::Object(ObjectError::Stopped) if self.call.stop.is_cancelled() => {
                ToolError::Cancelled
            }
            error => ToolError::argument("since", clip(&error.to_string(), limits::NOTE_BYTES)),
        };
        let (good, bad) = match since.split_once("..") {
            Some((good, bad)) => (good, bad.trim_start_matches('.').trim()),
            None => (since, ""),
        };
        let newest = match bad {
            "" => self.pages.from,
            bad => repository.resolve(bad).map_err(refused)?,
        };
        let oldest = repository.resolve(good).map_err(refused)?;
        let within = repository.commits_between(&oldest, &newest).map_err(|error| self.unread(error))?;
        if within.is_empty() {
            return Err(ToolError::argument("since", "no commit is in this range"));
        }
        Ok((newest, Some(within)))
    }

    /// Adds the lines with words of the failure to the commits.
    fn add_lines(
        &self,
        repository: &mut Repository,
        query: &HistoryQuery<'_>,
        failure: &Failure,
        commits: &mut [KnownCommit],
    ) -> Result<HistoryReport, ToolError> {
        let stop = self.call.stop.within(self.call.limits.timeout + limits::HISTORY_LINES_TIME);
        let mut reader = self.open(&stop)?;
        let places: HashMap<ObjectId, usize> =
            commits.iter().enumerate().map(|(number, commit)| (commit.id, number)).collect();
        let report = repository.history(query, &mut |found| {
            if let Some(&number) = places.get(&found.id)
                && let Some(commit) = commits.get_mut(number)
            {
                let files = found.files.iter().take(limits::SUSPECT_FILES);
                files.for_each(|file| add_file(&mut reader, failure, file, commit));
            }
            ControlFlow::Continue(())
        });
        report.map_err(|error| self.unread(error))
    }

    fn suspects_outcome(
        self,
        failure: &Failure,
        mut commits: Vec<KnownCommit>,
        report: &HistoryReport,
        lines: &HistoryReport,
    ) -> ToolOutcome<HistoryResponse> {
        let evidence: Vec<SuspectCommit> =
            commits.iter_mut().map(|commit| std::mem::take(&mut commit.evidence)).collect();
        let suspects = failure.suspects(&evidence);
        let mut hidden = RedactionReport::default();
        let mut redactor = OutputRedactor::new(&self.call.workspace.redactor, &mut hidden);
        let found: Vec<FoundCommit> = suspects
            .iter()
            .take(self.max)
            .map(|suspect| {
                let commit = &commits[suspect.number];
                let evidence = &evidence[suspect.number];
                let reason = reason(failure, commit, evidence, &suspect.words, &mut redactor);
                shown(commit, reason, &mut redactor)
            })
            .collect();
        let oldest = commits.last().map(|commit| date(commit.time));
        let looked_at = commits.len() as u64;
        // The newest commits are the range unless the call gives one, but there may be older ones.
        let is_cut = report.end != HistoryEnd::Whole;
        let is_stopped =
            |report: &HistoryReport| matches!(report.end, HistoryEnd::Stopped | HistoryEnd::Limit);
        let is_unread = is_stopped(lines);
        let has_range = self.request.since.is_some();
        let is_whole = !is_cut && report.broken == 0;
        let lacks_path = is_whole && !self.path.is_root() && !report.has_paths;
        let no_path = lacks_path.then(|| self.no_path());
        let mut warnings = self.warnings;
        warnings.extend(no_path);
        if is_cut && report.end == HistoryEnd::Enough && looked_at > 0 {
            let commits = count(looked_at, "commit");
            warnings.push(match has_range {
                true => format!("the range has more than these {commits}; older ones were not looked at"),
                false => format!("only the newest {commits}; `since` sets another range"),
            });
        }
        if failure.is_cut {
            warnings.push("the failure is long; only the words of its first part count".to_owned());
        }
        if is_unread && looked_at > 0 {
            let read = count(lines.looked, "commit");
            warnings.push(format!(
                "the changed lines of only the newest {read} were read; others count by message and path"
            ));
        }
        warnings.extend(unseen_lines(report, lines));
        let has_found = !found.is_empty();
        let response = HistoryResponse {
            pattern: None,
            symbol: None,
            suspects: true,
            path: self.shown_path,
            commits: found,
            looked_at,
            looked_back_to: oldest,
            complete: is_whole && !is_unread,
            continued: false,
            is_plain_text: false,
            lacks_path,
            is_last: true,
            pages: self.pages,
        };
        let mut outcome = ToolOutcome::new(response, has_found);
        if is_stopped(report) || is_unread {
            outcome.truncated_by = Some(self.stop.check().map_or(Limit::Entries, Limit::from));
        }
        outcome.warnings = warnings;
        outcome.hidden = hidden;
        outcome
    }
}

/// Describes what neither of the two passes could see, without repetition.
fn unseen_lines(messages: &HistoryReport, lines: &HistoryReport) -> Vec<String> {
    let mut notes = unseen(messages);
    let mut lines = lines.clone();
    lines.end = HistoryEnd::Whole;
    for note in unseen(&lines) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn known(failure: &Failure, commit: &HistoryCommit) -> KnownCommit {
    let files = &commit.files[..commit.files.len().min(limits::SUSPECT_FILES)];
    let paths: Vec<_> = files.iter().map(|file| String::from_utf8_lossy(&file.change.path)).collect();
    let paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
    let named = files.iter().zip(&paths).find(|(_, path)| failure.names(path));
    KnownCommit {
        id: commit.id,
        time: commit.time,
        subject: subject::without_people(&commit.message),
        evidence: failure.commit(&commit.message, &paths),
        named: named.map(|(file, _)| display_path(&file.change.path).into_owned()),
        lines: HashMap::new(),
    }
}

/// Finds the lines of a text that have a word of the failure.
fn finder(failure: &Failure) -> impl Fn(&[u8]) -> Vec<Range<usize>> + '_ {
    let cache: RefCell<HashMap<Vec<u8>, bool>> = RefCell::default();
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    let has = move |word: &[u8]| {
        let mut cache = cache.borrow_mut();
        if let Some(known) = cache.get(word) {
            return *known;
        }
        if cache.len() >= limits::SUSPECT_CACHED_WORDS {
            cache.clear();
        }
        let has = !failure.words_of(&String::from_utf8_lossy(word)).is_empty();
        cache.insert(word.to_vec(), has);
        has
    };
    move |text| {
        let mut found = Vec::new();
        let mut start = 0;
        for line in text.split(|&byte| byte == b'\n') {
            let mut words = line.split(|byte| !is_of_word(byte)).filter(|word| word.len() > 2);
            if words.any(&has) {
                found.push(start..start + line.len());
            }
            start += line.len() + 1;
        }
        found
    }
}

/// Adds the lines that a commit added to a file.
fn add_file(reader: &mut Repository, failure: &Failure, file: &HistoryFile, commit: &mut KnownCommit) {
    let numbers: Vec<u32> = file.lines.iter().filter(|line| line.is_added).map(|line| line.number).collect();
    let Some(id) = file.change.after.and_then(|version| version.id).filter(|_| !numbers.is_empty()) else {
        return;
    };
    let Some(bytes) = reader.read_version(&file.change.path, Some(id)) else { return };
    let path = String::from_utf8_lossy(&file.change.path);
    let shown: Rc<str> = Rc::from(display_path(&file.change.path).as_ref());
    let mut numbers = numbers.into_iter().peekable();
    let mut counts = WordCounts::default();
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if numbers.next_if_eq(&number).is_none() {
            continue;
        }
        for (word, times) in failure.words_of(&String::from_utf8_lossy(line)) {
            *counts.entry(word).or_default() += times;
            commit.lines.entry(word).or_insert_with(|| (Rc::clone(&shown), number));
        }
    }
    commit.evidence.add(&path, &counts);
}

/// Quotes the first of some words. Parts of a name that comes before them say nothing new.
fn list<'a>(failure: &Failure, words: impl Iterator<Item = &'a usize>) -> String {
    let mut chosen: Vec<String> = Vec::new();
    for word in words {
        let quoted = format!("`{}`", failure.word(*word));
        let lower = failure.word(*word).to_lowercase();
        if chosen.len() < limits::SUSPECT_REASONS
            && !chosen.iter().any(|known| known.to_lowercase().contains(&lower))
        {
            chosen.push(quoted);
        }
    }
    chosen.join(", ")
}

/// Describes in one line what ties a commit to the failure.
fn reason(
    failure: &Failure,
    commit: &KnownCommit,
    evidence: &SuspectCommit,
    words: &[usize],
    redactor: &mut OutputRedactor<'_>,
) -> String {
    let mut reasons = Vec::new();
    let mut name = |path: &str| {
        let mut path = path.to_owned();
        redactor.name(&mut path);
        path
    };
    if let Some(path) = &commit.named {
        reasons.push(format!("changes {}, which the failure names", name(path)));
    }
    // The strongest of the words that an added line has.
    let line = words.iter().find_map(|word| commit.lines.get(word));
    if let Some((path, number)) = line {
        let here =
            |word: &&usize| commit.lines.get(*word).is_some_and(|at| at == &(Rc::clone(path), *number));
        let words = list(failure, words.iter().filter(here));
        reasons.push(format!("adds {words} at {}:{number}", name(path)));
    }
    let in_subject = list(failure, words.iter().filter(|word| evidence.subject_has(**word)));
    if !in_subject.is_empty() {
        reasons.push(format!("its subject has {in_subject}"));
    }
    if reasons.is_empty() {
        reasons.push(format!("its paths or its message have {}", list(failure, words.iter())));
    }
    reasons.join("; ")
}

fn shown(commit: &KnownCommit, reason: String, redactor: &mut OutputRedactor<'_>) -> FoundCommit {
    let mut subject = commit.subject.clone();
    redactor.text(&mut subject);
    FoundCommit {
        id: commit.id.to_string(),
        date: date(commit.time),
        subject: clip_line(&without_hidden(&subject), limits::HISTORY_SUBJECT_CHARACTERS),
        reason: Some(reason),
        continued: false,
        files: Vec::new(),
        files_more: 0,
        looked: 0,
        begun: 0,
    }
}

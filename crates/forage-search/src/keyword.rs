//! Many terms in one pass, with exact account of what ripgrep would print for each.
//!
//! The requirement measures a term by the bytes that `rg -C 10 -i --line-number --with-filename -e TERM` prints: over
//! 64 KiB it is too broad; of the others, the least important are dropped until what `rg` prints for all together
//! stays under 128 KiB. Run as written, that is one scan per term and one per drop. Here the tree is scanned once:
//! every line that a term matches is kept with the lines around it, each term's bytes are counted from those, and a
//! term that passes its bound is no longer looked for.
//!
//! That is [`Breadth::Requirement`]. With the other two a term that passes its bound is counted on, file by file, and what
//! is shown of it is chosen afterwards: `adapt` says how.

mod account;
mod adapt;
mod again;
mod draft;
mod file;
mod ranked;
mod score;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use forage_base::Stop;
use forage_fs::{OpenError, RelPath, Root, SkipReason, WalkOptions, WalkReport, WalkStep};

pub use account::{EvidenceLine, FileEvidence, TermMatches};
pub use ranked::ChooseLines;
pub use score::{order, weights};

use crate::error::PatternError;
use crate::index::{Index, TrigramQuery};
use crate::limits;
use crate::pattern::{Case, Pattern, PatternOptions};
use crate::scan::{ScanScope, ScanText, with_text};
use account::Printed;
use file::{Gathering, TermFinder};

/// The treatment of terms that match more than there is room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Breadth {
    /// They are left out, by the requirement's rule.
    #[default]
    Requirement,
    /// Less is shown of them: fewer lines of context, then none, then the best lines of the best files. Left out is what is
    /// on nearly every line.
    Adaptive,
    /// Nothing is left out, since nothing is sent: the best lines of so many files, the best ones of all that match.
    Ranked {
        /// Files.
        files: usize,
    },
}

/// The part of a kept term's lines that is in the evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TermDetail {
    /// All of them, with all their context.
    #[default]
    Whole,
    /// All of them, with so many lines of context.
    Context(u64),
    /// Some of them, in the files where the terms together say most.
    Best {
        /// Lines that are shown.
        lines: u64,
        /// Files with such lines.
        files: u64,
    },
}

/// The outcomes that a term can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermFate {
    /// Its lines are in the evidence.
    Kept,
    /// Nothing matches it.
    NoHits,
    /// ripgrep's output for it alone exceeds 64 KiB; unless the breadth is the requirement's, it also is on nearly every
    /// line.
    TooBroad,
    /// It was given up so that the rest stays under 128 KiB.
    Dropped,
    /// It is no valid pattern.
    Invalid(PatternError),
}

/// A term and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermReport {
    /// As given.
    pub term: String,
    /// Its outcome.
    pub fate: TermFate,
    /// Bytes that ripgrep prints for it alone; exact unless `at_least`.
    pub bytes: u64,
    /// The term was given up while it was counted.
    pub at_least: bool,
    /// Lines that match it, while it was counted.
    pub lines: u64,
    /// Files with such lines.
    pub files: u64,
    /// There may be more such lines, or files: they were not all counted.
    pub lines_at_least: bool,
    /// The part of its lines that is shown, when it is kept.
    pub detail: TermDetail,
}

/// The options with which terms are gathered; with the requirement's bounds by default.
#[derive(Clone, Debug)]
pub struct KeywordOptions {
    /// Bytes of output from which on a term is too broad: more than this.
    pub term_bytes: u64,
    /// Bytes that the output for all kept terms must stay under.
    pub evidence_bytes: u64,
    /// Lines of context around a match.
    pub context: u64,
    /// The treatment of terms that match more.
    pub breadth: Breadth,
    /// Bytes of a file; larger ones are counted and left out. `None` for no limit.
    pub max_file_bytes: Option<u64>,
    /// Tells files that can't match without reading them.
    pub index: Option<Arc<Index>>,
}

impl Default for KeywordOptions {
    fn default() -> Self {
        Self {
            term_bytes: limits::TERM_BYTES,
            evidence_bytes: limits::EVIDENCE_BYTES,
            context: limits::EVIDENCE_CONTEXT,
            breadth: Breadth::default(),
            max_file_bytes: None,
            index: None,
        }
    }
}

/// The findings of a keyword search: a report of each term, and the evidence of the kept ones.
#[derive(Debug)]
pub struct KeywordFindings {
    /// Every term in the order given.
    pub terms: Vec<TermReport>,
    /// The evidence for the kept terms in path order.
    pub files: Vec<FileEvidence>,
    /// Bytes that ripgrep prints for the kept terms together; of chosen evidence, for the lines that are shown, at most.
    pub bytes: u64,
    /// Files that a kept term matches, whether lines of them are in the evidence or not.
    pub candidates: u64,
    /// Files behind the [`limits::CANDIDATES`] among which the evidence was chosen.
    pub beyond: u64,
    /// The report of the walk.
    pub report: WalkReport,
}

impl KeywordFindings {
    /// The indices of the terms with a given fate.
    pub fn with_fate(&self, fate: &TermFate) -> impl Iterator<Item = &TermReport> {
        self.terms.iter().filter(move |term| term.fate == *fate)
    }

    /// The evidence exactly as ripgrep prints it (`--sort path`), with U+FFFD for what is not UTF-8.
    pub fn to_ripgrep_output(&self) -> String {
        let mask = self.kept_mask();
        let mut printed = Printed::new(String::new());
        self.files.iter().for_each(|file| printed.file(file, mask));
        printed.into_inner()
    }

    fn kept_mask(&self) -> u64 {
        mask_of(indices_with(&self.terms, &TermFate::Kept))
    }

    /// Whether a term's lines are not all here with their context.
    fn lacks_something(&self) -> bool {
        self.terms.iter().any(TermReport::lacks_something)
    }
}

impl TermReport {
    /// Whether its lines are not all here with their context.
    fn lacks_something(&self) -> bool {
        matches!(self.fate, TermFate::TooBroad | TermFate::Dropped)
    }
}

fn indices_with<'a>(terms: &'a [TermReport], fate: &'a TermFate) -> impl Iterator<Item = usize> + 'a {
    terms.iter().enumerate().filter(move |(_, term)| term.fate == *fate).map(|(index, _)| index)
}

fn mask_of(indices: impl Iterator<Item = usize>) -> u64 {
    indices.fold(0, |mask, index| mask | 1 << index)
}

/// Searches below `start` for `terms`, in order of importance and at most [`limits::TERMS`] of them: regexes,
/// without regard to case.
pub fn gather(
    root: &Arc<Root>,
    start: &RelPath,
    walk_options: &WalkOptions,
    terms: &[String],
    bounds: &KeywordOptions,
    stop: &Stop,
) -> Result<KeywordFindings, OpenError> {
    if let Some(index) = &bounds.index {
        index.hasten();
    }
    let options = PatternOptions { case: Case::Insensitive, ..PatternOptions::default() };
    let (patterns, errors): (Vec<_>, Vec<_>) =
        terms.iter().take(limits::TERMS).map(|term| split(Pattern::new_within(term, &options, stop))).unzip();
    let counters: Vec<Counter> = terms.iter().map(|_| Counter::default()).collect();
    let valid = mask_of(patterns.iter().enumerate().filter(|(_, pattern)| pattern.is_some()).map(|(i, _)| i));
    let live = || {
        counters.iter().enumerate().fold(valid, |live, (i, counter)| match counter.is_over(bounds) {
            true => live & !(1 << i),
            false => live,
        })
    };
    let counts_all = bounds.breadth != Breadth::Requirement;
    let looked_for = || if counts_all { valid } else { live() };
    let gathering = Gathering {
        term_bytes: bounds.term_bytes,
        context: bounds.context,
        counts_all,
        line_bytes: limits::CHOSEN_LINE_BYTES,
        cuts_lines: false,
    };
    // One for each term: files with terms that were given up need not be read for them.
    let of_term = |pattern: &Option<Pattern>| match pattern {
        // What is asked of an index has to be found out first; to ask it nothing takes no time.
        Some(_) if stop.check().is_some() => TrigramQuery::Any,
        Some(pattern) => TrigramQuery::of(pattern),
        None => TrigramQuery::Nothing,
    };
    let queries = || patterns.iter().map(of_term).collect();
    let (index, max_file_bytes) = (bounds.index.as_ref(), bounds.max_file_bytes);
    // What the call ends by, and what the walk does: of what it found something has to be chosen.
    let (call, stop) = (stop, &if counts_all { leaving_time(stop) } else { stop.clone() });
    let (mut files, mut matching) = (Vec::new(), 0u64);
    let report = if valid == 0 || stop.check().is_some() {
        WalkReport { stopped: stop.check(), ..WalkReport::default() }
    } else {
        ScanScope { root, start, walk_options, index, exhaustive: true, max_file_bytes, stop }.search(
            queries,
            looked_for,
            || TermFinder::new(&patterns, valid, start, gathering, stop),
            |worker, entry, skipped| {
                let (live, looked_for) = (live(), looked_for());
                if looked_for == 0 {
                    return WalkStep::Nothing;
                }
                worker.state.look_for(looked_for);
                let found = with_text(
                    worker,
                    entry,
                    looked_for,
                    bounds.max_file_bytes,
                    skipped,
                    |finder, text, skipped| match text {
                        ScanText::Whole(text, _) => finder.search(&entry.path, text, live, stop),
                        ScanText::Pieces(reader, _) => {
                            finder.search_pieces(&entry.path, reader, false, stop, skipped)
                        }
                    },
                );
                let Some(mut file) = found else { return WalkStep::Nothing };
                let mut kept = 0;
                for (index, counter) in counters.iter().enumerate().filter(|(i, _)| live >> i & 1 == 1) {
                    if counter.count(&file, 1 << index, bounds) {
                        kept |= 1 << index;
                    }
                }
                file.retain(kept);
                let is_counted = counts_all && !file.matched.is_empty();
                if file.lines.is_empty() && file.binary == 0 && !is_counted {
                    return WalkStep::Nothing;
                }
                let weight = file.weight();
                WalkStep::Item(file, weight)
            },
            |file| {
                matching += u64::from(!file.matched.is_empty());
                if !file.lines.is_empty() || files.len() < limits::CANDIDATES {
                    files.push(file);
                }
                ControlFlow::Continue(())
            },
        )?
    };
    let mut terms: Vec<TermReport> = terms
        .iter()
        .zip(errors.into_iter().chain(std::iter::repeat(None)))
        .zip(&counters)
        .map(|((term, error), counter)| counter.report(term, error, bounds))
        .collect();
    let bytes = match bounds.breadth {
        // Nothing is sent of it, so that it need not stay under a bound together.
        Breadth::Ranked { .. } => printed_bytes(&terms, &files),
        Breadth::Requirement | Breadth::Adaptive => drop_until_it_fits(&mut terms, &files, bounds),
    };
    let mut gathered = KeywordFindings { terms, files, bytes, candidates: 0, beyond: 0, report };
    // A file that only a term hit that was given up is not counted: whether it was looked at is a matter of timing.
    let broad = if counts_all { 0 } else { mask_of(indices_with(&gathered.terms, &TermFate::TooBroad)) };
    let binary = gathered.files.iter().filter(|file| file.binary & !broad != 0).count();
    (0..binary).for_each(|_| gathered.report.skipped.add(SkipReason::Binary));
    if counts_all && gathered.lacks_something() {
        let threads = walk_options.thread_count();
        let gathering = Gathering { cuts_lines: true, ..gathering };
        let again =
            again::Again { root, start, patterns: &patterns, gathering, max_file_bytes, threads, stop: call };
        gathered.beyond = matching.saturating_sub(limits::CANDIDATES as u64);
        if !adapt::adapt(&mut gathered, bounds, &again) {
            gathered.report.stopped = call.check();
            let first = gathered.files.first().map(|file| file.path.clone());
            show_held(&mut gathered, bounds);
            if let Some(first) = first.filter(|_| gathered.files.is_empty()) {
                show_one(&mut gathered, first, again, bounds);
            }
        }
        return Ok(gathered);
    }
    let kept = gathered.kept_mask();
    gathered.files.retain_mut(|file| {
        file.retain(kept);
        file.keep_counts(kept);
        !file.lines.is_empty()
    });
    gathered.candidates = gathered.files.len() as u64;
    Ok(gathered)
}

/// When the walk has to end so that there is time to choose from what it found.
fn leaving_time(stop: &Stop) -> Stop {
    let Some(deadline) = stop.deadline() else { return stop.clone() };
    let left = deadline.saturating_duration_since(Instant::now());
    let kept_back = left.mul_f64(limits::CHOICE_SHARE).min(limits::CHOICE_TIME);
    stop.by(deadline.checked_sub(kept_back).unwrap_or(deadline))
}

/// What there is to show when no time is left to choose: of broad terms the lines that were kept until each was found to be
/// broad.
fn show_held(gathered: &mut KeywordFindings, bounds: &KeywordOptions) {
    gathered.candidates = gathered.files.len() as u64;
    let held = gathered.files.iter().flat_map(|file| &file.lines).fold(0, |terms, line| terms | line.terms);
    let is_sent = bounds.breadth == Breadth::Adaptive;
    let broad = mask_of((0..gathered.terms.len()).filter(|&term| gathered.terms[term].lacks_something()));
    for (index, term) in gathered.terms.iter_mut().enumerate().filter(|(i, _)| (broad & held) >> i & 1 == 1) {
        (term.fate, term.lines_at_least) = (TermFate::Kept, true);
        if is_sent {
            let lines = |file: &FileEvidence| {
                file.lines.iter().filter(|line| line.terms >> index & 1 == 1).count() as u64
            };
            let per_file = gathered.files.iter().map(lines).filter(|&lines| lines > 0);
            let (lines, files) = per_file.fold((0, 0), |(lines, files), more| (lines + more, files + 1));
            term.detail = TermDetail::Best { lines, files };
        }
    }
    gathered.bytes = match is_sent {
        true => drop_until_it_fits(&mut gathered.terms, &gathered.files, bounds),
        false => printed_bytes(&gathered.terms, &gathered.files),
    };
    let kept = gathered.kept_mask();
    gathered.files.retain_mut(|file| {
        file.retain(kept);
        file.keep_counts(kept);
        !file.lines.is_empty()
    });
}

/// Reads the first file where none has lines: those that were kept are of files after one that the search did not end in.
fn show_one(gathered: &mut KeywordFindings, path: RelPath, again: again::Again<'_>, bounds: &KeywordOptions) {
    let stop = Stop::after(limits::FIRST_FILE_TIME);
    let again = again::Again { stop: &stop, ..again };
    let wish = |_| file::Wish { complete: 0, most: limits::SHALLOW_LINES, worth: &|_| 1.0 };
    gathered.files = again.read(&[path], gathered.kept_mask(), wish).unwrap_or_default();
    gathered.files.iter_mut().flat_map(|file| &mut file.lines).for_each(|line| line.is_shown = true);
    let candidates = gathered.candidates;
    show_held(gathered, bounds);
    gathered.candidates = candidates;
}

fn split(result: Result<Pattern, PatternError>) -> (Option<Pattern>, Option<PatternError>) {
    match result {
        Ok(pattern) => (Some(pattern), None),
        // It was not looked for, like all that is left when a search has to end.
        Err(PatternError::Stopped) => (None, None),
        Err(error) => (None, Some(error)),
    }
}

/// Bytes that ripgrep prints for the kept terms.
fn printed_bytes(terms: &[TermReport], files: &[FileEvidence]) -> u64 {
    let kept = mask_of(indices_with(terms, &TermFate::Kept));
    let mut printed = Printed::new(0u64);
    files.iter().for_each(|file| printed.file(file, kept));
    printed.into_inner()
}

/// Drops the least important term until the rest is under the bound; returns the bytes of the rest.
fn drop_until_it_fits(terms: &mut [TermReport], files: &[FileEvidence], bounds: &KeywordOptions) -> u64 {
    loop {
        let bytes = printed_bytes(terms, files);
        if bytes < bounds.evidence_bytes {
            return bytes;
        }
        match terms.iter_mut().rfind(|term| term.fate == TermFate::Kept) {
            Some(last) => last.fate = TermFate::Dropped,
            None => return bytes,
        }
    }
}

/// The account of one term, shared by the workers.
#[derive(Debug, Default)]
struct Counter {
    /// Bytes of lines.
    bytes: AtomicU64,
    /// Groups of adjacent lines, between which a separator is printed.
    groups: AtomicU64,
    lines: AtomicU64,
    files: AtomicU64,
}

impl Counter {
    fn total(&self) -> u64 {
        let separators = self.groups.load(Ordering::Relaxed).saturating_sub(1);
        self.bytes.load(Ordering::Relaxed) + separators * account::SEPARATOR.len() as u64
    }

    fn is_over(&self, bounds: &KeywordOptions) -> bool {
        self.total() > bounds.term_bytes
    }

    /// Adds a file; false when the term is, or has become, too broad.
    fn count(&self, file: &FileEvidence, term: u64, bounds: &KeywordOptions) -> bool {
        let (bytes, groups) = file.printed_bytes(term);
        if file.over & term != 0 {
            self.bytes.fetch_add(bounds.term_bytes + 1, Ordering::Relaxed);
        } else if groups > 0 {
            // Separators are counted once for the whole output, which joins the files.
            let bytes = bytes - (groups - 1) * account::SEPARATOR.len() as u64;
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.groups.fetch_add(groups, Ordering::Relaxed);
            let lines = file.lines.iter().filter(|line| line.terms & term != 0).count() as u64;
            self.lines.fetch_add(lines, Ordering::Relaxed);
            self.files.fetch_add(1, Ordering::Relaxed);
        }
        !self.is_over(bounds)
    }

    fn report(&self, term: &str, error: Option<PatternError>, bounds: &KeywordOptions) -> TermReport {
        let over = self.is_over(bounds);
        let fate = match error {
            Some(error) => TermFate::Invalid(error),
            None if over => TermFate::TooBroad,
            None if self.groups.load(Ordering::Relaxed) == 0 => TermFate::NoHits,
            None => TermFate::Kept,
        };
        // How far a broad term was counted depends on the workers' timing: its figures are lower bounds, and only
        // the bound itself is the same on every run.
        TermReport {
            term: term.to_owned(),
            fate,
            bytes: if over { bounds.term_bytes + 1 } else { self.total() },
            at_least: over,
            lines: if over { 0 } else { self.lines.load(Ordering::Relaxed) },
            files: if over { 0 } else { self.files.load(Ordering::Relaxed) },
            lines_at_least: over,
            detail: TermDetail::Whole,
        }
    }
}

//! Searches for many terms in one pass, with an exact account of the output of ripgrep for each.
//!
//! The requirement measures a term by the bytes that `rg -C 10 -i --line-number --with-filename -e TERM`
//! prints. A term with more than 64 KiB is too broad. Of the others, the least important must be dropped
//! until the output for all of them together is below 128 KiB. Done literally, this would take one scan per
//! term and one per drop. We scan the tree only once, and keep every line that matches a term with the lines
//! around it. From those we count the bytes of each term, and we stop searching for a term that exceeds its
//! limit.
//!
//! This describes [`Breadth::Requirement`]. With the other two, we still count a term that exceeds its limit
//! in each file, and choose the lines to show afterwards; see `adapt`.

mod account;
mod adapt;
mod allocation;
mod file;
mod ranked;
mod score;
mod second_pass;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use forage_base::Stop;
use forage_fs::{Entry, OpenError, RelPath, Root, SkipReason, Skipped, WalkOptions, WalkReport, WalkStep};

pub use account::{EvidenceLine, FileEvidence, TermMatches};
pub use ranked::ChooseLines;
pub use score::{order, weights};

use crate::budget::PatternBudget;
use crate::error::PatternError;
use crate::index::{Index, TrigramQuery};
use crate::limits;
use crate::pattern::{Case, Pattern, PatternOptions};
use crate::scan::{ScanScope, ScanText, ScanWorker, with_text};
use account::Printed;
use file::{CollectLimits, TermFinder};
use second_pass::SecondPass;

/// How to handle terms that match more than fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Breadth {
    /// Leave them out, by the requirement's rule.
    #[default]
    Requirement,
    /// Show less of them: fewer lines of context, then none, then the best lines of the best files. Only
    /// terms on nearly every line are left out.
    Adaptive,
    /// Leave nothing out, because nothing is sent to a model: return the best lines of the best `files`
    /// files.
    Ranked {
        /// Maximum number of files.
        files: usize,
    },
}

/// How much of a kept term's matches the evidence contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TermDetail {
    /// All lines with all of their context.
    #[default]
    Whole,
    /// All lines with this many lines of context.
    Context(u64),
    /// Some lines, in the files that match the terms best.
    Best {
        /// Number of lines shown.
        lines: u64,
        /// Number of files with such lines.
        files: u64,
    },
}

/// The outcome of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermStatus {
    /// The evidence contains matches of the term.
    Kept,
    /// The term has no matches.
    NoHits,
    /// The output of ripgrep for this term alone exceeds 64 KiB. Except with [`Breadth::Requirement`], the
    /// term is also on nearly every line.
    TooBroad,
    /// The term was dropped to keep the others below 128 KiB.
    Dropped,
    /// The term is not a valid pattern.
    Invalid(PatternError),
}

/// A term and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermReport {
    /// The term as given.
    pub term: String,
    /// The outcome.
    pub fate: TermStatus,
    /// Bytes that ripgrep prints for this term alone. This is exact unless `at_least` is set.
    pub bytes: u64,
    /// True if counting the term stopped early, so that `bytes` is a lower bound.
    pub at_least: bool,
    /// Number of matching lines, as far as they were counted.
    pub lines: u64,
    /// Number of files with such lines.
    pub files: u64,
    /// True if not all lines and files were counted.
    pub lines_at_least: bool,
    /// How much of the term's matches is shown, if it is kept.
    pub detail: TermDetail,
}

/// Options of [`gather`]. The defaults are the requirement's limits.
#[derive(Clone, Debug)]
pub struct KeywordOptions {
    /// A term with more bytes of output than this is too broad.
    pub term_bytes: u64,
    /// The output for all kept terms must be smaller than this, in bytes.
    pub evidence_bytes: u64,
    /// Lines of context around a match.
    pub context: u64,
    /// How to handle terms that match more than these limits allow.
    pub breadth: Breadth,
    /// Maximum size of a file in bytes; larger ones are skipped and counted. `None` for no limit.
    pub max_file_bytes: Option<u64>,
    /// An index that rules out files without reading them.
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

/// The results of a keyword search: a report for each term, and the evidence for the kept ones.
#[derive(Debug)]
pub struct KeywordFindings {
    /// The reports of all terms, in the order given.
    pub terms: Vec<TermReport>,
    /// The evidence for the kept terms, in path order.
    pub files: Vec<FileEvidence>,
    /// Bytes that ripgrep prints for all kept terms. For evidence chosen within a budget, this is an upper
    /// bound for the shown lines instead.
    pub bytes: u64,
    /// Number of files that a kept term matches, including those without lines in the evidence.
    pub candidates: u64,
    /// Number of matching files after the first [`limits::CANDIDATES`], which were not considered.
    pub beyond: u64,
    /// The report of the walk.
    pub report: WalkReport,
}

impl KeywordFindings {
    /// Returns the reports of terms with the given outcome.
    pub fn with_fate(&self, fate: &TermStatus) -> impl Iterator<Item = &TermReport> {
        self.terms.iter().filter(move |term| term.fate == *fate)
    }

    /// Formats the evidence exactly as ripgrep prints it with `--sort path`, with U+FFFD for invalid UTF-8.
    pub fn to_ripgrep_output(&self) -> String {
        let mask = self.kept_mask();
        let mut printed = Printed::new(String::new());
        self.files.iter().for_each(|file| printed.file(file, mask));
        printed.into_inner()
    }

    fn kept_mask(&self) -> u64 {
        mask_of(indices_with(&self.terms, &TermStatus::Kept))
    }

    fn lacks_something(&self) -> bool {
        self.terms.iter().any(TermReport::lacks_something)
    }

    /// Counts the binary files as skipped. We do not count a binary file that only a too broad term hit.
    /// Whether this file was read depends on timing, unless all files are counted.
    fn count_binary(&mut self, counts_all: bool) {
        let broad = if counts_all { 0 } else { mask_of(indices_with(&self.terms, &TermStatus::TooBroad)) };
        let binary = self.files.iter().filter(|file| file.binary & !broad != 0).count();
        (0..binary).for_each(|_| self.report.skipped.add(SkipReason::Binary));
    }

    /// Drops everything but the lines of the kept terms.
    fn retain_kept(&mut self) {
        let kept = self.kept_mask();
        self.files.retain_mut(|file| {
            file.retain(kept);
            file.keep_counts(kept);
            !file.lines.is_empty()
        });
    }
}

impl TermReport {
    /// Returns true if some matches of the term, or their context, are missing.
    fn lacks_something(&self) -> bool {
        matches!(self.fate, TermStatus::TooBroad | TermStatus::Dropped)
    }
}

fn indices_with<'a>(terms: &'a [TermReport], fate: &'a TermStatus) -> impl Iterator<Item = usize> + 'a {
    terms.iter().enumerate().filter(move |(_, term)| term.fate == *fate).map(|(index, _)| index)
}

fn mask_of(indices: impl Iterator<Item = usize>) -> u64 {
    indices.fold(0, |mask, index| mask | 1 << index)
}

/// Searches below `start` for `terms`: case-insensitive regexes in order of importance. Only the first
/// [`limits::TERMS`] are used.
///
/// # Errors
///
/// Returns an error if `start` can't be opened.
///
/// # Examples
///
/// ```
/// use forage_base::Stop;
/// use forage_fs::{RelPath, Root, RootPolicy, SecretPolicy, WalkOptions};
/// use forage_search::keyword::{KeywordOptions, TermStatus, gather};
///
/// let root = Root::open("src".as_ref(), &RootPolicy::default(), SecretPolicy::standard(&[]))?;
/// let terms = ["hyperscan".to_owned(), "no_such_word[s]".to_owned()];
/// let options = KeywordOptions::default();
/// let found =
///     gather(&root, &RelPath::root(), &WalkOptions::default(), &terms, &options, &Stop::never())?;
/// assert_eq!(found.terms[0].fate, TermStatus::Kept);
/// assert_eq!(found.terms[1].fate, TermStatus::NoHits);
/// assert!(found.to_ripgrep_output().contains("Hyperscan"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gather(
    root: &Arc<Root>,
    start: &RelPath,
    walk_options: &WalkOptions,
    terms: &[String],
    bounds: &KeywordOptions,
    stop: &Stop,
) -> Result<KeywordFindings, OpenError> {
    // Sets of terms are bits of a number.
    let terms = &terms[..terms.len().min(limits::TERMS)];
    if let Some(index) = &bounds.index {
        index.prefetch();
    }
    let options = PatternOptions { case: Case::Insensitive, ..PatternOptions::default() };
    let budget = PatternBudget::new(terms.len(), walk_options.thread_count());
    let compile = |term: &String| split(Pattern::new_in(&budget, term, &options, stop));
    let (patterns, errors): (Vec<_>, Vec<_>) = terms.iter().map(compile).unzip();
    let threads = budget.threads(walk_options.thread_count());
    let walk_options = &WalkOptions { threads, ..walk_options.clone() };
    let counters: Vec<Counter> = terms.iter().map(|_| Counter::default()).collect();
    let counts_all = bounds.breadth != Breadth::Requirement;
    let gathering = CollectLimits {
        term_bytes: bounds.term_bytes,
        context: bounds.context,
        counts_all,
        line_bytes: limits::CHOSEN_LINE_BYTES,
        cuts_lines: false,
    };
    // The walk must stop some time before the call does, to leave time for choosing evidence from its
    // results.
    let walk_stop = &if counts_all { leaving_time(stop) } else { stop.clone() };
    let scan = TermScan {
        root,
        start,
        walk_options,
        patterns: &patterns,
        valid: mask_of(patterns.iter().enumerate().filter(|(_, pattern)| pattern.is_some()).map(|(i, _)| i)),
        counters: &counters,
        bounds,
        gathering,
        stop: walk_stop,
    };
    let ScannedFiles { files, matching, report } = scan.run()?;
    let mut terms: Vec<TermReport> = terms
        .iter()
        .zip(errors.into_iter().chain(std::iter::repeat(None)))
        .zip(&counters)
        .map(|((term, error), counter)| counter.report(term, error, bounds))
        .collect();
    let bytes = match bounds.breadth {
        // We send nothing to a model, so the evidence need not stay below a common limit.
        Breadth::Ranked { .. } => printed_bytes(&terms, &files),
        Breadth::Requirement | Breadth::Adaptive => drop_until_it_fits(&mut terms, &files, bounds),
    };
    let mut gathered = KeywordFindings { terms, files, bytes, candidates: 0, beyond: 0, report };
    gathered.count_binary(counts_all);
    if counts_all && gathered.lacks_something() {
        let second_pass = SecondPass {
            root,
            start,
            patterns: &patterns,
            gathering: CollectLimits { cuts_lines: true, ..gathering },
            max_file_bytes: bounds.max_file_bytes,
            threads: walk_options.thread_count(),
            stop,
        };
        gathered.beyond = matching.saturating_sub(limits::CANDIDATES as u64);
        adapt_or_show_held(&mut gathered, bounds, second_pass);
    } else {
        gathered.retain_kept();
        gathered.candidates = gathered.files.len() as u64;
    }
    Ok(gathered)
}

/// The walk that searches for all terms.
struct TermScan<'a> {
    root: &'a Arc<Root>,
    start: &'a RelPath,
    walk_options: &'a WalkOptions,
    patterns: &'a [Option<Pattern>],
    /// The terms with a pattern, as a bitmap.
    valid: u64,
    counters: &'a [Counter],
    bounds: &'a KeywordOptions,
    gathering: CollectLimits,
    stop: &'a Stop,
}

/// The files of a walk that match a term.
#[derive(Default)]
struct ScannedFiles {
    files: Vec<FileEvidence>,
    /// Number of files that match, including those that we did not keep.
    matching: u64,
    report: WalkReport,
}

impl TermScan<'_> {
    fn run(&self) -> Result<ScannedFiles, OpenError> {
        let Self { root, start, walk_options, patterns, valid, bounds, gathering, stop, .. } = *self;
        let mut scanned = ScannedFiles::default();
        if valid == 0 || stop.check().is_some() {
            scanned.report.stopped = stop.check();
            return Ok(scanned);
        }
        let (index, max_file_bytes) = (bounds.index.as_ref(), bounds.max_file_bytes);
        let scope = ScanScope { root, start, walk_options, index, exhaustive: true, max_file_bytes, stop };
        let report = scope.search(
            || self.queries(),
            || self.looked_for(),
            || TermFinder::new(patterns, valid, start, gathering, stop),
            |worker, entry, skipped| self.visit(worker, entry, skipped),
            |file| {
                scanned.matching += u64::from(!file.matched.is_empty());
                if !file.lines.is_empty() || scanned.files.len() < limits::CANDIDATES {
                    scanned.files.push(file);
                }
                ControlFlow::Continue(())
            },
        )?;
        scanned.report = report;
        Ok(scanned)
    }

    /// Returns the terms that are not too broad so far, as a bitmap.
    fn live(&self) -> u64 {
        self.counters.iter().enumerate().fold(self.valid, |live, (i, counter)| {
            match counter.is_over(self.bounds) {
                true => live & !(1 << i),
                false => live,
            }
        })
    }

    /// Returns the terms for which files must be searched, as a bitmap.
    fn looked_for(&self) -> u64 {
        if self.gathering.counts_all { self.valid } else { self.live() }
    }

    /// Plans one query per term: files that only match abandoned terms need not be read.
    fn queries(&self) -> Vec<TrigramQuery> {
        let of_term = |pattern: &Option<Pattern>| match pattern {
            // Planning a query takes time that we no longer have; an empty condition costs nothing.
            Some(_) if self.stop.check().is_some() => TrigramQuery::Any,
            Some(pattern) => TrigramQuery::from_pattern(pattern),
            None => TrigramQuery::Nothing,
        };
        self.patterns.iter().map(of_term).collect()
    }

    /// Searches a file and adds its lines to the counters.
    fn visit(
        &self,
        worker: &mut ScanWorker<'_, TermFinder<'_>>,
        entry: &Entry<'_>,
        skipped: &mut Skipped,
    ) -> WalkStep<FileEvidence> {
        let (live, looked_for) = (self.live(), self.looked_for());
        if looked_for == 0 {
            return WalkStep::Nothing;
        }
        worker.state.look_for(looked_for);
        let max_file_bytes = self.bounds.max_file_bytes;
        let found =
            with_text(
                worker,
                entry,
                looked_for,
                max_file_bytes,
                skipped,
                |finder, text, skipped| match text {
                    ScanText::Whole(text, _) => finder.search(&entry.path, text, live, self.stop),
                    ScanText::Pieces(reader, _) => {
                        finder.search_pieces(&entry.path, reader, false, self.stop, skipped)
                    }
                },
            );
        let Some(mut file) = found else { return WalkStep::Nothing };
        let mut kept = 0;
        for (index, counter) in self.counters.iter().enumerate().filter(|(i, _)| live >> i & 1 == 1) {
            if counter.count(&file, 1 << index, self.bounds) {
                kept |= 1 << index;
            }
        }
        file.retain(kept);
        let is_counted = self.gathering.counts_all && !file.matched.is_empty();
        if file.lines.is_empty() && file.binary == 0 && !is_counted {
            return WalkStep::Nothing;
        }
        let weight = file.weight();
        WalkStep::Item(file, weight)
    }
}

/// Computes a deadline for the walk that leaves time to choose from its results.
fn leaving_time(stop: &Stop) -> Stop {
    let Some(deadline) = stop.deadline() else { return stop.clone() };
    let left = deadline.saturating_duration_since(Instant::now());
    let kept_back = left.mul_f64(limits::CHOICE_SHARE).min(limits::CHOICE_TIME);
    stop.by(deadline.checked_sub(kept_back).unwrap_or(deadline))
}

/// Chooses the lines to show, from a second pass over the files. If no time is left for it, shows the lines
/// that the first pass kept.
fn adapt_or_show_held(gathered: &mut KeywordFindings, bounds: &KeywordOptions, second_pass: SecondPass<'_>) {
    if adapt::adapt(gathered, bounds, &second_pass) {
        return;
    }
    gathered.report.stopped = second_pass.stop.check();
    let first = gathered.files.first().map(|file| file.path.clone());
    show_held(gathered, bounds);
    if let Some(first) = first.filter(|_| gathered.files.is_empty()) {
        show_one(gathered, first, second_pass, bounds);
    }
}

/// Falls back to the lines already in memory if no time is left to choose. For broad terms, these are the
/// lines kept until the term turned out to be broad.
fn show_held(gathered: &mut KeywordFindings, bounds: &KeywordOptions) {
    gathered.candidates = gathered.files.len() as u64;
    let held = gathered.files.iter().flat_map(|file| &file.lines).fold(0, |terms, line| terms | line.terms);
    let is_sent = bounds.breadth == Breadth::Adaptive;
    let broad = mask_of((0..gathered.terms.len()).filter(|&term| gathered.terms[term].lacks_something()));
    for (index, term) in gathered.terms.iter_mut().enumerate().filter(|(i, _)| (broad & held) >> i & 1 == 1) {
        (term.fate, term.lines_at_least) = (TermStatus::Kept, true);
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
    gathered.retain_kept();
}

/// Reads the first file again if no file has lines left. This can happen if a term was already too broad when
/// its later files were read.
fn show_one(
    gathered: &mut KeywordFindings,
    path: RelPath,
    second_pass: SecondPass<'_>,
    bounds: &KeywordOptions,
) {
    let stop = Stop::after(limits::FIRST_FILE_TIME);
    let second_pass = SecondPass { stop: &stop, ..second_pass };
    let selection = |_| file::LineSelection { complete: 0, max: limits::SHALLOW_LINES, weight_of: &|_| 1.0 };
    gathered.files = second_pass.read(&[path], gathered.kept_mask(), selection).unwrap_or_default();
    gathered.files.iter_mut().flat_map(|file| &mut file.lines).for_each(|line| line.is_shown = true);
    let candidates = gathered.candidates;
    show_held(gathered, bounds);
    gathered.candidates = candidates;
}

fn split(result: Result<Pattern, PatternError>) -> (Option<Pattern>, Option<PatternError>) {
    match result {
        Ok(pattern) => (Some(pattern), None),
        // Like everything else after a stop, this pattern was not searched for.
        Err(PatternError::Stopped) => (None, None),
        Err(error) => (None, Some(error)),
    }
}

/// Counts the bytes that ripgrep prints for the kept terms.
fn printed_bytes(terms: &[TermReport], files: &[FileEvidence]) -> u64 {
    let kept = mask_of(indices_with(terms, &TermStatus::Kept));
    let mut printed = Printed::new(0u64);
    files.iter().for_each(|file| printed.file(file, kept));
    printed.into_inner()
}

/// Drops the least important term until the rest is below the limit. Returns the bytes of the rest.
fn drop_until_it_fits(terms: &mut [TermReport], files: &[FileEvidence], bounds: &KeywordOptions) -> u64 {
    loop {
        let bytes = printed_bytes(terms, files);
        if bytes < bounds.evidence_bytes {
            return bytes;
        }
        match terms.iter_mut().rfind(|term| term.fate == TermStatus::Kept) {
            Some(last) => last.fate = TermStatus::Dropped,
            None => return bytes,
        }
    }
}

/// The running totals of one term, shared by the workers.
#[derive(Debug, Default)]
struct Counter {
    /// Bytes of lines.
    bytes: AtomicU64,
    /// Number of groups of adjacent lines; ripgrep prints a separator between groups.
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

    /// Adds a file. Returns false if the term is already too broad or has just become so.
    fn count(&self, file: &FileEvidence, term: u64, bounds: &KeywordOptions) -> bool {
        let (bytes, groups) = file.printed_bytes(term);
        if file.over & term != 0 {
            self.bytes.fetch_add(bounds.term_bytes + 1, Ordering::Relaxed);
        } else if groups > 0 {
            // We add separators once for the whole output, which concatenates the files.
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
            Some(error) => TermStatus::Invalid(error),
            None if over => TermStatus::TooBroad,
            None if self.groups.load(Ordering::Relaxed) == 0 => TermStatus::NoHits,
            None => TermStatus::Kept,
        };
        // How far we counted a too broad term depends on the timing of the workers. Its figures are therefore
        // lower bounds, and only the limit itself is reproducible.
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

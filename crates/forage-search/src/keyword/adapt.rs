//! Chooses evidence within a byte budget if the terms match more than that.
//!
//! The goal is that the evidence includes the relevant files, with enough of each to judge it. The
//! requirement's rule keeps or drops whole terms, so it loses a file whose words are a little too common.
//! Here we reduce a term in steps instead. If even its bare lines are too many, we choose files rather than
//! terms:
//!
//! 1. A term on nearly every line does not distinguish files, and is left out ([`refuse`]).
//! 2. Terms whose bare lines fit, rarest first, are *complete*: all their lines are shown ([`complete`]).
//!    Rare words identify the relevant file (inverse document frequency, Spärck Jones 1972).
//! 3. For the other terms we show the files with the highest combined score ([`super::score`], after BM25),
//!    each with its best line, up to half of the budget ([`KeywordChoice::breadth`]). Measurements of code
//!    rankings show that naming a file is cheap and includes the right one more often than any other use of
//!    the bytes.
//! 4. Complete terms get as much context as fits. The broadest term is reduced first, and a term over its own
//!    limit at least far enough to meet it ([`KeywordChoice::context`]).
//! 5. The rest goes to the best files, an eighth of it to each in turn, as more lines or more context
//!    ([`KeywordChoice::depth`]). Adjacent lines are more informative than the same bytes from many places. A
//!    geometric share spends most on a file that leads clearly and still reaches the next ones.
//!
//! For all files we keep only counts, about 20 bytes per term. The chosen files are read once more for their
//! lines; their number is limited by the budget. Estimated costs are never smaller than the actual size, so
//! the total stays within the budget.

use std::cmp::Reverse;

use super::account::FileEvidence;
use super::allocation::Allocation;
use super::file::{LineSelection, LineWeight, bits};
use super::second_pass::SecondPass;
use super::{Breadth, KeywordFindings, KeywordOptions, TermDetail, TermStatus, mask_of, score};
use crate::limits;

/// Bytes of the heading before a file's lines, in addition to the root's path.
const HEADING_BYTES: u64 = 16;

/// Extra bytes of a line without adjacent lines, for the separator.
const APART_BYTES: u64 = 5;

/// The depths to try for a file: the number of its best lines, and the context of each.
const DEPTHS: [(usize, u64); 7] = [(24, 10), (24, 5), (16, 3), (8, 3), (8, 1), (4, 1), (3, 0)];

/// Totals of a term over all files.
#[derive(Clone, Copy, Debug, Default)]
struct TermTally {
    lines: u64,
    files: u64,
    /// Bytes of its lines without context, including overhead.
    bare: u64,
    /// Sum of the shares of the files' lines that it matches.
    share: f64,
    /// True if it was not counted completely in every file.
    is_part: bool,
}

/// Replaces the evidence by a choice based on the counts of all files. Returns false if time ran out before
/// any file could be read again.
#[must_use]
pub(super) fn adapt(
    gathered: &mut KeywordFindings,
    bounds: &KeywordOptions,
    second_pass: &SecondPass<'_>,
) -> bool {
    gathered.files.truncate(limits::CANDIDATES);
    let heading = second_pass.root.path().as_os_str().len() as u64 + HEADING_BYTES;
    let tallies = tally(gathered, heading);
    refuse(gathered, &tallies, bounds);
    let usable = gathered.kept_mask();
    gathered.files.retain_mut(|file| {
        file.keep_counts(usable);
        !file.matched.is_empty()
    });
    gathered.candidates = gathered.files.len() as u64;
    let weights = score::weights(&gathered.terms, gathered.candidates);
    let weight_of = |terms: u64| bits(terms).filter_map(|term| weights.get(term)).sum::<f64>();
    let order = score::order(&gathered.files, &gathered.terms, &weights);
    let missing = match bounds.breadth {
        Breadth::Ranked { files } => {
            let paths: Vec<_> =
                order.iter().take(files).map(|&index| gathered.files[index].path.clone()).collect();
            let selection = |_| LineSelection { complete: 0, max: limits::DEEP_LINES, weight_of: &weight_of };
            let Some(read) = second_pass.read(&paths, usable, selection) else { return false };
            gathered.files = read;
            gathered.files.iter_mut().flat_map(|file| &mut file.lines).for_each(|line| line.is_shown = true);
            gathered.bytes = super::printed_bytes(&gathered.terms, &gathered.files);
            paths.len() - gathered.files.len()
        }
        Breadth::Requirement | Breadth::Adaptive => {
            let complete = complete(&tallies, usable, bounds);
            let files = to_read(&gathered.files, &order, complete, bounds, heading);
            let paths: Vec<_> = files.map(|file| file.path.clone()).collect();
            let max =
                |place| if place < limits::DEEP_FILES { limits::DEEP_LINES } else { limits::SHALLOW_LINES };
            let selection = |place| LineSelection { complete, max: max(place), weight_of: &weight_of };
            let Some(read) = second_pass.read(&paths, usable, selection) else { return false };
            let missing = paths.len() - read.len();
            let allocations = read.into_iter().map(Allocation::new).collect();
            let others = usable & !complete;
            KeywordChoice { allocations, total: 0, complete, others, heading, bounds, weight_of: &weight_of }
                .all(gathered, &tallies);
            missing
        }
    };
    gathered.files.sort_by(|a, b| a.path.cmp(&b.path));
    // These files existed a moment ago, so we know that they are missing because time ran out.
    if missing > 0 {
        gathered.report.stopped = gathered.report.stopped.or(second_pass.stop.check());
    }
    true
}

/// Computes the totals of each term, and copies them to the reports.
fn tally(gathered: &mut KeywordFindings, heading: u64) -> Vec<TermTally> {
    let mut tallies = vec![TermTally::default(); gathered.terms.len()];
    for matches in gathered.files.iter().flat_map(|file| &file.matched) {
        let Some(tally) = tallies.get_mut(usize::from(matches.term)) else { continue };
        tally.lines += u64::from(matches.lines);
        tally.files += 1;
        // A line number has up to seven digits, and we have already counted one.
        tally.bare += matches.bytes + u64::from(matches.lines) * (APART_BYTES + 6) + heading;
        tally.share += f64::from(matches.share);
        tally.is_part |= matches.is_part;
    }
    let is_partial = gathered.beyond > 0 || gathered.report.stopped.is_some();
    for (term, tally) in gathered.terms.iter_mut().zip(&tallies) {
        (term.lines, term.files) = (tally.lines, tally.files);
        term.lines_at_least = tally.is_part || is_partial;
    }
    tallies
}

/// Keeps all terms except those on nearly every line, which do not distinguish files. An incomplete search
/// says nothing about the remaining files, so it refuses no term.
fn refuse(gathered: &mut KeywordFindings, tallies: &[TermTally], bounds: &KeywordOptions) {
    let (visited, is_whole) = (gathered.report.visited as f64, gathered.report.stopped.is_none());
    for (term, tally) in gathered.terms.iter_mut().zip(tallies) {
        let is_in_most = tally.files as f64 >= visited * limits::BROAD_TERM_SHARE;
        let is_on_most = tally.share >= tally.files as f64 * limits::BROAD_TERM_SHARE;
        let may_refuse = bounds.breadth == Breadth::Adaptive && term.fate == TermStatus::TooBroad && is_whole;
        if term.lacks_something() && !(may_refuse && is_in_most && is_on_most) {
            term.fate = TermStatus::Kept;
        }
    }
}

/// Chooses the complete terms: the rarest ones that fit, into half of the budget if other terms need the
/// rest.
fn complete(tallies: &[TermTally], usable: u64, bounds: &KeywordOptions) -> u64 {
    let mut terms: Vec<usize> = bits(usable).filter(|&term| !tallies[term].is_part).collect();
    terms.sort_by_key(|&term| (tallies[term].bare, term));
    let within = |room: u64| {
        let mut used = 0;
        let fits = |&term: &usize| {
            used += tallies[term].bare;
            tallies[term].bare <= bounds.term_bytes && used < room
        };
        mask_of(terms.iter().copied().take_while(fits))
    };
    let all = within(bounds.evidence_bytes);
    if all == usable { all } else { within(bounds.evidence_bytes / 2) }
}

/// Selects the files that may be shown, best first: those with complete terms, and as many of the others as
/// fit.
fn to_read<'a>(
    files: &'a [FileEvidence],
    order: &'a [usize],
    complete: u64,
    bounds: &KeywordOptions,
    heading: u64,
) -> impl Iterator<Item = &'a FileEvidence> {
    let mut room = bounds.evidence_bytes;
    order.iter().map(|&index| &files[index]).filter(move |file| {
        if file.matched.iter().any(|matches| complete >> matches.term & 1 == 1) {
            return true;
        }
        let line = |matches: &super::TermMatches| matches.bytes / u64::from(matches.lines.max(1));
        let least = file.matched.iter().map(line).min().unwrap_or(0) + heading;
        let fits = least <= room;
        room = room.saturating_sub(least);
        fits
    })
}

/// The choice in progress, with the best files first.
struct KeywordChoice<'a> {
    allocations: Vec<Allocation>,
    /// Bytes of the evidence chosen so far.
    total: u64,
    complete: u64,
    /// Terms that we show only in the best files, as a bitmap.
    others: u64,
    heading: u64,
    bounds: &'a KeywordOptions,
    weight_of: LineWeight<'a>,
}

impl KeywordChoice<'_> {
    fn all(mut self, gathered: &mut KeywordFindings, tallies: &[TermTally]) {
        let complete = self.complete;
        self.show_all(|terms| (terms & complete != 0).then_some(0));
        self.breadth();
        let contexts = self.context(gathered, tallies);
        self.depth();
        for (term, &context) in bits(complete).zip(&contexts) {
            gathered.terms[term].detail =
                if context == self.bounds.context { TermDetail::Whole } else { TermDetail::Context(context) };
        }
        gathered.bytes = self.total;
        gathered.files = self.allocations.into_iter().filter_map(Allocation::finish).collect();
        for term in bits(self.others) {
            let shown = |file: &FileEvidence| {
                file.lines.iter().filter(|line| line.is_shown && line.terms >> term & 1 == 1).count() as u64
            };
            let per_file = gathered.files.iter().map(shown).filter(|&lines| lines > 0);
            let (lines, files) = per_file.fold((0, 0), |(lines, files), more| (lines + more, files + 1));
            let report = &mut gathered.terms[term];
            report.detail = TermDetail::Best { lines, files };
            if lines == 0 {
                report.fate = TermStatus::Dropped;
            }
        }
    }

    /// The bytes that may still be spent. Note that the total must stay below the limit.
    fn room(&self) -> u64 {
        self.bounds.evidence_bytes.saturating_sub(1).saturating_sub(self.total)
    }

    /// The budget of all terms that are not complete.
    fn room_of_others(&self) -> u64 {
        self.bounds.term_bytes.saturating_mul(u64::from(self.others.count_ones()))
    }

    fn show_all(&mut self, context: impl Fn(u64) -> Option<u64>) {
        for allocation in &mut self.allocations {
            let reach = allocation.with_context(&context);
            allocation.show(reach, self.heading);
        }
        self.total = self.allocations.iter().map(|allocation| allocation.cost).sum();
    }

    /// Shows the given part of a file if this costs at most `room`. Returns true if it does.
    fn try_to_show(&mut self, index: usize, reach: Vec<Option<u64>>, room: u64) -> bool {
        let allocation = &mut self.allocations[index];
        let (before, after) = (allocation.cost, allocation.cost_of(&reach, self.heading));
        if after > before + room {
            return false;
        }
        allocation.show(reach, self.heading);
        self.total = self.total - before + after;
        true
    }

    /// Adds the best line of every file that has none yet.
    fn breadth(&mut self) {
        let mut room = self.room().min(self.bounds.evidence_bytes / 2).min(self.room_of_others());
        for index in 0..self.allocations.len() {
            if self.allocations[index].is_shown() {
                continue;
            }
            let reach = self.allocations[index].with_best(1, 0, self.weight_of);
            if self.try_to_show(index, reach, room) {
                room -= self.allocations[index].cost;
            }
        }
    }

    /// Adds as much context of the complete terms as fits. Returns the lines of context of each term.
    fn context(&mut self, gathered: &KeywordFindings, tallies: &[TermTally]) -> Vec<u64> {
        let steps = self.steps(gathered, tallies);
        // A quarter of the budget must remain for the best files of the other terms; see `depth`.
        let kept_back = if self.others == 0 { 0 } else { self.bounds.evidence_bytes / 4 };
        let limit = self.total + self.room().saturating_sub(kept_back.min(self.room_of_others()));
        let cost = |lines: &[u64]| -> u64 {
            let cost =
                |allocation: &Allocation| allocation.cost_of(&steps.reach(allocation, lines), self.heading);
            self.allocations.iter().map(cost).sum()
        };
        // This is a binary search for the smallest sufficient number of steps. More steps never cost more.
        let (mut low, mut high) = (0, steps.count());
        while low < high {
            let middle = low.midpoint(high);
            if cost(&steps.after(middle)) <= limit { high = middle } else { low = middle + 1 }
        }
        let lines = steps.after(low);
        for allocation in &mut self.allocations {
            let reach = steps.reach(allocation, &lines);
            allocation.show(reach, self.heading);
        }
        self.total = self.allocations.iter().map(|allocation| allocation.cost).sum();
        lines
    }

    fn steps(&self, gathered: &KeywordFindings, tallies: &[TermTally]) -> AdaptSteps {
        let (levels, terms) = (levels(self.bounds.context), bits(self.complete).collect::<Vec<_>>());
        let own = |&term: &usize| match gathered.terms[term].bytes > self.bounds.term_bytes {
            true => self.own_level(term, &levels),
            false => 0,
        };
        let own = terms.iter().map(own).collect();
        let mut broadest: Vec<usize> = (0..terms.len()).collect();
        broadest.sort_by_key(|&index| Reverse((tallies[terms[index]].bare, index)));
        AdaptSteps { terms, levels, own, broadest }
    }

    /// Finds the first level at which a term alone stays within its limit.
    fn own_level(&self, term: usize, levels: &[u64]) -> usize {
        let fits = |&context: &u64| {
            let of = |terms: u64| (terms >> term & 1 == 1).then_some(context);
            let cost =
                |allocation: &Allocation| allocation.cost_of(&allocation.with_context(of), self.heading);
            self.allocations.iter().map(cost).sum::<u64>() <= self.bounds.term_bytes
        };
        levels.iter().position(fits).unwrap_or(levels.len() - 1)
    }

    /// Adds more of the best files: an eighth of the remaining budget for each.
    fn depth(&mut self) {
        if self.others == 0 {
            return;
        }
        let mut room = self.room().min(self.room_of_others());
        for index in 0..self.allocations.len().min(limits::DEEP_FILES) {
            for (count, context) in DEPTHS {
                let context = context.min(self.bounds.context);
                let reach = self.allocations[index].with_best(count, context, self.weight_of);
                let before = self.total;
                if self.try_to_show(index, reach, room / 8) {
                    room -= self.total - before;
                    break;
                }
            }
        }
    }
}

/// The order in which complete terms are reduced. Each step takes the next term, broadest first, one level
/// down; after the last term it starts over.
struct AdaptSteps {
    terms: Vec<usize>,
    /// Lines of context per level, from all to none.
    levels: Vec<u64>,
    /// The minimum reduction of each term, as a level.
    own: Vec<usize>,
    /// Indices of the terms, broadest first.
    broadest: Vec<usize>,
}

impl AdaptSteps {
    /// The number of steps after which no term has any context.
    fn count(&self) -> usize {
        self.terms.len() * (self.levels.len() - 1)
    }

    /// Computes the lines of context of each term after `steps` steps.
    fn after(&self, steps: usize) -> Vec<u64> {
        let mut lines = vec![0; self.terms.len()];
        for (place, &index) in self.broadest.iter().enumerate() {
            let level = steps / self.terms.len() + usize::from(place < steps % self.terms.len());
            lines[index] = self.levels[level.max(self.own[index]).min(self.levels.len() - 1)];
        }
        lines
    }

    /// Computes the reach of each line of a file if the terms have this much context. A file without matches
    /// of these terms keeps its reach.
    fn reach(&self, allocation: &Allocation, lines: &[u64]) -> Vec<Option<u64>> {
        let of = |mask: u64| {
            let matching = self.terms.iter().zip(lines).filter(|(term, _)| mask >> **term & 1 == 1);
            matching.map(|(_, &lines)| lines).max()
        };
        let reach = allocation.with_context(of);
        if reach.iter().any(Option::is_some) { reach } else { allocation.reach().to_vec() }
    }
}

/// Lists the levels of context to try, from all to none.
fn levels(context: u64) -> Vec<u64> {
    let mut levels: Vec<u64> = [10, 7, 5, 3, 2, 1, 0].iter().map(|tenths| context * tenths / 10).collect();
    levels.dedup();
    levels
}

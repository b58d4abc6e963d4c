//! Searches for a short run of byte classes, for patterns that contain no literal.
//!
//! For example, every match of `\b[A-Z]{4,}[0-9]{3}[a-z]\b` contains four capitals, three digits and a
//! lower-case letter in a row. A lookup by nibble classifies 64 bytes at once. Shifting and combining one bit
//! mask per class leaves the positions at which the whole run occurs.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::frequency::{self, ByteSet};
use super::literals::{KELVIN_SIGN, LONG_S, MAX_CANDIDATE_RATE};
use super::vector::{self, LANES, LoadedTable, NibbleTable, Processor, Vector};

const SHORTEST_WINDOW: usize = 3;
const LONGEST_WINDOW: usize = 8;
/// Bits of a nibble table, hence the maximum number of rectangles for the classes of a window.
const RECTANGLES: usize = 8;
/// Bytes classified in one step: the bits of one mask.
const BLOCK_BYTES: usize = 64;
/// Maximum number of steps of a node; the middle of a longer one is dropped, which keeps nested repetitions
/// small.
const MAX_STEPS: usize = 64;
/// Maximum number of copies of a repeated part to expand.
const MAX_COPIES: u32 = LONGEST_WINDOW as u32;

/// A search for one run of byte classes.
#[derive(Debug)]
pub(super) struct ScanWindow {
    table: NibbleTable,
    /// The classes, rarest first, so that most blocks are rejected after the first ones.
    runs: Vec<WindowRun>,
    length: usize,
    rate: f64,
    has_foreign_folds: bool,
    is_ascii: bool,
    processor: Processor,
}

/// Consecutive positions of a window that have the same class.
#[derive(Debug)]
struct WindowRun {
    /// The rectangles that make up the class, as a bitmap.
    rectangles: u8,
    /// The offset of the run in the window.
    offset: u32,
    /// Shifts that turn a mask of single members into a mask of whole runs; see [`WindowRun::starts`].
    shifts: [u32; 3],
}

impl WindowRun {
    fn new(rectangles: u8, offset: usize, length: usize) -> WindowRun {
        // Combining runs of n bits, shifted by up to n, gives runs of up to 2n.
        let mut covered = 1;
        let shifts = [(); 3].map(|()| {
            let shift = covered.min(length - covered);
            covered += shift;
            shift as u32
        });
        WindowRun { rectangles, offset: offset as u32, shifts }
    }

    /// Sets one bit for every position at which a window may begin according to this run.
    ///
    /// There are always three shifts, some of them by zero, because this is cheaper than a loop with an
    /// unpredictable end.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "bmi2"))]
    fn starts(&self, mut members: u64) -> u64 {
        members &= members >> self.shifts[0];
        members &= members >> self.shifts[1];
        members &= members >> self.shifts[2];
        members >> self.offset
    }
}

impl ScanWindow {
    /// Finds the rarest window that every match of `hir` contains. Returns `None` if none is rare enough, or
    /// if the processor lacks the instructions.
    pub(super) fn new(hir: &Hir) -> Option<ScanWindow> {
        let processor = Processor::detect()?;
        let mut has_foreign_folds = false;
        let steps = steps(hir, &mut has_foreign_folds);
        let mut best: Option<ScanWindow> = None;
        for run in steps.split(Option::is_none) {
            let run: Vec<ByteSet> = run.iter().copied().flatten().collect();
            for length in SHORTEST_WINDOW..=LONGEST_WINDOW {
                for sets in run.windows(length) {
                    let rate = frequency::rate(sets.iter().copied());
                    if rate >= best.as_ref().map_or(MAX_CANDIDATE_RATE, |best| best.rate) {
                        continue;
                    }
                    if let Some((table, runs)) = encode(sets) {
                        let is_ascii = sets.iter().all(ByteSet::is_ascii);
                        best = Some(ScanWindow {
                            table,
                            runs,
                            length,
                            rate,
                            has_foreign_folds,
                            is_ascii,
                            processor,
                        });
                    }
                }
            }
        }
        best
    }

    /// The length of the window in bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The estimated candidates per byte of text.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Returns true if text that contains U+017F or U+212A must be searched without the window.
    pub(super) fn has_foreign_folds(&self) -> bool {
        self.has_foreign_folds
    }

    /// Returns true if the window contains only ASCII.
    pub(super) fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// Calls `on_candidate(0, position)` for every start of the window; see [`super::Prefilter::candidates`].
    pub(super) fn candidates<F: FnMut(usize, usize) -> usize>(
        &self,
        haystack: &[u8],
        from: usize,
        on_candidate: F,
    ) {
        let Processor { .. } = self.processor;
        #[expect(
            unsafe_code,
            reason = "the callee needs AVX2 and BMI2, or NEON, which the type system cannot see"
        )]
        // SAFETY: a `Processor` value proves that the processor supports the instructions of the callee.
        unsafe {
            self.scan(haystack, from, on_candidate);
        }
    }

    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn scan<F: FnMut(usize, usize) -> usize>(&self, haystack: &[u8], from: usize, mut on_candidate: F) {
        let mut start = from;
        while start < haystack.len() {
            let WindowBlock { start: block, mut found } = self.next_hit(haystack, start);
            let mut resume = block + self.stride();
            while found != 0 {
                let position = block + found.trailing_zeros() as usize;
                found &= found - 1;
                let wanted = on_candidate(0, position);
                if wanted > position + 1 {
                    match u32::try_from(wanted - block) {
                        Ok(lanes) if lanes < u64::BITS => found &= u64::MAX << lanes,
                        _ => found = 0,
                    }
                    resume = resume.max(wanted);
                }
            }
            start = resume;
        }
    }

    /// The distance between blocks. Blocks overlap so that a window that crosses the end of one is found in
    /// the next.
    fn stride(&self) -> usize {
        BLOCK_BYTES - (self.length - 1)
    }

    /// Advances to the next block that contains a window, or to the last block.
    ///
    /// This is separate from the callback so that no call forces the tables out of their registers.
    #[inline(never)]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn next_hit(&self, haystack: &[u8], from: usize) -> WindowBlock {
        let table = self.table.load();
        let stride = self.stride();
        let fitting = u64::MAX >> (BLOCK_BYTES - stride);
        let mut start = from;
        loop {
            let rest = haystack.get(start..).unwrap_or_default();
            let Some(block) = rest.first_chunk() else {
                let fitting = match (rest.len() + 1).checked_sub(self.length) {
                    None | Some(0) => 0,
                    Some(starts) => u64::MAX >> (BLOCK_BYTES - starts),
                };
                return WindowBlock {
                    start,
                    found: self.window_starts(&table, &vector::padded(rest)) & fitting,
                };
            };
            vector::prefetch(haystack, start);
            let found = self.window_starts(&table, block) & fitting;
            if found != 0 {
                return WindowBlock { start, found };
            }
            start += stride;
        }
    }

    /// Sets one bit for every byte of the block at which a window begins and fits into the block.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn window_starts(&self, table: &LoadedTable, block: &[u8; BLOCK_BYTES]) -> u64 {
        let low = table.classify(vector::load(block, 0));
        let high = table.classify(vector::load(block, LANES));
        let mut found = u64::MAX;
        for (index, run) in self.runs.iter().enumerate() {
            found &= run.starts(class_lanes(low, high, Vector::splat(run.rectangles)));
            // A single class often occurs in a block, and a mispredicted branch costs more than checking a
            // second class.
            if index > 0 && found == 0 {
                break;
            }
        }
        found
    }
}

/// A block of text, with one bit for every position at which the window begins.
struct WindowBlock {
    start: usize,
    found: u64,
}

/// Sets one bit for every byte that is in one of the rectangles.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn class_lanes(low: Vector, high: Vector, rectangles: Vector) -> u64 {
    let low = low.and(rectangles).nonzero_lanes();
    let high = high.and(rectangles).nonzero_lanes();
    u64::from(low) | u64::from(high) << LANES
}

/// Builds the nibble table for the sets of a window, and encodes the window with it. Returns `None` if the
/// sets need too many rectangles.
fn encode(sets: &[ByteSet]) -> Option<(NibbleTable, Vec<WindowRun>)> {
    let mut table = NibbleTable::default();
    let mut used = 0;
    let mut classes: Vec<(ByteSet, u8)> = Vec::new();
    for set in sets {
        if classes.iter().any(|(known, _)| known == set) {
            continue;
        }
        // We combine rows of the square with the same members into one rectangle.
        let row = |high: u8| {
            (0..16u8).filter(|low| set.contains(high << 4 | low)).fold(0u16, |row, low| row | 1 << low)
        };
        let mut rows: Vec<u16> = (0..16).map(row).filter(|&members| members != 0).collect();
        rows.sort_unstable();
        rows.dedup();
        let mut rectangles = 0;
        for members in rows {
            if used == RECTANGLES {
                return None;
            }
            for nibble in 0..16u8 {
                let index = usize::from(nibble);
                table.low[index] |= u8::from(members >> nibble & 1 == 1) << used;
                table.high[index] |= u8::from(row(nibble) == members) << used;
            }
            rectangles |= 1 << used;
            used += 1;
        }
        classes.push((*set, rectangles));
    }
    let mut runs = Vec::new();
    let mut offset = 0;
    for equal in sets.chunk_by(PartialEq::eq) {
        let (_, rectangles) = classes.iter().find(|(known, _)| *known == equal[0])?;
        let rarity = frequency::rate(equal.iter().copied());
        runs.push((rarity, WindowRun::new(*rectangles, offset, equal.len())));
        offset += equal.len();
    }
    runs.sort_by(|left, right| left.0.total_cmp(&right.0));
    Some((table, runs.into_iter().map(|(_, run)| run).collect()))
}

/// One byte of a match, or `None` for any number of arbitrary bytes.
type WindowStep = Option<ByteSet>;

/// Lists the bytes that every match of `hir` goes through, in order.
fn steps(hir: &Hir, has_foreign_folds: &mut bool) -> Vec<WindowStep> {
    let mut steps = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Vec::new(),
        HirKind::Literal(literal) => {
            literal.0.iter().map(|&byte| without_newline(ByteSet::single(byte))).collect()
        }
        HirKind::Class(class) => vec![class_step(class, has_foreign_folds)],
        HirKind::Capture(capture) => steps(&capture.sub, has_foreign_folds),
        HirKind::Concat(parts) => parts.iter().flat_map(|part| steps(part, has_foreign_folds)).collect(),
        HirKind::Alternation(branches) => {
            let branches: Vec<_> = branches.iter().map(|branch| steps(branch, has_foreign_folds)).collect();
            merge_branches(&branches)
        }
        HirKind::Repetition(repetition) if repetition.min == 0 => vec![None],
        HirKind::Repetition(repetition) => {
            let copies = repetition.min.min(MAX_COPIES);
            let one = steps(&repetition.sub, has_foreign_folds);
            let mut all = one.repeat(copies as usize);
            // More copies may follow. Text before this part is adjacent to the first copies, and text after
            // it to the last ones. We know nothing about the bytes between those.
            if repetition.max != Some(copies) {
                let last = all.clone();
                all.push(None);
                all.extend(last);
            }
            all
        }
    };
    if steps.len() > MAX_STEPS {
        let end = steps.split_off(steps.len() - MAX_STEPS / 2);
        steps.truncate(MAX_STEPS / 2);
        steps.push(None);
        steps.extend(end);
    }
    steps
}

/// Merges branches of equal length byte by byte. If lengths differ, we know nothing.
fn merge_branches(branches: &[Vec<WindowStep>]) -> Vec<WindowStep> {
    let Some((first, others)) = branches.split_first() else {
        return vec![None];
    };
    let fixed = branches.iter().all(|branch| branch.len() == first.len() && !branch.contains(&None));
    if !fixed {
        return vec![None];
    }
    others.iter().fold(first.clone(), |merged, branch| {
        merged.iter().zip(branch).map(|(left, right)| Some(left.as_ref()?.union(right.as_ref()?))).collect()
    })
}

/// Converts a class to one byte, if its non-ASCII members can be ruled out by checking the whole text.
fn class_step(class: &Class, has_foreign_folds: &mut bool) -> WindowStep {
    let mut set = ByteSet::default();
    match class {
        Class::Bytes(class) => {
            for byte in class.iter().flat_map(|range| range.start()..=range.end()) {
                set.insert(byte);
            }
        }
        Class::Unicode(class) => {
            for range in class.iter() {
                for byte in range.start()..=range.end().min('\x7f') {
                    set.insert(u8::try_from(byte).ok()?);
                }
                if range.end().is_ascii() {
                    continue;
                }
                let foreign = range.start() == range.end()
                    && [LONG_S, KELVIN_SIGN].contains(&range.start().to_string().as_bytes());
                if !foreign {
                    return None;
                }
                *has_foreign_folds = true;
            }
        }
    }
    without_newline(set)
}

/// Removes the newline from a set. A match contains no newline, and a window must not either: it could begin
/// on the line before the match. A set with only a newline ends the window, so no set of a window is empty.
fn without_newline(mut set: ByteSet) -> WindowStep {
    set.remove(b'\n');
    (set != ByteSet::default()).then_some(set)
}

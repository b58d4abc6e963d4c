//! The part of a file to show while evidence is chosen, and its cost.

use super::account::{FileEvidence, SEPARATOR, sent_bytes};
use super::file::LineWeight;
use crate::limits::CHOSEN_LINE_BYTES;

/// A file's lines, with the reach of each match.
#[derive(Debug)]
pub(super) struct Allocation {
    pub(super) file: FileEvidence,
    /// One element per line: its lines of context, or `None` for a line that is not shown for its own sake.
    reach: Vec<Option<u64>>,
    /// Bytes of the part that is shown.
    pub(super) cost: u64,
}

impl Allocation {
    pub(super) fn new(file: FileEvidence) -> Self {
        let reach = vec![None; file.lines.len()];
        Self { file, reach, cost: 0 }
    }

    pub(super) fn is_shown(&self) -> bool {
        self.reach.iter().any(Option::is_some)
    }

    pub(super) fn reach(&self) -> &[Option<u64>] {
        &self.reach
    }

    /// Selects the matching lines with the context that `context` returns for their terms.
    pub(super) fn with_context(&self, context: impl Fn(u64) -> Option<u64>) -> Vec<Option<u64>> {
        let lines = self.file.lines.iter();
        lines.map(|line| if line.terms == 0 { None } else { context(line.terms) }).collect()
    }

    /// Adds the `count` most valuable lines, with `context` lines around them, to the current selection.
    pub(super) fn with_best(
        &self,
        count: usize,
        context: u64,
        weight_of: LineWeight<'_>,
    ) -> Vec<Option<u64>> {
        let lines = &self.file.lines;
        let matching = lines.iter().enumerate().filter(|(_, line)| line.terms != 0);
        let mut best: Vec<(usize, f64)> =
            matching.map(|(index, line)| (index, weight_of(line.terms))).collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut reach = self.reach.clone();
        for (index, _) in best.into_iter().take(count) {
            reach[index] = reach[index].max(Some(context));
        }
        reach
    }

    pub(super) fn show(&mut self, reach: Vec<Option<u64>>, heading: u64) {
        self.cost = self.cost_of(&reach, heading);
        self.reach = reach;
    }

    /// Computes the cost of a selection in bytes, with `heading` bytes for the file itself. This is an upper
    /// bound.
    pub(super) fn cost_of(&self, reach: &[Option<u64>], heading: u64) -> u64 {
        let (mut cost, mut previous) = (0, None);
        for (line, _) in self.file.lines.iter().zip(self.shown(reach)).filter(|(_, is_shown)| *is_shown) {
            if previous.is_none_or(|previous| previous + 1 != line.number) {
                cost += SEPARATOR.len() as u64 + 2;
            }
            previous = Some(line.number);
            cost += self.file.head_bytes(line) + sent_bytes(&line.bytes).min(CHOSEN_LINE_BYTES);
        }
        if cost > 0 { cost + heading } else { 0 }
    }

    /// Decides for each line whether we show it.
    fn shown(&self, reach: &[Option<u64>]) -> Vec<bool> {
        let lines = &self.file.lines;
        let mut shown = vec![false; lines.len()];
        // The first pass covers the context after each line, and the second one the context before it.
        let mut until = 0;
        for (index, line) in lines.iter().enumerate() {
            until = until.max(reach[index].map_or(0, |reach| line.number + reach));
            shown[index] = line.number <= until;
        }
        let mut from = u64::MAX;
        for (index, line) in lines.iter().enumerate().rev() {
            from = from.min(reach[index].map_or(u64::MAX, |reach| line.number.saturating_sub(reach)));
            shown[index] |= line.number >= from;
        }
        shown
    }

    /// Marks the shown lines and returns the evidence. Returns `None` if no line is shown.
    pub(super) fn finish(mut self) -> Option<FileEvidence> {
        let shown = self.shown(&self.reach);
        self.file.lines.iter_mut().zip(&shown).for_each(|(line, &is_shown)| line.is_shown = is_shown);
        shown.contains(&true).then_some(self.file)
    }
}

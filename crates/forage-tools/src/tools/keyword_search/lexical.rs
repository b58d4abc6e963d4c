//! Ranks files without a model. This is deterministic and uses only the evidence.

use forage_search::keyword::{self, FileEvidence, KeywordFindings};

/// Sorts the files by score, the best first. Ties are in path order.
pub(super) fn rank(gathered: &KeywordFindings) -> Vec<usize> {
    keyword::order(&gathered.files, &gathered.terms, &weights(gathered))
}

/// Computes the weight of a match of each term, in the order of the terms.
pub(super) fn weights(gathered: &KeywordFindings) -> Vec<f64> {
    keyword::weights(&gathered.terms, gathered.candidates)
}

/// Selects the most informative lines of a file: those that match the most, and the most important, terms.
pub(super) fn best_lines(file: &FileEvidence, count: usize) -> Vec<usize> {
    let mut lines: Vec<usize> =
        (0..file.lines.len()).filter(|&index| file.lines[index].is_evidence()).collect();
    let order = |&index: &usize| {
        let line = &file.lines[index];
        (std::cmp::Reverse(line.terms.count_ones()), line.terms.trailing_zeros(), line.number)
    };
    lines.sort_by_key(order);
    lines.truncate(count);
    lines.sort_unstable();
    lines
}

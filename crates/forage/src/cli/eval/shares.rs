//! Metrics for the relevant lines that an answer shows, and confidence intervals for the difference between
//! two programs.
//!
//! The relevant lines of a query are, for example, the definitions around a fix ([`KnownQuery::lines`]) and
//! the lines that it changed ([`KnownQuery::edits`]). We call them gold. All metrics are means over queries,
//! so that a query with much gold has the same weight as any other.

use std::collections::BTreeSet;

use forage_rank::evaluation::{FileLines, KnownQuery};

use super::records::{AnswerLines, FigureDifference, LineShares};

/// A changed line counts as seen if a shown line is at most this many lines away. Note that the description
/// of the record states this number, too.
const NEAR_LINES: u32 = 3;

/// Number of bootstrap samples for the interval of a difference.
const RESAMPLES: usize = 10_000;

impl LineShares {
    /// Computes the metrics of an answer. They are zero for a query without gold.
    pub(super) fn from_answer(query: &KnownQuery, answer: &AnswerLines) -> Self {
        let gold = numbers(&query.lines);
        if gold.is_empty() {
            return Self::default();
        }
        let shown = numbers(&answer.shown);
        let both = gold.intersection(&shown).count() as f64;
        let share = |part: f64, all: usize| if all == 0 { 0.0 } else { part / all as f64 };
        let (recall, precision) = (share(both, gold.len()), share(both, shown.len()));
        let of_files = |has: &dyn Fn(&String) -> bool| {
            share(query.lines.keys().filter(|path| has(path)).count() as f64, query.lines.len())
        };
        let edits: Vec<(&str, u32)> = query
            .edits
            .iter()
            .flat_map(|(path, lines)| lines.iter().map(move |line| (path.as_str(), *line)))
            .collect();
        let is_seen = |(path, line): &&(&str, u32)| {
            let (first, last) = (line.saturating_sub(NEAR_LINES), line.saturating_add(NEAR_LINES));
            shown.range((*path, first)..=(*path, last)).next().is_some()
        };
        Self {
            recall,
            precision,
            f1: if both > 0.0 { 2.0 * recall * precision / (recall + precision) } else { 0.0 },
            files_shown: of_files(&|path| answer.shown.get(path).is_some_and(|ranges| !ranges.is_empty())),
            files_named: of_files(&|path| answer.files.contains(path)),
            edits_seen: share(edits.iter().filter(is_seen).count() as f64, edits.len()),
        }
    }

    /// Computes the mean of each metric, or 0 for an empty slice.
    pub(super) fn mean(of: &[Self]) -> Self {
        let mean = |figure: fn(&Self) -> f64| mean(of.iter().map(figure));
        Self {
            recall: mean(|it| it.recall),
            precision: mean(|it| it.precision),
            f1: mean(|it| it.f1),
            files_shown: mean(|it| it.files_shown),
            files_named: mean(|it| it.files_named),
            edits_seen: mean(|it| it.edits_seen),
        }
    }
}

fn numbers(lines: &FileLines) -> BTreeSet<(&str, u32)> {
    lines
        .iter()
        .flat_map(|(path, ranges)| {
            ranges
                .iter()
                .flat_map(move |[first, last]| (*first..=*last).map(move |line| (path.as_str(), line)))
        })
        .collect()
}

/// Computes the mean, or 0 without values.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

impl FigureDifference {
    /// Computes `second` minus `first`, which must be values for the same queries in the same order. `low`
    /// and `high` enclose the means of 95 % of the samples of this size, drawn with replacement. This is the
    /// percentile bootstrap (Efron and Tibshirani, «An Introduction to the Bootstrap», 1993, section 13.3).
    /// The samples are the same in each run, so that results are reproducible.
    pub(super) fn from_pairs(first: &[f64], second: &[f64]) -> Self {
        let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| second - first).collect();
        let count = differences.len();
        let mut state = 1;
        let mut sample = || {
            let drawn = (0..count).map(|_| differences[(next(&mut state) % count as u64) as usize]);
            mean(drawn)
        };
        let mut means: Vec<f64> = (0..RESAMPLES).map(|_| sample()).collect();
        means.sort_by(f64::total_cmp);
        let at = |share: f64| means.get((share * RESAMPLES as f64) as usize).copied().unwrap_or_default();
        Self {
            mean: mean(differences.iter().copied()),
            low: at(0.025),
            high: at(0.975),
            better: differences.iter().filter(|difference| **difference > 0.0).count(),
            worse: differences.iter().filter(|difference| **difference < 0.0).count(),
        }
    }
}

/// Generates the next number of SplitMix64 (Steele, Lea and Flood, «Fast splittable pseudorandom number
/// generators», 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, ranges: &[[u32; 2]]) -> FileLines {
        [(path.to_owned(), ranges.to_vec())].into()
    }

    #[test]
    fn figures_are_shares_of_the_gold() {
        let query = KnownQuery {
            lines: lines("a.rs", &[[1, 10]]),
            edits: [("a.rs".to_owned(), vec![2, 9])].into(),
            ..KnownQuery::default()
        };
        let answer = |shown: FileLines, files: &[&str]| AnswerLines {
            shown,
            files: files.iter().map(|path| (*path).to_owned()).collect(),
            ..AnswerLines::default()
        };
        let of = |answer: &AnswerLines| LineShares::from_answer(&query, answer);
        // Overlapping ranges should count once. Line 2 is within three lines of line 5, but line 9 is not.
        let half = of(&answer(lines("a.rs", &[[1, 5], [3, 5]]), &["a.rs"]));
        let expected = LineShares {
            recall: 0.5,
            precision: 1.0,
            f1: 2.0 / 3.0,
            files_shown: 1.0,
            files_named: 1.0,
            edits_seen: 0.5,
        };
        assert_eq!(half, expected);
        let elsewhere = of(&answer(lines("b.rs", &[[1, 5]]), &["b.rs", "a.rs"]));
        assert_eq!(elsewhere, LineShares { files_named: 1.0, ..LineShares::default() });
        assert_eq!(of(&AnswerLines::default()), LineShares::default());
        assert_eq!(LineShares::mean(&[half, elsewhere]).recall, 0.25);
        assert_eq!(LineShares::mean(&[]), LineShares::default());
        let named = answer(lines("a.rs", &[[1, 1]]), &["a.rs"]);
        assert_eq!(LineShares::from_answer(&KnownQuery::default(), &named), LineShares::default());
    }

    #[test]
    fn a_difference_is_as_sure_as_its_samples() {
        let same = FigureDifference::from_pairs(&[0.5; 40], &[0.6; 40]);
        assert!(
            (same.mean - 0.1).abs() < 1e-9 && (same.low - 0.1).abs() < 1e-9 && (same.high - 0.1).abs() < 1e-9
        );
        assert_eq!((same.better, same.worse), (40, 0));
        // The mean of forty differences of ±1 has a standard error of 0.158.
        let signs: Vec<f64> = (0..40).map(|index| if index % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let noise = FigureDifference::from_pairs(&[0.0; 40], &signs);
        assert!((-0.36..-0.26).contains(&noise.low) && (0.26..0.36).contains(&noise.high), "{noise:?}");
        assert_eq!(noise, FigureDifference::from_pairs(&[0.0; 40], &signs));
        assert_eq!(FigureDifference::from_pairs(&[], &[]).mean, 0.0);
    }
}

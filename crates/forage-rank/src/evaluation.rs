//! How good a ranking is, on queries whose answers are known.
//!
//! As semble's benchmark has it: a result is a chunk; the rank of a target is that of the first result in its file,
//! and overlapping its lines where it has some; relevant and secondary targets count alike. What a target is that the
//! index lacks, [`Places`] says.
//!
//! A set's queries are answered once ([`answer`]); what other weights would make of them is then only arithmetic, since
//! the weights of rules order candidates and don't choose them: [`ablate`], [`fit()`], [`cross_validate`].

mod answered;
mod figures;
mod fit;
mod lines;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::search::Ranking;

pub use answered::{AnsweredQuery, Places, RankedCandidate, answer};
pub use figures::{Ablated, Figures, NDCG_CUT, RECALL_CUTS, ablate, mean_ndcg, percentile};
pub use fit::{FOLDS, Fold, Paired, Validation, cross_validate, fit};
pub use lines::{FileLines, LineFigures, NEAR_LINES, PairedDifference, ShownAnswer, count_lines};

/// Queries on a repository.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct QuerySet {
    /// The repository's name.
    pub name: String,
    /// Its main language.
    #[serde(default)]
    pub language: String,
    /// The URL that it comes from; empty where the set names none.
    #[serde(default)]
    pub url: String,
    /// The commit that the answers hold for.
    #[serde(default)]
    pub revision: String,
    /// The directory that is indexed, where it isn't the whole.
    #[serde(default)]
    pub benchmark_root: Option<String>,
    /// The queries.
    pub queries: Vec<KnownQuery>,
}

/// The reasons for which a set can't be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// A query without words.
    #[error("query {number} of the set `{set}` is empty")]
    EmptyQuery {
        /// The set's name.
        set: String,
        /// The query's number, from 1.
        number: usize,
    },
    /// A query without an answer.
    #[error("query {number} of the set `{set}` has no target: name a path in its `relevant`")]
    NoTarget {
        /// The set's name.
        set: String,
        /// The query's number, from 1.
        number: usize,
    },
    /// A query with more answers than are looked for.
    #[error("query {number} of the set `{set}` has {targets} targets; give at most {most}", most = limits::TARGETS)]
    ManyTargets {
        /// The set's name.
        set: String,
        /// The query's number, from 1.
        number: usize,
        /// The query's targets.
        targets: usize,
    },
    /// A query about more lines than are counted.
    #[error("query {number} of the set `{set}` is about more than {most} lines", most = limits::KNOWN_LINES)]
    ManyLines {
        /// The set's name.
        set: String,
        /// The query's number, from 1.
        number: usize,
    },
}

impl QuerySet {
    /// Checks that it can be run.
    ///
    /// # Errors
    /// A query has no words, no targets, or too many targets or lines.
    pub fn check(&self) -> Result<(), SetError> {
        for (nth, query) in self.queries.iter().enumerate() {
            let (set, number, targets) = (self.name.clone(), nth + 1, query.targets().count());
            if query.query.trim().is_empty() {
                return Err(SetError::EmptyQuery { set, number });
            }
            if targets == 0 || query.targets().any(|target| target.path().is_empty()) {
                return Err(SetError::NoTarget { set, number });
            }
            if targets > limits::TARGETS {
                return Err(SetError::ManyTargets { set, number, targets });
            }
            if count_lines(&query.lines) > limits::KNOWN_LINES {
                return Err(SetError::ManyLines { set, number });
            }
        }
        Ok(())
    }
}

/// A query and its answers.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct KnownQuery {
    /// The text of the query.
    pub query: String,
    /// The targets that have to be found.
    pub relevant: Vec<EvaluationTarget>,
    /// The targets that are good to find too.
    #[serde(default)]
    pub secondary: Vec<EvaluationTarget>,
    /// The kind of query.
    #[serde(default)]
    pub category: String,
    /// The commit that it was made of.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Lines that it is about, for how many of them an answer shows.
    #[serde(default, skip_serializing_if = "FileLines::is_empty")]
    pub lines: FileLines,
    /// Lines that are changed, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub edits: BTreeMap<String, Vec<u32>>,
}

/// A file, or lines of one.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub enum EvaluationTarget {
    /// A file.
    File(String),
    /// Lines of a file.
    Lines {
        /// The file.
        path: String,
        /// The first line.
        start_line: u32,
        /// The last line.
        end_line: u32,
    },
}

impl EvaluationTarget {
    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::File(path) | Self::Lines { path, .. } => path,
        }
    }

    /// Returns whether a path is the target's: either may begin further down.
    #[must_use]
    pub fn is_in(&self, path: &str) -> bool {
        let within = |longer: &str, shorter: &str| {
            longer.strip_suffix(shorter).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        within(path, self.path()) || within(self.path(), path)
    }

    /// Returns whether lines, both counted in, overlap the target's; those of a whole file always do.
    #[must_use]
    pub fn covers(&self, start: u32, end: u32) -> bool {
        match self {
            Self::File(_) => true,
            Self::Lines { start_line, end_line, .. } => start <= *end_line && end >= *start_line,
        }
    }
}

impl KnownQuery {
    /// A query with these targets.
    #[must_use]
    pub fn new(query: impl Into<String>, relevant: Vec<EvaluationTarget>) -> Self {
        Self {
            query: query.into(),
            relevant,
            secondary: Vec::new(),
            category: String::new(),
            commit: String::new(),
            lines: FileLines::new(),
            edits: BTreeMap::new(),
        }
    }

    /// Ranks, from 1, of the targets among a ranking's results, each file's best chunk being one.
    #[must_use]
    pub fn ranks(&self, ranking: &Ranking) -> Vec<usize> {
        self.targets().filter_map(|target| rank(ranking, target)).collect()
    }

    /// All targets.
    pub fn targets(&self) -> impl Iterator<Item = &EvaluationTarget> {
        self.relevant.iter().chain(&self.secondary)
    }
}

fn rank(ranking: &Ranking, target: &EvaluationTarget) -> Option<usize> {
    let place = ranking.files.iter().position(|file| {
        target.is_in(&file.path)
            && file.chunks.first().is_some_and(|chunk| target.covers(chunk.start_line, chunk.end_line))
    })?;
    Some(place + 1)
}

/// Normalised discounted cumulative gain of the first `cut` results (Järvelin and Kekäläinen, 2002), where `expected`
/// targets could be found.
#[must_use]
pub fn ndcg(ranks: &[usize], expected: usize, cut: usize) -> f64 {
    let gain = |rank: usize| 1.0 / ((rank + 1) as f64).log2();
    let ideal: f64 = (1..=expected.min(cut)).map(gain).sum();
    if ideal == 0.0 {
        return 0.0;
    }
    let mut distinct: Vec<usize> = ranks.iter().copied().filter(|rank| (1..=cut).contains(rank)).collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.into_iter().map(gain).sum::<f64>() / ideal
}

/// Share of the expected targets among the first `cut` results.
#[must_use]
pub fn recall(ranks: &[usize], expected: usize, cut: usize) -> f64 {
    if expected == 0 {
        return 0.0;
    }
    ranks.iter().filter(|rank| **rank <= cut).count() as f64 / expected as f64
}

/// The mean; 0 of nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values {
        sum += value;
        count += 1;
    }
    sum / f64::from(count.max(1))
}

/// One over the rank of the first target.
#[must_use]
pub fn reciprocal_rank(ranks: &[usize]) -> f64 {
    ranks.iter().min().map_or(0.0, |rank| 1.0 / *rank as f64)
}

#[cfg(test)]
mod tests;

//! Measures the quality of a ranking, on queries with known answers.
//!
//! This follows semble's benchmark, in which a result is a chunk. Ours is the first chunk of each file. The
//! rank of a target is that of the first result in its file that overlaps its lines, if there is one.
//! Relevant and secondary targets count the same. [`EvaluationPaths`] defines how we count a target that
//! isn't in the index.
//!
//! We answer the queries of a set only once ([`answer`]). After that, trying other weights of the rules only
//! takes arithmetic ([`ablate`]), because the rules order candidates but don't choose them.

mod answered;
mod figures;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits;

pub use answered::{AnsweredQuery, EvaluationPaths, RankedCandidate, answer};
pub use figures::{Ablated, MeanMetrics, NDCG_CUT, RECALL_CUTS, ablate, percentile};

/// Ranges of lines per path, each as its first and last line.
pub type FileLines = BTreeMap<String, Vec<[u32; 2]>>;

/// Counts lines; a line that is listed twice counts twice.
#[must_use]
pub fn count_lines(lines: &FileLines) -> u64 {
    let of = |[first, last]: &[u32; 2]| u64::from(last.saturating_sub(*first)) + 1;
    lines.values().flatten().map(of).fold(0, u64::saturating_add)
}

/// Queries on one repository.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct QuerySet {
    /// The repository's name.
    pub name: String,
    /// Its main language.
    #[serde(default)]
    pub language: String,
    /// The URL of the repository; empty if the set does not name one.
    #[serde(default)]
    pub url: String,
    /// The commit for which the answers hold.
    #[serde(default)]
    pub revision: String,
    /// The indexed directory, if it is not the whole repository.
    #[serde(default)]
    pub benchmark_root: Option<String>,
    /// The queries.
    pub queries: Vec<KnownQuery>,
}

/// An invalid query. Its set cannot be run with this query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("query {number} of the set `{set}` {problem}")]
pub struct SetError {
    /// The name of the set.
    pub set: String,
    /// The 1-based number of the query.
    pub number: usize,
    /// The problem with the query.
    pub problem: QueryProblem,
}

/// The reason why a query is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryProblem {
    /// It has no words.
    #[error("is empty")]
    Empty,
    /// It has no target.
    #[error("has no target: name a path in its `relevant`")]
    NoTarget,
    /// It has this many targets, which exceeds the maximum.
    #[error("has {0} targets; give at most {most}", most = limits::TARGETS)]
    ManyTargets(usize),
    /// It covers more lines than the maximum.
    #[error("covers more than {most} lines", most = limits::KNOWN_LINES)]
    ManyLines,
}

impl QuerySet {
    /// Checks that this set can be run.
    ///
    /// # Errors
    ///
    /// Returns an error if a query has no words, no targets, or too many targets or lines.
    pub fn check(&self) -> Result<(), SetError> {
        for (index, query) in self.queries.iter().enumerate() {
            if let Err(problem) = query.check() {
                return Err(SetError { set: self.name.clone(), number: index + 1, problem });
            }
        }
        Ok(())
    }
}

/// A query and its known answers.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct KnownQuery {
    /// The text of this query.
    pub query: String,
    /// The targets that must be found.
    pub relevant: Vec<EvaluationTarget>,
    /// The targets that are also good to find.
    #[serde(default)]
    pub secondary: Vec<EvaluationTarget>,
    /// The category of this query.
    #[serde(default)]
    pub category: String,
    /// The commit from which this query was derived.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// The lines that this query is about. We use them to count how many of them an answer shows.
    #[serde(default, skip_serializing_if = "FileLines::is_empty")]
    pub lines: FileLines,
    /// Lines that this commit changes, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub edits: BTreeMap<String, Vec<u32>>,
}

/// A file, or lines of one.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub enum EvaluationTarget {
    /// A whole file.
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
    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::File(path) | Self::Lines { path, .. } => path,
        }
    }

    /// Returns true if a path is that of this target. Either path may be relative to a deeper directory.
    #[must_use]
    pub fn is_in(&self, path: &str) -> bool {
        let within = |longer: &str, shorter: &str| {
            longer.strip_suffix(shorter).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        within(path, self.path()) || within(self.path(), path)
    }

    /// Returns true if the lines from `start` to `end` (inclusive) overlap the lines of this target. A whole
    /// file always overlaps.
    #[must_use]
    pub fn covers(&self, start: u32, end: u32) -> bool {
        match self {
            Self::File(_) => true,
            Self::Lines { start_line, end_line, .. } => start <= *end_line && end >= *start_line,
        }
    }
}

impl KnownQuery {
    fn check(&self) -> Result<(), QueryProblem> {
        let targets = self.targets().count();
        if self.query.trim().is_empty() {
            return Err(QueryProblem::Empty);
        }
        if targets == 0 || self.targets().any(|target| target.path().is_empty()) {
            return Err(QueryProblem::NoTarget);
        }
        if targets > limits::TARGETS {
            return Err(QueryProblem::ManyTargets(targets));
        }
        if count_lines(&self.lines) > limits::KNOWN_LINES {
            return Err(QueryProblem::ManyLines);
        }
        Ok(())
    }

    /// Returns all targets of this query.
    pub fn targets(&self) -> impl Iterator<Item = &EvaluationTarget> {
        self.relevant.iter().chain(&self.secondary)
    }
}

/// Computes the normalised discounted cumulative gain of the first `cut` results (Järvelin and Kekäläinen,
/// 2002), given `expected` targets that could be found. Several targets with the same rank count once.
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

/// Computes the share of the expected targets that are among the first `cut` results.
#[must_use]
pub fn recall(ranks: &[usize], expected: usize, cut: usize) -> f64 {
    if expected == 0 {
        return 0.0;
    }
    ranks.iter().filter(|rank| **rank <= cut).count() as f64 / expected as f64
}

/// Computes the reciprocal of the first target's rank.
#[must_use]
pub fn reciprocal_rank(ranks: &[usize]) -> f64 {
    ranks.iter().min().map_or(0.0, |rank| 1.0 / *rank as f64)
}

#[cfg(test)]
mod tests;

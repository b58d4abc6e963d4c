//! How good a ranking is, on queries whose answers are known.
//!
//! As semble's benchmark has it: a result is a chunk; the rank of a target is that of the first result in its file,
//! and overlapping its lines where it has some; relevant and secondary targets count alike. What a target is that the
//! index lacks, [`Places`] says.
//!
//! A set's queries are answered once ([`answer`]). Other weights of the rules then take arithmetic alone, for they order
//! candidates and don't choose them: [`ablate`].

mod answered;
mod figures;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits;

pub use answered::{AnsweredQuery, Places, RankedCandidate, answer};
pub use figures::{Ablated, Figures, NDCG_CUT, RECALL_CUTS, ablate, percentile};

/// First and last lines of files, by path.
pub type FileLines = BTreeMap<String, Vec<[u32; 2]>>;

/// Counts lines, those that are named twice as two.
#[must_use]
pub fn count_lines(lines: &FileLines) -> u64 {
    let of = |[first, last]: &[u32; 2]| u64::from(last.saturating_sub(*first)) + 1;
    lines.values().flatten().map(of).fold(0, u64::saturating_add)
}

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

/// A query with which its set can't be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("query {number} of the set `{set}` {problem}")]
pub struct SetError {
    /// The set's name.
    pub set: String,
    /// The query's number, from 1.
    pub number: usize,
    /// What is wrong with it.
    pub problem: QueryProblem,
}

/// The reasons for which a query can't be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryProblem {
    /// It has no words.
    #[error("is empty")]
    Empty,
    /// It has no answer.
    #[error("has no target: name a path in its `relevant`")]
    NoTarget,
    /// It has this many answers, more than are looked for.
    #[error("has {0} targets; give at most {most}", most = limits::TARGETS)]
    ManyTargets(usize),
    /// It is about more lines than are counted.
    #[error("is about more than {most} lines", most = limits::KNOWN_LINES)]
    ManyLines,
}

impl QuerySet {
    /// Checks that it can be run.
    ///
    /// # Errors
    /// A query has no words, no targets, or too many targets or lines.
    pub fn check(&self) -> Result<(), SetError> {
        for (nth, query) in self.queries.iter().enumerate() {
            if let Err(problem) = query.check() {
                return Err(SetError { set: self.name.clone(), number: nth + 1, problem });
            }
        }
        Ok(())
    }
}

/// A query and its answers.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
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

    /// All targets.
    pub fn targets(&self) -> impl Iterator<Item = &EvaluationTarget> {
        self.relevant.iter().chain(&self.secondary)
    }
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

/// One over the rank of the first target.
#[must_use]
pub fn reciprocal_rank(ranks: &[usize]) -> f64 {
    ranks.iter().min().map_or(0.0, |rank| 1.0 / *rank as f64)
}

#[cfg(test)]
mod tests;

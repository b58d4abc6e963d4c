//! Answered queries: their candidates with the values of all rules.

use std::collections::HashSet;
use std::time::Instant;

use super::{EvaluationTarget, KnownQuery, NDCG_CUT, QuerySet, ndcg};
use crate::error::IndexError;
use crate::index::RankIndex;
use crate::limits;
use crate::rules::{RULES, RuleWeights};
use crate::search::{RankWeights, RankedSearch, search};

/// The files of an index, in which targets are looked up.
#[derive(Clone, Debug)]
pub struct EvaluationPaths {
    /// Paths and line counts of the files.
    files: Vec<(String, u32)>,
    paths: HashSet<String>,
    /// The indexed directory, which may be part of the targets' paths.
    below: String,
    /// True if a target that isn't in the index still counts as expected, and a target with an exact match
    /// must not match other files.
    is_strict: bool,
}

impl EvaluationPaths {
    /// Counts like semble's benchmark: a path may be relative to a deeper directory, and we don't expect
    /// targets that aren't in the index.
    #[must_use]
    pub fn from_benchmark(files: Vec<(String, u32)>) -> Self {
        Self { files, paths: HashSet::new(), below: String::new(), is_strict: false }
    }

    /// Creates the places of an index of the directory `below`, or of the whole repository if it is empty. A
    /// target that isn't in the index counts as not found. If a file has exactly the path of a target, other
    /// files that end with this path don't match.
    #[must_use]
    pub fn from_index(index: &RankIndex, below: &str) -> Self {
        let (mut files, mut paths) = (Vec::new(), HashSet::new());
        for (path, _) in index.state().living() {
            files.push((path.to_owned(), u32::MAX));
            paths.insert(path.to_owned());
        }
        Self { files, paths, below: below.trim_matches('/').to_owned(), is_strict: true }
    }

    /// Finds the path in the index that matches the target's path exactly, if there is one.
    fn exact<'a>(&self, target: &'a EvaluationTarget) -> Option<&'a str> {
        let path = target.path();
        let below = || path.strip_prefix(self.below.as_str())?.strip_prefix('/');
        let found = |path: &&str| self.paths.contains(*path);
        (!self.below.is_empty()).then(below).flatten().filter(found).or_else(|| Some(path).filter(found))
    }

    fn has(&self, target: &EvaluationTarget) -> bool {
        self.files.iter().any(|(path, lines)| target.is_in(path) && target.covers(1, *lines))
    }
}

/// A query with its candidates.
#[derive(Clone, Debug)]
pub struct AnsweredQuery {
    /// The name of the set.
    pub repository: String,
    /// The language of the set.
    pub language: String,
    /// The category of this query.
    pub category: String,
    /// The text of this query.
    pub query: String,
    /// Candidates in the order of their ranks.
    pub candidates: Vec<RankedCandidate>,
    /// The number of targets that could be found.
    pub expected: usize,
    /// The paths of the targets.
    pub targets: Vec<String>,
    /// The paths of targets that are not in the index.
    pub missing: Vec<String>,
    /// The time of the second run of the ranking, in milliseconds.
    pub milliseconds: f64,
}

/// A ranked file.
#[derive(Clone, Debug)]
pub struct RankedCandidate {
    /// The path of this file.
    pub path: String,
    /// The values of the rules, in the order of [`RULES`].
    pub values: [f32; RULES.len()],
    /// The targets that this file matches, as a bit set. The lowest bit is the first of
    /// [`AnsweredQuery::targets`].
    pub targets: u64,
}

/// Answers a query of a set. We only look up the first [`limits::TARGETS`] targets.
///
/// # Errors
///
/// Returns an error if the index cannot be read.
pub fn answer(
    index: &RankIndex,
    places: &EvaluationPaths,
    set: &QuerySet,
    known: &KnownQuery,
    weights: &RankWeights,
) -> Result<AnsweredQuery, IndexError> {
    let request = RankedSearch {
        weights: Some(weights),
        // The commit's own message would reveal the answer.
        history: !index.knows_commit(&known.commit),
        ..RankedSearch::new(&known.query, limits::CANDIDATES)
    };
    // Run once to warm up.
    search(index, &request)?;
    let began = Instant::now();
    let ranking = search(index, &request)?;
    let milliseconds = began.elapsed().as_secs_f64() * 1000.0;

    let targets: Vec<&EvaluationTarget> = known.targets().take(limits::TARGETS).collect();
    let exact: Vec<Option<&str>> = targets.iter().map(|target| places.exact(target)).collect();
    let candidates = ranking.files.into_iter().map(|file| {
        let lines = file.chunks.first().map_or((0, 0), |chunk| (chunk.start_line, chunk.end_line));
        let mut bits = 0;
        for (position, (target, exact)) in targets.iter().zip(&exact).enumerate() {
            let is_file = exact.map_or_else(|| target.is_in(&file.path), |exact| exact == file.path);
            if is_file && target.covers(lines.0, lines.1) {
                bits |= 1 << position;
            }
        }
        RankedCandidate { path: file.path, values: file.values, targets: bits }
    });
    let is_missing =
        |(target, exact): &(&&EvaluationTarget, &Option<&str>)| exact.is_none() && !places.has(target);
    let missing: Vec<String> =
        targets.iter().zip(&exact).filter(is_missing).map(|(target, _)| target.path().to_owned()).collect();
    Ok(AnsweredQuery {
        repository: set.name.clone(),
        language: set.language.clone(),
        category: known.category.clone(),
        query: known.query.clone(),
        candidates: candidates.collect(),
        expected: if places.is_strict { targets.len() } else { targets.len() - missing.len() },
        targets: targets.iter().map(|target| target.path().to_owned()).collect(),
        missing,
        milliseconds,
    })
}

impl AnsweredQuery {
    /// Returns the indexes of the candidates, best first. Note that the penalty of the rule `twin` isn't
    /// recomputed: it depends on the weights with which the query was answered.
    #[must_use]
    pub fn order(&self, rules: &RuleWeights) -> Vec<usize> {
        let scores: Vec<f32> = self.candidates.iter().map(|found| rules.score(&found.values)).collect();
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        order.sort_by(|&left, &right| {
            let by_path = || self.candidates[left].path.cmp(&self.candidates[right].path);
            scores[right].total_cmp(&scores[left]).then_with(by_path)
        });
        order
    }

    /// Computes the 1-based ranks of the targets that were found.
    #[must_use]
    pub fn ranks(&self, rules: &RuleWeights) -> Vec<usize> {
        let order = self.order(rules);
        (0..self.targets.len()).filter_map(|target| self.rank(&order, target)).collect()
    }

    /// Looks up the rank of a target in an order.
    #[must_use]
    pub fn rank(&self, order: &[usize], target: usize) -> Option<usize> {
        let at = order.iter().position(|&index| self.candidates[index].targets & (1 << target) != 0)?;
        Some(at + 1)
    }

    /// Computes the NDCG of the first [`NDCG_CUT`] files.
    #[must_use]
    pub fn ndcg(&self, rules: &RuleWeights) -> f64 {
        ndcg(&self.ranks(rules), self.expected, NDCG_CUT)
    }
}

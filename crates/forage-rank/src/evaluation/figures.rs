//! Metrics over queries.

use super::{AnsweredQuery, ndcg, recall, reciprocal_rank};
use crate::rules::{RankingRule, RuleWeights};

/// Number of files considered for NDCG.
pub const NDCG_CUT: usize = 10;

/// Numbers of files considered for recall.
pub const RECALL_CUTS: [usize; 3] = [1, 5, 10];

/// Means over queries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanMetrics {
    /// The number of queries.
    pub queries: usize,
    /// NDCG of the first [`NDCG_CUT`] files.
    pub ndcg: f64,
    /// Recall at each of [`RECALL_CUTS`].
    pub recall: [f64; RECALL_CUTS.len()],
    /// Mean reciprocal rank.
    pub reciprocal_rank: f64,
}

impl MeanMetrics {
    /// Computes the means over these queries; all 0 if there are none.
    pub fn from_queries<'a>(
        queries: impl IntoIterator<Item = &'a AnsweredQuery>,
        rules: &RuleWeights,
    ) -> Self {
        let mut figures = Self::default();
        for query in queries {
            let ranks = query.ranks(rules);
            figures.queries += 1;
            figures.ndcg += ndcg(&ranks, query.expected, NDCG_CUT);
            for (sum, cut) in figures.recall.iter_mut().zip(RECALL_CUTS) {
                *sum += recall(&ranks, query.expected, cut);
            }
            figures.reciprocal_rank += reciprocal_rank(&ranks);
        }
        let count = figures.queries.max(1) as f64;
        figures.ndcg /= count;
        figures.recall.iter_mut().for_each(|sum| *sum /= count);
        figures.reciprocal_rank /= count;
        figures
    }
}

/// The effect of a rule, measured by the mean NDCG without it.
#[derive(Clone, Copy, Debug)]
pub struct Ablated {
    /// The rule.
    pub rule: &'static RankingRule,
    /// The weight of this rule.
    pub weight: f32,
    /// Mean NDCG without this rule.
    pub ndcg: f64,
    /// Difference to the mean NDCG with all rules. This is negative for a rule that helps.
    pub difference: f64,
}

/// Computes the mean NDCG without each rule, worst first. The weights of the other rules stay unchanged.
#[must_use]
pub fn ablate(queries: &[AnsweredQuery], rules: &RuleWeights) -> Vec<Ablated> {
    let gain = |rules: &RuleWeights| {
        queries.iter().map(|query| query.ndcg(rules)).sum::<f64>() / queries.len().max(1) as f64
    };
    let full = gain(rules);
    let without = |(rule, weight): (&'static RankingRule, f32)| {
        let mut changed = rules.clone();
        if let Some(weight) = changed.get_mut(rule.name) {
            *weight = 0.0;
        }
        let ndcg = gain(&changed);
        Ablated { rule, weight, ndcg, difference: ndcg - full }
    };
    let mut ablated: Vec<Ablated> = rules.iter().map(without).collect();
    ablated.sort_by(|left, right| left.ndcg.total_cmp(&right.ndcg));
    ablated
}

/// Computes a percentile: the value below which this share (0 to 1) of the values falls. `None` if there are
/// no values.
#[must_use]
pub fn percentile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied()
}

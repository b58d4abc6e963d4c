//! Weights of rules fitted to queries by coordinate ascent, and whether that holds for queries that were not seen.

use super::{AnsweredQuery, NDCG_CUT};
use crate::limits;
use crate::rules::{Effect, RULES, RuleWeights};

/// Folds of the cross-validation by repository.
pub const FOLDS: usize = 5;

/// Folds where all queries are of one repository.
const FOLDS_OF_ONE: usize = 2;

/// What a weight is multiplied with in search of a better one.
const STEPS: [f32; 6] = [0.0, 0.5, 0.8, 1.25, 2.0, 3.0];

/// What it costs that a weight moves away from where it was: without a price the fit learns the repositories.
const PRICE: f64 = 0.001;

/// Share above which what lowers a file takes all of it.
const MOST_LOWERED: f32 = 0.9;

/// Standard errors from which on a gain is more than noise: of gains by chance one in forty is above.
const STANDARD_ERRORS: f64 = 2.0;

/// Fits the weights of all rules to the queries that are chosen.
pub fn fit(
    queries: &[AnsweredQuery],
    start: &RuleWeights,
    chosen: impl Fn(&AnsweredQuery) -> bool,
) -> RuleWeights {
    let queries: Vec<&AnsweredQuery> = queries.iter().filter(|query| chosen(query)).collect();
    if queries.is_empty() {
        return start.clone();
    }
    let objective = |rules: &RuleWeights| {
        let sum: f64 = queries.iter().map(|query| query.smooth_gain(rules)).sum();
        let moved = |((_, now), (_, then)): ((_, f32), (_, f32))| ((now + 0.05) / (then + 0.05)).ln().powi(2);
        let away: f32 = rules.iter().zip(start.iter()).map(moved).sum();
        sum / queries.len() as f64 - PRICE * f64::from(away)
    };
    let mut best = start.clone();
    let mut value = objective(&best);
    for round in 0..8 {
        let before = value;
        for (nth, rule) in RULES.iter().enumerate() {
            let current = best.0[nth];
            let base = if current < 0.02 { 0.1 } else { current };
            for step in if round < 3 { &STEPS[..] } else { &STEPS[1..5] } {
                let mut tried = best.clone();
                let most = if rule.effect == Effect::Lowers { MOST_LOWERED } else { limits::RULE_WEIGHT };
                tried.0[nth] = (base * step).min(most);
                let result = objective(&tried);
                if result > value + 1e-5 {
                    (best, value) = (tried, result);
                }
            }
        }
        if value - before < 2e-4 {
            break;
        }
    }
    best
}

/// The outcome of a cross-validation: how weights that were fitted to some queries do on the others.
#[derive(Clone, Debug)]
pub struct Validation {
    /// The folds.
    pub folds: Vec<Fold>,
    /// Gain of each query with the weights to begin with, and with those fitted to the queries of other folds.
    pub gains: Vec<(f64, f64)>,
    /// The mean gain, held out, without each rule: the others have the weights that were fitted with it.
    pub without: Vec<f64>,
    /// Weights fitted to all.
    pub fitted: RuleWeights,
}

/// A part of the queries, which the others were fitted without.
#[derive(Clone, Copy, Debug)]
pub struct Fold {
    /// Its queries.
    pub queries: usize,
    /// Their mean gain with the weights to begin with.
    pub before: f64,
    /// Their mean gain with weights fitted to all other queries.
    pub held_out: f64,
    /// The mean gain of the others with the same weights.
    pub inside: f64,
}

/// Fits on all queries, and on each fold's complement. Folds are of whole repositories if there are several, else of
/// the queries by what they say.
#[must_use]
pub fn cross_validate(queries: &[AnsweredQuery], start: &RuleWeights) -> Validation {
    let folds = folds(queries);
    let count = folds.iter().max().map_or(0, |most| most + 1);
    let mut gains = vec![(0.0, 0.0); queries.len()];
    let mut without = vec![0.0; RULES.len()];
    let folds = (0..count).filter_map(|fold| {
        let is_inside: Vec<bool> = folds.iter().map(|other| *other != fold).collect();
        let inside: Vec<AnsweredQuery> = chosen(queries, &is_inside);
        if inside.is_empty() || inside.len() == queries.len() {
            return None;
        }
        let fitted = fit(&inside, start, |_| true);
        let (mut before, mut held_out, mut outside) = (0.0, 0.0, 0);
        for (nth, query) in queries.iter().enumerate().filter(|(nth, _)| !is_inside[*nth]) {
            gains[nth] = (query.ndcg(start, NDCG_CUT), query.ndcg(&fitted, NDCG_CUT));
            before += gains[nth].0;
            held_out += gains[nth].1;
            outside += 1;
            for (rule, sum) in without.iter_mut().enumerate() {
                let mut fewer = fitted.clone();
                fewer.0[rule] = 0.0;
                *sum += query.ndcg(&fewer, NDCG_CUT) / queries.len() as f64;
            }
        }
        let count = f64::from(outside);
        let inside = super::mean_ndcg(&inside, &fitted, |_| true);
        Some(Fold { queries: outside as usize, before: before / count, held_out: held_out / count, inside })
    });
    let folds = folds.collect();
    Validation { folds, gains, without, fitted: fit(queries, start, |_| true) }
}

fn chosen(queries: &[AnsweredQuery], chosen: &[bool]) -> Vec<AnsweredQuery> {
    queries.iter().zip(chosen).filter(|(_, chosen)| **chosen).map(|(query, _)| query.clone()).collect()
}

/// The fold of each query.
fn folds(queries: &[AnsweredQuery]) -> Vec<usize> {
    let mut names: Vec<&str> = Vec::new();
    for query in queries {
        if !names.contains(&query.repository.as_str()) {
            names.push(&query.repository);
        }
    }
    let by_repository = |query: &AnsweredQuery| {
        let nth = names.iter().position(|name| *name == query.repository).unwrap_or_default();
        nth % FOLDS.min(names.len())
    };
    match names.len() {
        0 | 1 => queries.iter().map(|query| (hash(&query.query) % FOLDS_OF_ONE as u64) as usize).collect(),
        _ => queries.iter().map(by_repository).collect(),
    }
}

/// FNV-1a with its halves folded: the same for ever and everywhere, unlike the standard library's.
fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ (hash >> 32)
}

/// Differences of pairs, one pair per query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Mean of the differences.
    pub mean: f64,
    /// Standard error of that mean; infinite of fewer than two.
    pub standard_error: f64,
}

impl Paired {
    /// Of what was before and after.
    #[must_use]
    pub fn of(pairs: &[(f64, f64)]) -> Self {
        let count = pairs.len() as f64;
        if pairs.len() < 2 {
            return Self { mean: 0.0, standard_error: f64::INFINITY };
        }
        let mean = pairs.iter().map(|(before, after)| after - before).sum::<f64>() / count;
        let squares: f64 = pairs.iter().map(|(before, after)| (after - before - mean).powi(2)).sum();
        Self { mean, standard_error: (squares / (count - 1.0) / count).sqrt() }
    }

    /// Returns whether the mean is a gain that chance would seldom give: more than twice its standard error.
    #[must_use]
    pub fn is_above_noise(&self) -> bool {
        self.mean > 0.0 && self.mean > STANDARD_ERRORS * self.standard_error
    }
}

impl Validation {
    /// Returns the gain that the fit adds to queries that it has not seen.
    #[must_use]
    pub fn held_out(&self) -> Paired {
        Paired::of(&self.gains)
    }

    /// Mean gain over all queries, before and held out.
    #[must_use]
    pub fn means(&self) -> (f64, f64) {
        let count = self.gains.len().max(1) as f64;
        let (before, after) =
            self.gains.iter().fold((0.0, 0.0), |(before, after), pair| (before + pair.0, after + pair.1));
        (before / count, after / count)
    }
}

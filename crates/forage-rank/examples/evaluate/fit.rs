//! Fits the weights of the rules by coordinate ascent, and tests whether they hold for unseen repositories.

use forage_rank::evaluation::AnsweredQuery;
use forage_rank::{Effect, RULES, RuleWeights};

/// Number of folds of the cross-validation by repository.
const FOLDS: usize = 5;

/// Factors by which we multiply a weight in search of a better one.
const STEPS: [f32; 6] = [0.0, 0.5, 0.8, 1.25, 2.0, 3.0];

/// Price of moving a weight away from its start. Without a price, the fit would learn the repositories by
/// heart.
const PRICE: f64 = 0.001;

/// The maximum weights of rules that lower a score, and of rules that add to it.
const MOST: (f32, f32) = (0.9, 10.0);

/// The difference between scores that counts as one for the smooth gain.
const TEMPERATURE: f32 = 0.12;

/// Computes the mean NDCG@10 of the chosen queries.
pub(crate) fn mean(
    queries: &[AnsweredQuery],
    rules: &RuleWeights,
    chosen: impl Fn(&AnsweredQuery) -> bool,
) -> f64 {
    let gains: Vec<f64> =
        queries.iter().filter(|query| chosen(query)).map(|query| query.ndcg(rules)).collect();
    gains.iter().sum::<f64>() / gains.len().max(1) as f64
}

/// Fits on all queries, and on the complement of each fold. Prints the gain of each fold with these weights,
/// with and without each rule.
pub(crate) fn folds(queries: &[AnsweredQuery], start: &RuleWeights) {
    let mut names: Vec<&str> = queries.iter().map(|query| query.repository.as_str()).collect();
    // The queries of a repository are adjacent, so this leaves each name once.
    names.dedup();
    let fold_of =
        |query: &AnsweredQuery| names.iter().position(|name| *name == query.repository).unwrap() % FOLDS;
    let (mut held_out, mut without) = (0.0, [0.0; RULES.len()]);
    for fold in 0..FOLDS.min(names.len()) {
        let fitted = fit(queries, start, |query| fold_of(query) != fold);
        let own = |rules: &RuleWeights| mean(queries, rules, |query| fold_of(query) == fold);
        let share =
            queries.iter().filter(|query| fold_of(query) == fold).count() as f64 / queries.len() as f64;
        let inside = mean(queries, &fitted, |query| fold_of(query) != fold);
        let after = own(&fitted);
        println!(
            "fold {fold}: fitted on the others {inside:.4}, on itself {after:.4} (before {:.4})",
            own(start)
        );
        held_out += share * after;
        for (rule, sum) in RULES.iter().zip(&mut without) {
            let mut fewer = fitted.clone();
            *fewer.get_mut(rule.name).unwrap() = 0.0;
            *sum += share * own(&fewer);
        }
    }
    println!("cross-validated: {held_out:.4}");
    let mut ablated: Vec<_> = RULES.iter().zip(without).collect();
    ablated.sort_by(|left, right| left.1.total_cmp(&right.1));
    for (rule, without) in ablated {
        println!("  held out without {:20} {without:.4} ({:+.4})", rule.name, without - held_out);
    }
    let fitted = fit(queries, start, |_| true);
    println!("fitted on all: {:.4}", mean(queries, &fitted, |_| true));
    let shown: Vec<String> =
        fitted.iter().map(|(rule, weight)| format!("{}={weight:.3}", rule.name)).collect();
    println!("--weights {}", shown.join(","));
}

/// Fits the weights of all rules to the chosen queries.
fn fit(
    queries: &[AnsweredQuery],
    start: &RuleWeights,
    chosen: impl Fn(&AnsweredQuery) -> bool,
) -> RuleWeights {
    let queries: Vec<&AnsweredQuery> = queries.iter().filter(|query| chosen(query)).collect();
    let objective = |rules: &RuleWeights| {
        let sum: f64 = queries.iter().map(|query| smooth_gain(query, rules)).sum();
        // The offset keeps the logarithm finite for a weight of 0.
        let moved = |((_, now), (_, then)): ((_, f32), (_, f32))| ((now + 0.05) / (then + 0.05)).ln().powi(2);
        let away: f32 = rules.iter().zip(start.iter()).map(moved).sum();
        sum / queries.len().max(1) as f64 - PRICE * f64::from(away)
    };
    let mut best = start.clone();
    let mut value = objective(&best);
    for round in 0..8 {
        let before = value;
        for rule in RULES {
            let current = *best.get_mut(rule.name).unwrap();
            // No factor could move a weight of 0.
            let base = if current < 0.02 { 0.1 } else { current };
            let max = if rule.effect == Effect::Lowers { MOST.0 } else { MOST.1 };
            // Later rounds only refine: they neither remove nor triple a weight.
            for step in if round < 3 { &STEPS[..] } else { &STEPS[1..5] } {
                let mut tried = best.clone();
                *tried.get_mut(rule.name).unwrap() = (base * step).min(max);
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

/// Computes the gain with smooth ranks (Qin, Liu and Li, “A general approximation framework for direct
/// optimization of information retrieval measures”, 2010), so that a weight doesn't depend on a single near
/// miss.
fn smooth_gain(query: &AnsweredQuery, rules: &RuleWeights) -> f64 {
    let candidates = &query.candidates;
    let scores: Vec<f32> = candidates.iter().map(|found| rules.score(&found.values)).collect();
    let (mut sum, mut seen) = (0.0, 0);
    for (index, found) in candidates.iter().enumerate() {
        let new = found.targets & !seen;
        if new == 0 {
            continue;
        }
        seen |= new;
        let others = scores.iter().zip(candidates).enumerate();
        let rank: f32 = others
            .filter(|(other, (_, candidate))| *other != index && candidate.targets == 0)
            .map(|(_, (score, _))| 1.0 / (1.0 + ((scores[index] - score) / TEMPERATURE).exp()))
            .sum();
        sum += f64::from(new.count_ones()) / f64::from(rank + 2.0).log2();
    }
    sum / query.expected.max(1) as f64
}

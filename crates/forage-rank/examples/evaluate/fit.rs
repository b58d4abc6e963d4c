//! Weights fitted, with folds by repository.

use forage_rank::RuleWeights;
pub(crate) use forage_rank::evaluation::mean_ndcg as mean;
use forage_rank::evaluation::{AnsweredQuery, cross_validate, mean_ndcg, recall, reciprocal_rank};

pub(crate) fn recall_at(queries: &[AnsweredQuery], rules: &RuleWeights, cut: usize) -> f64 {
    let sum: f64 = queries.iter().map(|query| recall(&query.ranks(rules), query.expected, cut)).sum();
    sum / queries.len() as f64
}

pub(crate) fn reciprocal(queries: &[AnsweredQuery], rules: &RuleWeights) -> f64 {
    queries.iter().map(|query| reciprocal_rank(&query.ranks(rules))).sum::<f64>() / queries.len() as f64
}

/// Fits on all, and on each fold's complement; prints what the fold then has.
pub(crate) fn folds(queries: &[AnsweredQuery], start: &RuleWeights) {
    let validation = cross_validate(queries, start);
    for (nth, fold) in validation.folds.iter().enumerate() {
        println!(
            "fold {nth}: fitted on the others {:.4}, on itself {:.4} (before {:.4})",
            fold.inside, fold.held_out, fold.before
        );
    }
    println!("cross-validated: {:.4}", validation.means().1);
    let mut ablated: Vec<_> = forage_rank::RULES.iter().zip(&validation.without).collect();
    ablated.sort_by(|left, right| left.1.total_cmp(right.1));
    for (rule, without) in ablated {
        println!("  held out without {:20} {without:.4} ({:+.4})", rule.name, without - validation.means().1);
    }
    println!("fitted on all: {:.4}", mean_ndcg(queries, &validation.fitted, |_| true));
    let shown: Vec<String> =
        validation.fitted.iter().map(|(rule, weight)| format!("{}={weight:.3}", rule.name)).collect();
    println!("--weights {}", shown.join(","));
}

//! `forage eval tune`: the weights of the ranking's rules, fitted to the user's own queries.
//!
//! More than thirty weights fit any set of queries better than it was. So the queries are put into folds, each is ranked
//! with weights that were fitted without it, and only if these rank better than what is built in, by more than chance
//! would give, are the weights kept.

use std::fmt::Write as _;

use anyhow::Context as _;
use forage_rank::evaluation::{Figures, Fold, Paired, Validation, cross_validate};
use forage_rank::{RankWeights, RuleWeights};
use forage_sandbox::Outside;
use forage_tools::ErrorCode;
use serde_json::{Value, json};

use super::measure::{MeasurePlan, Measured};
use super::records::{HistoryOfSet, Tuning, TuningFold};
use super::{Source, limits, report};
use crate::cli::output::Terminal;
use crate::cli::{Global, Status};
use crate::setup;

/// Where the weights stand in the configuration.
const TABLE: (&str, &str) = ("tools", "search_index");

#[derive(Debug, clap::Args)]
#[command(
    after_help = "What is kept stands in your configuration as `weights` of `[tools.search_index]`; without that table \
                  the weights are those that are built in."
)]
pub(super) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Keep nothing, only show what would be kept
    #[arg(long)]
    dry_run: bool,
}

/// What was found out.
struct Tuned {
    validation: Validation,
    gain: Paired,
    decision: Decision,
}

/// Whether weights are worth keeping, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Decision {
    Keep,
    Leave(String),
}

/// Decides on what the fit gave queries that it had not seen.
fn decide(queries: usize, folds: usize, gain: Paired) -> Decision {
    if queries < limits::TUNE_QUERIES {
        let least = limits::TUNE_QUERIES;
        return Decision::Leave(format!("{queries} queries are too few to tell; it takes {least}"));
    }
    if folds < 2 {
        return Decision::Leave("the queries can't be divided into folds".to_owned());
    }
    match gain {
        gain if gain.is_above_noise() => Decision::Keep,
        gain if gain.mean <= 0.0 => {
            Decision::Leave("the weights do not help queries that they were not fitted to".to_owned())
        }
        _ => Decision::Leave("the gain is within what chance would give".to_owned()),
    }
}

pub(super) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let plan = MeasurePlan::new(&arguments.source, global, output)?;
    let file = plan.config().file().to_owned();
    let shown = file.display().to_string();
    // The file is changed in front of the wall, behind which only the trees are read.
    let keep = Outside::start("weights", move |value: Value| setup::put_table(&file, TABLE, &value))
        .context("no thread can be started")?;
    let weights = RankWeights::default();
    let measured = plan.run(&weights, false)?;
    let validation = cross_validate(&measured.queries, &weights.rules);
    let gain = validation.held_out();
    let decision = decide(measured.queries.len(), validation.folds.len(), gain);
    let tuned = Tuned { validation, gain, decision };

    let value = json!({ "weights": weights_table(&tuned.validation.fitted) });
    let lines = setup::table_lines(TABLE, &value);
    let stored = match (&tuned.decision, arguments.dry_run) {
        (Decision::Keep, false) => Some(keep.ask(value.clone()).context("the weights could not be kept")?),
        _ => None,
    };
    let is_stored = matches!(stored, Some(Ok(())));
    let told = match (&tuned.decision, &stored) {
        (Decision::Leave(reason), _) => format!("nothing is kept: {reason}"),
        (Decision::Keep, None) => format!("nothing is kept (--dry-run); this would be, in {shown}:"),
        (Decision::Keep, Some(Ok(()))) => format!("kept in {shown}:"),
        (Decision::Keep, Some(Err(refusal))) => {
            format!("{shown} is left as it is: {refusal}; to keep the weights, put this into it:")
        }
    };
    if output.wants_json() {
        output.record(&record(&measured, &tuned, is_stored, &told))?;
    } else {
        let shows_lines = tuned.decision == Decision::Keep;
        let lines = if shows_lines { format!("\n{}\n", lines.join("\n")) } else { String::new() };
        output.text(&forage_tools::sanitize(&format!("{}{told}\n{lines}", text(&measured, &tuned))))?;
        output.flush()?;
    }
    Ok(match (measured.queries.is_empty(), stored) {
        (_, Some(Err(_))) => {
            output.failure(&told, ErrorCode::Failed);
            Status::Failed
        }
        (true, _) => Status::NothingFound,
        (false, _) => Status::Found,
    })
}

/// The weights as they are kept, in the order of the rules: more digits say nothing.
fn rounded(rules: &RuleWeights) -> impl Iterator<Item = (&'static str, f64)> {
    rules.iter().map(|(rule, weight)| (rule.name, (f64::from(weight) * 1000.0).round() / 1000.0))
}

fn weights_table(rules: &RuleWeights) -> Value {
    rounded(rules).map(|(name, weight)| (name.to_owned(), json!(weight))).collect()
}

fn text(measured: &Measured, tuned: &Tuned) -> String {
    let mut text = String::new();
    if let Some(history) = &measured.history {
        report::push_history(&mut text, history, measured.queries.len());
    }
    if let Some(saved) = &measured.saved {
        let _ = writeln!(text, "saved     {}", saved.display());
    }
    let Tuned { validation, gain, .. } = tuned;
    if !validation.folds.is_empty() {
        let _ = writeln!(text, "fold  queries  built in  held out  on the others");
        for (nth, Fold { queries, before, held_out, inside }) in validation.folds.iter().enumerate() {
            let _ = writeln!(text, "{:4}  {queries:7}  {before:8.4}  {held_out:8.4}  {inside:13.4}", nth + 1);
        }
        let (before, after) = validation.means();
        let _ = writeln!(text, " all  {:7}  {before:8.4}  {after:8.4}", validation.gains.len());
        let _ = writeln!(
            text,
            "\nNDCG@10 of queries that the weights were not fitted to: {:+.4}, with a standard error of {:.4}",
            gain.mean, gain.standard_error
        );
    }
    text
}

fn record<'a>(measured: &'a Measured, tuned: &Tuned, is_stored: bool, told: &'a str) -> Tuning<'a> {
    let Tuned { validation, gain, decision } = tuned;
    let (before, after) = validation.means();
    let has_folds = !validation.folds.is_empty();
    let queries = measured.queries.len();
    Tuning {
        queries,
        folds: validation.folds.iter().map(TuningFold::from).collect(),
        built_in: has_folds.then_some(before),
        held_out: has_folds.then_some(after),
        gain: has_folds.then_some(gain.mean),
        standard_error: has_folds.then_some(gain.standard_error).filter(|error| error.is_finite()),
        above_noise: *decision == Decision::Keep,
        fitted_on_all: Figures::of(&measured.queries, &validation.fitted).ndcg,
        weights: rounded(&validation.fitted).collect(),
        stored: is_stored,
        told,
        history: measured.history.as_ref().map(|history| HistoryOfSet::of(history, queries)),
        saved: measured.saved.as_ref().map(|path| path.display().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_kept_for_a_gain_above_noise_alone() {
        let gain = |mean, standard_error| Paired { mean, standard_error };
        assert_eq!(decide(100, 2, gain(0.03, 0.01)), Decision::Keep);
        for (queries, folds, gain, part) in [
            (19, 2, gain(0.03, 0.01), "too few"),
            (100, 1, gain(0.03, 0.01), "folds"),
            (100, 2, gain(0.02, 0.01), "chance"),
            (100, 2, gain(0.0, 0.0), "do not help"),
            (100, 2, gain(-0.03, 0.01), "do not help"),
            (100, 2, gain(0.03, f64::INFINITY), "chance"),
        ] {
            match decide(queries, folds, gain) {
                Decision::Leave(reason) => assert!(reason.contains(part), "{reason}"),
                Decision::Keep => panic!("kept: {gain:?}"),
            }
        }
    }

    #[test]
    fn kept_weights_are_those_of_the_fit_in_short() {
        let table = weights_table(&RuleWeights::default());
        assert_eq!(table["file"], json!(0.65));
        assert_eq!(table["stem-exact"].to_string(), "1.0");
    }
}

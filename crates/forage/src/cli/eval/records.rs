//! What `forage eval --json` and `forage eval tune --json` print.

use std::collections::BTreeMap;

use forage_rank::evaluation::{
    Ablated, Figures, FileLines, Fold, LineFigures, NDCG_CUT, PairedDifference, RECALL_CUTS, ShownAnswer,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::history::Account;

/// Of `forage eval`.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct Evaluation<'a> {
    /// The sets of queries, and what they were put to.
    pub(super) sets: &'a [SetRecord],
    /// The figures of all queries.
    pub(super) all: RankingFigures,
    /// The time that the ranking of a query takes, in milliseconds, when the index is warm.
    pub(super) latency_ms: LatencyPercentiles,
    /// The size of the answers of `search_index` to the queries.
    pub(super) tokens: AnswerTokens,
    /// Targets that are not among the files, and count as not found.
    pub(super) missing_targets: Vec<MissingTarget<'a>>,
    /// In words, where the weights of the ranking's rules are from.
    pub(super) weights: &'a str,
    /// The figures by the category of the queries.
    pub(super) by_category: BTreeMap<&'a str, RankingFigures>,
    /// The figures by the language of their set.
    pub(super) by_language: BTreeMap<&'a str, RankingFigures>,
    /// The figures by the name of their set.
    pub(super) by_set: BTreeMap<&'a str, RankingFigures>,
    /// The queries, in their order.
    pub(super) queries: Vec<EvaluatedQuery<'a>>,
    /// How many of the right lines the answers show; with `--lines` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lines: Option<LinesEvaluation<'a>>,
    /// How the set was made; with `--from-git` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) history: Option<HistoryOfSet<'a>>,
    /// The file that the set was written to; with `--save` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) saved: Option<String>,
    /// What each rule of the ranking gives, that whose loss costs most first; with `--ablate` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ablation: Option<Vec<AblatedRule>>,
}

/// A set of queries, and what it was run on.
#[derive(JsonSchema, Serialize)]
pub(super) struct SetRecord {
    /// Its name.
    pub(super) name: String,
    /// The language of the files, as the set says; empty when it does not.
    pub(super) language: String,
    /// The revision that the queries were made for, as the set says; empty when it does not.
    pub(super) revision: String,
    /// The directory that the queries were put to.
    pub(super) directory: String,
    /// Whether the files are those of the revision, not of the working tree.
    pub(super) at_revision: bool,
    /// Files that can be found.
    pub(super) files: u64,
    /// Files that are no text, too large, or can't be read.
    pub(super) files_without_text: u64,
    /// Wall time of indexing the files, in seconds.
    pub(super) seconds: f64,
}

/// How well queries are answered: means over them, 0 to 1; all 0 without queries.
#[derive(JsonSchema, Serialize)]
pub(super) struct RankingFigures {
    /// The number of queries.
    queries: usize,
    /// Normalised discounted cumulative gain of the first 10 files.
    #[serde(rename = "ndcg@10")]
    ndcg: f64,
    /// The share of the targets that is the first file.
    #[serde(rename = "recall@1")]
    recall_at_1: f64,
    /// The share of the targets that is among the first 5 files.
    #[serde(rename = "recall@5")]
    recall_at_5: f64,
    /// The share of the targets that is among the first 10 files.
    #[serde(rename = "recall@10")]
    recall_at_10: f64,
    /// Mean reciprocal rank: of the first target that is found.
    mrr: f64,
}

// The names of the fields say these.
const _: () = assert!(matches!((NDCG_CUT, RECALL_CUTS), (10, [1, 5, 10])));

impl From<&Figures> for RankingFigures {
    fn from(figures: &Figures) -> Self {
        let Figures { queries, ndcg, recall: [recall_at_1, recall_at_5, recall_at_10], reciprocal_rank } =
            *figures;
        Self { queries, ndcg, recall_at_1, recall_at_5, recall_at_10, mrr: reciprocal_rank }
    }
}

/// Milliseconds within which shares of the queries are ranked.
#[derive(JsonSchema, Serialize)]
pub(super) struct LatencyPercentiles {
    /// Of half of them; null without queries.
    pub(super) p50: Option<f64>,
    /// Of 99 % of them; null without queries.
    pub(super) p99: Option<f64>,
}

/// The size of answers of `search_index`.
#[derive(JsonSchema, Serialize)]
pub(super) struct AnswerTokens {
    /// Their mean in tokens; null without answers.
    pub(super) mean: Option<f64>,
    /// Answers that there are.
    pub(super) answers: usize,
    /// Calls that failed, and have no answer.
    pub(super) failed: usize,
    /// Bytes that count as one token.
    pub(super) bytes_per_token: f64,
}

/// A target that is not among the files.
#[derive(JsonSchema, Serialize)]
pub(super) struct MissingTarget<'a> {
    /// The name of its set.
    pub(super) set: &'a str,
    /// Its path.
    pub(super) path: &'a str,
}

/// A query, and how it was answered.
#[derive(JsonSchema, Serialize)]
pub(super) struct EvaluatedQuery<'a> {
    /// The name of its set.
    pub(super) set: &'a str,
    /// Its category, as the set says.
    pub(super) category: &'a str,
    /// Its text.
    pub(super) query: &'a str,
    /// Paths of the files that it is about.
    pub(super) targets: &'a [String],
    /// Ranks of those that were found, 1 for the first file, in the order of the targets.
    pub(super) ranks: Vec<usize>,
    /// Normalised discounted cumulative gain of the first 10 files, 0 to 1.
    pub(super) ndcg: f64,
    /// The time that the ranking took, in milliseconds.
    pub(super) milliseconds: f64,
}

/// How a set was made of the history of a repository.
#[derive(JsonSchema, Serialize)]
pub(super) struct HistoryOfSet<'a> {
    /// The commit whose files the queries are put to.
    base: &'a str,
    /// Commits behind it that were read.
    commits: u64,
    /// Whether there are more of them than are read.
    is_cut: bool,
    /// Commits that made a query.
    queries: usize,
    /// Commits that made none, counted by reason in words.
    others: &'a BTreeMap<&'static str, u64>,
}

impl<'a> HistoryOfSet<'a> {
    pub(super) fn of(history: &'a Account, queries: usize) -> Self {
        let Account { base, commits, is_cut, others } = history;
        Self { base, commits: *commits, is_cut: *is_cut, queries, others }
    }
}

/// A rule of the ranking, and how queries are answered without it.
#[derive(JsonSchema, Serialize)]
pub(super) struct AblatedRule {
    /// Its name.
    rule: &'static str,
    /// The weight that it has.
    weight: f32,
    /// The mean gain of the first 10 files without it, 0 to 1.
    ndcg_without: f64,
    /// That less the mean gain with it: negative for a rule that helps.
    difference: f64,
    /// In words, what it looks at.
    about: &'static str,
}

impl From<&Ablated> for AblatedRule {
    fn from(ablated: &Ablated) -> Self {
        let Ablated { rule, weight, ndcg, difference } = *ablated;
        Self { rule: rule.name, weight, ndcg_without: ndcg, difference, about: rule.about }
    }
}

/// How many of the right lines answers show.
#[derive(JsonSchema, Serialize)]
pub(super) struct LinesEvaluation<'a> {
    /// Tokens of code that were asked for.
    pub(super) code_tokens: u64,
    /// Queries of which the right lines are known.
    pub(super) queries: usize,
    /// Queries of which they are not, which were not asked.
    pub(super) queries_without_lines: usize,
    /// Calls that failed, and count as answers that show nothing.
    pub(super) failed: usize,
    /// The ways to answer that are compared: `forage` first, then those of `--beside`.
    pub(super) ways: Vec<AnsweringWay<'a>>,
    /// The figures of `forage` by the language of the sets.
    pub(super) by_language: BTreeMap<&'a str, LanguageLineShares>,
    /// The answers of `forage`, as `--beside` takes them.
    pub(super) answers: Vec<AnswerLines<'a>>,
}

/// How much of the right lines is shown: means over queries, 0 to 1.
#[derive(JsonSchema, Serialize)]
pub(super) struct LineShares {
    /// Of the right lines those that are shown.
    recall: f64,
    /// Of the shown lines those that are right.
    precision: f64,
    /// The harmonic mean of both.
    f1: f64,
    /// Of the right files those of which a line is shown.
    files_shown: f64,
    /// Of the right files those that are named.
    files_named: f64,
    /// Of the changed lines those with a shown line within 3 lines.
    edits_seen: f64,
}

// What the last field says.
const _: () = assert!(forage_rank::evaluation::NEAR_LINES == 3);

impl LineShares {
    /// The mean of figures.
    pub(super) fn mean(figures: &[LineFigures]) -> Self {
        let LineFigures { recall, precision, f1, files_shown, files_named, edits_seen } =
            LineFigures::mean(figures);
        Self { recall, precision, f1, files_shown, files_named, edits_seen }
    }
}

/// A way to answer the queries.
#[derive(JsonSchema, Serialize)]
pub(super) struct AnsweringWay<'a> {
    #[serde(flatten)]
    pub(super) shares: LineShares,
    /// Its name.
    pub(super) name: &'a str,
    /// The mean size of its answers in tokens; 0 without answers.
    pub(super) tokens: f64,
    /// The figures of `forage` less those of this way; of those of `--beside` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) forage_less_this: Option<WayDifferences>,
    /// Queries that it has an answer to; of those of `--beside` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answers: Option<usize>,
}

/// How much of the right lines of a language is shown.
#[derive(JsonSchema, Serialize)]
pub(super) struct LanguageLineShares {
    #[serde(flatten)]
    pub(super) shares: LineShares,
    /// The number of queries.
    pub(super) queries: usize,
}

/// Figures of one way to answer less those of another.
#[derive(JsonSchema, Serialize)]
pub(super) struct WayDifferences {
    /// Of the recall.
    pub(super) recall: FigureDifference,
    /// Of the harmonic mean of recall and precision.
    pub(super) f1: FigureDifference,
    /// Of the changed lines that are seen.
    pub(super) edits_seen: FigureDifference,
}

/// A difference between two ways to answer the same queries.
#[derive(JsonSchema, Serialize)]
pub(super) struct FigureDifference {
    /// Its mean over the queries.
    mean: f64,
    /// The lower end of the interval that holds 95 % of the means of samples of the queries.
    low: f64,
    /// Its upper end.
    high: f64,
    /// Queries with a difference above 0.
    better: usize,
    /// Queries with a difference below 0.
    worse: usize,
}

impl From<PairedDifference> for FigureDifference {
    fn from(difference: PairedDifference) -> Self {
        let PairedDifference { mean, low, high, better, worse } = difference;
        Self { mean, low, high, better, worse }
    }
}

/// What the answer to a query shows.
#[derive(JsonSchema, Serialize)]
pub(super) struct AnswerLines<'a> {
    /// The name of the query's set.
    set: &'a str,
    /// The commit that the query was made of; its text when it was made of none.
    commit: &'a str,
    /// Paths that the answer names, in its order.
    files: &'a [String],
    /// Lines that it shows, by path: ranges of the first and the last one, counted from 1.
    shown: &'a FileLines,
    /// Its size in tokens.
    tokens: u64,
}

impl<'a> From<&'a ShownAnswer> for AnswerLines<'a> {
    fn from(answer: &'a ShownAnswer) -> Self {
        let ShownAnswer { set, commit, files, shown, tokens } = answer;
        Self { set, commit, files, shown, tokens: *tokens }
    }
}

/// Of `forage eval tune`.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct Tuning<'a> {
    /// The number of queries.
    pub(super) queries: usize,
    /// The parts of the queries, each ranked with weights that were fitted to the others; empty when there are too few.
    pub(super) folds: Vec<TuningFold>,
    /// The mean gain of the first 10 files with the weights that are built in, 0 to 1; null without folds.
    pub(super) built_in: Option<f64>,
    /// The same with weights that were fitted to the queries of the other folds; null without folds.
    pub(super) held_out: Option<f64>,
    /// The mean of that less `built_in` over the queries; null without folds.
    pub(super) gain: Option<f64>,
    /// The standard error of `gain`; null without folds, and when it can't be told.
    pub(super) standard_error: Option<f64>,
    /// Whether the gain is above what chance would give, of enough queries: only such weights are kept.
    pub(super) above_noise: bool,
    /// The mean gain of the first 10 files with weights that were fitted to all queries.
    pub(super) fitted_on_all: f64,
    /// These weights, by rule.
    pub(super) weights: BTreeMap<&'static str, f64>,
    /// Whether they were written into the configuration.
    pub(super) stored: bool,
    /// In words, whether they were, where, and why not.
    pub(super) told: &'a str,
    /// How the set was made; with `--from-git` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) history: Option<HistoryOfSet<'a>>,
    /// The file that the set was written to; with `--save` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) saved: Option<String>,
}

/// A part of the queries, ranked with weights that were fitted to the others: means of the gain of the first 10 files.
#[derive(JsonSchema, Serialize)]
pub(super) struct TuningFold {
    /// The number of its queries.
    queries: usize,
    /// With the weights that are built in.
    built_in: f64,
    /// With the fitted weights.
    held_out: f64,
    /// Of the others, with the weights that were fitted to them.
    on_the_others: f64,
}

impl From<&Fold> for TuningFold {
    fn from(fold: &Fold) -> Self {
        let Fold { queries, before, held_out, inside } = *fold;
        Self { queries, built_in: before, held_out, on_the_others: inside }
    }
}

//! The records that `forage eval --json` prints.

use std::collections::BTreeMap;

use forage_rank::evaluation::{Ablated, Figures, FileLines, NDCG_CUT, RECALL_CUTS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    pub(super) history: Option<&'a HistoryOfSet>,
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
    /// What is known of the commits, or why their messages are not used.
    pub(super) commits: String,
}

/// How well queries are answered: means over them, 0 to 1; all 0 without queries.
#[derive(JsonSchema, Serialize)]
pub(super) struct RankingFigures {
    /// The number of queries.
    pub(super) queries: usize,
    /// Normalised discounted cumulative gain of the first 10 files.
    #[serde(rename = "ndcg@10")]
    pub(super) ndcg: f64,
    /// The share of the targets that is the first file.
    #[serde(rename = "recall@1")]
    pub(super) recall_at_1: f64,
    /// The share of the targets that is among the first 5 files.
    #[serde(rename = "recall@5")]
    pub(super) recall_at_5: f64,
    /// The share of the targets that is among the first 10 files.
    #[serde(rename = "recall@10")]
    pub(super) recall_at_10: f64,
    /// Mean reciprocal rank: of the first target that is found.
    pub(super) mrr: f64,
}

// The names of the fields contain these numbers.
const _: () = assert!(matches!((NDCG_CUT, RECALL_CUTS), (10, [1, 5, 10])));

impl From<Figures> for RankingFigures {
    fn from(figures: Figures) -> Self {
        let Figures { queries, ndcg, recall: [recall_at_1, recall_at_5, recall_at_10], reciprocal_rank } =
            figures;
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
pub(super) struct HistoryOfSet {
    /// The commit whose files the queries are put to.
    pub(super) base: String,
    /// Commits behind it that were read.
    pub(super) commits: u64,
    /// Whether there are more of them than are read.
    pub(super) is_cut: bool,
    /// Commits that made a query.
    pub(super) queries: usize,
    /// Commits that made none, counted by reason in words.
    pub(super) others: BTreeMap<&'static str, u64>,
}

/// A rule of the ranking, and how queries are answered without it.
#[derive(JsonSchema, Serialize)]
pub(super) struct AblatedRule {
    /// Its name.
    pub(super) rule: &'static str,
    /// The weight that it has.
    pub(super) weight: f32,
    /// The mean gain of the first 10 files without it, 0 to 1.
    pub(super) ndcg_without: f64,
    /// That less the mean gain with it: negative for a rule that helps.
    pub(super) difference: f64,
    /// In words, what it looks at.
    pub(super) about: &'static str,
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
    pub(super) answers: Vec<&'a AnswerLines>,
}

/// How much of the right lines is shown: means over queries, 0 to 1.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub(super) struct LineShares {
    /// Of the right lines those that are shown.
    pub(super) recall: f64,
    /// Of the shown lines those that are right.
    pub(super) precision: f64,
    /// The harmonic mean of both.
    pub(super) f1: f64,
    /// Of the right files those of which a line is shown.
    pub(super) files_shown: f64,
    /// Of the right files those that are named.
    pub(super) files_named: f64,
    /// Of the changed lines those with a shown line within 3 lines.
    pub(super) edits_seen: f64,
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
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Serialize)]
pub(super) struct FigureDifference {
    /// Its mean over the queries.
    pub(super) mean: f64,
    /// The lower end of the interval that holds 95 % of the means of samples of the queries.
    pub(super) low: f64,
    /// Its upper end.
    pub(super) high: f64,
    /// Queries with a difference above 0.
    pub(super) better: usize,
    /// Queries with a difference below 0.
    pub(super) worse: usize,
}

/// What the answer to a query shows.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub(super) struct AnswerLines {
    /// The name of the query's set.
    pub(super) set: String,
    /// The commit that the query was made of; its text when it was made of none.
    #[serde(alias = "query")]
    pub(super) commit: String,
    /// Paths that the answer names, in its order.
    pub(super) files: Vec<String>,
    /// Lines that it shows, by path: ranges of the first and the last one, counted from 1.
    pub(super) shown: FileLines,
    /// Its size in tokens.
    #[serde(default)]
    pub(super) tokens: u64,
}

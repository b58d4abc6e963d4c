//! Records that `forage eval --json` prints.

use std::collections::BTreeMap;

use forage_rank::evaluation::{Ablated, FileLines, MeanMetrics, NDCG_CUT, RECALL_CUTS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Measurements of the ranking.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct Evaluation<'a> {
    /// The sets of queries and their targets.
    pub(super) sets: &'a [SetRecord],
    /// The figures of all queries.
    pub(super) all: RankingFigures,
    /// Time to rank a query in milliseconds, with a warm index.
    pub(super) latency_ms: LatencyPercentiles,
    /// The size of the answers of `search_index` to the queries.
    pub(super) tokens: AnswerTokens,
    /// Targets that do not exist, which count as not found.
    pub(super) missing_targets: Vec<MissingTarget<'a>>,
    /// The figures by the category of the queries.
    pub(super) by_category: BTreeMap<&'a str, RankingFigures>,
    /// The figures by the language of their set.
    pub(super) by_language: BTreeMap<&'a str, RankingFigures>,
    /// The figures by the name of their set.
    pub(super) by_set: BTreeMap<&'a str, RankingFigures>,
    /// The queries, in their order.
    pub(super) queries: Vec<EvaluatedQuery<'a>>,
    /// The measured lines; only with `--lines`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lines: Option<LinesEvaluation<'a>>,
    /// The source of the set; only with `--from-git`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) history: Option<&'a HistoryOfSet>,
    /// The file to which the set was written; only with `--save`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) saved: Option<String>,
    /// The effect of each rule, the largest loss first; only with `--ablate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ablation: Option<Vec<AblatedRule>>,
}

/// A set of queries and its files.
#[derive(JsonSchema, Serialize)]
pub(super) struct SetRecord {
    /// Its name.
    pub(super) name: String,
    /// The language of the set, or empty.
    pub(super) language: String,
    /// The revision of the set, or empty.
    pub(super) revision: String,
    /// The directory that was searched.
    pub(super) directory: String,
    /// True if the files are those of the revision, false for the working tree.
    pub(super) at_revision: bool,
    /// Number of indexed files.
    pub(super) files: u64,
    /// Files that are not text, too large, or can't be read.
    pub(super) files_without_text: u64,
    /// Wall time of indexing the files, in seconds.
    pub(super) seconds: f64,
    /// The known commits, or the reason why their messages are not used.
    pub(super) commits: String,
}

/// Means over queries, 0 to 1; 0 without queries.
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
    /// Mean reciprocal rank of the first target.
    pub(super) mrr: f64,
}

// The names of the fields above contain these numbers.
const _: () = assert!(matches!((NDCG_CUT, RECALL_CUTS), (10, [1, 5, 10])));

impl From<MeanMetrics> for RankingFigures {
    fn from(figures: MeanMetrics) -> Self {
        let MeanMetrics { queries, ndcg, recall: [recall_at_1, recall_at_5, recall_at_10], reciprocal_rank } =
            figures;
        Self { queries, ndcg, recall_at_1, recall_at_5, recall_at_10, mrr: reciprocal_rank }
    }
}

/// Percentiles of the time to rank a query, in milliseconds.
#[derive(JsonSchema, Serialize)]
pub(super) struct LatencyPercentiles {
    /// Median; null without queries.
    pub(super) p50: Option<f64>,
    /// 99th percentile; null without queries.
    pub(super) p99: Option<f64>,
}

/// The size of answers of `search_index`.
#[derive(JsonSchema, Serialize)]
pub(super) struct AnswerTokens {
    /// Mean in tokens; null without answers.
    pub(super) mean: Option<f64>,
    /// Number of answers.
    pub(super) answers: usize,
    /// Calls that failed.
    pub(super) failed: usize,
}

/// A target that does not exist.
#[derive(JsonSchema, Serialize)]
pub(super) struct MissingTarget<'a> {
    /// The name of its set.
    pub(super) set: &'a str,
    /// Its path.
    pub(super) path: &'a str,
}

/// A query and its ranks.
#[derive(JsonSchema, Serialize)]
pub(super) struct EvaluatedQuery<'a> {
    /// The name of its set.
    pub(super) set: &'a str,
    /// Its category in the set.
    pub(super) category: &'a str,
    /// Its text.
    pub(super) query: &'a str,
    /// Paths of its targets.
    pub(super) targets: &'a [String],
    /// Ranks of the targets that were found, in their order; 1 for the first file.
    pub(super) ranks: Vec<usize>,
    /// Normalised discounted cumulative gain of the first 10 files, 0 to 1.
    pub(super) ndcg: f64,
    /// Time of the ranking in milliseconds.
    pub(super) milliseconds: f64,
}

/// A set that was made from the history of a repository.
#[derive(JsonSchema, Serialize)]
pub(super) struct HistoryOfSet {
    /// The commit whose files are searched.
    pub(super) base: String,
    /// Later commits that were read.
    pub(super) commits: u64,
    /// True if there are more commits.
    pub(super) is_cut: bool,
    /// Commits that became a query.
    pub(super) queries: usize,
    /// Commits that became no query, counted by reason in words.
    pub(super) others: BTreeMap<&'static str, u64>,
}

/// A rule of the ranking, and the effect of its removal.
#[derive(JsonSchema, Serialize)]
pub(super) struct AblatedRule {
    /// Its name.
    pub(super) rule: &'static str,
    /// Its weight.
    pub(super) weight: f32,
    /// NDCG@10 without it, 0 to 1.
    pub(super) ndcg_without: f64,
    /// Difference to NDCG@10 with it; negative for a rule that helps.
    pub(super) difference: f64,
    /// Its evidence, in words.
    pub(super) about: &'static str,
}

impl From<&Ablated> for AblatedRule {
    fn from(ablated: &Ablated) -> Self {
        let Ablated { rule, weight, ndcg, difference } = *ablated;
        Self { rule: rule.name, weight, ndcg_without: ndcg, difference, about: rule.about }
    }
}

/// The measurement of lines.
#[derive(JsonSchema, Serialize)]
pub(super) struct LinesEvaluation<'a> {
    /// Requested tokens of code.
    pub(super) code_tokens: u64,
    /// Queries with known lines.
    pub(super) queries: usize,
    /// Queries without known lines, which were not used.
    pub(super) queries_without_lines: usize,
    /// Calls that failed, which count as empty answers.
    pub(super) failed: usize,
    /// The compared programs: `forage` first, then those of `--beside`.
    pub(super) ways: Vec<AnsweringWay<'a>>,
    /// The figures of `forage` by the language of the sets.
    pub(super) by_language: BTreeMap<&'a str, LanguageLineShares>,
    /// The answers of `forage`, in the format of `--beside`.
    pub(super) answers: Vec<&'a AnswerLines>,
}

/// Shares of lines, as means over queries, 0 to 1.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub(super) struct LineShares {
    /// Share of the right lines that are shown.
    pub(super) recall: f64,
    /// Share of the shown lines that are right.
    pub(super) precision: f64,
    /// The harmonic mean of both.
    pub(super) f1: f64,
    /// Share of the right files with a shown line.
    pub(super) files_shown: f64,
    /// Share of the right files that are named.
    pub(super) files_named: f64,
    /// Share of the changed lines with a shown line within 3 lines.
    pub(super) edits_seen: f64,
}

/// A program that answers the queries.
#[derive(JsonSchema, Serialize)]
pub(super) struct AnsweringWay<'a> {
    #[serde(flatten)]
    pub(super) shares: LineShares,
    /// Its name.
    pub(super) name: &'a str,
    /// Mean size of its answers in tokens; 0 without answers.
    pub(super) tokens: f64,
    /// The difference between `forage` and this program; only for those of `--beside`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) forage_less_this: Option<WayDifferences>,
    /// Queries that it has answered; only for those of `--beside`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answers: Option<usize>,
}

/// The lines of a language.
#[derive(JsonSchema, Serialize)]
pub(super) struct LanguageLineShares {
    #[serde(flatten)]
    pub(super) shares: LineShares,
    /// The number of queries.
    pub(super) queries: usize,
}

/// Differences between two programs.
#[derive(JsonSchema, Serialize)]
pub(super) struct WayDifferences {
    /// Difference of the recall.
    pub(super) recall: FigureDifference,
    /// Difference of F1.
    pub(super) f1: FigureDifference,
    /// Difference of the share of changed lines.
    pub(super) edits_seen: FigureDifference,
}

/// A difference between two programs on the same queries.
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Serialize)]
pub(super) struct FigureDifference {
    /// Mean over the queries.
    pub(super) mean: f64,
    /// Lower end of the 95 % interval.
    pub(super) low: f64,
    /// Upper end of the 95 % interval.
    pub(super) high: f64,
    /// Queries with a difference above 0.
    pub(super) better: usize,
    /// Queries with a difference below 0.
    pub(super) worse: usize,
}

/// The lines of an answer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub(super) struct AnswerLines {
    /// The name of the query's set.
    pub(super) set: String,
    /// The commit of the query, or its text.
    #[serde(alias = "query")]
    pub(super) commit: String,
    /// Paths in the answer, in order.
    pub(super) files: Vec<String>,
    /// Shown lines by path, as ranges from 1.
    pub(super) shown: FileLines,
    /// Its size in tokens.
    #[serde(default)]
    pub(super) tokens: u64,
}

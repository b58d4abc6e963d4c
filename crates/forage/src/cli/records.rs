//! The `--json` records of commands other than tools. They are a stable interface for scripts, and
//! `forage schema` prints their schemas.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// Of `forage index status`, for a directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexStatus<'a> {
    /// The directory.
    pub(super) root: String,
    /// Where the index is kept.
    pub(super) directory: String,
    /// Whether there is one that can be used.
    pub(super) exists: bool,
    /// How far another process has come that is building it; null when none is.
    pub(super) being_built: Option<BeingBuilt>,
    /// Its size.
    pub(super) bytes: u64,
    /// How much of it is as the files are now; null without an index.
    pub(super) files: Option<IndexedFiles>,
    /// Why what there is can't be used.
    pub(super) problems: &'a [String],
    /// How far servers have come with reading all files again.
    pub(super) reread: RereadFiles,
    /// The size of the ranked index; null when there is none.
    pub(super) ranked_bytes: Option<u64>,
}

/// An index that is being built.
#[derive(JsonSchema, Serialize)]
pub(super) struct BeingBuilt {
    /// Files so far.
    pub(super) files: u64,
}

/// Files of an index.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexedFiles {
    /// Those that are as the index has seen them; all others are read by each search.
    pub(super) as_indexed: u64,
    /// All that there are.
    pub(super) all: u64,
}

/// Files that were read again behind an index.
#[derive(JsonSchema, Serialize)]
pub(super) struct RereadFiles {
    /// Files of this round.
    pub(super) files: u64,
    /// When the round began, in seconds since 1970; 0 before the first.
    pub(super) began: u64,
    /// When the last whole round ended, likewise.
    pub(super) ended: u64,
    /// Files that were other than the index said, ever.
    pub(super) different: u64,
}

/// Of `forage index build`, for a directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexBuilt {
    /// The directory.
    pub(super) root: String,
    /// `built` or `updated`.
    pub(super) done: &'static str,
    /// Files that were read for it.
    pub(super) files_read: u64,
    /// Files that are not in it as they are now, which searches read.
    pub(super) files_not_as_indexed: u64,
    /// Its size.
    pub(super) bytes: u64,
}

/// Of `forage index build --ranked`, for a directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct RankedIndexBuilt {
    /// The directory.
    pub(super) root: String,
    /// Files that it has.
    pub(super) files: u64,
    /// Files that were read for it now.
    pub(super) files_read: u64,
    /// Its size.
    pub(super) bytes: u64,
}

/// Of `forage index drop`, for a directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexRemoved {
    /// The directory.
    pub(super) root: String,
    /// Whether there was one.
    pub(super) removed: bool,
}

/// Of `forage index verify`, for a directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexVerified<'a> {
    /// The directory.
    pub(super) root: String,
    /// Files whose text was compared with what the index says of it.
    pub(super) files: u64,
    /// Bytes of them.
    pub(super) bytes: u64,
    /// Files that are not as the index says.
    pub(super) different_files: u64,
    /// The first of them.
    pub(super) first_different_files: Vec<String>,
    /// Searches that were run with the index and without it.
    pub(super) queries: usize,
    /// Lines that they found.
    pub(super) matching_lines: u64,
    /// Whether nothing is different.
    pub(super) equal: bool,
    /// Patterns that found something else with the index.
    pub(super) different: &'a [String],
}

/// Of `forage sparse index`, for a directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct CollectionFilled<'a> {
    /// The collection.
    pub(super) collection: String,
    /// What the directory is called there.
    pub(super) repo: &'a str,
    /// Files that were written.
    pub(super) files_written: u64,
    /// Files that were there as they are.
    pub(super) files_unchanged: u64,
    /// Files that are gone and were taken out.
    pub(super) files_removed: u64,
    /// Pieces of files that were written. With an `error` nothing is counted, and some may have been.
    pub(super) chunks_written: u64,
    /// Secrets that were taken out of them.
    pub(super) secrets_redacted: u64,
    /// Files that were left out, counted by reason.
    pub(super) skipped: BTreeMap<&'static str, u64>,
    /// Sentences about what went wrong without ending it.
    pub(super) warnings: &'a [String],
    /// Wall time in milliseconds.
    pub(super) elapsed_ms: u64,
    /// Whether the directory is as it was when it was last indexed, so that nothing was read or compared.
    pub(super) as_before: bool,
}

/// Of `forage sparse status`.
#[derive(JsonSchema, Serialize)]
pub(super) struct CollectionStatus {
    /// The collection.
    pub(super) collection: String,
    /// Whether it is there; else there is nothing more to say of it.
    pub(super) exists: bool,
    /// Pieces of files that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) points: Option<u64>,
    /// How they are encoded, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) encoding: Option<String>,
    /// Its sparse vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sparse_vectors: Option<Vec<SparseVectorStatus>>,
}

/// A sparse vector of a collection.
#[derive(JsonSchema, Serialize)]
pub(super) struct SparseVectorStatus {
    /// Its name.
    pub(super) name: String,
    /// Whether the store weighs words by their rarity, without which lookups are refused.
    pub(super) idf: bool,
}

/// Of `forage sparse drop`.
#[derive(JsonSchema, Serialize)]
pub(super) struct CollectionRemoved {
    /// The collection.
    pub(super) collection: String,
    /// Whether there was one.
    pub(super) removed: bool,
}

/// Of `forage models`.
#[derive(JsonSchema, Serialize)]
pub(super) struct ModelsStatus<'a> {
    /// The day of the built-in facts about models.
    pub(super) facts_as_of: &'a str,
    /// The providers that are known.
    pub(super) providers: Vec<ProviderStatus<'a>>,
    /// The models that are asked because they are named; null where models are chosen.
    pub(super) named: Option<NamedModels<'a>>,
    /// What would be asked for `filter` and for `agent`, where models are chosen.
    pub(super) roles: BTreeMap<&'static str, RoleModels<'a>>,
    /// What came of asking them; with `--check` only.
    pub(super) checks: Vec<ModelCheck<'a>>,
}

/// A provider of models.
#[derive(JsonSchema, Serialize)]
pub(super) struct ProviderStatus<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// The protocol that it speaks.
    pub(super) wire: &'static str,
    /// In words, who says so.
    pub(super) configured_by: &'static str,
    /// Its address.
    pub(super) base_url: Option<&'a str>,
    /// The variable that the address is from.
    pub(super) base_url_variable: Option<&'a str>,
    /// The variables that its key is looked for in.
    pub(super) key_variables: &'a [String],
    /// The one that has it.
    pub(super) key_variable: Option<&'a str>,
    /// Whether it runs on this machine.
    pub(super) local: bool,
    /// Why it can't be asked.
    pub(super) obstacle: Option<&'a str>,
    /// Models that it lists.
    pub(super) listed_models: Option<usize>,
    /// In words, where that list is from.
    pub(super) list: Option<&'a str>,
}

/// Models that are named rather than chosen.
#[derive(JsonSchema, Serialize)]
pub(super) struct NamedModels<'a> {
    /// What names them.
    pub(super) by: &'a str,
    /// Their names, `provider/model`.
    pub(super) models: &'a [String],
}

/// What would be asked for a purpose.
#[derive(JsonSchema, Serialize)]
pub(super) struct RoleModels<'a> {
    /// Those that can be asked, the best first; the first 50.
    pub(super) candidates: Vec<CandidateStatus<'a>>,
    /// All of them.
    pub(super) candidate_count: usize,
    /// Those that are not asked, by reason.
    pub(super) passed_over: Vec<PassedOverModels<'a>>,
}

/// A model that can be asked.
#[derive(JsonSchema, Serialize)]
pub(super) struct CandidateStatus<'a> {
    /// Its provider.
    pub(super) provider: &'a str,
    /// Its name.
    pub(super) model: &'a str,
    /// Why it has its place.
    pub(super) reason: &'a str,
    /// 1 for the first to be asked; null for those that are not.
    pub(super) asked: Option<usize>,
    /// US dollars for a million tokens that it reads.
    pub(super) input_price: Option<f64>,
    /// US dollars for a million tokens that it writes.
    pub(super) output_price: Option<f64>,
    /// Tokens that it takes.
    pub(super) context_tokens: Option<u64>,
}

/// Models of a provider that are passed over for one reason.
#[derive(JsonSchema, Serialize)]
pub(super) struct PassedOverModels<'a> {
    /// The provider.
    pub(super) provider: &'a str,
    /// The first 50 of them.
    pub(super) models: Vec<&'a String>,
    /// All of them.
    pub(super) model_count: usize,
    /// The reason.
    pub(super) reason: &'a str,
}

/// What came of asking a model for one word.
#[derive(JsonSchema, Serialize)]
pub(super) struct ModelCheck<'a> {
    /// Its name, `provider/model`.
    pub(super) model: &'a str,
    /// Whether it answered.
    pub(super) works: bool,
    /// The same in words.
    pub(super) status: String,
    /// Wall time in milliseconds.
    pub(super) elapsed_ms: u64,
    /// Tokens that it read, where it says so.
    pub(super) input_tokens: Option<u64>,
    /// Tokens that it wrote.
    pub(super) output_tokens: Option<u64>,
    /// US dollars, where the price is known.
    pub(super) cost_usd: Option<f64>,
}

/// Of `forage telemetry`.
#[derive(JsonSchema, Serialize)]
pub(super) struct TelemetrySums<'a> {
    /// What `--since` says, as a time.
    pub(super) since: Option<&'a str>,
    /// Lines that were read.
    pub(super) lines: u64,
    /// Those that are no events.
    pub(super) unreadable_lines: u64,
    /// All calls together.
    pub(super) total: &'a CallSums,
    /// By tool.
    pub(super) tools: Vec<ToolSums<'a>>,
    /// By model: its requests.
    pub(super) models: Vec<ModelSums<'a>>,
    /// By day.
    pub(super) days: Vec<DaySums<'a>>,
}

/// Calls together.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub(super) struct CallSums {
    /// Calls.
    pub(super) calls: u64,
    /// Those that ended with an error.
    pub(super) errors: u64,
    /// The time that half of them were within, in milliseconds; null when none is known.
    pub(super) p50_ms: Option<u64>,
    /// The time that 95 % of them were within.
    pub(super) p95_ms: Option<u64>,
    /// Tokens that models read.
    pub(super) input_tokens: u64,
    /// Those of them that the provider had kept.
    pub(super) cached_input_tokens: u64,
    /// Tokens that models wrote.
    pub(super) output_tokens: u64,
    /// US dollars.
    pub(super) cost_usd: f64,
    /// Requests whose cost is not known, so that `cost_usd` is a lower bound.
    pub(super) requests_without_cost: u64,
    #[serde(skip)]
    pub(super) latencies: Vec<u64>,
}

/// Calls of a tool together.
#[derive(JsonSchema, Serialize)]
pub(super) struct ToolSums<'a> {
    #[serde(flatten)]
    pub(super) sums: &'a CallSums,
    /// The tool.
    pub(super) tool: &'a str,
}

/// Requests to a model together.
#[derive(JsonSchema, Serialize)]
pub(super) struct ModelSums<'a> {
    #[serde(flatten)]
    pub(super) sums: &'a CallSums,
    /// The model, `provider/model`.
    pub(super) model: &'a str,
}

/// Calls of a day together.
#[derive(JsonSchema, Serialize)]
pub(super) struct DaySums<'a> {
    #[serde(flatten)]
    pub(super) sums: &'a CallSums,
    /// The day, in UTC.
    pub(super) day: &'a str,
}

/// Of `forage tools --cost`: about how many tokens a model reads before its first call.
#[derive(JsonSchema, Serialize)]
pub(super) struct ToolCosts {
    /// Tokens of the definition of each tool, by its name.
    pub(super) tools: BTreeMap<&'static str, u64>,
    /// Tokens of all definitions.
    pub(super) all_definitions: u64,
    /// Tokens of the server's instructions.
    pub(super) instructions: u64,
}

/// A setting of `forage config`, by its name.
#[derive(JsonSchema, Serialize)]
pub(super) struct SettingInEffect {
    /// Its value.
    pub(super) value: Value,
    /// What it is from.
    pub(super) source: String,
}

impl SettingInEffect {
    /// Returns a setting with its key.
    pub(super) fn named((key, value, source): (&'static str, Option<toml::Value>, &str)) -> (String, Self) {
        (key.to_owned(), Self { value: json!(value), source: source.to_owned() })
    }
}

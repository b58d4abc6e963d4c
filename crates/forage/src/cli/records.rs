//! The `--json` records of commands that are not tools. Scripts rely on them, so they must stay stable.
//! `forage schema` prints their schemas.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// State of the index of a directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexStatus<'a> {
    /// The directory.
    pub(super) root: String,
    /// The directory of the index.
    pub(super) directory: String,
    /// True if there is a usable index.
    pub(super) exists: bool,
    /// Progress of another process that is building the index, or null.
    pub(super) being_built: Option<BeingBuilt>,
    /// Its size.
    pub(super) bytes: u64,
    /// Counts of files that are up to date; null without an index.
    pub(super) files: Option<IndexedFiles>,
    /// Reasons why the index can't be used.
    pub(super) problems: &'a [String],
    /// Progress of the background check that rereads all files.
    pub(super) reread: RereadFiles,
    /// Size of the ranked index; null without one.
    pub(super) ranked_bytes: Option<u64>,
}

/// An index that another process is building.
#[derive(JsonSchema, Serialize)]
pub(super) struct BeingBuilt {
    /// Number of files so far.
    pub(super) files: u64,
}

/// Counts of the files of an index.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexedFiles {
    /// Files that are up to date in the index; searches read all others.
    pub(super) as_indexed: u64,
    /// All files.
    pub(super) all: u64,
}

/// The check of an index in the background.
#[derive(JsonSchema, Serialize)]
pub(super) struct RereadFiles {
    /// Files that were read in this round.
    pub(super) files: u64,
    /// Start of the round in seconds since 1970; 0 before the first.
    pub(super) began: u64,
    /// End of the last complete round in seconds since 1970; 0 before the first.
    pub(super) ended: u64,
    /// Files that ever differed from the index.
    pub(super) different: u64,
}

/// The updated index of a directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexBuilt {
    /// The directory.
    pub(super) root: String,
    /// `built` or `updated`.
    pub(super) done: &'static str,
    /// Files that were read.
    pub(super) files_read: u64,
    /// Files that are not up to date in the index, so searches read them.
    pub(super) files_not_as_indexed: u64,
    /// Its size.
    pub(super) bytes: u64,
}

/// The updated ranked index of a directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct RankedIndexBuilt {
    /// The directory.
    pub(super) root: String,
    /// Number of files.
    pub(super) files: u64,
    /// Files that were read now.
    pub(super) files_read: u64,
    /// Its size.
    pub(super) bytes: u64,
}

/// The removed index of a directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexRemoved {
    /// The directory.
    pub(super) root: String,
    /// True if there was one.
    pub(super) removed: bool,
}

/// Comparison of an index with the files.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexVerified<'a> {
    /// The directory.
    pub(super) root: String,
    /// Files whose text was compared with the index.
    pub(super) files: u64,
    /// Bytes of these files.
    pub(super) bytes: u64,
    /// Files that differ from the index.
    pub(super) different_files: u64,
    /// The first of these files.
    pub(super) first_different_files: Vec<String>,
    /// Searches that were run with and without the index.
    pub(super) queries: usize,
    /// Lines that these searches found.
    pub(super) matching_lines: u64,
    /// True if nothing differs.
    pub(super) equal: bool,
    /// Patterns with different results.
    pub(super) different: &'a [String],
}

/// Update of a collection with a directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct CollectionFilled<'a> {
    /// The collection.
    pub(super) collection: String,
    /// The repository's name in the collection.
    pub(super) repo: &'a str,
    /// Files that were written.
    pub(super) files_written: u64,
    /// Files that were already up to date.
    pub(super) files_unchanged: u64,
    /// Deleted files that were removed from the collection.
    pub(super) files_removed: u64,
    /// Chunks that were written. With an `error` the count is missing.
    pub(super) chunks_written: u64,
    /// Secrets that were removed.
    pub(super) secrets_redacted: u64,
    /// Files that were skipped, by reason.
    pub(super) skipped: BTreeMap<&'static str, u64>,
    /// Problems that did not end the command.
    pub(super) warnings: &'a [String],
    /// Wall time in milliseconds.
    pub(super) elapsed_ms: u64,
    /// True if the directory has not changed, so that nothing was read.
    pub(super) as_before: bool,
}

/// State of a collection.
#[derive(JsonSchema, Serialize)]
pub(super) struct CollectionStatus {
    /// The collection.
    pub(super) collection: String,
    /// True if the collection exists; the other fields are absent otherwise.
    pub(super) exists: bool,
    /// Number of chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) points: Option<u64>,
    /// The recorded encoding.
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
    /// True if the store weights words by their rarity; lookups require this.
    pub(super) idf: bool,
}

/// The removed collection or repository.
#[derive(JsonSchema, Serialize)]
pub(super) struct CollectionRemoved {
    /// The collection.
    pub(super) collection: String,
    /// True if there was one.
    pub(super) removed: bool,
}

/// Providers, models, and which of them is chosen.
#[derive(JsonSchema, Serialize)]
pub(super) struct ModelsStatus<'a> {
    /// The day of the built-in facts about models.
    pub(super) facts_as_of: &'a str,
    /// The known providers.
    pub(super) providers: Vec<ProviderStatus<'a>>,
    /// The models that you named; null if models are chosen.
    pub(super) named: Option<NamedModels<'a>>,
    /// The chosen models of the roles `filter` and `agent`.
    pub(super) roles: BTreeMap<&'static str, RoleModels<'a>>,
    /// The results of the check; only with `--check`.
    pub(super) checks: Vec<ModelCheck<'a>>,
}

/// A provider of models.
#[derive(JsonSchema, Serialize)]
pub(super) struct ProviderStatus<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Its protocol.
    pub(super) wire: &'static str,
    /// The source of its settings, in words.
    pub(super) configured_by: &'static str,
    /// Its address.
    pub(super) base_url: Option<&'a str>,
    /// The variable with its address.
    pub(super) base_url_variable: Option<&'a str>,
    /// The variables that may have its key.
    pub(super) key_variables: &'a [String],
    /// The variable that has its key.
    pub(super) key_variable: Option<&'a str>,
    /// True if it runs on this machine.
    pub(super) local: bool,
    /// The reason why it can't be asked.
    pub(super) obstacle: Option<String>,
    /// Number of models in its list.
    pub(super) listed_models: Option<usize>,
    /// The source of the list, in words.
    pub(super) list: Option<&'a str>,
}

/// Models that you named.
#[derive(JsonSchema, Serialize)]
pub(super) struct NamedModels<'a> {
    /// The setting, option or variable that names them.
    pub(super) by: &'a str,
    /// Their names, as `provider/model`.
    pub(super) models: &'a [String],
}

/// The models for a role.
#[derive(JsonSchema, Serialize)]
pub(super) struct RoleModels<'a> {
    /// The first 50 candidates, best first.
    pub(super) candidates: Vec<CandidateStatus<'a>>,
    /// Number of all of them.
    pub(super) candidate_count: usize,
    /// Models that are not asked, by reason.
    pub(super) passed_over: Vec<PassedOverModels<'a>>,
}

/// A model that can be asked.
#[derive(JsonSchema, Serialize)]
pub(super) struct CandidateStatus<'a> {
    /// Its provider.
    pub(super) provider: &'a str,
    /// Its name.
    pub(super) model: &'a str,
    /// The reason for its place.
    pub(super) reason: &'a str,
    /// Its place, 1 for the first model to be asked; null if it is not asked.
    pub(super) asked: Option<usize>,
    /// US dollars per million input tokens.
    pub(super) input_price: Option<f64>,
    /// US dollars per million output tokens.
    pub(super) output_price: Option<f64>,
    /// Size of its context in tokens.
    pub(super) context_tokens: Option<u64>,
}

/// Models of a provider that are skipped for the same reason.
#[derive(JsonSchema, Serialize)]
pub(super) struct PassedOverModels<'a> {
    /// The provider.
    pub(super) provider: &'a str,
    /// The first 50 of these models.
    pub(super) models: Vec<&'a String>,
    /// Number of all of them.
    pub(super) model_count: usize,
    /// The reason.
    pub(super) reason: &'a str,
}

/// The result of a request for one word.
#[derive(JsonSchema, Serialize)]
pub(super) struct ModelCheck<'a> {
    /// Its name, as `provider/model`.
    pub(super) model: &'a str,
    /// True if it answered.
    pub(super) works: bool,
    /// The result in words.
    pub(super) status: String,
    /// Wall time in milliseconds.
    pub(super) elapsed_ms: u64,
    /// Input tokens, if the provider reports them.
    pub(super) input_tokens: Option<u64>,
    /// Output tokens, if the provider reports them.
    pub(super) output_tokens: Option<u64>,
    /// Cost in US dollars, if the price is known.
    pub(super) cost_usd: Option<f64>,
}

/// Sums of calls.
#[derive(JsonSchema, Serialize)]
pub(super) struct TelemetrySums<'a> {
    /// The time of `--since`.
    pub(super) since: Option<&'a str>,
    /// Lines that were read.
    pub(super) lines: u64,
    /// Lines that are not events.
    pub(super) unreadable_lines: u64,
    /// Sums of all calls.
    pub(super) total: &'a CallSums,
    /// By tool.
    pub(super) tools: Vec<ToolSums<'a>>,
    /// By model: its requests.
    pub(super) models: Vec<ModelSums<'a>>,
    /// By day.
    pub(super) days: Vec<DaySums<'a>>,
}

/// Sums of calls.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub(super) struct CallSums {
    /// Number of calls.
    pub(super) calls: u64,
    /// Calls that ended with an error.
    pub(super) errors: u64,
    /// Median time in milliseconds; null if unknown.
    pub(super) p50_ms: Option<u64>,
    /// 95th percentile of the time in milliseconds; null if unknown.
    pub(super) p95_ms: Option<u64>,
    /// Input tokens.
    pub(super) input_tokens: u64,
    /// Input tokens from the provider's cache.
    pub(super) cached_input_tokens: u64,
    /// Output tokens.
    pub(super) output_tokens: u64,
    /// US dollars.
    pub(super) cost_usd: f64,
    /// Requests with an unknown cost; `cost_usd` is then a lower bound.
    pub(super) requests_without_cost: u64,
    #[serde(skip)]
    pub(super) latencies: Vec<u64>,
}

/// Sums of the calls of a tool.
#[derive(JsonSchema, Serialize)]
pub(super) struct ToolSums<'a> {
    #[serde(flatten)]
    pub(super) sums: &'a CallSums,
    /// The tool.
    pub(super) tool: &'a str,
}

/// Sums of the requests to a model.
#[derive(JsonSchema, Serialize)]
pub(super) struct ModelSums<'a> {
    #[serde(flatten)]
    pub(super) sums: &'a CallSums,
    /// The model, as `provider/model`.
    pub(super) model: &'a str,
}

/// Sums of the calls of a day.
#[derive(JsonSchema, Serialize)]
pub(super) struct DaySums<'a> {
    #[serde(flatten)]
    pub(super) sums: &'a CallSums,
    /// The day, in UTC.
    pub(super) day: &'a str,
}

/// Estimated tokens that a model reads before its first call.
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
    /// Its source.
    pub(super) source: String,
}

impl SettingInEffect {
    /// Converts a setting to a pair of its key and its record.
    pub(super) fn named((key, value, source): (&'static str, Option<toml::Value>, &str)) -> (String, Self) {
        (key.to_owned(), Self { value: json!(value), source: source.to_owned() })
    }
}

//! The table of settings. It declares each key once, with its type, default, range, check, variable and
//! option. We derive everything else from it: reading, merging, checks, `forage config`, the JSON Schema and
//! the documentation page.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use forage_llm::{FactSettings, ProviderSettings, RoleTable};
use forage_lookup::Language;
use forage_mcp::{OutputForm, ToolSet};
use forage_tools::registry::{TOOLS, is_name, setting};
use forage_tools::{
    EvidenceForm, FilterBreadth, FilterCandidates, FilterMode, LookupSettings, OnModelFailure, limits,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use toml::Value;

use super::ask::{AgentServer, wrong_server};
use super::models::ModelSetting;
use super::settings::{InvalidValue, Row, SettingsCommand, schema_of, settings};
use super::tools::wrong_description;
use super::user_path::UserPath;

settings! {
    /// All settings in effect.
    Settings {
        at "" {
            /// Roots: nothing outside of them is read [default: the enclosing git repository, else the working directory]
            roots: Vec<UserPath> = Vec::<PathBuf>::new();
            /// Allow `/`, the home directory and its parents as roots.
            allow_broad_root: bool = false;
            /// Use of the [index](instant-index.md).
            index: IndexUse = "auto", from "FORAGE_INDEX";
            /// The kernel's sandbox (Landlock); `"auto"` excludes plain `grep`, `files` and `list`.
            sandbox: Sandbox = "auto";
            /// Answer of `keyword_search` if no model answers.
            on_model_failure: OnModelFailure = "error", from "FORAGE_ON_MODEL_FAILURE";
            /// Time limit for an answer of a model in milliseconds
            model_timeout_ms: u64 = milliseconds(limits::MODEL_TIMEOUT), in 100..=600_000,
                option "model-timeout-ms" "MS" for Ask;
            /// [Models](models.md) by name, asked in this order.
            models: Vec<ModelSetting> = Vec::<()>::new();
            /// Additional or changed [providers](models.md).
            providers: BTreeMap<String, ProviderSettings> as BTreeMap<String, Map<String, Json>>;
            /// [Models](models.md) of each role.
            roles: RoleTable as Map<String, Json>;
            /// Facts about [models](models.md).
            model_facts: Vec<FactSettings> as Vec<Map<String, Json>>;
        }
        tables {
            limits: Limits, search: Searches, secrets: Secrets, filter: Filter, tools: BTreeMap<String, Tool>,
            retrieval: Retrieval, telemetry: TelemetryFile, journal: JournalSettings, ask: Ask, mcp: Mcp, hook: Hook,
        }
    }

    /// `[limits]`.
    Limits {
        at "limits." {
            /// Time limit of a search in milliseconds
            timeout_ms: u64 = milliseconds(limits::TIMEOUT), in limits::TIMEOUT_MS_RANGE, from "FORAGE_TIMEOUT_MS",
                option "timeout-ms" "MS" for Every;
            /// Maximum size of a text answer in bytes [default: 40000, or the limit of the client]
            text_bytes: Option<usize>, in limits::TEXT_BYTES_MIN..=limits::TEXT_BYTES_MAX, from "FORAGE_TEXT_BYTES",
                option "text-bytes" "BYTES" for Every;
            /// Skip larger files
            max_file_bytes: Option<u64>, from "FORAGE_MAX_FILE_BYTES", option "max-file-bytes" "BYTES" for Every;
            /// Worker threads; 0 for one per processor
            threads: usize = 0, in limits::THREADS_RANGE, from "FORAGE_THREADS", option "threads" "N" for Every;
        }
    }

    /// `[search]`.
    Searches {
        at "search." {
            /// Globs of files to exclude from every search.
            exclude: Vec<String> = Vec::<String>::new();
            /// Let `dep:NAME` read the sources of [dependencies](dependencies.md), also outside of the roots.
            dependencies: bool = true;
        }
    }

    /// `[secrets]`.
    Secrets {
        at "secrets." {
            /// Names or paths of files that only look like secrets.
            allow: Vec<String> = Vec::<String>::new();
            /// Remove secrets from text for models, agents and servers.
            redact: bool = true;
        }
    }

    /// `[filter]`: how `keyword_search` asks its model: see [keyword-search.md](keyword-search.md).
    Filter {
        at "filter." {
            /// Select the relevant files with a model, or by a ranking
            mode: FilterMode = "model", from "FORAGE_FILTER", option "filter" "MODE" for Keyword;
            /// Candidates: only files with a matching term, or also the best files of a ranking
            candidates: FilterCandidates = "terms", from "FORAGE_FILTER_CANDIDATES",
                option "candidates" "FROM" for Keyword;
            /// Broad terms: show fewer of their lines, or drop the terms
            breadth: FilterBreadth = "adaptive", from "FORAGE_FILTER_BREADTH", option "breadth" "RULE" for Keyword;
            /// Form of the evidence for the model.
            evidence: EvidenceForm = "requirement";
            /// Token budget for compact evidence.
            evidence_tokens: usize = limits::EVIDENCE_TOKENS,
                in limits::EVIDENCE_TOKENS_MIN..=limits::EVIDENCE_TOKENS_MAX;
            /// Form of the model's answer.
            answer: AnswerWord = "paths";
            /// Cache answers of models.
            cache: bool = false;
        }
    }

    /// `[tools.NAME]`: how a tool is offered to agents. Settings that only one tool has are empty for the
    /// others.
    Tool {
        at "tools.NAME." {
            /// Offer the tool to agents.
            enabled: bool = false;
            /// Name of the tool.
            name: Option<String>, check wrong_name;
            /// Description for models.
            description: Option<String>, check wrong_description;
        }
        at "tools.search_index." {
            /// Default tokens of code for agents; 0 for none.
            code_tokens: u64 = limits::CODE_TOKENS, in 0..=limits::CODE_TOKENS_MAX;
        }
        at "tools.search." {
            /// Engine of the tool `Search`; a configured `binary` or `fallback_binary` selects `external`
            engine: EngineName = "embedded", option "engine" "ENGINE" for Search;
            /// External engine, by name or absolute path.
            binary: String = "ugrep";
            /// External engine if `binary` can't run.
            fallback_binary: String = "rg";
            /// Default time limit of `Search` in milliseconds.
            default_timeout_ms: u64 = milliseconds(limits::TIMEOUT),
                in limits::SEARCH_TIMEOUT_MS_MIN..=limits::SEARCH_TIMEOUT_MS_MAX;
            /// Default lines of `Search`.
            default_max_results: u64 = limits::SEARCH_RESULTS, in 1..=limits::SEARCH_RESULTS_MAX;
        }
    }

    /// `[retrieval]`: the tool `keyword_lookup` and its collection: see [lookup.md](lookup.md).
    Retrieval {
        at "retrieval." {
            /// Offer `keyword_lookup` to agents.
            enable_keyword_tool: bool = false;
            /// Address of the Qdrant server [default: QDRANT_URL, else the embedded store]
            url: Option<String>;
            /// Send the key over plain http.
            allow_plain_key: bool = false;
            /// Directory of the embedded store [default: `~/.local/share/forage/collections`]
            directory: Option<UserPath>;
            /// Name of the collection
            collection: String = "code", check wrong_collection, option "collection" "NAME" for Lookup Collection;
            /// Name of the sparse vector.
            vector: String = LookupSettings::VECTOR;
            /// [Word weights](lookup.md#collections-that-others-made) in a collection without the IDF modifier.
            idf: IdfSetting = "auto";
            /// Encoder of queries and collections
            encoder: EncoderName = "auto", option "encoder" "NAME" for Encode;
            /// Language of the words [default: english]
            language: Option<String>, check wrong_language, option "language" "NAME" for Encode;
            /// Keep words unchanged, including stop words
            disable_stemmer: bool = false, option "disable-stemmer" "" for Encode;
            /// Payload fields in answers; `*` for all.
            payload: Vec<String> = LookupSettings::PAYLOAD;
            /// Payload field with the text.
            text_field: String = LookupSettings::TEXT_FIELD;
            /// Time limit of a lookup in milliseconds, including retries.
            timeout_ms: u64 = limits::LOOKUP_TIMEOUT_MS, in limits::LOOKUP_TIMEOUT_MS_RANGE;
        }
    }

    /// `[telemetry]`: see [telemetry.md](telemetry.md).
    TelemetryFile {
        at "telemetry." {
            /// File for [telemetry](telemetry.md).
            path: Option<UserPath>;
        }
    }

    /// `[journal]`: the record of calls for `forage ui`: see [ui.md](ui.md).
    JournalSettings {
        at "journal." {
            /// Show the last 500 calls of running processes in `forage ui`.
            live: bool = true;
            /// File for the calls and their arguments, for [`forage ui`](ui.md).
            path: Option<UserPath>;
            /// Format of this file.
            format: JournalFormat = "records";
        }
    }

    /// `[hook]`: see [unknown-repository.md](unknown-repository.md#a-map).
    Hook {
        at "hook." {
            /// Tokens of the [map](unknown-repository.md#a-map) that the hook for the start of a session adds: 100 to 20000,
            /// for example 600, or 0 for none.
            map_tokens: i64 = 0, check wrong_map_tokens;
        }
    }

    /// `[ask]`: the limits of a conversation with the agent: see [ask.md](ask.md).
    Ask {
        at "ask." {
            /// Turns of the model, including the answer
            turns: u64 = forage_agent::Limits::default().turns, in 1..=100, option "turns" "N" for Ask;
            /// Total time limit in milliseconds
            total_ms: u64 = milliseconds(forage_agent::Limits::default().total), in 1_000..=3_600_000,
                option "total-ms" "MS" for Ask;
            /// File with your own [system prompt](ask.md#a-prompt-of-your-own).
            prompt_file: Option<UserPath>;
            /// Store conversations for `forage ask --continue`.
            keep: bool = true;
            /// [MCP servers](ask.md#tools-of-others) for the model, by name.
            servers: BTreeMap<String, AgentServer>, check wrong_server;
        }
    }

    /// `[mcp]`: the settings of the server: see [mcp.md](mcp.md).
    Mcp {
        at "mcp." {
            /// Text, or text and records
            output: OutputForm = "auto", option "output" "FORM" for Mcp;
            /// Directories in which a client may choose [roots](mcp.md#roots).
            client_roots: Option<Vec<UserPath>>;
            /// Prefix of the names of all tools in the server.
            prefix: String = "", check wrong_prefix;
            /// List of tools for clients.
            profile: ToolSet = "auto";
        }
    }
}

/// Builds the rows of all settings. Each tool has the common rows of `NAME`, and its own ones.
pub(super) fn rows() -> Vec<Row> {
    let (of_tools, mut rows): (Vec<Row>, Vec<Row>) =
        declared().into_iter().partition(|row| row.path.starts_with("tools."));
    for tool in TOOLS {
        let prefix = setting(tool.id(), "");
        for row in &of_tools {
            let mut row = Row { path: row.path.replacen("tools.NAME.", &prefix, 1), ..row.clone() };
            if row.path.ends_with(".enabled") {
                row.default = Some(tool.spec().is_on_by_default.into());
            }
            if row.path.starts_with(&prefix) {
                rows.push(row);
            }
        }
    }
    rows
}

/// The form of a model's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AnswerWord {
    #[default]
    Paths,
    Ids,
}

/// Whether searches use an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum IndexUse {
    #[default]
    Auto,
    Off,
    Always,
}

/// Which commands the kernel restricts to the resources that they need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sandbox {
    #[default]
    Auto,
    On,
    Off,
    Require,
}

/// The engine of `Search`; a program that is named has no fallback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EngineName {
    #[default]
    Embedded,
    External,
    Ugrep,
    Rg,
}

/// The form of a journal's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JournalFormat {
    #[default]
    Records,
    Otlp,
}

/// Source of the word weights in a collection without the IDF modifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum IdfSetting {
    #[default]
    Auto,
    Stored,
}

/// An encoder by name; `auto` is the one that the collection records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EncoderName {
    #[default]
    Auto,
    CodeSuperset,
    #[serde(rename = "fastembed-bm25")]
    Bm25,
    Bm42,
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Checks the name of a tool and returns its problem, if it has one.
fn wrong_name(name: &Option<String>) -> Option<String> {
    let name = name.as_deref().filter(|name| !is_name(name))?;
    Some(format!("{name:?} is not 1 to 64 letters, digits, `_` and `-`"))
}

/// Checks the name of a collection and returns its problem, if it has one. The rules are those for tool
/// names.
#[expect(clippy::ptr_arg, reason = "the type of the setting")]
fn wrong_collection(name: &String) -> Option<String> {
    (!is_name(name)).then(|| "give 1 to 64 letters, digits, `-` or `_`".to_owned())
}

/// Checks the tokens of a map. Fewer than the minimum name hardly anything.
fn wrong_map_tokens(tokens: &i64) -> Option<String> {
    let range = limits::LIST_MAP_TOKENS_MIN..=limits::LIST_MAP_TOKENS_MAX;
    let is_valid = *tokens == 0 || u64::try_from(*tokens).is_ok_and(|tokens| range.contains(&tokens));
    let (min, max) = (range.start(), range.end());
    (!is_valid).then(|| format!("{tokens} is out of range; give {min} to {max}, or 0 for none"))
}

fn wrong_language(name: &Option<String>) -> Option<String> {
    let name = name.as_deref().filter(|name| Language::parse(name).is_none())?;
    Some(format!("{name:?} is not one of {}", Language::ALL.map(Language::name).join(", ")))
}

fn wrong_prefix(prefix: &String) -> Option<String> {
    let is_part_of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (!prefix.chars().all(is_part_of_a_name) || prefix.len() > 32)
        .then(|| format!("{prefix:?} is not up to 32 letters, digits, `_` and `-`"))
}

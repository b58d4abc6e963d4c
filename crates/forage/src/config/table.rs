//! The table of settings. It declares each key once, with its type, default, range, check, variable and
//! option. Reading, merging, checks, `forage config`, its JSON Schema and the documentation page follow from
//! it.

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
use super::settings::{Row, SettingsCommand, Wrong, schema_of, settings};
use super::tools::wrong_description;
use super::user_path::UserPath;

settings! {
    /// All settings in effect.
    Settings {
        at "" {
            /// Directory beneath which files may be read; `--root` goes over it [default: the git root that holds the working
            /// directory, else the working directory]
            roots: Vec<UserPath> = Vec::<PathBuf>::new();
            /// Allow `/`, the home directory and its parents as roots.
            allow_broad_root: bool = false;
            /// Whether searches use an index, and whether they wait for one: see [instant-index.md](instant-index.md).
            index: IndexUse = "auto", from "FORAGE_INDEX";
            /// The kernel's sandbox around commands that read a repository (Linux, Landlock). `"auto"` leaves out plain
            /// `grep`, `files` and `list`, which only read text; `"on"` includes them.
            sandbox: Sandbox = "auto";
            /// What `keyword_search` does when no model answers.
            on_model_failure: OnModelFailure = "error", from "FORAGE_ON_MODEL_FAILURE";
            /// Time for an answer of a model in milliseconds
            model_timeout_ms: u64 = milliseconds(limits::MODEL_TIMEOUT), in 100..=600_000,
                option "model-timeout-ms" "MS" for Ask;
            /// Models by name, asked in this order: see [models.md](models.md).
            models: Vec<ModelSetting> = Vec::<()>::new();
            /// Providers that are added to the table, or changed in it: see [models.md](models.md).
            providers: BTreeMap<String, ProviderSettings> as BTreeMap<String, Map<String, Json>>;
            /// Which models a role takes: see [models.md](models.md).
            roles: RoleTable as Map<String, Json>;
            /// Facts about models: see [models.md](models.md).
            model_facts: Vec<FactSettings> as Vec<Map<String, Json>>;
        }
        tables {
            limits: Limits, search: Searches, secrets: Secrets, filter: Filter, tools: BTreeMap<String, Tool>,
            retrieval: Retrieval, telemetry: TelemetryFile, journal: JournalSettings, ask: Ask, mcp: Mcp,
        }
    }

    /// `[limits]`.
    Limits {
        at "limits." {
            /// Time limit of a search in milliseconds
            timeout_ms: u64 = milliseconds(limits::TIMEOUT), in limits::TIMEOUT_MS_RANGE, from "FORAGE_TIMEOUT_MS",
                option "timeout-ms" "MS" for Every;
            /// Bytes of a text answer, 2,000 to 100,000 [default: 40000]
            ///
            /// A server gives a client that shows less no more than that, unless this is set.
            text_bytes: Option<usize>, in limits::TEXT_BYTES_MIN..=limits::TEXT_BYTES_MAX, from "FORAGE_TEXT_BYTES",
                option "text-bytes" "BYTES" for Every;
            /// Leave larger files out of searches
            ///
            /// They are counted.
            max_file_bytes: Option<u64>, from "FORAGE_MAX_FILE_BYTES", option "max-file-bytes" "BYTES" for Every;
            /// Worker threads; 0 for one per processor
            threads: usize = 0, in limits::THREADS_RANGE, from "FORAGE_THREADS", option "threads" "N" for Every;
        }
    }

    /// `[search]`.
    Searches {
        at "search." {
            /// Globs of files that are left out of every search.
            exclude: Vec<String> = Vec::<String>::new();
        }
    }

    /// `[secrets]`.
    Secrets {
        at "secrets." {
            /// Names or paths of files that only look like secrets.
            allow: Vec<String> = Vec::<String>::new();
            /// Take secrets out of what a model, an agent or a server is given; people at a terminal see files as they are.
            redact: bool = true;
        }
    }

    /// `[filter]`: how `keyword_search` asks its model: see [keyword-search.md](keyword-search.md).
    Filter {
        at "filter." {
            /// Who keeps the relevant files: a model, or a deterministic ranking
            mode: FilterMode = "model", from "FORAGE_FILTER", option "filter" "MODE" for Keyword;
            /// Where the files come from: from lines that a term matches, or from a ranking besides
            candidates: FilterCandidates = "terms", from "FORAGE_FILTER_CANDIDATES",
                option "candidates" "FROM" for Keyword;
            /// What becomes of terms that match too much: less is shown of them, or they are left out by the requirement's rule
            breadth: FilterBreadth = "adaptive", from "FORAGE_FILTER_BREADTH", option "breadth" "RULE" for Keyword;
            /// The evidence that the model is shown.
            evidence: EvidenceForm = "requirement";
            /// Tokens of compact evidence.
            evidence_tokens: usize = limits::EVIDENCE_TOKENS,
                in limits::EVIDENCE_TOKENS_MIN..=limits::EVIDENCE_TOKENS_MAX;
            /// The form of the model's answer.
            answer: AnswerWord = "paths";
            /// Keep answers of models in the user's cache directory.
            cache: bool = false;
        }
    }

    /// `[tools.NAME]`: how a tool is offered to agents. Settings that only one tool has are empty for the others.
    Tool {
        at "tools.NAME." {
            /// Offer the tool to agents.
            enabled: bool = false;
            /// The name of the tool.
            name: Option<String>, check wrong_name;
            /// The description that models read in place of the tool's own.
            description: Option<String>, check wrong_description;
        }
        at "tools.search_index." {
            /// Tokens of code in an answer to a call of an agent that names no number; 0 for files and lines alone.
            code_tokens: u64 = limits::CODE_TOKENS, in 0..=limits::CODE_TOKENS_MAX;
        }
        at "tools.search." {
            /// Engine: `embedded` (ours), `external` (`binary`, then `fallback_binary`), `ugrep` or `rg`
            ///
            /// A configured `binary` or `fallback_binary` means `external`.
            engine: EngineName = "embedded", option "engine" "ENGINE" for Search;
            /// First external engine to look for, by name or absolute path.
            binary: String = "ugrep";
            /// External engine to use where `binary` can't run.
            fallback_binary: String = "rg";
            /// Time for a `Search` that names none, in milliseconds.
            default_timeout_ms: u64 = milliseconds(limits::TIMEOUT),
                in limits::SEARCH_TIMEOUT_MS_MIN..=limits::SEARCH_TIMEOUT_MS_MAX;
            /// Lines that a `Search` shows that names no number.
            default_max_results: u64 = limits::SEARCH_RESULTS, in 1..=limits::SEARCH_RESULTS_MAX;
        }
    }

    /// `[retrieval]`: the tool `keyword_lookup` and its collection: see [lookup.md](lookup.md).
    Retrieval {
        at "retrieval." {
            /// Offer `keyword_lookup` to agents; `tools.keyword_lookup.enabled` goes over it.
            enable_keyword_tool: bool = false;
            /// Address of the Qdrant server; without it that in QDRANT_URL. Without either, and where `directory` is set,
            /// collections are in a directory.
            url: Option<String>;
            /// Send the key over plain http.
            allow_plain_key: bool = false;
            /// Directory of the embedded store.
            directory: Option<UserPath>;
            /// Name of the collection
            collection: String = "code", check wrong_collection, option "collection" "NAME" for Lookup Collection;
            /// Name of the sparse vector. Where the collection has another one alone, that is searched, with a note.
            vector: String = LookupSettings::VECTOR;
            /// How rare words are in a collection without the IDF modifier: with `auto` Forage asks and weighs them itself, with
            /// `stored` all words count the same.
            idf: IdfSetting = "auto";
            /// Encoder
            encoder: EncoderName = "auto", option "encoder" "NAME" for Encode;
            /// Language of the words; english without it
            language: Option<String>, check wrong_language, option "language" "NAME" for Encode;
            /// Keep words as they are, stop words too
            disable_stemmer: bool = false, option "disable-stemmer" "" for Encode;
            /// Payload fields that are shown; `*` for all.
            payload: Vec<String> = LookupSettings::PAYLOAD;
            /// The payload field that holds the text. In collections of LlamaIndex, LangChain and FastEmbed the text is found
            /// without it.
            text_field: String = LookupSettings::TEXT_FIELD;
            /// Time for a lookup in milliseconds, with all that is tried again.
            timeout_ms: u64 = limits::LOOKUP_TIMEOUT_MS, in limits::LOOKUP_TIMEOUT_MS_RANGE;
        }
    }

    /// `[telemetry]`: see [telemetry.md](telemetry.md).
    TelemetryFile {
        at "telemetry." {
            /// File that gets a line of JSON for each call of a tool, without its words; `forage telemetry` sums them.
            path: Option<UserPath>;
        }
    }

    /// `[journal]`: what is kept of calls for `forage ui`: see [ui.md](ui.md).
    JournalSettings {
        at "journal." {
            /// Hand the last 500 calls of a server or an agent that runs to `forage ui` of the same user.
            live: bool = true;
            /// File that gets each call, with its arguments, for `forage ui`; nothing is written without it.
            path: Option<UserPath>;
            /// Form of its lines: Forage's own records, or spans of OpenTelemetry.
            format: JournalFormat = "records";
        }
    }

    /// `[ask]`: the bounds of a conversation with the agent: see [ask.md](ask.md).
    Ask {
        at "ask." {
            /// Turns of the model, the answer included
            turns: u64 = forage_agent::Limits::default().turns, in 1..=100, option "turns" "N" for Ask;
            /// Time for everything in milliseconds
            total_ms: u64 = milliseconds(forage_agent::Limits::default().total), in 1_000..=3_600_000,
                option "total-ms" "MS" for Ask;
            /// A system prompt of your own.
            prompt_file: Option<UserPath>;
            /// Keep answers for the next question, which `--continue` asks.
            keep: bool = true;
            /// MCP servers whose tools the model may call, by name.
            servers: BTreeMap<String, AgentServer>, check wrong_server;
        }
    }

    /// `[mcp]`: the settings of the server: see [mcp.md](mcp.md).
    Mcp {
        at "mcp." {
            /// Form of the answers: text, or records beside it
            output: OutputForm = "auto", option "output" "FORM" for Mcp;
            /// Directories beneath which a client may choose the roots. Without it these are the home directory, the working
            /// directory and any git repository; over HTTP none.
            client_roots: Option<Vec<UserPath>>;
            /// Prefix of the names of all tools in the server.
            prefix: String = "", check wrong_prefix;
            /// Which tools clients are shown.
            profile: ToolSet = "auto";
        }
    }
}

/// Returns the rows of all settings. Each tool has the common rows of `NAME` and its own ones.
pub(super) fn rows() -> Vec<Row> {
    let (of_tools, mut rows): (Vec<Row>, Vec<Row>) =
        declared().into_iter().partition(|row| row.path.starts_with("tools."));
    for tool in TOOLS {
        let prefix = setting(tool.id(), "");
        for row in &of_tools {
            let mut row = Row { path: row.path.replacen("tools.NAME.", &prefix, 1), ..row.clone() };
            if row.path.ends_with(".enabled") {
                row.default = Some(tool.is_on_by_default().into());
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

/// The engine of `Search`; a program by name, and no other in its place.
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

/// Where the rarity of words comes from in a collection without the IDF modifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum IdfSetting {
    #[default]
    Auto,
    Stored,
}

/// An encoder by its name; `auto` is the one that the collection names.
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

/// Returns the problem with the name of a tool, if it has one.
fn wrong_name(name: &Option<String>) -> Option<String> {
    let name = name.as_deref().filter(|name| !is_name(name))?;
    Some(format!("{name:?} is not 1 to 64 letters, digits, `_` and `-`"))
}

/// Returns the problem with the name of a collection, if it has one. The rules are those for tool names.
#[expect(clippy::ptr_arg, reason = "the type of the setting")]
fn wrong_collection(name: &String) -> Option<String> {
    (!is_name(name)).then(|| "give 1 to 64 letters, digits, `-` or `_`".to_owned())
}

fn wrong_language(name: &Option<String>) -> Option<String> {
    let name = name.as_deref().filter(|name| Language::parse(name).is_none())?;
    Some(format!("{name:?} is none of {}", Language::ALL.map(Language::name).join(", ")))
}

fn wrong_prefix(prefix: &String) -> Option<String> {
    let is_part_of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (!prefix.chars().all(is_part_of_a_name) || prefix.len() > 32)
        .then(|| format!("{prefix:?} is not up to 32 letters, digits, `_` and `-`"))
}

//! The table of settings: what a key is, its default, its range, and where it may come from, each once. The file's reader,
//! the merging of sources, the checks, `forage config`, the page of documentation and the JSON Schema follow from it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::ArgMatches;
use forage_llm::{FactSettings, ProviderSettings, RoleTable};
use forage_lookup::{Bm42, CodeSuperset, FastEmbedBm25, Language};
use forage_mcp::{OutputForm, ToolSet};
use forage_tools::registry::is_name;
use forage_tools::{
    EvidenceForm, FilterBreadth, FilterCandidates, FilterMode, LookupSettings, OnModelFailure, limits,
};
use serde::de::{Error as _, MapAccess};
use serde_json::{Value, json};

use super::ask::{AgentServer, wrong_server};
use super::kinds::{FromText, SettingType, SettingWord, SettingWords, words};
use super::models::ModelSetting;
use super::search_index::wrong_weight;
use super::settings::{
    Row, Section, Setting, SettingsCommand, SourceSettings, TableOf, option, out_of_range, settings,
};
use super::tools::{Tools, wrong_description};

settings! {
    /// Settings that stand in no table.
    General GeneralOverrides at "" {
        /// Directory beneath which files may be read; may be given several times [default: the git root that holds the
        /// working directory, else the working directory]
        roots: Vec<PathBuf> = Vec::new(), from (), "root" "DIR" for Every;
        /// Allow `/`, the home directory and its parents as roots.
        allow_broad_root: bool = false;
        /// Whether searches use an index, and whether they wait for one: see [instant-index.md](instant-index.md).
        index: SettingWord<IndexUse> = SettingWord::new(IndexUse::Auto), from ("FORAGE_INDEX");
        /// The kernel's wall around every command that reads a repository (Linux, Landlock).
        sandbox: SettingWord<Sandbox> = SettingWord::new(Sandbox::Auto);
        /// What `keyword_search` does when no model answers.
        on_model_failure: SettingWord<OnModelFailure> = SettingWord::new(OnModelFailure::Error), from ("FORAGE_ON_MODEL_FAILURE");
        /// Time for an answer of a model in milliseconds.
        model_timeout_ms: u64 = milliseconds(limits::MODEL_TIMEOUT), in 100..=600_000;
        /// Models by name, asked in this order: see [models.md](models.md).
        models: Vec<ModelSetting> = Vec::new();
        /// Providers that are added to the table, or changed in it: see [models.md](models.md).
        providers: BTreeMap<String, ProviderSettings> = BTreeMap::new();
        /// Which models a role takes: see [models.md](models.md).
        roles: RoleTable = RoleTable::default();
        /// What is known of models: see [models.md](models.md).
        model_facts: Vec<FactSettings> = Vec::new();
    }

    /// `[limits]`.
    Limits LimitsOverrides at "limits." {
        /// Time limit of a search in milliseconds
        timeout_ms: u64 = milliseconds(limits::TIMEOUT), in limits::TIMEOUT_MS_RANGE,
            from ("FORAGE_TIMEOUT_MS"), "timeout-ms" "MS" for Every;
        /// Bytes of a text answer, 2,000 to 100,000
        ///
        /// A server gives a client that shows less no more than that, unless this is set.
        text_bytes: usize = limits::TEXT_BYTES, in limits::TEXT_BYTES_MIN..=limits::TEXT_BYTES_MAX,
            from ("FORAGE_TEXT_BYTES"), "text-bytes" "BYTES" for Every;
        /// Leave larger files out of searches
        ///
        /// They are counted.
        max_file_bytes: u64, from ("FORAGE_MAX_FILE_BYTES"), "max-file-bytes" "BYTES" for Every;
        /// Worker threads; 0 for one per processor
        threads: usize = 0, in limits::THREADS_RANGE, from ("FORAGE_THREADS"), "threads" "N" for Every;
    }

    /// `[search]`.
    Searches SearchesOverrides at "search." {
        /// Globs of files that are left out of every search.
        exclude: Vec<String> = Vec::new();
    }

    /// `[secrets]`.
    Secrets SecretsOverrides at "secrets." {
        /// Names or paths of files that only look like secrets.
        allow: Vec<String> = Vec::new();
        /// Take secrets out of what a model, an agent or a server is given; people at a terminal see files as they are.
        redact: bool = true;
    }

    /// `[filter]`: the forms in which `keyword_search` asks its model: see [keyword-search.md](keyword-search.md).
    Filter FilterOverrides at "filter." or mode {
        /// Who keeps the relevant files: a model, or a deterministic ranking
        mode: SettingWord<FilterMode> = SettingWord::new(FilterMode::Model), as "filter",
            from ("FORAGE_FILTER"), "filter" "MODE" for Keyword;
        /// Where the files come from: from lines that a term matches, or from a ranking besides
        candidates: SettingWord<FilterCandidates> = SettingWord::new(FilterCandidates::Terms),
            from ("FORAGE_FILTER_CANDIDATES"), "candidates" "FROM" for Keyword;
        /// What becomes of terms that match too much: less is shown of them, or they are left out by the requirement's rule
        breadth: SettingWord<FilterBreadth> = SettingWord::new(FilterBreadth::Adaptive),
            from ("FORAGE_FILTER_BREADTH"), "breadth" "RULE" for Keyword;
        /// Bytes of the evidence for one term.
        term_bytes: u64 = forage_search::limits::TERM_BYTES,
            in limits::BREADTH_BYTES_MIN..=limits::BREADTH_BYTES_MAX;
        /// Bytes of all evidence.
        evidence_bytes: u64 = forage_search::limits::EVIDENCE_BYTES,
            in limits::BREADTH_BYTES_MIN..=limits::BREADTH_BYTES_MAX;
        /// Lines of context around a match.
        context_lines: u64 = forage_search::limits::EVIDENCE_CONTEXT, in 0..=limits::EVIDENCE_CONTEXT_MAX;
        /// What the model is shown.
        evidence: SettingWord<EvidenceForm> = SettingWord::new(EvidenceForm::Requirement);
        /// What the model is asked for.
        answer: SettingWord<AnswerWord> = SettingWord::new(AnswerWord::Paths);
        /// Models' calls that a large body of evidence is divided among; needs `answer = "ids"`.
        shards: usize = 1, in 1..=limits::FILTER_SHARDS_MAX;
        /// Tokens of compact evidence.
        evidence_tokens: usize = limits::EVIDENCE_TOKENS, in limits::EVIDENCE_TOKENS_MIN..=limits::EVIDENCE_TOKENS_MAX;
        /// Keep answers of models in the user's cache directory.
        cache: bool = false;
        /// A system prompt of your own.
        prompt_file: PathBuf;
    }

    /// `[tools.NAME]`: how agents are told of a tool.
    Tool ToolOverrides at "tools.NAME." {
        /// Tell agents of the tool.
        enabled: bool;
        /// What the tool is called.
        name: String, check wrong_name;
        /// What models read of it.
        description: String, check wrong_description;
        /// What models read of it behind its own description.
        description_append: String, check wrong_description;
    }

    /// The other settings of `[tools.search]`: see [search.md](search.md).
    SearchTool SearchToolOverrides at "tools.search." {
        /// Engine: `embedded` (ours), `external` (`binary`, then `fallback_binary`), `ugrep` or `rg`
        ///
        /// A configured `binary` or `fallback_binary` means `external`.
        engine: SettingWord<EngineName> = SettingWord::new(EngineName::Embedded), from (), "engine" "ENGINE" for Search;
        /// First external engine to look for, by name or absolute path.
        binary: String = "ugrep".to_owned();
        /// External engine to use where `binary` can't run.
        fallback_binary: String = "rg".to_owned();
        /// Time for a `Search` that names none, in milliseconds.
        default_timeout_ms: u64 = milliseconds(limits::TIMEOUT),
            in limits::SEARCH_TIMEOUT_MS_MIN..=limits::SEARCH_TIMEOUT_MS_MAX;
        /// Lines that a `Search` shows that names no number.
        default_max_results: u64 = limits::SEARCH_RESULTS, in 1..=limits::SEARCH_RESULTS_MAX;
    }

    /// The other settings of `[tools.search_index]`.
    SearchIndexTool SearchIndexToolOverrides at "tools.search_index." {
        /// Weights of the ranking's rules, where they aren't those that are built in: see [eval.md](eval.md).
        weights: BTreeMap<String, f64> = BTreeMap::new(), check wrong_weight;
        /// Tokens of code in an answer to a call of an agent that names no number; 0 for files and lines alone.
        code_tokens: u64 = limits::CODE_TOKENS, in 0..=limits::CODE_TOKENS_MAX;
    }

    /// `[retrieval]`: the tool `keyword_lookup` and its collection: see [lookup.md](lookup.md).
    Retrieval RetrievalOverrides at "retrieval." {
        /// Tell agents of `keyword_lookup`; `tools.keyword_lookup.enabled` goes over it.
        enable_keyword_tool: bool = false;
        /// What it is called; the same as `tools.keyword_lookup.name`.
        tool_name: String, check wrong_id;
        /// Where collections are: with `auto` on the server if there is an address, else in a directory.
        store: SettingWord<StoreSetting> = SettingWord::new(StoreSetting::Auto);
        /// Address of the Qdrant server; without it that in QDRANT_URL.
        url: String;
        /// Environment variable that holds the server's key.
        api_key_env: String = "QDRANT_API_KEY".to_owned();
        /// Send the key over plain http.
        allow_plain_key: bool = false;
        /// Directory of the embedded store.
        directory: PathBuf;
        /// Name of the collection
        collection: String = "code".to_owned(), check wrong_collection,
            from (), "collection" "NAME" for Lookup Collection;
        /// Name of the sparse vector. Where the collection has another one alone, that is searched, with a note.
        vector: String = LookupSettings::VECTOR.to_owned();
        /// How rare words are in a collection without the IDF modifier: with `auto` Forage asks and weighs them itself, with
        /// `stored` all words count the same.
        idf: SettingWord<IdfSetting> = SettingWord::new(IdfSetting::Auto);
        /// Encoder
        encoder: SettingWord<EncoderName> = SettingWord::new(EncoderName::Auto), from (), "encoder" "NAME" for Encode;
        /// Language of the words; english without it
        language: String, check wrong_language, from (), "language" "NAME" for Encode;
        /// Keep words as they are, stop words too
        disable_stemmer: bool = false, from (), "disable-stemmer" "" for Encode;
        /// Results of a lookup that names no number.
        top_k: u64 = limits::LOOKUP_HITS, in 1..=limits::LOOKUP_HITS_MAX;
        /// Payload fields that are shown; `*` for all.
        payload: Vec<String> = LookupSettings::PAYLOAD.map(str::to_owned).into();
        /// The payload field that holds the text. In collections of LlamaIndex, LangChain and FastEmbed the text is found
        /// without it.
        text_field: String = LookupSettings::TEXT_FIELD.to_owned();
        /// Time for a lookup in milliseconds, with all that is tried again.
        timeout_ms: u64 = limits::LOOKUP_TIMEOUT_MS, in limits::LOOKUP_TIMEOUT_MS_RANGE;
        /// Shards of a collection that is made.
        shards: u32;
        /// Copies of each shard.
        replicas: u32;
        /// Copies that must have a write before it counts.
        write_consistency: u32;
        /// Payload field by which points are put into shards.
        shard_key: String;
        /// Keep vectors on the disk.
        on_disk: bool = false;
    }

    /// `[telemetry]`: see [telemetry.md](telemetry.md).
    TelemetryFile TelemetryOverrides at "telemetry." {
        /// File that gets a line of JSON for each call of a tool, without its words; `forage telemetry` sums them.
        path: PathBuf;
        /// Bytes after which another file is begun.
        rotate_bytes: u64 = 10 << 20;
    }

    /// `[journal]`: what is kept of calls for `forage ui`: see [ui.md](ui.md).
    JournalSettings JournalOverrides at "journal." {
        /// Hand the last 500 calls of a server or an agent that runs to `forage ui` of the same user.
        live: bool = true;
        /// File that gets each call, with its arguments, for `forage ui`; nothing is written without it.
        path: PathBuf;
        /// Bytes after which another file is begun.
        rotate_bytes: u64 = 10 << 20;
        /// Form of its lines: Forage's own records, or spans of OpenTelemetry.
        format: SettingWord<JournalFormat> = SettingWord::new(JournalFormat::Records);
    }

    /// `[ask]`: the bounds of a conversation with the agent: see [ask.md](ask.md).
    Ask AskOverrides at "ask." {
        /// Calls of a turn that run at the same time; 1 runs them one after the other
        parallel: u64 = bounds().parallel as u64, in 1..=64, from (), "parallel" "N" for Ask;
        /// Turns of the model, the answer included
        turns: u64 = bounds().turns as u64, in 1..=100, from (), "turns" "N" for Ask;
        /// Calls that are run in all
        calls: u64 = bounds().calls as u64, in 0..=1_000, from (), "calls" "N" for Ask;
        /// Calls that are run in one turn
        calls_per_turn: u64 = bounds().calls_per_turn as u64, in 1..=64, from (), "calls-per-turn" "N" for Ask;
        /// Bytes of results that the conversation holds; older ones make room
        bytes: u64 = bounds().bytes as u64, in 10_000..=10_000_000, from (), "bytes" "BYTES" for Ask;
        /// Time for everything in milliseconds
        total_ms: u64 = milliseconds(bounds().total), in 1_000..=3_600_000, from (), "total-ms" "MS" for Ask;
        /// Time for one call to a model in milliseconds
        model_timeout_ms: u64 = milliseconds(bounds().model_call), in 100..=600_000,
            from (), "model-timeout-ms" "MS" for Ask;
        /// A system prompt of your own.
        prompt_file: PathBuf;
        /// Keep answers for the next question, which `--continue` asks.
        keep: bool = true;
        /// MCP servers whose tools the model may call, by name.
        servers: BTreeMap<String, AgentServer> = BTreeMap::new(), check wrong_server;
    }

    /// `[mcp]`: the settings of the server: see [mcp.md](mcp.md).
    Mcp McpOverrides at "mcp." {
        /// Form of the answers: text, or records beside it
        output: SettingWord<OutputForm> = SettingWord::new(OutputForm::ByClient), from (), "output" "FORM" for Mcp;
        /// Directories beneath which a client may choose the roots; any git repository, too, unless this is set. Over HTTP
        /// none by default.
        client_roots: Vec<PathBuf> = vec![PathBuf::from("~"), PathBuf::from(".")];
        /// Stands in front of the names of all tools in the server.
        prefix: String = String::new(), check wrong_prefix;
        /// Which tools clients are shown.
        profile: SettingWord<ToolSet> = SettingWord::new(ToolSet::ByClient);
    }
}

words! {
    FilterMode: "model" => Model, "lexical" => Lexical;
    OnModelFailure: "error" => Error, "lexical" => Lexical;
    FilterCandidates: "terms" => Terms, "union" => Union;
    FilterBreadth: "adaptive" => Adaptive, "requirement" => Requirement;
    EvidenceForm: "requirement" => Requirement, "compact" => Compact;
    AnswerWord: "paths" => Paths, "ids" => Ids;
    IndexUse: "auto" => Auto, "off" => Off, "always" => Always;
    Sandbox: "auto" => Auto, "off" => Off, "require" => Require;
    EngineName: "embedded" => Embedded, "external" => External, "ugrep" => Ugrep, "rg" => Rg;
    JournalFormat: "records" => Records, "otlp" => Otlp;
    IdfSetting: "auto" => Auto, "stored" => Stored;
    StoreSetting: "auto" => Auto, "embedded" => Embedded, "qdrant" => Qdrant;
    OutputForm: "auto" => ByClient, "text" => Text, "structured" => Structured;
    ToolSet: "auto" => ByClient, "agent" => Agent, "all" => All;
}

/// What a model is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AnswerWord {
    #[default]
    Paths,
    Ids,
}

/// Whether searches use an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IndexUse {
    #[default]
    Auto,
    Off,
    Always,
}

/// Whether the kernel keeps a command from everything that it does not need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sandbox {
    #[default]
    Auto,
    Off,
    Require,
}

/// What `Search` searches with; a program by name, and no other in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EngineName {
    #[default]
    Embedded,
    External,
    Ugrep,
    Rg,
}

/// How a journal is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum JournalFormat {
    #[default]
    Records,
    Otlp,
}

/// Where the rarity of words comes from in a collection without the IDF modifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IdfSetting {
    #[default]
    Auto,
    Stored,
}

/// Where collections are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StoreSetting {
    #[default]
    Auto,
    Embedded,
    Qdrant,
}

/// An encoder; `auto` is what the collection says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EncoderName {
    #[default]
    Auto,
    CodeSuperset,
    Bm25,
    Bm42,
}

impl SettingWords for EncoderName {
    const WORDS: &[(&str, Self)] = &[
        ("auto", Self::Auto),
        (CodeSuperset::NAME, Self::CodeSuperset),
        (FastEmbedBm25::NAME, Self::Bm25),
        (Bm42::NAME, Self::Bm42),
    ];
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn bounds() -> forage_agent::Limits {
    forage_agent::Limits::default()
}

/// What is wrong with the name of a tool.
fn wrong_name(name: &Option<String>) -> Option<String> {
    let name = name.as_deref().filter(|name| !is_name(name))?;
    Some(format!("{name:?} is not 1 to 64 letters, digits, `_` and `-`"))
}

fn wrong_id(name: &Option<String>) -> Option<String> {
    wrong_collection(name.as_ref()?)
}

/// What is wrong with the name of a collection, of which the same is asked as of tools.
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

/// Makes all settings from those of their sections.
macro_rules! sections {
    ($($name:literal $field:ident: $section:ident),* $(,)?) => {
        /// All settings in effect.
        #[derive(Clone, Debug, Default)]
        pub(crate) struct Settings {
            pub(crate) general: General,
            $(pub(crate) $field: $section,)*
        }

        /// What one source says of the settings.
        #[derive(Clone, Debug, Default)]
        pub(crate) struct Overrides {
            pub(crate) general: GeneralOverrides,
            $(pub(crate) $field: <$section as Section>::Said,)*
        }

        impl Section for Settings {
            type Said = Overrides;
            fn apply(&mut self, said: Overrides, source: &str) {
                self.general.apply(said.general, source);
                $(self.$field.apply(said.$field, source);)*
            }
            fn check(&self) -> anyhow::Result<()> {
                self.general.check()?;
                $(self.$field.check()?;)*
                Ok(())
            }
            fn shown(&self) -> Vec<(String, Value, String)> {
                let mut shown = self.general.shown();
                $(shown.extend(self.$field.shown());)*
                shown
            }
            fn rows() -> Vec<Row> {
                let mut rows = General::rows();
                $(rows.extend(<$section as Section>::rows());)*
                rows
            }
        }

        impl SourceSettings for Overrides {
            fn keys() -> Vec<String> {
                let mut keys = GeneralOverrides::keys();
                keys.extend([$($name.to_owned()),*]);
                keys
            }
            fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, table: &mut A) -> Result<(), A::Error> {
                match key {
                    $($name => self.$field = table.next_value_seed(TableOf::new())?,)*
                    key => self.general.read(key, table)?,
                }
                Ok(())
            }
            fn read_environment(&mut self, variable: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<()> {
                self.general.read_environment(variable)?;
                $(self.$field.read_environment(variable)?;)*
                Ok(())
            }
            fn add_options(command: SettingsCommand, options: clap::Command) -> clap::Command {
                let options = GeneralOverrides::add_options(command, options);
                $(let options = <$section as Section>::Said::add_options(command, options);)*
                options
            }
            fn read_options(&mut self, command: SettingsCommand, matches: &ArgMatches) {
                self.general.read_options(command, matches);
                $(self.$field.read_options(command, matches);)*
            }
        }
    };
}

sections! {
    "limits" limits: Limits,
    "search" search: Searches,
    "secrets" secrets: Secrets,
    "filter" filter: Filter,
    "tools" tools: Tools,
    "retrieval" retrieval: Retrieval,
    "telemetry" telemetry: TelemetryFile,
    "journal" journal: JournalSettings,
    "ask" ask: Ask,
    "mcp" mcp: Mcp,
}

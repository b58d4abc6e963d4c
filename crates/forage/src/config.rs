//! Configuration: the user's file, over it the environment, over that the command line. A repository's own
//! `.forage.toml` may only narrow.

mod ask;
mod environment;
mod exchanges;
mod file;
mod filter;
mod index;
mod mcp;
mod model_lists;
mod models;
mod prompt;
mod providers;
mod repository;
mod retrieval;
mod sandbox;
mod search_index;
mod search_tool;
mod tools;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use forage::mcp::{OutputForm, ToolSet};
use forage_base::Hash64;
use forage_llm::{Exchanges, Redactor, Role, TableSettings};
use forage_tools::{
    AnswerCache, FilterMode, FilterSettings, Models, OnModelFailure, Program, SearchSettings, limits,
};
use serde_json::{Value, json};

pub(crate) use ask::{AskOverrides, ServerSettings};
pub(crate) use environment::{
    ClientDirectories, client_project, git_program, git_variables, is_outside, mcp_token, outside,
    this_program, variables, working_directory,
};
pub(crate) use exchanges::ExchangeFiles;
use filter::Filter;
pub(crate) use filter::FilterTable;
use mcp::McpSettings;
pub(crate) use mcp::{McpOverrides, UNUSABLE, output_form};
pub(crate) use model_lists::KnownList;
pub(crate) use models::ModelSetting;
pub(crate) use providers::Market;
pub(crate) use repository::narrow;
use retrieval::Retrieval;
pub(crate) use retrieval::{RetrievalOverrides, TelemetryOverrides};
pub(crate) use sandbox::{Needs, existing};
use search_tool::SearchTool;
use tools::ToolOverrides;

use crate::answer_cache::{self, FileCache};

/// A value and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    source: String,
}

impl<T> Setting<T> {
    fn default(value: T) -> Self {
        Self { value, source: "default".to_owned() }
    }

    /// Where it comes from.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Whether some source has it.
    fn is_set(&self) -> bool {
        self.source != "default"
    }

    fn set(&mut self, value: Option<T>, source: &str) {
        if let Some(value) = value {
            *self = Self { value, source: source.to_owned() };
        }
    }
}

/// What one source says; `None` for what it does not mention.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) roots: Option<Vec<PathBuf>>,
    pub(crate) allow_broad_root: Option<bool>,
    pub(crate) text_bytes: Option<usize>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) max_file_bytes: Option<u64>,
    pub(crate) threads: Option<usize>,
    pub(crate) exclude: Option<Vec<String>>,
    pub(crate) secrets_allow: Option<Vec<String>>,
    pub(crate) redact: Option<bool>,
    pub(crate) filter: Option<String>,
    pub(crate) filter_table: Option<FilterTable>,
    pub(crate) on_model_failure: Option<String>,
    pub(crate) model_timeout_ms: Option<u64>,
    pub(crate) models: Option<Vec<ModelSetting>>,
    pub(crate) table: Option<TableSettings>,
    pub(crate) tools: Vec<ToolOverrides>,
    pub(crate) search_engine: Option<String>,
    pub(crate) search_binary: Option<String>,
    pub(crate) search_fallback_binary: Option<String>,
    pub(crate) search_timeout_ms: Option<u64>,
    pub(crate) search_max_results: Option<u64>,
    pub(crate) rule_weights: Option<BTreeMap<String, f64>>,
    pub(crate) retrieval: RetrievalOverrides,
    pub(crate) telemetry: TelemetryOverrides,
    pub(crate) exchanges: ExchangeFiles,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) key_env: Option<String>,
    pub(crate) ask: AskOverrides,
    pub(crate) sandbox: Option<String>,
    pub(crate) index: Option<String>,
    pub(crate) mcp: McpOverrides,
}

/// The configuration in effect.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) home: Option<PathBuf>,
    file: PathBuf,
    pub(crate) roots: Setting<Vec<PathBuf>>,
    pub(crate) allow_broad_root: Setting<bool>,
    pub(crate) text_bytes: Setting<usize>,
    pub(crate) timeout_ms: Setting<u64>,
    pub(crate) max_file_bytes: Setting<Option<u64>>,
    pub(crate) threads: Setting<usize>,
    pub(crate) exclude: Setting<Vec<String>>,
    pub(crate) secrets_allow: Setting<Vec<String>>,
    redact: Setting<bool>,
    filter: Setting<String>,
    filter_forms: Filter,
    on_model_failure: Setting<String>,
    model_timeout_ms: Setting<u64>,
    models: Setting<Vec<ModelSetting>>,
    /// What the environment or the command line calls the model.
    model_name: Option<String>,
    /// The environment or the command line gives an address: then a name is an id at that address.
    has_address: bool,
    /// Where models' answers come from.
    pub(super) exchanges: Exchanges,
    /// What the user's file says of providers, roles and models.
    table: Setting<TableSettings>,
    tools: tools::Tools,
    search: SearchTool,
    retrieval: Retrieval,
    /// Weights of the ranking's rules, where they aren't those that are built in.
    rule_weights: Setting<BTreeMap<String, f64>>,
    ask: ask::Ask,
    /// Whether the kernel keeps a server from other files.
    sandbox: Setting<String>,
    /// Whether searches use an index.
    index: Setting<String>,
    mcp: McpSettings,
    /// What the user should know about the configuration.
    pub(crate) notices: Vec<String>,
}

/// Reads all sources. `file` names the user's file; without it a missing file is no error.
pub(crate) fn load(file: Option<&Path>, flags: Overrides) -> anyhow::Result<Config> {
    let path = match file {
        Some(path) => path.to_owned(),
        None => environment::config_file(),
    };
    let mut config = defaults(&path);
    if let Some(overrides) = file::read(&path, file.is_some())? {
        config.apply(overrides, &path.display().to_string())?;
    }
    above_file(config, flags)
}

/// The configuration with the sources that go over the user's file.
fn above_file(mut config: Config, flags: Overrides) -> anyhow::Result<Config> {
    config.apply(environment::overrides()?, "environment")?;
    config.apply(flags, "command line")?;
    config.check()?;
    config.notices.extend(config.search.problem());
    Ok(config)
}

/// For a report on what is wrong: all sources that can be read, the others with what is the matter with them.
pub(crate) fn load_what_is_valid(file: Option<&Path>, flags: &Overrides) -> (Config, Vec<anyhow::Error>) {
    let mut problems = Vec::new();
    let mut attempt = |result: anyhow::Result<Config>| result.map_err(|error| problems.push(error)).ok();
    let path = file.map_or_else(environment::config_file, Path::to_owned);
    let config =
        attempt(load(file, flags.clone())).or_else(|| attempt(above_file(defaults(&path), flags.clone())));
    // The environment's problem ends the first attempt and the second.
    problems.dedup_by_key(|error| format!("{error:#}"));
    (config.unwrap_or_else(|| defaults(&path)), problems)
}

/// The configuration without any source.
fn defaults(path: &Path) -> Config {
    let milliseconds = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Config {
        home: environment::home(),
        roots: Setting::default(Vec::new()),
        allow_broad_root: Setting::default(false),
        text_bytes: Setting::default(limits::TEXT_BYTES),
        timeout_ms: Setting::default(milliseconds(limits::TIMEOUT)),
        max_file_bytes: Setting::default(None),
        threads: Setting::default(0),
        exclude: Setting::default(Vec::new()),
        secrets_allow: Setting::default(Vec::new()),
        redact: Setting::default(true),
        filter: Setting::default("model".to_owned()),
        filter_forms: Filter::default(),
        on_model_failure: Setting::default("error".to_owned()),
        model_timeout_ms: Setting::default(milliseconds(limits::MODEL_TIMEOUT)),
        models: Setting::default(Vec::new()),
        model_name: None,
        has_address: false,
        exchanges: Exchanges::Live,
        table: Setting::default(TableSettings::default()),
        tools: tools::Tools::default(),
        search: SearchTool::default(),
        retrieval: Retrieval::default(),
        rule_weights: Setting::default(BTreeMap::new()),
        ask: ask::Ask::default(),
        sandbox: Setting::default("auto".to_owned()),
        index: Setting::default("auto".to_owned()),
        mcp: McpSettings::default(),
        notices: Vec::new(),
        file: path.to_owned(),
    }
}

impl Config {
    fn apply(&mut self, overrides: Overrides, source: &str) -> anyhow::Result<()> {
        if !matches!((&overrides.exchanges.record, &overrides.exchanges.replay), (None, None)) {
            self.exchanges = overrides.exchanges.open()?;
        }
        self.search.apply(&overrides, source);
        self.tools.apply(overrides.tools, source);
        self.retrieval.apply(overrides.retrieval, overrides.telemetry, source);
        self.rule_weights.set(overrides.rule_weights, source);
        self.ask.apply(&overrides.ask, source);
        self.sandbox.set(overrides.sandbox, source);
        self.index.set(overrides.index, source);
        self.mcp.apply(&overrides.mcp, source);
        self.roots.set(overrides.roots, source);
        self.allow_broad_root.set(overrides.allow_broad_root, source);
        self.text_bytes.set(overrides.text_bytes, source);
        self.timeout_ms.set(overrides.timeout_ms, source);
        self.max_file_bytes.set(overrides.max_file_bytes.map(Some), source);
        self.threads.set(overrides.threads, source);
        self.exclude.set(overrides.exclude, source);
        self.secrets_allow.set(overrides.secrets_allow, source);
        self.redact.set(overrides.redact, source);
        self.filter.set(overrides.filter, source);
        if let Some(table) = overrides.filter_table {
            self.filter_forms.apply(table, source);
        }
        self.on_model_failure.set(overrides.on_model_failure, source);
        self.model_timeout_ms.set(overrides.model_timeout_ms, source);
        self.models.set(overrides.models, source);
        if overrides.table.is_some() {
            self.table.set(overrides.table, source);
            // Mistakes are named whatever the command.
            self.table()?;
        }
        // A single model named by hand wins over every list, as the first and only one.
        if overrides.model.is_some() || overrides.base_url.is_some() || overrides.key_env.is_some() {
            self.has_address |= overrides.base_url.is_some();
            self.model_name = overrides.model.or(self.model_name.take());
            let model = self.named_by_hand(overrides.base_url, overrides.key_env)?;
            self.models.set(Some(vec![model]), source);
        }
        Ok(())
    }

    /// The model that the environment or the command line names.
    fn named_by_hand(
        &self,
        base_url: Option<String>,
        key_env: Option<String>,
    ) -> anyhow::Result<ModelSetting> {
        let name = self.model_name.as_deref();
        // A key belongs to its address: an entry that is asked elsewhere is not that entry.
        let keeps_address = |model: &&ModelSetting| base_url.is_none() || base_url == model.base_url;
        let named = self.models.value.iter().filter(keeps_address);
        let named = named.into_iter().find(|model| name.is_some_and(|name| model.is_named(name)));
        let mut model = match (named, name.and_then(|name| name.split_once('/'))) {
            (Some(named), _) => named.clone(),
            (None, Some((provider, id))) if self.is_of_table(provider, id)? => {
                ModelSetting::of_table(provider, id)
            }
            // The first one's provider: naming a model must not send text to another provider than the configured one.
            (None, _) => {
                let first = self.models.value.first().cloned().unwrap_or_else(environment::default_model);
                let mut model = match keeps_address(&&first) {
                    true => first,
                    false => environment::model_at_its_own_address(),
                };
                let name = name
                    .map(|name| name.strip_prefix("custom/").filter(|_| self.has_address).unwrap_or(name));
                model.model = name.map(str::to_owned).or(model.model);
                model
            }
        };
        model.base_url = base_url.or(model.base_url);
        model.key_env = key_env.or(model.key_env);
        Ok(model)
    }

    /// Whether `provider/id` names a provider of the table. At an address of its own it is an id, which may well have
    /// a `/` in it.
    fn is_of_table(&self, provider: &str, id: &str) -> anyhow::Result<bool> {
        Ok(!self.has_address && !id.is_empty() && self.table()?.provider(provider).is_some())
    }

    fn check(&self) -> anyhow::Result<()> {
        let (least, most) = (limits::TEXT_BYTES_MIN, limits::TEXT_BYTES_MAX);
        if !(least..=most).contains(&self.text_bytes.value) {
            bail!(
                "`text_bytes` ({}): {} is out of range; give {least} to {most}",
                self.text_bytes.source,
                self.text_bytes.value
            );
        }
        if !(100..=300_000).contains(&self.timeout_ms.value) {
            bail!(
                "`timeout_ms` ({}): {} is out of range; give 100 to 300000",
                self.timeout_ms.source,
                self.timeout_ms.value
            );
        }
        if !(100..=600_000).contains(&self.model_timeout_ms.value) {
            let (source, value) = (&self.model_timeout_ms.source, self.model_timeout_ms.value);
            bail!("`model_timeout_ms` ({source}): {value} is out of range; give 100 to 600000");
        }
        if self.threads.value > 256 {
            bail!(
                "`threads` ({}): {} is out of range; give 1 to 256, or 0 for one per processor",
                self.threads.source,
                self.threads.value
            );
        }
        self.mode()?;
        self.on_failure()?;
        self.ask.check()?;
        self.mcp.check()?;
        self.filter_forms.check()?;
        self.check_sandbox()?;
        self.check_index()?;
        self.check_rule_weights()?;
        self.retrieval.check()?;
        self.check_tools()?;
        self.search.check()
    }

    fn mode(&self) -> anyhow::Result<FilterMode> {
        match self.filter.value.as_str() {
            "model" => Ok(FilterMode::Model),
            "lexical" => Ok(FilterMode::Lexical),
            other => {
                bail!("`filter` ({}): {other:?} is neither \"model\" nor \"lexical\"", self.filter.source)
            }
        }
    }

    fn on_failure(&self) -> anyhow::Result<OnModelFailure> {
        match self.on_model_failure.value.as_str() {
            "error" => Ok(OnModelFailure::Error),
            "lexical" => Ok(OnModelFailure::Lexical),
            other => bail!(
                "`on_model_failure` ({}): {other:?} is neither \"error\" nor \"lexical\"",
                self.on_model_failure.source
            ),
        }
    }

    /// How the server answers.
    pub(crate) fn mcp_output(&self) -> OutputForm {
        self.mcp.output()
    }

    /// Whether the user has said how many bytes of text an answer may have.
    pub(crate) fn has_text_bytes(&self) -> bool {
        self.text_bytes.is_set()
    }

    /// Which of the tools that are on a client is shown.
    pub(crate) fn tool_set(&self) -> ToolSet {
        self.mcp.tool_set()
    }

    /// Whether the user has said beneath which directories a client may choose the roots.
    pub(crate) fn has_client_roots(&self) -> bool {
        self.mcp.has_client_roots()
    }

    /// The directories beneath which a client may choose the roots.
    pub(crate) fn client_roots(&self, working: &Path) -> Vec<PathBuf> {
        self.mcp.client_roots(working, self.home.as_deref())
    }

    /// How `Search` works, for searches beneath these roots.
    pub(crate) fn search_settings(&self, roots: &[&Path]) -> SearchSettings {
        self.search.settings(roots)
    }

    /// Takes secrets out of what a model, an agent or a server is given.
    pub(crate) fn redactor(&self) -> Redactor {
        if self.redact.value { Redactor::standard() } else { Redactor::off() }
    }

    /// How `keyword_search` filters.
    pub(crate) fn filter_settings(&self) -> anyhow::Result<FilterSettings> {
        let mode = self.mode()?;
        let models = match mode {
            // A model that nobody will ask must not stand in the way.
            FilterMode::Lexical => Models::default(),
            FilterMode::Model if let Some(models) = self.replayed_models()? => models.into(),
            FilterMode::Model if self.names_models() => self.named_models()?.into(),
            // Only a search that needs a model may wait for lists of models.
            FilterMode::Model => {
                let config = self.clone();
                Models::found_by(move || config.chosen_models(Role::Filter))
            }
        };
        let mut settings = FilterSettings {
            mode,
            on_model_failure: self.on_failure()?,
            models,
            looked_for: self.looked_for(),
            redactor: Arc::new(self.redactor()),
            timeout: Duration::from_millis(self.model_timeout_ms.value),
            ..FilterSettings::default()
        };
        self.filter_forms.set_breadth(&mut settings)?;
        if mode == FilterMode::Model {
            self.filter_forms.set(&mut settings, self)?;
        }
        Ok(settings)
    }

    /// Where answers of models are kept, if the user wants that, for searches beneath these roots; or why there is no
    /// such place. Nothing is ever written into a root.
    pub(crate) fn answer_cache(&self, roots: &[&Path]) -> Result<Option<Arc<dyn AnswerCache>>, String> {
        // A recording is to hold every answer, and a replay is to give no other.
        if !self.filter_forms.keeps_answers() || !self.is_live() {
            return Ok(None);
        }
        let advice = "set XDG_CACHE_HOME to another directory of yours, or `filter.cache` to false";
        let directory = environment::cache_directory().ok_or_else(|| {
            format!(
                "`filter.cache` has no effect: there is no telling where your cache directory is; {advice}"
            )
        })?;
        let place = directory.join("answers");
        let directory = answer_cache::resolved(&place.path());
        if let Some(root) = roots.iter().find(|root| directory.starts_with(root)) {
            return Err(format!(
                "`filter.cache` has no effect here: the cache directory {} lies in the root {}, where Forage writes \
                 nothing; {advice}",
                directory.display(),
                root.display()
            ));
        }
        if let Err(problem) = place.open()
            && problem.is_distrust()
        {
            return Err(format!("`filter.cache` has no effect: {problem}"));
        }
        // Of the models' settings only a hash goes to the disk: an address may hold a password.
        let table = self.table().map_err(|error| format!("`filter.cache` has no effect: {error:#}"))?;
        let resolved = table.resolve_all(&environment::variable).into_iter();
        let addresses: Vec<_> = resolved.map(|provider| (provider.name, provider.base_url)).collect();
        let models = format!("{:?}", (&self.models.value, &self.model_name, &self.table.value, addresses));
        Ok(Some(Arc::new(FileCache::new(place, format!("{:016x}", Hash64::of(&[models.as_bytes()]))))))
    }

    /// Whether answers of models are kept.
    fn keeps_answers(&self) -> bool {
        self.filter_forms.keeps_answers()
    }

    /// Whether `keyword_search` ranks without a model.
    pub(crate) fn is_lexical(&self) -> bool {
        self.filter.value == "lexical"
    }

    /// The user's configuration file, which may not exist.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// What is kept in the user's cache directory: where, how many files, how many bytes, or why none of it is used.
    pub(crate) fn cache(&self) -> Option<(PathBuf, answer_cache::Size)> {
        let place = environment::cache_directory()?;
        Some((place.path(), answer_cache::size(&place)))
    }

    /// The external engines that are installed, whether or not they are used.
    pub(crate) fn installed_engines(&self, roots: &[&Path]) -> Vec<(&'static str, Result<Program, String>)> {
        let search_path = environment::search_path();
        let find =
            |name| Program::resolve(Path::new(name), &search_path, roots).map_err(|error| error.to_string());
        ["rg", "ugrep"].map(|name| (name, find(name))).into()
    }

    /// Names of what was looked for, never values.
    fn looked_for(&self) -> String {
        let mut places = vec![format!("a model in `models` of {}", self.file.display())];
        places.push(format!("the environment variables {}", environment::MODEL_VARIABLES.join(", ")));
        places.push("the options --model, --base-url and --key-env".to_owned());
        if !self.names_models() {
            places.push("a provider with a key, or on this machine".to_owned());
        }
        format!("Looked for: {}.", places.join("; "))
    }

    /// Every setting as name, value, source.
    pub(crate) fn describe(&self) -> Vec<(String, Value, String)> {
        fn row(name: &str, value: Value, source: &str) -> (String, Value, String) {
            (name.to_owned(), value, source.to_owned())
        }
        let table = self.table().ok();
        let models: Vec<Value> =
            self.models.value.iter().map(|model| model.describe(table.as_ref())).collect();
        let changed = &self.table.value;
        let mut rows = vec![
            row("roots", json!(self.roots.value), &self.roots.source),
            row("allow_broad_root", json!(self.allow_broad_root.value), &self.allow_broad_root.source),
            row("limits.text_bytes", json!(self.text_bytes.value), &self.text_bytes.source),
            row("limits.timeout_ms", json!(self.timeout_ms.value), &self.timeout_ms.source),
            row("limits.max_file_bytes", json!(self.max_file_bytes.value), &self.max_file_bytes.source),
            row("limits.threads", json!(self.threads.value), &self.threads.source),
            row("search.exclude", json!(self.exclude.value), &self.exclude.source),
            row("secrets.allow", json!(self.secrets_allow.value), &self.secrets_allow.source),
            row("secrets.redact", json!(self.redact.value), &self.redact.source),
            row("filter", json!(self.filter.value), &self.filter.source),
            row("on_model_failure", json!(self.on_model_failure.value), &self.on_model_failure.source),
            row("model_timeout_ms", json!(self.model_timeout_ms.value), &self.model_timeout_ms.source),
            row("models", Value::Array(models), &self.models.source),
            row("providers", json!(changed.providers.keys().collect::<Vec<_>>()), &self.table.source),
            row("roles", json!(changed.roles.names()), &self.table.source),
            row("sandbox", json!(self.sandbox.value), &self.sandbox.source),
            row("index", json!(self.index.value), &self.index.source),
            row("model_facts", json!(changed.model_facts.len()), &self.table.source),
        ];
        rows.extend(self.filter_forms.describe());
        rows.extend(self.tools.describe(&self.retrieval));
        rows.extend(self.search.describe());
        rows.push(row(
            "tools.search_index.weights",
            json!(self.rule_weights.value),
            &self.rule_weights.source,
        ));
        rows.extend(self.retrieval.describe());
        rows.extend(self.ask.describe());
        rows.extend(self.mcp.describe());
        rows
    }
}

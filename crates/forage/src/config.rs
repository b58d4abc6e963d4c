//! Loads the configuration. In increasing precedence, its sources are the user's file, the environment and
//! the command line. A repository's own `.forage.toml` may only narrow the result.

mod ask;
mod environment;
mod exchanges;
mod index;
mod journal;
mod mcp;
mod model_lists;
mod models;
mod prompt;
mod providers;
mod repository;
mod retrieval;
mod sandbox;
mod schema;
mod search_tool;
mod settings;
mod table;
mod tools;
mod user_path;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use forage_base::Hash64;
use forage_fs::project_around;
use forage_llm::{ExchangeMode, ModelRole};
use forage_redact::Redactor;
use forage_tools::{
    AnswerCache, AnswerForm, FilterMode, FilterSettings, FoundModels, Models, Program, SearchSettings,
};
use toml::Value;

pub(crate) use ask::AgentServer;
pub(crate) use environment::{
    ClientDirectories, client_project, git_program, git_variables, is_outside, mcp_token, outside, program,
    this_program, variables, working_directory,
};
pub(crate) use exchanges::ExchangeFiles;
pub(crate) use journal::call_sockets;
pub(crate) use mcp::UNUSABLE;
pub(crate) use model_lists::KnownList;
pub(crate) use models::ModelSetting;
pub(crate) use providers::ProviderCatalog;
pub(crate) use repository::narrow;
pub(crate) use sandbox::{Needs, existing};
pub(crate) use schema::schema;
use settings::Layers;
pub(crate) use settings::{DEFAULT, GivenSettings, SettingsCommand, add_options, without_value};
pub(crate) use table::JournalFormat;
use table::{AnswerWord, Settings};
use user_path::UserPath;

use crate::answer_cache::{self, FileCache};

/// The model settings from the environment or the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedModel {
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) key_env: Option<String>,
}

impl NamedModel {
    fn is_empty(&self) -> bool {
        self.model.is_none() && self.base_url.is_none() && self.key_env.is_none()
    }
}

/// The settings from the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandLineSettings {
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) settings: GivenSettings,
    pub(crate) model: NamedModel,
    pub(crate) exchanges: ExchangeFiles,
}

/// The configuration in effect.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) home: Option<PathBuf>,
    file: PathBuf,
    /// The values from all sources.
    layers: Layers,
    /// The same values in typed form.
    pub(crate) settings: Settings,
    /// The model name from the environment or the command line.
    model_name: Option<String>,
    /// True if the environment or the command line gives an address. A model name is then an id at that
    /// address.
    has_address: bool,
    /// Where model answers come from: the network or a recording.
    pub(super) exchanges: ExchangeMode,
    /// Notices about the configuration for the user.
    pub(crate) notices: Vec<String>,
}

/// Reads all sources. `file` is the path of the user's file. It must exist only if the user named it.
pub(crate) fn load(file: Option<&Path>, given: CommandLineSettings) -> anyhow::Result<Config> {
    let (path, is_named) = config_file(file);
    let mut config = defaults(&path);
    if let Some(text) = read_file(&path, is_named)? {
        config.layers.read_file(&text, &path.display().to_string())?;
        config.settings = config.layers.settings()?;
        // Report mistakes in the provider table for every command, not only for those that use it.
        config.table()?;
    }
    above_file(config, given)
}

/// Locates the user's file. The flag is true if the user named it by an option or by `FORAGE_CONFIG`.
fn config_file(file: Option<&Path>) -> (PathBuf, bool) {
    let named = file.map(Path::to_owned).or_else(environment::named_config_file);
    match named {
        Some(path) => (path, true),
        None => (environment::config_file(), false),
    }
}

/// Reads the user's file. A missing file is `None`, unless the user named it.
fn read_file(path: &Path, is_named: bool) -> anyhow::Result<Option<String>> {
    #[expect(clippy::disallowed_methods, reason = "the user's own configuration, not a file of a repository")]
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound && !is_named => Ok(None),
        Err(error) => bail!("can't read the configuration file {}: {error}", path.display()),
    }
}

/// Adds the sources that take precedence over the user's file.
fn above_file(mut config: Config, given: CommandLineSettings) -> anyhow::Result<Config> {
    config.layers.read_environment(&environment::variable)?;
    config.name_model(environment::named_model(), "environment")?;
    config.layers.add(given.settings)?;
    config.name_model(given.model, "command line")?;
    config.exchanges = given.exchanges.open()?;
    // This must come after all sources, because it skips keys that are set explicitly.
    config.layers.settle()?;
    config.settings = config.layers.settings()?;
    if !given.roots.is_empty() {
        let shown: Vec<_> = given.roots.iter().map(|root| root.display().to_string()).collect();
        config.layers.set("roots", shown, "command line")?;
        // Take these paths unchanged, since they may not be valid UTF-8.
        config.settings.roots = given.roots.into_iter().map(UserPath::new).collect();
    }
    config.check()?;
    Ok(config)
}

/// Loads all sources that can be read, and collects the errors of the others. This is for `forage doctor` and
/// checks, which should report problems instead of stopping at the first one.
pub(crate) fn load_what_is_valid(
    file: Option<&Path>,
    given: &CommandLineSettings,
) -> (Config, Vec<anyhow::Error>) {
    let mut problems = Vec::new();
    let mut attempt = |result: anyhow::Result<Config>| result.map_err(|error| problems.push(error)).ok();
    let defaults = defaults(&config_file(file).0);
    let config = attempt(load(file, given.clone()))
        .or_else(|| attempt(above_file(defaults.clone(), given.clone())))
        .unwrap_or(defaults);
    // A problem in the environment makes both attempts fail, so it would appear twice.
    problems.dedup_by_key(|error| format!("{error:#}"));
    (config, problems)
}

/// Builds the configuration without any source.
fn defaults(path: &Path) -> Config {
    let layers = Layers::default();
    Config {
        home: environment::home(),
        file: path.to_owned(),
        // A test ensures that the defaults are valid settings.
        settings: layers.settings().unwrap_or_default(),
        layers,
        model_name: None,
        has_address: false,
        exchanges: ExchangeMode::Live,
        notices: Vec::new(),
    }
}

impl Config {
    /// Replaces the list of models with the one model that the environment or the command line names.
    fn name_model(&mut self, named: NamedModel, source: &str) -> anyhow::Result<()> {
        if named.is_empty() {
            return Ok(());
        }
        self.has_address |= named.base_url.is_some();
        self.model_name = named.model.or(self.model_name.take());
        let model = self.named_by_hand(named.base_url, named.key_env)?;
        self.layers.set("models", vec![Value::try_from(&model)?], source)?;
        self.settings.models = vec![model];
        Ok(())
    }

    /// Builds the settings of the model that the environment or the command line names.
    fn named_by_hand(
        &self,
        base_url: Option<String>,
        key_env: Option<String>,
    ) -> anyhow::Result<ModelSetting> {
        let name = self.model_name.as_deref();
        // A key belongs to its address, so we must not use an entry for another address.
        let keeps_address = |model: &&ModelSetting| base_url.is_none() || base_url == model.base_url;
        let named = self.settings.models.iter().filter(keeps_address);
        let named = named.into_iter().find(|model| name.is_some_and(|name| model.is_named(name)));
        let mut model = match (named, name.and_then(|name| name.split_once('/'))) {
            (Some(named), _) => named.clone(),
            (None, Some((provider, id))) if self.is_of_table(provider, id)? => {
                ModelSetting::for_table_provider(provider, id)
            }
            // Take the provider of the first configured model. Naming a model must not send text to any other
            // provider.
            (None, _) => {
                let first = self.settings.models.first().cloned().unwrap_or_else(environment::default_model);
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

    /// Returns true if `provider/id` names a provider of the table. With an explicit address this is never
    /// so: the whole name is an id there, which may contain a `/`.
    fn is_of_table(&self, provider: &str, id: &str) -> anyhow::Result<bool> {
        Ok(!self.has_address && !id.is_empty() && self.table()?.provider(provider).is_some())
    }

    fn check(&self) -> anyhow::Result<()> {
        self.check_retrieval()?;
        self.check_served().map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// Sets the value of a key.
    fn set(&mut self, key: &str, value: impl Into<Value>, source: &str) -> anyhow::Result<()> {
        self.layers.set(key, value, source)?;
        self.settings = self.layers.settings()?;
        Ok(())
    }

    /// Returns the source of a key's value.
    pub(crate) fn source(&self, key: &str) -> &str {
        self.layers.source(key)
    }

    /// Returns the value of a key that takes one of a few words.
    pub(crate) fn word(&self, key: &str) -> &str {
        self.layers.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns true if the user has set the maximum bytes of an answer's text.
    pub(crate) fn has_text_bytes(&self) -> bool {
        self.settings.limits.text_bytes.is_some()
    }

    /// Builds the settings of `Search` for searches in `roots`.
    pub(crate) fn search_settings(&self, roots: &[&Path]) -> SearchSettings {
        self.settings.search_settings(roots)
    }

    /// Determines the roots for calls that name none: the configured ones, or else the project around
    /// `standing`. This is the directory that a server's client names, or the working directory.
    pub(crate) fn own_directories(&self, standing: &Path) -> Vec<PathBuf> {
        let named = &self.settings.roots;
        match named.is_empty() {
            false => named.iter().map(|root| standing.join(root)).collect(),
            true => vec![project_around(standing, self.home.as_deref())],
        }
    }

    /// Creates the redactor for text that goes to a model, an agent or a server.
    pub(crate) fn redactor(&self) -> Redactor {
        if self.settings.secrets.redact { Redactor::standard() } else { Redactor::off() }
    }

    /// Builds the filter settings of `keyword_search`.
    pub(crate) fn filter_settings(&self) -> anyhow::Result<FilterSettings> {
        let filter = &self.settings.filter;
        let mode = filter.mode;
        let models = match mode {
            // An unusable model must not cause an error if no model will be called.
            FilterMode::Lexical => Models::default(),
            FilterMode::Model if let Some(models) = self.replayed_models()? => models.into(),
            FilterMode::Model if self.names_models() => self.named_models()?.into(),
            // Load the model lists lazily, because only a search that needs a model should wait for them.
            FilterMode::Model => {
                let config = self.clone();
                Models::found_by(move || config.chosen_models(ModelRole::Filter))
            }
        };
        Ok(FilterSettings {
            mode,
            on_model_failure: self.settings.on_model_failure,
            models,
            looked_for: if self.names_models() { String::new() } else { self.looked_for() },
            redactor: Arc::new(self.redactor()),
            timeout: Duration::from_millis(self.settings.model_timeout_ms),
            candidates: filter.candidates,
            breadth: filter.breadth,
            evidence: filter.evidence,
            evidence_tokens: filter.evidence_tokens,
            answer: match filter.answer {
                AnswerWord::Paths => AnswerForm::Paths,
                AnswerWord::Ids => AnswerForm::Ids { shards: 1 },
            },
            ..FilterSettings::default()
        })
    }

    /// Like [`Self::filter_settings`], but for agents. They must not use a model that the user has not
    /// confirmed for them.
    pub(crate) fn filter_settings_of_agents(&self) -> anyhow::Result<FilterSettings> {
        let mut settings = self.filter_settings()?;
        if !self.confirms_models() && settings.mode == FilterMode::Model {
            let passed_over =
                "A key alone does not let agents use a model: name one in `models` or FORAGE_MODEL.";
            settings.models =
                Models::found_by(|| FoundModels { models: Vec::new(), passed_over: passed_over.to_owned() });
        }
        Ok(settings)
    }

    /// Opens the cache of model answers for searches in `roots`. Returns `None` if the user has not enabled
    /// it.
    ///
    /// # Errors
    ///
    /// Returns the reason if there is no usable directory. For example, we never write into a root.
    pub(crate) fn answer_cache(&self, roots: &[&Path]) -> Result<Option<Arc<dyn AnswerCache>>, String> {
        // A recording must contain every answer, and a replay must not use any other.
        if !self.settings.filter.cache || !self.is_live() {
            return Ok(None);
        }
        let advice = "set XDG_CACHE_HOME to another directory, or `filter.cache` to false";
        let directory = environment::cache_directory().ok_or_else(|| {
            format!("`filter.cache` has no effect: can't find your cache directory; {advice}")
        })?;
        let place = directory.join("answers");
        let directory = answer_cache::resolved(&place.path());
        if let Some(root) = roots.iter().find(|root| directory.starts_with(root)) {
            return Err(format!(
                "`filter.cache` has no effect here: the cache directory {} is inside the root {}, where \
                 Forage writes nothing; {advice}",
                directory.display(),
                root.display()
            ));
        }
        if let Err(problem) = place.open()
            && problem.is_distrust()
        {
            return Err(format!("`filter.cache` has no effect: {problem}"));
        }
        // Only a hash of the models' settings may go to disk, because an address may contain a password.
        let table = self.table().map_err(|error| format!("`filter.cache` has no effect: {error:#}"))?;
        let resolved = table.resolve_all(&environment::variable).into_iter();
        let addresses: Vec<_> = resolved.map(|provider| (provider.name, provider.base_url)).collect();
        let settings = &self.settings;
        let models = format!("{:?}", (&settings.models, &self.model_name, settings.table(), addresses));
        Ok(Some(Arc::new(FileCache::new(
            place,
            format!("{:016x}", Hash64::hash_parts(&[models.as_bytes()])),
        ))))
    }

    /// Returns true if `keyword_search` ranks without a model.
    pub(crate) fn is_lexical(&self) -> bool {
        self.settings.filter.mode == FilterMode::Lexical
    }

    /// Returns the path of the user's configuration file, which may not exist.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the path and size of the user's answer cache. The size is an error if the directory can't be
    /// read or trusted.
    pub(crate) fn cache(&self) -> Option<(PathBuf, answer_cache::Size)> {
        let place = environment::cache_directory()?;
        Some((place.path(), answer_cache::size(&place)))
    }

    /// Looks up the external engines, whether or not they are used.
    pub(crate) fn installed_engines(&self, roots: &[&Path]) -> Vec<(&'static str, Result<Program, String>)> {
        let search_path = environment::search_path();
        let find =
            |name| Program::resolve(Path::new(name), &search_path, roots).map_err(|error| error.to_string());
        ["rg", "ugrep"].map(|name| (name, find(name))).into()
    }

    /// Lists the settings and variables that were searched for a model. The text must never contain their
    /// values.
    pub(crate) fn looked_for(&self) -> String {
        let mut places = vec![format!("a model in `models` of {}", self.file.display())];
        places.push(format!("the environment variables {}", environment::MODEL_VARIABLES.join(", ")));
        places.push("the options --model, --base-url and --key-env".to_owned());
        if !self.names_models() {
            places.push("a provider with a key, or on this machine".to_owned());
        }
        format!("Looked for: {}.", places.join("; "))
    }

    /// Returns true if [`Self::describe`] leaves out a password or another secret.
    pub(crate) fn has_secrets(&self) -> bool {
        self.describe().any(|(key, value, _)| value.as_ref() != self.layers.get(key))
    }

    /// Lists each setting with its key, its value if it has one, and its source. The values contain no
    /// passwords or other secrets.
    pub(crate) fn describe(&self) -> impl Iterator<Item = (&'static str, Option<Value>, &str)> {
        let redactor = Redactor::standard();
        settings::rows().iter().map(move |row| {
            let value = self.layers.get(&row.path).map(|value| shown(value, &redactor));
            (&*row.path, value, self.source(&row.path))
        })
    }
}

/// Prepares a value for display. This removes the passwords of addresses, and other secrets.
fn shown(value: &Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => {
            let without_password = text.split_once("://").and_then(|(scheme, rest)| {
                let (user, host) = rest.split_once('@')?;
                (!user.contains('/')).then(|| format!("{scheme}://{host}"))
            });
            let text = without_password.as_ref().unwrap_or(text);
            Value::String(redactor.redact(text).as_str().to_owned())
        }
        Value::Array(items) => items.iter().map(|item| shown(item, redactor)).collect::<Vec<_>>().into(),
        Value::Table(fields) => {
            Value::Table(fields.iter().map(|(name, field)| (name.clone(), shown(field, redactor))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fn fuzz_a_configuration_is_read_or_refused_by_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        let seeds = forage_fuzz::seeds([
            "roots = [\"/a\"]\nfilter = \"model\"\nindex = \"auto\"\n[limits]\ntimeout_ms = 5000\nthreads = 4\n[secrets]\nallow = [\"x\"]\n[tools.search]\nengine = \"rg\"\ndefault_max_results = 10\n",
            "[[models]]\nprovider = \"acme\"\nmodel = \"m\"\nbase_url = \"https://h/v1\"\n[providers.acme]\nwire = \"openai-chat\"\nbase_url = \"https://h\"\n[filter]\nmode = \"model\"\nevidence_tokens = 9000\n[retrieval]\n[telemetry]\npath = \"/t\"\n[mcp]\n[ask]\nturns = 3\n",
        ]);
        forage_fuzz::target!(&seeds, |input| {
            std::fs::write(&path, input).unwrap();
            let read = read_file(&path, true).and_then(|text| {
                let mut layers = Layers::default();
                layers.read_file(&text.unwrap(), "config.toml")?;
                Ok(layers)
            });
            match read {
                Ok(layers) => drop(layers.settings().unwrap()),
                Err(error) => assert!(format!("{error:#}").contains("config.toml"), "{error:#}"),
            }
        });
    }
}

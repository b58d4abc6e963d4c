//! Chooses models for a role. This resolves the provider table in the user's environment and reads the
//! providers' lists.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use forage_llm::limits::{LIST_TIMEOUT, MAX_MODELS_PER_CALL};
use forage_llm::{
    ApiKey, ChatModel, ExchangeMode, ListFailure, ModelCandidate, ModelChoice, ModelListing, ModelRole,
    ProviderSettings, ProviderTable, ResolvedModel, TableSettings, WireLister, choose,
};
use forage_tools::FoundModels;

use super::environment::{self, variable};
use super::model_lists::{KnownList, ModelLists};
use super::table::Settings;
use super::{Config, DEFAULT, ModelSetting};

/// The table's name for a server that we only know by its address.
pub(super) const CUSTOM: &str = "custom";

/// The providers as resolved in the environment, and the known model lists.
pub(crate) struct ProviderCatalog {
    pub(crate) table: ProviderTable,
    pub(crate) providers: Vec<ResolvedModel>,
    lists: BTreeMap<String, KnownList>,
    files: ModelLists,
    /// The deadline for reading all lists.
    deadline: Instant,
    /// Where model answers come from. Note that model lists are never recorded.
    exchanges: ExchangeMode,
}

impl Settings {
    /// Collects the user's changes to the provider table.
    pub(super) fn table(&self) -> TableSettings {
        TableSettings {
            providers: self.providers.clone(),
            roles: self.roles.clone(),
            model_facts: self.model_facts.clone(),
        }
    }
}

impl Config {
    /// Builds the provider table with the user's settings applied.
    pub(super) fn table(&self) -> anyhow::Result<ProviderTable> {
        let table = ProviderTable::built_in()?;
        table.with(&self.settings.table()).with_context(|| {
            let mut sources = ["providers", "roles", "model_facts"].map(|key| self.source(key)).into_iter();
            sources.find(|source| *source != DEFAULT).unwrap_or(DEFAULT).to_owned()
        })
    }

    /// Lists the user's variables that a server needs: keys, addresses, and the locations of its files. With
    /// `is_set`, only those that are set.
    pub(crate) fn variables_of_the_server(&self, is_set: bool) -> Vec<String> {
        let table = self.table().ok();
        let keys = self.settings.models.iter().filter_map(|model| model.key_env.as_deref());
        let names: Vec<&str> = table.iter().flat_map(ProviderTable::variables).chain(keys).collect();
        environment::variables_of_the_server(&names, is_set)
    }

    /// Returns true if the user named models, so that none must be chosen automatically.
    pub(crate) fn names_models(&self) -> bool {
        !self.settings.models.is_empty() && self.address_alone().is_none()
    }

    /// Returns true if the user has said which model agents may use: by `models`, by the preferences of the
    /// role, by Forage's own variables, or by a recording or replay. A key in the environment alone is not
    /// enough. It may be for other programs, and its account must not pay for an agent's calls.
    pub(crate) fn confirms_models(&self) -> bool {
        let prefers = || self.layers.get("roles")?.get("filter")?.get("prefer");
        !self.settings.models.is_empty() || !self.is_live() || prefers().is_some()
    }

    /// Returns true if `keyword_search` needs a model, but the user has named none for agents.
    pub(crate) fn names_no_model_for_agents(&self) -> bool {
        !self.is_lexical() && !self.confirms_models()
    }

    /// Lists the variables with the keys of the models that agents may use.
    pub(crate) fn keys_of_models(&self) -> Vec<String> {
        if self.is_lexical() || !self.confirms_models() {
            return Vec::new();
        }
        let names_of = |model: &ModelSetting, table: &ProviderTable| match &model.key_env {
            Some(key) => vec![key.clone()],
            None => table.key_variables(model.provider.as_deref().unwrap_or_default()).to_vec(),
        };
        let table = self.table().ok();
        let named = self.settings.models.iter();
        table.iter().flat_map(|table| named.clone().flat_map(|model| names_of(model, table))).collect()
    }

    /// Describes in one sentence which model and account agents use for `keyword_search`, or which setting
    /// would let them use one.
    pub(crate) fn models_of_agents(&self) -> Option<String> {
        if self.is_lexical() {
            return None;
        }
        if self.names_models() {
            let named =
                self.settings.models.iter().map(ModelSetting::shown).collect::<Vec<_>>().join(", then ");
            return Some(format!("`keyword_search` sends redacted code to {named}"));
        }
        let catalog = ProviderCatalog::open(self).ok()?;
        let usable = catalog.providers.iter().filter(|it| it.obstacle.is_none());
        let account = |it: &ResolvedModel| match &it.key_variable {
            Some(key) => format!("{} (key in {key})", it.name),
            None => it.name.clone(),
        };
        if self.confirms_models() {
            let accounts: Vec<String> = usable.map(account).collect();
            return (!accounts.is_empty()).then(|| {
                format!(
                    "`keyword_search` sends redacted code to the first usable model of {}; `forage models` shows which",
                    accounts.join(", ")
                )
            });
        }
        let accounts: Vec<String> = usable.filter(|it| !it.is_local).map(account).collect();
        (!accounts.is_empty()).then(|| {
            format!(
                "`keyword_search` is not offered to agents: {} is usable, but no model is configured for \
                 it. `forage models` lists models; name one in `models` of {} or in FORAGE_MODEL",
                accounts.join(", "),
                self.file().display()
            )
        })
    }

    /// Lists the set variables that influence Forage here: its own, and those that lead to a model that
    /// agents may use.
    pub(crate) fn variables_in_use(&self) -> Vec<String> {
        let mut names = environment::set_variables();
        if self.is_lexical() || !self.confirms_models() {
            return names;
        }
        if self.names_models() {
            names.extend(self.settings.models.iter().filter_map(|model| model.key_env.clone()));
        }
        let named = |provider: &str| {
            self.settings.models.iter().any(|model| model.provider.as_deref() == Some(provider))
                || !self.names_models()
        };
        let catalog = ProviderCatalog::open(self);
        let providers = catalog.iter().flat_map(|catalog| &catalog.providers);
        // A provider on this machine is found without a key.
        for provider in providers.filter(|it| it.obstacle.is_none() && !it.is_local && named(&it.name)) {
            names.extend(provider.key_variable.clone());
            names.extend(provider.base_url_variable.clone());
        }
        names.retain(|name| variable(name).is_some());
        names
    }

    /// Returns the server that is configured by its address only, without a model.
    fn address_alone(&self) -> Option<(&ModelSetting, &str)> {
        match &self.settings.models[..] {
            [setting] if setting.model.is_none() => Some((setting, setting.base_url.as_deref()?)),
            _ => None,
        }
    }

    /// Opens clients for the named models, and explains why others can't be called.
    pub(crate) fn named_models(&self) -> anyhow::Result<FoundModels> {
        let table = self.table()?;
        let mut found = FoundModels::default();
        let mut unusable = Vec::new();
        for model in &self.settings.models {
            let opened = model.open(&table, &self.exchanges);
            match opened.with_context(|| format!("{}: `models`", self.source("models")))? {
                Some(client) => found.models.push(client),
                None => unusable.push(format!("Configured but not usable: {}.", model.why_unusable(&table))),
            }
        }
        found.passed_over = unusable.join(" ");
        Ok(found)
    }

    /// Lists the addresses at which models may be called: those of the named models, or else those of all
    /// providers that can be chosen.
    pub(super) fn addresses_of_models(&self) -> Vec<String> {
        if !self.names_models() {
            let catalog = ProviderCatalog::open(self);
            let usable =
                catalog.iter().flat_map(|catalog| &catalog.providers).filter(|it| it.obstacle.is_none());
            return usable.filter_map(|provider| provider.base_url.clone()).collect();
        }
        let Ok(table) = self.table() else { return Vec::new() };
        self.settings.models.iter().filter_map(|model| model.address(&table)).collect()
    }

    /// Opens models for the agent in order of preference, and explains why others are missing. This may read
    /// model lists, which takes up to two seconds.
    pub(crate) fn agent_models(&self) -> anyhow::Result<FoundModels> {
        if let Some(models) = self.replayed_models()? {
            return Ok(FoundModels { models, passed_over: String::new() });
        }
        if self.names_models() {
            return self.named_models();
        }
        Ok(self.chosen_models(ModelRole::Agent))
    }

    /// Opens the models that are chosen for a role.
    pub(super) fn chosen_models(&self, role: ModelRole) -> FoundModels {
        let chosen = ProviderCatalog::open(self).and_then(|mut catalog| {
            let choice = catalog.choose(role);
            let picks = choice.picks(MAX_MODELS_PER_CALL);
            let models = picks.into_iter().map(|it| catalog.model(it)).collect::<anyhow::Result<Vec<_>>>()?;
            Ok(FoundModels { models, passed_over: passed_over(&choice) })
        });
        chosen.unwrap_or_else(|error| FoundModels { models: Vec::new(), passed_over: format!("{error:#}.") })
    }
}

/// Explains why models were passed over. Providers that are not set up are only listed by name, and the
/// others with their reasons.
fn passed_over(choice: &ModelChoice) -> String {
    let (unset, others): (Vec<_>, Vec<_>) =
        choice.passed_over.iter().partition(|passed| passed.is_not_set_up);
    let line = |passed: &&forage_llm::SkippedModels| match &passed.models[..] {
        [] => format!("\n- {}: {}", passed.provider, passed.reason),
        [one] => format!("\n- {}/{one}: {}", passed.provider, passed.reason),
        [one, more @ ..] => {
            format!("\n- {}/{one} and {} more: {}", passed.provider, more.len(), passed.reason)
        }
    };
    let lines: String = others.iter().take(MAX_LINES).map(line).collect();
    let names: Vec<&str> = unset.iter().map(|passed| passed.provider.as_str()).collect();
    format!("Not set up: {}; `forage models` says what each needs.{lines}", names.join(", "))
}

/// Maximum lines of the error for missing models.
const MAX_LINES: usize = 10;

impl ProviderCatalog {
    /// Reads the environment and the cached lists. This makes no network request.
    pub(crate) fn open(config: &Config) -> anyhow::Result<Self> {
        let mut table = config.table()?;
        let alone = config.address_alone();
        if let Some((setting, base_url)) = alone {
            let key_env = setting.key_env.clone().into_iter().collect();
            let provider = ProviderSettings::at(base_url, key_env, setting.allow_insecure);
            let settings = TableSettings {
                providers: [(CUSTOM.to_owned(), provider)].into(),
                ..TableSettings::default()
            };
            table = table.with(&settings)?;
        }
        let mut providers = table.resolve_all(&variable);
        if alone.is_some() {
            providers.retain(|provider| provider.name == CUSTOM);
        }
        let files = ModelLists::new(environment::cache_directory());
        let usable = providers.iter().filter(|provider| provider.obstacle.is_none());
        let lists =
            usable.filter_map(|provider| Some((provider.name.clone(), files.kept(provider)?))).collect();
        let timeout = LIST_TIMEOUT.min(std::time::Duration::from_millis(config.settings.model_timeout_ms));
        Ok(Self {
            table,
            providers,
            lists,
            files,
            deadline: Instant::now() + timeout,
            exchanges: config.exchanges.clone(),
        })
    }

    /// Chooses models for a role, and requests the lists that this needs.
    pub(crate) fn choose(&mut self, role: ModelRole) -> ModelChoice {
        self.choose_with(role, true)
    }

    /// Chooses models by the cached lists only. This makes no network request.
    pub(crate) fn choose_from_kept(&mut self, role: ModelRole) -> ModelChoice {
        self.choose_with(role, false)
    }

    fn choose_with(&mut self, role: ModelRole, may_ask: bool) -> ModelChoice {
        loop {
            let lists = self.lists.iter().map(|(name, list)| (name.clone(), list.listing.clone())).collect();
            let choice = choose(&self.table, role, &self.providers, &lists);
            if choice.needs.is_empty() {
                return choice;
            }
            if may_ask {
                let read = self.read(|provider| choice.needs.contains(&provider.name));
                self.lists.extend(read);
            }
            // Each requested list must have an entry now, or this loop would not terminate.
            for name in choice.needs {
                self.lists.entry(name).or_insert_with(|| KnownList {
                    listing: ModelListing::Failed(ListFailure::new("it was not read")),
                    source: "it was not read".to_owned(),
                });
            }
        }
    }

    /// Reads the lists of all usable providers, or without `refresh` only the uncached ones. The lists of
    /// local providers are returned but not stored, because a search should read those only if it finds
    /// nothing better.
    pub(crate) fn read_all(&mut self, refresh: bool) -> BTreeMap<String, KnownList> {
        let read = self.read(|provider| refresh || !self.lists.contains_key(&provider.name));
        let is_local = |name: &str| self.providers.iter().any(|it| it.name == name && it.is_local);
        let (local, hosted): (BTreeMap<_, _>, _) = read.into_iter().partition(|(name, _)| is_local(name));
        self.lists.extend(hosted);
        local
    }

    fn read(&self, wanted: impl Fn(&ResolvedModel) -> bool) -> BTreeMap<String, KnownList> {
        let usable = self.providers.iter().filter(|provider| provider.obstacle.is_none());
        let wanted: Vec<&ResolvedModel> = usable.filter(|provider| wanted(provider)).collect();
        self.files.read(&wanted, &WireLister::default(), self.deadline)
    }

    /// Returns the known list of a provider.
    pub(crate) fn list(&self, provider: &str) -> Option<&KnownList> {
        self.lists.get(provider)
    }

    /// Creates the client for a candidate.
    pub(crate) fn model(&self, candidate: &ModelCandidate) -> anyhow::Result<Arc<dyn ChatModel>> {
        let provider = self.providers.iter().find(|provider| provider.name == candidate.provider);
        let provider = provider.with_context(|| format!("there is no provider {}", candidate.provider))?;
        let endpoint = provider.endpoint(&candidate.model, candidate.facts).map_err(anyhow::Error::msg)?;
        Ok(provider.wire.client_with(endpoint, self.exchanges.clone()))
    }
}

/// Reads the API key in a variable.
pub(super) fn key(name: &str) -> anyhow::Result<Option<ApiKey>> {
    let key = variable(name).map(|key| ApiKey::new(&key)).transpose();
    key.with_context(|| format!("the key in the environment variable {name}"))
}

//! The table of providers, preferred models and facts about models. This is data: the built-in
//! `providers.toml`, and the user's configuration, which takes precedence.

mod choose;
mod facts;
mod list;
mod pattern;
mod resolve;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use crate::endpoint::is_price;
use crate::wire_name::Wire;

pub use choose::{ModelCandidate, ModelChoice, SkippedModels, choose};
pub use facts::FactSettings;
pub use list::{ListFailure, ModelLister, ModelListing, WireLister};
pub use pattern::IdPattern;
pub use resolve::{Obstacle, ResolvedModel};

/// The built-in table.
const BUILT_IN: &str = include_str!("providers.toml");

/// The purpose for which we choose a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelRole {
    /// Filtering the files of a search by relevance.
    Filter,
    /// Answering a question with tools.
    Agent,
}

impl ModelRole {
    /// All roles.
    pub const ALL: [Self; 2] = [Self::Filter, Self::Agent];

    /// The name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Agent => "agent",
        }
    }
}

/// The providers, roles and models described in one file. Every field is optional.
#[derive(Debug, Clone, Default)]
pub struct TableSettings {
    /// Providers by name.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// The preferred models for each role.
    pub roles: RoleTable,
    /// Facts about models. They take precedence over those in the table.
    pub model_facts: Vec<FactSettings>,
}

impl TableSettings {
    /// Returns true if nothing is set.
    pub fn is_empty(&self) -> bool {
        self.providers.is_empty() && self.roles == RoleTable::default() && self.model_facts.is_empty()
    }
}

/// A provider as described in a file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderSettings {
    wire: Option<Wire>,
    /// The address to use if no environment variable contains one.
    base_url: Option<String>,
    /// Environment variables that may contain an address.
    base_url_env: Option<Vec<String>>,
    /// Environment variables that may contain `host[:port]`. The path and a missing port come from
    /// `base_url`.
    host_env: Option<Vec<String>>,
    /// Environment variables that may contain the key. Empty for a server without keys.
    key_env: Option<Vec<String>>,
    /// Whether the provider runs on the user's machine: it has no key and no price, and is available only if
    /// we can read its model list. If unset, this depends on the address, and the prices are those of its
    /// models. False is for a gateway on this machine to remote providers.
    local: Option<bool>,
    allow_insecure: Option<bool>,
    /// False removes the provider from the table.
    enabled: Option<bool>,
}

/// The roles described in a file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleTable {
    /// Ids that are excluded from all roles.
    exclude: Option<Vec<IdPattern>>,
    #[serde(default)]
    filter: RoleSettings,
    #[serde(default)]
    agent: RoleSettings,
}

impl RoleTable {
    /// Lists the names of the roles that are set.
    pub fn names(&self) -> Vec<&'static str> {
        let is_mentioned = |role: &ModelRole| *self.settings(*role) != RoleSettings::default();
        ModelRole::ALL.into_iter().filter(is_mentioned).map(ModelRole::name).collect()
    }

    fn settings(&self, role: ModelRole) -> &RoleSettings {
        match role {
            ModelRole::Filter => &self.filter,
            ModelRole::Agent => &self.agent,
        }
    }
}

/// A role as described in a file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleSettings {
    /// Preferences in order. The first one that matches an available model wins.
    prefer: Option<Vec<Preference>>,
    /// Ids that are excluded from this role.
    exclude: Option<Vec<IdPattern>>,
    /// Minimum context. We skip models that are known to accept fewer tokens.
    min_context_tokens: Option<u64>,
}

/// One entry of a role's list of preferences.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preference {
    /// The name of a provider, or `*` for all.
    provider: String,
    #[serde(rename = "match")]
    patterns: Vec<IdPattern>,
    /// Ids that must not be used even though they match.
    #[serde(default)]
    exclude: Vec<IdPattern>,
    #[serde(default)]
    order: Order,
    /// Price cap, in US dollars per million input tokens. We use a model that is known to cost more only if
    /// there is no other.
    max_input_price: Option<f64>,
}

impl Preference {
    /// Finds the pattern that matches an id.
    fn pattern_for(&self, id: &str) -> Option<&IdPattern> {
        let is_meant = !self.exclude.iter().any(|pattern| pattern.matches(id));
        self.patterns.iter().filter(|_| is_meant).find(|pattern| pattern.matches(id))
    }
}

/// The order of several models that match the same preference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Newest,
    Cheapest,
}

/// A provider of the table.
#[derive(Debug, Clone)]
pub struct Provider {
    settings: ProviderSettings,
    origin: Origin,
}

/// Where an entry of the table comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The built-in table.
    BuiltIn,
    /// The built-in table, modified by the user's configuration.
    Changed,
    /// Only the user's configuration.
    Added,
}

impl Provider {
    /// The wire protocol.
    pub fn wire(&self) -> Wire {
        self.settings.wire.unwrap_or_default()
    }

    /// Where the provider is described: in the built-in table, in the user's configuration, or in both.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    fn is_free(&self) -> bool {
        self.settings.local == Some(true)
    }
}

/// Providers, roles and facts, ready to use.
#[derive(Debug, Clone)]
pub struct ProviderTable {
    as_of: String,
    providers: BTreeMap<String, Provider>,
    roles: RoleTable,
    facts: Vec<FactSettings>,
}

/// An invalid table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// The file is not TOML of this structure.
    #[error("the table of providers is not valid: {0}")]
    Syntax(String),
    /// A provider added by the user has no address.
    #[error("`providers.{0}` has neither `base_url` nor `base_url_env`; give the address of its API")]
    NoAddress(String),
    /// The name can't be used in `provider/id`.
    #[error("`providers.{0}`: a provider's name may only contain letters, digits, `-` and `_`; rename it")]
    Name(String),
    /// A preference or a fact names an unknown provider.
    #[error("`{place}` names the unknown provider `{provider}`; known providers: {known}")]
    UnknownProvider {
        /// The table entry that contains the name.
        place: String,
        /// The unknown name.
        provider: String,
        /// A list of the known names.
        known: String,
    },
    /// A preference has no patterns.
    #[error("`{0}` has an empty `match`; write `[\"*\"]` for any model")]
    NoPattern(String),
    /// A number is not a valid price.
    #[error("`{0}` has a price that is negative or not a number; give US dollars per million tokens")]
    Price(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    as_of: String,
    providers: BTreeMap<String, ProviderSettings>,
    roles: RoleTable,
    model_facts: Vec<FactSettings>,
}

impl ProviderTable {
    /// Parses the built-in table.
    ///
    /// # Errors
    ///
    /// This never fails, which a test verifies. It returns a result so that a broken build does not panic.
    pub fn built_in() -> Result<Self, TableError> {
        let file: TableFile =
            toml::from_str(BUILT_IN).map_err(|error| TableError::Syntax(error.to_string()))?;
        let provider = |settings| Provider { settings, origin: Origin::BuiltIn };
        Ok(Self {
            as_of: file.as_of,
            providers: file.providers.into_iter().map(|(name, it)| (name, provider(it))).collect(),
            roles: file.roles,
            facts: file.model_facts,
        })
    }

    /// Merges the user's settings into the table, field by field. A list replaces the whole list. Facts are
    /// inserted before the existing ones.
    ///
    /// # Errors
    ///
    /// Returns [`TableError`] for the first invalid entry.
    pub fn with(mut self, user: &TableSettings) -> Result<Self, TableError> {
        for (name, settings) in &user.providers {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(fits) {
                return Err(TableError::Name(name.escape_debug().to_string()));
            }
            match self.providers.get_mut(name) {
                Some(provider) => {
                    provider.settings.override_with(settings);
                    provider.origin = Origin::Changed;
                }
                None if settings.base_url.is_none() && settings.base_url_env.is_none() => {
                    return Err(TableError::NoAddress(name.clone()));
                }
                None => {
                    let provider = Provider { settings: settings.clone(), origin: Origin::Added };
                    self.providers.insert(name.clone(), provider);
                }
            }
        }
        let roles = &mut self.roles;
        replace(&mut roles.exclude, &user.roles.exclude);
        roles.filter.override_with(&user.roles.filter);
        roles.agent.override_with(&user.roles.agent);
        // Each fact comes from the first entry that sets it, so the user's entries must come first.
        self.facts.splice(0..0, user.model_facts.iter().cloned());
        self.check()?;
        Ok(self)
    }

    fn check(&self) -> Result<(), TableError> {
        for role in ModelRole::ALL {
            for preference in self.preferences(role) {
                let place = || format!("roles.{}", role.name());
                if preference.provider != "*" {
                    self.check_provider(&preference.provider, place)?;
                }
                if preference.patterns.is_empty() {
                    return Err(TableError::NoPattern(place()));
                }
                if preference.max_input_price.is_some_and(|price| !is_price(price)) {
                    return Err(TableError::Price(place()));
                }
            }
        }
        for facts in &self.facts {
            let place = || "model_facts".to_owned();
            if let Some(provider) = facts.provider() {
                self.check_provider(provider, place)?;
            }
            if !facts.has_patterns() {
                return Err(TableError::NoPattern(place()));
            }
            if !facts.has_valid_price() {
                return Err(TableError::Price(place()));
            }
        }
        Ok(())
    }

    fn check_provider(&self, name: &str, place: impl FnOnce() -> String) -> Result<(), TableError> {
        if self.providers.contains_key(name) {
            return Ok(());
        }
        let known = self.providers.keys().cloned().collect::<Vec<_>>().join(", ");
        let provider = name.escape_debug().to_string();
        Err(TableError::UnknownProvider { place: place(), provider, known })
    }

    /// The date of the built-in facts.
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    /// Looks up the provider with this name.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.get(name)
    }

    /// Iterates over the names of all providers, sorted.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// The environment variables that may contain a provider's key. The first one that is set is used.
    pub fn key_variables(&self, name: &str) -> &[String] {
        let provider = self.providers.get(name);
        provider.and_then(|provider| provider.settings.key_env.as_deref()).unwrap_or_default()
    }

    /// Lists the names of all environment variables in the table, sorted: those for keys, base URLs and
    /// hosts.
    pub fn variables(&self) -> Vec<&str> {
        fn of(provider: &Provider) -> impl Iterator<Item = &String> {
            let ProviderSettings { key_env, base_url_env, host_env, .. } = &provider.settings;
            [key_env, base_url_env, host_env].into_iter().flatten().flatten()
        }
        let mut names: Vec<&str> = self.providers.values().flat_map(of).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn preferences(&self, role: ModelRole) -> &[Preference] {
        self.roles.settings(role).prefer.as_deref().unwrap_or_default()
    }

    /// Finds the pattern that excludes an id from a role.
    fn exclusion(&self, role: ModelRole, id: &str) -> Option<&IdPattern> {
        let lists = [&self.roles.exclude, &self.roles.settings(role).exclude];
        lists.into_iter().flatten().flatten().find(|pattern| pattern.matches(id))
    }

    fn min_context_tokens(&self, role: ModelRole) -> u64 {
        self.roles.settings(role).min_context_tokens.unwrap_or(0)
    }
}

impl ProviderSettings {
    /// Describes a server by its address, with the environment variables that may contain its key.
    pub fn at(base_url: impl Into<String>, key_env: Vec<String>, allow_insecure: bool) -> Self {
        Self {
            base_url: Some(base_url.into()),
            key_env: Some(key_env),
            allow_insecure: Some(allow_insecure),
            ..Self::default()
        }
    }

    fn override_with(&mut self, user: &Self) {
        replace(&mut self.wire, &user.wire);
        // An address in the user's configuration takes precedence over the variables of the built-in entry.
        if user.base_url.is_some() {
            self.base_url_env = None;
            self.host_env = None;
        }
        replace(&mut self.base_url, &user.base_url);
        replace(&mut self.base_url_env, &user.base_url_env);
        replace(&mut self.host_env, &user.host_env);
        replace(&mut self.key_env, &user.key_env);
        replace(&mut self.local, &user.local);
        replace(&mut self.allow_insecure, &user.allow_insecure);
        replace(&mut self.enabled, &user.enabled);
    }
}

impl RoleSettings {
    fn override_with(&mut self, user: &Self) {
        replace(&mut self.prefer, &user.prefer);
        replace(&mut self.exclude, &user.exclude);
        replace(&mut self.min_context_tokens, &user.min_context_tokens);
    }
}

fn replace<T: Clone>(old: &mut Option<T>, new: &Option<T>) {
    if new.is_some() {
        old.clone_from(new);
    }
}

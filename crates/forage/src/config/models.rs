//! Models that the user configures by name, instead of leaving the choice to the provider table.

use std::sync::Arc;

use forage_llm::{
    ChatModel, Endpoint, EndpointSettings, ExchangeMode, ModelFacts, OutputLimitField, ProviderTable,
    ResolvedModel, Wire, is_loopback_url,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environment::variable;
use super::providers::key;

/// One model of the list, as it is configured.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelSetting {
    /// A short name for messages or, without `base_url`, the name of a known provider.
    pub(super) provider: Option<String>,
    pub(super) base_url: Option<String>,
    /// The id that the provider knows the model by.
    pub(super) model: Option<String>,
    /// The environment variable that holds the key. A key itself is never part of a configuration file.
    pub(super) key_env: Option<String>,
    /// The protocol; defaults to that of a known provider, else OpenAI's.
    #[schemars(with = "Option<String>")]
    pub(super) wire: Option<Wire>,
    /// Permits plain `http` to another machine.
    #[serde(default)]
    pub(super) allow_insecure: bool,
    /// The request names its limit `max_completion_tokens`.
    pub(super) max_completion_tokens: Option<bool>,
    /// The model accepts a temperature of 0.
    pub(super) accepts_temperature: Option<bool>,
}

impl ModelSetting {
    /// Creates the settings of a model whose provider is in the table.
    pub(super) fn for_table_provider(provider: &str, model: &str) -> Self {
        Self { provider: Some(provider.to_owned()), model: Some(model.to_owned()), ..Self::default() }
    }

    /// Opens the client. Returns `None` if the model can't be called because its key or id is missing.
    pub(super) fn open(
        &self,
        table: &ProviderTable,
        exchanges: &ExchangeMode,
    ) -> anyhow::Result<Option<Arc<dyn ChatModel>>> {
        let Some(model) = &self.model else { return Ok(None) };
        let (wire, endpoint) = match (&self.base_url, self.resolve(table)) {
            (Some(base_url), _) => {
                let key = self.key_env.as_deref().map(key).transpose()?.flatten();
                if key.is_none() && !is_loopback_url(base_url) {
                    return Ok(None);
                }
                let mut settings = EndpointSettings::new(self.provider(), base_url, model);
                settings.key = key;
                settings.allow_insecure = self.allow_insecure;
                settings.facts = self.facts(table, model);
                (self.wire(table), Endpoint::new(settings)?)
            }
            (None, Some(provider)) if provider.obstacle.is_none() => {
                let endpoint = provider.endpoint(model, self.facts(table, model));
                (self.wire.unwrap_or(provider.wire), endpoint.map_err(anyhow::Error::msg)?)
            }
            (None, _) => return Ok(None),
        };
        Ok(Some(wire.client_with(endpoint, exchanges.clone())))
    }

    /// Resolves the model's provider from the table. An explicit key variable replaces that of the table.
    fn resolve(&self, table: &ProviderTable) -> Option<ResolvedModel> {
        let name = self.provider.as_deref().filter(|_| self.base_url.is_none())?;
        match &self.key_env {
            None => table.resolve(name, &variable),
            Some(own) => {
                let key_env = table.key_variables(name).to_vec();
                table.resolve(name, &|asked| {
                    variable(if key_env.iter().any(|it| it == asked) { own } else { asked })
                })
            }
        }
    }

    /// Returns the model's address.
    pub(super) fn address(&self, table: &ProviderTable) -> Option<String> {
        self.base_url.clone().or_else(|| self.resolve(table)?.base_url)
    }

    /// Looks up the provider's name in the table. The name gives access to the table's facts.
    fn name_in_table<'a>(&'a self, table: &'a ProviderTable) -> Option<&'a str> {
        let named = self.provider.as_deref().filter(|name| table.provider(name).is_some());
        named.or_else(|| table.provider_at(self.base_url.as_deref()?))
    }

    fn wire(&self, table: &ProviderTable) -> Wire {
        let provider = || table.provider(self.name_in_table(table)?);
        self.wire.or_else(|| Some(provider()?.wire())).unwrap_or_default()
    }

    /// Returns true if this is the given model of the given provider.
    pub(super) fn is_of(&self, provider: &str, model: &str) -> bool {
        self.provider() == provider && self.model.as_deref() == Some(model)
    }

    pub(super) fn facts(&self, table: &ProviderTable, model: &str) -> ModelFacts {
        let mut facts = table.facts(self.name_in_table(table).unwrap_or_default(), model);
        facts.output_limit_field = match self.max_completion_tokens {
            Some(true) => OutputLimitField::MaxCompletionTokens,
            Some(false) => OutputLimitField::MaxTokens,
            None => facts.output_limit_field,
        };
        facts.accepts_temperature = self.accepts_temperature.unwrap_or(facts.accepts_temperature);
        facts
    }

    fn provider(&self) -> String {
        let host =
            || Some(self.base_url.as_deref()?.split("//").nth(1)?.split(['/', ':', '@']).next()?.to_owned());
        self.provider
            .clone()
            .or_else(host)
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "model".to_owned())
    }

    /// Describes the model for people: its id, its provider and the variable with the key.
    pub(super) fn shown(&self) -> String {
        let key = self.key_env.as_ref().map(|key| format!(" (key in {key})")).unwrap_or_default();
        format!("{} at {}{key}", self.model.as_deref().unwrap_or("a model"), self.provider())
    }

    /// Returns true if `name` is the model's id, or its provider and id.
    pub(super) fn is_named(&self, name: &str) -> bool {
        let Some(model) = &self.model else { return false };
        name == model
            || name.strip_suffix(model).and_then(|rest| rest.strip_suffix('/')) == Some(&self.provider())
    }

    /// Explains why [`Self::open`] returns no client. The text must not contain values of secrets.
    pub(super) fn why_unusable(&self, table: &ProviderTable) -> String {
        let place = || format!("{} at {}", self.model.as_deref().unwrap_or_default(), self.provider());
        let because = |why: &str| format!("{}, because {why}", place());
        match (&self.model, &self.base_url, &self.key_env) {
            (None, ..) => format!("{} has no `model`", self.provider()),
            (Some(model), None, _) => match self.resolve(table) {
                Some(ResolvedModel { obstacle: Some(obstacle), .. }) => because(&obstacle.to_string()),
                Some(_) => because("its address is not valid"),
                None => format!("{model} has neither a `base_url` nor a `provider` with a known address"),
            },
            (Some(_), _, Some(key)) => because(&format!("the variable {key} is not set")),
            (Some(_), _, None) => because("it has no `key_env`"),
        }
    }
}

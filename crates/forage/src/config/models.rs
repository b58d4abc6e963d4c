//! Models that are asked over the OpenAI chat protocol.

use std::sync::Arc;

use anyhow::Context as _;
use forage_llm::{
    ApiKey, ChatModel, Endpoint, EndpointSettings, ModelFacts, OutputLimitField, Wire, is_loopback_url,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::environment::variable;

/// One model of the list, as it is configured.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelSetting {
    /// A short name for messages.
    pub(super) provider: Option<String>,
    pub(super) base_url: Option<String>,
    /// The id that the provider knows the model by.
    pub(super) model: Option<String>,
    /// The environment variable that holds the key. A key itself is never part of a configuration file.
    pub(super) key_env: Option<String>,
    /// Permits plain `http` to another machine.
    #[serde(default)]
    pub(super) allow_insecure: bool,
    /// The request names its limit `max_completion_tokens`.
    #[serde(default)]
    pub(super) max_completion_tokens: bool,
    /// The model accepts a temperature of 0.
    #[serde(default)]
    pub(super) accepts_temperature: bool,
}

impl ModelSetting {
    /// The client, or `None` when the model can't be asked because its key or its id is missing.
    pub(super) fn open(&self) -> anyhow::Result<Option<Arc<dyn ChatModel>>> {
        let (Some(model), Some(base_url)) = (&self.model, &self.base_url) else { return Ok(None) };
        let key = self.key_env.as_deref().and_then(variable);
        if key.is_none() && !is_loopback_url(base_url) {
            return Ok(None);
        }
        let mut settings = EndpointSettings::new(self.provider(), base_url, model);
        settings.key = key.map(|key| ApiKey::new(&key)).transpose().with_context(|| {
            format!("the key in the environment variable {}", self.key_env.as_deref().unwrap_or_default())
        })?;
        settings.allow_insecure = self.allow_insecure;
        settings.facts = ModelFacts {
            output_limit_field: match self.max_completion_tokens {
                true => OutputLimitField::MaxCompletionTokens,
                false => OutputLimitField::MaxTokens,
            },
            accepts_temperature: self.accepts_temperature,
            ..ModelFacts::default()
        };
        Ok(Some(Wire::OpenAiChat.client(Endpoint::new(settings)?)))
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

    /// Why there is no client, in words without values of secrets.
    pub(super) fn why_unusable(&self) -> String {
        match (&self.model, &self.base_url, &self.key_env) {
            (None, ..) => format!("{} has no `model`", self.provider()),
            (Some(model), None, _) => format!("{model} has no `base_url`"),
            (Some(model), _, Some(key)) => {
                format!("{model} at {}, because the variable {key} is not set", self.provider())
            }
            (Some(model), _, None) => format!("{model} at {}, because it has no `key_env`", self.provider()),
        }
    }

    pub(super) fn describe(&self) -> Value {
        let key_set = self.key_env.as_deref().is_some_and(|name| variable(name).is_some());
        json!({
            "provider": self.provider(),
            "model": self.model,
            // What stands before an `@` could be a password.
            "base_url": self.base_url.as_deref().map(|url| url.rsplit('@').next().unwrap_or_default()),
            "key_env": self.key_env,
            "key_set": key_set,
        })
    }
}

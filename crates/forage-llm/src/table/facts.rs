//! Facts about models, looked up by id.

use serde::Deserialize;

use super::{IdPattern, Provider, ProviderTable};
use crate::endpoint::{ModelFacts, OutputLimitField, Price, Reasoning, is_price};

/// Facts about the models whose ids match. Each field of a model comes from the first matching entry that
/// sets it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactSettings {
    /// The provider of the models. `None` matches any provider.
    provider: Option<String>,
    #[serde(rename = "match")]
    patterns: Vec<IdPattern>,
    /// Whether a temperature of 0 is accepted.
    temperature: Option<bool>,
    output_limit_field: Option<OutputLimitField>,
    reasoning_effort: Option<MinEffort>,
    answer_schema: Option<bool>,
    answer_tool: Option<bool>,
    context_tokens: Option<u64>,
    price: Option<PriceSettings>,
    /// The date on which the provider retired the model.
    retired: Option<String>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceSettings {
    input: f64,
    /// If unset, this is the same as `input`.
    cached_input: Option<f64>,
    output: f64,
}

/// The lowest reasoning effort that a model accepts. Empty for models to which we send none.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MinEffort {
    #[serde(rename = "")]
    Unsaid,
    None,
    Minimal,
    Low,
    Medium,
    High,
}

impl FactSettings {
    pub(super) fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    pub(super) fn has_patterns(&self) -> bool {
        !self.patterns.is_empty()
    }

    pub(super) fn has_valid_price(&self) -> bool {
        self.price.is_none_or(|price| {
            [Some(price.input), price.cached_input, Some(price.output)].into_iter().flatten().all(is_price)
        })
    }

    fn is_about(&self, provider: &str, id: &str) -> bool {
        self.provider.as_deref().is_none_or(|own| own == provider)
            && self.patterns.iter().any(|pattern| pattern.matches(id))
    }
}

impl From<PriceSettings> for Price {
    fn from(price: PriceSettings) -> Self {
        let cached_input = price.cached_input.unwrap_or(price.input);
        Self { input: price.input, cached_input, output: price.output }
    }
}

impl From<MinEffort> for Reasoning {
    fn from(effort: MinEffort) -> Self {
        match effort {
            MinEffort::Unsaid => Self::AsItIs,
            MinEffort::None => Self::Effort("none"),
            MinEffort::Minimal => Self::Effort("minimal"),
            MinEffort::Low => Self::Effort("low"),
            MinEffort::Medium => Self::Effort("medium"),
            MinEffort::High => Self::Effort("high"),
        }
    }
}

impl ProviderTable {
    /// Looks up the facts about a model. For a provider that is not in the table, we use the facts for any
    /// provider.
    pub fn facts(&self, provider: &str, id: &str) -> ModelFacts {
        let facts: Vec<&FactSettings> =
            self.facts.iter().filter(|facts| facts.is_about(provider, id)).collect();
        let is_free = self.provider(provider).is_some_and(Provider::is_free);
        fn first<T>(facts: &[&FactSettings], field: impl FnMut(&&FactSettings) -> Option<T>) -> Option<T> {
            facts.iter().find_map(field)
        }
        ModelFacts {
            output_limit_field: first(&facts, |facts| facts.output_limit_field).unwrap_or_default(),
            accepts_temperature: first(&facts, |facts| facts.temperature).unwrap_or_default(),
            reasoning: first(&facts, |facts| facts.reasoning_effort).map(Into::into).unwrap_or_default(),
            answer_schema: first(&facts, |facts| facts.answer_schema).unwrap_or_default(),
            answer_tool: first(&facts, |facts| facts.answer_tool).unwrap_or_default(),
            price: first(&facts, |facts| facts.price).filter(|_| !is_free).map(Into::into),
            context_tokens: first(&facts, |facts| facts.context_tokens),
        }
    }

    /// Lists the ids of a provider in the table that it still serves. They have the order of the table, which
    /// is newest first for the built-in entries. Patterns with `*` are not included.
    pub fn pinned(&self, provider: &str) -> impl Iterator<Item = &str> {
        self.whole_ids(provider).filter(|(_, retired)| !retired).map(|(id, _)| id)
    }

    /// Lists the ids of a provider in the table, and whether each is retired. Patterns with `*` are not
    /// included.
    pub(super) fn whole_ids(&self, provider: &str) -> impl Iterator<Item = (&str, bool)> {
        let own = self.facts.iter().filter(move |facts| facts.provider() == Some(provider));
        own.flat_map(|facts| {
            let exact = facts.patterns.iter().filter(|pattern| pattern.is_exact());
            exact.map(|pattern| (pattern.as_str(), facts.retired.is_some()))
        })
    }
}

impl<'de> Deserialize<'de> for OutputLimitField {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum TokenLimitField {
            MaxTokens,
            MaxCompletionTokens,
        }
        Ok(match TokenLimitField::deserialize(deserializer)? {
            TokenLimitField::MaxTokens => Self::MaxTokens,
            TokenLimitField::MaxCompletionTokens => Self::MaxCompletionTokens,
        })
    }
}

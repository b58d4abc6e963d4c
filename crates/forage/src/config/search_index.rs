//! `[tools.search_index]`: what files are ranked with.

use std::sync::Arc;

use anyhow::bail;
use forage_rank::{RULES, Weights, limits};

use super::Config;

impl Config {
    pub(super) fn check_rule_weights(&self) -> anyhow::Result<()> {
        let source = &self.rule_weights.source;
        for (name, weight) in &self.rule_weights.value {
            if !RULES.iter().any(|rule| rule.name == name) {
                let known: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
                bail!(
                    "`tools.search_index.weights` ({source}): there is no rule {name:?}; the rules are {}",
                    known.join(", ")
                );
            }
            // Not a number is in no range.
            if !(0.0..=f64::from(limits::RULE_WEIGHT)).contains(weight) {
                let most = limits::RULE_WEIGHT;
                bail!(
                    "`tools.search_index.weights.{name}` ({source}): {weight} is out of range; give 0 to {most}"
                );
            }
        }
        Ok(())
    }

    /// What files are ranked with, if the user has said so; rules that aren't mentioned weigh what is built in.
    pub(crate) fn ranking(&self) -> Option<Arc<Weights>> {
        if self.rule_weights.value.is_empty() {
            return None;
        }
        let mut weights = Weights::default();
        for (name, value) in &self.rule_weights.value {
            if let Some(weight) = weights.rules.get_mut(name) {
                *weight = *value as f32;
            }
        }
        Some(Arc::new(weights))
    }

    /// Where the weights come from.
    pub(crate) fn ranking_source(&self) -> &str {
        &self.rule_weights.source
    }
}

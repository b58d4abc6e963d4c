//! `[tools.search_index]`: what files are ranked with, and how much of them is shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use forage_rank::{RULES, RankWeights, limits};

use super::Config;
use super::settings::Wrong;

const SEARCH_INDEX: &str = "search_index";

/// What is wrong with the weights.
pub(super) fn wrong_weight(weights: &BTreeMap<String, f64>) -> Option<Wrong> {
    for (name, weight) in weights {
        if !RULES.iter().any(|rule| rule.name == name) {
            let known: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
            return Some(format!("there is no rule {name:?}; the rules are {}", known.join(", ")).into());
        }
        // Not a number is in no range.
        if !(0.0..=f64::from(limits::RULE_WEIGHT)).contains(weight) {
            let most = limits::RULE_WEIGHT;
            return Some(Wrong::at(name, format!("{weight} is out of range; give 0 to {most}")));
        }
    }
    None
}

impl Config {
    /// What files are ranked with, if the user has said so; rules that aren't mentioned weigh what is built in.
    pub(crate) fn ranking(&self) -> Option<Arc<RankWeights>> {
        let own = self.settings.tool(SEARCH_INDEX).weights;
        if own.is_empty() {
            return None;
        }
        let mut weights = RankWeights::default();
        for (name, value) in &own {
            if let Some(weight) = weights.rules.get_mut(name) {
                *weight = *value as f32;
            }
        }
        Some(Arc::new(weights))
    }

    /// Tokens of code in an answer to a call that names no number.
    pub(crate) fn code_tokens(&self) -> u64 {
        self.settings.tool(SEARCH_INDEX).code_tokens
    }
}

//! `[ask]`: the bounds of a conversation with the agent.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use forage::agent::Limits;
use forage_llm::ChatModel;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Config, ModelSetting, Setting};

/// What one source says of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskOverrides {
    pub(crate) turns: Option<u64>,
    pub(crate) calls_per_turn: Option<u64>,
    pub(crate) calls: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) total_ms: Option<u64>,
    pub(crate) model_timeout_ms: Option<u64>,
    pub(crate) parallel: Option<u64>,
}

/// A bound: its key, its value and the range of it.
#[derive(Clone, Debug)]
struct Bound {
    name: &'static str,
    setting: Setting<u64>,
    least: u64,
    most: u64,
}

/// The bounds and where they come from.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    bounds: [Bound; 7],
}

impl Default for Ask {
    fn default() -> Self {
        let limits = Limits::default();
        let bound =
            |name, value: u64, least, most| Bound { name, setting: Setting::default(value), least, most };
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            bounds: [
                bound("turns", limits.turns as u64, 1, 100),
                bound("calls_per_turn", limits.calls_per_turn as u64, 1, 64),
                bound("calls", limits.calls as u64, 0, 1_000),
                bound("bytes", limits.bytes as u64, 10_000, 10_000_000),
                bound("total_ms", milliseconds(limits.total), 1_000, 3_600_000),
                bound("model_timeout_ms", milliseconds(limits.model_call), 100, 600_000),
                bound("parallel", limits.parallel as u64, 1, 64),
            ],
        }
    }
}

impl Ask {
    pub(super) fn apply(&mut self, overrides: &AskOverrides, source: &str) {
        let AskOverrides { turns, calls_per_turn, calls, bytes, total_ms, model_timeout_ms, parallel } =
            overrides;
        let values = [turns, calls_per_turn, calls, bytes, total_ms, model_timeout_ms, parallel];
        for (bound, value) in self.bounds.iter_mut().zip(values) {
            bound.setting.set(*value, source);
        }
    }

    pub(super) fn check(&self) -> anyhow::Result<()> {
        for Bound { name, setting, least, most } in &self.bounds {
            if !(least..=most).contains(&&setting.value) {
                let (source, value) = (&setting.source, setting.value);
                bail!("`ask.{name}` ({source}): {value} is out of range; give {least} to {most}");
            }
        }
        Ok(())
    }

    fn limits(&self) -> Limits {
        let [turns, calls_per_turn, calls, bytes, total, model_call, parallel] =
            self.bounds.each_ref().map(|bound| bound.setting.value);
        let number = |value| usize::try_from(value).unwrap_or(usize::MAX);
        Limits {
            turns: number(turns),
            calls_per_turn: number(calls_per_turn),
            calls: number(calls),
            bytes: number(bytes),
            total: Duration::from_millis(total),
            model_call: Duration::from_millis(model_call),
            parallel: number(parallel),
        }
    }

    pub(super) fn describe(&self) -> impl Iterator<Item = (String, Value, String)> {
        let row = |Bound { name, setting, .. }: &Bound| {
            (format!("ask.{name}"), json!(setting.value), setting.source.clone())
        };
        self.bounds.iter().map(row)
    }
}

impl Config {
    /// The bounds of a conversation.
    pub(crate) fn ask_limits(&self) -> Limits {
        self.ask.limits()
    }

    /// Who answers questions, in order of preference, whatever filters the results of `keyword_search`.
    pub(crate) fn ask_models(&self) -> anyhow::Result<Vec<Arc<dyn ChatModel>>> {
        let models = self.models.value.iter().map(ModelSetting::open).collect::<Result<Vec<_>, _>>();
        Ok(models.context("`models`")?.into_iter().flatten().collect())
    }

    /// What to say when there is none: names of what was looked for.
    pub(crate) fn no_models(&self) -> String {
        self.looked_for()
    }
}

//! `[ask]`: the bounds of a conversation with the agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use forage::agent::Limits;
use forage_tools::sanitize;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Config, Setting, environment};
use crate::answer_cache;
use crate::conversations::Conversations;
use crate::limits::{ASK_PROMPT_BYTES, SERVERS};

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
    /// What the model is told of its work.
    pub(crate) prompt_file: Option<PathBuf>,
    /// Whether answers are kept for the next question.
    pub(crate) keep: Option<bool>,
    /// MCP servers whose tools the model may call.
    pub(crate) servers: Option<BTreeMap<String, ServerSettings>>,
}

/// An MCP server whose tools the agent may call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerSettings {
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Names of the variables that it gets, beside those by which programs find themselves.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    /// Which of its tools; all without it.
    pub(crate) tools: Option<Vec<String>>,
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
    prompt_file: Setting<Option<PathBuf>>,
    keep: Setting<bool>,
    servers: Setting<BTreeMap<String, ServerSettings>>,
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
            prompt_file: Setting::default(None),
            keep: Setting::default(true),
            servers: Setting::default(BTreeMap::new()),
        }
    }
}

impl Ask {
    pub(super) fn apply(&mut self, overrides: &AskOverrides, source: &str) {
        let AskOverrides {
            turns, calls_per_turn, calls, bytes, total_ms, model_timeout_ms, parallel, ..
        } = overrides;
        self.prompt_file.set(overrides.prompt_file.clone().map(Some), source);
        self.keep.set(overrides.keep, source);
        self.servers.set(overrides.servers.clone(), source);
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
        let Setting { value: servers, source } = &self.servers;
        for (name, server) in servers {
            if name.len() > 20 || !forage_tools::registry::is_name(name) {
                bail!("`ask.servers` ({source}): {name:?} is not 1 to 20 letters, digits, `_` and `-`");
            }
            if server.command.trim().is_empty() {
                bail!(
                    "`ask.servers.{name}.command` ({source}) is empty; give the program that serves, such as \"npx\""
                );
            }
            if let Some(variable) =
                server.env.iter().find(|name| name.is_empty() || name.contains(['=', '\0']))
            {
                bail!(
                    "`ask.servers.{name}.env` ({source}): {variable:?} is no name of a variable; give names alone, their \
                     values come from your environment"
                );
            }
        }
        if servers.len() > SERVERS {
            bail!("`ask.servers` ({source}): {} servers; give up to {SERVERS}", servers.len());
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
        let servers: Vec<&String> = self.servers.value.keys().collect();
        let others = [
            ("prompt_file", json!(self.prompt_file.value), &self.prompt_file.source),
            ("keep", json!(self.keep.value), &self.keep.source),
            ("servers", json!(servers), &self.servers.source),
        ];
        let others = others.map(|(name, value, source)| (format!("ask.{name}"), value, source.clone()));
        self.bounds.iter().map(row).chain(others)
    }
}

impl Config {
    /// What the model is told of its work, where the user says so: read before the wall.
    pub(crate) fn ask_prompt(&self) -> anyhow::Result<Option<Arc<str>>> {
        let text = self.prompt("ask.prompt_file", &self.ask.prompt_file, ASK_PROMPT_BYTES)?;
        Ok(text.map(|text| sanitize(&text).into()))
    }

    /// The servers whose tools the agent may call.
    pub(crate) fn ask_servers(&self) -> &BTreeMap<String, ServerSettings> {
        &self.ask.servers.value
    }

    /// What is kept of questions about these roots; or why nothing is. Nothing is ever written into a root.
    pub(crate) fn conversations(&self, roots: &[&Path]) -> Result<Conversations, String> {
        if !self.ask.keep.value {
            return Err(format!("`ask.keep` ({}) is false", self.ask.keep.source));
        }
        let directory =
            environment::cache_directory().ok_or("there is no telling where your cache directory is")?;
        let place = directory.join("conversations");
        let path = answer_cache::resolved(&place.path());
        match roots.iter().find(|root| path.starts_with(root)) {
            Some(root) => Err(format!(
                "the cache directory lies in the root {}, where Forage writes nothing",
                root.display()
            )),
            None => Ok(Conversations::new(place, roots.first().copied().unwrap_or(Path::new("")))),
        }
    }

    /// The bounds of a conversation.
    pub(crate) fn ask_limits(&self) -> Limits {
        self.ask.limits()
    }

    /// What to say when there is none: names of what was looked for.
    pub(crate) fn no_models(&self) -> String {
        self.looked_for()
    }
}

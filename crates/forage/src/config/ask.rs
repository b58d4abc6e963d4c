//! `[ask]`: the bounds of a conversation with the agent.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use forage_agent::Limits;
use forage_tools::sanitize;
use serde::Deserialize;
use serde_json::{Value, json};

use super::kinds::SettingType;
use super::settings::{Setting, Wrong};
use super::table::Ask;
use super::{Config, environment};
use crate::answer_cache;
use crate::conversations::Conversations;
use crate::limits::{ASK_PROMPT_BYTES, SERVERS};

/// An MCP server whose tools the agent may call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentServer {
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Names of the variables that it gets, beside those by which programs find themselves.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    /// Which of its tools; all without it.
    pub(crate) tools: Option<Vec<String>>,
}

impl SettingType for BTreeMap<String, AgentServer> {
    fn shown(&self) -> Value {
        json!(self.keys().collect::<Vec<_>>())
    }

    fn schema() -> Value {
        let strings = json!({ "type": "array", "items": { "type": "string" } });
        let server = json!({
            "type": "object",
            "properties": { "command": { "type": "string" }, "args": strings, "env": strings, "tools": strings },
            "required": ["command"],
            "additionalProperties": false,
        });
        json!({ "type": "object", "additionalProperties": server })
    }
}

/// What is wrong with the servers.
pub(super) fn wrong_server(servers: &BTreeMap<String, AgentServer>) -> Option<Wrong> {
    for (name, server) in servers {
        if name.len() > 20 || !forage_tools::registry::is_name(name) {
            return Some(format!("{name:?} is not 1 to 20 letters, digits, `_` and `-`").into());
        }
        if server.command.trim().is_empty() {
            let problem = "it is empty; give the program that serves, such as \"npx\"".to_owned();
            return Some(Wrong::at(&format!("{name}.command"), problem));
        }
        if let Some(variable) = server.env.iter().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            let problem = format!(
                "{variable:?} is no name of a variable; give names alone, their values come from your environment"
            );
            return Some(Wrong::at(&format!("{name}.env"), problem));
        }
    }
    (servers.len() > SERVERS).then(|| format!("{} servers; give up to {SERVERS}", servers.len()).into())
}

impl Config {
    /// What the model is told of its work, where the user says so: read before the wall.
    pub(crate) fn ask_prompt(&self) -> anyhow::Result<Option<Arc<str>>> {
        let text = self.prompt("ask.prompt_file", &self.settings.ask.prompt_file, ASK_PROMPT_BYTES)?;
        Ok(text.map(|text| sanitize(&text).into()))
    }

    /// The servers whose tools the agent may call.
    pub(crate) fn ask_servers(&self) -> &BTreeMap<String, AgentServer> {
        &self.settings.ask.servers.value
    }

    /// What is kept of questions about these roots; or why nothing is. Nothing is ever written into a root.
    pub(crate) fn conversations(&self, roots: &[&Path]) -> Result<Conversations, String> {
        let keep = &self.settings.ask.keep;
        if !keep.value {
            return Err(format!("`ask.keep` ({}) is false", keep.source()));
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
        let Ask { turns, calls_per_turn, calls, bytes, total_ms, model_timeout_ms, parallel, .. } =
            &self.settings.ask;
        let number = |setting: &Setting<u64>| usize::try_from(setting.value).unwrap_or(usize::MAX);
        let time = |setting: &Setting<u64>| Duration::from_millis(setting.value);
        Limits {
            turns: number(turns),
            calls_per_turn: number(calls_per_turn),
            calls: number(calls),
            bytes: number(bytes),
            total: time(total_ms),
            model_call: time(model_timeout_ms),
            parallel: number(parallel),
        }
    }

    /// What to say when there is none: names of what was looked for.
    pub(crate) fn no_models(&self) -> String {
        self.looked_for()
    }
}

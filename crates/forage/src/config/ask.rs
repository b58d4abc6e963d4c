//! `[ask]`: the limits of a conversation with the agent.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use forage_agent::Limits;
use forage_tools::sanitize;
use schemars::JsonSchema;
use serde::Deserialize;

use super::settings::InvalidValue;
use super::{Config, environment};
use crate::answer_cache;
use crate::conversations::Conversations;
use crate::limits::{ASK_PROMPT_BYTES, SERVERS};

/// An MCP server whose tools the agent may call.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentServer {
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Additional environment variables to pass to the server, by name.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    /// Tools to offer; all if omitted.
    pub(crate) tools: Option<Vec<String>>,
}

/// Checks the configured servers and returns the first problem.
pub(super) fn wrong_server(servers: &BTreeMap<String, AgentServer>) -> Option<InvalidValue> {
    for (name, server) in servers {
        if name.len() > 20 || !forage_tools::registry::is_name(name) {
            return Some(format!("{name:?} is not 1 to 20 letters, digits, `_` and `-`").into());
        }
        if server.command.trim().is_empty() {
            let problem = "it is empty; name the program to start, such as \"npx\"".to_owned();
            return Some(InvalidValue::at(&format!("{name}.command"), problem));
        }
        if let Some(variable) = server.env.iter().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            let problem = format!(
                "{variable:?} is not a variable name; give only names, because their values come from your environment"
            );
            return Some(InvalidValue::at(&format!("{name}.env"), problem));
        }
    }
    (servers.len() > SERVERS).then(|| format!("{} servers; give up to {SERVERS}", servers.len()).into())
}

impl Config {
    /// Reads the user's system prompt, if one is configured. This must be called before the sandbox is
    /// entered.
    pub(crate) fn ask_prompt(&self) -> anyhow::Result<Option<Arc<str>>> {
        let Some(path) = &self.settings.ask.prompt_file else { return Ok(None) };
        Ok(Some(sanitize(&self.prompt("ask.prompt_file", path, ASK_PROMPT_BYTES)?).into()))
    }

    /// Returns the servers whose tools the agent may call.
    pub(crate) fn ask_servers(&self) -> &BTreeMap<String, AgentServer> {
        &self.settings.ask.servers
    }

    /// Opens the store of conversations about `roots`.
    ///
    /// # Errors
    ///
    /// Returns the reason if nothing is stored. For example, we never write into a root.
    pub(crate) fn conversations(&self, roots: &[&Path]) -> Result<Conversations, String> {
        if !self.settings.ask.keep {
            return Err(format!("`ask.keep` ({}) is false", self.source("ask.keep")));
        }
        let directory = environment::cache_directory().ok_or("can't find your cache directory")?;
        let place = directory.join("conversations");
        let path = answer_cache::resolved(&place.path());
        match roots.iter().find(|root| path.starts_with(root)) {
            Some(root) => Err(format!(
                "the cache directory is inside the root {}, where Forage writes nothing",
                root.display()
            )),
            None => Ok(Conversations::new(place, roots.first().copied().unwrap_or(Path::new("")))),
        }
    }

    /// Builds the limits of a conversation.
    pub(crate) fn ask_limits(&self) -> Limits {
        let ask = &self.settings.ask;
        Limits {
            turns: usize::try_from(ask.turns).unwrap_or(usize::MAX),
            total: Duration::from_millis(ask.total_ms),
            model_call: Duration::from_millis(self.settings.model_timeout_ms),
            ..Limits::default()
        }
    }
}

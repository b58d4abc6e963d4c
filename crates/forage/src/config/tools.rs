//! `[tools.NAME]`: which tools agents are offered, and under which names and descriptions.

use std::collections::BTreeMap;

use crate::phrasing::AgentPhrasing;
use forage_mcp::Profile;
use forage_tools::registry::{AnyTool, TOOLS, ToolOverride, ToolSelection, advertised, find_among, setting};
use forage_tools::{ToolError, ToolNames, sanitize};

use super::Config;
use super::table::{Settings, Tool};
use crate::limits::TOOL_DESCRIPTION_BYTES;

/// The tool that `[retrieval]` also has settings for.
pub(super) const LOOKUP: &str = "keyword_lookup";

/// The tool for which external engines may be configured.
pub(super) const SEARCH: &str = "Search";

/// Checks a description and returns its problem, if it has one.
pub(super) fn wrong_description(text: &Option<String>) -> Option<String> {
    let text = text.as_deref()?;
    let bytes = text.len();
    if text.trim().is_empty() {
        return Some("it is empty: a model would not know when to call the tool".to_owned());
    }
    (bytes > TOOL_DESCRIPTION_BYTES).then(|| format!("{bytes} bytes; give up to {TOOL_DESCRIPTION_BYTES}"))
}

impl Settings {
    /// Returns the settings of a tool.
    pub(crate) fn tool(&self, id: &str) -> Tool {
        self.tools.get(&id.to_ascii_lowercase()).cloned().unwrap_or_default()
    }
}

impl Config {
    /// Selects the tools that are advertised to agents, with their wording.
    pub(crate) fn tools(&self) -> ToolSelection {
        let mut choice = self.wanted_tools();
        choice.off.extend(self.left_out().into_iter().map(|(tool, _)| tool));
        choice
    }

    /// Lists the tools that are enabled but can't be offered, each with the reason.
    pub(crate) fn left_out(&self) -> Vec<(&'static str, String)> {
        let lookup = self.lookup_problem().map(|problem| (LOOKUP, problem));
        lookup.into_iter().chain(self.engine_problem().map(|problem| (SEARCH, problem))).collect()
    }

    /// Selects the enabled tools, including those that can't be offered.
    fn wanted_tools(&self) -> ToolSelection {
        let mut choice = ToolSelection::default();
        for tool in TOOLS {
            let Tool { enabled, name, description, .. } = self.settings.tool(tool.id());
            if enabled { &mut choice.on } else { &mut choice.off }.push(tool.id());
            if name.is_some() || description.is_some() {
                let description = description.map(|text| sanitize(text.trim()));
                choice.wordings.push(ToolOverride { tool: tool.id(), name, description });
            }
        }
        choice
    }

    /// Returns the name that a server gives `keyword_lookup`, even if the tool can't be offered.
    pub(crate) fn lookup_name(&self) -> String {
        let choice = ToolSelection { prefix: self.settings.mcp.prefix.clone(), ..self.wanted_tools() };
        let named = choice.names().unwrap_or_default();
        let name = named.into_iter().find_map(|(tool, name)| (tool.id() == LOOKUP).then_some(name));
        name.unwrap_or_else(|| LOOKUP.to_owned())
    }

    /// Checks that a server can list its tools without a name clash. This covers both the names with the
    /// server's prefix and the names for clients that add no prefix of their own.
    pub(super) fn check_served(&self) -> Result<(), ToolError> {
        let mut listed: BTreeMap<String, &str> = BTreeMap::new();
        for tool in advertised(&self.served_tools())? {
            let (name, second) = (Profile::unknown().listed(tool), tool.id());
            if let Some(first) = listed.insert(name.clone(), second) {
                let keys = format!("`{}`, `{}`", setting(first, "name"), setting(second, "name"));
                let (first, second) = (first.to_owned(), second.to_owned());
                return Err(ToolError::SameName { name, first, second, keys });
            }
        }
        Ok(())
    }

    /// Selects the tools under the names that a server gives them.
    pub(crate) fn served_tools(&self) -> ToolSelection {
        ToolSelection { prefix: self.settings.mcp.prefix.clone(), ..self.tools() }
    }

    /// Returns the names of the advertised tools.
    pub(crate) fn names(&self) -> ToolNames {
        let named = self.tools().names().unwrap_or_default();
        let named = named.into_iter().map(|(tool, name)| (tool.id().to_owned(), name));
        ToolNames::new(named.collect()).with_phrasing(&AgentPhrasing)
    }

    /// Returns the names that a server gives the tools.
    pub(crate) fn served_names(&self) -> ToolNames {
        let named = self.served_tools().names().unwrap_or_default();
        ToolNames::new(named.into_iter().map(|(tool, name)| (tool.id().to_owned(), name)).collect())
    }

    /// Finds the tool that a caller means by `name`. An advertised tool goes by its configured name, with or
    /// without the server's prefix, and any other tool by its own name.
    pub(crate) fn tool(&self, name: &str) -> Result<&'static dyn AnyTool, ToolError> {
        let choice = self.tools();
        let mut tools = advertised(&choice)?;
        tools.extend(TOOLS.iter().filter(|tool| !choice.has(**tool)));
        let bare = name.strip_prefix(&self.settings.mcp.prefix);
        find_among(&tools, name)
            .or_else(|unknown| find_among(&tools, bare.unwrap_or(name)).map_err(|_| unknown))
    }
}

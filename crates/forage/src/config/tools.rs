//! `[tools.NAME]`: which tools agents are told of, what they are called, and what is said of them.

use std::collections::BTreeMap;

use crate::manner::ForAgents;
use anyhow::bail;
use clap::ArgMatches;
use forage_mcp::Profile;
use forage_tools::registry::{AnyTool, TOOLS, ToolSelection, advertised, find_among, setting};
use forage_tools::{ToolError, ToolNames, sanitize};
use serde::de::{Error as _, MapAccess};
use serde_json::{Value, json};

use super::Config;
use super::settings::{Row, Section, Setting, SettingsCommand, SourceSettings, TableOf};
use super::table::{
    SearchIndexTool, SearchIndexToolOverrides, SearchTool, SearchToolOverrides, Settings, Tool, ToolOverrides,
};
use crate::limits::TOOL_DESCRIPTION_BYTES;

/// The tool that `[retrieval]` has settings for, too.
const LOOKUP: &str = "keyword_lookup";

/// The tool that external engines may answer.
pub(super) const SEARCH: &str = "Search";

/// The tool whose name that one has where it is off.
const CONCEPTUAL: &str = "keyword_search";

/// The tables of `[tools]`: each tool's, with the settings that only some of them have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    /// What is said of tools, by their own names.
    named: BTreeMap<&'static str, Tool>,
    pub(super) search: SearchTool,
    pub(super) search_index: SearchIndexTool,
}

/// What one source says of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolsOverrides {
    named: BTreeMap<&'static str, ToolOverrides>,
    pub(crate) search: SearchToolOverrides,
    search_index: SearchIndexToolOverrides,
}

/// The tool of a table, which is called by its name in small letters.
fn tool_of(table: &str) -> Option<&'static str> {
    TOOLS.iter().map(|tool| tool.id()).find(|id| id.to_ascii_lowercase() == table)
}

impl SourceSettings for ToolsOverrides {
    fn keys() -> Vec<String> {
        TOOLS.iter().map(|tool| tool.id().to_ascii_lowercase()).collect()
    }

    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, table: &mut A) -> Result<(), A::Error> {
        let tool = tool_of(key).ok_or_else(|| A::Error::custom(format!("there is no tool `{key}`")))?;
        let said = match key {
            "search" => {
                let (said, more) = table.next_value_seed(TableOf::new())?;
                self.search = more;
                said
            }
            "search_index" => {
                let (said, more) = table.next_value_seed(TableOf::new())?;
                self.search_index = more;
                said
            }
            _ => table.next_value_seed(TableOf::new())?,
        };
        self.named.insert(tool, said);
        Ok(())
    }

    fn read_environment(&mut self, variable: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<()> {
        self.search.read_environment(variable)?;
        self.search_index.read_environment(variable)
    }

    fn add_options(command: SettingsCommand, options: clap::Command) -> clap::Command {
        let options = SearchToolOverrides::add_options(command, options);
        SearchIndexToolOverrides::add_options(command, options)
    }

    fn read_options(&mut self, command: SettingsCommand, matches: &ArgMatches) {
        self.search.read_options(command, matches);
        self.search_index.read_options(command, matches);
    }
}

impl Section for Tools {
    type Said = ToolsOverrides;

    fn apply(&mut self, said: ToolsOverrides, source: &str) {
        for (tool, said) in said.named {
            self.named.entry(tool).or_default().apply(said, source);
        }
        self.search.apply(said.search, source);
        self.search_index.apply(said.search_index, source);
    }

    fn check(&self) -> anyhow::Result<()> {
        for (tool, settings) in &self.named {
            // The rows are those of any tool.
            settings.check().map_err(|error| {
                anyhow::anyhow!("{}", error.to_string().replacen("tools.NAME.", &setting(tool, ""), 1))
            })?;
        }
        self.search.check()?;
        self.search_index.check()
    }

    /// Of the settings that all tools have, what is in effect.
    fn shown(&self) -> Vec<(String, Value, String)> {
        [self.search.shown(), self.search_index.shown()].concat()
    }

    fn rows() -> Vec<Row> {
        let named = |tool: &&'static dyn AnyTool| {
            let id = tool.id().to_ascii_lowercase();
            Tool::rows().into_iter().map(move |row| {
                let path = row.path.replacen("NAME", &id, 1);
                Row { key: path.clone(), path, ..row }
            })
        };
        let mut rows: Vec<Row> = TOOLS.iter().flat_map(named).collect();
        rows.extend(SearchTool::rows());
        rows.extend(SearchIndexTool::rows());
        rows
    }
}

/// What is wrong with a description.
pub(super) fn wrong_description(text: &Option<String>) -> Option<String> {
    let text = text.as_deref()?;
    let bytes = text.len();
    if text.trim().is_empty() {
        return Some("it is empty: a model would not know when to call the tool".to_owned());
    }
    (bytes > TOOL_DESCRIPTION_BYTES).then(|| format!("{bytes} bytes; give up to {TOOL_DESCRIPTION_BYTES}"))
}

impl Settings {
    /// What is in effect of the settings that all tools have.
    pub(super) fn shown_of_tools(&self) -> Vec<(String, Value, String)> {
        let (unset, retrieval) = (Tool::default(), &self.retrieval);
        let of_search = self.tools.named.get(CONCEPTUAL).map(|settings| &settings.enabled);
        let leaves_its_name = of_search.filter(|enabled| enabled.value == Some(false));
        let rows = TOOLS.iter().map(|tool| {
            let settings = self.tools.named.get(tool.id()).unwrap_or(&unset);
            let row =
                |name: &str, value: Value, source: &str| (setting(tool.id(), name), value, source.to_owned());
            let Tool { enabled, name, description, description_append } = settings;
            let (is_on, on_source) = match (enabled.value, &retrieval.enable_keyword_tool) {
                (None, Setting { value, source }) if tool.id() == LOOKUP => (*value, source),
                (said, _) => (said.unwrap_or(tool.is_on_by_default()), &enabled.source),
            };
            let Setting { value: name, source: name_source } = match &name.value {
                None if tool.id() == LOOKUP => &retrieval.tool_name,
                _ => name,
            };
            // As its requirement calls it, where that name is free.
            let (name, name_source) = match (name, leaves_its_name) {
                (None, Some(enabled)) if tool.id() == LOOKUP => (CONCEPTUAL, &enabled.source),
                (name, _) => (name.as_deref().unwrap_or(tool.id()), name_source),
            };
            [
                row("enabled", json!(is_on), on_source),
                row("name", json!(name), name_source),
                row("description", json!(description.value), &description.source),
                row("description_append", json!(description_append.value), &description_append.source),
            ]
        });
        rows.flatten().collect()
    }
}

impl Config {
    /// Which tools agents are told of, and how.
    pub(crate) fn tools(&self) -> ToolSelection {
        let mut choice = self.wanted_tools();
        choice.off.extend(self.left_out().into_iter().map(|(tool, _)| tool));
        choice
    }

    /// The tools that the configuration has on and that can't be offered, each with the reason.
    pub(crate) fn left_out(&self) -> Vec<(&'static str, String)> {
        let lookup = self.lookup_problem().map(|problem| (LOOKUP, problem));
        lookup.into_iter().chain(self.engine_problem().map(|problem| (SEARCH, problem))).collect()
    }

    /// Whether the configuration turns on a tool that is off by default.
    pub(super) fn is_on(&self, tool: &str) -> bool {
        self.settings.tools.named.get(tool).and_then(|settings| settings.enabled.value) == Some(true)
    }

    /// The same, whether they can be offered or not.
    fn wanted_tools(&self) -> ToolSelection {
        let mut choice = ToolSelection::default();
        if self.settings.retrieval.enable_keyword_tool.value {
            choice.on.push(LOOKUP);
        }
        if let Some(name) = &self.settings.retrieval.tool_name.value {
            choice = choice.call(LOOKUP, name, "retrieval.tool_name");
        }
        for (tool, settings) in &self.settings.tools.named {
            match settings.enabled.value {
                Some(true) => choice.on.push(tool),
                Some(false) => choice.off.push(tool),
                None => {}
            }
            if let Some(name) = &settings.name.value {
                choice = choice.call(tool, name, &setting(tool, "name"));
            }
            let text = |setting: &Setting<Option<String>>| {
                setting.value.as_deref().map(|text| sanitize(text.trim()))
            };
            let (description, more) = (text(&settings.description), text(&settings.description_append));
            if description.is_some() || more.is_some() {
                let wording = choice.wording_of(tool);
                (wording.description, wording.more) = (description, more);
            }
        }
        choice
    }

    /// What agents of a server know the tool by that looks words up, or would if it could be offered.
    pub(crate) fn lookup_name(&self) -> String {
        let choice = ToolSelection { prefix: self.settings.mcp.prefix.value.clone(), ..self.wanted_tools() };
        let named = choice.names().unwrap_or_default();
        let name = named.into_iter().find_map(|(tool, name)| (tool.id() == LOOKUP).then_some(name));
        name.unwrap_or_else(|| LOOKUP.to_owned())
    }

    /// Whether the configuration has the tool on that looks words up.
    pub(super) fn is_lookup_on(&self) -> bool {
        let switch = self.settings.tools.named.get(LOOKUP).and_then(|settings| settings.enabled.value);
        switch.unwrap_or(self.settings.retrieval.enable_keyword_tool.value)
    }

    pub(super) fn check_tools(&self) -> anyhow::Result<()> {
        let name = self.settings.tools.named.get(LOOKUP).and_then(|settings| settings.name.value.as_deref());
        if let (Some(name), Some(other)) = (name, self.settings.retrieval.tool_name.value.as_deref())
            && name != other
        {
            bail!(
                "`tools.keyword_lookup.name` is {name:?} and `retrieval.tool_name`, the same setting, is {other:?}; \
                 leave one out"
            );
        }
        self.check_served().map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// Whether a server can list its tools: by the names with its prefix, and with those that it gives to clients which put
    /// nothing in front of names.
    fn check_served(&self) -> Result<(), ToolError> {
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

    /// The same tools as a server names them.
    pub(crate) fn served_tools(&self) -> ToolSelection {
        ToolSelection { prefix: self.settings.mcp.prefix.value.clone(), ..self.tools() }
    }

    /// What the tools are called that agents are told of.
    pub(crate) fn names(&self) -> ToolNames {
        let named = self.tools().names().unwrap_or_default();
        let named = named.into_iter().map(|(tool, name)| (tool.id().to_owned(), name));
        ToolNames::new(named.collect()).told(&ForAgents)
    }

    /// What they are called there.
    pub(crate) fn served_names(&self) -> ToolNames {
        let named = self.served_tools().names().unwrap_or_default();
        ToolNames::new(named.into_iter().map(|(tool, name)| (tool.id().to_owned(), name)).collect())
    }

    /// The tool that a caller means by a name: one that agents are told of, by the name that it has for them with the
    /// server's prefix or without, else any by its own.
    pub(crate) fn tool(&self, name: &str) -> Result<&'static dyn AnyTool, ToolError> {
        let choice = self.tools();
        let mut tools = advertised(&choice)?;
        tools.extend(TOOLS.iter().filter(|tool| !choice.has(**tool)));
        let bare = name.strip_prefix(&self.settings.mcp.prefix.value);
        find_among(&tools, name)
            .or_else(|unknown| find_among(&tools, bare.unwrap_or(name)).map_err(|_| unknown))
    }
}

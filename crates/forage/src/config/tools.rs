//! `[tools.NAME]`: which tools agents are told of, what they are called, and what is said of them.

use std::collections::BTreeMap;

use anyhow::bail;
use forage::mcp::Profile;
use forage_tools::registry::{AnyTool, Choice, TOOLS, advertised, find_among, is_name, setting};
use forage_tools::{Names, ToolError, sanitize};
use serde_json::{Value, json};

use super::retrieval::Retrieval;
use super::{Config, Setting};
use crate::limits::TOOL_DESCRIPTION_BYTES;

/// The tool that `[retrieval]` has settings for, too.
const LOOKUP: &str = "keyword_lookup";

/// The tool whose name that one has where it is off.
const CONCEPTUAL: &str = "keyword_search";

/// What one source says of a tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolOverrides {
    /// The tool, by its own name.
    pub(super) tool: &'static str,
    pub(super) enabled: Option<bool>,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) description_append: Option<String>,
}

/// What all sources say of a tool.
#[derive(Clone, Debug)]
struct ToolSettings {
    enabled: Setting<Option<bool>>,
    name: Setting<Option<String>>,
    description: Setting<Option<String>>,
    description_append: Setting<Option<String>>,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            enabled: Setting::default(None),
            name: Setting::default(None),
            description: Setting::default(None),
            description_append: Setting::default(None),
        }
    }
}

/// The tools of which something is said.
#[derive(Clone, Debug, Default)]
pub(super) struct Tools(BTreeMap<&'static str, ToolSettings>);

impl Tools {
    pub(super) fn apply(&mut self, overrides: Vec<ToolOverrides>, source: &str) {
        for ToolOverrides { tool, enabled, name, description, description_append } in overrides {
            let settings = self.0.entry(tool).or_default();
            settings.enabled.set(enabled.map(Some), source);
            settings.name.set(name.map(Some), source);
            settings.description.set(description.map(Some), source);
            settings.description_append.set(description_append.map(Some), source);
        }
    }

    fn check(&self) -> anyhow::Result<()> {
        for (tool, settings) in &self.0 {
            if let Some(name) = settings.name.value.as_deref().filter(|name| !is_name(name)) {
                let (key, source) = (setting(tool, "name"), &settings.name.source);
                bail!("`{key}` ({source}): {name:?} is not 1 to 64 letters, digits, `_` and `-`");
            }
            let texts = [
                ("description", &settings.description),
                ("description_append", &settings.description_append),
            ];
            for (key, Setting { value, source }) in texts {
                let Some(text) = value else { continue };
                let (key, bytes) = (setting(tool, key), text.len());
                if text.trim().is_empty() {
                    bail!("`{key}` ({source}) is empty: a model would not know when to call the tool");
                }
                if bytes > TOOL_DESCRIPTION_BYTES {
                    bail!("`{key}` ({source}) has {bytes} bytes; give up to {TOOL_DESCRIPTION_BYTES}");
                }
            }
        }
        Ok(())
    }

    pub(super) fn describe(&self, retrieval: &Retrieval) -> Vec<(String, Value, String)> {
        let unset = ToolSettings::default();
        let of_search = self.0.get(CONCEPTUAL).map(|settings| &settings.enabled);
        let leaves_its_name = of_search.filter(|enabled| enabled.value == Some(false));
        let rows = TOOLS.iter().map(|tool| {
            let settings = self.0.get(tool.id()).unwrap_or(&unset);
            let row =
                |name: &str, value: Value, source: &str| (setting(tool.id(), name), value, source.to_owned());
            let ToolSettings { enabled, name, description, description_append } = settings;
            let (is_on, on_source) = match (enabled.value, retrieval.is_enabled()) {
                (None, Setting { value, source }) if tool.id() == LOOKUP => (*value, source),
                (said, _) => (said.unwrap_or(tool.is_on_by_default()), &enabled.source),
            };
            let Setting { value: name, source: name_source } = match &name.value {
                None if tool.id() == LOOKUP => retrieval.tool_name(),
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
    pub(crate) fn tools(&self) -> Choice {
        let mut choice = self.wanted_tools();
        if self.lookup_problem().is_some() {
            choice.off.push(LOOKUP);
        }
        choice
    }

    /// The same, whether they can be offered or not.
    fn wanted_tools(&self) -> Choice {
        let mut choice = Choice::default();
        if self.retrieval.is_enabled().value {
            choice.on.push(LOOKUP);
        }
        if let Some(name) = &self.retrieval.tool_name().value {
            choice = choice.call(LOOKUP, name, "retrieval.tool_name");
        }
        for (tool, settings) in &self.tools.0 {
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
        let choice = Choice { prefix: self.mcp.prefix().to_owned(), ..self.wanted_tools() };
        let named = choice.names().unwrap_or_default();
        let name = named.into_iter().find_map(|(tool, name)| (tool.id() == LOOKUP).then_some(name));
        name.unwrap_or_else(|| LOOKUP.to_owned())
    }

    /// Whether the configuration has the tool on that looks words up.
    pub(super) fn is_lookup_on(&self) -> bool {
        let switch = self.tools.0.get(LOOKUP).and_then(|settings| settings.enabled.value);
        switch.unwrap_or(self.retrieval.is_enabled().value)
    }

    pub(super) fn check_tools(&self) -> anyhow::Result<()> {
        self.tools.check()?;
        let name = self.tools.0.get(LOOKUP).and_then(|settings| settings.name.value.as_deref());
        if let (Some(name), Some(other)) = (name, self.retrieval.tool_name().value.as_deref())
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
        for (tool, name) in self.served_tools().names()? {
            let (name, second) = (Profile::unknown().listed(&name), tool.id());
            if let Some(first) = listed.insert(name.clone(), second) {
                let keys = format!("`{}`, `{}`", setting(first, "name"), setting(second, "name"));
                let (first, second) = (first.to_owned(), second.to_owned());
                return Err(ToolError::SameName { name, first, second, keys });
            }
        }
        Ok(())
    }

    /// The same tools as a server names them.
    pub(crate) fn served_tools(&self) -> Choice {
        Choice { prefix: self.mcp.prefix().to_owned(), ..self.tools() }
    }

    /// What the tools are called that agents are told of.
    pub(crate) fn names(&self) -> Names {
        let named = self.tools().names().unwrap_or_default();
        Names::new(named.into_iter().map(|(tool, name)| (tool.id().to_owned(), name)).collect())
    }

    /// What they are called there.
    pub(crate) fn served_names(&self) -> Names {
        let named = self.served_tools().names().unwrap_or_default();
        Names::new(named.into_iter().map(|(tool, name)| (tool.id().to_owned(), name)).collect())
    }

    /// The tool that a caller means by a name: one that agents are told of, by the name that it has for them with the
    /// server's prefix or without, else any by its own.
    pub(crate) fn tool(&self, name: &str) -> Result<&'static dyn AnyTool, ToolError> {
        let choice = self.tools();
        let mut tools = advertised(&choice)?;
        tools.extend(TOOLS.iter().filter(|tool| !choice.has(**tool)));
        let bare = name.strip_prefix(self.mcp.prefix());
        find_among(&tools, name)
            .or_else(|unknown| find_among(&tools, bare.unwrap_or(name)).map_err(|_| unknown))
    }
}

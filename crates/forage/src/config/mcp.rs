//! `[mcp]`: the settings of the server.

use std::path::{Path, PathBuf};

use anyhow::bail;
use forage::mcp::{OutputForm, ToolSet};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Setting;

/// The beginning of what a server says of itself whose settings can't be used.
pub(crate) const UNUSABLE: &str = "Forage can't search, because its settings can't be used: ";

/// What one source says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpOverrides {
    pub(crate) output: Option<String>,
    pub(crate) client_roots: Option<Vec<PathBuf>>,
    pub(crate) prefix: Option<String>,
    pub(crate) profile: Option<String>,
}

/// The form that one of the words for it means.
pub(crate) fn output_form(word: &str) -> OutputForm {
    match word {
        "structured" => OutputForm::Structured,
        "text" => OutputForm::Text,
        _ => OutputForm::ByClient,
    }
}

/// The settings and where they come from.
#[derive(Clone, Debug)]
pub(super) struct McpSettings {
    output: Setting<String>,
    client_roots: Setting<Vec<PathBuf>>,
    prefix: Setting<String>,
    profile: Setting<String>,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            output: Setting::default("auto".to_owned()),
            client_roots: Setting::default(vec![PathBuf::from("~"), PathBuf::from(".")]),
            prefix: Setting::default(String::new()),
            profile: Setting::default("auto".to_owned()),
        }
    }
}

impl McpSettings {
    pub(super) fn apply(&mut self, overrides: &McpOverrides, source: &str) {
        self.output.set(overrides.output.clone(), source);
        self.client_roots.set(overrides.client_roots.clone(), source);
        self.prefix.set(overrides.prefix.clone(), source);
        self.profile.set(overrides.profile.clone(), source);
    }

    pub(super) fn check(&self) -> anyhow::Result<()> {
        if !matches!(self.output.value.as_str(), "auto" | "text" | "structured") {
            let (source, value) = (&self.output.source, &self.output.value);
            bail!("`mcp.output` ({source}): {value:?} is none of \"auto\", \"text\", \"structured\"");
        }
        if !matches!(self.profile.value.as_str(), "auto" | "agent" | "all") {
            let (source, value) = (&self.profile.source, &self.profile.value);
            bail!("`mcp.profile` ({source}): {value:?} is none of \"auto\", \"agent\", \"all\"");
        }
        let is_part_of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !self.prefix.value.chars().all(is_part_of_a_name) || self.prefix.value.len() > 32 {
            let (source, value) = (&self.prefix.source, &self.prefix.value);
            bail!("`mcp.prefix` ({source}): {value:?} is not up to 32 letters, digits, `_` and `-`");
        }
        Ok(())
    }

    pub(super) fn output(&self) -> OutputForm {
        output_form(&self.output.value)
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix.value
    }

    /// Which of the tools that are on are listed.
    pub(super) fn tool_set(&self) -> ToolSet {
        match self.profile.value.as_str() {
            "agent" => ToolSet::Agent,
            "all" => ToolSet::All,
            _ => ToolSet::ByClient,
        }
    }

    /// Whether the user has set them.
    pub(super) fn has_client_roots(&self) -> bool {
        self.client_roots.is_set()
    }

    pub(super) fn client_roots(&self, working: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let absolute = |directory: &PathBuf| match directory.strip_prefix("~") {
            Ok(below) => Some(home?.join(below)),
            Err(_) => Some(working.join(directory)),
        };
        self.client_roots.value.iter().filter_map(absolute).collect()
    }

    pub(super) fn describe(&self) -> Vec<(String, Value, String)> {
        vec![
            ("mcp.output".to_owned(), json!(self.output.value), self.output.source.clone()),
            ("mcp.client_roots".to_owned(), json!(self.client_roots.value), self.client_roots.source.clone()),
            ("mcp.prefix".to_owned(), json!(self.prefix.value), self.prefix.source.clone()),
            ("mcp.profile".to_owned(), json!(self.profile.value), self.profile.source.clone()),
        ]
    }
}

//! `[mcp]`: the settings of the server.

use std::path::{Path, PathBuf};

use anyhow::bail;
use forage::mcp::OutputForm;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Setting;

/// What one source says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpOverrides {
    pub(crate) output: Option<String>,
    pub(crate) client_roots: Option<Vec<PathBuf>>,
}

/// The settings and where they come from.
#[derive(Clone, Debug)]
pub(super) struct McpSettings {
    output: Setting<String>,
    client_roots: Setting<Vec<PathBuf>>,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            output: Setting::default("text".to_owned()),
            client_roots: Setting::default(vec![PathBuf::from("~"), PathBuf::from(".")]),
        }
    }
}

impl McpSettings {
    pub(super) fn apply(&mut self, overrides: &McpOverrides, source: &str) {
        self.output.set(overrides.output.clone(), source);
        self.client_roots.set(overrides.client_roots.clone(), source);
    }

    pub(super) fn check(&self) -> anyhow::Result<()> {
        if !matches!(self.output.value.as_str(), "text" | "structured") {
            let (source, value) = (&self.output.source, &self.output.value);
            bail!("`mcp.output` ({source}): {value:?} is neither \"text\" nor \"structured\"");
        }
        Ok(())
    }

    pub(super) fn output(&self) -> OutputForm {
        match self.output.value.as_str() {
            "structured" => OutputForm::Structured,
            _ => OutputForm::Text,
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
        ]
    }
}

//! The user's configuration file.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use forage_llm::{FactSettings, ProviderSettings, RoleTable, TableSettings};
use serde::Deserialize;

use super::filter::FilterTable;
use super::{
    AskOverrides, McpOverrides, ModelSetting, Overrides, RetrievalOverrides, TelemetryOverrides,
    ToolOverrides,
};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    roots: Option<Vec<PathBuf>>,
    allow_broad_root: Option<bool>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    search: Search,
    #[serde(default)]
    secrets: Secrets,
    /// The mode alone, or a table.
    filter: Option<toml::Value>,
    on_model_failure: Option<String>,
    model_timeout_ms: Option<u64>,
    models: Option<Vec<ModelSetting>>,
    #[serde(default)]
    providers: BTreeMap<String, ProviderSettings>,
    #[serde(default)]
    roles: RoleTable,
    #[serde(default)]
    model_facts: Vec<FactSettings>,
    #[serde(default)]
    tools: Tools,
    #[serde(default)]
    ask: AskOverrides,
    #[serde(default)]
    retrieval: RetrievalOverrides,
    #[serde(default)]
    telemetry: TelemetryOverrides,
    sandbox: Option<String>,
    index: Option<String>,
    #[serde(default)]
    mcp: McpOverrides,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tools {
    #[serde(default)]
    keyword_search: ToolSwitch,
    #[serde(default)]
    grep_search: ToolSwitch,
    #[serde(default)]
    list_directory: ToolSwitch,
    #[serde(default)]
    read_file: ToolSwitch,
    #[serde(default)]
    keyword_lookup: ToolSwitch,
    #[serde(default)]
    search: SearchTool,
    #[serde(default)]
    search_index: SearchIndexTool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolSwitch {
    enabled: Option<bool>,
    name: Option<String>,
    description: Option<String>,
    description_append: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchIndexTool {
    enabled: Option<bool>,
    name: Option<String>,
    description: Option<String>,
    description_append: Option<String>,
    weights: Option<BTreeMap<String, f64>>,
}

/// The requirement's keys, and `engine`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchTool {
    enabled: Option<bool>,
    name: Option<String>,
    description: Option<String>,
    description_append: Option<String>,
    engine: Option<String>,
    binary: Option<String>,
    fallback_binary: Option<String>,
    default_timeout_ms: Option<u64>,
    default_max_results: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    text_bytes: Option<usize>,
    timeout_ms: Option<u64>,
    max_file_bytes: Option<u64>,
    threads: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    exclude: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Secrets {
    allow: Option<Vec<String>>,
    redact: Option<bool>,
}

impl Tools {
    /// What is said of each, by its own name.
    fn overrides(&mut self) -> Vec<ToolOverrides> {
        macro_rules! overrides {
            ($($tool:literal: $field:ident),*) => {
                vec![$(ToolOverrides {
                    tool: $tool,
                    enabled: self.$field.enabled,
                    name: self.$field.name.take(),
                    description: self.$field.description.take(),
                    description_append: self.$field.description_append.take(),
                }),*]
            };
        }
        overrides![
            "keyword_search": keyword_search,
            "grep_search": grep_search,
            "search_index": search_index,
            "list_directory": list_directory,
            "read_file": read_file,
            "Search": search,
            "keyword_lookup": keyword_lookup
        ]
    }
}

/// Reads the file. A missing one says nothing, unless the user named it.
pub(super) fn read(path: &Path, named: bool) -> anyhow::Result<Option<Overrides>> {
    #[expect(clippy::disallowed_methods, reason = "the user's own configuration, not a file of a repository")]
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && !named => return Ok(None),
        Err(error) => bail!("can't read the configuration file {}: {error}", path.display()),
    };
    let mut file: File = toml::from_str(&text)
        .with_context(|| format!("the configuration file {} is not valid", path.display()))?;
    let filter = file.filter.map(FilterTable::from_toml).transpose();
    let filter = filter.with_context(|| format!("the configuration file {} is not valid", path.display()))?;
    let table = TableSettings { providers: file.providers, roles: file.roles, model_facts: file.model_facts };
    Ok(Some(Overrides {
        table: (!table.is_empty()).then_some(table),
        roots: file.roots,
        allow_broad_root: file.allow_broad_root,
        text_bytes: file.limits.text_bytes,
        timeout_ms: file.limits.timeout_ms,
        max_file_bytes: file.limits.max_file_bytes,
        threads: file.limits.threads,
        exclude: file.search.exclude,
        secrets_allow: file.secrets.allow,
        redact: file.secrets.redact,
        filter: filter.as_ref().and_then(|filter| filter.mode.clone()),
        filter_table: filter,
        on_model_failure: file.on_model_failure,
        model_timeout_ms: file.model_timeout_ms,
        models: file.models,
        tools: file.tools.overrides(),
        search_engine: file.tools.search.engine,
        search_binary: file.tools.search.binary,
        search_fallback_binary: file.tools.search.fallback_binary,
        search_timeout_ms: file.tools.search.default_timeout_ms,
        search_max_results: file.tools.search.default_max_results,
        rule_weights: file.tools.search_index.weights,
        retrieval: file.retrieval,
        telemetry: file.telemetry,
        ask: file.ask,
        sandbox: file.sandbox,
        index: file.index,
        mcp: file.mcp,
        ..Overrides::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fn fuzz_a_configuration_is_read_or_refused_by_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        let seeds = forage_fuzz::seeds([
            "roots = [\"/a\"]\nfilter = \"model\"\nindex = \"auto\"\n[limits]\ntimeout_ms = 5000\nthreads = 4\n[secrets]\nallow = [\"x\"]\n[tools.search]\nengine = \"rg\"\ndefault_max_results = 10\n",
            "[[models]]\nprovider = \"acme\"\nmodel = \"m\"\nbase_url = \"https://h/v1\"\n[providers.acme]\nwire = \"openai-chat\"\nbase_url = \"https://h\"\n[filter]\nmode = \"model\"\nevidence_tokens = 9000\n[retrieval]\n[telemetry]\npath = \"/t\"\n[mcp]\n[ask]\nmax_turns = 3\n",
        ]);
        forage_fuzz::target!(&seeds, |input| {
            std::fs::write(&path, input).unwrap();
            match read(&path, true) {
                Ok(overrides) => assert!(overrides.is_some()),
                Err(error) => assert!(format!("{error:#}").contains("config.toml"), "{error:#}"),
            }
        });
    }
}

//! `[tools.search]`: the settings of the tool `Search`.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use forage_tools::{EngineSetting, Program, SearchSettings, limits};
use serde_json::{Value, json};

use super::{Overrides, Setting, environment};

/// The settings and where they come from.
#[derive(Clone, Debug)]
pub(super) struct SearchTool {
    engine: Setting<String>,
    binary: Setting<String>,
    fallback_binary: Setting<String>,
    default_timeout_ms: Setting<u64>,
    default_max_results: Setting<u64>,
}

impl Default for SearchTool {
    fn default() -> Self {
        let timeout = u64::try_from(limits::TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        Self {
            engine: Setting::default("embedded".to_owned()),
            binary: Setting::default("ugrep".to_owned()),
            fallback_binary: Setting::default("rg".to_owned()),
            default_timeout_ms: Setting::default(timeout),
            default_max_results: Setting::default(limits::SEARCH_RESULTS),
        }
    }
}

impl SearchTool {
    pub(super) fn apply(&mut self, overrides: &Overrides, source: &str) {
        self.binary.set(overrides.search_binary.clone(), source);
        self.fallback_binary.set(overrides.search_fallback_binary.clone(), source);
        self.default_timeout_ms.set(overrides.search_timeout_ms, source);
        self.default_max_results.set(overrides.search_max_results, source);
        match overrides.search_engine.as_deref() {
            // One program by name, and no other in its place.
            Some(program @ ("ugrep" | "rg")) => {
                self.engine.set(Some("external".to_owned()), source);
                self.binary.set(Some(program.to_owned()), source);
                self.fallback_binary.set(Some(String::new()), source);
            }
            engine => self.engine.set(engine.map(str::to_owned), source),
        }
    }

    pub(super) fn check(&self) -> anyhow::Result<()> {
        if !matches!(self.engine.value.as_str(), "embedded" | "external") {
            let (source, value) = (&self.engine.source, &self.engine.value);
            bail!(
                "`tools.search.engine` ({source}): {value:?} is none of \"embedded\", \"external\", \"ugrep\", \"rg\""
            );
        }
        let ranges = [
            (
                "default_timeout_ms",
                &self.default_timeout_ms,
                limits::SEARCH_TIMEOUT_MS_MIN..=limits::SEARCH_TIMEOUT_MS_MAX,
            ),
            ("default_max_results", &self.default_max_results, 1..=limits::SEARCH_RESULTS_MAX),
        ];
        for (name, Setting { value, source }, range) in ranges {
            if !range.contains(value) {
                let (least, most) = (range.start(), range.end());
                bail!("`tools.search.{name}` ({source}): {value} is out of range; give {least} to {most}");
            }
        }
        Ok(())
    }

    /// A program that was named and is not used.
    pub(super) fn problem(&self) -> Option<String> {
        let named = [("binary", &self.binary), ("fallback_binary", &self.fallback_binary)];
        let named = named.iter().filter(|(_, setting)| setting.is_set() && self.engine.value == "embedded");
        let named: Vec<String> =
            named.map(|(name, setting)| format!("`tools.search.{name}` ({})", setting.source)).collect();
        let (has, is) = if named.len() == 1 { ("has", "it is") } else { ("have", "they are") };
        (!named.is_empty()).then(|| {
            format!(
                "{} {has} no effect: {is} used only with `engine = \"external\"` under `[tools.search]`",
                named.join(" and ")
            )
        })
    }

    pub(super) fn settings(&self, roots: &[&Path]) -> SearchSettings {
        SearchSettings {
            engine: self.engine(roots),
            timeout: Duration::from_millis(self.default_timeout_ms.value),
            max_results: self.default_max_results.value,
        }
    }

    /// Looks the programs up, once. One that is missing is no error before somebody searches with it.
    fn engine(&self, roots: &[&Path]) -> EngineSetting {
        if self.engine.value == "embedded" {
            return EngineSetting::Embedded;
        }
        let search_path = environment::search_path();
        let (mut programs, mut missing) = (Vec::new(), Vec::new());
        for name in [&self.binary.value, &self.fallback_binary.value] {
            match Program::resolve(Path::new(name), &search_path, roots) {
                _ if name.is_empty() => {}
                Ok(program) => programs.push(program),
                // What comes after a program that is there does not matter.
                Err(_) if !programs.is_empty() => {}
                Err(error) => missing.push(error.to_string()),
            }
        }
        EngineSetting::External { programs, missing }
    }

    pub(super) fn describe(&self) -> Vec<(String, Value, String)> {
        fn row<T: serde::Serialize>(name: &str, setting: &Setting<T>) -> (String, Value, String) {
            (format!("tools.search.{name}"), json!(setting.value), setting.source.clone())
        }
        vec![
            row("engine", &self.engine),
            row("binary", &self.binary),
            row("fallback_binary", &self.fallback_binary),
            row("default_timeout_ms", &self.default_timeout_ms),
            row("default_max_results", &self.default_max_results),
        ]
    }
}

//! `[tools.search]`: the settings of the tool `Search`.

use std::path::Path;
use std::time::Duration;

use forage_tools::{EngineSetting, Program, SearchSettings};

use super::environment;
use super::table::{EngineName, SearchTool};

impl SearchTool {
    /// A program that was named and is not used.
    pub(super) fn problem(&self) -> Option<String> {
        let named = [("binary", &self.binary), ("fallback_binary", &self.fallback_binary)];
        let is_used = self.engine.value.get() == EngineName::External;
        let named = named.iter().filter(|(_, setting)| setting.is_set() && !is_used);
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
        let names: &[&str] = match self.engine.value.get() {
            EngineName::Embedded => return EngineSetting::Embedded,
            EngineName::External => &[&self.binary.value, &self.fallback_binary.value],
            EngineName::Ugrep => &["ugrep"],
            EngineName::Rg => &["rg"],
        };
        let search_path = environment::search_path();
        let (mut programs, mut missing) = (Vec::new(), Vec::new());
        for name in names {
            match Program::resolve(Path::new(name), &search_path, roots) {
                _ if name.is_empty() => {}
                Ok(program) => programs.push(program),
                // What comes after a program that is there does not matter.
                Err(_) if !programs.is_empty() => {}
                Err(error) => missing.push(error.to_string()),
            }
        }
        // What holds for this build or system is said once.
        missing.dedup();
        EngineSetting::External { programs, missing }
    }
}

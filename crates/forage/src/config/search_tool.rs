//! `[tools.search]`: the settings of the tool `Search`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use forage_tools::{EngineSetting, Program, SearchSettings};

use super::environment;
use super::table::{EngineName, Settings, Tool};
use super::tools::SEARCH;
use super::{Config, existing};

impl Settings {
    pub(super) fn search_settings(&self, roots: &[&Path]) -> SearchSettings {
        let search = self.tool(SEARCH);
        SearchSettings {
            engine: search.engine(roots),
            timeout: Duration::from_millis(search.default_timeout_ms),
            max_results: search.default_max_results,
        }
    }
}

impl Tool {
    /// Looks up the engine's programs, once. A missing program should be an error only when a search needs
    /// it.
    fn engine(&self, roots: &[&Path]) -> EngineSetting {
        let names: &[&str] = match self.engine {
            EngineName::Embedded => return EngineSetting::Embedded,
            EngineName::External => &[&self.binary, &self.fallback_binary],
            EngineName::Ugrep => &["ugrep"],
            EngineName::Rg => &["rg"],
        };
        let search_path = environment::search_path();
        let (mut programs, mut missing) = (Vec::new(), Vec::new());
        for name in names {
            match Program::resolve(Path::new(name), &search_path, roots) {
                _ if name.is_empty() => {}
                Ok(program) => programs.push(program),
                // A missing fallback does not matter if an earlier program exists.
                Err(_) if !programs.is_empty() => {}
                Err(error) => missing.push(error.to_string()),
            }
        }
        // Both programs may fail for the same reason, which we should report once.
        missing.dedup();
        EngineSetting::External { programs, missing }
    }
}

impl Config {
    /// Explains why `Search` is not offered to agents although the configuration enables it. The reason is
    /// that none of its engines can run.
    pub(crate) fn engine_problem(&self) -> Option<String> {
        let search = self.settings.tool(SEARCH);
        if search.engine == EngineName::Embedded || !search.enabled {
            return None;
        }
        let roots = existing(&self.own_directories(&environment::working_directory().ok()?));
        let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
        match self.search_settings(&roots).engine {
            EngineSetting::External { programs, missing } if programs.is_empty() => {
                Some(format!("`{SEARCH}` is enabled but not offered: {}", missing.join("; ")))
            }
            _ => None,
        }
    }
}

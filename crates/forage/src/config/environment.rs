//! Reads the environment. No other module of the program should do this, so that all variables are named
//! here. There are two exceptions: the cache directory, which a library locates for other programs too, and
//! the variables about colours, e.g. `NO_COLOR`, which `anstyle_query` reads.
#![expect(clippy::disallowed_methods, reason = "the one home of the environment")]

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use forage_fs::PrivatePlace;
use forage_tools::DependencyStores;

use super::settings::rows;
use super::{ModelSetting, NamedModel};

/// The variables that configure a model. The error for a missing model lists them in this order.
pub(super) const MODEL_VARIABLES: &[&str] =
    &["FORAGE_MODEL", "FORAGE_BASE_URL", "OPENAI_BASE_URL", "FORAGE_API_KEY", "OPENAI_API_KEY"];

/// Reads a variable. An empty value counts as unset.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Reads a variable that names a directory. A relative path is ignored.
fn absolute(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the working directory.
pub(crate) fn working_directory() -> anyhow::Result<PathBuf> {
    std::env::current_dir().context("can't determine the working directory")
}

pub(super) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Returns the file that `FORAGE_CONFIG` names.
pub(super) fn named_config_file() -> Option<PathBuf> {
    variable("FORAGE_CONFIG").map(PathBuf::from)
}

/// Locates `forage/config.toml` in the user's configuration directory.
pub(super) fn config_file() -> PathBuf {
    let directory = absolute("XDG_CONFIG_HOME");
    let windows = || if cfg!(windows) { variable("APPDATA").map(PathBuf::from) } else { None };
    let directory = directory.or_else(windows).or_else(|| Some(home()?.join(".config"))).unwrap_or_default();
    directory.join("forage").join("config.toml")
}

pub(super) use forage_tools::index_manager::cache_place as cache_directory;

/// Locates Forage's directory in the user's data directory. Returns `None` if the latter is unknown.
pub(super) fn data_directory() -> Option<PrivatePlace> {
    let directory = absolute("XDG_DATA_HOME");
    let windows = || if cfg!(windows) { variable("LOCALAPPDATA").map(PathBuf::from) } else { None };
    let directory = directory.or_else(windows).or_else(|| Some(home()?.join(".local/share")))?;
    Some(PrivatePlace::below(directory).join("forage"))
}

/// Locates the directories in which package managers keep the sources of dependencies. They need not exist.
/// We leave out their parents, because these also contain credentials.
pub(super) fn dependency_stores() -> DependencyStores {
    let below_home = |path: &str| Some(home()?.join(path));
    let cargo = absolute("CARGO_HOME").or_else(|| below_home(".cargo"));
    let go_path = || absolute("GOPATH").or_else(|| below_home("go"));
    let python = absolute("VIRTUAL_ENV").or_else(|| absolute("CONDA_PREFIX"));
    let gems = [
        absolute("GEM_HOME").map(|path| path.join("gems")),
        below_home(".gem/ruby"),
        below_home(".local/share/gem/ruby"),
        Some(PathBuf::from("/var/lib/gems")),
    ];
    DependencyStores {
        cargo_registry: cargo.as_ref().map(|path| path.join("registry/src")),
        cargo_checkouts: cargo.map(|path| path.join("git/checkouts")),
        go_modules: absolute("GOMODCACHE").or_else(|| Some(go_path()?.join("pkg/mod"))),
        python_library: python.map(|path| path.join(if cfg!(windows) { "Lib" } else { "lib" })),
        gems: gems.into_iter().flatten().collect(),
    }
}

/// Lists the directories in which the user's processes find each other. The preferred one is the system's
/// runtime directory, and the other is in the user's cache. A reader must look into both, since some clients
/// don't pass `XDG_RUNTIME_DIR` on to servers.
pub(super) fn runtime_directories() -> Vec<PrivatePlace> {
    let runtime = absolute("XDG_RUNTIME_DIR").map(|directory| PrivatePlace::below(directory).join("forage"));
    runtime.into_iter().chain(cache_directory().map(|cache| cache.join("run"))).collect()
}

/// The variables in which clients name the current project, the preferred one first. Claude Code sets the
/// first for servers and hooks, Copilot CLI the first two for hooks, and Gemini CLI the first and the third
/// for hooks.
const PROJECT_VARIABLES: [&str; 3] = ["CLAUDE_PROJECT_DIR", "COPILOT_PROJECT_DIR", "GEMINI_PROJECT_DIR"];

/// The endings of variables in which clients name the directory of a plugin or extension.
const PLUGIN_VARIABLES: [&str; 3] = ["PLUGIN_ROOT", "EXTENSION_ROOT", "EXTENSION_PATH"];

/// The directories into which clients install plugins and extensions, in their displayed form.
const INSTALLED: [&str; 5] = [
    "~/.claude/plugins",
    "~/.codex/plugins",
    "~/.copilot/installed-plugins",
    "~/.gemini/extensions",
    "~/.qwen/extensions",
];

/// Determines the project in which a client has started this program, and the source that names it. Returns
/// `None` if every source names the directory of a plugin. This happens because a client may choose that
/// directory as the working directory of the plugin's server.
pub(crate) fn client_project(working: &Path) -> Option<(PathBuf, &'static str)> {
    let plugins = plugin_directories();
    let plugins: Vec<&Path> = plugins.iter().map(PathBuf::as_path).collect();
    let mut named = PROJECT_VARIABLES.into_iter().filter_map(|name| Some((absolute(name)?, name)));
    let working = || Some((working.to_owned(), "the working directory"));
    // Copilot CLI 1.0.102 sets the working directory of a plugin's server but leaves `PWD` unchanged.
    let shell = || Some((absolute("PWD").filter(|directory| directory.is_dir())?, "PWD"));
    let is_project = |(directory, _): &(PathBuf, &str)| is_outside(directory, &plugins);
    named.find(is_project).or_else(|| working().filter(is_project)).or_else(|| shell().filter(is_project))
}

/// Lists the directories of plugins: the one that the client names, and those in which clients install them.
fn plugin_directories() -> Vec<PathBuf> {
    let is_plugins = |name: &OsStr| {
        let name = name.to_string_lossy();
        PLUGIN_VARIABLES.iter().any(|end| {
            name.strip_suffix(end).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('_'))
        })
    };
    let named = std::env::vars_os().filter(|(name, _)| is_plugins(name)).map(|(_, value)| value.into());
    let directories = ClientDirectories::find();
    let installed = INSTALLED.iter().filter_map(|shown| directories.resolve(shown));
    // A variable of that name may mean something else. For example, a directory that contains the home is no
    // plugin's.
    let is_plugin = |directory: &PathBuf| {
        directory.is_absolute() && directories.home.as_ref().is_none_or(|home| !home.starts_with(directory))
    };
    let found: Vec<PathBuf> = named.chain(installed).filter(is_plugin).collect();
    let real: Vec<PathBuf> = found.iter().map(|directory| crate::answer_cache::resolved(directory)).collect();
    found.into_iter().chain(real).collect()
}

/// Returns the token that HTTP clients must send, or `None` if it is not set.
pub(crate) fn mcp_token() -> Option<String> {
    variable("FORAGE_MCP_TOKEN")
}

/// Lists the directories in which programs are looked up.
pub(super) fn search_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// Finds one of the user's programs by its name. Programs inside the working directory are skipped.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let working = std::env::current_dir().ok()?;
    let name = if cfg!(windows) { format!("{name}.exe") } else { name.to_owned() };
    let directories = std::env::var_os("PATH")?;
    outside(&directories, &[&working])
        .into_iter()
        .map(|directory| directory.join(&name))
        .find(|path| path.is_file())
}

/// Returns true if a program, or a directory of programs, is the user's own. We must never run anything that
/// a repository contains, whatever its name or link.
pub(crate) fn is_outside(path: &Path, roots: &[&Path]) -> bool {
    let real = crate::answer_cache::resolved(path);
    !roots.iter().any(|root| path.starts_with(root) || real.starts_with(root))
}

/// Filters the directories of `path` for looking up programs, both by us and by programs that we start. We
/// drop entries inside a root. We also drop relative ones, because the working directory may be a repository.
pub(crate) fn outside(path: &OsStr, roots: &[&Path]) -> Vec<PathBuf> {
    std::env::split_paths(path).filter(|it| it.is_absolute() && is_outside(it, roots)).collect()
}

/// Finds the user's `git` and a `PATH` for it, both outside of `roots`. A repository must not supply the
/// program that reads it, nor a program that git starts.
pub(crate) fn git_program(roots: &[&Path]) -> anyhow::Result<(PathBuf, OsString)> {
    let name = if cfg!(windows) { "git.exe" } else { "git" };
    let directories = outside(&std::env::var_os("PATH").unwrap_or_default(), roots);
    let mut found = directories.iter().map(|directory| directory.join(name));
    // A directory outside of the roots may contain a link to a program inside, so check the file, too.
    let program = found.find(|path| path.is_file() && is_outside(path, roots)).context(
        "`git` was not found in the absolute directories of PATH; it is needed to read the history",
    )?;
    Ok((program, std::env::join_paths(directories)?))
}

/// Returns all variables, so that a program can be started in the way that another program would start it.
pub(crate) fn variables() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Lists the set variables that influence Forage: its own, and those that locate its files and trusted
/// certificates.
pub(super) fn set_variables() -> Vec<String> {
    variables_of_the_server(&[], true)
}

/// Lists git's own variables, as far as they are set.
pub(crate) fn git_variables() -> Vec<OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| name.as_encoded_bytes().starts_with(b"GIT_")).collect()
}

/// Returns the absolute path of this program. The flag is true if its bare name resolves to the same program.
pub(crate) fn this_program() -> anyhow::Result<(PathBuf, bool)> {
    let program = std::env::current_exe().context("can't determine the path of this program")?;
    let real = crate::answer_cache::resolved(&program);
    let name = if cfg!(windows) { "forage.exe" } else { "forage" };
    let found = search_path().into_iter().map(|directory| directory.join(name)).find(|path| path.is_file());
    let is_found =
        found.is_some_and(|found| found.is_absolute() && crate::answer_cache::resolved(&found) == real);
    Ok((program, is_found))
}

/// The directories of clients in their displayed form, and the variables that may name others.
const CLIENT_HOMES: [(&str, &str); 4] = [
    ("~/.claude/", "CLAUDE_CONFIG_DIR"),
    ("~/.codex/", "CODEX_HOME"),
    ("~/.copilot/", "COPILOT_HOME"),
    ("~/.kimi-code/", "KIMI_CODE_HOME"),
];

/// The directories in which clients keep their configuration.
#[derive(Clone, Debug)]
pub(crate) struct ClientDirectories {
    pub(crate) home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    xdg: Option<PathBuf>,
    /// `APPDATA`, on Windows.
    roaming: Option<PathBuf>,
}

impl ClientDirectories {
    pub(crate) fn find() -> Self {
        Self { home: home(), xdg: absolute("XDG_CONFIG_HOME"), roaming: absolute("APPDATA") }
    }

    /// Returns the directory that a client's own variable names.
    pub(crate) fn variable(&self, name: &str) -> Option<PathBuf> {
        absolute(name)
    }

    /// `~/.config`.
    pub(crate) fn config(&self) -> Option<PathBuf> {
        self.xdg.clone().or_else(|| Some(self.home.as_ref()?.join(".config")))
    }

    /// Lists the base directories of clients, including those that a client's own variable names. They must
    /// stay when we remove the empty directories around a client's file.
    pub(crate) fn bases(&self) -> Vec<PathBuf> {
        let named = CLIENT_HOMES.map(|(_, name)| self.variable(name));
        let own = [self.home.clone(), self.config(), self.roaming.clone(), self.applications()];
        own.into_iter().chain(named).flatten().collect()
    }

    /// Resolves a path in its displayed form. This takes into account that a client's own variable may name
    /// another directory.
    pub(crate) fn resolve(&self, shown: &str) -> Option<PathBuf> {
        for (prefix, name) in CLIENT_HOMES {
            if let (Some(rest), Some(directory)) = (shown.strip_prefix(prefix), self.variable(name)) {
                return Some(directory.join(rest));
            }
        }
        // Claude Code's own file is in `CLAUDE_CONFIG_DIR` if that is set, and otherwise in the home
        // directory.
        let claude = self.variable("CLAUDE_CONFIG_DIR").filter(|_| shown == "~/.claude.json");
        let places = [
            ("~/.config/Code/", self.applications().map(|it| it.join("Code"))),
            ("~/.config/zed/", self.settings("Zed", "zed")),
            ("~/.config/goose/", self.settings("Block/goose/config", "goose")),
            ("~/.config/", self.config()),
            ("~/Library/Application Support/", self.applications()),
            ("~/", claude.or_else(|| self.home.clone())),
        ];
        let find = |(prefix, directory)| Some((shown.strip_prefix(prefix)?, directory));
        let (rest, directory): (&str, Option<PathBuf>) = places.into_iter().find_map(find)?;
        Some(directory?.join(rest))
    }

    /// Locates the directory of a program that has one name on Windows and another one on all other systems.
    fn settings(&self, windows: &str, other: &str) -> Option<PathBuf> {
        if cfg!(windows) {
            return Some(self.roaming.as_ref()?.join(windows));
        }
        Some(self.config()?.join(other))
    }

    /// Returns true if this program is installed.
    pub(crate) fn has_program(&self, name: &str) -> bool {
        has_program(name)
    }

    /// Locates the directory in which desktop applications keep their settings.
    pub(crate) fn applications(&self) -> Option<PathBuf> {
        if cfg!(windows) {
            return self.roaming.clone();
        }
        match cfg!(target_os = "macos") {
            true => Some(self.home.as_ref()?.join("Library/Application Support")),
            false => self.config(),
        }
    }
}

/// Forage's own variables that no setting declares, and those that locate its files and trusted certificates.
/// A server started without them would behave differently. The token is missing because it is only for HTTP
/// servers, which no client starts.
const OWN_VARIABLES: &[&str] = &[
    "FORAGE_API_KEY",
    "FORAGE_BASE_URL",
    "FORAGE_CONFIG",
    "FORAGE_MODEL",
    "QDRANT_API_KEY",
    "QDRANT_URL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// Lists the variables that Forage reads for its models and itself. With `is_set`, only those that are set.
pub(super) fn variables_of_the_server(providers: &[&str], is_set: bool) -> Vec<String> {
    let settings = rows().iter().filter_map(|row| row.variable);
    let mut names: Vec<&str> = OWN_VARIABLES.iter().chain(providers).copied().chain(settings).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !is_set || variable(name).is_some());
    names.into_iter().map(str::to_owned).collect()
}

/// Returns true if a program is in the user's `PATH`.
pub(super) fn has_program(name: &str) -> bool {
    let names = if cfg!(windows) {
        vec![format!("{name}.exe"), format!("{name}.cmd")]
    } else {
        vec![name.to_owned()]
    };
    search_path().iter().any(|directory| names.iter().any(|name| directory.join(name).is_file()))
}

/// Returns the model that the environment names.
pub(super) fn named_model() -> NamedModel {
    NamedModel { model: variable("FORAGE_MODEL"), base_url: variable("FORAGE_BASE_URL"), key_env: None }
}

/// Builds a model without further settings. It is at `FORAGE_BASE_URL` if that is set, or else one of OpenAI
/// with the address and key of the provider table.
pub(super) fn default_model() -> ModelSetting {
    match variable("FORAGE_BASE_URL") {
        Some(own) => ModelSetting { base_url: Some(own), ..model_at_its_own_address() },
        None => ModelSetting { provider: Some("openai".to_owned()), ..ModelSetting::default() },
    }
}

/// Builds a model at an explicitly given address. Only Forage's own key may be sent there.
pub(super) fn model_at_its_own_address() -> ModelSetting {
    ModelSetting { key_env: Some("FORAGE_API_KEY".to_owned()), ..ModelSetting::default() }
}

#[cfg(test)]
mod tests {
    use super::{OWN_VARIABLES, variables_of_the_server};

    #[test]
    fn every_variable_is_documented() {
        let page = include_str!("../../../../docs/environment.md");
        let of_clients = [
            "CLAUDE_PROJECT_DIR",
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "COPILOT_HOME",
            "KIMI_CODE_HOME",
            "APPDATA",
        ];
        let others = ["FORAGE_MCP_TOKEN", "LOCALAPPDATA", "NO_COLOR", "CLICOLOR_FORCE"];
        let names = variables_of_the_server(&[], false);
        let names = names.iter().map(String::as_str).chain(of_clients).chain(others);
        let missing: Vec<&str> = names.filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert_eq!(missing, [""; 0]);
    }

    /// A client must pass on each variable that this module reads, or we must warn about it.
    #[test]
    fn every_variable_that_is_read_is_in_the_table() {
        let source = include_str!("environment.rs").split("#[cfg(test)]").next().unwrap();
        let is_name = |name: &&str| {
            ["FORAGE_", "QDRANT_", "XDG_", "SSL_"].iter().any(|own| name.starts_with(own))
                && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        };
        let read: Vec<&str> = source.split('"').filter(is_name).collect();
        assert!(read.len() > 12, "{read:?}");
        // Files of the runtime directory are also looked for in the cache directory.
        let untold = ["FORAGE_MCP_TOKEN", "XDG_RUNTIME_DIR"];
        for name in read.into_iter().filter(|name| !untold.contains(name)) {
            assert!(OWN_VARIABLES.contains(&name), "{name}");
        }
    }
}

//! `sandbox`: decides if the kernel restricts a command to the resources that it needs, and which resources
//! these are.

use std::path::{Path, PathBuf};

use anyhow::bail;
use forage_fs::PrivatePlace;
use forage_llm::ExchangeMode;
use forage_sandbox::{Access, Level};
use forage_tools::index_manager::IndexMode;
use forage_tools::registry::{AnyTool, TOOLS};
use forage_tools::{DependencyStores, EngineSetting};

use super::table::Sandbox;
use super::{Config, environment};
use crate::answer_cache;

/// The resources that a command needs in addition to the roots. By default it has access only to them and to
/// the cache directory, if that exists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    /// TCP ports to connect to.
    pub(crate) connect: Vec<u16>,
    /// The TCP port to listen on.
    pub(crate) listen: Option<u16>,
    /// True if the command creates files in the cache directory. We then create this directory before we
    /// enter the sandbox.
    pub(crate) keeps: bool,
    /// True if the command accesses collections.
    pub(crate) collections: bool,
    /// True if the command may read the sources of dependencies.
    pub(crate) dependencies: bool,
    /// True if the command runs the configured engines.
    pub(crate) engines: bool,
    /// Other programs to run.
    pub(crate) programs: Vec<PathBuf>,
    /// Other files and directories to read.
    pub(crate) read: Vec<PathBuf>,
    /// True if the command only prints text of files to a person, like ripgrep. Such a command runs no parser
    /// written in C, and the sandbox would cost it a fifth of a scan: 2 µs for each opened file.
    pub(crate) is_plain: bool,
}

impl Config {
    /// Restricts this thread to `access`, along with the threads and processes that it starts from now on.
    ///
    /// # Errors
    ///
    /// Returns an error if the sandbox is required and the kernel can't enforce all of it.
    pub(crate) fn enforce_sandbox(&self, access: &Access, is_required: bool) -> anyhow::Result<Level> {
        let is_required = is_required || self.settings.sandbox == Sandbox::Require;
        let level = if self.settings.sandbox == Sandbox::Off && !is_required {
            Level::None { reason: format!("`sandbox` is \"off\" ({})", self.source("sandbox")) }
        } else {
            forage_sandbox::restrict(access)
        };
        if is_required && !level.is_full() {
            bail!("the sandbox is required but can't be fully enforced: {level}");
        }
        Ok(level)
    }

    /// Moves this thread into the sandbox of a command. This must be called before the command opens anything
    /// in these directories.
    pub(crate) fn enter_sandbox(&self, directories: &[PathBuf], needs: &Needs) -> anyhow::Result<()> {
        if needs.is_plain && self.settings.sandbox == Sandbox::Auto {
            return Ok(());
        }
        self.enforce_sandbox(&self.access(&existing(directories), needs), false).map(drop)
    }

    /// Returns the needs of calls of one tool.
    pub(crate) fn needs_of_tool(&self, name: &str) -> Needs {
        let mut needs = Needs::default();
        if let Some(tool) =
            TOOLS.iter().find(|tool| tool.name() == name || tool.spec().aliases.contains(&name))
        {
            self.add_needs(&mut needs, *tool);
        }
        needs
    }

    /// Returns the needs of calls of all advertised tools.
    pub(crate) fn needs_of_tools(&self) -> Needs {
        let choice = self.tools();
        let mut needs = Needs { keeps: true, ..Needs::default() };
        TOOLS.iter().filter(|tool| choice.has(**tool)).for_each(|tool| self.add_needs(&mut needs, *tool));
        needs
    }

    /// Returns the needs of the agent.
    pub(crate) fn needs_of_agent(&self) -> Needs {
        let mut needs = self.needs_of_tools();
        needs.connect.extend(self.ports_of_models());
        needs
    }

    /// Returns the needs of filling or searching a collection.
    pub(crate) fn needs_of_collections(&self) -> Needs {
        let mut needs = Needs { collections: true, ..Needs::default() };
        needs.connect.extend(self.port_of_collections());
        needs
    }

    /// Returns the places of dependencies, unless the user has turned them off.
    pub(crate) fn dependency_stores(&self) -> Option<DependencyStores> {
        self.settings.search.dependencies.then(environment::dependency_stores)
    }

    fn add_needs(&self, needs: &mut Needs, tool: &dyn AnyTool) {
        needs.dependencies |= tool.spec().is_about_roots;
        // With the mode `always`, a search first creates a missing index.
        needs.keeps |= self.index_mode() == Some(IndexMode::Always);
        match tool.id() {
            "keyword_search" if !self.is_lexical() => {
                // If models are named, no model list is read or cached.
                needs.keeps |= !self.names_models() || self.settings.filter.cache;
                needs.connect.extend(self.ports_of_models());
            }
            "keyword_lookup" => {
                needs.collections = true;
                needs.connect.extend(self.port_of_collections());
            }
            // A map of a directory comes from the ranked index.
            "search_index" | "list_directory" => needs.keeps = true,
            "Search" => needs.engines = true,
            _ => {}
        }
    }

    /// Lists the ports at which models and their lists are requested. These are the ports of the named
    /// models, or else of all providers that could be called. We never use a proxy.
    fn ports_of_models(&self) -> Vec<u16> {
        if matches!(self.exchanges, ExchangeMode::Replay(_)) {
            return Vec::new();
        }
        let mut ports: Vec<u16> = self.addresses_of_models().iter().filter_map(|url| port(url)).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// Computes the access that a command needs to search `roots`. The roots must not contain links.
    pub(crate) fn access(&self, roots: &[PathBuf], needs: &Needs) -> Access {
        let mut access = Access::minimal();
        access.read.extend_from_slice(roots);
        access.read.extend(roots.iter().flat_map(|root| forage_fs::files_of_worktree(root)));
        access.write.extend(self.writable(roots, needs));
        access.allow_ports(needs.connect.iter().copied());
        if !needs.connect.is_empty() {
            let authorities = AUTHORITIES.iter().filter_map(|name| environment::variable(name));
            access.read.extend(authorities.map(PathBuf::from));
        }
        access.listen.extend(needs.listen);
        access.read.extend_from_slice(&needs.read);
        if needs.dependencies
            && let Some(stores) = self.dependency_stores()
        {
            access.read.extend(stores.directories().cloned());
        }
        needs.programs.iter().for_each(|program| access.allow_program(program));
        if needs.engines {
            let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
            if let EngineSetting::External { programs, .. } = self.search_settings(&roots).engine {
                programs.iter().for_each(|program| access.allow_program(program.path()));
            }
        }
        access
    }

    /// Lists the directories in which Forage keeps its own files. They must exist before the sandbox is
    /// entered, and they are never inside a root.
    fn writable(&self, roots: &[PathBuf], needs: &Needs) -> Vec<PathBuf> {
        let cache = environment::cache_directory().map(|place| (place, needs.keeps));
        let collections = needs.collections && !self.is_on_server();
        let collections = collections.then(|| self.collections_directory().ok()).flatten();
        let collections = collections.map(|path| (PrivatePlace::from(path), true));
        let places = cache.into_iter().chain(collections);
        let places = places.map(|(place, is_made)| (answer_cache::resolved(&place.path()), place, is_made));
        let is_usable = |(path, place, is_made): &(PathBuf, PrivatePlace, bool)| {
            let is_outside = !roots.iter().any(|root| path.starts_with(root));
            is_outside && (!is_made || place.create().is_ok())
        };
        places.filter(is_usable).map(|(path, ..)| path).collect()
    }
}

/// Variables that name trusted certificates in place of the system's.
const AUTHORITIES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Returns the port of an address.
pub(super) fn port(url: &str) -> Option<u16> {
    let uri: http::Uri = url.trim().parse().ok()?;
    uri.port_u16().or(match uri.scheme_str()? {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    })
}

/// Resolves the links of directories, and drops those that do not exist.
#[expect(
    clippy::disallowed_methods,
    reason = "directories that the user or the client names, not a repository's"
)]
pub(crate) fn existing(directories: &[PathBuf]) -> Vec<PathBuf> {
    directories.iter().filter_map(|directory| std::fs::canonicalize(directory).ok()).collect()
}

//! Peers: third-party programs, clients and packages that the tests compare with. We install those of
//! `peers.toml` into `target/peers`.
//!
//! We do not touch installed peers. You can use a different peer by setting its environment variable.

mod install;
mod system;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::cargo::Workspace;
use install::Versions;
pub(crate) use system::apt_as_root;

/// A third-party program or package.
#[derive(Deserialize)]
struct Peer {
    /// The name for messages.
    name: String,
    #[serde(flatten)]
    source: Source,
    variable: Option<String>,
    #[serde(default, rename = "large")]
    is_large: bool,
}

/// Where peers come from. `peers.toml` explains the fields.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Source {
    System {
        program: String,
        packages: Vec<String>,
    },
    Cargo {
        program: String,
        package: String,
        version: String,
        shown: String,
    },
    Npm {
        folder: String,
        list: String,
    },
    Python {
        folder: String,
        list: String,
        #[serde(default = "ordinary_python")]
        least: u32,
    },
}

/// The minor version of Python that the lists of ordinary tests require.
fn ordinary_python() -> u32 {
    10
}

fn all() -> Result<Vec<Peer>> {
    let mut file: toml::Table = include_str!("peers.toml").parse()?;
    let peers = file.remove("peer").context("peers.toml has no peers")?;
    peers.try_into().context("peers.toml")
}

/// The tools that build packages.
pub(crate) const PACKAGING: &str = "packaging/python";
/// The tools that check bundles and workflows.
pub(crate) const PACKAGE_CHECKS: &str = "packaging/npm";
pub(crate) const SPELLING: &str = "spelling";
/// The official clients of MCP.
pub(crate) const CLIENTS: &str = "mcp";
pub(crate) const BINDINGS: &str = "bindings/python";
/// The browser driver.
pub(crate) const PAGE: &str = "page";
pub(crate) const BROWSER: &str = "chromium";
/// The tools for building for other systems and running the programs.
pub(crate) const SYSTEMS: [&str; 5] =
    ["aarch64-linux-gnu-gcc", "qemu-aarch64", "x86_64-w64-mingw32-gcc", "wine", PACKAGING];

/// The folder into which we install everything, relative to the root.
pub(crate) const FOLDER: &str = "target/peers";

/// Makes a test fail if its peer is missing. Otherwise it is skipped.
pub(crate) const REQUIRED: &str = "FORAGE_REQUIRE_PEERS";

/// The caller's settings that would change the output of peers.
pub(crate) const UNWANTED: [&str; 3] = ["RIPGREP_CONFIG_PATH", "GREP_COLORS", "GREP_COLOR"];

/// Returns the environment variables for every command in the workspace. `PATH` begins with the installed
/// programs. All peers are required, so no step skips a test because of one.
pub(crate) fn variables(root: &Path) -> Vec<(&'static str, OsString)> {
    let path = path_with(&root.join(FOLDER).join("bin")).into_iter().map(|path| ("PATH", path));
    path.chain([(REQUIRED, "1".into())]).collect()
}

/// Returns a `PATH` that begins with this folder.
pub(crate) fn path_with(folder: &Path) -> Option<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([folder.to_owned()].into_iter().chain(std::env::split_paths(&path))).ok()
}

/// Returns a program of a Python environment below [`FOLDER`].
pub(crate) fn python_tool(workspace: &Workspace, environment: &str, name: &str) -> PathBuf {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    workspace.path(FOLDER).join(environment).join(folder).join(name)
}

/// Installs the missing peers of the tests and, with `large`, those of `check --all`.
///
/// # Errors
///
/// Before anything is installed, returns an error that lists all missing requirements that we can't install.
/// Otherwise, returns an error that lists all installations that have failed.
pub(crate) fn install(workspace: &Workspace, large: bool) -> Result<()> {
    install_those(workspace, Versions::Pinned, |peer| large || !peer.is_large)
}

/// Installs the peers with these names. Each name is that of a program or a folder.
pub(crate) fn install_named(workspace: &Workspace, names: &[&str]) -> Result<()> {
    install_those(workspace, Versions::Pinned, |peer| match &peer.source {
        Source::System { program: name, .. } | Source::Cargo { program: name, .. } => {
            names.contains(&name.as_str())
        }
        Source::Npm { folder, .. } | Source::Python { folder, .. } => names.contains(&folder.as_str()),
    })
}

/// Installs the newest versions of the peers with this variable.
pub(crate) fn install_newest(workspace: &Workspace, variable: &str) -> Result<()> {
    install_those(workspace, Versions::Newest, |peer| peer.variable.as_deref() == Some(variable))
}

fn install_those(workspace: &Workspace, versions: Versions, is_wanted: impl Fn(&Peer) -> bool) -> Result<()> {
    // If the caller has set the variable of a peer, the tests use the caller's own. `.cargo/config.toml` sets
    // some of them to our folder.
    let ours = workspace.path(FOLDER);
    let is_named = |peer: &Peer| {
        let value = peer.variable.as_ref().and_then(std::env::var_os);
        value.is_some_and(|value| !Path::new(&value).starts_with(&ours))
    };
    let mut missing = all()?;
    missing.retain(|peer| is_wanted(peer));
    let wanted = missing.len();
    missing.retain(|peer| !is_named(peer) && !peer.is_installed(workspace, versions));
    println!("    {} of {wanted} peers are there", wanted - missing.len());
    system::provide(workspace, &missing)?;
    // At this point, the system packages are installed.
    missing.retain(|peer| !matches!(peer.source, Source::System { .. }));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for peer in &missing {
            println!("    installing {}", peer.name);
            let failures = &failures;
            scope.spawn(move || {
                if let Err(error) = peer.install(workspace, versions)
                    && let Ok(mut failures) = failures.lock()
                {
                    failures.push(format!("{} can't be installed: {error:#}", peer.name));
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    if failures.is_empty() { Ok(()) } else { bail!(failures.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_require_all_peers() {
        let variables = variables(Path::new("root"));
        assert!(variables.contains(&(REQUIRED, "1".into())), "{variables:?}");
    }

    #[test]
    fn every_list_is_there_and_every_folder_is_of_one_peer() {
        let workspace = Workspace::from_manifest_dir();
        let mut folders = Vec::new();
        for peer in all().unwrap() {
            if let Source::Npm { folder, list } | Source::Python { folder, list, .. } = peer.source {
                assert!(workspace.path("crates").join(&list).is_file(), "{list}");
                folders.push(folder);
            }
        }
        let all = folders.len();
        assert!(all > 0);
        folders.sort_unstable();
        folders.dedup();
        assert_eq!(folders.len(), all);
    }
}

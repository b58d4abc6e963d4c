//! What the tests compare with: the programs, clients and packages of others, installed into `target/peers`.
//!
//! What is there already is left alone. What a caller names by a variable of its own is taken from there.

mod install;
mod system;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::cargo::Workspace;
use install::Versions;

/// Something of somebody else's.
pub(crate) struct Peer {
    /// What it is, in messages.
    name: &'static str,
    source: Source,
    /// Variables by which the tests find it, or a caller names another or leaves it out.
    variables: &'static [&'static str],
    /// It is for `check --all` alone: gigabytes, or minutes.
    is_large: bool,
}

/// Where it comes from. Folders are below `target/peers`, lists below `crates`.
enum Source {
    /// Packages of the system's, and the program by which one sees that they are there.
    System { program: &'static str, packages: &'static [&'static str] },
    /// A program of Cargo's registry, and how its first line of `--version` begins.
    Cargo { program: &'static str, package: &'static str, version: &'static str, shown: &'static str },
    /// What a `package.json` lists.
    Npm { folder: &'static str, list: &'static str },
    /// What a `requirements.txt` lists, for a Python of 3.`least` or later.
    Python { folder: &'static str, list: &'static str, least: u32 },
}

/// A Python that has what the lists of ordinary tests need.
const PYTHON: u32 = 10;

const PEERS: &[Peer] = &[
    Peer {
        name: "ripgrep",
        source: Source::Cargo { program: "rg", package: "ripgrep", version: "15.2.0", shown: "ripgrep 15." },
        variables: &["FORAGE_TEST_RG"],
        is_large: false,
    },
    Peer {
        name: "ugrep",
        source: Source::System { program: "ugrep", packages: &["ugrep"] },
        variables: &["FORAGE_TEST_UGREP"],
        is_large: false,
    },
    Peer {
        name: "aimock",
        source: Source::Npm { folder: "aimock", list: "forage-llm/tests/clients/package.json" },
        variables: &["FORAGE_TEST_AIMOCK"],
        is_large: false,
    },
    Peer {
        name: "the official MCP clients and the conformance suite",
        source: Source::Npm { folder: CLIENTS, list: "forage/tests/clients/package.json" },
        variables: &["FORAGE_TEST_MCP_PEERS"],
        is_large: false,
    },
    Peer {
        name: "the official MCP server",
        source: Source::Npm { folder: "mcp/servers", list: "forage/tests/clients/servers/package.json" },
        variables: &["FORAGE_TEST_MCP_PEERS"],
        is_large: false,
    },
    Peer {
        name: "the MCP client of Python, line 1",
        source: Source::Python {
            folder: "mcp/python-1",
            list: "forage/tests/clients/requirements-1.txt",
            least: PYTHON,
        },
        variables: &["FORAGE_TEST_MCP_PEERS"],
        is_large: false,
    },
    Peer {
        name: "the MCP client of Python, line 2",
        source: Source::Python {
            folder: "mcp/python-2",
            list: "forage/tests/clients/requirements-2.txt",
            least: PYTHON,
        },
        variables: &["FORAGE_TEST_MCP_PEERS"],
        is_large: false,
    },
    Peer {
        name: "OpenTelemetry's packages for Python",
        source: Source::Python {
            folder: "mcp/spans",
            list: "forage/tests/clients/requirements-spans.txt",
            least: PYTHON,
        },
        variables: &["FORAGE_TEST_MCP_PEERS"],
        is_large: false,
    },
    Peer {
        name: "Qdrant's client and engine for Python",
        source: Source::Python {
            folder: LOOKUP,
            list: "forage-lookup/tests/clients/requirements.txt",
            least: PYTHON,
        },
        variables: &[QDRANT_PYTHON],
        is_large: false,
    },
    Peer {
        name: "a linker for ARM",
        source: Source::System {
            program: "aarch64-linux-gnu-gcc",
            packages: &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
        },
        variables: &[],
        is_large: true,
    },
    Peer {
        name: "an emulator of ARM",
        source: Source::System { program: "qemu-aarch64", packages: &["qemu-user"] },
        variables: &[],
        is_large: true,
    },
    Peer {
        name: "a linker for Windows",
        source: Source::System {
            program: "x86_64-w64-mingw32-gcc",
            packages: &["gcc-mingw-w64-x86-64-win32"],
        },
        variables: &[],
        is_large: true,
    },
    Peer {
        name: "Wine",
        source: Source::System { program: "wine", packages: &["wine64", "wine"] },
        variables: &[],
        is_large: true,
    },
    Peer {
        name: "the agents",
        source: Source::Npm { folder: "clients", list: "forage/tests/clients/real/package.json" },
        variables: &["FORAGE_TEST_CLIENTS"],
        is_large: true,
    },
    Peer {
        name: "what drives a browser",
        source: Source::Npm { folder: "page", list: "forage-ui/tests/page/package.json" },
        variables: &["FORAGE_TEST_PAGE"],
        is_large: true,
    },
    Peer {
        name: "the agent frameworks of Python",
        source: Source::Python {
            folder: "frameworks/python",
            list: "forage/tests/clients/frameworks/requirements.txt",
            least: 11,
        },
        variables: &["FORAGE_TEST_FRAMEWORKS"],
        is_large: true,
    },
    Peer {
        name: "fast-agent",
        source: Source::Python {
            folder: "frameworks/fast-agent",
            list: "forage/tests/clients/frameworks/requirements-fast-agent.txt",
            least: 12,
        },
        variables: &["FORAGE_TEST_FRAMEWORKS"],
        is_large: true,
    },
    Peer {
        name: "the official filesystem server",
        source: Source::Npm { folder: "frameworks", list: "forage/tests/clients/frameworks/package.json" },
        variables: &["FORAGE_TEST_FRAMEWORKS"],
        is_large: true,
    },
    Peer {
        name: "mdBook",
        source: Source::Cargo {
            program: "mdbook",
            package: "mdbook",
            version: "0.5.4",
            shown: "mdbook v0.5.",
        },
        variables: &[],
        is_large: true,
    },
    Peer {
        name: "a browser",
        source: Source::System { program: "chromium", packages: &["chromium"] },
        variables: &[],
        is_large: true,
    },
    Peer {
        name: "a spell checker",
        source: Source::Python {
            folder: SPELLING,
            list: "forage/tests/clients/spelling/requirements.txt",
            least: PYTHON,
        },
        variables: &[],
        is_large: true,
    },
    Peer {
        name: "maturin and zig",
        source: Source::Python {
            folder: "packaging/python",
            list: "forage/tests/clients/packaging/requirements.txt",
            least: PYTHON,
        },
        variables: &[],
        is_large: true,
    },
    Peer {
        name: "what checks the Python package",
        source: Source::Python {
            folder: BINDINGS,
            list: "forage-python/tests/requirements.txt",
            least: PYTHON,
        },
        variables: &[],
        is_large: true,
    },
    Peer {
        name: "what looks at bundles and workflows",
        source: Source::Npm { folder: "packaging/npm", list: "forage/tests/clients/packaging/package.json" },
        variables: &[],
        is_large: true,
    },
];

/// The group of what packages are built with.
const PACKAGING: &str = "packaging/";
const LOOKUP: &str = "lookup/python";
const SPELLING: &str = "spelling";
/// The group of the official client and server.
const CLIENTS: &str = "mcp";
const BINDINGS: &str = "bindings/python";
const QDRANT_PYTHON: &str = "FORAGE_TEST_QDRANT_PYTHON";

/// Where everything is installed.
fn folder(workspace: &Workspace) -> PathBuf {
    workspace.path("target/peers")
}

/// What every command of the workspace gets: the installed programs before the system's, and where the rest is, unless the
/// caller says otherwise.
pub(crate) fn variables(root: &Path) -> Vec<(&'static str, OsString)> {
    let peers = root.join("target/peers");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([peers.join("bin")].into_iter().chain(std::env::split_paths(&path)));
    let mut variables: Vec<_> = path.into_iter().map(|path| ("PATH", path)).collect();
    let python = peers.join(LOOKUP).join("bin/python");
    if std::env::var_os(QDRANT_PYTHON).is_none() && python.exists() {
        variables.push((QDRANT_PYTHON, python.into_os_string()));
    }
    variables
}

/// Settings of the caller's that would change what the peers print.
pub(crate) const UNWANTED: [&str; 3] = ["RIPGREP_CONFIG_PATH", "GREP_COLORS", "GREP_COLOR"];

/// Installs what is missing of what the tests compare with; with `all`, of what `check --all` does, too.
///
/// # Errors
/// Everything that is missing and can't be installed, before anything is; then everything whose installation failed.
pub(crate) fn install(workspace: &Workspace, all: bool) -> Result<(), String> {
    install_those(workspace, Versions::Pinned, |peer| all || !peer.is_large)
}

/// Installs the peers for which a variable is, in the newest versions, into a folder beside that of the pinned ones.
pub(crate) fn install_newest(workspace: &Workspace, variable: &str) -> Result<(), String> {
    install_those(workspace, Versions::Newest, |peer| peer.variables.contains(&variable))
}

/// Installs what packages are built with.
pub(crate) fn install_for_packages(workspace: &Workspace) -> Result<(), String> {
    let is_wanted =
        |peer: &Peer| matches!(peer.source, Source::Python { folder, .. } if folder.starts_with(PACKAGING));
    install_those(workspace, Versions::Pinned, is_wanted)
}

/// Installs what packages and workflows are looked at by.
pub(crate) fn install_for_checks_of_packages(workspace: &Workspace) -> Result<(), String> {
    let is_wanted =
        |peer: &Peer| matches!(peer.source, Source::Npm { folder, .. } if folder.starts_with(PACKAGING));
    install_those(workspace, Versions::Pinned, is_wanted)
}

/// Brings the system's lists of packages up to date.
pub(crate) fn update_package_lists(workspace: &Workspace) -> Result<(), String> {
    system::apt_as_root(workspace, &["update"])
}

/// Installs what other systems are built for and run with.
pub(crate) fn install_for_systems(workspace: &Workspace) -> Result<(), String> {
    const PROGRAMS: [&str; 4] = ["aarch64-linux-gnu-gcc", "qemu-aarch64", "x86_64-w64-mingw32-gcc", "wine"];
    let is_wanted = |peer: &Peer| match peer.source {
        Source::System { program, .. } => PROGRAMS.contains(&program),
        Source::Python { folder, .. } => folder.starts_with(PACKAGING),
        _ => false,
    };
    install_those(workspace, Versions::Pinned, is_wanted)
}

/// Installs what the site is built with.
pub(crate) fn install_for_site(workspace: &Workspace) -> Result<(), String> {
    let is_wanted = |peer: &Peer| match peer.source {
        Source::Cargo { program, .. } => program == "mdbook",
        Source::Python { folder, .. } => folder == SPELLING,
        _ => false,
    };
    install_those(workspace, Versions::Pinned, is_wanted)
}

/// Returns the program that checks spelling.
pub(crate) fn spell_checker(workspace: &Workspace) -> PathBuf {
    folder(workspace).join(SPELLING).join("bin/typos")
}

/// Installs what the Python package is tested with.
pub(crate) fn install_for_python(workspace: &Workspace) -> Result<(), String> {
    let is_wanted = |peer: &Peer| matches!(peer.source, Source::Python { folder, .. } if folder == BINDINGS);
    install_those(workspace, Versions::Pinned, is_wanted)
}

/// Installs what every way to call a tool is called by.
pub(crate) fn install_for_fronts(workspace: &Workspace) -> Result<(), String> {
    let is_wanted = |peer: &Peer| match peer.source {
        Source::Python { folder, .. } => folder == BINDINGS,
        Source::Npm { folder, .. } => folder == CLIENTS,
        _ => false,
    };
    install_those(workspace, Versions::Pinned, is_wanted)
}

/// Installs what drives the browser.
pub(crate) fn install_for_page(workspace: &Workspace) -> Result<(), String> {
    let is_driver = |peer: &Peer| matches!(peer.source, Source::Npm { folder: "page", .. });
    install_those(workspace, Versions::Pinned, is_driver)
}

/// Installs what the site is looked at with.
pub(crate) fn install_browser(workspace: &Workspace) -> Result<(), String> {
    let is_browser = |peer: &Peer| matches!(peer.source, Source::System { program: "chromium", .. });
    install_those(workspace, Versions::Pinned, is_browser)
}

fn install_those(
    workspace: &Workspace,
    versions: Versions,
    is_wanted: impl Fn(&Peer) -> bool,
) -> Result<(), String> {
    let is_named = |peer: &Peer| {
        let mut variables = peer.variables.iter();
        !peer.variables.is_empty() && variables.all(|variable| std::env::var_os(variable).is_some())
    };
    let mut missing: Vec<&Peer> = PEERS
        .iter()
        .filter(|peer| is_wanted(peer) && !is_named(peer) && !peer.is_there(workspace, versions))
        .collect();
    system::provide(workspace, &missing)?;
    // Programs of the system's are there now.
    missing.retain(|peer| !matches!(peer.source, Source::System { .. }));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for peer in missing {
            println!("    installing {}", peer.name);
            let failures = &failures;
            scope.spawn(move || {
                if let Err(error) = peer.install(workspace, versions)
                    && let Ok(mut failures) = failures.lock()
                {
                    failures.push(format!("{} can't be installed: {error}", peer.name));
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_there_and_every_folder_is_of_one_peer() {
        let workspace = Workspace::of_this_source();
        let mut folders = Vec::new();
        for peer in PEERS {
            if let Source::Npm { folder, list } | Source::Python { folder, list, .. } = peer.source {
                assert!(workspace.path("crates").join(list).is_file(), "{list}");
                folders.push(folder);
            }
        }
        let all = folders.len();
        folders.sort_unstable();
        folders.dedup();
        assert_eq!(folders.len(), all);
    }
}

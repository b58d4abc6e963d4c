//! Peers: third-party programs, clients and packages that the tests compare with. We install them into
//! `target/peers`.
//!
//! We do not touch installed peers. You can use a different peer by setting its environment variable.

mod install;
mod system;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::cargo::{Workspace, write};
use install::Versions;

/// A third-party program or package.
pub(crate) struct Peer {
    /// The name for messages.
    name: &'static str,
    source: Source,
    /// Environment variables by which the tests find the peer, or by which you can replace or skip it.
    variables: &'static [&'static str],
    /// Whether only `check --all` needs this peer, because it takes gigabytes or minutes.
    is_large: bool,
}

/// Where peers come from. Folders are relative to `target/peers`, and lists to `crates`.
enum Source {
    /// System packages, and the program that shows whether they are installed.
    System { program: &'static str, packages: &'static [&'static str] },
    /// A program from crates.io, and how the first line of its `--version` output begins.
    Cargo { program: &'static str, package: &'static str, version: &'static str, shown: &'static str },
    /// The packages in a `package.json`.
    Npm { folder: &'static str, list: &'static str },
    /// The packages in a `requirements.txt`, for Python 3.`least` or later.
    Python { folder: &'static str, list: &'static str, least: u32 },
}

/// The minor version of Python that the lists of ordinary tests require.
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
        name: "the Python MCP client, version 1",
        source: Source::Python {
            folder: "mcp/python-1",
            list: "forage/tests/clients/requirements-1.txt",
            least: PYTHON,
        },
        variables: &["FORAGE_TEST_MCP_PEERS"],
        is_large: false,
    },
    Peer {
        name: "the Python MCP client, version 2",
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
        variables: &["FORAGE_TEST_QDRANT_PYTHON"],
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
        name: "an ARM emulator",
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
        name: "a browser driver",
        source: Source::Npm { folder: PAGE, list: "forage-ui/tests/page/package.json" },
        variables: &["FORAGE_TEST_PAGE"],
        is_large: true,
    },
    Peer {
        name: "the Python agent frameworks",
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
        source: Source::System { program: BROWSER, packages: &["chromium"] },
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
            folder: PACKAGING,
            list: "forage/tests/clients/packaging/requirements.txt",
            least: PYTHON,
        },
        variables: &[],
        is_large: true,
    },
    Peer {
        name: "the checkers of the Python package",
        source: Source::Python {
            folder: BINDINGS,
            list: "forage-python/tests/requirements.txt",
            least: PYTHON,
        },
        variables: &[],
        is_large: true,
    },
    Peer {
        name: "the linters of bundles and workflows",
        source: Source::Npm { folder: PACKAGE_CHECKS, list: "forage/tests/clients/packaging/package.json" },
        variables: &[],
        is_large: true,
    },
];

/// The tools that build packages.
pub(crate) const PACKAGING: &str = "packaging/python";
/// The tools that check bundles and workflows.
pub(crate) const PACKAGE_CHECKS: &str = "packaging/npm";
const LOOKUP: &str = "lookup/python";
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

/// The folder into which we install everything.
fn folder(workspace: &Workspace) -> PathBuf {
    workspace.path("target/peers")
}

/// Makes a test fail if its peer is missing. Otherwise it is skipped.
pub(crate) const REQUIRED: &str = "FORAGE_REQUIRE_PEERS";

/// Returns the environment variables for every command in the workspace. `PATH` begins with the installed
/// programs. All peers are required, so no step skips a test because of one.
pub(crate) fn variables(root: &Path) -> Vec<(&'static str, OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = root.join("target/peers/bin");
    let path = std::env::join_paths([installed].into_iter().chain(std::env::split_paths(&path)));
    let path = path.into_iter().map(|path| ("PATH", path));
    path.chain([(REQUIRED, "1".into())]).collect()
}

/// The caller's settings that would change the output of peers.
pub(crate) const UNWANTED: [&str; 3] = ["RIPGREP_CONFIG_PATH", "GREP_COLORS", "GREP_COLOR"];

/// Installs the missing peers of the tests and, with `all`, those of `check --all`.
///
/// # Errors
///
/// Before anything is installed, returns an error that lists all missing requirements that we can't install.
/// Otherwise, returns an error that lists all installations that have failed.
pub(crate) fn install(workspace: &Workspace, all: bool) -> Result<(), String> {
    install_those(workspace, Versions::Pinned, |peer| all || !peer.is_large)
}

/// Installs the peers with these names. Each name is that of a program or a folder.
pub(crate) fn install_named(workspace: &Workspace, names: &[&str]) -> Result<(), String> {
    install_those(workspace, Versions::Pinned, |peer| match peer.source {
        Source::System { program, .. } | Source::Cargo { program, .. } => names.contains(&program),
        Source::Npm { folder, .. } | Source::Python { folder, .. } => names.contains(&folder),
    })
}

/// The output of the tests with the newest versions of a group of peers.
pub(crate) struct Newest {
    /// The folder with these versions, next to the pinned ones.
    pub(crate) folder: PathBuf,
    pub(crate) printed: String,
    /// The file with the output.
    pub(crate) log: String,
}

impl Newest {
    /// Installs the newest versions of a group of peers and runs its tests. It does not matter whether they
    /// pass.
    pub(crate) fn test(
        workspace: &Workspace,
        group: &str,
        variable: &str,
        tests: &[&str],
    ) -> Result<Self, String> {
        install_those(workspace, Versions::Newest, |peer| peer.variables.contains(&variable))?;
        let folder = folder(workspace).join(format!("{group}-newest"));
        let printed = workspace.cargo_printed(tests, &[(variable, &folder.display().to_string())])?;
        let log = workspace.path(&format!("target/{group}-newest.log"));
        write(&log, &printed)?;
        Ok(Self { folder, printed, log: workspace.shown(&log) })
    }
}

/// Updates the system's package lists.
pub(crate) fn update_package_lists(workspace: &Workspace) -> Result<(), String> {
    system::apt_as_root(workspace, &["update"])
}

/// Returns the path of the spell checker.
pub(crate) fn spell_checker(workspace: &Workspace) -> PathBuf {
    folder(workspace).join(SPELLING).join("bin/typos")
}

fn install_those(
    workspace: &Workspace,
    versions: Versions,
    is_wanted: impl Fn(&Peer) -> bool,
) -> Result<(), String> {
    // If the caller has set all variables of a peer, the tests use the caller's own. `.cargo/config.toml` sets
    // some of them to our folder.
    let ours = folder(workspace);
    let is_own = |variable: &&str| {
        std::env::var_os(variable).is_some_and(|value| !Path::new(&value).starts_with(&ours))
    };
    let is_named = |peer: &Peer| !peer.variables.is_empty() && peer.variables.iter().all(is_own);
    let wanted: Vec<&Peer> = PEERS.iter().filter(|peer| is_wanted(peer)).collect();
    let is_missing = |peer: &&&Peer| !is_named(peer) && !peer.is_installed(workspace, versions);
    let mut missing: Vec<&Peer> = wanted.iter().filter(is_missing).copied().collect();
    println!("    {} of {} peers are there", wanted.len() - missing.len(), wanted.len());
    system::provide(workspace, &missing)?;
    // At this point, the system packages are installed.
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
    fn variables_require_all_peers() {
        let variables = variables(Path::new("root"));
        assert!(variables.contains(&(REQUIRED, "1".into())), "{variables:?}");
    }

    #[test]
    fn every_list_is_there_and_every_folder_is_of_one_peer() {
        let workspace = Workspace::from_manifest_dir();
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

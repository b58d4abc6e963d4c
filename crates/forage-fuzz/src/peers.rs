//! Peers: programs and packages of others that tests compare with.
//!
//! A test begins with [`needs!`](crate::needs) and the names of its peers. If one is missing, the test prints
//! a line and passes, so that `cargo test` works on a bare clone. With `FORAGE_REQUIRE_PEERS=1`, which
//! `cargo xtask` sets for every command, it fails.
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    reason = "it finds programs by the environment and runs one, and only tests use it: it fails them"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Makes a missing peer a failure.
const REQUIRED: &str = "FORAGE_REQUIRE_PEERS";

/// The engines must equal this version of ripgrep byte for byte. Another major version may differ.
const RIPGREP: &str = "ripgrep 15.";

/// The path of an empty configuration.
const NO_FILE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// The file name of ripgrep, as of every peer on the `PATH`.
const RG: &str = "rg";

/// Names for messages, if they differ from the peer's own name.
const SHOWN: [(&str, &str); 4] = [
    (RG, "rg 15"),
    ("mcp_peers", "the MCP clients"),
    ("node", "Node"),
    ("qdrant_python", "Qdrant's client for Python"),
];

/// Finds a peer: the path in `FORAGE_TEST_NAME` if it exists, or else the program `name` on the `PATH`.
/// `.cargo/config.toml` sets these variables to the folder into which `cargo xtask peers` installs.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    static ON_PATH: LazyLock<Option<PathBuf>> =
        LazyLock::new(|| on_path(RG).find(|program| is_ripgrep(program)));
    let named = std::env::var_os(format!("FORAGE_TEST_{}", name.to_uppercase())).map(PathBuf::from);
    named.filter(|path| path.exists()).or_else(|| match name {
        RG => ON_PATH.clone(),
        _ => on_path(name).next(),
    })
}

/// Returns the path of a peer that the test needs.
///
/// # Panics
///
/// Panics if the peer is missing, so the test must begin with [`needs!`](crate::needs).
#[must_use]
pub fn program(name: &str) -> PathBuf {
    find(name).unwrap_or_else(|| panic!("{name} is missing: the test must begin with `needs!`"))
}

/// Creates a command of git that runs in a directory, as a test author. It reads no configuration of the machine
/// or its user, and a commit starts no maintenance, which would take as long as the commit.
#[must_use]
pub fn git(directory: impl AsRef<Path>) -> Command {
    let mut command = Command::new("git");
    command.current_dir(directory).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.envs([
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", NO_FILE),
        ("GIT_CONFIG_COUNT", "2"),
        ("GIT_CONFIG_KEY_0", "maintenance.auto"),
        ("GIT_CONFIG_VALUE_0", "false"),
        ("GIT_CONFIG_KEY_1", "init.defaultBranch"),
        ("GIT_CONFIG_VALUE_1", "main"),
        ("GIT_AUTHOR_NAME", "A B"),
        ("GIT_AUTHOR_EMAIL", "a@b"),
        ("GIT_COMMITTER_NAME", "A B"),
        ("GIT_COMMITTER_EMAIL", "a@b"),
        ("TZ", "UTC"),
    ]);
    command
}

/// Returns a `PATH` with the search engines that [`find`] finds, for programs that look for them there.
#[must_use]
pub fn path() -> String {
    let engines: Vec<_> = [RG, "ugrep"].into_iter().filter_map(find).collect();
    let own = engines.iter().filter_map(|engine| engine.parent().map(Path::to_owned));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(own.chain(std::env::split_paths(&path))).unwrap_or_default();
    path.to_string_lossy().into_owned()
}

/// Returns true if all peers are there. Otherwise reports the missing ones. [`needs!`](crate::needs) calls
/// this.
#[must_use]
pub fn are_there(names: &[&str]) -> bool {
    let missing: Vec<_> = names.iter().copied().filter(|name| find(name).is_none()).collect();
    if !missing.is_empty() {
        report_missing(&missing);
    }
    missing.is_empty()
}

/// Prints that the test is skipped because of these peers.
///
/// # Panics
///
/// Panics if peers are required.
pub fn report_missing(names: &[&str]) {
    report(names, std::env::var_os(REQUIRED).is_some_and(|value| value == "1"));
}

fn shown(name: &str) -> &str {
    SHOWN.iter().find(|(peer, _)| *peer == name).map_or(name, |(_, shown)| shown)
}

/// This is the only place that decides between a skipped and a failed test.
fn report(names: &[&str], is_required: bool) {
    let names: Vec<&str> = names.iter().map(|name| shown(name)).collect();
    let message = format!("not installed: {}; `cargo xtask peers` installs it", names.join(", "));
    assert!(!is_required, "{message}");
    let thread = std::thread::current();
    let line = format!("skipped {}: {message}\n", thread.name().unwrap_or_default());
    // Unlike `eprintln!`, this also shows for a test that passes.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

fn on_path(name: &str) -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<_> =
        std::env::split_paths(&path).filter(|directory| directory.is_absolute()).collect();
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    directories.into_iter().map(move |directory| directory.join(&file)).filter(|program| program.is_file())
}

fn is_ripgrep(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| output.stdout.starts_with(RIPGREP.as_bytes()))
}

/// Skips the test if a peer is missing: `needs!("rg", "ugrep");`. See [`peers`](crate::peers).
#[macro_export]
macro_rules! needs {
    ($($name:expr),+) => {
        if !$crate::peers::are_there(&[$($name),+]) {
            return;
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_peer_skips_or_fails() {
        assert_eq!(find("no-such-peer"), None);
        report(&["no-such-peer"], false);
        assert!(std::panic::catch_unwind(|| report(&["no-such-peer"], true)).is_err());
    }
}

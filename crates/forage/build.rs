//! Supplies `forage --version` with build information: the target, and the commit if it is known.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a build script talks to cargo through both, and reads nothing of a user's"
)]

use std::path::Path;
use std::process::Command;

/// Variable with the commit and, after a space, its date, for builds without a repository.
const COMMIT: &str = "FORAGE_COMMIT";

fn main() {
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=FORAGE_TARGET={target}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    if let Some(commit) = std::env::var(COMMIT).ok().or_else(packaged).or_else(checked_out) {
        println!("cargo::rustc-env={COMMIT}={commit}");
    }
}

/// Returns the commit from which a registry package was made.
fn packaged() -> Option<String> {
    let output = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = output.split_once("\"sha1\": \"")?;
    rest.get(..SHORT).map(str::to_owned)
}

/// Number of digits of a commit id, as git shows in a larger repository.
const SHORT: usize = 10;

/// Returns the commit of a clone. Debug builds skip this, because tests would have to be rebuilt after every
/// commit.
fn checked_out() -> Option<String> {
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return None;
    }
    let log = Path::new("../../.git/logs/HEAD");
    if !log.is_file() {
        return None;
    }
    println!("cargo::rerun-if-changed={}", log.display());
    let format = format!("--abbrev={SHORT}");
    let output = Command::new("git").args(["log", "-1", &format, "--format=%h %cs", "HEAD"]).output().ok()?;
    let output = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!output.is_empty()).then_some(output)
}

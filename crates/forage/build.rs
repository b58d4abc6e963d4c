//! What `forage --version` tells of the build beside the version: the target, and the commit where it is known.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a build script talks to cargo through both, and reads nothing of a user's"
)]

use std::path::Path;
use std::process::Command;

/// Says which commit is built, with its date behind a space, where there is no repository to ask.
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

/// The commit that a package of the registry was made of.
fn packaged() -> Option<String> {
    let told = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = told.split_once("\"sha1\": \"")?;
    rest.get(..SHORT).map(str::to_owned)
}

/// Digits of a commit's name that are shown, as git does in a repository of some size.
const SHORT: usize = 10;

/// The commit of a clone. Not in a build for tests, which would be made anew after every commit.
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
    let told = Command::new("git").args(["log", "-1", &format, "--format=%h %cs", "HEAD"]).output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?.trim().to_owned();
    (!told.is_empty()).then_some(told)
}

//! Checks the dependencies for known vulnerabilities, using a checkout of RustSec's database.
//!
//! No package contains that database, and `check` must not need a network, so this is a separate step.
//! `CONTRIBUTING.md` says when to run it. `cargo audit` does the work, and `.cargo/audit.toml` lists the
//! advisories that we accept, with reasons.

use std::path::Path;

use crate::cargo::Workspace;

/// The source of the database.
const SOURCE: &str = "https://github.com/RustSec/advisory-db";

/// How to install the version of cargo-audit that we have tested.
const AUDIT: &str = "cargo install cargo-audit --version 0.22.2 --locked";

/// Compares `Cargo.lock` with a checkout of the database. Any advisory that `.cargo/audit.toml` does not list
/// is an error.
pub(crate) fn check(workspace: &Workspace, database: &str) -> Result<(), String> {
    check_database(Path::new(database))?;
    if !workspace.has_subcommand("audit") {
        return Err(format!("cargo-audit is not installed: {AUDIT}"));
    }
    // By default, unmaintained and unsound crates are only warnings, so we deny them too. Only the registry
    // knows whether a version was yanked, which `cargo deny check advisories` covers.
    let database = std::path::absolute(database).map_err(|error| format!("{database}: {error}"))?;
    let database = database.display().to_string();
    workspace.cargo(&[
        "audit",
        "--db",
        &database,
        "--no-fetch",
        "--no-yanked",
        "--stale",
        "--deny",
        "warnings",
    ])
}

/// Checks that `path` contains a database. Otherwise, an empty directory would pass as free of advisories.
fn check_database(path: &Path) -> Result<(), String> {
    let known = path.join("crates").join("rustdecimal");
    match known.is_dir() {
        true => Ok(()),
        false => Err(format!(
            "{} is not a checkout of RustSec's database: clone {SOURCE} and pass its directory",
            path.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_no_database_is_refused() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(check_database(here).unwrap_err().contains(SOURCE));
        assert!(check_database(&here.join("none")).is_err());
    }
}

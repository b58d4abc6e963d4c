//! Checks the dependencies for known vulnerabilities, using a checkout of RustSec's database.
//!
//! No package contains that database, and `check` must not need a network, so this is a separate step.
//! `CONTRIBUTING.md` says when to run it. `cargo audit` does the work, and `.cargo/audit.toml` lists the
//! advisories that we accept, with reasons.

use std::path::Path;

use anyhow::{Result, bail};

use crate::cargo::{Workspace, run};

/// The source of the database.
const SOURCE: &str = "https://github.com/RustSec/advisory-db";

/// Compares `Cargo.lock` with a checkout of the database. Any advisory that `.cargo/audit.toml` does not list
/// is an error.
pub(crate) fn check(workspace: &Workspace, database: &str) -> Result<()> {
    check_database(Path::new(database))?;
    if !workspace.has_subcommand("audit") {
        bail!("cargo-audit is not installed: cargo install cargo-audit --version 0.22.2 --locked");
    }
    // By default, unmaintained and unsound crates are only warnings, so we deny them too. Only the registry
    // knows whether a version was yanked, which `cargo deny check advisories` covers.
    let audit = "cargo audit --no-fetch --no-yanked --stale --deny warnings --db";
    run(workspace.command(audit).arg(std::path::absolute(database)?))
}

/// Checks that `path` contains a database. Otherwise, an empty directory would pass as free of advisories.
fn check_database(path: &Path) -> Result<()> {
    match path.join("crates/rustdecimal").is_dir() {
        true => Ok(()),
        false => bail!(
            "{} is not a checkout of RustSec's database: clone {SOURCE} and pass its directory",
            path.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_no_database_is_refused() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(check_database(here).unwrap_err().to_string().contains(SOURCE));
        assert!(check_database(&here.join("none")).is_err());
    }
}

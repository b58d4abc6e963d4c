//! Known weaknesses of what is depended on, out of a checkout of RustSec's database.
//!
//! No package carries that database, and a check must not need a network, so that it is a step of its own: `CONTRIBUTING.md`
//! says when. `cargo audit` does the work; `.cargo/audit.toml` names what is known and borne, with the reason.

use std::path::Path;

use crate::cargo::Workspace;

/// Where the database comes from.
const SOURCE: &str = "https://github.com/RustSec/advisory-db";

/// The version of cargo-audit that this was tried with.
const AUDIT: &str = "cargo install cargo-audit --version 0.22.2 --locked";

/// Compares `Cargo.lock` with a checkout of the database; a weakness that is not named in `.cargo/audit.toml` is an error.
pub(crate) fn check(workspace: &Workspace, database: &str) -> Result<(), String> {
    check_database(Path::new(database))?;
    if !workspace.has_subcommand("audit") {
        return Err(format!("cargo-audit is not installed: {AUDIT}"));
    }
    // Crates that are unmaintained or unsound are told as warnings, and may be told only where they are named. Whether a
    // version was withdrawn only the registry can tell, which `cargo deny check advisories` asks.
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

/// Whether it is a database: of an empty directory nothing would be found, and all would be well.
fn check_database(path: &Path) -> Result<(), String> {
    let known = path.join("crates").join("rustdecimal");
    match known.is_dir() {
        true => Ok(()),
        false => Err(format!(
            "{} is no checkout of RustSec's database: clone {SOURCE} and name its directory",
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

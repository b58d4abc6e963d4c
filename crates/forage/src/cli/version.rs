//! The version, the commit and the target of this build.

/// The target triple of this build.
pub(super) const TARGET: &str = env!("FORAGE_TARGET");

/// The commit and its date, if we knew them at build time.
pub(super) const COMMIT: Option<&str> = option_env!("FORAGE_COMMIT");

/// Returns the text that `forage --version` prints after the name of the program.
pub(super) fn long_version() -> String {
    format!("{}\ntarget: {TARGET}", version())
}

/// Returns the version with its commit.
pub(crate) fn version() -> String {
    match COMMIT {
        Some(commit) => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").to_owned(),
    }
}

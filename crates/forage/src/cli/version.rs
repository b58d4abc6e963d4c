//! The version, the commit and the target of this build.

/// The system and processor that the program was built for.
pub(super) const TARGET: &str = env!("FORAGE_TARGET");

/// The commit with its date, where the build knew it.
pub(super) const COMMIT: Option<&str> = option_env!("FORAGE_COMMIT");

/// The answer to `forage --version`, after the name of the program.
pub(super) fn long_version() -> String {
    format!("{}\ntarget: {TARGET}", version())
}

/// The version with its commit.
pub(crate) fn version() -> String {
    match COMMIT {
        Some(commit) => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").to_owned(),
    }
}

//! What the program was built of: version, commit, target, features.

/// The cargo features with whether they are in this build.
pub(super) const FEATURES: [(&str, bool); 3] = [
    ("bm42", cfg!(feature = "bm42")),
    ("qdrant", cfg!(feature = "qdrant")),
    ("embedded-store", cfg!(feature = "embedded-store")),
];

/// The system and processor that it was built for.
pub(super) const TARGET: &str = env!("FORAGE_TARGET");

/// The commit that it was built of and its date, where the build knew.
pub(super) const COMMIT: Option<&str> = option_env!("FORAGE_COMMIT");

/// The answer to `forage --version`, behind the name of the program.
pub(super) fn long_version() -> String {
    format!("{}\ntarget: {TARGET}\nfeatures: {}", version(), shown())
}

/// The version with its commit.
pub(crate) fn version() -> String {
    match COMMIT {
        Some(commit) => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// All features in one line: `+` before one that is in this build, `-` before one that is not.
pub(super) fn shown() -> String {
    FEATURES.map(|(name, is_built)| format!("{}{name}", if is_built { '+' } else { '-' })).join(" ")
}

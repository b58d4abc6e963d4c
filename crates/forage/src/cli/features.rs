//! Which features the program was built with.

/// The cargo features with whether they are in this build.
pub(super) const FEATURES: [(&str, bool); 4] = [
    ("external-engines", cfg!(feature = "external-engines")),
    ("bm42", cfg!(feature = "bm42")),
    ("qdrant", cfg!(feature = "qdrant")),
    ("embedded-store", cfg!(feature = "embedded-store")),
];

/// The answer to `forage --version`, behind the name of the program.
pub(super) fn long_version() -> String {
    format!("{}\nfeatures: {}", env!("CARGO_PKG_VERSION"), shown())
}

/// All features in one line: `+` before one that is in this build, `-` before one that is not.
pub(super) fn shown() -> String {
    FEATURES.map(|(name, is_built)| format!("{}{name}", if is_built { '+' } else { '-' })).join(" ")
}

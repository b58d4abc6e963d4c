//! Black-box tests of the engines, most of them against the real ripgrep.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make their own trees and run the peer they compare with"
)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[cfg(target_os = "linux")]
#[cfg(target_os = "linux")]
mod dialects;
mod external;
mod fuzzy;
mod injection;
mod keyword;
mod processes;
mod ripgrep;
mod search;
mod trees;

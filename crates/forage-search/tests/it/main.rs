//! Black-box tests of the engines, most of them against the real ripgrep.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make their own trees and run the peer they compare with"
)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fuzzy;
mod keyword;
mod ripgrep;
mod search;
mod trees;

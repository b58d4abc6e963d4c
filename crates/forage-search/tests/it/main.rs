//! Black-box tests of the engines, most of them against the real ripgrep.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make their own trees and run the peer they compare with"
)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod breadth;
#[cfg(target_os = "linux")]
mod dialects;
#[cfg(target_os = "linux")]
mod encodings;
mod external;
#[cfg(target_os = "linux")]
mod fuzz;
mod fuzzy;
#[cfg(target_os = "linux")]
mod hidden;
#[cfg(target_os = "linux")]
mod index;
#[cfg(target_os = "linux")]
mod injection;
mod keyword;
#[cfg(target_os = "linux")]
mod notebooks;
#[cfg(target_os = "linux")]
mod parts;
#[cfg(target_os = "linux")]
mod processes;
mod ripgrep;
mod search;
#[cfg(target_os = "linux")]
mod snapshot;
mod trees;
#[cfg(target_os = "linux")]
mod verify;
#[cfg(target_os = "linux")]
mod watched;

//! The store through its interface, on real directories and with real processes.
#![expect(clippy::disallowed_methods, reason = "tests make their own directories and run themselves")]
#![expect(clippy::disallowed_macros, reason = "a child tells its parent what it has done")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod crash;
mod damage;
mod locking;
#[cfg(unix)]
mod planted;
mod round_trip;
mod scores;
mod seal;
mod support;

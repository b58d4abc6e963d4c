//! Black-box tests of the encoders, stores and lookups.
#![expect(clippy::disallowed_methods, reason = "tests make their own trees")]
#![expect(clippy::disallowed_macros, reason = "a child tells its parent what it has done")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../peer/mod.rs"]
mod peer;

mod bm42;
mod embedded;
mod fill;
mod fuzz;
mod golden;
mod idf;
mod interface;
mod memory;
mod names;
mod qdrant;
mod retriever;
mod support;

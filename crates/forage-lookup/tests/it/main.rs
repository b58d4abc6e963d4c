//! Black-box tests of the encoders and what they are used by.
#![expect(clippy::disallowed_methods, reason = "tests make their own trees")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bm42;
mod fill;
mod fuzz;
mod golden;
mod memory;
mod names;
mod rarity;
mod retriever;

//! Fuzz targets that run as tests on stable Rust, for a bounded time. [`peers`] finds the programs that tests
//! compare with.
//!
//! A target is a test that calls [`target!`] with valid inputs (its seeds) and a property that must hold for
//! any input:
//!
//! ```
//! let seeds = forage_fuzz::seeds(["{\"line\": 17}", "[1, 2]"]);
//! forage_fuzz::target!(&seeds, |input| {
//!     let text = String::from_utf8_lossy(input);
//!     assert_eq!(text.trim(), text.trim().trim());
//! });
//! ```
//!
//! We check the property with the unchanged seeds, then with their mutations ([`mutated`]) and random bytes,
//! until the target's time is over. An input fails if the property panics, takes longer than
//! [`limits::INPUT_TIME`], or makes the thread hold more than [`limits::INPUT_BYTES`] of additional memory.
//! For each failure we print the seed that reproduces it.
//!
//! | variable | meaning | when it is not set |
//! |---|---|---|
//! | `FORAGE_FUZZ_SECONDS` | time for the inputs of each target | [`limits::TARGET_TIME`] |
//! | `FORAGE_FUZZ_SEED` | the first seed; a failure names it | always the same |
//! | `FORAGE_FUZZ_ENTROPY` | a file that chooses one input, for a coverage-guided fuzzer | seeds choose |

mod entropy;
pub mod limits;
mod memory;
mod mutate;
pub mod peers;
mod run;

pub use entropy::Entropy;
pub use mutate::mutated;
pub use run::{TargetDirectory, run};

/// Valid inputs of a target.
pub type Seeds = Vec<Vec<u8>>;

/// Creates seeds from texts or bytes.
pub fn seeds<S: AsRef<[u8]>>(inputs: impl IntoIterator<Item = S>) -> Seeds {
    inputs.into_iter().map(|input| input.as_ref().to_vec()).collect()
}

/// Runs a target: `target!(&seeds, |input| …)`, where `input` is `&[u8]`. The body must panic if the property
/// does not hold.
#[macro_export]
macro_rules! target {
    ($seeds:expr, $property:expr) => {
        $crate::run($crate::TargetDirectory { file: file!(), line: line!() }, $seeds, $property)
    };
}

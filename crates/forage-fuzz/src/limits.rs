//! Limits of a target and of an input.

use std::time::Duration;

/// Time for each target's inputs in an ordinary test run. It is short so that all targets together add little
/// to the run. `FORAGE_FUZZ_SECONDS` allows more time, and `FORAGE_FUZZ_SEED` selects other inputs.
pub const TARGET_TIME: Duration = Duration::from_millis(1_000);

/// Maximum time of one input. Inputs are a few kilobytes and take milliseconds. This limit catches endless or
/// nearly endless inputs, even on a busy machine.
pub const INPUT_TIME: Duration = Duration::from_secs(20);

/// Maximum additional memory that a thread may hold during one input. This is far above the need of any valid
/// input, and far below the allocation for a length that an input only claims.
pub const INPUT_BYTES: usize = 512 << 20;

/// Maximum size in bytes to which mutations extend an input.
pub const INPUT_BYTES_MAX: usize = 256 << 10;

/// Number of bytes from which we draw the mutations of one input.
pub const ENTROPY_BYTES: usize = 512;

/// Maximum number of mutations of an input.
pub const MUTATIONS: usize = 6;

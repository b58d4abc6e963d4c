//! The bounds of a target and of an input.

use std::time::Duration;

/// Time of a target's inputs in an ordinary run of the tests. All targets together then add little to it, and over the
/// runs of a year each meets its inputs many times over.
pub const TARGET_TIME: Duration = Duration::from_millis(1_000);

/// Time of one input. Inputs are some kilobytes, which take milliseconds; this is for what never ends, or nearly so, on a
/// machine that does much else.
pub const INPUT_TIME: Duration = Duration::from_secs(20);

/// Memory that an input may have its thread hold at a time. Far above what any takes that is in order, far below what a
/// length that the input only claims would take.
pub const INPUT_BYTES: usize = 512 << 20;

/// Bytes of an input up to which mutations make it longer.
pub const MOST_INPUT_BYTES: usize = 256 << 10;

/// Bytes from which the mutations of one input are drawn.
pub const ENTROPY_BYTES: usize = 512;

/// The most mutations of an input.
pub const MUTATIONS: usize = 6;

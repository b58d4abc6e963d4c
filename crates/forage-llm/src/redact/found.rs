//! What all rules give.

use std::ops::Range;

/// Where a secret stands, and the rule that found it. It does not go over the end of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundSecret {
    pub(super) range: Range<usize>,
    pub(super) rule: &'static str,
    /// Whether it goes on with a secret whose beginning was counted.
    pub(super) continues: bool,
}

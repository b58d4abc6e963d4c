//! The result that all rules have in common.

use std::ops::Range;

/// A secret's place in the text, and the rule that found it. It must not contain a line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundSecret {
    pub(super) range: Range<usize>,
    pub(super) rule: &'static str,
    /// Whether this continues a secret that has already been counted.
    pub(super) continues: bool,
}

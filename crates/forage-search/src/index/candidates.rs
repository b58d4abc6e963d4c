//! Candidate files of an index.

use super::numbers::NumberSet;

/// The candidates of one layer.
pub(super) struct LayerCandidates {
    pub(super) files: NumberSet,
    pub(super) parts: NumberSet,
}

/// Returns true if a file is in one of the sets selected by the bits of `wanted`.
pub(super) fn may_match<'a>(sets: impl IntoIterator<Item = &'a NumberSet>, file: u32, wanted: u64) -> bool {
    sets.into_iter().enumerate().any(|(query, set)| wanted >> query & 1 == 1 && set.contains(file))
}

//! Which files of an index may match.

use super::numbers::NumberSet;

/// What of a layer may match.
pub(super) struct LayerCandidates {
    pub(super) files: NumberSet,
    pub(super) parts: NumberSet,
}

/// Whether a file is in one of the sets that are wanted.
pub(super) fn may_match<'a>(sets: impl IntoIterator<Item = &'a NumberSet>, file: u32, wanted: u64) -> bool {
    sets.into_iter().enumerate().any(|(query, set)| wanted >> query & 1 == 1 && set.contains(file))
}

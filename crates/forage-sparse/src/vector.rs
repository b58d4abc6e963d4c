//! Sparse vectors.

use std::collections::BTreeMap;

/// Dimensions and their weights, by ascending dimension, each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseVector {
    ids: Vec<u32>,
    weights: Vec<f32>,
}

impl SparseVector {
    /// Of each dimension the last weight counts.
    pub fn new(weights: impl IntoIterator<Item = (u32, f64)>) -> Self {
        let sorted: BTreeMap<u32, f64> = weights.into_iter().collect();
        Self {
            ids: sorted.keys().copied().collect(),
            weights: sorted.values().map(|&weight| weight as f32).collect(),
        }
    }

    /// Every dimension with weight 1: what queries are.
    pub fn ones(ids: impl IntoIterator<Item = u32>) -> Self {
        Self::new(ids.into_iter().map(|id| (id, 1.0)))
    }

    /// Ascending.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// One per dimension.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Whether nothing of the text has a dimension.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

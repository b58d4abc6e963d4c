//! Sparse vectors.

/// Dimensions and their weights, by ascending dimension, each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseVector {
    ids: Vec<u32>,
    weights: Vec<f32>,
}

impl SparseVector {
    /// Of each dimension the last weight counts.
    pub fn new(weights: impl IntoIterator<Item = (u32, f64)>) -> Self {
        let mut sorted: Vec<(u32, f64)> = weights.into_iter().collect();
        // Stable, so that equal dimensions stay in their order.
        sorted.sort_by_key(|&(id, _)| id);
        sorted.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                earlier.1 = later.1;
            }
            is_same
        });
        Self {
            ids: sorted.iter().map(|&(id, _)| id).collect(),
            weights: sorted.iter().map(|&(_, weight)| weight as f32).collect(),
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

    /// Returns whether nothing of the text has a dimension.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

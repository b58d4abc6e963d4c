//! Sparse vectors.

/// A sparse vector: unique dimensions in ascending order, with their weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseVector {
    ids: Vec<u32>,
    weights: Vec<f32>,
}

impl SparseVector {
    /// Creates a vector. If a dimension occurs several times, the last weight is used.
    ///
    /// # Examples
    ///
    /// ```
    /// use forage_lookup::SparseVector;
    ///
    /// let vector = SparseVector::new([(7, 1.0), (3, 0.5), (7, 2.0)]);
    /// assert_eq!((vector.ids(), vector.weights()), (&[3, 7][..], &[0.5, 2.0][..]));
    /// ```
    pub fn new(weights: impl IntoIterator<Item = (u32, f64)>) -> Self {
        let mut sorted: Vec<(u32, f64)> = weights.into_iter().collect();
        // The sort must be stable, so that equal dimensions keep their order.
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

    /// Creates a query vector, in which every dimension has weight 1.
    pub fn ones(ids: impl IntoIterator<Item = u32>) -> Self {
        Self::new(ids.into_iter().map(|id| (id, 1.0)))
    }

    /// The dimensions in ascending order.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The weights, one per dimension.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Returns true if the vector has no dimensions.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

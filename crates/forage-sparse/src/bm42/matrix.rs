//! Products of matrices: rows of `f32`, one after the other.
//!
//! Plain loops, which the compiler makes vector instructions of. Without a fused multiply-add the sums are the same on
//! every processor.

/// Rows that are multiplied at once. With [`LANES`], their sums fit into the sixteen vector registers of any x86-64.
const ROWS: usize = 4;

/// Columns that are multiplied at once.
const LANES: usize = 8;

/// The right side of a product, in the order in which it is read: [`LANES`] columns at a time, filled up with zeros.
pub(super) struct Panels {
    depth: usize,
    columns: usize,
    values: Vec<f32>,
}

impl Panels {
    /// `value(row, column)` of a matrix of `depth` rows.
    pub(super) fn new(depth: usize, columns: usize, value: impl Fn(usize, usize) -> f32) -> Self {
        let mut values = Vec::with_capacity(depth * columns.next_multiple_of(LANES));
        for first in (0..columns).step_by(LANES) {
            for row in 0..depth {
                values.extend(
                    (first..first + LANES).map(
                        |column| {
                            if column < columns { value(row, column) } else { 0.0 }
                        },
                    ),
                );
            }
        }
        Self { depth, columns, values }
    }

    /// The product with `left`, whose rows have as many values as this has rows.
    pub(super) fn multiply(&self, left: &[f32]) -> Vec<f32> {
        let mut product = vec![0.0; left.len() / self.depth * self.columns];
        for (panel, first) in self.values.chunks_exact(self.depth * LANES).zip((0..).step_by(LANES)) {
            let (panel, _) = panel.as_chunks::<LANES>();
            let width = LANES.min(self.columns - first);
            let outs = product.chunks_mut(ROWS * self.columns);
            for (rows, out) in left.chunks(ROWS * self.depth).zip(outs) {
                if rows.len() == ROWS * self.depth {
                    sums::<ROWS>(rows, panel, |row, sums| {
                        out[row * self.columns + first..][..width].copy_from_slice(&sums[..width]);
                    });
                } else {
                    for (row, out) in rows.chunks_exact(self.depth).zip(out.chunks_exact_mut(self.columns)) {
                        sums::<1>(row, panel, |_, sums| {
                            out[first..][..width].copy_from_slice(&sums[..width])
                        });
                    }
                }
            }
        }
        product
    }
}

/// The products of `COUNT` rows with one panel.
#[inline(always)]
fn sums<const COUNT: usize>(rows: &[f32], panel: &[[f32; LANES]], mut put: impl FnMut(usize, &[f32; LANES])) {
    let depth = panel.len();
    let rows: [&[f32]; COUNT] = std::array::from_fn(|row| &rows[row * depth..][..depth]);
    let mut sums = [[0.0; LANES]; COUNT];
    for (at, right) in panel.iter().enumerate() {
        for (row, sums) in rows.iter().zip(&mut sums) {
            let left = row[at];
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum += left * right;
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        put(row, sums);
    }
}

//! Products of matrices: rows of `f32`, one after the other.
//!
//! Plain loops, which the compiler makes vector instructions of. Without a fused multiply-add the sums are the same on
//! every processor.

/// Rows that are multiplied at once. Their sums and a row of [`LANES`] fit into the sixteen vector registers of any x86-64;
/// of the sizes that do, this is the fastest.
const ROWS: usize = 2;

/// Columns that are multiplied at once.
const LANES: usize = 16;

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
            let mut put = |row: usize, sums: &[f32; LANES]| {
                product[row * self.columns + first..][..width].copy_from_slice(&sums[..width]);
            };
            let blocks = left.chunks_exact(ROWS * self.depth);
            let rest = blocks.remainder();
            let done = left.len() - rest.len();
            for (rows, block) in blocks.zip((0..).step_by(ROWS)) {
                for (row, sums) in sums::<ROWS>(rows, panel).iter().enumerate() {
                    put(block + row, sums);
                }
            }
            for (row, at) in rest.chunks_exact(self.depth).zip(done / self.depth..) {
                let [sums] = sums::<1>(row, panel);
                put(at, &sums);
            }
        }
        product
    }
}

/// The products of `COUNT` rows with one panel. A function of its own, in which the compiler keeps the sums in registers.
#[inline(never)]
fn sums<const COUNT: usize>(rows: &[f32], panel: &[[f32; LANES]]) -> [[f32; LANES]; COUNT] {
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
    sums
}

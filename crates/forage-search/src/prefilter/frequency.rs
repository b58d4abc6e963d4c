//! A frequency model of bytes and byte sequences in source code.
//!
//! A prefilter is worth its cost only if its candidates are rare, and we must estimate this before reading
//! anything. The model is a Markov chain over eight kinds of byte. The kind of a byte depends on the previous
//! kind, and the byte depends only on its kind. Treating bytes as independent would be far off for exactly
//! the windows that matter. For example, one byte in seventeen is a capital letter, but two capitals in three
//! are followed by another.

/// A set of byte values, stored as a bitmap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    /// Creates a set with a single member.
    pub(super) fn single(byte: u8) -> ByteSet {
        let mut set = ByteSet::default();
        set.insert(byte);
        set
    }

    pub(super) fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    pub(super) fn remove(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] &= !(1 << (byte & 63));
    }

    pub(super) fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    pub(super) fn is_ascii(&self) -> bool {
        self.0[2..] == [0; 2]
    }

    pub(super) fn union(&self, other: &ByteSet) -> ByteSet {
        ByteSet(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// Iterates over the members in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u8> {
        let words = self.0;
        (0..4u8).flat_map(move |index| {
            let mut word = words[usize::from(index)];
            std::iter::from_fn(move || {
                let bit = u8::try_from(word.trailing_zeros()).ok().filter(|&bit| bit < 64)?;
                word &= word - 1;
                Some(index * 64 + bit)
            })
        })
    }
}

/// Estimates the share of text positions at which `sequence` matches, from 0 to 1; 1 for the empty sequence.
pub(super) fn rate(sequence: impl IntoIterator<Item = ByteSet>) -> f64 {
    let mut state: Option<[f64; KINDS]> = None;
    for set in sequence {
        let mut members = [0.0; KINDS];
        for byte in set.iter() {
            members[kind(byte)] += f64::from(PER_MILLION[usize::from(byte)]);
        }
        state = Some(std::array::from_fn(|to| match &state {
            None => members[to] / 1e6,
            Some(before) => {
                let arriving: f64 =
                    (0..KINDS).map(|from| before[from] * f64::from(FOLLOWS[from][to]) / 1e3).sum();
                arriving * members[to] / KIND_TOTALS[to]
            }
        }));
    }
    state.map_or(1.0, |state| state.iter().sum())
}

/// Looks up the share of text positions that contain `byte`.
pub(super) fn byte_rate(byte: u8) -> f64 {
    f64::from(PER_MILLION[usize::from(byte)]) / 1e6
}

const KINDS: usize = 8;

/// Maps `byte` to its row and column in [`FOLLOWS`].
const fn kind(byte: u8) -> usize {
    match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        b' ' | b'\t' => 3,
        b'_' => 4,
        b'\n' => 5,
        0x80.. => 7,
        _ => 6,
    }
}

const KIND_TOTALS: [f64; KINDS] = {
    let mut totals = [0.0; KINDS];
    let mut byte = 0;
    while byte < 256 {
        totals[kind(byte as u8)] += PER_MILLION[byte] as f64;
        byte += 1;
    }
    totals
};

/// Occurrences per million bytes, at least 1, counted over 18.6 MB of text: Linux sources and documentation,
/// and published Rust and Python packages, in about equal parts of kernel and of the rest.
#[rustfmt::skip]
const PER_MILLION: [u32; 256] = [
    1, 1, 1, 1, 1, 1, 1, 1, 1, 15119, 31278, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    194192, 911, 7288, 3642, 238, 770, 1260, 5656, 9698, 9702, 4380, 887, 15300, 6363, 7406, 6261,
    12483, 5078, 4687, 3393, 2625, 1962, 2161, 1373, 2228, 1243, 11105, 6540, 1199, 7855, 3411, 404,
    258, 5668, 2122, 5152, 3963, 7492, 2963, 2235, 1557, 5996, 92, 1154, 4100, 3284, 4671, 4447,
    4278, 282, 5121, 6172, 7079, 2452, 1389, 994, 1147, 879, 252, 1811, 1391, 1810, 83, 30252,
    1241, 30388, 9871, 21833, 19715, 57198, 14941, 9504, 10253, 31879, 495, 4178, 21265, 13613, 31806, 27605,
    16722, 1527, 33759, 33346, 45139, 19041, 5894, 4367, 6573, 5787, 1105, 2361, 757, 2358, 215, 1,
    141, 48, 50, 35, 158, 44, 36, 21, 131, 26, 122, 126, 83, 43, 17, 36,
    92, 32, 20, 56, 128, 139, 60, 62, 167, 43, 45, 18, 166, 195, 63, 29,
    98, 69, 9, 20, 135, 53, 47, 62, 54, 58, 28, 11, 80, 22, 14, 25,
    160, 30, 49, 54, 163, 33, 31, 24, 290, 79, 25, 31, 100, 35, 8, 16,
    1, 1, 9, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 159, 48,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1,
    227, 3, 33, 10, 38, 73, 50, 43, 30, 20, 132, 538, 681, 169, 1, 11,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
];

/// `FOLLOWS[a][b]` is the number of bytes of kind `b` among a thousand bytes that follow one of kind `a`.
/// Counted over the same text.
#[rustfmt::skip]
const FOLLOWS: [[u16; KINDS]; KINDS] = [
    [763, 6, 14, 92, 35, 7, 84, 1], // after lower
    [113, 663, 26, 36, 99, 7, 57, 1], // after upper
    [120, 19, 468, 68, 46, 23, 256, 1], // after digit
    [251, 56, 36, 514, 6, 1, 134, 2], // after blank
    [613, 301, 22, 3, 46, 1, 15, 1], // after underscore
    [102, 13, 1, 648, 2, 128, 104, 1], // after newline
    [205, 32, 20, 257, 7, 184, 291, 4], // after punctuation and control
    [1, 1, 1, 62, 1, 8, 76, 851], // after not ASCII
];

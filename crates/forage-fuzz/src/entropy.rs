//! Decisions drawn from the bytes of a generator or a fuzzer.

/// Bytes that determine decisions. After the last byte, every decision has its minimal value.
#[derive(Debug)]
pub struct Entropy<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Entropy<'a> {
    /// Creates decisions from these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: bytes.iter() }
    }

    /// Takes the next byte, or 0 after the last.
    pub fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or_default()
    }

    /// Draws a number below `bound`, or 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // We use only as many bytes as the bound needs so that small decisions consume little.
        let wanted = (usize::BITS - bound.leading_zeros()).div_ceil(8) + u32::from(bound > 0x80);
        let number = (0..wanted.min(8)).fold(0_usize, |number, _| number << 8 | usize::from(self.byte()));
        number.checked_rem(bound).unwrap_or_default()
    }

    /// Picks one of the choices, if there are any.
    pub fn pick<'c, T>(&mut self, choices: &'c [T]) -> Option<&'c T> {
        choices.get(self.below(choices.len()))
    }

    /// Returns true if bytes are left.
    pub fn is_left(&self) -> bool {
        !self.bytes.as_slice().is_empty()
    }
}

/// Generates bytes from a seed. The same seed always gives the same bytes (SplitMix64).
pub(crate) fn bytes_of(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(count.next_multiple_of(8));
    while bytes.len() < count {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend((mixed ^ (mixed >> 31)).to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}

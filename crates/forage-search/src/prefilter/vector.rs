//! The vector operations that both vector searches share, and the proof that the processor supports them:
//! AVX2 or NEON.
//!
//! A vector has 32 bytes on both. On NEON, this takes two registers.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::{LoadedTable, Processor, Vector, is_ascii, load, prefetch};
#[cfg(target_arch = "aarch64")]
pub(super) use neon::{LoadedTable, Processor, Vector, is_ascii, load, prefetch};

/// Bytes per vector.
pub(super) const LANES: usize = 32;

/// Maps each byte to the bits that its low and its high nibble have in common.
///
/// A bit therefore represents a rectangle in the 16 × 16 square of byte values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NibbleTable {
    pub(super) low: [u8; 16],
    pub(super) high: [u8; 16],
}

/// Copies the first `LENGTH` bytes of `rest`, padded with zeros.
pub(super) fn padded<const LENGTH: usize>(rest: &[u8]) -> [u8; LENGTH] {
    let mut block = [0; LENGTH];
    let length = rest.len().min(LENGTH);
    block[..length].copy_from_slice(&rest[..length]);
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn classified(table: &NibbleTable, block: &[u8; 32]) -> ([u8; LANES], u32, [u8; LANES]) {
        let (bytes, loaded) = (load(block, 0), table.load());
        let bits = loaded.classify(bytes);
        (bits.to_bytes(), bits.nonzero_lanes(), loaded.classify_ascii(bytes).to_bytes())
    }

    /// An extra bit would only cost time, so no other test would notice it.
    #[test]
    fn nibble_table_combines_both_nibbles() {
        if Processor::detect().is_none() {
            return;
        }
        let seed = |index: u8| {
            index.wrapping_mul(73).rotate_left(u32::from(index % 7))
                & if index.is_multiple_of(3) { 0x0f } else { 0xff }
        };
        let table = NibbleTable {
            low: std::array::from_fn(|index| seed(index as u8)),
            high: std::array::from_fn(|index| seed(index as u8 + 16) & 0x5a),
        };
        for start in (0..=255).step_by(LANES) {
            let block: [u8; LANES] = std::array::from_fn(|index| (start + index) as u8);
            #[expect(unsafe_code, reason = "the callee needs AVX2 or NEON, which the type system cannot see")]
            // SAFETY: the processor's support was checked above.
            let (bits, lanes, ascii) = unsafe { classified(&table, &block) };
            for (index, &byte) in block.iter().enumerate() {
                let (low, high) = (table.low[usize::from(byte & 15)], table.high[usize::from(byte >> 4)]);
                assert_eq!(bits[index], low & high, "{byte}");
                assert_eq!(lanes >> index & 1 == 1, low & high != 0, "{byte}");
                assert!(!byte.is_ascii() || ascii[index] == low, "{byte}");
            }
        }
    }

    #[test]
    fn non_ascii_byte_is_found_at_every_offset() {
        const LENGTH: usize = 2 * LANES + 3;
        if Processor::detect().is_none() {
            return;
        }
        for place in 0..=LENGTH {
            let mut block = [b'a'; LENGTH];
            block.iter_mut().skip(place).take(1).for_each(|byte| *byte = 0x80);
            #[expect(unsafe_code, reason = "the callee needs AVX2 or NEON, which the type system cannot see")]
            // SAFETY: the processor's support was checked above.
            let is_ascii = unsafe { is_ascii(&block) };
            assert_eq!(is_ascii, place == LENGTH, "{place}");
        }
    }
}

//! The implementation for NEON, which every 64-bit ARM has.

use std::arch::aarch64::{
    uint8x16_t, vandq_u8, vdupq_n_u8, vgetq_lane_u32, vld1q_u8, vmaxvq_u8, vorrq_u8, vpaddq_u8, vqtbl1q_u8,
    vreinterpretq_u32_u8, vshrq_n_u8, vst1q_u8, vtstq_u8,
};

use super::{LANES, NibbleTable};

/// Bytes per register.
const HALF: usize = LANES / 2;

/// Proof that lanes are numbered like bytes in memory. Only [`Processor::detect`] creates one.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Processor(());

impl Processor {
    pub(in super::super) fn detect() -> Option<Self> {
        cfg!(target_endian = "little").then_some(Self(()))
    }
}

/// 32 bytes.
#[derive(Clone, Copy)]
pub(in super::super) struct Vector(uint8x16_t, uint8x16_t);

impl Vector {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(in super::super) fn splat(byte: u8) -> Self {
        let half = vdupq_n_u8(byte);
        Self(half, half)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(in super::super) fn and(self, other: Self) -> Self {
        Self(vandq_u8(self.0, other.0), vandq_u8(self.1, other.1))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(in super::super) fn or(self, other: Self) -> Self {
        Self(vorrq_u8(self.0, other.0), vorrq_u8(self.1, other.1))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(in super::super) fn is_zero(self) -> bool {
        vmaxvq_u8(vorrq_u8(self.0, self.1)) == 0
    }

    /// Sets one bit for every byte that is not zero.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(in super::super) fn nonzero_lanes(self) -> u32 {
        // Each byte is replaced by its bit of the result; adding them up in pairs reduces eight bytes to one.
        let weights = load_half(&[1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]);
        let bits = |half| vandq_u8(vtstq_u8(half, half), weights);
        let pairs = vpaddq_u8(bits(self.0), bits(self.1));
        let fours = vpaddq_u8(pairs, pairs);
        vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vpaddq_u8(fours, fours)))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(in super::super) fn to_bytes(self) -> [u8; LANES] {
        let mut bytes = [0; LANES];
        let (first, second) = bytes.split_at_mut(HALF);
        #[expect(unsafe_code, reason = "a vector store has no safe form")]
        // SAFETY: each half has room for the 16 bytes written; the store needs no alignment.
        unsafe {
            vst1q_u8(first.as_mut_ptr(), self.0);
            vst1q_u8(second.as_mut_ptr(), self.1);
        }
        bytes
    }
}

/// A [`NibbleTable`] in registers.
#[derive(Clone, Copy)]
pub(in super::super) struct LoadedTable {
    low: uint8x16_t,
    high: uint8x16_t,
}

impl NibbleTable {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(in super::super) fn load(&self) -> LoadedTable {
        LoadedTable { low: load_half(&self.low), high: load_half(&self.high) }
    }
}

impl LoadedTable {
    /// Looks up both nibbles of each of 32 bytes.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(in super::super) fn classify(&self, bytes: Vector) -> Vector {
        let high = |half| vqtbl1q_u8(self.high, vshrq_n_u8::<4>(half));
        self.classify_ascii(bytes).and(Vector(high(bytes.0), high(bytes.1)))
    }

    /// Looks up the low nibbles of 32 bytes.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(in super::super) fn classify_ascii(&self, bytes: Vector) -> Vector {
        let low = |half| vqtbl1q_u8(self.low, vandq_u8(half, vdupq_n_u8(15)));
        Vector(low(bytes.0), low(bytes.1))
    }
}

/// Returns true if the block, which must be slightly longer than two vectors, is ASCII.
#[inline]
#[target_feature(enable = "neon")]
pub(in super::super) fn is_ascii<const LENGTH: usize>(block: &[u8; LENGTH]) -> bool {
    let head = load(block, 0).or(load(block, LANES));
    let Vector(first, second) = head.or(load(block, LENGTH - LANES));
    vmaxvq_u8(vorrq_u8(first, second)) < 128
}

#[inline]
#[target_feature(enable = "neon")]
fn load_half(bytes: &[u8; HALF]) -> uint8x16_t {
    #[expect(unsafe_code, reason = "a vector load has no safe form")]
    // SAFETY: the reference covers the 16 bytes read; the load needs no alignment.
    unsafe {
        vld1q_u8(bytes.as_ptr())
    }
}

/// Loads the 32 bytes of `block` from `offset` on. Panics if the block is shorter than that; with constant
/// arguments the check is optimized away.
#[inline]
#[target_feature(enable = "neon")]
pub(in super::super) fn load<const LENGTH: usize>(block: &[u8; LENGTH], offset: usize) -> Vector {
    let bytes = &block[offset..offset + LANES];
    #[expect(unsafe_code, reason = "a vector load has no safe form")]
    // SAFETY: the slice covers the 32 bytes read; the loads need no alignment.
    unsafe {
        Vector(vld1q_u8(bytes.as_ptr()), vld1q_u8(bytes[HALF..].as_ptr()))
    }
}

/// Does nothing: there is no stable way to give this hint, and its benefit has not been measured.
#[inline]
#[target_feature(enable = "neon")]
pub(in super::super) fn prefetch(_haystack: &[u8], _position: usize) {}

//! The implementation for AVX2.

use std::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256, _mm256_testz_si256,
};

use super::{LANES, NibbleTable};

/// Proof that the processor supports AVX2, and BMI2, which came with it. Only [`Processor::detect`] creates
/// one.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Processor(());

impl Processor {
    pub(in super::super) fn detect() -> Option<Self> {
        let detected = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("bmi2");
        detected.then_some(Self(()))
    }
}

/// 32 bytes.
#[derive(Clone, Copy)]
pub(in super::super) struct Vector(__m256i);

impl Vector {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn splat(byte: u8) -> Self {
        Self(_mm256_set1_epi8(byte.cast_signed()))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn and(self, other: Self) -> Self {
        Self(_mm256_and_si256(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn or(self, other: Self) -> Self {
        Self(_mm256_or_si256(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn is_zero(self) -> bool {
        _mm256_testz_si256(self.0, self.0) == 1
    }

    /// Sets one bit for every byte that is not zero.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn nonzero_lanes(self) -> u32 {
        let zero_lanes = _mm256_movemask_epi8(_mm256_cmpeq_epi8(self.0, _mm256_setzero_si256()));
        !zero_lanes.cast_unsigned()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn to_bytes(self) -> [u8; LANES] {
        let mut bytes = [0; LANES];
        #[expect(unsafe_code, reason = "an unaligned vector store has no safe form")]
        // SAFETY: the array has room for the 32 bytes written; the store needs no alignment.
        unsafe {
            _mm256_storeu_si256(bytes.as_mut_ptr().cast(), self.0);
        }
        bytes
    }
}

/// A [`NibbleTable`] in registers.
#[derive(Clone, Copy)]
pub(in super::super) struct LoadedTable {
    low: __m256i,
    high: __m256i,
}

impl NibbleTable {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn load(&self) -> LoadedTable {
        LoadedTable { low: broadcast(&self.low), high: broadcast(&self.high) }
    }
}

impl LoadedTable {
    /// Looks up both nibbles of each of 32 bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn classify(&self, Vector(bytes): Vector) -> Vector {
        let nibble = _mm256_set1_epi8(15);
        let low = _mm256_shuffle_epi8(self.low, _mm256_and_si256(bytes, nibble));
        let high = _mm256_shuffle_epi8(self.high, _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble));
        Vector(_mm256_and_si256(low, high))
    }

    /// Looks up the low nibbles of 32 ASCII bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn classify_ascii(&self, Vector(bytes): Vector) -> Vector {
        // This instruction uses only the low nibble of a byte whose highest bit is clear.
        Vector(_mm256_shuffle_epi8(self.low, bytes))
    }
}

/// Returns true if the block, which must be slightly longer than two vectors, is ASCII.
#[inline]
#[target_feature(enable = "avx2")]
pub(in super::super) fn is_ascii<const LENGTH: usize>(block: &[u8; LENGTH]) -> bool {
    let head = load(block, 0).or(load(block, LANES));
    let Vector(all) = head.or(load(block, LENGTH - LANES));
    _mm256_movemask_epi8(all) == 0
}

#[inline]
#[target_feature(enable = "avx2")]
fn broadcast(table: &[u8; 16]) -> __m256i {
    #[expect(unsafe_code, reason = "an unaligned vector load has no safe form")]
    // SAFETY: the reference covers the 16 bytes read; the load needs no alignment.
    let half = unsafe { _mm_loadu_si128(table.as_ptr().cast()) };
    _mm256_broadcastsi128_si256(half)
}

/// Loads the 32 bytes of `block` from `offset` on. Panics if the block is shorter than that; with constant
/// arguments the check is optimized away.
#[inline]
#[target_feature(enable = "avx2")]
pub(in super::super) fn load<const LENGTH: usize>(block: &[u8; LENGTH], offset: usize) -> Vector {
    let bytes = &block[offset..offset + LANES];
    #[expect(unsafe_code, reason = "an unaligned vector load has no safe form")]
    // SAFETY: the slice covers the 32 bytes read; the load needs no alignment.
    unsafe {
        Vector(_mm256_loadu_si256(bytes.as_ptr().cast()))
    }
}

/// Distance in bytes by which text is prefetched. The hardware prefetcher stops at the end of a page, so
/// without this, texts in main memory would cost a full latency per page.
const PREFETCH_DISTANCE: usize = 1024;

/// Prefetches the text shortly after `position` into the cache.
#[inline]
#[target_feature(enable = "avx2")]
pub(in super::super) fn prefetch(haystack: &[u8], position: usize) {
    let ahead = haystack.as_ptr().wrapping_add(position + PREFETCH_DISTANCE);
    // A prefetch hint never faults, so the address may be beyond the end.
    _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
}

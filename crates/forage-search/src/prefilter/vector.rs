//! The few AVX2 operations that both vector searches share, and the proof that the processor has them.

use std::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256,
};

/// Bytes in one vector.
pub(super) const LANES: usize = 32;

/// Proof that the processor has AVX2, and BMI2, which came with it: only [`Avx2::detect`] makes one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Avx2> {
        let detected = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("bmi2");
        detected.then_some(Avx2(()))
    }
}

/// Maps each byte to the bits that its low and its high nibble have in common.
///
/// A bit therefore stands for a rectangle in the 16 × 16 square of byte values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NibbleTable {
    pub(super) low: [u8; 16],
    pub(super) high: [u8; 16],
}

/// A [`NibbleTable`] in registers.
#[derive(Clone, Copy)]
pub(super) struct LoadedTable {
    low: __m256i,
    high: __m256i,
}

impl NibbleTable {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn load(&self) -> LoadedTable {
        LoadedTable { low: broadcast(&self.low), high: broadcast(&self.high) }
    }
}

impl LoadedTable {
    /// The bits of each of 32 bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn classify(&self, bytes: __m256i) -> __m256i {
        let nibble = _mm256_set1_epi8(15);
        let low = _mm256_shuffle_epi8(self.low, _mm256_and_si256(bytes, nibble));
        let high = _mm256_shuffle_epi8(self.high, _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble));
        _mm256_and_si256(low, high)
    }

    /// The bits of the low nibbles of 32 bytes of ASCII.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn classify_ascii(&self, bytes: __m256i) -> __m256i {
        // The instruction heeds the low nibble of a byte whose highest bit is clear, and nothing else.
        _mm256_shuffle_epi8(self.low, bytes)
    }
}

/// Whether the block, which is two vectors and a little long, has no byte above 127.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn is_ascii<const LENGTH: usize>(block: &[u8; LENGTH]) -> bool {
    let head = _mm256_or_si256(load(block, 0), load(block, LANES));
    let all = _mm256_or_si256(head, load(block, LENGTH - LANES));
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

/// The 32 bytes of `block` from `offset` on. Panics when the block is shorter than that; with constant
/// arguments the check vanishes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load<const LENGTH: usize>(block: &[u8; LENGTH], offset: usize) -> __m256i {
    let bytes = &block[offset..offset + LANES];
    #[expect(unsafe_code, reason = "an unaligned vector load has no safe form")]
    // SAFETY: the slice covers the 32 bytes read; the load needs no alignment.
    unsafe {
        _mm256_loadu_si256(bytes.as_ptr().cast())
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn to_bytes(vector: __m256i) -> [u8; LANES] {
    let mut bytes = [0; LANES];
    #[expect(unsafe_code, reason = "an unaligned vector store has no safe form")]
    // SAFETY: the array has room for the 32 bytes written; the store needs no alignment.
    unsafe {
        _mm256_storeu_si256(bytes.as_mut_ptr().cast(), vector);
    }
    bytes
}

/// One bit for every byte that is not zero.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn nonzero_lanes(vector: __m256i) -> u32 {
    let zero_lanes = _mm256_movemask_epi8(_mm256_cmpeq_epi8(vector, _mm256_setzero_si256()));
    !zero_lanes.cast_unsigned()
}

/// How far ahead text is fetched, in bytes. The hardware stops at the end of a page, and with texts in main
/// memory each page would then cost a full latency.
const PREFETCH_DISTANCE: usize = 1024;

/// Fetches the text a little behind `position` into the cache.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn prefetch(haystack: &[u8], position: usize) {
    let ahead = haystack.as_ptr().wrapping_add(position + PREFETCH_DISTANCE);
    // A hint reads nothing and never faults, so the address may lie beyond the end.
    _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
}

/// The first `LENGTH` bytes of `rest`, filled up with zeros.
pub(super) fn padded<const LENGTH: usize>(rest: &[u8]) -> [u8; LENGTH] {
    let mut block = [0; LENGTH];
    let length = rest.len().min(LENGTH);
    block[..length].copy_from_slice(&rest[..length]);
    block
}

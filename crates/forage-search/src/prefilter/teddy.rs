//! Search for up to 64 literals at once, each with or without ASCII case folding.
//!
//! The algorithm is Teddy, from Intel's Hyperscan: every literal belongs to one of eight buckets; for each of
//! up to four consecutive bytes two table lookups by nibble tell in which buckets that byte may stand there; a
//! position where a bucket survives all four is compared in full. Folding costs nothing, since both cases of a
//! letter differ in one bit of the high nibble only. The four bytes are the rarest of each literal, not the
//! first, and literals whose bytes resemble each other share a bucket.

use std::arch::x86_64::{__m256i, _mm256_and_si256, _mm256_or_si256, _mm256_testz_si256};

use super::frequency;
use super::literals::{Literal, MAX_LITERALS};
use super::vector::{self, Avx2, LANES, LoadedTable, NibbleTable};

const BUCKETS: usize = 8;
/// Most bytes of a literal that are looked up before it is compared.
const FINGERPRINT_BYTES: usize = 4;
/// Comparisons per byte of text up to which a byte of the fingerprint is left away: one in some sixty vectors.
const NARROW_RATE: f64 = 1.0 / 2048.0;
/// Bytes read for one step: a vector for each byte of the fingerprint, each one byte further.
const BLOCK_BYTES: usize = LANES + FINGERPRINT_BYTES - 1;

/// A search for several literals.
#[derive(Debug)]
pub(super) struct Teddy {
    tables: [NibbleTable; FINGERPRINT_BYTES],
    buckets: [Vec<Needle>; BUCKETS],
    /// Bytes of a fingerprint that are looked up.
    width: usize,
    processor: Avx2,
}

/// A literal as it is compared.
#[derive(Debug)]
struct Needle {
    bytes: Box<[u8]>,
    /// The case bit for every folded letter, zero for every byte that must be equal.
    case_bits: Box<[u8]>,
    /// Where the fingerprint begins.
    offset: usize,
    /// What is reported.
    pattern: usize,
}

impl Teddy {
    /// `None` when there are too many literals, or none, or the processor lacks the instructions.
    pub(super) fn new(literals: &[(Literal, usize)]) -> Option<Teddy> {
        let processor = Avx2::detect()?;
        if literals.is_empty() || literals.len() > MAX_LITERALS {
            return None;
        }
        let longest = literals.iter().map(|(literal, _)| literal.bytes.len()).max()?;
        let width = longest.min(FINGERPRINT_BYTES);
        let of_width =
            |width| group(literals.iter().map(|(literal, _)| Fingerprint::rarest(literal, width)).collect());
        // A byte less to look up is a quarter less work, where few enough positions survive.
        let narrow = (width == FINGERPRINT_BYTES).then(|| of_width(width - 1));
        let narrow = narrow.filter(|groups| groups.iter().map(Fingerprint::cost).sum::<f64>() < NARROW_RATE);
        let (groups, width) = match narrow {
            Some(groups) => (groups, width - 1),
            None => (of_width(width), width),
        };

        let mut tables = [NibbleTable::default(); FINGERPRINT_BYTES];
        let mut buckets: [Vec<Needle>; BUCKETS] = Default::default();
        for (index, group) in groups.iter().enumerate() {
            for (table, nibbles) in tables.iter_mut().zip(&group.nibbles) {
                for nibble in 0..16 {
                    table.low[nibble] |= u8::from(nibbles.low >> nibble & 1 == 1) << index;
                    table.high[nibble] |= u8::from(nibbles.high >> nibble & 1 == 1) << index;
                }
            }
            buckets[index] = (group.members.iter())
                .map(|&(literal, offset)| Needle::new(&literals[literal].0, offset, literals[literal].1))
                .collect();
        }
        Some(Teddy { tables, buckets, width, processor })
    }

    /// Calls `on_candidate(pattern, position)` for every literal found; see [`super::Prefilter::candidates`].
    /// The position is the one of the fingerprint, inside the literal.
    pub(super) fn candidates<F: FnMut(usize, usize) -> usize>(
        &self,
        haystack: &[u8],
        from: usize,
        on_candidate: F,
    ) {
        let Avx2 { .. } = self.processor;
        #[expect(unsafe_code, reason = "the callee needs AVX2, which the type system cannot see")]
        // SAFETY: `processor` exists, so the processor has AVX2.
        unsafe {
            match self.width {
                ..=2 => self.scan::<2, F>(haystack, from, on_candidate),
                3 => self.scan::<3, F>(haystack, from, on_candidate),
                _ => self.scan::<4, F>(haystack, from, on_candidate),
            }
        }
    }

    #[target_feature(enable = "avx2")]
    fn scan<const WIDTH: usize, F: FnMut(usize, usize) -> usize>(
        &self,
        haystack: &[u8],
        from: usize,
        mut on_candidate: F,
    ) {
        let mut start = from;
        while start < haystack.len() {
            let step = self.next_hit::<WIDTH>(haystack, start);
            let resume = self.report(haystack, &step, &mut on_candidate);
            start = resume.max(step.start + LANES);
        }
    }

    /// Steps to the next block with a fingerprint in it, or to the next one near the end, whatever is in it.
    ///
    /// Kept apart from the comparisons so that no call gets between the tables and their registers.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    fn next_hit<const WIDTH: usize>(&self, haystack: &[u8], from: usize) -> Block {
        let [first, second, third, fourth] = &self.tables;
        let tables = [first.load(), second.load(), third.load(), fourth.load()];
        let mut start = from;
        while let Some(block) = haystack[start..].first_chunk::<{ LANES + BLOCK_BYTES }>() {
            vector::prefetch(haystack, start);
            let first = bucket_bits::<WIDTH, _>(&tables, block, 0);
            let second = bucket_bits::<WIDTH, _>(&tables, block, LANES);
            let both = _mm256_or_si256(first, second);
            if _mm256_testz_si256(both, both) == 0 {
                if _mm256_testz_si256(first, first) == 0 {
                    return Block::new(start, first);
                }
                return Block::new(start + LANES, second);
            }
            start += 2 * LANES;
        }
        // What lies beyond the end reads as zeros: a short literal may still match there, and a long one fails
        // the comparison.
        let rest = vector::padded::<BLOCK_BYTES>(haystack.get(start..).unwrap_or_default());
        Block::new(start, bucket_bits::<WIDTH, _>(&tables, &rest, 0))
    }

    /// Compares the literals at every surviving position; returns where the callback wants to go on.
    fn report<F: FnMut(usize, usize) -> usize>(
        &self,
        haystack: &[u8],
        block: &Block,
        on_candidate: &mut F,
    ) -> usize {
        let mut resume = block.start;
        let mut lanes = block.lanes;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let position = block.start + lane;
            if position < resume {
                continue;
            }
            let mut bits = block.buckets[lane];
            'position: while bits != 0 {
                let bucket = &self.buckets[bits.trailing_zeros() as usize];
                bits &= bits - 1;
                for needle in bucket {
                    if needle.is_at(haystack, position) {
                        let wanted = on_candidate(needle.pattern, position);
                        if wanted > position + 1 {
                            resume = wanted;
                            break 'position;
                        }
                    }
                }
            }
        }
        resume
    }
}

/// 32 positions of the text, and the buckets that are left at each.
struct Block {
    start: usize,
    /// One bit for every position with a bucket.
    lanes: u32,
    buckets: [u8; LANES],
}

impl Block {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(start: usize, buckets: __m256i) -> Block {
        Block { start, lanes: vector::nonzero_lanes(buckets), buckets: vector::to_bytes(buckets) }
    }
}

/// The buckets left at each of the 32 positions from `offset` on, by the first `WIDTH` tables.
#[inline]
#[target_feature(enable = "avx2")]
fn bucket_bits<const WIDTH: usize, const LENGTH: usize>(
    tables: &[LoadedTable; FINGERPRINT_BYTES],
    block: &[u8; LENGTH],
    offset: usize,
) -> __m256i {
    // Written out: the adapters of an iterator may stay calls, for they lack the processor feature.
    let first = tables[0].classify(vector::load(block, offset));
    let mut buckets = _mm256_and_si256(first, tables[1].classify(vector::load(block, offset + 1)));
    if WIDTH > 2 {
        buckets = _mm256_and_si256(buckets, tables[2].classify(vector::load(block, offset + 2)));
    }
    if WIDTH > 3 {
        buckets = _mm256_and_si256(buckets, tables[3].classify(vector::load(block, offset + 3)));
    }
    buckets
}

impl Needle {
    fn new(literal: &Literal, offset: usize, pattern: usize) -> Needle {
        let case_bit = |byte: &u8| if literal.fold && byte.is_ascii_alphabetic() { 0x20 } else { 0 };
        Needle {
            bytes: literal.bytes.as_slice().into(),
            case_bits: literal.bytes.iter().map(case_bit).collect(),
            offset,
            pattern,
        }
    }

    /// Whether the literal stands where its fingerprint is at `position`.
    #[inline]
    fn is_at(&self, haystack: &[u8], position: usize) -> bool {
        let Some(text) = position
            .checked_sub(self.offset)
            .and_then(|start| haystack.get(start..)?.get(..self.bytes.len()))
        else {
            return false;
        };
        // A letter in either case, and nothing else, equals its lower case once the case bit is set.
        text.iter().zip(&self.bytes).zip(&self.case_bits).all(|((&found, &byte), &bit)| found | bit == byte)
    }
}

/// Sets of nibbles, one bit each. A set of bytes is approximated by the rectangle around it.
#[derive(Debug, Clone, Copy, Default)]
struct Nibbles {
    low: u16,
    high: u16,
}

impl Nibbles {
    const ANY: Nibbles = Nibbles { low: u16::MAX, high: u16::MAX };

    fn union(self, other: Nibbles) -> Nibbles {
        Nibbles { low: self.low | other.low, high: self.high | other.high }
    }

    /// The share of text positions that hold a byte of the rectangle.
    fn rate(self) -> f64 {
        if self.low == u16::MAX && self.high == u16::MAX {
            return 1.0;
        }
        let members = |set: u16| (0..16u8).filter(move |nibble| set >> nibble & 1 == 1);
        members(self.high)
            .flat_map(|high| members(self.low).map(move |low| frequency::byte_rate(high << 4 | low)))
            .sum()
    }
}

/// What a bucket looks up, and the literals in it with the offset of their fingerprint.
#[derive(Debug, Clone)]
struct Fingerprint {
    nibbles: [Nibbles; FINGERPRINT_BYTES],
    members: Vec<(usize, usize)>,
}

impl Fingerprint {
    /// The fingerprint of `width` bytes of one literal at the offset where it is rarest. Past its end any byte may
    /// stand.
    fn rarest(literal: &Literal, width: usize) -> Fingerprint {
        let nibbles: Vec<Nibbles> = literal
            .byte_sets()
            .map(|set| {
                set.iter().fold(Nibbles::default(), |all, byte| {
                    all.union(Nibbles { low: 1 << (byte & 15), high: 1 << (byte >> 4) })
                })
            })
            .collect();
        let at = |offset: usize| Fingerprint {
            nibbles: std::array::from_fn(|index| match nibbles.get(offset + index) {
                Some(nibbles) if index < width => *nibbles,
                _ => Nibbles::ANY,
            }),
            members: vec![(0, offset)],
        };
        (1..=nibbles.len().saturating_sub(width))
            .map(at)
            .fold(at(0), |best, other| if other.rate() < best.rate() { other } else { best })
    }

    fn rate(&self) -> f64 {
        self.nibbles.iter().map(|nibbles| nibbles.rate()).product()
    }

    fn union(&self, other: &Fingerprint) -> Fingerprint {
        Fingerprint {
            nibbles: std::array::from_fn(|index| self.nibbles[index].union(other.nibbles[index])),
            members: [self.members.as_slice(), &other.members].concat(),
        }
    }

    /// Comparisons per byte of text that the bucket is expected to cost.
    fn cost(&self) -> f64 {
        self.rate() * self.members.len() as f64
    }
}

/// Merges fingerprints until they fit into the buckets, each time the two that cost least together.
fn group(fingerprints: Vec<Fingerprint>) -> Vec<Fingerprint> {
    let mut groups = fingerprints;
    for (index, group) in groups.iter_mut().enumerate() {
        group.members[0].0 = index;
    }
    while groups.len() > BUCKETS {
        let costs: Vec<f64> = groups.iter().map(Fingerprint::cost).collect();
        let mut best = (f64::INFINITY, 0, 1);
        for left in 0..groups.len() {
            for right in left + 1..groups.len() {
                let added = groups[left].union(&groups[right]).cost() - costs[left] - costs[right];
                if added < best.0 {
                    best = (added, left, right);
                }
            }
        }
        let (_, left, right) = best;
        // `right` is the greater index, so that removing it leaves `left` in place.
        let absorbed = groups.swap_remove(right);
        groups[left] = groups[left].union(&absorbed);
    }
    groups
}

//! Searches for up to 64 literals at once, each with or without ASCII case folding.
//!
//! The algorithm is Teddy, from Intel's Hyperscan. Every literal belongs to one of eight buckets. For each of
//! up to four consecutive bytes, two table lookups by nibble give the buckets in which this byte may occur at
//! that position. Positions where a bucket survives all four lookups are compared in full. Folding is free,
//! because both cases of a letter differ only in one bit of the high nibble. We use the four rarest
//! consecutive bytes of each literal, not the first ones, and literals with similar bytes share a bucket.
//!
//! The low nibble of an ASCII letter is more selective than the high one. If low nibbles alone are selective
//! enough, we look up only these in ASCII blocks. With AVX2 this takes a third of the instructions, because
//! an ASCII byte also needs no masking.

use super::frequency;
use super::literals::{Literal, MAX_LITERALS};
use super::vector::{self, LANES, LoadedTable, NibbleTable, Processor, Vector};

const BUCKETS: usize = 8;
/// Maximum number of bytes of a literal that are looked up before it is compared.
const FINGERPRINT_BYTES: usize = 4;
/// Comparisons per byte of text up to which we may omit a byte of the fingerprint. This is one comparison in
/// about sixty vectors.
const NARROW_RATE: f64 = 1.0 / 2048.0;
/// Bytes to process after non-ASCII text before testing for ASCII again.
const FOREIGN_BYTES: usize = 1024;
/// Bytes read per step: one vector for each byte of the fingerprint, each shifted by one byte.
const BLOCK_BYTES: usize = LANES + FINGERPRINT_BYTES - 1;

/// A search for several literals.
#[derive(Debug)]
pub(super) struct Teddy {
    tables: [NibbleTable; FINGERPRINT_BYTES],
    buckets: [Vec<Needle>; BUCKETS],
    /// Number of bytes of a fingerprint that are looked up.
    width: usize,
    /// True if blocks of ASCII use `ascii_tables`.
    has_ascii_tables: bool,
    /// The low nibbles of the fingerprints that can occur in ASCII.
    ascii_tables: [NibbleTable; FINGERPRINT_BYTES],
    processor: Processor,
}

/// The nibbles of a fingerprint that are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LookupMode {
    /// Both nibbles of each byte.
    Bytes,
    /// Only the low nibble of each byte, in ASCII blocks.
    LowNibbles,
}

/// A literal, prepared for comparison.
#[derive(Debug)]
struct Needle {
    bytes: Box<[u8]>,
    /// The case bit for every folded letter, and zero for every byte that must be equal.
    case_bits: Box<[u8]>,
    /// The offset of the fingerprint in the literal.
    offset: usize,
    /// The pattern to report.
    pattern: usize,
}

impl Teddy {
    /// Creates the search. Returns `None` if there are no literals or too many, or if the processor lacks the
    /// instructions.
    pub(super) fn new(literals: &[(Literal, usize)]) -> Option<Teddy> {
        let processor = Processor::detect()?;
        if literals.is_empty() || literals.len() > MAX_LITERALS {
            return None;
        }
        let longest = literals.iter().map(|(literal, _)| literal.bytes.len()).max()?;
        let width = longest.min(FINGERPRINT_BYTES);
        let grouped = |width, mode| {
            group(
                literals.iter().map(|(literal, _)| Fingerprint::rarest(literal, width, mode)).collect(),
                mode,
            )
        };
        // Fewer lookups are faster if few enough positions survive them.
        let cheap = |width, mode| {
            let groups = (width == FINGERPRINT_BYTES || longest > width).then(|| grouped(width, mode))?;
            (groups.iter().map(|group| group.cost(mode)).sum::<f64>() < NARROW_RATE)
                .then_some((groups, width, mode))
        };
        let (groups, width, mode) = cheap(FINGERPRINT_BYTES, LookupMode::LowNibbles)
            .or_else(|| cheap(FINGERPRINT_BYTES - 1, LookupMode::Bytes))
            .unwrap_or_else(|| (grouped(width, LookupMode::Bytes), width, LookupMode::Bytes));

        let mut tables = [NibbleTable::default(); FINGERPRINT_BYTES];
        let mut ascii_tables = tables;
        let mut buckets: [Vec<Needle>; BUCKETS] = Default::default();
        for (index, group) in groups.iter().enumerate() {
            for (table, nibbles) in tables.iter_mut().zip(&group.nibbles) {
                for nibble in 0..16 {
                    table.low[nibble] |= u8::from(nibbles.low >> nibble & 1 == 1) << index;
                    table.high[nibble] |= u8::from(nibbles.high >> nibble & 1 == 1) << index;
                }
            }
            if group.is_ascii {
                for (ascii, table) in ascii_tables.iter_mut().zip(&tables) {
                    ascii.low.iter_mut().zip(&table.low).for_each(|(ascii, low)| *ascii |= low & 1 << index);
                }
            }
            buckets[index] = (group.members.iter())
                .map(|&(literal, offset)| Needle::new(&literals[literal].0, offset, literals[literal].1))
                .collect();
        }
        let has_ascii_tables = mode == LookupMode::LowNibbles;
        Some(Teddy { tables, buckets, width, has_ascii_tables, ascii_tables, processor })
    }

    /// Calls `on_candidate(pattern, position)` for every literal found; see [`super::Prefilter::candidates`].
    /// The position is that of the fingerprint, inside the literal.
    pub(super) fn candidates<F: FnMut(usize, usize) -> usize>(
        &self,
        haystack: &[u8],
        from: usize,
        on_candidate: F,
    ) {
        let Processor { .. } = self.processor;
        #[expect(unsafe_code, reason = "the callee needs AVX2 or NEON, which the type system cannot see")]
        // SAFETY: a `Processor` value proves that the processor supports the instructions of the callee.
        unsafe {
            match self.width {
                _ if self.has_ascii_tables => self.scan::<4, true, F>(haystack, from, on_candidate),
                ..=2 => self.scan::<2, false, F>(haystack, from, on_candidate),
                3 => self.scan::<3, false, F>(haystack, from, on_candidate),
                _ => self.scan::<4, false, F>(haystack, from, on_candidate),
            }
        }
    }

    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn scan<const WIDTH: usize, const ASCII: bool, F: FnMut(usize, usize) -> usize>(
        &self,
        haystack: &[u8],
        from: usize,
        mut on_candidate: F,
    ) {
        let mut start = from;
        while start < haystack.len() {
            let step = self.next_hit::<WIDTH, ASCII>(haystack, start);
            let resume = self.report(haystack, &step, &mut on_candidate);
            start = resume.max(step.start + LANES);
        }
    }

    /// Advances to the next block that contains a fingerprint. Near the end of the text, advances to the next
    /// block regardless of its content.
    ///
    /// This is separate from the comparisons so that no call forces the tables out of their registers.
    #[inline(never)]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn next_hit<const WIDTH: usize, const ASCII: bool>(&self, haystack: &[u8], from: usize) -> TeddyBlock {
        let mut start = from;
        if ASCII {
            match self.next_ascii_hit(haystack, start) {
                Ok(block) => return block,
                Err(foreign) => start = foreign,
            }
        }
        // Non-ASCII text rarely comes alone, so returning to ASCII mode after each block would reload the
        // tables too often.
        let mut until = if ASCII { start + FOREIGN_BYTES } else { usize::MAX };
        let [first, second, third, fourth] = &self.tables;
        let tables = [first.load(), second.load(), third.load(), fourth.load()];
        while let Some(block) = haystack[start..].first_chunk::<{ LANES + BLOCK_BYTES }>() {
            vector::prefetch(haystack, start);
            let first = bucket_bits::<WIDTH, _>(&tables, block, 0);
            let second = bucket_bits::<WIDTH, _>(&tables, block, LANES);
            if let Some(block) = TeddyBlock::first_hit(start, first, second) {
                return block;
            }
            start += 2 * LANES;
            if ASCII && start >= until {
                match self.next_ascii_hit(haystack, start) {
                    Ok(block) => return block,
                    Err(foreign) => start = foreign,
                }
                until = start + FOREIGN_BYTES;
            }
        }
        // Bytes after the end read as zeros: a short literal may still match there, and a long one fails the
        // comparison.
        let rest = vector::padded::<BLOCK_BYTES>(haystack.get(start..).unwrap_or_default());
        TeddyBlock::new(start, bucket_bits::<WIDTH, _>(&tables, &rest, 0))
    }

    /// Like [`Teddy::next_hit`], while the text is ASCII. Returns an error where it is not, or at its end.
    #[inline(never)]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn next_ascii_hit(&self, haystack: &[u8], from: usize) -> Result<TeddyBlock, usize> {
        let [first, second, third, fourth] = &self.ascii_tables;
        let tables = [first.load(), second.load(), third.load(), fourth.load()];
        let mut start = from;
        while let Some(block) = haystack[start..].first_chunk::<{ LANES + BLOCK_BYTES }>() {
            vector::prefetch(haystack, start);
            if !vector::is_ascii(block) {
                break;
            }
            let first = ascii_bucket_bits(&tables, block, 0);
            let second = ascii_bucket_bits(&tables, block, LANES);
            if let Some(block) = TeddyBlock::first_hit(start, first, second) {
                return Ok(block);
            }
            start += 2 * LANES;
        }
        Err(start)
    }

    /// Compares the literals at every surviving position. Returns the position where the callback wants to
    /// continue.
    fn report<F: FnMut(usize, usize) -> usize>(
        &self,
        haystack: &[u8],
        block: &TeddyBlock,
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

/// 32 positions of the text, with the surviving buckets of each.
struct TeddyBlock {
    start: usize,
    /// One bit for every position with a surviving bucket.
    lanes: u32,
    buckets: [u8; LANES],
}

impl TeddyBlock {
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn new(start: usize, buckets: Vector) -> TeddyBlock {
        TeddyBlock { start, lanes: buckets.nonzero_lanes(), buckets: buckets.to_bytes() }
    }

    /// Selects the first of two vectors that has a surviving bucket.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn first_hit(start: usize, first: Vector, second: Vector) -> Option<TeddyBlock> {
        if first.or(second).is_zero() {
            return None;
        }
        Some(match first.is_zero() {
            false => TeddyBlock::new(start, first),
            true => TeddyBlock::new(start + LANES, second),
        })
    }
}

/// Computes the surviving buckets of the 32 positions from `offset` on, using the first `WIDTH` tables.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn bucket_bits<const WIDTH: usize, const LENGTH: usize>(
    tables: &[LoadedTable; FINGERPRINT_BYTES],
    block: &[u8; LENGTH],
    offset: usize,
) -> Vector {
    // This is unrolled by hand: iterator adapters may not be inlined, because they lack the target feature.
    let first = tables[0].classify(vector::load(block, offset));
    let mut buckets = first.and(tables[1].classify(vector::load(block, offset + 1)));
    if WIDTH > 2 {
        buckets = buckets.and(tables[2].classify(vector::load(block, offset + 2)));
    }
    if WIDTH > 3 {
        buckets = buckets.and(tables[3].classify(vector::load(block, offset + 3)));
    }
    buckets
}

/// Like [`bucket_bits`], using the low nibbles of a block of ASCII.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn ascii_bucket_bits<const LENGTH: usize>(
    tables: &[LoadedTable; FINGERPRINT_BYTES],
    block: &[u8; LENGTH],
    offset: usize,
) -> Vector {
    let first = tables[0].classify_ascii(vector::load(block, offset));
    let first = first.and(tables[1].classify_ascii(vector::load(block, offset + 1)));
    let second = tables[2].classify_ascii(vector::load(block, offset + 2));
    first.and(second.and(tables[3].classify_ascii(vector::load(block, offset + 3))))
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

    /// Returns true if the literal occurs with its fingerprint at `position`.
    #[inline]
    fn is_at(&self, haystack: &[u8], position: usize) -> bool {
        let Some(text) = position
            .checked_sub(self.offset)
            .and_then(|start| haystack.get(start..)?.get(..self.bytes.len()))
        else {
            return false;
        };
        // After setting the case bit, a byte equals a lower-case letter only if it is that letter in either
        // case.
        text.iter().zip(&self.bytes).zip(&self.case_bits).all(|((&found, &byte), &bit)| found | bit == byte)
    }
}

/// The high nibbles of ASCII.
const ASCII_NIBBLES: u16 = 0xff;

/// Two sets of nibbles, stored as bitmaps. They represent the smallest rectangle around a set of bytes.
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

    /// Returns true if the set contains an ASCII byte.
    fn has_ascii(self) -> bool {
        self.high & ASCII_NIBBLES != 0
    }

    /// Estimates the share of text positions whose byte is in the rectangle.
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

/// The lookups of a bucket, and its literals with the offset of their fingerprint.
#[derive(Debug, Clone)]
struct Fingerprint {
    nibbles: [Nibbles; FINGERPRINT_BYTES],
    /// True if one of the literals has a fingerprint that can occur in ASCII.
    is_ascii: bool,
    members: Vec<(usize, usize)>,
}

impl Fingerprint {
    /// Finds the fingerprint of `width` bytes of one literal, at the offset where it is rarest. Note that any
    /// byte may follow after the end of the literal.
    fn rarest(literal: &Literal, width: usize, mode: LookupMode) -> Fingerprint {
        let nibbles: Vec<Nibbles> = literal
            .byte_sets()
            .map(|set| {
                set.iter().fold(Nibbles::default(), |all, byte| {
                    all.union(Nibbles { low: 1 << (byte & 15), high: 1 << (byte >> 4) })
                })
            })
            .collect();
        let at = |offset: usize| {
            let nibbles = std::array::from_fn(|index| match nibbles.get(offset + index) {
                Some(nibbles) if index < width => *nibbles,
                _ => Nibbles::ANY,
            });
            let is_ascii = nibbles.iter().all(|nibbles| nibbles.has_ascii());
            Fingerprint { nibbles, is_ascii, members: vec![(0, offset)] }
        };
        (1..=nibbles.len().saturating_sub(width))
            .map(at)
            .fold(at(0), |best, other| if other.rate(mode) < best.rate(mode) { other } else { best })
    }

    /// Estimates the share of text positions that survive the lookups.
    fn rate(&self, mode: LookupMode) -> f64 {
        let low_only = mode == LookupMode::LowNibbles && self.is_ascii;
        let seen = |nibbles: &Nibbles| match low_only {
            true if nibbles.low != u16::MAX => Nibbles { low: nibbles.low, high: ASCII_NIBBLES },
            _ => *nibbles,
        };
        self.nibbles.iter().map(|nibbles| seen(nibbles).rate()).product()
    }

    fn union(&self, other: &Fingerprint) -> Fingerprint {
        Fingerprint {
            nibbles: std::array::from_fn(|index| self.nibbles[index].union(other.nibbles[index])),
            is_ascii: self.is_ascii || other.is_ascii,
            members: [self.members.as_slice(), &other.members].concat(),
        }
    }

    /// Estimates the number of comparisons per byte of text for this bucket.
    fn cost(&self, mode: LookupMode) -> f64 {
        self.rate(mode) * self.members.len() as f64
    }
}

/// Merges fingerprints until they fit into the buckets. Each step merges the two with the lowest joint cost.
fn group(fingerprints: Vec<Fingerprint>, mode: LookupMode) -> Vec<Fingerprint> {
    let mut groups = fingerprints;
    for (index, group) in groups.iter_mut().enumerate() {
        group.members[0].0 = index;
    }
    while groups.len() > BUCKETS {
        let costs: Vec<f64> = groups.iter().map(|group| group.cost(mode)).collect();
        let mut best = (f64::INFINITY, 0, 1);
        for left in 0..groups.len() {
            for right in left + 1..groups.len() {
                let added = groups[left].union(&groups[right]).cost(mode) - costs[left] - costs[right];
                if added < best.0 {
                    best = (added, left, right);
                }
            }
        }
        let (_, left, right) = best;
        // `right` is the greater index, so removing it does not move `left`.
        let absorbed = groups.swap_remove(right);
        groups[left] = groups[left].union(&absorbed);
    }
    groups
}

//! Posting lists of an index that is being built.

use super::trigrams::Trigram;

/// Number of (trigram, part) pairs that are sorted at once: two buffers of 8 MiB.
const PENDING: usize = 1 << 20;

/// Trigrams per page, and number of pages.
const PAGE: usize = 1 << 12;

/// Maximum number of entries in all lists: three times the Linux kernel's, in half a gigabyte.
const MAX_POSTED: u64 = 500 << 20;

/// Maximum number of lists, ten times the kernel's. Only files that are not text would need more.
const MAX_LISTS: usize = 4 << 20;

/// The posting lists of all trigrams.
///
/// A part adds to about a thousand lists that are scattered in memory. We therefore collect parts and sort
/// their pairs by trigram, so that we touch each list only once for hundreds of parts.
#[derive(Default)]
pub(super) struct Postings {
    /// Pairs of trigram and part, ordered by part.
    pending: Vec<(u32, u32)>,
    sorted: Vec<(u32, u32)>,
    /// The one-based index of each trigram's posting list; 0 for none. Pages without any trigram are empty.
    pages: Vec<Vec<u32>>,
    lists: Vec<PostingList>,
    blocks: PostingBlocks,
    /// Number of entries in all lists.
    posted: u64,
}

impl Postings {
    /// Returns true if no more parts may be added.
    pub(super) fn is_full(&self) -> bool {
        self.posted > MAX_POSTED || self.lists.len() > MAX_LISTS
    }

    /// Adds a part, whose number must be larger than all before.
    pub(super) fn add(&mut self, part: u32, trigrams: &[Trigram]) {
        self.posted += trigrams.len() as u64;
        self.pending.extend(trigrams.iter().map(|trigram| (trigram.number(), part)));
        if self.pending.len() >= PENDING {
            self.finish();
        }
    }

    /// Moves pending pairs to their lists.
    pub(super) fn finish(&mut self) {
        self.pages.resize_with(Trigram::COUNT / PAGE, Vec::new);
        // We use two stable radix passes: by the lower half of the trigram, then by the upper half.
        distribute(&self.pending, &mut self.sorted, |trigram| trigram as usize % PAGE);
        distribute(&self.sorted, &mut self.pending, |trigram| trigram as usize / PAGE);
        for run in self.pending.chunk_by(|a, b| a.0 == b.0) {
            let trigram = run[0].0 as usize;
            let page = &mut self.pages[trigram / PAGE];
            page.resize(PAGE, 0);
            let slot = &mut page[trigram % PAGE];
            if *slot == 0 {
                self.lists.push(PostingList::new(&mut self.blocks));
                *slot = self.lists.len() as u32;
            }
            let list = &mut self.lists[*slot as usize - 1];
            run.iter().for_each(|&(_, part)| list.push(&mut self.blocks, part));
        }
        self.pending.clear();
    }

    /// Iterates over the non-empty lists with their trigram numbers, in ascending order.
    pub(super) fn lists(&self) -> impl Iterator<Item = (u32, &PostingList)> {
        let slots = self.pages.iter().enumerate().flat_map(|(page, slots)| (page * PAGE..).zip(slots));
        slots
            .filter(|(_, slot)| **slot > 0)
            .map(|(number, slot)| (number as u32, &self.lists[*slot as usize - 1]))
    }

    /// Copies the bytes of a list.
    pub(super) fn bytes_of(&self, list: &PostingList) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(list.bytes as usize);
        let mut number = list.first;
        while bytes.len() < list.bytes as usize {
            let block = self.blocks.get(number);
            let rest = list.bytes as usize - bytes.len();
            bytes.extend_from_slice(&block.bytes[..rest.min(BLOCK_BYTES)]);
            number = block.next;
        }
        bytes
    }
}

/// Sorts pairs stably by a digit of their first number.
fn distribute(from: &[(u32, u32)], to: &mut Vec<(u32, u32)>, digit: impl Fn(u32) -> usize) {
    let mut next = [0; PAGE];
    from.iter().for_each(|(trigram, _)| next[digit(*trigram)] += 1);
    let mut start = 0;
    for count in &mut next {
        start += std::mem::replace(count, start);
    }
    to.clear();
    to.resize(from.len(), (0, 0));
    for pair in from {
        let place = &mut next[digit(pair.0)];
        to[*place] = *pair;
        *place += 1;
    }
}

/// Number of consecutive bytes of a posting list in one block. With the number of the next block this makes
/// 64 bytes.
const BLOCK_BYTES: usize = 60;

/// Number of blocks allocated at once: one megabyte.
const CHUNK_BLOCKS: usize = 16 << 10;

/// The bytes of all lists, in linked blocks. A growable buffer per list would leave half of its memory
/// unused, and there are hundreds of thousands of lists.
#[derive(Default)]
struct PostingBlocks {
    chunks: Vec<Vec<PostingBlock>>,
    count: u32,
}

#[derive(Clone)]
struct PostingBlock {
    bytes: [u8; BLOCK_BYTES],
    next: u32,
}

impl PostingBlocks {
    /// Adds an empty block and returns its number.
    fn push(&mut self) -> u32 {
        let number = self.count;
        if (number as usize).is_multiple_of(CHUNK_BLOCKS) {
            self.chunks.push(Vec::with_capacity(CHUNK_BLOCKS));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(PostingBlock { bytes: [0; BLOCK_BYTES], next: 0 });
        }
        self.count += 1;
        number
    }

    fn get(&self, number: u32) -> &PostingBlock {
        &self.chunks[number as usize / CHUNK_BLOCKS][number as usize % CHUNK_BLOCKS]
    }

    fn get_mut(&mut self, number: u32) -> &mut PostingBlock {
        &mut self.chunks[number as usize / CHUNK_BLOCKS][number as usize % CHUNK_BLOCKS]
    }
}

/// The parts that contain one trigram: differences of ascending numbers, seven bits per byte.
#[derive(Debug)]
pub(super) struct PostingList {
    first: u32,
    last: u32,
    pub(super) bytes: u32,
    pub(super) parts: u32,
    /// The last number plus one.
    next: u32,
}

impl PostingList {
    fn new(blocks: &mut PostingBlocks) -> Self {
        let first = blocks.push();
        Self { first, last: first, bytes: 0, parts: 0, next: 0 }
    }

    /// Adds a part, whose number must be larger than all before.
    fn push(&mut self, blocks: &mut PostingBlocks, part: u32) {
        let mut number = part - self.next;
        while number >= 0x80 {
            self.push_byte(blocks, number as u8 | 0x80);
            number >>= 7;
        }
        self.push_byte(blocks, number as u8);
        self.next = part + 1;
        self.parts += 1;
    }

    fn push_byte(&mut self, blocks: &mut PostingBlocks, byte: u8) {
        let at = self.bytes as usize % BLOCK_BYTES;
        if at == 0 && self.bytes > 0 {
            let next = blocks.push();
            blocks.get_mut(self.last).next = next;
            self.last = next;
        }
        blocks.get_mut(self.last).bytes[at] = byte;
        self.bytes += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::index::numbers::posted;

    proptest! {
        #[test]
        fn posting_lists_round_trip(files in prop::collection::btree_set(0..2_000_000_u32, 0..300)) {
            let mut postings = Postings::default();
            // Interleave blocks of another list.
            let [mut list, mut other] = [(); 2].map(|()| PostingList::new(&mut postings.blocks));
            for &file in &files {
                list.push(&mut postings.blocks, file);
                other.push(&mut postings.blocks, file + 1);
            }
            let bytes = postings.bytes_of(&list);
            prop_assert_eq!(bytes.len(), list.bytes as usize);
            prop_assert_eq!(posted(&bytes).collect::<Vec<_>>(), files.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn every_list_gets_its_files(files in prop::collection::vec(prop::collection::btree_set(0..2_000_u32, 0..50), 0..60)) {
            let (mut postings, mut expected) = (Postings::default(), BTreeMap::<u32, BTreeSet<u32>>::new());
            for (file, numbers) in files.iter().enumerate() {
                // Spread the trigrams over all pages.
                let bytes = |number: &u32| (number * 8_000).to_be_bytes();
                let trigrams: Vec<Trigram> =
                    numbers.iter().map(|number| Trigram::new([bytes(number)[1], bytes(number)[2], b'x'])).collect();
                let distinct: BTreeSet<u32> = trigrams.iter().map(|trigram| trigram.number()).collect();
                let distinct: Vec<Trigram> =
                    trigrams.into_iter().filter({ let mut left = distinct; move |trigram| left.remove(&trigram.number()) }).collect();
                postings.add(file as u32, &distinct);
                if file % 7 == 0 {
                    postings.finish();
                }
                for trigram in &distinct {
                    expected.entry(trigram.number()).or_default().insert(file as u32);
                }
            }
            postings.finish();
            let found: BTreeMap<u32, BTreeSet<u32>> =
                postings.lists().map(|(number, list)| (number, posted(&postings.bytes_of(list)).collect())).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

//! Posting lists while an index is built.

use super::trigrams::Trigram;

/// Pairs of a trigram and a part of a file that are sorted at a time: 8 MiB, twice.
const PENDING: usize = 1 << 20;

/// Trigrams of a page, and pages.
const PAGE: usize = 1 << 12;

/// Parts in all lists together: three times the Linux kernel's, in half a gigabyte.
const MOST_POSTED: u64 = 500 << 20;

/// Lists, ten times the kernel's. More come from files that are no text.
const MOST_LISTS: usize = 4 << 20;

/// The posting lists of all trigrams.
///
/// A part adds to a thousand lists, each somewhere else in memory. So parts are gathered, and what they add is sorted by
/// trigram first: each list is then touched once for hundreds of parts.
#[derive(Default)]
pub(super) struct Postings {
    /// Trigram and part, the parts in order.
    pending: Vec<(u32, u32)>,
    sorted: Vec<(u32, u32)>,
    /// The posting list of each trigram, from 1; 0 for none. Pages in which no trigram is are empty.
    pages: Vec<Vec<u32>>,
    lists: Vec<PostingList>,
    blocks: PostingBlocks,
    /// Parts in all lists together.
    posted: u64,
}

impl Postings {
    /// Whether no more may be added.
    pub(super) fn is_full(&self) -> bool {
        self.posted > MOST_POSTED || self.lists.len() > MOST_LISTS
    }

    /// Adds a part whose number is larger than all before.
    pub(super) fn add(&mut self, part: u32, trigrams: &[Trigram]) {
        self.posted += trigrams.len() as u64;
        self.pending.extend(trigrams.iter().map(|trigram| (trigram.number(), part)));
        if self.pending.len() >= PENDING {
            self.finish();
        }
    }

    /// Puts what is pending into its lists.
    pub(super) fn finish(&mut self) {
        self.pages.resize_with(Trigram::COUNT / PAGE, Vec::new);
        // Two passes that keep the order of equal ones: by the lower half of the trigram, then by the upper one.
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

    /// The lists that are not empty, with the numbers of their trigrams, in their order.
    pub(super) fn lists(&self) -> impl Iterator<Item = (u32, &PostingList)> {
        let slots = self.pages.iter().enumerate().flat_map(|(page, slots)| (page * PAGE..).zip(slots));
        slots
            .filter(|(_, slot)| **slot > 0)
            .map(|(number, slot)| (number as u32, &self.lists[*slot as usize - 1]))
    }

    /// The bytes of a list.
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

/// Sorts pairs by a digit of their first number, those with the same digit in the order in which they are.
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

/// Bytes of a posting list that lie side by side, so that a block has 64 with the number of the next.
const BLOCK_BYTES: usize = 60;

/// Blocks that are allocated at a time: a megabyte.
const CHUNK_BLOCKS: usize = 16 << 10;

/// The bytes of all lists. One that doubled its room whenever it was full would have half of it empty, and hundreds of
/// thousands do.
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
    /// Another block, which is empty.
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

/// The parts of files of one trigram while an index is built: differences of ascending numbers, seven bits to a byte.
#[derive(Debug)]
pub(super) struct PostingList {
    first: u32,
    last: u32,
    pub(super) bytes: u32,
    pub(super) parts: u32,
    /// One more than the last number.
    next: u32,
}

impl PostingList {
    fn new(blocks: &mut PostingBlocks) -> Self {
        let first = blocks.push();
        Self { first, last: first, bytes: 0, parts: 0, next: 0 }
    }

    /// Adds a part whose number is larger than all before.
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
        fn posting_lists_give_back_what_was_put_in(files in prop::collection::btree_set(0..2_000_000_u32, 0..300)) {
            let mut postings = Postings::default();
            // Blocks of another list lie between.
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
                // All over the pages.
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

//! Sets of numbers of an index's files or parts.

/// A set of numbers below a bound, stored as a bitmap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberSet {
    words: Vec<u64>,
    count: u32,
}

impl NumberSet {
    /// Creates an empty set for numbers below `count`.
    pub fn none(count: u32) -> Self {
        Self { words: vec![0; count.div_ceil(64) as usize], count }
    }

    /// Creates the set of all numbers below `count`.
    pub fn all(count: u32) -> Self {
        let mut set = Self { words: vec![u64::MAX; count.div_ceil(64) as usize], count };
        let beyond = set.words.len() as u32 * 64 - count;
        if let Some(last) = set.words.last_mut() {
            *last >>= beyond;
        }
        set
    }

    /// Returns true if the set contains `number`.
    pub fn contains(&self, number: u32) -> bool {
        self.words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Counts the elements.
    pub fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Adds a number. Ignores numbers that are not below the bound.
    pub(super) fn insert(&mut self, number: u32) {
        if number < self.count
            && let Some(word) = self.words.get_mut(number as usize / 64)
        {
            *word |= 1 << (number % 64);
        }
    }

    /// Keeps only elements that are also in `other`.
    pub(super) fn intersect(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
    }

    /// Adds all elements of `other`.
    pub(super) fn unite(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Removes all elements of `other`.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= !other);
    }

    /// Calls `give` with each element in ascending order.
    pub(super) fn for_each(&self, mut give: impl FnMut(u32)) {
        for (index, word) in self.words.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                give(index as u32 * 64 + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }

    /// Returns the bitmap, 64 bits per word.
    pub(super) fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Adds the elements of a bitmap of little-endian bytes.
    pub(super) fn insert_bitmap(&mut self, bytes: &[u8]) {
        for (word, bytes) in self.words.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word |= u64::from_le_bytes(whole);
        }
        // A damaged bitmap may have bits beyond the bound.
        let count = self.count;
        if let Some(last) = self.words.last_mut()
            && !count.is_multiple_of(64)
        {
            *last &= u64::MAX >> (64 - count % 64);
        }
    }
}

/// Iterates over the numbers of a posting list. Stops at invalid bytes.
pub(super) fn posted(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let (mut rest, mut next) = (bytes.iter(), 0_u32);
    std::iter::from_fn(move || {
        let (mut difference, mut shift) = (0_u32, 0);
        loop {
            let byte = *rest.next()?;
            difference |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        let number = next.checked_add(difference)?;
        next = number.checked_add(1)?;
        Some(number)
    })
}

/// Iterates over the numbers of a bitmap. The lowest bit of each byte comes first.
pub(super) fn in_bitmap(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let bits = |(index, byte): (u32, &u8)| {
        let byte = *byte;
        (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| index * 8 + bit)
    };
    (0..).zip(bytes).flat_map(bits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn invalid_list_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), count in 0..200_u32) {
            let mut set = NumberSet::none(count);
            posted(&bytes).for_each(|number| set.insert(number));
            set.insert_bitmap(&bytes);
            prop_assert!(set.len() <= count);
        }
    }

    #[test]
    fn sets_know_their_bounds() {
        for count in [0, 1, 63, 64, 65, 1_000] {
            let (all, none) = (NumberSet::all(count), NumberSet::none(count));
            assert_eq!((all.len(), none.len()), (count, 0), "{count}");
            assert!(!all.contains(count) && none.is_empty());
            let mut both = all.clone();
            both.intersect(&none);
            assert_eq!(both, none);
            both.unite(&all);
            assert_eq!(both, all);
        }
    }
}

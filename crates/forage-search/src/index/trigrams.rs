//! Extracts the trigrams of a text.

use std::fmt;

/// Three bytes, with ASCII letters in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trigram(u32);

impl Trigram {
    /// The number of possible trigrams.
    pub const COUNT: usize = 1 << 24;

    /// Creates a trigram from three bytes.
    pub fn new(bytes: [u8; 3]) -> Self {
        let [a, b, c] = bytes.map(|byte| byte.to_ascii_lowercase());
        Self(u32::from_be_bytes([0, a, b, c]))
    }

    /// The number of the trigram, which is below [`Trigram::COUNT`].
    pub fn number(self) -> u32 {
        self.0
    }

    /// The bytes of the trigram, with letters in lower case.
    pub fn bytes(self) -> [u8; 3] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }
}

/// Formats the bytes, with escapes for those that are not printable ASCII.
impl fmt::Display for Trigram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().escape_ascii().fmt(f)
    }
}

/// Collects the distinct trigrams of texts. This takes 2 MiB and should be reused.
pub struct Trigrams {
    /// A bitmap of the trigrams seen so far. Its length is constant so that indexing needs no bounds check.
    seen: Box<[u64; Trigram::COUNT / 64]>,
    found: Vec<Trigram>,
}

impl Default for Trigrams {
    fn default() -> Self {
        // We must not put two megabytes on the stack.
        let seen = vec![0; Trigram::COUNT / 64].into_boxed_slice();
        #[expect(clippy::unwrap_used, reason = "the slice has this length")]
        Self { seen: seen.try_into().unwrap(), found: Vec::new() }
    }
}

impl Trigrams {
    /// Finds the distinct trigrams of `text` within lines, in order of first occurrence.
    pub fn distinct(&mut self, text: &[u8]) -> &[Trigram] {
        for trigram in self.found.drain(..) {
            self.seen[trigram.0 as usize / 64] = 0;
        }
        // This loop is branchless: it writes each trigram after the last new one, and keeps it if it is new.
        // A branch would be mispredicted for one trigram in ten.
        self.found.resize(text.len(), Trigram(0));
        let mut count = 0;
        let (mut window, mut length) = (0, 0_usize);
        for &byte in text {
            window = (window << 8 | u32::from(byte.to_ascii_lowercase())) & 0xff_ffff;
            length = if byte == b'\n' { 0 } else { length + 1 };
            if length < 3 {
                continue;
            }
            let word = &mut self.seen[window as usize / 64];
            let bit = 1 << (window % 64);
            self.found[count] = Trigram(window);
            count += usize::from(*word & bit == 0);
            *word |= bit;
        }
        self.found.truncate(count);
        &self.found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn trigrams_equal_naive_search(
            texts in prop::collection::vec(prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), Just(b'A'), any::<u8>()], 0..60), 1..4),
        ) {
            let mut trigrams = Trigrams::default();
            for text in texts {
                let mut expected = Vec::new();
                for window in text.windows(3).filter(|window| !window.contains(&b'\n')) {
                    let trigram = Trigram::new([window[0], window[1], window[2]]);
                    if !expected.contains(&trigram) {
                        expected.push(trigram);
                    }
                }
                prop_assert_eq!(trigrams.distinct(&text), expected);
            }
        }
    }

    #[test]
    fn trigrams_are_distinct_folded_and_within_a_line() {
        let mut trigrams = Trigrams::default();
        let mut distinct = |text: &str| -> Vec<String> {
            let show = |trigram: &Trigram| String::from_utf8(trigram.bytes().to_vec()).unwrap();
            trigrams.distinct(text.as_bytes()).iter().map(show).collect()
        };
        assert_eq!(distinct("Abcabc"), ["abc", "bca", "cab"]);
        assert_eq!(distinct("ab\ncd\nefg\r\n"), ["efg", "fg\r"]);
        assert_eq!(distinct("ab"), [""; 0]);
        // No state is left from previous texts.
        assert_eq!(distinct("abc"), ["abc"]);
    }
}

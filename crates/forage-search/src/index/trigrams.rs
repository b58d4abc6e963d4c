//! The trigrams of a text.

use std::fmt;

/// Three bytes, those that are ASCII letters in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trigram(u32);

impl Trigram {
    /// The number of all trigrams that there can be.
    pub const COUNT: usize = 1 << 24;

    /// Of three bytes.
    pub fn new(bytes: [u8; 3]) -> Self {
        let [a, b, c] = bytes.map(|byte| byte.to_ascii_lowercase());
        Self(u32::from_be_bytes([0, a, b, c]))
    }

    /// Its number, below [`Trigram::COUNT`].
    pub fn number(self) -> u32 {
        self.0
    }

    /// The bytes, which letters are lower case.
    pub fn bytes(self) -> [u8; 3] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }
}

/// Its bytes, those that are not printable ASCII escaped.
impl fmt::Display for Trigram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().escape_ascii().fmt(f)
    }
}

/// Collects the distinct trigrams of texts, one after the other. It takes 2 MiB and is meant to be kept.
pub struct Trigrams {
    /// A bit for each. Of a length that is known, so that no index into it needs a check.
    seen: Box<[u64; Trigram::COUNT / 64]>,
    found: Vec<Trigram>,
}

impl Default for Trigrams {
    fn default() -> Self {
        // Never on the stack, which is no place for two megabytes.
        let seen = vec![0; Trigram::COUNT / 64].into_boxed_slice();
        #[expect(clippy::unwrap_used, reason = "the slice has this length")]
        Self { seen: seen.try_into().unwrap(), found: Vec::new() }
    }
}

impl Trigrams {
    /// The distinct trigrams of `text` that lie within a line, in the order in which they come first.
    pub fn of(&mut self, text: &[u8]) -> &[Trigram] {
        for trigram in self.found.drain(..) {
            self.seen[trigram.0 as usize / 64] = 0;
        }
        // Every trigram is written down behind the last new one, and stays if it is new: no branch, which would be
        // guessed wrong for one in ten.
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
        fn trigrams_are_those_of_a_plain_search(
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
                prop_assert_eq!(trigrams.of(&text), expected);
            }
        }
    }

    #[test]
    fn trigrams_are_distinct_folded_and_within_a_line() {
        let mut trigrams = Trigrams::default();
        let mut of = |text: &str| -> Vec<String> {
            let show = |trigram: &Trigram| String::from_utf8(trigram.bytes().to_vec()).unwrap();
            trigrams.of(text.as_bytes()).iter().map(show).collect()
        };
        assert_eq!(of("Abcabc"), ["abc", "bca", "cab"]);
        assert_eq!(of("ab\ncd\nefg\r\n"), ["efg", "fg\r"]);
        assert_eq!(of("ab"), [""; 0]);
        // Nothing is left of what came before.
        assert_eq!(of("abc"), ["abc"]);
    }
}

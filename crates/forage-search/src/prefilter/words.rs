//! Frequencies of common source-code keywords.
//!
//! The byte model considers every long string rare, including `static int `. We assume that a literal that
//! consists only of common words is as frequent as the rarest of them.

/// Words with their occurrences per million bytes in the language that uses them most: C (Linux), Rust
/// (crates), Python (its library) and JavaScript (packages), 12 MB of each.
const WORDS: &[(&str, u32)] = &[
    ("const", 3000),
    ("pub", 3000),
    ("self", 3000),
    ("this", 3000),
    ("struct", 2850),
    ("define", 2150),
    ("return", 2000),
    ("the", 1700),
    ("def", 1500),
    ("int", 1400),
    ("let", 1100),
    ("mut", 1050),
    ("static", 1000),
    ("None", 950),
    ("for", 900),
    ("crate", 850),
    ("assert", 800),
    ("new", 750),
    ("from", 700),
    ("import", 700),
    ("and", 650),
    ("function", 650),
    ("not", 650),
    ("void", 650),
    ("length", 600),
    ("value", 600),
    ("case", 550),
    ("include", 550),
    ("true", 550),
    ("use", 550),
    ("require", 500),
    ("type", 500),
    ("unsigned", 500),
    ("True", 450),
    ("else", 450),
    ("super", 450),
    ("var", 450),
    ("false", 400),
    ("get", 400),
    ("impl", 400),
    ("null", 400),
    ("NULL", 350),
    ("Self", 350),
    ("class", 350),
    ("data", 350),
    ("err", 350),
    ("error", 350),
    ("str", 350),
    ("throw", 350),
    ("False", 300),
    ("key", 300),
    ("object", 300),
    ("set", 300),
    ("that", 300),
    ("with", 300),
    ("Option", 250),
    ("Some", 250),
    ("break", 250),
    ("flags", 250),
    ("goto", 250),
    ("index", 250),
    ("long", 250),
    ("msg", 250),
    ("push", 250),
    ("string", 250),
    ("unwrap", 250),
];

/// Minimum length in bytes of a word that counts. The letters of shorter ones occur in many words.
const MIN_WORD_BYTES: usize = 3;

/// Estimates the minimum rate, in occurrences per byte, of a literal that consists only of common words or
/// parts of them. This is 0 if the literal has another word or none at all.
pub(super) fn least_rate(literal: &[u8], fold: bool) -> f64 {
    let words = literal.split(|&byte| !is_word(byte)).filter(|word| word.len() >= MIN_WORD_BYTES);
    let least = words.map(|word| per_million(word, fold)).min().unwrap_or(0);
    f64::from(least) / 1e6
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Looks up the occurrences per million bytes of the commonest word that contains `part`; 0 if there is none.
fn per_million(part: &[u8], fold: bool) -> u32 {
    let same = |a: &[u8]| if fold { a.eq_ignore_ascii_case(part) } else { a == part };
    let holds = |word: &str| word.as_bytes().windows(part.len()).any(same);
    WORDS.iter().filter(|(word, _)| holds(word)).map(|&(_, rate)| rate).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_common_words_are_common() {
        for (literal, fold) in
            [("static int ", false), ("(struct ", false), ("uct *self", false), ("RETURN", true)]
        {
            assert!(least_rate(literal.as_bytes(), fold) > 5e-4, "{literal}");
        }
        for literal in ["_probe(struct ", "platform", "RETURN", "->", "q(x", "", "naïve int"] {
            assert_eq!(least_rate(literal.as_bytes(), false), 0.0, "{literal}");
        }
    }
}

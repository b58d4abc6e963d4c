//! Measures how random a text is, as a log-likelihood ratio.
//!
//! We compare two models. In one, the characters are drawn uniformly from the alphabet that the text uses.
//! The other one is a name in source code, as a Markov chain of character classes and of letters. A generated
//! token of 16 characters has about 50 bits, an identifier of that length about -13, and values in between
//! are rare. Shannon's entropy can't distinguish them in such a short text. For example, it is higher for
//! `LlamaTokenizerFast` than for a quarter of all random texts of 32 hexadecimal digits.

use crate::limits::MAX_JUDGED_BYTES;

/// Returns by how many bits the text is more likely to be random than to be a name. Separators do not count.
pub(crate) fn bits_of_randomness(text: &str) -> f64 {
    let text = &text.as_bytes()[..text.floor_char_boundary(MAX_JUDGED_BYTES)];
    // The name of a constant is a name in capital letters.
    let fold = text.contains(&b'_') && !text.iter().any(u8::is_ascii_lowercase);
    let drawn = f64::from(alphabet(text)).log2();
    let (mut class, mut letter) = (START, START_OF_WORD);
    let mut bits = 0.0;
    for &byte in text {
        let byte = if fold { byte.to_ascii_lowercase() } else { byte };
        let next = class_of(byte);
        if next == OTHER {
            (class, letter) = (OTHER, START_OF_WORD);
            continue;
        }
        bits += f64::from(CLASSES[class][next]) / UNITS - drawn;
        if next == DIGIT {
            bits += 10.0_f64.log2();
            letter = START_OF_WORD;
        } else {
            let at = usize::from(byte.to_ascii_lowercase() - b'a');
            // A capital letter after a small one begins a word.
            let row = if next == UPPER && class == LOWER { START_OF_WORD } else { letter };
            bits += f64::from(LETTERS[row][at]) / UNITS;
            letter = at;
        }
        class = next;
    }
    bits
}

/// Computes the Shannon entropy in bits per byte, over the frequencies inside the text itself.
pub(crate) fn entropy(text: &str) -> f64 {
    let mut frequencies = [0_u32; 256];
    for byte in text.bytes() {
        frequencies[usize::from(byte)] += 1;
    }
    let length = text.len() as f64;
    let share = |frequency: &u32| f64::from(*frequency) / length;
    frequencies.iter().filter(|frequency| **frequency > 0).map(share).map(|p| -p * p.log2()).sum()
}

/// Returns the size of the smallest common alphabet that has all characters of the text.
fn alphabet(text: &[u8]) -> u32 {
    let has = |class: fn(&u8) -> bool| text.iter().any(class);
    let (lower, upper, digit) =
        (has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase), has(u8::is_ascii_digit));
    let hex = text.iter().filter(|byte| byte.is_ascii_alphanumeric()).all(u8::is_ascii_hexdigit);
    if hex && !(lower && upper) {
        return 16;
    }
    (26 * u32::from(lower) + 26 * u32::from(upper) + 10 * u32::from(digit)).max(10)
}

const LOWER: usize = 0;
const UPPER: usize = 1;
const DIGIT: usize = 2;
const OTHER: usize = 3;
const START: usize = 4;

const fn class_of(byte: u8) -> usize {
    match byte {
        b'a'..=b'z' => LOWER,
        b'A'..=b'Z' => UPPER,
        b'0'..=b'9' => DIGIT,
        _ => OTHER,
    }
}

/// Number of units of the tables per bit.
const UNITS: f64 = 8.0;

/// The row for the first letter of a word.
const START_OF_WORD: usize = 26;

// Both tables are based on the 267,000 names and dotted paths of 4 to 41 characters in 63 MB of Rust, C,
// Python and Markdown from published crates. We weight a name by the power 0.4 of the number of files that
// contain it, and ignore names in fewer than three files.

/// Surprisal of a class after another one, in eighths of a bit. The last row is for the first character.
#[rustfmt::skip]
const CLASSES: [[u8; 4]; 5] = [
    [1, 47, 55, 30],
    [15, 6, 51, 28],
    [38, 39, 3, 20],
    [2, 23, 40, 52],
    [4, 15, 134, 47],
];

/// Surprisal of a letter after another one in the same word, in eighths of a bit, from `a` to `z`.
#[rustfmt::skip]
const LETTERS: [[u8; 26]; 27] = [
    [75, 38, 31, 29, 96, 57, 39, 79, 40, 90, 52, 24, 36, 27, 96, 34, 94, 25, 30, 21, 51, 55, 51, 51, 47, 78],
    [28, 67, 50, 55, 29, 61, 80, 60, 25, 47, 95, 19, 51, 75, 26, 56, 100, 40, 36, 52, 21, 78, 88, 94, 27, 93],
    [26, 73, 46, 74, 25, 59, 68, 24, 38, 130, 28, 36, 56, 63, 18, 53, 71, 38, 46, 25, 41, 56, 84, 89, 59, 130],
    [28, 63, 64, 34, 11, 53, 59, 83, 23, 73, 94, 38, 66, 59, 30, 62, 76, 35, 34, 54, 39, 51, 56, 69, 48, 125],
    [32, 63, 32, 27, 48, 46, 45, 75, 61, 84, 65, 30, 40, 25, 60, 47, 54, 19, 25, 31, 64, 49, 57, 34, 60, 100],
    [28, 67, 54, 42, 29, 25, 51, 97, 17, 121, 67, 31, 58, 55, 26, 58, 99, 27, 35, 44, 36, 121, 65, 84, 50, 121],
    [36, 64, 70, 74, 12, 72, 40, 35, 29, 118, 83, 41, 34, 31, 39, 61, 72, 28, 30, 47, 36, 72, 73, 81, 64, 71],
    [18, 74, 73, 54, 15, 74, 80, 94, 25, 117, 83, 64, 43, 54, 25, 70, 117, 28, 54, 34, 37, 88, 51, 117, 55, 117],
    [40, 51, 33, 37, 39, 44, 38, 103, 67, 103, 70, 34, 34, 15, 28, 46, 80, 46, 32, 24, 85, 44, 98, 54, 137, 37],
    [35, 89, 54, 89, 14, 73, 67, 52, 25, 89, 64, 89, 73, 89, 19, 42, 89, 71, 20, 54, 27, 89, 89, 72, 89, 89],
    [36, 65, 53, 47, 8, 58, 64, 73, 20, 108, 79, 54, 63, 40, 51, 49, 81, 66, 27, 43, 55, 63, 60, 108, 65, 108],
    [29, 68, 61, 35, 17, 29, 73, 81, 21, 130, 65, 28, 80, 69, 24, 55, 106, 69, 46, 37, 36, 67, 75, 130, 35, 90],
    [17, 40, 59, 52, 16, 75, 78, 84, 27, 125, 73, 49, 38, 59, 32, 24, 68, 70, 38, 56, 31, 82, 93, 99, 67, 90],
    [31, 67, 32, 24, 26, 44, 23, 72, 35, 79, 49, 53, 71, 46, 33, 53, 96, 67, 30, 20, 42, 50, 62, 88, 57, 87],
    [48, 52, 30, 38, 65, 44, 52, 84, 44, 76, 47, 35, 30, 18, 45, 34, 103, 20, 36, 38, 32, 46, 38, 64, 74, 92],
    [21, 67, 53, 59, 22, 55, 66, 48, 35, 126, 71, 29, 75, 73, 24, 34, 89, 23, 40, 27, 35, 61, 64, 79, 54, 126],
    [94, 52, 62, 50, 62, 94, 94, 76, 56, 94, 94, 78, 76, 51, 70, 65, 94, 48, 50, 72, 1, 94, 73, 94, 94, 94],
    [25, 69, 44, 41, 15, 56, 47, 84, 25, 134, 53, 54, 39, 43, 26, 64, 86, 37, 33, 33, 42, 53, 64, 75, 38, 103],
    [43, 60, 35, 67, 15, 68, 56, 36, 26, 87, 51, 47, 58, 61, 37, 38, 81, 66, 33, 18, 37, 75, 60, 95, 33, 74],
    [27, 80, 45, 53, 17, 53, 75, 31, 21, 111, 89, 51, 57, 75, 26, 57, 92, 26, 35, 42, 43, 74, 66, 63, 37, 87],
    [43, 41, 37, 54, 29, 40, 47, 107, 35, 126, 107, 28, 32, 20, 64, 35, 126, 28, 25, 23, 72, 94, 110, 63, 126, 81],
    [16, 76, 68, 69, 7, 62, 63, 76, 24, 114, 93, 63, 50, 65, 43, 65, 80, 73, 58, 59, 77, 114, 81, 58, 63, 98],
    [21, 64, 53, 52, 26, 71, 71, 35, 20, 112, 86, 51, 73, 26, 29, 69, 112, 19, 38, 53, 79, 96, 50, 73, 112, 95],
    [31, 65, 32, 68, 24, 52, 76, 45, 28, 105, 105, 68, 55, 77, 43, 21, 86, 69, 57, 11, 55, 71, 70, 53, 50, 105],
    [60, 52, 57, 67, 38, 75, 60, 77, 42, 110, 87, 34, 29, 28, 45, 22, 110, 58, 12, 22, 110, 79, 53, 92, 110, 63],
    [31, 62, 73, 75, 3, 65, 73, 86, 36, 102, 102, 55, 76, 69, 49, 102, 102, 85, 60, 102, 72, 56, 102, 102, 47, 48],
    [34, 37, 31, 35, 35, 34, 46, 45, 31, 65, 55, 39, 35, 40, 41, 32, 62, 32, 22, 33, 40, 43, 42, 52, 75, 68],
];

//! Mutates valid inputs, because most parsers would reject random bytes at their first check.

use crate::entropy::Entropy;
use crate::limits::{INPUT_BYTES_MAX, MUTATIONS};

/// Binary numbers that often break lengths, counts and offsets.
const NUMBERS: [u64; 12] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 60,
    i64::MAX as u64,
    u64::MAX,
];

/// Numbers in text form with the same purpose, and some texts that are not numbers.
const NUMERALS: [&str; 12] = [
    "0",
    "-1",
    "4294967295",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1152921504606846976",
    "1e999",
    "-0.5",
    "NaN",
    "",
];

/// Tokens with a meaning to some parser, and text that is not plain ASCII.
const TOKENS: [&[u8]; 40] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b" ",
    b"\0",
    b"//",
    b"/*",
    b"*/",
    b"#",
    b"!",
    b"**/",
    b"../",
    b"/",
    b"\\u0000",
    b"\\ud83d",
    b"null",
    b"true",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xc3",
    b"\xe2\x80\xa8",
    b"\xf0\x9f\x98\x80",
    b"'''",
    b"\"\"\"",
    b"---",
    b"|",
    b">",
    b"data: ",
    b"=",
    b"*",
    b"?",
];

/// Creates an input from the seeds: one of them with some mutations, or random bytes.
pub fn mutated(seeds: &[Vec<u8>], entropy: &mut Entropy<'_>, max_mutations: usize) -> Vec<u8> {
    let is_random = entropy.byte() >= 0xf0;
    let Some(seed) = entropy.pick(seeds).filter(|_| !is_random) else {
        let count = entropy.below(200);
        return (0..count).map(|_| entropy.byte()).collect();
    };
    let mut input = seed.clone();
    let mutations = 1 + entropy.below(MUTATIONS);
    for _ in 0..mutations.min(max_mutations) {
        mutate(&mut input, seeds, entropy);
    }
    input
}

fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], entropy: &mut Entropy<'_>) {
    let at = entropy.below(input.len() + 1);
    // Most pieces should be short: long ones rarely leave a valid structure.
    let max = if entropy.byte() < 0xc0 { 16 } else { input.len() + 1 };
    let end = (at + entropy.below(max)).min(input.len());
    let room = INPUT_BYTES_MAX.saturating_sub(input.len());
    match entropy.below(13) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << entropy.below(8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = entropy.byte();
            }
        }
        2 => drop(input.drain(at..end)),
        3 => input.truncate(at),
        4 => {
            let piece = input[at..end].to_vec();
            insert(input, at, &piece, room);
        }
        // Inserts many repetitions of one piece.
        5 => {
            let piece = match entropy.below(3) {
                0 => input[at..end.min(at + 4)].to_vec(),
                1 => entropy.pick(&TOKENS).map(|token| token.to_vec()).unwrap_or_default(),
                _ => vec![entropy.byte()],
            };
            let times = 1 << entropy.below(15);
            insert(input, at, &piece.repeat(times), room);
        }
        6 => {
            if let Some(token) = entropy.pick(&TOKENS) {
                insert(input, at, token, room);
            }
        }
        // Replaces a piece by one of another seed.
        7 => {
            if let Some(other) = entropy.pick(seeds) {
                let from = entropy.below(other.len() + 1);
                let to = (from + entropy.below(max.max(64))).min(other.len());
                drop(input.drain(at..end));
                insert(input, at.min(input.len()), &other[from..to], room);
            }
        }
        // Joins the beginning of this input and the end of another seed.
        8 => {
            if let Some(other) = entropy.pick(seeds) {
                let from = at.min(other.len());
                input.truncate(at);
                insert(input, at.min(input.len()), &other[from..], room);
            }
        }
        9 => number(input, at, entropy),
        10 => numeral(input, at, entropy),
        // Swaps two pieces.
        11 => {
            let (length, other) = (end - at, entropy.below(input.len() + 1));
            if other >= end && other + length <= input.len() {
                let (left, right) = input.split_at_mut(other);
                left[at..end].swap_with_slice(&mut right[..length]);
            }
        }
        _ => line(input, at, entropy, room),
    }
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8], room: usize) {
    let piece = &piece[..piece.len().min(room)];
    input.splice(at..at, piece.iter().copied());
}

/// Overwrites bytes with a number of 1, 2, 4 or 8 bytes.
fn number(input: &mut [u8], at: usize, entropy: &mut Entropy<'_>) {
    let width = 1_usize << entropy.below(4);
    // Most formats align their numbers like this.
    let at = if entropy.byte() < 0x80 { at / 4 * 4 } else { at };
    let near = entropy.byte() as i8;
    if let Some(place) = input.get_mut(at..at + width) {
        let old = place.iter().rev().fold(0_u64, |old, byte| old << 8 | u64::from(*byte));
        let new = match entropy.below(3) {
            0 => old.wrapping_add_signed(i64::from(near)),
            _ => entropy.pick(&NUMBERS).copied().unwrap_or_default(),
        };
        place.copy_from_slice(&new.to_le_bytes()[..width]);
    }
}

/// Replaces the next numeral in a text.
fn numeral(input: &mut Vec<u8>, at: usize, entropy: &mut Entropy<'_>) {
    let Some(start) = input[at..].iter().position(u8::is_ascii_digit).map(|start| at + start) else { return };
    let length = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let numeral = entropy.pick(&NUMERALS).copied().unwrap_or_default();
    input.splice(start..start + length, numeral.bytes());
}

/// Repeats or removes the line at an offset.
fn line(input: &mut Vec<u8>, at: usize, entropy: &mut Entropy<'_>, room: usize) {
    let is_feed = |byte: &u8| *byte == b'\n';
    let start = input[..at].iter().rposition(is_feed).map_or(0, |feed| feed + 1);
    let end = input[at..].iter().position(is_feed).map_or(input.len(), |feed| at + feed + 1);
    match entropy.below(2) {
        0 => drop(input.drain(start..end)),
        _ => {
            let line = input[start..end].to_vec();
            insert(input, end, &line, room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::bytes_of;

    #[test]
    fn inputs_are_bounded_and_always_the_same() {
        let seeds = crate::seeds([&b"{\"a\": 17}\nsecond\n"[..], b"\x01\x02\x03\x04\x05\x06\x07\x08", b""]);
        let mut changed = 0;
        for seed in 0..20_000 {
            let entropy = bytes_of(seed, 512);
            let input = mutated(&seeds, &mut Entropy::new(&entropy), MUTATIONS);
            assert!(input.len() <= INPUT_BYTES_MAX + 64, "{seed}: {}", input.len());
            assert_eq!(input, mutated(&seeds, &mut Entropy::new(&entropy), MUTATIONS), "{seed}");
            changed += usize::from(!seeds.contains(&input));
        }
        assert!(changed > 10_000, "{changed}");
    }
}

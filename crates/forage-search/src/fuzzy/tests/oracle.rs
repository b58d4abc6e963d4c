//! A naive implementation of the definition of a fuzzy match that does not use the graph.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::event::Span;

/// The cost of an impossible match.
const NEVER: u32 = u32::MAX / 4;

/// A character of the text.
#[derive(Clone, Copy)]
pub(super) enum Character {
    Scalar(char),
    Byte(u8),
}

/// Splits a line into characters. Also returns the byte offset of each one and of the end of the line.
pub(super) fn characters(line: &[u8]) -> (Vec<Character>, Vec<usize>) {
    let (mut characters, mut places, mut at) = (Vec::new(), Vec::new(), 0);
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            characters.push(Character::Scalar(c));
            places.push(at);
            at += c.len_utf8();
        }
        for &byte in chunk.invalid() {
            characters.push(Character::Byte(byte));
            places.push(at);
            at += 1;
        }
    }
    places.push(at);
    (characters, places)
}

/// `cost[i][j]` is the minimum number of edits that makes the characters from `i` to `j` a match of a node.
pub(super) type Costs = Vec<Vec<u32>>;

pub(super) fn costs(hir: &Hir, text: &[Character]) -> Costs {
    let by = |cost: &dyn Fn(usize, usize) -> u32| -> Costs {
        let row = |i: usize| (0..=text.len()).map(|j| if i <= j { cost(i, j) } else { NEVER }).collect();
        (0..=text.len()).map(row).collect()
    };
    let inserted = || by(&|i, j| (j - i) as u32);
    let one = |fits: &dyn Fn(Character) -> bool| {
        by(&|i, j| match text[i..j].iter().any(|&c| fits(c)) {
            true => (j - i - 1) as u32,
            false => ((j - i) as u32).max(1),
        })
    };
    match hir.kind() {
        HirKind::Empty => inserted(),
        HirKind::Look(look) => by(&|i, j| match (i..=j).any(|at| holds(*look, text, at)) {
            true => (j - i) as u32,
            false => NEVER,
        }),
        HirKind::Literal(literal) => characters(&literal.0).0.into_iter().fold(inserted(), |all, wanted| {
            let equals = |found: Character| match (wanted, found) {
                (Character::Scalar(wanted), Character::Scalar(found)) => wanted == found,
                (Character::Byte(wanted), Character::Byte(found)) => wanted == found,
                _ => false,
            };
            product(&all, &one(&equals))
        }),
        HirKind::Class(Class::Unicode(class)) => one(&|found| match found {
            Character::Scalar(found) => {
                class.iter().any(|range| (range.start()..=range.end()).contains(&found))
            }
            Character::Byte(_) => false,
        }),
        HirKind::Class(Class::Bytes(class)) => one(&|found| {
            let byte = match found {
                Character::Scalar(found) if found.is_ascii() => found as u8,
                Character::Scalar(_) => return false,
                Character::Byte(found) => found,
            };
            class.iter().any(|range| (range.start()..=range.end()).contains(&byte))
        }),
        HirKind::Capture(capture) => costs(&capture.sub, text),
        HirKind::Concat(parts) => {
            parts.iter().fold(inserted(), |all, part| product(&all, &costs(part, text)))
        }
        HirKind::Alternation(branches) => {
            let never = by(&|_, _| NEVER);
            branches.iter().fold(never, |all, branch| least(&all, &costs(branch, text)))
        }
        HirKind::Repetition(repetition) => {
            let copy = costs(&repetition.sub, text);
            let all = (0..repetition.min).fold(inserted(), |all, _| product(&all, &copy));
            let mut extra = inserted();
            let mut copies = repetition.min;
            while repetition.max.is_none_or(|max| copies < max) {
                let more = least(&extra, &product(&extra, &copy));
                if more == extra {
                    break;
                }
                (extra, copies) = (more, copies + 1);
            }
            product(&all, &extra)
        }
    }
}

fn least(left: &Costs, right: &Costs) -> Costs {
    let row = |(left, right): (&Vec<u32>, &Vec<u32>)| {
        left.iter().zip(right).map(|(left, right)| *left.min(right)).collect()
    };
    left.iter().zip(right).map(row).collect()
}

fn product(left: &Costs, right: &Costs) -> Costs {
    let size = left.len();
    let mut all = vec![vec![NEVER; size]; size];
    for i in 0..size {
        for j in i..size {
            all[i][j] = (i..=j).map(|middle| left[i][middle] + right[middle][j]).min().unwrap().min(NEVER);
        }
    }
    all
}

fn holds(look: Look, text: &[Character], at: usize) -> bool {
    use regex_automata::util::look::{Look as TextLook, LookMatcher};
    let ascii = |side: Option<&Character>| match side {
        Some(Character::Scalar(c)) => c.is_ascii_alphanumeric() || *c == '_',
        _ => false,
    };
    let (before, after) = (at.checked_sub(1).map(|before| &text[before]), text.get(at));
    let unicode = match look {
        Look::Start | Look::StartLF => return before.is_none(),
        Look::End | Look::EndLF => return after.is_none(),
        Look::EndCRLF => return matches!(after, None | Some(Character::Scalar('\r'))),
        Look::WordAscii => return ascii(before) != ascii(after),
        Look::WordAsciiNegate => return ascii(before) == ascii(after),
        Look::WordUnicode => TextLook::WordUnicode,
        Look::WordUnicodeNegate => TextLook::WordUnicodeNegate,
        Look::WordStartUnicode => TextLook::WordStartUnicode,
        Look::WordEndUnicode => TextLook::WordEndUnicode,
        Look::WordStartHalfUnicode => TextLook::WordStartHalfUnicode,
        Look::WordEndHalfUnicode => TextLook::WordEndHalfUnicode,
        other => panic!("{other:?} is not in the tests"),
    };
    // Word boundaries next to invalid UTF-8 follow the engine of exact search, which sees the `b` in `b`
    // followed by a stray continuation byte.
    let bytes = |characters: &[Character]| -> Vec<u8> {
        let one = |character: &Character| match character {
            Character::Scalar(c) => c.to_string().into_bytes(),
            Character::Byte(byte) => vec![*byte],
        };
        characters.iter().flat_map(one).collect()
    };
    LookMatcher::new().matches(unicode, &bytes(text), bytes(&text[..at]).len())
}

/// Computes the spans of a line by the definition: rounds of increasing distance, gaps from left to right.
pub(super) fn spans(hir: &Hir, line: &[u8], edits: u32) -> Vec<Span> {
    let (text, places) = characters(line);
    let costs = costs(hir, &text);
    let mut taken = vec![false; text.len()];
    let mut spans = Vec::new();
    for distance in 0..=edits {
        let before = taken.clone();
        let mut start = 0;
        while start < text.len() {
            // A match must be between the matches of earlier rounds.
            let end = (start..text.len()).find(|&at| before[at]).unwrap_or(text.len());
            let longest = (start + 1..=end).rev().find(|&end| costs[start][end] <= distance);
            match longest {
                Some(end) => {
                    taken[start..end].fill(true);
                    spans.push(Span { start: places[start], end: places[end], distance: distance as u8 });
                    start = end;
                }
                None => start += 1,
            }
        }
    }
    spans.sort_by_key(|span| span.start);
    spans
}

/// Sellers' algorithm (1980): the minimum distance between a literal and any part of a text.
pub(super) fn sellers(literal: &[char], text: &[char]) -> usize {
    let mut column: Vec<usize> = (0..=literal.len()).collect();
    let mut best = literal.len();
    for &found in text {
        let mut diagonal = column[0];
        for (row, &wanted) in literal.iter().enumerate() {
            let substituted = diagonal + usize::from(wanted != found);
            diagonal = column[row + 1];
            column[row + 1] = substituted.min(diagonal + 1).min(column[row] + 1);
        }
        best = best.min(column[literal.len()]);
    }
    best
}

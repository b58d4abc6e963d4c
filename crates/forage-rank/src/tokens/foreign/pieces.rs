//! Segments text without spaces into entries of the table, function words and the rest.

use super::table::{Language, Lexicon, SenseMatch};
use crate::tokens::{is_southeast_asian, starts_syllable};

/// Costs of pieces. We choose the segmentation with the lowest sum. Long entries are more likely than short
/// ones, and any entry is more likely than unknown letters.
const ENTRY: f32 = 1.0;
const SHORT_ENTRY: f32 = 1.6;
const FUNCTION: f32 = 1.3;
const SHORT_FUNCTION: f32 = 1.7;
const UNKNOWN: f32 = 3.0;
const UNKNOWN_HIRAGANA: f32 = 1.8;

/// Maximum number of letters of a word of Thai, Khmer or Lao that is often part of longer ones.
const SHORT_WORD: usize = 2;

/// A piece of a text without spaces.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece<'a> {
    Entry(&'a str, SenseMatch),
    Function,
    Unknown(&'a str),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PieceKind {
    Entry,
    Function,
    Unknown,
}

/// Splits a text so that as little as possible remains unknown.
pub(super) fn pieces(text: &str, language: Language) -> Vec<Piece<'_>> {
    let Some(lexicon) = Lexicon::for_language(language) else { return vec![Piece::Unknown(text)] };
    let starts = text.char_indices().map(|(at, _)| at);
    let starts = starts.filter(|&at| at == 0 || !language.is_southeast_asian() || starts_syllable(text, at));
    let offsets: Vec<usize> = starts.chain([text.len()]).collect();
    let count = offsets.len() - 1;
    let mut best = vec![(f32::INFINITY, 0, PieceKind::Unknown); count + 1];
    best[0].0 = 0.0;
    for start in 0..count {
        let from = best[start].0;
        let mut reach = |end: usize, cost: f32, kind: PieceKind| {
            if from + cost < best[end].0 {
                best[end] = (from + cost, start, kind);
            }
        };
        for end in start + 1..=count.min(start + lexicon.longest) {
            let piece = &text[offsets[start]..offsets[end]];
            let is_short = end == start + 1;
            if lexicon.has(piece) {
                reach(end, if is_short { SHORT_ENTRY } else { ENTRY }, PieceKind::Entry);
            }
            if lexicon.function(piece).is_some() {
                reach(end, if is_short { SHORT_FUNCTION } else { FUNCTION }, PieceKind::Function);
            }
        }
        let unknown = if is_hiragana(&text[offsets[start]..]) { UNKNOWN_HIRAGANA } else { UNKNOWN };
        reach(start + 1, unknown, PieceKind::Unknown);
    }
    let mut parts = Vec::new();
    let mut end = count;
    while end > 0 {
        let (_, start, kind) = best[end];
        parts.push((&text[offsets[start]..offsets[end]], kind));
        end = start;
    }
    parts.reverse();
    doubt(&mut parts);
    join(text, &parts, lexicon)
}

/// Treats an entry as unknown if it is probably only part of an unknown word. This is so for one Chinese
/// character or Korean syllable next to an unknown one, for Katakana next to unknown Katakana, for Korean
/// after unknown Korean, and for two letters of Thai, Khmer or Lao next to unknown ones.
fn doubt(parts: &mut [(&str, PieceKind)]) {
    let mut changed = true;
    while changed {
        changed = false;
        for index in 0..parts.len() {
            let (part, kind) = parts[index];
            if kind == PieceKind::Unknown {
                continue;
            }
            let is_southeast_asian = part.starts_with(is_southeast_asian);
            if is_southeast_asian && kind == PieceKind::Function {
                continue;
            }
            let letters = if is_southeast_asian { SHORT_WORD } else { 1 };
            let is_short = part.chars().nth(letters).is_none() && !is_hiragana(part);
            let touches = |other: Option<&(&str, PieceKind)>| {
                other.is_some_and(|(other, kind)| {
                    *kind == PieceKind::Unknown
                        && !is_hiragana(other)
                        && (is_short || is_katakana(part) && is_katakana(other))
                })
            };
            let before = index.checked_sub(1).and_then(|before| parts.get(before));
            let follows_unknown = is_hangul(part)
                && before.is_some_and(|(other, kind)| *kind == PieceKind::Unknown && is_hangul(other));
            if follows_unknown && kind == PieceKind::Entry || touches(before) || touches(parts.get(index + 1))
            {
                parts[index].1 = PieceKind::Unknown;
                changed = true;
            }
        }
    }
}

/// Joins neighbouring unknown pieces, and drops the inflection after an entry.
fn join<'a>(text: &'a str, parts: &[(&'a str, PieceKind)], lexicon: &Lexicon) -> Vec<Piece<'a>> {
    let mut found: Vec<Piece<'a>> = Vec::new();
    let mut at = 0;
    let mut unknown = 0;
    for &(part, kind) in parts {
        let start = at;
        at += part.len();
        match kind {
            PieceKind::Unknown => {
                if let Some(Piece::Unknown(last)) = found.last_mut() {
                    *last = &text[unknown..at];
                    continue;
                }
                let is_inflection =
                    matches!(found.last(), Some(Piece::Entry(..))) && (is_hiragana(part) || part == "ー");
                if !is_inflection {
                    unknown = start;
                    found.push(Piece::Unknown(part));
                }
            }
            PieceKind::Function => found.push(Piece::Function),
            PieceKind::Entry => found.extend(lexicon.exact(part).map(|sense| Piece::Entry(part, sense))),
        }
    }
    found
}

fn is_hiragana(text: &str) -> bool {
    text.starts_with(|c: char| ('\u{3041}'..='\u{309F}').contains(&c))
}

fn is_katakana(text: &str) -> bool {
    text.starts_with(|c: char| ('\u{30A0}'..='\u{30FF}').contains(&c))
}

fn is_hangul(text: &str) -> bool {
    text.starts_with(|c: char| ('\u{AC00}'..='\u{D7A3}').contains(&c))
}

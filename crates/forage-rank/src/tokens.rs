//! Tokenizes code and questions about it.
//!
//! An identifier yields its parts and the whole: `parseHTTPHeader` yields `parse`, `http`, `header` and
//! `parsehttpheader`. Parts are stemmed so that “parsing” matches `parser`. Wholes are kept unchanged, so
//! that an exact name can be distinguished from similar ones.

mod foreign;
mod stem;
mod synonyms;

pub(crate) use foreign::{Translation, translate};
pub(crate) use stem::stem;
pub(crate) use synonyms::{abbreviation, is_question_word, is_weak_word, synonyms};

use unicode_normalization::UnicodeNormalization as _;

use crate::limits;

/// A token of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextToken {
    /// The indexed form: a stem, or the whole of a compound identifier in lower case.
    pub text: String,
    /// The number of parts before it. A whole has the position of its first part.
    pub position: u32,
    /// True for the whole of a compound identifier.
    pub whole: bool,
}

/// Tokenizes a text, for phrases and tests. The index should use [`words`], which does not allocate.
#[must_use]
pub(crate) fn tokens(text: &str) -> Vec<TextToken> {
    let mut found = Vec::new();
    let mut position = 0;
    let mut parts = TokenParts::default();
    for (_, word) in words(text) {
        parts.split(word);
        for (index, part) in parts.iter().enumerate() {
            if index == 0 && parts.is_compound() {
                found.push(TextToken { text: parts.whole().to_owned(), position, whole: true });
            }
            found.push(TextToken {
                text: stem(part).into_owned(),
                position: position + index as u32,
                whole: false,
            });
        }
        position += parts.len() as u32;
    }
    found
}

/// Splits a text into identifiers and words, with their byte offsets: runs of letters, digits and `_`. Each
/// Chinese character is a word because Chinese has no word separators, and so is each syllable of Thai, Khmer
/// and Lao. Runs of Japanese syllables are words of their own.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (start, script) = loop {
            let (script, length) = script(text, at)?;
            if script != Script::None {
                break (at, script);
            }
            at += length;
        };
        loop {
            if script == Script::Letters {
                at += text.as_bytes()[at..]
                    .iter()
                    .take_while(|&&byte| ASCII_LETTERS[usize::from(byte)])
                    .count();
            }
            match self::script(text, at) {
                Some((next, _)) if next == Script::Syllables && at > start && starts_syllable(text, at) => {
                    break;
                }
                Some((next, length)) if next == script => at += length,
                _ => break,
            }
            if script == Script::Ideographs {
                break;
            }
        }
        Some((start, &text[start..at]))
    })
}

/// ASCII bytes that are [`Script::Letters`], which covers nearly all code.
const ASCII_LETTERS: [bool; 256] = {
    let mut letters = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        letters[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    letters
};

/// The class of a character, which determines the characters it forms words with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    /// Not part of a word.
    None,
    /// Letters, digits and `_`.
    Letters,
    Ideographs,
    Hiragana,
    Katakana,
    /// Thai, Khmer and Lao, where vowels and tones belong to a consonant.
    Syllables,
}

/// Determines the script of the character at a byte offset, and its length in bytes.
fn script(text: &str, at: usize) -> Option<(Script, usize)> {
    let byte = *text.as_bytes().get(at)?;
    if byte.is_ascii() {
        let is_letter = ASCII_LETTERS[usize::from(byte)];
        return Some((if is_letter { Script::Letters } else { Script::None }, 1));
    }
    let character = text[at..].chars().next()?;
    let script = match character {
        // Sound marks follow their syllables.
        '\u{3099}' | '\u{309A}' if is_after_katakana(&text[..at]) => Script::Katakana,
        // The long-vowel mark belongs to both kinds of syllables, but mostly to this one.
        '\u{30A0}'..='\u{30FF}' if character != '\u{30FB}' => Script::Katakana,
        '\u{3041}'..='\u{309F}' => Script::Hiragana,
        '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}' => Script::Ideographs,
        _ if is_southeast_asian(character) => Script::Syllables,
        // Combining accents follow their letters.
        '\u{300}'..='\u{36F}' => Script::Letters,
        _ if character.is_alphanumeric() => Script::Letters,
        _ => Script::None,
    };
    Some((script, character.len_utf8()))
}

/// Returns true for the letters, vowels and tones of Thai, Lao and Khmer.
fn is_southeast_asian(character: char) -> bool {
    matches!(character,
        '\u{E01}'..='\u{E3A}' | '\u{E40}'..='\u{E4E}'
        | '\u{E81}'..='\u{ECE}' | '\u{EDC}'..='\u{EDF}'
        | '\u{1780}'..='\u{17D3}' | '\u{17D7}' | '\u{17DC}' | '\u{17DD}')
}

/// Returns true if a syllable of Thai, Lao or Khmer may begin at a byte offset. Words only begin there.
fn starts_syllable(text: &str, at: usize) -> bool {
    // These vowels come before their consonant. The sign after them joins Khmer consonants.
    let joins_next =
        |before: char| matches!(before, '\u{E40}'..='\u{E44}' | '\u{EC0}'..='\u{EC4}' | '\u{17D2}');
    let follows = |character: char| {
        matches!(character,
            '\u{E30}'..='\u{E3A}' | '\u{E45}'..='\u{E4E}'
            | '\u{EB0}'..='\u{EBD}' | '\u{EC6}'..='\u{ECE}'
            | '\u{17B6}'..='\u{17D3}' | '\u{17D7}' | '\u{17DD}')
    };
    !text[..at].chars().next_back().is_some_and(joins_next) && !text[at..].chars().next().is_some_and(follows)
}

fn is_after_katakana(before: &str) -> bool {
    before.chars().next_back().is_some_and(|character| ('\u{30A0}'..='\u{30FF}').contains(&character))
}

/// The parts of one identifier, in reusable buffers.
#[derive(Debug, Default)]
pub(crate) struct TokenParts {
    /// The identifier in lower case, without `_`.
    whole: String,
    /// The ends of the parts within `whole`.
    ends: Vec<usize>,
    lower: String,
}

impl TokenParts {
    /// Splits an identifier at `_`, between lower and upper case, before the last of several capitals
    /// (`HTTPHeader`), and between letters and digits. The digits of a hexadecimal number are one part. An
    /// identifier that isn't ASCII is only split at `_`.
    pub(crate) fn split(&mut self, word: &str) {
        self.whole.clear();
        self.ends.clear();
        let word = word.trim_matches('_');
        if let Some(digits) = hexadecimal(word) {
            self.whole.push_str(digits);
            self.whole.make_ascii_lowercase();
            self.end_part();
        } else if word.is_ascii() {
            self.split_ascii(word.as_bytes());
        } else {
            self.lower.clear();
            self.lower.extend(word.nfc().flat_map(char::to_lowercase));
            for part in self.lower.split('_').filter(|part| !part.is_empty()) {
                self.whole.push_str(part);
                self.ends.push(self.whole.len());
            }
        }
        if self.whole.len() > limits::LONGEST_TOKEN {
            self.whole.clear();
            self.ends.clear();
        }
    }

    fn split_ascii(&mut self, word: &[u8]) {
        for (at, &byte) in word.iter().enumerate() {
            if byte == b'_' {
                self.end_part();
                continue;
            }
            if at > 0 && begins_part(word, at) {
                self.end_part();
            }
            self.whole.push(byte.to_ascii_lowercase() as char);
        }
        self.end_part();
    }

    fn end_part(&mut self) {
        if self.whole.len() > self.ends.last().copied().unwrap_or(0) {
            self.ends.push(self.whole.len());
        }
    }

    /// Returns the number of parts of this identifier.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if this identifier has several parts.
    pub(crate) fn is_compound(&self) -> bool {
        self.ends.len() > 1
    }

    /// Returns this identifier as a whole, without `_`.
    pub(crate) fn whole(&self) -> &str {
        &self.whole
    }

    /// Returns the parts of this identifier in order, in lower case.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let part = &self.whole[start..end];
            start = end;
            part
        })
    }
}

/// Parses the digits of a number such as `0x1F` and `0X1fUL`. If we split these between letters and digits,
/// the parts would be a tenth of all tokens of a kernel, e.g. `a`, `f` and `0`. No query needs these.
fn hexadecimal(word: &str) -> Option<&str> {
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"))?;
    let digits = digits.trim_end_matches(['u', 'U', 'l', 'L']);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then_some(digits)
}

fn begins_part(word: &[u8], at: usize) -> bool {
    let (before, here) = (word[at - 1], word[at]);
    let next_is_lower = word.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    // The plural `s` after capitals (`URLs`) does not begin a part.
    let plural = next_is_lower
        && word[at + 1] == b's'
        && !word.get(at + 2).is_some_and(u8::is_ascii_lowercase)
        && before.is_ascii_uppercase();
    (before.is_ascii_lowercase() && here.is_ascii_uppercase())
        || (before.is_ascii_uppercase() && here.is_ascii_uppercase() && next_is_lower && !plural)
        || (before.is_ascii_digit() != here.is_ascii_digit() && before != b'_')
}

#[cfg(test)]
mod tests;

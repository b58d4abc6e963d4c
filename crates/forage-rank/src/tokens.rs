//! Words of code and of questions about it.
//!
//! An identifier is taken as its parts and as a whole: `parseHTTPHeader` is `parse`, `http`, `header` and
//! `parsehttpheader`. Parts are reduced to stems, so that «parsing» and `parser` meet; wholes are kept as they are,
//! so that a name asked for is told from its relatives.

mod stem;
mod synonyms;

pub(crate) use stem::stem;
pub(crate) use synonyms::{abbreviation, is_question_word, is_weak_word, synonyms};

use unicode_normalization::UnicodeNormalization as _;

use crate::limits;

/// A token of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextToken {
    /// What is indexed: a stem, or the whole of a compound identifier in lower case.
    pub text: String,
    /// Count of parts before it; a whole stands where its first part does.
    pub position: u32,
    /// The whole of a compound identifier.
    pub whole: bool,
}

/// The tokens of a text, for tests and for the curious; the index goes through [`words`] without allocating.
#[must_use]
pub(crate) fn tokens(text: &str) -> Vec<TextToken> {
    let mut found = Vec::new();
    let mut position = 0;
    let mut parts = TokenParts::default();
    for (_, word) in words(text) {
        parts.split(word);
        for (nth, part) in parts.iter().enumerate() {
            if nth == 0 && parts.is_compound() {
                found.push(TextToken { text: parts.whole().to_owned(), position, whole: true });
            }
            found.push(TextToken {
                text: stem(part).into_owned(),
                position: position + nth as u32,
                whole: false,
            });
        }
        position += parts.len() as u32;
    }
    found
}

/// Identifiers and words of a text with their byte offsets: runs of letters, digits and `_`. Chinese characters are
/// words of their own, since nothing divides them, and Japanese syllables are runs beside them.
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

/// Bytes that are [`Script::Letters`] by themselves; nearly all of code.
const ASCII_LETTERS: [bool; 256] = {
    let mut letters = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        letters[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    letters
};

/// What a character may stand beside in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    /// No part of a word.
    None,
    /// Letters, digits and `_`.
    Letters,
    Ideographs,
    Hiragana,
    Katakana,
}

/// The script of the character at a byte, and the character's bytes.
fn script(text: &str, at: usize) -> Option<(Script, usize)> {
    let byte = *text.as_bytes().get(at)?;
    if byte.is_ascii() {
        let is_letter = ASCII_LETTERS[usize::from(byte)];
        return Some((if is_letter { Script::Letters } else { Script::None }, 1));
    }
    let character = text[at..].chars().next()?;
    let script = match character {
        // Marks of sounds stand after their syllables.
        '\u{3099}' | '\u{309A}' if is_after_katakana(&text[..at]) => Script::Katakana,
        // The mark of a long vowel belongs to both kinds of syllables, mostly to this.
        '\u{30A0}'..='\u{30FF}' if character != '\u{30FB}' => Script::Katakana,
        '\u{3041}'..='\u{309F}' => Script::Hiragana,
        '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}' => Script::Ideographs,
        // Accents that stand after their letters.
        '\u{300}'..='\u{36F}' => Script::Letters,
        _ if character.is_alphanumeric() => Script::Letters,
        _ => Script::None,
    };
    Some((script, character.len_utf8()))
}

fn is_after_katakana(before: &str) -> bool {
    before.chars().next_back().is_some_and(|character| ('\u{30A0}'..='\u{30FF}').contains(&character))
}

/// The parts of one identifier, in buffers that are used again.
#[derive(Debug, Default)]
pub(crate) struct TokenParts {
    /// The identifier in lower case, without `_`.
    whole: String,
    /// Ends of the parts within `whole`.
    ends: Vec<usize>,
    lower: String,
}

impl TokenParts {
    /// Splits an identifier at `_`, between lower and upper case, before the last capital of several (`HTTPHeader`),
    /// and between letters and digits. A hexadecimal number is its digits in one.
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

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the whole is another token than its parts.
    pub(crate) fn is_compound(&self) -> bool {
        self.ends.len() > 1
    }

    /// All parts in one.
    pub(crate) fn whole(&self) -> &str {
        &self.whole
    }

    /// The parts in their order, in lower case.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let part = &self.whole[start..end];
            start = end;
            part
        })
    }
}

/// The digits of `0x1F` and `0X1fUL`. Cut between letters and digits, such numbers would be a tenth of all tokens of a
/// kernel, and `a`, `f` and `0` that nobody means.
fn hexadecimal(word: &str) -> Option<&str> {
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"))?;
    let digits = digits.trim_end_matches(['u', 'U', 'l', 'L']);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then_some(digits)
}

fn begins_part(word: &[u8], at: usize) -> bool {
    let (before, here) = (word[at - 1], word[at]);
    let next_is_lower = word.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    // The `s` of a plural of capitals (`URLs`) begins nothing.
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

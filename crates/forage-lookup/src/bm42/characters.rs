//! BERT's classification of characters.
//!
//! The reference is the tokenizers library. Note that its Unicode tables are older than ours, so newer
//! characters may be in another category.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

/// Normalizes a text: lower case, without accents and invisible characters. White space becomes a space, and
/// each Chinese character is surrounded by spaces. Characters are converted one by one, so a final sigma has
/// no special form.
pub(super) fn normalized(text: &str) -> impl Iterator<Item = char> {
    let kept = text.chars().filter(|&character| is_kept(character));
    let spaced = kept.flat_map(|character| {
        let space = is_chinese(character).then_some(' ');
        let character = if character.is_whitespace() { ' ' } else { character };
        space.into_iter().chain([character]).chain(space)
    });
    spaced.nfd().filter(|&character| !is_accent(character)).flat_map(char::to_lowercase)
}

/// Returns true if the character is a word of its own.
pub(super) fn is_punctuation(character: char) -> bool {
    use GeneralCategory::{
        ClosePunctuation, ConnectorPunctuation, DashPunctuation, FinalPunctuation, InitialPunctuation,
        OpenPunctuation, OtherPunctuation,
    };
    if character.is_ascii() {
        return character.is_ascii_punctuation();
    }
    matches!(
        get_general_category(character),
        ConnectorPunctuation
            | DashPunctuation
            | OpenPunctuation
            | ClosePunctuation
            | InitialPunctuation
            | FinalPunctuation
            | OtherPunctuation
    )
}

/// Returns true if this character is kept. Three control characters are white space; the others do not end a
/// word. U+FFFD represents invalid text.
fn is_kept(character: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse};
    match character {
        '\t' | '\n' | '\r' | ' '..='~' => true,
        '\0' | '\u{fffd}' => false,
        _ => !matches!(get_general_category(character), Control | Format | PrivateUse),
    }
}

fn is_accent(character: char) -> bool {
    !character.is_ascii() && get_general_category(character) == GeneralCategory::NonspacingMark
}

/// Returns true for the blocks in the list of the tokenizers library. Hangul and kana are not included: there
/// are spaces between words in Hangul, and BERT does not divide words in kana.
fn is_chinese(character: char) -> bool {
    matches!(
        u32::from(character),
        0x3400..=0x4DBF
            | 0x4E00..=0x9FFF
            | 0xF900..=0xFAFF
            | 0x20000..=0x2A6DF
            | 0x2A700..=0x2B73F
            | 0x2B740..=0x2B81F
            | 0x2B920..=0x2CEAF
            | 0x2F800..=0x2FA1F
    )
}

//! What BERT takes characters for. It is the tokenizers library that counts, whose tables are older than ours: of
//! characters that came into Unicode since, the category may differ.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

/// The characters of a text in lower case, without accents and without what can't be seen; a space for any white space,
/// and spaces around each Chinese character. Lower-cased one by one: a sigma at the end is as any other.
pub(super) fn normalized(text: &str) -> impl Iterator<Item = char> {
    let kept = text.chars().filter(|&character| is_kept(character));
    let spaced = kept.flat_map(|character| {
        let space = is_chinese(character).then_some(' ');
        let character = if character.is_whitespace() { ' ' } else { character };
        space.into_iter().chain([character]).chain(space)
    });
    spaced.nfd().filter(|&character| !is_accent(character)).flat_map(char::to_lowercase)
}

/// Whether the character is a word of its own.
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

/// Of control characters, three are white space; the others don't end a word. U+FFFD stands for what is no text.
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

/// The blocks that the tokenizers library names: neither kana nor hangul, whose words have spaces or are left whole.
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

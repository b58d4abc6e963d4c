//! Whether a value looks like a secret: length, entropy, and the looks of words and code.

use super::mark::MARK;
use crate::limits::{MAX_JUDGED_BYTES, MIN_SECRET_CHARS, MIN_SECRET_ENTROPY};

/// Shannon entropy in bits per byte, over the frequencies within the text itself.
pub(super) fn entropy(text: &str) -> f64 {
    let mut frequencies = [0_u32; 256];
    for byte in text.bytes() {
        frequencies[usize::from(byte)] += 1;
    }
    let length = text.len() as f64;
    let share = |frequency: &u32| f64::from(*frequency) / length;
    frequencies.iter().filter(|frequency| **frequency > 0).map(share).map(|p| -p * p.log2()).sum()
}

/// Whether the text is long and random enough, beside what is filled in at run time.
pub(super) fn is_random(text: &str) -> bool {
    let fixed = without_interpolation(clip(text));
    fixed.chars().count() >= MIN_SECRET_CHARS && entropy(&fixed) >= MIN_SECRET_ENTROPY
}

/// Whether the text has nothing of its own: a variable, a template, or what a redaction left.
pub(super) fn is_filled_in_later(text: &str) -> bool {
    is_variable(text) || text.starts_with('%') || without_interpolation(clip(text)).is_empty()
}

/// `$NAME` of shells, PHP and make. A `$` before a digit begins a password hash instead.
pub(super) fn is_variable(text: &str) -> bool {
    text.strip_prefix('$')
        .is_some_and(|name| name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'))
}

/// The part of a value that verdicts are formed on.
fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_JUDGED_BYTES)]
}

/// The text without `${…}`, `{{…}}`, `{words}` and earlier redactions. Anything else in single braces may be the
/// secret itself, such as an identifier of Windows.
fn without_interpolation(text: &str) -> String {
    let mut fixed = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['{', MARK]) {
        let (before, open) = rest.split_at(start);
        if let Some(marked) = open.strip_prefix(MARK) {
            fixed.push_str(before);
            let mut after = marked.chars();
            after.next();
            rest = after.as_str();
            continue;
        }
        let variable = before.strip_suffix('$');
        let fills = |close: &usize| {
            let inner = &open[1..*close];
            variable.is_some() || inner.starts_with('{') || inner.is_empty() || is_wordy(inner)
        };
        let Some(close) = open.find('}').filter(fills) else {
            fixed.push_str(&rest[..=start]);
            rest = &open[1..];
            continue;
        };
        fixed.push_str(variable.unwrap_or(before));
        rest = open[close + 1..].strip_prefix('}').unwrap_or(&open[close + 1..]);
    }
    fixed.push_str(rest);
    fixed
}

/// Whether the text reads as words: identifiers, paths, prose. Its pieces, split at punctuation and at the humps of
/// camel case, are letters with at most four digits behind, three letters long on average and pronounceable.
pub(super) fn is_wordy(text: &str) -> bool {
    let mut pieces = 0_usize;
    let mut letters = 0_usize;
    for run in clip(text).split(|character: char| !character.is_alphanumeric()) {
        let mut rest = run.len();
        for piece in humps(run) {
            rest -= piece.len();
            let word = piece.trim_end_matches(|character: char| character.is_ascii_digit());
            let digits = piece.len() - word.len();
            // `GPT2Tokenizer` is a name, `K7Mdeng` is not; at the end, `V2` is.
            let scattered = digits > 0 && rest > 0 && word.len() < 3;
            let is_word = digits <= 4 && word.chars().all(char::is_alphabetic) && is_pronounceable(word);
            if scattered || !is_word {
                return false;
            }
            if !word.is_empty() {
                pieces += 1;
                letters += word.chars().count();
            }
        }
    }
    pieces > 0 && letters >= pieces * 3
}

/// The pieces of a run, each beginning where a capital follows anything else.
fn humps(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        let mut previous_upper = true;
        let end = rest.char_indices().find_map(|(at, character)| {
            let hump = character.is_uppercase() && !previous_upper;
            previous_upper = character.is_uppercase();
            hump.then_some(at)
        });
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Whether a run of letters has the vowels of a word. Random letters have a vowel in five at best and are long.
fn is_pronounceable(word: &str) -> bool {
    let length = word.chars().count();
    if length < 8 || !word.is_ascii() {
        return true;
    }
    let vowels = word.bytes().filter(|byte| b"aeiouyAEIOUY".contains(byte)).count();
    length <= 30 && vowels * 6 >= length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_shannons() {
        assert!(entropy("aaaa").abs() < 1e-9);
        assert!((entropy("abcd") - 2.0).abs() < 1e-9);
        assert!((entropy("0123456789abcdef") - 4.0).abs() < 1e-9);
    }

    #[test]
    fn words_and_random_text_are_told_apart() {
        for words in [
            "parser.next_token",
            "process.env.OPENAI_API_KEY_V2",
            "LlamaTokenizerFast",
            "GPT2TokenizerFast",
            "tokio_util::sync::CancellationToken",
            "/etc/ssl/private/server.key",
            "your-api-key-goes-here",
            "Please enter a password",
        ] {
            assert!(is_wordy(words), "{words}");
        }
        for random in [
            "a8f5f167f44f4964e6c998dee827110c",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "Xk9fQ2mLp0ZrT7vBn4Ws",
            "qzkxjvwpmrtbnhgf",
            "123e4567-e89b-12d3-a456-426614174000",
        ] {
            assert!(!is_wordy(random), "{random}");
        }
    }

    #[test]
    fn what_is_filled_in_at_run_time_does_not_count() {
        assert_eq!(without_interpolation("a${B}c{{ d }}e{foo}\u{10fffd}\u{f0000}g[1]"), "aceg[1]");
        assert!(is_random("{123e4567-e89b-12d3-a456-426614174000}"));
        assert!(is_filled_in_later("${PASSWORD}"));
        assert!(is_filled_in_later("$PASSWORD"));
        assert!(is_filled_in_later("%s"));
        assert!(!is_filled_in_later("$2b$12$abc"));
        assert!(!is_random("${SOME_VERY_LONG_NAME_9x8Y7z6W}"));
        assert!(is_random("a8f5f167f44f4964e6c998dee827110c"));
    }
}

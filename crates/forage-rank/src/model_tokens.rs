//! Estimates how many tokens a language model needs for a text.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Estimates how many tokens of OpenAI's o200k vocabulary a text has, with one line feed per line.
///
/// We count what this vocabulary seldom merges: words, split where a capital follows a small letter; groups
/// of three digits; and runs of signs that no letter follows. The weights were fitted to code of the
/// repositories in `bench/long_queries_check.json`. On other commits of these, this estimate is off by 5 %
/// (standard deviation over pieces of some thousand tokens). The number of bytes divided by its mean per
/// token would be off by 14 %.
#[must_use]
pub fn model_tokens(text: &str) -> usize {
    const WORD: usize = 110;
    const DIGITS: usize = 108;
    const SIGNS: usize = 122;
    const LINE: usize = 84;
    const OTHER: usize = 115;
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Class {
        Space,
        Lower,
        Upper,
        Digit,
        Sign,
        Other,
    }
    let mut hundredths = forage_fs::count_lines(text.as_bytes()) as usize * LINE;
    let mut before = Class::Space;
    let mut digits = 0;
    for character in text.chars() {
        let class = match character {
            'a'..='z' => Class::Lower,
            'A'..='Z' => Class::Upper,
            '0'..='9' => Class::Digit,
            '\0'..=' ' => Class::Space,
            '!'..='\x7f' => Class::Sign,
            _ => Class::Other,
        };
        let is_letter = |class| matches!(class, Class::Lower | Class::Upper);
        if before == Class::Sign && class != Class::Sign && !is_letter(class) {
            hundredths += SIGNS;
        }
        digits = if class == Class::Digit { digits + 1 } else { 0 };
        hundredths += match class {
            Class::Lower if !is_letter(before) => WORD,
            Class::Upper if before != Class::Upper => WORD,
            Class::Digit if digits % 3 == 1 => DIGITS,
            Class::Other => OTHER,
            _ => 0,
        };
        before = class;
    }
    if before == Class::Sign {
        hundredths += SIGNS;
    }
    hundredths.div_ceil(100)
}

/// Words that are one token of both o200k and cl100k: alone, after a space, with a capital and next to each
/// other. They take at most one more token after `_`, `-`, `/` or `.`. Of the words with these properties, we
/// chose the most frequent ones in the names of eight projects and 600 published crates.
static WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("model_words.txt").split_ascii_whitespace().collect());

/// Extensions of files that are one token of both vocabularies, together with the dot before.
const EXTENSIONS: [&str; 22] = [
    "c", "cc", "cpp", "cs", "ex", "go", "h", "hpp", "java", "js", "json", "jsx", "lua", "md", "php", "py",
    "rb", "rs", "scala", "sh", "swift", "ts",
];

/// Returns a number that the tokens of a text do not exceed in OpenAI's o200k and cl100k vocabularies, whatever
/// its names are.
///
/// Letters of unknown words count as if the vocabulary had pairs of them at most: two thirds of a token, and a
/// whole one for the rarest letters and for capitals. Other bytes count as one token each, except for groups of
/// digits, single spaces, and line feeds after brackets. For the maps of nine projects, the result is 1.3 to
/// 1.7 times the number of tokens.
#[must_use]
pub fn max_model_tokens(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut tokens, mut at) = (0, 0);
    while let Some(&first) = bytes.get(at) {
        let run = |is_in: fn(&u8) -> bool| bytes[at..].iter().take_while(|byte| is_in(byte)).count();
        let length = match first {
            b'0'..=b'9' => run(u8::is_ascii_digit),
            b' ' => run(|&byte| byte == b' '),
            b'a'..=b'z' | b'A'..=b'Z' => word_length(&bytes[at..]),
            _ => 1,
        };
        let end = at + length;
        tokens += match first {
            b'0'..=b'9' => length.div_ceil(3),
            b' ' => {
                // The last space belongs to the word or sign that follows.
                let is_apart = !bytes.get(end).is_some_and(u8::is_ascii_graphic)
                    || bytes.get(end).is_some_and(u8::is_ascii_digit);
                usize::from(length > 1) + length / 64 + usize::from(is_apart)
            }
            b'a'..=b'z' | b'A'..=b'Z' => word_tokens(text, at, end),
            b'\n' => usize::from(at == 0 || !matches!(bytes[at - 1], b')' | b']')),
            _ => 1,
        };
        at = end;
    }
    tokens
}

/// Returns the length of the first word of these letters: small ones after at most one capital, or capitals.
fn word_length(letters: &[u8]) -> usize {
    let upper = letters.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let lower = letters[upper..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    match (upper, lower) {
        (0 | 1, _) | (_, 0) => upper + lower,
        // The last capital begins the next word.
        _ => upper - 1,
    }
}

/// Counts the tokens of a word of letters.
fn word_tokens(text: &str, start: usize, end: usize) -> usize {
    let (word, bytes) = (&text[start..end], text.as_bytes());
    let before = |count: usize| start.checked_sub(count).map(|at| bytes[at]);
    let is_last = !bytes.get(end).is_some_and(u8::is_ascii_alphabetic);
    if before(1) == Some(b'.')
        && before(2).is_some_and(|byte| byte.is_ascii_alphanumeric())
        && is_last
        && EXTENSIONS.contains(&word)
    {
        return 0;
    }
    // After other characters, a vocabulary may divide the word in another place.
    let is_whole = before(1)
        .is_none_or(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b" \n_-/.".contains(&byte));
    let is_mixed = word.bytes().any(|byte| byte.is_ascii_lowercase());
    if is_whole && is_mixed && WORDS.contains(word.to_ascii_lowercase().as_str()) {
        return 1;
    }
    let thirds = |byte: u8| if byte.is_ascii_uppercase() || b"jqvxz".contains(&byte) { 3 } else { 2 };
    word.bytes().map(thirds).sum::<usize>().div_ceil(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_about_as_the_vocabulary_does() {
        // The expected figures are those of OpenAI's own tokenizer.
        let cases = [
            ("", 0),
            ("fn main() {\n    println!(\"hello {}\", 12345);\n}\n", 14),
            (
                "    def get_user_by_id(self, userId: int) -> Optional[User]:\n        return self.users.get(userId)\n",
                26,
            ),
            ("#include <linux/module.h>\nstatic int __init demo_init(void)\n{\n\treturn -ENOMEM;\n}\n", 20),
        ];
        for (text, tokens) in cases {
            let counted = model_tokens(text);
            assert!(counted.abs_diff(tokens) * 5 <= tokens, "{counted} for {tokens}: {text}");
        }
    }

    /// Texts with the number of their tokens in o200k and cl100k, as counted by gpt-tokenizer 4.0 of npm.
    const COUNTED: &[(&str, usize, usize)] = &[
        ("", 0, 0),
        (
            "./ (43 source files)\n  src/ (40) agent.rs: Agent 90; config.rs: ConfigBuilder 509; error.rs: Error 9\n    body/ (7) build.rs: BodyBuilder 36; mod.rs: Body 100\n",
            55,
            55,
        ),
        (
            "packages/angular_devkit/build_angular/src/utils/bundle-calculator.ts: Size 13; i18n-options.ts: I18nOptions 36\n",
            32,
            32,
        ),
        ("kovimaleru/tupaxedo.rs: WexiborantaTulip 7\n", 18, 21),
        ("qjxzvqjxzvqjxzv", 10, 12),
        ("zxqvbnmwkpljhgfdst", 11, 10),
        ("ywv jkq vzx", 6, 7),
        ("QZJXKWVYBFHGDPMTRLSNCO", 15, 15),
        ("dbYODispatch safeQODisplay ipTUDocumentation", 15, 14),
        ("3f2504e04f8911d39a0c0305e82c3301", 21, 21),
        ("1234567890 00000000", 8, 8),
        ("$$~!@#%^&*()_+|}{:?><", 15, 15),
        ("(no room)\n", 3, 3),
        ("配置/读取器.rs: 初始化 3", 9, 10),
        ("Ёлка/ёжик_ӝӟ.py: Ұқа 12", 17, 23),
        ("🦀🧪👩\u{200d}👩\u{200d}👧\u{200d}👦.md", 19, 26),
        ("é\u{302}ü", 3, 4),
        ("flat-receive issue-similar", 8, 6),
        ("a b c d 1 2 3", 10, 10),
        ("      x\n\n\n  (4)\n", 7, 7),
        (
            "[left out: 16 test, example, document, data and third-party files]\n[not searched: 4 hidden, 1 pruned]\n",
            30,
            30,
        ),
    ];

    #[test]
    fn max_tokens_are_not_exceeded() {
        for &(text, o200k, cl100k) in COUNTED {
            let max = max_model_tokens(text);
            assert!(max >= o200k.max(cl100k), "{max} for {o200k} and {cl100k}: {text}");
        }
        // For ordinary names, it is less than twice as much.
        for &(text, o200k, _) in &COUNTED[1..3] {
            assert!(max_model_tokens(text) < o200k * 2, "{} for {o200k}: {text}", max_model_tokens(text));
        }
    }
}

//! Stems English words as programmers use them.
//!
//! This is more aggressive than Porter's stemmer, to unite the word families in names of code. For example,
//! `serialize`, `serializer`, `serialization` and `serializable` have one stem, and so do `connect`,
//! `connection` and `connector`. We only compare stems with each other and never show them.

use std::borrow::Cow;
use std::sync::LazyLock;

/// A suffix, its replacement, and the minimum number of letters before it.
type SuffixRule = (&'static str, &'static str, usize);

/// Suffixes to remove, each with its replacement and the minimum number of letters that must remain. A suffix
/// must come before the shorter ones that it ends with.
const ENDINGS: &[SuffixRule] = &[
    ("izations", "", 3),
    ("ization", "", 3),
    ("isation", "", 3),
    ("izers", "", 3),
    ("izing", "", 3),
    ("izable", "", 3),
    ("izer", "", 3),
    ("ized", "", 3),
    ("izes", "", 3),
    ("ize", "", 3),
    ("isers", "", 4),
    ("ising", "", 4),
    ("iser", "", 4),
    ("ised", "", 4),
    ("ise", "", 4),
    ("ifications", "ify", 2),
    ("ification", "ify", 2),
    ("ifiers", "ify", 2),
    ("ifier", "ify", 2),
    ("ified", "ify", 2),
    ("ifies", "ify", 2),
    ("ifying", "ify", 2),
    ("iptions", "ib", 3),
    ("iption", "ib", 3),
    ("utions", "ut", 3),
    ("ution", "ut", 3),
    ("ations", "", 3),
    ("ation", "", 3),
    ("ators", "", 3),
    ("ator", "", 3),
    ("atives", "", 3),
    ("ative", "", 3),
    ("ating", "", 3),
    ("ates", "", 3),
    ("ated", "", 3),
    ("ate", "", 3),
    ("itions", "it", 3),
    ("ition", "it", 3),
    ("ctions", "ct", 2),
    ("ction", "ct", 2),
    ("ctors", "ct", 2),
    ("ctor", "ct", 2),
    ("ctive", "ct", 2),
    ("ptions", "pt", 2),
    ("ption", "pt", 2),
    ("rsions", "rs", 2),
    ("rsion", "rs", 2),
    ("ssions", "ss", 2),
    ("ssion", "ss", 2),
    ("ements", "", 4),
    ("ement", "", 4),
    ("ments", "", 4),
    ("ment", "", 4),
    ("ances", "", 4),
    ("ance", "", 4),
    ("ences", "", 4),
    ("ence", "", 4),
    ("encies", "", 4),
    ("ency", "", 4),
    ("able", "", 4),
    ("ible", "", 4),
    ("ables", "", 4),
    ("nesses", "", 4),
    ("ness", "", 4),
    ("fully", "", 4),
    ("ful", "", 4),
    ("ically", "ic", 3),
    ("ities", "", 4),
    ("ity", "", 4),
    ("ally", "", 4),
    ("ly", "", 4),
    ("ives", "", 4),
    ("ive", "", 4),
    ("als", "", 4),
    ("al", "", 4),
    ("ies", "y", 2),
    ("ied", "y", 2),
    ("sses", "ss", 2),
    ("shes", "sh", 2),
    ("ches", "ch", 2),
    ("xes", "x", 2),
    ("ings", "", 3),
    ("ing", "", 3),
    ("ers", "", 3),
    ("er", "", 3),
    ("ors", "", 4),
    ("or", "", 4),
    ("ed", "", 3),
    ("es", "", 3),
    ("s", "", 3),
    // `cookie` must have the stem of `cookies`.
    ("ie", "y", 3),
    ("e", "", 3),
];

/// Plurals of words that end in `s`, in alphabetical order. The endings would treat these like plurals of
/// words in `e` (`databases`).
const PLURALS: &[(&str, &str)] = &[
    ("aliases", "alias"),
    ("atlases", "atlas"),
    ("biases", "bias"),
    ("canvases", "canvas"),
    ("lenses", "lens"),
];

/// The endings by their last letter, so that we only try a handful of them per word.
static BY_LAST_LETTER: LazyLock<Vec<Vec<&'static SuffixRule>>> = LazyLock::new(|| {
    (b'a'..=b'z')
        .map(|last| ENDINGS.iter().filter(|ending| ending.0.as_bytes().ends_with(&[last])).collect())
        .collect()
});

/// Stems a word, which must be in lower case.
#[must_use]
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    let word = match PLURALS.binary_search_by_key(&word, |(plural, _)| plural) {
        Ok(at) => PLURALS[at].1,
        Err(_) => word,
    };
    // The final `s` of `class`, `status` and `analysis` isn't a plural.
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return Cow::Borrowed(word);
    }
    let last = word.as_bytes()[word.len() - 1] - b'a';
    for &&(ending, replacement, least) in BY_LAST_LETTER.get(usize::from(last)).into_iter().flatten() {
        let Some(rest) = word.strip_suffix(ending) else { continue };
        // A stem needs a vowel: `string` is not `str` with a suffix.
        if rest.len() < least || !rest.bytes().any(|byte| b"aeiouy".contains(&byte)) {
            continue;
        }
        if !replacement.is_empty() {
            return Cow::Owned(format!("{rest}{replacement}"));
        }
        return Cow::Borrowed(settle(rest));
    }
    Cow::Borrowed(word)
}

/// Normalises the remainder of a word, e.g. of `running`, `cached` and `cache`. This removes a doubled
/// consonant or a final `e`, so that related words match.
fn settle(rest: &str) -> &str {
    let bytes = rest.as_bytes();
    let [.., before, last] = bytes else { return rest };
    if before == last && !b"aeioulsz".contains(last) {
        return &rest[..rest.len() - 1];
    }
    if *last == b'e' && rest.len() > 3 {
        return &rest[..rest.len() - 1];
    }
    rest
}

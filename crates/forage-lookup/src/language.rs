//! Language data shared by the encodings: Python's definition of a word, stop words and stems of languages,
//! and ids of words.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::sync::OnceLock;

use foldhash::{HashMap, HashMapExt as _, HashSet};
use rust_stemmers::{Algorithm, Stemmer};
use unicode_general_category::{GeneralCategory, get_general_category};

/// The table of languages: FastEmbed's name and a list of stop words for each.
macro_rules! languages {
    ($($language:ident $name:literal $words:expr;)*) => {
        /// A language with stop words and stems in FastEmbed's BM25.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names are those of languages")]
        pub enum Language { $($language),* }

        impl Language {
            /// All languages, by name.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$language),*];

            /// The language's name in FastEmbed, in lower case.
            pub fn name(self) -> &'static str {
                match self { $(Self::$language => $name),* }
            }

            /// FastEmbed's stop words, one per line.
            fn list(self) -> &'static str {
                match self { $(Self::$language => $words),* }
            }

            fn algorithm(self) -> Algorithm {
                match self { $(Self::$language => Algorithm::$language),* }
            }
        }
    };
}

// These are NLTK's lists, as included in Qdrant's engine. FastEmbed has none for Tamil.
languages! {
    Arabic "arabic" include_str!("stop_words/arabic.txt");
    Danish "danish" include_str!("stop_words/danish.txt");
    Dutch "dutch" include_str!("stop_words/dutch.txt");
    English "english" include_str!("stop_words/english.txt");
    Finnish "finnish" include_str!("stop_words/finnish.txt");
    French "french" include_str!("stop_words/french.txt");
    German "german" include_str!("stop_words/german.txt");
    Greek "greek" include_str!("stop_words/greek.txt");
    Hungarian "hungarian" include_str!("stop_words/hungarian.txt");
    Italian "italian" include_str!("stop_words/italian.txt");
    Norwegian "norwegian" include_str!("stop_words/norwegian.txt");
    Portuguese "portuguese" include_str!("stop_words/portuguese.txt");
    Romanian "romanian" include_str!("stop_words/romanian.txt");
    Russian "russian" include_str!("stop_words/russian.txt");
    Spanish "spanish" include_str!("stop_words/spanish.txt");
    Swedish "swedish" include_str!("stop_words/swedish.txt");
    Tamil "tamil" "";
    Turkish "turkish" include_str!("stop_words/turkish.txt");
}

impl Language {
    /// Looks up the language with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.name() == name)
    }

    /// Returns true if FastEmbed leaves out this word, which must be in lower case.
    pub(crate) fn is_stop_word(self, word: &str) -> bool {
        static SETS: [OnceLock<HashSet<&str>>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        SETS[self as usize].get_or_init(|| self.list().lines().collect()).contains(word)
    }
}

/// How FastEmbed's BM25 treats the words of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prose {
    /// Stop words of the language are left out, and the other words are stemmed.
    Stemmed(Language),
    /// Every word is kept unchanged, including stop words (FastEmbed's `disable_stemmer`). The language does
    /// not matter then.
    AsWritten,
}

impl Default for Prose {
    /// FastEmbed's default, which is English.
    fn default() -> Self {
        Self::Stemmed(Language::English)
    }
}

impl Prose {
    /// Iterates over all treatments.
    pub fn all() -> impl Iterator<Item = Self> {
        Language::ALL.into_iter().map(Self::Stemmed).chain([Self::AsWritten])
    }

    /// Formats the part of a contract that names the treatment.
    pub(crate) fn parameters(self) -> String {
        match self {
            Self::Stemmed(language) => format!("language={}", language.name()),
            Self::AsWritten => "language=any stemmer=off".to_owned(),
        }
    }

    /// Returns true if a word in lower case is left out.
    pub(crate) fn is_stop_word(self, word: &str) -> bool {
        matches!(self, Self::Stemmed(language) if language.is_stop_word(word))
    }

    /// Creates the stemmer.
    pub(crate) fn stems(self) -> Stems {
        let stemmer = match self {
            Self::Stemmed(language) => Some(Stemmer::create(language.algorithm())),
            Self::AsWritten => None,
        };
        Stems { stemmer }
    }
}

/// Implements `\w` of Python's `re` for text: letters, numbers of any kind, and `_`. Note that Rust's
/// `is_alphanumeric` differs, since it includes combining marks.
pub(crate) fn is_word_character(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || character == '_';
    }
    use GeneralCategory::{
        DecimalNumber, LetterNumber, LowercaseLetter, ModifierLetter, OtherLetter, OtherNumber,
        TitlecaseLetter, UppercaseLetter,
    };
    matches!(
        get_general_category(character),
        UppercaseLetter
            | LowercaseLetter
            | TitlecaseLetter
            | ModifierLetter
            | OtherLetter
            | DecimalNumber
            | LetterNumber
            | OtherNumber
    )
}

/// Computes FastEmbed's dimension of a word: the absolute value of its 32-bit murmur3 hash as a signed
/// number.
pub(crate) fn dimension(word: &str) -> u32 {
    (murmur3_32::Murmur3::hash(0, word.as_bytes()) as i32).unsigned_abs()
}

/// Stems words with Snowball's algorithms; for English this is Porter2.
pub(crate) struct Stems {
    /// `None` to keep words unchanged.
    stemmer: Option<Stemmer>,
}

impl Stems {
    /// Stems a word, which must be in lower case.
    pub(crate) fn stem<'a>(&self, word: &'a str) -> Cow<'a, str> {
        match &self.stemmer {
            Some(stemmer) => stemmer.stem(word),
            None => Cow::Borrowed(word),
        }
    }
}

/// Sums the counts of equal words, in order of first occurrence.
pub(crate) fn counts<'a>(words: impl Iterator<Item = (&'a str, u32)>) -> Vec<(&'a str, u32)> {
    let words_of_a_chunk = 256;
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(words_of_a_chunk);
    let mut counts: Vec<(&str, u32)> = Vec::with_capacity(words_of_a_chunk);
    for (word, count) in words {
        match places.entry(word) {
            Entry::Occupied(place) => counts[*place.get()].1 += count,
            Entry::Vacant(place) => {
                place.insert(counts.len());
                counts.push((word, count));
            }
        }
    }
    counts
}

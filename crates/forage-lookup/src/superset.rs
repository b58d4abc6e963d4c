//! FastEmbed's dimensions, unchanged, plus additional dimensions for code.
//!
//! FastEmbed's words are those of prose: `getUserName` and `get_user_name` have nothing in common, `for` is a
//! stop word, and `is_some` gets stemmed. Because idf is counted per dimension, queries in FastEmbed's
//! dimensions give the same results in a collection with this encoding. Queries in the dimensions of code
//! find identifiers in any spelling, and by a part of their words.

use crate::bm25::{CODE_AVERAGE_LENGTH, FastEmbedBm25, weight};
use crate::contract::Contract;
use crate::encoder::{EncodedForm, Encoder, EncodingError};
use crate::language::{Language, Prose, counts, dimension, is_word_character};
use crate::limits;
use crate::vector::SparseVector;

/// The prefix of every code word before hashing. FastEmbed's words contain no control characters, so no code
/// word equals one of them.
const NAMESPACE: char = '\u{1f}';

/// The weight of a pair whose two parts were separate words in the query.
const APART: f64 = 2.0;

/// The kinds of dimensions for code.
#[derive(Clone, Copy)]
enum CodeDimension {
    /// A part of an identifier in lower case.
    Part,
    /// Two nearby parts of one identifier, in order.
    Pair,
    /// A whole identifier in lower case, without separators.
    Joined,
    /// A whole identifier as written.
    Exact,
}

impl CodeDimension {
    fn letter(self) -> char {
        match self {
            Self::Part => 's',
            Self::Pair => 'p',
            Self::Joined => 'j',
            Self::Exact => 'x',
        }
    }

    /// Returns the display name of the kind with this letter.
    fn name(letter: char) -> Option<&'static str> {
        let all =
            [(Self::Part, "part"), (Self::Pair, "pair"), (Self::Joined, "joined"), (Self::Exact, "exact")];
        all.into_iter().find(|(kind, _)| kind.letter() == letter).map(|(_, name)| name)
    }

    /// Builds the word to hash.
    fn word(self, text: &str) -> String {
        let mut word = String::with_capacity(text.len() + 3);
        word.extend([NAMESPACE, self.letter(), ':']);
        word.push_str(text);
        word
    }
}

/// The encoding of collections that Forage fills: identifiers by their parts, joined, and as written.
#[derive(Default)]
pub struct CodeSuperset {
    prose: FastEmbedBm25,
}

impl CodeSuperset {
    /// The name in the configuration.
    pub const NAME: &str = "code-superset";

    /// Creates an encoder for English with FastEmbed's parameters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an encoder whose prose words are those of another language.
    pub fn with_prose(prose: Prose) -> Self {
        Self { prose: FastEmbedBm25::with_prose(prose) }
    }

    /// Returns true for filler words, which are not relevant in a query.
    fn is_filler(&self, word: &str) -> bool {
        match self.prose.prose() {
            Prose::Stemmed(language) => language.is_stop_word(word),
            Prose::AsWritten => Language::English.is_stop_word(word),
        }
    }
}

impl CodeSuperset {
    /// Lists the code words of a document with their counts. Also returns its total number of parts.
    fn document_words(text: &str) -> (Vec<(String, u32)>, usize) {
        let mut words = Vec::new();
        let mut length = 0;
        for (identifier, count) in counts(identifiers(text).map(|identifier| (identifier, 1))) {
            let parts = parts(identifier);
            length += count as usize * parts.len();
            words.extend(parts.iter().map(|part| (CodeDimension::Part.word(part), count)));
            words.extend(pairs(&parts, limits::PAIRED_PARTS).map(|(left, right)| (pair(left, right), count)));
            words.push((CodeDimension::Joined.word(&parts.concat()), count));
            words.push((CodeDimension::Exact.word(identifier), count));
        }
        (words, length)
    }

    /// Lists the code words of a query with their weights, largest weight last.
    fn query_words(&self, text: &str) -> Vec<(String, f64)> {
        let identifiers: Vec<(&str, Vec<String>)> =
            identifiers(text).map(|identifier| (identifier, parts(identifier))).collect();
        // Filler words match everything, so we drop them, unless the query consists only of them.
        let is_filler = |(identifier, _): &(&str, Vec<String>)| self.is_filler(&identifier.to_lowercase());
        let means_fillers = identifiers.iter().all(is_filler);
        let meant: Vec<_> = identifiers.into_iter().filter(|it| means_fillers || !is_filler(it)).collect();
        let mut words = Vec::new();
        for (identifier, parts) in &meant {
            words.extend(parts.iter().map(|part| (CodeDimension::Part.word(part), 1.0)));
            words.push((CodeDimension::Exact.word(identifier), 1.0));
        }
        // Successive words may be one identifier, for example `parse http header`. This identifier gets the
        // sum of their weights, because otherwise a text with the same words in separate places could be
        // ranked before it.
        for first in 0..meant.len() {
            let max = meant.len().min(first + limits::JOINED_WORDS);
            let joined = |last: usize| {
                meant[first..=last].iter().flat_map(|(_, parts)| parts.iter().map(String::as_str))
            };
            let weighed = |last: usize| {
                (CodeDimension::Joined.word(&joined(last).collect::<String>()), (last - first + 1) as f64)
            };
            words.extend((first..max).map(weighed));
        }
        // Users name the words of an identifier in its order. If words that they wrote separately occur in
        // one identifier, this is more significant than parts that were already joined.
        let parts = meant
            .iter()
            .enumerate()
            .flat_map(|(word, (_, parts))| parts.iter().map(move |part| (word, part)));
        let parts: Vec<_> = parts.collect();
        words.extend(pairs(&parts, limits::PAIRED_WORDS).map(|((one, left), (other, right))| {
            (pair(left, right), if one == other { 1.0 } else { APART })
        }));
        // If a dimension occurs several times, its last and largest weight is used.
        words.sort_by(|left, right| left.1.total_cmp(&right.1));
        words
    }
}

impl Encoder for CodeSuperset {
    fn contract(&self) -> Contract {
        self.prose.contract_with_code()
    }

    fn document(&self, text: &str) -> Result<SparseVector, EncodingError> {
        let (words, length) = Self::document_words(text);
        let code = counts(words.iter().map(|(word, count)| (word.as_str(), *count))).into_iter();
        let code = code.map(|(word, count)| (dimension(word), weight(count, length, CODE_AVERAGE_LENGTH)));
        // We must add FastEmbed's weights last, so that they stay unchanged if a code dimension has the same
        // id.
        Ok(SparseVector::new(code.chain(self.prose.weights(text))))
    }

    fn query(&self, text: &str) -> Result<SparseVector, EncodingError> {
        let words = self.query_words(text);
        Ok(SparseVector::new(words.iter().map(|(word, weight)| (dimension(word), *weight))))
    }

    fn words(&self, text: &str, form: EncodedForm) -> Result<Vec<(u32, String)>, EncodingError> {
        let (code, prose): (Vec<String>, _) = match form {
            EncodedForm::Document => {
                let words = Self::document_words(text).0.into_iter();
                (words.map(|(word, _)| word).collect(), self.prose.stems(text))
            }
            EncodedForm::Query => {
                (self.query_words(text).into_iter().map(|(word, _)| word).collect(), Vec::new())
            }
        };
        Ok(code.iter().map(|word| (dimension(word), shown(word))).chain(prose).collect())
    }

    fn needed(&self, name: &str) -> Vec<u32> {
        // The lower case of other letters may depend on adjacent characters.
        if !name.is_ascii() {
            return Vec::new();
        }
        // We leave out hyphenated compounds: a text with more parts joined by hyphens has no dimension for
        // the compound alone.
        let mut words: Vec<String> =
            identifiers(name).filter(|it| !it.contains('-')).map(|it| parts(it).concat()).collect();
        // Longer words are usually rarer.
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        words.dedup();
        words.into_iter().map(|word| dimension(&CodeDimension::Joined.word(&word))).collect()
    }
}

/// Formats a code word for display, for example `joined:parsehttp`.
fn shown(word: &str) -> String {
    let mut characters = word.strip_prefix(NAMESPACE).unwrap_or(word).chars();
    let kind = characters.next().and_then(CodeDimension::name).unwrap_or("word");
    format!("{kind}{}", characters.as_str())
}

/// Iterates over the identifiers, numbers and codes of a text. Hyphenated compounds (e.g. `ORA-00942` or
/// `get-user-name`) are also included as a whole.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let compounds = text
        .split(|character| !is_word_character(character) && character != '-')
        .map(|compound| compound.trim_matches('-'))
        .filter(|compound| compound.contains('-') && !compound.contains("--"));
    let identifiers = text.split(|character| !is_word_character(character));
    identifiers.chain(compounds).filter(|it| {
        it.len() <= limits::IDENTIFIER_BYTES && it.bytes().any(|byte| !matches!(byte, b'_' | b'-'))
    })
}

/// Builds the word of a pair of parts.
fn pair(left: &str, right: &str) -> String {
    CodeDimension::Pair.word(&[left, right].join(" "))
}

/// Iterates over all pairs with a distance of at most `max`, in order.
fn pairs<T>(parts: &[T], max: usize) -> impl Iterator<Item = (&T, &T)> {
    parts
        .iter()
        .enumerate()
        .flat_map(move |(at, left)| parts[at + 1..].iter().take(max).map(move |right| (left, right)))
}

/// Splits an identifier into its parts in lower case: `parseHTTPHeader2` gives `parse`, `http` and `header2`.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for run in identifier.split(['_', '-']).filter(|run| !run.is_empty()) {
        let mut begin = 0;
        let mut characters = run.char_indices().peekable();
        let mut before: Option<char> = None;
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            let begins = before.is_some_and(|before| {
                character.is_uppercase()
                    && (!before.is_uppercase() || next.is_some_and(|next| next.is_lowercase()))
            });
            if begins && at > begin {
                parts.push(run[begin..at].to_lowercase());
                begin = at;
            }
            before = Some(character);
        }
        parts.push(run[begin..].to_lowercase());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> SparseVector {
        CodeSuperset::new().query(text).unwrap()
    }

    /// Counts the dimensions of the query that the document has.
    fn common(document: &str, asked: &str) -> usize {
        let document = CodeSuperset::new().document(document).unwrap();
        query(asked).ids().iter().filter(|id| document.ids().contains(id)).count()
    }

    #[test]
    fn identifiers_have_parts() {
        let cases: &[(&str, &[&str])] = &[
            ("parseHTTPHeader", &["parse", "http", "header"]),
            ("get_user_name", &["get", "user", "name"]),
            ("MAX_BUFFER_SIZE", &["max", "buffer", "size"]),
            ("__init__", &["init"]),
            ("sha256Sum", &["sha256", "sum"]),
            ("E0308", &["e0308"]),
            ("IPv4Addr", &["i", "pv4", "addr"]),
            ("ÜberGröße", &["über", "größe"]),
            ("ORA-00942", &["ora", "00942"]),
        ];
        for (identifier, expected) in cases {
            assert_eq!(&parts(identifier), expected, "{identifier}");
        }
    }

    #[test]
    fn every_spelling_of_an_identifier_has_its_whole_in_common() {
        // Three parts, three pairs and the joined form, plus the exact form if it is equal.
        for (asked, expected) in [
            ("parse_http_header", 7),
            ("parseHttpHeader", 7),
            ("parseHTTPHeader", 8),
            ("parse http header", 7),
            ("parsehttpheader", 1),
            ("parse-http-header", 7),
            ("http header", 3),
            ("parse header", 3),
            ("header parse", 2),
        ] {
            assert_eq!(common("fn parseHTTPHeader() {}", asked), expected, "{asked}");
        }
    }

    #[test]
    fn a_code_with_a_hyphen_is_found_as_a_whole() {
        assert_eq!(common("failed with ORA-00942 here", "ORA-00942"), 9);
        assert_eq!(common("failed with ORA 00942 here", "ORA-00942"), 6);
    }

    #[test]
    fn identifier_weighs_as_much_as_its_separate_words() {
        let weights = |asked: &str| {
            let mut weights = query(asked).weights().to_vec();
            weights.sort_by(f32::total_cmp);
            weights
        };
        assert_eq!(weights("parseHTTPHeader"), [1.0; 8]);
        // Three words, three exact forms, three joined single words; then two joins of two words and three
        // pairs, and one join of three.
        assert_eq!(weights("parse http header")[9..], [2.0, 2.0, 2.0, 2.0, 2.0, 3.0]);
        let (code, whole) = (query("ORA-00942"), dimension(&CodeDimension::Joined.word("ora00942")));
        let at = code.ids().iter().position(|id| *id == whole).unwrap();
        assert_eq!(code.weights()[at], 2.0);
    }

    #[test]
    fn identifier_words_are_paired_in_order_across_gaps() {
        let identifier = "get_user_login_name_id";
        // Each word once, plus their pair unless it is too distant or reversed.
        for (asked, expected) in [("get login", 3), ("get name", 3), ("get id", 2), ("login get", 2)] {
            assert_eq!(common(identifier, asked), expected, "{asked}");
        }
        // Parts of two identifiers are not a pair.
        assert_eq!(common("get_user login_name", "get login"), 2);
    }

    #[test]
    fn fillers_count_in_a_query_of_fillers_alone() {
        assert_eq!(query("the parser of it"), query("parser"));
        assert!(!query("for").is_empty());
        assert!(query(" __ -- ! ").is_empty());
    }

    #[test]
    fn the_dimensions_of_prose_are_untouched() {
        let text = "fn get_user_name(running: Users) -> for the Error in E0308 { naïve() }";
        let prose = FastEmbedBm25::new().document(text).unwrap();
        let all = CodeSuperset::new().document(text).unwrap();
        for (id, weight) in prose.ids().iter().zip(prose.weights()) {
            let at = all.ids().iter().position(|other| other == id).unwrap();
            assert_eq!(all.weights()[at].to_bits(), weight.to_bits());
        }
        assert!(all.ids().len() > prose.ids().len());
        // No query of one of them uses a dimension of the other.
        assert!(query("running users error").ids().iter().all(|id| !prose.ids().contains(id)));
    }
}

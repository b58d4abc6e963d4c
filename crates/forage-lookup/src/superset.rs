//! FastEmbed's dimensions, untouched, and code's own beside them.
//!
//! FastEmbed's words are those of prose: `getUserName` and `get_user_name` have nothing in common, `for` is a stop word,
//! `is_some` has a stem. A collection that is filled by this encoder is answered the same as ever when it is asked in
//! FastEmbed's dimensions, because rarity is counted per dimension; asked in those of code, it finds identifiers however
//! they are spelled, and whoever remembers a part of their words.

use crate::bm25::{CODE_AVERAGE_LENGTH, FastEmbedBm25, weight};
use crate::contract::Contract;
use crate::encoder::{EncodedForm, Encoder, EncodingError};
use crate::language::{Language, Prose, counts, dimension, is_word_character};
use crate::limits;
use crate::vector::SparseVector;

/// Begins every word of code before it is hashed: no text that FastEmbed hashes has a control character in it.
const NAMESPACE: char = '\u{1f}';

/// What two words of a query count that are parts of one identifier.
const APART: f64 = 2.0;

/// What a dimension of code stands for.
#[derive(Clone, Copy)]
enum CodeDimension {
    /// A part of an identifier in lower case.
    Part,
    /// Two parts of one identifier, in their order, that stand near each other.
    Pair,
    /// A whole identifier in lower case without what separates its parts.
    Joined,
    /// A whole identifier as it is written.
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

    /// What people call it.
    fn name(letter: char) -> Option<&'static str> {
        let all =
            [(Self::Part, "part"), (Self::Pair, "pair"), (Self::Joined, "joined"), (Self::Exact, "exact")];
        all.into_iter().find(|(kind, _)| kind.letter() == letter).map(|(_, name)| name)
    }

    /// The word that is hashed.
    fn word(self, text: &str) -> String {
        let mut word = String::with_capacity(text.len() + 3);
        word.extend([NAMESPACE, self.letter(), ':']);
        word.push_str(text);
        word
    }
}

/// The encoding of collections that Forage fills: identifiers by their parts, joined, and as they are written.
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

    /// Creates an encoder whose words of prose are those of another language.
    pub fn with_prose(prose: Prose) -> Self {
        Self { prose: FastEmbedBm25::with_prose(prose) }
    }

    /// Words that stand between those that are meant.
    fn is_filler(&self, word: &str) -> bool {
        match self.prose.prose() {
            Prose::Stemmed(language) => language.is_stop_word(word),
            Prose::AsWritten => Language::English.is_stop_word(word),
        }
    }
}

impl CodeSuperset {
    /// The words of code of a document with their counts, and how many parts it has.
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

    /// The words of code of a query with their weights, the largest last.
    fn query_words(&self, text: &str) -> Vec<(String, f64)> {
        let identifiers: Vec<(&str, Vec<String>)> =
            identifiers(text).map(|identifier| (identifier, parts(identifier))).collect();
        // Words that stand between those that are meant find everything; a query of nothing else means them.
        let is_filler = |(identifier, _): &(&str, Vec<String>)| self.is_filler(&identifier.to_lowercase());
        let means_fillers = identifiers.iter().all(is_filler);
        let meant: Vec<_> = identifiers.into_iter().filter(|it| means_fillers || !is_filler(it)).collect();
        let mut words = Vec::new();
        for (identifier, parts) in &meant {
            words.extend(parts.iter().map(|part| (CodeDimension::Part.word(part), 1.0)));
            words.push((CodeDimension::Exact.word(identifier), 1.0));
        }
        // Words that follow each other may be one identifier: `parse http header`. It counts as much as they do, or text
        // that has each of them often would come before it.
        for first in 0..meant.len() {
            let most = meant.len().min(first + limits::JOINED_WORDS);
            let joined = |last: usize| {
                meant[first..=last].iter().flat_map(|(_, parts)| parts.iter().map(String::as_str))
            };
            let weighed = |last: usize| {
                (CodeDimension::Joined.word(&joined(last).collect::<String>()), (last - first + 1) as f64)
            };
            words.extend((first..most).map(weighed));
        }
        // Who remembers some words of an identifier names them in its order. Words that were typed apart and are found in
        // one identifier say more than parts that were one before.
        let parts = meant
            .iter()
            .enumerate()
            .flat_map(|(word, (_, parts))| parts.iter().map(move |part| (word, part)));
        let parts: Vec<_> = parts.collect();
        words.extend(pairs(&parts, limits::PAIRED_WORDS).map(|((one, left), (other, right))| {
            (pair(left, right), if one == other { 1.0 } else { APART })
        }));
        // Of each dimension the last weight counts.
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
        // FastEmbed's come last, so that they stay what they are where a dimension of code falls on one of them.
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
        if !name.is_ascii() {
            return Vec::new();
        }
        // What hyphens join is a whole of its own only where nothing else is joined to it.
        let mut words: Vec<String> =
            identifiers(name).filter(|it| !it.contains('-')).map(|it| parts(it).concat()).collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        words.dedup();
        words.into_iter().map(|word| dimension(&CodeDimension::Joined.word(&word))).collect()
    }
}

/// A word of code as people read it: `joined:parsehttp`.
fn shown(word: &str) -> String {
    let mut characters = word.strip_prefix(NAMESPACE).unwrap_or(word).chars();
    let kind = characters.next().and_then(CodeDimension::name).unwrap_or("word");
    format!("{kind}{}", characters.as_str())
}

/// The identifiers, numbers and codes of a text, and what hyphens join of them (`ORA-00942`, `get-user-name`) once more
/// as a whole.
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

/// The word of two parts.
fn pair(left: &str, right: &str) -> String {
    CodeDimension::Pair.word(&[left, right].join(" "))
}

/// Every two that are at most so many places apart, in their order.
fn pairs<T>(parts: &[T], most: usize) -> impl Iterator<Item = (&T, &T)> {
    parts
        .iter()
        .enumerate()
        .flat_map(move |(at, left)| parts[at + 1..].iter().take(most).map(move |right| (left, right)))
}

/// The parts of an identifier in lower case: `parseHTTPHeader2` is parse, http, header2.
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

    /// How many dimensions of the query the document has.
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
        // Three parts, as many pairs, and the whole; as it is written once more.
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
    fn words_that_are_one_identifier_weigh_as_much_as_they_do_apart() {
        let weights = |asked: &str| {
            let mut weights = query(asked).weights().to_vec();
            weights.sort_by(f32::total_cmp);
            weights
        };
        assert_eq!(weights("parseHTTPHeader"), [1.0; 8]);
        // Three words, three as they are written, three joined with nothing; two joined of two words and three pairs, one
        // joined of three.
        assert_eq!(weights("parse http header")[9..], [2.0, 2.0, 2.0, 2.0, 2.0, 3.0]);
        let (code, whole) = (query("ORA-00942"), dimension(&CodeDimension::Joined.word("ora00942")));
        let at = code.ids().iter().position(|id| *id == whole).unwrap();
        assert_eq!(code.weights()[at], 2.0);
    }

    #[test]
    fn words_of_one_identifier_are_paired_over_a_gap_and_in_their_order() {
        let identifier = "get_user_login_name_id";
        // Each word once, and their pair unless it is too far, or turned round.
        for (asked, expected) in [("get login", 3), ("get name", 3), ("get id", 2), ("login get", 2)] {
            assert_eq!(common(identifier, asked), expected, "{asked}");
        }
        // Parts of two identifiers are no pair.
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
        // And no query of the one means a dimension of the other.
        assert!(query("running users error").ids().iter().all(|id| !prose.ids().contains(id)));
    }
}

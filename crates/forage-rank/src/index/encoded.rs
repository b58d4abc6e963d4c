//! Encodes tokens as text for the engine.
//!
//! The engine wants text and a tokenizer. But we already have the tokens, with positions that count across
//! all fields of a file. So we write each token once, then a line feed, the steps between its positions as
//! one character each, and another line feed.
//!
//! The engine looks up every occurrence in a table of all terms of a segment, which is far larger than the
//! processor's caches. If all occurrences of a token are consecutive, they find their entry in the cache. So
//! building an index takes a quarter less time than in the order of the text.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher as _;
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};

use super::record::{number, write_number};
use crate::latent::{LatentText, LatentVector, PATH_SHARE, TextKind};
use crate::tokens::{TokenParts, stem, words};

/// The schema's name for the tokenizer that reads encoded text. It ends with the version of the format, which
/// covers how text is split into words, how these are encoded, what a record contains, and which files are
/// secondary by their paths. If you change any of these, you must increment it, so that older indexes are
/// refused. A test compares a sample of the first three.
pub const TOKENIZER: &str = "forage_encoded_12";

/// Added to every step, so that a step can't be a line feed.
const FIRST_STEP: u32 = 0x20;

/// Texts by number, in the order of their first occurrence. They share one string, so that a new text needs
/// no allocation of its own.
#[derive(Debug, Default)]
struct Interner {
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    text: String,
    ends: Vec<usize>,
}

impl Interner {
    fn get(&self, index: u32) -> &str {
        let index = index as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }

    /// Looks up the number of a text. Also returns true if the text is new.
    fn intern(&mut self, text: &str) -> (u32, bool) {
        let hash = self.hasher.hash_one(text);
        if let Some(&index) = self.numbers.find(hash, |&index| self.get(index) == text) {
            return (index, false);
        }
        let index = self.ends.len() as u32;
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let Self { numbers, hasher, text, ends } = self;
        let hash_of = |&index: &u32| {
            let index = index as usize;
            let start = index.checked_sub(1).map_or(0, |before| ends[before]);
            hasher.hash_one(&text[start..ends[index]])
        };
        numbers.insert_unique(hash, index, hash_of);
        (index, true)
    }
}

/// The words of a document. Each distinct word is split and stemmed once.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: Interner,
    tokens: Interner,
    /// The tokens of all words. For a compound, the whole comes first, then the parts.
    word_tokens: Vec<u32>,
    /// The end of each word's tokens.
    word_ends: Vec<usize>,
    parts: TokenParts,
}

impl Vocabulary {
    /// Looks up the tokens of a word: none, one, or the whole of a compound followed by its parts.
    fn tokens_of(&mut self, word: &str) -> &[u32] {
        let (index, is_new) = self.words.intern(word);
        if is_new {
            self.parts.split(word);
            if self.parts.is_compound() {
                self.word_tokens.push(self.tokens.intern(self.parts.whole()).0);
            }
            self.word_tokens.extend(self.parts.iter().map(|part| self.tokens.intern(&stem(part)).0));
            self.word_ends.push(self.word_tokens.len());
        }
        let index = index as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.word_ends[before]);
        &self.word_tokens[start..self.word_ends[index]]
    }
}

/// Positions of tokens in one field, in ascending order.
#[derive(Debug, Default)]
pub(super) struct Occurrences {
    /// Tokens, by their number in the vocabulary, with their positions.
    found: Vec<(u32, u32)>,
    last: u32,
}

impl Occurrences {
    /// Adds the words of a text to this field, and returns the position after the last one.
    pub(super) fn push_words(&mut self, vocabulary: &mut Vocabulary, text: &str, mut position: u32) -> u32 {
        for (_, word) in words(text) {
            match vocabulary.tokens_of(word) {
                [whole, parts @ ..] if !parts.is_empty() => {
                    self.push(*whole, position);
                    (position..).zip(parts).for_each(|(position, &part)| self.push(part, position));
                    position += parts.len() as u32;
                }
                alone => {
                    alone.iter().for_each(|&token| self.push(token, position));
                    position += alone.len() as u32;
                }
            }
        }
        position
    }

    fn push(&mut self, token: u32, position: u32) {
        // The engine needs ascending positions. So a token that would come before the last position gets the
        // last position. This displaces the word a little, but otherwise the difference would become a step
        // of billions.
        self.last = self.last.max(position);
        self.found.push((token, self.last));
    }

    /// Encodes these occurrences as text for the engine's tokenizer.
    pub(super) fn to_text(&self, vocabulary: &Vocabulary) -> String {
        // We use a counting sort because tokens are consecutive numbers from 0.
        let mut starts = vec![0_usize; vocabulary.tokens.ends.len() + 1];
        self.found.iter().for_each(|&(token, _)| starts[token as usize + 1] += 1);
        (1..starts.len()).for_each(|index| starts[index] += starts[index - 1]);
        let mut sorted = vec![0_u32; self.found.len()];
        for &(token, position) in &self.found {
            let next = &mut starts[token as usize];
            sorted[*next] = position;
            *next += 1;
        }
        // After the sort, each start is the end of its token.
        let mut text = String::with_capacity(3 * sorted.len());
        let mut start = 0;
        for (token, &end) in (0_u32..).zip(&starts[..starts.len() - 1]) {
            if start == end {
                continue;
            }
            text.push_str(vocabulary.tokens.get(token));
            text.push('\n');
            let mut before = 0;
            for &position in &sorted[start..end] {
                write_number(&mut text, FIRST_STEP + position - before);
                before = position;
            }
            text.push('\n');
            start = end;
        }
        text
    }
}

/// Computes the latent vector of a file from the words of its path and its lines.
pub(super) fn latent_place(
    vocabulary: &Vocabulary,
    path: &Occurrences,
    lines: &[&Occurrences],
) -> LatentVector {
    let mut counts = vec![0_u32; vocabulary.tokens.ends.len()];
    path.found.iter().for_each(|&(token, _)| counts[token as usize] += PATH_SHARE);
    lines.iter().flat_map(|words| &words.found).for_each(|&(token, _)| counts[token as usize] += 1);
    let mut text = LatentText::default();
    for (token, &count) in (0_u32..).zip(&counts).filter(|(_, count)| **count > 0) {
        text.push(vocabulary.tokens.get(token), TextKind::File, 1.0 + (count as f32).ln());
    }
    text.place()
}

/// Returns the tokenizers of an index: ours, and the engine's own for fields with a single term.
pub(super) fn tokenizers() -> TokenizerManager {
    let tokenizers = TokenizerManager::default();
    tokenizers.register(TOKENIZER, TextAnalyzer::from(Decoder::default()));
    tokenizers
}

#[derive(Clone, Debug, Default)]
struct Decoder {
    token: Token,
}

impl Tokenizer for Decoder {
    type TokenStream<'a> = TokenDecoder<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TokenDecoder<'a> {
        self.token.reset();
        TokenDecoder { rest: text, token: &mut self.token, is_within: false }
    }
}

struct TokenDecoder<'a> {
    /// The unread steps of the token, followed by the rest of the text.
    rest: &'a str,
    token: &'a mut Token,
    is_within: bool,
}

impl TokenStream for TokenDecoder<'_> {
    fn advance(&mut self) -> bool {
        loop {
            if !self.is_within {
                let Some(end) = memchr::memchr(b'\n', self.rest.as_bytes()) else { return false };
                self.token.text.clear();
                self.token.text.push_str(&self.rest[..end]);
                self.token.position = 0;
                (self.rest, self.is_within) = (&self.rest[end + 1..], true);
            }
            let mut characters = self.rest.chars();
            let Some(step) = characters.next() else { return false };
            self.rest = characters.as_str();
            if step != '\n' {
                self.token.position += number(step).saturating_sub(FIRST_STEP) as usize;
                return true;
            }
            self.is_within = false;
        }
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

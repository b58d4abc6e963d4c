//! Tokens on their way into the engine.
//!
//! The engine takes text and a tokenizer. The tokens are known already, with positions that count over all fields of
//! a file, so they are written as text: each token once, a line feed, the steps between its positions as one character
//! each, and a line feed. The engine looks every occurrence up in a table of all terms of a segment, far larger than a
//! processor's caches; occurrences of one token in a row find their entry where the last one left it, and building an
//! index takes a quarter less time than in the order of the text.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher as _;
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};

use super::record::{number, write_number};
use crate::latent::{LatentPlace, LatentText, PATH_SHARE, TextKind};
use crate::tokens::{TokenParts, stem, words};

/// The name that the schema has for the tokenizer that reads encoded text. The number is that of the format: of what
/// words there are in a text, how they are encoded, and what a record has. Whoever changes one of them counts on, and
/// an index of before is refused; a test holds a sample of all three.
pub const TOKENIZER: &str = "forage_encoded_10";

/// What is added to a step, so that none is a line feed.
const FIRST_STEP: u32 = 0x20;

/// Texts by number, in the order in which they came first.
#[derive(Debug, Default)]
struct Interner {
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    text: String,
    ends: Vec<usize>,
}

impl Interner {
    fn get(&self, nth: u32) -> &str {
        let nth = nth as usize;
        let start = nth.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[nth]]
    }

    /// The number of a text, and whether it is new.
    fn intern(&mut self, text: &str) -> (u32, bool) {
        let hash = self.hasher.hash_one(text);
        if let Some(&nth) = self.numbers.find(hash, |&nth| self.get(nth) == text) {
            return (nth, false);
        }
        let nth = self.ends.len() as u32;
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let Self { numbers, hasher, text, ends } = self;
        let hash_of = |&nth: &u32| {
            let nth = nth as usize;
            let start = nth.checked_sub(1).map_or(0, |before| ends[before]);
            hasher.hash_one(&text[start..ends[nth]])
        };
        numbers.insert_unique(hash, nth, hash_of);
        (nth, true)
    }
}

/// The words of a document, each of which is split and reduced to stems once.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: Interner,
    tokens: Interner,
    /// The tokens of all words: of a compound the whole, then the parts.
    word_tokens: Vec<u32>,
    /// Where those of a word end.
    word_ends: Vec<usize>,
    parts: TokenParts,
}

impl Vocabulary {
    /// The tokens of a word: none, one, or the whole of a compound and its parts.
    fn tokens_of(&mut self, word: &str) -> &[u32] {
        let (nth, is_new) = self.words.intern(word);
        if is_new {
            self.parts.split(word);
            if self.parts.is_compound() {
                self.word_tokens.push(self.tokens.intern(self.parts.whole()).0);
            }
            self.word_tokens.extend(self.parts.iter().map(|part| self.tokens.intern(&stem(part)).0));
            self.word_ends.push(self.word_tokens.len());
        }
        let nth = nth as usize;
        let start = nth.checked_sub(1).map_or(0, |before| self.word_ends[before]);
        &self.word_tokens[start..self.word_ends[nth]]
    }
}

/// Where tokens stand in one field, in the order of their positions.
#[derive(Debug, Default)]
pub(super) struct Occurrences {
    /// Tokens by their number in the vocabulary, with their positions.
    found: Vec<(u32, u32)>,
    last: u32,
}

impl Occurrences {
    /// Adds the words of a text; returns the position behind the last.
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
        // Positions only rise. What stands before the last one is put there: a word is a little displaced then, where
        // the difference would be one of billions.
        self.last = self.last.max(position);
        self.found.push((token, self.last));
    }

    /// The text that the engine's tokenizer reads.
    pub(super) fn to_text(&self, vocabulary: &Vocabulary) -> String {
        // Sorted by counting: tokens are numbers from 0 on.
        let mut starts = vec![0_usize; vocabulary.tokens.ends.len() + 1];
        self.found.iter().for_each(|&(token, _)| starts[token as usize + 1] += 1);
        (1..starts.len()).for_each(|nth| starts[nth] += starts[nth - 1]);
        let mut sorted = vec![0_u32; self.found.len()];
        for &(token, position) in &self.found {
            let next = &mut starts[token as usize];
            sorted[*next] = position;
            *next += 1;
        }
        // Each start is now where its token ends.
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

/// What a file is about, by the words of its path and of its lines.
pub(super) fn latent_place(
    vocabulary: &Vocabulary,
    path: &Occurrences,
    lines: &[&Occurrences],
) -> LatentPlace {
    let mut counts = vec![0_u32; vocabulary.tokens.ends.len()];
    path.found.iter().for_each(|&(token, _)| counts[token as usize] += PATH_SHARE);
    lines.iter().flat_map(|words| &words.found).for_each(|&(token, _)| counts[token as usize] += 1);
    let mut text = LatentText::default();
    for (token, &count) in (0_u32..).zip(&counts).filter(|(_, count)| **count > 0) {
        text.push(vocabulary.tokens.get(token), TextKind::File, 1.0 + (count as f32).ln());
    }
    text.place()
}

/// The tokenizers of an index: this one, and that of the engine for what is one term.
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
    /// The steps of the token that are not yet read, and what comes behind them.
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

//! Tokens on their way into the engine.
//!
//! The engine takes text and a tokenizer. The tokens are known already, with positions that count over all fields of
//! a file, so they are written as text: before each the step from the position of the last, as one character, and a
//! line feed behind it. A list of tokens would be an allocation each.

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};

/// What the schema calls the tokenizer that reads it. The number is that of the format: of what words there are in a
/// text, how they are encoded, and what a record has. Whoever changes one of them counts on, and an index of before is
/// refused; a test holds a sample of all three.
pub const TOKENIZER: &str = "forage_encoded_3";

/// The character for a step of 0; all before it are left out so that none is a line feed.
const FIRST_STEP: u32 = 0x20;

/// The largest step; characters from 0xD800 on are none.
const LARGEST_STEP: u32 = 0xD000;

/// Tokens of one field, in the order of their positions.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    text: String,
    last: u32,
}

impl Encoded {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), last: 0 }
    }

    pub(super) fn push(&mut self, token: &str, position: u32) {
        // Positions only rise. What stands before the last one is put there: a word is a little displaced then, where
        // the difference would be one of billions.
        let position = position.max(self.last);
        let mut step = position - self.last;
        // A token that nobody can ask for bridges what one character can't.
        while step > LARGEST_STEP {
            self.write("", LARGEST_STEP);
            step -= LARGEST_STEP;
        }
        self.write(token, step);
        self.last = position;
    }

    fn write(&mut self, token: &str, step: u32) {
        self.text.push(char::from_u32(FIRST_STEP + step).unwrap_or(' '));
        self.text.push_str(token);
        self.text.push('\n');
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
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
    type TokenStream<'a> = Decoded<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Decoded<'a> {
        self.token.reset();
        self.token.position = 0;
        Decoded { rest: text, token: &mut self.token }
    }
}

struct Decoded<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl TokenStream for Decoded<'_> {
    fn advance(&mut self) -> bool {
        let mut characters = self.rest.chars();
        let Some(step) = characters.next() else { return false };
        let rest = characters.as_str();
        let end = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        self.token.text.clear();
        self.token.text.push_str(&rest[..end]);
        self.token.position += (step as u32).saturating_sub(FIRST_STEP) as usize;
        self.rest = rest.get(end + 1..).unwrap_or_default();
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

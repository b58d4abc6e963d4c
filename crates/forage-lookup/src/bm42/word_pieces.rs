//! BERT's word pieces: a text becomes words, and a word the longest pieces of a vocabulary from left to right.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::characters::{is_punctuation, normalized};
use super::files::{read, unavailable};
use crate::encoder::EncodingError;
use crate::limits;

/// The file that the tokenizers library writes.
const TOKENIZER: &str = "tokenizer.json";

/// The file that BERT came with: a piece per line.
const VOCABULARY: &str = "vocab.txt";

/// What a piece that doesn't begin a word has before it in the files.
const CONTINUATION: &str = "##";

const BEGIN: &str = "[CLS]";
const END: &str = "[SEP]";
const UNKNOWN: &str = "[UNK]";

/// Tokens that are no words. In a text they stand for themselves; the last two a vocabulary may lack.
const SPECIAL: [&str; 5] = [BEGIN, END, UNKNOWN, "[PAD]", "[MASK]"];

/// A text, cut.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CutText {
    /// What the model reads, with both ends.
    pub(super) tokens: Vec<u32>,
    /// The words of which all pieces are known, punctuation among them.
    pub(super) words: Vec<TextWord>,
}

/// A word of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextWord {
    /// In lower case, without accents; of the last word of a text that is too long maybe the beginning alone.
    pub(super) text: String,
    /// Where its pieces are among the tokens.
    pub(super) places: Range<usize>,
}

/// A vocabulary.
pub(super) struct WordPieces {
    /// Pieces that begin a word.
    begins: HashMap<String, u32>,
    /// Pieces that continue one, without the mark.
    continues: HashMap<String, u32>,
    /// Bytes of the longest piece.
    longest: usize,
    special: Vec<(&'static str, u32)>,
    begin: u32,
    end: u32,
    unknown: u32,
    /// The highest token.
    highest: u32,
    path: PathBuf,
}

impl WordPieces {
    /// From the `tokenizer.json` of a directory, else from its `vocab.txt`.
    pub(super) fn open(directory: &Path) -> Result<Self, EncodingError> {
        let path = directory.join(TOKENIZER);
        if let Some(text) = read(&path, limits::VOCABULARY_BYTES)? {
            let pieces = tokenizer_pieces(&text).map_err(|what| unavailable(&path, &what))?;
            return Self::new(pieces, path);
        }
        let path = directory.join(VOCABULARY);
        if let Some(text) = read(&path, limits::VOCABULARY_BYTES)? {
            let pieces = text.lines().map(str::to_owned).zip(0..).collect();
            return Self::new(pieces, path);
        }
        Err(unavailable(
            directory,
            &format!("holds neither {TOKENIZER} nor {VOCABULARY}; put one of all-MiniLM-L6-v2 there"),
        ))
    }

    fn new(pieces: Vec<(String, u32)>, path: PathBuf) -> Result<Self, EncodingError> {
        let mut begins = HashMap::new();
        let mut continues = HashMap::new();
        let longest = pieces.iter().map(|(piece, _)| piece.len()).max().unwrap_or_default();
        let highest = pieces.iter().map(|&(_, token)| token).max().unwrap_or_default();
        for (piece, token) in pieces {
            match piece.strip_prefix(CONTINUATION) {
                Some(rest) => continues.insert(rest.to_owned(), token),
                None => begins.insert(piece, token),
            };
        }
        let token = |name: &str| {
            begins.get(name).copied().ok_or_else(|| {
                unavailable(
                    &path,
                    &format!("is no vocabulary of BERT: it lacks {name}; use all-MiniLM-L6-v2's"),
                )
            })
        };
        let (begin, end, unknown) = (token(BEGIN)?, token(END)?, token(UNKNOWN)?);
        let special = SPECIAL.into_iter().filter_map(|name| Some((name, *begins.get(name)?))).collect();
        Ok(Self { begins, continues, longest, special, begin, end, unknown, highest, path })
    }

    /// The highest token that a text can have.
    pub(super) fn highest(&self) -> u32 {
        self.highest
    }

    /// Where the vocabulary is from.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The tokens of a text, `limit` at most with both ends, and what words they are.
    pub(super) fn cut(&self, text: &str, limit: usize) -> CutText {
        let mut cut = CutText { tokens: vec![self.begin], words: Vec::new() };
        let mut rest = text;
        let limit = limit.saturating_sub(1);
        while cut.tokens.len() < limit {
            let Some((plain, token, after)) = self.next_special(rest) else {
                self.cut_plain(rest, limit, &mut cut);
                break;
            };
            self.cut_plain(plain, limit, &mut cut);
            if cut.tokens.len() < limit {
                cut.tokens.push(token);
            }
            rest = after;
        }
        cut.tokens.push(self.end);
        cut
    }

    /// What is before the first token that is no word, the token, and what is after it.
    fn next_special<'a>(&self, text: &'a str) -> Option<(&'a str, u32, &'a str)> {
        text.match_indices('[').find_map(|(at, _)| {
            let mut special = self.special.iter();
            let &(name, token) = special.find(|(name, _)| text[at..].starts_with(name))?;
            Some((&text[..at], token, &text[at + name.len()..]))
        })
    }

    /// Text without such tokens.
    fn cut_plain(&self, text: &str, limit: usize, cut: &mut CutText) {
        let mut word = String::new();
        let mut characters = 0;
        for character in normalized(text) {
            let is_alone = is_punctuation(character);
            if is_alone || character == ' ' {
                self.cut_word(&std::mem::take(&mut word), characters, limit, cut);
                characters = 0;
            }
            if is_alone {
                self.cut_word(character.encode_utf8(&mut [0; 4]), 1, limit, cut);
            } else if character != ' ' {
                // A longer word is unknown, whatever is in it.
                if characters < limits::PIECED_WORD_CHARACTERS {
                    word.push(character);
                }
                characters += 1;
            }
            if cut.tokens.len() >= limit {
                return;
            }
        }
        self.cut_word(&word, characters, limit, cut);
    }

    fn cut_word(&self, word: &str, characters: usize, limit: usize, cut: &mut CutText) {
        if word.is_empty() {
            return;
        }
        let is_short = characters <= limits::PIECED_WORD_CHARACTERS;
        let Some(pieces) = is_short.then(|| self.pieces(word)).flatten() else {
            cut.tokens.push(self.unknown);
            return;
        };
        let first = cut.tokens.len();
        let mut length = 0;
        for (token, end) in pieces.into_iter().take(limit - first) {
            cut.tokens.push(token);
            length = end;
        }
        cut.words.push(TextWord { text: word[..length].to_owned(), places: first..cut.tokens.len() });
    }

    /// The tokens of a word's pieces and where each ends; `None` if the vocabulary lacks one.
    fn pieces(&self, word: &str) -> Option<Vec<(u32, usize)>> {
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < word.len() {
            let vocabulary = if start == 0 { &self.begins } else { &self.continues };
            let ends = (start + 1..=word.len().min(start + self.longest)).rev();
            let (token, end) = ends.filter(|&end| word.is_char_boundary(end)).find_map(|end| {
                let token = vocabulary.get(&word[start..end])?;
                Some((*token, end))
            })?;
            pieces.push((token, end));
            start = end;
        }
        Some(pieces)
    }
}

/// The pieces of a `tokenizer.json` that cuts as BERT for lower-cased text does; else what is wrong with it. Other
/// settings are refused, not followed: ids of a collection would differ, and its contract would not say so.
fn tokenizer_pieces(text: &str) -> Result<Vec<(String, u32)>, String> {
    const ADVICE: &str = "use all-MiniLM-L6-v2's";
    let file: Value =
        serde_json::from_str(text).map_err(|error| format!("is damaged: {error}; {ADVICE}, whole"))?;
    let expected = [
        ("/model/type", Value::from("WordPiece"), false),
        ("/model/unk_token", UNKNOWN.into(), true),
        ("/model/continuing_subword_prefix", CONTINUATION.into(), true),
        ("/model/max_input_chars_per_word", limits::PIECED_WORD_CHARACTERS.into(), true),
        ("/normalizer/type", "BertNormalizer".into(), false),
        ("/normalizer/clean_text", true.into(), true),
        ("/normalizer/handle_chinese_chars", true.into(), true),
        // Where it is null, accents go with the upper case.
        ("/normalizer/strip_accents", true.into(), true),
        ("/normalizer/lowercase", true.into(), true),
        ("/pre_tokenizer/type", "BertPreTokenizer".into(), false),
    ];
    for (pointer, value, may_lack) in expected {
        let found = file.pointer(pointer).unwrap_or(&Value::Null);
        if *found != value && !(may_lack && found.is_null()) {
            let mut found = found.to_string();
            found.truncate(found.floor_char_boundary(80));
            return Err(format!(
                "cuts text in another way than bm42: {pointer} is {found}, not {value}; {ADVICE}"
            ));
        }
    }
    let Some(vocabulary) = file.pointer("/model/vocab").and_then(Value::as_object) else {
        return Err(format!("has no vocabulary at /model/vocab; {ADVICE}"));
    };
    let token = |(piece, token): (&String, &Value)| {
        let token = token.as_u64().and_then(|token| u32::try_from(token).ok());
        token.map(|token| (piece.clone(), token)).ok_or_else(|| {
            let piece = piece.chars().take(80).collect::<String>();
            format!("is damaged: the piece {piece:?} has no number; {ADVICE}, whole")
        })
    };
    vocabulary.iter().map(token).collect()
}

//! Splits code of any language into tokens, without a parser.

use std::sync::LazyLock;

use crate::languages::{LanguageRow, SyntaxQuirk};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// An identifier.
    Name,
    Keyword,
    Number,
    String,
    /// One character of punctuation.
    Sign,
}

/// A token and its line, from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) bytes: &'a [u8],
    pub(super) line: u32,
}

impl Token<'_> {
    /// Returns a hash that is equal for all names, for all numbers and for all strings.
    pub(super) fn shape(&self) -> u64 {
        match self.kind {
            TokenKind::Name => 1,
            TokenKind::Number => 2,
            TokenKind::String => 3,
            TokenKind::Keyword | TokenKind::Sign => hash(self.bytes),
        }
    }
}

/// Keywords of all languages that decide the structure of code. Types and modifiers are not among them,
/// because editing often changes these alone.
const KEYWORDS: &str = "\
    and as async await break case catch class const continue def default defer delete do elif else \
    elseif elsif end enum except export false finally fn for foreach from fun func function go goto if \
    impl import in interface is lambda let loop match mut namespace new nil not null or raise range \
    return select static struct super switch throw trait try type typeof unless until use var when while \
    with yield False None True";

/// Size of the table of keywords. It has few collisions.
const KEYWORD_SLOTS: usize = 1 << 10;

/// [`KEYWORDS`] by their hashes.
static KEYWORD_TABLE: LazyLock<Vec<Vec<&'static [u8]>>> = LazyLock::new(|| {
    let mut table = vec![Vec::new(); KEYWORD_SLOTS];
    for word in KEYWORDS.split(' ') {
        table[keyword_slot(word.as_bytes())].push(word.as_bytes());
    }
    table
});

fn keyword_slot(word: &[u8]) -> usize {
    hash(word) as usize % KEYWORD_SLOTS
}

/// Splits texts of one language.
pub(super) struct Lexer {
    row: &'static LanguageRow,
    /// True for bytes with which a comment may begin.
    begins_comment: [bool; 256],
}

impl Lexer {
    pub(super) fn new(row: &'static LanguageRow) -> Self {
        let mut begins_comment = [false; 256];
        let block = row.block_comments.iter().map(|(start, _)| start);
        for start in row.line_comments.iter().chain(block) {
            start.bytes().next().into_iter().for_each(|byte| begins_comment[usize::from(byte)] = true);
        }
        Self { row, begins_comment }
    }

    /// Visits the tokens of a text in order. Comments and semicolons are no tokens.
    pub(super) fn tokens<'a>(&self, text: &'a str, mut visit: impl FnMut(Token<'a>)) {
        let bytes = text.as_bytes();
        let (mut at, mut line) = (0, 1);
        while let Some(byte) = bytes.get(at) {
            if byte.is_ascii_whitespace() || *byte == b';' {
                line += u32::from(*byte == b'\n');
                at += 1;
            } else if let Some(end) = self.comment_end(bytes, at) {
                line += memchr::memchr_iter(b'\n', &bytes[at..end]).count() as u32;
                at = end;
            } else {
                let (kind, end) = self.token(bytes, at);
                visit(Token { kind, bytes: &bytes[at..end], line });
                at = end;
            }
        }
    }

    fn comment_end(&self, bytes: &[u8], at: usize) -> Option<usize> {
        if !self.begins_comment[usize::from(bytes[at])] {
            return None;
        }
        let rest = &bytes[at..];
        for (start, end) in self.row.block_comments {
            if rest.starts_with(start.as_bytes()) {
                let body = &rest[start.len()..];
                let length = memchr::memmem::find(body, end.as_bytes()).map(|found| found + end.len());
                return Some(at + start.len() + length.unwrap_or(body.len()));
            }
        }
        let is_attribute = rest.starts_with(b"#[") && self.row.has(SyntaxQuirk::Attributes);
        let is_comment = |start: &&str| rest.starts_with(start.as_bytes()) && !is_attribute;
        let end = || memchr::memchr(b'\n', rest).map_or(bytes.len(), |feed| at + feed);
        self.row.line_comments.iter().any(is_comment).then(end)
    }

    /// Returns the kind and the end of the token at a position.
    fn token(&self, bytes: &[u8], at: usize) -> (TokenKind, usize) {
        let first = bytes[at];
        let rest = &bytes[at..];
        if is_name(first) && !first.is_ascii_digit() {
            let end = rest.iter().position(|byte| !is_name(*byte)).unwrap_or(rest.len());
            let word = &rest[..end];
            let is_keyword = KEYWORD_TABLE[keyword_slot(word)].contains(&word);
            return (if is_keyword { TokenKind::Keyword } else { TokenKind::Name }, at + end);
        }
        if first.is_ascii_digit() {
            let is_digit = |at: usize| rest.get(at).is_some_and(u8::is_ascii_digit);
            let belongs = |at: &usize| is_name(rest[*at]) || rest[*at] == b'.' && is_digit(at + 1);
            let length = (0..rest.len()).take_while(belongs).count();
            return (TokenKind::Number, at + length);
        }
        let is_string = match first {
            b'"' | b'`' => true,
            // A character such as `'x'` or `'\n'` is a string, and a lifetime such as `'a` is not.
            b'\'' => {
                let is_character = rest.get(1) == Some(&b'\\') || rest.get(2) == Some(&b'\'');
                is_character || self.row.has(SyntaxQuirk::SingleQuotedStrings)
            }
            _ => false,
        };
        if is_string { (TokenKind::String, at + string_length(rest)) } else { (TokenKind::Sign, at + 1) }
    }
}

/// Returns the length of a string with its quotes. It ends with its line, so that an apostrophe never hides
/// the rest of a file.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' => return at,
            b'\\' if bytes.get(at + 1).is_some_and(|next| *next != b'\n') => at += 2,
            byte if *byte == bytes[0] => return at + 1,
            _ => at += 1,
        }
    }
    at.min(bytes.len())
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

/// Visits the words of a name or a string: each name in it without underscores and in lower case, and the
/// parts of names that consist of several. The hashes of `parse_header` and `parseHeader` are equal.
pub(super) fn words(bytes: &[u8], mut visit: impl FnMut(u64, &[u8])) {
    for name in bytes.split(|byte| !is_name(*byte)) {
        let mut start = 0;
        for at in 1..=name.len() {
            let ends = name.get(at).is_none_or(|next| {
                *next == b'_' || next.is_ascii_uppercase() && name[at - 1].is_ascii_lowercase()
            });
            if ends && (start, at) != (0, name.len()) {
                let part = &name[start..at];
                let part = part.strip_prefix(b"_").unwrap_or(part);
                if part.len() >= PART_BYTES {
                    visit(word_hash(part), part);
                }
            }
            if ends {
                start = at;
            }
        }
        if name.len() > 1 {
            visit(word_hash(name), name);
        }
    }
}

/// Minimum bytes of a part of a name that counts as a word.
const PART_BYTES: usize = 3;

fn word_hash(word: &[u8]) -> u64 {
    let kept = word.iter().filter(|byte| **byte != b'_').map(u8::to_ascii_lowercase);
    mixed(kept.fold(WORD, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME)))
}

/// Hashes bytes with FNV-1a. Collisions do no harm, so that this may be fast.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    mixed(bytes.iter().fold(SHAPE, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME)))
}

/// Start values that keep words apart from tokens.
const WORD: u64 = 0x9ae1_6a3b_2f90_404f;
const SHAPE: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// Spreads a hash over all bits.
pub(super) fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 29)
}

//! Parses texts within limits.

use std::borrow::Cow;
use std::fmt;
use std::ops::{ControlFlow, Range};

use forage_base::{Permit, Permits, Stop};
use tree_sitter::{ParseOptions, ParseState, Parser, Point, Tree};

use crate::language::{Language, Source};
use crate::limits;

/// The reason why a text has no syntax tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The text has more than [`limits::PARSE_BYTES`] bytes, [`limits::PARSE_TOKENS`] tokens or
    /// [`limits::PARSE_BACK_QUOTES`] back quotes, or its brackets are nested deeper than
    /// [`limits::PARSE_NESTING`].
    TooLarge,
    /// Parsing took longer than [`limits::PARSE_TIME`], or the caller stopped it.
    Stopped,
    /// The grammar was built for another version of tree-sitter.
    Grammar,
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooLarge => "the file is too large to parse",
            Self::Stopped => "parsing took too long",
            Self::Grammar => "the grammar is incompatible with this version of tree-sitter",
        })
    }
}

impl std::error::Error for ParseError {}

/// The tokens of all large syntax trees in this process. If a new tree would exceed the maximum, it must wait
/// for the others.
static TREES: Permits = Permits::releasing(limits::PARSE_TOKENS, limits::RELEASING_TREE_TOKENS);

/// A syntax tree, and the permit for its memory.
pub(crate) struct AdmittedTree {
    pub(crate) tree: Tree,
    /// This must be dropped after the tree.
    pub(crate) permit: Option<Permit>,
}

/// Parses a text, or only those parts of it that are in the language.
pub(crate) fn parse(language: &Language, text: &str, stop: &Stop) -> Result<AdmittedTree, ParseError> {
    let parts = match language.row.source {
        Source::Parts(find) => Some(included(text, find(text))),
        _ => None,
    };
    let text = match language.row.source {
        // A masked text of another length would shift all positions, so we must not use it.
        Source::Masked(mask) => Some(mask(text)).filter(|masked| masked.len() == text.len()).map(Cow::Owned),
        _ => None,
    }
    .unwrap_or(Cow::Borrowed(text));
    parse_parts(language.grammar(), &text, parts.as_deref(), stop)
}

/// Parses a text with the given grammar.
pub(crate) fn parse_with(
    grammar: &tree_sitter::Language,
    text: &str,
    stop: &Stop,
) -> Result<AdmittedTree, ParseError> {
    parse_parts(grammar, text, None, stop)
}

fn parse_parts(
    grammar: &tree_sitter::Language,
    text: &str,
    parts: Option<&[tree_sitter::Range]>,
    stop: &Stop,
) -> Result<AdmittedTree, ParseError> {
    if text.len() > limits::PARSE_BYTES || is_hostile(text.as_bytes()) {
        return Err(ParseError::TooLarge);
    }
    let tokens = tokens(text.as_bytes());
    if tokens > limits::PARSE_TOKENS {
        return Err(ParseError::TooLarge);
    }
    let permit = match tokens > limits::SMALL_TREE_TOKENS {
        true => Some(TREES.acquire(tokens, stop).ok_or(ParseError::Stopped)?),
        false => None,
    };
    let mut parser = Parser::new();
    parser.set_language(grammar).map_err(|_| ParseError::Grammar)?;
    if let Some(parts) = parts {
        parser.set_included_ranges(parts).map_err(|_| ParseError::Grammar)?;
    }
    let stop = stop.within(limits::PARSE_TIME);
    let mut go_on = |_: &ParseState| match stop.check() {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    };
    let mut read = |offset: usize, _| text.as_bytes().get(offset..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let tree = parser.parse_with_options(&mut read, None, Some(options)).ok_or(ParseError::Stopped)?;
    Ok(AdmittedTree { tree, permit })
}

/// Counts the tokens of a text, as far as this is possible without a grammar.
fn tokens(text: &[u8]) -> u64 {
    let mut is_in_word = false;
    let begins_token = |byte: &&u8| {
        let is_word = byte.is_ascii_alphanumeric() || **byte == b'_' || !byte.is_ascii();
        let begins = if is_word { !is_in_word } else { !byte.is_ascii_whitespace() };
        is_in_word = is_word;
        begins
    };
    text.iter().filter(begins_token).count() as u64
}

/// Checks whether a text may make a scanner end the process, or run without ever checking the deadline.
fn is_hostile(text: &[u8]) -> bool {
    let mut back_quotes = 0;
    // We also count brackets in strings and comments: few files have hundreds of unclosed ones.
    let mut depths = [0_usize; 3];
    text.iter().any(|byte| {
        match byte {
            b'`' => back_quotes += 1,
            b'(' => depths[0] += 1,
            b'[' => depths[1] += 1,
            b'{' => depths[2] += 1,
            b')' => depths[0] = depths[0].saturating_sub(1),
            b']' => depths[1] = depths[1].saturating_sub(1),
            b'}' => depths[2] = depths[2].saturating_sub(1),
            _ => return false,
        }
        back_quotes > limits::PARSE_BACK_QUOTES || depths.iter().any(|depth| *depth > limits::PARSE_NESTING)
    })
}

/// Adds rows and columns to byte ranges, which must be ascending. If there are none, we return an empty
/// range, because the parser would otherwise read the whole text.
fn included(text: &str, ranges: Vec<Range<usize>>) -> Vec<tree_sitter::Range> {
    let (mut at, mut row, mut line_start) = (0, 0, 0);
    let mut point = |byte: usize| {
        for (offset, _) in text.get(at..byte).unwrap_or_default().match_indices('\n') {
            row += 1;
            line_start = at + offset + 1;
        }
        at = byte;
        Point { row, column: byte - line_start }
    };
    let mut included: Vec<tree_sitter::Range> = Vec::with_capacity(ranges.len().max(1));
    for Range { start, end } in ranges {
        let (start_point, end_point) = (point(start), point(end));
        included.push(tree_sitter::Range { start_byte: start, end_byte: end, start_point, end_point });
    }
    if included.is_empty() {
        let start = Point { row: 0, column: 0 };
        included.push(tree_sitter::Range {
            start_byte: 0,
            end_byte: 0,
            start_point: start,
            end_point: start,
        });
    }
    included
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_words_and_what_is_between() {
        assert_eq!(tokens(b"fn alpha_1(x: u8) -> \xc3\xa9 {\n}\n"), 12);
        assert_eq!(tokens(b" \n\t"), 0);
    }

    /// Regression test: two trees of 2 MiB of short statements took 420 MiB.
    #[test]
    fn file_of_too_many_tokens_is_not_parsed() {
        let rust = Language::for_name("rust", "a.rs").unwrap();
        let dense = "fn f() { ".to_owned() + &"a;".repeat(400_000) + "}";
        assert_eq!(parse(rust, &dense, &Stop::never()).err(), Some(ParseError::TooLarge));
        let sparse = "fn f() { ".to_owned() + &"alphabetical; ".repeat(100_000) + "}";
        assert!(parse(rust, &sparse, &Stop::never()).is_ok());
    }
}

//! Code patterns: matches are nodes of a file's syntax tree.

use std::borrow::Cow;
use std::ops::Range;

use forage_base::Stop;
use forage_fs::RelPath;
use forage_syntax::{CodePattern, ParseError};
use regex_syntax::hir::Hir;

use crate::backtracking::BacktrackError;

/// The matches of a code pattern in one file.
#[derive(Debug, Default)]
pub(crate) struct CodeMatches {
    /// The file's path, which determines its language.
    path: String,
    /// The matches in the file's text; `None` until the first one is requested.
    found: Option<Vec<Range<usize>>>,
}

impl CodeMatches {
    /// Creates the state for a file that has not been searched yet.
    pub(crate) fn for_file(path: &RelPath) -> Self {
        Self { path: String::from_utf8_lossy(path.as_bytes()).into_owned(), found: None }
    }

    pub(crate) fn fits(&self, pattern: &CodePattern) -> bool {
        pattern.fits(&self.path)
    }

    /// Finds the leftmost match in the file's text at or after `at`.
    pub(crate) fn find_at(
        &mut self,
        pattern: &CodePattern,
        (text, at): (&[u8], usize),
        stop: &Stop,
    ) -> Result<Option<Range<usize>>, BacktrackError> {
        let found = match &self.found {
            Some(found) => found,
            None => {
                let text = match std::str::from_utf8(text) {
                    Ok(text) => Cow::Borrowed(text),
                    // We can't use a lossy conversion, because replacement characters would shift all later
                    // offsets.
                    Err(_) => text
                        .iter()
                        .map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' })
                        .collect(),
                };
                // Parsing also stops at a time limit of its own, which skips this file but not the search.
                let found = pattern.find_all(&self.path, &text, stop).map_err(|error| match error {
                    ParseError::Stopped if stop.check().is_some() => BacktrackError::Stopped,
                    ParseError::Stopped | ParseError::TooLarge | ParseError::Grammar => {
                        BacktrackError::TooSlow
                    }
                })?;
                self.found.insert(found)
            }
        };
        Ok(found
            .get(found.partition_point(|range| range.start < at)..)
            .and_then(|rest| rest.first())
            .cloned())
    }
}

/// Builds an expression for the text that every match contains, in the form that the index needs.
pub(crate) fn required(pattern: &CodePattern) -> Hir {
    // The index looks at each line separately, so we require only the longest line of a literal.
    let literal = |text: String| {
        let longest = text.split(['\r', '\n']).max_by_key(|line| line.len()).unwrap_or_default();
        Hir::literal(longest.as_bytes())
    };
    pattern
        .literals()
        .map_or_else(Hir::empty, |texts| Hir::alternation(texts.into_iter().map(literal).collect()))
}

//! Patterns with look-around and backreferences, matched by bounded backtracking.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use fancy_regex::{Regex, RegexBuilder};
use forage_base::Stop;
use grep_matcher::{Captures, Match, Matcher};

use crate::limits;
use crate::pattern::Case;

/// Errors of a [`BacktrackMatcher`].
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum BacktrackError {
    /// The pattern is invalid.
    #[error("{0}")]
    Syntax(String),
    /// Matching one line took more than [`limits::BACKTRACKING_STEPS`] steps.
    #[error(
        "the pattern takes more than {} steps on one line; a pattern without look-around or backreferences has no such limit",
        limits::BACKTRACKING_STEPS
    )]
    TooSlow,
    /// The call was cancelled or reached its deadline.
    #[error("the search had to end")]
    Stopped,
}

/// A matcher for regular expressions with look-around and backreferences.
///
/// It is slower than [`Pattern`](crate::Pattern), and a line on which it needs more than
/// [`limits::BACKTRACKING_STEPS`] steps is an error.
#[derive(Clone, Debug)]
pub struct BacktrackMatcher {
    regex: Arc<Regex>,
    names: Arc<[Option<String>]>,
    stop: Stop,
}

impl BacktrackMatcher {
    /// Compiles `patterns` as alternatives of one regex. `word` and `line` are ripgrep's `-w` and `-x`; with
    /// `dot_all`, `.` also matches line feeds.
    ///
    /// # Errors
    ///
    /// Returns [`BacktrackError::Syntax`] for an invalid pattern.
    pub fn new(
        patterns: &[String],
        case: Case,
        (word, line, dot_all): (bool, bool, bool),
        stop: &Stop,
    ) -> Result<Self, BacktrackError> {
        if let Some(found) = patterns.iter().find_map(|pattern| means_otherwise(pattern)) {
            let problem = format!("`{found}` has another meaning in PCRE2, and is not taken");
            return Err(BacktrackError::Syntax(problem));
        }
        let mut source =
            patterns.iter().map(|pattern| format!("(?:{pattern})")).collect::<Vec<_>>().join("|");
        if line {
            source = format!("^(?:{source})$");
        } else if word {
            source = format!(r"(?<!\w)(?:{source})(?!\w)");
        }
        let insensitive = match case {
            Case::Sensitive => false,
            Case::Insensitive => true,
            Case::Smart => !patterns.iter().any(|pattern| has_upper_case(pattern)),
        };
        let mut builder = RegexBuilder::new(&source);
        builder.multi_line(true).case_insensitive(insensitive).dot_matches_new_line(dot_all);
        builder
            .backtrack_limit(limits::BACKTRACKING_STEPS)
            .delegate_size_limit(limits::COMPILED_PATTERN_BYTES);
        let regex = builder.build().map_err(|error| BacktrackError::Syntax(error.to_string()))?;
        let names = regex.capture_names().map(|name| name.map(str::to_owned)).collect();
        Ok(Self { regex: Arc::new(regex), names, stop: stop.clone() })
    }

    fn look(&self) -> Result<(), BacktrackError> {
        if self.stop.check().is_some() { Err(BacktrackError::Stopped) } else { Ok(()) }
    }
}

/// Returns the part of a pattern that this engine reads in another way than PCRE2, which users of `-P` expect: `\h` is a blank
/// there and a hexadecimal digit here.
fn means_otherwise(pattern: &str) -> Option<&str> {
    let mut characters = pattern.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                let (_, escaped) = characters.next()?;
                if matches!(escaped, 'h' | 'H' | 'O' | 'g') {
                    return pattern.get(at..at + 2);
                }
            }
            '(' => {
                let recursion = ["(?R)", "(?0)"].into_iter().find(|it| pattern[at..].starts_with(it));
                if recursion.is_some() {
                    return recursion;
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a pattern has an upper-case letter outside of escapes such as `\S`.
fn has_upper_case(pattern: &str) -> bool {
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            character if character.is_uppercase() => return true,
            _ => {}
        }
    }
    false
}

/// The byte ranges of a match and its groups.
#[derive(Clone, Debug, Default)]
pub struct BacktrackCaptures(Vec<Option<Range<usize>>>);

impl Captures for BacktrackCaptures {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, group: usize) -> Option<Match> {
        self.0.get(group)?.as_ref().map(|range| Match::new(range.start, range.end))
    }
}

impl Matcher for BacktrackMatcher {
    type Captures = BacktrackCaptures;
    type Error = BacktrackError;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, BacktrackError> {
        self.look()?;
        let text = text(haystack);
        let found = self.regex.find_from_pos(&*text, at).map_err(|_| BacktrackError::TooSlow)?;
        Ok(found.map(|found| Match::new(found.start(), found.end())))
    }

    fn new_captures(&self) -> Result<BacktrackCaptures, BacktrackError> {
        Ok(BacktrackCaptures(vec![None; self.names.len()]))
    }

    fn capture_count(&self) -> usize {
        self.names.len()
    }

    fn capture_index(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other.as_deref() == Some(name))
    }

    fn captures_at(
        &self,
        haystack: &[u8],
        at: usize,
        captures: &mut BacktrackCaptures,
    ) -> Result<bool, BacktrackError> {
        self.look()?;
        let text = text(haystack);
        let found = self.regex.captures_from_pos(&*text, at).map_err(|_| BacktrackError::TooSlow)?;
        let Some(found) = found else { return Ok(false) };
        captures.0 = (0..self.names.len()).map(|group| found.get(group).map(|group| group.range())).collect();
        Ok(true)
    }
}

/// Converts bytes to text. Each byte that is not part of a character is replaced by one ASCII character so
/// that offsets stay the same.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            Cow::Owned(bytes.utf8_chunks().fold(String::with_capacity(bytes.len()), |mut text, chunk| {
                text.push_str(chunk.valid());
                text.extend(chunk.invalid().iter().map(|_| '\x1a'));
                text
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(pattern: &str) -> BacktrackMatcher {
        BacktrackMatcher::new(&[pattern.to_owned()], Case::Sensitive, (false, false, false), &Stop::never())
            .unwrap()
    }

    #[test]
    fn match_offsets_are_byte_offsets() {
        let found = |pattern: &str, text: &[u8]| {
            matcher(pattern).find(text).unwrap().map(|found| (found.start(), found.end()))
        };
        assert_eq!(found("foo(?=bar)", b"foo foobar"), Some((4, 7)));
        assert_eq!(found(r"(\w)\1", b"\xff\xe9 abb"), Some((4, 6)));
        assert_eq!(found("(?<!a)b", b"ab"), None);
    }

    #[test]
    fn slow_pattern_is_an_error() {
        let text = "a".repeat(60);
        let slow = matcher(r"^(?:(a+)+\1)+c$").find(text.as_bytes());
        assert_eq!(slow, Err(BacktrackError::TooSlow));
    }
}

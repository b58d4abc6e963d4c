//! Patterns that the line engine can't handle: those whose matches span lines, those with look-around or
//! backreferences, and code patterns.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use forage_base::Stop;
use forage_fs::RelPath;
use forage_syntax::CodePattern;
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;

use crate::backtracking::{BacktrackError, BacktrackMatcher};
use crate::code::CodeMatches;
use crate::lines::{line_at, lines};

/// The matcher of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum PatternMatcher {
    Regex(RegexMatcher),
    Backtracking(BacktrackMatcher),
    Code(CodePattern),
}

impl PatternMatcher {
    fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Range<usize>>, BacktrackError> {
        let found = match self {
            Self::Regex(matcher) => matcher.find_at(text, at).ok().flatten(),
            Self::Backtracking(matcher) => matcher.find_at(text, at)?,
            // The matches of a code pattern depend on the whole file.
            Self::Code(_) => None,
        };
        // `$` also matches before CR LF.
        let found = match (found, self, text.strip_suffix(b"\r")) {
            (None, Self::Backtracking(matcher), Some(line)) if at <= line.len() => {
                matcher.find_at(line, at)?
            }
            (found, ..) => found,
        };
        Ok(found.map(|found| found.start()..found.end()))
    }
}

/// Finds the lines that matches touch. Each worker has its own.
#[derive(Debug)]
pub(crate) struct WholeTextFinder {
    matcher: PatternMatcher,
    spans_lines: bool,
    /// The matches of a code pattern in the current file.
    code: RefCell<CodeMatches>,
    stop: Stop,
    is_stopped: Cell<bool>,
    /// True if a text took too many steps since the last call of [`WholeTextFinder::take_too_slow`].
    is_too_slow: Cell<bool>,
}

impl WholeTextFinder {
    pub(crate) fn new(matcher: PatternMatcher, spans_lines: bool, stop: &Stop) -> Self {
        let (code, is_stopped, is_too_slow) = Default::default();
        Self { matcher, spans_lines, code, stop: stop.clone(), is_stopped, is_too_slow }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.get()
    }

    /// Starts a new file, and returns true if the pattern can match in it.
    pub(crate) fn begin(&self, path: &RelPath) -> bool {
        let PatternMatcher::Code(pattern) = &self.matcher else { return true };
        let matches = CodeMatches::for_file(path);
        let fits = matches.fits(pattern);
        self.code.replace(matches);
        fits
    }

    /// Returns true if the matcher can also search a single line.
    pub(crate) fn finds_in_lines(&self) -> bool {
        !matches!(self.matcher, PatternMatcher::Code(_))
    }

    /// Returns true if a search ended because its text took too many steps, and resets the flag.
    pub(crate) fn take_too_slow(&self) -> bool {
        self.is_too_slow.take()
    }

    /// Finds the leftmost match at or after `at`. Also returns `None` if the search has to end.
    pub(crate) fn find_at(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        if self.is_stopped.get() || self.is_too_slow.get() {
            return None;
        }
        if self.stop.check().is_some() {
            self.is_stopped.set(true);
            return None;
        }
        let found = match &self.matcher {
            PatternMatcher::Code(pattern) => self.code.borrow_mut().find_at(pattern, (text, at), &self.stop),
            matcher => matcher.find_at(text, at),
        };
        found.unwrap_or_else(|error| {
            match error {
                BacktrackError::Stopped => self.is_stopped.set(true),
                BacktrackError::TooSlow | BacktrackError::Syntax(_) | BacktrackError::Size(_) => {
                    self.is_too_slow.set(true);
                }
            }
            None
        })
    }

    /// Calls `found` with each line that a match touches, in order, until it returns false. With `by_lines` a
    /// match can't begin in the line in which the previous one ended, as in ripgrep's inverted search.
    pub(crate) fn each(&self, text: &[u8], by_lines: bool, found: &mut impl FnMut(Range<usize>) -> bool) {
        if !self.spans_lines {
            let is_match = |line: &Range<usize>| self.find_at(&text[line.clone()], 0).is_some();
            let _ = lines(text).all(|line| !is_match(&line) || found(line));
            return;
        }
        let (mut at, mut next) = (0, 0);
        while at <= text.len()
            && let Some(place) = self.find_at(text, at)
        {
            // An empty match after the last line feed does not belong to a line.
            if place.start == text.len() && text.last().is_none_or(|last| *last == b'\n') {
                return;
            }
            let last = place.end.max(place.start + 1) - 1;
            let mut start = place.start;
            while start <= last {
                let line = line_at(text, start);
                start = line.end + 1;
                // The previous match may have ended in the same line.
                if line.start >= next {
                    next = start;
                    if !found(line) {
                        return;
                    }
                }
            }
            at = if by_lines { next } else { place.end.max(place.start + 1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{Pattern, PatternOptions};

    fn found(pattern: &str, multiline: bool, text: &str) -> Vec<String> {
        let options = PatternOptions { multiline, look_around: true, ..PatternOptions::default() };
        let pattern = Pattern::new(pattern, &options).unwrap();
        let finder = WholeTextFinder::new(pattern.matcher().clone(), multiline, &Stop::never());
        let mut found = Vec::new();
        finder.each(text.as_bytes(), false, &mut |line| {
            found.push(text[line].to_owned());
            true
        });
        found
    }

    #[test]
    fn each_touched_line_is_found_once() {
        let text = "fn a(\n    x: u8,\n) {}\nfn b() {}\nfn c(\n) {}\n";
        assert_eq!(found(r"fn \w+\(\n[^)]*\)", true, text), ["fn a(", "    x: u8,", ") {}", "fn c(", ") {}"]);
        assert_eq!(found("a.*x", true, text), ["fn a(", "    x: u8,"]);
        assert_eq!(found(r"\) \{\}\n(?=fn c)", true, text), ["fn b() {}"]);
        assert_eq!(found("x|u", true, "xu\nu"), ["xu", "u"]);
        assert_eq!(found("(?m)^", true, "a\nb\n"), ["a", "b"]);
        assert_eq!(found("^$", true, ""), [""; 0]);
    }

    #[test]
    fn look_around_stays_within_a_line() {
        assert_eq!(found(r"a(?!\s)", false, "a\nab\n"), ["a", "ab"]);
        assert_eq!(found(r"(\w)\1", false, "abc\nabb\n"), ["abb"]);
    }
}

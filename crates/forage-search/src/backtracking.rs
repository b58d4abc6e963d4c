//! Patterns with look-around and backreferences, matched by bounded backtracking.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use fancy_regex::{CompileError, Regex, RegexBuilder};
use forage_base::{Stop, count};
use grep_matcher::{Captures, Match, Matcher};

use crate::budget::{PatternBudget, PatternMemory, ReservedMemory, compile_large};
use crate::detached;
use crate::error::PatternError;
use crate::limits;
use crate::pattern::Case;
use crate::size;

/// Errors of a [`BacktrackMatcher`].
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum BacktrackError {
    /// The pattern is invalid.
    #[error("{0}")]
    Syntax(String),
    /// Matching one line took more than [`limits::BACKTRACKING_STEPS`] steps.
    #[error(
        "the pattern takes more than {} on one line; a pattern without look-around or backreferences has no such limit",
        count(limits::BACKTRACKING_STEPS as u64, "step")
    )]
    TooSlow,
    /// The call was cancelled or reached its deadline.
    #[error("the search was cancelled or timed out")]
    Stopped,
    /// The compiled pattern would be too large.
    #[error("{0}")]
    Size(PatternError),
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
    _memory: Arc<ReservedMemory>,
}

impl BacktrackMatcher {
    /// Compiles `patterns` as alternatives of one regex. `word` and `line` are ripgrep's `-w` and `-x`; with
    /// `dot_all`, `.` also matches line feeds.
    ///
    /// # Errors
    ///
    /// Returns [`BacktrackError::Syntax`] for an invalid pattern, and [`BacktrackError::Size`] for one that
    /// is too large.
    pub fn new(
        patterns: &[String],
        case: Case,
        shape: (bool, bool, bool),
        stop: &Stop,
    ) -> Result<Self, BacktrackError> {
        Self::new_in(&PatternBudget::for_command(), patterns, case, shape, stop)
    }

    /// Compiles patterns like [`BacktrackMatcher::new`], within the memory that they share with the other
    /// patterns of a call.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`BacktrackMatcher::new`].
    pub fn new_in(
        budget: &PatternBudget,
        patterns: &[String],
        case: Case,
        (word, line, dot_all): (bool, bool, bool),
        stop: &Stop,
    ) -> Result<Self, BacktrackError> {
        if let Some(found) = patterns.iter().find_map(|pattern| means_otherwise(pattern)) {
            let problem = format!("`{found}` means something else in PCRE2 and is not supported");
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
        let compiled = compile(&source, insensitive, dot_all, budget, stop);
        if let Err(BacktrackError::Syntax(_)) = compiled {
            // The position in the message should count from the beginning of the invalid pattern.
            for pattern in patterns {
                compile(pattern, insensitive, dot_all, budget, stop)?;
            }
        }
        let (regex, memory) = compiled?;
        let names = regex.capture_names().map(|name| name.map(str::to_owned)).collect();
        Ok(Self { regex: Arc::new(regex), names, stop: stop.clone(), _memory: Arc::new(memory) })
    }

    fn look(&self) -> Result<(), BacktrackError> {
        if self.stop.check().is_some() { Err(BacktrackError::Stopped) } else { Ok(()) }
    }
}

/// Compiles a pattern. Its parts without look-around and backreferences are separate regexes, which share the
/// memory of one pattern.
fn compile(
    source: &str,
    insensitive: bool,
    dot_all: bool,
    budget: &PatternBudget,
    stop: &Stop,
) -> Result<(Regex, ReservedMemory), BacktrackError> {
    // Each part has two automata. Together they get the caches of one ordinary pattern.
    let automata = 2 * parts_at_most(source);
    let cache_bytes = (budget.cache_bytes(0) * limits::CACHES_PER_PATTERN / automata)
        .clamp(*limits::BACKTRACKING_CACHE_BYTES.start(), *limits::BACKTRACKING_CACHE_BYTES.end());
    let shares = limits::BACKTRACKING_BYTES.map(|bytes| (bytes, bytes / automata as u64));
    let [_, (max, _)] = shares;
    let sizes = match size_of_parts(source, insensitive) {
        Some(bytes) if bytes <= max => vec![(bytes, bytes)],
        // We don't know how large each part is, so each one may take an equal share.
        _ => shares.to_vec(),
    };
    for (bytes, part_bytes) in sizes {
        // In the worst case, a thread must simulate all of them.
        let memory = PatternMemory { automata: bytes, per_thread: bytes + (automata * cache_bytes) as u64 };
        let reserved = budget.reserve(memory, stop).map_err(BacktrackError::Size)?;
        let compiling = (bytes > limits::UNMEASURED_AUTOMATON_BYTES)
            .then(|| compile_large(stop))
            .transpose()
            .map_err(BacktrackError::Size)?;
        let mut builder = RegexBuilder::new(source);
        builder.multi_line(true).case_insensitive(insensitive).dot_matches_new_line(dot_all);
        let part_bytes = usize::try_from(part_bytes).unwrap_or(usize::MAX);
        builder
            .backtrack_limit(limits::BACKTRACKING_STEPS)
            .delegate_size_limit(
                part_bytes.clamp(limits::BACKTRACKING_PART_BYTES, limits::COMPILED_PATTERN_BYTES),
            )
            .delegate_dfa_size_limit(cache_bytes);
        // If the call times out, the abandoned build goes on, so it must keep its permit and its memory.
        let build = move || {
            let _compiling = compiling;
            (builder.build(), reserved)
        };
        let (built, reserved) =
            detached::run_with_timeout(stop, build).ok_or(BacktrackError::Size(PatternError::Stopped))?;
        match built {
            Ok(regex) => return Ok((regex, reserved)),
            Err(error) if is_too_large(&error) => {}
            Err(error) => return Err(BacktrackError::Syntax(error.to_string())),
        }
    }
    Err(BacktrackError::Size(PatternError::LookAroundTooLarge))
}

fn is_too_large(error: &fancy_regex::Error) -> bool {
    let fancy_regex::Error::CompileError(error) = error else { return false };
    match &**error {
        CompileError::InnerError(error) => error.size_limit().is_some(),
        CompileError::DfaBuildError(_, reason) => reason.contains("size limit"),
        CompileError::PatternTooComplex => true,
        _ => false,
    }
}

/// Computes an upper bound for the number of regexes in a pattern. A new one can only begin at a group, at an
/// alternative or after a backreference.
fn parts_at_most(source: &str) -> usize {
    let is_border = |escaped: u8| escaped.is_ascii_alphanumeric() && !b"dDfnpPrsStuvwWx".contains(&escaped);
    let (mut borders, mut bytes) = (0, source.bytes());
    while let Some(byte) = bytes.next() {
        borders += match byte {
            b'\\' => bytes.next().map_or(0, |escaped| usize::from(is_border(escaped))),
            b'(' | b'|' => 1,
            _ => 0,
        };
    }
    // The last one looks for the positions at which the whole pattern can begin.
    2 * borders + 2
}

/// Estimates an upper bound for the size of all automata in bytes. Returns `None` if the pattern has
/// constructs other than look-around, atomic groups and backreferences.
fn size_of_parts(source: &str, insensitive: bool) -> Option<u64> {
    // We join the same parts into one pattern without look-around, which `regex_syntax` can parse.
    let (mut plain, mut rest) = (String::with_capacity(source.len()), source);
    while let Some(next) = rest.chars().next() {
        let group = ["(?=", "(?!", "(?<=", "(?<!", "(?>"].into_iter().find(|group| rest.starts_with(group));
        let mut escaped = rest.chars().skip(1);
        let length = match (next, group) {
            (_, Some(group)) => {
                plain.push_str("(?:");
                group.len()
            }
            ('\\', None) => match escaped.next()? {
                '1'..='9' => 1 + escaped.take_while(char::is_ascii_digit).count() + 1,
                other => {
                    plain.extend(['\\', other]);
                    1 + other.len_utf8()
                }
            },
            _ => {
                plain.push(next);
                next.len_utf8()
            }
        };
        rest = rest.get(length..)?;
    }
    let ast = regex_syntax::ast::parse::Parser::new().parse(&plain).ok()?;
    if size::class_work(&ast, insensitive) > limits::CLASS_WORK {
        return None;
    }
    let mut translator = regex_syntax::hir::translate::TranslatorBuilder::new();
    let hir = translator.case_insensitive(insensitive).utf8(false).build().translate(&plain, &ast).ok()?;
    // Each part is compiled forwards and backwards, and again to find where the whole pattern can begin.
    Some(size::automaton_bytes_at_most(&hir).saturating_mul(4))
}

/// Finds a part of a pattern that means something else in PCRE2, which users of `-P` expect. For example,
/// `\h` is a blank there and a hexadecimal digit here.
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

/// Whether a pattern has an upper-case letter outside of escapes such as `\S`. Like ripgrep's `-P`, this
/// scans the text, so the `L` of `\pL` counts.
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
        // The engine's only runtime errors are too many steps and a full stack.
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

/// Converts bytes to text. Each byte that is not part of a character becomes one ASCII control character, so
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
    fn error_position_counts_from_the_pattern() {
        let error = |word: bool| {
            let patterns = ["ok".to_owned(), "(?<!".to_owned()];
            let shape = (word, false, false);
            BacktrackMatcher::new(&patterns, Case::Sensitive, shape, &Stop::never()).unwrap_err().to_string()
        };
        let alone = RegexBuilder::new("(?<!").multi_line(true).build().unwrap_err().to_string();
        assert!(alone.contains("position 4"), "{alone}");
        assert_eq!((error(false), error(true)), (alone.clone(), alone));
    }

    /// Regression: each part had the limit of a whole pattern, so 300 parts took 1.3 GB and half a minute.
    #[test]
    fn parts_share_the_size_of_one_pattern() {
        let many: String = (100..400).map(|count| format!(r"(?=\pL{{{count}}}x)")).collect();
        let build = |pattern: &str| {
            BacktrackMatcher::new(
                &[pattern.to_owned()],
                Case::Sensitive,
                (false, false, false),
                &Stop::never(),
            )
        };
        assert_eq!(build(&many).err(), Some(BacktrackError::Size(PatternError::LookAroundTooLarge)));
        let began = std::time::Instant::now();
        let lookbehinds: String = (10..310).map(|count| format!(r"(?<!\pL{{{count}}})")).collect();
        assert_eq!(build(&lookbehinds).err(), Some(BacktrackError::Size(PatternError::LookAroundTooLarge)));
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
        // One large part may take as much as many small ones.
        let alternatives = format!("(?<=a)({})(?!b)", vec![r"(\w{4}x)"; 40].join("|"));
        for pattern in [
            r"(?<!\w)\pL{90}x(?=\s)",
            r"(?<!a)(?:(\w+)\s+){3}\1",
            r"(?i)(?=.*é)(a|b|c|d|e|f)\w+(?!x)",
            &alternatives,
        ] {
            assert!(build(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn slow_pattern_is_an_error() {
        let text = "a".repeat(60);
        let slow = matcher(r"^(?:(a+)+\1)+c$").find(text.as_bytes());
        assert_eq!(slow, Err(BacktrackError::TooSlow));
    }
}

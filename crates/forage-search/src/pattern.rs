//! Patterns: from what the caller wrote to what the engines run.

use std::sync::{Arc, OnceLock};

use forage_base::{Pace, Stop};
use forage_syntax::CodePattern;
use grep_regex::RegexMatcherBuilder;
use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::{Hir, Look};

use crate::backtracking::BacktrackMatcher;
use crate::beside;
use crate::code::required;
use crate::error::PatternError;
use crate::fuzzy::{Fuzzy, FuzzyError};
use crate::limits;
use crate::prefilter::Prefilter;
use crate::size;
use crate::stepped::SteppedRegex;
use crate::whole_text::PatternMatcher;

/// The ways in which letters compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// As they are.
    #[default]
    Sensitive,
    /// Without regard to case, by Unicode's simple folding.
    Insensitive,
    /// Without regard to case unless the pattern holds an upper-case letter (ripgrep's `-S`).
    Smart,
}

/// The options with which a pattern is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternOptions {
    /// The way in which letters compare.
    pub case: Case,
    /// The pattern is text, not a regex.
    pub literal: bool,
    /// A match must not touch a word character at either end.
    pub word: bool,
    /// Edits (insertions, deletions, substitutions of characters) allowed between a part of the line and what the
    /// pattern matches, from 0 to [`limits::FUZZY_EDITS`]; 0 is exact. Assertions, those of `word` too, are tested on
    /// the text as it is.
    pub fuzzy: u8,
    /// A match may span lines, and `.` matches line feeds (ripgrep's `-U --multiline-dotall`).
    pub multiline: bool,
    /// Look-around and backreferences are taken, and matched by backtracking; otherwise they are an error.
    pub look_around: bool,
}

/// A compiled pattern. Cheap to share between threads.
#[derive(Debug)]
pub struct Pattern {
    matcher: PatternMatcher,
    spans_lines: bool,
    hir: Hir,
    /// What is analysed of it: the same but for a pattern of thousands of parts.
    outline: Hir,
    prefilter: Option<Prefilter>,
    fuzzy: Option<Fuzzy>,
    /// A candidate of the prefilter is a match: nothing is left to verify.
    confirmed: bool,
    insensitive: bool,
    word: bool,
    /// States that can be active at one place of a text.
    positions: u64,
    /// For lines on which the matcher could take long; made when there is one.
    stepped: Arc<OnceLock<Option<SteppedRegex>>>,
}

impl Pattern {
    /// Compiles one pattern.
    pub fn new(pattern: &str, options: &PatternOptions) -> Result<Self, PatternError> {
        Self::new_within(pattern, options, &Stop::never())
    }

    /// Compiles one pattern, unless the call has to end before that is done ([`PatternError::Stopped`]).
    pub fn new_within(pattern: &str, options: &PatternOptions, stop: &Stop) -> Result<Self, PatternError> {
        if pattern.is_empty() {
            return Err(PatternError::Empty);
        }
        if pattern.len() > limits::PATTERN_BYTES {
            return Err(PatternError::TooLong { bytes: pattern.len() });
        }
        if options.fuzzy > limits::FUZZY_EDITS {
            return Err(PatternError::FuzzyEdits { edits: options.fuzzy });
        }
        if stop.check().is_some() {
            return Err(PatternError::Stopped);
        }
        let source = if options.literal { regex_syntax::escape(pattern) } else { pattern.to_owned() };
        let ast = match parse(&source) {
            Err(PatternError::LookAround { .. } | PatternError::Backreference { .. })
                if options.look_around && options.fuzzy == 0 =>
            {
                return Self::backtracking(source, options, stop);
            }
            parsed => parsed?,
        };
        let (source, ast) = match with_line_ends(&source, &ast) {
            Some(source) => parse(&source).map(|ast| (source, ast))?,
            None => (source, ast),
        };
        let insensitive = match options.case {
            Case::Sensitive => false,
            Case::Insensitive => true,
            Case::Smart => is_smart_insensitive(&ast),
        };
        let class_work = size::class_work(&ast, insensitive);
        if class_work > limits::CLASS_WORK {
            return Err(PatternError::TooManyClasses);
        }
        let parsed = ParsedPattern { source, ast, insensitive, options: *options };
        // None of these steps can be ended before it is done.
        let (parsed, hir) = beside::run_if(class_work > limits::CLASS_WORK_AT_ONCE, stop, move || {
            parsed.translate().map(|hir| (parsed, hir))
        })
        .unwrap_or(Err(PatternError::Stopped))?;
        let positions = size::positions(&hir);
        let within = stop.clone();
        let is_large =
            positions >= limits::POSITIONS_AT_ONCE || parsed.source.len() >= limits::PATTERN_BYTES_AT_ONCE;
        beside::run_if(is_large, stop, move || parsed.compile(hir, positions, &within))
            .unwrap_or(Err(PatternError::Stopped))
    }

    fn backtracking(source: String, options: &PatternOptions, stop: &Stop) -> Result<Self, PatternError> {
        let shape = (options.word, false, options.multiline);
        let matcher = BacktrackMatcher::new(&[source], options.case, shape, stop)
            .map_err(|error| PatternError::Syntax { message: one_line(&error.to_string()) })?;
        Ok(Self {
            matcher: PatternMatcher::Backtracking(matcher),
            spans_lines: options.multiline,
            // What it requires of a text is not known.
            hir: Hir::empty(),
            outline: Hir::empty(),
            prefilter: None,
            fuzzy: None,
            confirmed: false,
            insensitive: false,
            word: options.word,
            positions: 1,
            stepped: Arc::default(),
        })
    }

    /// Compiles a code pattern: lines match that a match of its syntax touches. `languages` are those of the files in which
    /// it is looked for; none means all in which it is a pattern.
    pub fn of_code(pattern: &str, languages: &[&str]) -> Result<Self, PatternError> {
        if pattern.trim().is_empty() {
            return Err(PatternError::Empty);
        }
        if pattern.len() > limits::PATTERN_BYTES {
            return Err(PatternError::TooLong { bytes: pattern.len() });
        }
        let code = CodePattern::new(pattern, languages)
            .map_err(|error| PatternError::Code { message: error.to_string() })?;
        let required = required(&code);
        Ok(Self {
            matcher: PatternMatcher::Code(code),
            spans_lines: true,
            hir: Hir::empty(),
            outline: required,
            prefilter: None,
            fuzzy: None,
            confirmed: false,
            insensitive: false,
            word: false,
            positions: 1,
            stepped: Arc::default(),
        })
    }

    /// A matcher for one worker is a clone of it: clones share the program but not the caches, over which threads would contend.
    pub(crate) fn matcher(&self) -> &PatternMatcher {
        &self.matcher
    }

    /// Whether a match may span lines.
    pub(crate) fn spans_lines(&self) -> bool {
        self.spans_lines
    }

    /// Returns whether it has look-around or backreferences, which take longer.
    #[must_use]
    pub fn is_backtracking(&self) -> bool {
        matches!(self.matcher, PatternMatcher::Backtracking(_))
    }

    /// The whole of it, which may be large.
    #[cfg(any(test, target_os = "linux", target_os = "android"))]
    pub(crate) fn hir(&self) -> &Hir {
        &self.hir
    }

    /// Returns whether it names bytes that are no text, such as `(?-u:\xff)`: files are searched as they are stored then.
    #[must_use]
    pub fn is_of_bytes(&self) -> bool {
        !self.hir.properties().is_utf8()
    }

    /// Returns whether letters match in either case, as [`Case`] decides for this pattern.
    #[must_use]
    pub fn is_insensitive(&self) -> bool {
        self.insensitive
    }

    /// What every match also matches, small enough to be analysed between two looks at the deadline.
    pub(crate) fn outline(&self) -> &Hir {
        &self.outline
    }

    /// States that can be active at one place of a text: the work for a byte, at the most.
    pub(crate) fn positions(&self) -> u64 {
        self.positions
    }

    /// Whether the matcher's work on so many bytes may be too much between two looks at the deadline.
    pub(crate) fn may_take_long(&self, bytes: usize) -> bool {
        self.positions.saturating_mul(bytes as u64) > limits::WORK_PER_LOOK
    }

    /// What finds the same matches as the matcher, and can be ended in the middle of a line.
    ///
    /// Making it takes some tens of milliseconds at the most: `None` if the first one to need it has no more time.
    pub(crate) fn stepped(&self, pace: &Pace) -> Option<&SteppedRegex> {
        if self.stepped.get().is_none() {
            if !pace.look() {
                return None;
            }
            let (made, hir) = (Arc::clone(&self.stepped), self.hir.clone());
            let (word, positions) = (self.word, self.positions);
            // Workers that need it at the same time wait for the one that makes it.
            beside::run(pace.stop(), move || {
                made.get_or_init(|| SteppedRegex::new(&in_words(&hir, word), positions));
            })?;
        }
        self.stepped.get()?.as_ref()
    }

    pub(crate) fn prefilter(&self) -> Option<&Prefilter> {
        self.prefilter.as_ref()
    }

    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    pub(crate) fn fuzzy(&self) -> Option<&Fuzzy> {
        self.fuzzy.as_ref()
    }

    /// Describes in words how lines are found: with edits, by a prefilter, or by the regex over the whole text.
    pub fn describe(&self) -> String {
        if let Some(fuzzy) = &self.fuzzy {
            return fuzzy.describe();
        }
        self.prefilter.as_ref().map_or_else(|| "regex over the whole text".to_owned(), Prefilter::describe)
    }
}

fn parse(source: &str) -> Result<Ast, PatternError> {
    use ast::ErrorKind::{NestLimitExceeded, UnsupportedBackreference, UnsupportedLookAround};
    ast::parse::ParserBuilder::new().nest_limit(limits::PATTERN_NESTING).build().parse(source).map_err(
        |error| {
            let span = error.span();
            let found = source.get(span.start.offset..span.end.offset).unwrap_or_default().to_owned();
            match error.kind() {
                UnsupportedLookAround => PatternError::LookAround { found },
                UnsupportedBackreference => PatternError::Backreference { found },
                NestLimitExceeded(_) => PatternError::TooLarge,
                kind => PatternError::Syntax {
                    message: if found.is_empty() { kind.to_string() } else { format!("{kind} (`{found}`)") },
                },
            }
        },
    )
}

/// Returns the source that is compiled for a pattern, if that is not as it was written.
#[cfg(any(test, target_os = "linux", target_os = "android"))]
pub(crate) fn rewritten(pattern: &str) -> Option<String> {
    with_line_ends(pattern, &parse(pattern).ok()?)
}

/// Returns the pattern with every `$` matching before a carriage return, too, as lines may end with CR LF; `None` if it has none.
fn with_line_ends(source: &str, ast: &Ast) -> Option<String> {
    struct LineEnds(Vec<usize>);
    impl ast::Visitor for LineEnds {
        type Output = Vec<usize>;
        type Err = std::convert::Infallible;

        fn finish(self) -> Result<Vec<usize>, Self::Err> {
            Ok(self.0)
        }

        fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
            if let Ast::Assertion(assertion) = ast
                && assertion.kind == ast::AssertionKind::EndLine
            {
                self.0.push(assertion.span.start.offset);
            }
            Ok(())
        }
    }
    let Ok(places) = ast::visit(ast, LineEnds(Vec::new()));
    let mut rewritten = source.to_owned();
    places.iter().rev().for_each(|&place| rewritten.replace_range(place..=place, "(?:$|(?R:$))"));
    (!places.is_empty()).then_some(rewritten)
}

/// A pattern whose syntax is known.
struct ParsedPattern {
    source: String,
    ast: Ast,
    insensitive: bool,
    options: PatternOptions,
}

impl ParsedPattern {
    fn translate(&self) -> Result<Hir, PatternError> {
        let mut translator = regex_syntax::hir::translate::TranslatorBuilder::new();
        translator.case_insensitive(self.insensitive).multi_line(true).utf8(false).line_terminator(b'\n');
        translator
            .dot_matches_new_line(self.options.multiline)
            .build()
            .translate(&self.source, &self.ast)
            .map_err(|error| PatternError::Syntax { message: one_line(&error.to_string()) })
    }

    /// Compiles what it was translated to, with a look at the clock before each step.
    fn compile(&self, hir: Hir, positions: u64, stop: &Stop) -> Result<Pattern, PatternError> {
        let look = || if stop.check().is_some() { Err(PatternError::Stopped) } else { Ok(()) };
        let word = self.options.word;
        // It would be built up to the limit only to be thrown away.
        if size::compiled_bytes_at_least(&hir, stop)? > limits::COMPILED_PATTERN_BYTES as u64 {
            return Err(PatternError::TooLarge);
        }
        look()?;
        let spans_lines = self.options.multiline;
        let matcher = RegexMatcherBuilder::new()
            .multi_line(true)
            .case_insensitive(self.insensitive)
            .word(word)
            .dot_matches_new_line(spans_lines)
            .line_terminator(if spans_lines { None } else { Some(b'\n') })
            .size_limit(limits::COMPILED_PATTERN_BYTES)
            .dfa_size_limit(limits::AUTOMATON_CACHE_BYTES)
            .nest_limit(limits::PATTERN_NESTING)
            .build(&self.source)
            .map_err(|error| compile_error(&error))?;
        look()?;
        let fuzzy = match self.options.fuzzy {
            0 => None,
            edits => Some(fuzzy(&hir, word, edits, stop)?),
        };
        // What a match that spans lines requires of one of them is not known.
        let outline = if spans_lines { Hir::empty() } else { size::outline(&hir, limits::ANALYSED_PARTS) };
        // A fuzzy search has pieces of its own.
        let prefilter = if fuzzy.is_none() && !spans_lines { Prefilter::new(&[&outline]) } else { None };
        let confirmed = !word && prefilter.as_ref().is_some_and(Prefilter::confirms);
        let (stepped, insensitive) = (Arc::default(), self.insensitive);
        Ok(Pattern {
            matcher: PatternMatcher::Regex(matcher),
            spans_lines,
            hir,
            outline,
            prefilter,
            fuzzy,
            confirmed,
            insensitive,
            word,
            positions,
            stepped,
        })
    }
}

/// What is matched: with `word`, no match touches a word character.
fn in_words(hir: &Hir, word: bool) -> Hir {
    match word {
        true => Hir::concat(vec![
            Hir::look(Look::WordStartHalfUnicode),
            hir.clone(),
            Hir::look(Look::WordEndHalfUnicode),
        ]),
        false => hir.clone(),
    }
}

/// Compiles for a search with edits.
fn fuzzy(hir: &Hir, word: bool, edits: u8, stop: &Stop) -> Result<Fuzzy, PatternError> {
    let pace = Pace::new(stop, limits::FUZZY_BUILD_STATES_PER_LOOK);
    Fuzzy::new(&in_words(hir, word), edits, &pace).map_err(|error| match error {
        FuzzyError::Stopped => PatternError::Stopped,
        FuzzyError::TooShort(characters) => PatternError::FuzzyTooShort { characters, edits },
        FuzzyError::TooLarge => PatternError::FuzzyTooLarge { edits },
    })
}

fn compile_error(error: &grep_regex::Error) -> PatternError {
    let text = error.to_string();
    match error.kind() {
        grep_regex::ErrorKind::NotAllowed(_) => PatternError::LineFeed("it holds `\\n`".to_owned()),
        grep_regex::ErrorKind::Regex(_) if text.contains("size limit") => PatternError::TooLarge,
        _ => PatternError::Syntax { message: one_line(&text) },
    }
}

/// The last line of a message that draws the pattern with a caret under it.
fn one_line(message: &str) -> String {
    let last = message.lines().rfind(|line| !line.trim().is_empty()).unwrap_or(message);
    last.trim().trim_start_matches("error: ").to_owned()
}

/// ripgrep's rule: some literal character, and none of them upper case. Escapes such as `\S` are no literals.
fn is_smart_insensitive(ast: &Ast) -> bool {
    #[derive(Default)]
    struct Letters {
        any: bool,
        upper: bool,
    }
    impl Letters {
        fn see(&mut self, c: char) {
            self.any = true;
            self.upper |= c.is_uppercase();
        }
    }
    impl ast::Visitor for &mut Letters {
        type Output = ();
        type Err = std::convert::Infallible;

        fn finish(self) -> Result<(), Self::Err> {
            Ok(())
        }

        fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
            if let Ast::Literal(literal) = ast {
                self.see(literal.c);
            }
            Ok(())
        }

        fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), Self::Err> {
            match item {
                ast::ClassSetItem::Literal(literal) => self.see(literal.c),
                ast::ClassSetItem::Range(range) => {
                    self.see(range.start.c);
                    self.see(range.end.c);
                }
                _ => {}
            }
            Ok(())
        }
    }
    let mut letters = Letters::default();
    let Ok(()) = ast::visit(ast, &mut letters);
    letters.any && !letters.upper
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(pattern: &str) -> String {
        Pattern::new(pattern, &PatternOptions::default()).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn errors_say_what_to_write_instead() {
        assert!(error("foo(?=bar)").contains("look-around ((?=)"), "{}", error("foo(?=bar)"));
        assert!(error("(?<!a)b").contains("look-around"));
        assert!(error(r"(a)\1").contains("backreferences (\\1)"), "{}", error(r"(a)\1"));
        assert!(error("a(b").contains("unclosed group"), "{}", error("a(b"));
        assert!(error(r"a\nb").contains("across lines"), "{}", error(r"a\nb"));
        assert!(error("").contains("empty"));
        assert!(error("(((a{100}){100}){100})").contains("too large"));
        assert!(error(&"x".repeat(20_000)).contains("20000 bytes"));
    }

    #[test]
    fn smart_case_looks_at_literals_only() {
        let smart = |pattern: &str| is_smart_insensitive(&parse(pattern).unwrap());
        assert!(smart("foo") && smart(r"foo\S") && smart("[a-z]x") && smart(r"\pLfoo"));
        assert!(!smart("Foo") && !smart("[A-Z]x") && !smart(r"\w+") && !smart("É"));
    }
}

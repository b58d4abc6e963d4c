//! Compiles patterns from the caller's text to the form that the engines run.

use std::sync::{Arc, OnceLock};

use forage_base::{Pace, Permit, Stop};
use forage_syntax::CodePattern;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::{Hir, Look};

use crate::backtracking::{BacktrackError, BacktrackMatcher};
use crate::budget::{PatternBudget, PatternMemory, ReservedMemory, compile_large};
use crate::code::required;
use crate::detached;
use crate::error::PatternError;
use crate::fuzzy::{Fuzzy, FuzzyError, FuzzyPlan};
use crate::limits;
use crate::prefilter::Prefilter;
use crate::size;
use crate::stepped::SteppedRegex;
use crate::whole_text::PatternMatcher;

/// Case sensitivity of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Case-sensitive.
    #[default]
    Sensitive,
    /// Case-insensitive, by Unicode simple case folding.
    Insensitive,
    /// Case-insensitive unless the pattern contains an upper-case letter (ripgrep's `-S`).
    Smart,
}

/// Options for compiling a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternOptions {
    /// Case sensitivity.
    pub case: Case,
    /// Treat the pattern as literal text, not as a regex.
    pub literal: bool,
    /// A match must not touch a word character at either end.
    pub word: bool,
    /// Maximum number of edits (insertions, deletions, substitutions of characters) between a part of the
    /// line and a string that the pattern matches, from 0 (exact) to [`limits::FUZZY_EDITS`]. Assertions,
    /// including those of `word`, are tested on the unedited text.
    pub fuzzy: u8,
    /// Allow matches across lines, and let `.` match line feeds (ripgrep's `-U --multiline-dotall`).
    pub multiline: bool,
    /// Accept look-around and backreferences, which are matched by backtracking; otherwise they are an error.
    pub look_around: bool,
}

/// A compiled pattern. This is cheap to share between threads.
#[derive(Debug)]
pub struct Pattern {
    matcher: PatternMatcher,
    spans_lines: bool,
    hir: Hir,
    /// The form that we analyze for required text. This equals `hir` unless the pattern has thousands of
    /// parts.
    outline: Hir,
    prefilter: Option<Prefilter>,
    fuzzy: Option<Fuzzy>,
    /// True if every candidate of the prefilter is a match, so that none needs verification.
    confirmed: bool,
    insensitive: bool,
    word: bool,
    /// Maximum number of states that can be active at one position of a text.
    positions: u64,
    /// Size in bytes of each cache of `stepped`.
    cache_bytes: usize,
    /// Searches lines on which the matcher could take long; compiled when the first such line appears.
    stepped: Arc<OnceLock<Option<SteppedRegex>>>,
    budget: PatternBudget,
    /// Returned to the budget when the pattern is dropped.
    _memory: Vec<ReservedMemory>,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// Returns an error if the pattern is empty, invalid or exceeds a limit. Its message says how to change
    /// the pattern.
    ///
    /// # Examples
    ///
    /// ```
    /// use forage_search::{Case, Pattern, PatternError, PatternOptions};
    ///
    /// let options = PatternOptions { case: Case::Smart, ..PatternOptions::default() };
    /// assert!(Pattern::new("retry", &options)?.is_insensitive());
    /// assert!(!Pattern::new("Retry", &options)?.is_insensitive());
    /// assert!(matches!(Pattern::new("(?=a)", &options), Err(PatternError::LookAround { .. })));
    /// # Ok::<(), PatternError>(())
    /// ```
    pub fn new(pattern: &str, options: &PatternOptions) -> Result<Self, PatternError> {
        Self::new_in(&PatternBudget::for_command(), pattern, options, &Stop::never())
    }

    /// Compiles a pattern like [`Pattern::new`], but gives up if the call has to end.
    ///
    /// # Errors
    ///
    /// Also returns [`PatternError::Stopped`] if the call has to end first.
    pub fn new_within(pattern: &str, options: &PatternOptions, stop: &Stop) -> Result<Self, PatternError> {
        Self::new_in(&PatternBudget::for_one_pattern(), pattern, options, stop)
    }

    /// Compiles a pattern like [`Pattern::new_within`], within the memory that it shares with the other
    /// patterns of a call.
    ///
    /// # Errors
    ///
    /// Also returns [`PatternError::TooLargeTogether`] if these patterns don't fit together.
    pub fn new_in(
        budget: &PatternBudget,
        pattern: &str,
        options: &PatternOptions,
        stop: &Stop,
    ) -> Result<Self, PatternError> {
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
                return Self::backtracking(budget, source, options, stop);
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
        let parsed = ParsedPattern { source, ast, insensitive, options: *options, budget: budget.clone() };
        let is_large = class_work > limits::CLASS_WORK_AT_ONCE;
        let compiling = is_large.then(|| compile_large(stop)).transpose()?;
        // We can't interrupt any of these steps, so slow ones run on a helper thread.
        let (parsed, hir) =
            detached::run_if_slow(is_large, stop, move || parsed.translate().map(|hir| (parsed, hir)))
                .unwrap_or(Err(PatternError::Stopped))?;
        let positions = size::positions(&hir);
        let within = stop.clone();
        let is_large =
            positions >= limits::POSITIONS_AT_ONCE || parsed.source.len() >= limits::PATTERN_BYTES_AT_ONCE;
        detached::run_if_slow(is_large, stop, move || parsed.compile(hir, positions, compiling, &within))
            .unwrap_or(Err(PatternError::Stopped))
    }

    fn backtracking(
        budget: &PatternBudget,
        source: String,
        options: &PatternOptions,
        stop: &Stop,
    ) -> Result<Self, PatternError> {
        let shape = (options.word, false, options.multiline);
        let matcher =
            BacktrackMatcher::new_in(budget, &[source], options.case, shape, stop).map_err(|error| {
                match error {
                    BacktrackError::Size(error) => error,
                    error => PatternError::Syntax { message: one_line(&error.to_string()) },
                }
            })?;
        Ok(Self {
            matcher: PatternMatcher::Backtracking(matcher),
            spans_lines: options.multiline,
            // We don't know which text the pattern requires.
            hir: Hir::empty(),
            outline: Hir::empty(),
            prefilter: None,
            fuzzy: None,
            confirmed: false,
            insensitive: false,
            word: options.word,
            positions: 1,
            cache_bytes: 0,
            stepped: Arc::default(),
            budget: budget.clone(),
            // The matcher itself holds it.
            _memory: Vec::new(),
        })
    }

    /// Compiles a code pattern, which matches all lines of a matching syntax node. `languages` must list the
    /// languages of the files to search. An empty list means all languages in which the pattern is valid.
    ///
    /// # Errors
    ///
    /// Returns an error if the pattern is empty, longer than [`limits::PATTERN_BYTES`], or rejected by
    /// [`CodePattern::new`].
    pub fn from_code(pattern: &str, languages: &[&str]) -> Result<Self, PatternError> {
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
            cache_bytes: 0,
            stepped: Arc::default(),
            budget: PatternBudget::for_one_pattern(),
            _memory: Vec::new(),
        })
    }

    /// Returns the matcher. Each worker must clone it, because clones share the program but not the caches,
    /// for which threads would contend.
    pub(crate) fn matcher(&self) -> &PatternMatcher {
        &self.matcher
    }

    pub(crate) fn spans_lines(&self) -> bool {
        self.spans_lines
    }

    /// Returns the code pattern, or `None` for a regular expression or a text.
    #[must_use]
    pub fn code(&self) -> Option<&CodePattern> {
        match &self.matcher {
            PatternMatcher::Code(code) => Some(code),
            PatternMatcher::Regex(_) | PatternMatcher::Backtracking(_) => None,
        }
    }

    /// Returns true if the pattern has look-around or backreferences, which take longer to match.
    #[must_use]
    pub fn is_backtracking(&self) -> bool {
        matches!(self.matcher, PatternMatcher::Backtracking(_))
    }

    /// The complete expression, which may be large.
    #[cfg(any(test, target_os = "linux", target_os = "android"))]
    pub(crate) fn hir(&self) -> &Hir {
        &self.hir
    }

    /// Returns true if the pattern names bytes that are not text, for example `(?-u:\xff)`. Files should then
    /// be searched without decoding.
    #[must_use]
    pub fn matches_bytes(&self) -> bool {
        !self.hir.properties().is_utf8()
    }

    /// Returns true if the pattern is case-insensitive, as determined by [`Case`].
    #[must_use]
    pub fn is_insensitive(&self) -> bool {
        self.insensitive
    }

    /// An expression that matches everything that the pattern matches and is small enough to analyze between
    /// two deadline checks.
    pub(crate) fn outline(&self) -> &Hir {
        &self.outline
    }

    /// The maximum number of states that can be active at one position of a text. This is the work per byte.
    pub(crate) fn positions(&self) -> u64 {
        self.positions
    }

    /// Returns true if the matcher may take too long for this many bytes between two deadline checks.
    pub(crate) fn may_take_long(&self, bytes: usize) -> bool {
        self.positions.saturating_mul(bytes as u64) > limits::WORK_PER_LOOK
    }

    /// Returns an interruptible search that finds the same matches as the matcher.
    ///
    /// The first caller compiles it, which takes up to some tens of milliseconds. Returns `None` if this
    /// caller has no time left for it.
    pub(crate) fn stepped(&self, pace: &Pace) -> Option<&SteppedRegex> {
        if self.stepped.get().is_none() {
            if !pace.look() {
                return None;
            }
            let (made, hir) = (Arc::clone(&self.stepped), self.hir.clone());
            let (word, positions, cache_bytes) = (self.word, self.positions, self.cache_bytes);
            // Concurrent callers wait for the one that compiles it.
            detached::run_with_timeout(pace.stop(), move || {
                made.get_or_init(|| SteppedRegex::new(&in_words(&hir, word), positions, cache_bytes));
            })?;
        }
        self.stepped.get()?.as_ref()
    }

    /// Returns the budget of the call, which its further patterns must share.
    #[must_use]
    pub fn budget(&self) -> PatternBudget {
        self.budget.clone()
    }

    /// Computes how many of `threads` threads can search for the pattern within the memory of the call.
    pub(crate) fn threads(&self, threads: usize) -> usize {
        self.budget.threads(threads)
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

    /// Describes how we find lines: with edits, by a prefilter, or by the regex over the whole text.
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

/// Rewrites a pattern to the source that is compiled. Returns `None` if they are the same.
#[cfg(any(test, target_os = "linux", target_os = "android"))]
pub(crate) fn rewritten(pattern: &str) -> Option<String> {
    with_line_ends(pattern, &parse(pattern).ok()?)
}

/// Lets every `$` also match before a carriage return, because lines may end with CR LF. Returns `None` if
/// the pattern has no `$`.
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

/// A parsed pattern.
struct ParsedPattern {
    source: String,
    ast: Ast,
    insensitive: bool,
    options: PatternOptions,
    budget: PatternBudget,
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

    /// Compiles the translated expression, with a deadline check before each step. `compiling` must be held
    /// if the expression itself is large.
    fn compile(
        &self,
        hir: Hir,
        positions: u64,
        compiling: Option<Permit>,
        stop: &Stop,
    ) -> Result<Pattern, PatternError> {
        let look = || if stop.check().is_some() { Err(PatternError::Stopped) } else { Ok(()) };
        let word = self.options.word;
        // Without this check, we would build an automaton up to the limit only to discard it.
        if size::compiled_bytes_at_least(&hir, stop)? > limits::COMPILED_PATTERN_BYTES as u64 {
            return Err(PatternError::TooLarge);
        }
        look()?;
        let bytes = automaton_bytes(&hir, compiling, stop)?;
        let cache_bytes = self.budget.cache_bytes(bytes);
        let mut memory = vec![self.budget.reserve(PatternMemory::for_regex(bytes, &self.budget), stop)?];
        let compiling =
            (bytes > limits::UNMEASURED_AUTOMATON_BYTES).then(|| compile_large(stop)).transpose()?;
        let matcher = self.matcher(cache_bytes)?;
        // From here on we may wait for memory, and must not hold this permit meanwhile.
        drop(compiling);
        look()?;
        let fuzzy = match self.options.fuzzy {
            0 => None,
            edits => {
                let (fuzzy, reserved) = fuzzy(&hir, word, edits, &self.budget, stop)?;
                memory.push(reserved);
                Some(fuzzy)
            }
        };
        let spans_lines = self.options.multiline;
        // We don't know which text a match across lines requires in each of its lines.
        let outline = if spans_lines { Hir::empty() } else { size::outline(&hir, limits::ANALYSED_PARTS) };
        // A fuzzy search has its own pieces.
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
            cache_bytes,
            stepped,
            budget: self.budget.clone(),
            _memory: memory,
        })
    }

    fn matcher(&self, cache_bytes: usize) -> Result<RegexMatcher, PatternError> {
        let spans_lines = self.options.multiline;
        RegexMatcherBuilder::new()
            .multi_line(true)
            .case_insensitive(self.insensitive)
            .word(self.options.word)
            .dot_matches_new_line(spans_lines)
            .line_terminator(if spans_lines { None } else { Some(b'\n') })
            .size_limit(limits::COMPILED_PATTERN_BYTES)
            .dfa_size_limit(cache_bytes)
            .nest_limit(limits::PATTERN_NESTING)
            .build(&self.source)
            .map_err(|error| compile_error(&error))
    }
}

/// Computes the size in bytes of an expression's automaton. We only estimate this for a small one, and build
/// a large one to measure it.
fn automaton_bytes(hir: &Hir, compiling: Option<Permit>, stop: &Stop) -> Result<u64, PatternError> {
    let estimate = size::automaton_bytes_at_most(hir);
    if estimate <= limits::UNMEASURED_AUTOMATON_BYTES {
        return Ok(estimate);
    }
    let _compiling = match compiling {
        Some(permit) => permit,
        None => compile_large(stop)?,
    };
    size::automaton_bytes(hir)
}

/// Builds the expression to match. With `word`, a match must not touch a word character.
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

/// Compiles an expression for a search with edits.
fn fuzzy(
    hir: &Hir,
    word: bool,
    edits: u8,
    budget: &PatternBudget,
    stop: &Stop,
) -> Result<(Fuzzy, ReservedMemory), PatternError> {
    let pace = Pace::new(stop, limits::FUZZY_BUILD_STATES_PER_LOOK);
    let caught = |error| match error {
        FuzzyError::Stopped => PatternError::Stopped,
        FuzzyError::TooShort(characters) => PatternError::FuzzyTooShort { characters, edits },
        FuzzyError::TooLarge => PatternError::FuzzyTooLarge { edits },
    };
    let plan = FuzzyPlan::new(&in_words(hir, word), edits).map_err(caught)?;
    let memory = PatternMemory {
        automata: plan.automata_bytes().min(budget.left()),
        per_thread: plan.thread_bytes(budget),
    };
    let reserved = budget.reserve(memory, stop)?;
    let compiled = plan.compile(budget, memory.automata, &pace).map_err(caught)?;
    Ok((compiled, reserved))
}

fn compile_error(error: &grep_regex::Error) -> PatternError {
    let text = error.to_string();
    match error.kind() {
        grep_regex::ErrorKind::NotAllowed(_) => PatternError::LineFeed("it contains `\\n`".to_owned()),
        grep_regex::ErrorKind::Regex(_) if text.contains("size limit") => PatternError::TooLarge,
        _ => PatternError::Syntax { message: one_line(&text) },
    }
}

/// Extracts the last line of an error message. The lines above it show the pattern with a caret.
fn one_line(message: &str) -> String {
    let last = message.lines().rfind(|line| !line.trim().is_empty()).unwrap_or(message);
    last.trim().trim_start_matches("error: ").to_owned()
}

/// Implements ripgrep's smart case: there is a literal character, and none is upper-case. Note that escapes
/// such as `\S` are not literals.
fn is_smart_insensitive(ast: &Ast) -> bool {
    #[derive(Default)]
    struct Letters {
        any: bool,
        upper: bool,
    }
    impl Letters {
        fn record(&mut self, c: char) {
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
                self.record(literal.c);
            }
            Ok(())
        }

        fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), Self::Err> {
            match item {
                ast::ClassSetItem::Literal(literal) => self.record(literal.c),
                ast::ClassSetItem::Range(range) => {
                    self.record(range.start.c);
                    self.record(range.end.c);
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

    fn error(pattern: &str) -> PatternError {
        Pattern::new(pattern, &PatternOptions::default()).map(|_| ()).unwrap_err()
    }

    #[test]
    fn errors_name_a_remedy() {
        assert_eq!(error("foo(?=bar)"), PatternError::LookAround { found: "(?=".to_owned() });
        assert!(matches!(error("(?<!a)b"), PatternError::LookAround { .. }));
        assert_eq!(error(r"(a)\1"), PatternError::Backreference { found: r"\1".to_owned() });
        let unclosed = error("a(b");
        assert!(matches!(&unclosed, PatternError::Syntax { message } if message.contains("unclosed group")));
        assert!(matches!(error(r"a\nb"), PatternError::LineFeed(_)));
        assert_eq!(error(""), PatternError::Empty);
        assert_eq!(error("(((a{100}){100}){100})"), PatternError::TooLarge);
        assert_eq!(error(&"x".repeat(20_000)), PatternError::TooLong { bytes: 20_000 });
    }

    #[test]
    fn smart_case_looks_at_literals_only() {
        let smart = |pattern: &str| is_smart_insensitive(&parse(pattern).unwrap());
        assert!(smart("foo") && smart(r"foo\S") && smart("[a-z]x") && smart(r"\pLfoo"));
        assert!(!smart("Foo") && !smart("[A-Z]x") && !smart(r"\w+") && !smart("É"));
    }
}

//! Code patterns with metavariables in ast-grep's syntax: `spawn($A)`, `if ($$$) { return $X }`.

use std::fmt;
use std::ops::Range;

use ast_grep_core::tree_sitter::{LanguageExt as _, StrDoc};
use ast_grep_core::{AstGrep, Language as _, Pattern, PatternError};
use ast_grep_language::SupportLang;
use forage_base::Stop;

use crate::parse::{AdmittedTree, ParseError, parse_with};

/// A code pattern, compiled for one or more languages. It searches each file in the file's own language.
#[derive(Clone)]
pub struct CodePattern {
    patterns: Vec<(SupportLang, Pattern)>,
}

/// The reason why a text is not a valid code pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodePatternError {
    /// The language does not support code patterns.
    Language(String),
    /// The text isn't a single expression, statement or declaration in any of the languages. This is the
    /// reason for the first one.
    Pattern {
        /// The first language.
        language: String,
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for CodePatternError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Language(name) => write!(
                formatter,
                "there are no code patterns for {name}; languages are {}",
                CodePattern::languages().join(", ")
            ),
            Self::Pattern { language, reason } => {
                write!(formatter, "it is not a valid {language} pattern: {reason}")
            }
        }
    }
}

impl std::error::Error for CodePatternError {}

impl fmt::Debug for CodePattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.patterns.iter().map(|(language, _)| language)).finish()
    }
}

impl CodePattern {
    /// Returns the names of the languages that have code patterns, in lower case.
    #[must_use]
    pub fn languages() -> Vec<String> {
        SupportLang::all_langs().iter().map(|language| language.to_string().to_lowercase()).collect()
    }

    /// Returns true if a name or an alias, such as `rs`, is that of a language with code patterns.
    #[must_use]
    pub fn knows(language: &str) -> bool {
        language.parse::<SupportLang>().is_ok()
    }

    /// Compiles a pattern for the named languages. Without names, we use every language that accepts the
    /// pattern, except for Markdown: it accepts any text, and compares it by punctuation alone.
    ///
    /// # Errors
    ///
    /// Returns an error if a name is unknown, or no language accepts the pattern.
    pub fn new(source: &str, languages: &[&str]) -> Result<Self, CodePatternError> {
        let mut chosen: Vec<SupportLang> = Vec::new();
        for name in languages {
            let language = name.parse().map_err(|_| CodePatternError::Language((*name).to_owned()))?;
            // `typescript` stands for both grammars, and the extension of a file selects one.
            let other = (language == SupportLang::TypeScript).then_some(SupportLang::Tsx);
            for language in [Some(language), other].into_iter().flatten() {
                if !chosen.contains(&language) {
                    chosen.push(language);
                }
            }
        }
        if chosen.is_empty() {
            chosen = SupportLang::all_langs().to_vec();
            chosen.retain(|language| *language != SupportLang::Markdown);
        }
        let mut first: Option<CodePatternError> = None;
        let mut patterns = Vec::new();
        for language in chosen {
            let reason = match Pattern::try_new(source, language) {
                // As in ast-grep, a pattern with a syntax error may match code that has the same error.
                Ok(pattern) => {
                    patterns.push((language, pattern));
                    continue;
                }
                Err(PatternError::MultipleNode(_)) => {
                    "it contains several statements or expressions; use only one".to_owned()
                }
                Err(PatternError::NoContent(_)) => "it contains no code".to_owned(),
                Err(PatternError::RootMultiMetaVar(_)) => {
                    "`$$$` alone matches nothing; use it inside a pattern".to_owned()
                }
                Err(error) => error.to_string(),
            };
            let language = language.to_string();
            first.get_or_insert(CodePatternError::Pattern { language, reason });
        }
        match first {
            Some(error) if patterns.is_empty() => Err(error),
            _ => Ok(Self { patterns }),
        }
    }

    /// Returns one literal per language, which every match in this language must contain. `None` if a
    /// language has no such literal.
    #[must_use]
    pub fn literals(&self) -> Option<Vec<String>> {
        let literals = self.patterns.iter().map(|(_, pattern)| pattern.fixed_string().into_owned());
        let mut literals: Vec<String> = literals.collect();
        literals.sort();
        literals.dedup();
        (!literals.iter().any(String::is_empty)).then_some(literals)
    }

    /// Returns true if this pattern has a syntax error in each of its languages. It then only matches code
    /// with this error.
    #[must_use]
    pub fn has_error(&self) -> bool {
        self.patterns.iter().all(|(_, pattern)| pattern.has_error())
    }

    /// Returns true if this pattern has a syntax error in the language of a path.
    #[must_use]
    pub fn has_error_in(&self, path: &str) -> bool {
        self.for_path(path).is_some_and(|(_, pattern)| pattern.has_error())
    }

    /// Returns true if this pattern covers the language of a path, so that the file can match.
    #[must_use]
    pub fn fits(&self, path: &str) -> bool {
        self.for_path(path).is_some()
    }

    /// Finds the byte ranges of all matches in a file, ordered by start. Note that they may overlap.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is too large, or parsing was stopped.
    pub fn find_all(&self, path: &str, text: &str, stop: &Stop) -> Result<Vec<Range<usize>>, ParseError> {
        let Some((language, pattern)) = self.for_path(path) else { return Ok(Vec::new()) };
        if !text.contains(&*pattern.fixed_string()) {
            return Ok(Vec::new());
        }
        // The permit must be declared first, so that it is dropped after the tree.
        let AdmittedTree { permit: _permit, tree } = parse_with(&language.get_ts_language(), text, stop)?;
        let root = AstGrep::doc(StrDoc { src: text.to_owned(), lang: *language, tree });
        let mut found = Vec::new();
        for node in root.root().find_all(pattern) {
            found.push(node.range());
            if stop.check().is_some() {
                return Err(ParseError::Stopped);
            }
        }
        Ok(found)
    }

    fn for_path(&self, path: &str) -> Option<&(SupportLang, Pattern)> {
        let language = SupportLang::from_path(path)?;
        self.patterns.iter().find(|(other, _)| *other == language)
    }
}

//! The request of `grep_search`.

use forage_search::{Case, PatternOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::line_search::{LineRequest, ResultUnit};
use crate::arguments::Clamp;
use crate::call::Call;
use crate::error::ToolError;
use crate::limits;

/// What `grep_search` tells of files with matches.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GrepOutput {
    /// Their matching lines.
    #[default]
    Lines,
    /// Their paths.
    Files,
    /// Their paths, with the number of matching lines of each.
    Counts,
    /// The definitions of the name that the pattern is, and the lines that use it, by the definitions that these stand in.
    Uses,
    /// The definitions that use those of a name or of a change, in two steps, and the tests among them.
    Impact,
}

/// The arguments of `grep_search`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GrepRequest {
    /// Regular expression to search for.
    pub pattern: String,
    /// Directory or file to search (default: the project root).
    pub path: Option<String>,
    /// Globs that choose files: "*.py", "src/**/*.rs", "!tests/**".
    pub file_pattern: Option<String>,
    /// Only files changed since "HEAD" (uncommitted), "main..." or in "A..B".
    pub changed: Option<String>,
    /// "uses": definitions and uses of a name; "impact": who uses these, tests (default: "lines").
    pub output: Option<GrepOutput>,
    /// The pattern is code of this language ("rust", or "any") with metavariables: `spawn($A)`.
    pub syntax: Option<String>,
    /// Lines around each match, 0 to 50 (default: 2).
    pub context_lines: Option<i64>,
    /// Lines of context before each match, in place of `context_lines`.
    pub before_context: Option<i64>,
    /// Lines of context after each match, in place of `context_lines`.
    pub after_context: Option<i64>,
    /// Lines or files to return, 1 to 10000 (default: 50; files 200).
    pub max_results: Option<i64>,
    /// Match without regard to case.
    pub ignore_case: Option<bool>,
    /// Match whole words only.
    pub word_regexp: Option<bool>,
    /// The pattern is plain text.
    pub fixed_strings: Option<bool>,
    /// Find the lines that do not match.
    pub invert_match: Option<bool>,
    /// Let matches span lines, and `.` match line feeds.
    pub multiline: Option<bool>,
    /// Search ignored and hidden files too.
    pub include_ignored: Option<bool>,
    /// From a previous answer, to continue.
    pub cursor: Option<String>,
}

impl GrepRequest {
    /// Arguments that we don't advertise: other arguments have the same effect, or models know them from
    /// `grep` anyway.
    pub(super) const UNADVERTISED: &[&str] = &[
        "changed",
        "before_context",
        "after_context",
        "ignore_case",
        "word_regexp",
        "fixed_strings",
        "invert_match",
        "multiline",
    ];

    /// Creates a request with the defaults: searches all files for this pattern and returns at most 50
    /// matches.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), ..Self::default() }
    }

    setters! {
        path: String,
        file_pattern: String,
        changed: String,
        output: GrepOutput,
        syntax: String,
        context_lines: i64,
        before_context: i64,
        after_context: i64,
        max_results: i64,
        ignore_case: bool,
        word_regexp: bool,
        fixed_strings: bool,
        invert_match: bool,
        multiline: bool,
        include_ignored: bool,
        cursor: String,
    }
}

impl GrepRequest {
    /// Converts the request to one for the line search.
    pub(super) fn asked(&self, call: &Call, unit: ResultUnit, mut clamp: Clamp) -> LineRequest<'_> {
        let (default, max) = (limits::GREP_CONTEXT, limits::GREP_CONTEXT_MAX);
        let lines = clamp.number("context_lines", self.context_lines, default, 0, max);
        // A caller that sets only one side does not expect the default on the other one.
        let is_one_sided = self.before_context.is_some() || self.after_context.is_some();
        let other = if is_one_sided && self.context_lines.is_none() { 0 } else { lines };
        let before = clamp.number("before_context", self.before_context, other, 0, max);
        let after = clamp.number("after_context", self.after_context, other, 0, max);
        let is_insensitive = self.ignore_case.unwrap_or(false);
        let include_ignored = self.include_ignored.unwrap_or(false);
        LineRequest {
            pattern: &self.pattern,
            options: PatternOptions {
                case: if is_insensitive { Case::Insensitive } else { Case::Sensitive },
                word: self.word_regexp.unwrap_or(false),
                literal: self.fixed_strings.unwrap_or(false),
                multiline: self.multiline.unwrap_or(false),
                look_around: true,
                ..PatternOptions::default()
            },
            languages: self.syntax.as_deref().map(languages),
            path: self.path.as_deref(),
            globs_argument: "file_pattern",
            file_pattern: self.file_pattern.as_deref(),
            changed: self.changed.as_deref().filter(|range| !range.trim().is_empty()),
            globs: &[],
            hidden: include_ignored,
            follow: false,
            no_ignore: include_ignored,
            around: (usize::try_from(before).unwrap_or(0), usize::try_from(after).unwrap_or(0)),
            invert: self.invert_match.unwrap_or(false),
            best_first: false,
            // Only a stream of all matches counts lines.
            all: unit == ResultUnit::Lines,
            unit,
            characters: Some(limits::GREP_LINE_CHARACTERS),
            spans: limits::GREP_SPANS,
            piece: limits::GREP_PIECE_MATCHES,
            cursor: self.cursor.as_deref(),
            timeout: call.limits.timeout,
            engine: None,
            warnings: clamp.warnings,
        }
    }

    /// Rejects options for regular expressions and plain text if the pattern is code.
    pub(super) fn refuse_options_of_text(&self) -> Result<(), ToolError> {
        let given =
            [self.ignore_case, self.word_regexp, self.fixed_strings, self.multiline, self.invert_match];
        let is_of_text =
            given.contains(&Some(true)) || matches!(self.output, Some(GrepOutput::Uses | GrepOutput::Impact));
        match self.syntax.is_some() && is_of_text {
            true => Err(ToolError::argument(
                "syntax",
                "a code pattern matches nodes of a syntax tree; omit options for regular expressions, plain text and \
                 names",
            )),
            false => Ok(()),
        }
    }

    /// Returns true if the caller has set the number of context lines.
    pub(super) fn asks_for_context(&self) -> bool {
        [self.context_lines, self.before_context, self.after_context].iter().any(Option::is_some)
    }
}

/// Splits `syntax` into languages. An empty list means any language.
fn languages(syntax: &str) -> Vec<&str> {
    let names = syntax.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty());
    names.filter(|name| !name.eq_ignore_ascii_case("any")).collect()
}

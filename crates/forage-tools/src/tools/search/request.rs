//! The arguments of `Search` and their checks.

use std::time::Duration;

use forage_search::{Case, PatternOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::line_search::{LineRequest, ResultUnit};
use super::Search;
use crate::arguments::Clamp;
use crate::call::Call;
use crate::limits;
use crate::tool::Tool as _;

/// The arguments of `Search`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SearchRequest {
    /// What to search for in every line: a regular expression, or plain text with fixed_strings.
    pub pattern: String,
    /// Directory or file to search, relative to the project root or absolute within it (default: ".", the project root).
    pub path: Option<String>,
    /// How letters compare; "smart": without regard to case unless the pattern has an upper-case letter (default: "smart").
    pub case: Option<CaseRule>,
    /// The pattern is plain text, not a regular expression (default: false).
    pub fixed_strings: Option<bool>,
    /// Match whole words only (default: false).
    pub word_regexp: Option<bool>,
    /// Globs that choose files, "!" excludes, later ones win; by name ("*.py"), or by path if they have a slash ("src/**/*.rs", "!vendor/**"). They re-include ignored files (default: all files).
    pub glob: Option<Vec<String>>,
    /// Search hidden files too (default: false).
    pub hidden: Option<bool>,
    /// Follow symbolic links within the project root (default: false).
    pub follow: Option<bool>,
    /// Search files that .gitignore and the like exclude too (default: false).
    pub no_ignore: Option<bool>,
    /// Lines of context around each match, 0 to 50 (default: 0).
    pub context: Option<i64>,
    /// Matching and context lines to return, 1 to 10000 (default: 200).
    pub max_results: Option<i64>,
    /// Time limit in milliseconds, 100 to 300000; what was found by then is returned (default: 20000).
    pub timeout_ms: Option<i64>,
    /// Allow up to this many edits (characters inserted, deleted or replaced), 1 to 4, for names you can't spell exactly; leave it out for most searches (default: exact).
    pub fuzzy: Option<i64>,
    /// With fuzzy: the results with the fewest edits first, not in path order (default: false).
    pub best_first: Option<bool>,
    /// Where to go on: the cursor from a previous answer to the same request.
    pub cursor: Option<String>,
}

impl SearchRequest {
    /// Creates a request with the defaults: searches all files for this pattern.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), ..Self::default() }
    }

    setters! {
        path: String,
        case: CaseRule,
        fixed_strings: bool,
        word_regexp: bool,
        glob: Vec<String>,
        hidden: bool,
        follow: bool,
        no_ignore: bool,
        context: i64,
        max_results: i64,
        timeout_ms: i64,
        fuzzy: i64,
        best_first: bool,
        cursor: String,
    }
}

/// Whether case counts.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseRule {
    /// Upper case in the pattern counts; a pattern without any matches both cases.
    Smart,
    /// Case counts.
    Sensitive,
    /// Case does not count.
    Insensitive,
}

impl From<CaseRule> for Case {
    fn from(rule: CaseRule) -> Self {
        match rule {
            CaseRule::Smart => Self::Smart,
            CaseRule::Sensitive => Self::Sensitive,
            CaseRule::Insensitive => Self::Insensitive,
        }
    }
}

impl SearchRequest {
    /// Returns true if edits are allowed. With 0 edits, the search is exact.
    pub(super) fn is_fuzzy(&self) -> bool {
        self.fuzzy.is_some_and(|edits| edits > 0)
    }

    /// Converts the request to one for the line search, for all results or for a limited number. Also returns
    /// that limit.
    pub(super) fn asked<'a>(&'a self, call: &'a Call, all: bool) -> (LineRequest<'a>, u64) {
        let settings = &call.workspace.search;
        let mut clamp = Clamp::new(&call.workspace.names, Search::NAME);
        let context_lines = clamp.number("context", self.context, 0, 0, limits::SEARCH_CONTEXT_MAX);
        let around = usize::try_from(context_lines).unwrap_or(0);
        let max = limits::SEARCH_RESULTS_MAX;
        let max_results = clamp.number("max_results", self.max_results, settings.max_results, 1, max);
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let timeout = clamp.number(
            "timeout_ms",
            self.timeout_ms,
            // A shorter limit on all searches must apply here, too.
            milliseconds(match call.limits.timeout < limits::TIMEOUT {
                true => settings.timeout.min(call.limits.timeout),
                false => settings.timeout,
            }),
            limits::SEARCH_TIMEOUT_MS_MIN,
            limits::SEARCH_TIMEOUT_MS_MAX,
        );
        let fuzzy = clamp.number("fuzzy", self.fuzzy, 0, 0, limits::SEARCH_FUZZY_MAX);
        let best_first = self.is_fuzzy() && self.best_first.unwrap_or(false);
        if self.best_first == Some(true) && !best_first {
            clamp.warnings.push(
                call.workspace.names.fill(
                    "`{Search.best_first}`: without `{Search.fuzzy}` all matches are equally good; path order was used",
                ),
            );
        }
        let asked = LineRequest {
            pattern: &self.pattern,
            options: PatternOptions {
                case: self.case.unwrap_or(CaseRule::Smart).into(),
                literal: self.fixed_strings.unwrap_or(false),
                word: self.word_regexp.unwrap_or(false),
                fuzzy: u8::try_from(fuzzy).unwrap_or(0),
                ..PatternOptions::default()
            },
            languages: None,
            path: self.path.as_deref(),
            globs_argument: "glob",
            file_pattern: None,
            changed: None,
            globs: self.glob.as_deref().unwrap_or_default(),
            hidden: self.hidden.unwrap_or(false),
            follow: self.follow.unwrap_or(false),
            no_ignore: self.no_ignore.unwrap_or(false),
            around: (around, around),
            invert: false,
            best_first,
            all,
            unit: ResultUnit::Lines,
            characters: Some(limits::SEARCH_LINE_CHARACTERS).filter(|_| !all),
            spans: if all { forage_search::limits::LINE_SPANS } else { limits::SEARCH_SPANS },
            piece: forage_search::limits::FILE_MATCHES,
            cursor: self.cursor.as_deref(),
            timeout: Duration::from_millis(timeout),
            engine: Some(&settings.engine),
            warnings: clamp.warnings,
        };
        (asked, max_results)
    }
}

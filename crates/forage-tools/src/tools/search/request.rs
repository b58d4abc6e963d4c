//! The arguments of `Search`, checked.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use forage_base::Stop;
use forage_fs::{RelPath, Root, WalkOptions};
use forage_search::index::Index;
use forage_search::{Case, Delivered, FileEvents, Pattern, PatternError, PatternOptions, ScanOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::engine::{SearchEnd, SearchEngine};
use crate::arguments::{Clamp, file_globs, globs_at};
use crate::border::Border;
use crate::context::Context;
use crate::cursor::{Cursor, fingerprint};
use crate::error::ToolError;
use crate::limits;
use crate::place::{PathTarget, globs_in_path};

/// The arguments of `Search`.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
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
    /// Globs that choose files, "!" excludes, later ones win; by name ("*.py"), or by path if they have a slash ("src/**/*.rs", "!vendor/**"). They bring ignored files back (default: all files).
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
    /// Returns the request for what is asked for by default: a search for this pattern in all files.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            path: None,
            case: None,
            fixed_strings: None,
            word_regexp: None,
            glob: None,
            hidden: None,
            follow: None,
            no_ignore: None,
            context: None,
            max_results: None,
            timeout_ms: None,
            fuzzy: None,
            best_first: None,
            cursor: None,
        }
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

/// A request whose arguments are checked.
pub(super) struct PreparedSearch {
    pub(super) text: String,
    pub(super) options: PatternOptions,
    /// `None` for a pattern that only an external engine can read.
    pub(super) pattern: Option<Pattern>,
    index: Option<Arc<Index>>,
    pub(super) root: Arc<Root>,
    pub(super) start: RelPath,
    pub(super) walk: WalkOptions,
    pub(super) context_lines: usize,
    pub(super) max_results: u64,
    /// Ends the call, from when it began to be prepared.
    pub(super) stop: Stop,
    pub(super) best_first: bool,
    pub(super) cursor: Option<Cursor>,
    /// The `path` of the request, where it was read as globs.
    pub(super) globs_in_path: Option<String>,
    /// What a cursor of the answer is bound to.
    pub(super) fingerprint: u64,
    pub(super) warnings: Vec<String>,
    engine: SearchEngine,
}

impl SearchRequest {
    /// Checks a request, for a search for `all` there is or one that ends with enough.
    pub(super) fn prepare(self, context: &Context, all: bool) -> Result<PreparedSearch, ToolError> {
        let settings = &context.search;
        let mut clamp = Clamp::default();
        let context_lines = clamp.number("context", self.context, 0, 0, limits::SEARCH_CONTEXT_MAX);
        let most = limits::SEARCH_RESULTS_MAX;
        let max_results = clamp.number("max_results", self.max_results, settings.max_results, 1, most);
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let timeout = clamp.number(
            "timeout_ms",
            self.timeout_ms,
            // A shorter limit on all searches holds here too.
            milliseconds(match context.timeout < limits::TIMEOUT {
                true => settings.timeout.min(context.timeout),
                false => settings.timeout,
            }),
            limits::SEARCH_TIMEOUT_MS_MIN,
            limits::SEARCH_TIMEOUT_MS_MAX,
        );
        let stop = context.stop.within(Duration::from_millis(timeout));
        // 0 edits are an exact search, whichever way it is asked for.
        let fuzzy = clamp.number("fuzzy", self.fuzzy, 0, 0, limits::SEARCH_FUZZY_MAX);
        let fuzzy = u8::try_from(fuzzy).unwrap_or(0);
        let mut warnings = clamp.warnings;

        let PathTarget { root, path: start, globs: in_path, note, .. } =
            context.place(self.path.as_deref())?.searchable()?;
        warnings.extend(note);
        let fingerprint = fingerprint::<super::Search>(&self, &root, &start, in_path.as_deref());
        let case = self.case.unwrap_or(CaseRule::Smart);
        let options = PatternOptions {
            case: case.into(),
            literal: self.fixed_strings.unwrap_or(false),
            word: self.word_regexp.unwrap_or(false),
            fuzzy,
        };
        let (engine, note) = SearchEngine::choose(&settings.engine, fuzzy > 0)?;
        warnings.extend(note);
        // Opened while the pattern is compiled, which can take as long.
        let index = engine.is_embedded().then(|| context.index(&root)).flatten();
        let best_first = fuzzy > 0 && self.best_first.unwrap_or(false);
        if let Some(index) = index.as_ref().filter(|_| all || best_first) {
            index.hasten();
        }
        let pattern = match Pattern::new_within(&self.pattern, &options, &stop) {
            Ok(pattern) => Some(pattern),
            // ugrep reads a richer language than ours.
            Err(PatternError::LookAround { .. } | PatternError::Backreference { .. })
                if engine.reads_look_around() =>
            {
                None
            }
            Err(source) => return Err(ToolError::pattern_or_glob(&self.pattern, "glob", source, &stop)),
        };
        let globs: Vec<String> =
            self.glob.unwrap_or_default().into_iter().filter(|glob| !glob.trim().is_empty()).collect();
        let chosen = if globs.is_empty() { None } else { Some(globs_at("glob", &globs, &start)?) };
        if in_path.is_some() && chosen.is_some() {
            return Err(globs_in_path("glob"));
        }
        let only = file_globs(in_path.as_deref(), &RelPath::root())?;
        let (hidden, follow, no_ignore) =
            [self.hidden, self.follow, self.no_ignore].map(|flag| flag.unwrap_or(false)).into();
        if self.best_first == Some(true) && !best_first {
            warnings.push(
                "`best_first`: without `fuzzy` all matches are equally good; path order was used".to_owned(),
            );
        }
        let cursor = self.cursor.as_deref().map(|text| Cursor::decode(text, fingerprint)).transpose()?;
        let from = cursor.as_ref().filter(|_| !best_first).map(|cursor| cursor.path.clone());
        let walk =
            WalkOptions { globs: chosen, only, hidden, follow, no_ignore, from, ..context.walk_options() };
        Ok(PreparedSearch {
            text: self.pattern,
            options,
            pattern,
            index,
            root,
            start,
            walk,
            context_lines: usize::try_from(context_lines).unwrap_or(0),
            max_results,
            stop,
            best_first,
            cursor,
            globs_in_path: in_path.and(self.path),
            fingerprint,
            warnings,
            engine,
        })
    }
}

impl PreparedSearch {
    /// Goes on behind a line that was delivered.
    pub(super) fn go_on_behind(&mut self, place: Cursor) {
        self.walk.from = Some(place.path.clone());
        self.cursor = Some(place);
    }

    /// Whether no rule hides files from this search.
    pub(super) fn sees_everything(&self) -> bool {
        self.walk.hidden && self.walk.no_ignore
    }

    /// Runs the engine; `receive` gets the files with matches in path order.
    pub(super) fn search(
        &self,
        scan: &ScanOptions,
        stop: &Stop,
        receive: impl FnMut(FileEvents) -> ControlFlow<()> + Send,
    ) -> Result<SearchEnd, ToolError> {
        self.engine.run(self, scan, stop, receive)
    }

    /// What the engine keeps of each file.
    pub(super) fn scan(&self, context: &Context, limit: Option<u64>, border: &Border<'_>) -> ScanOptions {
        let mut scan = ScanOptions {
            before_context: self.context_lines,
            after_context: self.context_lines,
            max_file_bytes: context.max_file_bytes,
            index: self.index.clone(),
            exhaustive: limit.is_none() || self.best_first,
            ..ScanOptions::default()
        };
        if let Some(limit) = limit {
            scan.max_spans = limits::SEARCH_SPANS;
            if !self.best_first {
                // One more than is wanted tells whether there is more.
                scan.max_file_matches = usize::try_from(limit + 1).unwrap_or(usize::MAX);
            }
        }
        scan = border.widen(scan, limit.map(|_| limits::SEARCH_LINE_CHARACTERS));
        if let Some(cursor) = self.cursor.as_ref().filter(|_| !self.best_first) {
            scan.after = Some(Delivered::Lines(cursor.path.clone(), cursor.line));
        }
        scan
    }
}

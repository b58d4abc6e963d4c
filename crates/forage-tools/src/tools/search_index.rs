//! `search_index`: ranks files for a question, without a model.

mod answer;
mod code;
mod page;
mod plan;
mod provisional;
mod reader;
mod render;
mod scope;
mod similar;

use std::collections::BTreeMap;
use std::time::Instant;

use forage_base::Stop;
use forage_fs::RelPath;
use forage_rank::{FileHit, Ranking, SecondaryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::answer::RankAnswer;
use self::code::DisplayedParts;
pub use self::code::{CutDefinition, EarlierLines, RankedCode, UnshownDefinition};
use self::page::PageReader;
use self::plan::RankPlan;
use self::scope::{RankScope, RankedRoots};
pub use self::similar::SimilarCode;
use super::adapted;
use crate::arguments::{ArgumentAlias, ArgumentAliases};
use crate::call::Call;
use crate::cursor::UnresolvedCursor;
use crate::error::ToolError;
use crate::limits;
use crate::multi_root::RootScope;
use crate::names::ToolNames;
use crate::outcome::ToolOutcome;
use crate::sanitize::sanitize_line;
use crate::text::{clip, count, grouped};
use crate::tool::{Tool, ToolSpec};
use crate::verdict::{CallVerdict, HiddenMatches};

/// The `search_index` tool.
pub struct SearchIndex;

/// The arguments of `search_index`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RankRequest {
    /// The question, or names.
    #[serde(default)]
    pub query: String,
    /// Finds definitions similar to "path#name" or to pasted code.
    pub like: Option<String>,
    /// Directory or file to search (default: the project root).
    pub path: Option<String>,
    /// Globs: "*.py", "src/**/*.rs", "!tests/**".
    pub file_pattern: Option<String>,
    /// Only files changed since "HEAD" (uncommitted), "main..." or in "A..B".
    pub changed: Option<String>,
    /// Such as "rust".
    pub languages: Option<Vec<String>>,
    /// Files to return, 1 to 100 (default: 10 to 20).
    pub limit: Option<i64>,
    /// Tokens of code, up to 32000 (default: what helps, at most 4000); 0: files and lines alone.
    pub code_tokens: Option<i64>,
    /// Say which rules ranked each file.
    pub explain: Option<bool>,
    /// Use the messages of the project's commits (default: true).
    pub history: Option<bool>,
    /// From a previous answer, to continue.
    pub cursor: Option<String>,
}

impl RankRequest {
    /// Creates a request with the defaults: a ranking of all files.
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), ..Self::default() }
    }

    setters! {
        like: String,
        path: String,
        file_pattern: String,
        changed: String,
        languages: Vec<String>,
        limit: i64,
        code_tokens: i64,
        explain: bool,
        history: bool,
        cursor: String,
    }
}

/// The records that `search_index` returns.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub struct RankResponse {
    /// The query, as the caller wrote it.
    pub query: String,
    /// The path, below the root.
    pub path: String,
    /// The ranked roots, if there are several: paths below the first one are relative, all others absolute.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<String>,
    /// The best first.
    pub files: Vec<RankedFile>,
    /// `like`, as the caller wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// With `like`: the most similar definitions, in place of `files`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<SimilarCode>,
    /// With `like`: the similar definitions in the compared files, returned or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similar_count: Option<u64>,
    /// Files that match a part of the query.
    pub matching_files: u64,
    /// Files in the index.
    pub files_searched: u64,
    /// The ranked index is not complete yet: only the files with the most words of the query were ranked.
    pub provisional: bool,
    /// True if even the best file matches little of the query.
    pub weak: bool,
    /// Lead of the first file over the second, as a share of its score; 1 for a single file.
    pub lead: f32,
    /// Share of the query that the best file matches, weighted by rarity, 0 to 1.
    pub strength: f32,
    /// Words of the query that no file contains.
    pub unknown_words: Vec<String>,
    /// Words of the query that carry no weight, because they are the project's name; with `explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_names: Vec<String>,
    /// Quotes, filters and exclusions that were applied.
    pub understood: Vec<String>,
    /// Quotes, filters and exclusions that were ignored.
    pub ignored: Vec<String>,
    /// No file of the index matches `path`, `file_pattern` and `languages`.
    pub no_file_chosen: bool,
    /// The known commits of each root; with `explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<String>,
    /// Files that an answer with code excludes, because the query does not ask for their kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<FilesLeftOut>,
    /// This page continues another.
    pub continued: bool,
    /// For an answer without files: matches in files that the configuration excludes.
    pub not_searched: CallVerdict,
    /// True if the files are in path order.
    #[serde(skip)]
    is_list: bool,
    /// True if the query has words of another language.
    #[serde(skip)]
    is_translated: bool,
    /// In an answer with code: the displayed parts, which we must remember.
    #[serde(skip)]
    code: Option<DisplayedParts>,
}

/// A ranked file.
#[derive(Debug, JsonSchema, Serialize)]
pub struct RankedFile {
    /// The path, below the root.
    pub path: String,
    /// The bytes of the path in base64, if `path` is quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// Comparable within one answer.
    pub score: f32,
    /// Best first. In an answer with code, files without shown code have one part of one line.
    pub chunks: Vec<RankedChunk>,
    /// In an answer with code, for files without shown code: the strongest rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Lines that help most, in order, in an answer with code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<RankedCode>,
    /// Unchanged lines that an earlier answer has shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown_earlier: Vec<EarlierLines>,
    /// Definitions without shown lines, in the first files with code, the most likely ones first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<UnshownDefinition>,
    /// Number of further definitions that are not in `unshown`.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub unshown_more: usize,
    /// Files that match less and whose paths only differ by the name of a platform or backend.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<String>,
    /// The points of each rule, strongest first; with `explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<RankedReason>,
}

/// Lines of one definition, or of a part of a file outside of definitions.
#[derive(Debug, JsonSchema, Serialize)]
pub struct RankedChunk {
    /// The first line, counted from 1.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// The innermost definition, preceded by those around it (`A > b`).
    pub symbol: Option<String>,
    /// Its kind, such as `struct`.
    pub kind: Option<&'static str>,
    /// Lines that match the most of the query, in order.
    pub lines: Vec<RankedLine>,
}

/// A line of a part.
#[derive(Debug, JsonSchema, Serialize)]
pub struct RankedLine {
    /// From 1.
    pub line_number: u32,
    /// The line without indentation; a long line is cut around the match.
    pub text: String,
}

/// Files of a kind that an answer excludes.
#[derive(Debug, JsonSchema, Serialize)]
pub struct FilesLeftOut {
    /// `test`, `translation`, `lock file` or `generated file`.
    pub kind: &'static str,
    /// Number of these files.
    pub files: u64,
}

/// The points of a rule.
#[derive(Debug, JsonSchema, Serialize)]
pub struct RankedReason {
    /// The name of the rule.
    pub rule: &'static str,
    /// Points added; if negative, the fraction by which the score is reduced.
    pub gives: f32,
    /// The evidence of the rule.
    pub about: &'static str,
}

/// Ranks files for another tool. `max` is the maximum number of files, and of chunks per file. The second
/// value is true if the ranked index was not ready, so that a line search replaced it.
pub(crate) fn rank(
    call: &Call,
    request: &RankRequest,
    max: (usize, usize),
    stop: &Stop,
) -> Result<(Ranking, bool), ToolError> {
    let scope = RankScope::new(call, request)?;
    let (ranked, ranking) = scope.search(call, false, (stop, Instant::now()), max, true)?;
    Ok((ranking, ranked.is_provisional()))
}

impl Tool for SearchIndex {
    const NAME: &'static str = "search_index";
    const UNADVERTISED: &'static [&'static str] = &["changed", "explain", "history", "languages"];
    const ABOUT: RootScope = RootScope::Merged;
    const FOREIGN: &'static [ArgumentAliases] = &[
        (&["question", "pattern", "q", "search", "text"], ArgumentAlias::Rename("query")),
        (&["glob", "globs", "include", "include_pattern"], ArgumentAlias::Rename("file_pattern")),
        (&["directory", "dir", "dir_path", "file_path", "paths"], ArgumentAlias::Rename("path")),
        (&["target_directories"], ArgumentAlias::Rename("path")),
        (&["language"], ArgumentAlias::Rename("languages")),
        (&["max_results", "top_k", "k", "n"], ArgumentAlias::Rename("limit")),
        (&["max_tokens", "token_budget"], ArgumentAlias::Rename("code_tokens")),
    ];
    type Request = RankRequest;
    type Response = RankResponse;

    fn spec() -> ToolSpec {
        ToolSpec {
            method: "rank".into(),
            ..ToolSpec::new(
                Self::NAME,
                "Rank files for a question",
                include_str!("search_index.md").trim_ascii_end(),
            )
        }
    }

    fn adapt(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
        adapted::to_ranking(fields)
    }

    fn path(request: &RankRequest) -> Option<&str> {
        request.path.as_deref()
    }

    fn run(call: &Call, request: RankRequest) -> Result<ToolOutcome<RankResponse>, ToolError> {
        match request.like.as_deref() {
            Some(like) if !like.trim().is_empty() => return similar::run(call, &request, like),
            Some(_) if request.query.trim().is_empty() => {
                let problem = "it is empty; give `path#name`, `path:FIRST-LAST`, or code";
                return Err(ToolError::argument("like", problem));
            }
            _ => {}
        }
        let plan = RankPlan::new(call, &request)?;
        let (ranked, ranking) = plan.rank()?;
        let page = PageReader::new(&plan, &ranked, &ranking)?.read();
        RankAnswer { plan: &plan, ranked: &ranked, ranking, page }.assemble(request)
    }
}

/// Counts the files that are left out, by kind.
fn left_out(hits: &[FileHit], is_kept: impl Fn(&FileHit) -> bool) -> Vec<FilesLeftOut> {
    let mut kinds: BTreeMap<SecondaryKind, u64> = BTreeMap::new();
    for kind in hits.iter().filter(|hit| !is_kept(hit)).filter_map(|hit| hit.aside) {
        *kinds.entry(kind).or_default() += 1;
    }
    kinds.into_iter().map(|(kind, files)| FilesLeftOut { kind: kind.name(), files }).collect()
}

/// Returns true if a word is a number, e.g. a line number in a report. Such a word means nothing if no file
/// contains it.
fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Computes the lead of the first file over the second, as a share of its score.
fn lead(ranking: &Ranking) -> f32 {
    match ranking.files.as_slice() {
        [] => 0.0,
        [_] => 1.0,
        [first, second, ..] => ((first.score - second.score) / first.score).clamp(0.0, 1.0),
    }
}

/// Builds the note about files that are too large for the index.
fn read_in_part(files: u64, names: &ToolNames) -> Option<String> {
    let bytes = grouped(forage_rank::limits::FILE_BYTES as u64);
    let files = (files > 0).then(|| count(files, "file"))?;
    Some(format!(
        "only the first {bytes} bytes of {files} are in the index{}",
        names.fill("[[; {grep_search} searches them whole]]")
    ))
}

/// Builds the note about files that may contain a phrase.
fn unseen_phrases(files: usize, names: &ToolNames) -> Option<String> {
    let files = (files > 0).then(|| count(files as u64, "file"))?;
    Some(format!(
        "{files} with the words of a phrase could not be searched completely; narrow path{}",
        names.fill("[[, or use {grep_search}]]")
    ))
}

/// Finds the first file of a page: the one after the last file of the previous page, at its current rank.
fn place(
    ranking: &Ranking,
    cursor: &UnresolvedCursor,
    root_of: impl Fn(&FileHit) -> usize,
) -> Result<usize, ToolError> {
    let is_last = |file: &FileHit| {
        let path = RelPath::parse(&file.path, &RelPath::root()).ok();
        let place = path.and_then(|path| cursor.at(&path));
        place.is_some_and(|place| root_of(file) == usize::from(place.group.number()))
    };
    ranking.files.iter().position(is_last).map(|at| at + 1).ok_or_else(UnresolvedCursor::unknown)
}

/// Searches for the query in files that the configuration excludes.
fn excluded_matches(call: &Call, ranked: &RankedRoots<'_>, query: &str) -> Result<CallVerdict, ToolError> {
    let ranking = ranked.search(query, (1, 1), false, true)?;
    let line = ranking.files.first().zip(call.workspace.excludes.as_ref()).map(|(file, excludes)| {
        let files = count(ranking.matching as u64, "file");
        let mut path = file.path.clone();
        ranked.roots.iter().skip(file.index).take(1).for_each(|root| root.place.name(&mut path));
        let example = clip(&path, limits::NOTE_BYTES);
        let line = format!("{files} hidden by {}, such as {example}", excludes.label());
        HiddenMatches::by_setting(sanitize_line(&line).into_owned())
    });
    Ok(CallVerdict {
        hidden_matches: line.into_iter().collect(),
        complete: ranking.not_looked_at == 0,
        is_partial: ranking.not_looked_at > 0,
        ..CallVerdict::none()
    })
}

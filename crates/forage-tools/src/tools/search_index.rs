//! `search_index`: ranks files for a question, without a model.

mod code;
mod provisional;
mod reader;
mod render;
mod scope;

use std::collections::BTreeMap;
use std::time::Instant;

use forage_base::Stop;
use forage_fs::{RelPath, Root, SkipReason, Skipped, WalkOptions};
use forage_rank::{Aside, FileHit, PassageBudget, RankIndex, Ranking, model_tokens};
use forage_redact::Hidden;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::code::Remembered;
pub use self::code::{CutDefinition, EarlierLines, RankedCode, UnshownDefinition};
use self::reader::ChunkReader;
use self::scope::{RankScope, RankedPlace, RankedRoot, RankedRoots};
use super::adapted;
use crate::arguments::{Clamp, Foreign, ForeignNames, split};
use crate::border::Border;
use crate::context::Context;
use crate::cursor::{Cursor, SealedCursor, fingerprint};
use crate::error::ToolError;
use crate::file_names::unfit_globs;
use crate::limits;
use crate::names::ToolNames;
use crate::outcome::{Limit, ToolOutcome};
use crate::place::no_file_fits;
use crate::sanitize::{sanitize, sanitize_line};
use crate::several::AboutRoots;
use crate::text::{clip, count, grouped};
use crate::tool::Tool;
use crate::verdict::{CallVerdict, HiddenMatches};

/// The `search_index` tool.
pub struct SearchIndex;

/// The arguments of `search_index`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RankRequest {
    /// The question, or names.
    pub query: String,
    /// Directory or file to search (default: the project root).
    pub path: Option<String>,
    /// Globs that choose files: "*.py", "src/**/*.rs", "!tests/**".
    pub file_pattern: Option<String>,
    /// Only files changed since "HEAD" (uncommitted), "main..." or in "A..B".
    pub changed: Option<String>,
    /// Such as "rust".
    pub languages: Option<Vec<String>>,
    /// Files to return, 1 to 100 (default: 10; with code up to 20).
    pub limit: Option<i64>,
    /// Tokens of code, up to 32000 (default: what is likely to help, at most 4000); 0: files and lines alone.
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
#[derive(Debug, JsonSchema, Serialize)]
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
    code: Option<Remembered>,
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

/// Ranks files for another tool. `most` is the maximum number of files, and of chunks per file. The second
/// value is true if the ranked index was not ready, so that a line search replaced it.
pub(crate) fn rank(
    context: &Context,
    request: &RankRequest,
    most: (usize, usize),
    stop: &Stop,
) -> Result<(Ranking, bool), ToolError> {
    let scope = RankScope::of(context, request)?;
    let (ranked, ranking) = scope.search(context, false, (stop, Instant::now()), most, true)?;
    Ok((ranking, ranked.is_provisional()))
}

impl Tool for SearchIndex {
    const NAME: &'static str = "search_index";
    const METHOD: &'static str = "rank";
    const TITLE: &'static str = "Rank files for a question";
    const DESCRIPTION: &'static str = include_str!("search_index.md");
    const UNADVERTISED: &'static [&'static str] = &["changed", "explain", "history", "languages"];
    const ABOUT: AboutRoots = AboutRoots::Together;
    const FOREIGN: &'static [ForeignNames] = &[
        (&["question", "pattern", "q", "search", "text"], Foreign::Same("query")),
        (&["glob", "globs", "include", "include_pattern"], Foreign::Same("file_pattern")),
        (&["directory", "dir", "dir_path", "file_path", "paths"], Foreign::Same("path")),
        (&["target_directories"], Foreign::Same("path")),
        (&["language"], Foreign::Same("languages")),
        (&["max_results", "top_k", "k", "n"], Foreign::Same("limit")),
        (&["max_tokens", "token_budget"], Foreign::Same("code_tokens")),
    ];
    type Request = RankRequest;
    type Response = RankResponse;

    fn adapt(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
        adapted::to_ranking(fields)
    }

    fn path(request: &RankRequest) -> Option<&str> {
        request.path.as_deref()
    }

    fn run(context: &Context, request: RankRequest) -> Result<ToolOutcome<RankResponse>, ToolError> {
        let mut clamp = Clamp::new(&context.names, Self::NAME);
        let most = limits::CODE_TOKENS_MAX;
        let asked_tokens =
            request.code_tokens.map(|tokens| clamp.number("code_tokens", Some(tokens), most, 0, most));
        // A caller that asks for rules or for the next page of a ranking will want files, not code.
        let is_about_files = request.explain == Some(true) || request.cursor.is_some();
        let fit = (context.text_bytes / limits::CODE_TOKEN_BYTES) as u64;
        let by_default = || match is_about_files || fit < limits::CODE_TOKENS_LEAST {
            true => 0,
            false => context.code_tokens,
        };
        let wanted_tokens = asked_tokens.unwrap_or_else(by_default);
        let asked_limit = request.limit.map(|limit| {
            clamp.number("limit", Some(limit), limits::RANKED_FILES, 1, limits::RANKED_FILES_MAX)
        });
        // An answer with enough code names more files.
        let files = |tokens: u64| match tokens.min(fit) >= limits::CODE_TOKENS_FOR_MANY {
            true => limits::CODE_FILES,
            false => limits::RANKED_FILES,
        };
        let limit_for = |tokens: u64| asked_limit.unwrap_or_else(|| files(tokens)) as usize;
        let scope = RankScope::of(context, &request)?;
        let RankScope { places, globs, notes, .. } = &scope;
        let (first_place, is_one) = (&places[0], places.len() == 1);
        let bound = scope.bound();
        let bound = fingerprint::<Self>(&request, &first_place.root, &first_place.start, bound.as_deref());
        let cursor = request.cursor.as_deref().map(|text| SealedCursor::parse(text, bound)).transpose()?;
        // We ask for one more file than requested to see if there are more. For a further page we need the
        // whole ranking, because we must find the last file of the previous page in it.
        let candidates =
            limit_for(wanted_tokens) * if wanted_tokens > 0 { limits::CODE_CANDIDATES } else { 1 };
        let wanted = cursor.as_ref().map_or(candidates + 1, |_| forage_rank::limits::RESULTS);
        // The choice of code needs the scores of all chunks of a file.
        let chunks = if wanted_tokens > 0 { usize::MAX } else { limits::RANKED_CHUNKS.0 };
        let has_history = request.history.unwrap_or(true);
        let call = context.stop.within(context.timeout);
        let began = Instant::now();
        let most = (wanted, chunks);
        let (ranked, ranking) = scope.search(context, cursor.is_some(), (&call, began), most, has_history)?;
        // For a list of files, we show code only if the caller asks for it.
        let is_held_back = wanted_tokens > 0 && asked_tokens.is_none() && ranking.is_list;
        let code_tokens = Some(wanted_tokens).filter(|tokens| *tokens > 0 && !is_held_back);
        let limit = limit_for(code_tokens.unwrap_or(0));
        let stop = &ranked.stop;
        let place_of = |hit: &FileHit| ranked.roots.get(hit.index);
        let first = match &cursor {
            Some(cursor) => place(&ranking, cursor, |hit| place_of(hit).map_or(0, |root| root.nth))?,
            None => 0,
        };
        let hits = ranking.files.get(first..).unwrap_or_default();
        // We keep files of the best file's kind, because the query seems to ask for that kind.
        let is_kept =
            |hit: &FileHit| code_tokens.is_none() || hit.aside.is_none() || hit.aside == hits[0].aside;
        let ranked_hits: Vec<(usize, &FileHit)> =
            (first..).zip(hits).filter(|(_, hit)| is_kept(hit)).take(limit + 1).collect();
        // If too few of the candidates were kept, further files of the ranking may follow.
        let mut is_cut =
            ranked_hits.len() > limit || ranked_hits.len() < limit && hits.len() == candidates + 1;
        let explain = request.explain.unwrap_or(false);
        let mut hidden = Hidden::default();
        let border = Border::new(&context.redactor, &mut hidden);
        let mut texts: Vec<String> = Vec::new();
        let mut reader = ChunkReader { context, words: &ranking.words, explain, too_large: None, border };
        let mut skipped = Skipped::default();
        let mut shown: Vec<(&Root, &FileHit)> = Vec::with_capacity(limit);
        let mut files: Vec<RankedFile> = Vec::with_capacity(limit);
        // Rank of the last file such that this page names it and all files before it.
        let mut last = first.checked_sub(1);
        let mut ranks: Vec<usize> = Vec::with_capacity(limit);
        for &(nth, hit) in ranked_hits.iter().take(limit) {
            last = Some(nth);
            let Some(place) = place_of(hit).map(|root| root.place) else { continue };
            let Some(text) = reader.text_or_why(place, hit, &mut skipped) else { continue };
            let detail = match (code_tokens, nth) {
                (Some(_), _) => (0, 0),
                (None, 0..limits::RANKED_WELL_SHOWN) => limits::RANKED_CHUNKS,
                (None, _) => limits::RANKED_CHUNKS_LATER,
            };
            files.push(reader.record(place, hit, &text, detail));
            shown.push((&place.root, hit));
            ranks.push(nth);
            if code_tokens.is_some() {
                texts.push(text);
            }
        }
        let code = code_tokens.map(|tokens| {
            let further = files.len().min(limits::CODE_FURTHER_FILES);
            let named = files.iter().map(|file| model_tokens(&file.path)).sum::<usize>()
                + further * limits::CODE_FURTHER_TOKENS;
            let bytes = files.iter().map(|file| file.path.len() + 1).sum::<usize>()
                + further * limits::CODE_FURTHER_BYTES;
            let tokens = tokens as usize;
            let chooser = code::CodeReader {
                budget: PassageBudget {
                    tokens: tokens - named.min(tokens / limits::CODE_NAMED_PART),
                    bytes: context.text_bytes.saturating_sub(bytes + limits::CODE_NOTES_BYTES),
                },
                is_asked_for: asked_tokens.is_some(),
                shown: context.shown_earlier.as_ref(),
                words: &ranking.words,
                outlines: &context.outlines,
                threads: context.walk_options().thread_count(),
                stop,
            };
            let read = texts.len().min(limits::CODE_FILES_READ);
            chooser.read(&shown[..read], &texts[..read], &mut files, &mut reader.border)
        });
        if code.is_some() {
            let most = asked_limit.map_or(limits::CODE_FURTHER_FILES, |_| limit);
            let has_code = |file: &RankedFile| !(file.code.is_empty() && file.shown_earlier.is_empty());
            let further: Vec<usize> = (0..files.len()).filter(|at| !has_code(&files[*at])).collect();
            let (named, unnamed) = further.split_at(further.len().min(most));
            for &at in named {
                reader.name_with_line(&mut files[at], shown[at].1, &texts[at]);
            }
            if let Some(&first) = unnamed.first() {
                // The next page must begin with this file.
                (last, is_cut) = (ranks[first].checked_sub(1), true);
            }
            let mut nth = 0..;
            files.retain(|_| nth.next().is_none_or(|at| !unnamed.contains(&at)));
        }
        let end = last.map_or(first, |last| last + 1);
        let left_out = left_out(ranking.files.get(first..end).unwrap_or_default(), is_kept);

        // An incomplete ranking must not have a next page: that page would belong to another ranking.
        let is_whole = !ranked.is_provisional() && ranked.failures.is_empty();
        let next = last.and_then(|last| ranking.files.get(last)).filter(|_| is_cut && is_whole);
        let next = next.and_then(|last| {
            let path = RelPath::parse(&last.path, &RelPath::root()).ok()?;
            // A ranking has no distances, so this field holds the position of the root.
            let distance = u8::try_from(place_of(last)?.nth).ok()?;
            Some(Cursor { distance, path, line: end as u64 }.encode(bound))
        });
        let found = !files.is_empty();
        // A provisional search knows only the files that match, so it can't say that there are no others.
        let no_file_chosen = !found && ranked.has_no_file();
        if no_file_chosen && globs.is_some() {
            return Err(no_file_fits(request.path.as_deref()));
        }
        let unfit = match request.file_pattern.as_deref().filter(|_| found && cursor.is_none() && is_one) {
            Some(globs) => {
                let options = WalkOptions { only: first_place.only.clone(), ..context.walk_options() };
                let argument = ("file_pattern", "{search_index.file_pattern}");
                let place = (&first_place.root, &first_place.start);
                unfit_globs(context, place, options, argument, &split(globs))
            }
            None => None,
        };
        let excluded = ranked.count_excluded()?;
        let mut not_searched = match found || cursor.is_some() || excluded == 0 {
            true => CallVerdict::none(),
            false => excluded_matches(context, &ranked, &scope.query)?,
        };
        let too_large = reader.too_large.map(|example| {
            let files = count(skipped.get(SkipReason::TooLarge), "file");
            let example = clip(&example, limits::NOTE_BYTES);
            format!("{files} over limits.max_file_bytes of the configuration, such as {example}")
        });
        if !found {
            not_searched.hidden_matches.extend(too_large.clone().map(HiddenMatches::by_setting));
        }
        if code.is_some() && context.stop.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let is_over = code.as_ref().is_some_and(|code| !code.is_whole);
        let about_code = code.is_some().then(|| code::about_code(&files, &context.names)).flatten();
        let response = RankResponse {
            query: request.query,
            path: first_place.shown_start(),
            roots: if is_one { Vec::new() } else { places.iter().map(RankedPlace::root_path).collect() },
            files,
            matching_files: ranking.matching as u64,
            files_searched: ranked.indexes().map(RankIndex::files).sum(),
            provisional: ranked.is_provisional(),
            // Until we have read the whole tree, we can't say that something is missing from it. This also
            // applies to `unknown_words`.
            weak: found && !ranked.is_provisional() && ranking.is_weak(),
            lead: lead(&ranking),
            strength: ranking.strength,
            unknown_words: ranking
                .unknown
                .into_iter()
                .filter(|word| !ranked.is_provisional() && !is_number(word))
                .collect(),
            own_names: if explain { ranking.own_names } else { Vec::new() },
            understood: ranking.understood,
            ignored: ranking.ignored,
            no_file_chosen,
            history: match explain && has_history {
                true => ranked.indexes().map(|index| sanitize(&index.history_note())).collect(),
                false => Vec::new(),
            },
            left_out,
            continued: cursor.is_some(),
            not_searched,
            is_list: ranking.is_list,
            is_translated: ranking.is_translated,
            code,
        };
        let mut outcome = ToolOutcome::new(response, found);
        outcome.hidden = hidden;
        outcome.warnings = clamp.warnings;
        let unmet = asked_tokens.filter(|tokens| *tokens > 0);
        outcome.warnings.extend(unmet.and_then(|tokens| code::fewer_tokens(tokens, context.text_bytes)));
        outcome.warnings.extend(about_code);
        if is_over {
            outcome.truncated_by = stop.check().map(Limit::from);
            outcome.warnings.push("there was no time to read the code of all these files".to_owned());
        }
        outcome.root = (is_one && first_place.is_other).then(|| (first_place.root_path(), true));
        outcome.warnings.extend(notes.iter().cloned().chain(unfit));
        for RankedRoot { place, ranked, .. } in &ranked.roots {
            let before = outcome.warnings.len();
            outcome.add_report(&ranked.report);
            outcome.warnings[before..].iter_mut().for_each(|it| *it = place.tell(std::mem::take(it), is_one));
            outcome.warnings.extend(ranked.warning.clone().map(|warning| place.tell(warning, is_one)));
        }
        if !ranked.failures.is_empty() {
            outcome.warnings.extend(ranked.failures.iter().map(|failure| sanitize(failure)));
        }
        let too_large = too_large.filter(|_| found);
        outcome.warnings.extend(too_large.map(|files| format!("left out despite matching: {files}")));
        let in_part = ranked.indexes().map(RankIndex::files_in_part).sum();
        outcome.warnings.extend(read_in_part(in_part, &context.names));
        outcome.warnings.extend(unseen_phrases(ranking.not_looked_at, &context.names));
        outcome.skipped.merge(&skipped);
        let binary = ranked.indexes().map(|index| index.wordless_files() - index.unread_files()).sum();
        outcome.skipped.add_many(SkipReason::Binary, binary);
        outcome.skipped.add_many(SkipReason::Ignored, excluded);
        outcome.next_cursor = next;
        let is_at_end = end >= forage_rank::limits::RESULTS;
        if is_cut || (is_at_end && ranking.matching > forage_rank::limits::RESULTS) {
            outcome.truncated_by = Some(Limit::MaxResults);
        }
        if !ranked.failures.is_empty() {
            outcome.truncated_by = Some(Limit::Root);
        }
        if is_at_end && !is_cut && ranking.matching > forage_rank::limits::RESULTS {
            let most = grouped(forage_rank::limits::RESULTS as u64);
            let narrow = context
                .names
                .fill("{search_index.path}, {search_index.file_pattern} or {search_index.query}");
            outcome.warnings.push(format!("a ranking ends after {most} files; narrow {narrow}"));
        }
        Ok(outcome)
    }
}

/// Counts the files that are left out, by kind.
fn left_out(hits: &[FileHit], is_kept: impl Fn(&FileHit) -> bool) -> Vec<FilesLeftOut> {
    let mut kinds: BTreeMap<Aside, u64> = BTreeMap::new();
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
    cursor: &SealedCursor,
    root_of: impl Fn(&FileHit) -> usize,
) -> Result<usize, ToolError> {
    let is_last = |file: &FileHit| {
        let path = RelPath::parse(&file.path, &RelPath::root()).ok();
        let place = path.and_then(|path| cursor.at(&path));
        place.is_some_and(|place| root_of(file) == usize::from(place.distance))
    };
    ranking.files.iter().position(is_last).map(|at| at + 1).ok_or_else(SealedCursor::unknown)
}

/// Searches for the query in files that the configuration excludes.
fn excluded_matches(
    context: &Context,
    ranked: &RankedRoots<'_>,
    query: &str,
) -> Result<CallVerdict, ToolError> {
    let ranking = ranked.search(query, (1, 1), false, true)?;
    let line = ranking.files.first().zip(context.excludes.as_ref()).map(|(file, excludes)| {
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

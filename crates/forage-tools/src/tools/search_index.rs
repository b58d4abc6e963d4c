//! `search_index`: files ranked for a question, without a model.

mod code;
mod provisional;
mod render;

use std::cell::LazyCell;
use std::time::Instant;

use forage_base::Stop;
use forage_fs::{Contents, DecodedText, Globs, RelPath, Root, SkipReason, Skipped, decode};
use forage_rank::{
    ChunkHit, Effect, FileHit, PassageBudget, QueryWords, RankIndex, RankWeights, Ranking, RuleWeights,
    known_language, language_of, model_tokens, search,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::code::Remembered;
pub use self::code::{EarlierLines, RankedCode, UnshownDefinition};
use super::adapted;
use crate::arguments::{Clamp, Foreign, file_globs};
use crate::border::{Border, Excerpt, Hidden};
use crate::context::{Context, NotRanked};
use crate::cursor::{Cursor, fingerprint};
use crate::error::ToolError;
use crate::limits;
use crate::names::ToolNames;
use crate::outcome::{Limit, ToolOutcome};
use crate::place::{PathTarget, globs_in_path, no_file_fits};
use crate::sanitize::sanitize_line;
use crate::text::{around_place, clip, count, grouped};
use crate::tool::Tool;
use crate::verdict::CallVerdict;

/// The tool.
pub struct SearchIndex;

/// The arguments of `search_index`.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RankRequest {
    /// The question, or names.
    pub query: String,
    /// Directory or file to search (default: the project root).
    pub path: Option<String>,
    /// Globs that choose files: "*.py", "src/**/*.rs", "!tests/**".
    pub file_pattern: Option<String>,
    /// Such as "rust".
    pub languages: Option<Vec<String>>,
    /// Files to return, 1 to 100 (default: 10; 30 with code).
    pub limit: Option<i64>,
    /// Tokens of code to return in place of lines, 1 to 32000.
    pub code_tokens: Option<i64>,
    /// Say which rules ranked each file.
    pub explain: Option<bool>,
    /// From a previous answer, to go on.
    pub cursor: Option<String>,
}

impl RankRequest {
    /// Returns the request for what is asked for by default: a ranking of all files.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            path: None,
            file_pattern: None,
            languages: None,
            limit: None,
            code_tokens: None,
            explain: None,
            cursor: None,
        }
    }

    setters! {
        path: String,
        file_pattern: String,
        languages: Vec<String>,
        limit: i64,
        code_tokens: i64,
        explain: bool,
        cursor: String,
    }
}

/// The records of `search_index`.
#[derive(Debug, JsonSchema, Serialize)]
pub struct RankResponse {
    /// The query, as the caller wrote it.
    pub query: String,
    /// The file, or where was searched, below the root.
    pub path: String,
    /// The best first.
    pub files: Vec<RankedFile>,
    /// Files that have something of what is asked for.
    pub matching_files: u64,
    /// Files in the index.
    pub files_searched: u64,
    /// There is no ranked index of the whole yet: these are the best of the files with most of the words.
    pub provisional: bool,
    /// Even the best file has little of what is asked for.
    pub weak: bool,
    /// By how much the first file is ahead of the second, as a share of its own score; 1 for a single one.
    pub lead: f32,
    /// Share of what is asked for that the best file has, weighted by rarity, 0 to 1.
    pub strength: f32,
    /// Words of the query that no file has.
    pub unknown_words: Vec<String>,
    /// Quotes, filters and words to leave out that were taken as such.
    pub understood: Vec<String>,
    /// What looks like one of these and was taken for nothing.
    pub ignored: Vec<String>,
    /// No file of the index is in `path`, fits `file_pattern` and is of one of the `languages`.
    pub no_file_chosen: bool,
    /// This page continues another.
    pub continued: bool,
    /// For an answer without files: what is in those that the configuration leaves out.
    pub not_searched: CallVerdict,
    /// The files are in the order of their paths.
    #[serde(skip)]
    is_list: bool,
    /// Of an answer with code, what is to be remembered of it.
    #[serde(skip)]
    code: Option<Remembered>,
}

/// A ranked file.
#[derive(Debug, JsonSchema, Serialize)]
pub struct RankedFile {
    /// The file, or where was searched, below the root.
    pub path: String,
    /// The path's own bytes in base64, where `path` quotes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// Comparable within one answer.
    pub score: f32,
    /// The best first; none where code was asked for.
    pub chunks: Vec<RankedChunk>,
    /// Lines that help most, in order, where code was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<RankedCode>,
    /// Lines that an earlier answer has shown, which are as they were and are not shown again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown_earlier: Vec<EarlierLines>,
    /// Definitions of which no line was shown, of the first files with code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<UnshownDefinition>,
    /// Definitions that are not among `unshown` for their number.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub unshown_more: usize,
    /// What each rule gave or took, the strongest first; with `explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<RankedReason>,
}

/// A part of a file, cut at definitions.
#[derive(Debug, JsonSchema, Serialize)]
pub struct RankedChunk {
    /// The first line, from 1.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// What is defined first in these lines.
    pub symbol: Option<String>,
    /// What the symbol is, such as `function`.
    pub kind: Option<&'static str>,
    /// Lines that have most of what is asked for, in order.
    pub lines: Vec<RankedLine>,
}

/// A line of a part.
#[derive(Debug, JsonSchema, Serialize)]
pub struct RankedLine {
    /// From 1.
    pub line_number: u32,
    /// The line without indent; of a long one the part that was found.
    pub text: String,
}

/// What a rule gave or took.
#[derive(Debug, JsonSchema, Serialize)]
pub struct RankedReason {
    /// The name of the rule.
    pub rule: &'static str,
    /// Added to the score, or the share that is taken off it (negative).
    pub gives: f32,
    /// What the rule looks at.
    pub about: &'static str,
}

impl Tool for SearchIndex {
    const NAME: &'static str = "search_index";
    const TITLE: &'static str = "Rank files for a question";
    const DESCRIPTION: &'static str = include_str!("search_index.md");
    const UNADVERTISED: &'static [&'static str] = &["explain", "languages"];
    const FOREIGN: &'static [(&'static str, Foreign)] = &[
        ("question", Foreign::Same("query")),
        ("pattern", Foreign::Same("query")),
        ("q", Foreign::Same("query")),
        ("search", Foreign::Same("query")),
        ("text", Foreign::Same("query")),
        ("glob", Foreign::Same("file_pattern")),
        ("globs", Foreign::Same("file_pattern")),
        ("include", Foreign::Same("file_pattern")),
        ("include_pattern", Foreign::Same("file_pattern")),
        ("directory", Foreign::Same("path")),
        ("dir", Foreign::Same("path")),
        ("dir_path", Foreign::Same("path")),
        ("file_path", Foreign::Same("path")),
        ("paths", Foreign::Same("path")),
        ("target_directories", Foreign::Same("path")),
        ("language", Foreign::Same("languages")),
        ("max_results", Foreign::Same("limit")),
        ("top_k", Foreign::Same("limit")),
        ("k", Foreign::Same("limit")),
        ("max_tokens", Foreign::Same("code_tokens")),
        ("token_budget", Foreign::Same("code_tokens")),
        ("n", Foreign::Same("limit")),
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
        let mut clamp = Clamp::default();
        let most = limits::CODE_TOKENS_MAX;
        let code_tokens =
            request.code_tokens.map(|tokens| clamp.number("code_tokens", Some(tokens), most, 1, most));
        let files = if code_tokens.is_some() { limits::CODE_FILES } else { limits::RANKED_FILES };
        let limit = clamp.number("limit", request.limit, files, 1, limits::RANKED_FILES_MAX);
        let PathTarget { root, path: start, globs, note, .. } = context.place(request.path.as_deref())?;
        // Files are in the index by their own paths, and a path that is not there is no place where nothing is found.
        let (start, is_directory) = root.locate(&start)?;
        if !is_directory {
            // Why it can't be in the index, if so.
            root.open_file(&start)?;
        }
        let scope = IndexScope::new(context, &request, globs.as_deref(), &start)?;
        let bound = fingerprint::<Self>(&request, &root, &start, globs.as_deref());
        let cursor = request.cursor.as_deref().map(|text| Cursor::decode(text, bound)).transpose()?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        // One more than is wanted tells whether there is more; a page in the middle is looked for by its last file.
        let wanted = cursor.as_ref().map_or(limit + 1, |_| forage_rank::limits::RESULTS);
        let call = context.stop.within(context.timeout);
        let began = Instant::now();
        let search = || {
            let (ranked, stop) = match context.ranked(&root, &call) {
                Ok(ranked) => ranked,
                Err(NotRanked::Never(error)) => return Err(error),
                Err(NotRanked::NotYet(_)) if cursor.is_some() => {
                    let problem = "the ranked index is being brought up to date, and a page goes on in it alone; call again in a \
                                   few seconds, or leave the cursor out";
                    return Err(ToolError::argument("cursor", problem));
                }
                Err(NotRanked::NotYet(progress)) => {
                    let found = provisional::ProvisionalSearch {
                        context,
                        root: &root,
                        scope: &scope,
                        began,
                        stop: &call,
                    }
                    .rank(&request.query, progress)?;
                    (found, call.clone())
                }
            };
            let allow = |path: &str| scope.allows(path);
            let chunks = match code_tokens {
                Some(_) => usize::MAX,
                None => limits::RANKED_CHUNKS.0,
            };
            let ranking = scope.search(&ranked.index, &request.query, (wanted, chunks), &allow, &stop);
            Ok::<_, ToolError>((ranked, stop, ranking))
        };
        let (mut ranked, mut stop, mut ranking) = search()?;
        if ranked.index.is_damaged() {
            // Found out by using it, which happens to no other one of the same files: a new one comes in its place.
            (ranked, stop, ranking) = search()?;
        }
        let ranking = ranking?;
        let first = cursor.as_ref().map_or(0, |cursor| place(&ranking, cursor));
        let hits = ranking.files.get(first..).unwrap_or_default();
        let is_cut = hits.len() > limit;
        let hits = &hits[..limit.min(hits.len())];
        let explain = request.explain.unwrap_or(false).then(|| scope.rules());
        let mut hidden = Hidden::default();
        let border = Border::new(&context.redactor, &mut hidden);
        let mut texts: Vec<String> = Vec::new();
        let mut reader = ChunkReader {
            context,
            root: &root,
            words: &ranking.words,
            explain: explain.as_ref(),
            too_large: None,
            border,
        };
        let mut skipped = Skipped::default();
        let mut shown: Vec<&FileHit> = Vec::with_capacity(hits.len());
        let mut files: Vec<RankedFile> = Vec::with_capacity(hits.len());
        for (nth, hit) in hits.iter().enumerate() {
            let Some(text) = reader.text_or_why(hit, &mut skipped) else { continue };
            let detail = match (code_tokens, first + nth) {
                (Some(_), _) => (0, 0),
                (None, 0..limits::RANKED_WELL_SHOWN) => limits::RANKED_CHUNKS,
                (None, _) => limits::RANKED_CHUNKS_LATER,
            };
            files.push(reader.record(hit, &text, detail));
            shown.push(hit);
            if code_tokens.is_some() && texts.len() < limits::CODE_FILES_READ {
                texts.push(text);
            }
        }
        let code = code_tokens.map(|tokens| {
            let named: usize = files.iter().map(|file| model_tokens(&file.path)).sum();
            let bytes: usize = files.iter().map(|file| file.path.len() + 1).sum();
            let chooser = code::CodeReader {
                root: &root,
                budget: PassageBudget {
                    tokens: (tokens as usize).saturating_sub(named),
                    bytes: context.text_bytes.saturating_sub(bytes + limits::CODE_NOTES_BYTES),
                },
                shown: context.shown_earlier.as_ref(),
                stop: &stop,
            };
            chooser.read(&shown, &texts, &mut files, &mut reader.border)
        });

        // The next page would be one of another ranking.
        let next = hits.last().filter(|_| is_cut && !ranked.is_provisional).and_then(|last| {
            let path = RelPath::parse(&last.path, &RelPath::root()).ok()?;
            Some(Cursor { distance: 0, path, line: (first + limit) as u64 }.encode(bound))
        });
        let found = !files.is_empty();
        // One of a search without the index has the files that match alone.
        let no_file_chosen =
            !found && !ranked.is_provisional && !ranked.index.any_file(|path| scope.allows(path));
        if no_file_chosen && globs.is_some() {
            return Err(no_file_fits(request.path.as_deref()));
        }
        let excluded = scope.count_excluded(&ranked.index, &stop)?;
        let mut not_searched = match found || cursor.is_some() || excluded == 0 {
            true => CallVerdict::none(),
            false => scope.excluded_matches(&ranked.index, &request.query, &stop)?,
        };
        let too_large = reader.too_large.map(|example| {
            let files = count(skipped.get(SkipReason::TooLarge), "file");
            let example = clip(&example, limits::NOTE_BYTES);
            format!("{files} over limits.max_file_bytes of the configuration, such as {example}")
        });
        if !found {
            not_searched.hidden_matches.extend(too_large.clone());
        }
        if code.is_some() && context.stop.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let is_over = code.as_ref().is_some_and(|code| !code.is_whole);
        let about_code = code.is_some().then(|| code::about_code(&files, &context.names)).flatten();
        let response = RankResponse {
            query: request.query,
            path: start.display().into_owned(),
            files,
            matching_files: ranking.matching as u64,
            files_searched: ranked.index.files(),
            provisional: ranked.is_provisional,
            weak: found && ranking.is_weak(),
            lead: lead(&ranking),
            strength: ranking.strength,
            unknown_words: ranking.unknown,
            understood: ranking.understood,
            ignored: ranking.ignored,
            no_file_chosen,
            continued: cursor.is_some(),
            not_searched,
            is_list: ranking.is_list,
            code,
        };
        let mut outcome = ToolOutcome::new(response, found);
        outcome.hidden = hidden;
        outcome.warnings = clamp.warnings;
        outcome
            .warnings
            .extend(code_tokens.and_then(|tokens| code::fewer_tokens(tokens, context.text_bytes)));
        outcome.warnings.extend(about_code);
        if is_over {
            outcome.truncated_by = stop.check().map(Limit::from);
            outcome.warnings.push("there was no time to look at the code of all of these files".to_owned());
        }
        outcome.warnings.extend(note);
        outcome.add_report(&ranked.report);
        outcome.warnings.extend(ranked.warning);
        let too_large = too_large.filter(|_| found);
        outcome.warnings.extend(too_large.map(|files| format!("left out, though it matches: {files}")));
        outcome.warnings.extend(in_part(ranked.index.files_in_part(), &context.names));
        outcome.warnings.extend(unseen_phrases(ranking.not_looked_at, &context.names));
        outcome.skipped.merge(&skipped);
        let binary = ranked.index.wordless_files() - ranked.index.unread_files();
        outcome.skipped.add_many(SkipReason::Binary, binary);
        outcome.skipped.add_many(SkipReason::Ignored, excluded);
        outcome.next_cursor = next;
        let is_at_end = first + hits.len() >= forage_rank::limits::RESULTS;
        if is_cut || (is_at_end && ranking.matching > forage_rank::limits::RESULTS) {
            outcome.truncated_by = Some(Limit::MaxResults);
        }
        if is_at_end && !is_cut && ranking.matching > forage_rank::limits::RESULTS {
            let most = grouped(forage_rank::limits::RESULTS as u64);
            outcome
                .warnings
                .push(format!("a ranking ends with its file {most}; narrow path, file_pattern or query"));
        }
        Ok(outcome)
    }
}

/// By how much the first file of a ranking is ahead of the second.
fn lead(ranking: &Ranking) -> f32 {
    match ranking.files.as_slice() {
        [] => 0.0,
        [_] => 1.0,
        [first, second, ..] => ((first.score - second.score) / first.score).clamp(0.0, 1.0),
    }
}

/// What has to be known of files that are too large for the index.
fn in_part(files: u64, names: &ToolNames) -> Option<String> {
    let bytes = grouped(forage_rank::limits::FILE_BYTES as u64);
    let files = (files > 0).then(|| count(files, "file"))?;
    Some(format!(
        "of {files} only the first {bytes} bytes are in the index{}",
        names.fill("[[; {grep_search} searches them whole]]")
    ))
}

/// What has to be known of files that may have a phrase.
fn unseen_phrases(files: usize, names: &ToolNames) -> Option<String> {
    let files = (files > 0).then(|| count(files as u64, "file"))?;
    Some(format!(
        "{files} with the words of a phrase could not be looked at whole; narrow path{}",
        names.fill("[[, or use {grep_search}]]")
    ))
}

/// Where a page begins: behind the last file of the one before, wherever that stands by now.
fn place(ranking: &Ranking, cursor: &Cursor) -> usize {
    let path = cursor.path.display();
    let known = ranking.files.iter().position(|file| file.path == path);
    // Where it has gone, those behind it have come up by one.
    known.map_or_else(|| usize::try_from(cursor.line.saturating_sub(1)).unwrap_or(usize::MAX), |at| at + 1)
}

/// Which files are ranked.
struct IndexScope<'a> {
    start: &'a RelPath,
    only: Option<Globs>,
    excludes: Option<&'a Globs>,
    languages: Vec<&'static str>,
    weights: Option<&'a RankWeights>,
}

impl<'a> IndexScope<'a> {
    fn new(
        context: &'a Context,
        request: &RankRequest,
        globs: Option<&str>,
        start: &'a RelPath,
    ) -> Result<Self, ToolError> {
        if request.query.trim().is_empty() {
            let problem = "it is empty; say what you are looking for, in words or names";
            return Err(ToolError::argument("query", problem));
        }
        let only = match (globs, request.file_pattern.as_deref()) {
            (Some(globs), None) => file_globs(Some(globs), &RelPath::root())?,
            (Some(_), Some(_)) => return Err(globs_in_path("file_pattern")),
            (None, globs) => file_globs(globs, start)?,
        };
        let languages = request.languages.iter().flatten().map(|name| {
            known_language(name).ok_or_else(|| {
                let problem = format!(
                    "`{name}` is not a language that can be told; leave it out, or give file_pattern"
                );
                ToolError::argument("languages", problem)
            })
        });
        let languages = languages.collect::<Result<_, _>>()?;
        let (excludes, weights) = (context.excludes.as_ref(), context.ranking.as_deref());
        Ok(Self { start, only, excludes, languages, weights })
    }

    /// The weights in effect.
    fn rules(&self) -> RuleWeights {
        self.weights.map_or_else(RuleWeights::default, |weights| weights.rules.clone())
    }

    fn search(
        &self,
        index: &RankIndex,
        query: &str,
        (limit, chunks): (usize, usize),
        allow: &(dyn Fn(&str) -> bool + Sync),
        stop: &Stop,
    ) -> Result<Ranking, ToolError> {
        let is_over = || stop.check().is_some();
        let request = forage_rank::RankedSearch {
            weights: self.weights,
            allow: Some(allow),
            stop: &is_over,
            chunks,
            ..forage_rank::RankedSearch::new(query, limit)
        };
        let ranking = search(index, &request).map_err(|error| ToolError::index(&error, error.hint()))?;
        if ranking.stopped { Err(self.over(stop)) } else { Ok(ranking) }
    }

    fn over(&self, stop: &Stop) -> ToolError {
        match stop.is_cancelled() {
            true => ToolError::Cancelled,
            false => {
                let message =
                    "the time was over before the files were ranked; narrow `path`, or shorten `query`";
                ToolError::index(&message, None)
            }
        }
    }

    /// Files that would be ranked if the configuration did not leave them out.
    fn count_excluded(&self, index: &RankIndex, stop: &Stop) -> Result<u64, ToolError> {
        if self.excludes.is_none() {
            return Ok(0);
        }
        let count = index.count_files(|path| self.chosen(path) == Some(false), &|| stop.check().is_some());
        count.ok_or_else(|| self.over(stop))
    }

    /// Those of them that have something of the query.
    fn excluded_matches(
        &self,
        index: &RankIndex,
        query: &str,
        stop: &Stop,
    ) -> Result<CallVerdict, ToolError> {
        let ranking = self.search(index, query, (1, 1), &|path| self.chosen(path) == Some(false), stop)?;
        let shown = ranking.files.first().zip(self.excludes);
        let line = shown.map(|(file, excludes)| {
            let files = count(ranking.matching as u64, "file");
            let example = clip(&file.path, limits::NOTE_BYTES);
            let line = format!("{files} hidden by {}, such as {example}", excludes.label());
            sanitize_line(&line).into_owned()
        });
        Ok(CallVerdict {
            hidden_matches: line.into_iter().collect(),
            complete: ranking.not_looked_at == 0,
            is_partial: ranking.not_looked_at > 0,
            ..CallVerdict::none()
        })
    }

    fn allows(&self, path: &str) -> bool {
        self.chosen(path) == Some(true)
    }

    /// Whether a file is ranked; `None` for one that is not asked for, and false where the configuration leaves it out.
    fn chosen(&self, path: &str) -> Option<bool> {
        if !self.languages.is_empty()
            && !language_of(path).is_some_and(|language| self.languages.contains(&language))
        {
            return None;
        }
        if self.start.is_root() && self.only.is_none() && self.excludes.is_none() {
            return Some(true);
        }
        let path = RelPath::parse(path, &RelPath::root()).ok()?;
        let is_asked =
            path.starts_with(self.start) && self.only.as_ref().is_none_or(|only| only.choose(&path));
        is_asked.then(|| !self.excludes.is_some_and(|excludes| excludes.leave_out(&path)))
    }
}

/// Reads the lines that are shown.
struct ChunkReader<'a> {
    context: &'a Context,
    root: &'a Root,
    words: &'a QueryWords,
    /// The weights by which files are to be explained.
    explain: Option<&'a RuleWeights>,
    /// The first file that was left out for its size.
    too_large: Option<String>,
    border: Border<'a>,
}

impl ChunkReader<'_> {
    /// The text of a file, unless it can't be had, which is counted.
    fn text_or_why(&mut self, hit: &FileHit, skipped: &mut Skipped) -> Option<String> {
        let reason = match self.text(&hit.path) {
            Ok(text) => return Some(text),
            Err(reason) => reason,
        };
        skipped.add(reason);
        if reason == SkipReason::TooLarge {
            self.too_large.get_or_insert_with(|| self.border.uncounted(&hit.path));
        }
        None
    }

    /// A file with so many of its chunks, and of each so many lines.
    fn record(&mut self, hit: &FileHit, text: &str, (chunks, lines): (usize, usize)) -> RankedFile {
        // Of a file whose code is shown nothing is taken here.
        let excerpt = LazyCell::new(|| Excerpt::new(text));
        let chunks = hit.chunks.iter().take(chunks).map(|chunk| self.chunk(chunk, &excerpt, lines)).collect();
        let (path, path_bytes) = match RelPath::parse(&hit.path, &RelPath::root()) {
            Ok(path) => self.border.path(&path),
            Err(_) => (self.border.uncounted(&hit.path), None),
        };
        RankedFile {
            path,
            path_bytes,
            score: hit.score,
            chunks,
            code: Vec::new(),
            shown_earlier: Vec::new(),
            unshown: Vec::new(),
            unshown_more: 0,
            reasons: self.explain.map(|rules| reasons(hit, rules)).unwrap_or_default(),
        }
    }

    fn chunk(&mut self, chunk: &ChunkHit, excerpt: &Excerpt<'_>, most: usize) -> RankedChunk {
        let all = &excerpt.lines;
        let first = (chunk.start_line as usize).saturating_sub(1).min(all.len());
        let within = &all[first..(chunk.end_line as usize).clamp(first, all.len())];
        let best: Vec<usize> =
            self.words.best(within.iter().copied(), most).into_iter().map(|nth| first + nth).collect();
        let texts = self.border.chosen(excerpt, &best);
        let record = |(at, text): (usize, String)| {
            let text = sanitize_line(text.trim());
            let place = self.words.place(&text);
            let text = around_place(&text, limits::RANKED_LINE_CHARACTERS, place.as_ref());
            RankedLine { line_number: at as u32 + 1, text }
        };
        let mut symbol = chunk.symbol.as_ref().map(|(name, _)| sanitize_line(name).into_owned());
        symbol.iter_mut().for_each(|name| self.border.text(name));
        RankedChunk {
            start_line: chunk.start_line,
            end_line: chunk.end_line,
            symbol,
            kind: chunk.symbol.as_ref().map(|(_, kind)| kind.name()),
            lines: best.into_iter().zip(texts).map(record).collect(),
        }
    }

    /// The part of a file that is in the index.
    fn text(&self, path: &str) -> Result<String, SkipReason> {
        let path = RelPath::parse(path, &RelPath::root()).map_err(|_| SkipReason::Unreadable)?;
        let mut file = self.root.open_file(&path).map_err(|_| SkipReason::Unreadable)?;
        if self.context.max_file_bytes.is_some_and(|most| file.size() > most) {
            return Err(SkipReason::TooLarge);
        }
        let mut buffer = Vec::new();
        let contents = file.read_into(&mut buffer, forage_rank::limits::FILE_BYTES);
        if contents.map_err(|_| SkipReason::Unreadable)? == Contents::TooLarge {
            buffer.truncate(forage_rank::limits::FILE_BYTES);
        }
        match decode(&buffer) {
            DecodedText::Text { bytes, .. } => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            DecodedText::Binary => Err(SkipReason::Binary),
        }
    }
}

/// What moved a file, the strongest first.
fn reasons(hit: &FileHit, rules: &RuleWeights) -> Vec<RankedReason> {
    let mut reasons: Vec<RankedReason> = rules
        .iter()
        .zip(&hit.values)
        .map(|((rule, weight), value)| RankedReason {
            rule: rule.name,
            gives: match rule.effect {
                Effect::Adds => weight * value,
                Effect::Lowers => -(weight * value).min(1.0),
            },
            about: rule.about,
        })
        .filter(|reason| reason.gives.abs() >= 0.005)
        .collect();
    reasons.sort_by(|left, right| right.gives.abs().total_cmp(&left.gives.abs()));
    reasons
}

//! `keyword_search`: searches the repository for many terms in one pass. A filter then keeps the relevant
//! files.

mod answer;
mod candidates;
mod compact;
mod evidence;
mod filter;
mod json;
mod lexical;
mod list;
mod names;
mod order;
mod render;
mod request;

use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{RelPath, Root, find_git_root};
use forage_redact::ExcerptLine;
use forage_search::keyword::{
    Breadth, EvidenceLine, KeywordFindings, KeywordOptions, TermDetail, TermReport, TermStatus, gather,
};
use forage_search::{Case, Pattern, PatternOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::answer::LineRange;
use self::candidates::RankedCandidates;
use self::order::OrderedMatches;
use crate::arguments::{ArgumentAlias, ArgumentAliases};
use crate::call::Call;
use crate::error::ToolError;
use crate::limits;
use crate::multi_root::RootScope;
use crate::outcome::ToolOutcome;
use crate::output_redactor::OutputRedactor;
use crate::sanitize::{line_text, sanitize_line};
use crate::settings::{EvidenceForm, FilterBreadth, FilterCandidates, FilterMode, FilterSettings};
use crate::text::{absolute, absolute_bytes, clip, count, grouped, quoted};
use crate::tool::{Egress, Tool, ToolSpec};
use crate::verdict::{CallVerdict, excluded_matches};

/// The `keyword_search` tool.
pub struct KeywordSearch;

/// The arguments of `keyword_search`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct KeywordRequest {
    /// A detailed statement of what you're trying to find or learn.
    pub query: String,
    /// List of search terms in descending order of importance.
    pub search_terms: Vec<String>,
}

impl KeywordRequest {
    /// Creates a request from a statement of what to find, and search terms in descending order of
    /// importance.
    pub fn new(query: impl Into<String>, search_terms: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { query: query.into(), search_terms: search_terms.into_iter().map(Into::into).collect() }
    }
}

/// The records that `keyword_search` returns.
#[derive(Debug, JsonSchema, Serialize)]
pub struct KeywordResponse {
    /// The query, as the caller wrote it.
    pub query: String,
    /// Absolute path of the directory that was searched.
    pub root: String,
    /// Absolute path of the root that contains it. The text names files relative to this path.
    #[serde(skip)]
    project: String,
    /// True if the text must name files by whole paths.
    #[serde(skip)]
    names_whole_paths: bool,
    /// `model`, `lexical`, `lexical_after_model_failure`, or `model_in_part` when a part of the files could not be
    /// judged and follows in lexical order.
    pub filter: &'static str,
    /// Most relevant first.
    pub files: Vec<KeywordFile>,
    /// Files that match a kept term.
    pub candidate_files: u64,
    /// Files that only the ranking selected (`filter.candidates = "union"`).
    #[serde(skip_serializing_if = "is_zero")]
    pub ranked_files: u64,
    /// The result of each term, in their order.
    pub terms: Vec<TermRecord>,
    /// Bytes that ripgrep would print for the shown lines of the kept terms.
    pub evidence_bytes: u64,
    /// Files whose text was searched.
    pub files_searched: u64,
    #[serde(skip)]
    breadth: FilterBreadth,
    /// Maximum bytes of one term, and of all terms, for the notes.
    #[serde(skip)]
    bounds: (u64, u64),
    /// The requests to models, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRecord>,
    /// For a search without matches: the result of a check of the excluded files.
    pub not_searched: CallVerdict,
}

/// A file of the answer.
#[derive(Debug, JsonSchema, Serialize)]
pub struct KeywordFile {
    /// The absolute path of the file.
    pub path: String,
    /// The bytes of the path in base64, if `path` is quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// The reason, in the words of the model or of the ranking.
    pub explanation: String,
    /// Relevance according to the model, 1 to 3; only from answers by ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<u8>,
    /// Lines that the model names; only from answers by ids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<LineRange>,
    /// No model has judged this file, unlike other files in the same answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_filtered: bool,
    /// Only the ranking selected this file, and no term.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_ranked: bool,
    /// Numbers of the lines that match a term; for a file from the ranking, of its best lines.
    pub match_lines: Vec<u64>,
    /// Minimum number of further matching lines.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_match_lines: u64,
    /// The best lines, if there is no explanation of a model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<KeywordLine>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A line of a file.
#[derive(Debug, JsonSchema, Serialize)]
pub struct KeywordLine {
    /// From 1.
    pub line_number: u64,
    /// The line without indentation; a long line is cut around its first match.
    pub text: String,
}

/// The result of a term.
#[derive(Debug, JsonSchema, Serialize)]
pub struct TermRecord {
    /// The term, as the caller wrote it.
    pub term: String,
    /// `kept`, `no_hits`, `too_broad`, `dropped` or `invalid`.
    pub fate: &'static str,
    /// Why it is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Bytes that ripgrep prints for this term; a lower bound if it is too broad.
    pub bytes: u64,
    /// Matching lines.
    pub lines: u64,
    /// Files with such lines.
    pub files: u64,
    /// Both counts are lower bounds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lines_at_least: bool,
    /// The part that the model has seen, if not all lines with their full context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<ShownRecord>,
}

/// How much of a term's matches the model saw.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum ShownRecord {
    /// All its lines.
    Less {
        /// Lines of context around each.
        context_lines: u64,
    },
    /// The best of its lines.
    Best {
        /// Lines that were shown.
        lines: u64,
        /// Files in which they are.
        files: u64,
    },
}

/// The requests to models.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ModelRecord {
    /// `provider/model` of the first request.
    pub name: String,
    /// Tokens of the requests, if all providers report them.
    pub input_tokens: Option<u64>,
    /// Tokens that the provider read from its cache.
    pub cached_input_tokens: Option<u64>,
    /// Tokens of the answers.
    pub output_tokens: Option<u64>,
    /// Cost in US dollars, if all tokens and prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Time until all had answered.
    pub elapsed_ms: u64,
    /// Number of requests, if the evidence was split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<usize>,
    /// Answers from the cache, which cost nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_cache: Option<FromCache>,
    /// Secrets that were removed from the requests.
    pub redacted: usize,
    /// Entries of the answer that name files which were not sent.
    pub dropped_paths: usize,
}

/// Answers from the cache.
#[derive(Debug, JsonSchema, Serialize)]
pub struct FromCache {
    /// Number of cached answers.
    pub answers: usize,
    /// Age of the oldest.
    pub age_seconds: u64,
}

impl Tool for KeywordSearch {
    const NAME: &'static str = "keyword_search";
    const ABOUT: RootScope = RootScope::PerRoot;
    const FOREIGN: &'static [ArgumentAliases] = &[
        (&["terms", "keywords", "patterns"], ArgumentAlias::Rename("search_terms")),
        (&["question"], ArgumentAlias::Rename("query")),
    ];
    type Request = KeywordRequest;
    type Response = KeywordResponse;

    fn spec() -> ToolSpec {
        ToolSpec {
            egress: Egress::SendsText,
            ..ToolSpec::new(
                Self::NAME,
                "Search by concept",
                include_str!("keyword_search.md").trim_ascii_end(),
            )
        }
    }

    fn run(call: &Call, mut request: KeywordRequest) -> Result<ToolOutcome<KeywordResponse>, ToolError> {
        check(&request)?;
        // Terms come in order of importance, so we drop the last ones.
        let beyond = request.search_terms.len().saturating_sub(forage_search::limits::TERMS);
        request.search_terms.truncate(forage_search::limits::TERMS);
        let settings = &call.workspace.filter;
        check_models(call)?;
        let root = call.roots.main();
        let start = search_start(root, call.roots.base());
        let bounds = KeywordOptions {
            max_file_bytes: call.limits.max_file_bytes,
            index: call.workspace.index(root),
            ..bounds(settings)
        };
        let stop = call.stop.within(call.limits.timeout);
        let mut gathered = gather(root, &start, &call.walk_options(), &request.search_terms, &bounds, &stop)?;
        if call.stop.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let question = order::question(&request.query, &request.search_terms);
        let ranked = match settings.candidates {
            FilterCandidates::Terms => RankedCandidates::default(),
            FilterCandidates::Union => {
                let effort = (&bounds, &stop);
                candidates::add_ranked(call, root, &start, &question, &mut gathered, effort)?
            }
        };
        refuse_if_nothing_is_left(&gathered, settings)?;

        let mut outcome = ToolOutcome::new(response(root, &start, &request, &gathered, settings), false);
        outcome.response.ranked_files = ranked.added;
        outcome.warnings.extend(ranked.warnings);
        outcome.add_report(&gathered.report);
        outcome.warnings.extend(left_out(beyond as u64, gathered.beyond));
        if gathered.files.is_empty() {
            if gathered.report.stopped.is_none() {
                outcome.response.not_searched = excluded_term_matches(call, root, &start, &gathered, &stop);
            }
            return Ok(outcome);
        }
        // A model has its own time limit. Without a model, the limit of this call applies.
        let time = if settings.mode == FilterMode::Lexical { &stop } else { &call.stop };
        let found = OrderedMatches::new(root, &gathered, question, &ranked.paths, call, time);
        match settings.mode {
            FilterMode::Lexical => fill_lexical(&mut outcome.response, &found),
            FilterMode::Model => filter::fill(call, &found, &mut outcome)?,
        }
        outcome.hidden = found.hidden.take();
        if found.is_unranked.get() {
            let order = "the time limit was reached before the files were ranked; they are in the order of \
                         their matching lines";
            outcome.warnings.push(order.to_owned());
        }
        outcome.found = !outcome.response.files.is_empty();
        Ok(outcome)
    }
}

/// Fails if the filter needs a model and none is configured.
fn check_models(call: &Call) -> Result<(), ToolError> {
    let settings = &call.workspace.filter;
    if settings.mode == FilterMode::Model && settings.models.is_empty() {
        return Err(ToolError::NoModel {
            tool: call.workspace.names.tool(KeywordSearch::NAME),
            is_configured: settings.names_models(),
            looked_for: settings.describe_discovery(),
        });
    }
    Ok(())
}

/// Builds the warnings about terms and files that were ignored.
fn left_out(terms: u64, files: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    if terms > 0 {
        warnings.push(format!(
            "ignored the last {}: at most {} are searched for",
            count(terms, "search term"),
            forage_search::limits::TERMS
        ));
    }
    if files > 0 {
        warnings.push(format!(
            "{} that match were not considered: too many files match; use more specific terms",
            count(files, "file")
        ));
    }
    warnings
}

/// Builds the options for gathering the terms.
fn bounds(settings: &FilterSettings) -> KeywordOptions {
    let breadth = match (settings.breadth, settings.mode) {
        (FilterBreadth::Requirement, _) => Breadth::Requirement,
        (FilterBreadth::Adaptive, FilterMode::Model) => Breadth::Adaptive,
        (FilterBreadth::Adaptive, FilterMode::Lexical) => Breadth::Ranked { files: limits::LEXICAL_RANKED },
    };
    let FilterSettings { term_bytes, evidence_bytes, context_lines: context, .. } = *settings;
    KeywordOptions { term_bytes, evidence_bytes, context, breadth, ..KeywordOptions::default() }
}

fn check(request: &KeywordRequest) -> Result<(), ToolError> {
    if request.query.trim().is_empty() {
        return Err(ToolError::argument(
            "query",
            "it is empty; say in a sentence what you are trying to find or learn",
        ));
    }
    if request.query.len() > limits::QUERY_BYTES {
        let problem = format!(
            "it has {}, over the limit of {}; shorten it",
            count(request.query.len() as u64, "byte"),
            grouped(limits::QUERY_BYTES as u64)
        );
        return Err(ToolError::argument("query", problem));
    }
    if request.search_terms.is_empty() {
        return Err(ToolError::argument(
            "search_terms",
            "at least one search term is required; give several specific ones",
        ));
    }
    Ok(())
}

/// Finds the directory where the search begins: the git root that contains the working directory, but never a
/// directory above the allowed root. Without a git root, this is the working directory.
fn search_start(root: &Root, base: &RelPath) -> RelPath {
    let Some(below) = base.to_os_string() else { return base.clone() };
    let working = root.path().join(&*below);
    match find_git_root(&working) {
        Some(git) if git.starts_with(root.path()) => {
            let up = working.strip_prefix(&git).map_or(0, |rest| rest.components().count());
            let mut start = base.clone();
            for _ in 0..up {
                start = start.parent().unwrap_or_else(RelPath::root);
            }
            start
        }
        Some(_) => RelPath::root(),
        None => base.clone(),
    }
}

/// Fails with an error that names each term if all terms are too broad, or if none of them is valid.
fn refuse_if_nothing_is_left(gathered: &KeywordFindings, settings: &FilterSettings) -> Result<(), ToolError> {
    let all = |fits: fn(&TermStatus) -> bool| gathered.terms.iter().all(|term| fits(&term.fate));
    if all(|fate| matches!(fate, TermStatus::Invalid(_))) {
        let errors: Vec<String> =
            gathered.terms.iter().map(|term| format!("{}: {}", quoted(&term.term), error_of(term))).collect();
        return Err(ToolError::argument(
            "search_terms",
            format!("none of the terms is a valid regex: {}", errors.join("; ")),
        ));
    }
    if gathered.files.is_empty()
        && all(|fate| matches!(fate, TermStatus::TooBroad | TermStatus::Invalid(_)))
        && gathered.report.stopped.is_none()
    {
        let line = |term: &TermReport| match &term.fate {
            TermStatus::Invalid(error) => format!(
                "- {}: invalid ({})",
                quoted(&term.term),
                clip(&sanitize_line(&error.to_string()), limits::NOTE_BYTES)
            ),
            _ if settings.breadth == FilterBreadth::Adaptive => {
                format!("- {}: on nearly every line of {}", quoted(&term.term), count(term.files, "file"))
            }
            _ => format!(
                "- {}: over {} bytes of matches with context",
                quoted(&term.term),
                grouped(settings.term_bytes)
            ),
        };
        return Err(ToolError::TooBroad {
            terms: gathered.terms.iter().map(line).collect::<Vec<_>>().join("\n"),
        });
    }
    Ok(())
}

fn error_of(term: &TermReport) -> String {
    match &term.fate {
        TermStatus::Invalid(error) => clip(&error.to_string(), limits::NOTE_BYTES),
        _ => String::new(),
    }
}

fn excluded_term_matches(
    call: &Call,
    root: &Arc<Root>,
    start: &RelPath,
    gathered: &KeywordFindings,
    stop: &Stop,
) -> CallVerdict {
    let options = PatternOptions { case: Case::Insensitive, ..PatternOptions::default() };
    let silent: Vec<String> =
        gathered.with_fate(&TermStatus::NoHits).map(|term| format!("(?:{})", term.term)).collect();
    // We search for all terms at once. If they are too long for one pattern, separate walks are not worth it.
    match Pattern::new_within(&silent.join("|"), &options, stop) {
        Ok(pattern) => excluded_matches(call, root, start, &call.walk_options(), &pattern, None, stop),
        Err(_) => CallVerdict { is_partial: true, ..CallVerdict::none() },
    }
}

fn response(
    root: &Root,
    start: &RelPath,
    request: &KeywordRequest,
    gathered: &KeywordFindings,
    settings: &FilterSettings,
) -> KeywordResponse {
    let term = |term: &TermReport| TermRecord {
        term: term.term.clone(),
        fate: match term.fate {
            TermStatus::Kept => "kept",
            TermStatus::NoHits => "no_hits",
            TermStatus::TooBroad => "too_broad",
            TermStatus::Dropped => "dropped",
            TermStatus::Invalid(_) => "invalid",
        },
        error: matches!(term.fate, TermStatus::Invalid(_)).then(|| error_of(term)),
        bytes: term.bytes,
        lines: term.lines,
        files: term.files,
        lines_at_least: term.lines_at_least,
        shown: shown(term, settings),
    };
    KeywordResponse {
        query: request.query.clone(),
        root: absolute(root, start),
        project: absolute(root, &RelPath::root()),
        names_whole_paths: false,
        filter: "model",
        files: Vec::new(),
        candidate_files: gathered.candidates,
        ranked_files: 0,
        terms: gathered.terms.iter().map(term).collect(),
        evidence_bytes: gathered.bytes,
        files_searched: gathered.report.searched(),
        breadth: settings.breadth,
        bounds: (settings.term_bytes, settings.evidence_bytes),
        model: None,
        not_searched: CallVerdict::none(),
    }
}

/// Describes which part of a term's matches was chosen. Compact evidence makes its own choice from this part,
/// so this returns `None` for it.
fn shown(term: &TermReport, settings: &FilterSettings) -> Option<ShownRecord> {
    match term.detail {
        _ if term.fate != TermStatus::Kept || settings.evidence == EvidenceForm::Compact => None,
        TermDetail::Whole => None,
        TermDetail::Context(context_lines) => Some(ShownRecord::Less { context_lines }),
        TermDetail::Best { lines, files } => Some(ShownRecord::Best { lines, files }),
    }
}

fn file_record(
    root: &Root,
    gathered: &KeywordFindings,
    index: usize,
    explanation: String,
) -> Option<KeywordFile> {
    let file = gathered.files.get(index)?;
    let match_lines: Vec<u64> =
        file.lines.iter().filter(|line| line.is_evidence()).map(|line| line.number).collect();
    let max = file.matched.iter().map(|matches| u64::from(matches.lines)).max().unwrap_or(0);
    let more_match_lines = max.saturating_sub(match_lines.len() as u64);
    Some(KeywordFile {
        path: absolute(root, &file.path),
        path_bytes: absolute_bytes(root, &file.path),
        explanation,
        grade: None,
        ranges: Vec::new(),
        not_filtered: false,
        is_ranked: file.is_ranked(),
        match_lines,
        more_match_lines,
        evidence: Vec::new(),
    })
}

/// Number of evidence lines under a file that was ranked without a model, and the maximum bytes of each.
const LEXICAL_LINES: usize = 3;
const LEXICAL_LINE_BYTES: usize = 160;

fn fill_lexical(response: &mut KeywordResponse, found: &OrderedMatches<'_>) {
    response.filter = "lexical";
    let best = found.order().iter().take(limits::LEXICAL_FILES);
    response.files = best.filter_map(|&index| lexical_record(found, index)).collect();
}

/// Cuts a line to the part around its first match, for an answer without a model.
fn around_match(text: &str, line: &EvidenceLine) -> String {
    let shown = text.trim_start();
    // Redaction moves later text, so this offset can only be approximate.
    let removed = (text.len() - shown.len()) + line.bytes.len().saturating_sub(text.len() + 1);
    let middle = line.first_match.saturating_sub(removed);
    evidence::elided(shown, middle, LEXICAL_LINE_BYTES, line.cut)
}

fn lexical_record(found: &OrderedMatches<'_>, index: usize) -> Option<KeywordFile> {
    let OrderedMatches { root, gathered, .. } = *found;
    let file = gathered.files.get(index)?;
    let named: Vec<String> = file
        .matched
        .iter()
        .filter_map(|matches| Some((matches, gathered.terms.get(usize::from(matches.term))?)))
        .filter(|(matches, _)| matches.lines > 0)
        .map(|(matches, report)| {
            let more = if matches.is_part { " or more" } else { "" };
            format!("{} ×{}{more}", quoted(&report.term), matches.lines)
        })
        .collect();
    let why = match file.is_ranked() {
        true => "ranked high".to_owned(),
        false => format!("matches {}", named.join(", ")),
    };
    let mut record = file_record(root, gathered, index, why)?;
    let chosen = lexical::best_lines(file, LEXICAL_LINES);
    let mut hidden = found.hidden.borrow_mut();
    let mut redactor = OutputRedactor::new(found.redactor, &mut hidden);
    // Redaction needs the lines around the chosen ones, because these may show that a line contains a secret.
    let margin = redactor.margin();
    let is_near = |at: usize| chosen.iter().any(|&line| line.abs_diff(at) <= margin);
    let near: Vec<(usize, &EvidenceLine)> =
        file.lines.iter().enumerate().filter(|(at, _)| is_near(*at)).collect();
    let lines: Vec<ExcerptLine<'_>> = near
        .iter()
        .map(|(at, line)| ExcerptLine {
            number: line.number,
            bytes: line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes),
            in_key: &line.in_key,
            is_shown: chosen.contains(at),
        })
        .collect();
    let texts = redactor.lines(&lines);
    let shown = near.iter().zip(texts).filter(|((at, _), _)| chosen.contains(at));
    record.evidence = shown
        .map(|((_, line), text)| {
            let text = line_text(text.as_deref().map_or(&line.bytes, str::as_bytes));
            KeywordLine { line_number: line.number, text: around_match(text.trim_end(), line) }
        })
        .collect();
    Some(record)
}

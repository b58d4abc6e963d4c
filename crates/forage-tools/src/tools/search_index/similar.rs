//! Similar code: the definitions nearest to a given one, or to pasted code, and what they share with it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

use forage_base::{Stop, map_in_threads};
use forage_fs::{
    Contents, DecodedText, Entry, OpenError, ReadBuffer, RelPath, Root, SkipReason, Skipped, WalkReport,
    WalkStep, decode, walk,
};
use forage_rank::{
    BestFiles, CodePiece, Definition, FileOutline, QueryWords, ScannedFile, ScannedFiles, SimilarDefinition,
    model_tokens,
};
use forage_redact::RedactionReport;
use schemars::JsonSchema;
use serde::Serialize;

use super::code::{names_of, shown_line};
use super::plan::RankPlan;
use super::render::{HEAD, head_path, push_foreign, shown_name};
use super::scope::RankedPlace;
use super::{CutDefinition, RankRequest, RankResponse, RankedCode, SearchIndex};
use crate::call::Call;
use crate::error::ToolError;
use crate::file_text::{lossy, whole_text};
use crate::limits;
use crate::lines::fit_steps;
use crate::notes::{notes, with_notes};
use crate::outcome::{Limit, ToolOutcome};
use crate::output_redactor::{Excerpt, OutputRedactor};
use crate::shown::{Rendered, ShownFiles};
use crate::text::{clip, count, quoted};
use crate::tool::Tool as _;
use crate::tools::read_file::named_code;

/// A definition that is similar to the given code.
#[derive(Debug, JsonSchema, Serialize)]
pub struct SimilarCode {
    /// Its file, below the root.
    pub path: String,
    /// The bytes of the path in base64, if `path` is quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// Its name, preceded by those of the definitions around it (`A > b`).
    pub symbol: String,
    /// Its kind, such as `struct`.
    pub kind: &'static str,
    /// 1 if it has all runs of tokens and all words of the given code and its length, 0 if it has none.
    pub similarity: f32,
    /// Lines of the given code without blank lines, comments and lines of punctuation.
    pub given_lines: u32,
    /// Number of these that it has too, apart from names, numbers and strings.
    pub alike_lines: u32,
    /// Number of these that it has unchanged.
    pub equal_lines: u32,
    /// The rarest names that both have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Its lines, within the tokens for code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<RankedCode>,
}

/// The code to which others are compared.
struct GivenCode {
    piece: CodePiece,
    /// The place of code in the working tree.
    place: Option<(Arc<Root>, RelPath, RangeInclusive<u32>)>,
}

impl GivenCode {
    /// Reads the code at `path#name` or `path:FIRST-LAST`. A text of several lines is the code itself.
    fn new(call: &Call, request: &RankRequest, like: &str, stop: &Stop) -> Result<Self, ToolError> {
        let too_short = || {
            let least = forage_rank::limits::SIMILAR_TOKENS;
            let problem = format!("it has fewer than {least} tokens of code; give a whole definition");
            ToolError::argument("like", problem)
        };
        let pasted = || {
            let language = request.languages.iter().flatten().next().map(String::as_str);
            let piece = CodePiece::from_text(like, language);
            piece.map(|piece| Self { piece, place: None }).ok_or_else(too_short)
        };
        if is_pasted(like) {
            return pasted();
        }
        // The code of a dependency may be compared with that of the project.
        let with_dependency = call.with_dependency(Some(like)).map_err(about_like)?;
        let call = with_dependency.as_ref().unwrap_or(call);
        let named = named_code(call, like.trim(), stop);
        if named.is_err() && is_line_of_code(like) {
            return pasted();
        }
        let (source, text, lines) = named.map_err(about_like)?;
        let path = String::from_utf8_lossy(source.path.as_bytes());
        let piece = CodePiece::from_file(&path, &text, Some(lines.clone())).ok_or_else(too_short)?;
        // At another revision, the definition itself may be what the caller looks for.
        let place = source.stored.is_none().then_some((source.root, source.path, lines));
        Ok(Self { piece, place })
    }

    /// Returns the lines of the given code if it is in this file.
    fn lines_in(&self, root: &Root, path: &RelPath) -> Option<&RangeInclusive<u32>> {
        let (of_root, of_path, lines) = self.place.as_ref()?;
        (root.path() == of_root.path() && path == of_path).then_some(lines)
    }
}

/// Returns true for code. The name of a place has one line.
fn is_pasted(like: &str) -> bool {
    like.trim().contains('\n')
}

/// Returns true for a line that looks more like code than like the name of a place.
fn is_line_of_code(like: &str) -> bool {
    let like = like.trim();
    like.contains(' ') && like.contains(['(', '{', ';', '='])
}

/// Changes an error about the place of the given code, so that it names the right argument.
fn about_like(error: ToolError) -> ToolError {
    let problem = match error {
        ToolError::Argument { problem, .. } => problem,
        ToolError::Path(error @ OpenError::NotFound { .. }) => {
            format!("{error}; give `path#name`, `path:FIRST-LAST`, or code of several lines")
        }
        ToolError::Path(error) => error.to_string(),
        other => return other,
    };
    ToolError::argument("like", problem)
}

/// Returns true for a file without an extension, which may be a script.
fn is_script(path: &str) -> bool {
    !path.rsplit('/').next().unwrap_or(path).contains('.')
}

/// A file of a place, by the number of the place.
type PlacedFile = (usize, RelPath);

/// Answers a request with `like`.
pub(super) fn run(
    call: &Call,
    request: &RankRequest,
    like: &str,
) -> Result<ToolOutcome<RankResponse>, ToolError> {
    let argument = |name| call.workspace.names.argument(SearchIndex::NAME, name);
    if request.cursor.is_some() {
        let problem = format!("similar code has one page; set `{}` for more", argument("limit"));
        return Err(ToolError::argument("cursor", problem));
    }
    let stop = call.stop.within(call.limits.timeout);
    let given = GivenCode::new(call, request, like, &stop)?;
    let plan = RankPlan::new(call, &RankRequest { query: String::new(), ..request.clone() })?;
    let comparing = stop.within(call.limits.timeout.mul_f64(limits::SIMILAR_COMPARE_SHARE));
    let search = SimilarSearch { call, plan: &plan, given: &given, comparing, stop };
    let (files, reports) = search.scan()?;
    let compared = files.files();
    let ComparedDefinitions { found, all, other_files, is_whole } = search.compare(files);
    if call.stop.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let mut hidden = RedactionReport::default();
    let similar = search.records(&found, &mut OutputRedactor::new(&call.workspace.redactor, &mut hidden));
    // A file may also have disappeared in the meantime.
    let is_whole = is_whole && (similar.len() == found.len() || search.stop.check().is_none());
    let response = search.response(request, similar, (compared, all));
    let is_found = !response.similar.is_empty();
    let mut outcome = ToolOutcome::new(response, is_found);
    outcome.hidden = hidden;
    outcome.warnings = plan.warnings.iter().chain(&plan.scope.notes).cloned().collect();
    if !request.query.trim().is_empty() {
        outcome.warnings.push(format!(
            "`{}` was ignored: `{}` is given",
            argument("query"),
            argument("like")
        ));
    }
    if other_files > 0 {
        let files = count(other_files, "more file");
        let path = argument("path");
        outcome.warnings.push(format!("{files} may have definitions that are as similar; narrow `{path}`"));
    }
    reports.iter().for_each(|report| outcome.add_report(report));
    if !is_whole {
        outcome.truncated_by = Some(Limit::Timeout);
    }
    if outcome.truncated_by.is_some_and(Limit::ends_early) {
        let files = count(compared, "file");
        outcome.warnings.push(format!("it was compared with only {files}; narrow `{}`", argument("path")));
    }
    Ok(outcome)
}

/// The result of a comparison.
struct ComparedDefinitions {
    /// The most similar ones.
    found: Vec<(PlacedFile, SimilarDefinition)>,
    /// Number of similar ones.
    all: u64,
    /// Number of files that were not compared and may have definitions as similar as those found.
    other_files: u64,
    /// True if there was time for all files.
    is_whole: bool,
}

struct SimilarSearch<'a> {
    call: &'a Call,
    plan: &'a RankPlan<'a>,
    given: &'a GivenCode,
    /// Ends before the call does, so that there is time to read what was found.
    comparing: Stop,
    stop: Stop,
}

impl SimilarSearch<'_> {
    fn place(&self, file: &PlacedFile) -> &RankedPlace {
        &self.plan.scope.places[file.0]
    }

    /// Scans all files in the scope.
    fn scan(&self) -> Result<(ScannedFiles<PlacedFile>, Vec<WalkReport>), ToolError> {
        let mut files = ScannedFiles::default();
        let mut reports = Vec::new();
        let stop = self.stop.within(self.call.limits.timeout.mul_f64(limits::SIMILAR_SCAN_SHARE));
        for (nth, place) in self.plan.scope.places.iter().enumerate() {
            let report = walk(
                &place.root,
                &place.start,
                &place.walk_options(),
                &stop,
                ReadBuffer::default,
                |buffer, entry, skipped| match self.scan_file(place, buffer, entry, skipped) {
                    Ok(found) => {
                        let bytes = size_of::<ScannedFile>() + entry.path.as_bytes().len();
                        WalkStep::Item((entry.path.clone(), found), bytes)
                    }
                    Err(reason) => {
                        reason.into_iter().for_each(|reason| skipped.add(reason));
                        WalkStep::Nothing
                    }
                },
                |(path, found)| {
                    files.add((nth, path), &found);
                    ControlFlow::Continue(())
                },
            )?;
            reports.push(report);
        }
        Ok((files, reports))
    }

    /// Scans a file. An error may have a reason to count.
    fn scan_file(
        &self,
        place: &RankedPlace,
        buffer: &mut ReadBuffer,
        entry: &Entry<'_>,
        skipped: &mut Skipped,
    ) -> Result<ScannedFile, Option<SkipReason>> {
        let path = String::from_utf8_lossy(entry.path.as_bytes());
        let piece = &self.given.piece;
        let is_known = piece.can_compare(&path);
        if !(is_known || is_script(&path)) || !place.allows(&path) {
            return Err(None);
        }
        // Most files without an extension are no scripts, so we need not count those that we can't read.
        let skipped_as = |reason| Err(Some(reason).filter(|_| is_known));
        let mut file = entry.open(skipped).ok_or(None)?;
        let max = self.call.limits.max_file_bytes.unwrap_or(u64::MAX).min(limits::SIMILAR_FILE_BYTES as u64);
        match file.read_into(buffer, max as usize) {
            Ok(Contents::Whole) => {}
            Ok(Contents::TooLarge) => return skipped_as(SkipReason::TooLarge),
            Err(_) => return skipped_as(SkipReason::Unreadable),
        }
        match decode(buffer) {
            DecodedText::Text { bytes, .. } => {
                let text = lossy(bytes);
                let is_compared = is_known || piece.can_compare_text(&path, &text);
                if is_compared { Ok(piece.scan(&path, &text)) } else { Err(None) }
            }
            DecodedText::Binary => skipped_as(SkipReason::Binary),
        }
    }

    /// Compares the definitions of the best files.
    fn compare(&self, files: ScannedFiles<PlacedFile>) -> ComparedDefinitions {
        let piece = &self.given.piece;
        let limit = self.plan.asked_limit.unwrap_or(limits::SIMILAR_DEFINITIONS) as usize;
        let BestFiles { files, others, weights } =
            files.best(piece, forage_rank::limits::SIMILAR_FILES.max(limit));
        let threads = self.call.walk_options().thread_count();
        let compared = map_in_threads(files, threads, |file| {
            let Some((path, text, outline)) = self.read(&file, &self.comparing) else {
                return (Vec::new(), self.comparing.check().is_none());
            };
            let excluded = self.given.lines_in(&self.place(&file).root, &file.1);
            let found = piece.compare(&weights, (&path, &text), &outline, excluded);
            (found.into_iter().map(|found| (file.clone(), found)).collect(), true)
        });
        let is_whole = compared.iter().all(|(_, is_whole)| *is_whole);
        let mut found: Vec<(PlacedFile, SimilarDefinition)> =
            compared.into_iter().flat_map(|(found, _)| found).collect();
        found.sort_by(|(file, a), (other, b)| {
            let by_place = || (file, a.start_line).cmp(&(other, b.start_line));
            b.similarity.total_cmp(&a.similarity).then_with(by_place)
        });
        let all = found.len() as u64;
        found.truncate(limit);
        let least = found.last().map_or(f32::INFINITY, |(_, last)| last.similarity);
        let other_files = others.iter().filter(|similarity| **similarity >= least).count() as u64;
        ComparedDefinitions { found, all, other_files, is_whole }
    }

    /// Reads a file, if it still exists and there is time.
    fn read(&self, file: &PlacedFile, stop: &Stop) -> Option<(String, String, Arc<FileOutline>)> {
        if stop.check().is_some() {
            return None;
        }
        let (text, ..) = whole_text(&self.place(file).root, &file.1, stop).ok()?;
        let path = String::from_utf8_lossy(file.1.as_bytes()).into_owned();
        let outline = self.call.workspace.outlines.outline(&path, &text, stop);
        // An outline that was cut short has other definitions.
        stop.check().is_none().then(|| (path, text.into_text(), outline))
    }

    /// Builds the records, with code within the budget.
    fn records(
        &self,
        found: &[(PlacedFile, SimilarDefinition)],
        redactor: &mut OutputRedactor<'_>,
    ) -> Vec<SimilarCode> {
        let mut budget = CodeBudget {
            tokens: self.plan.wanted_tokens as usize,
            bytes: self.call.limits.text_bytes.saturating_sub(limits::CODE_NOTES_BYTES),
        };
        let mut records = Vec::new();
        for (file, found) in found {
            let Some((_, text, outline)) = self.read(file, &self.stop) else { continue };
            let definition = outline.definitions.get(found.definition);
            // The file may have changed in the meantime.
            let is_same =
                |it: &&Definition| (it.start_line, it.end_line) == (found.start_line, found.end_line);
            let Some(definition) = definition.filter(is_same) else { continue };
            let (mut path, path_bytes) = redactor.path(&file.1);
            self.place(file).name(&mut path);
            let mut names = found.names.clone();
            names.iter_mut().for_each(|name| redactor.text(name));
            let kind = definition.word;
            let symbol = names_of(&outline, found.definition, redactor);
            let head = path.len() + symbol.len() + limits::SIMILAR_HEAD_BYTES;
            budget.bytes = budget.bytes.saturating_sub(head);
            let code = code(found, &symbol, &text, &mut budget, redactor);
            records.push(SimilarCode {
                path,
                path_bytes,
                start_line: found.start_line,
                end_line: found.end_line,
                symbol,
                kind,
                similarity: found.similarity,
                given_lines: self.given.piece.lines() as u32,
                alike_lines: found.alike_lines,
                equal_lines: found.equal_lines,
                names,
                code,
            });
        }
        records
    }

    fn response(
        &self,
        request: &RankRequest,
        similar: Vec<SimilarCode>,
        (compared, all): (u64, u64),
    ) -> RankResponse {
        let places = &self.plan.scope.places;
        RankResponse {
            query: request.query.clone(),
            path: places[0].shown_start(),
            roots: match self.plan.is_one() {
                true => Vec::new(),
                false => places.iter().map(RankedPlace::root_path).collect(),
            },
            matching_files: similar.iter().map(|it| &it.path).collect::<BTreeSet<_>>().len() as u64,
            files_searched: compared,
            like: request.like.clone(),
            similar,
            similar_count: Some(all),
            no_file_chosen: compared == 0,
            ..RankResponse::default()
        }
    }
}

/// The tokens and bytes that are left for code.
struct CodeBudget {
    tokens: usize,
    bytes: usize,
}

impl CodeBudget {
    /// Takes the first of these lines, as many as fit. Returns their number.
    fn take<'a>(&mut self, lines: impl Iterator<Item = &'a str>) -> usize {
        lines
            .take_while(|line| {
                let shown = &line[..line.floor_char_boundary(limits::CODE_LINE_BYTES)];
                let (tokens, bytes) = (model_tokens(shown) + 1, shown.len() + 1);
                let fits = tokens <= self.tokens && bytes <= self.bytes;
                // Whatever follows a line that doesn't fit would have no room either.
                self.tokens = if fits { self.tokens - tokens } else { 0 };
                self.bytes = self.bytes.saturating_sub(bytes);
                fits
            })
            .count()
    }
}

/// Takes the lines of a definition out of the budget. If they don't fit, takes those from the first common one on.
fn code(
    found: &SimilarDefinition,
    symbol: &str,
    text: &str,
    budget: &mut CodeBudget,
    redactor: &mut OutputRedactor<'_>,
) -> Option<RankedCode> {
    let excerpt = Excerpt::new(text);
    let lines = excerpt.lines.get(..found.end_line as usize)?;
    let of = |first: u32| lines[first as usize - 1..].iter().copied();
    let (tokens, bytes) = (budget.tokens, budget.bytes);
    let mut start_line = found.start_line;
    let mut taken = budget.take(of(start_line));
    if taken < of(start_line).len() {
        start_line = found.first_alike.unwrap_or(start_line);
        *budget = CodeBudget { tokens, bytes };
        taken = budget.take(of(start_line));
    }
    let end_line = start_line + taken as u32 - u32::from(taken > 0);
    let numbers: Vec<usize> = (start_line as usize - 1..start_line as usize - 1 + taken).collect();
    let name = || symbol.rsplit(" > ").next().unwrap_or_default().to_owned();
    let texts = redactor.chosen(&excerpt, &numbers);
    (taken > 0).then(|| RankedCode {
        start_line,
        end_line,
        within: (start_line > found.start_line).then(|| symbol.to_owned()),
        within_end_line: None,
        cut: (end_line < found.end_line).then(|| CutDefinition { name: name(), end_line: found.end_line }),
        comment_lines: 0,
        lines: texts.iter().map(|line| shown_line(line, &QueryWords::default())).collect(),
    })
}

/// Renders an answer about similar code.
pub(super) fn render(outcome: &ToolOutcome<RankResponse>, budget: usize) -> Rendered {
    let (response, notes) = (&outcome.response, notes(outcome, None));
    let label = match response.like.as_deref().unwrap_or_default().trim() {
        like if is_pasted(like) => "the given code".to_owned(),
        like => quoted(like),
    };
    if response.similar.is_empty() {
        let text = match response.files_searched {
            0 => format!("There is no file to compare with {label}."),
            files => format!("Nothing is similar to {label}: {} compared.", count(files, "source file")),
        };
        return Rendered::without_files(with_notes(text, &notes), false);
    }
    let steps = [(false, "code is left out; ask for fewer definitions".to_owned())];
    let fitted = fit_steps(true, steps, |with_code| body(response, &label, with_code), notes, budget);
    let mut shown = ShownFiles::default();
    for similar in &response.similar {
        shown.named(&similar.path, 0);
        if let Some(code) = similar.code.as_ref().filter(|_| fitted.detail) {
            shown.lines(&similar.path, code.start_line.into(), code.end_line.into());
        }
    }
    fitted.showing(shown)
}

fn body(response: &RankResponse, label: &str, with_code: bool) -> String {
    let shown = response.similar.len() as u64;
    let definitions = match response.similar_count {
        Some(all) if all > shown => format!("{shown} of {}", count(all, "definition")),
        _ => count(shown, "definition"),
    };
    let files = count(response.files_searched, "file");
    let mut text =
        format!("{definitions} similar to {label}, of {files} compared, the most similar first.\n");
    for similar in &response.similar {
        let SimilarCode { path, start_line, end_line, symbol, kind, .. } = similar;
        let symbol: Vec<String> = symbol.split(" > ").map(shown_name).collect();
        let symbol = symbol.join(" > ");
        let shared = shared(similar);
        let _ = writeln!(text, "{HEAD}{} {start_line}-{end_line} {kind} {symbol}: {shared}", head_path(path));
        let Some(code) = similar.code.as_ref().filter(|_| with_code) else { continue };
        code.lines.iter().for_each(|line| push_foreign(&mut text, line));
        if code.start_line > *start_line || code.cut.is_some() {
            let _ = writeln!(text, "{HEAD}only lines {}-{} are shown", code.start_line, code.end_line);
        }
    }
    // The tool's own text continues after this line.
    let _ = writeln!(text, "{HEAD}end");
    text
}

/// Describes what a definition shares with the given code.
fn shared(similar: &SimilarCode) -> String {
    let SimilarCode { given_lines, alike_lines, equal_lines, names, .. } = similar;
    let lines = count(u64::from(*given_lines), "line");
    let mut text = match (alike_lines, equal_lines) {
        (0, _) => "parts of lines alike".to_owned(),
        (alike, 0) => format!("{alike} of {lines} alike"),
        (alike, equal) if alike == equal => format!("{equal} of {lines} equal"),
        (alike, equal) => format!("{alike} of {lines} alike, {equal} equal"),
    };
    if !names.is_empty() {
        let names: Vec<String> =
            names.iter().map(|name| shown_name(&clip(name, limits::CODE_NAME_BYTES))).collect();
        let _ = write!(text, "; both have {}", names.join(", "));
    }
    text
}

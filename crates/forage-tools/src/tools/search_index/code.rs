//! Code in an answer of `search_index`: the most helpful lines of the ranked files, within a budget.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use forage_base::{Stop, map_in_threads};
use forage_fs::{Root, display_text};
use forage_rank::{
    Definition, DefinitionKind, FileHit, FileOutline, PassageBudget, PassageFile, PassageSearch, Passages,
    QueryWords, model_tokens,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::RankedFile;
use crate::limits;
use crate::names::ToolNames;
use crate::outlines::OutlineCache;
use crate::output_redactor::{Excerpt, OutputRedactor};
use crate::sanitize::sanitize_line;
use crate::shown_earlier::{ShownEarlier, text_hash};
use crate::text::{clip, count, grouped};

/// Consecutive lines of a file.
#[derive(Debug, JsonSchema, Serialize)]
pub struct RankedCode {
    /// The first line, counted from 1.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// The definitions around the first line that begin before it, outermost first: `Queue > push`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The last line of the innermost of these, if the shown lines continue after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_end_line: Option<u32>,
    /// The function in which the shown lines end, if its end is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutDefinition>,
    /// Omitted lines of a long comment directly before the first line.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub comment_lines: usize,
    /// The lines without line ends. U+FFFD replaces bytes that are not UTF-8; characters that hide or reorder text
    /// are escaped.
    pub lines: Vec<String>,
}

/// A definition whose end is not shown.
#[derive(Debug, JsonSchema, Serialize)]
pub struct CutDefinition {
    /// Its name.
    pub name: String,
    /// Its last line, from 1.
    pub end_line: u32,
}

/// A definition without shown lines.
#[derive(Debug, JsonSchema, Serialize)]
pub struct UnshownDefinition {
    /// Its name.
    pub name: String,
    /// Its kind, such as `function`.
    pub kind: &'static str,
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
}

/// Lines that an earlier answer has shown.
#[derive(Debug, JsonSchema, Serialize)]
pub struct EarlierLines {
    /// The first line, counted from 1.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
}

/// Selects and extracts the code of the best files within a budget.
pub(super) struct CodeReader<'a> {
    /// The budget for code and outlines.
    pub(super) budget: PassageBudget,
    /// True if the caller set the budget.
    pub(super) is_asked_for: bool,
    pub(super) shown: Option<&'a Arc<ShownEarlier>>,
    pub(super) words: &'a QueryWords,
    pub(super) outlines: &'a OutlineCache,
    pub(super) threads: usize,
    /// Ends the work. Files that we have not processed by then will have no code.
    pub(super) stop: &'a Stop,
}

impl CodeReader<'_> {
    /// Adds code to the records of files, the first of which have `texts`. The result must be remembered once
    /// the code is displayed.
    pub(super) fn read(
        &self,
        hits: &[(&Root, &FileHit)],
        texts: &[String],
        files: &mut [RankedFile],
        redactor: &mut OutputRedactor<'_>,
    ) -> DisplayedParts {
        let pairs = || hits.iter().zip(texts);
        let earlier = |((root, hit), text): (&(&Root, &FileHit), &String)| {
            self.shown.map(|shown| shown.lines(root.path(), &hit.path, text)).unwrap_or_default()
        };
        let earlier: Vec<Vec<RangeInclusive<u32>>> = pairs().map(earlier).collect();
        let outlines = self.outlines(hits, texts);
        let sources: Vec<PassageFile<'_>> = pairs()
            .zip(outlines.iter().zip(&earlier))
            .map(|(((_, hit), text), (outline, known))| PassageFile { hit, text, outline, known })
            .collect();
        let part = |all: usize| all / limits::CODE_OUTLINE_PART;
        // If lines of a file were shown earlier, one line of this answer will name them.
        let named = |(source, earlier): (&PassageFile<'_>, &Vec<RangeInclusive<u32>>)| match earlier.len() {
            0 => 0,
            ranges => source.hit.path.len() + EARLIER_BYTES + ranges * EARLIER_RANGE_BYTES,
        };
        let named: usize = sources.iter().zip(&earlier).map(named).sum();
        let tokens = self.budget.tokens.saturating_sub(named / limits::CODE_TOKEN_BYTES);
        let bytes = self.budget.bytes.saturating_sub(named);
        let budget = PassageBudget { tokens: tokens - part(tokens), bytes: bytes - part(bytes) };
        let search =
            PassageSearch { files: &sources, words: self.words, budget, is_asked_for: self.is_asked_for };
        let chosen = search.choose();
        let mut for_outlines = part(tokens).min(part(bytes) / limits::CODE_TOKEN_BYTES);
        let mut remembered = DisplayedParts {
            shown: self.shown.cloned(),
            files: Vec::new(),
            stop: self.stop.clone(),
            is_whole: sources.len() == texts.len(),
        };
        for (index, (source, Passages { ranges, unshown })) in sources.iter().zip(chosen).enumerate() {
            let whole = self.fill(&mut files[index], source, &ranges, redactor);
            if index < limits::CODE_OUTLINES && !ranges.is_empty() {
                // A file that needs less than its share leaves the rest to the following ones.
                let share = for_outlines / (limits::CODE_OUTLINES - index);
                for_outlines -= outline(&mut files[index], source, &unshown, share, redactor);
            }
            if self.shown.is_some() && !ranges.is_empty() {
                remembered.files.push(DisplayedFile {
                    root: hits[index].0.path().to_owned(),
                    path: source.hit.path.clone(),
                    hash: text_hash(source.text),
                    lines: whole,
                });
            }
        }
        remembered
    }

    /// Parses the files that have a text, in order, until time runs out.
    fn outlines(&self, hits: &[(&Root, &FileHit)], texts: &[String]) -> Vec<Arc<FileOutline>> {
        let files: Vec<(&str, &String)> =
            hits.iter().zip(texts).map(|((_, hit), text)| (hit.path.as_str(), text)).collect();
        let found = map_in_threads(&files, self.threads, |(path, text)| {
            self.stop.check().is_none().then(|| self.outlines.outline(path, text, self.stop))
        });
        // The list must not have gaps, so we stop at the first file without an outline.
        found.into_iter().map_while(|found| found).collect()
    }

    /// Adds the chosen lines to a file's record. Returns only those that are displayed completely: for
    /// another question, we may display another part of a long line.
    fn fill(
        &self,
        file: &mut RankedFile,
        source: &PassageFile<'_>,
        ranges: &[RangeInclusive<u32>],
        redactor: &mut OutputRedactor<'_>,
    ) -> Vec<RangeInclusive<u32>> {
        let earlier =
            |range: &RangeInclusive<u32>| EarlierLines { start_line: *range.start(), end_line: *range.end() };
        file.shown_earlier = source.known.iter().map(earlier).collect();
        // To find keys, we must scan the whole text. We skip this if no line is displayed.
        if ranges.is_empty() {
            return Vec::new();
        }
        let numbers: Vec<usize> =
            ranges.iter().cloned().flatten().map(|number| number as usize - 1).collect();
        let excerpt = Excerpt::new(source.text);
        let texts = redactor.chosen(&excerpt, &numbers);
        let is_whole = |(_, text): &(u32, &String)| text.len() <= limits::CODE_LINE_BYTES;
        let whole = ranges.iter().cloned().flatten().zip(&texts).filter(is_whole);
        let whole: Vec<u32> = whole.map(|(number, _)| number).collect();
        let mut texts = texts.into_iter();
        let folded: Vec<RangeInclusive<u32>> = source.outline.folded(&excerpt.lines).collect();
        let mut code = |range: &RangeInclusive<u32>| {
            let start_line = *range.start();
            let before = folded.iter().find(|folded| folded.end() + 1 == start_line);
            let around = around(source.outline, start_line);
            let end_line = around.map(|at| source.outline.definitions[at].end_line);
            RankedCode {
                start_line,
                end_line: *range.end(),
                within: around.map(|at| names_of(source.outline, at, redactor)),
                within_end_line: end_line.filter(|end| end < range.end()),
                cut: cut(source, ranges, *range.end(), redactor),
                comment_lines: before.map_or(0, |folded| folded.clone().count()),
                lines: texts
                    .by_ref()
                    .take(range.clone().count())
                    .map(|line| shown_line(&line, self.words))
                    .collect(),
            }
        };
        file.code = ranges.iter().map(&mut code).collect();
        whole.chunk_by(|before, next| before + 1 == *next).map(|run| run[0]..=run[run.len() - 1]).collect()
    }
}

/// Finds the innermost definition that contains a line and begins before it.
fn around(outline: &FileOutline, line: u32) -> Option<usize> {
    let mut at = outline.innermost(line)?;
    while outline.definitions[at].line >= line {
        at = outline.definitions[at].parent?;
    }
    Some(at)
}

/// Finds the function that continues after a line, if its end is not shown anywhere.
fn cut(
    source: &PassageFile<'_>,
    ranges: &[RangeInclusive<u32>],
    last: u32,
    redactor: &mut OutputRedactor<'_>,
) -> Option<CutDefinition> {
    let mut around = source.outline.around(source.outline.innermost(last)?);
    let definition = around.find(|it| it.kind == DefinitionKind::Function && it.end_line > last)?;
    let lines: Vec<&str> = forage_fs::lines(source.text).take(definition.end_line as usize).collect();
    // We ignore lines that only close the function, e.g. `}`.
    let end = (last as usize..lines.len()).rfind(|at| lines[*at].contains(char::is_alphanumeric))? as u32 + 1;
    if ranges.iter().chain(source.known).any(|range| range.contains(&end)) {
        return None;
    }
    let mut name = clip(&sanitize_line(&definition.name), limits::CODE_NAME_BYTES);
    redactor.text(&mut name);
    Some(CutDefinition { name, end_line: definition.end_line })
}

/// Formats the name of a definition, preceded by those of the definitions around it.
pub(super) fn names_of(outline: &FileOutline, at: usize, redactor: &mut OutputRedactor<'_>) -> String {
    let mut names = display_text(&outline.qualified(at).join(" > ")).into_owned();
    redactor.text(&mut names);
    clip(&names, limits::CODE_NAME_BYTES)
}

/// Lists definitions that are not displayed, in at most `max` tokens. Returns the tokens used.
fn outline(
    file: &mut RankedFile,
    source: &PassageFile<'_>,
    unshown: &[usize],
    max: usize,
    redactor: &mut OutputRedactor<'_>,
) -> usize {
    let mut tokens = 0;
    for definition in unshown.iter().filter_map(|at| source.outline.definitions.get(*at)) {
        let mut name = clip(&sanitize_line(&definition.name), limits::CODE_NAME_BYTES);
        let cost =
            model_tokens(&name).max(name.len() / limits::CODE_TOKEN_BYTES) + limits::CODE_OUTLINE_TOKENS;
        let is_full = file.unshown.len() == limits::CODE_OUTLINE_NAMES;
        if file.unshown_more > 0 || is_full || tokens + cost > max {
            file.unshown_more += 1;
            continue;
        }
        redactor.text(&mut name);
        tokens += cost;
        let Definition { word: kind, start_line, end_line, .. } = *definition;
        file.unshown.push(UnshownDefinition { name, kind, start_line, end_line });
    }
    tokens
}

/// Formats a line for display, with its indentation. Of a very long line, which is probably generated, we
/// show the part with the most informative word.
pub(super) fn shown_line(line: &str, words: &QueryWords) -> String {
    let max = limits::CODE_LINE_BYTES;
    if line.len() <= max {
        return sanitize_line(line).into_owned();
    }
    let looked_at = &line[..line.floor_char_boundary(limits::CODE_PLACE_BYTES)];
    // If the word is near the start, we show the line from its start.
    let place = words.place(looked_at).filter(|place| place.end > max);
    let start = place.map_or(0, |place| line.floor_char_boundary(place.start.saturating_sub(max / 4)));
    let end = line.floor_char_boundary(start + max);
    // We must not cut a mark that replaces a secret.
    let cut_mark = |at: usize| {
        let mark = line[..at].rfind(MARK).filter(|mark| !line[*mark..at].contains(']'))?;
        Some(mark..line[at..].find(']').map_or(at, |tail| at + tail + 1))
    };
    let (start, end) =
        (cut_mark(start).map_or(start, |mark| mark.start), cut_mark(end).map_or(end, |mark| mark.end));
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    let all = grouped(line.len() as u64);
    format!("{before}{}{after} [{all} bytes in all]", sanitize_line(&line[start..end]))
}

/// The start of a mark that replaces a secret.
const MARK: &str = "[redacted:";

/// Bytes of the line that lists the ranges of a file shown earlier, without its path and the ranges.
const EARLIER_BYTES: usize = 36;
/// Bytes of each range in the line of [`EARLIER_BYTES`].
const EARLIER_RANGE_BYTES: usize = 12;

/// Builds a note about missing code.
pub(super) fn about_code(files: &[RankedFile], names: &ToolNames) -> Option<String> {
    if files.iter().any(|file| !file.shown_earlier.is_empty()) {
        let hint = names.fill("[[{read_file} shows the earlier lines again]]");
        return (!hint.is_empty()).then_some(hint);
    }
    let has_none = !files.is_empty() && files.iter().all(|file| file.code.is_empty());
    has_none.then(|| {
        let files = count(files.len() as u64, "file");
        format!("the paths of {files} leave no room for code; ask for more tokens, or set a lower limit")
    })
}

/// Builds a note for an answer that can't hold as much code as requested.
pub(super) fn fewer_tokens(tokens: u64, text_bytes: usize) -> Option<String> {
    let fit = (text_bytes / limits::CODE_TOKEN_BYTES) as u64;
    (fit < tokens).then(|| {
        format!(
            "an answer here has at most {} bytes, about {} of the {} requested tokens",
            grouped(text_bytes as u64),
            grouped(fit),
            grouped(tokens)
        )
    })
}

/// The parts of files that this answer displays. We must store them only when it is rendered with its code.
#[derive(Debug)]
pub(super) struct DisplayedParts {
    shown: Option<Arc<ShownEarlier>>,
    files: Vec<DisplayedFile>,
    stop: Stop,
    /// True if we processed all files whose code could be displayed.
    pub(super) is_whole: bool,
}

#[derive(Debug)]
struct DisplayedFile {
    root: PathBuf,
    path: String,
    hash: u64,
    lines: Vec<RangeInclusive<u32>>,
}

impl DisplayedParts {
    pub(super) fn remember(&self) {
        // No one sees a cancelled answer, so its lines don't count as shown.
        let Some(shown) = self.shown.as_ref().filter(|_| !self.stop.is_cancelled()) else { return };
        for DisplayedFile { root, path, hash, lines } in &self.files {
            shown.add(root, path, *hash, lines);
        }
    }
}

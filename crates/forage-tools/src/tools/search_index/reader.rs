//! Builds the records of ranked files, with their displayed lines.

use std::cell::LazyCell;

use forage_fs::{Contents, DecodedText, ReadBuffer, RelPath, SkipReason, Skipped, decode, display_text};
use forage_rank::{ChunkHit, Effect, FileHit, FileOutline, QueryWords, RULES};

use super::scope::RankedPlace;
use super::{RankedChunk, RankedFile, RankedLine, RankedReason};
use crate::call::Call;
use crate::file_text::lossy;
use crate::limits;
use crate::output_redactor::{Excerpt, OutputRedactor};
use crate::sanitize::sanitize_line;
use crate::text::around_place;

/// Reads the displayed lines of ranked files.
pub(super) struct ChunkReader<'a> {
    pub(super) call: &'a Call,
    pub(super) words: &'a QueryWords,
    /// True if a record must contain the reasons for its rank.
    pub(super) explain: bool,
    /// The first file that we skipped because of its size.
    pub(super) too_large: Option<String>,
    pub(super) redactor: OutputRedactor<'a>,
}

impl ChunkReader<'_> {
    /// Reads the text of a file. If that fails, this counts the file as skipped.
    pub(super) fn text_or_why(
        &mut self,
        place: &RankedPlace,
        hit: &FileHit,
        skipped: &mut Skipped,
    ) -> Option<String> {
        let reason = match self.text(place, &hit.path) {
            Ok(text) => return Some(text),
            Err(reason) => reason,
        };
        skipped.add(reason);
        if reason == SkipReason::TooLarge {
            self.too_large.get_or_insert_with(|| {
                let mut path = self.redactor.uncounted(&hit.path);
                place.name(&mut path);
                path
            });
        }
        None
    }

    /// Builds the record of a file with at most `chunks` of its chunks, each with at most `lines` lines.
    pub(super) fn record(
        &mut self,
        place: &RankedPlace,
        hit: &FileHit,
        text: &str,
        (chunks, lines): (usize, usize),
    ) -> RankedFile {
        // We evaluate these only if needed: if code of this file is displayed, it has no lines here.
        let excerpt = LazyCell::new(|| Excerpt::new(text));
        let call = self.call;
        let outline = LazyCell::new(|| call.workspace.outlines.outline(&hit.path, text, &call.stop));
        let mut shown: Vec<RankedChunk> = Vec::new();
        for chunk in hit.chunks.iter().take(chunks) {
            self.chunk(chunk, (&excerpt, &outline), lines, &mut shown);
        }
        let (path, path_bytes) = self.path(place, &hit.path);
        let siblings = hit.siblings.iter().map(|path| self.path(place, path).0).collect();
        RankedFile {
            path,
            path_bytes,
            score: hit.score,
            chunks: shown,
            code: Vec::new(),
            shown_earlier: Vec::new(),
            unshown: Vec::new(),
            unshown_more: 0,
            reason: None,
            siblings,
            reasons: if self.explain { reasons(hit) } else { Vec::new() },
        }
    }

    /// Formats a path for a record, with its bytes in base64 if it is quoted.
    fn path(&mut self, place: &RankedPlace, path: &str) -> (String, Option<String>) {
        let (mut path, bytes) = match RelPath::parse(path, &RelPath::root()) {
            Ok(path) => self.redactor.path(&path),
            Err(_) => (self.redactor.uncounted(path), None),
        };
        place.name(&mut path);
        (path, bytes)
    }

    /// Adds the best line, and the main reason for this file's rank, to a record without code.
    pub(super) fn name_with_line(&mut self, file: &mut RankedFile, hit: &FileHit, text: &str) {
        let words = self.words;
        let excerpt = Excerpt::new(text);
        file.reason = Some(main_reason(hit));
        let Some(chunk) = hit.chunks.first() else { return };
        let best = words.best_of_chunk(chunk, &excerpt.lines, 1);
        let lines = best
            .iter()
            .zip(self.redactor.chosen(&excerpt, &best))
            .map(|(at, text)| ranked_line(words, *at, &text, limits::CODE_FURTHER_CHARACTERS));
        let ChunkHit { start_line, end_line, .. } = *chunk;
        let chunk = RankedChunk { start_line, end_line, symbol: None, kind: None, lines: lines.collect() };
        file.chunks.push(chunk);
    }

    /// Adds the best lines of a chunk, grouped by innermost definition.
    fn chunk(
        &mut self,
        chunk: &ChunkHit,
        (excerpt, outline): (&Excerpt<'_>, &FileOutline),
        max_lines: usize,
        shown: &mut Vec<RankedChunk>,
    ) {
        let words = self.words;
        let best = words.best_of_chunk(chunk, &excerpt.lines, max_lines);
        let texts = self.redactor.chosen(excerpt, &best);
        let mut add = |at: usize, line: Option<RankedLine>| {
            let group = self.group(chunk, outline, at as u32 + 1);
            let is_same = |other: &&mut RankedChunk| {
                (other.start_line, other.end_line, &other.symbol)
                    == (group.start_line, group.end_line, &group.symbol)
            };
            match shown.iter_mut().find(is_same) {
                Some(before) => {
                    before.lines.extend(line);
                    before.lines.sort_by_key(|line| line.line_number);
                    before.lines.dedup_by_key(|line| line.line_number);
                }
                None => shown.push(RankedChunk { lines: line.into_iter().collect(), ..group }),
            }
        };
        if best.is_empty() {
            // If no lines are displayed, the best one still decides which definition we name.
            let best = words.best_of_chunk(chunk, &excerpt.lines, 1);
            add(best.first().copied().unwrap_or(chunk.start_line as usize - 1), None);
        }
        for (at, text) in best.into_iter().zip(texts) {
            add(at, Some(ranked_line(words, at, &text, limits::RANKED_LINE_CHARACTERS)));
        }
    }

    /// Finds the definition that contains a line, or falls back to its chunk.
    fn group(&mut self, chunk: &ChunkHit, outline: &FileOutline, line: u32) -> RankedChunk {
        let ChunkHit { start_line, end_line, .. } = *chunk;
        let Some(at) = outline.innermost(line) else {
            return RankedChunk { start_line, end_line, symbol: None, kind: None, lines: Vec::new() };
        };
        let definition = &outline.definitions[at];
        let mut symbol = display_text(&outline.qualified(at).join(" > ")).into_owned();
        self.redactor.text(&mut symbol);
        RankedChunk {
            start_line: definition.start_line,
            end_line: definition.end_line,
            symbol: Some(symbol),
            kind: Some(definition.word),
            lines: Vec::new(),
        }
    }

    /// Reads the part of a file that is in the index.
    fn text(&self, place: &RankedPlace, path: &str) -> Result<String, SkipReason> {
        let path = RelPath::parse(path, &RelPath::root()).map_err(|_| SkipReason::Unreadable)?;
        let mut file = place.root.open_file(&path).map_err(|_| SkipReason::Unreadable)?;
        if self.call.limits.max_file_bytes.is_some_and(|max| file.size() > max) {
            return Err(SkipReason::TooLarge);
        }
        let mut buffer = ReadBuffer::default();
        let contents = file.read_into(&mut buffer, forage_rank::limits::FILE_BYTES);
        if contents.map_err(|_| SkipReason::Unreadable)? == Contents::TooLarge {
            buffer.truncate(forage_rank::limits::FILE_BYTES);
        }
        match decode(&buffer) {
            DecodedText::Text { bytes, .. } => Ok(lossy(bytes)),
            DecodedText::Binary => Err(SkipReason::Binary),
        }
    }
}

/// Formats a 0-based line as a record, cut to the part around the most informative word.
fn ranked_line(words: &QueryWords, at: usize, text: &str, max: usize) -> RankedLine {
    let text = sanitize_line(text.trim());
    let place = words.place(&text);
    RankedLine { line_number: at as u32 + 1, text: around_place(&text, max, place.as_ref()) }
}

/// Describes the main reason for a file's rank in a few words.
fn main_reason(hit: &FileHit) -> &'static str {
    let strongest = reasons(hit).into_iter().find(|reason| reason.gives > 0.0);
    match strongest.map_or("", |reason| reason.rule) {
        "defines"
        | "defines-asked"
        | "defines-first"
        | "definition"
        | "definition-coverage"
        | "definition-rare" => "defines it",
        "directory" | "path-coverage" => "path",
        "history" => "commits",
        "named" => "named in the text",
        name if name.starts_with("stem") => "file name",
        _ => "text",
    }
}

/// Computes the effects of the rules on a file, the strongest first. We omit effects below 0.005.
fn reasons(hit: &FileHit) -> Vec<RankedReason> {
    let mut reasons: Vec<RankedReason> = RULES
        .iter()
        .zip(&hit.values)
        .map(|(rule, value)| RankedReason {
            rule: rule.name,
            gives: match rule.effect {
                Effect::Adds => rule.weight * value,
                Effect::Lowers => -(rule.weight * value).min(1.0),
            },
            about: rule.about,
        })
        .filter(|reason| reason.gives.abs() >= 0.005)
        .collect();
    reasons.sort_by(|left, right| right.gives.abs().total_cmp(&left.gives.abs()));
    reasons
}

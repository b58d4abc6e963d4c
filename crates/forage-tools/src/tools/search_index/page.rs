//! A page of a ranking: selects its files, reads them, and adds code.

use std::collections::HashSet;

use forage_fs::{Root, SkipReason, Skipped};
use forage_rank::{FileHit, PassageBudget, Ranking, model_tokens};

use forage_redact::RedactionReport;

use super::code::{CodeReader, DisplayedParts};
use super::plan::RankPlan;
use super::reader::ChunkReader;
use super::scope::{RankedRoot, RankedRoots};
use super::{FilesLeftOut, RankedFile, left_out, place};
use crate::error::ToolError;
use crate::limits;
use crate::output_redactor::OutputRedactor;
use crate::text::{clip, count};

/// The files of a page.
pub(super) struct RankPage {
    pub(super) files: Vec<RankedFile>,
    /// In an answer with code: the displayed parts.
    pub(super) code: Option<DisplayedParts>,
    /// Rank of the last file such that this page names it and all files before it.
    pub(super) last: Option<usize>,
    /// The rank at which the next page begins.
    pub(super) end: usize,
    /// True if there are more files.
    pub(super) is_cut: bool,
    pub(super) left_out: Vec<FilesLeftOut>,
    pub(super) skipped: Skipped,
    /// Note about the files that we skipped because of their size.
    pub(super) too_large: Option<String>,
    pub(super) hidden: RedactionReport,
}

/// Reads a page of a ranking.
pub(super) struct PageReader<'a> {
    plan: &'a RankPlan<'a>,
    ranked: &'a RankedRoots<'a>,
    ranking: &'a Ranking,
    /// Tokens of code, or `None` for an answer without code.
    code_tokens: Option<u64>,
    limit: usize,
    /// Rank of the first file.
    first: usize,
}

/// Files of a page that could be read, in the order of their ranks.
struct ReadFiles<'a> {
    records: Vec<RankedFile>,
    hits: Vec<(&'a Root, &'a FileHit)>,
    ranks: Vec<usize>,
    /// Empty in an answer without code.
    texts: Vec<String>,
}

impl<'a> PageReader<'a> {
    /// Finds the first file of the page.
    pub(super) fn new(
        plan: &'a RankPlan<'a>,
        ranked: &'a RankedRoots<'a>,
        ranking: &'a Ranking,
    ) -> Result<Self, ToolError> {
        // For a list of files, we show code only if the caller asks for it.
        let is_held_back = plan.wanted_tokens > 0 && plan.asked_tokens.is_none() && ranking.is_list;
        let code_tokens = Some(plan.wanted_tokens).filter(|tokens| *tokens > 0 && !is_held_back);
        let limit = plan.limit_for(code_tokens.unwrap_or(0));
        let first = match &plan.cursor {
            Some(cursor) => place(ranking, cursor, |hit| ranked.root(hit).map_or(0, |root| root.nth))?,
            None => 0,
        };
        Ok(Self { plan, ranked, ranking, code_tokens, limit, first })
    }

    /// Reads the files of the page, and chooses their code.
    pub(super) fn read(&self) -> RankPage {
        let (call, first) = (self.plan.call, self.first);
        let hits = self.ranking.files.get(first..).unwrap_or_default();
        let selected: Vec<(usize, &FileHit)> =
            (first..).zip(hits).filter(|(_, hit)| self.is_kept(hit)).take(self.limit + 1).collect();
        let mut is_cut = selected.len() > self.limit
            || selected.len() < self.limit && hits.len() == self.plan.candidates() + 1;
        let mut hidden = RedactionReport::default();
        let mut skipped = Skipped::default();
        let mut reader = ChunkReader {
            call,
            words: &self.ranking.words,
            explain: self.plan.explain,
            too_large: None,
            redactor: OutputRedactor::new(&call.workspace.redactor, &mut hidden),
        };
        let selected = &selected[..selected.len().min(self.limit)];
        let mut files = self.read_files(selected, &mut reader, &mut skipped);
        let code = self.code_tokens.map(|tokens| self.add_code(tokens, &mut files, &mut reader.redactor));
        let mut last = selected.last().map(|(rank, _)| *rank).or(first.checked_sub(1));
        if code.is_some()
            && let Some(unnamed) = self.name_further_files(&mut files, &mut reader)
        {
            // The next page must begin with this file.
            (last, is_cut) = (unnamed.checked_sub(1), true);
        }
        let end = last.map_or(first, |last| last + 1);
        let too_large = reader.too_large.map(|example| {
            let files = count(skipped.get(SkipReason::TooLarge), "file");
            let example = clip(&example, limits::NOTE_BYTES);
            format!("{files} over limits.max_file_bytes of the configuration, such as {example}")
        });
        let passed = self.ranking.files.get(first..end).unwrap_or_default();
        let left_out = left_out(passed, |hit| self.is_kept(hit));
        RankPage { files: files.records, code, last, end, is_cut, left_out, skipped, too_large, hidden }
    }

    /// Returns true if a file may be on the page. In an answer with code, we keep files of the best file's
    /// kind, because the query seems to ask for that kind.
    fn is_kept(&self, hit: &FileHit) -> bool {
        self.code_tokens.is_none() || hit.aside.is_none() || hit.aside == self.ranking.files[self.first].aside
    }

    /// Reads the selected files, which are given with their ranks, and builds their records.
    fn read_files(
        &self,
        selected: &[(usize, &'a FileHit)],
        reader: &mut ChunkReader<'_>,
        skipped: &mut Skipped,
    ) -> ReadFiles<'a> {
        let mut files =
            ReadFiles { records: Vec::new(), hits: Vec::new(), ranks: Vec::new(), texts: Vec::new() };
        for &(rank, hit) in selected {
            let Some(&RankedRoot { place, .. }) = self.ranked.root(hit) else { continue };
            let Some(text) = reader.text_or_why(place, hit, skipped) else { continue };
            let detail = match (self.code_tokens, rank) {
                (Some(_), _) => (0, 0),
                (None, 0..limits::RANKED_WELL_SHOWN) => limits::RANKED_CHUNKS,
                (None, _) => limits::RANKED_CHUNKS_LATER,
            };
            files.records.push(reader.record(place, hit, &text, detail));
            files.hits.push((&place.root, hit));
            files.ranks.push(rank);
            if self.code_tokens.is_some() {
                files.texts.push(text);
            }
        }
        files
    }

    /// Adds the most helpful code of the files, within `tokens` less those that naming the files takes.
    fn add_code(
        &self,
        tokens: u64,
        files: &mut ReadFiles<'_>,
        redactor: &mut OutputRedactor<'_>,
    ) -> DisplayedParts {
        let call = self.plan.call;
        let records = &mut files.records;
        let further = records.len().min(limits::CODE_FURTHER_FILES);
        let named = records.iter().map(|file| model_tokens(&file.path)).sum::<usize>()
            + further * limits::CODE_FURTHER_TOKENS;
        let bytes = records.iter().map(|file| file.path.len() + 1).sum::<usize>()
            + further * limits::CODE_FURTHER_BYTES;
        let tokens = tokens as usize;
        let chooser = CodeReader {
            budget: PassageBudget {
                tokens: tokens - named.min(tokens / limits::CODE_NAMED_PART),
                bytes: call.limits.text_bytes.saturating_sub(bytes + limits::CODE_NOTES_BYTES),
            },
            is_asked_for: self.plan.asked_tokens.is_some(),
            shown: call.workspace.shown_earlier.as_ref(),
            words: &self.ranking.words,
            outlines: &call.workspace.outlines,
            threads: call.walk_options().thread_count(),
            stop: &self.ranked.stop,
        };
        let read = files.texts.len().min(limits::CODE_FILES_READ);
        chooser.read(&files.hits[..read], &files.texts[..read], records, redactor)
    }

    /// Adds the best line to files without code, and drops the last of these if there are too many. Siblings of
    /// a file with code take no place, because its record names them. Returns the rank of the first dropped
    /// file.
    fn name_further_files(&self, files: &mut ReadFiles<'_>, reader: &mut ChunkReader<'_>) -> Option<usize> {
        let ReadFiles { records, hits, ranks, texts } = files;
        let max = self.plan.asked_limit.map_or(limits::CODE_FURTHER_FILES, |_| self.limit);
        let has_code = |file: &RankedFile| !(file.code.is_empty() && file.shown_earlier.is_empty());
        // Only the named ones, so that no file disappears.
        let named = |file: &RankedFile| {
            let named = file.siblings.iter().take(limits::NAMED_SIBLINGS).cloned();
            named.collect::<Vec<String>>()
        };
        let siblings: HashSet<String> =
            records.iter().filter(|file| has_code(file)).flat_map(named).collect();
        let further = (0..records.len()).filter(|at| !has_code(&records[*at]));
        let (siblings, further): (Vec<usize>, Vec<usize>) =
            further.partition(|at| siblings.contains(&records[*at].path));
        let (named, unnamed) = further.split_at(further.len().min(max));
        for &at in named {
            reader.name_with_line(&mut records[at], hits[at].1, &texts[at]);
        }
        let mut position = 0..;
        records
            .retain(|_| position.next().is_none_or(|at| !unnamed.contains(&at) && !siblings.contains(&at)));
        unnamed.first().map(|first| ranks[*first])
    }
}

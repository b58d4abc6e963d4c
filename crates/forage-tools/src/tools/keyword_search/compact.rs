//! Compact evidence for the model: the best windows of each file, the best files first, within a budget.
//!
//! Every line of a file's text follows its line number, and we escape control characters. Headings,
//! separators and references never begin with a digit, so no file can forge one of these.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::{Range, RangeInclusive};

use forage_redact::{KEY_MARK, MARK, Redactor};
use forage_search::CutLine;
use forage_search::keyword::{EvidenceLine, FileEvidence, KeywordFindings};

use super::evidence::{EvidenceBlock, elided, without_keys};
use super::lexical;
use super::order::OrderedMatches;
use crate::limits;
use crate::sanitize::{line_text, sanitize_line};
use crate::text::{clip, count, grouped};

/// Evidence in the compact form.
#[derive(Debug, Default)]
pub(super) struct Packed {
    /// The blocks in each request, best files first.
    pub(super) shards: Vec<Vec<EvidenceBlock>>,
    pub(super) coverage: Coverage,
}

/// How much of the evidence is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Coverage {
    pub(super) files_in_one_line: usize,
    pub(super) files_left_out: usize,
    /// Number of matching lines in all files.
    pub(super) matches: usize,
    pub(super) matches_shown: usize,
}

impl Coverage {
    /// Describes the parts that are not shown. Returns `None` if everything is shown.
    pub(super) fn warning(&self) -> Option<String> {
        let mut parts = Vec::new();
        let mut part = |files: usize, verb: &str| {
            if files > 0 {
                parts.push(format!("{} {verb}", count(files as u64, "file")));
            }
        };
        part(self.files_left_out, "not at all");
        part(self.files_in_one_line, "as one line");
        let cut_files = !parts.is_empty();
        if self.matches_shown < self.matches {
            parts.push(format!(
                "{} of {} matching lines",
                grouped(self.matches_shown as u64),
                grouped(self.matches as u64)
            ));
        }
        let advice = if cut_files {
            "; more specific terms or a larger `filter.evidence_tokens` show more"
        } else {
            ""
        };
        (!parts.is_empty())
            .then(|| format!("the model saw only part of the evidence: {}{advice}", parts.join(", ")))
    }
}

/// Packs the files into at most `shards` requests of `budget` bytes of evidence each.
///
/// We process files in lexical order. A file gets up to four windows while there is room for them. In the
/// last request, we keep up to a quarter of the budget for the entries of the following files. If four
/// windows do not fit, we try two windows, one window, and one line. Files that still do not fit are only
/// counted.
pub(super) fn pack(
    found: &OrderedMatches<'_>,
    redactor: &Redactor,
    with_ids: bool,
    budget: usize,
    shards: usize,
) -> Packed {
    let gathered = found.gathered;
    let weights = lexical::weights(gathered);
    let headings = Headings { gathered, with_ids };
    let candidates: Vec<CompactFile<'_>> = found
        .order()
        .iter()
        .enumerate()
        .filter_map(|(place, &file)| {
            CompactFile::new(gathered.files.get(file)?, file, place + 1, &weights, redactor)
        })
        .collect();
    let entries: Vec<EvidenceBlock> = candidates.iter().map(|candidate| candidate.entry(&headings)).collect();
    // Bytes that the files after each one will take if each is shown as one line.
    let mut after = vec![0; entries.len() + 1];
    for (index, entry) in entries.iter().enumerate().rev() {
        after[index] = after[index + 1] + entry.text.len();
    }
    let mut packed = Packed { shards: vec![Vec::new()], ..Packed::default() };
    let (mut used, mut copies) = (0, Copies::default());
    for (index, (candidate, entry)) in candidates.iter().zip(entries).enumerate() {
        packed.coverage.matches += candidate.matches;
        let is_last = packed.shards.len() >= shards;
        let fitting = |used: usize, copies: &Copies, is_last: bool| {
            let kept = if is_last { after[index + 1].min(budget / limits::COMPACT_ENTRIES_PART) } else { 0 };
            // If a file does not fit with all its windows, the next request may have room for them.
            let levels = if is_last || used == 0 {
                &limits::COMPACT_WINDOWS[..]
            } else {
                &limits::COMPACT_WINDOWS[..1]
            };
            let mut blocks = levels.iter().map(|&windows| candidate.block(&headings, windows, copies));
            blocks.find(|block| used + block.block.text.len() + kept <= budget)
        };
        let mut full = fitting(used, &copies, is_last);
        if full.is_none() && !is_last && used > 0 {
            packed.shards.push(Vec::new());
            // The new request does not contain the windows of the previous one, so it must not refer to them.
            (used, copies) = (0, Copies::default());
            full = fitting(used, &copies, packed.shards.len() >= shards);
        }
        let block = match full {
            Some(full) => {
                packed.coverage.matches_shown += full.matches;
                copies.0.extend(full.originals);
                full.block
            }
            None if used + entry.text.len() <= budget => {
                packed.coverage.files_in_one_line += 1;
                packed.coverage.matches_shown += 1;
                entry
            }
            None => {
                packed.coverage.files_left_out += 1;
                continue;
            }
        };
        used += block.text.len();
        if let Some(shard) = packed.shards.last_mut() {
            shard.push(block);
        }
    }
    packed.shards.retain(|shard| !shard.is_empty());
    packed
}

/// Data for writing headings.
struct Headings<'a> {
    gathered: &'a KeywordFindings,
    with_ids: bool,
}

impl Headings<'_> {
    fn name(&self, candidate: &CompactFile<'_>) -> String {
        let path = candidate.file.path.display();
        if self.with_ids { format!("F{} {path}", candidate.id) } else { format!("FILE {path}") }
    }

    /// Formats the name of a file for references to its lines.
    fn short(&self, candidate: &CompactFile<'_>) -> String {
        if self.with_ids { format!("F{}", candidate.id) } else { candidate.file.path.display().into_owned() }
    }

    /// Lists the terms that match in a file, each with its number of matching lines.
    fn terms(&self, file: &FileEvidence) -> String {
        if file.is_ranked() {
            return RANKED.to_owned();
        }
        let named = self.gathered.terms.iter().enumerate().filter_map(|(term, report)| {
            let hits = file.lines_of(term);
            let name = clip(&sanitize_line(&report.term), limits::COMPACT_TERM_BYTES);
            (hits > 0).then(|| format!("{name} ×{hits}"))
        });
        named.collect::<Vec<_>>().join(", ")
    }
}

/// Replaces the terms in the heading of a file that only a ranking found.
const RANKED: &str = "ranked high";

/// Windows that the request already contains: a map from their text to the text that refers to them.
#[derive(Default)]
struct Copies(HashMap<String, String>);

/// A run of lines to show.
struct LineWindow {
    /// Indexes of the lines.
    lines: Range<usize>,
    matches: usize,
    score: f64,
}

/// A file with its lines prepared for display.
struct CompactFile<'a> {
    file: &'a FileEvidence,
    index: usize,
    id: usize,
    /// One for each line of the file's evidence.
    lines: Vec<RedactedLine>,
    /// The best window first.
    windows: Vec<LineWindow>,
    matches: usize,
}

/// A line without its secrets.
pub(super) struct RedactedLine {
    pub(super) text: String,
    /// Byte offset around which we must cut this line if it is too long.
    pub(super) middle: usize,
    /// Bytes that were cut off before and after `text`.
    cut: CutLine,
    /// Number of secrets removed from the line, except for private keys.
    redacted: usize,
    /// True if this was a line of a private key.
    in_key: bool,
}

impl RedactedLine {
    /// Cuts the text to a limit.
    fn cut(&self, limit: usize) -> String {
        elided(&self.text, self.middle, limit, self.cut)
    }
}

/// Counts the secrets removed from these lines. A private key counts once, however many lines it has.
fn secrets(lines: &[RedactedLine]) -> usize {
    secrets_of(&lines.iter().collect::<Vec<_>>())
}

/// Like [`secrets`], for lines that need not be adjacent.
pub(super) fn secrets_of(lines: &[&RedactedLine]) -> usize {
    let keys = lines.chunk_by(|a, b| a.in_key == b.in_key).filter(|run| run.iter().any(|line| line.in_key));
    lines.iter().map(|line| line.redacted).sum::<usize>() + keys.count()
}

/// A block, and the figures that we must update if the block is used.
struct Full {
    block: EvidenceBlock,
    matches: usize,
    /// Windows that later files may refer to.
    originals: Vec<(String, String)>,
}

impl<'a> CompactFile<'a> {
    /// Returns `None` for a file without a matching line.
    fn new(
        file: &'a FileEvidence,
        index: usize,
        id: usize,
        weights: &[f64],
        redactor: &Redactor,
    ) -> Option<Self> {
        let lines = lines(file, redactor);
        let mut windows = windows(file, weights);
        windows.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.lines.start.cmp(&b.lines.start)));
        let matches = file.lines.iter().filter(|line| line.is_evidence()).count();
        (!windows.is_empty()).then_some(Self { file, index, id, lines, windows, matches })
    }

    fn number(&self, index: usize) -> u64 {
        self.file.lines.get(index).map_or(0, |line| line.number)
    }

    fn block(&self, headings: &Headings<'_>, max: usize, copies: &Copies) -> Full {
        let mut chosen: Vec<&LineWindow> = self.windows.iter().take(max).collect();
        chosen.sort_by_key(|window| window.lines.start);
        let mut text = format!("\n{} ({})\n", headings.name(self), headings.terms(self.file));
        let (mut shown, mut originals) = (Vec::<RangeInclusive<u64>>::new(), Vec::new());
        let (mut redacted, mut previous) = (0, None);
        for window in &chosen {
            let ends = self.number(window.lines.start)..=self.number(window.lines.end.saturating_sub(1));
            if previous.is_some_and(|previous| previous + 1 != *ends.start()) {
                text.push_str("--\n");
            }
            previous = Some(*ends.end());
            match shown.last_mut() {
                Some(last) if last.end() + 1 == *ends.start() => *last = *last.start()..=*ends.end(),
                _ => shown.push(ends.clone()),
            }
            let signature = self.signature(&window.lines);
            match copies.0.get(&signature) {
                Some(original) => {
                    let _ = writeln!(text, "= lines {}-{} equal {original}", ends.start(), ends.end());
                }
                None => {
                    redacted += self.push(&mut text, &window.lines);
                    if signature.len() >= limits::COMPACT_COPY_BYTES {
                        let place = format!("{} lines {}-{}", headings.short(self), ends.start(), ends.end());
                        originals.push((signature, place));
                    }
                }
            }
        }
        let matches = chosen.iter().map(|window| window.matches).sum();
        if matches < self.matches {
            let _ = writeln!(text, "(+{} more)", count((self.matches - matches) as u64, "matching line"));
        }
        let block = EvidenceBlock { file: self.index, id: self.id, text, shown, redacted };
        Full { block, matches, originals }
    }

    /// Shows the file as one line, with its best line.
    fn entry(&self, headings: &Headings<'_>) -> EvidenceBlock {
        let best = lexical::best_lines(self.file, 1).first().copied().unwrap_or_default();
        let number = self.number(best);
        let line = self.lines.get(best..best + 1).unwrap_or_default();
        let text = format!(
            "\n{} ({}) {number}: {}\n",
            headings.name(self),
            headings.terms(self.file),
            line.first().map(|line| line.cut(limits::COMPACT_ENTRY_LINE_BYTES)).unwrap_or_default()
        );
        EvidenceBlock {
            file: self.index,
            id: self.id,
            text,
            shown: vec![number..=number],
            redacted: secrets(line),
        }
    }

    /// Computes the identity of a window: its text and which lines match, but not its position.
    fn signature(&self, range: &Range<usize>) -> String {
        let lines = self.file.lines.get(range.clone()).unwrap_or_default().iter();
        let texts = self.lines.get(range.clone()).unwrap_or_default().iter();
        lines
            .zip(texts)
            .map(|(line, text)| format!("{}{}\n", mark(line), text.cut(limits::COMPACT_LINE_BYTES)))
            .collect()
    }

    fn push(&self, text: &mut String, range: &Range<usize>) -> usize {
        let lines = self.file.lines.get(range.clone()).unwrap_or_default().iter();
        let texts = self.lines.get(range.clone()).unwrap_or_default();
        for (line, shown) in lines.zip(texts) {
            let _ = writeln!(text, "{}{} {}", line.number, mark(line), shown.cut(limits::COMPACT_LINE_BYTES));
        }
        secrets(texts)
    }
}

fn mark(line: &EvidenceLine) -> char {
    if line.is_evidence() { ':' } else { '-' }
}

/// Redacts the lines of a file before any of them is chosen or cut. Redaction must see all ten lines of
/// context, although we will show only a few of them. Otherwise, a key whose first line is left out could
/// pass as text.
pub(super) fn lines(file: &FileEvidence, redactor: &Redactor) -> Vec<RedactedLine> {
    let mut lines = Vec::with_capacity(file.lines.len());
    for group in file.groups() {
        let raw: Vec<String> = group.iter().map(|line| line_text(&line.bytes)).collect();
        let known: Vec<String> = group.iter().map(|line| without_keys(line, redactor)).collect();
        let redacted = redactor.redact(&known.join("\n"));
        for ((line, raw), whole) in group.iter().zip(&raw).zip(redacted.as_str().split('\n')) {
            // Redaction moves later text, so this offset is only approximate.
            let removed = raw.len().saturating_sub(whole.len());
            let middle = line.first_match.saturating_sub(removed);
            let marks = |text: &str, mark: &str| text.matches(mark).count();
            let in_key = marks(whole, KEY_MARK) > marks(raw, KEY_MARK);
            // The file may already contain such marks, and a rule may remove them.
            let others = |text: &str| marks(text, MARK) - marks(text, KEY_MARK);
            let redacted = others(whole).saturating_sub(others(raw));
            lines.push(RedactedLine { text: whole.to_owned(), middle, cut: line.cut, redacted, in_key });
        }
    }
    lines
}

/// Finds the windows of a file, in line order: three lines around every match, joined if they touch, and
/// split if they get long.
fn windows(file: &FileEvidence, weights: &[f64]) -> Vec<LineWindow> {
    let lines = &file.lines;
    let matches: Vec<u64> = lines.iter().filter(|line| line.is_evidence()).map(|line| line.number).collect();
    let near = |number: u64| {
        let at = matches.partition_point(|&place| place < number);
        let after = matches.get(at).is_some_and(|&place| place - number <= limits::COMPACT_CONTEXT);
        let before = at.checked_sub(1).and_then(|at| matches.get(at));
        after || before.is_some_and(|&place| number - place <= limits::COMPACT_CONTEXT)
    };
    let kept: Vec<usize> = (0..lines.len()).filter(|&index| near(lines[index].number)).collect();
    let runs = kept.chunk_by(|&a, &b| lines[a].number + 1 == lines[b].number);
    let parts = runs.flat_map(|run| run.chunks(limits::COMPACT_WINDOW_LINES));
    parts
        .filter_map(|part| {
            let range = *part.first()?..part.last()? + 1;
            let window = &lines[range.clone()];
            let matches = window.iter().filter(|line| line.is_evidence()).count();
            let worth = |(term, weight): (usize, &f64)| {
                let hits = window.iter().filter(|line| line.terms >> term & 1 == 1).count();
                if hits == 0 { 0.0 } else { weight * (1.0 + (hits as f64).ln()) }
            };
            let score = weights.iter().enumerate().map(worth).sum();
            (matches > 0).then_some(LineWindow { lines: range, matches, score })
        })
        .collect()
}

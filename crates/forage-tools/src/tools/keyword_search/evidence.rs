//! Evidence for the model in the requirement's form: every line of the evidence, files in path order.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use forage_fs::Root;
use forage_redact::{Redactor, concealed};
use forage_search::CutLine;
use forage_search::keyword::{EvidenceLine, FileEvidence, KeywordFindings};

use super::compact;
use crate::limits;
use crate::sanitize::line_text;
use crate::text::{absolute, grouped};

/// The part of a request about one file.
#[derive(Clone, Debug)]
pub(super) struct EvidenceBlock {
    /// Index among the files of the evidence.
    pub(super) file: usize,
    /// Number in display order over all requests of a call, from 1. For example, the file with number 7 is
    /// `F7`.
    pub(super) id: usize,
    /// Heading and lines.
    pub(super) text: String,
    /// Line ranges that are displayed, in order and not touching.
    pub(super) shown: Vec<RangeInclusive<u64>>,
    /// Number of secrets that were already removed.
    pub(super) redacted: usize,
}

impl EvidenceBlock {
    /// Formats the id for display.
    pub(super) fn label(&self) -> String {
        format!("F{}", self.id)
    }
}

/// Builds a block for every file.
pub(super) fn blocks(
    root: &Root,
    gathered: &KeywordFindings,
    redactor: &Redactor,
    with_ids: bool,
) -> Vec<EvidenceBlock> {
    let block = |(file, evidence): (usize, &FileEvidence)| {
        if evidence.lines.iter().any(|line| !line.is_shown) {
            return chosen(root, file, evidence, redactor, with_ids);
        }
        let (id, mut redacted) = (file + 1, 0);
        let mut text = heading(root, id, evidence, with_ids);
        for (index, group) in evidence.groups().enumerate() {
            if index > 0 {
                text.push_str("  --\n");
            }
            let mut was_key = false;
            for line in group {
                let mark = if line.is_evidence() { '>' } else { ' ' };
                let _ = write!(text, "{mark} {}: ", line.number);
                redacted += push_line(&mut text, line, redactor);
                // A key is one secret, however many lines it has.
                let is_key = redactor.is_active() && !line.in_key.is_empty();
                redacted += usize::from(is_key && !was_key);
                was_key = is_key;
            }
        }
        let ends = |group: &[EvidenceLine]| Some(group.first()?.number..=group.last()?.number);
        EvidenceBlock { file, id, text, shown: evidence.groups().filter_map(ends).collect(), redacted }
    };
    gathered.files.iter().enumerate().map(block).collect()
}

fn heading(root: &Root, id: usize, evidence: &FileEvidence, with_ids: bool) -> String {
    let path = absolute(root, &evidence.path);
    if with_ids { format!("\nFILE F{id} {path}\n") } else { format!("\nFILE {path}\n") }
}

/// Builds the block of a file that is shown in part. As in compact evidence, redaction must see the other
/// lines, too, because these may show that a line contains a secret.
fn chosen(
    root: &Root,
    file: usize,
    evidence: &FileEvidence,
    redactor: &Redactor,
    with_ids: bool,
) -> EvidenceBlock {
    let id = file + 1;
    let lines = compact::lines(evidence, redactor);
    let shown: Vec<(&EvidenceLine, &compact::RedactedLine)> =
        evidence.lines.iter().zip(&lines).filter(|(line, _)| line.is_shown).collect();
    let mut text = heading(root, id, evidence, with_ids);
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    for (line, redacted) in &shown {
        match ranges.last_mut() {
            Some(last) if last.end() + 1 == line.number => *last = *last.start()..=line.number,
            last => {
                if last.is_some() {
                    text.push_str("  --\n");
                }
                ranges.push(line.number..=line.number);
            }
        }
        let mark = if line.is_evidence() { '>' } else { ' ' };
        let _ = write!(text, "{mark} {}: ", line.number);
        push_cut(&mut text, &redacted.text, redacted.middle, line.cut);
    }
    let redacted = compact::secrets_of(&shown.iter().map(|(_, line)| *line).collect::<Vec<_>>());
    EvidenceBlock { file, id, text, shown: ranges, redacted }
}

/// Appends a line, cut around its first match if it is long. We must redact a long line before we cut it,
/// because no rule recognizes half a secret.
fn push_line(text: &mut String, line: &EvidenceLine, redactor: &Redactor) -> usize {
    let raw = without_keys(line, redactor);
    if raw.len() <= limits::EVIDENCE_LINE_BYTES {
        let _ = writeln!(text, "{raw}");
        return 0;
    }
    let whole = redactor.redact(&raw);
    // Redaction moves later text, so this offset is only approximate.
    let removed = raw.len().saturating_sub(whole.as_str().len());
    let middle = line.first_match.saturating_sub(removed);
    push_cut(text, whole.as_str(), middle, line.cut);
    whole.counts().total()
}

/// Appends a line, cut around a position if it is long. `cut` says how many bytes were cut off earlier.
fn push_cut(text: &mut String, whole: &str, middle: usize, cut: CutLine) {
    let (before, shown, after) = window(whole, middle, limits::EVIDENCE_LINE_BYTES);
    let (before, after) = (before + cut.before, after + cut.after);
    if before > 0 {
        let _ = write!(text, "[{} bytes] …", grouped(before as u64));
    }
    text.push_str(shown);
    if after > 0 {
        let _ = write!(text, "… [{} bytes more]", grouped(after as u64));
    }
    text.push('\n');
}

/// Cuts a line to the part around a position. A mark shows where something is missing, including earlier
/// cuts.
pub(super) fn elided(line: &str, middle: usize, limit: usize, cut: CutLine) -> String {
    let (before, shown, after) = window(line, middle, limit);
    let mark = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{shown}{}", mark(before + cut.before > 0), mark(after + cut.after > 0))
}

/// Converts a line to text, with a mark in place of parts in a private key. These parts were found in the
/// whole file: the lines of the evidence alone may not show them.
pub(super) fn without_keys(line: &EvidenceLine, redactor: &Redactor) -> String {
    match redactor.is_active() && !line.in_key.is_empty() {
        true => line_text(&concealed(&line.bytes, &line.in_key)),
        false => line_text(&line.bytes),
    }
}

/// Cuts a line to at most `limit` bytes around a position. Also returns the number of bytes before and after
/// them.
pub(super) fn window(line: &str, middle: usize, limit: usize) -> (usize, &str, usize) {
    let middle = middle.min(line.len());
    let floor = |at: usize| (0..=at.min(line.len())).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    let start = floor(middle.saturating_sub(limit / 2).min(line.len().saturating_sub(limit)));
    let end = floor(start + limit);
    (start, &line[start..end], line.len() - end)
}

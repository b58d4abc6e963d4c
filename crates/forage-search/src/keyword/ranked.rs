//! Adds files that a ranking has chosen, even if no term matches them.

use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{Contents, DecodedText, ReadBuffer, RelPath, Root, decode_head};

use super::account::{FileEvidence, Nearby};
use super::file::{CollectLimits, KeywordHit, TermFinder};
use super::second_pass::reopen;
use super::{KeywordFindings, KeywordOptions};
use crate::limits;

/// Chooses lines of a text. The function gets the index of the path and the text, and must return 0-based
/// line numbers in ascending order.
pub type ChooseLines<'a> = dyn Fn(usize, &[u8]) -> Vec<usize> + 'a;

impl KeywordFindings {
    /// Adds files that have no evidence yet, each with the lines that `choose` selects and
    /// [`limits::RANKED_CONTEXT`] lines around them.
    ///
    /// `choose` gets the index of the file in `paths` and its text. We leave out files that are gone, binary
    /// or too large to be held in memory, and everything after the deadline. Returns the number of files
    /// added.
    pub fn add_ranked(
        &mut self,
        root: &Arc<Root>,
        start: &RelPath,
        paths: &[RelPath],
        options: &KeywordOptions,
        stop: &Stop,
        choose: &ChooseLines<'_>,
    ) -> usize {
        let gathering = CollectLimits {
            term_bytes: options.term_bytes,
            context: options.context,
            counts_all: true,
            line_bytes: limits::CHOSEN_LINE_BYTES,
            cuts_lines: true,
        };
        // Without patterns, the finder only collects the given lines.
        let finder = TermFinder::new(&[], 0, start, gathering, stop);
        let mut buffer = ReadBuffer::default();
        let mut added = Vec::new();
        for (index, path) in paths.iter().enumerate() {
            if stop.check().is_some() {
                break;
            }
            if self.files.binary_search_by(|known| known.path.cmp(path)).is_ok() {
                continue;
            }
            let read = reopen(root, path, options.max_file_bytes, &mut buffer);
            let Some((_, Contents::Whole)) = read else { continue };
            let DecodedText::Text { bytes, .. } = decode_head(&buffer) else { continue };
            added.extend(evidence(&finder, path, &bytes, &choose(index, &bytes)));
        }
        let count = added.len();
        self.files.extend(added);
        self.files.sort_by(|left, right| left.path.cmp(&right.path));
        count
    }
}

/// Collects the chosen lines of a text with their context. Returns `None` if no line is chosen.
fn evidence(finder: &TermFinder<'_>, path: &RelPath, text: &[u8], chosen: &[usize]) -> Option<FileEvidence> {
    let mut hits = Vec::with_capacity(chosen.len());
    let (mut start, mut next) = (0, chosen.iter().peekable());
    for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let end = start + line.len();
        if next.next_if(|&&wanted| wanted == number).is_some() && start < text.len() {
            hits.push(KeywordHit { line: start..end, terms: 0 });
        }
        start = end + 1;
    }
    let mut file = finder.file(path, finder.evidence(text, &hits));
    let starts: Vec<u64> = hits.iter().map(|hit| hit.line.start as u64).collect();
    for line in &mut file.lines {
        line.is_ranked = starts.binary_search(&line.start).is_ok();
    }
    let numbers = file.lines.iter().filter(|line| line.is_ranked).map(|line| line.number).collect();
    let mut near = Nearby::from_lines(numbers, limits::RANKED_CONTEXT);
    for line in &mut file.lines {
        line.is_shown = near.holds(line.number);
    }
    (!file.lines.is_empty()).then_some(file)
}

//! Tracks which lines each renderer displays, because only the renderers know what was cut.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of a file an answer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownKind {
    /// Lines that the caller requested by the file's name.
    Read,
    /// Lines that a search found.
    Lines,
    /// Only its path.
    Named,
}

/// A file that an answer shows.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ShownFile {
    /// Index of its root among the roots of the call.
    pub root: usize,
    /// Its path below that root.
    pub path: String,
    /// How much of it is shown.
    pub kind: ShownKind,
    /// The first and last line of each part shown, in order.
    pub ranges: Vec<(u64, u64)>,
    /// Matching lines that were counted, shown or not.
    pub matches: u64,
}

/// A response rendered as text.
#[derive(Debug, Default)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    /// True if the text contains less than the records.
    pub(crate) is_cut: bool,
    /// True if results are missing, not just the lines around them.
    pub(crate) hides_results: bool,
    pub(crate) shown: Vec<ShownFile>,
}

impl Rendered {
    /// Creates a text that displays nothing from files.
    pub(crate) fn without_files(text: String, is_cut: bool) -> Self {
        Self { text, is_cut, hides_results: is_cut, shown: Vec::new() }
    }
}

/// Collects the displayed files while we write a text.
#[derive(Debug, Default)]
pub(crate) struct ShownFiles(Vec<ShownFile>);

impl ShownFiles {
    /// Adds only the path of a file, with the number of its matches.
    pub(crate) fn named(&mut self, path: &str, matches: u64) {
        self.entry(path, ShownKind::Named).matches += matches;
    }

    /// Adds lines that a search found.
    pub(crate) fn lines(&mut self, path: &str, first: u64, last: u64) {
        self.add(path, ShownKind::Lines, (first, last));
    }

    /// Adds one line that a search found, and counts it if it is a match.
    pub(crate) fn line(&mut self, path: &str, line: u64, is_match: bool) {
        self.add(path, ShownKind::Lines, (line, line)).matches += u64::from(is_match);
    }

    /// Adds lines that the caller requested.
    pub(crate) fn read(&mut self, path: &str, first: u64, last: u64) {
        self.add(path, ShownKind::Read, (first, last));
    }

    fn add(&mut self, path: &str, kind: ShownKind, range: (u64, u64)) -> &mut ShownFile {
        let file = self.entry(path, kind);
        match file.ranges.last_mut() {
            Some(last) if last.1 + 1 == range.0 => last.1 = range.1,
            _ => file.ranges.push(range),
        }
        file
    }

    /// Returns the last entry if it is for this file, and otherwise adds another entry.
    fn entry(&mut self, path: &str, kind: ShownKind) -> &mut ShownFile {
        if self.0.last().is_none_or(|last| last.path != path) {
            let path = path.to_owned();
            self.0.push(ShownFile { root: 0, path, kind, ranges: Vec::new(), matches: 0 });
        }
        let at = self.0.len() - 1;
        let file = &mut self.0[at];
        // The smaller kind shows more of the file.
        file.kind = file.kind.min(kind);
        file
    }

    /// Merges the entries, so that each file and each of its lines is listed once, in the order of the text.
    pub(crate) fn into_files(self) -> Vec<ShownFile> {
        let mut files: Vec<ShownFile> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for mut next in self.0 {
            let Some(file) = places.get(&next.path).map(|place| &mut files[*place]) else {
                places.insert(next.path.clone(), files.len());
                files.push(next);
                continue;
            };
            file.kind = file.kind.min(next.kind);
            file.ranges.append(&mut next.ranges);
            file.matches += next.matches;
        }
        files.iter_mut().for_each(|file| merge(&mut file.ranges));
        files
    }
}

fn merge(ranges: &mut Vec<(u64, u64)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, range| {
        let touches = next.0 <= range.1.saturating_add(1);
        if touches {
            range.1 = range.1.max(next.1);
        }
        touches
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_files_and_lines_are_listed_once() {
        let mut shown = ShownFiles::default();
        shown.line("b", 7, true);
        shown.line("b", 8, false);
        shown.line("a", 3, true);
        shown.line("b", 5, true);
        shown.line("b", 8, true);
        shown.named("c", 4);
        let reported: Vec<_> =
            shown.into_files().into_iter().map(|it| (it.path, it.kind, it.ranges, it.matches)).collect();
        assert_eq!(
            reported,
            [
                ("b".to_owned(), ShownKind::Lines, vec![(5, 5), (7, 8)], 3),
                ("a".to_owned(), ShownKind::Lines, vec![(3, 3)], 1),
                ("c".to_owned(), ShownKind::Named, vec![], 4),
            ]
        );
    }
}

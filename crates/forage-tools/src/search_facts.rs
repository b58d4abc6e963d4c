//! Facts of a search that its answer must mention, worded in one place for agents and for a terminal.

use std::collections::BTreeMap;
use std::fmt::Display;

use forage_fs::WalkReport;

use crate::text::{count, quoted};

/// Why a notebook is searched as JSON.
const AS_JSON: &str = "a line contains several lines of a cell, or it can't be parsed";

/// The files with matches that were not searched as UTF-8 text: the first file and their number, by detected
/// encoding. `None` are notebooks that were searched as JSON.
#[derive(Debug, Default)]
pub struct DecodedFiles(BTreeMap<Option<&'static str>, (String, u64)>);

impl DecodedFiles {
    /// Adds a file with matches. `encoding` is the detected one, except UTF-8.
    pub fn add(&mut self, path: impl Display, encoding: Option<&'static str>, is_stored_notebook: bool) {
        for kind in encoding.map(Some).into_iter().chain(is_stored_notebook.then_some(None)) {
            self.0.entry(kind).or_insert_with(|| (path.to_string(), 0)).1 += 1;
        }
    }

    /// Describes the files. `advice` follows the note about an encoding.
    pub fn notes(&self, advice: &str) -> impl Iterator<Item = String> {
        self.0.iter().map(move |(kind, (first, count))| {
            let noun = if kind.is_some() { "files" } else { "notebooks" };
            let (files, are, were) = match count {
                1 => (first.clone(), "is", "was"),
                _ => (format!("{count} {noun}, such as {first},"), "are", "were"),
            };
            match kind {
                Some(name) => format!("{files} {are} not UTF-8 and {were} searched as {name}{advice}"),
                None => format!("{files} {were} searched as JSON: {AS_JSON}"),
            }
        })
    }
}

/// Describes globs that match no searched file. `argument` is the argument or option with the globs.
pub fn unfit_globs_note(unfit: &[impl AsRef<str>], argument: &str) -> Option<String> {
    let list: Vec<String> = unfit.iter().map(|glob| quoted(glob.as_ref())).collect();
    (!list.is_empty()).then(|| format!("no searched file matches {} in {argument}", list.join(", ")))
}

/// Lists the warnings of a walk, including that about entries that it did not visit.
pub fn walk_warnings(report: &WalkReport) -> Vec<String> {
    let mut warnings = report.warnings.clone();
    if report.more_warnings > 0 {
        warnings.push(format!("{} of this kind", count(report.more_warnings, "more warning")));
    }
    if report.too_many_entries {
        warnings.push("the tree has more entries than one search visits; search a subdirectory".to_owned());
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walk_warnings_include_the_cut_ones() {
        let report = WalkReport {
            warnings: vec!["a/.gitignore:1: bad rule".to_owned()],
            more_warnings: 1,
            too_many_entries: true,
            ..WalkReport::default()
        };
        let expected = [
            "a/.gitignore:1: bad rule",
            "1 more warning of this kind",
            "the tree has more entries than one search visits; search a subdirectory",
        ];
        assert_eq!(walk_warnings(&report), expected);
    }

    #[test]
    fn decoded_files_are_counted_by_kind() {
        let mut decoded = DecodedFiles::default();
        for path in ["a.c", "b.c"] {
            decoded.add(path, Some("GBK"), false);
        }
        decoded.add("n.ipynb", Some("UTF-16LE"), true);
        decoded.add("plain.c", None, false);
        let expected = [
            "n.ipynb was searched as JSON: a line contains several lines of a cell, or it can't be parsed",
            "2 files, such as a.c, are not UTF-8 and were searched as GBK; use -E",
            "n.ipynb is not UTF-8 and was searched as UTF-16LE; use -E",
        ];
        assert_eq!(decoded.notes("; use -E").collect::<Vec<_>>(), expected);
    }
}

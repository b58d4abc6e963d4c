//! Files by the names that a model may give them: the one place where a model's words become a file.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use forage_fs::Root;
use forage_search::keyword::Gathered;

use crate::sanitize::line_text;
use crate::text::absolute;

/// Bytes that a path may be longer than ours, for `./` and `//` in it.
const SLACK: usize = 64;
/// Places in a line that are tried as the end of a path.
const ENDS_TRIED: usize = 96;

/// What the paths of the evidence lead to.
pub(super) struct Names<'a> {
    gathered: Option<&'a Gathered>,
    files: HashMap<String, usize>,
    longest: usize,
    /// Lines of the evidence, without white space.
    lines: OnceCell<HashSet<String>>,
}

impl<'a> Names<'a> {
    /// Files by their absolute path, and by that below the root.
    pub(super) fn new(root: &Root, gathered: &'a Gathered) -> Self {
        let mut files = HashMap::with_capacity(2 * gathered.files.len());
        for (index, file) in gathered.files.iter().enumerate() {
            files.insert(absolute(root, &file.path), index);
            // An absolute path is nobody else's.
            files.entry(file.path.display().into_owned()).or_insert(index);
        }
        let longest = files.keys().map(String::len).max().unwrap_or_default();
        Self { gathered: Some(gathered), files, longest, lines: OnceCell::new() }
    }

    /// Files of these paths, in which these lines stand.
    #[cfg(test)]
    pub(super) fn of(paths: &[(&str, usize)], lines: &[&str]) -> Self {
        let files: HashMap<String, usize> =
            paths.iter().map(|(path, file)| ((*path).to_owned(), *file)).collect();
        let longest = files.keys().map(String::len).max().unwrap_or_default();
        let lines = OnceCell::from(lines.iter().map(|line| squeezed(line)).collect::<HashSet<_>>());
        Self { gathered: None, files, longest, lines }
    }

    /// The file of a whole path.
    pub(super) fn file(&self, path: &str) -> Option<usize> {
        if path.is_empty() || path.len() > self.longest + SLACK {
            return None;
        }
        let known = |path: &str| self.files.get(path).copied();
        known(path).or_else(|| known(path.strip_prefix("file://")?)).or_else(|| {
            // As Markdown wants `_` written.
            let plain = path.replace("\\_", "_");
            let plain = plain.strip_prefix("file://").unwrap_or(&plain);
            known(&folded(plain))
        })
    }

    /// The file that a text begins with, and what follows it. The longest path wins, because one may begin with another.
    pub(super) fn at_start<'t>(&self, text: &'t str) -> Option<(usize, &'t str)> {
        let mut most = text.len().min(self.longest + SLACK);
        while !text.is_char_boundary(most) {
            most -= 1;
        }
        let next = |at: usize, c: char| text[at + c.len_utf8()..].chars().next();
        let ends = text[..most].char_indices().filter(|&(at, c)| match c {
            '.' => next(at, c).is_none_or(char::is_whitespace),
            c => ends_path(c),
        });
        let whole = (most == text.len()).then_some(most);
        // Nothing but a path has so many ends in it, and the last of them is the whole.
        let ends = ends.map(|(at, _)| at).take(ENDS_TRIED).chain(whole);
        let found = ends.filter_map(|end| Some((self.file(&text[..end])?, end))).last();
        found.map(|(file, end)| (file, &text[end..]))
    }

    /// Whether a file says this, as one of its lines that was shown.
    pub(super) fn is_said(&self, line: &str) -> bool {
        let lines = self.lines.get_or_init(|| {
            let lines =
                self.gathered.iter().flat_map(|gathered| &gathered.files).flat_map(|file| &file.lines);
            lines.map(|line| squeezed(&line_text(&line.bytes))).collect()
        });
        lines.contains(&squeezed(line))
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// What may stand behind a path.
fn ends_path(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, ':' | ',' | ';' | '|' | '<' | '#' | '`' | '*' | '"' | '\'' | '(' | ')' | ']')
        || matches!(c, '”' | '’' | '»' | '—' | '–' | '→' | '：' | '（')
}

/// A path without empty names and `.` in it.
fn folded(path: &str) -> String {
    let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let slash = if path.starts_with('/') { "/" } else { "" };
    format!("{slash}{}", names.join("/"))
}

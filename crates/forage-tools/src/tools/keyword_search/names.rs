//! Files by the names that a model may give them: the one place where a model's words become a file.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use forage_fs::Root;
use forage_search::keyword::KeywordFindings;

use super::evidence::EvidenceBlock;
use crate::sanitize::line_text;
use crate::text::absolute;

/// Bytes that a path may be longer than ours, for `./` and `//` in it.
const SLACK: usize = 64;
/// Places in a line that are tried as the end of a path.
const ENDS_TRIED: usize = 96;

/// What the names in an answer lead to: to files that its model was sent, and to no others.
pub(super) struct FileNames<'a> {
    gathered: Option<&'a KeywordFindings>,
    blocks: &'a [EvidenceBlock],
    by_id: bool,
    files: HashMap<String, usize>,
    longest: usize,
    said: OnceCell<FileLetters>,
}

/// What files say, in letters and digits alone: whoever repeats it may write it in another layout.
#[derive(Default)]
struct FileLetters {
    lines: HashSet<String>,
    /// Whole files, with a line feed between them.
    text: String,
}

impl<'a> FileNames<'a> {
    /// The files of one request by their absolute path, by that below the root and, where they were asked for, by their ids.
    pub(super) fn new(
        root: &Root,
        gathered: &'a KeywordFindings,
        blocks: &'a [EvidenceBlock],
        by_id: bool,
    ) -> Self {
        let mut files = HashMap::with_capacity(2 * blocks.len());
        for block in blocks {
            let Some(file) = gathered.files.get(block.file) else { continue };
            files.insert(absolute(root, &file.path), block.file);
            // An absolute path is nobody else's.
            files.entry(file.path.display().into_owned()).or_insert(block.file);
        }
        let longest = files.keys().map(String::len).max().unwrap_or_default();
        Self { gathered: Some(gathered), blocks, by_id, files, longest, said: OnceCell::new() }
    }

    /// Files of these paths, in which these lines stand.
    #[cfg(test)]
    pub(super) fn of(paths: &[(&str, usize)], lines: &[&str], blocks: &'a [EvidenceBlock]) -> Self {
        let files: HashMap<String, usize> =
            paths.iter().map(|(path, file)| ((*path).to_owned(), *file)).collect();
        let longest = files.keys().map(String::len).max().unwrap_or_default();
        let mut said = FileLetters::default();
        lines.iter().for_each(|line| said.add([(*line).to_owned()]));
        Self { gathered: None, blocks, by_id: !blocks.is_empty(), files, longest, said: OnceCell::from(said) }
    }

    /// Whether files have ids.
    pub(super) fn by_id(&self) -> bool {
        self.by_id
    }

    /// What was sent of a file.
    pub(super) fn block(&self, file: usize) -> Option<&'a EvidenceBlock> {
        self.blocks.iter().find(|block| block.file == file)
    }

    /// The file with an id.
    pub(super) fn of_id(&self, id: u64) -> Option<usize> {
        let blocks = self.by_id.then_some(self.blocks)?;
        blocks.iter().find(|block| block.id as u64 == id).map(|block| block.file)
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

    /// Whether a text names a file anywhere.
    pub(super) fn mentions(&self, text: &str) -> bool {
        let is_mark = |c: char| matches!(c, '`' | '*' | '"' | '\'' | '(' | '[' | '<' | '“' | '‘' | '«');
        text.split_whitespace().any(|word| self.at_start(word.trim_start_matches(is_mark)).is_some())
    }

    /// Whether a file has this as one of its lines.
    pub(super) fn is_line(&self, line: &str) -> bool {
        let letters = letters(line);
        !letters.is_empty() && self.said().lines.contains(&letters)
    }

    /// Whether a file says this, whatever the layout. Meant for texts that name something and say something of it: a word
    /// alone stands in many files.
    pub(super) fn is_said(&self, text: &str) -> bool {
        let letters = letters(text);
        !letters.is_empty() && self.said().text.contains(&letters)
    }

    fn said(&self) -> &FileLetters {
        self.said.get_or_init(|| {
            let mut said = FileLetters::default();
            let files = self.blocks.iter().filter_map(|block| self.gathered?.files.get(block.file));
            for file in files {
                said.add(file.lines.iter().map(|line| line_text(&line.bytes)));
            }
            said
        })
    }
}

impl FileLetters {
    /// Adds the lines of a file.
    fn add(&mut self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            let line = letters(&line);
            self.text.push_str(&line);
            self.lines.insert(line);
        }
        self.text.push('\n');
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
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

//! Resolves the names that a model may use for files. Only here does a model's text select a file.

use std::cell::OnceCell;
use std::collections::HashMap;

use forage_fs::Root;
use forage_search::keyword::KeywordFindings;

use super::evidence::EvidenceBlock;
use crate::sanitize::line_text;
use crate::text::absolute;

/// Bytes by which a path may be longer than ours, e.g. because it contains `./` or `//`.
const SLACK: usize = 64;
/// Maximum positions in a line that we try as the end of a path.
const ENDS_TRIED: usize = 96;
/// Minimum letters and digits of a quotation. A shorter text may occur in a file by chance.
const QUOTED_LETTERS: usize = 8;

/// Resolves the names in an answer to files that this model received, and to no others.
pub(super) struct FileNames<'a> {
    gathered: Option<&'a KeywordFindings>,
    blocks: &'a [EvidenceBlock],
    by_id: bool,
    /// Files by path, and by id if ids were requested.
    files: HashMap<String, usize>,
    longest: usize,
    /// Letters and digits of each file's lines. A model may repeat lines with a different layout, so this is
    /// all that we compare.
    said: OnceCell<String>,
}

impl<'a> FileNames<'a> {
    /// Collects the names of the files of one request: their absolute paths, their paths below the root and,
    /// if requested, their ids.
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
            // An absolute path belongs to only one file, so it takes precedence.
            files.entry(file.path.display().into_owned()).or_insert(block.file);
        }
        if by_id {
            files.extend(blocks.iter().map(|block| (block.label(), block.file)));
        }
        let longest = files.keys().map(String::len).max().unwrap_or_default();
        Self { gathered: Some(gathered), blocks, by_id, files, longest, said: OnceCell::new() }
    }

    /// Creates the names for files with these paths and lines.
    #[cfg(test)]
    pub(super) fn from_lines(paths: &[(&str, usize)], lines: &[&str], blocks: &'a [EvidenceBlock]) -> Self {
        let ids = blocks.iter().map(|block| (block.label(), block.file));
        let files: HashMap<String, usize> =
            paths.iter().map(|(path, file)| ((*path).to_owned(), *file)).chain(ids).collect();
        let longest = files.keys().map(String::len).max().unwrap_or_default();
        let said = lines.iter().map(|line| letters(line) + "\n").collect::<String>();
        Self { gathered: None, blocks, by_id: !blocks.is_empty(), files, longest, said: OnceCell::from(said) }
    }

    /// Returns true if files have ids.
    pub(super) fn by_id(&self) -> bool {
        self.by_id
    }

    /// Finds the evidence that was sent for a file.
    pub(super) fn block(&self, file: usize) -> Option<&'a EvidenceBlock> {
        self.blocks.iter().find(|block| block.file == file)
    }

    /// Looks up a file by id.
    pub(super) fn file_by_id(&self, id: u64) -> Option<usize> {
        self.by_id.then(|| self.file(&format!("F{id}")))?
    }

    /// Parses the name of a file at the start of a text. Returns the file and the text after the name. An id
    /// may be followed by the path.
    pub(super) fn at_start<'t>(&self, text: &'t str) -> Option<(usize, &'t str)> {
        let (file, rest) = self.name_at_start(text)?;
        let path = rest.trim_start_matches(|c: char| c.is_whitespace() || "*`\"|".contains(c));
        let path = self.name_at_start(path).filter(|(other, _)| *other == file);
        Some((file, path.map_or(rest, |(_, rest)| rest)))
    }

    /// Parses the name of a file at the start of a text. This must find the longest name, since a path may
    /// begin with another one.
    fn name_at_start<'t>(&self, text: &'t str) -> Option<(usize, &'t str)> {
        let mut max = text.len().min(self.longest + SLACK);
        while !text.is_char_boundary(max) {
            max -= 1;
        }
        let next = |at: usize, c: char| text[at + c.len_utf8()..].chars().next();
        let ends = text[..max].char_indices().filter(|&(at, c)| match c {
            '.' => next(at, c).is_none_or(char::is_whitespace),
            c => ends_path(c),
        });
        let whole = (max == text.len()).then_some(max);
        // A name with more such characters than we try is found only if it is the whole text.
        let ends = ends.map(|(at, _)| at).take(ENDS_TRIED).chain(whole);
        let found = ends.filter_map(|end| Some((self.file(&text[..end])?, end))).last();
        found.map(|(file, end)| (file, &text[end..]))
    }

    /// Looks up a file by name.
    fn file(&self, path: &str) -> Option<usize> {
        if path.is_empty() {
            return None;
        }
        let known = |path: &str| self.files.get(path).copied();
        known(path).or_else(|| {
            // Markdown escapes `_`, so we try the name without backslashes.
            let plain = path.replace("\\_", "_");
            known(&folded(plain.strip_prefix("file://").unwrap_or(&plain)))
        })
    }

    /// Finds the files that a text names anywhere, in order. A name that may be a word, e.g. `configure`,
    /// counts only as a whole path.
    pub(super) fn mentioned(&self, text: &str) -> Vec<usize> {
        let is_longer = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
        let is_whole = |at: usize, name: &str| {
            let after = text[at + name.len()..].trim_start_matches('.');
            !text[..at].ends_with(is_longer) && !after.starts_with(is_longer)
        };
        let is_named = |name: &str| text.match_indices(name).any(|(at, _)| is_whole(at, name));
        let is_clear = |name: &str| name.contains(['/', '.']) || self.by_id && is_id(name);
        let names = self.files.iter().filter(|(name, _)| is_clear(name) && is_named(name));
        let mut files: Vec<usize> = names.map(|(_, file)| *file).collect();
        // A map has no order, and a file has several names.
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Returns true if a file contains this text in any layout. A model that repeats such a text quotes the
    /// file.
    pub(super) fn contains_text(&self, text: &str) -> bool {
        let text = letters(text);
        text.len() >= QUOTED_LETTERS && self.normalized_text().contains(&text)
    }

    fn normalized_text(&self) -> &str {
        self.said.get_or_init(|| {
            let mut said = String::new();
            for file in self.blocks.iter().filter_map(|block| self.gathered?.files.get(block.file)) {
                said.extend(file.lines.iter().map(|line| letters(&line_text(&line.bytes))));
                said.push('\n');
            }
            said
        })
    }
}

/// Returns true if a name has the form of an id, e.g. `F7`.
pub(super) fn is_id(name: &str) -> bool {
    name.strip_prefix('F').is_some_and(|number| number.parse::<u64>().is_ok())
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Returns true if a path may end before this character.
pub(super) fn ends_path(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, ':' | ',' | ';' | '|' | '<' | '#' | '`' | '*' | '"' | '\'' | '(' | ')' | ']')
        || matches!(c, '”' | '’' | '»' | '—' | '–' | '→' | '：' | '（')
}

/// Normalizes a path: drops empty components and `.`.
fn folded(path: &str) -> String {
    let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let slash = if path.starts_with('/') { "/" } else { "" };
    format!("{slash}{}", names.join("/"))
}

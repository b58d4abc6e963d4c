//! Remembers which lines of files a caller has seen in earlier answers, so that we do not show them again.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use forage_base::Hash64;

use crate::limits;

/// The lines that one caller has seen, by file. We forget them when the text of their file changes.
#[derive(Debug, Default)]
pub struct ShownEarlier(Mutex<HashMap<ShownPath, ShownText>>);

/// A root and a path below it.
type ShownPath = (PathBuf, String);

#[derive(Debug)]
struct ShownText {
    /// The hash of the whole text.
    hash: u64,
    /// Sorted ranges that neither overlap nor touch.
    lines: Vec<RangeInclusive<u32>>,
}

impl ShownEarlier {
    /// Lists the lines of a file that were displayed while it had this text, in order.
    pub(crate) fn lines(&self, root: &Path, path: &str, text: &str) -> Vec<RangeInclusive<u32>> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match files.get(&(root.to_owned(), path.to_owned())) {
            Some(file) if file.hash == text_hash(text) => file.lines.clone(),
            _ => Vec::new(),
        }
    }

    /// Adds displayed lines of a file whose text has this hash.
    pub(crate) fn add(&self, root: &Path, path: &str, hash: u64, lines: &[RangeInclusive<u32>]) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (root.to_owned(), path.to_owned());
        if files.len() >= limits::SHOWN_EARLIER_FILES && !files.contains_key(&key) {
            // We would rather show something twice than use more memory.
            files.clear();
        }
        let file = files.entry(key).or_insert_with(|| ShownText { hash, lines: Vec::new() });
        if file.hash != hash {
            *file = ShownText { hash, lines: Vec::new() };
        }
        file.lines.extend_from_slice(lines);
        file.lines = merged(std::mem::take(&mut file.lines));
    }
}

/// Hashes a file's text, to detect changes.
pub(crate) fn text_hash(text: &str) -> u64 {
    Hash64::hash_parts(&[text.as_bytes()])
}

/// Sorts and merges ranges.
fn merged(mut ranges: Vec<RangeInclusive<u32>>) -> Vec<RangeInclusive<u32>> {
    ranges.sort_by_key(|range| *range.start());
    ranges.dedup_by(|next, range| {
        let touches = *next.start() <= range.end().saturating_add(1);
        if touches {
            *range = *range.start()..=*range.end().max(next.end());
        }
        touches
    });
    ranges
}

//! Verifies that searches find the same with and without an index.

use std::hash::{Hash as _, Hasher as _};
use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::{Hash64, Stop};
use forage_fs::{Entry, ReadBuffer, RelPath, Root, Skipped, WalkOptions, WalkReport, WalkStep, walk};
use forage_search::index::{Index, LookupCursor};
use forage_search::{Case, FileEvents, Pattern, PatternOptions, ScanOptions, search};

/// Number of files to take a word from. [`samples`] may take up to twice as many.
const SAMPLES: u64 = 12;

/// Number of bytes at the start of a file to take the word from.
const SAMPLE_BYTES: usize = 64 << 10;

/// Patterns for any tree. Some are common and some are rare, some have classes and alternations, and the
/// index can't narrow some of them.
const PATTERNS: [&str; 6] =
    ["return", "TODO|FIXME", r"error\w*", r"[0-9]{4}-[0-9]{2}", "no such text in any file 7f3a", r"^\s*$"];

/// The result of the comparison.
pub(crate) struct Verified {
    pub(crate) queries: usize,
    /// Number of matching lines.
    pub(crate) matches: u64,
    /// The patterns for which the results differ.
    pub(crate) different: Vec<String>,
}

/// Searches for words of the tree and for [`PATTERNS`], each with the index and without it.
pub(crate) fn compare(root: &Arc<Root>, index: &Arc<Index>, walk: &WalkOptions) -> anyhow::Result<Verified> {
    let mut patterns: Vec<(String, PatternOptions)> =
        PATTERNS.iter().map(|pattern| ((*pattern).to_owned(), PatternOptions::default())).collect();
    for (number, word) in samples(root, walk)?.into_iter().enumerate() {
        let mut options = PatternOptions { literal: true, ..PatternOptions::default() };
        match number % 3 {
            1 => options.case = Case::Insensitive,
            2 => options.fuzzy = u8::from(word.len() > 6),
            _ => {}
        }
        patterns.push((word, options));
    }
    let mut verified = Verified { queries: 0, matches: 0, different: Vec::new() };
    for (text, options) in patterns {
        // A word of the tree may exceed the limits for patterns.
        let Ok(pattern) = Pattern::new(&text, &options) else { continue };
        verified.queries += 1;
        let mut without = found(root, &pattern, None, walk)?;
        verified.matches += without.matches;
        // The tree may have changed between the two searches, so we repeat them if they differ.
        for attempt in 0..2 {
            let with = found(root, &pattern, Some(index), walk)?;
            if with == without {
                break;
            }
            let again = found(root, &pattern, None, walk)?;
            if attempt == 1 && again == without {
                verified.different.push(text.clone());
            }
            without = again;
        }
    }
    Ok(verified)
}

/// The findings of a search, in a form that is cheap to compare.
#[derive(PartialEq, Eq)]
struct SearchFindings {
    /// Hash of all matching lines and their positions.
    hash: u64,
    matches: u64,
    skipped: Vec<(&'static str, u64)>,
    visited: u64,
}

fn found(
    root: &Arc<Root>,
    pattern: &Pattern,
    index: Option<&Arc<Index>>,
    walk: &WalkOptions,
) -> anyhow::Result<SearchFindings> {
    let scan = ScanOptions { index: index.cloned(), ..ScanOptions::default() };
    let (mut hasher, mut matches) = (Hash64::default(), 0);
    let receive = |file: FileEvents| {
        file.path.as_bytes().hash(&mut hasher);
        matches += file.matches;
        for event in &file.events {
            (event.line_number, &event.bytes).hash(&mut hasher);
            event.spans.iter().for_each(|span| (span.start, span.end).hash(&mut hasher));
        }
        ControlFlow::Continue(())
    };
    let report = search(root, &RelPath::root(), walk, pattern, &scan, &Stop::never(), receive)?;
    let skipped = report.skipped.iter().map(|(reason, count)| (reason.name(), count)).collect();
    Ok(SearchFindings { hash: hasher.finish(), matches, skipped, visited: report.visited })
}

/// Looks up every file in the index, which thereby counts the files that it does not know.
pub(crate) fn visit(root: &Arc<Root>, index: &Index, options: &WalkOptions) -> anyhow::Result<WalkReport> {
    let step = |cursor: &mut LookupCursor<'_>, entry: &Entry<'_>, _: &mut Skipped| {
        cursor.lines(entry, u64::MAX);
        WalkStep::<()>::Nothing
    };
    let receive = |()| ControlFlow::Continue(());
    Ok(walk(root, &RelPath::root(), options, &Stop::never(), || index.cursor(options), step, receive)?)
}

/// Takes a word from each of several files that are spread evenly over the tree.
fn samples(root: &Arc<Root>, options: &WalkOptions) -> anyhow::Result<Vec<String>> {
    let mut paths = Vec::new();
    walk(
        root,
        &RelPath::root(),
        options,
        &Stop::never(),
        || (),
        |(), entry, _| WalkStep::Item(entry.path.clone(), 64),
        |path| {
            paths.push(path);
            ControlFlow::Continue(())
        },
    )?;
    let step = (paths.len() as u64 / SAMPLES).max(1) as usize;
    let mut buffer = ReadBuffer::default();
    Ok(paths.iter().step_by(step).filter_map(|path| word_of(root, path, &mut buffer)).collect())
}

fn word_of(root: &Root, path: &RelPath, buffer: &mut ReadBuffer) -> Option<String> {
    root.open_file(path).ok()?.read_into(buffer, SAMPLE_BYTES).ok()?;
    let text = std::str::from_utf8(buffer.get(..SAMPLE_BYTES.min(buffer.len()))?).ok()?;
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|w| (5..64).contains(&w.len()))
        .collect();
    words.get(words.len() / 2).map(|word| (*word).to_owned())
}

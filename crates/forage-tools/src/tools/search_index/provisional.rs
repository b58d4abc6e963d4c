//! Provisional ranking for a tree that has no index yet.
//!
//! One pass over the tree finds the files with words of the query. We take those with the most words,
//! weighted by rarity, and rank them as the index would if there were no other files.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use aho_corasick::{AhoCorasick, MatchKind};
use forage_base::Stop;
use forage_fs::{RelPath, WalkOptions, WalkReport};
use forage_rank::tree::read_first;
use forage_search::{
    Case, EventKind, FileEvents, Pattern, PatternError, PatternOptions, ScanOptions, escape, search,
};

use super::scope::RankedPlace;
use crate::call::Call;
use crate::error::ToolError;
use crate::indexes::Ranked;
use crate::limits;
use crate::text::{count, grouped};

/// A file, with the number of its lines that contain each word.
struct ProvisionalFile {
    path: RelPath,
    lines: Vec<u32>,
}

impl ProvisionalFile {
    /// Counts the lines with each of the words that `automaton` finds, at most 64.
    fn new(file: FileEvents, automaton: &AhoCorasick) -> Self {
        let mut lines = vec![0; automaton.patterns_len()];
        for event in file.events.iter().filter(|event| event.kind == EventKind::Match) {
            let mut seen = 0_u64;
            for found in automaton.find_overlapping_iter(&event.bytes) {
                seen |= 1 << found.pattern().as_usize();
            }
            (0..lines.len()).filter(|index| seen >> index & 1 == 1).for_each(|index| lines[index] += 1);
        }
        Self { path: file.path, lines }
    }
}

/// The files with words of the query, and the report of the search for them.
#[derive(Default)]
struct ProvisionalFiles {
    files: Vec<ProvisionalFile>,
    report: WalkReport,
}

/// A line search that replaces the ranked index.
pub(super) struct ProvisionalSearch<'a> {
    pub(super) call: &'a Call,
    pub(super) place: &'a RankedPlace,
    /// Start of the call. The time spent waiting for the index must count, too.
    pub(super) began: Instant,
    pub(super) stop: &'a Stop,
}

impl ProvisionalSearch<'_> {
    /// Ranks the files that were found. `progress` contains the number of files in the index and their total,
    /// if known.
    ///
    /// # Errors
    ///
    /// Fails if the root can't be walked, or if the call was cancelled.
    pub(super) fn rank(&self, query: &str, progress: Option<(u64, u64)>) -> Result<Ranked, ToolError> {
        let Self { call, place, stop, began } = *self;
        let words = words(query);
        let end = began + limits::PROVISIONAL_TIME;
        let left = end.saturating_duration_since(Instant::now()).saturating_sub(limits::PROVISIONAL_RANKING);
        let in_time = stop.within(left.max(limits::PROVISIONAL_SEARCH_MIN));
        let ProvisionalFiles { files, report } = match words.is_empty() {
            true => ProvisionalFiles::default(),
            false => self.find(&words, &in_time)?,
        };
        let found = files.len();
        let best = best(files, &words);
        let mut effort = call.effort(stop);
        effort.threads = effort.threads.min(limits::PROVISIONAL_THREADS);
        let least = limits::PROVISIONAL_FILES_MIN;
        let (index, ranked) = read_first(&place.root, &best, &effort, end, least).map_err(|error| {
            if stop.is_cancelled() {
                ToolError::Cancelled
            } else {
                let instead = call.workspace.names.fill("[[use {grep_search}, or ]]");
                ToolError::index(&format_args!("{error}; {instead}call again in a few seconds"), None)
            }
        })?;
        let how_far = progress.map(|(done, all)| match all {
            0 => format!(" ({} so far)", count(done, "file")),
            all => format!(" ({} of {})", grouped(done.min(all)), count(all, "file")),
        });
        let warning = Some(format!(
            "the ranked index is being built{}: until then {}; call again later for full results, such as other \
             forms of a word",
            how_far.unwrap_or_default(),
            describe(&report, found, ranked, ranked < best.len()),
        ));
        Ok(Ranked { index: Arc::new(index), report: Arc::new(report), warning, is_provisional: true })
    }

    /// Finds the files with at least one of the words.
    fn find(&self, words: &[String], in_time: &Stop) -> Result<ProvisionalFiles, ToolError> {
        let Self { call, place, stop, .. } = *self;
        let alternatives: Vec<String> = words.iter().map(|word| escape(word)).collect();
        let options = PatternOptions { case: Case::Insensitive, ..PatternOptions::default() };
        let pattern = Pattern::new_within(&alternatives.join("|"), &options, in_time)
            .map_err(|source: PatternError| ToolError::pattern("query", source, stop))?;
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(words)
            .map_err(|error| ToolError::index(&error, None))?;
        let options = call.walk_options();
        // The other threads must be left to the build. If calls took them all, it would take more than twice
        // as long.
        let threads = (options.thread_count() / 2).max(1);
        let walk = WalkOptions { only: place.only.clone(), threads, ..options };
        let scan = ScanOptions {
            max_file_matches: limits::PROVISIONAL_LINES,
            max_file_bytes: Some(forage_rank::limits::FILE_BYTES as u64),
            max_spans: 0,
            line_bytes: Some(limits::GREP_LINE_CHARACTERS),
            index: call.workspace.index(&place.root),
            ..ScanOptions::default()
        };
        let mut files: Vec<ProvisionalFile> = Vec::new();
        let receive = |file: FileEvents| {
            if place.allows(&file.path.display()) {
                files.push(ProvisionalFile::new(file, &automaton));
            }
            ControlFlow::Continue(())
        };
        let report = search(&place.root, &place.start, &walk, &pattern, &scan, in_time, receive)?;
        if stop.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        Ok(ProvisionalFiles { files, report })
    }
}

/// Describes the files that are ranked: `ranked` of the `found` ones.
fn describe(report: &WalkReport, found: usize, ranked: usize, is_cut: bool) -> String {
    let searched = match report.stopped {
        Some(_) => format!("the first {} that were searched in time", count(report.searched(), "file")),
        None => count(report.searched(), "file"),
    };
    match found {
        0 => format!("no word of the query was found in {searched}"),
        _ => format!(
            "this ranks the {}{} with most of the words, out of {} with any, in {searched}",
            count(ranked as u64, "file"),
            if is_cut { " there was time for" } else { "" },
            grouped(found as u64),
        ),
    }
}

/// Selects the words of a query to search for. The longest come first, because they tend to be the rarest.
fn words(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in query.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let word = stem(&part.to_lowercase()).to_owned();
        if word.chars().count() >= 3 && !COMMON.contains(&word.as_str()) && !words.contains(&word) {
            words.push(word);
        }
    }
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.truncate(limits::PROVISIONAL_WORDS);
    words
}

/// Strips the usual ending of a word, so that its other forms match. For example, `retries` becomes `retr`.
fn stem(word: &str) -> &str {
    ["ing", "ies", "ed", "es", "s"]
        .iter()
        .filter_map(|ending| word.strip_suffix(ending))
        .find(|stem| stem.len() >= 4)
        .unwrap_or(word)
}

/// Words that occur in most questions, as `stem` returns them. We don't search for them.
const COMMON: &[&str] = &[
    "and", "are", "but", "can", "code", "does", "file", "find", "for", "from", "get", "handl", "has", "have",
    "how", "into", "its", "not", "that", "the", "then", "there", "this", "use", "used", "what", "when",
    "where", "which", "who", "why", "will", "with", "you",
];

/// Selects the files with the most words, weighted by rarity.
fn best(mut found: Vec<ProvisionalFile>, words: &[String]) -> Vec<RelPath> {
    let files = found.len() as f64;
    let weights: Vec<f64> = (0..words.len())
        .map(|index| {
            let with = found.iter().filter(|file| file.lines[index] > 0).count() as f64;
            // BM25 inverse document frequency.
            (1.0 + (files - with + 0.5) / (with + 0.5)).ln()
        })
        .collect();
    let score = |file: &ProvisionalFile| -> f64 {
        let path = file.path.display().to_lowercase();
        let of_word = |index: usize| {
            let in_path = if path.contains(&words[index]) { 1.0 } else { 0.0 };
            let lines = f64::from(file.lines[index]);
            if lines > 0.0 { weights[index] * (1.0 + lines.ln() / 2.0 + in_path) } else { 0.0 }
        };
        (0..words.len()).map(of_word).sum()
    };
    found.sort_by_cached_key(|file| {
        // No score is negative, so scores compare like their bits.
        let order = |score: f64| std::cmp::Reverse(score.to_bits());
        (order(score(file)), file.path.clone())
    });
    found.truncate(limits::PROVISIONAL_FILES);
    found.into_iter().map(|file| file.path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_that_a_question_is_about() {
        assert_eq!(words("How are failed requests retried?"), ["request", "retri", "fail"]);
        assert_eq!(words("the parse_header of HTTP"), ["parse_header", "http"]);
        assert_eq!(words("where is it?"), Vec::<String>::new());
    }

    #[test]
    fn files_with_rare_words_come_first() {
        let file = |path: &str, lines: &[u32]| ProvisionalFile {
            path: RelPath::parse(path, &RelPath::root()).unwrap(),
            lines: lines.to_vec(),
        };
        let found = vec![
            file("a", &[9, 0]),
            file("b", &[1, 0]),
            file("c", &[1, 1]),
            file("common", &[1, 0]),
            file("e", &[1, 0]),
        ];
        let words = ["common".to_owned(), "rare".to_owned()];
        let order: Vec<String> = best(found, &words).iter().map(|path| path.display().into_owned()).collect();
        assert_eq!(order, ["c", "a", "common", "b", "e"]);
    }
}

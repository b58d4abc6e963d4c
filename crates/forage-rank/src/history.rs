//! Uses commit messages as additional text of the files that they changed.
//!
//! The commit message of a bug fix often describes the bug in the words of a user, which the code may not
//! contain. So we add to the scores of files whose commits have messages that match the query. A commit
//! contributes its own score relative to that of the best commit, divided equally among its files. We
//! subtract the score that a file would get for any query merely because it is changed often.
//!
//! The known history depends only on the commit that is checked out ([`read()`]). So an updated index must
//! answer exactly like a new one, whatever was checked out before.

mod commit_scores;
mod file;
mod read;

use std::ops::Range;

use forage_base::count;
use forage_git::{HistoryState, ObjectId};
use hashbrown::HashMap;

use crate::limits;
use crate::tokens::{TokenParts, is_question_word, stem, words};

pub(crate) use commit_scores::CommitScores;
pub(crate) use read::read;

/// The known commits and the words of their messages.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct History {
    /// The state that determined the history when it was read; `None` if none was read.
    state: Option<HistoryState>,
    /// True if everything has been read.
    is_whole: bool,
    /// Number of commits that are missing, have missing trees, or are damaged.
    unread: u32,
    /// If there are unread commits, a hash of the packs at that time.
    packs: u64,
    /// The commits in the order of the walk, newest first.
    commits: Vec<KnownCommit>,
    words: SortedTexts,
    paths: SortedTexts,
    /// Files of all commits, as indexes into `paths`.
    files: Vec<u32>,
    /// Words of all commits, as indexes into `words`, with the number of occurrences in each.
    counts: Vec<(u32, u16)>,
}

/// A commit. If its files are not used, as for a merge, it has neither files nor words.
#[derive(Clone, Debug, PartialEq)]
struct KnownCommit {
    id: ObjectId,
    time: i64,
    parents: Vec<ObjectId>,
    /// Range of [`History::files`].
    files: Range<usize>,
    /// Range of [`History::counts`].
    counts: Range<usize>,
}

impl History {
    /// Counts the commits whose messages are used.
    fn used(&self) -> usize {
        self.commits.iter().filter(|commit| !commit.files.is_empty()).count()
    }

    /// Returns true if this history includes a commit, given its id or a prefix of it.
    pub(crate) fn has(&self, name: &str) -> bool {
        name.len() >= limits::SHORT_NAME
            && self.commits.iter().any(|commit| commit.id.to_string().starts_with(name))
    }

    /// Describes this history in words.
    pub(crate) fn note(&self) -> String {
        let used = self.used() as u64;
        let mut note = match used {
            1 => "the message of 1 commit is used".to_owned(),
            used => format!("messages of {} are used", count(used, "commit")),
        };
        if !self.is_whole {
            note.push_str("; older ones are not read yet");
        }
        if self.unread > 0 {
            let unread = self.unread;
            note.push_str(&format!("; the changes of {unread} more can't be read from the repository"));
        }
        note
    }

    /// Returns the files and the words of a commit.
    fn contents<'a>(&'a self, commit: &KnownCommit) -> CommitContents<'a> {
        CommitContents {
            files: self.files[commit.files.clone()].iter().map(|&index| self.paths.get(index)).collect(),
            words: self.counts[commit.counts.clone()]
                .iter()
                .map(|&(index, count)| (self.words.get(index), count))
                .collect(),
        }
    }
}

/// The parts of a commit that we use.
struct CommitContents<'a> {
    files: Vec<&'a str>,
    words: Vec<(&'a str, u16)>,
}

/// Sorted, deduplicated texts.
#[derive(Debug, Default, PartialEq)]
struct SortedTexts {
    text: String,
    ends: Vec<u32>,
}

impl SortedTexts {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len() as u32);
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, index: u32) -> &str {
        let index = index as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.text[start..self.ends[index] as usize]
    }

    fn find(&self, text: &str) -> Option<u32> {
        let (mut from, mut to) = (0, self.len() as u32);
        while from < to {
            let middle = from.midpoint(to);
            match self.get(middle).cmp(text) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
            }
        }
        None
    }
}

/// Collects the texts of commits and numbers them in the order of their first occurrence.
#[derive(Default)]
struct TextNumbers(HashMap<String, u32>);

impl TextNumbers {
    fn intern(&mut self, text: &str) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry_ref(text).or_insert(next)
    }

    /// Returns the sorted texts, and the new number of each.
    fn sorted(self) -> (SortedTexts, Vec<u32>) {
        // Most texts differ in their first eight bytes, so comparing one integer is enough to order them.
        let first_bytes = |text: &str| {
            let mut first = [0; 8];
            let count = text.len().min(first.len());
            first[..count].copy_from_slice(&text.as_bytes()[..count]);
            u64::from_be_bytes(first)
        };
        let numbered = self.0.into_iter().map(|(text, number)| (first_bytes(&text), text, number));
        let mut all: Vec<(u64, String, u32)> = numbered.collect();
        all.sort_unstable();
        let (mut texts, mut numbers) = (SortedTexts::default(), vec![0; all.len()]);
        for (index, (_, text, before)) in all.iter().enumerate() {
            texts.push(text);
            numbers[*before as usize] = index as u32;
        }
        (texts, numbers)
    }
}

/// Builds a history commit by commit.
#[derive(Default)]
struct HistoryBuilder {
    history: History,
    words: TextNumbers,
    paths: TextNumbers,
}

impl HistoryBuilder {
    fn push(&mut self, id: ObjectId, time: i64, parents: Vec<ObjectId>, contents: &CommitContents<'_>) {
        let History { commits, files, counts, .. } = &mut self.history;
        let (first_file, first_count) = (files.len(), counts.len());
        files.extend(contents.files.iter().map(|path| self.paths.intern(path)));
        counts.extend(contents.words.iter().map(|&(word, count)| (self.words.intern(word), count)));
        let (files, counts) = (first_file..files.len(), first_count..counts.len());
        commits.push(KnownCommit { id, time, parents, files, counts });
    }

    fn finish(self) -> History {
        let Self { mut history, words, paths } = self;
        let numbers;
        (history.words, numbers) = words.sorted();
        history.counts.iter_mut().for_each(|(word, _)| *word = numbers[*word as usize]);
        let numbers;
        (history.paths, numbers) = paths.sorted();
        history.files.iter_mut().for_each(|file| *file = numbers[*file as usize]);
        // The file format stores differences, so the numbers must be ascending.
        for commit in &history.commits {
            history.files[commit.files.clone()].sort_unstable();
            history.counts[commit.counts.clone()].sort_unstable();
        }
        history
    }
}

/// Counts the words of a message, without the trailers that name the people who signed, reviewed or reported.
fn message_words(message: &str) -> HashMap<String, u16> {
    let mut found = HashMap::new();
    let mut parts = TokenParts::default();
    let mut count = |word: &str| {
        let times: &mut u16 = found.entry_ref(word).or_default();
        *times = times.saturating_add(1);
    };
    // The first line is the subject, even if it looks like a trailer.
    let lines = message.lines().enumerate().filter(|(index, line)| *index == 0 || !is_trailer(line));
    let all = lines.map(|(_, line)| line).flat_map(|line| words(line).map(|(_, word)| word));
    for word in all.take(limits::MESSAGE_WORDS) {
        parts.split(word);
        if parts.is_compound() {
            count(parts.whole());
        }
        parts.iter().filter(|part| !is_question_word(part)).for_each(|part| count(&stem(part)));
    }
    found
}

/// Returns true if a line of a message is a trailer (`Name-of-it: value`, see `git interpret-trailers`) that
/// refers to people or other systems.
pub fn is_trailer(line: &str) -> bool {
    let Some((key, _)) = line.split_once(": ") else { return false };
    let is_key = key.starts_with(|first: char| first.is_ascii_uppercase())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_key && (key.contains("-by") || key.contains("-By") || TRAILERS.contains(&key)) || key == "git-svn-id"
}

/// Keys of trailers that do not contain `by`.
const TRAILERS: [&str; 9] =
    ["Change-Id", "Cc", "CC", "Link", "Bug", "Reviewers", "Reviewed", "PiperOrigin-RevId", "Co-Authored"];

#[cfg(test)]
mod tests;

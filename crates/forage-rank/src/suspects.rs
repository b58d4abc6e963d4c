//! Ranks the commits that may have caused a failure, by the words of its report.
//!
//! A word counts where a commit has it: in its paths, its subject, its added lines and the rest of its message.
//! A word that few of the commits have counts more (idf), and so does a compound name, which comes from the
//! code. All weights were chosen on 207 fixes of eleven projects and checked on 189 fixes of fifteen others
//! (`bench/suspects.py`).

use std::collections::BTreeSet;

use hashbrown::HashMap;

use crate::history::is_trailer;
use crate::kinds::is_test;
use crate::languages::is_prose;
use crate::limits;
use crate::tokens::{TokenParts, is_question_word, stem, words};

/// Weight of a path that has a word. Paths name the parts of a program.
const PATH: f32 = 5.0;
/// Weight of a subject that has a word.
const SUBJECT: f32 = 3.0;
/// Weight of an occurrence in an added line.
const ADDED: f32 = 0.3;
/// Weight of an occurrence in the rest of the message.
const BODY: f32 = 0.3;
/// Factor of a word in the first line of the failure, which summarises the rest.
const TITLE: f32 = 2.0;
/// Factor of a name that consists of several words.
const COMPOUND: f32 = 3.0;
/// Exponent of the number of occurrences in the failure.
const REPEATED: f32 = 0.3;
/// Exponent of the idf.
const RARITY: f32 = 0.7;
/// Occurrences at which a word has half of its effect.
const SATURATION: f32 = 3.0;
/// Share of the length in the normalisation of messages.
const MESSAGE_LENGTH: f32 = 0.5;
/// The same, for the number of changed files.
const FILES_LENGTH: f32 = 0.3;
/// Score of a changed file that the failure names, relative to the highest score for words.
const NAMED: f32 = 0.5;
/// Deduction from the oldest commit. The first commits lose it fastest: most faults are found soon.
const AGE: f32 = 0.4;
/// Deduction from a commit without code of the program.
const WITHOUT_CODE: f32 = 0.1;
/// Share of a word in a file of documentation, and in a test.
const PROSE_SHARE: f32 = 0.3;
const TEST_SHARE: f32 = 0.5;

/// A failure: a trace, an error message or the name of a failing test.
#[derive(Debug, Default)]
pub struct Failure {
    /// The words that count, as the text has them, with their weight before the idf.
    words: Vec<(String, f32)>,
    numbers: HashMap<String, usize>,
    /// The names of files in the text, in lower case.
    files: BTreeSet<String>,
    /// True if the text is too long, so that its end does not count.
    pub is_cut: bool,
}

/// The occurrences of the words of a failure, by their number, in one part of a commit.
pub type WordCounts = HashMap<usize, f32>;

/// A commit as evidence. The commits of a range are given newest first.
#[derive(Clone, Debug, Default)]
pub struct SuspectCommit {
    subject: (WordCounts, usize),
    body: (WordCounts, usize),
    paths: WordCounts,
    added: WordCounts,
    files: usize,
    has_named: bool,
    has_code: bool,
}

/// A suspect.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// The number of the commit in the range.
    pub number: usize,
    /// The words that it has, those that count most first.
    pub words: Vec<usize>,
}

/// Finds the tokens of an identifier that count, whole first, each with its spelling. Returns true for the whole of
/// a compound.
fn keys<'a>(word: &'a str, parts: &'a mut TokenParts) -> Vec<(String, &'a str, bool)> {
    let is_word = |part: &str| {
        part.len() > 2 && !part.starts_with(|first: char| first.is_ascii_digit()) && !is_question_word(part)
    };
    parts.split(word);
    let parts = &*parts;
    let mut found: Vec<(String, &str, bool)> = Vec::new();
    if parts.is_compound() && is_word(parts.whole()) {
        found.push((parts.whole().to_owned(), word, true));
    }
    for part in parts.iter().filter(|part| is_word(part)) {
        let key = stem(part).into_owned();
        if found.iter().all(|(known, ..)| *known != key) {
            found.push((key, part, false));
        }
    }
    found
}

/// Returns the name of a file in lower case.
fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_lowercase()
}

/// Finds the names of files in a text: words with an extension.
fn file_names(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || "_.+-".contains(c);
    let names = text.split(|c| !is_part(c)).map(|name| name.trim_end_matches('.').to_lowercase());
    let is_file = |name: &String| {
        name.rsplit_once('.').is_some_and(|(bare, extension)| {
            !bare.is_empty()
                && (1..=6).contains(&extension.len())
                && extension.starts_with(|first: char| first.is_ascii_lowercase())
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    };
    names.filter(is_file).take(limits::SUSPECT_WORDS).collect()
}

/// Returns the share with which the words of a file count.
fn share(path: &str) -> f32 {
    if is_prose(path) {
        PROSE_SHARE
    } else if is_test(path) {
        TEST_SHARE
    } else {
        1.0
    }
}

impl Failure {
    /// Parses the text of a failure.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let end = text.floor_char_boundary(limits::SUSPECT_TEXT_BYTES);
        let mut failure =
            Self { is_cut: end < text.len(), files: file_names(&text[..end]), ..Self::default() };
        let title = text[..end].lines().next().map_or(0, str::len);
        let mut seen: Vec<(f32, bool, bool)> = Vec::new();
        let mut parts = TokenParts::default();
        for (at, word) in words(&text[..end]) {
            for (key, spelling, is_compound) in keys(word, &mut parts) {
                let known = failure.numbers.len();
                if known >= limits::SUSPECT_WORDS && !failure.numbers.contains_key(&key) {
                    failure.is_cut = true;
                    continue;
                }
                let number = *failure.numbers.entry(key).or_insert(known);
                if number == known {
                    failure.words.push((spelling.to_owned(), 0.0));
                    seen.push((0.0, false, false));
                }
                let (count, is_whole, is_of_title) = &mut seen[number];
                *count += 1.0;
                *is_whole |= is_compound;
                *is_of_title |= at < title;
            }
        }
        for ((_, weight), (count, is_whole, is_of_title)) in failure.words.iter_mut().zip(seen) {
            *weight = count.powf(REPEATED)
                * if is_whole { COMPOUND } else { 1.0 }
                * if is_of_title { TITLE } else { 1.0 };
        }
        failure
    }

    /// Returns true if the text has nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the word with this number: a name as the text has it, or a part of one in lower case.
    #[must_use]
    pub fn word(&self, number: usize) -> &str {
        self.words.get(number).map_or("", |(word, _)| word.as_str())
    }

    /// Returns true if the text names a file with the name of this one.
    #[must_use]
    pub fn names(&self, path: &str) -> bool {
        self.files.contains(&file_name(path))
    }

    /// Adds the words of a text to counts, and returns the number of all words in it.
    fn count(&self, text: &str, share: f32, counts: &mut WordCounts) -> usize {
        let mut parts = TokenParts::default();
        let mut all = 0;
        for (_, word) in words(text) {
            all += 1;
            for (key, ..) in keys(word, &mut parts) {
                if let Some(&number) = self.numbers.get(&key) {
                    *counts.entry(number).or_default() += share;
                }
            }
        }
        all
    }

    /// Returns the words that an added line has.
    #[must_use]
    pub fn words_of(&self, line: &str) -> WordCounts {
        let mut counts = WordCounts::default();
        self.count(line, 1.0, &mut counts);
        counts
    }

    /// Begins the evidence of a commit with its message and the paths that it changed.
    #[must_use]
    pub fn commit(&self, message: &str, paths: &[&str]) -> SuspectCommit {
        let mut commit = SuspectCommit { files: paths.len(), ..SuspectCommit::default() };
        let mut lines = message.lines().skip_while(|line| line.trim().is_empty());
        commit.subject.1 = self.count(lines.next().unwrap_or(""), 1.0, &mut commit.subject.0);
        for line in lines.filter(|line| !is_trailer(line)) {
            commit.body.1 += self.count(line, 1.0, &mut commit.body.0);
        }
        for path in paths {
            let mut counts = WordCounts::default();
            let share = share(path);
            self.count(path, 1.0, &mut counts);
            for number in counts.into_keys() {
                let known = commit.paths.entry(number).or_default();
                *known = known.max(share);
            }
            commit.has_code |= share >= 1.0;
            commit.has_named |= self.names(path);
        }
        commit
    }

    /// Finds the suspects, most likely first. A commit that nothing ties to the failure is not one.
    #[must_use]
    pub fn suspects(&self, commits: &[SuspectCommit]) -> Vec<Suspect> {
        let all = commits.len() as f32;
        let weights: Vec<f32> = (0..self.words.len())
            .map(|number| {
                let having = commits.iter().filter(|commit| commit.has(number)).count() as f32;
                let idf = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
                self.words[number].1 * idf.powf(RARITY)
            })
            .collect();
        let mean = |length: &dyn Fn(&SuspectCommit) -> usize| {
            let sum: f32 = commits.iter().map(|commit| (length(commit) as f32).ln_1p()).sum();
            (sum / all.max(1.0)).max(1.0)
        };
        let means =
            [mean(&|commit| commit.subject.1), mean(&|commit| commit.body.1), mean(&|commit| commit.files)];
        let scored: Vec<(f32, Vec<usize>)> = commits
            .iter()
            .map(|commit| {
                let mut found: Vec<(f32, usize)> = commit
                    .frequencies(means)
                    .into_iter()
                    .map(|(number, frequency)| {
                        (weights[number] * frequency / (frequency + SATURATION), number)
                    })
                    .collect();
                found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                (
                    found.iter().map(|(score, _)| score).sum(),
                    found.into_iter().map(|(_, number)| number).collect(),
                )
            })
            .collect();
        let max = scored.iter().map(|(score, _)| *score).fold(0.0, f32::max).max(f32::MIN_POSITIVE);
        let mut suspects = Vec::new();
        for (number, ((score, words), commit)) in scored.into_iter().zip(commits).enumerate() {
            if score == 0.0 && !commit.has_named {
                continue;
            }
            let age = AGE * (number as f32).ln_1p() / all.ln_1p();
            let named = if commit.has_named { NAMED } else { 0.0 };
            let without_code = if commit.has_code { 0.0 } else { WITHOUT_CODE };
            suspects.push((score / max + named - age - without_code, Suspect { number, words }));
        }
        suspects.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.number.cmp(&b.1.number)));
        suspects.into_iter().map(|(_, suspect)| suspect).collect()
    }
}

impl SuspectCommit {
    /// Adds the words of an added line of a file.
    pub fn add(&mut self, path: &str, counts: &WordCounts) {
        let share = share(path);
        for (number, count) in counts {
            *self.added.entry(*number).or_default() += share * count;
        }
    }

    /// Returns true if the subject has this word.
    #[must_use]
    pub fn subject_has(&self, word: usize) -> bool {
        self.subject.0.contains_key(&word)
    }

    fn has(&self, number: usize) -> bool {
        [&self.subject.0, &self.body.0, &self.paths, &self.added].iter().any(|it| it.contains_key(&number))
    }

    /// Computes how often the commit has each word, over all of its parts.
    fn frequencies(&self, [subject, body, files]: [f32; 3]) -> HashMap<usize, f32> {
        let norm =
            |share: f32, length: usize, mean: f32| 1.0 - share + share * (length as f32).ln_1p() / mean;
        let mut found: HashMap<usize, f32> = HashMap::new();
        for (counts, weight, norm) in [
            (&self.subject.0, SUBJECT, norm(MESSAGE_LENGTH, self.subject.1, subject)),
            (&self.body.0, BODY, norm(MESSAGE_LENGTH, self.body.1, body)),
            (&self.paths, PATH, norm(FILES_LENGTH, self.files, files)),
            (&self.added, ADDED, 1.0),
        ] {
            for (number, count) in counts {
                *found.entry(*number).or_default() += weight * count.ln_1p() / norm;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(failure: &Failure, message: &str, path: &str, line: &str) -> SuspectCommit {
        let mut commit = failure.commit(message, &[path]);
        commit.add(path, &failure.words_of(line));
        commit
    }

    #[test]
    fn suspects_have_words_of_the_failure() {
        let failure = Failure::parse("panicked at src/pool.rs:31\n   purge_idle of Pool");
        let commits = [
            commit(&failure, "Bump the version", "Cargo.toml", "version = 2"),
            commit(&failure, "Purge sooner", "src/pool.rs", "self.purge_idle();"),
            commit(&failure, "Explain it", "docs/pool.md", "a pool"),
        ];
        let found = failure.suspects(&commits);
        let numbers: Vec<usize> = found.iter().map(|suspect| suspect.number).collect();
        assert_eq!(numbers, [1, 2]);
        let words: Vec<&str> = found[0].words.iter().map(|word| failure.word(*word)).collect();
        assert_eq!(words, ["src", "pool", "purge", "purge_idle", "idle"]);
    }

    #[test]
    fn suspects_include_the_named_file() {
        let failure = Failure::parse("error in a.rs");
        let commits = [commit(&failure, "One", "b.rs", ""), commit(&failure, "Two", "src/A.rs", "")];
        let found = failure.suspects(&commits);
        assert_eq!(found, [Suspect { number: 1, words: vec![] }]);
        assert_eq!(
            file_names("see src/a.rs:3, v1.2 or x.tar.gz."),
            ["a.rs", "x.tar.gz"].map(str::to_owned).into()
        );
    }

    #[test]
    fn suspects_end_at_the_limit() {
        let text: String = (0..2 * limits::SUSPECT_WORDS).map(|number| format!("word_{number} ")).collect();
        let failure = Failure::parse(&text);
        assert!(failure.is_cut);
        assert_eq!(failure.words.len(), limits::SUSPECT_WORDS);
        assert!(Failure::parse("the").is_empty());
    }
}

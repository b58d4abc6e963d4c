//! Similar code: finds definitions that share structure and words with a piece of code.
//!
//! The features of a piece are runs of tokens, in which all names are equal, and words: names, their parts,
//! and those in strings. Runs survive when names are changed, words survive when statements are moved or
//! edited. A scan of all files finds those with most features in a window of the piece's length
//! ([`CodePiece::scan`], [`ScannedFiles`]). It needs neither an index nor a parser. The definitions of the
//! best files are then compared exactly ([`CodePiece::compare`]). Rare features count more than frequent
//! ones.

mod tokens;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use self::tokens::{Lexer, Token, TokenKind, hash, mixed, words};
use crate::languages::{
    CommentStyle, DefinitionKind, LanguageRow, PASTED, called, language, language_of_text,
};
use crate::limits;
use crate::outline::{Definition, FileOutline};

/// Number of tokens in a run.
const RUN: usize = 5;

/// The weight of runs compared with words. If all names are changed, only the runs are left.
const RUN_WEIGHT: f32 = 0.6;

/// The share of the score that depends on the sizes of both pieces being equal. A piece in a longer
/// definition keeps the rest.
const SIZE_WEIGHT: f32 = 0.25;

/// Number of 64-bit blocks in a set of features.
const BLOCKS: usize = (limits::SIMILAR_RUNS + limits::SIMILAR_WORDS).div_ceil(64);

/// A set of features of a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FeatureSet([u64; BLOCKS]);

impl FeatureSet {
    fn insert(&mut self, index: u16) {
        self.0[usize::from(index) / 64] |= 1 << (index % 64);
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(block, more)| *block |= more);
    }

    fn len(&self) -> u32 {
        self.0.iter().map(|block| block.count_ones()).sum()
    }

    fn indexes(&self) -> impl Iterator<Item = usize> {
        let blocks = self.0.into_iter().enumerate();
        blocks.flat_map(|(at, block)| {
            let next = |block: &u64| Some(block & (block - 1)).filter(|rest| *rest != 0);
            let blocks = std::iter::successors(Some(block).filter(|block| *block != 0), next);
            blocks.map(move |block| at * 64 + block.trailing_zeros() as usize)
        })
    }
}

/// A piece of code that definitions are compared with.
#[derive(Debug)]
pub struct CodePiece {
    /// The languages of the files to compare. `None` for all.
    family: Option<&'static str>,
    /// Indexes of the features: runs first.
    features: HashMap<u64, u16>,
    /// Bits of the features' hashes, which rule out most others.
    filter: Vec<u64>,
    runs: usize,
    /// The spellings of the features that are words, and whether each is a whole name.
    words: Vec<(String, bool)>,
    tokens: usize,
    lines: Vec<LineHash>,
}

/// Number of bits in [`CodePiece::filter`].
const FILTER_BITS: u64 = 1 << 16;

/// A line with code. Lines with the same shape are equal except for names, numbers and strings.
#[derive(Clone, Copy, Debug)]
struct LineHash {
    line: u32,
    shape: u64,
    text: u64,
    /// True if it has more than punctuation.
    counts: bool,
}

/// A token, or a feature that ends with it.
enum Found<'a> {
    Token(&'a Token<'a>),
    /// The hash of a run, and the lines of its first and last token.
    Run(u64, u32, u32),
    /// The hash of a word, its token and its bytes.
    Word(u64, &'a Token<'a>, &'a [u8]),
}

/// Visits the tokens and features of a text in order.
fn read(row: &'static LanguageRow, text: &str, mut visit: impl FnMut(Found<'_>)) {
    let mut last = [(0, 0); RUN];
    let mut tokens = 0;
    Lexer::new(row).tokens(text, |token| {
        last.rotate_left(1);
        last[RUN - 1] = (token.shape(), token.line);
        tokens += 1;
        visit(Found::Token(&token));
        if tokens >= RUN {
            let run = last.iter().fold(0_u64, |run, (shape, _)| mixed(run ^ shape).wrapping_add(*shape));
            visit(Found::Run(run, last[0].1, token.line));
        }
        match token.kind {
            TokenKind::Name | TokenKind::String => {
                words(token.bytes, |hash, bytes| visit(Found::Word(hash, &token, bytes)));
            }
            TokenKind::Number if token.bytes.len() > 1 => {
                visit(Found::Word(hash(token.bytes), &token, token.bytes));
            }
            _ => {}
        }
    });
}

impl CodePiece {
    /// Takes lines of a file, or the whole file. Returns `None` if there are too few tokens to compare.
    #[must_use]
    pub fn from_file(path: &str, text: &str, lines: Option<RangeInclusive<u32>>) -> Option<Self> {
        let row = language_of_text(path, text);
        let lines = lines.unwrap_or(1..=u32::MAX);
        let piece: Vec<&str> = text
            .split_inclusive('\n')
            .skip((*lines.start()).max(1) as usize - 1)
            .take((lines.end() - lines.start().min(lines.end())) as usize + 1)
            .collect();
        Self::new(row, &piece.concat())
    }

    /// Takes code from outside of the tree, in the language with this name if it is known.
    #[must_use]
    pub fn from_text(text: &str, language: Option<&str>) -> Option<Self> {
        Self::new(language.and_then(called).unwrap_or(&PASTED), text)
    }

    fn new(row: &'static LanguageRow, text: &str) -> Option<Self> {
        let (mut runs, mut found): (Vec<u64>, HashMap<u64, (String, bool)>) = Default::default();
        let (mut lines, mut tokens) = (Vec::new(), 0);
        read(row, text, |feature| match feature {
            Found::Token(token) => {
                add_to_line(&mut lines, token);
                tokens += 1;
            }
            Found::Run(run, ..) => runs.push(run),
            Found::Word(hash, token, bytes) => {
                let spelling = || (String::from_utf8_lossy(bytes).into_owned(), false);
                let is_name = token.kind == TokenKind::Name && bytes.len() == token.bytes.len();
                found.entry(hash).or_insert_with(spelling).1 |= is_name;
            }
        });
        if tokens < limits::SIMILAR_TOKENS {
            return None;
        }
        // The smallest hashes are a random sample, and the same one for equal pieces.
        runs.sort_unstable();
        runs.dedup();
        runs.truncate(limits::SIMILAR_RUNS);
        let mut words: Vec<(u64, (String, bool))> = found.into_iter().collect();
        words.sort_unstable_by_key(|(hash, _)| *hash);
        words.truncate(limits::SIMILAR_WORDS);
        let hashes = runs.iter().copied().chain(words.iter().map(|(hash, _)| *hash));
        let features: HashMap<u64, u16> = hashes.zip(0..).collect();
        let mut filter = vec![0; (FILTER_BITS / 64) as usize];
        for hash in features.keys() {
            filter[(hash % FILTER_BITS / 64) as usize] |= 1 << (hash % 64);
        }
        Some(Self {
            family: is_code(row).then(|| family(row)),
            features,
            filter,
            runs: runs.len(),
            words: words.into_iter().map(|(_, word)| word).collect(),
            tokens,
            lines,
        })
    }

    /// Returns the number of lines that count, which are those with more than punctuation.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines.iter().filter(|line| line.counts).count()
    }

    /// Returns true if a file is in a language of the piece, by its path.
    #[must_use]
    pub fn can_compare(&self, path: &str) -> bool {
        self.is_of_family(language(path))
    }

    /// Like [`CodePiece::can_compare`], for a file without an extension: the first line of a script names its
    /// interpreter.
    #[must_use]
    pub fn can_compare_text(&self, path: &str, text: &str) -> bool {
        self.is_of_family(language_of_text(path, text))
    }

    fn is_of_family(&self, row: &'static LanguageRow) -> bool {
        is_code(row) && self.family.is_none_or(|family_of_piece| family_of_piece == family(row))
    }

    fn index(&self, hash: u64) -> Option<u16> {
        let is_possible = self.filter[(hash % FILTER_BITS / 64) as usize] & (1 << (hash % 64)) != 0;
        is_possible.then(|| self.features.get(&hash).copied()).flatten()
    }

    /// Finds the features of the piece in a file.
    #[must_use]
    pub fn scan(&self, path: &str, text: &str) -> ScannedFile {
        let mut windows = Windows::new(self.tokens);
        read(language_of_text(path, text), text, |feature| match feature {
            Found::Token(_) => windows.next_token(),
            Found::Run(hash, ..) | Found::Word(hash, ..) => {
                self.index(hash).into_iter().for_each(|index| windows.last[2].insert(index));
            }
        });
        windows.finish()
    }

    /// Compares the definitions of a file with the piece, except for those in `excluded` lines. Returns the
    /// similar ones, the best first. None of them contains another one.
    #[must_use]
    pub fn compare(
        &self,
        weights: &FeatureWeights,
        (path, text): (&str, &str),
        outline: &FileOutline,
        excluded: Option<&RangeInclusive<u32>>,
    ) -> Vec<SimilarDefinition> {
        let file = ComparedFile::new(self, path, text);
        let mut found: Vec<SimilarDefinition> = Vec::new();
        for (at, definition) in outline.definitions.iter().enumerate() {
            let (features, tokens) = file.part(definition.start_line..=definition.end_line);
            let is_excluded = excluded.is_some_and(|lines| {
                definition.start_line <= *lines.end() && *lines.start() <= definition.end_line
            });
            if is_excluded || definition.kind == DefinitionKind::Heading || tokens < limits::SIMILAR_TOKENS {
                continue;
            }
            let share = weights.share(self.runs, &features);
            let (less, more) = (self.tokens.min(tokens) as f32, self.tokens.max(tokens) as f32);
            let similarity = share * (1.0 - SIZE_WEIGHT + SIZE_WEIGHT * less / more);
            if similarity >= limits::SIMILAR_MIN {
                found.push(SimilarDefinition::new(at, definition, similarity, features));
            }
        }
        found.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.definition.cmp(&b.definition)));
        // Ends of the kept definitions by their first lines. Generated files have tens of thousands.
        let mut ends: BTreeMap<u32, u32> = BTreeMap::new();
        found.retain(|next| {
            let before = ends.range(..=next.end_line).next_back();
            let is_alone = before.is_none_or(|(_, end)| *end < next.start_line);
            if is_alone {
                ends.insert(next.start_line, next.end_line);
            }
            is_alone
        });
        found.iter_mut().take(limits::SIMILAR_EXPLAINED).for_each(|it| self.explain(it, weights, &file));
        found
    }

    /// Counts the lines and names that a definition has in common with the piece.
    fn explain(&self, found: &mut SimilarDefinition, weights: &FeatureWeights, file: &ComparedFile) {
        let of_piece = self.lines.iter().filter(|line| line.counts);
        let (mut shapes, mut texts): (HashMap<u64, u32>, HashMap<u64, u32>) = Default::default();
        for line in of_piece {
            *shapes.entry(line.shape).or_default() += 1;
            *texts.entry(line.text).or_default() += 1;
        }
        let take = |counts: &mut HashMap<u64, u32>, hash: u64| match counts.get_mut(&hash) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        };
        for line in file.lines(found.start_line..=found.end_line).iter().filter(|line| line.counts) {
            found.equal_lines += u32::from(take(&mut texts, line.text));
            if take(&mut shapes, line.shape) {
                found.alike_lines += 1;
                found.first_alike.get_or_insert(line.line);
            }
        }
        let words = found.features.indexes().filter_map(|at| Some((at, at.checked_sub(self.runs)?)));
        let names = words.map(|(at, word)| (weights.0[at], &self.words[word]));
        let mut names: Vec<(f32, &String)> = names
            .filter(|(_, (word, is_name))| *is_name && word.len() >= limits::SIMILAR_NAME_BYTES)
            .map(|(weight, (word, _))| (weight, word))
            .collect();
        names.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        found.names = names.into_iter().take(limits::SIMILAR_NAMES).map(|(_, name)| name.clone()).collect();
    }
}

/// Returns true for languages of programs.
fn is_code(row: &LanguageRow) -> bool {
    !row.name.is_empty() && !row.is_data && row.style != CommentStyle::Prose
}

/// Returns one name for languages that share much of their syntax, so that code moves between them.
fn family(row: &LanguageRow) -> &'static str {
    match row.name {
        "typescript" | "vue" | "svelte" => "javascript",
        "c" | "objective-c" => "cpp",
        "jupyter" => "python",
        name => name,
    }
}

/// Adds a token to the hashes of its line.
fn add_to_line(lines: &mut Vec<LineHash>, token: &Token<'_>) {
    if lines.last().is_none_or(|last| last.line != token.line) {
        lines.push(LineHash { line: token.line, shape: 0, text: 0, counts: false });
    }
    if let Some(line) = lines.last_mut() {
        line.shape = mixed(line.shape ^ token.shape()).wrapping_add(1);
        line.text = mixed(line.text ^ hash(token.bytes)).wrapping_add(1);
        line.counts |= token.kind != TokenKind::Sign;
    }
}

/// The features in windows of a file that are somewhat longer than the piece.
struct Windows {
    /// Tokens of a third of a window.
    third: usize,
    tokens: usize,
    last: [FeatureSet; 3],
    all: FeatureSet,
    best: FeatureSet,
}

impl Windows {
    fn new(tokens: usize) -> Self {
        let third = tokens.div_ceil(2).max(limits::SIMILAR_TOKENS);
        let [all, best] = [FeatureSet::default(); 2];
        Self { third, tokens: 0, last: [FeatureSet::default(); 3], all, best }
    }

    fn next_token(&mut self) {
        if self.tokens == self.third {
            self.end_third();
            self.tokens = 0;
        }
        self.tokens += 1;
    }

    fn end_third(&mut self) {
        let mut window = self.last[0];
        self.last[1..].iter().for_each(|third| window.add(third));
        self.all.add(&self.last[2]);
        if window.len() > self.best.len() {
            self.best = window;
        }
        self.last.rotate_left(1);
        self.last[2] = FeatureSet::default();
    }

    fn finish(mut self) -> ScannedFile {
        self.end_third();
        ScannedFile { all: self.all, best: self.best }
    }
}

/// The features of a piece that a file has.
#[derive(Clone, Copy, Debug)]
pub struct ScannedFile {
    all: FeatureSet,
    /// Those of the window with most of them.
    best: FeatureSet,
}

/// The files with most features of a piece.
#[derive(Debug)]
pub struct ScannedFiles<T> {
    held: Vec<(T, FeatureSet)>,
    /// Number of files that have each feature.
    files_with: Vec<u32>,
    files: u64,
}

impl<T> Default for ScannedFiles<T> {
    fn default() -> Self {
        Self { held: Vec::new(), files_with: vec![0; BLOCKS * 64], files: 0 }
    }
}

impl<T> ScannedFiles<T> {
    /// Adds a file. The result depends on the order of files only if more than
    /// [`limits::SIMILAR_FILES_HELD`] of them have features.
    pub fn add(&mut self, file: T, found: &ScannedFile) {
        self.files += 1;
        found.all.indexes().for_each(|at| self.files_with[at] += 1);
        if found.best == FeatureSet::default() {
            return;
        }
        self.held.push((file, found.best));
        if self.held.len() >= 2 * limits::SIMILAR_FILES_HELD {
            // The sort is stable.
            self.held.sort_by_key(|(_, best)| Reverse(best.len()));
            self.held.truncate(limits::SIMILAR_FILES_HELD);
        }
    }

    /// Returns the number of files.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Returns the files whose definitions we should compare, at most `max`.
    #[must_use]
    pub fn best(self, piece: &CodePiece, max: usize) -> BestFiles<T> {
        let weight = |files: &u32| (1.0 + self.files.max(1) as f32 / (*files).max(1) as f32).ln();
        let weights =
            FeatureWeights(self.files_with[..piece.runs + piece.words.len()].iter().map(weight).collect());
        let share = |(file, best): (T, FeatureSet)| (weights.share(piece.runs, &best), file);
        let mut shares: Vec<(f32, T)> = self.held.into_iter().map(share).collect();
        shares.sort_by(|a, b| b.0.total_cmp(&a.0));
        shares.retain(|(share, _)| *share >= limits::SIMILAR_MIN);
        let others = shares.split_off(max.min(shares.len()));
        BestFiles {
            files: shares.into_iter().map(|(_, file)| file).collect(),
            others: others.into_iter().map(|(share, _)| share).collect(),
            weights,
        }
    }
}

/// The files whose definitions we should compare with a piece.
#[derive(Debug)]
pub struct BestFiles<T> {
    /// The best first.
    pub files: Vec<T>,
    /// The similarity of the best window of each other file, the best first.
    pub others: Vec<f32>,
    /// The weights of the features.
    pub weights: FeatureWeights,
}

/// Inverse document frequencies of the features of a piece.
#[derive(Debug)]
pub struct FeatureWeights(Vec<f32>);

impl FeatureWeights {
    /// Computes the weighted share of all features that a set contains, 0 to 1.
    fn share(&self, runs: usize, found: &FeatureSet) -> f32 {
        let (all_runs, all_words) = self.0.split_at(runs.min(self.0.len()));
        let (mut of_runs, mut of_words) = (0.0, 0.0);
        for at in found.indexes() {
            *(if at < runs { &mut of_runs } else { &mut of_words }) += self.0[at];
        }
        let all: [f32; 2] = [all_runs.iter().sum(), all_words.iter().sum()];
        match all {
            [runs, words] if words > 0.0 && runs > 0.0 => {
                RUN_WEIGHT * of_runs / runs + (1.0 - RUN_WEIGHT) * of_words / words
            }
            [runs, words] => (of_runs + of_words) / (runs + words).max(f32::MIN_POSITIVE),
        }
    }
}

/// The tokens of a file, for comparing parts of it.
struct ComparedFile {
    /// Features with their first and last lines, ordered by the last one.
    features: Vec<(u32, u32, u16)>,
    /// The line of each token.
    tokens: Vec<u32>,
    lines: Vec<LineHash>,
}

impl ComparedFile {
    fn new(piece: &CodePiece, path: &str, text: &str) -> Self {
        let (mut features, mut tokens, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        read(language_of_text(path, text), text, |feature| {
            let (hash, first, last) = match feature {
                Found::Token(token) => {
                    add_to_line(&mut lines, token);
                    tokens.push(token.line);
                    return;
                }
                Found::Run(hash, first, last) => (hash, first, last),
                Found::Word(hash, token, _) => (hash, token.line, token.line),
            };
            features.extend(piece.index(hash).map(|index| (first, last, index)));
        });
        Self { features, tokens, lines }
    }

    /// Returns the features and the number of tokens in some lines.
    fn part(&self, lines: RangeInclusive<u32>) -> (FeatureSet, usize) {
        let mut found = FeatureSet::default();
        let begin = self.features.partition_point(|(_, last, _)| last < lines.start());
        let within = self.features[begin..].iter().take_while(|(_, last, _)| last <= lines.end());
        within.filter(|(first, ..)| first >= lines.start()).for_each(|(.., index)| found.insert(*index));
        let first = self.tokens.partition_point(|line| line < lines.start());
        let end = self.tokens.partition_point(|line| line <= lines.end());
        (found, end.saturating_sub(first))
    }

    fn lines(&self, lines: RangeInclusive<u32>) -> &[LineHash] {
        let first = self.lines.partition_point(|line| line.line < *lines.start());
        let end = self.lines.partition_point(|line| line.line <= *lines.end());
        self.lines.get(first..end).unwrap_or_default()
    }
}

/// A definition that is similar to a piece of code.
#[derive(Clone, Debug)]
pub struct SimilarDefinition {
    /// The index of the definition in its outline.
    pub definition: usize,
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// 1 if it has all features of the piece and the same length, 0 if it has none.
    pub similarity: f32,
    /// Number of lines of the piece that it has too, if names, numbers and strings count as equal.
    pub alike_lines: u32,
    /// Number of these lines that are equal.
    pub equal_lines: u32,
    /// The first of these lines in the definition.
    pub first_alike: Option<u32>,
    /// The rarest names that both have.
    pub names: Vec<String>,
    features: FeatureSet,
}

impl SimilarDefinition {
    fn new(at: usize, definition: &Definition, similarity: f32, features: FeatureSet) -> Self {
        Self {
            definition: at,
            start_line: definition.start_line,
            end_line: definition.end_line,
            similarity,
            alike_lines: 0,
            equal_lines: 0,
            first_alike: None,
            names: Vec::new(),
            features,
        }
    }
}

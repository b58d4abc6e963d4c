//! Finds the lines of a file that best show why it matched.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::query::RankQuery;
use crate::retrieve::Retrieved;
use crate::rules::asks_for_tests;
use crate::search::ChunkHit;
use crate::tokens::{TokenParts, stem, words};

/// The tokens of a query, with their weights, for scoring lines.
#[derive(Clone, Debug, Default)]
pub struct QueryWords {
    words: BTreeMap<String, (usize, f32)>,
    /// The name, if the whole query is one.
    pub(crate) name: Option<String>,
    pub(crate) asks_for_tests: bool,
}

impl QueryWords {
    pub(crate) fn new(query: &RankQuery, retrieved: &Retrieved) -> Self {
        let mut words = BTreeMap::new();
        for ((index, concept), idf) in query.concepts.iter().enumerate().zip(&retrieved.idf) {
            for (token, weight) in &concept.tokens {
                let worth = idf * weight;
                let entry = words.entry(token.clone()).or_insert((index, worth));
                if worth > entry.1 {
                    *entry = (index, worth);
                }
            }
        }
        let name = query.names.first().filter(|_| query.is_symbol).cloned();
        let asked: Vec<&str> = query.asked_words().collect();
        Self { words, name, asks_for_tests: asks_for_tests(&asked) }
    }

    /// Scores a line. This is the sum of the weights of the query's distinct words in it, or 0 if it has none
    /// of them.
    #[must_use]
    pub fn score(&self, line: &str) -> f32 {
        let mut met: Vec<(usize, f32)> = Vec::new();
        let mut parts = TokenParts::default();
        let mut meet = |token: &str| {
            let Some(&(concept, worth)) = self.words.get(token) else { return };
            // Tokens of the same concept, e.g. synonyms, count once.
            match met.iter_mut().find(|(other, _)| *other == concept) {
                Some(known) => known.1 = known.1.max(worth),
                None => met.push((concept, worth)),
            }
        };
        for (_, word) in words(line) {
            parts.split(word);
            if parts.is_compound() {
                meet(parts.whole());
            }
            parts.iter().for_each(|part| meet(&stem(part)));
        }
        met.iter().map(|(_, worth)| worth).sum()
    }

    /// Finds the byte range of the highest-scoring word in a line, the first one if several score the same.
    /// `None` if the line has no word of the query.
    #[must_use]
    pub fn place(&self, line: &str) -> Option<Range<usize>> {
        let mut best: Option<(f32, Range<usize>)> = None;
        for (start, word) in words(line) {
            let worth = self.score(word);
            if worth > best.as_ref().map_or(0.0, |(worth, _)| *worth) {
                best = Some((worth, start..start + word.len()));
            }
        }
        best.map(|(_, place)| place)
    }

    /// Finds the indexes of the best lines of a chunk, at most `max`. `lines` are all lines of the file, and
    /// indexes are 0-based.
    #[must_use]
    pub fn best_of_chunk(&self, chunk: &ChunkHit, lines: &[&str], max: usize) -> Vec<usize> {
        let first = (chunk.start_line as usize).saturating_sub(1).min(lines.len());
        let within = &lines[first..(chunk.end_line as usize).clamp(first, lines.len())];
        self.best(within.iter().copied(), max).into_iter().map(|index| first + index).collect()
    }

    /// Finds the indexes of the best lines, at most `max`, in ascending order. If lines score the same, the
    /// first ones are preferred.
    #[must_use]
    pub fn best<'a>(&self, lines: impl Iterator<Item = &'a str>, max: usize) -> Vec<usize> {
        let mut worth: Vec<(f32, usize)> = lines
            .enumerate()
            .map(|(index, line)| (self.score(line), index))
            .filter(|(worth, _)| *worth > 0.0)
            .collect();
        worth.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        worth.truncate(max);
        let mut best: Vec<usize> = worth.into_iter().map(|(_, index)| index).collect();
        best.sort_unstable();
        best
    }
}

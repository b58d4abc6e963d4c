//! Scores files by the commit messages that match a query.

use super::History;
use crate::limits;
use crate::query::{PieceRole, RankQuery};
use crate::retrieve::bm25_idf;
use crate::stop_checker::{SearchError, StopChecker};

/// BM25 term saturation and length normalisation for messages (Robertson and Zaragoza, 2009).
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.75;

/// The scores of the files of a history for a query, from 0 to 1.
pub(crate) struct CommitScores<'a> {
    history: &'a History,
    values: Vec<f32>,
}

impl CommitScores<'_> {
    pub(crate) fn score(&self, path: &str) -> f32 {
        self.history.paths.find(path).map_or(0.0, |index| self.values[index as usize])
    }
}

/// A message word that matches the query.
struct MessageHit {
    commit: usize,
    concept: usize,
    frequency: f32,
}

impl History {
    /// Scores the files of this history for a query.
    pub(crate) fn commit_scores(
        &self,
        query: &RankQuery,
        pace: &StopChecker<'_>,
    ) -> Result<CommitScores<'_>, SearchError> {
        let mut values = vec![0.0_f32; self.paths.len()];
        let scores = self.scores(query, pace)?;
        let best = scores.first().map_or(0.0, |&(score, _)| score);
        let mut total = 0.0;
        for &(score, index) in scores.iter().take(limits::SCORED_COMMITS) {
            let files = &self.files[self.commits[index].files.clone()];
            let score = score / best;
            total += score;
            for &file in files {
                values[file as usize] += score / files.len() as f32;
            }
        }
        // The scores if all commits matched equally.
        let mut popularity = vec![0.0_f32; self.paths.len()];
        let mut all = 0.0;
        for commit in self.commits.iter().filter(|commit| !commit.files.is_empty()) {
            all += 1.0;
            for &file in &self.files[commit.files.clone()] {
                popularity[file as usize] += 1.0 / commit.files.len() as f32;
            }
        }
        for (value, popularity) in values.iter_mut().zip(&popularity) {
            *value = (*value - total * popularity / f32::max(all, 1.0)).clamp(0.0, 1.0);
        }
        Ok(CommitScores { history: self, values })
    }

    /// Computes the BM25 score of each commit that matches the query, best first.
    fn scores(&self, query: &RankQuery, pace: &StopChecker<'_>) -> Result<Vec<(f32, usize)>, SearchError> {
        // Per message word, the concepts that it belongs to, as 1-based indexes into `meanings`; 0 for none.
        let mut meaning_of = vec![0_u32; self.words.len()];
        let mut meanings: Vec<Vec<(usize, f32)>> = Vec::new();
        let concepts = query.concepts.iter().enumerate();
        for (concept, of) in concepts.filter(|(_, concept)| concept.role != PieceRole::Joined) {
            for (token, weight) in &of.tokens {
                let Some(word) = self.words.find(token) else { continue };
                let place = &mut meaning_of[word as usize];
                if *place == 0 {
                    meanings.push(Vec::new());
                    *place = meanings.len() as u32;
                }
                meanings[*place as usize - 1].push((concept, *weight));
            }
        }
        let mut hits: Vec<MessageHit> = Vec::new();
        let mut having = vec![0_u32; query.concepts.len()];
        let (mut total, mut length) = (0_u32, 0_u64);
        for (commit, known) in self.commits.iter().enumerate().filter(|(_, known)| !known.files.is_empty()) {
            let counts = &self.counts[known.counts.clone()];
            pace.step(counts.len())?;
            total += 1;
            let first = hits.len();
            for &(word, count) in counts {
                length += u64::from(count);
                let Some(place) = (meaning_of[word as usize] as usize).checked_sub(1) else { continue };
                for &(concept, weight) in &meanings[place] {
                    let frequency = weight * f32::from(count);
                    match hits[first..].iter_mut().find(|hit| hit.concept == concept) {
                        Some(hit) => hit.frequency += frequency,
                        None => {
                            having[concept] += 1;
                            hits.push(MessageHit { commit, concept, frequency });
                        }
                    }
                }
            }
        }
        let mean = length as f32 / total.max(1) as f32;
        let mut scores: Vec<(f32, usize)> = Vec::new();
        for of_commit in hits.chunk_by(|one, other| one.commit == other.commit) {
            let Some(&MessageHit { commit, .. }) = of_commit.first() else { continue };
            let counts = &self.counts[self.commits[commit].counts.clone()];
            let length: u32 = counts.iter().map(|&(_, count)| u32::from(count)).sum();
            let norm = SATURATION * (1.0 - LENGTH + LENGTH * length as f32 / mean.max(1.0));
            let score = of_commit.iter().map(|hit| {
                let rarity = bm25_idf(total as f32, having[hit.concept]) * query.concepts[hit.concept].weight;
                rarity * hit.frequency * (SATURATION + 1.0) / (hit.frequency + norm)
            });
            scores.push((score.sum(), commit));
        }
        scores.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        // We divide by the best score. It would be 0 if only words without weight matched, e.g. the project's
        // name.
        scores.retain(|(score, _)| *score > 0.0);
        Ok(scores)
    }
}

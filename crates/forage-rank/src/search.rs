//! A query answered.

use crate::error::IndexError;
use crate::halt::{HaltPace, HaltReason};
use crate::index::{JoinedIndexes, RankIndex};
use crate::limits;
use crate::lines::QueryWords;
use crate::project::weigh_no_own_name;
use crate::query::{QueryWeights, RankQuery};
use crate::retrieve::{Demand, FieldWeights, FileCandidate, Retrieved, retrieve};
use crate::rules::{Aside, Evidence, RULES, RuleWeights, aside, gather, implementations_first};
use crate::segments::guarded;

/// All that is fitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankWeights {
    /// Of the rules.
    pub rules: RuleWeights,
    /// Of fields.
    pub fields: FieldWeights,
    /// Of what a query consists of.
    pub query: QueryWeights,
}

/// Whether a file may be part of an answer, by the number of its index and its path.
pub type AllowFile<'a> = dyn Fn(usize, &str) -> bool + Sync + 'a;

/// A question to an index, with the bounds of its answer.
#[derive(Clone, Copy)]
pub struct RankedSearch<'a> {
    /// Words, names, a question or a whole report; `path:`, `lang:`, `-word` and `"a phrase"` in a short one. Of more
    /// than [`limits::QUERY_BYTES`] the beginning is read.
    pub query: &'a str,
    /// Files of the answer, up to [`limits::RESULTS`]. The first of a longer answer are those of a shorter one.
    pub limit: usize,
    /// Chunks of a file, the best first.
    pub chunks: usize,
    /// Other weights than those that are built in.
    pub weights: Option<&'a RankWeights>,
    /// Whether messages of commits are evidence of the files that they changed.
    pub history: bool,
    /// Tells whether a file may be part of the answer, by the number of its index and its path as it was indexed. Asked
    /// before candidates are chosen, so that what is ruled out takes no places; once per file that has something of the
    /// query.
    pub allow: Option<&'a AllowFile<'a>>,
    /// Tells whether the answer isn't wanted any more. Asked every few thousand steps; it should cost no more than a
    /// look at a flag or a clock.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> RankedSearch<'a> {
    /// A request for any files, which nothing stops.
    #[must_use]
    pub fn new(query: &'a str, limit: usize) -> Self {
        Self {
            query,
            limit,
            chunks: limits::CHUNKS_OF_A_FILE,
            weights: None,
            history: true,
            allow: None,
            stop: &|| false,
        }
    }
}

impl std::fmt::Debug for RankedSearch<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { query, limit, chunks, weights, history, allow, .. } = self;
        let mut shown = formatter.debug_struct("Request");
        shown.field("query", query).field("limit", limit).field("chunks", chunks).field("weights", weights);
        shown.field("history", history).field("allow", &allow.is_some()).finish_non_exhaustive()
    }
}

/// The answer to a query.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    /// The best first.
    pub files: Vec<FileHit>,
    /// Files that have something of the query and that filters let through, of which `files` are the first. Of a query
    /// with phrases those that have them; where not all could be looked at, those that may have them.
    pub matching: usize,
    /// Share of the query's rarity that the best file has, from 0 to 1; low for an answer that is none. Of a long query
    /// the share of what its [`limits::STRENGTH_WORDS`] rarest words weigh.
    pub strength: f32,
    /// Words of the query that no file contains.
    pub unknown: Vec<String>,
    /// Words of the query that weigh nothing, being what the project calls itself.
    pub own_names: Vec<String>,
    /// Phrases, filters and words to leave out, as they were written.
    pub understood: Vec<String>,
    /// Parts that look like one of these and leave out nothing: a language that isn't known, words beyond the limit.
    pub ignored: Vec<String>,
    /// Files that have all words of the phrases and were not looked at for their places, being beyond the first
    /// [`limits::PHRASE_CANDIDATES`], or not to the end, having a word more than [`limits::PHRASE_HITS`] times: they
    /// may have the phrases and are not in the answer.
    pub not_looked_at: usize,
    /// For choosing the lines of a file that are shown.
    pub words: QueryWords,
    /// The query says where, and nothing of what: `files` are all there, in the order of their paths.
    pub is_list: bool,
    /// The query has words of another language that were translated into English.
    pub is_translated: bool,
    /// The search was stopped: there are no files, whatever the index has.
    pub stopped: bool,
}

impl Ranking {
    /// Returns whether the best file has so little of what is asked for that it may be no answer: a
    /// [`Ranking::strength`] below [`limits::WEAK_STRENGTH`].
    #[must_use]
    pub fn is_weak(&self) -> bool {
        self.strength < limits::WEAK_STRENGTH
    }
}

/// A file of the answer.
#[derive(Clone, Debug)]
pub struct FileHit {
    /// The number of its index among those that were asked.
    pub index: usize,
    /// Its path.
    pub path: String,
    /// Comparable within one answer.
    pub score: f32,
    /// Its best chunks, the best first.
    pub chunks: Vec<ChunkHit>,
    /// Values of the rules, in the order of [`RULES`].
    pub values: [f32; RULES.len()],
    /// Why an answer leaves out its code.
    pub aside: Option<Aside>,
}

/// A chunk of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkHit {
    /// The first line, from 1.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// Comparable within one answer.
    pub score: f32,
}

/// Answers a query.
///
/// # Errors
/// The index can't be read; where it is damaged, [`RankIndex::is_damaged`] says so from then on. A search that was
/// stopped is no error but says so ([`Ranking::stopped`]).
pub fn search(index: &RankIndex, request: &RankedSearch<'_>) -> Result<Ranking, IndexError> {
    index.using(|| match answer(&[index], request) {
        Ok(ranking) => Ok(ranking),
        Err(HaltReason::Stopped) => Ok(Ranking { stopped: true, ..Ranking::default() }),
        Err(HaltReason::Failed(error)) => Err(error),
    })
}

/// Answers a query from several indexes as if they were one: a word is as rare as it is in all of them together, and scores
/// compare.
///
/// # Errors
/// As of [`search`]; those that are damaged say so.
pub fn search_all(indexes: &[&RankIndex], request: &RankedSearch<'_>) -> Result<Ranking, IndexError> {
    let [first, ..] = indexes else { return Ok(Ranking::default()) };
    if indexes.len() == 1 {
        return search(first, request);
    }
    let ranking = guarded(|| match answer(indexes, request) {
        Ok(ranking) => Ok(ranking),
        Err(HaltReason::Stopped) => Ok(Ranking { stopped: true, ..Ranking::default() }),
        Err(HaltReason::Failed(error)) => Err(error),
    });
    if ranking.as_ref().is_err_and(IndexError::is_damage) {
        // Each by itself tells which it is.
        for (nth, index) in indexes.iter().enumerate() {
            let allow = request.allow.map(|allow| move |_: usize, path: &str| allow(nth, path));
            let allow = allow.as_ref().map(|allow| allow as &AllowFile<'_>);
            let _ = search(index, &RankedSearch { allow, ..*request });
        }
    }
    ranking
}

fn answer(indexes: &[&RankIndex], request: &RankedSearch<'_>) -> Result<Ranking, HaltReason> {
    let built_in;
    let weights = match request.weights {
        Some(weights) => weights,
        None => {
            built_in = RankWeights::default();
            &built_in
        }
    };
    let pace = HaltPace::new(request.stop);
    let mut query = RankQuery::parse(request.query, &weights.query);
    let limit = request.limit.min(limits::RESULTS);
    // Two sizes only: who turns a page finds it ready.
    let most = if limit <= limits::CANDIDATES { limits::CANDIDATES } else { limits::RESULTS };
    let (fields, allow) = (&weights.fields, request.allow);
    let Some(joined) = JoinedIndexes::of(indexes) else { return Ok(Ranking::default()) };
    if let [index] = indexes {
        weigh_no_own_name(&joined, &mut query, &index.names(), &pace)?;
    }
    let demand = Demand { joined: &joined, query: &query, weights: fields, allow, pace: &pace, most };
    let retrieved = retrieve(&demand)?;
    let histories: Vec<_> =
        indexes.iter().map(|index| index.used_history().filter(|_| request.history)).collect();
    let mut evidence = gather(&query, &retrieved, fields, &histories, &pace)?;
    implementations_first(&query, &retrieved.candidates, &mut evidence, &weights.rules);
    pace.check()?;
    let (order, strength) = if query.is_of_paths() {
        // All of them are what was asked for, in the order of paths.
        ((0..evidence.len()).map(|nth| (0.0, nth)).collect(), if evidence.is_empty() { 0.0 } else { 1.0 })
    } else {
        let order = order(&retrieved, &evidence, &weights.rules);
        let strength = order.first().map_or(0.0, |&(_, best)| strength(&query, &retrieved, best));
        (order, strength)
    };
    let asked: Vec<&str> = query.asked_words().collect();
    let hit = |(score, nth): (f32, usize)| {
        let hit = file_hit(&retrieved.candidates[nth], &evidence[nth], score, request.chunks);
        FileHit { aside: aside(retrieved.candidates[nth].kinds, &asked), ..hit }
    };
    let words = QueryWords::new(&query, &retrieved);
    let files = order.into_iter().take(limit).map(hit).collect();
    Ok(Ranking {
        files,
        matching: retrieved.matching,
        strength,
        unknown: unknown(&query, &retrieved),
        own_names: own_names(&query),
        not_looked_at: retrieved.not_looked_at,
        is_list: query.is_of_paths(),
        is_translated: query.concepts.iter().any(|concept| concept.is_translated),
        stopped: false,
        understood: query.understood,
        ignored: query.ignored,
        words,
    })
}

/// Scores and places of the candidates, the best first. What was chosen first stays before what only a longer answer
/// has, and a score never rises from one file to the next.
fn order(retrieved: &Retrieved, evidence: &[Evidence], rules: &RuleWeights) -> Vec<(f32, usize)> {
    let path = |nth: usize| retrieved.candidates[nth].place();
    let mut order: Vec<(f32, usize)> =
        evidence.iter().enumerate().map(|(nth, evidence)| (rules.score(&evidence.values), nth)).collect();
    let (first, more) = order.split_at_mut(limits::CANDIDATES.min(evidence.len()));
    for part in [&mut *first, &mut *more] {
        part.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| path(left.1).cmp(&path(right.1))));
    }
    if let Some(&(least, _)) = first.last() {
        for (score, _) in more {
            *score = score.min(least);
        }
    }
    order
}

/// What a file has of the query's rarity, as a share of what the rarest words weigh together: no file has most of a
/// whole report, but one that it is about has as much as some rare words are. What no file has is as rare as can be.
fn strength(query: &RankQuery, retrieved: &Retrieved, nth: usize) -> f32 {
    let frequencies = &retrieved.candidates[nth].frequencies;
    let mut has = 0.0;
    let mut rarities = Vec::with_capacity(frequencies.len());
    let is_counted = |nth: usize| {
        let is_absent = query.concepts[nth].is_translated && retrieved.document_frequency[nth] == 0;
        query.is_expected(nth) && !query.concepts[nth].is_own_name && !is_absent
    };
    for (concept, frequency) in frequencies.iter().enumerate().filter(|(nth, _)| is_counted(*nth)) {
        let rarest = (1.0 + (retrieved.files + 0.5) / 0.5).ln() * query.concepts[concept].weight;
        let known = retrieved.document_frequency[concept] > 0;
        let rarity = if known { retrieved.idf[concept] } else { rarest };
        rarities.push(rarity);
        if *frequency > 0.0 {
            has += rarity;
        }
    }
    rarities.sort_by(|left, right| right.total_cmp(left));
    let wants: f32 = rarities.iter().take(limits::STRENGTH_WORDS).sum();
    (has / wants.max(f32::MIN_POSITIVE)).min(1.0)
}

fn unknown(query: &RankQuery, retrieved: &Retrieved) -> Vec<String> {
    let concepts = query.concepts.iter().zip(&retrieved.document_frequency).enumerate();
    concepts
        .filter(|(nth, (concept, frequency))| {
            **frequency == 0 && query.is_expected(*nth) && !concept.is_translated
        })
        .map(|(_, (concept, _))| query.as_written(&concept.word).to_owned())
        .collect()
}

fn own_names(query: &RankQuery) -> Vec<String> {
    let own = query.concepts.iter().filter(|concept| concept.is_own_name);
    own.map(|concept| query.as_written(&concept.word).to_owned()).collect()
}

fn file_hit(candidate: &FileCandidate, evidence: &Evidence, score: f32, most: usize) -> FileHit {
    let record = &candidate.record;
    let hit = |nth: usize, share: f32| {
        let chunk = &record.chunks[nth];
        ChunkHit { start_line: chunk.start_line, end_line: chunk.end_line, score: share }
    };
    let mut chunks: Vec<ChunkHit> =
        evidence.chunks.iter().take(most).map(|chunk| hit(chunk.chunk, chunk.score)).collect();
    if chunks.is_empty() && !record.chunks.is_empty() {
        // Only its path has been found.
        chunks.push(hit(0, 0.0));
    }
    let (index, path) = (candidate.index, record.path.clone());
    FileHit { index, path, score, chunks, values: evidence.values, aside: None }
}

#[cfg(test)]
mod tests;

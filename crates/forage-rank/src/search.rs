//! Answers queries.

use crate::error::IndexError;
use crate::index::{MultiIndex, RankIndex};
use crate::limits;
use crate::lines::QueryWords;
use crate::project::ignore_project_names;
use crate::query::{QueryWeights, RankQuery};
use crate::retrieve::{FieldWeights, FileCandidate, RetrievalRequest, Retrieved, retrieve};
use crate::rules::{
    Evidence, RULES, RuleWeights, SecondaryKind, compare_siblings, gather, group_siblings,
    implementations_first, secondary_kind,
};
use crate::segments::guarded;
use crate::stop_checker::{SearchError, StopChecker};

/// All parameters that were fitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankWeights {
    /// Weights of the rules.
    pub rules: RuleWeights,
    /// Weights of the fields.
    pub fields: FieldWeights,
    /// Weights of the parts of a query.
    pub query: QueryWeights,
}

/// Decides whether a file may be part of an answer, given the number of its index and its path.
pub type AllowFile<'a> = dyn Fn(usize, &str) -> bool + Sync + 'a;

/// A query with the bounds of its answer.
#[derive(Clone, Copy)]
pub struct RankedSearch<'a> {
    /// Words, names, a question or a whole report. A short query may also use `path:`, `lang:`, `-word` and
    /// `"a phrase"`. Only the first [`limits::QUERY_BYTES`] are read.
    pub query: &'a str,
    /// Maximum number of files, up to [`limits::RESULTS`]. A longer answer begins with the files of a shorter
    /// one.
    pub limit: usize,
    /// Maximum number of chunks per file, best first.
    pub chunks: usize,
    /// Weights to use instead of the built-in ones.
    pub weights: Option<&'a RankWeights>,
    /// True if commit messages should count as evidence of the files that the commits changed.
    pub history: bool,
    /// Decides whether a file may be part of the answer, given the number of its index and its path as
    /// indexed. We call it before candidates are chosen, so that excluded files don't use up places. It runs
    /// once per file that matches any word.
    pub allow: Option<&'a AllowFile<'a>>,
    /// Returns true once the answer is no longer wanted. We call this every few thousand steps, so it should
    /// be as cheap as reading a flag or a clock.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> RankedSearch<'a> {
    /// Creates a search over all files that is never stopped.
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
    /// The files, best first.
    pub files: Vec<FileHit>,
    /// Number of files that match any word and pass the filters; `files` are the first of these. For a query
    /// with phrases, only files that have the phrases count, without [`Ranking::not_looked_at`].
    pub matching: usize,
    /// The share of the query's total idf that the best file contains, from 0 to 1. It is low if the answer
    /// is likely wrong. For a long query, the total is that of its [`limits::STRENGTH_WORDS`] rarest words.
    pub strength: f32,
    /// Words of the query that no file contains.
    pub unknown: Vec<String>,
    /// Words of the query that have no weight, being the project's own names.
    pub own_names: Vec<String>,
    /// Phrases, filters and excluded words, as written.
    pub understood: Vec<String>,
    /// Parts that look like these but have no effect, e.g. an unknown language, or words beyond the limit.
    pub ignored: Vec<String>,
    /// Number of files that have all words of the phrases but whose positions were not checked, or not
    /// completely. They are beyond the first [`limits::PHRASE_CANDIDATES`], or have a word more than
    /// [`limits::PHRASE_HITS`] times. They may have the phrases, but aren't in the answer.
    pub not_looked_at: usize,
    /// Used to choose the lines of a file to show.
    pub words: QueryWords,
    /// True if the query has path filters but no words: `files` are all that match, ordered by path.
    pub is_list: bool,
    /// True if words of another language were translated into English.
    pub is_translated: bool,
    /// True if the search was stopped. There are no files in this case, whatever the index contains.
    pub stopped: bool,
}

impl Ranking {
    /// Returns true if the best file contains so little of the query that the answer may be wrong: its
    /// [`Ranking::strength`] is below [`limits::WEAK_STRENGTH`].
    #[must_use]
    pub fn is_weak(&self) -> bool {
        self.strength < limits::WEAK_STRENGTH
    }
}

/// A file of the answer.
#[derive(Clone, Debug)]
pub struct FileHit {
    /// The number of its index among those searched.
    pub index: usize,
    /// Its path.
    pub path: String,
    /// The score, which is only comparable within this answer.
    pub score: f32,
    /// Its best chunks, best first.
    pub chunks: Vec<ChunkHit>,
    /// Values of the rules, in the order of [`RULES`].
    pub values: [f32; RULES.len()],
    /// The reason why an answer should leave out its code, if there is one.
    pub aside: Option<SecondaryKind>,
    /// Paths of its siblings further down the ranking, the best first: files whose paths only differ by the
    /// name of a platform or backend. Only for the first [`limits::SIBLINGS`] files.
    pub siblings: Vec<String>,
}

/// A chunk of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkHit {
    /// The first line, 1-based.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// The score, which is only comparable within this answer.
    pub score: f32,
}

/// Answers a query.
///
/// # Errors
///
/// Returns an error if the index can't be read. If it is damaged, [`RankIndex::is_damaged`] returns true from
/// then on. A stopped search isn't an error; see [`Ranking::stopped`].
pub fn search(index: &RankIndex, request: &RankedSearch<'_>) -> Result<Ranking, IndexError> {
    index.using(|| match answer(&[index], request) {
        Ok(ranking) => Ok(ranking),
        Err(SearchError::Stopped) => Ok(Ranking { stopped: true, ..Ranking::default() }),
        Err(SearchError::Failed(error)) => Err(error),
    })
}

/// Answers a query from several indexes as if they were one: document frequencies are computed over all of
/// them, so that scores are comparable.
///
/// # Errors
///
/// Returns the same errors as [`search`], and marks the indexes that are damaged.
pub fn search_all(indexes: &[&RankIndex], request: &RankedSearch<'_>) -> Result<Ranking, IndexError> {
    let [first, ..] = indexes else { return Ok(Ranking::default()) };
    if indexes.len() == 1 {
        return search(first, request);
    }
    let ranking = guarded(|| match answer(indexes, request) {
        Ok(ranking) => Ok(ranking),
        Err(SearchError::Stopped) => Ok(Ranking { stopped: true, ..Ranking::default() }),
        Err(SearchError::Failed(error)) => Err(error),
    });
    if ranking.as_ref().is_err_and(IndexError::is_damage) {
        // Search each one alone to find out which is damaged.
        for (position, index) in indexes.iter().enumerate() {
            let allow = request.allow.map(|allow| move |_: usize, path: &str| allow(position, path));
            let allow = allow.as_ref().map(|allow| allow as &AllowFile<'_>);
            let _ = search(index, &RankedSearch { allow, ..*request });
        }
    }
    ranking
}

fn answer(indexes: &[&RankIndex], request: &RankedSearch<'_>) -> Result<Ranking, SearchError> {
    let built_in;
    let weights = match request.weights {
        Some(weights) => weights,
        None => {
            built_in = RankWeights::default();
            &built_in
        }
    };
    let pace = StopChecker::new(request.stop);
    let mut query = RankQuery::parse(request.query, &weights.query);
    let limit = request.limit.min(limits::RESULTS);
    // We only use two sizes, so that requests for further pages need the same candidates.
    let max = if limit <= limits::CANDIDATES { limits::CANDIDATES } else { limits::RESULTS };
    let (fields, allow) = (&weights.fields, request.allow);
    let Some(joined) = MultiIndex::new(indexes) else { return Ok(Ranking::default()) };
    if let [index] = indexes {
        ignore_project_names(&joined, &mut query, &index.names(), &pace)?;
    }
    let demand =
        RetrievalRequest { joined: &joined, query: &query, weights: fields, allow, pace: &pace, max };
    let retrieved = retrieve(&demand)?;
    let histories: Vec<_> =
        indexes.iter().map(|index| index.used_history().filter(|_| request.history)).collect();
    let mut evidence = gather(&query, &retrieved, fields, &histories, &pace)?;
    implementations_first(&query, &retrieved.candidates, &mut evidence, &weights.rules);
    compare_siblings(&query, &retrieved.candidates, &mut evidence, &weights.rules);
    pace.check()?;
    let (order, strength) = if query.is_path_only() {
        // All of them match, so they are ordered by path.
        (
            (0..evidence.len()).map(|position| (0.0, position)).collect(),
            if evidence.is_empty() { 0.0 } else { 1.0 },
        )
    } else {
        let order = order(&retrieved, &evidence, &weights.rules);
        let strength = order.first().map_or(0.0, |&(_, best)| query_coverage(&query, &retrieved, best));
        (order, strength)
    };
    let asked: Vec<&str> = query.asked_words().collect();
    let hit = |(score, position): (f32, usize)| {
        let hit = file_hit(&retrieved.candidates[position], &evidence[position], score, request.chunks);
        FileHit { aside: secondary_kind(retrieved.candidates[position].kinds, &asked), ..hit }
    };
    let words = QueryWords::new(&query, &retrieved);
    let siblings = if query.is_path_only() { Vec::new() } else { siblings(&retrieved, &order) };
    let mut files: Vec<FileHit> = order.into_iter().take(limit).map(hit).collect();
    for (file, siblings) in files.iter_mut().zip(siblings) {
        file.siblings = siblings;
    }
    Ok(Ranking {
        files,
        matching: retrieved.matching,
        strength,
        unknown: unknown(&query, &retrieved),
        own_names: project_names(&query),
        not_looked_at: retrieved.not_looked_at,
        is_list: query.is_path_only(),
        is_translated: query.concepts.iter().any(|concept| concept.is_translated),
        stopped: false,
        understood: query.understood,
        ignored: query.ignored,
        words,
    })
}

/// Orders the candidates, best first, as scores with indexes. The candidates of a short answer must stay
/// before those that only a longer one has. So we cap the scores of the latter, and scores never rise from
/// one file to the next.
fn order(retrieved: &Retrieved, evidence: &[Evidence], rules: &RuleWeights) -> Vec<(f32, usize)> {
    let path = |index: usize| retrieved.candidates[index].place();
    let mut order: Vec<(f32, usize)> =
        evidence.iter().enumerate().map(|(index, evidence)| (rules.score(&evidence.values), index)).collect();
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

/// Returns the paths of the siblings of each of the first files. The candidates that only a longer answer has
/// don't count, so that it begins like a shorter one.
fn siblings(retrieved: &Retrieved, order: &[(f32, usize)]) -> Vec<Vec<String>> {
    let first = order.iter().take(limits::CANDIDATES);
    let candidates: Vec<&FileCandidate> =
        first.map(|&(_, position)| &retrieved.candidates[position]).collect();
    let paths = |group: Vec<usize>| {
        group.into_iter().map(|position| candidates[position].record.path.clone()).collect()
    };
    group_siblings(&candidates).into_iter().map(paths).collect()
}

/// Computes the share of the query's idf that a file contains, relative to the total of the rarest words. No
/// file contains most of a whole report, but the right one has as much as some rare words are worth. A word
/// that no file contains counts as the rarest possible.
fn query_coverage(query: &RankQuery, retrieved: &Retrieved, index: usize) -> f32 {
    let frequencies = &retrieved.candidates[index].frequencies;
    let mut has = 0.0;
    let mut rarities = Vec::with_capacity(frequencies.len());
    let is_counted = |index: usize| {
        // Code needn't contain the original of a translated word.
        let is_absent = query.concepts[index].is_translated && retrieved.document_frequency[index] == 0;
        query.is_expected(index) && !query.concepts[index].is_own_name && !is_absent
    };
    for (concept, frequency) in frequencies.iter().enumerate().filter(|(index, _)| is_counted(*index)) {
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
        .filter(|(index, (concept, frequency))| {
            **frequency == 0 && query.is_expected(*index) && !concept.is_translated
        })
        .map(|(_, (concept, _))| query.as_written(&concept.word).to_owned())
        .collect()
}

fn project_names(query: &RankQuery) -> Vec<String> {
    let own = query.concepts.iter().filter(|concept| concept.is_own_name);
    own.map(|concept| query.as_written(&concept.word).to_owned()).collect()
}

fn file_hit(candidate: &FileCandidate, evidence: &Evidence, score: f32, max: usize) -> FileHit {
    let record = &candidate.record;
    let hit = |position: usize, share: f32| {
        let chunk = &record.chunks[position];
        ChunkHit { start_line: chunk.start_line, end_line: chunk.end_line, score: share }
    };
    let mut chunks: Vec<ChunkHit> =
        evidence.chunks.iter().take(max).map(|chunk| hit(chunk.chunk, chunk.score)).collect();
    if chunks.is_empty() && !record.chunks.is_empty() {
        // Only its path matched.
        chunks.push(hit(0, 0.0));
    }
    let (index, path) = (candidate.index, record.path.clone());
    FileHit { index, path, score, chunks, values: evidence.values, aside: None, siblings: Vec::new() }
}

#[cfg(test)]
mod tests;

//! Retrieves candidate files for the concepts of a query, with the positions of their words.
//!
//! The steps in the order of the code:
//!
//! 1. [`count_files`] and [`keep_the_rarest`]: for a long query, e.g. a whole bug report, we only look up the
//!    rare concepts. A concept is a word with its stem and synonyms.
//! 2. [`RetrieveScope::read_segment`]: reads the posting lists of each segment once. Frequencies are weighted
//!    by field.
//! 3. [`bm25_idf`] of each concept over all segments, and with it [`SegmentView::score`]: BM25F per file, plus
//!    a bonus for names, which is only used to choose candidates.
//! 4. [`RetrieveScope::choose`]: applies the filters for paths, languages, excluded words and phrases.
//! 5. [`RetrieveScope::read_candidates`]: reads the best files of all segments, at most
//!    [`RetrievalRequest::max`], with the positions of every concept in them ([`ConceptHit`]). From these,
//!    the rules score definitions, lines and chunks.

use std::ops::Range;

use tantivy::postings::Postings as _;
use tantivy::schema::{Field, IndexRecordOption, Value as _};
use tantivy::store::StoreReader;
use tantivy::{DocId, DocSet as _, SegmentReader, TERMINATED, TantivyDocument, Term};

use crate::error::IndexError;
use crate::index::{FIELD_COUNT, MultiIndex, Paths, StoredFile};
use crate::kinds::{FileKinds, ProjectEvidence, kinds};
use crate::latent::{LatentQuery, LatentText, TextKind};
use crate::limits;
use crate::query::{Concept, PieceRole, RankQuery};
use crate::rules::PathWords;
use crate::search::AllowFile;
use crate::stop_checker::{PATH_STEPS, SearchError, StopChecker};

/// Weights of fields and parameters of the term weighting (Robertson and Zaragoza, “The Probabilistic
/// Relevance Framework: BM25 and Beyond”, 2009, section 3.6: BM25F).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldWeights {
    /// Weights of path, definitions, body and comments.
    pub weight: [f32; FIELD_COUNT],
    /// Length normalisation of each field, from 0 (none) to 1 (full).
    pub length: [f32; FIELD_COUNT],
    /// Weight of the idf of words in paths, in addition to BM25F.
    pub path_names: f32,
    /// Weight of the idf of words in names of definitions, in addition to BM25F.
    pub definition_names: f32,
    /// Saturation of a term's frequency in a file.
    pub saturation: f32,
    /// Saturation of a term's frequency in a chunk.
    pub chunk_saturation: f32,
    /// Length normalisation of a chunk.
    pub chunk_length: f32,
    /// Weight of the similarity of a file's words to the query's, in addition to BM25F, as a share of the
    /// query's total idf.
    pub nearness: f32,
}

impl Default for FieldWeights {
    fn default() -> Self {
        Self {
            weight: [8.0, 4.0, 1.0, 1.5],
            length: [0.5, 0.6, 0.6, 0.6],
            path_names: 2.0,
            definition_names: 0.5,
            saturation: 2.0,
            chunk_saturation: 1.2,
            chunk_length: 0.5,
            nearness: 0.6,
        }
    }
}

/// A candidate file.
#[derive(Debug)]
pub(crate) struct FileCandidate {
    /// The number of its index.
    pub(crate) index: usize,
    pub(crate) record: StoredFile,
    pub(crate) path_words: PathWords,
    /// Its kinds, by its path.
    pub(crate) kinds: FileKinds,
    /// The score by which it was chosen.
    pub(crate) choice: f32,
    /// The BM25F score of this file as a whole.
    pub(crate) score: f32,
    /// The weighted frequency of each concept in this file.
    pub(crate) frequencies: Vec<f32>,
    /// Where it has the concepts.
    pub(crate) hits: FileHits,
    pub(crate) tokens: u32,
    /// The similarity of its words to the query's ([`LatentQuery::similarity`]).
    pub(crate) nearness: f32,
}

/// Occurrences of the concepts in a file.
#[derive(Debug, Default)]
pub(crate) struct FileHits {
    /// Ordered by position.
    pub(crate) list: Vec<ConceptHit>,
    /// True if `list` omits occurrences of a word of a phrase beyond [`limits::PHRASE_HITS`].
    is_cut: bool,
}

/// An occurrence of a concept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConceptHit {
    pub(crate) position: u32,
    pub(crate) concept: u16,
    /// Index of the field, below [`FIELD_COUNT`]; never the path.
    pub(crate) field: u8,
    pub(crate) weight: f32,
}

/// The field of a hit in names of definitions.
pub(crate) const DEFINITIONS: u8 = 1;

/// The cost of comparing one latent vector, relative to reading one posting.
const DIMENSION_STEPS: usize = 8;

/// The share of their scores by which tests, documentation and data are reduced when candidates are chosen.
const SECONDARY_SHARE: f32 = 0.5;

/// Added to the score of a file that the query names, so that it always becomes a candidate.
const ASKED_BONUS: f32 = 1e4;

/// The result of retrieval.
#[derive(Debug, Default)]
pub(crate) struct Retrieved {
    pub(crate) candidates: Vec<FileCandidate>,
    /// The idf of each concept times its weight; 0 for concepts that are not in the index.
    pub(crate) idf: Vec<f32>,
    /// Number of files in the index.
    pub(crate) files: f32,
    /// Mean number of words per file.
    pub(crate) mean_tokens: f32,
    /// The idf of each concept in paths and in names of definitions.
    pub(crate) named_idf: [Vec<f32>; 2],
    /// The document frequency of each concept.
    pub(crate) document_frequency: Vec<u32>,
    /// Number of files that contain any of the concepts looked up, pass the filters and have the phrases.
    pub(crate) matching: usize,
    /// Number of files with all words of the phrases whose positions were not checked, or not completely.
    /// `matching` does not count them.
    pub(crate) not_looked_at: usize,
}

struct SegmentView<'a> {
    index: usize,
    reader: &'a SegmentReader,
    scores: Vec<f32>,
    /// The bonus for names, added to the scores when candidates are chosen.
    bonus: Vec<f32>,
    /// The similarity to the query of the files that match any concept.
    nearness: Vec<f32>,
    paths: &'a Paths,
    evidence: &'a ProjectEvidence,
    /// Per concept: files and weighted frequencies.
    found: Vec<Vec<(DocId, f32)>>,
    /// Files with the concept in their paths, and in names of definitions, with the weight of the
    /// occurrences, per concept.
    named: [Vec<Vec<(DocId, f32)>>; 2],
}

/// BM25 inverse document frequency for a document frequency of `count` among `total` files.
pub(crate) fn bm25_idf(total: f32, count: u32) -> f32 {
    let count = count as f32;
    (1.0 + (total - count + 0.5) / (count + 0.5)).ln()
}

/// Selects the rare concepts of a long query, for example a whole bug report. They show what this query is
/// about, while the others take time and blur the result. Words of phrases must always be looked up, or the
/// phrase could not match.
fn keep_the_rarest(query: &RankQuery, counts: &[u32], total: f32) -> Vec<bool> {
    let value = |index: usize| {
        let known = if counts[index] > 0 { bm25_idf(total, counts[index]) } else { 0.0 };
        known * query.concepts[index].weight
    };
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by(|&left, &right| value(right).total_cmp(&value(left)).then(left.cmp(&right)));
    let mut kept: Vec<bool> = (0..counts.len()).map(|index| query.is_in_phrase(index)).collect();
    for &index in order.iter().take(limits::KEPT_WORDS) {
        kept[index] = true;
    }
    kept
}

/// Counts the living files that contain each concept.
fn count_files(
    joined: &MultiIndex,
    query: &RankQuery,
    fields: &[Field],
    pace: &StopChecker<'_>,
) -> Result<Vec<u32>, SearchError> {
    let mut counts = vec![0_u32; query.concepts.len()];
    for reader in joined.segments.iter().map(|(_, segment)| &segment.reader) {
        // The concept that was last counted for each file. A file counts once, whatever its fields and
        // tokens.
        let mut seen = vec![u32::MAX; reader.max_doc() as usize];
        for (index, concept) in query.concepts.iter().enumerate() {
            pace.check()?;
            visit_living(reader, fields, concept, pace, |document| {
                let place = &mut seen[document as usize];
                if *place != index as u32 {
                    *place = index as u32;
                    counts[index] += 1;
                }
                true
            })?;
        }
    }
    Ok(counts)
}

/// Visits the living files of a segment that contain a concept, once for each of its tokens in each field,
/// until the visitor stops.
pub(crate) fn visit_living(
    reader: &SegmentReader,
    fields: &[Field],
    concept: &Concept,
    pace: &StopChecker<'_>,
    mut visit: impl FnMut(DocId) -> bool,
) -> Result<(), SearchError> {
    for &field in fields {
        let inverted = reader.inverted_index(field)?;
        for (token, _) in &concept.tokens {
            let term = Term::from_field_text(field, token);
            let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else {
                continue;
            };
            let mut document = postings.doc();
            while document != TERMINATED {
                if !reader.is_deleted(document) && !visit(document) {
                    return Ok(());
                }
                pace.step(1)?;
                document = postings.advance();
            }
        }
    }
    Ok(())
}

/// The parameters of a retrieval.
pub(crate) struct RetrievalRequest<'a> {
    pub(crate) joined: &'a MultiIndex,
    pub(crate) query: &'a RankQuery,
    pub(crate) weights: &'a FieldWeights,
    /// Restricts the paths of each index. This applies in addition to the filters of the query.
    pub(crate) allow: Option<&'a AllowFile<'a>>,
    pub(crate) pace: &'a StopChecker<'a>,
    /// Maximum number of candidates.
    pub(crate) max: usize,
}

/// A document that may become a candidate: its score, its segment, and its id.
type ScoredDoc = (f32, usize, DocId);

/// Finds the files with the highest BM25F, best first, and reads the positions of the words in them. A larger
/// maximum must not change the first results.
pub(crate) fn retrieve(demand: &RetrievalRequest<'_>) -> Result<Retrieved, SearchError> {
    let RetrievalRequest { joined, query, weights, pace, .. } = *demand;
    let means = &joined.means;
    let fields = joined.fields.words();
    let total = joined.files as f32;
    let mut retrieved = Retrieved::default();
    pace.check()?;
    if total == 0.0 || query.concepts.is_empty() && !query.is_path_only() {
        return Ok(retrieved);
    }
    retrieved.files = total;
    // The words of a path don't count towards the length of a file.
    retrieved.mean_tokens = means[1..].iter().sum();

    let many = query.concepts.len() > limits::KEPT_WORDS;
    let (counts, kept) = if many {
        let counts = count_files(joined, query, &fields, pace)?;
        let kept = keep_the_rarest(query, &counts, total);
        (counts, kept)
    } else {
        (Vec::new(), vec![true; query.concepts.len()])
    };
    let scope = RetrieveScope { demand, kept: &kept, fields, means };
    let mut segments = Vec::new();
    for (index, segment) in &joined.segments {
        segments.push(scope.read_segment(
            *index,
            &segment.reader,
            &segment.paths,
            joined.evidence(*index),
        )?);
    }
    for (position, concept) in query.concepts.iter().enumerate() {
        let found: usize = segments.iter().map(|segment| segment.found[position].len()).sum();
        // For a long query, all concepts were counted, but only some were looked up.
        let count = if many { counts[position] } else { found as u32 };
        let idf = if found > 0 { bm25_idf(total, count) * concept.weight } else { 0.0 };
        retrieved.idf.push(idf);
        retrieved.document_frequency.push(count);
    }
    for place in 0..2 {
        for (position, concept) in query.concepts.iter().enumerate() {
            let count: usize = segments.iter().map(|segment| segment.named[place][position].len()).sum();
            // If no name contains a concept, an idf of names would make no sense.
            let idf = if count > 0 { bm25_idf(total, count as u32) * concept.weight } else { 0.0 };
            retrieved.named_idf[place].push(idf);
        }
    }
    let mut best: Vec<ScoredDoc> = Vec::new();
    let near = LatentQuery::new(&query.latent(), &joined.latent);
    let expected = (0..query.concepts.len()).filter(|&position| query.is_expected(position));
    let mass: f32 = expected.map(|position| retrieved.idf[position]).sum();
    for (position, segment) in segments.iter_mut().enumerate() {
        segment.score(&retrieved, weights, pace)?;
        segment.add_nearness(&near, mass * weights.nearness, pace)?;
        segment.demote_secondary();
        scope.choose(position, segment, &mut best)?;
    }
    scope.read(&segments, best, &mut retrieved)?;
    Ok(retrieved)
}

impl SegmentView<'_> {
    /// Adds the similarity of latent vectors to the scores for the choice.
    fn add_nearness(
        &mut self,
        query: &LatentQuery,
        weight: f32,
        pace: &StopChecker<'_>,
    ) -> Result<(), SearchError> {
        for (document, place) in self.paths.latent.iter().enumerate() {
            pace.step(DIMENSION_STEPS)?;
            if self.scores[document] > 0.0 {
                self.nearness[document] = query.similarity(place);
                self.bonus[document] += weight * self.nearness[document];
            }
        }
        Ok(())
    }

    /// Computes the scores of the files.
    fn score(
        &mut self,
        retrieved: &Retrieved,
        weights: &FieldWeights,
        pace: &StopChecker<'_>,
    ) -> Result<(), SearchError> {
        for (found, idf) in self.found.iter().zip(&retrieved.idf) {
            pace.step(found.len())?;
            for &(document, frequency) in found {
                let gain = frequency * (weights.saturation + 1.0) / (frequency + weights.saturation);
                self.scores[document as usize] += idf * gain;
            }
        }
        for (place, weight) in [weights.path_names, weights.definition_names].into_iter().enumerate() {
            for (found, idf) in self.named[place].iter().zip(&retrieved.named_idf[place]) {
                pace.step(found.len())?;
                for &(document, value) in found {
                    self.bonus[document as usize] += weight * idf * value;
                }
            }
        }
        Ok(())
    }

    /// Reduces the scores of tests and similar files. This only affects the choice of candidates and the
    /// nearest files. The rules decide later whether the query asks for a test.
    fn demote_secondary(&mut self) {
        let (paths, evidence) = (self.paths, self.evidence);
        let has_any = |document: DocId| self.scores[document as usize] > 0.0;
        for document in paths.secondary(evidence, has_any).collect::<Vec<_>>() {
            let document = document as usize;
            let total = self.scores[document] + self.bonus[document];
            self.bonus[document] -= total * SECONDARY_SHARE;
            self.nearness[document] *= SECONDARY_SHARE;
        }
    }
}

/// The data that all segments of a query share.
struct RetrieveScope<'a> {
    demand: &'a RetrievalRequest<'a>,
    /// The concepts to look up.
    kept: &'a [bool],
    fields: [Field; FIELD_COUNT],
    means: &'a [f32; FIELD_COUNT],
}

impl RetrieveScope<'_> {
    /// Chooses the documents of a segment that the query allows, before any of them is read. This checks
    /// paths, languages, excluded words, and that all words of the phrases occur.
    fn choose(
        &self,
        index: usize,
        segment: &SegmentView<'_>,
        best: &mut Vec<ScoredDoc>,
    ) -> Result<(), SearchError> {
        let RetrievalRequest { query, allow, pace, .. } = *self.demand;
        let excluded = self.excluded(segment)?;
        let needed: Vec<usize> =
            (0..query.concepts.len()).filter(|&index| query.is_in_phrase(index)).collect();
        let mut lower = String::new();
        for (document, (score, bonus)) in segment.scores.iter().zip(&segment.bonus).enumerate() {
            let id = document as DocId;
            let has =
                |index: &usize| segment.found[*index].binary_search_by_key(&id, |entry| entry.0).is_ok();
            if *score <= 0.0 && !query.is_path_only()
                || excluded.get(document) == Some(&true)
                || !needed.iter().all(has)
            {
                continue;
            }
            // Checking a path takes many steps, and with filters we check thousands of paths.
            pace.step(if query.filters.is_empty() { limits::STOP_STEPS / 64 } else { PATH_STEPS })?;
            let path = segment.paths.get(id);
            let filtered = query.filters.is_empty() || query.filters.allow(path, &mut lower);
            if filtered && allow.is_none_or(|allow| allow(segment.index, path)) {
                let is_asked = query.asked_files.iter().any(|file| file.is_end_of(path).is_some());
                best.push((score + bonus + if is_asked { ASKED_BONUS } else { 0.0 }, index, id));
            }
        }
        Ok(())
    }

    /// Returns, per document, true if it contains an excluded word; empty if the query excludes none.
    fn excluded(&self, segment: &SegmentView<'_>) -> Result<Vec<bool>, SearchError> {
        let RetrievalRequest { query, pace, .. } = *self.demand;
        let mut excluded = Vec::new();
        if !query.excluded.is_empty() {
            excluded.resize(segment.reader.max_doc() as usize, false);
        }
        for token in &query.excluded {
            for field in self.fields {
                let term = Term::from_field_text(field, token);
                let inverted = segment.reader.inverted_index(field)?;
                let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else {
                    continue;
                };
                while postings.doc() != TERMINATED {
                    excluded[postings.doc() as usize] = true;
                    pace.step(1)?;
                    postings.advance();
                }
            }
        }
        Ok(excluded)
    }

    /// Reads the best chosen documents. With phrases, it reads as many as are needed, and only counts those
    /// that come after them.
    fn read(
        &self,
        segments: &[SegmentView<'_>],
        mut best: Vec<ScoredDoc>,
        retrieved: &mut Retrieved,
    ) -> Result<(), SearchError> {
        let RetrievalRequest { query, max, .. } = *self.demand;
        // We order ties by path because the order of documents depends on threads and merges.
        let path = |entry: &ScoredDoc| (segments[entry.1].paths.get(entry.2), segments[entry.1].index);
        let order = |left: &ScoredDoc, right: &ScoredDoc| {
            right.0.total_cmp(&left.0).then_with(|| path(left).cmp(&path(right)))
        };
        let has_phrases = !query.phrases.is_empty();
        let looked_at = if has_phrases { limits::PHRASE_CANDIDATES } else { max };
        retrieved.matching = if has_phrases { 0 } else { best.len() };
        if best.len() > looked_at {
            best.select_nth_unstable_by(looked_at, order);
            if has_phrases {
                retrieved.not_looked_at = best.len() - looked_at;
            }
            best.truncate(looked_at);
        }
        best.sort_unstable_by(order);
        let batch = if has_phrases { limits::PHRASE_BATCH } else { looked_at };
        let mut done = 0;
        for batch in best.chunks_mut(batch.max(1)) {
            done += batch.len();
            let first = retrieved.candidates.len();
            for (segment, best) in by_segment(segments, batch) {
                self.read_candidates(segment, best, retrieved)?;
            }
            if has_phrases {
                let Retrieved { candidates, matching, not_looked_at, .. } = retrieved;
                let read = candidates.split_off(first).into_iter();
                candidates.extend(read.filter(|file| file.hits.count(query, matching, not_looked_at)));
            }
            if retrieved.candidates.len() >= max {
                break;
            }
        }
        if has_phrases {
            self.count_phrases(segments, &mut best[done..], retrieved)?;
        }
        retrieved.candidates.sort_by(|left, right| {
            right.choice.total_cmp(&left.choice).then_with(|| left.place().cmp(&right.place()))
        });
        retrieved.candidates.truncate(max);
        Ok(())
    }

    /// Counts the documents that have the phrases, without reading their records.
    fn count_phrases(
        &self,
        segments: &[SegmentView<'_>],
        rest: &mut [ScoredDoc],
        retrieved: &mut Retrieved,
    ) -> Result<(), SearchError> {
        let RetrievalRequest { query, pace, .. } = *self.demand;
        let Retrieved { idf, matching, not_looked_at, .. } = retrieved;
        let is_needed = |concept: usize| idf[concept] != 0.0 && query.is_in_phrase(concept);
        // Batches limit the memory of the hits. Sorted as a whole, each document is in the first batch that
        // has to pass over it.
        rest.sort_unstable_by_key(|&(_, segment, document)| (segment, document));
        for batch in rest.chunks_mut(limits::PHRASE_BATCH) {
            for (segment, documents) in by_segment(segments, batch) {
                pace.check()?;
                let mut hits: Vec<FileHits> = documents.iter().map(|_| FileHits::default()).collect();
                self.read_hits(segment, documents, is_needed, &mut hits.iter_mut().collect::<Vec<_>>())?;
                for hits in &hits {
                    hits.count(query, matching, not_looked_at);
                }
            }
        }
        Ok(())
    }

    fn read_segment<'a>(
        &self,
        index: usize,
        reader: &'a SegmentReader,
        paths: &'a Paths,
        evidence: &'a ProjectEvidence,
    ) -> Result<SegmentView<'a>, SearchError> {
        let Self { demand: &RetrievalRequest { query, weights, pace, .. }, fields, means, .. } = *self;
        let size = reader.max_doc() as usize;
        let mut found = Vec::with_capacity(query.concepts.len());
        let mut named = [Vec::new(), Vec::new()];
        let mut frequencies = vec![0.0_f32; size];
        for (concept, kept) in query.concepts.iter().zip(self.kept) {
            if !kept {
                found.push(Vec::new());
                named.iter_mut().for_each(|named| named.push(Vec::new()));
                continue;
            }
            pace.check()?;
            let mut touched: Vec<DocId> = Vec::new();
            for (position, field) in fields.into_iter().enumerate() {
                let mut here: Vec<(DocId, f32)> = Vec::new();
                let inverted = reader.inverted_index(field)?;
                let norms = reader.get_fieldnorms_reader(field)?;
                for (token, token_weight) in &concept.tokens {
                    let term = Term::from_field_text(field, token);
                    let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::WithFreqs)?
                    else {
                        continue;
                    };
                    let mut document = postings.doc();
                    while document != TERMINATED {
                        if !reader.is_deleted(document) {
                            let length = norms.fieldnorm(document) as f32 / means[position];
                            let share = weights.length[position];
                            let gain = weights.weight[position] * token_weight * postings.term_freq() as f32
                                / (1.0 - share + share * length);
                            let place = &mut frequencies[document as usize];
                            if *place == 0.0 {
                                touched.push(document);
                            }
                            *place += gain;
                            if position < 2 {
                                here.push((document, *token_weight));
                            }
                        }
                        pace.step(1)?;
                        document = postings.advance();
                    }
                }
                if position < 2 {
                    // Each file counts once, with its best word.
                    here.sort_by(|left, right| left.0.cmp(&right.0).then(right.1.total_cmp(&left.1)));
                    here.dedup_by_key(|entry| entry.0);
                    named[position].push(here);
                }
            }
            // Files come in the order of tokens and fields, but we look them up by binary search.
            touched.sort_unstable();
            // `take` also clears the buffer for the next concept.
            let taken = touched
                .into_iter()
                .map(|document| (document, std::mem::take(&mut frequencies[document as usize])));
            found.push(taken.collect());
        }
        Ok(SegmentView {
            index,
            reader,
            paths,
            evidence,
            scores: vec![0.0; size],
            bonus: vec![0.0; size],
            nearness: vec![0.0; size],
            found,
            named,
        })
    }

    fn read_candidates(
        &self,
        segment: &SegmentView<'_>,
        best: &[ScoredDoc],
        retrieved: &mut Retrieved,
    ) -> Result<(), SearchError> {
        let pace = self.demand.pace;
        if best.is_empty() {
            return Ok(());
        }
        let Retrieved { candidates, idf, .. } = retrieved;
        let store = segment.reader.get_store_reader(8)?;
        let first = candidates.len();
        for choice in best {
            pace.check()?;
            candidates.push(self.read_candidate(segment, &store, choice)?);
        }
        let mut hits: Vec<_> = candidates[first..].iter_mut().map(|candidate| &mut candidate.hits).collect();
        self.read_hits(segment, best, |concept| idf[concept] != 0.0, &mut hits)
    }

    /// Reads the record of a chosen document. Its hits are still missing.
    fn read_candidate(
        &self,
        segment: &SegmentView<'_>,
        store: &StoreReader,
        &(choice, _, document): &ScoredDoc,
    ) -> Result<FileCandidate, SearchError> {
        let stored: TantivyDocument = store.get(document)?;
        let text = stored.get_first(self.demand.joined.fields.record).and_then(|value| value.as_str());
        let record = text.and_then(StoredFile::from_text).ok_or(IndexError::Damaged)?;
        let frequency = |found: &Vec<(DocId, f32)>| {
            found.binary_search_by_key(&document, |entry| entry.0).map_or(0.0, |at| found[at].1)
        };
        Ok(FileCandidate {
            index: segment.index,
            path_words: PathWords::new(&record.path),
            kinds: kinds(&record.path, segment.evidence),
            choice,
            score: segment.scores[document as usize],
            frequencies: segment.found.iter().map(frequency).collect(),
            hits: FileHits::default(),
            tokens: record.end_position,
            nearness: segment.nearness[document as usize],
            record,
        })
    }

    /// Reads the positions of the needed concepts in the `best` documents, which must ascend.
    fn read_hits(
        &self,
        segment: &SegmentView<'_>,
        best: &[ScoredDoc],
        is_needed: impl Fn(usize) -> bool,
        files: &mut [&mut FileHits],
    ) -> Result<(), SearchError> {
        let Self { demand: &RetrievalRequest { query, pace, .. }, fields, .. } = *self;
        let mut positions = Vec::new();
        for (nth_concept, Concept { tokens, .. }) in query.concepts.iter().enumerate() {
            if !is_needed(nth_concept) {
                continue;
            }
            let in_phrase = query.is_in_phrase(nth_concept);
            let max_hits = if in_phrase { limits::PHRASE_HITS } else { limits::HITS };
            for (nth_field, field) in fields.into_iter().enumerate().skip(1) {
                let inverted = segment.reader.inverted_index(field)?;
                for (token, weight) in tokens {
                    let term = Term::from_field_text(field, token);
                    let option = IndexRecordOption::WithFreqsAndPositions;
                    let Some(mut postings) = inverted.read_postings(&term, option)? else { continue };
                    for (file, &(_, _, document)) in files.iter_mut().zip(best) {
                        if postings.doc() < document {
                            postings.seek(document);
                        }
                        if postings.doc() != document {
                            continue;
                        }
                        postings.positions(&mut positions);
                        pace.step(1 + positions.len())?;
                        file.is_cut |= in_phrase && positions.len() > max_hits;
                        file.list.extend(positions.iter().take(max_hits).map(|&position| ConceptHit {
                            position,
                            concept: nth_concept as u16,
                            field: nth_field as u8,
                            weight: *weight,
                        }));
                    }
                }
            }
        }
        for file in files {
            pace.check()?;
            file.list.sort_unstable_by_key(|hit| (hit.position, hit.concept, hit.field));
        }
        Ok(())
    }
}

/// Sorts documents as their posting lists need them, which can only be read forwards, and returns those of
/// each segment.
fn by_segment<'a>(
    segments: &'a [SegmentView<'a>],
    documents: &'a mut [ScoredDoc],
) -> impl Iterator<Item = (&'a SegmentView<'a>, &'a [ScoredDoc])> {
    documents.sort_unstable_by_key(|&(_, segment, document)| (segment, document));
    let of_segments = documents.chunk_by(|left, right| left.1 == right.1);
    of_segments.map(|documents| (&segments[documents[0].1], documents))
}

impl FileCandidate {
    /// Returns the key by which we order ties.
    pub(crate) fn place(&self) -> (&str, usize) {
        (&self.record.path, self.index)
    }

    /// Returns the hits in a chunk of this file, as a range of `hits`.
    pub(crate) fn hits_of_chunk(&self, chunk: usize) -> Range<usize> {
        let start = self.record.chunks[chunk].position;
        let end = start + self.record.chunk_length(chunk);
        let from = self.hits.list.partition_point(|hit| hit.position < start);
        let to = self.hits.list.partition_point(|hit| hit.position < end);
        from..to
    }
}

impl FileHits {
    /// Counts a file that has all phrases, or that may have them where we did not read. Returns true if it has
    /// them.
    fn count(&self, query: &RankQuery, matching: &mut usize, unknown: &mut usize) -> bool {
        let has = query.phrases.iter().all(|phrase| self.has_phrase(phrase));
        *matching += usize::from(has);
        // The phrase may be among the occurrences that we didn't read.
        *unknown += usize::from(!has && self.is_cut);
        has
    }

    /// Returns true if the words of a phrase occur at the required distances anywhere.
    fn has_phrase(&self, phrase: &[(usize, u32)]) -> bool {
        let Some(((first, _), rest)) = phrase.split_first() else { return true };
        // Names are also stored among the definitions, at the start of their line, where they don't follow
        // the previous word. We ignore these occurrences.
        let counts = |hit: &ConceptHit| hit.weight >= 1.0 && hit.field != DEFINITIONS;
        let stands = |position: u32, concept: usize| {
            let from = self.list.partition_point(|hit| hit.position < position);
            let here = self.list[from..].iter().take_while(|hit| hit.position == position);
            here.into_iter().any(|hit| usize::from(hit.concept) == concept && counts(hit))
        };
        let starts = self.list.iter().filter(|hit| usize::from(hit.concept) == *first && counts(hit));
        starts.into_iter().any(|hit| rest.iter().all(|&(concept, step)| stands(hit.position + step, concept)))
    }
}

impl RankQuery {
    /// Computes the latent vector of this query.
    fn latent(&self) -> LatentText {
        let mut text = LatentText::default();
        for concept in self.concepts.iter().filter(|concept| concept.role == PieceRole::Word) {
            text.push(&concept.tokens[0].0, TextKind::Question, concept.weight);
        }
        text
    }

    /// Returns true if a file without this concept should be penalised.
    pub(crate) fn is_expected(&self, concept: usize) -> bool {
        self.concepts[concept].role != PieceRole::Joined
    }
}

//! Computes the values of the rules for each file.

use std::sync::Arc;

use crate::history::{CommitScores, History};
use crate::index::FIELD_COUNT;
use crate::languages::DefinitionKind;
use crate::limits;
use crate::query::{PieceRole, RankQuery};
use crate::retrieve::{DEFINITIONS, FieldWeights, FileCandidate, Retrieved};
use crate::stop_checker::{SearchError, StopChecker};

use super::asked::put_asked_first;
use super::named::named;
use super::{Id, PathWords, RULES, Values, kind_values};

/// The number of the field of comments in hits.
const COMMENTS: u8 = 3;

/// The exponent for the relative rarity of a word in paths, which gives its weight in a file's name.
const NAME_RARITY: f32 = 0.35;

/// The weight of the project's own name in a file's name. This must not be 0, or the rule would lose all that
/// it gains: the main file of a small project is usually called after the project.
const OWN_NAME: f32 = 0.5;

/// The weight of a definition of this kind.
const fn kind_share(kind: DefinitionKind) -> f32 {
    match kind {
        DefinitionKind::Type | DefinitionKind::Module | DefinitionKind::Heading => 1.0,
        DefinitionKind::Function => 0.8,
        DefinitionKind::Constant => 0.6,
        DefinitionKind::Extension | DefinitionKind::Declaration => 0.3,
    }
}

/// A chunk of a file with its score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkScore {
    pub(crate) chunk: usize,
    pub(crate) score: f32,
}

/// The values of a file for a query.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) values: Values,
    /// The chunks, best first.
    pub(crate) chunks: Vec<ChunkScore>,
}

/// The data that all files of a query share.
pub(crate) struct Gatherer<'a> {
    query: &'a RankQuery,
    retrieved: &'a Retrieved,
    weights: &'a FieldWeights,
    /// Concepts that a file should contain.
    expected: Vec<usize>,
    /// The sum of their idf.
    mass: f32,
    /// The greatest idf in paths.
    rarest_name: f32,
    words: Vec<&'a str>,
}

/// Computes the values of all rules for all candidates, in their order.
pub(crate) fn gather(
    query: &RankQuery,
    retrieved: &Retrieved,
    weights: &FieldWeights,
    histories: &[Option<Arc<History>>],
    pace: &StopChecker<'_>,
) -> Result<Vec<Evidence>, SearchError> {
    if retrieved.candidates.is_empty() {
        return Ok(Vec::new());
    }
    let concepts = || (0..query.concepts.len()).filter(|&index| retrieved.idf[index] > 0.0);
    // If the index only has neighbouring words joined to one name, we expect this name instead.
    let only_joined = concepts().all(|index| !query.is_expected(index));
    let expected: Vec<usize> =
        (0..query.concepts.len()).filter(|&index| query.is_expected(index) != only_joined).collect();
    let mass: f32 = expected.iter().map(|&index| retrieved.idf[index]).sum();
    let words = query.asked_words().collect();
    let in_paths = query.concepts.iter().zip(&retrieved.named_idf[0]);
    let in_paths = in_paths.filter(|(concept, _)| concept.role != PieceRole::Joined);
    let rarest_name = in_paths.map(|(_, rarity)| *rarity).fold(f32::MIN_POSITIVE, f32::max);
    let mass = mass.max(f32::MIN_POSITIVE);
    let gatherer = Gatherer { query, retrieved, weights, mass, rarest_name, expected, words };
    let mut found = Vec::with_capacity(retrieved.candidates.len());
    for candidate in &retrieved.candidates {
        pace.check()?;
        found.push(gatherer.file(candidate));
    }
    for evidence in &mut found {
        for value in &mut evidence.values {
            // The total idf may be 0, which makes shares meaningless.
            *value = if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 };
        }
    }
    let commit_scores = histories
        .iter()
        .map(|history| history.as_ref().map(|history| history.commit_scores(query, pace)).transpose());
    let commit_scores: Vec<Option<CommitScores<'_>>> = commit_scores.collect::<Result<_, _>>()?;
    for (evidence, candidate) in found.iter_mut().zip(&retrieved.candidates) {
        if let Some(Some(commit_scores)) = commit_scores.get(candidate.index) {
            evidence.values[Id::History as usize] = commit_scores.score(&candidate.record.path);
        }
    }
    // We only use the first candidates, so that a longer answer doesn't begin differently.
    let first = &retrieved.candidates[..retrieved.candidates.len().min(limits::CANDIDATES)];
    for (evidence, worth) in found.iter_mut().zip(named(&query.files, first)) {
        evidence.values[Id::Named as usize] = worth;
    }
    for (index, rank) in ranks_by_similarity(&retrieved.candidates) {
        found[index].values[Id::Latent as usize] = 1.0 / (1.0 + rank as f32 / NEAR_RANKS);
    }
    if query.is_telling {
        weigh_for_text(&mut found);
    }
    put_asked_first(query, first, &mut found);
    // These must come after `weigh_for_text`, which changes the values that they are derived from.
    for (id, beside) in [(Id::File, Id::FileBeside), (Id::Chunk, Id::ChunkBeside)] {
        let best = best_of_first(&found, id);
        for evidence in &mut found {
            evidence.values[beside as usize] = (evidence.values[id as usize] / best).min(1.0);
        }
    }
    Ok(found)
}

/// The rank by nearness at which the value of the rule is half that of the first.
const NEAR_RANKS: f32 = 5.0;

/// Ranks the candidates that are near the query in meaning. For each of these, returns how many are nearer.
/// We use ranks because a cosine isn't comparable between projects or questions. Only the first candidates
/// are ranked, so that a longer answer doesn't begin differently.
fn ranks_by_similarity(candidates: &[FileCandidate]) -> Vec<(usize, usize)> {
    let nearness = |index: usize| candidates[index].nearness;
    let first = 0..candidates.len().min(limits::CANDIDATES);
    let mut near: Vec<usize> = first.filter(|&index| nearness(index) > 0.0).collect();
    near.sort_by(|&left, &right| nearness(right).total_cmp(&nearness(left)));
    let nearer = |index: usize| near.partition_point(|&other| nearness(other) > nearness(index));
    near.iter().map(|&index| (index, nearer(index))).collect()
}

/// Rules whose values are shares of the query.
const SHARES: &[Id] = &[
    Id::File,
    Id::Chunk,
    Id::SeveralChunks,
    Id::Coverage,
    Id::Stem,
    Id::Directory,
    Id::Definition,
    Id::DefinitionRare,
    Id::DefinitionCoverage,
    Id::Proximity,
    Id::Head,
    Id::Comments,
    Id::MainComment,
];

/// Computes the greatest value of a rule. We only use the first candidates, so that a longer answer doesn't
/// begin differently.
fn best_of_first(found: &[Evidence], id: Id) -> f32 {
    let first = found.iter().take(limits::CANDIDATES);
    first.map(|evidence| evidence.values[id as usize]).fold(f32::MIN_POSITIVE, f32::max)
}

/// Adjusts the values for a long text. No file contains much of it, so its shares would be negligible next to
/// a single name among its words. So we compute shares relative to the file that has the most.
fn weigh_for_text(found: &mut [Evidence]) {
    for &id in SHARES {
        let best = best_of_first(found, id);
        for evidence in found.iter_mut() {
            let value = &mut evidence.values[id as usize];
            *value = (*value / best).min(1.0);
        }
    }
    for evidence in found {
        for (value, rule) in evidence.values.iter_mut().zip(RULES) {
            *value *= rule.text_share;
        }
    }
}

impl Gatherer<'_> {
    fn share(&self, has: impl Fn(usize) -> f32) -> f32 {
        self.expected.iter().map(|&index| self.retrieved.idf[index] * has(index)).sum::<f32>() / self.mass
    }

    /// Like [`Gatherer::share`], but weighted by the idf in names.
    fn named_share(&self, place: usize, has: impl Fn(usize) -> f32) -> f32 {
        let (mut sum, mut mass) = (0.0, f32::MIN_POSITIVE);
        for &index in &self.expected {
            let idf = self.retrieved.named_idf[place][index];
            sum += idf * has(index);
            mass += if idf > 0.0 { idf } else { self.retrieved.idf[index] };
        }
        sum / mass
    }

    fn file(&self, candidate: &FileCandidate) -> Evidence {
        let mut values: Values = [0.0; RULES.len()];
        kind_values(candidate.kinds, &self.words, &mut values);
        values[Id::Reexport as usize] = if is_reexport(candidate) { 1.0 } else { 0.0 };
        let mut set = |id: Id, value: f32| values[id as usize] = value;

        set(Id::File, candidate.score / (self.mass * (self.weights.saturation + 1.0)));
        set(Id::Coverage, self.share(|index| if candidate.frequencies[index] > 0.0 { 1.0 } else { 0.0 }));
        set(Id::Size, (candidate.tokens as f32 / self.retrieved.mean_tokens.max(1.0)).ln_1p().min(3.0) / 3.0);

        let mut chunks = self.chunks(candidate);
        if let Some(best) = chunks.first() {
            set(Id::Chunk, best.score);
            let next: f32 = chunks.iter().skip(1).take(3).map(|chunk| chunk.score).sum();
            set(Id::SeveralChunks, next / 3.0);
        }
        // The chunk to show first needn't be the one with the highest score.
        self.definition_first(candidate, &mut chunks);

        self.path(&candidate.path_words, &mut set);
        self.definitions(candidate, &mut set);
        self.places(candidate, &mut set);
        Evidence { values, chunks }
    }

    fn path(&self, path: &PathWords, set: &mut impl FnMut(Id, f32)) {
        let count = self.query.concepts.len();
        let mut matched = vec![0.0_f32; path.stem.len()];
        let mut stems = vec![0.0; count];
        let mut directories = vec![0.0; count];
        for (index, concept) in self.query.concepts.iter().enumerate() {
            let (value, place) = PathWords::matches(&path.stem, concept);
            stems[index] = value;
            if let Some(place) = place {
                matched[place] = matched[place].max(value * self.share_of_name(index));
            }
            directories[index] = PathWords::matches(&path.directories, concept).0;
            if concept.role != PieceRole::Word && concept.word == path.whole {
                stems[index] = 1.0;
                matched.fill(1.0);
            }
        }
        let exact = |name: &str| name.to_lowercase().replace('_', "") == path.whole;
        let named = self.query.names.iter().any(|name| exact(name))
            || self
                .query
                .concepts
                .iter()
                .any(|concept| concept.role != PieceRole::Word && concept.word == path.whole);
        set(Id::Stem, self.share(|index| stems[index]));
        let precision = matched.iter().sum::<f32>() / matched.len().max(1) as f32;
        set(Id::StemPrecision, precision);
        set(Id::StemExact, if named { 1.0 } else { 0.0 });
        set(Id::Directory, self.share(|index| directories[index]));
        let words =
            self.query.concepts.iter().enumerate().filter(|(_, concept)| concept.role == PieceRole::Word);
        let (mut sum, mut total) = (0.0, 0.0);
        for (index, concept) in words {
            sum += concept.weight * f32::max(stems[index], 0.7 * directories[index]);
            total += concept.weight;
        }
        set(Id::StemFirst, self.first(&stems));
        set(Id::PathCoverage, if total > 0.0 { sum / total } else { 0.0 });
    }

    /// Computes the weight of a query word in a file's name. A minor word of the question says less about the
    /// file than the word that few file names contain.
    fn share_of_name(&self, index: usize) -> f32 {
        let rarity = self.retrieved.named_idf[0][index];
        if self.query.concepts[index].is_own_name {
            OWN_NAME
        } else if self.query.is_telling || rarity == 0.0 {
            1.0
        } else {
            (rarity / self.rarest_name).min(1.0).powf(NAME_RARITY)
        }
    }

    /// Scores how early in the query the first word is that a file has. Words that nearly all files have
    /// don't count. These usually include the project's own name.
    fn first(&self, has: &[f32]) -> f32 {
        let idf = &self.retrieved.idf;
        let mut place = 0.0;
        let mut best = 0.0_f32;
        let concepts = || self.query.concepts.iter().zip(idf).zip(has);
        let rarest = concepts().map(|((_, idf), _)| *idf).fold(0.0, f32::max);
        for ((concept, &idf), has) in concepts() {
            if concept.role == PieceRole::Joined || idf < rarest / 4.0 {
                continue;
            }
            best = best.max(has / (1.0 + place));
            // A name comes before its parts, and shares the position of the first one.
            if concept.role == PieceRole::Word {
                place += 1.0;
            }
        }
        best
    }

    fn definitions(&self, candidate: &FileCandidate, set: &mut impl FnMut(Id, f32)) {
        let record = &candidate.record;
        let mut seen = vec![false; self.query.concepts.len()];
        let mut entire = vec![0.0_f32; self.query.concepts.len()];
        let mut best = 0.0_f32;
        let definitions: Vec<_> = candidate.hits.list.iter().filter(|hit| hit.field == DEFINITIONS).collect();
        let mut at = 0;
        for symbol in &record.symbols {
            // Both lists are ordered by position. We don't skip the hits of this symbol, because the next one
            // may share its line.
            while at < definitions.len() && definitions[at].position < symbol.position {
                at += 1;
            }
            let (mut recall, mut parts) = (0.0, 0);
            let mut last = None;
            let mut here = at;
            while here < definitions.len() && definitions[here].position < symbol.position + symbol.parts {
                let hit = definitions[here];
                let index = usize::from(hit.concept);
                here += 1;
                if self.query.concepts[index].role == PieceRole::Joined {
                    continue;
                }
                seen[index] = true;
                let whole = symbol.parts == 1 || self.query.concepts[index].role == PieceRole::Name;
                if whole && hit.weight >= 1.0 && hit.position == symbol.position {
                    entire[index] = entire[index].max(kind_share(symbol.kind));
                }
                recall += self.retrieved.idf[index] * hit.weight;
                if last != Some(hit.position) {
                    parts += 1;
                    last = Some(hit.position);
                }
            }
            if parts > 0 {
                let precision = parts as f32 / symbol.parts as f32;
                let value = (recall / self.mass).min(1.0) * precision.sqrt() * kind_share(symbol.kind);
                best = best.max(value);
            }
        }
        set(Id::Definition, best);
        set(Id::DefinesFirst, self.first(&entire));
        set(Id::DefinitionCoverage, self.share(|index| if seen[index] { 1.0 } else { 0.0 }));

        set(Id::DefinitionRare, self.named_share(1, |index| if seen[index] { 1.0 } else { 0.0 }));
        let mut defined = 0.0_f32;
        for symbol in &record.symbols {
            for name in &self.query.names {
                let same = if record.name(symbol) == name {
                    1.0
                } else if record.name(symbol).eq_ignore_ascii_case(name) {
                    0.8
                } else {
                    continue;
                };
                let depth = 1.0 / (1.0 + symbol.indent as f32 / 16.0);
                defined = defined.max(same * kind_share(symbol.kind) * depth);
            }
        }
        set(Id::Defines, defined);
        set(Id::DefinesAsked, if self.query.is_symbol { defined } else { 0.0 });
    }

    /// Sets the values that depend on the positions of words.
    fn places(&self, candidate: &FileCandidate, set: &mut impl FnMut(Id, f32)) {
        let count = self.query.concepts.len();
        let (mut head, mut comments) = (vec![false; count], vec![false; count]);
        let first = candidate.record.symbols.first().map_or(limits::BARE_HEAD, |symbol| symbol.position);
        let first = first.min(limits::LONGEST_HEAD);
        for hit in &candidate.hits.list {
            let index = usize::from(hit.concept);
            if hit.position < first {
                head[index] = true;
            }
            if hit.field == COMMENTS {
                comments[index] = true;
            }
        }
        set(Id::MainComment, self.main_chunk(candidate));
        set(Id::Head, self.share(|index| if head[index] { 1.0 } else { 0.0 }));
        set(Id::Comments, self.share(|index| if comments[index] { 1.0 } else { 0.0 }));
        set(Id::Proximity, self.proximity(candidate));
    }

    /// Computes the share of the query in the chunk that begins the file's main type, including its
    /// documentation.
    fn main_chunk(&self, candidate: &FileCandidate) -> f32 {
        let record = &candidate.record;
        let whole = &candidate.path_words.whole;
        let mut types = record.symbols.iter().filter(|symbol| {
            matches!(
                symbol.kind,
                DefinitionKind::Type
                    | DefinitionKind::Module
                    | DefinitionKind::Heading
                    | DefinitionKind::Function
            ) && is_called(record.name(symbol), whole)
        });
        let main =
            types.next().or_else(|| record.symbols.iter().find(|symbol| symbol.kind == DefinitionKind::Type));
        let Some(main) = main else { return 0.0 };
        let chunk = record.chunk_of_line(main.line);
        let mut seen = vec![false; self.query.concepts.len()];
        for hit in &candidate.hits.list[candidate.hits_of_chunk(chunk)] {
            seen[usize::from(hit.concept)] = true;
        }
        self.share(|index| if seen[index] { 1.0 } else { 0.0 })
    }

    /// Computes the share of the query's neighbouring words that are also neighbours in the file, weighted by
    /// idf.
    fn proximity(&self, candidate: &FileCandidate) -> f32 {
        let words: Vec<usize> = (0..self.query.concepts.len())
            .filter(|&index| {
                self.query.concepts[index].role == PieceRole::Word && self.retrieved.idf[index] > 0.0
            })
            .collect();
        let mut rank = vec![usize::MAX; self.query.concepts.len()];
        for (place, &index) in words.iter().enumerate() {
            rank[index] = place;
        }
        let mut near = vec![false; words.len().saturating_sub(1)];
        if near.is_empty() {
            return 0.0;
        }
        // Positions of definition names are relative to the start of their lines. We can skip them because
        // the body has them too.
        let hits: Vec<_> = candidate.hits.list.iter().filter(|hit| hit.field != DEFINITIONS).collect();
        for (at, hit) in hits.iter().enumerate() {
            let place = rank[usize::from(hit.concept)];
            if place == usize::MAX {
                continue;
            }
            for next in hits[at + 1..].iter().take_while(|next| next.position <= hit.position + limits::NEAR)
            {
                let other = rank[usize::from(next.concept)];
                if other != usize::MAX && other.abs_diff(place) == 1 {
                    near[other.min(place)] = true;
                }
            }
        }
        let weight = |pair: usize| self.retrieved.idf[words[pair]] + self.retrieved.idf[words[pair + 1]];
        let all: f32 = (0..near.len()).map(weight).sum();
        let found: f32 = (0..near.len()).filter(|&pair| near[pair]).map(weight).sum();
        found / all
    }

    fn chunks(&self, candidate: &FileCandidate) -> Vec<ChunkScore> {
        let count = self.query.concepts.len();
        let mut found = Vec::new();
        let mut frequencies = vec![0.0_f32; count];
        for chunk in 0..candidate.record.chunks.len() {
            let hits = &candidate.hits.list[candidate.hits_of_chunk(chunk)];
            if hits.is_empty() {
                continue;
            }
            frequencies.fill(0.0);
            for hit in hits {
                let field = usize::from(hit.field) % FIELD_COUNT;
                frequencies[usize::from(hit.concept)] += hit.weight * self.weights.weight[field];
            }
            let length = candidate.record.chunk_length(chunk) as f32 / limits::USUAL_CHUNK;
            let share = self.weights.chunk_length;
            let saturation = self.weights.chunk_saturation;
            let norm = saturation * (1.0 - share + share * length);
            let sum: f32 = frequencies
                .iter()
                .zip(&self.retrieved.idf)
                .map(|(frequency, idf)| idf * frequency * (saturation + 1.0) / (frequency + norm))
                .sum();
            found.push(ChunkScore { chunk, score: sum / (self.mass * (saturation + 1.0)) });
        }
        found.sort_by(|left, right| right.score.total_cmp(&left.score).then(left.chunk.cmp(&right.chunk)));
        found
    }

    /// Moves the chunk that defines a name of the query to the front, however short it is.
    fn definition_first(&self, candidate: &FileCandidate, chunks: &mut [ChunkScore]) {
        let exact = |name: &str| self.query.names.iter().any(|wanted| wanted == name);
        let defining = candidate
            .record
            .symbols
            .iter()
            .filter(|symbol| symbol.kind != DefinitionKind::Extension && exact(candidate.record.name(symbol)))
            .min_by_key(|symbol| symbol.indent);
        if let Some(symbol) = defining {
            let chunk = candidate.record.chunk_of_line(symbol.line);
            if let Some(at) = chunks.iter().position(|score| score.chunk == chunk) {
                chunks[..=at].rotate_right(1);
            }
        }
    }
}

/// Checks whether a file with a generic name defines nothing but constants.
fn is_reexport(candidate: &FileCandidate) -> bool {
    let name = candidate.record.path.rsplit('/').next().unwrap_or_default();
    let nameless =
        ["__init__.", "index.", "mod.", "package-info."].iter().any(|start| name.starts_with(start));
    nameless && candidate.record.symbols.iter().all(|symbol| symbol.kind == DefinitionKind::Constant)
}

fn is_called(symbol: &str, whole: &str) -> bool {
    let mut letters = symbol.bytes().filter(|byte| *byte != b'_').map(|byte| byte.to_ascii_lowercase());
    whole.bytes().all(|byte| letters.next() == Some(byte)) && letters.next().is_none()
}

//! The pattern graph with one layer per edit, compiled to a lazy automaton that decides whether a line
//! matches.
//!
//! Layer `n` contains the nodes reached with `n` edits. The automaton reads bytes: a class becomes a trie of
//! UTF-8 sequences, and an edit consumes such a sequence or a single byte. It may therefore take a multi-byte
//! character apart, with each byte counting as one edit. This never costs less than one edit for the whole
//! character, so it adds no false matches. The exceptions are assertions inside the character and bytes that
//! the pattern names explicitly; see [`Automaton::is_exact`].

use std::collections::HashMap;

use forage_base::Pace;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{BuildError, Builder, NFA, Transition};
use regex_automata::util::primitives::StateID;
use regex_automata::{Anchored, Input};
use regex_syntax::utf8::{Utf8Range, Utf8Sequences};

use super::graph::{Graph, GraphNode, GraphSymbol, RAW, SymbolClass, TooLarge, is_word_look};
use crate::limits;
use crate::stepped::{LazySearch, SteppedEnd};

/// Decides whether some part of a text is within a number of edits of the pattern.
#[derive(Debug)]
pub(super) struct Automaton {
    strict: DFA,
    /// An automaton without assertions about words. We use it for text that is not ASCII, because an
    /// automaton can't test them there.
    loose: Option<DFA>,
    /// True if there may be false matches in text that is not ASCII; see [`Automaton::is_exact`].
    is_careful: bool,
    /// The maximum work per byte, which is the number of states that can be active.
    work: u64,
}

/// The per-thread cache of an [`Automaton`].
#[derive(Debug, Default)]
pub(super) struct AutomatonCache {
    strict: Option<Cache>,
    loose: Option<Cache>,
}

/// The first event of a search over text of several lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FuzzyEvent {
    /// A match ends here, inside a line.
    Match(usize),
    /// The automaton can't decide; the line at this offset must be searched on its own.
    Unknown(usize),
}

/// The memory that automata may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct AutomatonSize {
    /// Bytes left for automata.
    pub(super) left: u64,
    /// Size in bytes of the cache of each.
    pub(super) cache_bytes: usize,
}

impl Automaton {
    /// Builds the automaton within the time that `pace` allows. Running out of time gives the same error as
    /// exceeding the size limit.
    pub(super) fn new(
        graph: &Graph,
        edits: usize,
        size: &mut AutomatonSize,
        pace: &Pace,
    ) -> Result<Self, TooLarge> {
        let states = graph.nodes.len() * (edits + 1);
        let mut automaton = |word_looks| lazy(product(graph, edits, word_looks, size.left, pace)?, size);
        Ok(Self {
            work: states as u64,
            strict: automaton(true)?,
            loose: graph.has_word_looks.then(|| automaton(false)).transpose()?,
            is_careful: graph.has_word_looks || graph.has_raw_bytes,
        })
    }

    /// Returns true if every match that the automaton reports on `text` is real. Otherwise it may report
    /// false matches, but it never misses one.
    pub(super) fn is_exact(&self, text: &[u8]) -> bool {
        !self.is_careful || text.is_ascii()
    }

    /// The number of bytes that can be processed between two deadline checks.
    pub(super) fn quick_bytes(&self) -> usize {
        usize::try_from(limits::WORK_PER_LOOK / self.work.max(1)).unwrap_or(usize::MAX)
    }

    /// Finds the end of the match in `line[range]` that ends first. The offset may be off by about a byte;
    /// see [`Automaton::is_exact`]. Assertions see the whole line. Also returns `None` if the search had to
    /// end.
    pub(super) fn first_end(
        &self,
        cache: &mut AutomatonCache,
        line: &[u8],
        range: std::ops::Range<usize>,
        pace: &Pace,
    ) -> Option<usize> {
        let (dfa, cache) = match &self.loose {
            Some(loose) if !line.is_ascii() => {
                (loose, cache.loose.get_or_insert_with(|| loose.create_cache()))
            }
            _ => (&self.strict, cache.strict.get_or_insert_with(|| self.strict.create_cache())),
        };
        let start = range.start;
        match self.search(dfa, cache, line, range, pace) {
            Ok(found) => found,
            Err(SteppedEnd::Stopped) => None,
            // This automaton never gives up and has no bytes that it can't read. If it ever did, the caller
            // would have to verify the line.
            Err(SteppedEnd::Quit(_)) => Some(start),
        }
    }

    /// Finds the first match at or after `start`, across all lines. `start` must be the beginning of a line.
    /// Also returns `None` if the search had to end.
    pub(super) fn next_hit(
        &self,
        cache: &mut AutomatonCache,
        text: &[u8],
        start: usize,
        pace: &Pace,
    ) -> Option<FuzzyEvent> {
        let cache = cache.strict.get_or_insert_with(|| self.strict.create_cache());
        match self.search(&self.strict, cache, text, start..text.len(), pace) {
            // `end` may be the start of the next line. The byte before it is inside the matching line,
            // because a match has at least one character and no line feed.
            Ok(found) => found.map(|end| match self.is_careful {
                true => FuzzyEvent::Unknown(end.saturating_sub(1)),
                false => FuzzyEvent::Match(end.saturating_sub(1)),
            }),
            Err(SteppedEnd::Stopped) => None,
            Err(SteppedEnd::Quit(at)) => Some(FuzzyEvent::Unknown(at)),
        }
    }

    fn search(
        &self,
        dfa: &DFA,
        cache: &mut Cache,
        text: &[u8],
        range: std::ops::Range<usize>,
        pace: &Pace,
    ) -> Result<Option<usize>, SteppedEnd> {
        if range.len() > self.quick_bytes() {
            let steps = LazySearch { haystack: text, range, earliest: true, work: self.work, pace };
            return steps.forwards(dfa, cache);
        }
        if !pace.allows(range.len() as u64) {
            return Err(SteppedEnd::Stopped);
        }
        let start = range.start;
        let input = Input::new(text).range(range).anchored(Anchored::No).earliest(true);
        match dfa.try_search_fwd(cache, &input) {
            Ok(found) => Ok(found.map(|found| found.offset())),
            Err(error) => Err(SteppedEnd::Quit(quit_offset(&error).unwrap_or(start))),
        }
    }
}

fn quit_offset(error: &regex_automata::MatchError) -> Option<usize> {
    match *error.kind() {
        regex_automata::MatchErrorKind::Quit { offset, .. } => Some(offset),
        _ => None,
    }
}

fn lazy(nfa: NFA, size: &mut AutomatonSize) -> Result<DFA, TooLarge> {
    size.left = size.left.saturating_sub(nfa.memory_usage() as u64);
    let config = DFA::config()
        .cache_capacity(size.cache_bytes)
        // The size of the product already ruled out patterns that are too large for the cache.
        .skip_cache_capacity_check(true)
        // With word boundaries, the automaton then gives up at a byte that is not ASCII.
        .unicode_word_boundary(true);
    DFA::builder().configure(config).build_from_nfa(nfa).map_err(|_| TooLarge)
}

impl From<BuildError> for TooLarge {
    /// The input of the builder is valid, so only a size limit can make it fail.
    fn from(_: BuildError) -> Self {
        Self
    }
}

/// Builds the product of the graph and the layers as an automaton over bytes, of up to `max` bytes.
fn product(graph: &Graph, edits: usize, word_looks: bool, max: u64, pace: &Pace) -> Result<NFA, TooLarge> {
    let mut builder = Builder::new();
    builder.set_utf8(false);
    let max = usize::try_from(max).unwrap_or(usize::MAX).min(limits::COMPILED_PATTERN_BYTES);
    builder.set_size_limit(Some(max))?;
    builder.start_pattern()?;
    let mut states = Vec::with_capacity(graph.nodes.len() * (edits + 1));
    for _ in 0..graph.nodes.len() * (edits + 1) {
        states.push(builder.add_union(Vec::new())?);
    }
    let state = |node: usize, layer: usize| states[node * (edits + 1) + layer];
    let end = builder.add_match()?;
    let mut text = TextStates { builder, any: HashMap::new(), tries: HashMap::new() };
    for (node, what) in graph.nodes.iter().enumerate() {
        for layer in 0..=edits {
            if !pace.allows(1) {
                return Err(TooLarge);
            }
            let from = state(node, layer);
            // An insertion at the end would only make a match longer, and we report the first end.
            if layer < edits && !matches!(what, GraphNode::Split(_) | GraphNode::Match) {
                let inserted = text.any(state(node, layer + 1))?;
                text.builder.patch(from, inserted)?;
            }
            match what {
                GraphNode::Match => text.builder.patch(from, end)?,
                GraphNode::Split(nodes) => {
                    for &next in nodes {
                        text.builder.patch(from, state(next, layer))?;
                    }
                }
                GraphNode::Look(look, next) if word_looks || !is_word_look(*look) => {
                    let held = text.builder.add_look(state(*next, layer), *look)?;
                    text.builder.patch(from, held)?;
                }
                GraphNode::Look(_, next) => text.builder.patch(from, state(*next, layer))?,
                GraphNode::Class(class, next) => {
                    // The states of a trie lead to its `next`, so they are of no use for another one.
                    text.tries.clear();
                    for matched in text.class(class, state(*next, layer))? {
                        text.builder.patch(from, matched)?;
                    }
                    if layer < edits {
                        let substituted = text.any(state(*next, layer + 1))?;
                        text.builder.patch(from, substituted)?;
                        text.builder.patch(from, state(*next, layer + 1))?;
                    }
                }
            }
        }
    }
    let start = state(graph.start, 0);
    let mut builder = text.builder;
    builder.finish_pattern(start)?;
    let anywhere = builder.add_union(Vec::new())?;
    let skip = builder.add_range(Transition { start: 0, end: u8::MAX, next: anywhere })?;
    builder.patch(anywhere, start)?;
    builder.patch(anywhere, skip)?;
    Ok(builder.build(start, anywhere)?)
}

/// Builds the states between a node and the next one.
struct TextStates {
    builder: Builder,
    /// States that match any character, keyed by the state that follows.
    any: HashMap<StateID, StateID>,
    /// Parts of tries, keyed by their transitions, so that common suffixes of sequences are stored once.
    tries: HashMap<Vec<(u8, u8, StateID)>, StateID>,
}

impl TextStates {
    /// Matches any one character except a line feed, which no edit may touch, followed by `next`.
    fn any(&mut self, next: StateID) -> Result<StateID, TooLarge> {
        if let Some(&known) = self.any.get(&next) {
            return Ok(known);
        }
        let all = [(0, 0x09), (0x0b, GraphSymbol::from(u32::from(char::MAX)))];
        self.tries.clear();
        let characters = self.characters(&all, next)?;
        let byte = self.builder.add_range(Transition { start: 0x80, end: 0xff, next })?;
        let any = self.builder.add_union(vec![characters, byte])?;
        self.any.insert(next, any);
        Ok(any)
    }

    /// Matches one character of a class, followed by `next`. Returns the states to begin with.
    fn class(&mut self, class: &SymbolClass, next: StateID) -> Result<Vec<StateID>, TooLarge> {
        let raw = class.ranges.partition_point(|&(start, _)| start < RAW);
        let (characters, raw) = class.ranges.split_at(raw);
        let mut starts = Vec::new();
        if !characters.is_empty() {
            starts.push(self.characters(characters, next)?);
        }
        for &(start, end) in raw {
            let byte = |symbol: GraphSymbol| u8::try_from(symbol - RAW).unwrap_or(u8::MAX);
            starts.push(self.builder.add_range(Transition { start: byte(start), end: byte(end), next })?);
        }
        Ok(starts)
    }

    fn characters(
        &mut self,
        ranges: &[(GraphSymbol, GraphSymbol)],
        next: StateID,
    ) -> Result<StateID, TooLarge> {
        let sequences: Vec<_> = ranges
            .iter()
            .filter_map(|&(start, end)| char::from_u32(start).zip(char::from_u32(end)))
            .flat_map(|(start, end)| Utf8Sequences::new(start, end))
            .collect();
        let sequences: Vec<_> = sequences.iter().map(|sequence| sequence.as_slice()).collect();
        self.trie(&sequences, next)
    }

    /// Builds the trie of ascending sequences. Sequences that begin with the same range are adjacent, and
    /// different ranges at one position are disjoint.
    fn trie(&mut self, sequences: &[&[Utf8Range]], next: StateID) -> Result<StateID, TooLarge> {
        let mut transitions = Vec::new();
        for group in sequences.chunk_by(|left, right| left.first() == right.first()) {
            let Some((first, _)) = group[0].split_first() else { continue };
            let rests: Vec<_> = group.iter().map(|sequence| &sequence[1..]).collect();
            let target = if rests[0].is_empty() { next } else { self.trie(&rests, next)? };
            transitions.push((first.start, first.end, target));
        }
        if let Some(&known) = self.tries.get(&transitions) {
            return Ok(known);
        }
        let sparse = transitions.iter().map(|&(start, end, next)| Transition { start, end, next }).collect();
        let state = self.builder.add_sparse(sparse)?;
        self.tries.insert(transitions, state);
        Ok(state)
    }
}

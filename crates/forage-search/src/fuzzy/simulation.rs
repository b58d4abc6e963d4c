//! Simulates the graph with its layers of edits over one line, character by character.
//!
//! This is slower than the automaton, but it tracks the start of each match, and it reads characters instead
//! of bytes. Its result is exact on every text.

use std::ops::Range;

use forage_base::Pace;
use regex_automata::util::look::LookMatcher;

use super::graph::{Graph, GraphNode, NodeId, decode};
use crate::limits;

/// Marks a state as inactive.
const NONE: usize = usize::MAX;

/// Per-thread state reused across searches.
#[derive(Debug)]
pub(super) struct FuzzySimulation {
    here: SimulationFrontier,
    next: SimulationFrontier,
    looks: LookMatcher,
}

/// Selects one of several possible matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WantedMatch {
    /// The match that ends first, whatever its start.
    Any,
    /// The match that starts first, or the longest of several with that start.
    Leftmost,
}

/// The parameters of one search.
#[derive(Clone, Debug)]
pub(super) struct SimulationSearch<'a> {
    pub(super) graph: &'a Graph,
    /// The whole line, which is visible to assertions.
    pub(super) line: &'a [u8],
    /// The part of the line that contains the match, on character boundaries.
    pub(super) range: Range<usize>,
    pub(super) edits: usize,
    pub(super) wanted: WantedMatch,
    /// Ends the search without a match when time runs out.
    pub(super) pace: &'a Pace,
}

/// The active states at one position of the line, each with the smallest start of a match that leads to it.
#[derive(Debug, Default)]
struct SimulationFrontier {
    /// Indexed by node and, within it, by layer.
    starts: Vec<usize>,
    active: Vec<usize>,
    stack: Vec<(NodeId, usize, usize)>,
    /// The smallest start of a match that ends here.
    matched: usize,
}

impl FuzzySimulation {
    pub(super) fn new() -> Self {
        Self {
            here: SimulationFrontier::default(),
            next: SimulationFrontier::default(),
            looks: LookMatcher::new(),
        }
    }

    /// Finds the wanted match. Each visited state takes one of `steps`. If they run out, this returns the
    /// best match so far.
    pub(super) fn search(&mut self, search: &SimulationSearch<'_>, steps: &mut u64) -> Option<Range<usize>> {
        let SimulationSearch { graph, line, ref range, edits, wanted, pace } = *search;
        let states = graph.nodes.len() * (edits + 1);
        self.here.reset(states);
        self.next.reset(states);
        let mut best: Option<Range<usize>> = None;
        let mut at = range.start;
        loop {
            let place = StateEntry { graph, line, at, edits, looks: &self.looks };
            if best.is_none() {
                self.here.add(&place, graph.start, 0, at);
            }
            let start = self.here.matched;
            if start < at && best.as_ref().is_none_or(|best| start <= best.start) {
                best = Some(start..at);
                if wanted == WantedMatch::Any {
                    return best;
                }
            }
            if at >= range.end || self.here.active.is_empty() {
                return best;
            }
            let visited = self.here.active.len() as u64;
            let Some(left) = steps.checked_sub(visited) else { return best };
            *steps = left;
            if !pace.allows(visited.saturating_mul(limits::FUZZY_STEP_WORK)) {
                return None;
            }
            let (symbol, length) = decode(line, at);
            at += length;
            let place = StateEntry { graph, line, at, edits, looks: &self.looks };
            let latest = best.as_ref().map_or(NONE - 1, |best| best.start);
            for &state in &self.here.active {
                let start = self.here.starts[state];
                // A match that starts after the best one so far can't be better.
                if start > latest {
                    continue;
                }
                let (node, layer) = (state / (edits + 1), state % (edits + 1));
                if let GraphNode::Class(class, following) = &graph.nodes[node] {
                    if class.contains(symbol) {
                        self.next.add(&place, *following, layer, start);
                    } else if layer < edits {
                        self.next.add(&place, *following, layer + 1, start);
                    }
                }
                if layer < edits {
                    self.next.add(&place, node, layer + 1, start);
                }
            }
            self.here.clear();
            std::mem::swap(&mut self.here, &mut self.next);
        }
    }
}

/// The position at which a state becomes active.
struct StateEntry<'a> {
    graph: &'a Graph,
    line: &'a [u8],
    at: usize,
    edits: usize,
    looks: &'a LookMatcher,
}

impl SimulationFrontier {
    fn reset(&mut self, states: usize) {
        self.clear();
        if self.starts.len() < states {
            self.starts.resize(states, NONE);
        }
    }

    fn clear(&mut self) {
        for &state in &self.active {
            self.starts[state] = NONE;
        }
        self.active.clear();
        self.matched = NONE;
    }

    /// Activates a node in a layer, and all nodes reachable from it without consuming a character.
    fn add(&mut self, place: &StateEntry<'_>, node: NodeId, layer: usize, start: usize) {
        self.stack.push((node, layer, start));
        while let Some((node, layer, start)) = self.stack.pop() {
            let first = node * (place.edits + 1);
            // A state with fewer edits and the same or a smaller start reaches everything that this one does.
            if self.starts[first..=first + layer].iter().any(|&known| known <= start) {
                continue;
            }
            let state = first + layer;
            if self.starts[state] == NONE {
                self.active.push(state);
            }
            self.starts[state] = start;
            match &place.graph.nodes[node] {
                GraphNode::Match => self.matched = self.matched.min(start),
                GraphNode::Split(nodes) => {
                    self.stack.extend(nodes.iter().map(|&next| (next, layer, start)));
                }
                GraphNode::Look(look, next) => {
                    if place.looks.matches(*look, place.line, place.at) {
                        self.stack.push((*next, layer, start));
                    }
                }
                GraphNode::Class(_, next) => {
                    if layer < place.edits {
                        self.stack.push((*next, layer + 1, start));
                    }
                }
            }
        }
    }
}

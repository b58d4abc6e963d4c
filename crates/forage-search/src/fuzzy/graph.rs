//! The pattern as a graph of possible next characters, without edits.
//!
//! Edits are not part of the graph. Its two users, the automaton and the span search, add them as layers.

use regex_automata::util::look::Look as TextLook;
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

pub(super) type NodeId = usize;

/// One character of text: a Unicode scalar value, or [`RAW`] plus a byte that is not part of valid UTF-8.
pub(super) type GraphSymbol = u32;

/// The first symbol of a single byte, directly after the last scalar value.
pub(super) const RAW: GraphSymbol = char::MAX as u32 + 1;

#[derive(Debug)]
pub(super) enum GraphNode {
    /// Matches one character of a class, then goes to the next node.
    Class(SymbolClass, NodeId),
    /// Tests an assertion, then goes to the next node.
    Look(TextLook, NodeId),
    /// Continues at one of several nodes.
    Split(Vec<NodeId>),
    /// The end of a match.
    Match,
}

/// A set of characters, which never includes the line feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SymbolClass {
    /// A bitmap of the ASCII members.
    ascii: u128,
    /// All members as ascending, inclusive ranges.
    pub(super) ranges: Vec<(GraphSymbol, GraphSymbol)>,
}

impl SymbolClass {
    fn new(ranges: impl Iterator<Item = (GraphSymbol, GraphSymbol)>) -> Self {
        const FEED: GraphSymbol = b'\n' as GraphSymbol;
        let around_feed = |(start, end): (GraphSymbol, GraphSymbol)| match (start..=end).contains(&FEED) {
            true => [(start, FEED - 1), (FEED + 1, end)],
            // The second range is empty, and the filter below removes it.
            false => [(start, end), (1, 0)],
        };
        let ranges: Vec<_> = ranges.flat_map(around_feed).filter(|(start, end)| start <= end).collect();
        let ascii =
            (0..128).filter(|&symbol| ranges.iter().any(|&(start, end)| start <= symbol && symbol <= end));
        Self { ascii: ascii.fold(0, |bits, symbol| bits | 1 << symbol), ranges }
    }

    #[inline]
    pub(super) fn contains(&self, symbol: GraphSymbol) -> bool {
        if symbol < 128 {
            return self.ascii >> symbol & 1 == 1;
        }
        let after = self.ranges.partition_point(|&(start, _)| start <= symbol);
        after > 0 && symbol <= self.ranges[after - 1].1
    }

    fn is_raw(&self) -> bool {
        self.ranges.last().is_some_and(|&(_, end)| end >= RAW)
    }
}

/// Decodes the character at `at`, which must be within `text` and on a character boundary. Returns it with
/// its length in bytes.
#[inline]
pub(super) fn decode(text: &[u8], at: usize) -> (GraphSymbol, usize) {
    let first = text[at];
    let length = match first {
        ..0x80 => return (GraphSymbol::from(first), 1),
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return (RAW + GraphSymbol::from(first), 1),
    };
    let character =
        text.get(at..at + length).and_then(|bytes| std::str::from_utf8(bytes).ok()?.chars().next());
    character.map_or((RAW + GraphSymbol::from(first), 1), |character| (character.into(), length))
}

/// Finds the last character boundary at or before `at`.
pub(super) fn border_before(text: &[u8], at: usize) -> usize {
    let is_inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    // Three bytes that can't begin a character are never followed by another byte of the same character.
    (at.saturating_sub(3)..=at)
        .rev()
        .find(|&start| !is_inside(start))
        .filter(|&start| start < at && start + decode(text, start).1 > at)
        .unwrap_or(at)
}

/// A pattern as a graph.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<GraphNode>,
    pub(super) start: NodeId,
    /// Characters of the shortest string that the pattern matches.
    pub(super) shortest: usize,
    /// Characters of the longest string that the pattern matches, if there is a limit.
    pub(super) longest: Option<usize>,
    /// True if some assertion tests for word characters.
    pub(super) has_word_looks: bool,
    /// True if some class contains bytes that are not part of valid UTF-8.
    pub(super) has_raw_bytes: bool,
    /// True if some assertion treats a carriage return as part of the line end.
    pub(super) has_return_looks: bool,
}

impl Graph {
    /// Estimates an upper bound for the size in bytes of one layer of an automaton.
    pub(super) fn layer_bytes(&self) -> u64 {
        // Any character takes some ten states, and a range of a class about one.
        const NODE_BYTES: u64 = 700;
        const RANGE_BYTES: u64 = 40;
        let ranges = |node: &GraphNode| match node {
            GraphNode::Class(class, _) => class.ranges.len() as u64,
            GraphNode::Look(..) | GraphNode::Split(_) | GraphNode::Match => 0,
        };
        self.nodes.iter().map(|node| NODE_BYTES + RANGE_BYTES * ranges(node)).sum()
    }
}

/// The graph would exceed its maximum number of nodes.
#[derive(Debug)]
pub(super) struct TooLarge;

impl Graph {
    /// Builds the graph of `hir` with at most `limit` nodes.
    pub(super) fn new(hir: &Hir, limit: usize) -> Result<Self, TooLarge> {
        let mut builder = GraphBuilder { nodes: vec![GraphNode::Match], limit };
        let start = builder.add_hir(hir, 0)?;
        let nodes = builder.nodes;
        let (shortest, longest) = lengths(hir);
        let has_look = |test: fn(TextLook) -> bool| {
            nodes.iter().any(|node| matches!(node, GraphNode::Look(look, _) if test(*look)))
        };
        Ok(Self {
            start,
            shortest,
            longest,
            has_word_looks: has_look(is_word_look),
            has_return_looks: has_look(|look| matches!(look, TextLook::StartCRLF | TextLook::EndCRLF)),
            has_raw_bytes: nodes
                .iter()
                .any(|node| matches!(node, GraphNode::Class(class, _) if class.is_raw())),
            nodes,
        })
    }
}

/// Recognizes assertions that test for word characters.
pub(super) fn is_word_look(look: TextLook) -> bool {
    !matches!(
        look,
        TextLook::Start
            | TextLook::End
            | TextLook::StartLF
            | TextLook::EndLF
            | TextLook::StartCRLF
            | TextLook::EndCRLF
    )
}

/// Computes the lengths of the shortest and the longest string that a node matches, in characters. A node
/// that can't match counts as one character, because an edit can delete it.
fn lengths(hir: &Hir) -> (usize, Option<usize>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (0, Some(0)),
        HirKind::Literal(literal) => {
            let characters = symbols(&literal.0).len();
            (characters, Some(characters))
        }
        HirKind::Class(_) => (1, Some(1)),
        HirKind::Capture(capture) => lengths(&capture.sub),
        HirKind::Concat(parts) => {
            parts.iter().map(lengths).fold((0, Some(0)), |(shortest, longest), part| {
                let longest = longest.zip(part.1).map(|(left, right)| left.saturating_add(right));
                (shortest.saturating_add(part.0), longest)
            })
        }
        HirKind::Alternation(branches) => {
            branches.iter().map(lengths).fold((usize::MAX, Some(0)), |(shortest, longest), branch| {
                (shortest.min(branch.0), longest.zip(branch.1).map(|(left, right)| left.max(right)))
            })
        }
        HirKind::Repetition(repetition) => {
            let (shortest, longest) = lengths(&repetition.sub);
            let longest = repetition.max.zip(longest).map(|(max, one)| one.saturating_mul(max as usize));
            (shortest.saturating_mul(repetition.min as usize), longest)
        }
    }
}

fn symbols(mut bytes: &[u8]) -> Vec<GraphSymbol> {
    let mut symbols = Vec::new();
    while !bytes.is_empty() {
        let (symbol, length) = decode(bytes, 0);
        symbols.push(symbol);
        bytes = &bytes[length..];
    }
    symbols
}

struct GraphBuilder {
    nodes: Vec<GraphNode>,
    limit: usize,
}

impl GraphBuilder {
    fn add(&mut self, node: GraphNode) -> Result<NodeId, TooLarge> {
        if self.nodes.len() >= self.limit {
            return Err(TooLarge);
        }
        self.nodes.push(node);
        Ok(self.nodes.len() - 1)
    }

    /// Adds the nodes for `hir` before `next` and returns the first of them.
    fn add_hir(&mut self, hir: &Hir, next: NodeId) -> Result<NodeId, TooLarge> {
        match hir.kind() {
            HirKind::Empty => Ok(next),
            HirKind::Look(look) => self.add(GraphNode::Look(text_look(*look), next)),
            HirKind::Literal(literal) => {
                symbols(&literal.0).into_iter().rev().try_fold(next, |next, symbol| {
                    self.add(GraphNode::Class(SymbolClass::new([(symbol, symbol)].into_iter()), next))
                })
            }
            HirKind::Class(Class::Unicode(class)) => {
                let ranges = class.iter().map(|range| (range.start().into(), range.end().into()));
                self.add(GraphNode::Class(SymbolClass::new(ranges), next))
            }
            HirKind::Class(Class::Bytes(class)) => {
                let bytes = class.iter().flat_map(|range| range.start()..=range.end());
                let symbols = bytes.map(|byte| GraphSymbol::from(byte) + if byte < 0x80 { 0 } else { RAW });
                let class = SymbolClass::new(symbols.map(|symbol| (symbol, symbol)));
                self.add(GraphNode::Class(class, next))
            }
            HirKind::Capture(capture) => self.add_hir(&capture.sub, next),
            HirKind::Concat(parts) => {
                parts.iter().rev().try_fold(next, |next, part| self.add_hir(part, next))
            }
            HirKind::Alternation(branches) => {
                let starts: Result<_, _> = branches.iter().map(|branch| self.add_hir(branch, next)).collect();
                self.add(GraphNode::Split(starts?))
            }
            HirKind::Repetition(repetition) => self.add_repetition(repetition, next),
        }
    }

    fn add_repetition(&mut self, repetition: &Repetition, next: NodeId) -> Result<NodeId, TooLarge> {
        // We count copies even if they add no nodes, so that a huge repetition count can't keep us busy.
        if repetition.max.unwrap_or(repetition.min) as usize > self.limit {
            return Err(TooLarge);
        }
        let mut start = next;
        match repetition.max {
            None => {
                // The body must lead back to this node, so we add it first and complete it afterwards.
                start = self.add(GraphNode::Split(vec![next]))?;
                let body = self.add_hir(&repetition.sub, start)?;
                self.nodes[start] = GraphNode::Split(vec![body, next]);
            }
            Some(max) => {
                for _ in repetition.min..max {
                    let body = self.add_hir(&repetition.sub, start)?;
                    start = self.add(GraphNode::Split(vec![body, next]))?;
                }
            }
        }
        for _ in 0..repetition.min {
            start = self.add_hir(&repetition.sub, start)?;
        }
        Ok(start)
    }
}

/// Converts an assertion for the simulation and the automaton. The start and end of the text become those of
/// a line, because each line is a haystack of its own.
fn text_look(look: Look) -> TextLook {
    match look {
        Look::Start | Look::StartLF => TextLook::StartLF,
        Look::End | Look::EndLF => TextLook::EndLF,
        Look::StartCRLF => TextLook::StartCRLF,
        Look::EndCRLF => TextLook::EndCRLF,
        Look::WordAscii => TextLook::WordAscii,
        Look::WordAsciiNegate => TextLook::WordAsciiNegate,
        Look::WordUnicode => TextLook::WordUnicode,
        Look::WordUnicodeNegate => TextLook::WordUnicodeNegate,
        Look::WordStartAscii => TextLook::WordStartAscii,
        Look::WordEndAscii => TextLook::WordEndAscii,
        Look::WordStartUnicode => TextLook::WordStartUnicode,
        Look::WordEndUnicode => TextLook::WordEndUnicode,
        Look::WordStartHalfAscii => TextLook::WordStartHalfAscii,
        Look::WordEndHalfAscii => TextLook::WordEndHalfAscii,
        Look::WordStartHalfUnicode => TextLook::WordStartHalfUnicode,
        Look::WordEndHalfUnicode => TextLook::WordEndHalfUnicode,
    }
}

//! Literal pieces of which every match within `k` edits holds one unharmed.
//!
//! An edit harms at most one of several pieces that lie side by side in the pattern: an insertion between two harms
//! none, one inside a piece this piece alone. So of `k + 1` pieces one at least stands in the text as it is
//! (the pigeonhole principle; Wu and Manber, «Fast text searching allowing errors», 1992). Assertions between the
//! letters take no part: they hold no text.

use regex_syntax::hir::{Hir, HirKind};

use crate::prefilter::{Literal, MAX_LITERALS, exact_strings, product, remove_implied};

/// Candidates per byte of text above which the automaton alone is faster. A candidate costs the automaton's way
/// over half a line and its start; in that time it reads some sixty bytes without stopping.
const MAX_CANDIDATE_RATE: f64 = 1.0 / 64.0;
/// Shortest string of a piece, in bytes.
const MIN_BYTES: usize = 2;
/// Most places of the pattern that one piece takes: longer pieces are hardly rarer.
const MAX_PLACES: usize = 12;
/// Copies of a repeated part that are looked at.
const MAX_COPIES: u32 = 8;

/// Strings of which every match of `hir` within `edits` edits contains one, chosen so that few are expected in
/// source code; `None` if there are none.
pub(super) fn pieces(hir: &Hir, edits: usize) -> Option<PatternPieces> {
    let PieceChoice { cost, mut literals } = choices(hir, edits + 1).pop().flatten()?;
    remove_implied(&mut literals);
    (literals.len() <= MAX_LITERALS).then_some(PatternPieces { literals, rate: cost })
}

/// See [`pieces()`].
#[derive(Debug)]
pub(super) struct PatternPieces {
    pub(super) literals: Vec<Literal>,
    /// Estimated occurrences per byte of text.
    rate: f64,
}

impl PatternPieces {
    /// Whether to look for them takes less time than to run the automaton over all of the text.
    pub(super) fn are_selective(&self) -> bool {
        self.rate < MAX_CANDIDATE_RATE
    }
}

/// Some number of pieces.
#[derive(Clone, Debug)]
struct PieceChoice {
    /// Estimated candidates per byte of text.
    cost: f64,
    literals: Vec<Literal>,
}

impl PieceChoice {
    fn nothing() -> PieceChoice {
        PieceChoice { cost: 0.0, literals: Vec::new() }
    }

    fn and(&self, other: &PieceChoice) -> PieceChoice {
        let literals = [self.literals.as_slice(), &other.literals].concat();
        PieceChoice { cost: self.cost + other.cost, literals }
    }
}

/// The best choices of no piece, one piece, and so on.
type Choices = Vec<Option<PieceChoice>>;

/// One place in the pattern.
#[derive(Debug)]
struct PatternPlace {
    /// All strings that may stand there, to be joined with those of its neighbours.
    strings: Option<Vec<Literal>>,
    /// The pieces within it.
    inner: Choices,
}

impl PatternPlace {
    fn anything() -> PatternPlace {
        PatternPlace { strings: None, inner: Vec::new() }
    }
}

/// The best choices of up to `most` pieces from `hir`.
fn choices(hir: &Hir, most: usize) -> Choices {
    let mut places = Vec::new();
    add_places(hir, most, &mut places);
    let mut best: Vec<Choices> = Vec::with_capacity(places.len() + 1);
    best.push((0..=most).map(|count| (count == 0).then(PieceChoice::nothing)).collect());
    for end in 1..=places.len() {
        // Without the last place, with the pieces in it, or with a piece that ends there.
        let mut here = best[end - 1].clone();
        for (inside, choice) in places[end - 1].inner.iter().enumerate() {
            offer(&mut here, &best[end - 1], choice.as_ref(), inside);
        }
        let mut joined: Option<Vec<Literal>> = None;
        for start in (end.saturating_sub(MAX_PLACES)..end).rev() {
            joined = match (&places[start].strings, &joined) {
                (Some(head), Some(tail)) => product(head, tail),
                (Some(all), None) => Some(all.clone()),
                (None, _) => None,
            };
            let Some(strings) = &joined else { break };
            offer(&mut here, &best[start], piece(strings).as_ref(), 1);
        }
        best.push(here);
    }
    best.pop().unwrap_or_default()
}

/// Improves on `here` by adding a choice of `count` pieces to what was best before them.
fn offer(here: &mut Choices, before: &Choices, choice: Option<&PieceChoice>, count: usize) {
    let Some(choice) = choice.filter(|_| count > 0) else { return };
    for (slot, before) in here.iter_mut().skip(count).zip(before) {
        let Some(before) = before else { continue };
        let cost = before.cost + choice.cost;
        if slot.as_ref().is_none_or(|known| cost < known.cost) {
            *slot = Some(before.and(choice));
        }
    }
}

fn piece(strings: &[Literal]) -> Option<PieceChoice> {
    if strings.is_empty() || strings.iter().any(|string| string.bytes.len() < MIN_BYTES) {
        return None;
    }
    Some(PieceChoice { cost: strings.iter().map(Literal::rate).sum(), literals: strings.to_vec() })
}

fn add_places(hir: &Hir, most: usize, places: &mut Vec<PatternPlace>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => {
            let text = |bytes: &[u8]| Literal::new(bytes.to_vec(), false);
            for chunk in literal.0.utf8_chunks() {
                let characters = chunk.valid().chars().map(|c| text(c.to_string().as_bytes()));
                let bytes = chunk.invalid().iter().map(|&byte| text(&[byte]));
                let all = characters.chain(bytes);
                places.extend(all.map(|one| PatternPlace { strings: Some(vec![one]), inner: Vec::new() }));
            }
        }
        HirKind::Class(_) => places.push(PatternPlace { strings: exact_strings(hir), inner: Vec::new() }),
        HirKind::Capture(capture) => add_places(&capture.sub, most, places),
        HirKind::Concat(parts) => parts.iter().for_each(|part| add_places(part, most, places)),
        HirKind::Alternation(branches) => {
            let branches: Vec<Choices> = branches.iter().map(|branch| choices(branch, most)).collect();
            let all = |count: usize| {
                branches.iter().try_fold(PieceChoice::nothing(), |sum, branch| {
                    let sum = sum.and(branch.get(count)?.as_ref()?);
                    (sum.literals.len() <= MAX_LITERALS).then_some(sum)
                })
            };
            places.push(PatternPlace { strings: exact_strings(hir), inner: (0..=most).map(all).collect() });
        }
        HirKind::Repetition(repetition) if repetition.min == 0 => {
            places.push(PatternPlace { strings: exact_strings(hir), inner: Vec::new() });
        }
        HirKind::Repetition(repetition) => {
            let copies = repetition.min.min(MAX_COPIES);
            (0..copies).for_each(|_| add_places(&repetition.sub, most, places));
            // More copies may follow, of which nothing is known.
            if repetition.max != Some(copies) {
                places.push(PatternPlace::anything());
            }
        }
    }
}

//! Pigeonhole literals: every match within `k` edits contains at least one of them verbatim.
//!
//! An edit changes at most one of several adjacent pieces of the pattern. An insertion between two pieces
//! changes neither, and one inside a piece changes only this piece. So at least one of `k + 1` pieces must
//! occur unchanged in the text. For example, every match of `retry_count` within one edit contains
//! `retry` or `_count` (Wu and Manber, «Fast text searching allowing errors», 1992). We ignore assertions
//! between the letters because they contain no text.

use regex_syntax::hir::{Hir, HirKind};

use crate::prefilter::{Literal, MAX_LITERALS, exact_strings, product, remove_implied};

/// Candidates per byte of text above which the automaton alone is faster. Each candidate costs a run of the
/// automaton over half a line plus its start-up. In that time the automaton could read about sixty bytes
/// without interruption.
const MAX_CANDIDATE_RATE: f64 = 1.0 / 64.0;
/// Minimum length of a piece's string, in bytes.
const MIN_BYTES: usize = 2;
/// Maximum number of pattern positions per piece; longer pieces are hardly rarer.
const MAX_PLACES: usize = 12;
/// Maximum number of copies of a repeated part to analyze.
const MAX_COPIES: u32 = 8;

/// Chooses strings that are rare in source code, such that every match of `hir` within `edits` edits contains
/// at least one of them. Returns `None` if there are no such strings.
pub(super) fn pieces(hir: &Hir, edits: usize) -> Option<PatternPieces> {
    let PieceChoice { cost, mut literals } = choices(hir, edits + 1).pop().flatten()?;
    remove_implied(&mut literals);
    (literals.len() <= MAX_LITERALS).then_some(PatternPieces { literals, rate: cost })
}

/// The result of [`pieces()`].
#[derive(Debug)]
pub(super) struct PatternPieces {
    pub(super) literals: Vec<Literal>,
    /// Estimated occurrences per byte of text.
    rate: f64,
}

impl PatternPieces {
    /// Returns true if searching for the pieces is faster than running the automaton over all of the text.
    pub(super) fn are_selective(&self) -> bool {
        self.rate < MAX_CANDIDATE_RATE
    }
}

/// A choice of pieces.
#[derive(Clone, Debug)]
struct PieceChoice {
    /// Estimated candidates per byte of text.
    cost: f64,
    literals: Vec<Literal>,
}

impl PieceChoice {
    fn empty() -> PieceChoice {
        PieceChoice { cost: 0.0, literals: Vec::new() }
    }

    fn and(&self, other: &PieceChoice) -> PieceChoice {
        let literals = [self.literals.as_slice(), &other.literals].concat();
        PieceChoice { cost: self.cost + other.cost, literals }
    }
}

/// The best choices of zero pieces, one piece, and so on.
type Choices = Vec<Option<PieceChoice>>;

/// One position of the pattern.
#[derive(Debug)]
struct PatternPlace {
    /// All strings that may occur here, to be joined with those of neighboring positions.
    strings: Option<Vec<Literal>>,
    /// The best pieces inside this position.
    inner: Choices,
}

impl PatternPlace {
    fn anything() -> PatternPlace {
        PatternPlace { strings: None, inner: Vec::new() }
    }
}

/// Finds the best choices of up to `max` pieces from `hir`.
fn choices(hir: &Hir, max: usize) -> Choices {
    let mut places = Vec::new();
    add_places(hir, max, &mut places);
    let mut best: Vec<Choices> = Vec::with_capacity(places.len() + 1);
    best.push((0..=max).map(|count| (count == 0).then(PieceChoice::empty)).collect());
    for end in 1..=places.len() {
        // We can leave out the last position, use the pieces inside it, or end a piece there.
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
            // A longer piece would contain this position too, so it can't have strings either.
            let Some(strings) = &joined else { break };
            offer(&mut here, &best[start], piece(strings).as_ref(), 1);
        }
        best.push(here);
    }
    best.pop().unwrap_or_default()
}

/// Improves `here` by adding a choice of `count` pieces to the best choices before it.
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

fn add_places(hir: &Hir, max: usize, places: &mut Vec<PatternPlace>) {
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
        HirKind::Capture(capture) => add_places(&capture.sub, max, places),
        HirKind::Concat(parts) => parts.iter().for_each(|part| add_places(part, max, places)),
        HirKind::Alternation(branches) => {
            let branches: Vec<Choices> = branches.iter().map(|branch| choices(branch, max)).collect();
            let all = |count: usize| {
                branches.iter().try_fold(PieceChoice::empty(), |sum, branch| {
                    let sum = sum.and(branch.get(count)?.as_ref()?);
                    (sum.literals.len() <= MAX_LITERALS).then_some(sum)
                })
            };
            places.push(PatternPlace { strings: exact_strings(hir), inner: (0..=max).map(all).collect() });
        }
        HirKind::Repetition(repetition) if repetition.min == 0 => {
            places.push(PatternPlace { strings: exact_strings(hir), inner: Vec::new() });
        }
        HirKind::Repetition(repetition) => {
            let copies = repetition.min.min(MAX_COPIES);
            (0..copies).for_each(|_| add_places(&repetition.sub, max, places));
            // More copies may follow, so we know nothing about this position.
            if repetition.max != Some(copies) {
                places.push(PatternPlace::anything());
            }
        }
    }
}

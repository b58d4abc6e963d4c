//! Which lines of ranked files help most within a budget.
//!
//! A file is cut into units: the lines that have the same innermost definition, with its comments. For each unit the chance
//! is estimated that a line of it is wanted, from where its file stands in the ranking, what its chunk has of the query and
//! how near it is to the chunks that have most. Units are taken by that chance until the budget is spent, or the odds are
//! a four-hundredth of the best one's. So a first file that is far ahead is shown nearly whole, and of ten that are
//! alike the best definitions of each.
//!
//! The weights are those of a logistic regression on what 251 fixes of 18 projects in 14 languages changed
//! (`bench/lines.py`). Of the lines that fixes of seven other projects are about it shows .81 in 8,000 tokens, and whole files
//! in the order of the ranking show .58.

use std::ops::{Range, RangeInclusive};

use crate::languages::DefinitionKind;
use crate::limits;
use crate::model_tokens::model_tokens;
use crate::outline::Definition;
use crate::search::{ChunkHit, FileHit};

/// A ranked file of which lines may be chosen.
#[derive(Clone, Copy, Debug)]
pub struct PassageFile<'a> {
    /// What was found of it, with all of its chunks.
    pub hit: &'a FileHit,
    /// Its text.
    pub text: &'a str,
    /// What it defines.
    pub definitions: &'a [Definition],
    /// Lines, from 1, that need not be chosen, because they are known.
    pub known: &'a [RangeInclusive<u32>],
}

/// What lines may be chosen for, their heads included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageBudget {
    /// As [`model_tokens`] counts them.
    pub tokens: usize,
    /// Bytes.
    pub bytes: usize,
}

impl PassageBudget {
    fn checked_sub(self, cost: Self) -> Option<Self> {
        let tokens = self.tokens.checked_sub(cost.tokens)?;
        Some(Self { tokens, bytes: self.bytes.checked_sub(cost.bytes)? })
    }
}

/// Returns the lines of each file, from 1, that help most within a budget, in order. `files` are the first of a ranking. Of a
/// line [`limits::PASSAGE_LINE_BYTES`] count at the most; a run of lines costs its file's path and
/// [`limits::PASSAGE_HEAD_TOKENS`] beside its lines.
#[must_use]
pub fn passages(files: &[PassageFile<'_>], budget: PassageBudget) -> Vec<Vec<RangeInclusive<u32>>> {
    let texts: Vec<PassageText<'_>> = files.iter().map(PassageText::of).collect();
    let mut units = units(files, &texts);
    units.sort_by(|left, right| {
        right
            .chance
            .total_cmp(&left.chance)
            .then_with(|| (left.file, left.first).cmp(&(right.file, right.first)))
    });
    let mut chosen: Vec<Vec<bool>> = texts.iter().map(|text| vec![false; text.lines.len()]).collect();
    let mut left = budget;
    // What has room in less is not worth looking for.
    let least = limits::PASSAGE_HEAD_TOKENS.max(budget.tokens / limits::PASSAGE_LEFT_PART);
    let least_log_odds = units.first().map_or(0.0, |best| best.chance - limits::PASSAGE_LOG_ODDS);
    for unit in units {
        if left.tokens < least || unit.chance < least_log_odds {
            break;
        }
        let (text, lines) = (&texts[unit.file], &mut chosen[unit.file]);
        let new = |at: &usize| !text.is_known[*at];
        let begins = |at: &usize| new(at) && (*at == unit.first || text.is_known[*at - 1]);
        let runs = (unit.first..=unit.last).filter(begins).count();
        // Of what is known, the blank lines around it may not be.
        if (unit.first..=unit.last).filter(new).all(|at| text.lines[at].trim().is_empty()) {
            continue;
        }
        let goes_on = new(&unit.first) && unit.first > 0 && lines[unit.first - 1]
            || new(&unit.last) && lines.get(unit.last + 1) == Some(&true);
        let heads = runs - usize::from(goes_on);
        let head = PassageBudget { tokens: text.head.tokens * heads, bytes: text.head.bytes * heads };
        // Most units have no room in what is left, which some of their lines tell.
        let mut lines_of_unit = (unit.first..=unit.last).filter(new);
        let rest = left.checked_sub(head);
        let rest =
            rest.and_then(|rest| lines_of_unit.try_fold(rest, |rest, at| rest.checked_sub(text.cost(at))));
        let Some(rest) = rest else { continue };
        left = rest;
        (unit.first..=unit.last).filter(new).for_each(|at| lines[at] = true);
    }
    texts.iter().zip(&chosen).map(|(text, chosen)| text.ranges(chosen)).collect()
}

/// The lines of a file.
struct PassageText<'a> {
    lines: Vec<&'a str>,
    is_known: Vec<bool>,
    /// What a run of lines costs beside these.
    head: PassageBudget,
}

impl<'a> PassageText<'a> {
    fn of(file: &PassageFile<'a>) -> Self {
        let lines: Vec<&str> = forage_fs::lines(file.text).collect();
        let mut is_known = vec![false; lines.len()];
        for range in file.known {
            let last = (*range.end() as usize).min(lines.len());
            is_known[(*range.start() as usize).saturating_sub(1).min(last)..last].fill(true);
        }
        let path = &file.hit.path;
        let head = PassageBudget {
            tokens: model_tokens(path) + limits::PASSAGE_HEAD_TOKENS,
            bytes: path.len() + limits::PASSAGE_HEAD_BYTES,
        };
        Self { lines, is_known, head }
    }

    fn cost(&self, at: usize) -> PassageBudget {
        let line = self.lines[at];
        let shown = &line[..line.floor_char_boundary(limits::PASSAGE_LINE_BYTES)];
        if shown.len() < line.len() {
            // Another part of it may be shown, with what is told of the line.
            let tokens = model_tokens(shown).max(shown.len() / 4) + limits::PASSAGE_CUT_TOKENS;
            return PassageBudget { tokens, bytes: shown.len() + limits::PASSAGE_CUT_BYTES };
        }
        PassageBudget { tokens: model_tokens(shown).max(1), bytes: shown.len() + 1 }
    }

    /// Runs of chosen lines, without blank lines at their ends.
    fn ranges(&self, chosen: &[bool]) -> Vec<RangeInclusive<u32>> {
        let is_blank = |at: usize| self.lines[at].trim().is_empty();
        let mut ranges = Vec::new();
        let mut at = 0;
        while at < chosen.len() {
            let end = at + chosen[at..].iter().take_while(|is_chosen| **is_chosen).count();
            if let (Some(first), Some(last)) =
                ((at..end).find(|at| !is_blank(*at)), (at..end).rfind(|at| !is_blank(*at)))
            {
                ranges.push(first as u32 + 1..=last as u32 + 1);
            }
            at = end.max(at + 1);
        }
        ranges
    }
}

/// Lines that are chosen together.
struct PassageUnit {
    file: usize,
    /// From 0.
    first: usize,
    last: usize,
    /// The logarithm of the odds that a line of it is wanted.
    chance: f32,
}

fn units(files: &[PassageFile<'_>], texts: &[PassageText<'_>]) -> Vec<PassageUnit> {
    let best = files.first().map_or(1.0, |file| file.hit.score.max(f32::MIN_POSITIVE));
    let chunks = files.iter().flat_map(|file| &file.hit.chunks);
    let most = chunks.map(|chunk| chunk.score).fold(f32::MIN_POSITIVE, f32::max);
    let mut units = Vec::new();
    for (nth, (file, text)) in files.iter().zip(texts).enumerate() {
        let owners = owners(file.definitions, &text.lines);
        let mut scores = vec![0.0; owners.len()];
        for chunk in &file.hit.chunks {
            let last = (chunk.end_line as usize).min(scores.len());
            scores[(chunk.start_line as usize).saturating_sub(1).min(last)..last].fill(chunk.score);
        }
        let hot = &file.hit.chunks[..file.hit.chunks.len().min(HOT_CHUNKS)];
        for unit in runs(&owners) {
            let (first, last) = (unit.start as u32 + 1, unit.end as u32);
            let distance = |chunk: &ChunkHit| {
                // One of the two is nothing, and for those that meet both are.
                first.saturating_sub(chunk.end_line).max(chunk.start_line.saturating_sub(last))
            };
            let kind = owners[unit.start].map(|at| file.definitions[at].kind);
            let evidence = UnitEvidence {
                file: file.hit.score / best,
                log_lines: (owners.len() as f32).ln(),
                chunk: scores[unit.clone()].iter().copied().fold(0.0, f32::max) / most,
                log_distance: (1.0 + hot.iter().map(distance).min().unwrap_or(FAR) as f32).ln(),
                is_function: f32::from(u8::from(kind == Some(DefinitionKind::Function))),
            };
            units.push(PassageUnit {
                file: nth,
                first: unit.start,
                last: unit.end - 1,
                chance: evidence.log_odds(),
            });
        }
    }
    units
}

/// Chunks of a file that have most of the query.
const HOT_CHUNKS: usize = 3;
/// Lines from such a chunk, where a file has none.
const FAR: u32 = 999;

/// What tells whether the lines of a unit are wanted.
struct UnitEvidence {
    /// The score of its file as a share of the first one's.
    file: f32,
    /// The logarithm of the lines of its file.
    log_lines: f32,
    /// The score of the best chunk that it meets as a share of the best of all.
    chunk: f32,
    /// The logarithm of one more than the lines from it to a hot chunk.
    log_distance: f32,
    is_function: f32,
}

impl UnitEvidence {
    /// Returns the logarithm of the odds that a line of the unit is wanted.
    fn log_odds(&self) -> f32 {
        -9.234 + 5.187 * self.file - 0.364 * self.log_lines + 4.992 * self.chunk - 0.151 * self.log_distance
            + 1.297 * self.is_function
    }
}

/// The innermost definition of each line; a blank line is that of the line before it.
fn owners(definitions: &[Definition], lines: &[&str]) -> Vec<Option<usize>> {
    let mut owners: Vec<Option<usize>> = Vec::with_capacity(lines.len());
    let mut coming = definitions.iter().enumerate().peekable();
    // Those around the line, the innermost last.
    let mut open: Vec<usize> = Vec::new();
    for (number, line) in (1..).zip(lines) {
        while let Some((at, _)) = coming.next_if(|(_, definition)| definition.start_line <= number) {
            open.push(at);
        }
        while open.pop_if(|at| definitions[*at].end_line < number).is_some() {}
        let before = owners.last().copied().flatten();
        owners.push(if line.trim().is_empty() { before } else { open.last().copied() });
    }
    owners
}

/// Runs of lines with the same definition, none longer than [`limits::PASSAGE_LINES`].
fn runs(own: &[Option<usize>]) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = 0;
    for end in 1..=own.len() {
        if end == own.len() || own[end] != own[start] || end - start == limits::PASSAGE_LINES {
            runs.push(start..end);
            start = end;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::outline;
    use forage_base::Stop;

    fn hit(path: &str, score: f32, chunks: &[(u32, u32, f32)]) -> FileHit {
        let chunk =
            |&(start_line, end_line, score): &(u32, u32, f32)| ChunkHit { start_line, end_line, score };
        let values = [0.0; crate::rules::RULES.len()];
        FileHit { index: 0, path: path.to_owned(), score, chunks: chunks.iter().map(chunk).collect(), values }
    }

    /// Three functions of four lines, a blank line behind each.
    fn text() -> String {
        ["a", "b", "c"].map(|name| format!("fn {name}() {{\n    one();\n    two();\n}}\n\n")).concat()
    }

    /// Tokens of one of them, with its head.
    fn one_function() -> usize {
        let tokens = text().lines().take(5).map(|line| model_tokens(line).max(1)).sum::<usize>();
        tokens + model_tokens("a.rs") + limits::PASSAGE_HEAD_TOKENS
    }

    fn chosen(
        files: &[(FileHit, String, Vec<RangeInclusive<u32>>)],
        tokens: usize,
    ) -> Vec<Vec<RangeInclusive<u32>>> {
        let definitions: Vec<Vec<Definition>> =
            files.iter().map(|(hit, text, _)| outline(&hit.path, text, &Stop::never()).definitions).collect();
        let files: Vec<PassageFile<'_>> = files
            .iter()
            .zip(&definitions)
            .map(|((hit, text, known), definitions)| PassageFile { hit, text, definitions, known })
            .collect();
        passages(&files, PassageBudget { tokens, bytes: usize::MAX })
    }

    #[test]
    fn the_best_definitions_come_first_and_all_is_shown_where_there_is_room() {
        let file = (hit("a.rs", 1.0, &[(6, 9, 0.9), (1, 4, 0.3)]), text(), Vec::new());
        let other = (hit("b.rs", 0.9, &[(1, 4, 0.3)]), text(), Vec::new());
        let one = one_function();
        let files = [file, other];
        assert_eq!(chosen(&files, one), [vec![6..=9], vec![]]);
        // The second run is beside the first, and needs no head of its own.
        assert_eq!(chosen(&files, one + one), [vec![1..=9], vec![]]);
        assert_eq!(chosen(&files, 1_000), [vec![1..=14], vec![1..=14]]);
        assert_eq!(chosen(&files, 0), [vec![], vec![]]);
        // There is room for what has next to no chance, and no sense in showing it.
        let far = (hit("b.rs", 0.3, &[(1, 4, 0.2)]), text(), Vec::new());
        let [first, _] = files;
        assert_eq!(chosen(&[first, far], 1_000), [vec![1..=14], vec![]]);
    }

    #[test]
    fn what_is_known_costs_nothing_and_is_not_chosen() {
        let file = (hit("a.rs", 1.0, &[(6, 9, 0.9), (1, 4, 0.3)]), text(), vec![5..=10]);
        let one = one_function();
        assert_eq!(chosen(std::slice::from_ref(&file), one), [vec![1..=4]]);
        // The blank line behind it is nothing to show.
        let shown = (file.0.clone(), file.1.clone(), vec![6..=9]);
        assert_eq!(chosen(&[shown], one), [vec![1..=4]]);
        assert_eq!(chosen(&[file], 1_000), [vec![1..=4, 11..=14]]);
    }

    proptest::proptest! {
        #[test]
        fn passages_of_any_text_are_in_order_and_within_the_budget(
            text in crate::chunk::any_text(),
            chunks in proptest::collection::vec((1..60_u32, 0..20_u32, 0.0..1.0_f32), 0..4),
            known in proptest::collection::vec((1..60_u32, 0..9_u32), 0..3),
            budget in 0..2_000_usize,
        ) {
            let chunks: Vec<_> = chunks.iter().map(|&(first, more, score)| (first, first + more, score)).collect();
            let known: Vec<_> = known.iter().map(|&(first, more)| first..=first + more).collect();
            let lines: Vec<&str> = text.lines().collect();
            let ranges = chosen(&[(hit("a.rs", 1.0, &chunks), text.clone(), known.clone())], budget).remove(0);
            let cost: usize = ranges.iter().map(|range| {
                let cost = range.clone().map(|at| model_tokens(lines[at as usize - 1]).max(1));
                cost.sum::<usize>() + model_tokens("a.rs") + limits::PASSAGE_HEAD_TOKENS
            }).sum();
            proptest::prop_assert!(ranges.iter().all(|range| *range.end() as usize <= lines.len()));
            proptest::prop_assert!(ranges.windows(2).all(|pair| pair[0].end() < pair[1].start()));
            proptest::prop_assert!(!ranges.iter().cloned().flatten().any(|at| known.iter().any(|known| known.contains(&at))));
            // A run that grows together from two has paid for two heads.
            proptest::prop_assert!(cost <= budget, "{cost} of {budget}");
        }
    }
}

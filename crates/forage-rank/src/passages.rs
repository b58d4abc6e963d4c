//! Chooses the lines of ranked files that help most within a budget.
//!
//! A file is split into units: the lines that share their innermost definition, with its comments. For each
//! unit we estimate the chance that a line of it is wanted. This depends on the score of its file, on the
//! words of the query in its lines and its name, and on its distance to the best chunks. Units are taken in
//! the order of this chance. We stop when further lines would lower the expected F1 of the answer too much
//! ([`limits::EARNED_SHARE`]), or when the budget is spent. So a first file that is far ahead is shown alone
//! and nearly whole. Of ten similar files, we show the best definitions of each.
//!
//! Tests among other code have no units unless the query asks for tests, and long comments are folded. If the
//! whole query is one name, its definition comes first.
//!
//! The weights are those of a logistic regression on the lines that 198 fixes changed, in 18 projects and 12
//! languages (`bench/lines.py`). We also tried a feature for units that call one of the best or are called by
//! one, but it adds nothing.

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

use crate::languages::DefinitionKind;
use crate::limits;
use crate::lines::QueryWords;
use crate::model_tokens::model_tokens;
use crate::outline::{Definition, FileOutline};
use crate::rules::SecondaryKind;
use crate::search::{ChunkHit, FileHit};

/// A ranked file whose lines may be chosen.
#[derive(Clone, Copy, Debug)]
pub struct PassageFile<'a> {
    /// The result of the search for this file, with all of its chunks.
    pub hit: &'a FileHit,
    /// Its text.
    pub text: &'a str,
    /// The definitions and comments of this file.
    pub outline: &'a FileOutline,
    /// Lines, 1-based, that must not be chosen because the reader already knows them.
    pub known: &'a [RangeInclusive<u32>],
}

/// The maximum cost of the chosen lines, including their heads.
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

/// A request to choose lines.
#[derive(Clone, Copy, Debug)]
pub struct PassageSearch<'a> {
    /// The first files of a ranking.
    pub files: &'a [PassageFile<'a>],
    /// The words of the query.
    pub words: &'a QueryWords,
    /// The maximum cost of the lines. At most [`limits::PASSAGE_LINE_BYTES`] of a line count. A run of lines
    /// also costs its file's path and [`limits::PASSAGE_HEAD_TOKENS`].
    pub budget: PassageBudget,
    /// True if the caller asked for this budget, so that less likely lines should be chosen as well.
    pub is_asked_for: bool,
}

/// The lines chosen from a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passages {
    /// Ranges of lines, 1-based and in order.
    pub ranges: Vec<RangeInclusive<u32>>,
    /// Indexes of definitions without a chosen or known line, most likely first. Tests that were left out
    /// aren't among them.
    pub unshown: Vec<usize>,
}

impl PassageSearch<'_> {
    /// Chooses the lines that help most, for each file.
    #[must_use]
    pub fn choose(&self) -> Vec<Passages> {
        let texts: Vec<PassageText<'_>> = self.files.iter().map(PassageText::from_file).collect();
        let mut units = self.units(&texts);
        units.sort_by(|left, right| {
            right
                .chance
                .total_cmp(&left.chance)
                .then_with(|| (left.file, left.first).cmp(&(right.file, right.first)))
        });
        let chosen = self.take(&units, &texts);
        let mut passages: Vec<Passages> = texts
            .iter()
            .zip(&chosen)
            .map(|(text, chosen)| Passages { ranges: text.ranges(chosen), unshown: Vec::new() })
            .collect();
        for unit in &units {
            let Some(at) = unit.definition else { continue };
            let (file, passages) = (&self.files[unit.file], &mut passages[unit.file]);
            let definition = &file.outline.definitions[at];
            let meets = |range: &RangeInclusive<u32>| {
                *range.start() <= definition.end_line && definition.start_line <= *range.end()
            };
            let is_shown = passages.ranges.iter().chain(file.known).any(meets);
            // The name of a package doesn't hint at further contents.
            let is_name =
                definition.kind == DefinitionKind::Module && definition.start_line == definition.end_line;
            if !is_shown && !is_name && !passages.unshown.contains(&at) {
                passages.unshown.push(at);
            }
        }
        passages
    }

    /// Chooses lines of each text from units that are sorted by chance, and returns a flag for each line.
    fn take(&self, units: &[PassageUnit], texts: &[PassageText<'_>]) -> Vec<Vec<bool>> {
        let mut chosen: Vec<Vec<bool>> = texts.iter().map(|text| vec![false; text.lines.len()]).collect();
        let mut left = self.budget;
        // With less than this left, we stop looking for a unit that fits.
        let least = limits::PASSAGE_HEAD_TOKENS.max(self.budget.tokens / limits::PASSAGE_LEFT_PART);
        let expected = |unit: &PassageUnit| unit.chance * (unit.last + 1 - unit.first) as f32;
        let wanted = units.iter().map(expected).sum::<f32>() * limits::EXPECTED_ELSEWHERE;
        let (mut met, mut shown) = (0.0, 0.0);
        // Tokens of the lines that earlier answers have already shown.
        let mut earlier = 0;
        let mut seen = HashSet::new();
        for unit in units {
            let f1 = 2.0 * met / (shown + wanted);
            // While the answer is short, further lines cost next to nothing.
            let is_short = earlier + self.budget.tokens - left.tokens < limits::EARNED_TOKENS;
            let share =
                if self.is_asked_for || is_short { limits::ASKED_SHARE } else { limits::EARNED_SHARE };
            // Units are sorted by chance, so no later one can qualify.
            if left.tokens < least || unit.chance < share * f1 {
                break;
            }
            let (text, lines) = (&texts[unit.file], &mut chosen[unit.file]);
            let new = |at: &usize| !text.is_known[*at];
            let begins = |at: &usize| new(at) && (*at == unit.first || text.is_known[*at - 1]);
            let runs = (unit.first..=unit.last).filter(begins).count();
            // Blank lines around known lines may not be known themselves.
            if (unit.first..=unit.last).filter(new).all(|at| text.lines[at].trim().is_empty()) {
                let again = (unit.first..=unit.last).filter(|at| text.is_earlier(*at));
                let cost: usize = again.map(|at| text.cost(at).tokens).sum();
                if cost > 0 {
                    earlier += cost;
                    met += expected(unit);
                    shown += (unit.last + 1 - unit.first) as f32;
                }
                continue;
            }
            let of_unit = (unit.first..=unit.last).filter(new).map(|at| text.lines[at].trim());
            let telling: Vec<&str> =
                of_unit.filter(|line| line.len() >= limits::TELLING_LINE_BYTES).collect();
            if !self.is_asked_for && is_copy(&telling, &seen) {
                continue;
            }
            let goes_on = new(&unit.first) && unit.first > 0 && lines[unit.first - 1]
                || new(&unit.last) && lines.get(unit.last + 1) == Some(&true);
            // A run next to chosen lines shares their head.
            let heads = runs - usize::from(goes_on);
            let head = PassageBudget { tokens: text.head.tokens * heads, bytes: text.head.bytes * heads };
            // Most units no longer fit, and some of their lines are enough to find out.
            let mut lines_of_unit = (unit.first..=unit.last).filter(new);
            let rest = left.checked_sub(head);
            let rest = rest
                .and_then(|rest| lines_of_unit.try_fold(rest, |rest, at| rest.checked_sub(text.cost(at))));
            // A later unit may be shorter.
            let Some(rest) = rest else { continue };
            left = rest;
            met += expected(unit);
            shown += (unit.last + 1 - unit.first) as f32;
            (unit.first..=unit.last).filter(new).for_each(|at| lines[at] = true);
            seen.extend(telling);
            // Add the lines that close the definitions around the unit.
            for at in unit.last + 1..text.lines.len() {
                let line = text.lines[at];
                let closes =
                    line.trim_start().starts_with(['}', ')', ']']) && !line.contains(char::is_alphanumeric);
                let Some(rest) = left.checked_sub(text.cost(at)).filter(|_| closes && new(&at)) else {
                    break;
                };
                if !lines[at] {
                    (left, lines[at]) = (rest, true);
                }
            }
        }
        chosen
    }

    fn units(&self, texts: &[PassageText<'_>]) -> Vec<PassageUnit> {
        let best = self.files.first().map_or(1.0, |file| file.hit.score.max(f32::MIN_POSITIVE));
        let chunks = self.files.iter().flat_map(|file| &file.hit.chunks);
        let max = chunks.map(|chunk| chunk.score).fold(f32::MIN_POSITIVE, f32::max);
        let worths: Vec<Vec<f32>> = self.files.iter().zip(texts).map(|pair| self.line_scores(pair)).collect();
        let max_worth = worths.iter().flatten().copied().fold(f32::MIN_POSITIVE, f32::max);
        let mut units = Vec::new();
        for (index, (file, text)) in self.files.iter().zip(texts).enumerate() {
            let definitions = &file.outline.definitions;
            let owners = owners(definitions, &text.lines);
            let mut scores = vec![0.0; owners.len()];
            for chunk in &file.hit.chunks {
                let last = (chunk.end_line as usize).min(scores.len());
                scores[(chunk.start_line as usize).saturating_sub(1).min(last)..last].fill(chunk.score);
            }
            let hot = &file.hit.chunks[..file.hit.chunks.len().min(HOT_CHUNKS)];
            let name_worth = |at: usize| self.words.score(&definitions[at].name) / max_worth;
            for unit in runs(&owners, &text.lines) {
                let (first, last) = (unit.start as u32 + 1, unit.end as u32);
                let distance = |chunk: &ChunkHit| {
                    // At most one of the two is positive, and neither is if they overlap.
                    first.saturating_sub(chunk.end_line).max(chunk.start_line.saturating_sub(last))
                };
                let owner = owners[unit.start];
                let definition = owner.map(|at| &definitions[at]);
                let is_named = owner.is_some_and(|at| self.is_named(file.outline, at));
                if definition.is_some_and(|it| it.is_test) && !is_named && !self.shows_tests(file) {
                    continue;
                }
                let worths = &worths[index][unit.clone()];
                let evidence = UnitEvidence {
                    file: file.hit.score / best,
                    log_lines: (owners.len() as f32).ln(),
                    chunk: scores[unit.clone()].iter().copied().fold(0.0, f32::max) / max,
                    log_distance: (1.0 + hot.iter().map(distance).min().unwrap_or(FAR) as f32).ln(),
                    is_function: definition.is_some_and(|it| it.kind == DefinitionKind::Function),
                    name: owner.map_or(0.0, name_worth),
                    outer_name: definition.and_then(|it| it.parent).map_or(0.0, name_worth),
                    best_line: worths.iter().copied().fold(0.0, f32::max) / max_worth,
                    log_words: (1.0 + worths.iter().sum::<f32>() / max_worth).ln(),
                };
                let chance = evidence.chance();
                units.push(PassageUnit {
                    file: index,
                    first: unit.start,
                    last: unit.end - 1,
                    // A mere declaration of the name should come after its definition.
                    chance: match definition.map(|it| it.kind) {
                        Some(DefinitionKind::Declaration) if is_named => (chance + 1.0) / 2.0,
                        _ if is_named => 1.0 + chance,
                        _ => chance,
                    },
                    definition: owner,
                });
            }
        }
        units
    }

    /// Scores the lines of a file. All scores are 0 if the file has no chunk worth showing.
    fn line_scores(&self, (file, text): (&PassageFile<'_>, &PassageText<'_>)) -> Vec<f32> {
        if file.hit.chunks.iter().all(|chunk| chunk.score <= 0.0) {
            return vec![0.0; text.lines.len()];
        }
        text.lines.iter().map(|line| self.words.score(shown_part(line))).collect()
    }

    /// Returns true if a definition has the name that is the whole query, or is within a short one that has
    /// it.
    fn is_named(&self, outline: &FileOutline, at: usize) -> bool {
        let Some(name) = &self.words.name else { return false };
        outline.around(at).enumerate().any(|(distance, it)| {
            let is_short = it.end_line - it.start_line < limits::NAMED_WHOLE_LINES;
            // The head of an extension says little about the type.
            let is_own = distance == 0 && it.kind != DefinitionKind::Extension;
            it.name == *name && (is_own || is_short)
        })
    }

    /// Returns true if the tests in a file may be chosen. In a test file, the tests are the contents.
    fn shows_tests(&self, file: &PassageFile<'_>) -> bool {
        self.words.asks_for_tests || file.hit.aside == Some(SecondaryKind::Test)
    }
}

/// Returns the part of a line that is scored. Of a longer line, another part may be shown.
fn shown_part(line: &str) -> &str {
    &line[..line.floor_char_boundary(limits::PASSAGE_LINE_BYTES)]
}

/// The lines of a file.
struct PassageText<'a> {
    lines: Vec<&'a str>,
    /// Lines, 1-based, that earlier answers have shown.
    earlier: &'a [RangeInclusive<u32>],
    /// Lines that are known or folded.
    is_known: Vec<bool>,
    /// The additional cost of a run of lines.
    head: PassageBudget,
}

impl<'a> PassageText<'a> {
    fn from_file(file: &PassageFile<'a>) -> Self {
        let lines: Vec<&str> = forage_fs::lines(file.text).collect();
        let mut is_known = vec![false; lines.len()];
        for range in file.known.iter().cloned().chain(file.outline.folded(&lines)) {
            let last = (*range.end() as usize).min(lines.len());
            is_known[(*range.start() as usize).saturating_sub(1).min(last)..last].fill(true);
        }
        let path = &file.hit.path;
        let head = PassageBudget {
            tokens: model_tokens(path) + limits::PASSAGE_HEAD_TOKENS,
            bytes: path.len() + limits::PASSAGE_HEAD_BYTES,
        };
        Self { lines, earlier: file.known, is_known, head }
    }

    fn is_earlier(&self, at: usize) -> bool {
        self.earlier.iter().any(|range| range.contains(&(at as u32 + 1)))
    }

    fn cost(&self, at: usize) -> PassageBudget {
        let line = self.lines[at];
        let shown = shown_part(line);
        if shown.len() < line.len() {
            // With a part of a line, we also show its total length.
            let tokens = model_tokens(shown).max(shown.len() / 4) + limits::PASSAGE_CUT_TOKENS;
            return PassageBudget { tokens, bytes: shown.len() + limits::PASSAGE_CUT_BYTES };
        }
        PassageBudget { tokens: model_tokens(shown).max(1), bytes: shown.len() + 1 }
    }

    /// Returns the runs of chosen lines, without blank lines at their ends.
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

/// Lines that must be chosen together.
struct PassageUnit {
    file: usize,
    /// The first line, 0-based.
    first: usize,
    last: usize,
    /// The chance that a line of this unit is wanted. This is above 1 if the unit must come first.
    chance: f32,
    /// The innermost definition around these lines.
    definition: Option<usize>,
}

/// Number of chunks per file that count as hot: those that match the query best.
const HOT_CHUNKS: usize = 3;
/// Distance to a hot chunk, in lines, if the file has none.
const FAR: u32 = 999;

/// The features that predict whether the lines of a unit are wanted.
struct UnitEvidence {
    /// The score of its file relative to the first file's.
    file: f32,
    /// The logarithm of the number of lines in its file.
    log_lines: f32,
    /// The score of the best chunk that overlaps it, relative to the best of all.
    chunk: f32,
    /// The logarithm of 1 plus its distance to a hot chunk, in lines.
    log_distance: f32,
    is_function: bool,
    /// The score of its definition's name. This and all following scores are relative to the best line's.
    name: f32,
    /// The score of the name of the definition around that one.
    outer_name: f32,
    /// The score of its best line.
    best_line: f32,
    /// The logarithm of 1 plus the total score of its lines.
    log_words: f32,
}

impl UnitEvidence {
    /// Estimates the chance that a line of this unit is wanted.
    fn chance(&self) -> f32 {
        let function = if self.is_function { 1.377 } else { 0.0 };
        let log_odds = -10.137 + 5.889 * self.file - 0.28 * self.log_lines + 1.824 * self.chunk
            - 0.213 * self.log_distance
            + function
            + 1.432 * self.name
            + 0.745 * self.outer_name
            + 1.055 * self.best_line
            + 0.544 * self.log_words;
        1.0 / (1.0 + (-log_odds).exp())
    }
}

/// Returns the innermost definition of each line. A blank line belongs to the definition of the previous
/// line. We ignore one-line items of a list, which would split the definition around them. Examples are a
/// parameter that is a field, an enumerator, and a function in an object.
fn owners(definitions: &[Definition], lines: &[&str]) -> Vec<Option<usize>> {
    let mut owners: Vec<Option<usize>> = Vec::with_capacity(lines.len());
    let is_item = |definition: &Definition| {
        let at = definition.end_line as usize;
        let ends = || lines.get(at - 1).is_some_and(|line| line.trim_end().ends_with(','));
        let closes = || lines.get(at).is_some_and(|line| line.trim_start().starts_with(')'));
        definition.parent.is_some() && definition.start_line == definition.end_line && (ends() || closes())
    };
    let mut coming = definitions.iter().enumerate().filter(|(_, it)| !is_item(it)).peekable();
    // The definitions around the line, innermost last.
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

/// Checks whether most of a unit's lines are already in the answer. If so, this is only a copy for another
/// type, command or platform.
fn is_copy(lines: &[&str], seen: &HashSet<&str>) -> bool {
    let again = lines.iter().filter(|line| seen.contains(*line)).count();
    lines.len() >= limits::COPY_LINES && again * 2 > lines.len()
}

/// Splits lines into runs that share a definition, each of at most [`limits::PASSAGE_LINES`].
fn runs(own: &[Option<usize>], lines: &[&str]) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = 0;
    for end in 1..=own.len() {
        if end < own.len() && own[end] == own[start] {
            continue;
        }
        while end - start > limits::PASSAGE_LINES {
            let cut = start + cut_of(&lines[start..end]);
            runs.push(start..cut);
            start = cut;
        }
        runs.push(start..end);
        start = end;
    }
    runs
}

/// Chooses where to cut a run that is too long, as a number of lines. The line after the cut should be the
/// least indented one, should follow a blank line, and should be as late as possible.
fn cut_of(lines: &[&str]) -> usize {
    let max = limits::PASSAGE_LINES;
    let indent = |at: &usize| {
        let line = lines[*at];
        let columns = line.len() - line.trim_start().len();
        // A closing bracket belongs to the lines before it.
        let closes = line.trim_start().starts_with(['}', ')', ']']);
        (columns + usize::from(closes), !lines[*at - 1].trim().is_empty())
    };
    let candidates = (max / 2..=max).rev().filter(|at| !lines[*at].trim().is_empty());
    candidates.min_by_key(indent).unwrap_or(max)
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
        FileHit {
            index: 0,
            path: path.to_owned(),
            score,
            chunks: chunks.iter().map(chunk).collect(),
            values,
            aside: None,
            siblings: Vec::new(),
        }
    }

    /// Three functions of four lines, each followed by a blank line.
    fn text() -> String {
        ["a", "b", "c"].map(|name| format!("fn {name}() {{\n    one();\n    two();\n}}\n\n")).concat()
    }

    /// The tokens of one of these functions, with its head.
    fn one_function() -> usize {
        let tokens = text().lines().take(5).map(|line| model_tokens(line).max(1)).sum::<usize>();
        tokens + model_tokens("a.rs") + limits::PASSAGE_HEAD_TOKENS
    }

    /// Chooses lines of files, with or without a requested budget.
    fn choose(files: &[TestFile], tokens: usize, words: &QueryWords, is_asked_for: bool) -> Vec<Passages> {
        let outlines: Vec<FileOutline> =
            files.iter().map(|(hit, text, _)| outline(&hit.path, text, &Stop::never())).collect();
        let files: Vec<PassageFile<'_>> = files
            .iter()
            .zip(&outlines)
            .map(|((hit, text, known), outline)| PassageFile { hit, text, outline, known })
            .collect();
        let budget = PassageBudget { tokens, bytes: usize::MAX };
        PassageSearch { files: &files, words, budget, is_asked_for }.choose()
    }

    /// Chooses lines for a requested budget.
    fn passages(files: &[TestFile], tokens: usize, words: &QueryWords) -> Vec<Passages> {
        choose(files, tokens, words, true)
    }

    type TestFile = (FileHit, String, Vec<RangeInclusive<u32>>);

    fn chosen(files: &[TestFile], tokens: usize) -> Vec<Vec<RangeInclusive<u32>>> {
        passages(files, tokens, &QueryWords::default()).into_iter().map(|found| found.ranges).collect()
    }

    #[test]
    fn best_definitions_come_first_within_the_budget() {
        let file = (hit("a.rs", 1.0, &[(6, 9, 0.9), (1, 4, 0.3)]), text(), Vec::new());
        let other = (hit("b.rs", 0.9, &[(1, 4, 0.3)]), text(), Vec::new());
        let one = one_function();
        let files = [file, other];
        assert_eq!(chosen(&files, one), [vec![6..=9], vec![]]);
        // The second run is adjacent to the first, so it doesn't need a head of its own.
        assert_eq!(chosen(&files, one + one), [vec![1..=9], vec![]]);
        assert_eq!(chosen(&files, 1_000), [vec![1..=14], vec![1..=14]]);
        assert_eq!(chosen(&files, 0), [vec![], vec![]]);
        // Something with next to no chance would fit, but it shouldn't be shown.
        let far = (hit("b.rs", 0.1, &[(1, 4, 0.0)]), text(), Vec::new());
        let [first, _] = files;
        let found = passages(&[first, far], 1_000, &QueryWords::default());
        assert_eq!(found[0], Passages { ranges: vec![1..=14], unshown: vec![] });
        assert_eq!(found[1], Passages { ranges: vec![], unshown: vec![0, 1, 2] });
    }

    #[test]
    fn already_shown_lines_are_not_chosen() {
        let file = (hit("a.rs", 1.0, &[(6, 9, 0.9), (1, 4, 0.3)]), text(), vec![5..=10]);
        let one = one_function();
        assert_eq!(chosen(std::slice::from_ref(&file), one), [vec![1..=4]]);
        // The blank line after it isn't worth showing.
        let shown = (file.0.clone(), file.1.clone(), vec![6..=9]);
        assert_eq!(chosen(&[shown], one), [vec![1..=4]]);
        assert_eq!(chosen(&[file], 1_000), [vec![1..=4, 11..=14]]);
    }

    /// The lines chosen without a requested budget.
    fn earned(files: &[TestFile]) -> Vec<Vec<RangeInclusive<u32>>> {
        choose(files, 4_000, &QueryWords::default(), false).into_iter().map(|found| found.ranges).collect()
    }

    #[test]
    fn a_copy_of_shown_code_is_left_out() {
        let body = |kind: &str| {
            let line = |index: u32| format!("    send_request(argument_{index});\n");
            format!("fn {kind}() {{\n    prepare_{kind}_now();\n{}}}\n", (0..6).map(line).collect::<String>())
        };
        let file = |path: &str, text: String| (hit(path, 1.0, &[(1, 9, 0.9)]), text, Vec::new());
        let copies = [file("a.rs", body("linux")), file("b.rs", body("windows"))];
        assert_eq!(earned(&copies), [vec![1..=9], vec![]]);
        assert_eq!(chosen(&copies, 1_000), [vec![1..=9], vec![1..=9]]);
    }

    #[test]
    fn lines_of_earlier_answers_count_as_shown() {
        let line = |index: u32| format!("    one_of_many_statements({index});\n");
        let function = |name: &str, first: u32| {
            format!("fn {name}() {{\n{}}}\n\n", (first..first + 60).map(line).collect::<String>())
        };
        let text = [("a", 0), ("b", 100), ("c", 200)].map(|(name, first)| function(name, first)).concat();
        let chunks = [(1, 62, 0.9), (64, 125, 0.2), (127, 188, 0.1)];
        let first = earned(&[(hit("a.rs", 0.6, &chunks), text.clone(), Vec::new())]).remove(0);
        assert!(first.iter().all(|range| *range.end() < 188), "{first:?}");
        let again = earned(&[(hit("a.rs", 0.6, &chunks), text, first)]).remove(0);
        assert_eq!(again, []);
    }

    #[test]
    fn long_definitions_are_cut_before_the_least_indented_line() {
        let mut lines = vec!["        deep();"; 300];
        (lines[0], lines[100], lines[299]) = ("fn a() {", "    match b {", "}");
        assert_eq!(runs(&vec![Some(0); 300], &lines), [0..100, 100..220, 220..300]);
    }

    #[test]
    fn tests_come_only_if_they_are_asked_for() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a_works() {}\n}\n".to_owned();
        let files = [(hit("a.rs", 1.0, &[(1, 7, 0.9)]), text.clone(), Vec::new())];
        assert_eq!(chosen(&files, 1_000), [vec![1..=1]]);
        let mut asking = QueryWords::default();
        asking.asks_for_tests = true;
        let all: Vec<_> = passages(&files, 1_000, &asking).into_iter().map(|found| found.ranges).collect();
        assert_eq!(all, [vec![1..=7]]);
        let of_tests = FileHit { aside: Some(SecondaryKind::Test), ..hit("tests/a.rs", 1.0, &[(1, 7, 0.9)]) };
        assert_eq!(chosen(&[(of_tests, text, Vec::new())], 1_000), [vec![1..=7]]);
        let mut named = QueryWords::default();
        named.name = Some("a_works".to_owned());
        assert_eq!(passages(&files, one_function(), &named)[0].ranges, [5..=7]);
    }

    #[test]
    fn items_of_a_list_do_not_tear_what_they_are_in_apart() {
        let php = "<?php\nclass A {\n    function __construct(\n        private int $a,\n        private int $b\n    ) {\n        b();\n    }\n}\n";
        let kotlin = "class A(\n    val a: Int,\n    val b: Int\n) : B() {\n    fun c() {}\n}\n";
        let typescript =
            "export const a = {\n  b: (c: D) => c,\n  e: (f: G) => f,\n};\nexport const h = 1;\n";
        for (path, text, expected) in [
            ("a.php", php, vec![0..1, 1..2, 2..8, 8..9]),
            ("a.kt", kotlin, vec![0..4, 4..5, 5..6]),
            ("a.ts", typescript, vec![0..4, 4..5]),
        ] {
            let lines: Vec<&str> = text.lines().collect();
            let definitions = outline(path, text, &Stop::never()).definitions;
            assert!(
                definitions.iter().any(|it| it.parent.is_some() && it.start_line == it.end_line),
                "{path}"
            );
            assert_eq!(runs(&owners(&definitions, &lines), &lines), expected, "{path}");
        }
    }

    #[test]
    fn a_long_comment_is_folded_to_its_first_words() {
        let comment = |lines: usize| format!("/**\n{}*/\nvoid a() {{}}\n", " * Line.\n".repeat(lines));
        let ranges = |lines| chosen(&[(hit("A.c", 1.0, &[(1, 20, 0.9)]), comment(lines), Vec::new())], 1_000);
        assert_eq!(ranges(10), [vec![1..=13]]);
        assert_eq!(ranges(11), [vec![1..=2, 14..=14]]);
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
            // A run that was merged from two has paid for two heads.
            proptest::prop_assert!(cost <= budget, "{cost} of {budget}");
        }
    }
}

//! Candidate search ahead of the regex engine.
//!
//! Line search over text in memory spends nearly all of its time on lines that do not match. A [`Prefilter`]
//! searches for something that every match must contain: a literal, one of several literals, or a run of byte
//! classes. This is many times faster than a regex engine, which must then check only the lines found.
//!
//! A prefilter may report lines that do not match, but it must never miss one that does.

mod frequency;
mod literals;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod teddy;
#[cfg(test)]
mod tests;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod window;
mod words;

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use forage_base::Pace;
use forage_fs::extends_ascii;
use memchr::memmem;
use regex_syntax::hir::Hir;

use crate::limits;
use literals::{KELVIN_SIGN, LONG_S};
pub(crate) use literals::{
    Literal, LiteralSet, MAX_LITERALS, exact_strings, product, remove_implied, required_literals,
};

/// How much rarer than a pattern's literals its class window must be for us to prefer it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const WINDOW_ADVANTAGE: f64 = 16.0;
/// A search for the lines on which one of several patterns may match.
#[derive(Debug)]
pub(crate) struct Prefilter {
    engine: PrefilterEngine,
    /// Length in bytes of the longest string searched for.
    longest: usize,
    /// Bytes of text between two deadline checks.
    stretch: usize,
    literals: usize,
    folded: bool,
    /// True if the engine would miss a match that contains a non-ASCII character folding to an ASCII letter.
    has_foreign_folds: bool,
    /// True if all strings searched for are ASCII.
    is_ascii: bool,
    /// True if a non-ASCII character that folds to an ASCII letter can occur in a match, even if the engine
    /// searches for it too.
    folds_foreign: bool,
    confirms: bool,
}

#[derive(Debug)]
enum PrefilterEngine {
    Memmem(Box<memmem::Finder<'static>>),
    /// For processors without vector instructions, and for more literals than those can hold.
    AhoCorasick {
        automaton: AhoCorasick,
        /// The pattern of each literal.
        patterns: Vec<usize>,
    },
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Teddy(Box<teddy::Teddy>),
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Window(Box<window::ScanWindow>),
}

impl Prefilter {
    /// Builds the search for patterns. None of their matches may contain a newline.
    ///
    /// Returns `None` if the matches of some pattern have nothing rare in common. The caller may then search
    /// for the other patterns only. We only use a class window for a single pattern.
    pub(crate) fn new(hirs: &[&Hir]) -> Option<Prefilter> {
        Prefilter::build(hirs, true)
    }

    /// Like [`Prefilter::new`], but without `vectors` this uses only the portable searches, so that we can
    /// test them on any processor.
    fn build(hirs: &[&Hir], vectors: bool) -> Option<Prefilter> {
        if let [hir] = hirs {
            let set = required_literals(hir);
            if vectors && let Some(window) = Prefilter::from_window(hir, set.as_ref()) {
                return Some(window);
            }
            if let Some(LiteralSet { literals, whole }) = &set
                && let [Literal { bytes, fold: false }] = literals.as_slice()
            {
                return Some(Prefilter {
                    engine: PrefilterEngine::Memmem(Box::new(memmem::Finder::new(bytes).into_owned())),
                    longest: bytes.len(),
                    // This search reads each byte at most a few times.
                    stretch: usize::MAX,
                    literals: 1,
                    folded: false,
                    has_foreign_folds: false,
                    is_ascii: bytes.is_ascii(),
                    folds_foreign: false,
                    confirms: *whole,
                });
            }
        }
        let mut literals = Vec::new();
        for (pattern, hir) in hirs.iter().enumerate() {
            // One literal that occurs on every line would spoil the search for all others.
            let set = required_literals(hir).filter(LiteralSet::is_selective)?;
            literals.extend(set.literals.into_iter().map(|literal| (literal, pattern)));
        }
        Prefilter::with_literals(&literals, vectors)
    }

    /// Builds the search for literals such that every match contains at least one. Returns `None` if there
    /// are none.
    pub(crate) fn from_literals(literals: Vec<Literal>) -> Option<Prefilter> {
        let literals: Vec<_> = literals.into_iter().map(|literal| (literal, 0)).collect();
        Prefilter::with_literals(&literals, true)
    }

    fn with_literals(literals: &[(Literal, usize)], vectors: bool) -> Option<Prefilter> {
        let literals: &[(Literal, usize)] =
            &literals.iter().map(|(literal, pattern)| (shortened(literal), *pattern)).collect::<Vec<_>>();
        let foreign: Vec<usize> = literals
            .iter()
            .filter(|(literal, _)| literal.has_foreign_folds())
            .map(|(_, pattern)| *pattern)
            .collect();
        let mut prefilter = Prefilter {
            engine: PrefilterEngine::for_literals(literals, vectors)?,
            longest: longest(literals),
            stretch: stretch(literals),
            literals: literals.len(),
            folded: literals.iter().any(|(literal, _)| literal.fold),
            has_foreign_folds: !foreign.is_empty(),
            is_ascii: literals.iter().all(|(literal, _)| literal.bytes.is_ascii()),
            folds_foreign: !foreign.is_empty(),
            confirms: false,
        };
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        if prefilter.has_foreign_folds && matches!(prefilter.engine, PrefilterEngine::Teddy(_)) {
            // We treat lines with one of the two characters as candidates too. This costs less than a pass
            // over the text to rule them out.
            let mut all = literals.to_vec();
            for pattern in foreign.into_iter().collect::<BTreeSet<_>>() {
                let exact = |bytes: &[u8]| Literal { bytes: bytes.to_vec(), fold: false };
                all.extend([LONG_S, KELVIN_SIGN].map(|bytes| (exact(bytes), pattern)));
            }
            if let Some(teddy) = teddy::Teddy::new(&all) {
                prefilter.engine = PrefilterEngine::Teddy(Box::new(teddy));
                (prefilter.longest, prefilter.stretch) = (longest(&all), stretch(&all));
                prefilter.has_foreign_folds = false;
            }
        }
        Some(prefilter)
    }

    /// Builds the class window of `hir`, if the pattern has no literals or only common ones.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn from_window(hir: &Hir, literals: Option<&LiteralSet>) -> Option<Prefilter> {
        let literal_rate = match literals {
            Some(set) if set.whole || set.is_surely_rare() => return None,
            Some(set) => set.rate(),
            None => f64::INFINITY,
        };
        let window = window::ScanWindow::new(hir)?;
        (window.rate() * WINDOW_ADVANTAGE < literal_rate).then(|| Prefilter {
            literals: 0,
            folded: false,
            has_foreign_folds: window.has_foreign_folds(),
            is_ascii: window.is_ascii(),
            folds_foreign: window.has_foreign_folds(),
            confirms: false,
            longest: window.length(),
            stretch: limits::BYTES_PER_CHECK,
            engine: PrefilterEngine::Window(Box::new(window)),
        })
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn from_window(_hir: &Hir, _literals: Option<&LiteralSet>) -> Option<Prefilter> {
        None
    }

    /// Returns true if `haystack` may be searched with this prefilter.
    ///
    /// U+017F and U+212A match `s` and `k` in case-insensitive patterns, but the vector searches only fold
    /// ASCII. If they do not search for these two as well, one pass over the text at the speed of `memchr`
    /// must rule them out.
    pub(crate) fn applies_to(&self, haystack: &[u8]) -> bool {
        !self.has_foreign_folds
            || !memchr::memchr2_iter(LONG_S[0], KELVIN_SIGN[0], haystack).any(|position| {
                let rest = &haystack[position..];
                rest.starts_with(LONG_S) || rest.starts_with(KELVIN_SIGN)
            })
    }

    /// Returns true if the ASCII characters of every match are missing from these bytes. In this case no
    /// pattern matches the text, in UTF-8 or any encoding that extends ASCII.
    pub(crate) fn rules_out(&self, raw: &[u8], pace: &Pace) -> bool {
        if !self.is_ascii || !extends_ascii(raw) || (self.folds_foreign && !raw.is_ascii()) {
            return false;
        }
        let mut has_candidate = false;
        self.candidates_within(raw, pace, |_, _| {
            has_candidate = true;
            usize::MAX
        });
        !has_candidate
    }

    /// Calls `on_candidate(pattern, position)` for the candidates of all patterns, by ascending position.
    ///
    /// `pattern` is the index given to [`Prefilter::new`]. `position` is inside the string found, hence on
    /// the line of the match; it is the start of the match if [`Prefilter::confirms`]. Several calls may have
    /// the same position.
    ///
    /// The callback returns where to continue. With a value up to `position + 1` nothing is skipped, not even
    /// further patterns at the same position. A greater value skips all candidates before it (usually up to
    /// the end of the line), and `usize::MAX` ends the search. Everything that is completely at or after this
    /// position, or initially `from`, is found.
    pub(crate) fn candidates<F: FnMut(usize, usize) -> usize>(
        &self,
        haystack: &[u8],
        from: usize,
        mut on_candidate: F,
    ) {
        match &self.engine {
            PrefilterEngine::Memmem(finder) => {
                let mut start = from;
                while let Some(found) = haystack.get(start..).and_then(|rest| finder.find(rest)) {
                    let position = start + found;
                    start = on_candidate(0, position).max(position + 1);
                }
            }
            PrefilterEngine::AhoCorasick { automaton, patterns } => {
                let mut start = from;
                'restart: while start < haystack.len() {
                    for found in automaton.find_overlapping_iter(Input::new(haystack).range(start..)) {
                        // Matches arrive by ascending end, so their last bytes are in order and their first
                        // ones are not.
                        let position = found.end() - 1;
                        let wanted = on_candidate(patterns[found.pattern().as_usize()], position);
                        if wanted > position + 1 {
                            start = wanted;
                            continue 'restart;
                        }
                    }
                    return;
                }
            }
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            PrefilterEngine::Teddy(teddy) => teddy.candidates(haystack, from, on_candidate),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            PrefilterEngine::Window(window) => window.candidates(haystack, from, on_candidate),
        }
    }

    /// Like [`Prefilter::candidates`] from the beginning, within the time that `pace` allows.
    pub(crate) fn candidates_within<F: FnMut(usize, usize) -> usize>(
        &self,
        haystack: &[u8],
        pace: &Pace,
        mut on_candidate: F,
    ) {
        // A candidate extends at most this far to either side of its position.
        let reach = self.longest.saturating_sub(1);
        let mut start = 0;
        while start < haystack.len() {
            let end = haystack.len().min(start.saturating_add(self.stretch));
            // A deadline check is not free, and most texts consist of one stretch.
            if pace.is_stopped() || (start > 0 || end - start > limits::BYTES_PER_CHECK) && !pace.look() {
                return;
            }
            let mut resume = end;
            let seen = &haystack[..haystack.len().min(end.saturating_add(reach))];
            self.candidates(seen, start.saturating_sub(reach), |pattern, position| {
                if position < start {
                    return position + 1;
                }
                if position >= end {
                    return usize::MAX;
                }
                let wanted = on_candidate(pattern, position);
                resume = resume.max(wanted);
                wanted
            });
            start = resume;
        }
    }

    /// The length in bytes of the longest string searched for.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Returns true if every candidate is a match, so that none needs the regex engine. This is only the case
    /// for a single pattern that is one case-sensitive literal without assertions.
    pub(crate) fn confirms(&self) -> bool {
        self.confirms
    }

    /// Describes the search for `--explain`.
    pub(crate) fn describe(&self) -> String {
        let literals = || {
            let plural = if self.literals == 1 { "" } else { "s" };
            let folded = if self.folded { ", folded" } else { "" };
            format!("{} literal{plural}{folded}", self.literals)
        };
        match &self.engine {
            PrefilterEngine::Memmem(_) => "memmem".to_owned(),
            PrefilterEngine::AhoCorasick { .. } => format!("aho-corasick ({})", literals()),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            PrefilterEngine::Teddy(_) => format!("teddy ({})", literals()),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            PrefilterEngine::Window(window) => format!("class window ({} bytes)", window.length()),
        }
    }
}

/// Chooses the part of a long literal to search for instead: the rarest one of the maximum length.
fn shortened(literal: &Literal) -> Literal {
    let part = |bytes: &[u8]| Literal::new(bytes.to_vec(), literal.fold);
    match literal.bytes.len() {
        ..=limits::PREFILTER_LITERAL_BYTES => literal.clone(),
        _ => literal
            .bytes
            .chunks_exact(limits::PREFILTER_LITERAL_BYTES)
            .map(part)
            .min_by(|a, b| a.rate().total_cmp(&b.rate()))
            .unwrap_or_else(|| literal.clone()),
    }
}

fn longest(literals: &[(Literal, usize)]) -> usize {
    literals.iter().map(|(literal, _)| literal.bytes.len()).max().unwrap_or(0)
}

fn stretch(literals: &[(Literal, usize)]) -> usize {
    let compared: usize = literals.iter().map(|(literal, _)| literal.bytes.len()).sum();
    (limits::COMPARED_BYTES_PER_LOOK / compared.max(1)).clamp(longest(literals), limits::BYTES_PER_CHECK)
}

impl PrefilterEngine {
    fn for_literals(literals: &[(Literal, usize)], vectors: bool) -> Option<PrefilterEngine> {
        if literals.is_empty() {
            return None;
        }
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        if vectors && let Some(teddy) = teddy::Teddy::new(literals) {
            return Some(PrefilterEngine::Teddy(Box::new(teddy)));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = vectors;
        // The automaton folds all literals or none. Folding one needlessly adds candidates but never loses
        // matches.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(literals.iter().any(|(literal, _)| literal.fold))
            .build(literals.iter().map(|(literal, _)| &literal.bytes))
            .ok()?;
        Some(PrefilterEngine::AhoCorasick {
            automaton,
            patterns: literals.iter().map(|&(_, pattern)| pattern).collect(),
        })
    }
}

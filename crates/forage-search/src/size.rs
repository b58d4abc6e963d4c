//! How large a pattern is, told from its syntax tree before anything is built.

use forage_fs::Stop;
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Repetition};

use crate::pattern::PatternError;

/// Bytes of UTF-8 of a character, at the most.
const CHARACTER_BYTES: u64 = 4;

/// Bytes that one state of an automaton takes, at the least.
const STATE_BYTES: u64 = 16;

/// Positions of a pattern whose automaton may come near any limit; smaller ones are not worth being measured.
const MEASURED_POSITIONS: u64 = 1000;

/// States of the pattern's automaton that can be active at one place of a text, at the most and about: one for each
/// byte that a part of the pattern stands for, as often as it is repeated.
pub(crate) fn positions(hir: &Hir) -> u64 {
    fold(hir, &mut |class| match class {
        Class::Bytes(_) => 1,
        Class::Unicode(class) if class.is_ascii() => 1,
        Class::Unicode(_) => CHARACTER_BYTES,
    })
    .max(1)
}

/// Bytes that the pattern's automaton takes, at the least: more than a limit means that building it would end there.
pub(crate) fn compiled_bytes_at_least(hir: &Hir, stop: &Stop) -> Result<u64, PatternError> {
    if positions(hir) < MEASURED_POSITIONS {
        return Ok(0);
    }
    let mut measured: Vec<(ClassUnicode, u64)> = Vec::new();
    let mut stopped = false;
    let states = fold(hir, &mut |class| match class {
        Class::Unicode(class) if !class.is_ascii() => {
            if let Some((_, states)) = measured.iter().find(|(known, _)| known == class) {
                return *states;
            }
            stopped = stopped || stop.check().is_some();
            let states = if stopped { 0 } else { class_bytes(class) / STATE_BYTES };
            measured.push((class.clone(), states));
            states
        }
        _ => 1,
    });
    match stopped {
        true => Err(PatternError::Stopped),
        false => Ok(states.saturating_mul(STATE_BYTES)),
    }
}

/// Bytes of the automaton of a class, which is built anew for each copy of it.
fn class_bytes(class: &ClassUnicode) -> u64 {
    let config = thompson::Config::new().utf8(false).which_captures(WhichCaptures::None);
    let build = |hir: &Hir| thompson::Compiler::new().configure(config.clone()).build_from_hir(hir).ok();
    let bytes = |nfa: NFA| nfa.memory_usage() as u64;
    let whole = build(&Hir::class(Class::Unicode(class.clone()))).map_or(0, bytes);
    whole.saturating_sub(build(&Hir::empty()).map_or(u64::MAX, bytes))
}

/// Adds up what the parts of a pattern stand for, each as often as it is repeated.
fn fold(hir: &Hir, of_class: &mut impl FnMut(&Class) -> u64) -> u64 {
    match hir.kind() {
        HirKind::Empty => 0,
        HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(class) => of_class(class),
        HirKind::Capture(capture) => fold(&capture.sub, of_class),
        HirKind::Repetition(Repetition { min, max, sub, .. }) => {
            let copies = max.unwrap_or((*min).max(1));
            fold(sub, of_class).saturating_mul(copies.into())
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(|part| fold(part, of_class)).fold(0, u64::saturating_add)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::COMPILED_PATTERN_BYTES;
    use crate::pattern::{Pattern, PatternOptions};

    fn hir(pattern: &str) -> Hir {
        regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern).unwrap()
    }

    #[test]
    fn positions_are_those_of_what_is_written_out() {
        for (pattern, expected) in [
            ("abc", 3),
            ("(ab){3}", 6),
            ("a{2,5}", 5),
            ("a*", 1),
            ("a{4,}", 4),
            (r"[a-z]x|\pL", 6),
            ("", 1),
            ("^a$", 3),
        ] {
            assert_eq!(positions(&hir(pattern)), expected, "{pattern}");
        }
        assert_eq!(positions(&hir("((((a{1000}){1000}){1000}){1000}){1000000}")), 1_000_000_000_000_000_000);
    }

    /// What is refused unbuilt would be refused when it is built, and what is far too large is refused unbuilt.
    #[test]
    fn only_what_is_too_large_is_refused_unbuilt() {
        let at_least = |pattern: &str| compiled_bytes_at_least(&hir(pattern), &Stop::never()).unwrap();
        for part in [r"\w", r"\pL", "[α-ω]", ".", "(?i)k", "a", r"[^a]", r"(\w|\d)", r"\b\w+\s"] {
            let builds = |copies: u32| {
                let built = grep_regex::RegexMatcherBuilder::new()
                    .size_limit(COMPILED_PATTERN_BYTES)
                    .line_terminator(Some(b'\n'))
                    .multi_line(true)
                    .build(&format!("(?:{part}){{{copies}}}"));
                built.is_ok()
            };
            let refused =
                |copies: u32| at_least(&format!("(?:{part}){{{copies}}}")) > COMPILED_PATTERN_BYTES as u64;
            let mut copies = 100;
            while !refused(copies) {
                assert!(copies < 3_000_000, "{part} is never refused");
                copies += copies / 8;
            }
            assert!(!builds(copies), "{part}{{{copies}}} is refused, and could be built");
            assert!(
                builds(copies / 8),
                "{part}{{{}}} is far from being refused, and can't be built",
                copies / 8
            );
        }
        let options = PatternOptions::default();
        assert_eq!(Pattern::new(r"(\w{1000}){1000}", &options).err(), Some(PatternError::TooLarge));
    }
}

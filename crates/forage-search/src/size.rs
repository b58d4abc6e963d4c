//! Estimates the size of a pattern from its syntax tree, before compiling it.

use forage_base::Stop;
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_syntax::ast::{self, Ast, ClassPerlKind, ClassSetBinaryOp, ClassSetItem};
use regex_syntax::hir::{Class, ClassUnicode, Dot, Hir, HirKind, Repetition};

use crate::error::PatternError;
use crate::limits;

/// Maximum number of UTF-8 bytes of a character.
const CHARACTER_BYTES: u64 = 4;

/// Minimum size in bytes of one state of an automaton.
const STATE_BYTES: u64 = 16;

/// Number of positions from which a pattern's automaton may come near a limit. We don't measure smaller ones.
const MEASURED_POSITIONS: u64 = 1000;

/// Estimates an upper bound for the number of automaton states that can be active at one position of a text.
/// This is one for each byte that a part of the pattern matches, times its repetitions.
pub(crate) fn positions(hir: &Hir) -> u64 {
    fold(hir, &mut |class| match class {
        Class::Bytes(_) => 1,
        Class::Unicode(class) if class.is_ascii() => 1,
        Class::Unicode(_) => CHARACTER_BYTES,
    })
    .max(1)
}

/// Computes a lower bound for the size of the pattern's automaton in bytes. If it exceeds the limit,
/// compiling the pattern would fail.
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
    if stopped { Err(PatternError::Stopped) } else { Ok(states.saturating_mul(STATE_BYTES)) }
}

/// Estimates an upper bound for the size of the pattern's automaton in bytes, without building any part of
/// it.
pub(crate) fn automaton_bytes_at_most(hir: &Hir) -> u64 {
    // Measured for `\w` and `\pL`: 34 bytes per range. A single range can have up to ten sequences of bytes.
    fold(hir, &mut |class| match class {
        Class::Bytes(class) => 1 + class.ranges().len() as u64 / 4,
        Class::Unicode(class) => {
            let per_class = if class.is_ascii() { 1 } else { 38 };
            per_class + class.ranges().len() as u64 * 5 / 4
        }
    })
    .saturating_mul(2 * STATE_BYTES)
}

/// Builds the pattern's automaton and measures its size in bytes.
pub(crate) fn automaton_bytes(hir: &Hir) -> Result<u64, PatternError> {
    let config = thompson::Config::new()
        .utf8(false)
        .which_captures(WhichCaptures::Implicit)
        .nfa_size_limit(Some(limits::COMPILED_PATTERN_BYTES));
    let built = thompson::Compiler::new().configure(config).build_from_hir(hir);
    built.map(|nfa| nfa.memory_usage() as u64).map_err(|_| PatternError::TooLarge)
}

/// Measures the automaton of a class in bytes. The compiler builds this automaton separately for each copy of
/// the class.
fn class_bytes(class: &ClassUnicode) -> u64 {
    let config = thompson::Config::new().utf8(false).which_captures(WhichCaptures::None);
    let build = |hir: &Hir| thompson::Compiler::new().configure(config.clone()).build_from_hir(hir).ok();
    let bytes = |nfa: NFA| nfa.memory_usage() as u64;
    let whole = build(&Hir::class(Class::Unicode(class.clone()))).map_or(0, bytes);
    whole.saturating_sub(build(&Hir::empty()).map_or(u64::MAX, bytes))
}

/// Estimates the work of expanding the classes of a pattern: [`LARGE_CLASS`] for a case-insensitive class of
/// hundreds of ranges, 1 for a small one.
pub(crate) fn class_work(ast: &Ast, insensitive: bool) -> u64 {
    let mut classes = Classes { insensitive, ..Classes::default() };
    let Ok(()) = ast::visit(ast, &mut classes);
    if classes.insensitive { classes.work } else { classes.work / FOLDING }
}

/// The work of a class with hundreds of ranges.
const LARGE_CLASS: u64 = 256;
/// The factor by which a class takes more work if it is case-insensitive.
const FOLDING: u64 = 64;

#[derive(Default)]
struct Classes {
    insensitive: bool,
    work: u64,
    /// True if the current class has a part with hundreds of ranges. Each operation on the class then takes
    /// as long as this part.
    is_large: bool,
}

impl Classes {
    fn add_large(&mut self) {
        self.is_large = true;
        self.work += LARGE_CLASS;
    }

    fn add_step(&mut self) {
        self.work += if self.is_large { LARGE_CLASS } else { 1 };
    }

    fn see_flags(&mut self, flags: &ast::Flags) {
        // One such flag makes all classes count as case-insensitive. This can only overestimate the work.
        self.insensitive |= flags.flag_state(ast::Flag::CaseInsensitive) == Some(true);
    }
}

impl ast::Visitor for &mut Classes {
    type Output = ();
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<(), Self::Err> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        match ast {
            Ast::ClassUnicode(_) => self.add_large(),
            Ast::ClassBracketed(_) => self.is_large = false,
            Ast::Flags(set) => self.see_flags(&set.flags),
            Ast::Group(group) => {
                if let ast::GroupKind::NonCapturing(flags) = &group.kind {
                    self.see_flags(flags);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if let Ast::ClassBracketed(_) = ast {
            self.add_step();
        }
        Ok(())
    }

    fn visit_class_set_item_post(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        match item {
            ClassSetItem::Unicode(_) => self.add_large(),
            ClassSetItem::Perl(class) if class.kind == ClassPerlKind::Word => self.add_large(),
            ClassSetItem::Range(range) if !range.end.c.is_ascii() => self.add_large(),
            _ => self.add_step(),
        }
        Ok(())
    }

    fn visit_class_set_binary_op_post(&mut self, _: &ClassSetBinaryOp) -> Result<(), Self::Err> {
        self.add_step();
        Ok(())
    }
}

/// Replaces all but `parts` parts of a pattern by parts that match anything.
///
/// The result matches everything that the pattern matches, so text that the result requires is also required
/// by the pattern.
pub(crate) fn outline(hir: &Hir, parts: usize) -> Hir {
    let mut left = parts;
    outline_within(hir, &mut left)
}

fn outline_within(hir: &Hir, left: &mut usize) -> Hir {
    let Some(rest) = left.checked_sub(1) else { return anything() };
    *left = rest;
    match hir.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => hir.clone(),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(outline_within(&repetition.sub, left));
            Hir::repetition(Repetition { sub, ..repetition.clone() })
        }
        HirKind::Capture(capture) => outline_within(&capture.sub, left),
        HirKind::Concat(parts) => {
            let mut kept = Vec::new();
            for part in parts {
                kept.push(outline_within(part, left));
                if *left == 0 {
                    kept.push(anything());
                    break;
                }
            }
            Hir::concat(kept)
        }
        HirKind::Alternation(branches) => {
            if branches.len() > *left {
                *left = 0;
                return anything();
            }
            Hir::alternation(branches.iter().map(|branch| outline_within(branch, left)).collect())
        }
    }
}

/// Builds an expression that matches any text within a line.
fn anything() -> Hir {
    let sub = Box::new(Hir::dot(Dot::AnyByteExceptLF));
    Hir::repetition(Repetition { min: 0, max: None, greedy: true, sub })
}

/// Sums a value over the parts of a pattern, each multiplied by its repetitions.
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
    use crate::pattern::{Case, Pattern, PatternOptions};

    fn hir(pattern: &str) -> Hir {
        regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern).unwrap()
    }

    #[test]
    fn positions_equal_the_expanded_pattern() {
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

    /// Patterns should only be refused for their classes if these would really take long.
    #[test]
    fn large_case_insensitive_classes_are_counted() {
        let compile =
            |pattern: &str, case| Pattern::new(pattern, &PatternOptions { case, ..Default::default() });
        for (pattern, insensitive, sensitive) in [
            (r"\pL".repeat(5_000), Some(PatternError::TooManyClasses), Some(PatternError::TooLarge)),
            ("[a-é-ϋ-ῼ]".repeat(1_000), Some(PatternError::TooManyClasses), None),
            (
                r"[^[^\pL]&&[a\w]]".repeat(800),
                Some(PatternError::TooManyClasses),
                Some(PatternError::TooLarge),
            ),
            (
                "(?i:[一-龥])".repeat(900),
                Some(PatternError::TooManyClasses),
                Some(PatternError::TooManyClasses),
            ),
            ("[abcd]".repeat(2_500), None, None),
            (r"\w+[^\w\s]".repeat(50), None, None),
            ("é".repeat(4_000), None, None),
        ] {
            assert_eq!(compile(&pattern, Case::Insensitive).err(), insensitive, "{:.40}", pattern);
            assert_eq!(compile(&pattern, Case::Sensitive).err(), sensitive, "{:.40}", pattern);
        }
    }

    #[test]
    fn outline_matches_whatever_the_pattern_matches() {
        for (pattern, text) in [
            ("a(b|c)d{2}", "abdd"),
            ("a?b?c?d?e?", "ace"),
            ("(ab|cd|ef)x{3}(y|z)?", "cdxxxz"),
            ("((a|b){2}c){2}", "abcbac"),
            (r"\bd\b +(e|f)+$", "d eff"),
        ] {
            assert_eq!(outline(&hir(pattern), 100).to_string(), outline(&hir(pattern), 1_000).to_string());
            for parts in 0..100 {
                let outline = outline(&hir(pattern), parts);
                let whole = regex::bytes::Regex::new(&format!("^(?:{outline})$")).unwrap();
                assert!(whole.is_match(text.as_bytes()), "{parts} parts of {pattern}: {outline}");
                assert!(parts > 1 || whole.is_match(b"anything"), "{parts} parts of {pattern}: {outline}");
            }
        }
        let many = hir(&"[ab]c?".repeat(2_000));
        assert!(outline(&many, 100).to_string().len() < 1_000);
    }

    /// A pattern that we don't measure must be about as small as we estimate.
    #[test]
    fn estimated_bytes_are_an_upper_bound() {
        for pattern in [
            "abc",
            r"\w",
            r"\pL{20}",
            "[α-ω]{30}",
            ".",
            "(?i)kelvin",
            r"[^a]{40}",
            r"(\w|\d){9}",
            r"\b\w+\s",
            "[a-z]{300}",
            "(?-u:[^a]){99}",
            r"\PL{7}",
            r"(?i)[\pL\pN]{10}",
            "a|bb|ccc|dé",
            "",
            "(a?){50}",
            r"[\x{10000}-\x{10ffff}]{20}",
            "(é|è|ê|ë){20}",
        ] {
            let hir = hir(pattern);
            let (built, estimated) = (automaton_bytes(&hir).unwrap(), automaton_bytes_at_most(&hir));
            // The automaton has a few hundred bytes of states around the pattern.
            assert!(built <= estimated * 3 / 2 + 1_000, "{pattern}: {built} of {estimated}");
        }
    }

    /// A pattern that is refused early must also fail to compile, and one that is far too large must be
    /// refused early.
    #[test]
    fn refuses_early_only_what_is_too_large() {
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

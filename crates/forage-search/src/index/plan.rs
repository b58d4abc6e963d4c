//! Translates a pattern to the trigrams that a file must contain for one of its lines to match.
//!
//! The method is Russ Cox's («Regular Expression Matching with a Trigram Index», 2012). For each part of the
//! pattern we keep all strings that it matches while they are few. Otherwise we keep the strings that its
//! matches begin and end with. Where two parts meet, we join their ends, so that trigrams across the border
//! are required too. For example, every match of `foo(bar|baz)` contains the trigrams `foo`, `oob` and `oba`.
//!
//! A query may accept a file without a match, but it must never reject a file with one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use super::trigrams::Trigram;
use crate::pattern::Pattern;
use crate::prefilter::Literal;

/// Maximum number of strings kept for a part. More strings add little information, and their products grow.
const MAX_STRINGS: usize = 256;
/// Maximum number of prefixes and of suffixes kept for a part.
const MAX_ENDS: usize = 64;
/// Maximum number of characters of a class that is expanded.
const MAX_CLASS: usize = 64;
/// Length in bytes from which a string is turned into trigrams.
const MAX_BYTES: usize = 64;
/// Maximum number of copies of a repeated part to analyze.
const MAX_COPIES: u32 = 4;

/// Maximum number of trigrams of a query. Dropping the rest makes the query faster but less selective.
const MAX_TRIGRAMS: usize = 4_096;

/// Maximum number of trigrams in a fuzzy condition. Each has one bit of a mask.
const MAX_FUZZY_GRAMS: usize = 64;

/// A condition on the trigrams of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrigramQuery {
    /// Always true: every file may match.
    Any,
    /// Always false: no file can match.
    Nothing,
    /// The file contains this trigram.
    Has(Trigram),
    /// All of these conditions hold.
    All(BTreeSet<TrigramQuery>),
    /// At least one of these conditions holds.
    OneOf(BTreeSet<TrigramQuery>),
    /// The file contains the trigrams of a text, except for those that the given number of edits can destroy.
    Within(usize, FuzzyGrams),
}

/// The trigrams of a text in order, with `None` for unknown ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FuzzyGrams(Vec<Option<Trigram>>);

impl FuzzyGrams {
    /// Maps each trigram to a mask of its positions. Also returns the mask of all positions with a known
    /// trigram.
    pub(super) fn places(&self) -> (BTreeMap<Trigram, u64>, u64) {
        let (mut places, mut all) = (BTreeMap::new(), 0);
        for (place, trigram) in self.0.iter().enumerate() {
            if let Some(trigram) = trigram {
                *places.entry(*trigram).or_default() |= 1 << place;
                all |= 1 << place;
            }
        }
        (places, all)
    }
}

/// Returns true if `edits` edits can destroy the trigrams at all these positions. An edit destroys the
/// trigrams that contain its character, which are at most three adjacent ones.
pub(super) fn can_be_destroyed(mut places: u64, edits: usize) -> bool {
    for _ in 0..edits {
        if places == 0 {
            break;
        }
        // Some edit must destroy the lowest position. Starting there, it also destroys most of the others.
        places &= !(0b111 << places.trailing_zeros());
    }
    places == 0
}

/// Formats `(abc def)` for all, `(abc|def)` for one of several, and `(abc bcd cde) within 1 edit`.
impl fmt::Display for TrigramQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn join<T: fmt::Display>(parts: impl IntoIterator<Item = T>, mark: &str) -> String {
            let parts: Vec<String> = parts.into_iter().map(|part| part.to_string()).collect();
            format!("({})", parts.join(mark))
        }
        match self {
            Self::Any => f.write_str("anything"),
            Self::Nothing => f.write_str("nothing"),
            Self::Has(trigram) => trigram.fmt(f),
            Self::All(parts) => f.write_str(&join(parts, " ")),
            Self::OneOf(parts) => f.write_str(&join(parts, "|")),
            Self::Within(edits, text) => {
                let plural = if *edits == 1 { "" } else { "s" };
                write!(f, "{} within {edits} edit{plural}", join(text.0.iter().flatten(), " "))
            }
        }
    }
}

impl TrigramQuery {
    /// Builds a condition that holds for every file in which the pattern matches a line.
    pub fn from_pattern(pattern: &Pattern) -> Self {
        match pattern.fuzzy() {
            // The index contains the decoded text, not the bytes.
            _ if pattern.matches_bytes() => Self::Any,
            None => Self::from_hir(pattern.outline()),
            Some(fuzzy) => {
                let pieces = fuzzy.pieces().map_or(Self::Any, Self::from_literals);
                pieces.and(Self::from_fuzzy(pattern.outline(), fuzzy.edits()))
            }
        }
    }

    /// Builds the condition for a match within some edits: the file must contain the pattern's trigrams
    /// except for those that the edits destroy.
    ///
    /// Counting them is the q-gram lemma (Ukkonen, «Approximate string-matching with q-grams and maximal
    /// matches», 1992). We also use the fact that destroyed trigrams are adjacent. For an identifier of 20
    /// characters and two edits, this leaves a fifth of the candidates of counting alone.
    fn from_fuzzy(hir: &Hir, edits: usize) -> Self {
        if let HirKind::Alternation(branches) = hir.kind() {
            let branch = |hir: &Hir| Self::from_fuzzy(hir, edits);
            return branches.iter().map(branch).fold(Self::Nothing, Self::or);
        }
        let mut text = Vec::new();
        write_out(hir, &mut text);
        let trigrams = text.windows(3).map(|window| match window {
            [Some(a), Some(b), Some(c)] => Some(Trigram::new([*a, *b, *c])),
            _ => None,
        });
        let text = FuzzyGrams(trigrams.take(MAX_FUZZY_GRAMS).collect());
        if can_be_destroyed(text.places().1, edits) { Self::Any } else { Self::Within(edits, text) }
    }

    fn from_hir(hir: &Hir) -> Self {
        PlanPart::from_hir(hir).opened().simplified().query
    }

    /// Builds the condition that one of the literals occurs. Note that `s` and `k` in a case-folded literal
    /// each also match a non-ASCII character.
    fn from_literals(literals: &[Literal]) -> Self {
        literals.iter().fold(Self::Nothing, |query, literal| {
            let runs = literal.bytes.split(|byte| literal.fold && matches!(byte, b's' | b'k' | b'S' | b'K'));
            query.or(runs.map(trigrams_of).fold(Self::Any, Self::and))
        })
    }

    /// Returns true if a file with these trigrams may match.
    #[cfg(test)]
    pub(super) fn is_met(&self, has: &impl Fn(Trigram) -> bool) -> bool {
        match self {
            Self::Any => true,
            Self::Nothing => false,
            Self::Has(trigram) => has(*trigram),
            Self::All(parts) => parts.iter().all(|part| part.is_met(has)),
            Self::OneOf(parts) => parts.iter().any(|part| part.is_met(has)),
            Self::Within(edits, text) => {
                let (places, all) = text.places();
                let found = places.iter().filter(|(trigram, _)| has(**trigram));
                can_be_destroyed(found.fold(all, |missing, (_, places)| missing & !places), *edits)
            }
        }
    }

    /// Counts the trigrams.
    fn len(&self) -> usize {
        match self {
            Self::Any | Self::Nothing => 0,
            Self::Has(_) => 1,
            Self::All(parts) | Self::OneOf(parts) => parts.iter().map(Self::len).sum(),
            Self::Within(_, text) => text.0.len(),
        }
    }

    fn and(self, other: Self) -> Self {
        if self.len() + other.len() > MAX_TRIGRAMS {
            return self;
        }
        match (self, other) {
            (Self::Any, query) | (query, Self::Any) => query,
            (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
            (Self::All(mut parts), Self::All(more)) => {
                parts.extend(more);
                Self::All(parts)
            }
            (Self::All(mut parts), part) | (part, Self::All(mut parts)) => {
                parts.insert(part);
                Self::All(parts)
            }
            (one, other) if one == other => one,
            (one, other) => Self::All(BTreeSet::from([one, other])),
        }
    }

    fn or(self, other: Self) -> Self {
        if self.len() + other.len() > MAX_TRIGRAMS {
            return Self::Any;
        }
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => Self::Any,
            (Self::Nothing, query) | (query, Self::Nothing) => query,
            (Self::OneOf(mut parts), Self::OneOf(more)) => {
                parts.extend(more);
                Self::OneOf(parts)
            }
            (Self::OneOf(mut parts), part) | (part, Self::OneOf(mut parts)) => {
                parts.insert(part);
                Self::OneOf(parts)
            }
            (one, other) if one == other => one,
            (one, other) => Self::OneOf(BTreeSet::from([one, other])),
        }
    }
}

/// Writes the text of a pattern in lower case. Characters that are ambiguous, not ASCII, or of unknown length
/// become `None`. Note that an edit of a multi-byte character can destroy more than three trigrams.
/// Assertions have no text.
fn write_out(hir: &Hir, text: &mut Vec<Option<u8>>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => {
            text.extend(literal.0.iter().map(|byte| byte.is_ascii().then_some(byte.to_ascii_lowercase())));
        }
        HirKind::Class(class) => {
            let only = characters(class)
                .filter(|strings| strings.len() == 1)
                .and_then(|strings| strings.into_iter().next());
            text.push(only.and_then(|bytes| (bytes.len() == 1).then(|| bytes[0])));
        }
        HirKind::Capture(capture) => write_out(&capture.sub, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write_out(part, text)),
        HirKind::Alternation(_) | HirKind::Repetition(_) => text.push(None),
    }
}

/// Strings in lower case.
type PlanStrings = BTreeSet<Vec<u8>>;

/// Properties of the matches of a part of a pattern.
#[derive(Clone, Debug)]
struct PlanPart {
    ends: MatchEnds,
    /// The condition that this part imposes on the text around a match.
    query: TrigramQuery,
}

/// The beginnings and ends of the matches of a part.
#[derive(Clone, Debug)]
enum MatchEnds {
    /// The complete set of strings that match.
    Exact(PlanStrings),
    /// Every match begins with one of `prefixes` and ends with one of `suffixes`. Either set may contain the
    /// empty string, which gives no information.
    Open { prefixes: PlanStrings, suffixes: PlanStrings },
}

impl PlanPart {
    fn exact(strings: PlanStrings) -> Self {
        Self { ends: MatchEnds::Exact(strings), query: TrigramQuery::Any }
    }

    fn empty() -> Self {
        Self::exact(PlanStrings::from([Vec::new()]))
    }

    fn anything() -> Self {
        let nothing = PlanStrings::from([Vec::new()]);
        Self {
            ends: MatchEnds::Open { prefixes: nothing.clone(), suffixes: nothing },
            query: TrigramQuery::Any,
        }
    }

    fn from_hir(hir: &Hir) -> Self {
        match hir.kind() {
            // Assertions have no text.
            HirKind::Empty | HirKind::Look(_) => Self::empty(),
            HirKind::Literal(literal) => {
                Self::exact(PlanStrings::from([literal.0.to_ascii_lowercase()])).simplified()
            }
            HirKind::Class(class) => characters(class).map_or_else(Self::anything, Self::exact),
            HirKind::Capture(capture) => Self::from_hir(&capture.sub),
            HirKind::Concat(parts) => {
                parts.iter().map(Self::from_hir).reduce(Self::then).unwrap_or_else(Self::empty)
            }
            HirKind::Alternation(parts) => {
                parts.iter().map(Self::from_hir).reduce(Self::or).unwrap_or_else(Self::empty)
            }
            HirKind::Repetition(repetition) => Self::from_repetition(repetition),
        }
    }

    fn from_repetition(repetition: &Repetition) -> Self {
        let once = Self::from_hir(&repetition.sub);
        if repetition.min == 0 {
            return match repetition.max {
                Some(1) => Self::empty().or(once),
                _ => Self::anything(),
            };
        }
        let copies = repetition.min.min(MAX_COPIES);
        let repeated = (1..copies).fold(once.clone(), |part, _| part.then(once.clone()));
        match repetition.max == Some(copies) {
            true => repeated,
            // More copies may occur between the first and the last ones.
            false => repeated.opened().simplified(),
        }
    }

    fn prefixes(&self) -> &PlanStrings {
        match &self.ends {
            MatchEnds::Exact(strings) => strings,
            MatchEnds::Open { prefixes, .. } => prefixes,
        }
    }

    fn suffixes(&self) -> &PlanStrings {
        match &self.ends {
            MatchEnds::Exact(strings) => strings,
            MatchEnds::Open { suffixes, .. } => suffixes,
        }
    }

    /// Concatenates two parts.
    fn then(mut self, mut other: Self) -> Self {
        let small = |first: &PlanStrings, second: &PlanStrings| first.len() * second.len() <= MAX_STRINGS;
        let mut query = std::mem::replace(&mut self.query, TrigramQuery::Any)
            .and(std::mem::replace(&mut other.query, TrigramQuery::Any));
        if let (MatchEnds::Exact(first), MatchEnds::Exact(second)) = (&self.ends, &other.ends)
            && small(first, second)
        {
            return Self { ends: MatchEnds::Exact(joined(first, second)), query }.simplified();
        }
        // A part with a complete set of strings contributes all of its text to the border. If this gives too
        // many strings, each part must state its own requirements.
        if small(self.suffixes(), other.prefixes()) {
            query = query.and(one_of(&joined(self.suffixes(), other.prefixes())));
        } else {
            query = query.and(one_of(self.suffixes())).and(one_of(other.prefixes()));
        }
        let prefixes = match &self.ends {
            MatchEnds::Exact(strings) if small(strings, other.prefixes()) => {
                joined(strings, other.prefixes())
            }
            _ => self.prefixes().clone(),
        };
        let suffixes = match &other.ends {
            MatchEnds::Exact(strings) if small(self.suffixes(), strings) => joined(self.suffixes(), strings),
            _ => other.suffixes().clone(),
        };
        Self { ends: MatchEnds::Open { prefixes, suffixes }, query }.simplified()
    }

    /// Combines two alternatives.
    fn or(self, other: Self) -> Self {
        if let (MatchEnds::Exact(one), MatchEnds::Exact(another)) = (&self.ends, &other.ends) {
            return Self::exact(one | another).simplified();
        }
        let (one, other) = (self.opened(), other.opened());
        let prefixes = one.prefixes() | other.prefixes();
        let suffixes = one.suffixes() | other.suffixes();
        Self { ends: MatchEnds::Open { prefixes, suffixes }, query: one.query.or(other.query) }.simplified()
    }

    /// Replaces complete strings by the condition that they impose.
    fn opened(self) -> Self {
        match self.ends {
            MatchEnds::Open { .. } => self,
            MatchEnds::Exact(strings) => {
                let query = self.query.and(one_of(&strings));
                Self { ends: MatchEnds::Open { prefixes: strings.clone(), suffixes: strings }, query }
            }
        }
    }

    /// Reduces the strings to the limits of this module.
    fn simplified(self) -> Self {
        if let MatchEnds::Exact(strings) = &self.ends
            && strings.len() <= MAX_STRINGS
            && strings.iter().all(|string| string.len() <= MAX_BYTES)
        {
            return self;
        }
        let mut open = self.opened();
        let query = std::mem::replace(&mut open.query, TrigramQuery::Any)
            .and(one_of(open.prefixes()))
            .and(one_of(open.suffixes()));
        let prefixes = cut(open.prefixes(), |string, bytes| &string[..bytes]);
        let suffixes = cut(open.suffixes(), |string, bytes| &string[string.len() - bytes..]);
        Self { ends: MatchEnds::Open { prefixes, suffixes }, query }
    }
}

/// Cuts each string to the two bytes that a trigram across a border needs, or to fewer if there are too many
/// strings.
fn cut(strings: &PlanStrings, part: impl Fn(&[u8], usize) -> &[u8]) -> PlanStrings {
    let cut_to = |bytes: usize| -> PlanStrings {
        strings.iter().map(|string| part(string, string.len().min(bytes)).to_vec()).collect()
    };
    [2, 1].into_iter().map(cut_to).find(|cut| cut.len() <= MAX_ENDS).unwrap_or_else(|| cut_to(0))
}

/// Joins every string of the first set with every string of the second.
fn joined(first: &PlanStrings, second: &PlanStrings) -> PlanStrings {
    let join = |one: &Vec<u8>, other: &Vec<u8>| [one.as_slice(), other].concat();
    first.iter().flat_map(|one| second.iter().map(move |other| join(one, other))).collect()
}

/// Builds the condition that one of the strings occurs.
fn one_of(strings: &PlanStrings) -> TrigramQuery {
    strings.iter().fold(TrigramQuery::Nothing, |query, string| query.or(trigrams_of(string)))
}

/// Builds the condition that all trigrams of a string occur. This is always true for a string without
/// trigrams.
fn trigrams_of(string: &[u8]) -> TrigramQuery {
    string
        .array_windows()
        .fold(TrigramQuery::Any, |query, &bytes: &[u8; 3]| query.and(TrigramQuery::Has(Trigram::new(bytes))))
}

/// Lists the characters of a class as strings, if there are few.
fn characters(class: &Class) -> Option<PlanStrings> {
    let mut strings = PlanStrings::new();
    match class {
        Class::Bytes(class) => {
            for byte in class.iter().flat_map(|range| range.start()..=range.end()) {
                strings.insert(vec![byte.to_ascii_lowercase()]);
                if strings.len() > MAX_CLASS {
                    return None;
                }
            }
        }
        Class::Unicode(class) => {
            for character in class.iter().flat_map(|range| range.start()..=range.end()) {
                let mut bytes = [0; 4];
                strings.insert(character.encode_utf8(&mut bytes).as_bytes().to_ascii_lowercase());
                if strings.len() > MAX_CLASS {
                    return None;
                }
            }
        }
    }
    Some(strings)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::Trigrams;
    use crate::lines::{LineFinder, MatchingLines as _};
    use crate::pattern::{Case, PatternOptions};
    use forage_base::Stop;

    fn pattern(source: &str, options: &PatternOptions) -> Pattern {
        Pattern::new(source, options).unwrap_or_else(|error| panic!("{source}: {error}"))
    }

    #[test]
    fn fuzzy_query_allows_destroyed_trigrams() {
        let query = |source: &str, edits| {
            TrigramQuery::from_fuzzy(pattern(source, &PatternOptions::default()).hir(), edits).to_string()
        };
        assert_eq!(query("Retries", 1), "(ret etr tri rie ies) within 1 edit");
        assert_eq!(query("retry", 1), "anything");
        // A character that folds to a non-ASCII one gives no information, nor does an optional one.
        assert_eq!(query("(?i)tick[et]? Retries", 1), "(tic  re ret etr tri rie) within 1 edit");
        assert_eq!(
            query("abcdef|ghijkl", 1),
            "((abc bcd cde def) within 1 edit|(ghi hij ijk jkl) within 1 edit)"
        );
        let query = TrigramQuery::from_fuzzy(pattern("abcdefghij", &PatternOptions::default()).hir(), 2);
        // With the same number of missing trigrams, some are too far apart for one edit.
        for (text, passes) in [("abc?e?ghij", true), ("abc?efg?ij", true), ("?bc?efghi?", false)] {
            let found: Vec<_> =
                text.as_bytes().windows(3).map(|w| Trigram::new([w[0], w[1], w[2]])).collect();
            assert_eq!(query.is_met(&|trigram| found.contains(&trigram)), passes, "{text}");
        }
    }

    #[test]
    fn queries_of_typical_patterns() {
        let cases = [
            ("Retry", "(etr ret try)"),
            ("ab", "anything"),
            ("abc|def", "(abc|def)"),
            ("abc|d", "anything"),
            ("a[bc]d", "(abd|acd)"),
            ("ab+c", "anything"),
            ("foo.*bar", "(bar foo)"),
            (r"foo\w+_walk", "(_wa alk foo wal)"),
            ("(?:abc){2}", "(abc bca cab)"),
            ("(?:abc){2,}", "(abc bca cab)"),
            ("x(?:abc)?y", "anything"),
            ("^abc$", "abc"),
            (r"\bfn\b", "anything"),
            (r"\w+", "anything"),
            ("[0-9]{1,3}x", "anything"),
            ("ab[0-9]", "(ab0|ab1|ab2|ab3|ab4|ab5|ab6|ab7|ab8|ab9)"),
        ];
        for (source, expected) in cases {
            let query = TrigramQuery::from_pattern(&pattern(source, &PatternOptions::default()));
            assert_eq!(query.to_string(), expected, "{source}");
        }
    }

    /// Checks whether the pattern matches a line of the text, and whether the index would accept the file.
    fn both(pattern: &Pattern, text: &[u8]) -> (bool, bool) {
        let mut matches = false;
        LineFinder::new(pattern, &Stop::never()).each(text, &Stop::never(), |_| {
            matches = true;
            false
        });
        let mut trigrams = Trigrams::default();
        let found: std::collections::HashSet<Trigram> = trigrams.distinct(text).iter().copied().collect();
        (matches, TrigramQuery::from_pattern(pattern).is_met(&|trigram| found.contains(&trigram)))
    }

    fn part() -> impl Strategy<Value = String> {
        let atom = prop::sample::select(vec![
            "a",
            "B",
            "k",
            "S",
            "é",
            "ſ",
            "\u{212a}",
            "foo",
            "Bar",
            "_walk",
            "(?i:sk)",
            "[a-c]",
            "[^a]",
            ".",
            r"\w",
            r"\d",
            r"\s",
            r"\b",
            "^",
            "$",
            "(?-u:\\xff)",
            "[xyz]{2}",
            "0",
            " ",
        ]);
        let repeat = prop::sample::select(vec!["*", "+", "?", "{2}", "{2,}", "{1,3}", "{0}", "{6}"]);
        atom.prop_map(str::to_owned).prop_recursive(5, 24, 5, move |inner| {
            prop_oneof![
                6 => prop::collection::vec(inner.clone(), 2..5).prop_map(|parts| parts.concat()),
                2 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
                1 => inner.clone().prop_map(|part| format!("(?i:{part})")),
                2 => (inner, repeat.clone()).prop_map(|(part, repeat)| format!("(?:{part}){repeat}")),
            ]
        })
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            &b"a"[..],
            b"b",
            b"B",
            b"k",
            b"K",
            b"s",
            b"S",
            "é".as_bytes(),
            "É".as_bytes(),
            "ſ".as_bytes(),
            "\u{212a}".as_bytes(),
            b"foo",
            b"FOO",
            b"bar",
            b"Bar",
            b"_walk",
            b"x",
            b"yz",
            b"0",
            b" ",
            b"\n",
            b"\xff",
        ]);
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn never_rejects_a_match(
            source in part(), text in text(), insensitive in any::<bool>(), word in any::<bool>(), fuzzy in 0..3_u8
        ) {
            let case = if insensitive { Case::Insensitive } else { Case::Sensitive };
            let options = PatternOptions { case, word, fuzzy, ..PatternOptions::default() };
            if let Ok(pattern) = Pattern::new(&source, &options) {
                let (matches, passes) = both(&pattern, &text);
                prop_assert!(passes || !matches, "{} {:?}", source, String::from_utf8_lossy(&text));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        /// Generates edited variants of the pattern, with letters that repeat or fold to others.
        #[test]
        fn never_rejects_a_fuzzy_match(
            text in prop_oneof!["[a-cAé]{6,20}", "[aksSKſé]{6,20}", "[a-cAé]{60,80}"],
            insensitive in any::<bool>(),
            edits in 1..4_u8,
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0..3, "[a-déskſ]"), 3),
        ) {
            let case = if insensitive { Case::Insensitive } else { Case::Sensitive };
            let options = PatternOptions { case, fuzzy: edits, ..PatternOptions::default() };
            let Ok(pattern) = Pattern::new(&text, &options) else { return Ok(()) };
            let mut distorted: Vec<char> = text.chars().collect();
            for (at, kind, other) in &changes[..usize::from(edits)] {
                let (at, other) = (at.index(distorted.len()), other.chars().next().unwrap());
                match kind {
                    0 => distorted[at] = other,
                    1 => distorted.insert(at, other),
                    _ => drop(distorted.remove(at)),
                }
            }
            let distorted: String = distorted.into_iter().collect();
            let (matches, passes) = both(&pattern, format!("x{distorted}y\n").as_bytes());
            prop_assert!(matches && passes, "{} {} {}", text, edits, distorted);
        }
    }

    /// The control for the properties above: queries do reject files, so these properties can fail.
    #[test]
    fn rejects_files_of_other_patterns() {
        for (source, text) in [("foobar", "foo bar"), ("foo.*bar", "bar\nfo"), (r"walk\(", "walk")] {
            assert_eq!(
                both(&pattern(source, &PatternOptions::default()), text.as_bytes()),
                (false, false),
                "{source}"
            );
        }
    }
}

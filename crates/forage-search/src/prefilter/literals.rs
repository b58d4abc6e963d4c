//! Extracts literals that every match of a pattern must contain.
//!
//! The syntax tree is folded bottom-up into a [`LiteralShape`]. This is the complete set of strings that a
//! node matches, if they are few. Otherwise it contains the known strings at the beginning, at the end and
//! inside of its matches. A step may lose information but must never claim too much: a missed literal costs
//! speed, a wrong one loses matches. For example, `colou?r_[a-z]+` gives `color_` and `colour_`.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::frequency::{self, ByteSet};
use super::words;

/// One string of a [`LiteralSet`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Literal {
    /// The bytes to search for: not empty, without a newline, in ASCII lower case if `fold` is set.
    pub(crate) bytes: Vec<u8>,
    /// True if ASCII letters match in either case; all other bytes match exactly.
    pub(crate) fold: bool,
}

/// A set of strings such that every match of a pattern contains at least one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiteralSet {
    /// The strings; none of them contains another.
    pub(crate) literals: Vec<Literal>,
    /// True if the pattern is exactly this single, case-sensitive literal, so that every occurrence is a
    /// match.
    pub(crate) whole: bool,
}

/// Maximum number of strings that a concatenation keeps as a cross product.
const MAX_PRODUCT: usize = 16;
/// Maximum number of strings that alternations may collect, which is also the capacity of one vector search.
pub(crate) const MAX_LITERALS: usize = 64;
/// Maximum number of members of a class, after folding, that is expanded to one literal each.
const MAX_CLASS_LITERALS: usize = 4;
/// Maximum length in bytes of a literal built by concatenation. Longer ones are not more selective.
const MAX_JOINED_BYTES: usize = 256;
/// Maximum number of copies of a repeated part to expand.
const MAX_COPIES: u32 = 8;
/// Minimum length in bytes of a literal worth searching for.
const MIN_LITERAL_BYTES: usize = 2;
/// Candidates per byte above which the regex engine alone is faster. This is about one on every other line.
pub(super) const MAX_CANDIDATE_RATE: f64 = 1.0 / 64.0;
/// The rate below which literals count as equally rare, because the frequency model knows few words.
const RATE_FLOOR: f64 = 1e-6;
/// Candidates per byte below which no other search can gain much.
const RARE_ENOUGH: f64 = 1.0 / 2048.0;
/// Penalty factor for the rate of a two-byte literal, because its fingerprint has no byte to spare.
const SHORT_LITERAL_PENALTY: f64 = 4.0;

/// Finds the rarest set of literals such that every match of `hir` contains at least one.
///
/// Matches must not contain a newline. If a folded literal contains `s` or `k`, the text must contain neither
/// U+017F nor U+212A. These two are the only characters outside ASCII that fold to ASCII letters. Returns
/// `None` if there is no such set, or only one that would be found on nearly every line.
pub(crate) fn required_literals(hir: &Hir) -> Option<LiteralSet> {
    if let Some(bytes) = whole_literal(hir) {
        return Some(LiteralSet { literals: vec![Literal { bytes, fold: false }], whole: true });
    }
    let mut literals = analyse(hir).into_required()?;
    remove_implied(&mut literals);
    let found = LiteralSet { literals, whole: false };
    found.is_selective().then_some(found)
}

/// Lists all strings that `hir` matches if there are few. Note that the empty string may be among them.
///
/// The requirements are those of [`required_literals`].
pub(crate) fn exact_strings(hir: &Hir) -> Option<Vec<Literal>> {
    match analyse(hir) {
        LiteralShape::Exact(strings) => Some(strings),
        LiteralShape::Partial { .. } => None,
    }
}

impl LiteralSet {
    /// Estimates the candidates per byte of text.
    pub(super) fn rate(&self) -> f64 {
        self.literals.iter().map(Literal::rate).sum()
    }

    /// Returns true if the literals are long and rare enough to be worth searching for.
    pub(super) fn is_selective(&self) -> bool {
        self.literals.iter().all(|literal| literal.bytes.len() >= MIN_LITERAL_BYTES)
            && self.rate() < MAX_CANDIDATE_RATE
    }

    /// Returns true if we need not consider any other search. This excludes two-byte literals, for which the
    /// frequency model is unreliable. For example, it considers `0x` rare.
    pub(super) fn is_surely_rare(&self) -> bool {
        self.literals.iter().all(|literal| literal.bytes.len() > MIN_LITERAL_BYTES)
            && self.rate() <= RARE_ENOUGH
    }
}

impl Literal {
    /// Creates a literal. A string without letters needs no folding.
    pub(crate) fn new(mut bytes: Vec<u8>, fold: bool) -> Literal {
        let fold = fold && bytes.iter().any(u8::is_ascii_alphabetic);
        if fold {
            bytes.make_ascii_lowercase();
        }
        Literal { bytes, fold }
    }

    /// Concatenates two literals. If only one of them is folded, the result is folded. This may find more but
    /// never less.
    fn join(&self, tail: &Literal) -> Literal {
        Literal::new([self.bytes.as_slice(), &tail.bytes].concat(), self.fold || tail.fold)
    }

    /// Lists the bytes that may occur at each position.
    pub(super) fn byte_sets(&self) -> impl Iterator<Item = ByteSet> {
        self.bytes.iter().map(|&byte| {
            let mut set = ByteSet::single(byte);
            if self.fold {
                set.insert(byte.to_ascii_uppercase());
            }
            set
        })
    }

    /// Estimates the occurrences per byte of text.
    pub(crate) fn rate(&self) -> f64 {
        frequency::rate(self.byte_sets()).max(words::least_rate(&self.bytes, self.fold))
    }

    /// Returns true if the literal would miss a match that contains a non-ASCII character folding to an ASCII
    /// letter.
    pub(super) fn has_foreign_folds(&self) -> bool {
        self.fold && self.bytes.iter().any(|byte| matches!(byte, b's' | b'k'))
    }

    /// Returns true if every occurrence of `longer` contains an occurrence of `self`.
    fn is_implied_by(&self, longer: &Literal) -> bool {
        let comparable = self.fold || !longer.fold || !self.bytes.iter().any(u8::is_ascii_alphabetic);
        comparable
            && longer.bytes.windows(self.bytes.len().max(1)).any(|window| match self.fold {
                true => window.eq_ignore_ascii_case(&self.bytes),
                false => window == self.bytes,
            })
    }
}

/// Removes duplicates and every literal that contains another. The shorter one finds it too.
pub(crate) fn remove_implied(literals: &mut Vec<Literal>) {
    // Folded literals come first, because they imply the exact ones of the same length.
    literals.sort_by_key(|literal| (literal.bytes.len(), !literal.fold));
    let mut kept: Vec<Literal> = Vec::with_capacity(literals.len());
    for literal in literals.drain(..) {
        if !kept.iter().any(|shorter| shorter.is_implied_by(&literal)) {
            kept.push(literal);
        }
    }
    *literals = kept;
}

/// Returns the bytes of a pattern that consists of one case-sensitive literal.
fn whole_literal(hir: &Hir) -> Option<Vec<u8>> {
    let bytes = match hir.kind() {
        HirKind::Literal(literal) => literal.0.to_vec(),
        HirKind::Capture(capture) => whole_literal(&capture.sub)?,
        HirKind::Concat(parts) => parts.iter().map(whole_literal).collect::<Option<Vec<_>>>()?.concat(),
        HirKind::Empty
        | HirKind::Class(_)
        | HirKind::Look(_)
        | HirKind::Repetition(_)
        | HirKind::Alternation(_) => return None,
    };
    (!bytes.is_empty() && !bytes.contains(&b'\n')).then_some(bytes)
}

/// A set of strings during analysis. The empty string means «anything»; the set itself is never empty.
type LiteralStrings = Vec<Literal>;

/// The known properties of the strings that a node matches.
#[derive(Clone)]
enum LiteralShape {
    /// The complete set of strings.
    Exact(LiteralStrings),
    /// Each match begins with one of `prefix`, ends with one of `suffix`, and contains one of `inner` if
    /// present.
    Partial { prefix: LiteralStrings, inner: Option<LiteralStrings>, suffix: LiteralStrings },
}

fn empty_string() -> LiteralStrings {
    vec![Literal { bytes: Vec::new(), fold: false }]
}

fn analyse(hir: &Hir) -> LiteralShape {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => LiteralShape::Exact(empty_string()),
        HirKind::Literal(literal) => LiteralShape::from_literal(&literal.0),
        HirKind::Class(class) => {
            class_literals(class).map_or_else(LiteralShape::unknown, LiteralShape::Exact)
        }
        HirKind::Capture(capture) => analyse(&capture.sub),
        HirKind::Concat(parts) => parts.iter().fold(LiteralShape::Exact(empty_string()), |left, part| {
            LiteralShape::concatenate(left, analyse(part))
        }),
        HirKind::Alternation(branches) => LiteralShape::alternate(branches.iter().map(analyse)),
        HirKind::Repetition(repetition) => match (repetition.min, repetition.max) {
            (0, Some(1)) => LiteralShape::alternate(
                [analyse(&repetition.sub), LiteralShape::Exact(empty_string())].into_iter(),
            ),
            (0, _) => LiteralShape::unknown(),
            (min, max) => {
                let copies = min.min(MAX_COPIES);
                let one = analyse(&repetition.sub);
                let mut shape = one.clone();
                for _ in 1..copies {
                    shape = LiteralShape::concatenate(shape, one.clone());
                }
                // More copies may follow: matches still begin with the first copies and end with the last
                // ones.
                if max == Some(copies) { shape } else { shape.into_partial() }
            }
        },
    }
}

impl LiteralShape {
    fn unknown() -> LiteralShape {
        LiteralShape::Partial { prefix: empty_string(), inner: None, suffix: empty_string() }
    }

    /// A literal across lines can't occur in a match, but we keep the text on either side of the newline.
    fn from_literal(bytes: &[u8]) -> LiteralShape {
        let exact = |bytes: &[u8]| vec![Literal::new(bytes.to_vec(), false)];
        match (memchr::memchr(b'\n', bytes), memchr::memrchr(b'\n', bytes)) {
            (Some(first), Some(last)) => LiteralShape::Partial {
                prefix: exact(&bytes[..first]),
                inner: None,
                suffix: exact(&bytes[last + 1..]),
            },
            _ => LiteralShape::Exact(exact(bytes)),
        }
    }

    fn into_partial(self) -> LiteralShape {
        match self {
            LiteralShape::Exact(strings) => {
                LiteralShape::Partial { prefix: strings.clone(), inner: None, suffix: strings }
            }
            partial @ LiteralShape::Partial { .. } => partial,
        }
    }

    /// Chooses the best set of strings such that each match contains one. Returns `None` if nothing is known.
    fn into_required(self) -> Option<LiteralStrings> {
        match self {
            LiteralShape::Exact(strings) => better(None, Some(strings)),
            LiteralShape::Partial { prefix, inner, suffix } => {
                better(better(Some(prefix), inner), Some(suffix))
            }
        }
    }

    fn concatenate(left: LiteralShape, right: LiteralShape) -> LiteralShape {
        match (left, right) {
            (LiteralShape::Exact(left), LiteralShape::Exact(right)) => match product(&left, &right) {
                Some(joined) => LiteralShape::Exact(joined),
                None => LiteralShape::Partial { prefix: left, inner: None, suffix: right },
            },
            (LiteralShape::Exact(left), LiteralShape::Partial { prefix, inner, suffix }) => {
                match product(&left, &prefix) {
                    Some(prefix) => LiteralShape::Partial { prefix, inner, suffix },
                    None => {
                        LiteralShape::Partial { prefix: left, inner: better(inner, Some(prefix)), suffix }
                    }
                }
            }
            (LiteralShape::Partial { prefix, inner, suffix }, LiteralShape::Exact(right)) => {
                match product(&suffix, &right) {
                    Some(suffix) => LiteralShape::Partial { prefix, inner, suffix },
                    None => {
                        LiteralShape::Partial { prefix, inner: better(inner, Some(suffix)), suffix: right }
                    }
                }
            }
            (
                LiteralShape::Partial { prefix, inner: left_inner, suffix: left_end },
                LiteralShape::Partial { prefix: right_start, inner: right_inner, suffix },
            ) => {
                let middle = match product(&left_end, &right_start) {
                    Some(middle) => Some(middle),
                    None => better(Some(left_end), Some(right_start)),
                };
                LiteralShape::Partial {
                    prefix,
                    inner: better(better(left_inner, right_inner), middle),
                    suffix,
                }
            }
        }
    }

    fn alternate(branches: impl Iterator<Item = LiteralShape>) -> LiteralShape {
        let branches: Vec<LiteralShape> = branches.collect();
        let exact = branches.iter().map(|branch| match branch {
            LiteralShape::Exact(strings) => Some(strings.clone()),
            LiteralShape::Partial { .. } => None,
        });
        if let Some(all) = union(exact) {
            return LiteralShape::Exact(all);
        }
        let (mut prefixes, mut required, mut suffixes) = (Vec::new(), Vec::new(), Vec::new());
        for branch in branches {
            let (prefix, suffix) = match &branch {
                LiteralShape::Exact(strings) => (strings, strings),
                LiteralShape::Partial { prefix, suffix, .. } => (prefix, suffix),
            };
            prefixes.push(Some(prefix.clone()));
            suffixes.push(Some(suffix.clone()));
            required.push(branch.into_required());
        }
        LiteralShape::Partial {
            prefix: union(prefixes.into_iter()).unwrap_or_else(empty_string),
            inner: union(required.into_iter()),
            suffix: union(suffixes.into_iter()).unwrap_or_else(empty_string),
        }
    }
}

/// Computes the union of all sets. Returns `None` if one is missing or there are too many strings.
fn union(sets: impl Iterator<Item = Option<LiteralStrings>>) -> Option<LiteralStrings> {
    let mut all = LiteralStrings::new();
    for set in sets {
        all.extend(set?);
        all.sort();
        all.dedup();
        if all.len() > MAX_LITERALS {
            return None;
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Concatenates every string of `left` with every string of `right`. Returns `None` if there are too many.
pub(crate) fn product(left: &[Literal], right: &[Literal]) -> Option<Vec<Literal>> {
    // A product with a single string has no more strings than the other set, so we always allow it.
    let limit = MAX_PRODUCT.max(left.len()).max(right.len());
    let longest = |strings: &[Literal]| strings.iter().map(|string| string.bytes.len()).max().unwrap_or(0);
    if left.len() * right.len() > limit || longest(left) + longest(right) > MAX_JOINED_BYTES {
        return None;
    }
    let mut joined: LiteralStrings =
        left.iter().flat_map(|head| right.iter().map(move |tail| head.join(tail))).collect();
    joined.sort();
    joined.dedup();
    Some(joined)
}

/// Chooses the rarer of two sets. A set that contains the empty string gives no information and never wins.
fn better(left: Option<LiteralStrings>, right: Option<LiteralStrings>) -> Option<LiteralStrings> {
    let informative = |set: &LiteralStrings| set.iter().all(|string| !string.bytes.is_empty());
    match (left.filter(informative), right.filter(informative)) {
        (Some(left), Some(right)) => {
            let key = |set: &LiteralStrings| (cost(set), set.iter().map(|string| string.bytes.len()).min());
            let ((left_cost, left_length), (right_cost, right_length)) = (key(&left), key(&right));
            let right_wins = right_cost < left_cost || right_cost == left_cost && right_length > left_length;
            Some(if right_wins { right } else { left })
        }
        (left, right) => left.or(right),
    }
}

/// Estimates the candidates per byte of a set, for comparison only.
fn cost(set: &LiteralStrings) -> f64 {
    let one = |string: &Literal| match string.bytes.len() {
        0 | 1 => 1.0,
        2 => string.rate() * SHORT_LITERAL_PENALTY,
        _ => string.rate().max(RATE_FLOOR),
    };
    set.iter().map(one).sum()
}

/// Expands a small class to its members: one folded literal for a letter that is present in both cases,
/// otherwise the encoded character. Returns `None` for a class that is large, empty or contains a newline.
fn class_literals(class: &Class) -> Option<LiteralStrings> {
    // Each folded letter represents up to three members, the third being one of the two non-ASCII characters.
    const MAX_MEMBERS: usize = 3 * MAX_CLASS_LITERALS;
    let (mut ascii, mut other): (Vec<u8>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    match class {
        Class::Unicode(class) => {
            let members = class.iter().flat_map(|range| range.start()..=range.end());
            for member in members.take(MAX_MEMBERS + 1) {
                match u8::try_from(member) {
                    Ok(byte) if byte.is_ascii() => ascii.push(byte),
                    _ => other.push(member.to_string().into_bytes()),
                }
            }
        }
        Class::Bytes(class) => {
            let members = class.iter().flat_map(|range| range.start()..=range.end());
            for byte in members.take(MAX_MEMBERS + 1) {
                if byte.is_ascii() { ascii.push(byte) } else { other.push(vec![byte]) }
            }
        }
    }
    if ascii.len() + other.len() > MAX_MEMBERS || ascii.contains(&b'\n') {
        return None;
    }
    let in_both_cases =
        |byte: u8| ascii.contains(&byte.to_ascii_lowercase()) && ascii.contains(&byte.to_ascii_uppercase());
    // The two non-ASCII characters need no literal besides their folded letter: we don't use the prefilter on
    // text that contains one.
    other.retain(|character| match character.as_slice() {
        LONG_S => !in_both_cases(b's'),
        KELVIN_SIGN => !in_both_cases(b'k'),
        _ => true,
    });
    let ascii = ascii.iter().map(|&byte| Literal::new(vec![byte], in_both_cases(byte)));
    let mut strings: LiteralStrings =
        ascii.chain(other.into_iter().map(|bytes| Literal::new(bytes, false))).collect();
    strings.sort();
    strings.dedup();
    (1..=MAX_CLASS_LITERALS).contains(&strings.len()).then_some(strings)
}

/// U+017F, which folds to `s`.
pub(super) const LONG_S: &[u8] = b"\xc5\xbf";
/// U+212A, which folds to `k`.
pub(super) const KELVIN_SIGN: &[u8] = b"\xe2\x84\xaa";

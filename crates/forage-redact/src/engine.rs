//! Runs all rules in one pass: searches for the literals of all rules at once, and then tries each rule at
//! its literals.
//!
//! The results are merged where they overlap, and are replaced together. The time is linear in the text: a
//! hit reads at most [`MAX_FORM_BYTES`] after it, unless it finds a secret, which we then do not read again.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};
use regex::Regex;
use regex_automata::{Anchored, Input, meta, util::captures::Captures};

use crate::assignment::{self, AssignmentScan};
use crate::judge::{
    ValueContext, has_random_piece, is_filled_in_later, is_secret, is_visible_placeholder, is_wordy,
};
use crate::limits::{MAX_FORM_BYTES, MAX_LOOKS};
use crate::names::{self, NameWeight};
use crate::private_key::PrivateKeys;
use crate::randomness::entropy;
use crate::rules::{ASSIGNMENT, Exception, PUBLISHED, RULES, RedactionRule, URL_CREDENTIALS};
use crate::{encoded, kubernetes};

/// A secret's place in the text, and the rule that found it. It must not contain a line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundSecret {
    pub(crate) range: Range<usize>,
    pub(crate) rule: &'static str,
    /// Whether this continues a secret that has already been counted.
    pub(crate) continues: bool,
}

/// All rules, compiled.
pub(crate) struct RedactionEngine {
    literals: AhoCorasick,
    /// The rule in the table for each literal; `None` for the literals of sensitive names.
    owners: Vec<Option<usize>>,
    /// The patterns of the rules. Each one is compiled when we first find one of its literals.
    forms: Vec<OnceLock<meta::Regex>>,
    line_prefix: Regex,
    private_keys: PrivateKeys,
}

pub(crate) static ENGINE: LazyLock<RedactionEngine> = LazyLock::new(RedactionEngine::new);

impl RedactionEngine {
    #[expect(clippy::expect_used, reason = "the literals are constants, and every test compiles all of them")]
    fn new() -> Self {
        let of_rules = RULES
            .iter()
            .enumerate()
            .flat_map(|(at, rule)| rule.keywords.iter().map(move |word| (*word, Some(at))));
        let (words, owners): (Vec<_>, Vec<_>) =
            of_rules.chain(names::LITERALS.iter().map(|word| (*word, None))).unzip();
        let literals = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(words)
            .expect("constant literals compile");
        Self {
            literals,
            owners,
            forms: RULES.iter().map(|_| OnceLock::new()).collect(),
            line_prefix: assignment::line_prefix(),
            private_keys: PrivateKeys::new(),
        }
    }

    /// Finds the secrets in the text. They are in order and do not overlap.
    pub(crate) fn find(&self, text: &str) -> Vec<FoundSecret> {
        let mut found: Vec<FoundSecret> = Vec::new();
        let scan = AssignmentScan::new(text, &self.line_prefix);
        let mut name_end = 0;
        let mut names = RedactionRun::new(is_of_value);
        let mut runs: Vec<RedactionRun> = RULES.iter().map(|_| RedactionRun::new(is_of_token)).collect();
        for hit in self.literals.find_overlapping_iter(text) {
            match self.owners[hit.pattern().as_usize()] {
                Some(at) => {
                    let literals = runs[at].next(text, hit.start()..hit.end());
                    self.forms_at(at, text, &mut runs[at], literals, &mut found);
                }
                // A name may contain several literals, e.g. `auth` and `token`. We judge it only once.
                None if hit.start() >= name_end => {
                    for literal in names.next(text, hit.start()..hit.end()).into_iter().flatten() {
                        name_end = name_end.max(Self::value_at(&scan, &mut names, &literal, &mut found));
                    }
                }
                None => {}
            }
        }
        // In the last stretch of each rule, the literal that was put off is still to be tried.
        for (at, run) in runs.iter_mut().enumerate() {
            let put_off = [run.put_off.take(), None];
            self.forms_at(at, text, run, put_off, &mut found);
        }
        if let Some(literal) = names.put_off.take() {
            Self::value_at(&scan, &mut names, &literal, &mut found);
        }
        let keys = self.private_keys.find(text);
        // To the other rules, the lines of a key look like values, and a line number looks like a part of
        // one.
        found.retain(|found| {
            let next = keys.partition_point(|key| key.range.end <= found.range.start);
            keys.get(next).is_none_or(|key| key.range.start >= found.range.end)
        });
        found.extend(keys);
        found.extend(kubernetes::find(text));
        merge_overlapping(found)
    }

    /// Adds the secret of the sensitive name that contains a literal. Returns the end of the name.
    fn value_at(
        scan: &AssignmentScan<'_>,
        run: &mut RedactionRun,
        literal: &Range<usize>,
        found: &mut Vec<FoundSecret>,
    ) -> usize {
        let name = scan.name_around(literal.start);
        run.looks += 1;
        for (part, range) in scan.secret_of(name.clone()).into_iter().flatten().enumerate() {
            found.push(FoundSecret { range, rule: ASSIGNMENT, continues: part > 0 });
        }
        name.end
    }

    /// Adds the secrets of a rule at its literals.
    fn forms_at(
        &self,
        at: usize,
        text: &str,
        run: &mut RedactionRun,
        literals: [Option<Range<usize>>; 2],
        found: &mut Vec<FoundSecret>,
    ) {
        for literal in literals.into_iter().flatten() {
            if literal.start < run.found {
                continue;
            }
            match self.form_at(at, text, literal) {
                Some(range) => {
                    run.found = range.end;
                    found.push(FoundSecret { range, rule: RULES[at].name, continues: false });
                }
                None => run.looks += 1,
            }
        }
    }

    /// Finds the secret of a rule at one of its literals.
    fn form_at(&self, at: usize, text: &str, literal: Range<usize>) -> Option<Range<usize>> {
        let rule = &RULES[at];
        let form = self.forms[at].get_or_init(|| compile_form(rule.form));
        let end = text.floor_char_boundary(literal.end + MAX_FORM_BYTES);
        let start = text.floor_char_boundary(literal.start.saturating_sub(rule.before));
        // If a pattern begins with its literal, we need not search elsewhere.
        let anchored = if rule.before == 0 { Anchored::Yes } else { Anchored::No };
        let input = Input::new(text).range(start..end).anchored(anchored);
        // Earlier matches may end before the literal. We look for the first one that reaches it.
        let captures = form.captures_iter(input).find(|captures| {
            captures
                .get_match()
                .is_some_and(|whole| whole.range().contains(&literal.start) || whole.start() > literal.start)
        })?;
        let whole = captures.get_match().filter(|whole| whole.start() <= literal.start)?;
        let mut secret = last_group(&captures)?;
        if secret.end == end && whole.end() == end {
            // Beyond the limit, the secret continues until a character ends it.
            secret.end += length_while(&text[end..], is_of_token);
        }
        rule.accepts(&text[secret.clone()], &text[whole.range()]).then_some(secret)
    }
}

/// A stretch of characters without a gap, in which a rule finds several literals.
///
/// We must not read the whole stretch again for each of its literals. After [`MAX_LOOKS`] attempts, we try
/// only the last literal. A match does not count as an attempt: we skip the literals inside it.
struct RedactionRun {
    /// Returns true for characters that do not make a gap.
    goes_on: fn(u8) -> bool,
    end: usize,
    /// The end of the last secret.
    found: usize,
    /// The number of attempts in this stretch.
    looks: usize,
    /// The last literal of the stretch that we have not tried.
    put_off: Option<Range<usize>>,
}

impl RedactionRun {
    fn new(goes_on: fn(u8) -> bool) -> Self {
        Self { goes_on, end: 0, found: 0, looks: 0, put_off: None }
    }

    /// Returns the literals that must be tried now: the last one of the previous stretch, and this one.
    /// Either may be missing.
    fn next(&mut self, text: &str, literal: Range<usize>) -> [Option<Range<usize>>; 2] {
        let mut of_the_last = None;
        if literal.start >= self.end {
            of_the_last = self.put_off.take();
            self.looks = 0;
            self.end = literal.end + length_while(&text[literal.end..], self.goes_on);
        }
        if self.looks < MAX_LOOKS {
            return [of_the_last, Some(literal)];
        }
        self.put_off = Some(literal);
        [None, None]
    }
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=_.~-".contains(&byte)
}

/// Returns true for characters that may be part of a value without quotes, wherever one is allowed.
fn is_of_value(byte: u8) -> bool {
    byte > b' ' && !b"\"'`,;&<>|(){}".contains(&byte)
}

fn length_while(text: &str, goes_on: fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| goes_on(*byte)).count()
}

impl RedactionRule {
    /// Returns true if the match is one of the secrets that the rule is for.
    fn accepts(&self, secret: &str, whole: &str) -> bool {
        let means_it = match self.exception {
            Exception::Never => true,
            Exception::Name => !is_wordy(secret),
            Exception::Placeholder => !is_filled_in_later(secret),
            Exception::LowerWord => {
                !secret.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-.".contains(&byte))
                    && !is_filled_in_later(secret)
            }
            Exception::NothingRandom => has_random_piece(secret),
            Exception::NoKey => encoded::is_private_key(secret),
            Exception::Sentence => !is_filled_in_later(secret) && !is_in_sentence(whole, secret),
            Exception::NoPassword => {
                !is_filled_in_later(secret) && is_secret(secret, NameWeight::Password, ValueContext::Argument)
            }
            Exception::Port => !is_filled_in_later(secret) && !is_port(whole, secret),
        };
        means_it
            && !is_visible_placeholder(secret)
            && !PUBLISHED.contains(&secret)
            && (self.entropy == 0.0 || entropy(secret) >= self.entropy)
    }
}

/// Returns true for the port of a host in the place of a password, as in `://example.org:8443@`.
fn is_port(whole: &str, secret: &str) -> bool {
    secret.len() <= 5
        && secret.bytes().all(|byte| byte.is_ascii_digit())
        && whole.trim_start_matches("://").split(':').next().is_some_and(|user| user.contains('.'))
}

/// Returns true if the second word of a match shows that it is a sentence. A line of settings has a name
/// there.
fn is_in_sentence(whole: &str, secret: &str) -> bool {
    let second = whole.split_whitespace().nth(1).unwrap_or_default();
    secret.starts_with('(')
        || ["and", "or", "with", "via", "using", "by", "a", "the", "your", "without", "name"]
            .contains(&second)
}

/// Returns the last group that took part in a match, or the whole match if there are no groups.
fn last_group(captures: &Captures) -> Option<Range<usize>> {
    captures.iter().flatten().last().map(|span| span.range())
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and every test compiles all of them")]
pub(crate) fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern compiles")
}

#[expect(clippy::expect_used, reason = "the forms are constants, and every test compiles all of them")]
fn compile_form(form: &str) -> meta::Regex {
    // We run a pattern only at its literals, so that neither a lazy DFA nor a prefilter pays. Compiling them
    // took an eighth of the time of a keyword search.
    let config = meta::Config::new().hybrid(false).dfa(false).onepass(false).auto_prefilter(false);
    meta::Regex::builder().configure(config).build(form).expect("a constant form compiles")
}

/// Sorts secrets and merges those that overlap. We keep the rule of a pattern rather than that of a name: it
/// is more specific.
pub(crate) fn merge_overlapping(mut found: Vec<FoundSecret>) -> Vec<FoundSecret> {
    found.retain(|found| !found.range.is_empty());
    // A token with a known form is more specific than its position in an address.
    found.sort_by_key(|found| (found.range.start, found.continues, found.rule == URL_CREDENTIALS));
    let mut apart: Vec<FoundSecret> = Vec::with_capacity(found.len());
    for next in found {
        match apart.last_mut().filter(|last| next.range.start < last.range.end) {
            Some(last) => {
                last.range.end = last.range.end.max(next.range.end);
                if last.rule == ASSIGNMENT {
                    last.rule = next.rule;
                }
                last.continues &= next.continues;
            }
            None => apart.push(next),
        }
    }
    apart
}

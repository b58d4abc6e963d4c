//! All rules in one pass: one search for the literals of all of them, then each rule where its literal stands.
//!
//! What the rules find is laid over each other and replaced at once. Time is linear in the text: a hit reads no more
//! than [`MAX_FORM_BYTES`] around it unless it finds something, and what is found is not gone over again.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};
use regex::Regex;
use regex_automata::{Anchored, Input, meta, util::captures::Captures};

use super::assignment::{self, AssignmentScan};
use super::found::FoundSecret;
use super::judge::{Stand, has_random_piece, is_filled_in_later, is_secret, is_wordy, stands_in};
use super::names::{self, NameWeight};
use super::private_key::PrivateKeys;
use super::randomness::entropy;
use super::rules::{ASSIGNMENT, PUBLISHED, RULES, RedactionRule, Unless};
use super::{encoded, kubernetes};
use crate::limits::{MAX_FORM_BYTES, MAX_LOOKS};

/// All rules, compiled.
pub(super) struct RedactionEngine {
    literals: AhoCorasick,
    /// For each literal, the rule of the table that it belongs to; `None` for those of telling names.
    owners: Vec<Option<usize>>,
    /// The forms, compiled when their literal is met for the first time.
    forms: Vec<OnceLock<meta::Regex>>,
    line_prefix: Regex,
    private_keys: PrivateKeys,
}

pub(super) static ENGINE: LazyLock<RedactionEngine> = LazyLock::new(RedactionEngine::new);

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

    /// What is secret in the text, in order and apart.
    pub(super) fn find(&self, text: &str) -> Vec<FoundSecret> {
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
                None if hit.start() >= name_end => {
                    for literal in names.next(text, hit.start()..hit.end()).into_iter().flatten() {
                        name_end = name_end.max(Self::value_at(&scan, &mut names, &literal, &mut found));
                    }
                }
                None => {}
            }
        }
        for (at, run) in runs.iter_mut().enumerate() {
            let put_off = [run.put_off.take(), None];
            self.forms_at(at, text, run, put_off, &mut found);
        }
        if let Some(literal) = names.put_off.take() {
            Self::value_at(&scan, &mut names, &literal, &mut found);
        }
        let keys = self.private_keys.find(text);
        // The lines of a key look like values to the other rules, the number of a line before one like a part of it.
        found.retain(|found| {
            let next = keys.partition_point(|key| key.range.end <= found.range.start);
            keys.get(next).is_none_or(|key| key.range.start >= found.range.end)
        });
        found.extend(keys);
        found.extend(kubernetes::find(text));
        apart(found)
    }

    /// Adds the secret behind the telling name that a literal stands in. Returns the end of the name.
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

    /// Adds the secrets of the form whose literals stand at the ranges.
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

    /// The secret of the form whose literal stands at the range.
    fn form_at(&self, at: usize, text: &str, literal: Range<usize>) -> Option<Range<usize>> {
        let rule = &RULES[at];
        let form = self.forms[at].get_or_init(|| compile(rule.form));
        let end = text.floor_char_boundary(literal.end + MAX_FORM_BYTES);
        let start = text.floor_char_boundary(literal.start.saturating_sub(rule.before));
        // Forms that begin with their literal are looked for nowhere else.
        let anchored = if rule.before == 0 { Anchored::Yes } else { Anchored::No };
        let input = Input::new(text).range(start..end).anchored(anchored);
        let captures = form.captures_iter(input).find(|captures| {
            captures
                .get_match()
                .is_some_and(|whole| whole.range().contains(&literal.start) || whole.start() > literal.start)
        })?;
        let whole = captures.get_match().filter(|whole| whole.start() <= literal.start)?;
        let mut secret = last_group(&captures)?;
        if secret.end == end && whole.end() == end {
            // Behind the bound it goes on as long as nothing ends it.
            secret.end += length_while(&text[end..], is_of_token);
        }
        rule.accepts(&text[secret.clone()], &text[whole.range()]).then_some(secret)
    }
}

/// Characters without a gap in which a rule meets its literals.
///
/// A run of literals is not read once for each of them: behind [`MAX_LOOKS`], only the last one of the run is looked
/// at. A form that is found is none of them, for what stands in it is not looked at.
struct RedactionRun {
    /// Whether a character makes no gap.
    goes_on: fn(u8) -> bool,
    end: usize,
    /// Where the last secret ends.
    found: usize,
    looks: usize,
    put_off: Option<Range<usize>>,
}

impl RedactionRun {
    fn new(goes_on: fn(u8) -> bool) -> Self {
        Self { goes_on, end: 0, found: 0, looks: 0, put_off: None }
    }

    /// The literals that are looked at now that this one is met: perhaps the last one of the run before, perhaps this one.
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

/// Whether a character can stand in a value without quotes, in every place where one may be given.
fn is_of_value(byte: u8) -> bool {
    byte > b' ' && !b"\"'`,;&<>|(){}".contains(&byte)
}

fn length_while(text: &str, goes_on: fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| goes_on(*byte)).count()
}

impl RedactionRule {
    /// Whether the secret of a match is what the rule is about.
    fn accepts(&self, secret: &str, whole: &str) -> bool {
        let means_it = match self.unless {
            Unless::Never => true,
            Unless::Name => !is_wordy(secret),
            Unless::Placeholder => !is_filled_in_later(secret),
            Unless::LowerWord => {
                !secret.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-.".contains(&byte))
                    && !is_filled_in_later(secret)
            }
            Unless::NothingRandom => has_random_piece(secret),
            Unless::NoKey => encoded::is_private_key(secret),
            Unless::Sentence => !is_filled_in_later(secret) && !is_in_sentence(whole, secret),
            Unless::NoPassword => {
                !is_filled_in_later(secret) && is_secret(secret, NameWeight::Password, Stand::Argument)
            }
            Unless::Port => !is_filled_in_later(secret) && !is_port(whole, secret),
        };
        means_it
            && !stands_in(secret)
            && !PUBLISHED.contains(&secret)
            && (self.entropy == 0.0 || entropy(secret) >= self.entropy)
    }
}

/// `://example.org:8443@`: the port of a host, where a person has a password.
fn is_port(whole: &str, secret: &str) -> bool {
    secret.len() <= 5
        && secret.bytes().all(|byte| byte.is_ascii_digit())
        && whole.trim_start_matches("://").split(':').next().is_some_and(|user| user.contains('.'))
}

/// Whether the second word of a match, where a line of settings has a name, makes it a sentence.
fn is_in_sentence(whole: &str, secret: &str) -> bool {
    let second = whole.split_whitespace().nth(1).unwrap_or_default();
    secret.starts_with('(')
        || ["and", "or", "with", "via", "using", "by", "a", "the", "your", "without", "name"]
            .contains(&second)
}

/// The last group that took part in a match, without groups the whole.
fn last_group(captures: &Captures) -> Option<Range<usize>> {
    captures.iter().flatten().last().map(|span| span.range())
}

#[expect(clippy::expect_used, reason = "the forms are constants, and every test compiles all of them")]
fn compile(form: &str) -> meta::Regex {
    let config = meta::Config::new().hybrid(false).dfa(false).onepass(false).auto_prefilter(false);
    meta::Regex::builder().configure(config).build(form).expect("a constant form compiles")
}

/// What was found, in order, with what overlaps made one. A form of its own tells more than a name.
pub(super) fn apart(mut found: Vec<FoundSecret>) -> Vec<FoundSecret> {
    found.retain(|found| !found.range.is_empty());
    found.sort_by_key(|found| (found.range.start, found.continues));
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

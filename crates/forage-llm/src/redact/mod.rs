//! Secrets out of text, before it leaves the machine.
//!
//! [`Redactor::redact`] is the only way from text to [`Redacted`], and [`Redacted`] is the only text that a request
//! to a model is made of. What a rule finds is replaced by `[redacted:RULE]`; lines are never joined, split or
//! dropped, so that line numbers stay right. There are two kinds of rules: forms that nothing else has (`rules` is
//! their table), and values behind telling names (`names`, `assignment`), on which `judge` decides by how they
//! stand there and how random they look (`randomness`).
//!
//! It cannot find everything. Known gaps: the middle of a key block without its first and last line, which is for those
//! to hide who have the whole file, and secrets without any telling form or name.

mod assignment;
mod encoded;
mod engine;
mod found;
mod judge;
mod kubernetes;
mod mark;
mod names;
mod private_key;
mod randomness;
mod rules;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use regex::Regex;

use crate::limits::MAX_REDACTION_ROUNDS;
use engine::ENGINE;
use found::FoundSecret;

/// The number of secrets that each rule found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RedactionCounts(BTreeMap<&'static str, usize>);

impl RedactionCounts {
    /// The counts by rule; rules that found nothing are absent. A private key counts once, however many lines it has.
    pub fn by_rule(&self) -> &BTreeMap<&'static str, usize> {
        &self.0
    }

    /// Secrets found by all rules together.
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// Adds the counts of another text.
    pub fn add_all(&mut self, other: &Self) {
        for (rule, count) in &other.0 {
            self.add(rule, *count);
        }
    }

    fn add(&mut self, rule: &'static str, count: usize) {
        if count > 0 {
            *self.0.entry(rule).or_default() += count;
        }
    }
}

/// Text that may leave the machine.
///
/// `Debug` shows its length and counts, not the text: it is still someone's source code.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redacted {
    text: String,
    counts: RedactionCounts,
}

impl Redacted {
    /// Text of the program itself, which holds no secret. That it is `'static` keeps file text out.
    pub fn trusted(text: &'static str) -> Self {
        Self { text: text.to_owned(), counts: RedactionCounts::default() }
    }

    /// Joins parts without anything between them, and adds their counts up.
    pub fn concat(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut whole = Self::default();
        for part in parts {
            whole.push(&part);
        }
        whole
    }

    /// Appends another text and adds its counts.
    pub fn push(&mut self, part: &Self) {
        self.text.push_str(&part.text);
        self.counts.add_all(&part.counts);
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the counts of the secrets that were replaced in it, by rule.
    pub fn counts(&self) -> &RedactionCounts {
        &self.counts
    }
}

impl fmt::Debug for Redacted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Redacted")
            .field("bytes", &self.text.len())
            .field("counts", &self.counts.0)
            .finish()
    }
}

/// Replaces secrets in text.
#[derive(Debug, Clone, Copy)]
pub struct Redactor {
    active: bool,
}

impl Redactor {
    /// All rules.
    pub fn standard() -> Self {
        Self { active: true }
    }

    /// No rules: the text passes unchanged. For the user who has switched redaction off, and for tests that show
    /// what it prevents.
    pub fn off() -> Self {
        Self { active: false }
    }

    /// Returns whether there are rules: false for [`Redactor::off`] alone.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Replaces every secret that a rule finds. The result has as many lines as the text, and redacting it again
    /// changes nothing.
    pub fn redact(&self, text: &str) -> Redacted {
        let mut counts = RedactionCounts::default();
        if !self.active {
            return Redacted { text: text.to_owned(), counts };
        }
        let mut current = mark::hide(text).map_or(Cow::Borrowed(text), Cow::Owned);
        for _ in 0..MAX_REDACTION_ROUNDS {
            let found = ENGINE.find(&current);
            if found.is_empty() {
                break;
            }
            for found in found.iter().filter(|found| !found.continues) {
                counts.add(found.rule, 1);
            }
            current = Cow::Owned(replaced(&current, &found));
        }
        let text = match current {
            Cow::Borrowed(text) => text.to_owned(),
            Cow::Owned(marked) => mark::show(&marked),
        };
        Redacted { text, counts }
    }
}

/// The text with marks in the place of what was found, which is in order and apart.
fn replaced(text: &str, found: &[FoundSecret]) -> String {
    let mut output = String::with_capacity(text.len());
    let mut copied = 0;
    for found in found {
        output.push_str(&text[copied..found.range.start]);
        mark::push(&mut output, found.rule);
        copied = found.range.end;
    }
    output.push_str(&text[copied..]);
    output
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and every test compiles all of them")]
fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern compiles")
}

#[cfg(test)]
mod tests;

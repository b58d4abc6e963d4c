//! Replaces the secrets of a text with marks, and counts them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use crate::engine::{ENGINE, FoundSecret};
use crate::limits::MAX_REDACTION_ROUNDS;
use crate::mark;

/// The number of secrets that each rule found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RedactionCounts(BTreeMap<&'static str, usize>);

impl RedactionCounts {
    /// Returns the counts by rule. Rules that found nothing are missing. A private key counts once, no matter
    /// how many lines it has.
    pub fn by_rule(&self) -> &BTreeMap<&'static str, usize> {
        &self.0
    }

    /// Counts the secrets that all rules have found together.
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
/// `Debug` shows its length and counts but not the text, which is still someone's source code.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redacted {
    text: String,
    counts: RedactionCounts,
}

impl Redacted {
    /// Wraps text of the program itself, which contains no secret. It must be `'static`, so text of files
    /// can't get in.
    pub fn trusted(text: &'static str) -> Self {
        Self { text: text.to_owned(), counts: RedactionCounts::default() }
    }

    /// Joins parts without a separator, and adds their counts.
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

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns how many secrets each rule has replaced in it.
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
    /// Creates a redactor with all rules.
    pub fn standard() -> Self {
        Self { active: true }
    }

    /// Creates a redactor without rules, which leaves text unchanged. This is for users who have switched
    /// redaction off, and for tests that compare both.
    pub fn off() -> Self {
        Self { active: false }
    }

    /// Returns true if there are rules, which is the case unless [`Redactor::off`] created it.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Replaces every secret that a rule finds. The result has as many lines as the text, and redacting it
    /// again does not change it.
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

/// Replaces the secrets with marks. They must be in order and must not overlap.
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

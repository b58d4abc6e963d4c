//! Counts of removed secrets.

use std::collections::BTreeMap;

use crate::mark::{marks, rule_of};
use crate::redactor::RedactionCounts;

/// Counts of the secrets that were removed from an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionReport {
    by_rule: BTreeMap<String, usize>,
    in_names: bool,
}

impl RedactionReport {
    /// Sums up the secrets found by all rules. A private key counts once, however many consecutive lines of
    /// it are shown.
    pub fn total(&self) -> usize {
        self.by_rule.values().sum()
    }

    /// Returns the count for each rule that found something.
    pub fn by_rule(&self) -> &BTreeMap<String, usize> {
        &self.by_rule
    }

    /// Returns true if the name of a file or directory had a secret. The shown name can't be opened then.
    pub fn in_names(&self) -> bool {
        self.in_names
    }

    /// Adds the counts of another answer.
    pub fn add_all(&mut self, other: &Self) {
        for (rule, count) in &other.by_rule {
            *self.by_rule.entry(rule.clone()).or_default() += count;
        }
        self.in_names |= other.in_names;
    }

    /// Adds the counts of a redacted text.
    pub fn add_counts(&mut self, counts: &RedactionCounts) {
        for (rule, count) in counts.by_rule() {
            *self.by_rule.entry((*rule).to_owned()).or_default() += count;
        }
    }

    pub(crate) fn add(&mut self, rule: &str) {
        *self.by_rule.entry(rule.to_owned()).or_default() += 1;
    }

    pub(crate) fn add_name(&mut self) {
        self.in_names = true;
    }

    /// Counts the marks in `after` that are not in `before`, except those of the rule `but`.
    pub(crate) fn add_new(&mut self, before: &str, after: &str, but: Option<&str>) {
        let mut had: Vec<&str> = marks(before).map(|mark| rule_of(&before[mark])).collect();
        for rule in marks(after).map(|mark| rule_of(&after[mark])).filter(|rule| Some(*rule) != but) {
            match had.iter().position(|had| *had == rule) {
                Some(at) => drop(had.swap_remove(at)),
                None => self.add(rule),
            }
        }
    }
}

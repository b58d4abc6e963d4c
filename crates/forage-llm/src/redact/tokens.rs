//! Secrets with a format of their own.
//!
//! The patterns have no word boundary in front, so that a token glued to other text is found too, and no upper
//! length, so that no tail survives. Each begins with a literal, which the regex engine searches for first; text
//! without it costs one fast scan.

use regex::Regex;

use super::judge::{is_filled_in_later, is_wordy};
use super::{Edits, RedactionCounts, compile};

/// Whether a match is a secret after all.
type Accept = fn(&str) -> bool;

/// A rule of one pattern: its first group, or without one the whole match, is the secret.
pub(super) struct TokenRule {
    name: &'static str,
    regex: Regex,
    accept: Accept,
}

impl TokenRule {
    #[cfg(test)]
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// The text with the rule's secrets replaced, `None` without any.
    pub(super) fn redact(&self, text: &str, counts: &mut RedactionCounts) -> Option<String> {
        let mut edits = Edits::new(text);
        for captures in self.regex.captures_iter(text) {
            let secret = captures.iter().flatten().last();
            if let Some(secret) = secret.filter(|secret| (self.accept)(secret.as_str())) {
                edits.replace(secret.start(), secret.end(), self.name);
            }
        }
        counts.add(self.name, edits.count);
        edits.finish()
    }
}

/// All token rules, in the order in which they run.
pub(super) fn all() -> Vec<TokenRule> {
    let rule = |&(name, pattern, accept): &(&'static str, &str, Accept)| TokenRule {
        name,
        regex: compile(pattern),
        accept,
    };
    RULES.iter().map(rule).collect()
}

const ANY: Accept = |_| true;
const NO_WORDS: Accept = |secret| !is_wordy(secret);
const OWN_TEXT: Accept = |secret| !is_filled_in_later(secret);
/// A lower-case word behind «Authorization: Basic» is prose.
const NO_LOWER_WORD: Accept = |secret| !secret.bytes().all(|byte| byte.is_ascii_lowercase());

#[rustfmt::skip]
const RULES: &[(&str, &str, Accept)] = &[
    ("jwt", r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,4}", ANY),
    ("aws-access-key-id", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}", ANY),
    ("aws-secret-access-key",
        r#"(?i-u)secret[_. -]?(?:access[_. -]?)?key[A-Za-z0-9_."'`\])\\]{0,8}[ \t]*(?::=|=>|[:=,])[ \t]*\\?["'`]?([A-Za-z0-9/+=]{40,})"#,
        NO_WORDS),
    ("github-token", r"(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})", ANY),
    ("gitlab-token", r"gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|oas|imt)-[A-Za-z0-9_-]{16,}", NO_WORDS),
    ("slack-token", r"(?:xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})", ANY),
    ("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}", ANY),
    ("stripe-key", r"(?:[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{20,})", ANY),
    // `sk-` also ends words such as «task-»; what follows then is words again.
    ("llm-api-key", r"(?:sk-[A-Za-z0-9_-]{20,}|(?:gsk|hf|fw)_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,})", NO_WORDS),
    ("google-api-key", r"AIza[A-Za-z0-9_-]{30,}", ANY),
    ("npm-token", r"npm_[A-Za-z0-9]{30,}", ANY),
    ("pypi-token", r"pypi-[A-Za-z0-9_-]{40,}", ANY),
    ("authorization-header",
        r#"(?i-u)authorization[ \t"'`\\:=,(\[\])>]{1,12}(?:bearer|basic|token|apikey|digest|negotiate)[ \t]+["']?([A-Za-z0-9._~+/=:-]{6,})"#,
        NO_LOWER_WORD),
    ("authorization-header", r"(?i-u)bearer[ \t]+([A-Za-z0-9._~+/=-]{16,})", NO_WORDS),
    // The greedy group takes a password with an unescaped `@` whole.
    ("url-credentials", r#"://[^\s/:@"'`<>]*:([^\s/"'`<>]+)@"#, OWN_TEXT),
];

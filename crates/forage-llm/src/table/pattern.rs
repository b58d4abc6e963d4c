//! Patterns for model ids.

use serde::Deserialize;

/// A pattern that must match a whole id, ignoring case. `*` matches any characters, or none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct IdPattern {
    written: String,
    lower: String,
}

impl IdPattern {
    /// Returns true if the id matches, ignoring ASCII case.
    pub fn matches(&self, id: &str) -> bool {
        let mut parts = self.lower.split('*').map(str::as_bytes);
        let id = id.to_ascii_lowercase();
        let id = id.as_bytes();
        let Some(mut rest) = id.strip_prefix(parts.next().unwrap_or_default()) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        // Using the first occurrence of each part leaves the most text for later parts.
        for part in parts.filter(|part| !part.is_empty()) {
            let Some(at) = rest.windows(part.len()).position(|window| window == part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }

    /// Returns true if the pattern has no `*` and therefore names one model.
    pub fn is_exact(&self) -> bool {
        !self.lower.contains('*')
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

impl TryFrom<String> for IdPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return Err(format!(
                "{text:?} is not a pattern for model ids; write an id, or a part of one with `*`"
            ));
        }
        Ok(Self { lower: text.to_ascii_lowercase(), written: text })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, id: &str) -> bool {
        IdPattern::try_from(pattern.to_owned()).unwrap().matches(id)
    }

    #[test]
    fn a_pattern_covers_the_whole_id() {
        for (pattern, id) in [
            ("*", ""),
            ("*", "a/b"),
            ("abc", "ABC"),
            ("*qwen*coder*", "accounts/fireworks/models/Qwen3-Coder-30b"),
            ("gpt-*-mini*", "gpt-5-mini-2025"),
            ("a*a", "aa"),
            ("*ab*", "aab"),
            ("a*bc*c", "abcbc-c"),
        ] {
            assert!(matches(pattern, id), "{pattern} {id}");
        }
        for (pattern, id) in [
            ("abc", "abcd"),
            ("abc", "xabc"),
            ("a*a", "a"),
            ("gpt-*-mini*", "gpt-mini"),
            ("*qwen*coder*", "coder-qwen"),
            ("a*bc*c", "abc"),
        ] {
            assert!(!matches(pattern, id), "{pattern} {id}");
        }
        assert!(
            IdPattern::try_from(" ".to_owned()).is_err() && IdPattern::try_from("a\n".to_owned()).is_err()
        );
    }

    /// A reference implementation, without regard to its run time.
    fn naive(pattern: &[u8], id: &[u8]) -> bool {
        match (pattern.split_first(), id.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) => naive(rest, id) || (!id.is_empty() && naive(pattern, &id[1..])),
            (Some((p, rest)), Some((i, others))) => p == i && naive(rest, others),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn matching_is_what_it_is_defined_to_be(pattern in "[ab*]{1,8}", id in "[ab]{0,10}") {
            prop_assert_eq!(matches(&pattern, &id), naive(pattern.as_bytes(), id.as_bytes()));
        }
    }
}

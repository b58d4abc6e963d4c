//! The form of redactions while the rules run.
//!
//! `[redacted:github-token]` looks like a name with a value. Later rules could match it, and so could all
//! rules when redacted text is redacted again. During a run, we therefore replace every such mark, old or
//! new, with two private characters that no rule matches. At the end, we convert them back to text.

use std::sync::LazyLock;

use crate::rules::{ASSIGNMENT, KUBERNETES, PRIVATE_KEY, RULES};

/// The sorted names of all rules.
pub(crate) static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
    names.extend([PRIVATE_KEY, ASSIGNMENT, KUBERNETES]);
    names.sort_unstable();
    names.dedup();
    names
});

/// The first of the two characters. If a text already contains it, we add [`LITERAL`] after it.
pub(crate) const MARK: char = '\u{10fffd}';
const FIRST_CODE: char = '\u{f0000}';
const LITERAL: char = '\u{effff}';
const OPEN: &str = "[redacted:";

/// Appends the mark that replaces a secret during a run.
pub(crate) fn push(output: &mut String, rule: &str) {
    let index = NAMES.iter().position(|name| *name == rule).unwrap_or_default();
    output.extend([MARK, (FIRST_CODE..).nth(index).unwrap_or(FIRST_CODE)]);
}

/// Replaces the marks in a text with private characters. Returns `None` if there are no marks.
pub(crate) fn hide(text: &str) -> Option<String> {
    if !text.contains(OPEN) && !text.contains(MARK) {
        return None;
    }
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([MARK, '[']) {
        let (before, from) = rest.split_at(at);
        output.push_str(before);
        let rule = from.strip_prefix(OPEN).and_then(|rule| rule.split_once(']')).map(|(rule, _)| rule);
        if let Some(rule) = rule.filter(|rule| NAMES.contains(rule)) {
            push(&mut output, rule);
            rest = &from[OPEN.len() + rule.len() + 1..];
        } else if let Some(after) = from.strip_prefix(MARK) {
            output.extend([MARK, LITERAL]);
            rest = after;
        } else {
            output.push('[');
            rest = &from[1..];
        }
    }
    output.push_str(rest);
    Some(output)
}

/// Converts the private characters back to marks.
pub(crate) fn show(text: &str) -> String {
    let mut parts = text.split(MARK);
    let mut output = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut characters = part.chars();
        match characters.next() {
            Some(code) if code >= FIRST_CODE => {
                let rule = NAMES.get(u32::from(code) as usize - u32::from(FIRST_CODE) as usize);
                output.extend([OPEN, rule.copied().unwrap_or("secret"), "]"]);
            }
            _ => output.push(MARK),
        }
        output.push_str(characters.as_str());
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hiding_and_showing_gives_the_text_back() {
        for text in [
            "[redacted:jwt][redacted:odd] [x] [redacted:",
            "\u{10fffd}\u{f0001}[redacted:npm-token]\u{10fffd}",
        ] {
            assert_eq!(show(&hide(text).unwrap()), text);
        }
        assert_eq!(hide("[1]"), None);
    }
}

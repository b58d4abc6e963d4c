//! How a redaction is written while the rules run.
//!
//! `[redacted:github-token]` would itself look like a name with a value to the rules that run after the one that
//! wrote it, and to all rules when redacted text is redacted again. So within a run every such mark, old or new, is
//! two private characters, which no rule takes for anything; at the end they become text.

use std::sync::LazyLock;

use super::rules::{ASSIGNMENT, KUBERNETES, PRIVATE_KEY, RULES};

/// The names of all rules.
pub(super) static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
    names.extend([PRIVATE_KEY, ASSIGNMENT, KUBERNETES]);
    names.sort_unstable();
    names.dedup();
    names
});

/// The first of the two characters. Where a text has it already, [`LITERAL`] follows.
pub(super) const MARK: char = '\u{10fffd}';
const FIRST_CODE: char = '\u{f0000}';
const LITERAL: char = '\u{effff}';
const OPEN: &str = "[redacted:";

/// What stands in the place of a secret during a run.
pub(super) fn push(output: &mut String, rule: &str) {
    let index = NAMES.iter().position(|name| *name == rule).unwrap_or_default();
    output.extend([MARK, (FIRST_CODE..).nth(index).unwrap_or(FIRST_CODE)]);
}

/// The text with its marks in private characters, `None` when it has none.
pub(super) fn hide(text: &str) -> Option<String> {
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

/// The text with its marks written out.
pub(super) fn show(text: &str) -> String {
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

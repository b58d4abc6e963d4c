//! The marks that replace secrets, and their form while the rules run.
//!
//! A mark such as `[redacted:github-token]` looks like a name with a value. Later rules could match it, and
//! so could all rules when redacted text is redacted again. During a run, we therefore replace every mark,
//! old or new, with two private characters that no rule matches. At the end, we convert them back to text.

use std::ops::Range;
use std::sync::LazyLock;

use crate::rules::{ASSIGNMENT, KUBERNETES, PRIVATE_KEY, RULES};

/// The start of the mark that replaces a secret. The name of the rule and a bracket follow.
pub const MARK: &str = "[redacted:";
/// The mark that replaces a private key, or a line of one.
pub const KEY_MARK: &str = "[redacted:private-key]";

/// The sorted names of all rules.
pub(crate) static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
    names.extend([PRIVATE_KEY, ASSIGNMENT, KUBERNETES]);
    names.sort_unstable();
    names.dedup();
    names
});

/// The first of the two private characters. If a text already contains it, we add [`LITERAL`] after it.
pub(crate) const PRIVATE_MARK: char = '\u{10fffd}';
const FIRST_CODE: char = '\u{f0000}';
const LITERAL: char = '\u{effff}';

/// Appends the mark that replaces a secret during a run.
pub(crate) fn push(output: &mut String, rule: &str) {
    let index = NAMES.iter().position(|name| *name == rule).unwrap_or_default();
    output.extend([PRIVATE_MARK, (FIRST_CODE..).nth(index).unwrap_or(FIRST_CODE)]);
}

/// Replaces the marks in a text with private characters. Returns `None` if there are no marks.
pub(crate) fn hide(text: &str) -> Option<String> {
    if !text.contains(MARK) && !text.contains(PRIVATE_MARK) {
        return None;
    }
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([PRIVATE_MARK, '[']) {
        let (before, from) = rest.split_at(at);
        output.push_str(before);
        let rule = from.strip_prefix(MARK).and_then(|rule| rule.split_once(']')).map(|(rule, _)| rule);
        if let Some(rule) = rule.filter(|rule| NAMES.contains(rule)) {
            push(&mut output, rule);
            rest = &from[MARK.len() + rule.len() + 1..];
        } else if let Some(after) = from.strip_prefix(PRIVATE_MARK) {
            output.extend([PRIVATE_MARK, LITERAL]);
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
    let mut parts = text.split(PRIVATE_MARK);
    let mut output = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut characters = part.chars();
        match characters.next() {
            Some(code) if code >= FIRST_CODE => {
                let rule = NAMES.get(u32::from(code) as usize - u32::from(FIRST_CODE) as usize);
                output.extend([MARK, rule.copied().unwrap_or("secret"), "]"]);
            }
            _ => output.push(PRIVATE_MARK),
        }
        output.push_str(characters.as_str());
    }
    output
}

/// Finds the marks in a text.
pub(crate) fn marks(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    text.match_indices(MARK).filter_map(|(at, _)| {
        let rule = &text[at + MARK.len()..];
        let end =
            rule.find(|character: char| !(character.is_ascii_alphanumeric() || "-_.".contains(character)))?;
        (end > 0 && rule[end..].starts_with(']')).then_some(at..at + MARK.len() + end + 1)
    })
}

/// Returns the rule of a mark.
pub(crate) fn rule_of(mark: &str) -> &str {
    &mark[MARK.len()..mark.len() - 1]
}

/// Finds the replacements in a text, as ranges of the old and the new text. We use them only to move match
/// positions, so they may be inexact. If the text between the marks is ambiguous, the ranges are wider or
/// elsewhere within the text.
pub fn replacements(before: &str, after: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let whole = || vec![(0..before.len(), 0..after.len())];
    let marks: Vec<Range<usize>> = marks(after).collect();
    let (Some(first), Some(last)) = (marks.first(), marks.last()) else { return whole() };
    let (head, tail) = (&after[..first.start], &after[last.end..]);
    if !before.starts_with(head) || !before[head.len()..].ends_with(tail) {
        return whole();
    }
    let (mut at, end) = (head.len(), before.len() - tail.len());
    let mut replacements = Vec::with_capacity(marks.len());
    for (index, mark) in marks.iter().enumerate() {
        let until = match marks.get(index + 1) {
            None => end,
            Some(next) => match before[at..end].find(&after[mark.end..next.start]) {
                Some(found) => at + found,
                None => return whole(),
            },
        };
        replacements.push((at..until, mark.clone()));
        at = until + marks.get(index + 1).map_or(0, |next| next.start - mark.end);
    }
    replacements
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

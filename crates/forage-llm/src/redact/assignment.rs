//! Values assigned to telling names: `password = "…"`, `API_KEY: …`, `--token …`.
//!
//! A regex finds the names; what follows is read by hand, because where a value ends depends on how it is quoted
//! and whether it is a secret depends on how it looks.

use regex::Regex;

use super::judge::{is_random, is_variable, is_wordy};
use super::{Edits, RedactionCounts, compile};

const NAME: &str = "secret-assignment";

/// Longest rest of a name behind the telling word, in bytes; longer ones are no names.
const MAX_NAME_REST: usize = 40;

/// Longest type between a name and its `=`, in bytes, as in `TOKEN: &'static str = "…"`.
const MAX_TYPE: usize = 60;

/// The rule for assignments.
pub(super) struct Assignments {
    name: Regex,
    /// What may stand between a line's start and its text in an excerpt: white space and a line number.
    line_prefix: Regex,
}

/// A value that could be a secret.
struct Value {
    start: usize,
    end: usize,
    quoted: bool,
    /// The value is what the name is given, not an argument of a call that makes it.
    direct: bool,
}

impl Assignments {
    pub(super) fn new() -> Self {
        Self {
            name: compile(
                r"(?i-u)password|passwd|passphrase|pwd|secret|token|(?:api|private|access)[_-]?key",
            ),
            line_prefix: compile(r"^[ \t>*]*(?:[0-9]{1,7}(?:[ \t]*[:|-]|\t))?[ \t]*"),
        }
    }

    /// The text with assigned secrets replaced, `None` without any.
    pub(super) fn redact(&self, text: &str, counts: &mut RedactionCounts) -> Option<String> {
        let mut edits = Edits::new(text);
        let mut scan = Scan { text, line_prefix: &self.line_prefix, runs: [(0, 0); 2] };
        let mut from = 0;
        while let Some(name) = self.name.find_at(text, from) {
            // On refusal the search goes on right behind the name: the value may hold another assignment.
            from = name.end();
            let strong = name.as_str().to_ascii_lowercase().starts_with(['p', 's'])
                && !name.as_str().to_ascii_lowercase().starts_with("private");
            if let Some(value) = scan.secret_after(name.start(), name.end(), strong) {
                edits.replace(value.start, value.end, NAME);
                from = value.end;
            }
        }
        counts.add(NAME, edits.count);
        edits.finish()
    }
}

struct Scan<'t> {
    text: &'t str,
    line_prefix: &'t Regex,
    /// Start and end of the last bare run of each kind. Names inside one long run (`token=token=…`) would otherwise
    /// each scan it to its end.
    runs: [(usize, usize); 2],
}

impl Scan<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(b'\n')
    }

    fn skip(&self, mut at: usize, limit: usize, wanted: impl Fn(u8) -> bool) -> usize {
        let stop = at.saturating_add(limit).min(self.text.len());
        while at < stop && wanted(self.byte(at)) {
            at += 1;
        }
        at
    }

    fn skip_blanks(&self, at: usize) -> usize {
        self.skip(at, usize::MAX, |byte| byte == b' ' || byte == b'\t')
    }

    /// The secret that the name between the offsets is given, if it is given one.
    fn secret_after(&mut self, start: usize, end: usize, strong: bool) -> Option<Value> {
        let name_end =
            self.skip(end, MAX_NAME_REST, |byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        // `password_prompt` is no password; `password2` is.
        let strong = strong && self.text[end..name_end].bytes().all(|byte| byte.is_ascii_digit());
        let closed = self.skip(name_end, 4, |byte| b"\"'`])\\".contains(&byte));
        let mut at = self.skip_blanks(closed);
        if at > closed && self.text[at..].starts_with("value") {
            // `<add key="password" value="…"/>`
            at = self.skip_blanks(at + "value".len());
        }
        let operator_end = self.skip(at, 3, |byte| b"=:>?|+!~".contains(&byte));
        if operator_end > at {
            let after_type = self.after_type(at, operator_end).and_then(|at| self.value(at, true));
            // A quoted value behind a type is the value, because the `'` of a lifetime looks like an open quote; a
            // bare one comes second, because the `=` before it may be part of the value.
            let candidates = match after_type {
                Some(value) if value.quoted => [Some(value), None],
                after_type => [self.value(operator_end, true), after_type],
            };
            return candidates.into_iter().flatten().find(|value| self.is_secret(value, strong));
        }
        let value = match self.byte(at) {
            b'(' => self.value(at + 1, true).filter(|value| value.quoted),
            b',' if closed > name_end => self.value(at + 1, true).filter(|value| value.quoted),
            _ if at > name_end && self.is_option(start) => self.value(at, false),
            _ => None,
        };
        value.filter(|value| self.is_secret(value, strong))
    }

    /// Whether the name that the offset lies in is a command-line option.
    fn is_option(&self, start: usize) -> bool {
        let name = &self.text.as_bytes()[start.saturating_sub(MAX_NAME_REST)..start];
        let first =
            name.iter().rposition(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'_'));
        name[first.map_or(0, |at| at + 1)..].starts_with(b"--")
    }

    /// Behind the `=` of `name: type =`.
    fn after_type(&self, operator: usize, operator_end: usize) -> Option<usize> {
        if &self.text[operator..operator_end] != ":" {
            return None;
        }
        let is_type = |byte: u8| byte.is_ascii_alphanumeric() || b"_ &<>'[]:.?|*".contains(&byte);
        let end = self.skip(operator_end, MAX_TYPE, is_type);
        (self.byte(end) == b'=').then_some(end + 1)
    }

    /// The value that begins at the offset, white space apart. With `or_next_line`, a quoted one may begin in the
    /// next line.
    fn value(&mut self, at: usize, or_next_line: bool) -> Option<Value> {
        // `DB_PASSWORD=…` without a space, as in shells and their settings files.
        let is_shell = at > 1 && self.byte(at - 1) == b'=' && {
            let last = self.byte(at - 2);
            last.is_ascii_uppercase() || last.is_ascii_digit() || last == b'_'
        };
        let mut at = self.skip_blanks(at);
        let line_end = self.skip(at, 2, |byte| byte == b'\\' || byte == b'\r');
        if or_next_line && line_end < self.text.len() && self.byte(line_end) == b'\n' {
            let next = line_end + 1;
            let prefix = self.line_prefix.find(&self.text[next..]).map_or(0, |prefix| prefix.len());
            at = next + prefix;
            return self.quoted(at, true);
        }
        if let Some(value) = self.quoted(at, true) {
            return Some(value);
        }
        let end = self.bare_end(at, is_shell);
        if end == at {
            return None;
        }
        // `Secret::from("…")`: the value is the argument.
        if self.byte(end) == b'('
            && let Some(value) = self.quoted(end + 1, false)
        {
            return Some(value);
        }
        Some(Value { start: at, end, quoted: false, direct: true })
    }

    /// A quoted value, with the prefix letters of raw, byte and format strings. Without a closing quote, as in a
    /// line that was cut, it ends with the line.
    fn quoted(&self, at: usize, direct: bool) -> Option<Value> {
        let is_quote = |byte: u8| b"\"'`".contains(&byte);
        let mut at = self.skip(at, 2, |byte| byte.is_ascii_alphabetic() || b"@&$".contains(&byte));
        at = self.skip(at, 2, |byte| byte == b'#');
        let escapes = self.skip(at, 3, |byte| byte == b'\\') - at;
        let quote = self.byte(at + escapes);
        if !is_quote(quote) {
            return None;
        }
        let open = at + escapes;
        let triple = self.skip(open, 3, |byte| byte == quote) - open == 3;
        let start = if triple { open + 3 } else { open + 1 };
        let bytes = self.text.as_bytes();
        let mut end = start;
        let mut slashes = 0;
        while end < bytes.len() && bytes[end] != b'\n' {
            match bytes[end] {
                b'\\' => slashes += 1,
                // In a string within a string, the same number of backslashes closes as opened.
                byte if byte == quote && (slashes == escapes || (escapes == 0 && slashes % 2 == 0)) => break,
                _ => slashes = 0,
            }
            end += 1;
        }
        let closed = end < bytes.len() && bytes[end] == quote;
        end -= if closed { escapes.min(end - start) } else { 0 };
        if !closed && self.text[..end].ends_with('\r') {
            end = (end - 1).max(start);
        }
        Some(Value { start, end, quoted: true, direct })
    }

    /// Where an unquoted value ends: in shell settings with the word, else at the punctuation of code.
    fn bare_end(&mut self, at: usize, is_shell: bool) -> usize {
        let (start, end) = self.runs[usize::from(is_shell)];
        if (start..end).contains(&at) {
            return end;
        }
        let ends: &[u8] = if is_shell { b"\"'`" } else { b"\"'`,;&<>(){}[]|\\" };
        let end = self.skip(at, usize::MAX, |byte| byte.is_ascii_graphic() && !ends.contains(&byte));
        self.runs[usize::from(is_shell)] = (at, end);
        end
    }

    /// Whether the value is a secret. `strong`: the name says so plainly, so that words count too.
    fn is_secret(&self, value: &Value, strong: bool) -> bool {
        let text = &self.text[value.start..value.end];
        if !is_random(text) || text.contains("://") {
            return false;
        }
        if value.quoted {
            return (strong && value.direct) || !is_wordy(text);
        }
        !is_variable(text) && !is_wordy(text) && !self.is_call(value)
    }

    /// Whether a bare value is a call or an element, or the part before its bracket, as in `b64decode_v2utf8(…)`.
    fn is_call(&self, value: &Value) -> bool {
        let text = &self.text[value.start..value.end];
        if let Some(bracket) = text.find(['(', '[']) {
            return is_wordy(&text[..bracket]);
        }
        let is_path = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:".contains(&byte));
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        b"([".contains(&self.byte(value.end)) && is_path && digits * 4 <= text.len()
    }
}

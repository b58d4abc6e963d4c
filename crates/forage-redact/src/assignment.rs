//! Values of sensitive names: `password = "…"`, `API_KEY: …`, `--token …`, `<secret>…</secret>`.
//!
//! We parse the text after a name by hand: the end of a value depends on its quotes. Whether the value is a
//! secret depends on its syntactic context and on how it looks. The parser does not know the language: it
//! distinguishes settings, elements and code by the line alone.

use std::ops::Range;

use regex::Regex;

use crate::engine::compile;
use crate::judge::{ValueContext, is_secret};
use crate::limits::{MAX_BLOCK_LINES, MAX_VALUE_BYTES};
use crate::names::{self, NameWeight, name_weight};

/// Maximum length of a name in bytes, also of its part after the literal that we found. Longer ones are not
/// names.
const MAX_NAME: usize = 80;

/// Maximum length in bytes of a type between a name and its `=`, for example in `TOKEN: &'static str = "…"`.
const MAX_TYPE: usize = 60;

/// Maximum length in bytes of a line of a table with a column of secrets.
const MAX_ROW: usize = 400;

/// Maximum number of lines after the name of a Terraform variable in which we look for its default.
const MAX_VARIABLE_LINES: usize = 8;

/// Maximum number of blanks that we skip between a name and its value. This is enough for aligned settings.
const MAX_BLANKS: usize = 80;

/// Maximum number of bytes before a name in its line. Beyond this, the name does not begin a line of
/// settings.
const MAX_LINE_HEAD: usize = 1_024;

/// Operators between a name and its value, longest first.
const OPERATORS: &[&str] = &[
    ":::=", "!==", "===", "??=", "||=", "::=", "=>", "->", ":=", "?=", "+=", ".=", "==", "!=", "~=", "=~",
    "=", ":", ">", "|",
];

/// Returns true if a word is a string type in one of many languages.
fn is_text_type(word: &str) -> bool {
    let bare = word.trim_matches(['*', '&', '[', ']']).to_ascii_lowercase();
    matches!(
        bare.as_str(),
        "string"
            | "str"
            | "byte"
            | "bytes"
            | "char"
            | "text"
            | "varchar"
            | "nsstring"
            | "cstring"
            | "any"
            | "secretstring"
            | "bytestring"
    )
}

/// A parser for the values in a text.
pub(crate) struct AssignmentScan<'t> {
    text: &'t str,
    line_prefix: &'t Regex,
}

/// Matches everything that an excerpt may have before a line's own text: white space and a line number.
pub(crate) fn line_prefix() -> Regex {
    compile(r"^[ \t>*]*(?:[0-9]{1,7}(?:[ \t]*[:|-]|\t))?[ \t]*")
}

/// A value that may be a secret. It may have several parts, none of which contains a line end.
struct Value {
    parts: Vec<Range<usize>>,
    context: ValueContext,
}

/// The syntax between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AssignmentSyntax {
    /// An operator.
    Operator(&'static str),
    /// Blanks, as after an option of a command.
    Blanks,
}

/// Returns true if a value only repeats the name, for example `API_KEY = "API_KEY"`, or `key: cfgAuthKey` for
/// `AuthKey`.
fn echoes(name: &str, value: &str, context: ValueContext) -> bool {
    let bare = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    if value.len() > MAX_NAME {
        return false;
    }
    let (name, value) = (bare(name), bare(value));
    !value.is_empty()
        && (name == value
            || matches!(context, ValueContext::Bare | ValueContext::Argument)
                && value.len() >= 6
                && !value.bytes().any(|byte| byte.is_ascii_digit())
                && (value.ends_with(&name) || name.ends_with(&value)))
}

/// Finds the nth cell of a row, without the blanks and quotes around its text.
fn cell(row: &str, separator: char, index: usize) -> Option<Range<usize>> {
    let cell = row.split(separator).nth(index)?;
    let start = cell.as_ptr().addr() - row.as_ptr().addr();
    let is_around = |character| matches!(character, ' ' | '\t' | '\r' | '"' | '\'' | '`');
    let front = cell.len() - cell.trim_start_matches(is_around).len();
    let text = cell.trim_matches(is_around);
    Some(start + front..start + front + text.len())
}

fn length_of_name(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

impl Value {
    fn from_part(part: Range<usize>, context: ValueContext) -> Self {
        Self { parts: std::iter::once(part).collect(), context }
    }
}

impl<'t> AssignmentScan<'t> {
    pub(crate) fn new(text: &'t str, line_prefix: &'t Regex) -> Self {
        Self { text, line_prefix }
    }

    /// Finds the boundaries of the name around an offset.
    pub(crate) fn name_around(&self, at: usize) -> Range<usize> {
        let bytes = self.text.as_bytes();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-$".contains(&byte);
        let least = at.saturating_sub(MAX_NAME);
        let mut start = at;
        while start > least && is_name(bytes[start - 1]) {
            start -= 1;
        }
        let mut end = self.skip(at, MAX_NAME, is_name);
        while end > at && b".-$".contains(&bytes[end - 1]) {
            end -= 1;
        }
        start..end
    }

    /// Finds the secret that is assigned to a name, if any. A secret may have several parts.
    pub(crate) fn secret_of(&self, name: Range<usize>) -> Option<Vec<Range<usize>>> {
        let weight = name_weight(&self.text[name.clone()])?;
        // In the URL of a mailbox, `;AUTH=PLAIN` is a method (RFC 5092).
        if self.byte_before(name.start) == b';' && &self.text[name.clone()] == "AUTH" {
            return None;
        }
        let column = if self.may_head_a_column(&name) { self.column(&name, weight) } else { Vec::new() };
        if !column.is_empty() {
            return Some(column);
        }
        let start = name.start;
        let found = self.values(name.clone()).find_map(|value| self.secret_parts(&name, value, weight))?;
        // This excludes public keys such as `PubKey{Key: "…"}`.
        (weight != NameWeight::Weak || !self.is_public(start)).then_some(found)
    }

    /// Returns true if only a separator or the end of the line follows the name. This is a quick check that
    /// rejects most names.
    fn may_head_a_column(&self, name: &Range<usize>) -> bool {
        let closed = self.skip(name.end, 1, |byte| b"\"'`".contains(&byte));
        b",;\t|\r\n".contains(&self.byte(closed)) || b"|,;\r\n".contains(&self.byte(self.skip_blanks(closed)))
    }

    /// Returns all parts of a value if they are a secret together. Otherwise returns only the first part if
    /// that is a secret. The next line may then be another text.
    fn secret_parts(
        &self,
        name: &Range<usize>,
        mut value: Value,
        weight: NameWeight,
    ) -> Option<Vec<Range<usize>>> {
        let joined: String = value.parts.iter().map(|part| &self.text[part.clone()]).collect();
        if echoes(&self.text[name.clone()], &joined, value.context) {
            return None;
        }
        if is_secret(&joined, weight, value.context) {
            return Some(value.parts);
        }
        value.parts.truncate(1);
        let first = &self.text[value.parts.first()?.clone()];
        (joined != first && is_secret(first, weight, value.context)).then_some(value.parts)
    }

    /// Finds the secrets in the lines below a name that is a column header. The columns are separated by
    /// commas, semicolons or tabs, or belong to a Markdown table.
    fn column(&self, name: &Range<usize>, weight: NameWeight) -> Vec<Range<usize>> {
        self.rows_below(name, weight).unwrap_or_default()
    }

    fn rows_below(&self, name: &Range<usize>, weight: NameWeight) -> Option<Vec<Range<usize>>> {
        let start = self.line_start(name.start).filter(|_| weight != NameWeight::Weak)?;
        let head = &self.text[start..name.start];
        let from = start + self.line_prefix.find(head).map_or(0, |prefix| prefix.len());
        let end = self.skip(from, MAX_ROW, |byte| byte != b'\n' && byte != b'\r');
        let header = &self.text[from..end];
        let separator = header.bytes().find(|byte| b",;\t|".contains(byte))?;
        let is_title =
            |byte: u8| byte.is_ascii_alphanumeric() || b" _-.\"'`".contains(&byte) || byte == separator;
        // An indented line of a program is the continuation of a call, not a header.
        if !matches!(self.byte(end), b'\n' | b'\r')
            || !header.bytes().all(is_title)
            || separator != b'|' && self.byte(start).is_ascii_whitespace()
        {
            return None;
        }
        let separator = char::from(separator);
        let index = self.text[from..name.start].matches(separator).count();
        if cell(header, separator, index)? != (name.start - from..name.end - from) {
            return None;
        }
        let mut at = end;
        if separator == '|' {
            // Without a divider, this line is a row of alternatives: types, patterns, or the cells of another
            // table.
            let divider = self.next_line(at)?;
            at = self.skip(divider, MAX_ROW, |byte| byte != b'\n');
            let line = self.text[divider..at].trim_end();
            if !line.contains("--") || !line.bytes().all(|byte| b"|-: ".contains(&byte)) {
                return None;
            }
        }
        let mut found = Vec::new();
        for _ in 0..MAX_BLOCK_LINES {
            let Some(next) = self.next_line(at) else { break };
            at = self.skip(next, MAX_ROW, |byte| byte != b'\n');
            let row = &self.text[next..at];
            let Some(cell) = cell(row, separator, index).filter(|_| self.byte(at) == b'\n') else { break };
            let value = &row[cell.clone()];
            if row.matches(separator).count() != header.matches(separator).count()
                || names::name_weight(value).is_some()
            {
                break;
            }
            if is_secret(value, weight, ValueContext::Setting) {
                found.push(next + cell.start..next + cell.end);
            }
        }
        Some(found)
    }

    /// Iterates over the values that the name may have, most likely first.
    fn values(&self, name: Range<usize>) -> impl Iterator<Item = Value> {
        let closed = self.closed(name.end);
        let at = self.skip_blanks(closed);
        let found = self
            .attribute(closed, at)
            .map(|at| [self.value(&name, at, AssignmentSyntax::Operator("=")), None])
            .or_else(|| self.sibling(name.clone(), closed).map(|at| [self.setting(&name, at), None]))
            .or_else(|| self.next_element(&name, closed).map(|value| [Some(value), None]))
            .or_else(|| self.default_of_variable(&name, closed).map(|value| [Some(value), None]))
            .or_else(|| self.operated(&name, at))
            .unwrap_or_else(|| [self.argument(&name, closed, at), None]);
        found.into_iter().flatten()
    }

    /// Skips the quotes and brackets that close a name: `"password"`, `['token']`, `key[33]`.
    fn closed(&self, end: usize) -> usize {
        if self.byte(end) == b'[' {
            let digits = self.skip(end + 1, 5, |byte| byte.is_ascii_digit());
            if self.byte(digits) == b']' {
                return digits + 1;
            }
        }
        self.skip(end, 4, |byte| b"\"'`])\\".contains(&byte))
    }

    /// Returns the offset after `value=` in elements such as `<add key="password" value="…"/>`.
    fn attribute(&self, closed: usize, at: usize) -> Option<usize> {
        let rest = self.text[at..].strip_prefix("value").filter(|_| at > closed)?;
        rest.trim_start_matches(' ').strip_prefix('=').map(|rest| self.text.len() - rest.len())
    }

    /// Parses a value. If it is alone on its line after a key, it is a setting no matter how it looks.
    fn setting(&self, name: &Range<usize>, at: usize) -> Option<Value> {
        let value = self.value(name, at, AssignmentSyntax::Operator("="))?;
        let end = value.parts.last()?.end;
        if value.context != ValueContext::Bare
            || !matches!(self.byte(self.skip_blanks(end)), b'\n' | b'\r' | b'#')
        {
            return Some(value);
        }
        self.until(self.skip_blanks(at), b"\"'`", ValueContext::Setting)
    }

    /// Parses the value in the element after `<key>password</key>` of a property list, or inside
    /// `<data name="Password">` of a resource file.
    fn next_element(&self, name: &Range<usize>, closed: usize) -> Option<Value> {
        let end = if self.text[name.end..].starts_with("</key>") {
            name.end + "</key>".len()
        } else if self.text[..name.start].ends_with("name=\"") {
            let end = self.skip(closed, MAX_NAME, |byte| byte != b'>' && byte != b'\n');
            if self.byte(end) != b'>' || self.byte_before(end) == b'/' {
                return None;
            }
            end + 1
        } else {
            return None;
        };
        let mut at = self.skip_blanks(end);
        if matches!(self.byte(at), b'\n' | b'\r') && at < self.text.len() {
            at = self.next_line(at)?;
        }
        let tag = ["<string>", "<value>"].into_iter().find(|tag| self.text[at..].starts_with(tag))?;
        self.element(at + tag.len())
    }

    /// Parses the `default` of a Terraform variable such as `variable "db_password" {`, a few lines below its
    /// name.
    fn default_of_variable(&self, name: &Range<usize>, closed: usize) -> Option<Value> {
        if !self.text[..name.start].ends_with("variable \"") || self.byte(self.skip_blanks(closed)) != b'{' {
            return None;
        }
        let mut at = self.skip_blanks(closed) + 1;
        for _ in 0..MAX_VARIABLE_LINES {
            let start = self.skip_blanks(at);
            if let Some(rest) = self.text[start..].strip_prefix("default") {
                let equals = self.skip_blanks(self.text.len() - rest.len());
                return (self.byte(equals) == b'=')
                    .then(|| self.value(name, equals + 1, AssignmentSyntax::Operator("=")))
                    .flatten();
            }
            at = self.next_line(at)?;
            if self.byte(at) == b'}' {
                return None;
            }
        }
        None
    }

    /// Returns the offset after the colon of the `value:` that belongs to `name: DB_PASSWORD`. It may be on
    /// the same, the next or the previous line.
    fn sibling(&self, name: Range<usize>, closed: usize) -> Option<usize> {
        // This applies only if the name is itself a value.
        let before = self.text[..name.start].trim_end_matches(['"', '\'', ' ', '\\']);
        if !before.ends_with([':', '=']) {
            return None;
        }
        let mut at = self.skip_blanks(self.skip(closed, 1, |byte| byte == b','));
        if matches!(self.byte(at), b'\n' | b'\r') && at < self.text.len() {
            at = self.next_line(at)?;
        }
        self.after_value_key(at).or_else(|| self.value_before(&name))
    }

    /// Returns the offset after the colon if the text at an offset is `value:`.
    fn after_value_key(&self, at: usize) -> Option<usize> {
        let at = self.skip(at, 2, |byte| b"\"'\\".contains(&byte));
        let rest = &self.text.as_bytes()[at..];
        if !rest.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"value")) {
            return None;
        }
        let at = self.skip_blanks(self.skip(at + 5, 2, |byte| b"\"'\\".contains(&byte)));
        matches!(self.byte(at), b':' | b'=').then_some(at + 1)
    }

    /// Returns the offset after `value:` on the line before `name: DB_PASSWORD`, unless the name begins a new
    /// item.
    fn value_before(&self, name: &Range<usize>) -> Option<usize> {
        let start = self.line_start(name.start)?;
        let head = &self.text[start..name.start];
        let head = head[self.line_prefix.find(head).map_or(0, |prefix| prefix.len())..].trim();
        if !matches!(head.trim_matches(['"', '\'']).trim_end_matches([':', ' ', '"', '\'']), "name" | "key") {
            return None;
        }
        let before = self.line_start(start.checked_sub(1)?)?;
        let line = &self.text[before..start - 1];
        let at = before + self.line_prefix.find(line).map_or(0, |prefix| prefix.len());
        self.after_value_key(self.skip(at, 3, |byte| b"-{ ".contains(&byte)))
    }

    /// Parses the values after an operator, with or without a type before it.
    fn operated(&self, name: &Range<usize>, at: usize) -> Option<[Option<Value>; 2]> {
        let rest = &self.text[at..];
        let operator = OPERATORS.iter().find(|operator| rest.starts_with(**operator));
        let Some(operator) = operator else {
            // For example, Go has `var apiToken string = "…"`, and Visual Basic
            // `Const Password As String = "…"`.
            let is_basic =
                self.text.as_bytes().get(at..at + 3).is_some_and(|word| word.eq_ignore_ascii_case(b"as "));
            let at = if is_basic { at + 3 } else { at };
            let typed =
                self.skip(at, MAX_TYPE, |byte| byte.is_ascii_alphanumeric() || b"*&_.[]".contains(&byte));
            let equals = self.skip_blanks(typed);
            let is_typed = at > name.end && is_text_type(&self.text[at..typed]) && self.byte(equals) == b'=';
            return is_typed.then(|| [self.value(name, equals + 1, AssignmentSyntax::Operator("=")), None]);
        };
        if !self.leads(name, at, operator) || self.ends_its_string(name, at + operator.len()) {
            return None;
        }
        let lead = AssignmentSyntax::Operator(operator);
        let direct = || self.value(name, at + operator.len(), lead);
        let typed = self.after_type(operator, at + 1).and_then(|at| {
            // Text before ` =` is a type. Without the blank, it may be a value that ends with `=`, e.g. in
            // base64.
            let parted = self.byte_before(at - 1) == b' ';
            let value = self.value(name, at, AssignmentSyntax::Operator("="));
            (parted || value.is_some()).then_some((value, parted))
        });
        // A quoted value after a type is the value, since the `'` of a lifetime looks like an open quote. A
        // bare value comes second: the `=` before it may be part of the value.
        Some(match typed {
            Some((value, true)) => [value, None],
            Some((Some(value), false)) if value.context == ValueContext::Quoted => [Some(value), None],
            typed => [direct(), typed.and_then(|(value, _)| value)],
        })
    }

    /// Returns true if the operator assigns a value to the name, and does not have another meaning here.
    fn leads(&self, name: &Range<usize>, at: usize, operator: &str) -> bool {
        let after = self.byte(at + operator.len());
        match operator {
            // In `src/token.rs:12:`, this is the number of a line.
            ":" if after.is_ascii_digit() => {
                let end = self.skip(at + 1, 7, |byte| byte.is_ascii_digit());
                !b":-|".contains(&self.byte(end))
            }
            // This excludes `SVN::Auth::SSL`, and the symbol of `has_secure_password :untracked`.
            ":" if after == b':' => false,
            ":" if self.byte_before(at) == b' ' && after.is_ascii_alphabetic() => false,
            // In a property list, `<key>` contains the name.
            ">" if self.text[name.clone()].eq_ignore_ascii_case("key") => false,
            // A cell of a table, as opposed to one of several texts, patterns or flags.
            "|" => {
                let next = at + 2;
                let end = self.skip(next, MAX_NAME, |byte| byte.is_ascii_uppercase() || byte == b'_');
                at > name.end
                    && after == b' '
                    && !b"\"'".contains(&self.byte(next))
                    && !self.text[next..end].contains('_')
            }
            // This excludes members such as `credentials->user`.
            "->" => at > name.end || !after.is_ascii_alphabetic(),
            // This excludes arms of a match such as `Secret => …`.
            "=>" => {
                at == name.end
                    || !b" ".contains(&self.byte(name.end))
                    || !self.text[name.clone()].starts_with(|first: char| first.is_ascii_uppercase())
            }
            _ => true,
        }
    }

    /// Returns true if a quote at the offset closes the string that contains the name, as in
    /// `"--password=" + given`. Then an expression follows.
    fn ends_its_string(&self, name: &Range<usize>, at: usize) -> bool {
        // If the name has its own quotes, they are closed before the operator.
        if b"\"'`\\".contains(&self.byte(name.end)) {
            return false;
        }
        // Letters before a quote may belong to it, for example in `b"…"`.
        let at =
            self.skip(self.skip_blanks(at), 2, |byte| byte.is_ascii_alphabetic() || b"@&$".contains(&byte));
        let escapes = self.skip(at, 3, |byte| byte == b'\\') - at;
        let quote = self.byte(at + escapes);
        let Some(start) = self.line_start(name.start).filter(|_| b"\"'`".contains(&quote)) else {
            return false;
        };
        let head = &self.text.as_bytes()[start..name.start];
        let is_same = |at: &usize| {
            head[*at] == quote
                && head[..*at].iter().rev().take_while(|byte| **byte == b'\\').count() == escapes
        };
        // An apostrophe may be anywhere, so an opening one must be directly before the name.
        if quote == b'\'' && head.last() != Some(&quote) {
            return false;
        }
        let is_open = memchr::memchr_iter(quote, head).filter(is_same).count() % 2 == 1;
        let next = self.skip_blanks(at + escapes + 1);
        is_open && (escapes > 0 || next >= self.text.len() || b"+.,;)]}&|:=\r\n".contains(&self.byte(next)))
    }

    /// Returns the offset after the `=` of `name: type =`.
    fn after_type(&self, operator: &str, at: usize) -> Option<usize> {
        let is_type = |byte: u8| byte.is_ascii_alphanumeric() || b"_ &<>'[]:.?|*,".contains(&byte);
        let end = self.skip(at, MAX_TYPE, is_type);
        (operator == ":" && self.byte(end) == b'=').then_some(end + 1)
    }

    /// Parses an argument: that of a call, the one after a name that is itself an argument, or that of an
    /// option.
    fn argument(&self, name: &Range<usize>, closed: usize, at: usize) -> Option<Value> {
        match self.byte(at) {
            b'(' => self.quoted(at + 1, ValueContext::Argument),
            // In Erlang, `{password, <<"…">>}` is also a pair.
            b',' if closed > name.end || self.byte_before(name.start) == b'{' => {
                let at = self.skip_blanks(at + 1);
                self.quoted(self.skip(at, 2, |byte| byte == b'<'), ValueContext::Argument)
            }
            // This excludes prose such as «to pass '…'».
            b'"' | b'\'' if at > closed && (closed - name.start > 5 || self.begins_line(name)) => {
                self.quoted(at, ValueContext::Argument)
            }
            _ if at > name.end
                && closed == name.end
                && (self.is_option(name.start) || self.is_directive(name)) =>
            {
                self.value(name, at, AssignmentSyntax::Blanks).filter(|value| !self.is_prose(value))
            }
            _ => None,
        }
    }

    /// Returns true if a sentence continues after an option, for example in «the --password option».
    fn is_prose(&self, value: &Value) -> bool {
        let word =
            value.parts.first().map_or("", |part| self.text[part.clone()].trim_end_matches(['.', ',']));
        matches!(
            word,
            "option" | "options" | "flag" | "flags" | "parameter" | "argument" | "arguments" | "switch"
        )
    }

    /// Returns true if the name is in a line of settings that has blanks instead of an operator. For example,
    /// `ENV NAME value` of a Dockerfile, or `bindpw value` of LDAP.
    fn is_directive(&self, name: &Range<usize>) -> bool {
        let Some(start) = self.line_start(name.start) else { return false };
        let head = self.text[start..name.start].trim();
        let head = head[self.line_prefix.find(head).map_or(0, |prefix| prefix.len())..].trim();
        matches!(head, "ENV" | "setenv" | "setx" | "set -x" | "set -gx")
            || head.is_empty() && matches!(&self.text[name.clone()], "bindpw" | "rootpw")
    }

    /// Returns true if the name is an option of a command.
    fn is_option(&self, start: usize) -> bool {
        self.text[start..].starts_with("--")
            || self.text[start..].starts_with('-') && matches!(self.byte_before(start), b' ' | b'\t')
    }

    /// Returns true if the text before a name in its line shows that the value is public.
    fn is_public(&self, start: usize) -> bool {
        let from = self.text.floor_char_boundary(start.saturating_sub(MAX_NAME));
        let head = self.text[from..start].rsplit('\n').next().unwrap_or_default();
        ["PubKey{", "PublicKey{", "PubKey(", "PublicKey("].iter().any(|word| head.contains(word))
    }

    /// Returns true if an option of a command precedes the name: `--set name=`, `-e name=`.
    fn follows_option(&self, start: usize) -> bool {
        let from = self.text.floor_char_boundary(start.saturating_sub(MAX_NAME));
        let head =
            self.text[from..start].trim_end_matches(|character| !matches!(character, ' ' | '\t' | '\n'));
        let word =
            head.trim_end_matches([' ', '\t']).rsplit([' ', '\t', '\n', '"', '[']).next().unwrap_or_default();
        head.ends_with([' ', '\t']) && word.len() > 1 && word.starts_with('-')
    }

    /// Parses the value at the offset after optional blanks, or on the next line.
    fn value(&self, name: &Range<usize>, at: usize, lead: AssignmentSyntax) -> Option<Value> {
        let at_blanks = self.skip_blanks(at);
        let line_end = self.skip(at_blanks, 2, |byte| byte == b'\\' || byte == b'\r');
        if lead != AssignmentSyntax::Blanks && line_end < self.text.len() && self.byte(line_end) == b'\n' {
            let next = self.next_line(line_end)?;
            let is_element = lead == AssignmentSyntax::Operator(">");
            return self
                .quoted(next, ValueContext::Quoted)
                .or_else(|| is_element.then(|| self.element(next)).flatten());
        }
        if let Some(value) =
            self.quoted(at_blanks, ValueContext::Quoted).or_else(|| self.long_text(at_blanks))
        {
            return Some(value);
        }
        if lead != AssignmentSyntax::Blanks
            && let Some(value) = self.here_document(at_blanks)
        {
            return Some(value);
        }
        if lead == AssignmentSyntax::Operator(":")
            && let Some(block) = self.block(name, at_blanks)
        {
            return Some(block);
        }
        self.bare(name, at, at_blanks, lead)
    }

    /// Parses Lua's `[[…]]` on one line.
    fn long_text(&self, at: usize) -> Option<Value> {
        let start = at + self.text[at..].strip_prefix("[[").map(|_| 2)?;
        let end = self.skip(start, MAX_VALUE_BYTES, |byte| byte != b']' && byte != b'\n');
        (end > start && self.text[end..].starts_with("]]"))
            .then(|| Value::from_part(start..end, ValueContext::Quoted))
    }

    /// Parses a here document: the lines after `<<WORD` up to the word, as in shells and Terraform.
    fn here_document(&self, at: usize) -> Option<Value> {
        let rest = &self.text[at..];
        let open = rest.strip_prefix("$(cat ").unwrap_or(rest).strip_prefix("<<")?;
        let open = open.trim_start_matches(['-', '~', '\'', '"', ' ']);
        let word = &open[..length_of_name(open)];
        let line_end = open[word.len()..].trim_start_matches(['\'', '"', ' ', '\r']);
        if word.is_empty() || !line_end.starts_with('\n') {
            return None;
        }
        let mut from = self.text.len() - line_end.len() + 1;
        let mut parts = Vec::new();
        while parts.len() < MAX_BLOCK_LINES && from < self.text.len() {
            let stop =
                memchr::memchr(b'\n', &self.text.as_bytes()[from..]).map_or(self.text.len(), |at| from + at);
            let start = from + self.line_prefix.find(&self.text[from..stop]).map_or(0, |prefix| prefix.len());
            let line = self.text[start..stop].trim_end();
            if line == word {
                break;
            }
            if !line.is_empty() {
                parts.push(start..start + line.len());
            }
            from = stop + 1;
        }
        (!parts.is_empty()).then_some(Value { parts, context: ValueContext::Quoted })
    }

    /// Parses a value without quotes.
    fn bare(
        &self,
        name: &Range<usize>,
        operator_end: usize,
        at: usize,
        lead: AssignmentSyntax,
    ) -> Option<Value> {
        let before = self.byte_before(name.start);
        let assigned = lead == AssignmentSyntax::Operator("=") && at == operator_end;
        let shown = &self.text[name.clone()];
        if lead == AssignmentSyntax::Operator(">") {
            return self.element(at);
        }
        if lead == AssignmentSyntax::Blanks {
            return self.until(at, b"\"'`|", ValueContext::Setting).filter(|_| self.byte(at) != b'-');
        }
        if assigned && matches!(before, b'?' | b'&') {
            return self.until(at, b"&\"'`<>#)", ValueContext::Setting);
        }
        if let Some(value) = self.rest_of_line(name, at, lead) {
            return Some(value);
        }
        if assigned && self.follows_option(name.start) {
            // For example `--set auth.password=…`.
            return self.until(at, b"\"'`,", ValueContext::Setting);
        }
        if assigned && (shown.starts_with('-') || !shown.bytes().any(|byte| byte.is_ascii_lowercase())) {
            // For example `DB_PASSWORD=…` in shells, or `--password=…`.
            let ends: &[u8] = if before == b';' { b"\"'`;" } else { b"\"'`" };
            return self.until(at, ends, ValueContext::Setting);
        }
        if assigned && matches!(before, b';' | b'"' | b'\'' | b',') {
            // This is a connection string.
            return self.until(at, if before == b',' { b"\"'`;," } else { b"\"'`;" }, ValueContext::Setting);
        }
        let value = self.until(at, b"\"'`,;&<>(){}[]|\\", ValueContext::Bare)?;
        let end = value.parts.last()?.end;
        // In `Secret::from("…")`, the value is the argument. Any other call or index expression is not a
        // value.
        match self.byte(end) {
            b'(' => self.quoted(end + 1, ValueContext::Argument),
            b'[' => None,
            _ => Some(value),
        }
    }

    /// Parses the text of an element, which must be closed.
    fn element(&self, at: usize) -> Option<Value> {
        let value = self.until(at, b"<", ValueContext::Setting)?;
        let rest = self.text[value.parts.last()?.end..].trim_start();
        let rest = &rest[self.line_prefix.find(rest).map_or(0, |prefix| prefix.len())..];
        rest.starts_with("</").then_some(value)
    }

    /// Returns true if the line before the name has nothing but what settings may have there, e.g. `export`.
    fn begins_line(&self, name: &Range<usize>) -> bool {
        let Some(start) = self.line_start(name.start) else { return false };
        let head = &self.text[start..name.start];
        let prefix = self.line_prefix.find(head).map_or(0, |prefix| prefix.len());
        let head =
            head[prefix..].trim_matches([' ', '\t', '"', '\'', '-', '+', '#', '/', ';', '*', '{', '<', '|']);
        head.is_empty() || matches!(head, "export" | "set" | "ENV" | "ARG" | "setx" | "env")
    }

    /// Finds the beginning of the line. Returns `None` if it is too far away for the text before the name to
    /// be indentation. This limit matters because a line of megabytes has many names, and each of them calls
    /// this.
    fn line_start(&self, at: usize) -> Option<usize> {
        let from = at.saturating_sub(MAX_LINE_HEAD);
        match memchr::memrchr(b'\n', &self.text.as_bytes()[from..at]) {
            Some(before) => Some(from + before + 1),
            None => (from == 0).then_some(0),
        }
    }

    /// Parses a value that is the whole rest of its line, as in settings files.
    fn rest_of_line(&self, name: &Range<usize>, at: usize, lead: AssignmentSyntax) -> Option<Value> {
        if !matches!(lead, AssignmentSyntax::Operator("=" | ":")) || !self.begins_line(name) {
            return None;
        }
        let line_start = self.line_start(name.start)?;
        let line_end = self.skip(at, MAX_VALUE_BYTES, |byte| byte != b'\n');
        let rest = &self.text[at..line_end];
        let comment = [" #", "\t#", " //", " ;"].iter().filter_map(|mark| rest.find(mark)).min();
        let value = rest[..comment.unwrap_or(rest.len())].trim_end();
        if let Some(first) =
            value.strip_suffix('\\').filter(|first| !first.is_empty() && !first.contains(char::is_whitespace))
        {
            // The value continues on the next line.
            let next = self.next_line(at + value.len())?;
            let rest = self.until(next, b"", ValueContext::Setting)?;
            let parts = std::iter::once(at..at + first.len()).chain(rest.parts).collect();
            return Some(Value { parts, context: ValueContext::Setting });
        }
        let is_open = value.is_empty()
            || value.contains(char::is_whitespace)
            || value.ends_with([',', ';', '{', '(', '[', ')', '\\', '"', '\'', '`', '}']);
        if is_open || value.contains(['"', '\'', '`']) || value.starts_with(['{', '[', '(']) {
            return None;
        }
        let bytes = value.bytes();
        let is_name = bytes.clone().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
        // A value that looks like a name may be a variable in code. But `NAME=value` without blanks is the
        // form of settings.
        let is_setting = !is_name
            || (at == name.end + 1 && lead == AssignmentSyntax::Operator("="))
            || !self.is_among_code(line_start, line_end);
        Some(Value::from_part(
            at..at + value.len(),
            if is_setting { ValueContext::Setting } else { ValueContext::Bare },
        ))
    }

    /// Returns true if the surrounding lines look like code: the line before continues, or the line after
    /// closes a bracket.
    fn is_among_code(&self, line_start: usize, line_end: usize) -> bool {
        let before = self.text[..line_start].trim_end().bytes().next_back();
        let after = self.text.get(line_end..).unwrap_or_default().lines().nth(1).unwrap_or_default();
        let prefix = self.line_prefix.find(after).map_or(0, |prefix| prefix.len());
        before.is_some_and(|last| b",{([;".contains(&last)) || after[prefix..].starts_with(['}', ')', ']'])
    }

    /// Parses the lines of a YAML block after `|` or `>`.
    fn block(&self, name: &Range<usize>, at: usize) -> Option<Value> {
        let end = self.skip(at, 5, |byte| b"|>+-123456789\r".contains(&byte));
        if !b"|>".contains(&self.byte(at)) || self.byte(end) != b'\n' || end >= self.text.len() {
            return None;
        }
        let column = name.start - self.line_start(name.start)?;
        let mut parts = Vec::new();
        let mut from = end + 1;
        while parts.len() < MAX_BLOCK_LINES && from < self.text.len() {
            let stop =
                memchr::memchr(b'\n', &self.text.as_bytes()[from..]).map_or(self.text.len(), |at| from + at);
            let start = from + self.line_prefix.find(&self.text[from..stop]).map_or(0, |prefix| prefix.len());
            let line = self.text[start..stop].trim_end();
            if !line.is_empty() {
                if start - from <= column {
                    break;
                }
                parts.push(start..start + line.len());
            }
            from = stop + 1;
        }
        (!parts.is_empty()).then_some(Value { parts, context: ValueContext::Quoted })
    }

    /// Parses a quoted value, including the prefix letters of raw, byte and format strings, and strings on
    /// the next lines that are joined to it. Without a closing quote, e.g. in a line that was cut, it ends
    /// with the line.
    fn quoted(&self, at: usize, context: ValueContext) -> Option<Value> {
        let (first, mut closed) = self.one_quoted(at)?;
        let mut parts = vec![first];
        while let Some(at) = closed.filter(|_| parts.len() < MAX_BLOCK_LINES).and_then(|at| self.joined(at)) {
            let Some((part, next)) = self.one_quoted(at) else { break };
            parts.push(part);
            closed = next;
        }
        Some(Value { parts, context })
    }

    /// Skips the operator and line end between two quoted strings that are joined.
    fn joined(&self, closed: usize) -> Option<usize> {
        let at = self.skip_blanks(closed);
        let mut at = self.skip_blanks(self.skip(at, 2, |byte| b"+.\\&".contains(&byte)));
        if self.byte(at) == b'\r' {
            at += 1;
        }
        if at >= self.text.len() || self.byte(at) != b'\n' {
            return None;
        }
        let next = self.next_line(at)?;
        // We accept only an operator: after a comma or a brace, another value could follow.
        Some(self.skip_blanks(self.skip(next, 2, |byte| b"+.&".contains(&byte))))
    }

    /// Parses a single quoted string. Also returns the offset after its closing quote, or `None` if no quote
    /// closes it.
    fn one_quoted(&self, at: usize) -> Option<(Range<usize>, Option<usize>)> {
        let at = self.skip(at, 2, |byte| byte.is_ascii_alphabetic() || b"@&$".contains(&byte));
        let at = self.skip(at, 2, |byte| byte == b'#');
        let escapes = self.skip(at, 3, |byte| byte == b'\\') - at;
        let quote = self.byte(at + escapes);
        if !b"\"'`".contains(&quote) {
            return None;
        }
        let open = at + escapes;
        let triple = self.skip(open, 3, |byte| byte == quote) - open == 3;
        let start = if triple { open + 3 } else { open + 1 };
        let bytes = self.text.as_bytes();
        let mut end = start;
        let mut slashes = 0;
        while end < bytes.len() && bytes[end] != b'\n' {
            if bytes[end] == quote && (slashes == escapes || (escapes == 0 && slashes % 2 == 0)) {
                break;
            }
            slashes = if bytes[end] == b'\\' { slashes + 1 } else { 0 };
            end += 1;
        }
        let closed = end < bytes.len() && bytes[end] == quote;
        let after = closed.then_some(end + 1);
        end -= if closed { escapes.min(end - start) } else { 0 };
        if !closed && self.text[..end].ends_with('\r') {
            end = (end - 1).max(start);
        }
        Some((start..end, after))
    }

    /// Takes the text from an offset up to white space or one of `ends`.
    fn until(&self, at: usize, ends: &[u8], context: ValueContext) -> Option<Value> {
        let end = self.skip(at, MAX_VALUE_BYTES, |byte| byte > b' ' && byte != 0x7f && !ends.contains(&byte));
        // In settings inside a JSON string, a line end is written as an escape sequence.
        let end = ["\\n", "\\r"]
            .iter()
            .filter_map(|mark| self.text[at..end].find(mark))
            .min()
            .map_or(end, |length| at + length);
        (end > at).then(|| Value::from_part(at..end, context))
    }

    /// Finds the beginning of the text on the next line.
    fn next_line(&self, at: usize) -> Option<usize> {
        let next = at + self.text[at..].find('\n')? + 1;
        Some(next + self.line_prefix.find(&self.text[next..]).map_or(0, |prefix| prefix.len()))
    }

    /// Returns the byte at an offset. Beyond the text, this is a line end, so that callers need no other
    /// check for the end of a line.
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(b'\n')
    }

    fn byte_before(&self, at: usize) -> u8 {
        at.checked_sub(1).map_or(b'\n', |at| self.byte(at))
    }

    fn skip(&self, mut at: usize, limit: usize, wanted: impl Fn(u8) -> bool) -> usize {
        let stop = at.saturating_add(limit).min(self.text.len());
        while at < stop && wanted(self.byte(at)) {
            at += 1;
        }
        // The limit may be inside a character.
        if at < self.text.len() { self.text.floor_char_boundary(at) } else { at }
    }

    fn skip_blanks(&self, at: usize) -> usize {
        self.skip(at, MAX_BLANKS, |byte| byte == b' ' || byte == b'\t')
    }
}

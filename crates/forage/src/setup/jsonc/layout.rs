//! How a JSON text is laid out: what comes into it looks as if it had always stood there, and comes out without a trace.

use serde_json::Value;

use super::parse::{JsonNode, Member};
use super::{Document, Leaf};

/// Spaces for one level in a file that shows no indentation of its own.
const INDENT: &str = "  ";

/// What comes into a file: a value with the containers around it.
#[derive(Clone, Copy)]
pub(super) struct New<'a> {
    pub(super) path: &'a [&'a str],
    pub(super) leaf: Leaf<'a>,
    pub(super) value: &'a Value,
}

/// What a member is given, or an element is.
pub(super) enum LayoutValue<'a> {
    Value(&'a Value),
    Chain(New<'a>),
}

/// How a file is laid out.
pub(super) struct LayoutStyle<'t> {
    newline: &'static str,
    unit: &'t str,
}

impl<'t> LayoutStyle<'t> {
    /// That of a file that is created.
    pub(super) fn new(newline: &'static str) -> Self {
        Self { newline, unit: INDENT }
    }

    pub(super) fn of(document: &Document<'t>) -> Self {
        let first = document.root.members().and_then(<[Member]>::first);
        let own_line = first.filter(|member| is_first_on_line(document.body, member.key_start));
        let unit = own_line.map(|member| line_indent(document.body, member.key_start));
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or(INDENT);
        Self { newline: super::super::newline(document.body), unit }
    }

    /// The text of what comes in: over several lines, or without an indentation on one. A list that is made here differs
    /// from one that was there, and was empty: its element stands on a line of its own, or between spaces.
    pub(super) fn chain(&self, new: New<'_>, indent: Option<&str>) -> String {
        let inner = indent.map(|indent| format!("{indent}{}", self.unit));
        let value = |value: &Value| match &inner {
            Some(inner) => self.pretty(value, inner),
            None => compact(value),
        };
        let named = |name: &str, text: String| format!("{}: {text}", Value::from(name));
        let (open, text, close) = match (new.path, new.leaf) {
            ([key, path @ ..], _) => {
                ('{', named(key, self.chain(New { path, ..new }, inner.as_deref())), '}')
            }
            ([], Leaf::Member(name)) => ('{', named(name, value(new.value)), '}'),
            ([], Leaf::Element(_)) => ('[', value(new.value), ']'),
        };
        match (&inner, indent, new.path, new.leaf) {
            (Some(inner), Some(indent), ..) => {
                let newline = self.newline;
                format!("{open}{newline}{inner}{text}{newline}{indent}{close}")
            }
            (.., [], Leaf::Element(_)) => format!("{open} {text} {close}"),
            _ => format!("{open}{text}{close}"),
        }
    }

    fn text(&self, text: &LayoutValue<'_>, indent: Option<&str>) -> String {
        match (text, indent) {
            (LayoutValue::Chain(new), indent) => self.chain(*new, indent),
            (LayoutValue::Value(value), Some(indent)) => self.pretty(value, indent),
            (LayoutValue::Value(value), None) => compact(value),
        }
    }

    /// A value in the place of that of a member, over as many lines.
    pub(super) fn anew(&self, body: &str, member: &Member, value: &Value) -> String {
        match body[member.value.start..member.value.end].contains('\n') {
            true => self.pretty(value, line_indent(body, member.key_start)),
            false => compact(value),
        }
    }

    /// The value over several lines, all but the first of them indented by `indent`. Arrays stay on one line.
    pub(super) fn pretty(&self, value: &Value, indent: &str) -> String {
        match value {
            Value::Object(members) if !members.is_empty() => {
                let inner = format!("{indent}{}", self.unit);
                let member = |(key, value): (&String, &Value)| {
                    format!("{inner}{}: {}", Value::from(key.as_str()), self.pretty(value, &inner))
                };
                let members: Vec<String> = members.iter().map(member).collect();
                let newline = self.newline;
                format!("{{{newline}{}{newline}{indent}}}", members.join(&format!(",{newline}")))
            }
            other => compact(other),
        }
    }
}

/// The value on one line.
pub(super) fn compact(value: &Value) -> String {
    let list = |items: Vec<String>, open: char, close: char| format!("{open}{}{close}", items.join(", "));
    match value {
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), compact(value))
            };
            list(members.iter().map(member).collect(), '{', '}')
        }
        Value::Array(items) => list(items.iter().map(compact).collect(), '[', ']'),
        scalar => scalar.to_string(),
    }
}

/// Puts a member at the end of an object, or an element at the end of a list.
pub(super) fn insert(
    body: &str,
    style: &LayoutStyle<'_>,
    container: &JsonNode,
    key: Option<&str>,
    text: &LayoutValue<'_>,
) -> String {
    let name = key.map(|key| format!("{}: ", Value::from(key))).unwrap_or_default();
    let base = line_indent(body, container.start);
    let members = container.members().or_else(|| container.elements());
    let Some(last) = members.and_then(<[Member]>::last) else {
        let entry = format!("{name}{}", style.text(text, Some(base)));
        return splice(body, container.start + 1..container.start + 1, &entry);
    };
    let after = last.comma.map_or(last.value.end, |comma| comma + 1);
    let (rest_of_line, ends_in_comment) = rest_of_line(&body[after..container.end - 1]);
    let at = after + rest_of_line;
    let own_line = match is_first_on_line(body, last.key_start) {
        true => Some(line_indent(body, last.key_start).to_owned()),
        false if ends_in_comment => Some(format!("{base}{}", style.unit)),
        false => None,
    };
    let entry = match own_line {
        Some(indent) => {
            format!("{}{indent}{name}{}", style.newline, style.text(text, Some(&indent)))
        }
        None => format!(" {name}{}", style.text(text, None)),
    };
    match last.comma {
        // The style of the file is kept: a trailing comma stays a trailing comma.
        Some(_) => splice(body, at..at, &format!("{entry},")),
        None => splice(&splice(body, at..at, &entry), last.value.end..last.value.end, ","),
    }
}

/// Takes a member out, with the whitespace before it if `with_line`.
pub(super) fn cut(body: &str, members: &[Member], index: usize, with_line: bool) -> String {
    let member = &members[index];
    let mut start = member.key_start;
    if with_line {
        let before = &body[..start];
        let trimmed = before.trim_end_matches([' ', '\t']);
        let line = trimmed.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        start = line.unwrap_or(trimmed).len();
    }
    let previous = index.checked_sub(1).and_then(|index| members[index].comma);
    let own = start..member.value.end;
    let cuts = match (member.comma, previous) {
        (Some(comma), _) => vec![own, comma..comma + 1],
        (None, Some(comma)) => vec![comma..comma + 1, own],
        (None, None) => vec![own],
    };
    cuts.into_iter().rev().fold(body.to_owned(), |body, range| splice(&body, range, ""))
}

/// The bytes of comments that stand on the line on which `region` begins, and whether the last of them ends with it.
fn rest_of_line(region: &str) -> (usize, bool) {
    let mut end = 0;
    loop {
        let rest = region[end..].trim_start_matches([' ', '\t']);
        let at = region.len() - rest.len();
        if rest.starts_with("//") {
            return (at + rest.find(['\n', '\r']).unwrap_or(rest.len()), true);
        }
        let comment = rest.strip_prefix("/*").and_then(|inner| Some(inner.find("*/")? + 4));
        match comment.filter(|length| !rest[..*length].contains('\n')) {
            Some(length) => end = at + length,
            None => return (end, false),
        }
    }
}

fn line_start(body: &str, at: usize) -> usize {
    body[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The whitespace at the beginning of the line.
pub(super) fn line_indent(body: &str, at: usize) -> &str {
    let line = &body[line_start(body, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn is_first_on_line(body: &str, at: usize) -> bool {
    let start = line_start(body, at);
    start > 0 && body[start..at].trim_matches([' ', '\t']).is_empty()
}

pub(super) fn splice(text: &str, range: std::ops::Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}

/// A change towards another value.
pub(super) struct LayoutStep {
    /// What the member says then.
    pub(super) value: Value,
    /// Texts of which the first that says it is right.
    pub(super) texts: Vec<String>,
}

/// The first change that a member (or an element) needs to say `wanted`, as small as can be; `None` if it does.
pub(super) fn step(
    body: &str,
    style: &LayoutStyle<'_>,
    member: &Member,
    wanted: &Value,
) -> Option<LayoutStep> {
    let node = &member.value;
    let present = node.to_value(body);
    if present == *wanted {
        return None;
    }
    let without = |members: &[Member], index: usize| {
        [true, false].map(|with_line| cut(body, members, index, with_line)).to_vec()
    };
    let inner = match (&present, wanted) {
        (Value::Object(fields), Value::Object(new)) => {
            let members = node.members()?;
            // What stands twice can't be told apart.
            let is_clear = fields.len() == members.len();
            let with = |key: &str, value: Option<Value>| {
                let mut fields = fields.clone();
                match value {
                    Some(value) => drop(fields.insert(key.to_owned(), value)),
                    None => drop(fields.shift_remove(key)),
                }
                Value::Object(fields)
            };
            let known = members.iter().enumerate().find_map(|(index, member)| match new.get(&member.key) {
                None => Some(LayoutStep { value: with(&member.key, None), texts: without(members, index) }),
                Some(field) => step(body, style, member, field)
                    .map(|step| LayoutStep { value: with(&member.key, Some(step.value)), ..step }),
            });
            let more = || {
                let (key, field) = new.iter().find(|(key, _)| !fields.contains_key(*key))?;
                let text = insert(body, style, node, Some(key), &LayoutValue::Value(field));
                Some(LayoutStep { value: with(key, Some(field.clone())), texts: vec![text] })
            };
            known.or_else(more).filter(|_| is_clear)
        }
        (Value::Array(items), Value::Array(new)) => {
            let elements = node.elements()?;
            let with = |index: usize, value: Option<Value>| {
                let mut items = items.clone();
                match value {
                    Some(value) if index < items.len() => items[index] = value,
                    Some(value) => items.push(value),
                    None => drop(items.remove(index)),
                }
                Value::Array(items)
            };
            let gone = || {
                let index = items.iter().position(|item| !new.contains(item))?;
                Some(LayoutStep { value: with(index, None), texts: without(elements, index) })
            };
            let more = || {
                let item = new.iter().find(|item| !items.contains(item))?;
                let text = insert(body, style, node, None, &LayoutValue::Value(item));
                Some(LayoutStep { value: with(items.len(), Some(item.clone())), texts: vec![text] })
            };
            if items.len() == new.len() {
                elements.iter().zip(new).enumerate().find_map(|(index, (element, item))| {
                    let step = step(body, style, element, item)?;
                    Some(LayoutStep { value: with(index, Some(step.value)), ..step })
                })
            } else if items.len() > new.len() {
                gone()
            } else {
                more()
            }
        }
        _ => None,
    };
    inner.or_else(|| {
        let text = splice(body, node.start..node.end, &style.anew(body, member, wanted));
        Some(LayoutStep { value: wanted.clone(), texts: vec![text] })
    })
}

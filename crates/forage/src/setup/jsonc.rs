//! JSON with comments and trailing commas, edited in place: a member goes in or out, every other byte stays.
//!
//! What goes in comes out again exactly. Where two files would look the same with the entry in them, its form tells
//! which one it was: it begins on the line of the brace in an object that was empty, and on a line of its own in an
//! object that was created for it.

mod parse;

use serde_json::{Map, Value};

use super::Refusal;
use parse::{Member, Node};

/// Where an entry stands: `name` within the object `section` of the top level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'a> {
    pub(super) section: &'a str,
    pub(super) name: &'a str,
}

/// What is in a file.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) entry: Option<Value>,
    /// Names of the other entries of the section.
    pub(super) neighbours: Vec<String>,
    pub(super) has_section: bool,
}

/// Spaces for one level in a file that shows no indentation of its own.
const INDENT: &str = "  ";

/// Looks without changing anything.
pub(super) fn inspect(text: &str, spot: Spot<'_>) -> Result<Found, Refusal> {
    if is_blank(text) {
        return Ok(Found::default());
    }
    let document = Document::parse(text)?;
    let Some(section) = document.section(spot)? else { return Ok(Found::default()) };
    let members = object(&section.value, spot.section)?;
    let entry = unique(members, spot.name)?.map(|member| member.value.to_value(document.body));
    let others = members.iter().filter(|member| member.key != spot.name);
    let neighbours = others.map(|member| member.key.clone()).collect();
    Ok(Found { entry, neighbours, has_section: true })
}

/// What a whole file says.
pub(super) fn value(text: &str) -> Result<Value, Refusal> {
    let document = Document::parse(text)?;
    Ok(document.root.to_value(document.body))
}

/// The text with the entry in it. An entry of that name is replaced.
pub(super) fn add(text: &str, spot: Spot<'_>, value: &Value) -> Result<String, Refusal> {
    if is_blank(text) {
        // Without a final newline, which a file that was created has.
        return Ok(format!("{text}{}", whole(spot, value, super::newline(text))));
    }
    let document = Document::parse(text)?;
    let body = document.body;
    let style = Style::of(&document);
    let added = match document.section(spot)? {
        None => insert(body, &style, &document.root, spot.section, &within(spot.name, value)),
        Some(section) => match unique(object(&section.value, spot.section)?, spot.name)? {
            None => insert(body, &style, &section.value, spot.name, value),
            Some(member) => {
                let place = member.value.start..member.value.end;
                let text = match body[place.clone()].contains('\n') {
                    true => style.pretty(value, line_indent(body, member.key_start)),
                    false => compact(value),
                };
                splice(body, place, &text)
            }
        },
    };
    let mut expected = document.root.to_value(body);
    put(&mut expected, spot, value.clone());
    document.checked(added, &expected)
}

/// The text without the entry; `None` when it is what [`created`] gives, so that the file goes, too.
pub(super) fn remove(text: &str, spot: Spot<'_>) -> Result<Option<String>, Refusal> {
    if is_blank(text) {
        return Ok(Some(text.to_owned()));
    }
    let document = Document::parse(text)?;
    let body = document.body;
    let style = Style::of(&document);
    let Some(section) = document.section(spot)? else { return Ok(Some(text.to_owned())) };
    let members = object(&section.value, spot.section)?;
    let Some(member) = unique(members, spot.name)? else { return Ok(Some(text.to_owned())) };
    let value = member.value.to_value(body);
    if text == created(spot, &value) {
        return Ok(None);
    }
    if let Some(blank) =
        text.strip_suffix(&whole(spot, &value, super::newline(text))).filter(|rest| is_blank(rest))
    {
        return Ok(Some(blank.to_owned()));
    }
    let mut expected = document.root.to_value(body);
    let is_created = members.len() == 1 && {
        let indent = line_indent(body, section.key_start);
        let created = within(spot.name, &value);
        let present = &body[section.value.start..section.value.end];
        present == style.pretty(&created, indent) || present == compact(&created)
    };
    let top = object(&document.root, "")?;
    let (object_members, index) = match is_created {
        true => {
            take(&mut expected, &[spot.section]);
            (top, position(top, spot.section))
        }
        false => {
            take(&mut expected, &[spot.section, spot.name]);
            (members, position(members, spot.name))
        }
    };
    let removed = cut(body, object_members, index, true);
    document
        .checked(removed, &expected)
        // A comment before the entry that needs its newline.
        .or_else(|_| document.checked(cut(body, object_members, index, false), &expected))
        .map(Some)
}

/// The text of a file that has nothing but the entry.
pub(super) fn created(spot: Spot<'_>, value: &Value) -> String {
    whole(spot, value, "\n") + "\n"
}

fn whole(spot: Spot<'_>, value: &Value, newline: &'static str) -> String {
    let style = Style { newline, unit: INDENT };
    style.pretty(&within(spot.section, &within(spot.name, value)), "")
}

fn within(name: &str, value: &Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value.clone())]))
}

fn is_blank(text: &str) -> bool {
    // JSON's own white space: what Unicode has beside it is no part of a document.
    text.strip_prefix(BOM).unwrap_or(text).trim_matches([' ', '\t', '\n', '\r']).is_empty()
}

const BOM: char = '\u{feff}';

/// A parsed file.
struct Document<'t> {
    bom: &'t str,
    body: &'t str,
    root: Node,
}

impl<'t> Document<'t> {
    fn parse(text: &'t str) -> Result<Self, Refusal> {
        let body = text.strip_prefix(BOM).unwrap_or(text);
        let root = parse::parse(body).map_err(|(at, problem)| {
            let line = body[..at].matches('\n').count() + 1;
            Refusal::new(format!("it is not valid JSON: {problem}, line {line}"))
        })?;
        Ok(Self { bom: &text[..text.len() - body.len()], body, root })
    }

    fn section(&self, spot: Spot<'_>) -> Result<Option<&Member>, Refusal> {
        unique(object(&self.root, "")?, spot.section)
    }

    /// The new text, if it says what it should say and nothing else has changed.
    fn checked(&self, body: String, expected: &Value) -> Result<String, Refusal> {
        let is_right = parse::parse(&body).is_ok_and(|root| root.to_value(&body) == *expected);
        match is_right {
            true => Ok(format!("{}{body}", self.bom)),
            false => {
                Err(Refusal::new("its layout is one that Forage can't edit without changing more".to_owned()))
            }
        }
    }
}

fn object<'n>(node: &'n Node, name: &str) -> Result<&'n [Member], Refusal> {
    node.members().ok_or_else(|| match name {
        "" => Refusal::new("its top level is not an object".to_owned()),
        name => Refusal::new(format!("`{name}` in it is not an object")),
    })
}

fn unique<'m>(members: &'m [Member], key: &str) -> Result<Option<&'m Member>, Refusal> {
    let mut found = members.iter().filter(|member| member.key == key);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(Refusal::new(format!("it has `{key}` more than once"))),
        (member, None) => Ok(member),
    }
}

fn position(members: &[Member], key: &str) -> usize {
    members.iter().position(|member| member.key == key).unwrap_or_default()
}

fn put(root: &mut Value, spot: Spot<'_>, value: Value) {
    if let Some(root) = root.as_object_mut() {
        let section = root.entry(spot.section).or_insert_with(|| Value::Object(Map::new()));
        if let Some(section) = section.as_object_mut() {
            section.insert(spot.name.to_owned(), value);
        }
    }
}

fn take(root: &mut Value, path: &[&str]) {
    if let ([keys @ .., last], value) = (path, root) {
        let parent = keys.iter().try_fold(value, |value, key| value.get_mut(*key));
        if let Some(parent) = parent.and_then(Value::as_object_mut) {
            parent.shift_remove(*last);
        }
    }
}

/// How a file is laid out.
struct Style<'t> {
    newline: &'static str,
    unit: &'t str,
}

impl<'t> Style<'t> {
    fn of(document: &Document<'t>) -> Self {
        let first = document.root.members().and_then(<[Member]>::first);
        let own_line = first.filter(|member| is_first_on_line(document.body, member.key_start));
        let unit = own_line.map(|member| line_indent(document.body, member.key_start));
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or(INDENT);
        Self { newline: super::newline(document.body), unit }
    }

    /// The value over several lines, all but the first of them indented by `indent`. Arrays stay on one line.
    fn pretty(&self, value: &Value, indent: &str) -> String {
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
fn compact(value: &Value) -> String {
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

/// Puts a member at the end of an object.
fn insert(body: &str, style: &Style<'_>, object: &Node, key: &str, value: &Value) -> String {
    let name = Value::from(key);
    let base = line_indent(body, object.start);
    let Some(last) = object.members().and_then(<[Member]>::last) else {
        let entry = format!("{name}: {}", style.pretty(value, base));
        return splice(body, object.start + 1..object.start + 1, &entry);
    };
    let after = last.comma.map_or(last.value.end, |comma| comma + 1);
    let (rest_of_line, ends_in_comment) = rest_of_line(&body[after..object.end - 1]);
    let at = after + rest_of_line;
    let own_line = match is_first_on_line(body, last.key_start) {
        true => Some(line_indent(body, last.key_start).to_owned()),
        false if ends_in_comment => Some(format!("{base}{}", style.unit)),
        false => None,
    };
    let entry = match own_line {
        Some(indent) => format!("{}{indent}{name}: {}", style.newline, style.pretty(value, &indent)),
        None => format!(" {name}: {}", compact(value)),
    };
    match last.comma {
        // The style of the file is kept: a trailing comma stays a trailing comma.
        Some(_) => splice(body, at..at, &format!("{entry},")),
        None => splice(&splice(body, at..at, &entry), last.value.end..last.value.end, ","),
    }
}

/// Takes a member out, with the whitespace before it if `with_line`.
fn cut(body: &str, members: &[Member], index: usize, with_line: bool) -> String {
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
fn line_indent(body: &str, at: usize) -> &str {
    let line = &body[line_start(body, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn is_first_on_line(body: &str, at: usize) -> bool {
    let start = line_start(body, at);
    start > 0 && body[start..at].trim_matches([' ', '\t']).is_empty()
}

fn splice(text: &str, range: std::ops::Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}

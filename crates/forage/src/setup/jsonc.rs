//! Edits JSON with comments and trailing commas in place. A member is inserted or removed, and all other
//! bytes stay.
//!
//! The parser is `jsonc-parser`. We don't edit its concrete syntax tree, because inserting a member spreads a
//! one-line object over several lines, and removing the member does not undo this.
//!
//! A new member must come first in its container, so that one splice inserts it and the reverse removes it:
//! - on a line of its own, after the comments on the line of the brace;
//! - before the first member, if that is on the line of the brace;
//! - directly after the brace of an empty container. A container that we create for the member has white
//!   space there. This shows that it should be removed together with the member.

use std::ops::Range;

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::{EntryLocation, FileContents, SetupRefusal, contents, newline};

/// Where a value is in a file: inside the objects of `path`, which are created if they are missing.
#[derive(Clone, Copy)]
pub(super) struct JsonTarget<'a> {
    pub(super) path: &'a [&'a str],
    pub(super) leaf: Leaf<'a>,
}

/// The last step to a value.
#[derive(Clone, Copy)]
pub(super) enum Leaf<'a> {
    /// A member of an object.
    Member(&'a str),
    /// The list element for which this returns true.
    Element(&'a dyn Fn(&Value) -> bool),
}

/// One level of indentation, for a file that has no indentation of its own.
const INDENT: &str = "  ";

/// Maximum edits for one entry. A file that needs more is refused.
const MAX_EDITS: usize = 256;

/// The dialect that editors and agents accept in such files: JSON with comments and trailing commas, but not
/// JSON5.
const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads the servers from a file without changing it.
pub(super) fn inspect(text: &str, spot: EntryLocation<'_>) -> Result<FileContents, SetupRefusal> {
    let Some(document) = Document::open(text)? else { return Ok(FileContents::default()) };
    document.way(spot.target())?;
    contents(&value(&document.root), spot)
}

/// Parses a whole file.
pub(super) fn read(text: &str) -> Result<Value, SetupRefusal> {
    Ok(value(&Document::parse(body(text))?.root))
}

/// Looks up the value at a position.
pub(super) fn find(text: &str, target: JsonTarget<'_>) -> Result<Option<Value>, SetupRefusal> {
    let Some(document) = Document::open(text)? else { return Ok(None) };
    Ok(document.way(target)?.get(target.path.len() + 1).map(|member| value(member.value)))
}

/// Sets the value at a position. An existing value is adapted by small edits, so that the user's comments and
/// layout stay.
pub(super) fn add(text: &str, target: JsonTarget<'_>, wanted: &Value) -> Result<String, SetupRefusal> {
    let Some(before) = Document::open(text)? else {
        // Don't add a final newline, because this distinguishes the file from one that we created.
        return Ok(format!("{text}{}", whole(target, wanted, newline(text))));
    };
    let mut added = before.body.to_owned();
    // An edit moves everything after it, so we parse the text again before the next one.
    for _ in 0..MAX_EDITS {
        let document = Document::parse(&added)?;
        let way = document.way(target)?;
        let edit = match way.get(target.path.len() + 1) {
            Some(member) => document.next_edit(member.value, wanted),
            None => {
                let path = &target.path[way.len() - 1..];
                Some(document.insert(way[way.len() - 1].value, JsonTarget { path, ..target }, wanted))
            }
        };
        let Some(edit) = edit else { break };
        added = edit.apply(&added);
    }
    before.check(&added, target, Some(wanted))?;
    Ok(format!("{}{added}", bom(text)))
}

/// Removes the value at a position. Returns `None` if the text equals the output of [`created`], so that the
/// file should be deleted.
pub(super) fn remove(text: &str, target: JsonTarget<'_>) -> Result<Option<String>, SetupRefusal> {
    let Some(document) = Document::open(text)? else { return Ok(Some(text.to_owned())) };
    let way = document.way(target)?;
    let Some(member) = way.get(target.path.len() + 1) else { return Ok(Some(text.to_owned())) };
    let present = value(member.value);
    if text == created(target, &present) {
        return Ok(None);
    }
    let blank = text.strip_suffix(&whole(target, &present, newline(text)));
    if let Some(blank) = blank.filter(|blank| is_blank(blank)) {
        return Ok(Some(blank.to_owned()));
    }
    let is_made = |depth: &usize| document.is_made_for(way[*depth].value, way[*depth + 1]);
    let depth = (1..way.len() - 1).rev().take_while(is_made).last().unwrap_or(way.len() - 1);
    let removed = document.cut(way[depth]).apply(document.body);
    document.check(&removed, target, None)?;
    Ok(Some(format!("{}{removed}", bom(text))))
}

/// Formats a new file that contains only this value at its position.
pub(super) fn created(target: JsonTarget<'_>, value: &Value) -> String {
    whole(target, value, "\n") + "\n"
}

fn whole(target: JsonTarget<'_>, value: &Value, newline: &'static str) -> String {
    let member = Layout { newline, unit: INDENT }.member(target, value, Some(INDENT));
    format!("{{{newline}{INDENT}{member}{newline}}}")
}

fn is_blank(text: &str) -> bool {
    // Only JSON's own white space counts. Unicode has more of it, which a document must not contain.
    body(text).trim_matches([' ', '\t', '\n', '\r']).is_empty()
}

fn body(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn bom(text: &str) -> &str {
    &text[..text.len() - body(text).len()]
}

/// Converts a node to a value. The last one of duplicate keys wins, and a number that is out of range becomes
/// text.
fn value(node: &Node<'_>) -> Value {
    node.clone().into()
}

/// A member of an object, or an element of a list, which has no key.
#[derive(Clone, Copy)]
struct Member<'n> {
    key: &'n str,
    start: usize,
    value: &'n Node<'n>,
}

fn members<'n>(container: &'n Node<'_>) -> Vec<Member<'n>> {
    match container {
        Node::Object(object) => {
            let members = object.properties.iter();
            members.map(|it| Member { key: it.name.as_str(), start: it.start(), value: &it.value }).collect()
        }
        Node::Array(array) => {
            array.elements.iter().map(|it| Member { key: "", start: it.start(), value: it }).collect()
        }
        _ => Vec::new(),
    }
}

/// A replacement of a byte range.
struct Edit {
    range: Range<usize>,
    text: String,
}

impl Edit {
    fn apply(&self, body: &str) -> String {
        format!("{}{}{}", &body[..self.range.start], self.text, &body[self.range.end..])
    }
}

/// A parsed file.
struct Document<'t> {
    body: &'t str,
    root: Node<'t>,
    /// All tokens, including comments.
    tokens: Vec<TokenAndRange<'t>>,
}

impl<'t> Document<'t> {
    /// Parses a file. Returns `None` if it contains only white space.
    fn open(text: &'t str) -> Result<Option<Self>, SetupRefusal> {
        (!is_blank(text)).then(|| Self::parse(body(text))).transpose()
    }

    fn parse(body: &'t str) -> Result<Self, SetupRefusal> {
        let refuse = |problem: &dyn std::fmt::Display, line: usize| {
            SetupRefusal::new(format!("it is not valid JSON: {problem}, line {line}"))
        };
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(body, &collect, &DIALECT)
            .map_err(|error| refuse(error.kind(), error.line_display()))?;
        let root = parsed.value.ok_or_else(|| refuse(&"there is no value", 1))?;
        Ok(Self { body, root, tokens: parsed.tokens.unwrap_or_default() })
    }

    /// Follows the path to a position as far as it exists. Returns the nodes on it: the top level, the
    /// containers, and finally the value itself.
    fn way(&self, target: JsonTarget<'_>) -> Result<Vec<Member<'_>>, SetupRefusal> {
        let refuse = |problem: String| Err(SetupRefusal::new(problem));
        let mut way = vec![Member { key: "", start: self.root.start(), value: &self.root }];
        for depth in 0..=target.path.len() {
            let container = way[depth];
            let all = members(container.value);
            let key = match (target.path.get(depth).copied(), target.leaf) {
                (Some(key), _) | (None, Leaf::Member(key)) => key,
                (None, Leaf::Element(is_it)) => {
                    if !matches!(container.value, Node::Array(_)) {
                        return refuse(format!("`{}` in it is not a list", container.key));
                    }
                    way.extend(all.into_iter().find(|element| is_it(&value(element.value))));
                    break;
                }
            };
            match container.value {
                Node::Object(_) => {}
                _ if depth == 0 => return refuse("its top level is not an object".to_owned()),
                _ => return refuse(format!("`{}` in it is not an object", container.key)),
            }
            let mut found = all.into_iter().filter(|member| member.key == key);
            match (found.next(), found.next()) {
                (_, Some(_)) => return refuse(format!("it has `{key}` more than once")),
                (Some(member), None) => way.push(member),
                (None, None) => break,
            }
        }
        Ok(way)
    }

    /// Checks that an edited text has the wanted value at the position, and otherwise means the same as
    /// before.
    fn check(
        &self,
        edited: &str,
        target: JsonTarget<'_>,
        wanted: Option<&Value>,
    ) -> Result<(), SetupRefusal> {
        let is_right = Document::parse(edited).is_ok_and(|edited| {
            let (mut before, mut after) = (value(&self.root), value(&edited.root));
            take(&mut before, target);
            let taken = take(&mut after, target);
            before == after && wanted.is_none_or(|wanted| taken.as_ref() == Some(wanted))
        });
        is_right.then_some(()).ok_or_else(|| {
            SetupRefusal::new("its layout is one that Forage can't edit without changing more".to_owned())
        })
    }

    fn layout(&self) -> Layout<'t> {
        let first = members(&self.root).first().map(|member| member.start);
        let unit = first.filter(|start| self.own_line(*start).is_some());
        let unit = unit.map_or("", |start| line_indent(self.body, start));
        Layout { newline: newline(self.body), unit: if unit.is_empty() { INDENT } else { unit } }
    }

    /// Returns where the previous line ends, but only if nothing except white space precedes `start` on its
    /// own line.
    fn own_line(&self, start: usize) -> Option<usize> {
        let above = self.body[..start].trim_end_matches([' ', '\t']).strip_suffix('\n')?;
        Some(above.strip_suffix('\r').unwrap_or(above).len())
    }

    /// Inserts a value at the beginning of a container.
    fn insert(&self, container: &Node<'_>, target: JsonTarget<'_>, value: &Value) -> Edit {
        let layout = self.layout();
        let base = line_indent(self.body, container.start());
        let mut at = container.start() + 1;
        if members(container).is_empty() {
            return Edit { range: at..at, text: layout.member(target, value, Some(base)) };
        }
        let next = self.tokens.partition_point(|token| token.range.start < at);
        // Comments on the line of the bracket stay in front of the new member.
        for token in &self.tokens[next..] {
            if self.body[at..token.range.start].contains('\n') {
                let indent = format!("{base}{}", layout.unit);
                let member = layout.member(target, value, Some(&indent));
                return Edit { range: at..at, text: format!("{}{indent}{member},", layout.newline) };
            }
            if !is_comment(token) {
                at = token.range.start;
                break;
            }
            at = token.range.end;
        }
        Edit { range: at..at, text: layout.member(target, value, None) + ", " }
    }

    /// Cuts a member from its container, together with its comma and the line or space that was inserted with
    /// it.
    fn cut(&self, member: Member<'_>) -> Edit {
        let end = member.value.end();
        // Keep the comments between the member and its comma.
        let kept = |range: Range<usize>| match self.body[range].trim() {
            "" => String::new(),
            comments => comments.to_owned() + newline(self.body),
        };
        let is_comma = |token: &&TokenAndRange<'_>| token.token == Token::Comma;
        let split = self.tokens.partition_point(|token| token.range.start < member.start);
        let after = self.tokens[split..].iter().filter(|token| token.range.start >= end);
        let after = after.into_iter().find(|token| !is_comment(token)).filter(is_comma);
        let before = self.tokens[..split].iter().rev().find(|token| !is_comment(token)).filter(is_comma);
        let (range, text) = match (after, before) {
            (Some(comma), _) => (member.start..comma.range.end, kept(end..comma.range.start)),
            (None, Some(comma)) => {
                return Edit { range: comma.range.start..end, text: kept(comma.range.end..member.start) };
            }
            (None, None) => (member.start..end, String::new()),
        };
        let rest = &self.body[range.end..];
        let is_line = rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
        match self.own_line(member.start).filter(|_| is_line) {
            // The previous line may end in a line comment, which would swallow the comments that stay.
            Some(start) if !text.is_empty() => {
                Edit { range: start..range.end, text: newline(self.body).to_owned() + text.trim_end() }
            }
            Some(start) => Edit { range: start..range.end, text },
            None => {
                let space = usize::from(after.is_some() && rest.starts_with(' '));
                Edit { range: range.start..range.end + space, text }
            }
        }
    }

    /// Returns true if we created this container for its only member. It then contains white space around the
    /// member, and nothing else.
    fn is_made_for(&self, container: &Node<'_>, member: Member<'_>) -> bool {
        let before = &self.body[container.start() + 1..member.start];
        let after = self.body[member.value.end()..container.end() - 1].trim();
        !before.is_empty() && before.trim().is_empty() && (after.is_empty() || after == ",")
    }

    /// Returns the next edit towards the wanted value, or `None` if the value is right. The edit is as small
    /// as possible.
    fn next_edit(&self, node: &Node<'_>, wanted: &Value) -> Option<Edit> {
        let (present, members) = (value(node), members(node));
        if present == *wanted {
            return None;
        }
        let leaf = |leaf| JsonTarget { path: &[], leaf };
        let edit = match (&present, wanted) {
            // Duplicate keys are ambiguous, so such an object is replaced as a whole.
            // An insertion goes to the front of its container, so the last missing member is inserted first.
            (Value::Object(old), Value::Object(new)) if old.len() == members.len() => {
                let missing = new.iter().rev().find(|(key, _)| !old.contains_key(*key));
                let changed = || members.iter().find_map(|it| self.next_edit(it.value, new.get(it.key)?));
                let left = || members.iter().find(|member| !new.contains_key(member.key));
                missing
                    .map(|(key, field)| self.insert(node, leaf(Leaf::Member(key)), field))
                    .or_else(changed)
                    .or_else(|| left().map(|member| self.cut(*member)))
            }
            (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
                members.iter().zip(new).find_map(|(element, item)| self.next_edit(element.value, item))
            }
            (Value::Array(old), Value::Array(new)) => {
                let missing = new.iter().rev().find(|item| !old.contains(item));
                let left = || members.iter().zip(old).find(|(_, item)| !new.contains(item));
                missing
                    .map(|item| self.insert(node, leaf(Leaf::Element(&|_| false)), item))
                    .or_else(|| left().map(|(element, _)| self.cut(*element)))
            }
            _ => None,
        };
        let text = || self.layout().value(wanted, None);
        edit.or_else(|| Some(Edit { range: node.start()..node.end(), text: text() }))
    }
}

fn is_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

/// Returns the white space at the beginning of the line that contains `at`.
fn line_indent(body: &str, at: usize) -> &str {
    let line = &body[body[..at].rfind('\n').map_or(0, |newline| newline + 1)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The layout of a file: its newline and one level of its indentation.
struct Layout<'t> {
    newline: &'static str,
    unit: &'t str,
}

impl Layout<'_> {
    /// Formats a value with its name and the containers that are created for it. Without an indentation
    /// everything is on one line.
    fn member(&self, target: JsonTarget<'_>, value: &Value, indent: Option<&str>) -> String {
        let named = |name: &str, text: String| format!("{}: {text}", Value::from(name));
        let Some((key, path)) = target.path.split_first() else {
            return match target.leaf {
                Leaf::Member(name) => named(name, self.value(value, indent)),
                Leaf::Element(_) => self.value(value, indent),
            };
        };
        let is_list = path.is_empty() && matches!(target.leaf, Leaf::Element(_));
        let (open, close) = if is_list { ('[', ']') } else { ('{', '}') };
        let inner = indent.map(|indent| format!("{indent}{}", self.unit));
        let member = self.member(JsonTarget { path, ..target }, value, inner.as_deref());
        let text = match indent {
            Some(indent) => {
                let newline = self.newline;
                format!("{open}{newline}{indent}{}{member}{newline}{indent}{close}", self.unit)
            }
            None => format!("{open} {member} {close}"),
        };
        named(key, text)
    }

    /// Formats a value. An object has a line per member, and all lines but the first are indented. Lists are
    /// always on one line, and without an indentation so are objects.
    fn value(&self, value: &Value, indent: Option<&str>) -> String {
        match value {
            Value::Object(members) => {
                let inner = indent.map(|indent| format!("{indent}{}", self.unit));
                let member = |(key, field): (&String, &Value)| {
                    format!("{}: {}", Value::from(key.as_str()), self.value(field, inner.as_deref()))
                };
                let members: Vec<String> = members.iter().map(member).collect();
                match (&inner, indent) {
                    (Some(inner), Some(indent)) if !members.is_empty() => {
                        let newline = self.newline;
                        let members = members.join(&format!(",{newline}{inner}"));
                        format!("{{{newline}{inner}{members}{newline}{indent}}}")
                    }
                    _ => format!("{{{}}}", members.join(", ")),
                }
            }
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.value(item, None)).collect();
                format!("[{}]", items.join(", "))
            }
            scalar => scalar.to_string(),
        }
    }
}

/// Removes the value at a position from a parsed file, and also the containers that become empty.
fn take(file: &mut Value, target: JsonTarget<'_>) -> Option<Value> {
    if let Some((key, path)) = target.path.split_first() {
        let inner = file.get_mut(*key)?;
        let taken = take(inner, JsonTarget { path, ..target });
        if *inner == serde_json::json!({}) || *inner == serde_json::json!([]) {
            file.as_object_mut()?.shift_remove(*key);
        }
        return taken;
    }
    match (target.leaf, file) {
        (Leaf::Member(name), Value::Object(members)) => members.shift_remove(name),
        (Leaf::Element(is_it), Value::Array(items)) => {
            let taken = items.iter().position(is_it).map(|index| items[index].clone());
            items.retain(|item| !is_it(item));
            taken
        }
        _ => None,
    }
}

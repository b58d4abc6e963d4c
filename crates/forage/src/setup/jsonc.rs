//! JSON with comments and trailing commas, edited in place: a member goes in or out, every other byte stays.
//!
//! The syntax is `jsonc-parser`'s. The editing is not: its concrete syntax tree spreads an object of one line over
//! several when a member comes in, and leaves it so when that goes out.
//!
//! What goes in comes out again exactly. Where two files would look the same with the entry in them, its form tells
//! which one it was: it begins on the line of the brace in an object that was empty, and on a line of its own in an
//! object that was created for it.

mod layout;
mod parse;

use serde_json::{Map, Value};

use super::SetupRefusal;
use layout::{LayoutStyle, LayoutValue, New, cut, insert, line_indent, splice};
use parse::{JsonNode, Member};

/// Where an entry stands: `name` within the object `section` of the top level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'a> {
    pub(super) section: &'a str,
    pub(super) name: &'a str,
    /// The section is a list, whose elements say their names themselves.
    pub(super) is_list: bool,
}

/// What is in a file.
#[derive(Debug, Default)]
pub(super) struct JsoncContents {
    pub(super) entry: Option<Value>,
    /// Names of the other entries of the section.
    pub(super) neighbours: Vec<String>,
    pub(super) has_section: bool,
}

/// Where something of ours stands: below these objects, which are made where they are missing.
#[derive(Clone, Copy)]
pub(super) struct JsonTarget<'a> {
    pub(super) path: &'a [&'a str],
    pub(super) leaf: Leaf<'a>,
}

/// What stands there.
#[derive(Clone, Copy)]
pub(super) enum Leaf<'a> {
    /// A member of an object.
    Member(&'a str),
    /// The element of a list that this is true of.
    Element(&'a dyn Fn(&Value) -> bool),
}

/// Looks without changing anything.
pub(super) fn inspect(text: &str, spot: Spot<'_>) -> Result<JsoncContents, SetupRefusal> {
    if is_blank(text) {
        return Ok(JsoncContents::default());
    }
    let document = Document::parse(text)?;
    let Some(section) = unique(object(&document.root, "")?, spot.section)? else {
        return Ok(JsoncContents::default());
    };
    let members = object(&section.value, spot.section)?;
    let entry = unique(members, spot.name)?.map(|member| member.value.to_value(document.body));
    let others = members.iter().filter(|member| member.key != spot.name);
    let neighbours = others.map(|member| member.key.clone()).collect();
    Ok(JsoncContents { entry, neighbours, has_section: true })
}

/// What a whole file says.
pub(super) fn value(text: &str) -> Result<Value, SetupRefusal> {
    let document = Document::parse(text)?;
    Ok(document.root.to_value(document.body))
}

/// What stands at a place.
pub(super) fn find(text: &str, target: JsonTarget<'_>) -> Result<Option<Value>, SetupRefusal> {
    if is_blank(text) {
        return Ok(None);
    }
    let document = Document::parse(text)?;
    let way = document.way(target)?;
    Ok(way.found.map(|(members, index)| members[index].value.to_value(document.body)))
}

/// The text with the entry in it. An entry of that name is replaced.
pub(super) fn add(text: &str, spot: Spot<'_>, value: &Value) -> Result<String, SetupRefusal> {
    add_at(text, JsonTarget { path: &[spot.section], leaf: Leaf::Member(spot.name) }, value)
}

/// The text with a value at a place. Of what is there already no more is changed than what says something else.
pub(super) fn add_at(text: &str, target: JsonTarget<'_>, value: &Value) -> Result<String, SetupRefusal> {
    if is_blank(text) {
        // Without a final newline, which a file that was created has.
        return Ok(format!("{text}{}", whole(target, value, super::newline(text))));
    }
    let document = Document::parse(text)?;
    let body = document.body;
    let style = LayoutStyle::of(&document);
    let way = document.way(target)?;
    let mut expected = document.root.to_value(body);
    put(&mut expected, target, value.clone());
    let added = match way.found {
        Some((members, index)) => {
            let member = &members[index];
            if let Some(text) = brought(text, target, value) {
                return Ok(text);
            }
            splice(body, member.value.start..member.value.end, &style.anew(body, member, value))
        }
        None => {
            let depth = way.nodes.len() - 1;
            let container = way.nodes[depth];
            let new = match target.path.get(depth) {
                Some(_) => New { path: &target.path[depth + 1..], leaf: target.leaf, value },
                None => New { path: &[], leaf: target.leaf, value },
            };
            match (target.path.get(depth), target.leaf) {
                (Some(key), _) => insert(body, &style, container, Some(key), &LayoutValue::Chain(new)),
                (None, Leaf::Member(name)) => {
                    insert(body, &style, container, Some(name), &LayoutValue::Value(value))
                }
                (None, Leaf::Element(_)) => insert(body, &style, container, None, &LayoutValue::Value(value)),
            }
        }
    };
    document.checked(added, &expected)
}

/// Changes of one entry that are made one by one.
const MOST_STEPS: usize = 256;

/// The text in which what stands at a place was brought to say something else, step by step, so that what its user has
/// written into it stays, comments too; `None` where that can't be.
fn brought(text: &str, target: JsonTarget<'_>, value: &Value) -> Option<String> {
    // By its place: while it changes, it may not look like what it is.
    let index = Document::parse(text).ok()?.way(target).ok()?.found?.1;
    let mut text = text.to_owned();
    for _ in 0..MOST_STEPS {
        let document = Document::parse(&text).ok()?;
        let style = LayoutStyle::of(&document);
        let container = target
            .path
            .iter()
            .try_fold(&document.root, |node, key| Some(&unique(node.members()?, key).ok()??.value))?;
        let member = container.members().or_else(|| container.elements())?.get(index)?;
        let mut expected = document.root.to_value(document.body);
        let Some(step) = layout::step(document.body, &style, member, value) else { return Some(text) };
        let place = target.path.iter().try_fold(&mut expected, |value, key| value.get_mut(*key))?;
        match place {
            Value::Object(members) => *members.get_mut(&member.key)? = step.value,
            Value::Array(elements) => *elements.get_mut(index)? = step.value,
            _ => return None,
        }
        text = step.texts.into_iter().find_map(|body| document.checked(body, &expected).ok())?;
    }
    None
}

/// The text without the entry; `None` when it is what [`created`] gives, so that the file goes, too.
pub(super) fn remove(text: &str, spot: Spot<'_>) -> Result<Option<String>, SetupRefusal> {
    remove_at(text, JsonTarget { path: &[spot.section], leaf: Leaf::Member(spot.name) })
}

/// The same for what stands at a place.
pub(super) fn remove_at(text: &str, target: JsonTarget<'_>) -> Result<Option<String>, SetupRefusal> {
    if is_blank(text) {
        return Ok(Some(text.to_owned()));
    }
    let document = Document::parse(text)?;
    let body = document.body;
    let style = LayoutStyle::of(&document);
    let way = document.way(target)?;
    let Some((members, index)) = way.found else { return Ok(Some(text.to_owned())) };
    let value = members[index].value.to_value(body);
    if text == created_at(target, &value) {
        return Ok(None);
    }
    if let Some(blank) =
        text.strip_suffix(&whole(target, &value, super::newline(text))).filter(|rest| is_blank(rest))
    {
        return Ok(Some(blank.to_owned()));
    }
    // Containers that were made for it go with it: those that hold nothing else, in the form in which they are made.
    let is_made = |depth: &usize| {
        let node = way.nodes[*depth];
        let new = New { path: &target.path[*depth..], leaf: target.leaf, value: &value };
        let present = &body[node.start..node.end];
        let indent = line_indent(body, way.key_starts[*depth - 1]);
        present == style.chain(new, Some(indent)) || present == style.chain(new, None)
    };
    let top = (1..way.nodes.len()).rev().take_while(is_made).last();
    let mut expected = document.root.to_value(body);
    let (members, index) = match top {
        Some(depth) => {
            let members = object(way.nodes[depth - 1], "")?;
            take(&mut expected, &target.path[..depth]);
            (members, position(members, target.path[depth - 1]))
        }
        None => {
            take_leaf(&mut expected, target);
            (members, index)
        }
    };
    let removed = cut(body, members, index, true);
    document
        .checked(removed, &expected)
        // A comment before the entry that needs its newline.
        .or_else(|_| document.checked(cut(body, members, index, false), &expected))
        .map(Some)
}

/// The text of a file that has nothing but the entry.
pub(super) fn created(spot: Spot<'_>, value: &Value) -> String {
    created_at(JsonTarget { path: &[spot.section], leaf: Leaf::Member(spot.name) }, value)
}

/// The text of a file that has nothing but this value at its place.
pub(super) fn created_at(target: JsonTarget<'_>, value: &Value) -> String {
    whole(target, value, "\n") + "\n"
}

fn whole(target: JsonTarget<'_>, value: &Value, newline: &'static str) -> String {
    let style = LayoutStyle::new(newline);
    style.chain(New { path: target.path, leaf: target.leaf, value }, Some(""))
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
    root: JsonNode,
}

impl<'t> Document<'t> {
    fn parse(text: &'t str) -> Result<Self, SetupRefusal> {
        let body = text.strip_prefix(BOM).unwrap_or(text);
        let root = parse::parse(body).map_err(|(line, problem)| {
            SetupRefusal::new(format!("it is not valid JSON: {problem}, line {line}"))
        })?;
        Ok(Self { bom: &text[..text.len() - body.len()], body, root })
    }

    /// How far the way to a place leads, and what stands there.
    fn way(&self, target: JsonTarget<'_>) -> Result<MemberPath<'_>, SetupRefusal> {
        let mut way = MemberPath { nodes: vec![&self.root], key_starts: Vec::new(), found: None };
        let mut name = "";
        for key in target.path {
            let Some(member) = unique(object(way.nodes[way.nodes.len() - 1], name)?, key)? else {
                return Ok(way);
            };
            way.nodes.push(&member.value);
            way.key_starts.push(member.key_start);
            name = key;
        }
        let container = way.nodes[way.nodes.len() - 1];
        way.found = match target.leaf {
            Leaf::Member(key) => {
                let members = object(container, name)?;
                unique(members, key)?.map(|_| (members, position(members, key)))
            }
            Leaf::Element(is_it) => {
                let elements = container.elements();
                let elements =
                    elements.ok_or_else(|| SetupRefusal::new(format!("`{name}` in it is not a list")))?;
                let index = elements.iter().position(|element| is_it(&element.value.to_value(self.body)));
                index.map(|index| (elements, index))
            }
        };
        Ok(way)
    }

    /// The new text, if it says what it should say and nothing else has changed.
    fn checked(&self, body: String, expected: &Value) -> Result<String, SetupRefusal> {
        let is_right = parse::parse(&body).is_ok_and(|root| root.to_value(&body) == *expected);
        match is_right {
            true => Ok(format!("{}{body}", self.bom)),
            false => Err(SetupRefusal::new(
                "its layout is one that Forage can't edit without changing more".to_owned(),
            )),
        }
    }
}

/// The way to a place.
struct MemberPath<'n> {
    /// The top level and the containers below it, as far as they are there.
    nodes: Vec<&'n JsonNode>,
    /// Where the members begin that hold all of them but the first.
    key_starts: Vec<usize>,
    /// What stands at its end: one of these.
    found: Option<(&'n [Member], usize)>,
}

fn object<'n>(node: &'n JsonNode, name: &str) -> Result<&'n [Member], SetupRefusal> {
    node.members().ok_or_else(|| match name {
        "" => SetupRefusal::new("its top level is not an object".to_owned()),
        name => SetupRefusal::new(format!("`{name}` in it is not an object")),
    })
}

fn unique<'m>(members: &'m [Member], key: &str) -> Result<Option<&'m Member>, SetupRefusal> {
    let mut found = members.iter().filter(|member| member.key == key);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(SetupRefusal::new(format!("it has `{key}` more than once"))),
        (member, None) => Ok(member),
    }
}

fn position(members: &[Member], key: &str) -> usize {
    members.iter().position(|member| member.key == key).unwrap_or_default()
}

fn put(root: &mut Value, target: JsonTarget<'_>, value: Value) {
    let mut container = root;
    for key in target.path {
        // What is made on the way is an object.
        if container.is_null() {
            *container = Value::Object(Map::new());
        }
        let Some(members) = container.as_object_mut() else { return };
        container = members.entry(*key).or_insert(Value::Null);
    }
    match target.leaf {
        Leaf::Member(name) => {
            if container.is_null() {
                *container = Value::Object(Map::new());
            }
            if let Some(members) = container.as_object_mut() {
                members.insert(name.to_owned(), value);
            }
        }
        Leaf::Element(is_it) => {
            if container.is_null() {
                *container = Value::Array(Vec::new());
            }
            let Some(elements) = container.as_array_mut() else { return };
            match elements.iter().position(is_it) {
                Some(index) => elements[index] = value,
                None => elements.push(value),
            }
        }
    }
}

fn take(root: &mut Value, path: &[&str]) {
    if let [keys @ .., last] = path
        && let Some(parent) = keys.iter().try_fold(root, |value, key| value.get_mut(*key))
        && let Some(parent) = parent.as_object_mut()
    {
        parent.shift_remove(*last);
    }
}

fn take_leaf(root: &mut Value, target: JsonTarget<'_>) {
    let Some(container) = target.path.iter().try_fold(root, |value, key| value.get_mut(*key)) else { return };
    match (target.leaf, container) {
        (Leaf::Member(name), Value::Object(members)) => drop(members.shift_remove(name)),
        (Leaf::Element(is_it), Value::Array(elements)) => {
            if let Some(index) = elements.iter().position(is_it) {
                elements.remove(index);
            }
        }
        _ => {}
    }
}

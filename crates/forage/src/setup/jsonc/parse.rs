//! Where everything stands in a JSON text with comments and trailing commas.

use jsonc_parser::ast::{ObjectProp, Value as Syntax};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

/// A value and its place, in bytes.
#[derive(Debug)]
pub(super) struct JsonNode {
    pub(super) start: usize,
    pub(super) end: usize,
    kind: ValueKind,
}

#[derive(Debug)]
enum ValueKind {
    Object(Vec<Member>),
    Array(Vec<Member>),
    Scalar,
}

/// A member of an object, or an element of a list, which has no key.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    /// Where it begins.
    pub(super) key_start: usize,
    pub(super) value: JsonNode,
    /// The place of the comma after it.
    pub(super) comma: Option<usize>,
}

impl JsonNode {
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            ValueKind::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(super) fn elements(&self) -> Option<&[Member]> {
        match &self.kind {
            ValueKind::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// What it says. A key that stands twice counts once, as for every reader.
    pub(super) fn to_value(&self, text: &str) -> Value {
        match &self.kind {
            ValueKind::Object(members) => {
                let members = members.iter().map(|member| (member.key.clone(), member.value.to_value(text)));
                Value::Object(Map::from_iter(members))
            }
            ValueKind::Array(items) => items.iter().map(|item| item.value.to_value(text)).collect(),
            ValueKind::Scalar => scalar(&text[self.start..self.end]),
        }
    }
}

/// A token that serde_json has no value for (a number out of range) stands for itself.
fn scalar(token: &str) -> Value {
    serde_json::from_str(token).unwrap_or_else(|_| Value::from(token))
}

/// Parses a text; an error is a line and what is wrong there.
pub(super) fn parse(text: &str) -> Result<JsonNode, (usize, String)> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: true };
    let parsed = parse_to_ast(text, &collect, &DIALECT)
        .map_err(|error| (error.line_display(), error.kind().to_string()))?;
    let root = parsed.value.ok_or_else(|| (1, "there is no value".to_owned()))?;
    let tokens = parsed.tokens.unwrap_or_default();
    Ok(SyntaxPlaces { text, tokens: &tokens }.node(&root))
}

/// What the editors and agents read that write such files: JSON with comments and trailing commas, no JSON5.
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

/// The parser's tree has no commas: they are among its tokens.
struct SyntaxPlaces<'t> {
    text: &'t str,
    tokens: &'t [TokenAndRange<'t>],
}

impl SyntaxPlaces<'_> {
    fn node(&self, value: &Syntax<'_>) -> JsonNode {
        let kind = match value {
            Syntax::Object(object) => {
                let member = |property: &ObjectProp<'_>| {
                    let name = property.name.range();
                    let token = &self.text[name.start..name.end];
                    let key = serde_json::from_str(token).unwrap_or_else(|_| token.to_owned());
                    self.member(key, name.start, &property.value)
                };
                ValueKind::Object(object.properties.iter().map(member).collect())
            }
            Syntax::Array(array) => {
                let element = |value: &Syntax<'_>| self.member(String::new(), value.start(), value);
                ValueKind::Array(array.elements.iter().map(element).collect())
            }
            _ => ValueKind::Scalar,
        };
        JsonNode { start: value.start(), end: value.end(), kind }
    }

    fn member(&self, key: String, key_start: usize, value: &Syntax<'_>) -> Member {
        let next = self.tokens.partition_point(|token| token.range.start < value.end());
        let comma = self.tokens.get(next).filter(|token| token.token == Token::Comma);
        Member { key, key_start, value: self.node(value), comma: comma.map(|token| token.range.start) }
    }
}

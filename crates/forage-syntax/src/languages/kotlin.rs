//! Kotlin.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, Source, child, children};

pub(crate) static KOTLIN: Row = Row {
    name: "kotlin",
    load: || SupportLang::Kotlin.get_ts_language(),
    rules: &[
        Rule::new("package_header", "package", Module, Name::Child(&["identifier"])),
        Rule::new("class_declaration", "class", Type, Name::With(class)),
        Rule::new("object_declaration", "object", Type, Name::Child(&["type_identifier"])),
        Rule::new("companion_object", "object", Type, Name::With(companion)),
        Rule::new("type_alias", "typealias", Type, Name::Child(&["type_identifier"])),
        Rule::new("function_declaration", "fun", Function, Name::With(function)),
        Rule::new("secondary_constructor", "constructor", Function, Name::Child(&["constructor"])),
        Rule::new("property_declaration", "val", Constant, Name::With(property)),
        Rule::new("class_parameter", "val", Constant, Name::With(parameter)),
        Rule::new("enum_entry", "entry", Constant, Name::With(entry)),
    ],
    local_scopes: &[
        "anonymous_function",
        "anonymous_initializer",
        "control_structure_body",
        "getter",
        "lambda_literal",
        "setter",
    ],
    member_scopes: &["class_body"],
    source: Source::Masked(mask),
    ..BASE
};

/// Modifiers that can also be names.
const MODIFIERS: &[&str] = &[
    "abstract",
    "actual",
    "const",
    "data",
    "expect",
    "external",
    "final",
    "infix",
    "inline",
    "inner",
    "internal",
    "lateinit",
    "open",
    "operator",
    "override",
    "private",
    "protected",
    "public",
    "sealed",
    "suspend",
    "tailrec",
    "value",
];

const DECLARATIONS: &[&str] =
    &["annotation", "class", "companion", "enum", "fun", "interface", "object", "typealias", "val", "var"];

/// Replaces modifiers before declarations by spaces, because the grammar reads `actual open class Name {` as
/// a call.
fn mask(text: &str) -> String {
    let mut masked = text.as_bytes().to_vec();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    // The first byte of the modifiers before the next word.
    let (mut modifiers, mut at) = (None, 0);
    while let Some(byte) = text.as_bytes().get(at) {
        if !is_word(byte) {
            if !matches!(byte, b' ' | b'\t') {
                modifiers = None;
            }
            at += 1;
            continue;
        }
        let length = text.as_bytes().iter().skip(at).take_while(|byte| is_word(byte)).count();
        let word = text.get(at..at + length).unwrap_or_default();
        match modifiers {
            _ if MODIFIERS.contains(&word) => modifiers = modifiers.or(Some(at)),
            Some(start) if DECLARATIONS.contains(&word) => {
                masked.get_mut(start..at).into_iter().flatten().for_each(|byte| *byte = b' ');
                modifiers = None;
            }
            _ => modifiers = None,
        }
        at += length;
    }
    String::from_utf8(masked).unwrap_or_else(|_| text.to_owned())
}

fn class<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let kind = match child(site.node, &["interface", "enum"]).map(|node| node.kind()) {
        Some("interface") => "interface",
        Some("enum") => "enum",
        _ => "class",
    };
    names.extend(child(site.node, &["type_identifier"]).map(|name| Named::new(name).with_kind(kind, Type)));
}

/// Matches a companion object. If it has no name, it is called `Companion`.
fn companion<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    match child(site.node, &["type_identifier"]) {
        Some(name) => names.push(Named::new(name)),
        None => {
            let word = child(site.node, &["companion"]);
            names.extend(word.map(|word| Named::new(word).with_spelling(None, "Companion".to_owned())));
        }
    }
}

/// Returns the type that an extension belongs to, without its arguments.
fn receiver(node: Node<'_>) -> Option<Node<'_>> {
    let mut receiver = node.child_by_field_name("receiver")?;
    while let Some(inner) = child(receiver, &["nullable_type", "parenthesized_type", "user_type"]) {
        receiver = inner;
    }
    child(receiver, &["type_identifier"])
}

fn function<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = child(site.node, &["simple_identifier"]) else { return };
    let named = Named::new(name).with_scope(receiver(site.node));
    names.push(match child(site.node, &["function_body"]) {
        Some(_) => named,
        None => named.with_kind("fun", Declaration),
    });
}

fn word(site: Site<'_, '_>) -> Option<&'static str> {
    let word = child(site.node, &["binding_pattern_kind"])?;
    Some(if site.text_of(word) == "var" { "var" } else { "val" })
}

fn property<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(kind) = word(site) else { return };
    let scope = receiver(site.node);
    // If accessors are on separate lines, they are separate nodes.
    let (mut end, mut next) = (None, site.node.next_named_sibling());
    while let Some(node) = next.filter(|node| node.is_extra() || matches!(node.kind(), "getter" | "setter")) {
        if !node.is_extra() {
            end = Some(node);
        }
        next = node.next_named_sibling();
    }
    let declared = child(site.node, &["variable_declaration", "multi_variable_declaration"]);
    let Some(declared) = declared else { return };
    let variables = children(declared).filter(|node| node.kind() == "variable_declaration");
    for variable in std::iter::once(declared).chain(variables) {
        let name = child(variable, &["simple_identifier"]);
        names.extend(
            name.map(|name| Named::new(name).with_scope(scope).with_kind(kind, Constant).with_last(end)),
        );
    }
}

/// Matches a constructor parameter that is also a property.
fn parameter<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(kind) = word(site) else { return };
    let name = child(site.node, &["simple_identifier"]);
    names.extend(name.map(|name| Named::new(name).with_kind(kind, Constant)));
}

/// Matches an enum entry with its own members.
fn entry<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if child(site.node, &["class_body"]).is_some() {
        names.extend(child(site.node, &["simple_identifier"]).map(Named::new));
    }
}

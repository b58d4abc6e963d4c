//! Swift.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Extension, Function, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const NAME: Name = Name::Field("name");

pub(crate) static SWIFT: Row = Row {
    name: "swift",
    load: || SupportLang::Swift.get_ts_language(),
    rules: &[
        Rule::new("class_declaration", "class", Type, Name::With(class)),
        Rule::new("protocol_declaration", "protocol", Type, NAME),
        Rule::new("typealias_declaration", "typealias", Type, NAME),
        Rule::new("associatedtype_declaration", "associatedtype", Type, NAME),
        Rule::new("function_declaration", "func", Function, NAME),
        Rule::new("protocol_function_declaration", "func", Declaration, NAME),
        Rule::new("init_declaration", "init", Function, Name::WithBody("name")),
        Rule::new("deinit_declaration", "deinit", Function, Name::Child(&["deinit"])),
        Rule::new("subscript_declaration", "subscript", Function, Name::Child(&["subscript"])),
        Rule::new("macro_declaration", "macro", Function, Name::Child(&["simple_identifier"])),
        Rule::new("property_declaration", "var", Constant, Name::With(property)),
        Rule::new("protocol_property_declaration", "var", Constant, Name::With(requirement)),
        Rule::new("operator_declaration", "operator", Declaration, Name::With(operator)),
        Rule::new(
            "precedence_group_declaration",
            "precedencegroup",
            Type,
            Name::Child(&["simple_identifier"]),
        ),
    ],
    local_scopes: &[
        "computed_property",
        "do_statement",
        "for_statement",
        "guard_statement",
        "if_statement",
        "lambda_literal",
        "switch_statement",
        "while_statement",
        "willset_didset_block",
    ],
    separators: &["."],
    ..BASE
};

fn class<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let word = site.node.child_by_field_name("declaration_kind").map(|node| node.kind());
    let (kind, category) = match word {
        Some("struct") => ("struct", Type),
        Some("enum") => ("enum", Type),
        Some("actor") => ("actor", Type),
        Some("extension") => ("extension", Extension),
        _ => ("class", Type),
    };
    let Some(name) = site.node.child_by_field_name("name") else { return };
    let named = Named::new(name).with_kind(kind, category);
    // For example `extension Outer.Inner<T>`.
    let parts: Vec<Node<'tree>> = children(name).filter(|node| node.kind() == "type_identifier").collect();
    names.push(match parts.split_last() {
        Some((last, outer)) if name.kind() == "user_type" => {
            let outer: Vec<&str> = outer.iter().map(|node| site.text_of(*node)).collect();
            let scope = (!outer.is_empty()).then(|| outer.join("."));
            Named { name: *last, ..named.with_spelling(scope, site.text_of(*last).to_owned()) }
        }
        _ => named,
    });
}

/// Adds the variables of one declaration, e.g. `let (a, b) = (1, 2), c = 3`.
fn property<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let word =
        child(site.node, &["value_binding_pattern"]).and_then(|node| node.child_by_field_name("mutability"));
    let kind = if word.is_some_and(|word| word.kind() == "let") { "let" } else { "var" };
    let mut cursor = site.node.walk();
    for pattern in site.node.children_by_field_name("name", &mut cursor) {
        let parts = children(pattern).filter(|node| node.kind() == "pattern");
        let bound = std::iter::once(pattern).chain(parts).filter_map(|pattern| {
            pattern.child_by_field_name("bound_identifier").or_else(|| child(pattern, &["simple_identifier"]))
        });
        names.extend(bound.map(|name| Named::new(name).with_kind(kind, Constant)));
    }
}

/// Matches a property that a protocol requires.
fn requirement<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let pattern = site.node.child_by_field_name("name");
    names.extend(pattern.and_then(|node| node.child_by_field_name("bound_identifier")).map(Named::new));
}

/// Adds the token after `operator`.
fn operator<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = children(site.node).skip_while(|node| node.kind() != "operator").nth(1);
    names.extend(name.map(Named::new));
}

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
        Rule { node: "class_declaration", kind: "class", category: Type, name: Name::With(class) },
        Rule { node: "protocol_declaration", kind: "protocol", category: Type, name: NAME },
        Rule { node: "typealias_declaration", kind: "typealias", category: Type, name: NAME },
        Rule { node: "associatedtype_declaration", kind: "associatedtype", category: Type, name: NAME },
        Rule { node: "function_declaration", kind: "func", category: Function, name: NAME },
        Rule { node: "protocol_function_declaration", kind: "func", category: Declaration, name: NAME },
        Rule { node: "init_declaration", kind: "init", category: Function, name: Name::WithBody("name") },
        Rule {
            node: "deinit_declaration",
            kind: "deinit",
            category: Function,
            name: Name::Child(&["deinit"]),
        },
        Rule {
            node: "subscript_declaration",
            kind: "subscript",
            category: Function,
            name: Name::Child(&["subscript"]),
        },
        Rule {
            node: "macro_declaration",
            kind: "macro",
            category: Function,
            name: Name::Child(&["simple_identifier"]),
        },
        Rule { node: "property_declaration", kind: "var", category: Constant, name: Name::With(property) },
        Rule {
            node: "protocol_property_declaration",
            kind: "var",
            category: Constant,
            name: Name::With(requirement),
        },
        Rule {
            node: "operator_declaration",
            kind: "operator",
            category: Declaration,
            name: Name::With(operator),
        },
        Rule {
            node: "precedence_group_declaration",
            kind: "precedencegroup",
            category: Type,
            name: Name::Child(&["simple_identifier"]),
        },
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

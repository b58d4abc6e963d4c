//! JavaScript and TypeScript, which share most nodes.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site};

const NAME: Name = Name::Field("name");

const RULES: &[Rule] = &[
    Rule { node: "class_declaration", kind: "class", category: Type, name: NAME },
    Rule { node: "class", kind: "class", category: Type, name: NAME },
    Rule { node: "function_declaration", kind: "function", category: Function, name: NAME },
    Rule { node: "generator_function_declaration", kind: "function", category: Function, name: NAME },
    Rule { node: "method_definition", kind: "method", category: Function, name: NAME },
    Rule { node: "variable_declarator", kind: "const", category: Constant, name: Name::With(variable) },
    Rule { node: "field_definition", kind: "field", category: Constant, name: Name::With(member) },
    Rule { node: "public_field_definition", kind: "field", category: Constant, name: Name::With(member) },
    Rule {
        node: "assignment_expression",
        kind: "function",
        category: Function,
        name: Name::With(assignment),
    },
    Rule { node: "pair", kind: "method", category: Function, name: Name::With(pair) },
    // TypeScript only.
    Rule { node: "abstract_class_declaration", kind: "class", category: Type, name: NAME },
    Rule { node: "interface_declaration", kind: "interface", category: Type, name: NAME },
    Rule { node: "enum_declaration", kind: "enum", category: Type, name: NAME },
    Rule { node: "type_alias_declaration", kind: "type", category: Type, name: NAME },
    Rule { node: "internal_module", kind: "namespace", category: Module, name: NAME },
    Rule { node: "module", kind: "module", category: Module, name: NAME },
    Rule { node: "function_signature", kind: "function", category: Declaration, name: NAME },
    Rule { node: "method_signature", kind: "method", category: Declaration, name: NAME },
    Rule { node: "abstract_method_signature", kind: "method", category: Declaration, name: NAME },
];

const SHARED: Row = Row {
    rules: RULES,
    leading: &["decorator"],
    wrappers: &[
        "export_statement",
        "ambient_declaration",
        "lexical_declaration",
        "variable_declaration",
        "expression_statement",
    ],
    local_scopes: &["function_expression", "generator_function", "arrow_function"],
    ..BASE
};

pub(crate) static JAVASCRIPT: Row =
    Row { name: "javascript", load: || SupportLang::JavaScript.get_ts_language(), ..SHARED };

/// The scripts of pages use this as well.
pub(crate) const TYPESCRIPT_ROW: Row =
    Row { name: "typescript", load: || SupportLang::TypeScript.get_ts_language(), ..SHARED };

pub(crate) static TYPESCRIPT: Row = TYPESCRIPT_ROW;

pub(crate) static TSX: Row =
    Row { name: "typescript", extensions: &["tsx"], load: || SupportLang::Tsx.get_ts_language(), ..SHARED };

fn is_function(value: Option<Node<'_>>) -> bool {
    value.is_some_and(|node| {
        matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function")
    })
}

/// Matches variables. `const f = () => …` is a function, and `const C = class …` is a class. We skip
/// destructuring patterns, which have no name of their own.
fn variable<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = site.node.child_by_field_name("name").filter(|node| node.kind() == "identifier") else {
        return;
    };
    let value = site.node.child_by_field_name("value");
    names.push(match value.map(|node| node.kind()) {
        _ if is_function(value) => Named::new(name).with_kind("function", Function),
        Some("class") => Named::new(name).with_kind("class", Type),
        _ => Named::new(name),
    });
}

fn member<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("name").or_else(|| site.node.child_by_field_name("property"));
    let Some(name) = name else { return };
    names.push(match is_function(site.node.child_by_field_name("value")) {
        true => Named::new(name).with_kind("method", Function),
        false => Named::new(name),
    });
}

/// Matches `exports.f = function …` and `A.prototype.f = () => …`.
fn assignment<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let left = site.node.child_by_field_name("left").filter(|left| left.kind() == "member_expression");
    if let Some(left) = left.filter(|_| is_function(site.node.child_by_field_name("right"))) {
        let name = left.child_by_field_name("property").map(Named::new);
        names.extend(name.map(|name| name.with_scope(left.child_by_field_name("object"))));
    }
}

/// Matches `{ f: function () … }`.
fn pair<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if is_function(site.node.child_by_field_name("value")) {
        let key = site.node.child_by_field_name("key");
        names.extend(key.filter(|key| key.kind() == "property_identifier").map(Named::new));
    }
}

//! JavaScript and TypeScript, which share most nodes.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site};

const NAME: Name = Name::Field("name");

const RULES: &[Rule] = &[
    Rule::new("class_declaration", "class", Type, NAME),
    Rule::new("class", "class", Type, NAME),
    Rule::new("function_declaration", "function", Function, NAME),
    Rule::new("generator_function_declaration", "function", Function, NAME),
    Rule::new("method_definition", "method", Function, NAME),
    Rule::new("variable_declarator", "const", Constant, Name::With(variable)),
    Rule::new("field_definition", "field", Constant, Name::With(member)),
    Rule::new("public_field_definition", "field", Constant, Name::With(member)),
    Rule::new("assignment_expression", "function", Function, Name::With(assignment)),
    Rule::new("pair", "method", Function, Name::With(pair)),
    // TypeScript only.
    Rule::new("abstract_class_declaration", "class", Type, NAME),
    Rule::new("interface_declaration", "interface", Type, NAME),
    Rule::new("enum_declaration", "enum", Type, NAME),
    Rule::new("type_alias_declaration", "type", Type, NAME),
    Rule::new("internal_module", "namespace", Module, NAME),
    Rule::new("module", "module", Module, NAME),
    Rule::new("function_signature", "function", Declaration, NAME),
    Rule::new("method_signature", "method", Declaration, NAME),
    Rule::new("abstract_method_signature", "method", Declaration, NAME),
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

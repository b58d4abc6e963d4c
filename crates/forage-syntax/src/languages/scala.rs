//! Scala.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Extension, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const NAME: Name = Name::Field("name");

pub(crate) static SCALA: Row = Row {
    name: "scala",
    load: || SupportLang::Scala.get_ts_language(),
    rules: &[
        Rule { node: "package_clause", kind: "package", category: Module, name: NAME },
        Rule { node: "package_object", kind: "package object", category: Module, name: NAME },
        Rule { node: "class_definition", kind: "class", category: Type, name: NAME },
        Rule { node: "object_definition", kind: "object", category: Type, name: NAME },
        Rule { node: "trait_definition", kind: "trait", category: Type, name: NAME },
        Rule { node: "enum_definition", kind: "enum", category: Type, name: NAME },
        Rule { node: "full_enum_case", kind: "case", category: Type, name: NAME },
        Rule { node: "type_definition", kind: "type", category: Type, name: NAME },
        Rule { node: "function_definition", kind: "def", category: Function, name: NAME },
        Rule { node: "function_declaration", kind: "def", category: Declaration, name: NAME },
        Rule { node: "val_definition", kind: "val", category: Constant, name: Name::With(pattern) },
        Rule { node: "var_definition", kind: "var", category: Constant, name: Name::With(pattern) },
        Rule { node: "val_declaration", kind: "val", category: Constant, name: Name::With(declaration) },
        Rule { node: "var_declaration", kind: "var", category: Constant, name: Name::With(declaration) },
        Rule { node: "class_parameter", kind: "val", category: Constant, name: Name::With(parameter) },
        Rule { node: "given_definition", kind: "given", category: Extension, name: Name::With(given) },
        Rule {
            node: "extension_definition",
            kind: "extension",
            category: Extension,
            name: Name::With(extension),
        },
    ],
    local_scopes: &[
        "block",
        "case_clause",
        "colon_argument",
        "indented_block",
        "indented_cases",
        "lambda_expression",
    ],
    member_scopes: &["template_body", "with_template_body"],
    ..BASE
};

/// Adds all names of a pattern such as `val (a, Some(b)) = …`.
fn pattern<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(pattern) = site.node.child_by_field_name("pattern") else { return };
    match pattern.kind() {
        "identifier" | "operator_identifier" => names.push(Named::new(pattern)),
        "identifiers" | "tuple_pattern" => {
            names.extend(children(pattern).filter(|child| child.kind() == "identifier").map(Named::new));
        }
        _ => {}
    }
}

fn declaration<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let mut cursor = site.node.walk();
    names.extend(site.node.children_by_field_name("name", &mut cursor).map(Named::new));
}

/// Matches a class parameter that is also a member.
fn parameter<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(kind) = child(site.node, &["val", "var"]).map(|node| node.kind()) else { return };
    let kind = if kind == "var" { "var" } else { "val" };
    let name = site.node.child_by_field_name("name");
    names.extend(name.map(|name| Named::new(name).with_kind(kind, Constant)));
}

/// Matches a given instance. If it has no name, we use that of its type.
fn given<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("name").or_else(|| site.node.child_by_field_name("return_type"));
    names.extend(name.map(Named::new));
}

/// Adds the type that this extends, without its arguments.
fn extension<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let mut cursor = site.node.walk();
    let parameters = site.node.children_by_field_name("parameters", &mut cursor);
    let is_extended = |node: &Node<'_>| child(*node, &["using", "implicit"]).is_none();
    let Some(parameters) = parameters.filter(is_extended).last() else { return };
    let mut name = child(parameters, &["parameter"]).and_then(|node| node.child_by_field_name("type"));
    while let Some(inner) =
        name.filter(|node| node.kind() == "generic_type").and_then(|node| node.child_by_field_name("type"))
    {
        name = Some(inner);
    }
    names.extend(name.map(Named::new));
}

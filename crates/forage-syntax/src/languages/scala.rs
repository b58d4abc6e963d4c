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
        Rule::new("package_clause", "package", Module, NAME),
        Rule::new("package_object", "package object", Module, NAME),
        Rule::new("class_definition", "class", Type, NAME),
        Rule::new("object_definition", "object", Type, NAME),
        Rule::new("trait_definition", "trait", Type, NAME),
        Rule::new("enum_definition", "enum", Type, NAME),
        Rule::new("full_enum_case", "case", Type, NAME),
        Rule::new("type_definition", "type", Type, NAME),
        Rule::new("function_definition", "def", Function, NAME),
        Rule::new("function_declaration", "def", Declaration, NAME),
        Rule::new("val_definition", "val", Constant, Name::With(pattern)),
        Rule::new("var_definition", "var", Constant, Name::With(pattern)),
        Rule::new("val_declaration", "val", Constant, Name::With(declaration)),
        Rule::new("var_declaration", "var", Constant, Name::With(declaration)),
        Rule::new("class_parameter", "val", Constant, Name::With(parameter)),
        Rule::new("given_definition", "given", Extension, Name::With(given)),
        Rule::new("extension_definition", "extension", Extension, Name::With(extension)),
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

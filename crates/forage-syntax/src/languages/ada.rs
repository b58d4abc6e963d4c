//! Ada.

use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const NAME: Name = Name::Field("name");
const IDENTIFIER: Name = Name::Child(&["identifier"]);
const IDENTIFIERS: Name = Name::With(identifiers);
const SUBPROGRAM: Name = Name::With(subprogram);

pub(crate) static ADA: Row = Row {
    name: "ada",
    load: || tree_sitter_ada::LANGUAGE.into(),
    rules: &[
        Rule::new("package_declaration", "package", Module, NAME),
        Rule::new("package_body", "package body", Module, NAME),
        Rule::new("package_renaming_declaration", "package", Module, NAME),
        Rule::new("package_body_stub", "package body", Declaration, IDENTIFIER),
        Rule::new("generic_instantiation", "package", Module, Name::With(instance)),
        Rule::new("subprogram_body", "procedure", Function, SUBPROGRAM),
        Rule::new("expression_function_declaration", "function", Function, SUBPROGRAM),
        Rule::new("null_procedure_declaration", "procedure", Function, SUBPROGRAM),
        Rule::new("subprogram_renaming_declaration", "procedure", Function, SUBPROGRAM),
        Rule::new("subprogram_declaration", "procedure", Declaration, SUBPROGRAM),
        Rule::new("generic_subprogram_declaration", "procedure", Declaration, SUBPROGRAM),
        Rule::new("subprogram_body_stub", "procedure", Declaration, SUBPROGRAM),
        Rule::new("full_type_declaration", "type", Type, IDENTIFIER),
        Rule::new("subtype_declaration", "subtype", Type, IDENTIFIER),
        Rule::new("private_type_declaration", "type", Declaration, IDENTIFIER),
        Rule::new("private_extension_declaration", "type", Declaration, IDENTIFIER),
        Rule::new("incomplete_type_declaration", "type", Declaration, IDENTIFIER),
        Rule::new("task_type_declaration", "task", Type, IDENTIFIER),
        Rule::new("single_task_declaration", "task", Type, IDENTIFIER),
        Rule::new("protected_type_declaration", "protected", Type, IDENTIFIER),
        Rule::new("single_protected_declaration", "protected", Type, IDENTIFIER),
        Rule::new("task_body", "task body", Function, IDENTIFIER),
        Rule::new("task_body_stub", "task body", Declaration, IDENTIFIER),
        Rule::new("protected_body", "protected body", Type, IDENTIFIER),
        Rule::new("protected_body_stub", "protected body", Declaration, IDENTIFIER),
        Rule::new("entry_declaration", "entry", Declaration, Name::Field("entry_name")),
        Rule::new("entry_body", "entry", Function, IDENTIFIER),
        Rule::new("component_declaration", "component", Constant, IDENTIFIERS),
        Rule::new("object_declaration", "object", Constant, Name::With(objects)),
        Rule::new("object_renaming_declaration", "object", Constant, IDENTIFIER),
        Rule::new("number_declaration", "constant", Constant, IDENTIFIERS),
        Rule::new("exception_declaration", "exception", Constant, IDENTIFIERS),
    ],
    wrappers: &["compilation_unit", "generic_package_declaration", "full_type_declaration", "body_stub"],
    separators: &["."],
    ..BASE
};

/// Adds the names before the colon.
fn identifiers<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let before = children(site.node).take_while(|node| node.kind() != ":");
    names.extend(before.filter(|node| node.kind() == "identifier").map(Named::new));
}

fn objects<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let kind = if child(site.node, &["constant"]).is_some() { "constant" } else { "variable" };
    let mut cursor = site.node.walk();
    let all = site.node.children_by_field_name("name", &mut cursor);
    names.extend(all.filter(Node::is_named).map(|name| Named::new(name).with_kind(kind, Constant)));
}

fn subprogram<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(head) = child(site.node, &["procedure_specification", "function_specification"]) else { return };
    let kind = if head.kind() == "function_specification" { "function" } else { "procedure" };
    let category = match site.node.kind() {
        "subprogram_declaration" | "generic_subprogram_declaration" | "subprogram_body_stub" => Declaration,
        _ => Function,
    };
    names.extend(head.child_by_field_name("name").map(|name| Named::new(name).with_kind(kind, category)));
}

/// Matches `package A is new B`, and the same for procedures and functions.
fn instance<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let (kind, category) =
        match child(site.node, &["package", "procedure", "function"]).map(|word| word.kind()) {
            Some("procedure") => ("procedure", Function),
            Some("function") => ("function", Function),
            _ => ("package", Module),
        };
    let name = site.node.child_by_field_name("name");
    names.extend(name.map(|name| Named::new(name).with_kind(kind, category)));
}

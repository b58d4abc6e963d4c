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
        Rule { node: "package_declaration", kind: "package", category: Module, name: NAME },
        Rule { node: "package_body", kind: "package body", category: Module, name: NAME },
        Rule { node: "package_renaming_declaration", kind: "package", category: Module, name: NAME },
        Rule { node: "package_body_stub", kind: "package body", category: Declaration, name: IDENTIFIER },
        Rule { node: "generic_instantiation", kind: "package", category: Module, name: Name::With(instance) },
        Rule { node: "subprogram_body", kind: "procedure", category: Function, name: SUBPROGRAM },
        Rule {
            node: "expression_function_declaration",
            kind: "function",
            category: Function,
            name: SUBPROGRAM,
        },
        Rule { node: "null_procedure_declaration", kind: "procedure", category: Function, name: SUBPROGRAM },
        Rule {
            node: "subprogram_renaming_declaration",
            kind: "procedure",
            category: Function,
            name: SUBPROGRAM,
        },
        Rule { node: "subprogram_declaration", kind: "procedure", category: Declaration, name: SUBPROGRAM },
        Rule {
            node: "generic_subprogram_declaration",
            kind: "procedure",
            category: Declaration,
            name: SUBPROGRAM,
        },
        Rule { node: "subprogram_body_stub", kind: "procedure", category: Declaration, name: SUBPROGRAM },
        Rule { node: "full_type_declaration", kind: "type", category: Type, name: IDENTIFIER },
        Rule { node: "subtype_declaration", kind: "subtype", category: Type, name: IDENTIFIER },
        Rule { node: "private_type_declaration", kind: "type", category: Declaration, name: IDENTIFIER },
        Rule { node: "private_extension_declaration", kind: "type", category: Declaration, name: IDENTIFIER },
        Rule { node: "incomplete_type_declaration", kind: "type", category: Declaration, name: IDENTIFIER },
        Rule { node: "task_type_declaration", kind: "task", category: Type, name: IDENTIFIER },
        Rule { node: "single_task_declaration", kind: "task", category: Type, name: IDENTIFIER },
        Rule { node: "protected_type_declaration", kind: "protected", category: Type, name: IDENTIFIER },
        Rule { node: "single_protected_declaration", kind: "protected", category: Type, name: IDENTIFIER },
        Rule { node: "task_body", kind: "task body", category: Function, name: IDENTIFIER },
        Rule { node: "task_body_stub", kind: "task body", category: Declaration, name: IDENTIFIER },
        Rule { node: "protected_body", kind: "protected body", category: Type, name: IDENTIFIER },
        Rule { node: "protected_body_stub", kind: "protected body", category: Declaration, name: IDENTIFIER },
        Rule {
            node: "entry_declaration",
            kind: "entry",
            category: Declaration,
            name: Name::Field("entry_name"),
        },
        Rule { node: "entry_body", kind: "entry", category: Function, name: IDENTIFIER },
        Rule { node: "component_declaration", kind: "component", category: Constant, name: IDENTIFIERS },
        Rule { node: "object_declaration", kind: "object", category: Constant, name: Name::With(objects) },
        Rule { node: "object_renaming_declaration", kind: "object", category: Constant, name: IDENTIFIER },
        Rule { node: "number_declaration", kind: "constant", category: Constant, name: IDENTIFIERS },
        Rule { node: "exception_declaration", kind: "exception", category: Constant, name: IDENTIFIERS },
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

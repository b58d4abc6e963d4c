//! VHDL.

use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const LIST: Name = Name::With(list);

pub(crate) static VHDL: Row = Row {
    name: "vhdl",
    load: || tree_sitter_vhdl::LANGUAGE.into(),
    rules: &[
        Rule { node: "entity_declaration", kind: "entity", category: Module, name: Name::Field("entity") },
        Rule {
            node: "architecture_definition",
            kind: "architecture",
            category: Module,
            name: Name::With(architecture),
        },
        Rule { node: "package_declaration", kind: "package", category: Module, name: Name::Field("package") },
        Rule {
            node: "package_definition",
            kind: "package body",
            category: Module,
            name: Name::Field("package"),
        },
        Rule {
            node: "package_instantiation_declaration",
            kind: "package",
            category: Module,
            name: Name::Field("package"),
        },
        Rule {
            node: "configuration_declaration",
            kind: "configuration",
            category: Module,
            name: Name::Field("configuration"),
        },
        Rule { node: "context_declaration", kind: "context", category: Module, name: Name::With(first) },
        Rule {
            node: "component_declaration",
            kind: "component",
            category: Declaration,
            name: Name::Field("component"),
        },
        Rule { node: "type_declaration", kind: "type", category: Type, name: Name::With(type_declaration) },
        Rule { node: "subtype_declaration", kind: "subtype", category: Type, name: Name::Field("type") },
        Rule { node: "mode_view_declaration", kind: "view", category: Type, name: Name::Field("view") },
        Rule {
            node: "subprogram_definition",
            kind: "function",
            category: Function,
            name: Name::With(subprogram),
        },
        Rule {
            node: "subprogram_declaration",
            kind: "function",
            category: Declaration,
            name: Name::With(subprogram),
        },
        Rule {
            node: "subprogram_instantiation_declaration",
            kind: "function",
            category: Function,
            name: Name::With(instance),
        },
        Rule { node: "process_statement", kind: "process", category: Function, name: Name::With(process) },
        Rule { node: "element_declaration", kind: "element", category: Constant, name: LIST },
        Rule { node: "constant_declaration", kind: "constant", category: Constant, name: LIST },
        Rule { node: "signal_declaration", kind: "signal", category: Constant, name: LIST },
        Rule { node: "variable_declaration", kind: "variable", category: Constant, name: LIST },
        Rule { node: "file_declaration", kind: "file", category: Constant, name: LIST },
        Rule { node: "alias_declaration", kind: "alias", category: Constant, name: Name::With(first) },
        Rule {
            node: "attribute_declaration",
            kind: "attribute",
            category: Constant,
            name: Name::Field("attribute"),
        },
    ],
    wrappers: &["design_unit"],
    // If a process has no label, it doesn't define anything, but its variables are still local.
    local_scopes: &["process_statement"],
    ..BASE
};

/// Matches an architecture, which belongs to its entity.
fn architecture<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("architecture").map(Named::new);
    names.extend(name.map(|name| name.with_scope(site.node.child_by_field_name("entity"))));
}

/// Adds the first named child. We can't use its kind because the grammar has separate kinds of nodes for
/// identifiers that standard libraries also use.
fn first<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    names.extend(children(site.node).find(Node::is_named).map(Named::new));
}

fn list<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let list = child(site.node, &["identifier_list"]).into_iter();
    names.extend(list.flat_map(children).filter(|node| node.is_named() && !node.is_extra()).map(Named::new));
}

/// Matches types. Note that `type name;` is only a forward declaration.
fn type_declaration<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = site.node.child_by_field_name("type") else { return };
    names.push(match children(site.node).any(|node| node.is_named() && node != name) {
        true => Named::new(name),
        false => Named::new(name).with_kind("type", Declaration),
    });
}

fn subprogram<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(head) = child(site.node, &["function_specification", "procedure_specification"]) else { return };
    let category = if site.node.kind() == "subprogram_definition" { Function } else { Declaration };
    let (kind, name) = match head.child_by_field_name("procedure") {
        Some(name) => ("procedure", Some(name)),
        None => ("function", head.child_by_field_name("function")),
    };
    names.extend(name.map(|name| Named::new(name).with_kind(kind, category)));
}

fn instance<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let procedure = site.node.child_by_field_name("procedure");
    names.extend(procedure.map(|name| Named::new(name).with_kind("procedure", Function)));
    names.extend(site.node.child_by_field_name("function").map(Named::new));
}

fn process<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let label = child(site.node, &["label_declaration"]).and_then(|label| child(label, &["label"]));
    names.extend(label.map(Named::new));
}

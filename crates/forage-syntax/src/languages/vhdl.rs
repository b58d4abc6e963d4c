//! VHDL.

use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const LIST: Name = Name::With(list);

pub(crate) static VHDL: Row = Row {
    name: "vhdl",
    load: || tree_sitter_vhdl::LANGUAGE.into(),
    rules: &[
        Rule::new("entity_declaration", "entity", Module, Name::Field("entity")),
        Rule::new("architecture_definition", "architecture", Module, Name::With(architecture)),
        Rule::new("package_declaration", "package", Module, Name::Field("package")),
        Rule::new("package_definition", "package body", Module, Name::Field("package")),
        Rule::new("package_instantiation_declaration", "package", Module, Name::Field("package")),
        Rule::new("configuration_declaration", "configuration", Module, Name::Field("configuration")),
        Rule::new("context_declaration", "context", Module, Name::With(first)),
        Rule::new("component_declaration", "component", Declaration, Name::Field("component")),
        Rule::new("type_declaration", "type", Type, Name::With(type_declaration)),
        Rule::new("subtype_declaration", "subtype", Type, Name::Field("type")),
        Rule::new("mode_view_declaration", "view", Type, Name::Field("view")),
        Rule::new("subprogram_definition", "function", Function, Name::With(subprogram)),
        Rule::new("subprogram_declaration", "function", Declaration, Name::With(subprogram)),
        Rule::new("subprogram_instantiation_declaration", "function", Function, Name::With(instance)),
        Rule::new("process_statement", "process", Function, Name::With(process)),
        Rule::new("element_declaration", "element", Constant, LIST),
        Rule::new("constant_declaration", "constant", Constant, LIST),
        Rule::new("signal_declaration", "signal", Constant, LIST),
        Rule::new("variable_declaration", "variable", Constant, LIST),
        Rule::new("file_declaration", "file", Constant, LIST),
        Rule::new("alias_declaration", "alias", Constant, Name::With(first)),
        Rule::new("attribute_declaration", "attribute", Constant, Name::Field("attribute")),
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

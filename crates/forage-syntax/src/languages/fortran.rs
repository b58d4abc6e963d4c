//! Fortran.

use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const UNIT: Name = Name::With(unit);
const PROCEDURE: Name = Name::With(procedure);

pub(crate) static FORTRAN: Row = Row {
    name: "fortran",
    load: || tree_sitter_fortran::LANGUAGE.into(),
    rules: &[
        Rule::new("program", "program", Module, UNIT),
        Rule::new("module", "module", Module, UNIT),
        Rule::new("submodule", "submodule", Module, UNIT),
        Rule::new("block_data", "block data", Module, UNIT),
        Rule::new("derived_type_definition", "type", Type, UNIT),
        Rule::new("interface", "interface", Declaration, UNIT),
        Rule::new("function", "function", Function, PROCEDURE),
        Rule::new("subroutine", "subroutine", Function, PROCEDURE),
        Rule::new("module_procedure", "procedure", Function, PROCEDURE),
        Rule::new("entry_statement", "entry", Function, Name::Field("name")),
        Rule::new("variable_declaration", "variable", Constant, Name::With(variables)),
        Rule::new("procedure_statement", "procedure", Declaration, Name::With(bindings)),
        Rule::new("generic_statement", "generic", Declaration, Name::With(bindings)),
        Rule::new("preproc_def", "define", Constant, Name::Field("name")),
        Rule::new("preproc_function_def", "define", Function, Name::Field("name")),
    ],
    // Procedures of interfaces are only declarations, but their variables are local as well.
    local_scopes: &["function", "subroutine", "block_data"],
    ..BASE
};

/// Adds the name in the first statement of a program unit, a type or an interface.
fn unit<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let head = children(site.node).find(|child| child.kind().ends_with("_statement"));
    let named = ["name", "type_name", "operator", "assignment", "defined_io_procedure"];
    names.extend(head.and_then(|head| child(head, &named)).map(Named::new));
}

fn procedure<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let head = children(site.node).find(|child| child.kind().ends_with("_statement"));
    let Some(name) = head.and_then(|head| head.child_by_field_name("name")) else { return };
    let kind = if site.node.kind() == "function" { "function" } else { "subroutine" };
    names.push(match site.parent_kind(0) {
        "interface" => Named::new(name).with_kind(kind, Declaration),
        _ => Named::new(name),
    });
}

/// Matches variables of modules and components of types. The variables of a program are local, just like
/// those of procedures.
fn variables<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let kind =
        match site.parents.iter().rev().find(|node| !node.kind().starts_with("preproc")).map(Node::kind) {
            Some("derived_type_definition") => "component",
            Some("module" | "submodule") => {
                let mut cursor = site.node.walk();
                let mut attributes = site.node.children_by_field_name("attribute", &mut cursor);
                let is_parameter =
                    attributes.any(|attribute| site.text_of(attribute).eq_ignore_ascii_case("parameter"));
                if is_parameter { "parameter" } else { "variable" }
            }
            _ => return,
        };
    let mut cursor = site.node.walk();
    for declarator in site.node.children_by_field_name("declarator", &mut cursor) {
        let mut name = Some(declarator);
        while let Some(inner) = name.filter(|node| node.kind() != "identifier") {
            name = inner.child_by_field_name("left").or_else(|| inner.named_child(0));
        }
        names.extend(name.map(|name| Named::new(name).with_kind(kind, Constant)));
    }
}

/// Matches type-bound procedures: `procedure :: name => target`, `generic :: operator(+) => …`.
fn bindings<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if site.parent_kind(0) != "derived_type_procedures" {
        return;
    }
    let mut cursor = site.node.walk();
    for declarator in site.node.children_by_field_name("declarator", &mut cursor) {
        let name = child(declarator, &["binding_name"]).unwrap_or(declarator);
        names.push(Named::new(name));
    }
}

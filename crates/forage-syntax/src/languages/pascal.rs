//! Pascal, with the dialects of Delphi and Free Pascal.

use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Extension, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child};

const MODULE: Name = Name::Child(&["moduleName"]);
const NAMES: Name = Name::With(names_of);

pub(crate) static PASCAL: Row = Row {
    name: "pascal",
    load: || tree_sitter_pascal::LANGUAGE.into(),
    rules: &[
        Rule::new("unit", "unit", Module, MODULE),
        Rule::new("program", "program", Module, MODULE),
        Rule::new("library", "library", Module, MODULE),
        Rule::new("declType", "type", Type, Name::With(type_declaration)),
        Rule::new("defProc", "procedure", Function, Name::With(definition)),
        Rule::new("declProc", "procedure", Declaration, Name::With(declaration)),
        Rule::new("declProp", "property", Constant, NAMES),
        Rule::new("declConst", "const", Constant, NAMES),
        Rule::new("declVar", "var", Constant, NAMES),
        Rule::new("declField", "field", Constant, NAMES),
    ],
    leading: &["rttiAttributes"],
    local_scopes: &["declProcRef"],
    separators: &["."],
    ..BASE
};

/// Adds names. Variables may share a type, in which case the commas between their names have the same field.
fn names_of<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    // If conditional compilation hides a procedure's head, its variables look like those of the unit.
    if site.parent_kind(1) == "ERROR" {
        return;
    }
    let mut cursor = site.node.walk();
    let all = site.node.children_by_field_name("name", &mut cursor);
    names.extend(all.filter(Node::is_named).map(Named::new));
}

/// Returns a name without its parameters.
fn plain(name: Node<'_>) -> Node<'_> {
    match name.child_by_field_name("entity").filter(|_| name.kind() == "genericTpl") {
        Some(entity) => entity,
        None => name,
    }
}

fn type_declaration<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = site.node.child_by_field_name("name").map(plain) else { return };
    let definition = site.node.child_by_field_name("type");
    let kind = match definition.map(|node| (node.kind(), node.child(0).map_or("", |word| word.kind()))) {
        Some(("declHelper", _)) => ("helper", Extension),
        Some(("declIntf", _)) => ("interface", Type),
        Some(("declClass", "kRecord")) => ("record", Type),
        Some(("declClass", "kObject")) => ("object", Type),
        Some(("declClass", "kPacked")) => ("record", Type),
        Some(("declClass", _)) => ("class", Type),
        _ => ("type", Type),
    };
    // A statement such as `TName = class;` is only a forward declaration.
    let is_forward =
        definition.is_some_and(|node| node.child_count() == 1 && matches!(kind.0, "class" | "interface"));
    let category = if is_forward { Declaration } else { kind.1 };
    names.push(Named::new(name).with_kind(kind.0, category));
}

/// Returns the keyword of a procedure.
fn word(head: Node<'_>) -> &'static str {
    let words = ["kProcedure", "kFunction", "kConstructor", "kDestructor", "kOperator"];
    match child(head, &words).map(|word| word.kind()) {
        Some("kFunction") => "function",
        Some("kConstructor") => "constructor",
        Some("kDestructor") => "destructor",
        Some("kOperator") => "operator",
        _ => "procedure",
    }
}

fn definition<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(head) = site.node.child_by_field_name("header") else { return };
    let Some(mut name) = head.child_by_field_name("name").map(plain) else { return };
    let mut scope = None;
    // The name in `TList<T>.Push` has parameters between its parts.
    if let (Some(left), Some(right)) = (name.child_by_field_name("lhs"), name.child_by_field_name("rhs")) {
        scope = Some(plain(left));
        name = plain(right);
    }
    names.push(Named::new(name).with_kind(word(head), Function).with_scope(scope));
}

/// Matches a procedure without a body. We must skip the heads of procedures with a body, which have the same
/// kind of node.
fn declaration<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if site.parent_kind(0) == "defProc"
        && site.parents.last().and_then(|node| node.child_by_field_name("header")) == Some(site.node)
    {
        return;
    }
    let name = site.node.child_by_field_name("name").map(plain);
    names.extend(name.map(|name| Named::new(name).with_kind(word(site.node), Declaration)));
}

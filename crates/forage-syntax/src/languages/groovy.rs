//! Groovy, and the build scripts of Gradle.

use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const NAME: Name = Name::Field("name");

const RULES: &[Rule] = &[
    Rule::new("package_declaration", "package", Module, NAME),
    Rule::new("class_declaration", "class", Type, NAME),
    Rule::new("interface_declaration", "interface", Type, NAME),
    Rule::new("trait_declaration", "trait", Type, NAME),
    Rule::new("enum_declaration", "enum", Type, NAME),
    Rule::new("record_declaration", "record", Type, NAME),
    Rule::new("annotation_type_declaration", "@interface", Type, NAME),
    Rule::new("method_declaration", "method", Function, Name::With(method)),
    Rule::new("constructor_declaration", "constructor", Function, NAME),
    Rule::new("field_declaration", "field", Constant, Name::With(variables)),
    Rule::new("local_variable_declaration", "variable", Constant, Name::With(variables)),
    // Only Gradle scripts have tasks.
    Rule::new("expression_statement", "task", Function, Name::With(task)),
];

const SHARED: Row = Row {
    load: || dekobon_tree_sitter_groovy::LANGUAGE.into(),
    local_scopes: &["closure"],
    // This grammar doesn't support nested types. It ends the outer type at the end of the inner one.
    mends_by_braces: true,
    ..BASE
};

pub(crate) static GRADLE: Row = Row { name: "gradle", rules: RULES, ..SHARED };

pub(crate) static GROOVY: Row = Row { name: "groovy", rules: RULES.split_at(RULES.len() - 1).0, ..SHARED };

fn method<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = site.node.child_by_field_name("name") else { return };
    names.push(match site.node.child_by_field_name("body") {
        Some(_) => Named::new(name),
        None => Named::new(name).with_kind("method", Declaration),
    });
}

/// Matches fields and the script's own variables. A closure is a function.
fn variables<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if site.node.kind() == "local_variable_declaration" && site.parent_kind(0) != "source_file" {
        return;
    }
    let word = site.node.child_by_field_name("type").map(|word| site.text_of(word));
    let nested =
        ["class", "interface", "trait", "enum", "record"].into_iter().find(|kind| word == Some(kind));
    for declarator in children(site.node).filter(|node| node.kind() == "variable_declarator") {
        let value = declarator.child_by_field_name("value");
        let named = declarator.child_by_field_name("name").map(Named::new);
        names.extend(named.map(|named| match value.is_some_and(|value| value.kind() == "closure") {
            true => named.with_kind("closure", Function),
            false => match nested {
                Some(kind) => named.with_kind(kind, Type),
                None => named,
            },
        }));
    }
}

/// Matches `task name { … }`, `task name(type: …) { … }` and `tasks.register('name', …) { … }`. The grammar
/// reads each of these as several statements on one line.
fn task<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(first) = site.node.named_child(0) else { return };
    let row = site.node.start_position().row;
    let mut after = site.next_siblings().filter(|node| !node.is_extra() && node.is_named());
    // A closure belongs to the previous statement if it begins on the line where this statement ends.
    let closure = |after: Option<Node<'tree>>, before: Node<'tree>| {
        after.filter(|node| {
            let is_closure = node.named_child(0).is_some_and(|inner| inner.kind() == "closure");
            is_closure && node.start_position().row == before.end_position().row
        })
    };
    match first.kind() {
        "identifier" if site.text_of(first) == "task" => {
            let Some(next) = after.next().filter(|next| next.start_position().row == row) else { return };
            let call = next.named_child(0).filter(|_| next.kind() == "expression_statement");
            let (name, until) = match (next.kind(), call.map(|call| call.kind())) {
                ("command_chain", _) => (next.child_by_field_name("receiver"), next),
                (_, Some("identifier")) => (call, next),
                (_, Some("method_invocation")) => {
                    let name = call.and_then(|call| call.child_by_field_name("function"));
                    (name, closure(after.next(), next).unwrap_or(next))
                }
                _ => return,
            };
            let name = name.filter(|name| name.kind() == "identifier");
            names.extend(name.map(|name| Named::new(name).with_last(Some(until))));
        }
        "method_invocation" => {
            let function =
                first.child_by_field_name("function").map_or("", |function| site.text_of(function));
            if !matches!(function, "tasks.register" | "tasks.create" | "task") {
                return;
            }
            let arguments = first.child_by_field_name("arguments");
            let name = arguments.and_then(|arguments| arguments.named_child(0)).filter(|name| {
                name.kind() == "string_literal"
                    && child(*name, &["gstring_dollar_interpolation", "gstring_brace_interpolation"])
                        .is_none()
            });
            let until = closure(after.next(), site.node);
            names.extend(name.map(|name| Named::new(name).with_last(until)));
        }
        _ => {}
    }
}

//! R.

use tree_sitter::Node;

use crate::language::Category::{Constant, Function, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, children};

pub(crate) static R: Row = Row {
    name: "r",
    load: || tree_sitter_r::LANGUAGE.into(),
    rules: &[
        Rule::new("binary_operator", "variable", Constant, Name::With(assignment)),
        Rule::new("argument", "function", Function, Name::With(argument)),
        Rule::new("call", "class", Type, Name::With(call)),
    ],
    // Blocks that are passed to `test_that` and `local` have their own variables.
    local_scopes: &["function_definition", "arguments"],
    ..BASE
};

/// Matches `name <- value` and other ways to write this.
fn assignment<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let fields = match site.node.child_by_field_name("operator").map_or("", |operator| site.text_of(operator))
    {
        "<-" | "=" | "<<-" | ":=" => ("lhs", "rhs"),
        "->" | "->>" => ("rhs", "lhs"),
        _ => return,
    };
    let (name, value) = (site.node.child_by_field_name(fields.0), site.node.child_by_field_name(fields.1));
    let (Some(name), Some(value)) = (name, value) else { return };
    let is_function = value.kind() == "function_definition";
    let named = match name.kind() {
        "identifier" => Named::new(name),
        "string" => match name.child_by_field_name("content") {
            Some(content) => Named::new(content),
            None => return,
        },
        // For example `object$method <- function …`.
        "extract_operator" if is_function => match name.child_by_field_name("rhs") {
            Some(member) => Named::new(member).with_scope(name.child_by_field_name("lhs")),
            None => return,
        },
        _ => return,
    };
    let is_class = matches!(callee(site, value), "R6Class" | "setRefClass" | "setClass" | "new_class");
    names.push(match (is_function, is_class) {
        (true, _) => named.with_kind("function", Function),
        (_, true) => named.with_kind("class", Type),
        _ => named,
    });
}

/// Returns the name of the called function, without its package.
fn callee<'tree>(site: Site<'_, 'tree>, call: Node<'tree>) -> &'tree str {
    let function = call.child_by_field_name("function").filter(|_| call.kind() == "call");
    function.map_or("", |function| match function.kind() {
        "namespace_operator" => function.child_by_field_name("rhs").map_or("", |name| site.text_of(name)),
        _ => site.text_of(function),
    })
}

/// Matches `list(name = function …)`, which is the form of classes and of tables of functions.
fn argument<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_function =
        site.node.child_by_field_name("value").is_some_and(|value| value.kind() == "function_definition");
    let is_list = site.parents.iter().rev().nth(1).is_some_and(|call| callee(site, *call) == "list");
    let name = site.node.child_by_field_name("name").filter(|_| is_function && is_list);
    names.extend(name.map(|name| Named::new(name.child_by_field_name("content").unwrap_or(name))));
}

/// Matches `setMethod("name", …)` and similar calls.
fn call<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let (kind, category) = match callee(site, site.node) {
        // A class is usually assigned to a variable of the same name, which we have already found.
        "setClass" | "setRefClass" | "setClassUnion" if site.parent_kind(0) != "binary_operator" => {
            ("class", Type)
        }
        "setGeneric" => ("generic", Function),
        "setMethod" | "setReplaceMethod" => ("method", Function),
        _ => return,
    };
    let arguments = site.node.child_by_field_name("arguments");
    let first = arguments.and_then(|arguments| children(arguments).find(|node| node.kind() == "argument"));
    let value =
        first.and_then(|first| first.child_by_field_name("value")).filter(|value| value.kind() == "string");
    let name = value.and_then(|value| value.child_by_field_name("content"));
    names.extend(name.map(|name| Named::new(name).with_kind(kind, category)));
}

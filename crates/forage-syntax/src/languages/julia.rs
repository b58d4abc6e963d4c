//! Julia.

use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static JULIA: Row = Row {
    name: "julia",
    load: || tree_sitter_julia::LANGUAGE.into(),
    rules: &[
        Rule::new("module_definition", "module", Module, Name::With(module)),
        Rule::new("struct_definition", "struct", Type, Name::With(structure)),
        Rule::new("abstract_definition", "abstract type", Type, Name::With(head)),
        Rule::new("primitive_definition", "primitive type", Type, Name::With(head)),
        Rule::new("function_definition", "function", Function, Name::With(function)),
        Rule::new("macro_definition", "macro", Function, Name::With(function)),
        Rule::new("assignment", "variable", Constant, Name::With(assignment)),
        Rule::new("macrocall_expression", "@enum", Type, Name::With(enumeration)),
    ],
    // A string before a definition documents it. In `@inline f(x) = …`, the macro belongs to the function.
    leading: &["string_literal", "prefixed_string_literal", "macro_identifier"],
    wrappers: &["const_statement", "global_statement", "macrocall_expression", "macro_argument_list"],
    local_scopes: &[
        "let_statement",
        "for_statement",
        "while_statement",
        "try_statement",
        "do_clause",
        "arrow_function_expression",
        "compound_statement",
        "quote_statement",
        "quote_expression",
    ],
    ..BASE
};

fn module<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let kind = if child(site.node, &["baremodule"]).is_some() { "baremodule" } else { "module" };
    let name = site.node.child_by_field_name("name").filter(|name| name.kind() == "identifier");
    names.extend(name.map(|name| Named::new(name).with_kind(kind, Module)));
}

fn structure<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let kind = if child(site.node, &["mutable"]).is_some() { "mutable struct" } else { "struct" };
    names.extend(head_name(site.node).map(|name| Named::new(name).with_kind(kind, Type)));
}

fn head<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    names.extend(head_name(site.node).map(Named::new));
}

/// Returns the name in a head such as `Name{T} <: Super`.
fn head_name(node: Node<'_>) -> Option<Node<'_>> {
    let mut name = child(node, &["type_head"])?;
    while name.kind() != "identifier" {
        name = name.named_child(0)?;
    }
    Some(name)
}

fn function<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(signature) = child(site.node, &["signature"]).and_then(|node| node.named_child(0)) else {
        return;
    };
    match signature.kind() {
        // The form `function f end` only declares the function.
        "identifier" => names.push(Named::new(signature).with_kind("function", Declaration)),
        _ => names.extend(callee(signature)),
    }
}

/// Finds the name of the called function, e.g. in `Base.f(x::T)::R where T`, `Base.:+(a, b)`,
/// `(f::Options)(x)` and `a + b`.
fn callee(signature: Node<'_>) -> Option<Named<'_>> {
    let mut node = signature;
    let mut scope = None;
    let mut is_called = false;
    loop {
        node = match node.kind() {
            "identifier" | "operator" if is_called => return Some(Named::new(node).with_scope(scope)),
            "where_expression" => node.named_child(0)?,
            "typed_expression" if !is_called => node.named_child(0)?,
            // This defines a call of a type's values, as in `(f::Options)(x)`.
            "typed_expression" | "unary_typed_expression" => children(node).filter(Node::is_named).last()?,
            "call_expression" if !is_called => {
                is_called = true;
                node.named_child(0)?
            }
            "field_expression" if is_called => {
                scope = node.child_by_field_name("value");
                children(node).filter(Node::is_named).last()?
            }
            "binary_expression" if !is_called => return child(node, &["operator"]).map(Named::new),
            "parametrized_type_expression" | "quote_expression" | "parenthesized_expression" if is_called => {
                node.named_child(0)?
            }
            _ => return None,
        };
    }
}

/// Matches `f(x) = …` and variables of modules. We must exclude fields of structs, whose defaults are
/// assignments.
fn assignment<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(left) = site.node.named_child(0) else { return };
    let kind = if site.parent_kind(0) == "const_statement" { "const" } else { "variable" };
    let is_statement = matches!(
        site.parent_kind(0),
        "source_file"
            | "module_definition"
            | "const_statement"
            | "global_statement"
            | "if_statement"
            | "else_clause"
            | "elseif_clause"
            | "assignment"
            | "ERROR"
    );
    match left.kind() {
        "identifier"
        | "operator"
        | "typed_expression"
        | "parametrized_type_expression"
        | "open_tuple"
        | "tuple_expression"
            if is_statement && callee(left).is_none() =>
        {
            let is_function = children(site.node).filter(Node::is_named).last().is_some_and(|value| {
                matches!(value.kind(), "function_definition" | "arrow_function_expression")
            });
            let (kind, category) = if is_function { ("function", Function) } else { (kind, Constant) };
            let variables: Vec<Node<'tree>> = match left.kind() {
                "identifier" | "operator" => vec![left],
                "open_tuple" | "tuple_expression" => children(left).collect(),
                _ => left.named_child(0).into_iter().collect(),
            };
            let named = variables.into_iter().filter(|name| matches!(name.kind(), "identifier" | "operator"));
            names.extend(named.map(|name| Named::new(name).with_kind(kind, category)));
        }
        // In `@test a ≈ b atol = 1`, this only passes an option.
        "binary_expression" if site.parent_kind(0) == "macro_argument_list" => {}
        "call_expression" | "where_expression" | "typed_expression" | "binary_expression" => {
            names.extend(callee(left).map(|named| named.with_kind("function", Function)));
        }
        _ => {}
    }
}

/// Matches `@enum Color red green`.
fn enumeration<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_enum = child(site.node, &["macro_identifier"]).is_some_and(|name| site.text_of(name) == "@enum");
    let arguments = child(site.node, &["macro_argument_list", "argument_list"]).filter(|_| is_enum);
    let name =
        arguments.and_then(|arguments| arguments.named_child(0)).and_then(|first| match first.kind() {
            "typed_expression" => first.named_child(0),
            _ => Some(first),
        });
    names.extend(name.filter(|name| name.kind() == "identifier").map(Named::new));
}

//! OCaml, implementations and interfaces.

use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Extension, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const RULES: &[Rule] = &[
    Rule::new("type_binding", "type", Type, Name::With(type_binding)),
    Rule::new("exception_definition", "exception", Type, Name::With(exception)),
    Rule::new("module_binding", "module", Module, Name::Child(&["module_name"])),
    Rule::new("module_type_definition", "module type", Type, Name::Child(&["module_type_name"])),
    Rule::new("class_binding", "class", Type, Name::Child(&["class_name"])),
    Rule::new("class_type_binding", "class type", Type, Name::Child(&["class_type_name"])),
    Rule::new("method_definition", "method", Function, Name::With(method)),
    Rule::new("method_specification", "method", Declaration, Name::Child(&["method_name"])),
    Rule::new("instance_variable_definition", "val", Constant, Name::Child(&["instance_variable_name"])),
    Rule::new("let_binding", "let", Constant, Name::With(binding)),
    Rule::new("value_specification", "val", Declaration, Name::With(value)),
    Rule::new("external", "external", Function, Name::With(value)),
];

const SHARED: Row = Row {
    name: "ocaml",
    rules: RULES,
    wrappers: &[
        "type_definition",
        "value_definition",
        "module_definition",
        "class_definition",
        "class_type_definition",
    ],
    separators: &["."],
    ..BASE
};

pub(crate) static OCAML: Row = Row { load: || tree_sitter_ocaml::LANGUAGE_OCAML.into(), ..SHARED };

pub(crate) static INTERFACE: Row =
    Row { extensions: &["mli"], load: || tree_sitter_ocaml::LANGUAGE_OCAML_INTERFACE.into(), ..SHARED };

/// Matches `type t = …`, and `type M.t += …`, which only extends a type.
fn type_binding<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_parameter = is_parameter(site);
    let Some(name) = site.node.child_by_field_name("name").filter(|_| !is_parameter) else { return };
    names.push(match child(site.node, &["+="]) {
        Some(_) => Named::new(name).with_kind("type", Extension),
        None => Named::new(name),
    });
}

/// Returns true within the parameters of a functor, whose signatures don't define anything.
fn is_parameter(site: Site<'_, '_>) -> bool {
    site.parents.iter().any(|parent| parent.kind() == "module_parameter")
}

fn exception<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let constructor = child(site.node, &["constructor_declaration"]);
    names.extend(constructor.and_then(|node| child(node, &["constructor_name"])).map(Named::new));
}

fn method<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = child(site.node, &["method_name"]) else { return };
    names.push(match site.node.child_by_field_name("body") {
        Some(_) => Named::new(name),
        None => Named::new(name).with_kind("method", Declaration),
    });
}

/// Returns the operator in `( + )`, or otherwise the name.
fn operator(name: Node<'_>) -> Node<'_> {
    match name.kind() {
        "parenthesized_operator" => name.named_child(0).unwrap_or(name),
        _ => name,
    }
}

fn value<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = child(site.node, &["value_name", "parenthesized_operator"]).filter(|_| !is_parameter(site));
    names.extend(name.map(operator).map(Named::new));
}

/// Matches bindings of modules. We skip those of `let … in`, which are local.
fn binding<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if matches!(site.parent_kind(1), "let_expression" | "let_class_expression" | "class_binding") {
        return;
    }
    let Some(pattern) = site.node.child_by_field_name("pattern") else { return };
    let is_function = child(site.node, &["parameter"]).is_some()
        || site
            .node
            .child_by_field_name("body")
            .is_some_and(|body| matches!(body.kind(), "fun_expression" | "function_expression"));
    let last = last_attribute(site);
    // A pattern may bind several names.
    let mut open = vec![pattern];
    while let Some(node) = open.pop() {
        match node.kind() {
            "value_name" | "parenthesized_operator" | "value_pattern" => {
                let named = Named::new(operator(node));
                let named = match last {
                    Some(last) => named.with_span(site.node, last),
                    None => named,
                };
                names.push(if is_function { named.with_kind("let", Function) } else { named });
            }
            "typed_pattern" => open.extend(node.child_by_field_name("pattern")),
            "parenthesized_pattern" | "tuple_pattern" => open.extend(children(node).filter(Node::is_named)),
            _ => {}
        }
    }
}

/// Finds the last attribute of an expression at the end of a definition, e.g. `let f x = g x [@tail]`. In the
/// tree, this attribute comes after the definition.
fn last_attribute<'tree>(site: Site<'_, 'tree>) -> Option<Node<'tree>> {
    let definition = site.parents.last().filter(|parent| parent.end_byte() == site.node.end_byte())?;
    let next = |node: &Node<'tree>| node.next_sibling().filter(|next| next.kind() == "attribute");
    std::iter::successors(next(definition), next).last()
}

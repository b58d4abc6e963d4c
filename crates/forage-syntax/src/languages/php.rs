//! PHP.

use crate::language::Category::{Constant, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const NAME: Name = Name::Field("name");

pub(crate) static PHP: Row = Row {
    name: "php",
    // We can't use ast-grep's grammar because it doesn't support text before `<?php`.
    load: || tree_sitter_php::LANGUAGE_PHP.into(),
    rules: &[
        Rule { node: "namespace_definition", kind: "namespace", category: Module, name: NAME },
        Rule { node: "class_declaration", kind: "class", category: Type, name: NAME },
        Rule { node: "interface_declaration", kind: "interface", category: Type, name: NAME },
        Rule { node: "trait_declaration", kind: "trait", category: Type, name: NAME },
        Rule { node: "enum_declaration", kind: "enum", category: Type, name: NAME },
        Rule { node: "function_definition", kind: "function", category: Function, name: NAME },
        Rule {
            node: "method_declaration",
            kind: "function",
            category: Function,
            name: Name::WithBody("name"),
        },
        Rule { node: "const_declaration", kind: "const", category: Constant, name: Name::With(constants) },
        Rule {
            node: "property_declaration",
            kind: "property",
            category: Constant,
            name: Name::With(properties),
        },
        Rule {
            node: "property_promotion_parameter",
            kind: "property",
            category: Constant,
            name: Name::With(promoted),
        },
        Rule {
            node: "function_call_expression",
            kind: "define",
            category: Constant,
            name: Name::With(define),
        },
    ],
    local_scopes: &["anonymous_function", "arrow_function", "property_hook"],
    member_scopes: &["declaration_list", "formal_parameters"],
    ..BASE
};

fn constants<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let elements = children(site.node).filter(|node| node.kind() == "const_element");
    names.extend(elements.filter_map(|element| child(element, &["name"])).map(Named::new));
}

/// Matches `public int $a, $b = 1;`. We omit the `$` from the names because code uses `$this->a`.
fn properties<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let elements = children(site.node).filter(|node| node.kind() == "property_element");
    let variables = elements.filter_map(|element| element.child_by_field_name("name"));
    names.extend(variables.filter_map(|variable| child(variable, &["name"])).map(Named::new));
}

/// Matches a constructor parameter that is also a property.
fn promoted<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let variable = site.node.child_by_field_name("name").and_then(|name| match name.kind() {
        "by_ref" => child(name, &["variable_name"]),
        _ => Some(name),
    });
    names.extend(variable.and_then(|variable| child(variable, &["name"])).map(Named::new));
}

/// Matches `define('NAME', …)`.
fn define<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let function = site.node.child_by_field_name("function");
    if function.is_some_and(|function| site.text_of(function).eq_ignore_ascii_case("define")) {
        let arguments = site.node.child_by_field_name("arguments");
        let first =
            arguments.and_then(|node| child(node, &["argument"])).and_then(|node| node.named_child(0));
        names.extend(
            first.filter(|first| matches!(first.kind(), "string" | "encapsed_string")).map(Named::new),
        );
    }
}

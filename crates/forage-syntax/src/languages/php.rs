//! PHP.

use crate::language::Category::{Constant, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const NAME: Name = Name::Field("name");

pub(crate) static PHP: Row = Row {
    name: "php",
    // We can't use ast-grep's grammar because it doesn't support text before `<?php`.
    load: || tree_sitter_php::LANGUAGE_PHP.into(),
    rules: &[
        Rule::new("namespace_definition", "namespace", Module, NAME),
        Rule::new("class_declaration", "class", Type, NAME),
        Rule::new("interface_declaration", "interface", Type, NAME),
        Rule::new("trait_declaration", "trait", Type, NAME),
        Rule::new("enum_declaration", "enum", Type, NAME),
        Rule::new("function_definition", "function", Function, NAME),
        Rule::new("method_declaration", "function", Function, Name::WithBody("name")),
        Rule::new("const_declaration", "const", Constant, Name::With(constants)),
        Rule::new("property_declaration", "property", Constant, Name::With(properties)),
        Rule::new("property_promotion_parameter", "property", Constant, Name::With(promoted)),
        Rule::new("function_call_expression", "define", Constant, Name::With(define)),
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

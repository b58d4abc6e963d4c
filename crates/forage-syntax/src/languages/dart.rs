//! Dart.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Extension, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const NAME: Name = Name::Field("name");

pub(crate) static DART: Row = Row {
    name: "dart",
    load: || SupportLang::Dart.get_ts_language(),
    rules: &[
        Rule::new("library_name", "library", Module, Name::Child(&["dotted_identifier_list"])),
        Rule::new("class_declaration", "class", Type, Name::With(class)),
        Rule::new("mixin_declaration", "mixin", Type, NAME),
        Rule::new("enum_declaration", "enum", Type, NAME),
        Rule::new("extension_declaration", "extension", Extension, Name::With(extension)),
        Rule::new("extension_type_declaration", "extension type", Type, Name::With(extension_type)),
        Rule::new("type_alias", "typedef", Type, Name::Child(&["type_identifier"])),
        Rule::new("function_declaration", "function", Function, Name::With(signature)),
        Rule::new("getter_declaration", "get", Function, Name::With(signature)),
        Rule::new("setter_declaration", "set", Function, Name::With(signature)),
        Rule::new("external_function_declaration", "function", Declaration, Name::With(signature)),
        Rule::new("external_getter_declaration", "get", Declaration, Name::With(signature)),
        Rule::new("external_setter_declaration", "set", Declaration, Name::With(signature)),
        Rule::new("local_function_declaration", "function", Function, Name::With(member)),
        Rule::new("method_declaration", "method", Function, Name::With(member)),
        Rule::new("declaration", "field", Constant, Name::With(member)),
        Rule::new("top_level_variable_declaration", "variable", Constant, Name::With(variables)),
        Rule::new("external_variable_declaration", "variable", Constant, Name::With(variables)),
    ],
    wrappers: &["member_declaration"],
    ..BASE
};

/// Matches a class. If it only applies mixins, there is no field for its name.
fn class<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site
        .node
        .child_by_field_name("name")
        .or_else(|| child(child(site.node, &["mixin_application_class"])?, &["identifier"]));
    names.extend(name.map(Named::new));
}

/// Matches an extension. If it has no name, we use that of the class.
fn extension<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site
        .node
        .child_by_field_name("name")
        .or_else(|| child(site.node.child_by_field_name("class")?, &["type_identifier"]));
    names.extend(name.map(Named::new));
}

fn extension_type<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("name").and_then(|name| match name.kind() {
        "extension_type_name" => child(name, &["identifier"]),
        _ => Some(name),
    });
    names.extend(name.map(Named::new));
}

fn signature<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let signature = site.node.child_by_field_name("signature");
    names.extend(signature.and_then(|node| node.child_by_field_name("name")).map(Named::new));
}

/// Matches a method, a constructor or fields of a type.
fn member<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let outer = child(site.node, &["method_signature"]).unwrap_or(site.node);
    let is_whole = site.node.kind() != "declaration";
    let without_body = if is_whole { Function } else { Declaration };
    for signature in children(outer) {
        let (kind, category) = match signature.kind() {
            "function_signature" if site.node.kind() == "local_function_declaration" => {
                ("function", Function)
            }
            "function_signature" => ("method", without_body),
            "getter_signature" => ("get", without_body),
            "setter_signature" => ("set", without_body),
            "operator_signature" => {
                let name = signature.child_by_field_name("operator").map(Named::new);
                names.extend(name.map(|name| name.with_kind("operator", without_body)));
                return;
            }
            "constructor_signature" | "constant_constructor_signature" => ("constructor", Function),
            "factory_constructor_signature" | "redirecting_factory_constructor_signature" => {
                ("factory", Function)
            }
            _ => continue,
        };
        // A constructor such as `Cart.empty` has two names.
        let mut cursor = signature.walk();
        let parts: Vec<Node<'tree>> =
            signature.children_by_field_name("name", &mut cursor).filter(|part| part.kind() != ".").collect();
        if let Some((name, scope)) = parts.split_last() {
            names.push(Named::new(*name).with_scope(scope.first().copied()).with_kind(kind, category));
        }
        return;
    }
    variables(site, names);
}

fn variables<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let lists = &["static_final_declaration_list", "initialized_identifier_list", "identifier_list"];
    let Some(list) = child(site.node, lists) else { return };
    let name = |node: Node<'tree>| match node.kind() {
        "identifier" => Some(node),
        _ => node.child_by_field_name("name"),
    };
    names.extend(children(list).filter_map(name).map(Named::new));
}

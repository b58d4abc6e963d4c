//! Go.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const NAME: Name = Name::Field("name");

pub(crate) static GO: Row = Row {
    name: "go",
    load: || SupportLang::Go.get_ts_language(),
    rules: &[
        Rule::new("package_clause", "package", Module, Name::Child(&["package_identifier"])),
        Rule::new("function_declaration", "func", Function, NAME),
        Rule::new("method_declaration", "func", Function, Name::With(method)),
        Rule::new("method_elem", "func", Declaration, NAME),
        Rule::new("type_spec", "type", Type, Name::With(type_spec)),
        Rule::new("type_alias", "type", Type, NAME),
        Rule::new("const_spec", "const", Constant, Name::With(specification)),
        Rule::new("var_spec", "var", Constant, Name::With(specification)),
    ],
    wrappers: &["type_declaration", "const_declaration", "var_declaration", "var_spec_list"],
    local_scopes: &["func_literal"],
    ..BASE
};

/// Matches a method, which belongs to the type of its receiver.
fn method<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = site.node.child_by_field_name("name") else { return };
    let mut receiver = site.node.child_by_field_name("receiver");
    while let Some(inner) = receiver.and_then(|node| {
        child(node, &["parameter_declaration", "pointer_type", "generic_type", "type_identifier"])
    }) {
        receiver = Some(inner);
    }
    let scope = receiver.filter(|node| node.kind() == "type_identifier");
    names.push(Named::new(name).with_scope(scope));
}

fn type_spec<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = site.node.child_by_field_name("name") else { return };
    let kind = match site.node.child_by_field_name("type").map(|node| node.kind()) {
        Some("struct_type") => "struct",
        Some("interface_type") => "interface",
        _ => "type",
    };
    names.push(Named::new(name).with_kind(kind, Type));
}

/// Adds all names of `a, b = 1, 2`.
fn specification<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_named = |node: &tree_sitter::Node<'_>| node.kind() == "identifier" && site.text_of(*node) != "_";
    let before_type = children(site.node).take_while(|node| node.kind() != "=");
    names.extend(before_type.filter(is_named).map(Named::new));
}

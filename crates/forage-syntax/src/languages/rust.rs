//! Rust.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;

use crate::language::Category::{Constant, Declaration, Extension, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site};

const NAME: Name = Name::Field("name");

pub(crate) static RUST: Row = Row {
    name: "rust",
    load: || SupportLang::Rust.get_ts_language(),
    rules: &[
        Rule::new("struct_item", "struct", Type, NAME),
        Rule::new("enum_item", "enum", Type, NAME),
        Rule::new("union_item", "union", Type, NAME),
        Rule::new("trait_item", "trait", Type, NAME),
        Rule::new("type_item", "type", Type, NAME),
        Rule::new("associated_type", "type", Type, NAME),
        Rule::new("function_item", "fn", Function, NAME),
        Rule::new("function_signature_item", "fn", Declaration, NAME),
        Rule::new("macro_definition", "macro", Function, NAME),
        Rule::new("mod_item", "mod", Module, Name::With(module)),
        Rule::new("const_item", "const", Constant, NAME),
        Rule::new("static_item", "static", Constant, NAME),
        Rule::new("impl_item", "impl", Extension, Name::With(implementation)),
    ],
    leading: &["attribute_item"],
    inner_comments: &["//!", "/*!"],
    local_scopes: &["closure_expression"],
    ..BASE
};

/// Matches a module. With a body, this is its definition; `mod name;` only declares it.
fn module<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if let Some(name) = site.node.child_by_field_name("name") {
        let named = Named::new(name);
        names.push(match site.node.child_by_field_name("body") {
            Some(_) => named,
            None => named.with_kind("mod", Declaration),
        });
    }
}

/// Adds the type that this `impl` is for, without its parameters.
fn implementation<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let mut named = site.node.child_by_field_name("type");
    while let Some(inner) = named.and_then(|node| match node.kind() {
        "scoped_type_identifier" => node.child_by_field_name("name"),
        _ => node.child_by_field_name("type"),
    }) {
        named = Some(inner);
    }
    names.extend(named.map(Named::new));
}

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
        Rule { node: "struct_item", kind: "struct", category: Type, name: NAME },
        Rule { node: "enum_item", kind: "enum", category: Type, name: NAME },
        Rule { node: "union_item", kind: "union", category: Type, name: NAME },
        Rule { node: "trait_item", kind: "trait", category: Type, name: NAME },
        Rule { node: "type_item", kind: "type", category: Type, name: NAME },
        Rule { node: "associated_type", kind: "type", category: Type, name: NAME },
        Rule { node: "function_item", kind: "fn", category: Function, name: NAME },
        Rule { node: "function_signature_item", kind: "fn", category: Declaration, name: NAME },
        Rule { node: "macro_definition", kind: "macro", category: Function, name: NAME },
        Rule { node: "mod_item", kind: "mod", category: Module, name: Name::With(module) },
        Rule { node: "const_item", kind: "const", category: Constant, name: NAME },
        Rule { node: "static_item", kind: "static", category: Constant, name: NAME },
        Rule { node: "impl_item", kind: "impl", category: Extension, name: Name::With(implementation) },
    ],
    leading: &["attribute_item"],
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

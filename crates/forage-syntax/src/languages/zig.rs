//! Zig.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static ZIG: Row = Row {
    name: "zig",
    load: || SupportLang::Zig.get_ts_language(),
    rules: &[
        Rule::new("function_declaration", "fn", Function, Name::With(function)),
        Rule::new("variable_declaration", "const", Constant, Name::With(variable)),
        Rule::new("container_field", "field", Constant, Name::With(field)),
        Rule::new("test_declaration", "test", Function, Name::With(test)),
    ],
    inner_comments: &["//!"],
    // The types that functions return are anonymous.
    member_scopes: &["struct_declaration", "enum_declaration", "union_declaration", "opaque_declaration"],
    ..BASE
};

/// Returns a name, which includes its quotes if it needs them, e.g. `@"a name"`.
fn named<'tree>(site: Site<'_, 'tree>, name: Node<'tree>) -> Named<'tree> {
    Named::new(name).with_spelling(None, site.text_of(name).to_owned())
}

fn function<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("name").map(|name| named(site, name));
    names.extend(name.map(|name| match site.node.child_by_field_name("body") {
        Some(_) => name,
        None => name.with_kind("fn", Declaration),
    }));
}

/// Matches variables. Types are the values of constants.
fn variable<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = child(site.node, &["identifier"]) else { return };
    let named = named(site, name);
    let value = children(site.node).skip_while(|node| node.kind() != "=").nth(1);
    names.push(match value.map(|node| node.kind()) {
        Some("struct_declaration") => named.with_kind("struct", Type),
        Some("enum_declaration") => named.with_kind("enum", Type),
        Some("union_declaration") => named.with_kind("union", Type),
        Some("opaque_declaration") => named.with_kind("opaque", Type),
        Some("error_set_declaration") => named.with_kind("error", Type),
        _ if child(site.node, &["var"]).is_some() => named.with_kind("var", Constant),
        _ => named,
    });
}

/// Matches a field with a type. Fields without one are members of an enumeration, or types in a tuple.
fn field<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if site.node.child_by_field_name("type").is_some() {
        names.extend(site.node.child_by_field_name("name").map(|name| named(site, name)));
    }
}

/// Adds the text in the quotes of `test "name"`.
fn test<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    names.extend(child(site.node, &["string", "identifier"]).map(Named::new));
}

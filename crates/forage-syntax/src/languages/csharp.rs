//! C#.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, Source, child, children};

const NAME: Name = Name::Field("name");

pub(crate) static CSHARP: Row = Row {
    name: "csharp",
    load: || SupportLang::CSharp.get_ts_language(),
    rules: &[
        Rule { node: "namespace_declaration", kind: "namespace", category: Module, name: NAME },
        Rule { node: "file_scoped_namespace_declaration", kind: "namespace", category: Module, name: NAME },
        Rule { node: "class_declaration", kind: "class", category: Type, name: NAME },
        Rule { node: "struct_declaration", kind: "struct", category: Type, name: NAME },
        Rule { node: "record_declaration", kind: "record", category: Type, name: NAME },
        Rule { node: "interface_declaration", kind: "interface", category: Type, name: NAME },
        Rule { node: "enum_declaration", kind: "enum", category: Type, name: NAME },
        Rule { node: "delegate_declaration", kind: "delegate", category: Type, name: NAME },
        Rule { node: "method_declaration", kind: "method", category: Function, name: Name::With(method) },
        Rule { node: "local_function_statement", kind: "function", category: Function, name: NAME },
        Rule { node: "constructor_declaration", kind: "constructor", category: Function, name: NAME },
        Rule {
            node: "destructor_declaration",
            kind: "destructor",
            category: Function,
            name: Name::With(destructor),
        },
        Rule {
            node: "operator_declaration",
            kind: "operator",
            category: Function,
            name: Name::With(operator),
        },
        Rule {
            node: "conversion_operator_declaration",
            kind: "operator",
            category: Function,
            name: Name::With(conversion),
        },
        Rule { node: "indexer_declaration", kind: "indexer", category: Function, name: Name::With(indexer) },
        Rule { node: "property_declaration", kind: "property", category: Constant, name: Name::With(member) },
        Rule { node: "event_declaration", kind: "event", category: Constant, name: Name::With(member) },
        Rule { node: "event_field_declaration", kind: "event", category: Constant, name: Name::With(fields) },
        Rule { node: "field_declaration", kind: "field", category: Constant, name: Name::With(fields) },
    ],
    source: Source::Masked(super::macros::resolve_conditionals),
    ..BASE
};

fn named<'tree>(site: Site<'_, 'tree>) -> Option<Named<'tree>> {
    let interface = child(site.node, &["explicit_interface_specifier"]).and_then(|node| node.named_child(0));
    Some(Named::new(site.node.child_by_field_name("name")?).with_scope(interface))
}

/// Matches a property or an event. Note that `int IList.Count` belongs to the interface.
fn member<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    names.extend(named(site));
}

fn method<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    names.extend(named(site).map(|named| match site.node.child_by_field_name("body") {
        Some(_) => named,
        None => named.with_kind("method", Declaration),
    }));
}

fn destructor<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("name");
    names.extend(name.map(|name| Named::new(name).with_spelling(None, format!("~{}", site.text_of(name)))));
}

fn operator<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("operator");
    names.extend(
        name.map(|name| Named::new(name).with_spelling(None, format!("operator {}", site.text_of(name)))),
    );
}

/// Matches `explicit operator Celsius(…)`.
fn conversion<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("type");
    names.extend(
        name.map(|name| Named::new(name).with_spelling(None, format!("operator {}", site.text_of(name)))),
    );
}

fn indexer<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = child(site.node, &["this"]);
    names.extend(name.map(|name| Named::new(name).with_spelling(None, "this[]".to_owned())));
}

fn fields<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(variables) = child(site.node, &["variable_declaration"]) else { return };
    let is_const = |node: &tree_sitter::Node<'_>| node.kind() == "modifier" && site.text_of(*node) == "const";
    let kind = match site.node.kind() {
        "event_field_declaration" => "event",
        _ if children(site.node).any(|node| is_const(&node)) => "const",
        _ => "field",
    };
    let declarators = children(variables).filter(|node| node.kind() == "variable_declarator");
    let fields = declarators.filter_map(|node| node.child_by_field_name("name"));
    names.extend(fields.map(|name| Named::new(name).with_kind(kind, Constant)));
}

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
        Rule::new("namespace_declaration", "namespace", Module, NAME),
        Rule::new("file_scoped_namespace_declaration", "namespace", Module, NAME),
        Rule::new("class_declaration", "class", Type, NAME),
        Rule::new("struct_declaration", "struct", Type, NAME),
        Rule::new("record_declaration", "record", Type, NAME),
        Rule::new("interface_declaration", "interface", Type, NAME),
        Rule::new("enum_declaration", "enum", Type, NAME),
        Rule::new("delegate_declaration", "delegate", Type, NAME),
        Rule::new("method_declaration", "method", Function, Name::With(method)),
        Rule::new("local_function_statement", "function", Function, NAME),
        Rule::new("constructor_declaration", "constructor", Function, NAME),
        Rule::new("destructor_declaration", "destructor", Function, Name::With(destructor)),
        Rule::new("operator_declaration", "operator", Function, Name::With(operator)),
        Rule::new("conversion_operator_declaration", "operator", Function, Name::With(conversion)),
        Rule::new("indexer_declaration", "indexer", Function, Name::With(indexer)),
        Rule::new("property_declaration", "property", Constant, Name::With(member)),
        Rule::new("event_declaration", "event", Constant, Name::With(member)),
        Rule::new("event_field_declaration", "event", Constant, Name::With(fields)),
        Rule::new("field_declaration", "field", Constant, Name::With(fields)),
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

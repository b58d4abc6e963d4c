//! Java.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child};

const NAME: Name = Name::Field("name");

pub(crate) static JAVA: Row = Row {
    name: "java",
    load: || SupportLang::Java.get_ts_language(),
    rules: &[
        Rule::new(
            "package_declaration",
            "package",
            Module,
            Name::Child(&["identifier", "scoped_identifier"]),
        ),
        Rule::new("module_declaration", "module", Module, NAME),
        Rule::new("class_declaration", "class", Type, NAME),
        Rule::new("interface_declaration", "interface", Type, NAME),
        Rule::new("enum_declaration", "enum", Type, NAME),
        Rule::new("record_declaration", "record", Type, NAME),
        Rule::new("annotation_type_declaration", "@interface", Type, NAME),
        Rule::new("annotation_type_element_declaration", "element", Declaration, NAME),
        Rule::new("method_declaration", "method", Function, Name::WithBody("name")),
        Rule::new("constructor_declaration", "constructor", Function, NAME),
        Rule::new("compact_constructor_declaration", "constructor", Function, NAME),
        Rule::new("field_declaration", "field", Constant, Name::With(variables)),
        Rule::new("constant_declaration", "constant", Constant, Name::With(variables)),
        Rule::new("enum_constant", "constant", Constant, Name::With(enum_constant)),
    ],
    // An anonymous class has fields, too.
    member_scopes: &["class_body"],
    ..BASE
};

/// Matches `int a, b = 1;`.
fn variables<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let mut cursor = site.node.walk();
    let declarators = site.node.children_by_field_name("declarator", &mut cursor);
    let modifiers = child(site.node, &["modifiers"]).map(|node| site.text_of(node)).unwrap_or_default();
    let is_modified = |word| modifiers.split_ascii_whitespace().any(|modifier| modifier == word);
    let kind = ["static", "final"].into_iter().all(is_modified).then_some(("constant", Constant));
    let fields = declarators.filter_map(|node| node.child_by_field_name("name")).map(Named::new);
    names.extend(fields.map(|name| Named { kind, ..name }));
}

/// Matches a constant with its own methods.
fn enum_constant<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if site.node.child_by_field_name("body").is_some() {
        names.extend(site.node.child_by_field_name("name").map(Named::new));
    }
}

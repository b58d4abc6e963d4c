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
        Rule {
            node: "package_declaration",
            kind: "package",
            category: Module,
            name: Name::Child(&["identifier", "scoped_identifier"]),
        },
        Rule { node: "module_declaration", kind: "module", category: Module, name: NAME },
        Rule { node: "class_declaration", kind: "class", category: Type, name: NAME },
        Rule { node: "interface_declaration", kind: "interface", category: Type, name: NAME },
        Rule { node: "enum_declaration", kind: "enum", category: Type, name: NAME },
        Rule { node: "record_declaration", kind: "record", category: Type, name: NAME },
        Rule { node: "annotation_type_declaration", kind: "@interface", category: Type, name: NAME },
        Rule {
            node: "annotation_type_element_declaration",
            kind: "element",
            category: Declaration,
            name: NAME,
        },
        Rule { node: "method_declaration", kind: "method", category: Function, name: Name::WithBody("name") },
        Rule { node: "constructor_declaration", kind: "constructor", category: Function, name: NAME },
        Rule { node: "compact_constructor_declaration", kind: "constructor", category: Function, name: NAME },
        Rule { node: "field_declaration", kind: "field", category: Constant, name: Name::With(variables) },
        Rule {
            node: "constant_declaration",
            kind: "constant",
            category: Constant,
            name: Name::With(variables),
        },
        Rule { node: "enum_constant", kind: "constant", category: Constant, name: Name::With(enum_constant) },
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

//! Starlark, parsed with Python's grammar.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Function, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static STARLARK: Row = Row {
    name: "starlark",
    load: || SupportLang::Python.get_ts_language(),
    rules: &[
        Rule::new("function_definition", "def", Function, Name::Field("name")),
        Rule::new("assignment", "variable", Constant, Name::With(variable)),
        Rule::new("call", "target", Constant, Name::With(target)),
    ],
    wrappers: &["expression_statement"],
    local_scopes: &["lambda"],
    ..BASE
};

fn is_statement(site: Site<'_, '_>) -> bool {
    site.parent_kind(0) == "expression_statement" && matches!(site.parent_kind(1), "module" | "block")
}

/// Matches variables of a file. Note that rules and providers are values, too.
fn variable<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(left) = site.node.child_by_field_name("left").filter(|_| is_statement(site)) else { return };
    let function =
        site.node.child_by_field_name("right").and_then(|right| right.child_by_field_name("function"));
    let (kind, category) = match function.map_or("", |function| site.text_of(function)) {
        "rule" => ("rule", Function),
        "repository_rule" => ("repository_rule", Function),
        "module_extension" => ("module_extension", Function),
        "aspect" => ("aspect", Function),
        "macro" => ("macro", Function),
        "provider" => ("provider", Type),
        _ => ("variable", Constant),
    };
    match left.kind() {
        "identifier" => names.push(Named::new(left).with_kind(kind, category)),
        "pattern_list" | "tuple_pattern" => {
            names.extend(children(left).filter(|child| child.kind() == "identifier").map(Named::new));
        }
        _ => {}
    }
}

/// Matches `go_library(name = "lib", …)` in a BUILD file.
fn target<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let function = site.node.child_by_field_name("function").map_or("", |function| site.text_of(function));
    let is_target =
        is_statement(site) && site.parent_kind(1) == "module" && !matches!(function, "bazel_dep" | "load");
    let Some(arguments) = site.node.child_by_field_name("arguments").filter(|_| is_target) else { return };
    let is_name = |argument: &Node<'tree>| {
        argument.child_by_field_name("name").is_some_and(|name| site.text_of(name) == "name")
    };
    let value = children(arguments).find(is_name).and_then(|argument| argument.child_by_field_name("value"));
    let string =
        value.filter(|value| value.kind() == "string" && child(*value, &["interpolation"]).is_none());
    names.extend(string.and_then(|string| child(string, &["string_content"])).map(Named::new));
}

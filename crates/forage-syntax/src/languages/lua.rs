//! Lua.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Function};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static LUA: Row = Row {
    name: "lua",
    load: || SupportLang::Lua.get_ts_language(),
    rules: &[
        Rule::new("function_declaration", "function", Function, Name::Field("name")),
        Rule::new("assignment_statement", "variable", Constant, Name::With(assignment)),
        Rule::new("variable_declaration", "local", Constant, Name::With(declaration)),
        Rule::new("field", "function", Function, Name::With(field)),
    ],
    wrappers: &["variable_declaration"],
    local_scopes: &["function_definition"],
    separators: &[".", ":"],
    ..BASE
};

/// Matches `M.f = function …` and `local a, b = 1, 2`, but not `local m = require "m"`.
fn assignment<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let (Some(left), Some(right)) =
        (child(site.node, &["variable_list"]), child(site.node, &["expression_list"]))
    else {
        return;
    };
    let is_local = site.parent_kind(0) == "variable_declaration";
    let mut values = children(right).filter(Node::is_named);
    let mut cursor = left.walk();
    let declared: Vec<Node<'tree>> = left.children_by_field_name("name", &mut cursor).collect();
    for name in declared {
        let value = values.next();
        let is_function = value.is_some_and(|value| value.kind() == "function_definition");
        let is_import = value.is_some_and(|value| {
            let callee = value.child_by_field_name("name").filter(|_| value.kind() == "function_call");
            callee.is_some_and(|callee| site.text_of(callee) == "require")
        });
        if let Some(named) = variable(name).filter(|_| !is_import) {
            names.push(match is_function {
                true => named.with_kind("function", Function),
                false => named.with_kind(if is_local { "local" } else { "variable" }, Constant),
            });
        }
    }
}

/// Returns the name in a variable such as `a`, `M.a` and `M["a"]`.
fn variable(name: Node<'_>) -> Option<Named<'_>> {
    if name.kind() != "bracket_index_expression" {
        return Some(Named::new(name));
    }
    let field = name.child_by_field_name("field").filter(|field| field.kind() == "string")?;
    let content = field.child_by_field_name("content")?;
    Some(Named::new(content).with_scope(name.child_by_field_name("table")))
}

/// Matches `local x` without a value.
fn declaration<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if let Some(list) = child(site.node, &["variable_list"]) {
        names.extend(children(list).filter(|name| name.kind() == "identifier").map(Named::new));
    }
}

/// Matches `{ f = function … }`.
fn field<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_function =
        site.node.child_by_field_name("value").is_some_and(|value| value.kind() == "function_definition");
    let Some(name) = site.node.child_by_field_name("name").filter(|_| is_function) else { return };
    match name.kind() {
        "identifier" => names.push(Named::new(name)),
        "string" => names.extend(name.child_by_field_name("content").map(Named::new)),
        _ => {}
    }
}

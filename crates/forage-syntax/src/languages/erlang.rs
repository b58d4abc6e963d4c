//! Erlang.

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static ERLANG: Row = Row {
    name: "erlang",
    load: || tree_sitter_erlang::LANGUAGE.into(),
    rules: &[
        Rule { node: "module_attribute", kind: "module", category: Module, name: Name::Field("name") },
        Rule { node: "pp_define", kind: "define", category: Constant, name: Name::With(define) },
        Rule { node: "record_decl", kind: "record", category: Type, name: Name::Field("name") },
        Rule { node: "type_alias", kind: "type", category: Type, name: Name::With(type_name) },
        Rule { node: "opaque", kind: "opaque", category: Type, name: Name::With(type_name) },
        Rule { node: "nominal", kind: "nominal", category: Type, name: Name::With(type_name) },
        Rule { node: "callback", kind: "callback", category: Declaration, name: Name::Field("fun") },
        Rule { node: "fun_decl", kind: "function", category: Function, name: Name::With(function) },
    ],
    // `-doc` is one of the attributes that this grammar doesn't know.
    leading: &["spec", "wild_attribute"],
    has_clauses: true,
    ..BASE
};

fn define<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(left) = site.node.child_by_field_name("lhs") else { return };
    let category = if left.child_by_field_name("args").is_some() { Function } else { Constant };
    names.extend(left.child_by_field_name("name").map(|name| Named::new(name).with_kind("define", category)));
}

fn type_name<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("name").and_then(|node| node.child_by_field_name("name"));
    names.extend(name.map(Named::new));
}

/// Matches one clause of a function. We need its arity because `f/1` and `f/2` are different functions.
fn function<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(clause) = child(site.node, &["function_clause"]) else { return };
    let arity = clause.child_by_field_name("args").map_or(0, |arguments| {
        children(arguments).filter(|argument| argument.is_named() && !argument.is_extra()).count()
    });
    names.extend(clause.child_by_field_name("name").map(|name| Named::new(name).with_arity(arity)));
}

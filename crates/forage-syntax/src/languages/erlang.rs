//! Erlang.

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static ERLANG: Row = Row {
    name: "erlang",
    load: || tree_sitter_erlang::LANGUAGE.into(),
    rules: &[
        Rule::new("module_attribute", "module", Module, Name::Field("name")),
        Rule::new("pp_define", "define", Constant, Name::With(define)),
        Rule::new("record_decl", "record", Type, Name::Field("name")),
        Rule::new("type_alias", "type", Type, Name::With(type_name)),
        Rule::new("opaque", "opaque", Type, Name::With(type_name)),
        Rule::new("nominal", "nominal", Type, Name::With(type_name)),
        Rule::new("callback", "callback", Declaration, Name::Field("fun")),
        Rule::new("fun_decl", "function", Function, Name::With(function)),
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

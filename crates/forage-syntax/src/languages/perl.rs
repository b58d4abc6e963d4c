//! Perl.

use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static PERL: Row = Row {
    name: "perl",
    load: || ts_parser_perl::LANGUAGE.into(),
    rules: &[
        Rule::new("package_statement", "package", Module, Name::With(package)),
        Rule::new("class_statement", "class", Type, Name::With(package)),
        Rule::new("role_statement", "role", Type, Name::With(package)),
        Rule::new("subroutine_declaration_statement", "sub", Function, Name::With(sub)),
        Rule::new("method_declaration_statement", "method", Function, Name::With(sub)),
        Rule::new("use_statement", "constant", Constant, Name::With(constants)),
        Rule::new("variable_declaration", "our", Constant, Name::With(variables)),
        Rule::new("assignment_expression", "sub", Function, Name::With(glob)),
        Rule::new("ambiguous_function_call_expression", "has", Constant, Name::With(attribute)),
        Rule::new("function_call_expression", "has", Constant, Name::With(attribute)),
    ],
    leading: &["pod"],
    wrappers: &["expression_statement", "assignment_expression"],
    local_scopes: &["anonymous_subroutine_expression", "anonymous_method_expression"],
    separators: &["::"],
    ..BASE
};

/// Matches a package. Without a block, `package Name;` extends to the next package, or to the end of the
/// block or the code.
fn package<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = site.node.child_by_field_name("name") else { return };
    let has_block = child(site.node, &["block"]).is_some();
    let is_inside = |sibling: &Node<'tree>| match sibling.kind() {
        "package_statement" | "class_statement" | "role_statement" => child(*sibling, &["block"]).is_some(),
        "eof_marker" | "data_section" => false,
        _ => true,
    };
    let siblings = site.next_siblings().take_while(is_inside).filter(|sibling| sibling.is_named());
    let last = if has_block { None } else { siblings.filter(|sibling| !sibling.is_extra()).last() };
    names.push(Named::new(name).with_last(last));
}

fn sub<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = site.node.child_by_field_name("name") else { return };
    names.push(match (site.node.child_by_field_name("body"), site.node.kind()) {
        (Some(_), _) => Named::new(name),
        (None, "method_declaration_statement") => Named::new(name).with_kind("method", Declaration),
        (None, _) => Named::new(name).with_kind("sub", Declaration),
    });
}

/// Matches `use constant NAME => …` and `use constant { A => 1, B => 2 }`.
fn constants<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let module = site.node.child_by_field_name("module");
    if module.is_none_or(|module| site.text_of(module) != "constant") {
        return;
    }
    let is_name =
        |node: &Node<'tree>| matches!(node.kind(), "autoquoted_bareword" | "string_literal" | "bareword");
    let Some(hash) = child(site.node, &["anonymous_hash_expression"]) else {
        let list = child(site.node, &["list_expression"]).unwrap_or(site.node);
        names.extend(children(list).find(Node::is_named).filter(is_name).map(Named::new));
        return;
    };
    let list = child(hash, &["list_expression"]).unwrap_or(hash);
    let mut keys = children(list).filter(|node| node.is_named() && !node.is_extra());
    while let Some(key) = keys.next() {
        names.extend(Some(key).filter(is_name).map(|key| Named::new(key).with_first(key)));
        keys.next();
    }
}

/// Matches package variables and fields of a class. We skip lexical variables of a file, which are local to
/// its code.
fn variables<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let kind = match site.node.child(0).map(|word| word.kind()) {
        Some("our") => "our",
        Some("field") => "field",
        _ => return,
    };
    let mut cursor = site.node.walk();
    let one = site.node.child_by_field_name("variable");
    let several = site.node.children_by_field_name("variables", &mut cursor);
    let is_variable = |node: &Node<'tree>| matches!(node.kind(), "scalar" | "array" | "hash");
    let until = site.around(&["expression_statement"]);
    let all = one.into_iter().chain(several).filter(is_variable);
    names.extend(all.map(|name| Named::new(name).with_kind(kind, Constant).with_last(until)));
}

/// Matches `*name = sub { … }`, which defines a function.
fn glob<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let left = site.node.child_by_field_name("left").filter(|left| left.kind() == "glob");
    let right = site.node.child_by_field_name("right");
    if right.is_some_and(|right| right.kind() == "anonymous_subroutine_expression") {
        let name =
            left.and_then(|left| child(left, &["varname"])).filter(|name| name.named_child_count() == 0);
        names.extend(name.map(Named::new));
    }
}

/// Matches `has name => (…)`, as used by Moose, Moo and Mojo.
fn attribute<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let function = site.node.child_by_field_name("function");
    let is_statement = site.parent_kind(0) == "expression_statement";
    if !is_statement || function.is_none_or(|function| site.text_of(function) != "has") {
        return;
    }
    let arguments = site.node.child_by_field_name("arguments");
    let first = arguments.and_then(|list| match list.kind() {
        "list_expression" => list.named_child(0),
        _ => Some(list),
    });
    let is_name = |node: &Node<'tree>| matches!(node.kind(), "autoquoted_bareword" | "string_literal");
    names.extend(first.filter(is_name).map(Named::new));
}

//! Haskell.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Extension, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const HEAD: Name = Name::With(head);

pub(crate) static HASKELL: Row = Row {
    name: "haskell",
    load: || SupportLang::Haskell.get_ts_language(),
    rules: &[
        Rule::new("header", "module", Module, Name::With(module)),
        Rule::new("data_type", "data", Type, HEAD),
        Rule::new("newtype", "newtype", Type, HEAD),
        Rule::new("type_synonym", "type", Type, HEAD),
        Rule::new("type_family", "type family", Type, HEAD),
        Rule::new("data_family", "data family", Type, HEAD),
        Rule::new("type_instance", "type instance", Extension, HEAD),
        Rule::new("class", "class", Type, HEAD),
        Rule::new("instance", "instance", Extension, Name::With(instance)),
        Rule::new("deriving_instance", "deriving instance", Extension, Name::With(instance)),
        Rule::new("pattern_synonym", "pattern", Function, Name::With(pattern)),
        Rule::new("foreign_import", "foreign import", Function, Name::With(foreign)),
        Rule::new("signature", "function", Function, Name::With(signature)),
        Rule::new("function", "function", Function, Name::With(function)),
        Rule::new("bind", "function", Function, Name::With(bind)),
    ],
    // Signatures that define nothing, e.g. kind signatures, belong to the next definition.
    leading: &["haddock", "pragma", "signature", "kind_signature", "default_signature"],
    has_clauses: true,
    ..BASE
};

fn module<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(path) = site.node.child_by_field_name("module") else { return };
    let Some(name) = children(path).filter(Node::is_named).last() else { return };
    let scope = (path.start_byte() < name.start_byte()).then(|| path.start_byte()..name.start_byte() - 1);
    names.push(Named::new(name).with_scope_bytes(scope));
}

/// Adds the operator or the name of a head, e.g. `T a`, `(:+:) a b` and `a :+: b`.
fn head<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let named = head_name(site.node).map(Named::new);
    names.extend(named.map(|named| match site.parent_kind(0) {
        "data_instance" => named.with_kind("data instance", Extension),
        _ => named,
    }));
}

fn head_name(node: Node<'_>) -> Option<Node<'_>> {
    let mut node = node;
    loop {
        if let Some(name) = node.child_by_field_name("name") {
            return Some(operator(name));
        }
        if let Some(infix) = node.child_by_field_name("operator") {
            return Some(operator(infix));
        }
        node = child(node, &["infix", "parens", "function_head_parens"])?;
    }
}

/// Returns the operator in `(+)`, or the name in the backquotes of an infix function.
fn operator(name: Node<'_>) -> Node<'_> {
    match name.kind() {
        "prefix_id" | "infix_id" => name.named_child(0).unwrap_or(name),
        _ => name,
    }
}

/// Adds the type that an instance is for, which is the last of several. `instance Show (Tree a)` is for
/// `Tree`.
fn instance<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let class = head_name(site.node);
    let patterns = site.node.child_by_field_name("patterns");
    let mut named = patterns.and_then(|patterns| children(patterns).filter(Node::is_named).last());
    while let Some(inner) = named.and_then(|node| match node.kind() {
        "parens" => node.child_by_field_name("type"),
        "apply" => node.child_by_field_name("constructor"),
        "qualified" => node.child_by_field_name("id"),
        _ => None,
    }) {
        named = Some(inner);
    }
    let name = named.filter(|node| node.kind() == "name").or(class);
    names.extend(name.map(Named::new));
}

fn pattern<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(inner) = child(site.node, &["equation", "signature"]) else { return };
    let mut name = inner.child_by_field_name("synonym");
    while let Some(outer) = name.filter(|name| !matches!(name.kind(), "constructor" | "constructor_operator"))
    {
        let first = outer.child_by_field_name("function").or_else(|| outer.child_by_field_name("operator"));
        name = first.or_else(|| outer.child_by_field_name("constructor")).or_else(|| outer.named_child(0));
    }
    names.extend(name.map(Named::new));
}

fn foreign<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let signature = site.node.child_by_field_name("signature");
    names.extend(signature.and_then(|signature| signature.child_by_field_name("name")).map(Named::new));
}

/// Matches a signature. It begins the function after it. If it has several names, it begins the first of
/// these functions. In a class, it only declares them.
fn signature<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let parent = site.parent_kind(0);
    if parent == "class_declarations" {
        let list = site.node.child_by_field_name("names");
        let name = list.is_none().then(|| site.node.child_by_field_name("name")).flatten();
        let all = list.into_iter().flat_map(children).filter(Node::is_named).chain(name);
        names.extend(all.map(|name| Named::new(operator(name)).with_kind("signature", Declaration)));
        return;
    }
    let Some(name) = site.node.child_by_field_name("name").map(operator) else { return };
    match parent {
        "declarations" | "instance_declarations" | "ERROR" => names.push(Named::new(name)),
        // Within functions, we only list functions with parameters. Others don't deserve a line.
        "local_binds" => {
            let next = site.node.next_named_sibling().filter(|next| next.kind() == "function");
            let is_next =
                next.and_then(head_name).is_some_and(|next| site.text_of(next) == site.text_of(name));
            names.extend(is_next.then(|| Named::new(name)));
        }
        _ => {}
    }
}

fn function<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    // Function types also have nodes of this kind.
    let parent = site.parent_kind(0);
    let is_definition = parent.ends_with("declarations") || matches!(parent, "local_binds" | "ERROR");
    names.extend(head_name(site.node).filter(|_| is_definition).map(Named::new));
}

/// Matches `x = 1`, and all names of `(a, b) = (1, 2)`, outside of functions.
fn bind<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let parent = site.parent_kind(0);
    if !parent.ends_with("declarations") && parent != "ERROR" {
        return;
    }
    if let Some(name) = site.node.child_by_field_name("name") {
        names.push(Named::new(operator(name)));
    }
    if let Some(pattern) = site.node.child_by_field_name("pattern") {
        let mut open = vec![pattern];
        while let Some(node) = open.pop() {
            match node.kind() {
                "variable" => names.push(Named::new(node).with_kind("variable", Constant)),
                "tuple" | "parens" | "list" => open.extend(children(node).filter(Node::is_named)),
                _ => {}
            }
        }
    }
}

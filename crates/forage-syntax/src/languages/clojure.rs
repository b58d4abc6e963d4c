//! Clojure. A definition is a list whose first symbol names the kind.

use tree_sitter::Node;

use crate::language::Category::{self, Constant, Declaration, Extension, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, children};

pub(crate) static CLOJURE: Row = Row {
    name: "clojure",
    load: || tree_sitter_clojure_orchard::LANGUAGE.into(),
    rules: &[Rule::new("list_lit", "def", Function, Name::With(list))],
    separators: &["."],
    ..BASE
};

const FORMS: &[(&str, Category)] = &[
    ("ns", Module),
    ("def", Constant),
    ("defonce", Constant),
    ("defn", Function),
    ("defn-", Function),
    ("defmacro", Function),
    ("defmulti", Function),
    ("defmethod", Function),
    ("definline", Function),
    ("deftest", Function),
    ("deftest-", Function),
    ("defprotocol", Type),
    ("definterface", Type),
    ("defrecord", Type),
    ("deftype", Type),
    ("defstruct", Type),
    ("extend-type", Extension),
    ("extend-protocol", Extension),
    ("extend", Extension),
];

/// Words that begin like a definition but aren't one.
const OTHERS: &[&str] = &["default", "defer", "deferred", "deflate", "definitely", "deftest?"];

fn list<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    // Code that is quoted, discarded or commented out doesn't define anything.
    let is_data = site.parents.iter().any(|parent| {
        matches!(parent.kind(), "dis_expr" | "quoting_lit" | "syn_quoting_lit")
            || parent.kind() == "list_lit" && head(site, *parent) == "comment"
    });
    let mut values = values(site.node);
    let (Some(first), Some(second)) = (values.next(), values.next()) else { return };
    if is_data || first.kind() != "sym_lit" {
        return;
    }
    let word = head(site, site.node);
    if let Some((kind, category)) = FORMS.iter().find(|(name, _)| *name == word).copied() {
        // `(s/def ::name …)` defines a specification.
        if second.kind() == "kwd_lit" {
            names.push(keyword(second).with_kind("spec", Constant));
            return;
        }
        let is_function = kind == "def"
            && values.last().is_some_and(|value| {
                value.kind() == "anon_fn_lit" || value.kind() == "list_lit" && head(site, value) == "fn"
            });
        let category = if is_function { Function } else { category };
        names.extend(symbol(second).map(|named| named.with_kind(kind, category)));
    } else if word.starts_with("def") && !OTHERS.contains(&word) && site.parents.len() == 1 {
        // This may be a library's macro, e.g. `defroutes`.
        names.extend(symbol(second));
    } else if let Some(outer) = site.parents.last().filter(|outer| outer.kind() == "list_lit") {
        let is_signature = matches!(second.kind(), "vec_lit" | "list_lit");
        let (kind, category) = match head(site, *outer) {
            "defprotocol" | "definterface" => ("method", Declaration),
            "defrecord" | "deftype" | "extend-type" | "extend-protocol" => ("method", Function),
            _ => return,
        };
        names.extend(symbol(first).filter(|_| is_signature).map(|named| named.with_kind(kind, category)));
    }
}

/// Returns the elements of a list, without comments and without elements that `#_` discards.
fn values(list: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    children(list)
        .filter(|node| node.is_named() && !matches!(node.kind(), "comment" | "dis_expr" | "meta_lit"))
}

/// Returns the first symbol of a list, without its namespace.
fn head<'tree>(site: Site<'_, 'tree>, list: Node<'_>) -> &'tree str {
    let first = values(list).next().filter(|first| first.kind() == "sym_lit");
    first.and_then(|first| first.child_by_field_name("name")).map_or("", |name| site.text_of(name))
}

/// Returns the name of a symbol, without its metadata.
fn symbol(node: Node<'_>) -> Option<Named<'_>> {
    let name = node.child_by_field_name("name").filter(|_| node.kind() == "sym_lit")?;
    Some(Named::new(name).with_scope(node.child_by_field_name("namespace")))
}

/// Returns the name of a keyword. `::name` keeps its colons, and `:space/name` gets a scope.
fn keyword(node: Node<'_>) -> Named<'_> {
    match (node.child_by_field_name("name"), node.child_by_field_name("namespace")) {
        (Some(name), Some(space)) => Named::new(name).with_scope(Some(space)),
        _ => Named::new(node),
    }
}

//! Ruby.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static RUBY: Row = Row {
    name: "ruby",
    load: || SupportLang::Ruby.get_ts_language(),
    rules: &[
        Rule::new("class", "class", Type, Name::With(module)),
        Rule::new("module", "module", Module, Name::With(module)),
        Rule::new("method", "def", Function, Name::With(method)),
        Rule::new("singleton_method", "def", Function, Name::With(singleton_method)),
        Rule::new("alias", "alias", Function, Name::Field("name")),
        Rule::new("assignment", "constant", Constant, Name::With(constant)),
        Rule::new("operator_assignment", "constant", Constant, Name::With(constant)),
        Rule::new("call", "call", Function, Name::With(call)),
    ],
    ..BASE
};

fn module<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    names.extend(site.node.child_by_field_name("name").and_then(qualified));
}

/// Returns the last part of a name such as `Shop::Mail`, with its qualifier as scope.
fn qualified(node: Node<'_>) -> Option<Named<'_>> {
    match node.kind() {
        "scope_resolution" => {
            let name = node.child_by_field_name("name").filter(|name| name.kind() == "constant")?;
            Some(Named::new(name).with_scope(node.child_by_field_name("scope")))
        }
        _ => Some(Named::new(node)),
    }
}

fn method<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    names.extend(site.node.child_by_field_name("name").map(|name| with_heredoc(site, Named::new(name))));
}

/// Matches `def self.f` and `def Class.f`.
fn singleton_method<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("name").map(|name| with_heredoc(site, Named::new(name)));
    names.extend(name.map(|name| name.with_scope(site.node.child_by_field_name("object"))));
}

/// Extends a definition by its heredoc, whose text follows the line. In the tree, this heredoc comes after
/// the definition.
fn with_heredoc<'tree>(site: Site<'_, 'tree>, named: Named<'tree>) -> Named<'tree> {
    let row = site.node.end_position().row;
    let mut next = site.node;
    while let Some(body) = next.next_sibling().filter(|body| {
        body.kind() == "heredoc_body" && (next != site.node || body.start_position().row == row)
    }) {
        next = body;
    }
    if next == site.node { named } else { named.with_span(site.node, next) }
}

/// Matches constants. Note that `Point = Struct.new(…)` is a class.
fn constant<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(left) = site.node.child_by_field_name("left") else { return };
    let is_class = site.node.child_by_field_name("right").is_some_and(|right| {
        let part = |field| right.child_by_field_name(field).map_or("", |node| site.text_of(node));
        let is_maker = matches!(part("receiver"), "Struct" | "Class" | "Module" | "Data");
        right.kind() == "call" && is_maker && matches!(part("method"), "new" | "define")
    });
    let (kind, category) = if is_class { ("class", Type) } else { ("constant", Constant) };
    let is_constant = |node: &Node<'_>| matches!(node.kind(), "constant" | "scope_resolution");
    match left.kind() {
        "constant" | "scope_resolution" => {
            names.extend(qualified(left).map(|named| with_heredoc(site, named).with_kind(kind, category)));
        }
        "left_assignment_list" => names.extend(children(left).filter(is_constant).filter_map(qualified)),
        _ => {}
    }
}

/// Matches methods that define methods, and Rake tasks.
fn call<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(method) = site.node.child_by_field_name("method") else { return };
    let is_bare = site.node.child_by_field_name("receiver").is_none_or(|receiver| receiver.kind() == "self");
    let (kind, category, is_list) = match site.text_of(method) {
        "attr_reader" => ("attr_reader", Constant, true),
        "attr_writer" => ("attr_writer", Constant, true),
        "attr_accessor" => ("attr_accessor", Constant, true),
        "define_method" => ("define_method", Function, false),
        "define_singleton_method" => ("define_singleton_method", Function, false),
        "alias_method" => ("alias_method", Function, false),
        "task" => ("task", Function, false),
        _ => return,
    };
    let Some(arguments) = site.node.child_by_field_name("arguments").filter(|_| is_bare) else { return };
    let named = children(arguments).filter(|argument| argument.is_named() && !argument.is_extra());
    for (at, argument) in named.take(if is_list { usize::MAX } else { 1 }).enumerate() {
        let Some(name) = symbol(site, argument) else { continue };
        let name = name.with_kind(kind, category);
        // If a list extends over several lines, each attribute has its own line.
        names.push(match is_list {
            true => name.with_span(if at == 0 { site.node } else { argument }, argument),
            false => name,
        });
    }
}

/// Returns the name in an argument such as `:name`, `"name"`, `name: …` and `:name => …`.
fn symbol<'tree>(site: Site<'_, 'tree>, argument: Node<'tree>) -> Option<Named<'tree>> {
    match argument.kind() {
        "simple_symbol" => {
            let start = argument.start_byte() + usize::from(site.text_of(argument).starts_with(':'));
            Some(Named::new(argument).with_part(start, argument.end_byte()))
        }
        "string" | "delimited_symbol" if argument.named_child_count() == 1 => {
            child(argument, &["string_content"]).map(Named::new)
        }
        "pair" => {
            let key = argument.child_by_field_name("key")?;
            if key.kind() == "hash_key_symbol" { Some(Named::new(key)) } else { symbol(site, key) }
        }
        _ => None,
    }
}

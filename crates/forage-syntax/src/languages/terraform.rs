//! Terraform, and other files in HashiCorp's configuration language.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{self, Constant, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static TERRAFORM: Row = Row {
    name: "terraform",
    load: || SupportLang::Hcl.get_ts_language(),
    rules: &[
        Rule::new("block", "block", Type, Name::With(block)),
        Rule::new("attribute", "variable", Constant, Name::With(attribute)),
    ],
    ..BASE
};

const BLOCKS: &[(&str, Category)] = &[
    ("resource", Type),
    ("data", Type),
    ("ephemeral", Type),
    ("module", Module),
    ("provider", Module),
    ("locals", Module),
    ("terraform", Module),
    ("variable", Constant),
    ("output", Constant),
    ("check", Type),
    ("run", Type),
];

/// Matches top-level blocks. The last label is the name, and the one before it is the scope. For example, in
/// `resource "aws_instance" "web"`, the scope is `aws_instance`.
fn block<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if site.parents.len() > 2 {
        return;
    }
    let Some(keyword) = child(site.node, &["identifier"]) else { return };
    let word = site.text_of(keyword);
    let (kind, category) = BLOCKS.iter().find(|(name, _)| *name == word).copied().unwrap_or(("block", Type));
    let labels: Vec<Node<'tree>> = children(site.node)
        .skip(1)
        .filter_map(|label| match label.kind() {
            "identifier" => Some(label),
            "string_lit" => child(label, &["template_literal"]),
            _ => None,
        })
        .collect();
    let named = match labels.as_slice() {
        [] if matches!(kind, "locals" | "terraform") => Named::new(keyword),
        [] => return,
        [.., scope, name] => Named::new(*name).with_scope(Some(*scope)),
        [name] => Named::new(*name),
    };
    names.push(named.with_kind(kind, category));
}

/// Matches values of `locals`, and values in a file of variables.
fn attribute<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = child(site.node, &["identifier"]).map(Named::new);
    match site.parents {
        [_, body] if body.kind() == "body" => names.extend(name),
        [_, _, block, _] => {
            let is_locals = block.child(0).is_some_and(|word| site.text_of(word) == "locals");
            names.extend(name.filter(|_| is_locals).map(|name| name.with_kind("local", Constant)));
        }
        _ => {}
    }
}

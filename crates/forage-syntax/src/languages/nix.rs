//! Nix. All named values are bindings.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Function, Module};
use crate::language::{BASE, Name, Named, Row, Rule, Site, children};

pub(crate) static NIX: Row = Row {
    name: "nix",
    load: || SupportLang::Nix.get_ts_language(),
    rules: &[Rule::new("binding", "attribute", Constant, Name::With(binding))],
    ..BASE
};

fn binding<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(path) = site.node.child_by_field_name("attrpath") else { return };
    let Some(name) = children(path).filter(Node::is_named).last() else { return };
    // In `"${name}" = …`, there is no name before evaluation.
    let is_dynamic =
        name.kind() == "interpolation" || children(name).any(|part| part.kind() == "interpolation");
    if is_dynamic {
        return;
    }
    // The scope must not include the dot before the name.
    let scope = (path.start_byte() < name.start_byte()).then(|| path.start_byte()..name.start_byte() - 1);
    let is_function = site
        .node
        .child_by_field_name("expression")
        .is_some_and(|value| value.kind() == "function_expression");
    let is_variable = matches!(site.parent_kind(1), "let_expression" | "let_attrset_expression");
    let (kind, category) = match (is_function, is_variable) {
        // The attributes that a flake's function returns aren't local to this function.
        (true, false) if site.text_of(path) == "outputs" => ("function", Module),
        (true, _) => ("function", Function),
        (false, true) => ("let", Constant),
        (false, false) => ("attribute", Constant),
    };
    names.push(Named::new(name).with_scope_bytes(scope).with_kind(kind, category));
}

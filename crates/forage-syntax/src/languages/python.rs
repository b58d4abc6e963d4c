//! Python.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;

use crate::language::Category::{Constant, Function, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, children};

const NAME: Name = Name::Field("name");

/// The cells of notebooks use this as well.
pub(crate) const PYTHON_ROW: Row = Row {
    name: "python",
    load: || SupportLang::Python.get_ts_language(),
    rules: &[
        Rule::new("class_definition", "class", Type, NAME),
        Rule::new("function_definition", "def", Function, NAME),
        Rule::new("type_alias_statement", "type", Type, Name::With(alias)),
        Rule::new("assignment", "variable", Constant, Name::With(variable)),
    ],
    leading: &["decorator"],
    wrappers: &["decorated_definition"],
    local_scopes: &["lambda"],
    documentation: &["expression_statement"],
    is_documentation: is_doc_string,
    ..BASE
};

pub(crate) static PYTHON: Row = PYTHON_ROW;

/// Recognises a string that is the first statement of a module or of a block, e.g. of a class or function.
fn is_doc_string(site: Site<'_, '_>) -> bool {
    let is_string = site.node.named_child(0).is_some_and(|child| child.kind() == "string");
    let before = site.node.prev_named_sibling();
    is_string
        && before.is_none_or(|before| before.kind() == "comment")
        && matches!(site.parent_kind(0), "module" | "block")
}

fn alias<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("left").and_then(|node| node.named_child(0));
    names.extend(
        name.map(|name| match name.kind() {
            "generic_type" => name.named_child(0).unwrap_or(name),
            _ => name,
        })
        .map(Named::new),
    );
}

/// Matches variables of a module or a class. Attributes and items aren't definitions, and neither is `b` in
/// `a = b = 1`.
fn variable<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_statement =
        site.parent_kind(0) == "expression_statement" && matches!(site.parent_kind(1), "module" | "block");
    let Some(left) = site.node.child_by_field_name("left").filter(|_| is_statement) else { return };
    match left.kind() {
        "identifier" => names.push(Named::new(left)),
        "pattern_list" | "tuple_pattern" => {
            names.extend(children(left).filter(|child| child.kind() == "identifier").map(Named::new));
        }
        _ => {}
    }
}

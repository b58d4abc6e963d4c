//! Bash and shells with the same syntax.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;

use crate::language::Category::{Constant, Function};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static BASH: Row = Row {
    name: "bash",
    load: || SupportLang::Bash.get_ts_language(),
    rules: &[
        Rule::new("function_definition", "function", Function, Name::Field("name")),
        Rule::new("variable_assignment", "variable", Constant, Name::With(variable)),
        Rule::new("command", "alias", Function, Name::With(alias)),
    ],
    wrappers: &["declaration_command"],
    // We leave out loop variables, which don't deserve a line in an outline.
    local_scopes: &[
        "subshell",
        "command_substitution",
        "while_statement",
        "for_statement",
        "c_style_for_statement",
    ],
    ..BASE
};

/// Matches `A=1` and `export A=1`, but not `A=1 command`, `A+=1` or `a[1]=2`.
fn variable<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_command = site.parent_kind(0) == "command" || child(site.node, &["+="]).is_some();
    let name =
        site.node.child_by_field_name("name").filter(|name| !is_command && name.kind() == "variable_name");
    let Some(name) = name else { return };
    let parent = site.parents.last().filter(|parent| parent.kind() == "declaration_command");
    let kind = match parent.and_then(|parent| parent.child(0)).map(|word| word.kind()) {
        Some("readonly") => "readonly",
        Some("export") => "export",
        Some("declare") => "declare",
        Some("typeset") => "typeset",
        _ => "variable",
    };
    names.push(Named::new(name).with_kind(kind, Constant));
}

/// Matches `alias ll='ls -l'`.
fn alias<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_alias = site.node.child_by_field_name("name").is_some_and(|name| site.text_of(name) == "alias");
    for argument in children(site.node).filter(|argument| is_alias && argument.is_named()).skip(1) {
        let length = site.text_of(argument).find('=').unwrap_or_default();
        if length > 0 {
            let start = argument.start_byte();
            names.push(Named::new(argument).with_part(start, start + length));
        }
    }
}

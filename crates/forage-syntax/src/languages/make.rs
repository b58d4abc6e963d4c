//! Make.

use tree_sitter::Node;

use crate::language::Category::{Constant, Function};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static MAKE: Row = Row {
    name: "make",
    load: || tree_sitter_make::LANGUAGE.into(),
    rules: &[
        Rule::new("rule", "target", Function, Name::With(targets)),
        Rule::new("define_directive", "define", Function, Name::Field("name")),
        Rule::new("variable_assignment", "variable", Constant, Name::With(variable)),
        Rule::new("recipe_line", "variable", Constant, Name::With(indented)),
        Rule::new("shell_assignment", "variable", Constant, Name::Field("name")),
    ],
    wrappers: &["export_directive", "override_directive", "private_directive"],
    ..BASE
};

/// Matches a rule with one or more targets. We skip special targets such as `.PHONY`, which only set options.
fn targets<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(targets) = child(site.node, &["targets"]) else { return };
    let is_special = |node: &Node<'tree>| {
        let name = site.text_of(*node).strip_prefix('.');
        name.is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        })
    };
    let all = children(targets).filter(|node| node.is_named() && !is_special(node));
    let until = last_of_recipe(site.node);
    names.extend(all.map(|name| Named::new(name).with_last(until)));
}

/// Finds the last node of a rule that is followed by a conditional with rules or variables. We need this
/// because the grammar makes this conditional part of the recipe.
fn last_of_recipe(rule: Node<'_>) -> Option<Node<'_>> {
    let mut before = None;
    for part in children(rule) {
        if part.kind() != "recipe" {
            before = Some(part);
            continue;
        }
        for line in children(part) {
            if line.kind() == "conditional" && has_statements(line, 0) {
                return before;
            }
            if line.is_named() {
                before = Some(line);
            }
        }
    }
    None
}

/// Maximum nesting of conditionals that we search. People nest three or four.
const NESTED: usize = 32;

fn has_statements(conditional: Node<'_>, depth: usize) -> bool {
    depth < NESTED
        && children(conditional).any(|node| match node.kind() {
            "else_directive" | "elsif_directive" | "conditional" => has_statements(node, depth + 1),
            kind => {
                matches!(kind, "rule" | "define_directive" | "include_directive")
                    || kind.ends_with("_assignment")
            }
        })
}

/// Matches variables, except target-specific ones. We skip `+=`, which extends a variable that is defined
/// elsewhere.
fn variable<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_added = site.node.child_by_field_name("operator").is_some_and(|sign| site.text_of(sign) == "+=");
    if !is_added && site.node.child_by_field_name("target_or_pattern").is_none() {
        // We skip special variables such as `.DEFAULT_GOAL`, which only set options.
        let name = site.node.child_by_field_name("name").filter(|name| !site.text_of(*name).starts_with('.'));
        names.extend(name.map(Named::new));
    }
}

/// Matches a variable in a conditional whose line begins with a tab. Make only reads such a line as a recipe
/// after a rule, but the grammar always does.
fn indented<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_statement = !site.parents.iter().any(|node| node.kind() == "recipe");
    let Some(line) = child(site.node, &["shell_text"]).filter(|_| is_statement) else { return };
    let text = site.text_of(line);
    let end = text
        .find(|sign: char| !(sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '.')))
        .unwrap_or(0);
    let operator = text.get(end..).unwrap_or_default().trim_start();
    if end > 0 && ["=", ":=", "::=", "?=", "!="].iter().any(|sign| operator.starts_with(sign)) {
        names.push(Named::new(line).with_bytes(0..end));
    }
}

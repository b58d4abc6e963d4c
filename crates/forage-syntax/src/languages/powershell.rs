//! PowerShell.

use crate::language::Category::{Constant, Function, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child};

const NAME: Name = Name::Child(&["simple_name"]);

pub(crate) static POWERSHELL: Row = Row {
    name: "powershell",
    load: || tree_sitter_powershell::LANGUAGE.into(),
    rules: &[
        Rule::new("function_statement", "function", Function, Name::With(function)),
        Rule::new("class_statement", "class", Type, NAME),
        Rule::new("enum_statement", "enum", Type, NAME),
        Rule::new("class_method_definition", "method", Function, NAME),
        Rule::new("class_property_definition", "property", Constant, Name::Child(&["variable"])),
        Rule::new("assignment_expression", "variable", Constant, Name::With(variable)),
        Rule::new("command", "configuration", Function, Name::With(configuration)),
    ],
    leading: &["attribute"],
    wrappers: &["pipeline", "pipeline_chain"],
    local_scopes: &["script_block_expression"],
    ..BASE
};

fn function<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let word = site.node.child(0).map(|word| site.text_of(word).to_ascii_lowercase());
    let kind = match word.as_deref() {
        Some("filter") => "filter",
        Some("workflow") => "workflow",
        _ => "function",
    };
    let Some(name) = child(site.node, &["function_name"]) else { return };
    // For example, the name of `global:Write-It` is `Write-It`.
    let text = site.text_of(name);
    let start = text.rfind(':').map_or(0, |colon| colon + 1);
    names.push(Named::new(name).with_kind(kind, Function).with_bytes(start..text.len()));
}

/// Matches variables of a script. Items, properties and variables in blocks aren't definitions.
fn variable<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_top = (site.parent_kind(0), site.parent_kind(1), site.parent_kind(2))
        == ("pipeline", "statement_list", "program");
    let mut left = child(site.node, &["left_assignment_expression"]).filter(|_| is_top);
    // Each operator has its own level of nodes. A variable must be the only child on all of these, except
    // that it may have a type.
    while let Some(inner) = left.filter(|node| node.kind() != "variable") {
        left = match inner.kind() {
            "cast_expression" => inner.named_child(1),
            _ if inner.named_child_count() == 1 => inner.named_child(0),
            _ => None,
        };
    }
    names.extend(left.map(Named::new));
}

/// Matches `configuration Name { … }`, which the grammar reads as a command.
fn configuration<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let word = site.node.child_by_field_name("command_name");
    if word.is_none_or(|word| !site.text_of(word).eq_ignore_ascii_case("configuration")) {
        return;
    }
    let elements = site.node.child_by_field_name("command_elements");
    let has_block = elements.and_then(|node| child(node, &["array_literal_expression"])).is_some();
    let name = elements.and_then(|node| child(node, &["generic_token"])).filter(|_| has_block);
    names.extend(name.map(Named::new));
}

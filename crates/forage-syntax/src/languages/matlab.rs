//! MATLAB.

use crate::language::Category::{Constant, Declaration, Function, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, children};

const NAME: Name = Name::Field("name");

pub(crate) static MATLAB: Row = Row {
    name: "matlab",
    load: || tree_sitter_matlab::LANGUAGE.into(),
    rules: &[
        Rule::new("class_definition", "classdef", Type, NAME),
        Rule::new("function_definition", "function", Function, NAME),
        Rule::new("function_signature", "function", Declaration, NAME),
        Rule::new("property", "property", Constant, NAME),
        Rule::new("events", "event", Constant, Name::With(events)),
        Rule::new("assignment", "variable", Constant, Name::With(variable)),
    ],
    local_scopes: &["lambda"],
    ..BASE
};

fn events<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let all = children(site.node).filter(|node| node.kind() == "identifier");
    names.extend(all.map(|name| Named::new(name).with_first(name)));
}

/// Matches variables of a script. Elements, fields and variables in blocks aren't definitions.
fn variable<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let left = site.node.child_by_field_name("left").filter(|_| site.parent_kind(0) == "source_file");
    names.extend(left.filter(|left| left.kind() == "identifier").map(Named::new));
}

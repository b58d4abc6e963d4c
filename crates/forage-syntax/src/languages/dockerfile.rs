//! Dockerfiles.

use crate::language::Category::{Constant, Module};
use crate::language::{BASE, Name, Named, Row, Rule, Site};

pub(crate) static DOCKERFILE: Row = Row {
    name: "dockerfile",
    load: || tree_sitter_containerfile::LANGUAGE.into(),
    rules: &[
        Rule::new("from_instruction", "stage", Module, Name::With(stage)),
        Rule::new("arg_pair", "ARG", Constant, Name::Field("name")),
        Rule::new("env_pair", "ENV", Constant, Name::Field("name")),
    ],
    wrappers: &["arg_instruction", "env_instruction"],
    ..BASE
};

/// Matches `FROM image AS name`, which begins a stage that extends to the next one.
fn stage<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let instructions = site.next_siblings().take_while(|node| node.kind() != "from_instruction");
    let last = instructions.filter(|node| node.is_named() && !node.is_extra()).last();
    let name = site.node.child_by_field_name("as").map(Named::new);
    names.extend(name.map(|name| name.with_last(last)));
}

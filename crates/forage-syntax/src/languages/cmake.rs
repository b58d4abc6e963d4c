//! CMake.

use tree_sitter::Node;

use crate::language::Category::{Constant, Function, Module};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child};

pub(crate) static CMAKE: Row = Row {
    name: "cmake",
    load: || tree_sitter_cmake::LANGUAGE.into(),
    rules: &[
        Rule::new("function_def", "function", Function, Name::With(function)),
        Rule::new("macro_def", "macro", Function, Name::With(function)),
        Rule::new("normal_command", "set", Constant, Name::With(command)),
    ],
    ..BASE
};

/// Finds the first argument of a command, unless its value is only known during the build.
fn first_argument<'tree>(site: Site<'_, 'tree>, command: Node<'tree>) -> Option<Node<'tree>> {
    let list = child(command, &["argument_list"])?;
    child(list, &["argument"]).filter(|name| !site.text_of(*name).contains("${"))
}

fn function<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let head = child(site.node, &["function_command", "macro_command"]);
    names.extend(head.and_then(|head| first_argument(site, head)).map(Named::new));
}

/// Matches commands that define a target, a project or a variable.
fn command<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let word = child(site.node, &["identifier"]).map(|word| site.text_of(word).to_ascii_lowercase());
    let (kind, category) = match word.as_deref() {
        Some("set") => ("set", Constant),
        Some("option") => ("option", Constant),
        Some("project") => ("project", Module),
        Some("add_library") => ("add_library", Function),
        Some("add_executable") => ("add_executable", Function),
        Some("add_custom_target") => ("add_custom_target", Function),
        _ => return,
    };
    let name = first_argument(site, site.node);
    // `set(ENV{NAME} …)` and `set(CACHE{NAME} …)` only modify existing variables.
    let is_name = |name: &Node<'tree>| !site.text_of(*name).contains(['{', '}']);
    names.extend(name.filter(is_name).map(|name| Named::new(name).with_kind(kind, category)));
}

//! Solidity.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;

use crate::language::Category::{Constant, Declaration, Function, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child};

const NAME: Name = Name::Field("name");

pub(crate) static SOLIDITY: Row = Row {
    name: "solidity",
    load: || SupportLang::Solidity.get_ts_language(),
    rules: &[
        Rule::new("contract_declaration", "contract", Type, NAME),
        Rule::new("interface_declaration", "interface", Type, NAME),
        Rule::new("library_declaration", "library", Type, NAME),
        Rule::new("struct_declaration", "struct", Type, NAME),
        Rule::new("enum_declaration", "enum", Type, NAME),
        Rule::new("user_defined_type_definition", "type", Type, NAME),
        Rule::new("event_definition", "event", Type, NAME),
        Rule::new("error_declaration", "error", Type, NAME),
        Rule::new("function_definition", "function", Function, Name::WithBody("name")),
        Rule::new("modifier_definition", "modifier", Function, Name::WithBody("name")),
        Rule::new("constructor_definition", "constructor", Function, Name::Child(&["constructor"])),
        Rule::new("fallback_receive_definition", "function", Function, Name::With(fallback)),
        Rule::new("yul_function_definition", "function", Function, Name::Child(&["yul_identifier"])),
        Rule::new("state_variable_declaration", "variable", Constant, NAME),
        Rule::new("constant_variable_declaration", "constant", Constant, NAME),
        Rule::new("struct_member", "field", Constant, NAME),
    ],
    ..BASE
};

/// Matches `receive` and `fallback`. In old code, `fallback` has no name.
fn fallback<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = child(site.node, &["fallback", "receive", "function"]).map(Named::new);
    names.extend(name.map(|name| match site.node.child_by_field_name("body") {
        Some(_) => name,
        None => name.with_kind("function", Declaration),
    }));
}

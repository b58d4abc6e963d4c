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
        Rule { node: "contract_declaration", kind: "contract", category: Type, name: NAME },
        Rule { node: "interface_declaration", kind: "interface", category: Type, name: NAME },
        Rule { node: "library_declaration", kind: "library", category: Type, name: NAME },
        Rule { node: "struct_declaration", kind: "struct", category: Type, name: NAME },
        Rule { node: "enum_declaration", kind: "enum", category: Type, name: NAME },
        Rule { node: "user_defined_type_definition", kind: "type", category: Type, name: NAME },
        Rule { node: "event_definition", kind: "event", category: Type, name: NAME },
        Rule { node: "error_declaration", kind: "error", category: Type, name: NAME },
        Rule {
            node: "function_definition",
            kind: "function",
            category: Function,
            name: Name::WithBody("name"),
        },
        Rule {
            node: "modifier_definition",
            kind: "modifier",
            category: Function,
            name: Name::WithBody("name"),
        },
        Rule {
            node: "constructor_definition",
            kind: "constructor",
            category: Function,
            name: Name::Child(&["constructor"]),
        },
        Rule {
            node: "fallback_receive_definition",
            kind: "function",
            category: Function,
            name: Name::With(fallback),
        },
        Rule {
            node: "yul_function_definition",
            kind: "function",
            category: Function,
            name: Name::Child(&["yul_identifier"]),
        },
        Rule { node: "state_variable_declaration", kind: "variable", category: Constant, name: NAME },
        Rule { node: "constant_variable_declaration", kind: "constant", category: Constant, name: NAME },
        Rule { node: "struct_member", kind: "field", category: Constant, name: NAME },
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

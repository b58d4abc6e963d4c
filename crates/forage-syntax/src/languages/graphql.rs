//! GraphQL, schemas and operations.

use crate::language::Category::{Constant, Declaration, Extension, Function, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child};

const NAME: Name = Name::Child(&["name"]);

pub(crate) static GRAPHQL: Row = Row {
    name: "graphql",
    load: || tree_sitter_graphql::LANGUAGE.into(),
    rules: &[
        Rule { node: "object_type_definition", kind: "type", category: Type, name: NAME },
        Rule { node: "interface_type_definition", kind: "interface", category: Type, name: NAME },
        Rule { node: "union_type_definition", kind: "union", category: Type, name: NAME },
        Rule { node: "scalar_type_definition", kind: "scalar", category: Type, name: NAME },
        Rule { node: "enum_type_definition", kind: "enum", category: Type, name: NAME },
        Rule { node: "input_object_type_definition", kind: "input", category: Type, name: NAME },
        Rule { node: "directive_definition", kind: "directive", category: Declaration, name: NAME },
        Rule { node: "schema_definition", kind: "schema", category: Type, name: Name::Child(&["schema"]) },
        Rule { node: "object_type_extension", kind: "extend type", category: Extension, name: NAME },
        Rule { node: "interface_type_extension", kind: "extend interface", category: Extension, name: NAME },
        Rule { node: "union_type_extension", kind: "extend union", category: Extension, name: NAME },
        Rule { node: "scalar_type_extension", kind: "extend scalar", category: Extension, name: NAME },
        Rule { node: "enum_type_extension", kind: "extend enum", category: Extension, name: NAME },
        Rule { node: "input_object_type_extension", kind: "extend input", category: Extension, name: NAME },
        Rule {
            node: "schema_extension",
            kind: "extend schema",
            category: Extension,
            name: Name::Child(&["schema"]),
        },
        Rule { node: "field_definition", kind: "field", category: Constant, name: NAME },
        Rule {
            node: "input_value_definition",
            kind: "field",
            category: Constant,
            name: Name::With(input_value),
        },
        Rule { node: "operation_definition", kind: "query", category: Function, name: Name::With(operation) },
        Rule {
            node: "fragment_definition",
            kind: "fragment",
            category: Function,
            name: Name::Child(&["fragment_name"]),
        },
    ],
    wrappers: &[
        "document",
        "definition",
        "type_system_definition",
        "type_system_extension",
        "type_definition",
        "type_extension",
        "executable_definition",
    ],
    ..BASE
};

/// Matches fields of an input. We must exclude arguments of fields and directives, which have the same kind
/// of node.
fn input_value<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if site.parent_kind(0) == "input_fields_definition" {
        names.extend(child(site.node, &["name"]).map(Named::new));
    }
}

fn operation<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let kind = match child(site.node, &["operation_type"]).map(|word| site.text_of(word)) {
        Some("mutation") => "mutation",
        Some("subscription") => "subscription",
        _ => "query",
    };
    names.extend(child(site.node, &["name"]).map(|name| Named::new(name).with_kind(kind, Function)));
}

//! GraphQL, schemas and operations.

use crate::language::Category::{Constant, Declaration, Extension, Function, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child};

const NAME: Name = Name::Child(&["name"]);

pub(crate) static GRAPHQL: Row = Row {
    name: "graphql",
    load: || tree_sitter_graphql::LANGUAGE.into(),
    rules: &[
        Rule::new("object_type_definition", "type", Type, NAME),
        Rule::new("interface_type_definition", "interface", Type, NAME),
        Rule::new("union_type_definition", "union", Type, NAME),
        Rule::new("scalar_type_definition", "scalar", Type, NAME),
        Rule::new("enum_type_definition", "enum", Type, NAME),
        Rule::new("input_object_type_definition", "input", Type, NAME),
        Rule::new("directive_definition", "directive", Declaration, NAME),
        Rule::new("schema_definition", "schema", Type, Name::Child(&["schema"])),
        Rule::new("object_type_extension", "extend type", Extension, NAME),
        Rule::new("interface_type_extension", "extend interface", Extension, NAME),
        Rule::new("union_type_extension", "extend union", Extension, NAME),
        Rule::new("scalar_type_extension", "extend scalar", Extension, NAME),
        Rule::new("enum_type_extension", "extend enum", Extension, NAME),
        Rule::new("input_object_type_extension", "extend input", Extension, NAME),
        Rule::new("schema_extension", "extend schema", Extension, Name::Child(&["schema"])),
        Rule::new("field_definition", "field", Constant, NAME),
        Rule::new("input_value_definition", "field", Constant, Name::With(input_value)),
        Rule::new("operation_definition", "query", Function, Name::With(operation)),
        Rule::new("fragment_definition", "fragment", Function, Name::Child(&["fragment_name"])),
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

//! Protocol Buffers.

use crate::language::Category::{Constant, Declaration, Extension, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const IDENTIFIER: Name = Name::Child(&["identifier"]);

pub(crate) static PROTOBUF: Row = Row {
    name: "protobuf",
    load: || tree_sitter_proto::LANGUAGE.into(),
    rules: &[
        Rule::new("package", "package", Module, Name::Child(&["full_ident"])),
        Rule::new("message", "message", Type, Name::Child(&["message_name"])),
        Rule::new("group", "group", Type, Name::Child(&["message_name"])),
        Rule::new("enum", "enum", Type, Name::Child(&["enum_name"])),
        Rule::new("service", "service", Type, Name::Child(&["service_name"])),
        Rule::new("rpc", "rpc", Declaration, Name::Child(&["rpc_name"])),
        Rule::new("extend", "extend", Extension, Name::With(extend)),
        Rule::new("oneof", "oneof", Constant, IDENTIFIER),
        Rule::new("field", "field", Constant, IDENTIFIER),
        Rule::new("map_field", "field", Constant, IDENTIFIER),
        Rule::new("oneof_field", "field", Constant, IDENTIFIER),
    ],
    ..BASE
};

/// Adds the message that this extends, without its package.
fn extend<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let path = child(site.node, &["full_ident"]);
    names.extend(path.and_then(|path| children(path).filter(|node| node.is_named()).last()).map(Named::new));
}

//! Protocol Buffers.

use crate::language::Category::{Constant, Declaration, Extension, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const IDENTIFIER: Name = Name::Child(&["identifier"]);

pub(crate) static PROTOBUF: Row = Row {
    name: "protobuf",
    load: || tree_sitter_proto::LANGUAGE.into(),
    rules: &[
        Rule { node: "package", kind: "package", category: Module, name: Name::Child(&["full_ident"]) },
        Rule { node: "message", kind: "message", category: Type, name: Name::Child(&["message_name"]) },
        Rule { node: "group", kind: "group", category: Type, name: Name::Child(&["message_name"]) },
        Rule { node: "enum", kind: "enum", category: Type, name: Name::Child(&["enum_name"]) },
        Rule { node: "service", kind: "service", category: Type, name: Name::Child(&["service_name"]) },
        Rule { node: "rpc", kind: "rpc", category: Declaration, name: Name::Child(&["rpc_name"]) },
        Rule { node: "extend", kind: "extend", category: Extension, name: Name::With(extend) },
        Rule { node: "oneof", kind: "oneof", category: Constant, name: IDENTIFIER },
        Rule { node: "field", kind: "field", category: Constant, name: IDENTIFIER },
        Rule { node: "map_field", kind: "field", category: Constant, name: IDENTIFIER },
        Rule { node: "oneof_field", kind: "field", category: Constant, name: IDENTIFIER },
    ],
    ..BASE
};

/// Adds the message that this extends, without its package.
fn extend<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let path = child(site.node, &["full_ident"]);
    names.extend(path.and_then(|path| children(path).filter(|node| node.is_named()).last()).map(Named::new));
}

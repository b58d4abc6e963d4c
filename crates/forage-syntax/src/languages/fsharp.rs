//! F#, implementations and signatures.

use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Extension, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

const TYPE: Name = Name::With(type_name);

const RULES: &[Rule] = &[
    Rule::new("namespace", "namespace", Module, Name::Field("name")),
    Rule::new("named_module", "module", Module, Name::Field("name")),
    Rule::new("module_defn", "module", Module, Name::Child(&["identifier"])),
    Rule::new("module_abbrev", "module", Module, Name::Child(&["identifier"])),
    Rule::new("anon_type_defn", "type", Type, TYPE),
    Rule::new("record_type_defn", "type", Type, TYPE),
    Rule::new("union_type_defn", "type", Type, TYPE),
    Rule::new("interface_type_defn", "type", Type, TYPE),
    Rule::new("enum_type_defn", "type", Type, TYPE),
    Rule::new("type_abbrev_defn", "type", Type, TYPE),
    Rule::new("delegate_type_defn", "type", Type, TYPE),
    Rule::new("type_declaration", "type", Type, TYPE),
    Rule::new("type_extension", "type", Extension, TYPE),
    Rule::new("exception_definition", "exception", Type, Name::Field("exception_name")),
    Rule::new("extern_binding", "extern", Declaration, Name::Field("name")),
    Rule::new("function_or_value_defn", "let", Function, Name::With(binding)),
    Rule::new("value_definition", "val", Declaration, Name::With(value)),
    Rule::new("member_defn", "member", Function, Name::With(member)),
    Rule::new("interface_implementation", "interface", Extension, Name::With(interface)),
];

const SHARED: Row = Row {
    name: "fsharp",
    rules: RULES,
    leading: &["xml_doc", "attributes"],
    wrappers: &["type_definition", "declaration_expression", "value_declaration"],
    separators: &["."],
    ..BASE
};

pub(crate) static FSHARP: Row = Row { load: || tree_sitter_fsharp::LANGUAGE_FSHARP.into(), ..SHARED };

pub(crate) static SIGNATURE: Row =
    Row { extensions: &["fsi"], load: || tree_sitter_fsharp::LANGUAGE_SIGNATURE.into(), ..SHARED };

fn type_name<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = child(site.node, &["type_name"]).and_then(|node| node.child_by_field_name("type_name"));
    names.extend(name.map(Named::new));
}

/// Returns a name without the parentheses of an operator, or the backquotes of an unusual name.
fn named<'tree>(site: Site<'_, 'tree>, name: Node<'tree>) -> Named<'tree> {
    let text = site.text_of(name);
    for (open, close) in [("(", ")"), ("``", "``")] {
        if let Some(inner) = text.strip_prefix(open).and_then(|text| text.strip_suffix(close)) {
            let operator = if open == "(" { inner.trim() } else { inner };
            let start = name.start_byte() + open.len() + inner.find(operator).unwrap_or_default();
            return Named::new(name).with_part(start, start + operator.len());
        }
    }
    Named::new(name)
}

/// Adds the names that a pattern binds.
fn bound<'tree>(site: Site<'_, 'tree>, pattern: Node<'tree>, names: &mut Vec<Named<'tree>>) {
    let mut open = vec![pattern];
    while let Some(node) = open.pop() {
        match node.kind() {
            "identifier" | "op_identifier" if site.text_of(node) != "_" => names.push(named(site, node)),
            "active_pattern" => {
                names.extend(
                    children(node).filter(|name| name.kind() == "active_pattern_op_name").map(Named::new),
                );
            }
            // `Some x` binds the part after the constructor, whereas a single name has no arguments.
            "identifier_pattern" if node.named_child_count() == 1 => open.extend(node.named_child(0)),
            "typed_pattern" => open.extend(node.named_child(0)),
            "value_declaration_left"
            | "function_declaration_left"
            | "attribute_pattern"
            | "paren_pattern"
            | "repeat_pattern"
            | "long_identifier_or_op"
            | "long_identifier" => {
                open.extend(children(node).filter(|child| {
                    child.is_named()
                        && !matches!(
                            child.kind(),
                            "argument_patterns" | "attributes" | "access_modifier" | "type_arguments"
                        )
                }));
            }
            _ => {}
        }
    }
}

/// Matches `let` in modules and classes. Note that all of `let rec f … and g …` is one node.
fn binding<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if is_local(site) {
        return;
    }
    let mut left: Option<Node<'tree>> = None;
    let mut parts: Vec<(Node<'tree>, Node<'tree>)> = Vec::new();
    for node in children(site.node).filter(Node::is_named) {
        match (node.kind(), left) {
            ("function_declaration_left" | "value_declaration_left", _) => {
                left = Some(node);
                parts.push((node, node));
            }
            (_, Some(_)) if !node.is_extra() => {
                if let Some(part) = parts.last_mut() {
                    part.1 = node;
                }
            }
            _ => {}
        }
    }
    let is_single = parts.len() == 1;
    for (at, (left, body)) in parts.into_iter().enumerate() {
        let mut bound_names = Vec::new();
        bound(site, left, &mut bound_names);
        let is_function = left.kind() == "function_declaration_left"
            || matches!(body.kind(), "fun_expression" | "function_expression");
        let category = if is_function { Function } else { Constant };
        let first = if at == 0 { site.node } else { left };
        names.extend(bound_names.into_iter().map(|named| {
            let named = named.with_kind("let", category);
            if is_single { named } else { named.with_span(first, body) }
        }));
    }
}

/// Checks whether a declaration is in the body of a function or in an expression. Declarations of modules and
/// classes aren't local.
fn is_local(site: Site<'_, '_>) -> bool {
    for parent in site.parents.iter().rev() {
        match parent.kind() {
            // If the grammar can't read some code, this is most often at the top level of a file.
            "declaration_expression" | "preproc_if" | "preproc_else" | "ERROR" => {}
            "file"
            | "namespace"
            | "named_module"
            | "module_defn"
            | "type_extension_elements"
            | "value_declaration" => {
                return false;
            }
            _ => return true,
        }
    }
    false
}

/// Adds the interface that these members implement, without its parameters.
fn interface<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let kind = child(site.node, &["simple_type", "generic_type"]);
    names.extend(kind.and_then(|kind| child(kind, &["long_identifier"])).map(Named::new));
}

fn value<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if let Some(left) = child(site.node, &["value_declaration_left"]) {
        bound(site, left, names);
    }
}

fn member<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let kinds = &[
        "method_or_prop_defn",
        "member_signature",
        "additional_constr_defn",
        "property_or_ident",
        "identifier",
    ];
    let Some(inner) = child(site.node, kinds) else { return };
    let name_of = |node: Node<'tree>| {
        node.child_by_field_name("method")
            .or_else(|| child(node, &["identifier", "op_identifier", "active_pattern"]))
    };
    match inner.kind() {
        "method_or_prop_defn" => {
            let name = inner.child_by_field_name("name").and_then(name_of);
            let word = site.node.child(0).map_or("", |word| word.kind());
            let kind = match children(site.node)
                .find(|word| !word.is_named() && word.kind() != "static")
                .map(|word| word.kind())
            {
                Some("override") => "override",
                Some("default") => "default",
                _ if word == "override" => "override",
                _ => "member",
            };
            names.extend(name.map(|name| named(site, name).with_kind(kind, Function)));
        }
        "member_signature" => {
            let is_abstract = child(site.node, &["abstract"]).is_some();
            let kind = if is_abstract { "abstract" } else { "member" };
            names.extend(name_of(inner).map(|name| named(site, name).with_kind(kind, Declaration)));
        }
        "additional_constr_defn" => {
            names.extend(child(inner, &["new"]).map(|name| Named::new(name).with_kind("new", Function)));
        }
        // For example `member val Name = …` and `val mutable name : …`.
        "property_or_ident" => {
            names.extend(name_of(inner).map(|name| named(site, name).with_kind("member", Constant)))
        }
        _ => names.push(named(site, inner).with_kind("val", Constant)),
    }
}

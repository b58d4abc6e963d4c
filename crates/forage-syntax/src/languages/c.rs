//! C, C++ and Objective-C, which share declarators.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Extension, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, Source, child, children};

const NAME: Name = Name::Field("name");

/// Words that must not become names, although the grammars take them for names after an error.
const NO_NAMES: &[&str] = &[
    "",
    "__catch",
    "catch",
    "else",
    "for",
    "if",
    "namespace",
    "return",
    "sizeof",
    "struct",
    "switch",
    "while",
];

const RULES: &[Rule] = &[
    Rule::new("function_definition", "function", Function, Name::With(function)),
    Rule::new("declaration", "variable", Constant, Name::With(declaration)),
    Rule::new("field_declaration", "field", Constant, Name::With(declaration)),
    Rule::new("type_definition", "typedef", Type, Name::With(typedef)),
    Rule::new("struct_specifier", "struct", Type, Name::With(tagged)),
    Rule::new("union_specifier", "union", Type, Name::With(tagged)),
    Rule::new("enum_specifier", "enum", Type, Name::With(tagged)),
    Rule::new("preproc_def", "macro", Function, Name::With(object_macro)),
    Rule::new("preproc_function_def", "macro", Function, NAME),
    // C++.
    Rule::new("class_specifier", "class", Type, Name::With(tagged)),
    Rule::new("namespace_definition", "namespace", Module, NAME),
    Rule::new("namespace_alias_definition", "namespace", Module, NAME),
    Rule::new("alias_declaration", "using", Type, NAME),
    Rule::new("concept_definition", "concept", Type, NAME),
    // Objective-C.
    Rule::new("class_interface", "interface", Type, Name::With(class)),
    Rule::new("class_implementation", "implementation", Extension, Name::With(class)),
    Rule::new("class_declaration", "class", Declaration, Name::With(forward)),
    Rule::new("protocol_declaration", "protocol", Type, Name::Child(&["identifier"])),
    Rule::new("protocol_forward_declaration", "protocol", Declaration, Name::With(forward)),
    Rule::new("compatibility_alias_declaration", "alias", Type, Name::Field("alias")),
    Rule::new("method_definition", "method", Function, Name::With(method)),
    Rule::new("method_declaration", "method", Declaration, Name::With(method)),
    Rule::new("property_declaration", "property", Constant, Name::With(property)),
    Rule::new("instance_variable", "field", Constant, Name::With(property)),
];

const SHARED: Row = Row {
    rules: RULES,
    wrappers: &[
        "linkage_specification",
        "template_declaration",
        "friend_declaration",
        "implementation_definition",
    ],
    local_scopes: &["lambda_expression", "block_literal"],
    separators: &["::"],
    source: Source::Masked(super::macros::mask),
    ..BASE
};

pub(crate) static C: Row = Row { name: "c", load: || SupportLang::C.get_ts_language(), ..SHARED };

pub(crate) static CPP: Row = Row { name: "cpp", load: || SupportLang::Cpp.get_ts_language(), ..SHARED };

pub(crate) static OBJECTIVE_C: Row =
    Row { name: "objective-c", load: || tree_sitter_objc::LANGUAGE.into(), ..SHARED };

fn function<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(declarator) = site.node.child_by_field_name("declarator") else { return };
    let (name, is_function) = innermost(declarator);
    let Some(named) = named(site, name).filter(|_| is_function) else { return };
    if let Some(named) = test(site, declarator) {
        names.push(named);
        return;
    }
    let is_absent = child(site.node, &["delete_method_clause", "pure_virtual_clause"]).is_some();
    names.push(if is_absent { named.with_kind("function", Declaration) } else { named });
}

/// Matches `TEST(Suite, name) {` and similar macros, which define a function that is named by their
/// arguments.
fn test<'tree>(site: Site<'_, 'tree>, declarator: Node<'tree>) -> Option<Named<'tree>> {
    let is_macro = site
        .text_of(declarator.child_by_field_name("declarator")?)
        .bytes()
        .all(|byte| !byte.is_ascii_lowercase());
    if site.node.child_by_field_name("type").is_some() || !is_macro {
        return None;
    }
    let parameters = declarator.child_by_field_name("parameters")?;
    let mut names = children(parameters).filter(|node| node.kind() == "parameter_declaration").map(|node| {
        let is_alone = node.child_by_field_name("declarator").is_none();
        node.child_by_field_name("type").filter(|name| is_alone && name.kind() == "type_identifier")
    });
    let first = names.next()??;
    Some(match names.next() {
        Some(Some(second)) => Named::new(second).with_scope(Some(first)),
        _ => Named::new(first),
    })
}

/// Adds variables and fields, and prototypes of functions.
fn declaration<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let mut cursor = site.node.walk();
    for declarator in site.node.children_by_field_name("declarator", &mut cursor) {
        let (name, is_function) = innermost(declarator);
        if name.kind() == "structured_binding_declarator" {
            names.extend(children(name).filter(|child| child.kind() == "identifier").map(Named::new));
            continue;
        }
        // Within a function, `T value(argument)` is more often a C++ variable than a prototype.
        if is_function && is_in_function(site) {
            continue;
        }
        let named = named(site, name);
        names.extend(match is_function {
            true => named.map(|named| named.with_kind("function", Declaration)),
            false => named,
        });
    }
}

/// For `typedef struct { … } name;`, this is the only name that the type has.
fn typedef<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let defined = site.node.child_by_field_name("type");
    let unnamed = defined.filter(|node| {
        node.child_by_field_name("body").is_some() && node.child_by_field_name("name").is_none()
    });
    let kind = match unnamed.map(|node| node.kind()) {
        Some("struct_specifier") => "struct",
        Some("union_specifier") => "union",
        Some("enum_specifier") => "enum",
        Some("class_specifier") => "class",
        _ => "typedef",
    };
    let mut cursor = site.node.walk();
    for declarator in site.node.children_by_field_name("declarator", &mut cursor) {
        names.extend(named(site, innermost(declarator).0).map(|named| named.with_kind(kind, Type)));
    }
}

/// Matches a type with its body, or a statement that only declares it. Elsewhere, `struct name` is merely a
/// reference.
fn tagged<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(named) = site.node.child_by_field_name("name").and_then(|name| named(site, name)) else {
        return;
    };
    if site.node.child_by_field_name("body").is_some() {
        names.push(named);
        return;
    }
    let is_statement = match site.parent_kind(0) {
        "translation_unit" | "declaration_list" | "template_declaration" => true,
        "preproc_if" | "preproc_ifdef" | "preproc_else" | "preproc_elif" | "preproc_elifdef" => true,
        "field_declaration" => {
            site.parents.last().is_some_and(|parent| parent.child_by_field_name("declarator").is_none())
        }
        _ => false,
    };
    if is_statement {
        let kind = match site.node.kind() {
            "struct_specifier" => "struct",
            "union_specifier" => "union",
            "enum_specifier" => "enum",
            _ => "class",
        };
        names.push(named.with_kind(kind, Declaration));
    }
}

/// Matches a macro without parameters, except the guard of a header.
fn object_macro<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = site.node.child_by_field_name("name") else { return };
    let is_guarded =
        site.parents.last().filter(|parent| parent.kind() == "preproc_ifdef").is_some_and(|parent| {
            let guarded = parent.child_by_field_name("name");
            // If an `#ifndef` contains nothing else, it sets a default, so this isn't a guard.
            guarded.is_some_and(|guarded| site.text_of(guarded) == site.text_of(name))
                && children(*parent).filter(Node::is_named).nth(2).is_some()
        });
    if !is_guarded || site.node.child_by_field_name("value").is_some() {
        names.push(Named::new(name));
    }
}

/// Returns the declared node of a declarator, and true if it is a function. Note that `*name(…)` is a
/// function, but `(*name)(…)` is a pointer to one.
fn innermost(declarator: Node<'_>) -> (Node<'_>, bool) {
    let (mut name, mut is_function) = (declarator, false);
    loop {
        match name.kind() {
            "function_declarator" => is_function = true,
            "pointer_declarator"
            | "reference_declarator"
            | "array_declarator"
            | "block_pointer_declarator" => {
                is_function = false;
            }
            "operator_cast" => return (name, true),
            _ => {}
        }
        let inner = name.child_by_field_name("declarator").or_else(|| {
            let is_bare = matches!(
                name.kind(),
                "parenthesized_declarator" | "reference_declarator" | "attributed_declarator"
            );
            let mut inner = children(name).filter(|child| child.is_named() && !child.is_extra());
            is_bare.then(|| inner.find(|child| child.kind() != "ms_call_modifier")).flatten()
        });
        match inner {
            Some(inner) => name = inner,
            None => return (name, is_function || is_operator_cast(name)),
        }
    }
}

fn is_operator_cast(mut name: Node<'_>) -> bool {
    while let Some(inner) = name.child_by_field_name("name").filter(|_| name.kind() == "qualified_identifier")
    {
        name = inner;
    }
    name.kind() == "operator_cast"
}

/// Returns the name in a declarator or a type, without template arguments.
fn named<'tree>(site: Site<'_, 'tree>, node: Node<'tree>) -> Option<Named<'tree>> {
    let (mut scope, mut name) = (String::new(), node);
    while name.kind() == "qualified_identifier" {
        if let Some(qualifier) = name.child_by_field_name("scope") {
            let separator = if scope.is_empty() { "" } else { "::" };
            scope = format!("{scope}{separator}{}", site.text_of(unparameterized(qualifier)));
        }
        let mut cursor = name.walk();
        // A `template` before the name has the same field, but we want the last one.
        name = name.children_by_field_name("name", &mut cursor).filter(Node::is_named).last()?;
    }
    let scope = (!scope.is_empty()).then_some(scope);
    let name = unparameterized(name);
    // `else if (…) {` after an error looks like a function.
    if NO_NAMES.contains(&site.text_of(name)) {
        return None;
    }
    match name.kind() {
        "identifier" | "field_identifier" | "type_identifier" | "primitive_type" | "destructor_name" => {
            Some(Named::new(name).with_spelling(scope, site.text_of(name).to_owned()))
        }
        "operator_name" => {
            let text = site.text_of(name);
            let operator = text.strip_prefix("operator").unwrap_or(text).trim_start();
            let separator = if operator.starts_with(char::is_alphabetic) { " " } else { "" };
            Some(Named::new(name).with_spelling(scope, format!("operator{separator}{operator}")))
        }
        // For example `operator const char *() const`.
        "operator_cast" => {
            let mut parameters = name;
            while let Some(inner) = parameters.child_by_field_name("declarator") {
                parameters = inner;
            }
            let parameters = parameters.child_by_field_name("parameters")?;
            let text = site.text.get(name.start_byte()..parameters.start_byte())?;
            Some(Named::new(name).with_spelling(scope, text.trim().to_owned()))
        }
        _ => None,
    }
}

fn unparameterized(mut node: Node<'_>) -> Node<'_> {
    while let "template_type" | "template_function" | "template_method" | "dependent_name" = node.kind() {
        let inner = node.child_by_field_name("name").or_else(|| children(node).filter(Node::is_named).last());
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

/// Checks whether a node is within the body of a function, but not within a type that is defined there. The C
/// grammar reads `namespace name {` as a function without parameters, which must not count.
fn is_in_function(site: Site<'_, '_>) -> bool {
    for parent in site.parents.iter().rev() {
        match parent.kind() {
            "field_declaration_list" => return false,
            "function_definition" => {
                let declarator = parent.child_by_field_name("declarator");
                if declarator.is_none_or(|declarator| innermost(declarator).1) {
                    return true;
                }
            }
            "method_definition" | "lambda_expression" | "block_literal" => return true,
            _ => {}
        }
    }
    false
}

/// Matches an Objective-C class. With a category, this extends a class that is defined elsewhere.
fn class<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = child(site.node, &["identifier"]) else { return };
    let named = Named::new(name);
    let is_interface = site.node.kind() == "class_interface";
    let mut before_body = children(site.node).skip_while(|node| *node != name).skip(1);
    names.push(if site.node.child_by_field_name("category").is_some() {
        named.with_kind("category", Extension)
    } else if is_interface && before_body.next().is_some_and(|node| node.kind() == "(") {
        named.with_kind("extension", Extension)
    } else {
        named
    });
}

/// Matches `@class A, B;`.
fn forward<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    names.extend(children(site.node).filter(|child| child.kind() == "identifier").map(Named::new));
}

/// Assembles the selector of a method from its parts.
fn method<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let mut selector = String::new();
    for part in children(site.node) {
        match part.kind() {
            "identifier" => selector.push_str(site.text_of(part)),
            // Parameters after a comma aren't part of the selector.
            "," => break,
            "method_parameter" => selector.push(':'),
            _ => {}
        }
    }
    let name = child(site.node, &["identifier", "method_parameter"]);
    names.extend(name.map(|name| Named::new(name).with_spelling(None, selector)));
}

/// Matches properties and instance variables, e.g. `@property (nonatomic) NSString *title;`.
fn property<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(declaration) = child(site.node, &["struct_declaration"]) else { return };
    for declarator in children(declaration).filter(|child| child.kind() == "struct_declarator") {
        if let Some(declarator) = children(declarator).find(Node::is_named) {
            names.extend(named(site, innermost(declarator).0));
        }
    }
}

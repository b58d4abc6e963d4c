//! Elixir. Definitions are macro calls.

use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_language::SupportLang;
use tree_sitter::Node;

use crate::language::Category::{self, Constant, Declaration, Extension, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static ELIXIR: Row = Row {
    name: "elixir",
    load: || SupportLang::Elixir.get_ts_language(),
    rules: &[
        Rule::new("call", "def", Function, Name::With(definition)),
        Rule::new("unary_operator", "@", Constant, Name::With(attribute)),
    ],
    // Attributes such as `@doc`, `@spec` and `@impl` belong to the next definition.
    leading: &["unary_operator"],
    separators: &["."],
    documentation: &["unary_operator"],
    is_documentation,
    ..BASE
};

/// Recognises `@doc "…"`, `@moduledoc "…"` and `@typedoc "…"`.
fn is_documentation(site: Site<'_, '_>) -> bool {
    let text = site.text_of(site.node);
    ["@doc ", "@moduledoc ", "@typedoc "].iter().any(|start| text.starts_with(start))
}

/// Built-in macros that define something.
const MACROS: &[(&str, Category)] = &[
    ("defmodule", Module),
    ("defprotocol", Type),
    ("defimpl", Extension),
    ("defstruct", Type),
    ("defexception", Type),
    ("def", Function),
    ("defp", Function),
    ("defmacro", Function),
    ("defmacrop", Function),
    ("defguard", Function),
    ("defguardp", Function),
    ("defdelegate", Function),
    ("defn", Function),
    ("defnp", Function),
];

fn definition<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(target) = site.node.child_by_field_name("target").filter(|target| target.kind() == "identifier")
    else {
        return;
    };
    let word = site.text_of(target);
    let Some((kind, category)) = MACROS.iter().find(|(name, _)| *name == word).copied() else { return };
    let arguments = child(site.node, &["arguments"]);
    let first = arguments.and_then(|arguments| arguments.named_child(0));
    match kind {
        "defstruct" | "defexception" => names.push(Named::new(target).with_kind(kind, category)),
        "defmodule" | "defprotocol" => {
            let name = first.filter(|first| is_module(*first));
            names.extend(name.map(|name| Named::new(name).with_kind(kind, category)));
        }
        "defimpl" => {
            let types: Vec<Node<'tree>> =
                arguments.and_then(|arguments| option(site, arguments, "for:")).map_or_else(
                    || first.into_iter().collect(),
                    |value| match value.kind() {
                        "list" => children(value).filter(Node::is_named).collect(),
                        _ => vec![value],
                    },
                );
            names.extend(
                types
                    .into_iter()
                    .filter(|name| is_module(*name))
                    .map(|name| Named::new(name).with_kind(kind, category)),
            );
        }
        _ => {
            let is_bodiless = child(site.node, &["do_block"]).is_none()
                && arguments.and_then(|arguments| option(site, arguments, "do:")).is_none();
            let category = match is_bodiless && matches!(kind, "def" | "defp" | "defmacro" | "defmacrop") {
                true => Declaration,
                false => category,
            };
            names.extend(
                first
                    .and_then(|head| head_name(site, head))
                    .map(|name| Named::new(name).with_kind(kind, category)),
            );
        }
    }
}

/// Returns true if a node is the name of a module. This isn't so in `defmodule unquote(name)`, whose name is
/// only known at compile time.
fn is_module(node: Node<'_>) -> bool {
    matches!(node.kind(), "alias" | "dot" | "atom")
}

/// Finds the name in the head of a function, e.g. `f(x) when x > 0`, `f`, `a <~> b` and `-a`.
fn head_name<'tree>(site: Site<'_, 'tree>, head: Node<'tree>) -> Option<Node<'tree>> {
    let mut head = head;
    loop {
        head = match head.kind() {
            "identifier" => return Some(head),
            // The name in `unquote(name)` is only known at compile time.
            "call" => {
                head.child_by_field_name("target").filter(|target| site.text_of(*target) != "unquote")?
            }
            "unary_operator" => return head.child_by_field_name("operator"),
            "binary_operator" => {
                let operator = head.child_by_field_name("operator")?;
                match site.text_of(operator) {
                    "when" => head.child_by_field_name("left")?,
                    _ => return Some(operator),
                }
            }
            _ => return None,
        };
    }
}

/// Looks up the value of an option among the arguments of a call, e.g. `for:`.
fn option<'tree>(site: Site<'_, 'tree>, arguments: Node<'tree>, key: &str) -> Option<Node<'tree>> {
    let keywords = child(arguments, &["keywords"])?;
    let is_key = |pair: &Node<'tree>| {
        pair.child_by_field_name("key").is_some_and(|name| site.text_of(name).trim_end() == key)
    };
    children(keywords).find(is_key)?.child_by_field_name("value")
}

/// Attributes that only describe the module or the next definition.
const RESERVED: &[&str] = &[
    "after_compile",
    "after_verify",
    "before_compile",
    "behaviour",
    "compile",
    "default_locale",
    "deprecated",
    "derive",
    "describetag",
    "dialyzer",
    "doc",
    "enforce_keys",
    "external_resource",
    "file",
    "impl",
    "moduledoc",
    "moduletag",
    "nifs",
    "on_definition",
    "on_load",
    "optional_callbacks",
    "preferred_cli_env",
    "recursive",
    "requirements",
    "shortdoc",
    "spec",
    "tag",
    "typedoc",
    "vsn",
];

/// Matches `@type t :: …`, `@callback f(x) :: …` and `@timeout 5`.
fn attribute<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_attribute =
        site.node.child_by_field_name("operator").is_some_and(|operator| site.text_of(operator) == "@");
    let call =
        site.node.child_by_field_name("operand").filter(|operand| is_attribute && operand.kind() == "call");
    let Some((call, target)) = call.and_then(|call| Some((call, call.child_by_field_name("target")?))) else {
        return;
    };
    let Some(value) = child(call, &["arguments"]).and_then(|arguments| arguments.named_child(0)) else {
        return;
    };
    let (kind, category) = match site.text_of(target) {
        "type" => ("@type", Type),
        "typep" => ("@typep", Type),
        "opaque" => ("@opaque", Type),
        "callback" => ("@callback", Declaration),
        "macrocallback" => ("@macrocallback", Declaration),
        word if RESERVED.contains(&word) => return,
        _ => {
            names.push(Named::new(target).with_kind("attribute", Constant));
            return;
        }
    };
    // This is `name :: type`, and a `when` may surround it.
    let mut name = value;
    while name.kind() == "binary_operator" {
        let Some(left) = name.child_by_field_name("left") else { return };
        name = left;
    }
    names.extend(head_name(site, name).map(|name| Named::new(name).with_kind(kind, category)));
}

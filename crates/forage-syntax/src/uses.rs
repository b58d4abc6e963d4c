//! Classifies the uses of a name in a text: calls, imports, implementations, comments and others.
//!
//! The relevant kinds of nodes have similar names in all grammars, so we need only one table for all
//! languages.

use std::collections::HashSet;
use std::ops::Range;

use tree_sitter::{Node, Tree, TreeCursor};

use crate::definitions::Definition;
use crate::heritage::{NodeContext, is_implemented_by_tokens, is_qualifier};
use crate::language::{Category, Language};
use crate::limits;
use crate::receiver::{Receiver, Receivers};

/// The way in which a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UseKind {
    /// A definition of the name.
    Definition,
    /// A type that implements or extends the name, e.g. `impl Name for X`, `class X extends Name` and
    /// `class X(Name)`.
    Implementation,
    /// A call, or the construction of a value.
    Call,
    /// An import, include or re-export.
    Import,
    /// A type, e.g. of a variable or a parameter.
    Type,
    /// Other code.
    Code,
    /// Text in a string.
    String,
    /// Text in a comment.
    Comment,
}

impl UseKind {
    /// Returns the word for records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Definition => "definition",
            Self::Implementation => "implementation",
            Self::Call => "call",
            Self::Import => "import",
            Self::Type => "type",
            Self::Code => "code",
            Self::String => "string",
            Self::Comment => "comment",
        }
    }
}

/// An occurrence of a name as a whole word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Its byte range in the text.
    pub range: Range<usize>,
    /// Its 1-based line.
    pub line: u32,
    /// The way in which the name is used here.
    pub kind: UseKind,
    /// The receiver through which the name is accessed, if there is one.
    pub receiver: Option<Receiver>,
}

/// Parts of the kinds of nodes that import names.
const IMPORTS: &[&str] = &[
    "import",
    "use_declaration",
    "using_directive",
    "namespace_use",
    "preproc_include",
    "extern_crate",
    "open_module",
    "open_statement",
    "module_import",
    "export_clause",
];

/// Returns true if named nodes of this kind import names.
pub(crate) fn is_import(kind: &str) -> bool {
    IMPORTS.iter().any(|import| kind.contains(import)) && kind != "import_meta"
}

/// Parts of the kinds of nodes that call something.
const CALLS: &[&str] = &[
    "call",
    "invocation",
    "creation_expression",
    "new_expression",
    "command",
    "macro_invocation",
    "application_expression",
    "apply_expression",
];

/// Fields of a call that contain the called function.
const CALLED_FIELDS: &[&str] = &[
    "function",
    "function_name",
    "method",
    "name",
    "constructor",
    "type",
    "macro",
    "callee",
    "target",
    "expr",
];

/// Operators that call their left operand, and operators that call their right operand.
const CALLING_OPERATORS: (&[&str], &[&str]) = (&["$", "$!", "@@", "<|"], &["|>", "&"]);

/// Parts of the kinds of nodes that access a member. The name is their last part.
const MEMBERS: &[&str] = &[
    "member",
    "field_expression",
    "attribute",
    "selector",
    "navigation",
    "scoped",
    "qualified",
    "dot",
    "access",
    "generic",
    "remote",
    "path",
    "subscript_expression",
];

/// Kinds of nodes that contain nothing but a name.
const NAMES: &[&str] = &["command_name", "identifier", "sym_lit", "variable_expression"];

/// The classification of a leaf by its ancestors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AncestorContext {
    Code,
    Comment,
    String,
    Import,
    Implementation,
    Type,
}

/// Classifies all uses of a name in a text, in order. `definitions` must be those of the same text.
pub(crate) fn uses(
    language: &Language,
    tree: &Tree,
    text: &str,
    name: &str,
    definitions: &[Definition],
) -> Vec<Use> {
    let receivers = Receivers::new(language.name(), text);
    // An extension adds members to a type, but doesn't define it.
    let is_defined = |it: &&Definition| it.name == name && it.category != Category::Extension;
    let named = definitions.iter().filter(is_defined);
    let named: HashSet<usize> = named.map(|definition| definition.name_range.end).collect();
    let mut uses = Vec::new();
    let mut cursor = tree.walk();
    // The ancestors of the next node, with their fields in their own parents.
    let mut path: Vec<(Node<'_>, Option<&str>)> = Vec::new();
    let mut around = vec![AncestorContext::Code];
    loop {
        let node = cursor.node();
        let has_name = text.get(node.byte_range()).is_some_and(|text| text.contains(name));
        let outer = around.last().copied().unwrap_or(AncestorContext::Code);
        let (node_field, language) = (cursor.field_name(), language.name());
        let inner = classify(&NodeContext { language, text, node, field: node_field, path: &path }, outer);
        // In a string, only parts such as escapes may have nodes. The text between them has none. We must not
        // descend into it, or we would miss names there.
        let is_text =
            matches!(inner, AncestorContext::Comment | AncestorContext::String) && !holds_code(node);
        if has_name && node.child_count() > 0 && path.len() < limits::DEPTH && !is_text {
            path.push((node, node_field));
            around.push(inner);
            cursor.goto_first_child();
            continue;
        }
        if has_name {
            let is_macro =
                language == "rust" && path.last().is_some_and(|(parent, _)| parent.kind() == "token_tree");
            for at in whole_words(text, node.byte_range(), name) {
                let range = at..at + name.len();
                let kind = match inner {
                    // A qualified name ends with the name, so we compare ends.
                    _ if named.contains(&range.end) || is_clause_name(&cursor, &path) => UseKind::Definition,
                    AncestorContext::Comment => UseKind::Comment,
                    AncestorContext::String => UseKind::String,
                    AncestorContext::Implementation if is_qualifier(text, range.end) => UseKind::Type,
                    AncestorContext::Implementation => UseKind::Implementation,
                    _ if is_macro && is_implemented_by_tokens(text, at, range.end) => UseKind::Implementation,
                    AncestorContext::Import => UseKind::Import,
                    _ if is_called(&cursor, &path, text) => UseKind::Call,
                    AncestorContext::Type => UseKind::Type,
                    AncestorContext::Code => UseKind::Code,
                };
                let line = text[node.start_byte()..at].matches('\n').count() + node.start_position().row + 1;
                let is_code = !matches!(kind, UseKind::Comment | UseKind::String);
                let receiver = receivers.before(at, is_code);
                uses.push(Use { range, line: line as u32, kind, receiver });
            }
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return uses;
            }
            path.pop();
            around.pop();
        }
    }
}

/// Parts of the kinds of nodes that contain code within a string.
const CODE_IN_TEXT: &[&str] =
    &["interpolation", "interpolated_expression", "substitution", "embedded", "sub_expression"];

/// Checks whether a string or comment contains code. In all grammars, such code is at most two nodes deeper
/// than the string.
fn holds_code(node: Node<'_>) -> bool {
    let is_code = |node: Node<'_>| CODE_IN_TEXT.iter().any(|kind| node.kind().contains(kind));
    fn children<'tree>(node: Node<'tree>) -> impl Iterator<Item = Node<'tree>> {
        (0..node.child_count()).filter_map(move |at| node.child(at as _))
    }
    children(node).any(|child| is_code(child) || children(child).any(is_code))
}

/// Classifies the leaves of a node.
fn classify(place: &NodeContext<'_, '_>, outer: AncestorContext) -> AncestorContext {
    let NodeContext { node, field, path, .. } = *place;
    let kind = node.kind();
    let holds = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    if holds(CODE_IN_TEXT) {
        return AncestorContext::Code;
    }
    if outer == AncestorContext::Comment || kind.contains("comment") {
        return AncestorContext::Comment;
    }
    let is_string =
        node.is_named() && holds(&["string", "heredoc", "char_literal", "regex", "quoted_content"]);
    if outer == AncestorContext::Import {
        return outer;
    }
    if outer == AncestorContext::String || is_string {
        return AncestorContext::String;
    }
    let parent = path.last().map_or("", |(parent, _)| parent.kind());
    if place.is_heritage() {
        return AncestorContext::Implementation;
    }
    if let Some(aside) = place.aside().filter(|_| outer == AncestorContext::Implementation) {
        return aside;
    }
    if node.is_named() && is_import(kind) {
        return AncestorContext::Import;
    }
    let is_type =
        holds(&["type_identifier", "type_annotation", "type_arguments", "type_parameter", "type_constraint"])
            || kind.ends_with("_type")
            || kind == "type"
            || field == Some("type") && !parent.contains("new") && !parent.contains("creation");
    match outer {
        AncestorContext::Implementation => outer,
        _ if is_type => AncestorContext::Type,
        _ if holds(&["body", "block", "arguments"]) => AncestorContext::Code,
        _ => outer,
    }
}

/// Returns true if the leaf at the cursor is the name of a function clause. We need this because only the
/// first clause has a definition.
fn is_clause_name(cursor: &TreeCursor<'_>, path: &[(Node<'_>, Option<&str>)]) -> bool {
    let parent = path.last().map_or("", |(parent, _)| parent.kind());
    cursor.field_name() == Some("name") && matches!(parent, "function" | "bind" | "function_clause")
}

/// Returns true if the leaf at the cursor is the name of a called function.
fn is_called(cursor: &TreeCursor<'_>, path: &[(Node<'_>, Option<&str>)], text: &str) -> bool {
    let (mut node, mut field) = (cursor.node(), cursor.field_name());
    for (parent, parent_field) in path.iter().rev().take(4) {
        let kind = parent.kind();
        let is_first = || parent.named_child(0).is_some_and(|first| first.id() == node.id());
        match kind {
            // Haskell applies functions in the same way as the constructors of types and patterns.
            "apply" => return field == Some("function") && !is_in_pattern(path),
            // In back quotes, a function becomes an operator.
            "infix_id" => return true,
            "infix" | "infix_expression" => return is_operated(*parent, field, text),
            // In Lisp, the head of a list is called. Other languages write lists in other brackets.
            "list" | "list_lit" => return is_first() && text[parent.start_byte()..].starts_with('('),
            _ => {}
        }
        let is_call = CALLS.iter().any(|word| kind.contains(word));
        if is_call && !kind.contains("arguments") {
            return match field {
                Some(field) => CALLED_FIELDS.contains(&field),
                None => is_first() && !kind.ends_with("suffix"),
            };
        }
        let is_member = MEMBERS.iter().any(|word| kind.contains(word)) || NAMES.contains(&kind);
        if !is_member || parent.end_byte() != node.end_byte() {
            return false;
        }
        (node, field) = (*parent, *parent_field);
    }
    false
}

fn is_in_pattern(path: &[(Node<'_>, Option<&str>)]) -> bool {
    path.iter().any(|(node, field)| node.kind() == "patterns" || *field == Some("pattern"))
}

/// Checks whether an operator calls the operand in this field, as in `name $ x` and `x |> name`.
fn is_operated(operation: Node<'_>, field: Option<&str>, text: &str) -> bool {
    let operator = operation.child_by_field_name("operator");
    let operator = operator.and_then(|operator| text.get(operator.byte_range())).unwrap_or_default();
    let (before, after) = CALLING_OPERATORS;
    match field {
        Some("left" | "left_operand") => before.contains(&operator),
        Some("right" | "right_operand") => after.contains(&operator),
        _ => false,
    }
}

/// Finds the byte offsets in a range at which a name occurs as a whole word.
fn whole_words<'t>(text: &'t str, range: Range<usize>, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let places = text[range.clone()].match_indices(name);
    places.map(move |(at, _)| range.start + at).filter(move |at| {
        let before = text[..*at].chars().next_back();
        let after = text[*at + name.len()..].chars().next();
        // A name that begins or ends with a sign may touch another word there.
        let begins = name.chars().next().is_some_and(is_word);
        let ends = name.chars().next_back().is_some_and(is_word);
        let touches = begins && before.is_some_and(is_word) || ends && after.is_some_and(is_word);
        !touches
    })
}

//! Finds the types that a type extends or implements.
//!
//! Most grammars have a kind of node or a field for them. In others, we must decide by the position of a
//! node, e.g. for `new Name() { … }` in Java, `#[derive(Name)]` in Rust and `include Name` in Ruby.

use tree_sitter::Node;

use crate::language::child;
use crate::uses::AncestorContext;

/// Nodes that contain the types that are extended or implemented.
const CLAUSES: &[&str] = &[
    "base_class_clause",
    "base_clause",
    "base_list",
    "class_heritage",
    "class_interface_clause",
    "delegation_specifier",
    "derives_clause",
    "extends_clause",
    "extends_interfaces",
    "extends_type_clause",
    "implements_clause",
    "implements_interfaces",
    "inheritance_specifier",
    "interfaces",
    "mixins",
    "super_interfaces",
    "superclass",
];

/// Fields that contain the types that a definition extends or implements.
const FIELDS: &[&str] = &["superclass", "superclasses", "interfaces", "extends"];

/// Ruby's methods that add the methods of modules to a class.
const MIXING: &[&str] = &["include", "prepend", "extend"];

/// Kinds of nodes in Ruby that may contain a statement.
const STATEMENTS: &[&str] =
    &["program", "body_statement", "block_body", "if_modifier", "unless_modifier", "then", "else"];

/// Maximum length of type arguments that we skip, in characters.
const ARGUMENTS_BYTES: usize = 1 << 10;

/// A node and its ancestors.
#[derive(Clone, Copy)]
pub(crate) struct NodeContext<'a, 'tree> {
    pub(crate) language: &'static str,
    pub(crate) text: &'a str,
    pub(crate) node: Node<'tree>,
    pub(crate) field: Option<&'a str>,
    /// The ancestors, root first, each with its field in its own parent.
    pub(crate) path: &'a [(Node<'tree>, Option<&'a str>)],
}

impl<'tree> NodeContext<'_, 'tree> {
    fn text_of(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn parent_kind(&self) -> &'tree str {
        self.path.last().map_or("", |(parent, _)| parent.kind())
    }

    fn is_first_named_of(&self, parent: Node<'tree>) -> bool {
        parent.named_child(0).is_some_and(|first| first.id() == self.node.id())
    }

    /// Returns true if the node contains types that are extended or implemented.
    pub(crate) fn is_heritage(&self) -> bool {
        let (kind, field) = (self.node.kind(), self.field);
        CLAUSES.contains(&kind)
            || field.is_some_and(|field| FIELDS.contains(&field))
            || self.path.last().is_some_and(|(parent, _)| self.is_heritage_in(*parent))
    }

    fn is_heritage_in(&self, parent: Node<'tree>) -> bool {
        let (node, kind, field) = (self.node, self.node.kind(), self.field);
        let has = |field| parent.child_by_field_name(field).is_some();
        let before = || node.prev_sibling().map_or("", |before| self.text_of(before));
        match (parent.kind(), kind) {
            // This is `impl Name for X`, but not `impl !Name for X` or `dyn Name`.
            ("impl_item", _) => field == Some("trait") && before() != "!",
            ("trait_item", _) => field == Some("bounds"),
            // This is `#[derive(Name)]` or `#[cfg_attr(test, derive(Name))]`, which may also occur among the
            // tokens of a macro.
            ("attribute", "token_tree") => before() == "derive",
            ("token_tree", "token_tree") => before() == "derive" && self.is_in_attribute(),
            // Go embeds a type by a field without a name. An interface embeds another one by its name alone,
            // whereas `A | B` and `~A` are constraints.
            ("field_declaration", _) => field == Some("type") && !has("name") && !has("declarator"),
            ("interface_type", "type_elem") => {
                let only = node.named_child(0).filter(|_| node.named_child_count() == 1);
                only.is_some_and(|only| only.kind() != "negated_type")
            }
            // An anonymous class: `new Name() { … }`.
            ("object_creation_expression", _) => {
                field == Some("type") && child(parent, &["class_body"]).is_some()
            }
            ("instance_expression", "compound_type") => true,
            ("instance_expression", _) => {
                let is_type = kind.contains("type") || kind.contains("identifier");
                is_type && child(parent, &["template_body"]).is_some()
            }
            ("mixin_declaration" | "mixin_application", "type") => true,
            ("protocol_declaration", "protocol_reference_list") => true,
            // This is `: Super <Protocol>` or `(Category) <Protocol>`. The parameters of a class come
            // directly after its name instead.
            ("class_interface", "parameterized_arguments") => {
                let first = parent.named_child(0).map(|first| first.id());
                node.prev_sibling().map(|before| before.id()) != first
            }
            ("class_declaration" | "interface_class_declaration", "class_type" | "interface_class_type") => {
                true
            }
            ("class_inherits_decl" | "interface_implementation", _) => self.is_first_named_of(parent),
            // A trait that a PHP class uses. In Rust, these nodes are an import within a module.
            ("declaration_list", "use_declaration") => self.language == "php",
            ("call", "argument_list") => self.language == "ruby" && self.is_mixing(parent),
            ("call", "arguments") => {
                let target = parent.child_by_field_name("target").map_or("", |target| self.text_of(target));
                self.language == "elixir" && matches!(target, "behaviour" | "defimpl" | "derive")
            }
            _ => false,
        }
    }

    fn is_in_attribute(&self) -> bool {
        self.path.iter().any(|(node, _)| {
            let is_after_sign = || node.prev_sibling().is_some_and(|before| self.text_of(before) == "#");
            match node.kind() {
                "attribute_item" => true,
                "token_tree" => self.text_of(*node).starts_with('[') && is_after_sign(),
                _ => false,
            }
        })
    }

    /// Returns true if a call in Ruby adds modules to a class or creates a class, e.g. `include Name` and
    /// `Class.new(Name)`.
    fn is_mixing(&self, call: Node<'_>) -> bool {
        let part = |field| call.child_by_field_name(field).map_or("", |part| self.text_of(part));
        let outer = self.path.iter().rev().nth(1).map_or("", |(outer, _)| outer.kind());
        match part("receiver") {
            "" | "self" => MIXING.contains(&part("method")) && STATEMENTS.contains(&outer),
            receiver => receiver == "Class" && part("method") == "new",
        }
    }

    /// Classifies a node within a clause that isn't an extended type, e.g. type arguments, arguments of a
    /// constructor, or a call that creates the class. `None` if the node may be an extended type.
    pub(crate) fn aside(&self) -> Option<AncestorContext> {
        let kind = self.node.kind();
        let holds = |words: &[&str]| words.iter().any(|word| kind.contains(word));
        match (self.parent_kind(), kind) {
            (_, "call" | "call_expression" | "keywords" | "use_list") => return Some(AncestorContext::Code),
            // A metaclass isn't extended: the class is an instance of it.
            (_, "keyword_argument") => {
                let is_metaclass = self.text_of(self.node).starts_with("metaclass");
                return Some(if is_metaclass { AncestorContext::Type } else { AncestorContext::Code });
            }
            (_, "removed_trait_bound" | "suppressed_constraint") => return Some(AncestorContext::Type),
            ("generic_type", _) if self.path.last().is_some_and(|(it, _)| !self.is_first_named_of(*it)) => {
                return Some(AncestorContext::Type);
            }
            ("explicit_delegation", _)
                if self.path.last().is_some_and(|(it, _)| !self.is_first_named_of(*it)) =>
            {
                return Some(AncestorContext::Code);
            }
            ("element_reference", _) if self.field != Some("object") => return Some(AncestorContext::Code),
            _ => {}
        }
        if matches!(self.field, Some("subscript" | "return_type")) {
            return Some(AncestorContext::Type);
        }
        let is_aside = holds(&["annotation", "argument", "body", "block", "parameter"]);
        let is_type = holds(&["type_", "template", "parameter", "parameterized"]);
        is_aside.then_some(if is_type { AncestorContext::Type } else { AncestorContext::Code })
    }
}

/// Returns true if a name qualifies the next one, as in `Name.Inner` and `Name<T>::Inner`.
pub(crate) fn is_qualifier(text: &str, end: usize) -> bool {
    let blank = [' ', '\t'];
    let rest = text.get(end..).unwrap_or_default().trim_start_matches(blank);
    let rest = after_brackets(rest).trim_start_matches(blank);
    rest.starts_with("::") || rest.starts_with('\\') || rest.starts_with('.') && !rest.starts_with("..")
}

/// Skips the type arguments in brackets at the start of a text.
fn after_brackets(text: &str) -> &str {
    let (open, close) = match text.chars().next() {
        Some('<') => ('<', '>'),
        Some('[') => ('[', ']'),
        _ => return text,
    };
    let (mut depth, mut before) = (0_usize, ' ');
    for (at, sign) in text.char_indices().take(ARGUMENTS_BYTES) {
        // The `>` of `->` and `=>` closes nothing.
        if sign == open {
            depth += 1;
        } else if sign == close && !matches!(before, '-' | '=') {
            depth -= 1;
            if depth == 0 {
                return &text[at + 1..];
            }
        }
        before = sign;
    }
    text
}

/// Checks whether a name among the tokens of a Rust macro is a trait that is implemented or extended there,
/// e.g. in `impl<T> a::Name<T> for X` and `trait A: Name`.
pub(crate) fn is_implemented_by_tokens(text: &str, start: usize, end: usize) -> bool {
    let after = after_brackets(text.get(end..).unwrap_or_default().trim_start()).trim_start();
    let is_for = after.strip_prefix("for").is_some_and(|rest| rest.starts_with(char::is_whitespace));
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut before = text.get(..start).unwrap_or_default().trim_end();
    while let Some(path) = before.strip_suffix("::") {
        before = path.trim_end_matches(is_word);
    }
    let before = before.trim_end();
    is_for && ends_with_impl(before_brackets(before)) || is_bound_of_trait(before)
}

/// Returns true if a text ends within the bounds of a trait, e.g. `pub trait A: B +`.
fn is_bound_of_trait(text: &str) -> bool {
    let statement = text.rsplit(['{', '}', ';', ']']).next().unwrap_or(text);
    let heading = statement.trim_start().trim_start_matches("pub ").trim_start_matches("unsafe ");
    let bounds = heading.strip_prefix("trait ").and_then(|rest| rest.split_once(':'));
    bounds.is_some_and(|(name, bounds)| {
        // Otherwise the colon may be that of a parameter or of a `where` clause, and the name may be an
        // argument.
        let is_plain =
            !name.contains(['<', ' ']) && !bounds.contains(['<', '(']) && !bounds.contains("where");
        is_plain && text.ends_with([':', '+'])
    })
}

fn ends_with_impl(text: &str) -> bool {
    let before = text.trim_end().strip_suffix("impl");
    before.is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Removes the type parameters at the end of a text.
fn before_brackets(text: &str) -> &str {
    if !text.ends_with('>') {
        return text;
    }
    let mut depth = 0_usize;
    for (at, sign) in text.char_indices().rev().take(ARGUMENTS_BYTES) {
        match sign {
            '>' if !text[..at].ends_with(['-', '=']) => depth += 1,
            '<' if depth == 1 => return &text[..at],
            '<' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text
}

//! Describes languages: their grammars, and the nodes that define something.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use tree_sitter::Node;

use crate::languages::ROWS;
use crate::uses::is_import;

/// The coarse kind of a definition, in terms common to all languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// A class, struct, enum, interface, trait, protocol or type alias.
    Type,
    /// A function, method, constructor or macro.
    Function,
    /// A module, namespace or package.
    Module,
    /// A constant, or a variable outside of functions.
    Constant,
    /// A field of a type. Outlines should leave these out.
    Field,
    /// Members of a type that is defined elsewhere: `impl`, `extension`, `instance`.
    Extension,
    /// A function or type without a body, i.e. a prototype or a forward declaration.
    Declaration,
}

/// A language that can be parsed.
#[derive(Debug)]
pub struct Language {
    pub(crate) row: &'static Row,
    loaded: OnceLock<Loaded>,
}

/// The description of a language.
#[derive(Debug)]
pub(crate) struct Row {
    /// The name in lower case, e.g. `rust` or `csharp`.
    pub(crate) name: &'static str,
    /// Extensions of files that must use this grammar instead of another one for the same language, e.g.
    /// `tsx`.
    pub(crate) extensions: &'static [&'static str],
    pub(crate) load: fn() -> tree_sitter::Language,
    pub(crate) rules: &'static [Rule],
    /// Kinds of nodes that belong to the definition after them, just like comments, e.g. attributes,
    /// decorators and signatures. If such a kind also has a rule, it only leads when this rule finds no name.
    pub(crate) leading: &'static [&'static str],
    /// Beginnings of comments that document the module around them, e.g. `//!`, and not the next definition.
    pub(crate) inner_comments: &'static [&'static str],
    /// Kinds of nodes that wrap a definition and begin with it, e.g. `export`, `template <…>` and decorated
    /// definitions.
    pub(crate) wrappers: &'static [&'static str],
    /// Kinds of nodes in which variables are local. Definitions of functions need not be listed.
    pub(crate) local_scopes: &'static [&'static str],
    /// Kinds of nodes whose variables are members, even within a function. These are the bodies of anonymous
    /// types.
    pub(crate) member_scopes: &'static [&'static str],
    /// Separators in qualified names, e.g. `::` for `Matrix::at`.
    pub(crate) separators: &'static [&'static str],
    /// Kinds of nodes that may be documentation although they aren't comments. [`Row::is_documentation`] must
    /// decide for each node.
    pub(crate) documentation: &'static [&'static str],
    pub(crate) is_documentation: fn(Site<'_, '_>) -> bool,
    /// True if adjacent functions with the same name are clauses of one definition.
    pub(crate) has_clauses: bool,
    /// True if a body should end at its closing brace even when the grammar could not read its content.
    pub(crate) mends_by_braces: bool,
    pub(crate) source: Source,
}

/// The part of a file that the grammar reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// The whole file.
    Whole,
    /// Only these byte ranges, e.g. the scripts of a page.
    Parts(fn(&str) -> Vec<Range<usize>>),
    /// A text of the same length, in which spaces replace constructs that the grammar can't read.
    Masked(fn(&str) -> String),
    /// A text with the same number of lines. Lines of the language are decoded, and all others are empty.
    Lines(fn(&str) -> String),
}

/// A row without any nodes. You should complete it with `..BASE`.
pub(crate) const BASE: Row = Row {
    name: "",
    extensions: &[],
    load: || unreachable!("a row names its grammar"),
    rules: &[],
    leading: &[],
    inner_comments: &[],
    wrappers: &[],
    local_scopes: &[],
    member_scopes: &[],
    separators: &[],
    documentation: &[],
    is_documentation: |_| false,
    has_clauses: false,
    mends_by_braces: false,
    source: Source::Whole,
};

/// A kind of node that defines something.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The kind of the node in the grammar.
    pub(crate) node: &'static str,
    /// The language's own word for the definition, e.g. `struct`.
    pub(crate) kind: &'static str,
    pub(crate) category: Category,
    pub(crate) name: Name,
}

impl Rule {
    pub(crate) const fn new(node: &'static str, kind: &'static str, category: Category, name: Name) -> Self {
        Self { node, kind, category, name }
    }
}

/// The position of a definition's name in its node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Name {
    /// The child in this field.
    Field(&'static str),
    /// The child in this field. The node is only a declaration if it has no child in the field `body`.
    WithBody(&'static str),
    /// The first child of one of these kinds.
    Child(&'static [&'static str]),
    /// Found by a function, which may also choose the kind or skip a node.
    With(Find),
}

/// Finds the names that a node defines.
pub(crate) type Find = for<'a, 'tree> fn(Site<'a, 'tree>, &mut Vec<Named<'tree>>);

/// A node with a rule, and its context.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a, 'tree> {
    pub(crate) node: Node<'tree>,
    /// The enclosing nodes, root first.
    pub(crate) parents: &'a [Node<'tree>],
    pub(crate) text: &'tree str,
}

/// A name that a node defines.
pub(crate) struct Named<'tree> {
    pub(crate) name: Node<'tree>,
    /// The byte range of the name, if it is only part of its node.
    pub(crate) bytes: Option<Range<usize>>,
    /// True if `bytes` are exactly the name. Otherwise the name may be qualified.
    pub(crate) is_unqualified: bool,
    /// The name, if it isn't the text of one node, e.g. the assembled parts of `viewWithTitle:shows:`, or
    /// `operator bool`.
    pub(crate) spelling: Option<Spelling>,
    /// The byte range of the owner, if the owner doesn't enclose the name, e.g. the type of a receiver in Go.
    pub(crate) scope: Option<Range<usize>>,
    /// A kind that overrides the rule's.
    pub(crate) kind: Option<(&'static str, Category)>,
    /// The first node of the definition, if this isn't the rule's own. We need it for nodes with several
    /// definitions.
    pub(crate) first: Option<Node<'tree>>,
    /// The last node of the definition, if this isn't the first one. It may be an enclosing statement. For a
    /// header without a block, such as Perl's `package Name;`, it is the last sibling that the header covers.
    pub(crate) last: Option<Node<'tree>>,
    /// The number of parameters, for languages in which functions of one name may differ by it.
    pub(crate) arity: Option<usize>,
}

/// An assembled name, with its qualifier.
pub(crate) struct Spelling {
    pub(crate) scope: Option<String>,
    pub(crate) name: String,
}

impl<'tree> Named<'tree> {
    pub(crate) fn new(name: Node<'tree>) -> Self {
        Self {
            name,
            bytes: None,
            is_unqualified: false,
            spelling: None,
            scope: None,
            kind: None,
            first: None,
            last: None,
            arity: None,
        }
    }

    pub(crate) fn with_kind(self, kind: &'static str, category: Category) -> Self {
        Self { kind: Some((kind, category)), ..self }
    }

    pub(crate) fn with_scope(self, scope: Option<Node<'tree>>) -> Self {
        self.with_scope_bytes(scope.map(|scope| scope.byte_range()))
    }

    pub(crate) fn with_scope_bytes(self, scope: Option<Range<usize>>) -> Self {
        Self { scope, ..self }
    }

    pub(crate) fn with_spelling(self, scope: Option<String>, name: String) -> Self {
        Self { spelling: Some(Spelling { scope, name }), ..self }
    }

    /// Sets the byte range of the text, which must be exactly the name.
    pub(crate) fn with_part(self, start: usize, end: usize) -> Self {
        Self { bytes: Some(start..end), is_unqualified: true, ..self }
    }

    /// Sets the part of the node that is the name, relative to its start. This part may be qualified.
    pub(crate) fn with_bytes(self, bytes: Range<usize>) -> Self {
        let node = self.name.byte_range();
        let bytes = node.start + bytes.start..(node.start + bytes.end).min(node.end);
        Self { bytes: Some(bytes), ..self }
    }

    pub(crate) fn with_first(self, first: Node<'tree>) -> Self {
        Self { first: Some(first), ..self }
    }

    pub(crate) fn with_last(self, last: Option<Node<'tree>>) -> Self {
        Self { last, ..self }
    }

    pub(crate) fn with_span(self, first: Node<'tree>, last: Node<'tree>) -> Self {
        self.with_first(first).with_last(Some(last))
    }

    pub(crate) fn with_arity(self, arity: usize) -> Self {
        Self { arity: Some(arity), ..self }
    }

    /// Returns the byte range of this name in the text.
    pub(crate) fn name_range(&self) -> Range<usize> {
        self.bytes.clone().unwrap_or(self.name.byte_range())
    }
}

impl<'tree> Site<'_, 'tree> {
    /// Returns the text of a node.
    pub(crate) fn text_of(&self, node: Node<'_>) -> &'tree str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Returns the innermost enclosing node of one of the given kinds.
    pub(crate) fn around(&self, kinds: &[&str]) -> Option<Node<'tree>> {
        self.parents.iter().rev().find(|node| kinds.contains(&node.kind())).copied()
    }

    /// Returns the following siblings in order. With a cursor, we needn't search from the first sibling each
    /// time.
    pub(crate) fn next_siblings(&self) -> impl Iterator<Item = Node<'tree>> {
        let (parent, end) = (self.parents.last(), self.node.end_byte());
        let mut cursor = parent.unwrap_or(&self.node).walk();
        let mut is_there = parent.is_some() && cursor.goto_first_child_for_byte(end).is_some();
        let siblings = std::iter::from_fn(move || {
            let sibling = is_there.then(|| cursor.node())?;
            is_there = cursor.goto_next_sibling();
            Some(sibling)
        });
        siblings.skip_while(move |sibling| sibling.start_byte() < end)
    }

    /// Returns the kind of the parent node, or of its `index` ancestor.
    pub(crate) fn parent_kind(&self, index: usize) -> &'tree str {
        self.parents.iter().rev().nth(index).map_or("", Node::kind)
    }
}

/// Returns the first child of one of the given kinds.
pub(crate) fn child<'tree>(node: Node<'tree>, kinds: &[&str]) -> Option<Node<'tree>> {
    children(node).find(|child| kinds.contains(&child.kind()))
}

/// Returns the children of a node in order.
pub(crate) fn children<'tree>(node: Node<'tree>) -> impl Iterator<Item = Node<'tree>> {
    let mut cursor = node.walk();
    let mut is_there = cursor.goto_first_child();
    std::iter::from_fn(move || {
        let child = is_there.then(|| cursor.node())?;
        is_there = cursor.goto_next_sibling();
        Some(child)
    })
}

/// Tables that we build once per grammar.
#[derive(Debug)]
pub(crate) struct Loaded {
    grammar: tree_sitter::Language,
    /// Indexed by the grammar's numbers of node kinds.
    kinds: Vec<NodeKind>,
}

/// What a node kind means for definitions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeKind {
    /// An index into [`Row::rules`].
    pub(crate) rule: Option<u16>,
    /// True for comments and the kinds in [`Row::leading`].
    pub(crate) is_leading: bool,
    pub(crate) is_comment: bool,
    /// True for the kinds in [`Row::documentation`].
    pub(crate) is_documentation: bool,
    pub(crate) is_wrapper: bool,
    pub(crate) is_local_scope: bool,
    pub(crate) is_member_scope: bool,
    /// True for statements that import names.
    pub(crate) is_import: bool,
}

static LANGUAGES: LazyLock<Vec<Language>> =
    LazyLock::new(|| ROWS.iter().map(|row| Language { row, loaded: OnceLock::new() }).collect());

impl Language {
    /// Returns all languages that can be parsed. One name may have several grammars.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &LANGUAGES
    }

    /// Returns the name in lower case, e.g. `rust` or `csharp`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.row.name
    }

    /// Looks up a language by its name, as in a `lang:` filter. One language may have several grammars, so
    /// the extension of `path` may select another one. Returns `None` if there is no grammar.
    #[must_use]
    pub fn for_name(name: &str, path: &str) -> Option<&'static Self> {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        let named = || LANGUAGES.iter().filter(|language| language.row.name == name);
        let special = named().find(|language| language.row.extensions.contains(&extension));
        special.or_else(|| named().find(|language| language.row.extensions.is_empty()))
    }

    pub(crate) fn grammar(&self) -> &tree_sitter::Language {
        &self.loaded().grammar
    }

    /// Looks up the meaning of a node kind for definitions.
    pub(crate) fn kind(&self, id: u16) -> NodeKind {
        self.loaded().kinds.get(usize::from(id)).copied().unwrap_or_default()
    }

    fn loaded(&self) -> &Loaded {
        self.loaded.get_or_init(|| {
            let Row { load, rules, leading, documentation, wrappers, local_scopes, member_scopes, .. } =
                self.row;
            let grammar = load();
            let kind = |id: usize| {
                let name = grammar.node_kind_for_id(id as u16).unwrap_or_default();
                let is_named = grammar.node_kind_is_named(id as u16);
                // A keyword may have the same name as a kind of node, e.g. `class` in JavaScript.
                let rule = rules.iter().position(|rule| rule.node == name).filter(|_| is_named);
                NodeKind {
                    rule: rule.map(|rule| rule as u16),
                    is_leading: is_named && (name.contains("comment") || leading.contains(&name)),
                    is_comment: is_named && name.contains("comment"),
                    is_documentation: documentation.contains(&name),
                    is_wrapper: wrappers.contains(&name),
                    is_local_scope: local_scopes.contains(&name),
                    is_member_scope: member_scopes.contains(&name),
                    is_import: is_named && is_import(name),
                }
            };
            let kinds = (0..grammar.node_kind_count()).map(kind).collect();
            Loaded { grammar, kinds }
        })
    }
}

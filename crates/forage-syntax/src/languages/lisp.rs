//! Emacs Lisp. The grammar isn't suitable for other Lisps because it lacks `#|…|#`, `#t` and `#\(`.

use tree_sitter::Node;

use crate::language::Category::{self, Constant, Declaration, Function, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, child, children};

pub(crate) static EMACS_LISP: Row = Row {
    name: "lisp",
    extensions: &["el"],
    load: || tree_sitter_elisp::LANGUAGE.into(),
    rules: &[
        Rule::new("function_definition", "defun", Function, Name::With(form)),
        Rule::new("macro_definition", "defmacro", Function, Name::With(form)),
        Rule::new("special_form", "defvar", Constant, Name::With(form)),
        Rule::new("list", "define", Function, Name::With(form)),
    ],
    ..BASE
};

const FORMS: &[(&str, Category)] = &[
    ("defun", Function),
    ("defsubst", Function),
    ("defmacro", Function),
    ("defalias", Function),
    ("defadvice", Function),
    ("cl-defun", Function),
    ("cl-defsubst", Function),
    ("cl-defmacro", Function),
    ("cl-defgeneric", Function),
    ("cl-defmethod", Function),
    ("cl-iter-defun", Function),
    ("iter-defun", Function),
    ("defgeneric", Function),
    ("defmethod", Function),
    ("define-inline", Function),
    ("define-advice", Function),
    ("define-minor-mode", Function),
    ("define-globalized-minor-mode", Function),
    ("define-derived-mode", Function),
    ("define-compilation-mode", Function),
    ("define-obsolete-function-alias", Function),
    ("define-obsolete-variable-alias", Constant),
    ("define-skeleton", Function),
    ("define-button-type", Type),
    ("define-error", Type),
    ("define-widget", Type),
    ("define-abbrev-table", Constant),
    ("define-category", Constant),
    ("define-icon", Constant),
    ("define-fringe-bitmap", Constant),
    ("transient-define-prefix", Function),
    ("transient-define-suffix", Function),
    ("transient-define-infix", Function),
    ("transient-define-argument", Function),
    ("ert-deftest", Function),
    ("cl-defstruct", Type),
    ("defstruct", Type),
    ("cl-deftype", Type),
    ("defclass", Type),
    ("defvar", Constant),
    ("defvar-local", Constant),
    ("defvar-keymap", Constant),
    ("defvaralias", Constant),
    ("defconst", Constant),
    ("defconst-mode-local", Constant),
    ("defcustom", Constant),
    ("defcustom-mode-local", Constant),
    ("defgroup", Constant),
    ("defface", Constant),
    ("deftheme", Constant),
];

fn form<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    // The code that a macro returns doesn't define anything yet.
    if site.parents.iter().any(|parent| parent.kind() == "quote") {
        return;
    }
    // In this grammar, `defun` and `defvar` are keywords, while other words are the first symbol.
    let mut elements = children(site.node).filter(|node| !node.is_extra()).skip(1);
    let (Some(head), Some(second)) = (elements.next(), elements.next()) else { return };
    let word = site.text_of(head);
    let is_bodiless = elements.next().is_none_or(|third| third.kind() == ")");
    let Some((kind, category)) = FORMS.iter().find(|(name, _)| *name == word).copied().or_else(|| {
        // This may be a macro of a package, e.g. `define-linked-mode`.
        let is_definition = word.contains("define-") || word.starts_with("def") || word.contains("-def");
        let is_definition = is_definition && !word.contains("default");
        (is_definition && !is_bodiless && site.parents.len() == 1 && second.kind() == "symbol")
            .then_some(("define", Function))
    }) else {
        return;
    };
    let name = match second.kind() {
        "symbol" => Some(second),
        // The name may be `'name` for a function, `(name option …)` for a structure, or `(setf name)` for a
        // method.
        "quote" => second.named_child(0).filter(|name| name.kind() == "symbol"),
        "list" => {
            let first = child(second, &["symbol"]);
            let is_setter = first.is_some_and(|first| site.text_of(first) == "setf");
            if is_setter { second.named_child(1) } else { first }
        }
        _ => None,
    };
    let category = if kind == "defvar" && is_bodiless { Declaration } else { category };
    names.extend(
        name.filter(|name| is_name(site, *name)).map(|name| Named::new(name).with_kind(kind, category)),
    );
}

fn is_name(site: Site<'_, '_>, name: Node<'_>) -> bool {
    name.kind() == "symbol" && !site.text_of(name).starts_with([':', '&'])
}

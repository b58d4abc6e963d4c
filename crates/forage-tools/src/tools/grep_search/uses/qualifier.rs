//! Narrows down uses by the qualifier of a name: for example, to the lines with `objects` that may be uses of
//! `MailRule.objects`.
//!
//! We don't resolve names, but exclude a line if the syntax tree shows that the name belongs to another type
//! or module there. If the receiver is a variable or an expression, we keep the line.

use std::collections::HashSet;

use forage_rank::{Definition, DefinitionKind, FileOutline, Receiver, Use, UseKind, language_of};

use super::OutlinedFile;
use crate::error::ToolError;
use crate::text::quoted;

/// A name and its last qualifier, e.g. `send` and `Client` for `a.b.Client.send`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct QualifiedName<'p> {
    pub(in super::super) name: &'p str,
    pub(in super::super) qualifier: Option<&'p str>,
}

/// Separators between the parts of a qualified name.
const SEPARATORS: [&str; 6] = ["::", "->", ".", "#", "/", ":"];

/// Receivers that refer to the enclosing class or to its base class.
const OWN: [&str; 5] = ["self", "this", "Self", "cls", "super"];

impl<'p> QualifiedName<'p> {
    /// Takes the whole pattern as one name if it contains a separator. For example, `is.reactive` is a single
    /// name in R, `my/find` in Lisp, and `#field` in JavaScript.
    pub(super) fn as_written(pattern: &'p str) -> Option<Self> {
        let name = bare(pattern);
        let has_separator = SEPARATORS.iter().any(|separator| name.contains(separator));
        (has_separator && !name.contains(char::is_whitespace)).then_some(Self { name, qualifier: None })
    }

    /// Parses a pattern as a name, which may be qualified.
    pub(in super::super) fn new(pattern: &'p str) -> Result<Self, ToolError> {
        if let Some((name, qualifier)) = operator(pattern) {
            return Ok(Self { name, qualifier });
        }
        if let Some((name, receiver)) = with_receiver(pattern) {
            return Ok(Self { name, qualifier: Some(receiver) });
        }
        let bare = bare(pattern).trim_start_matches([':', '.', '#', '/']);
        // In Rust, a name that is also a keyword has this prefix.
        let bare = bare.strip_prefix("r#").unwrap_or(bare);
        // A separator at the beginning belongs to the name, as in Clojure's `->cart`.
        let after = |separator: &&str| Some(bare.rfind(separator).filter(|at| *at > 0)? + separator.len());
        let start = SEPARATORS.iter().filter_map(after).max().unwrap_or_default();
        let (qualifier, name) = bare.split_at(start);
        // Some languages allow names such as `empty?`, `save!`, `a-b`, `foo'` and `$name`.
        let is_sign = |c: char| "_-?!='$@%~>".contains(c);
        let is_name = name.chars().all(|c| c.is_alphanumeric() || is_sign(c))
            && name.contains(|c: char| c.is_alphanumeric() || c == '_');
        let qualifies = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '-' | '>' | '#' | '/');
        if is_name && qualifier.chars().all(qualifies) {
            let mut names = qualifier.split([':', '.', '#', '/', '>']).map(|name| name.trim_end_matches('-'));
            let last = names.rfind(|name| !name.is_empty());
            // We ignore, e.g., `self`, because the class that it refers to depends on where it is used.
            return Ok(Self { name, qualifier: last.filter(|last| !OWN.contains(last)) });
        }
        let problem = format!(
            "uses need a single name, and {} is not one; give a name such as \"parse_header\", or search for lines",
            quoted(pattern)
        );
        Err(ToolError::argument("pattern", problem))
    }
}

/// Strips `\b` and `()` from a pattern. These only say that it is one name, or a function.
fn bare(pattern: &str) -> &str {
    let bare = pattern.trim().trim_start_matches(r"\b").trim_end_matches(r"\b");
    bare.strip_suffix("()").unwrap_or(bare)
}

/// Parses the name of an operator in C++ or C#, e.g. `operator[]` or `Slice::operator<`.
fn operator(pattern: &str) -> Option<(&str, Option<&str>)> {
    let pattern = pattern.trim();
    let start = pattern.rfind("operator")?;
    let (qualifier, name) = pattern.split_at(start);
    let signs = &name["operator".len()..];
    if signs.is_empty() || !signs.chars().all(|c| "+-*/%^&|~!=<>()[],".contains(c)) {
        return None;
    }
    let names = |c: char| c.is_alphanumeric() || c == '_';
    match qualifier.strip_suffix("::").or_else(|| qualifier.strip_suffix('.')) {
        None => qualifier.is_empty().then_some((name, None)),
        Some(qualifier) => {
            let last = qualifier.rsplit([':', '.']).next().filter(|last| !last.is_empty())?;
            last.chars().all(names).then_some((name, Some(last)))
        }
    }
}

/// Parses a method with its receiver as Go writes it, e.g. `queue.(*Queue).Push`.
fn with_receiver(pattern: &str) -> Option<(&str, &str)> {
    let (_, rest) = bare(pattern).split_once("(*")?;
    let (receiver, name) = rest.split_once(").")?;
    let receiver = receiver.split('[').next().unwrap_or(receiver);
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name(receiver) && is_name(name)).then_some((name, receiver))
}

/// How a use relates to the qualifier.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// The qualifier is its receiver or an enclosing definition.
    Within,
    /// The receiver may have the qualifier's type.
    Unknown,
    /// The name belongs to this other type or module.
    Other(String),
}

/// Languages in which an unqualified name may be a member of the enclosing class.
pub(in super::super) const IMPLICIT_MEMBERS: &[&str] = &[
    "java",
    "cpp",
    "csharp",
    "kotlin",
    "swift",
    "ruby",
    "scala",
    "dart",
    "groovy",
    "gradle",
    "objective-c",
    "solidity",
    "fsharp",
    "pascal",
];

/// Maximum lines of a class heading in which we look for its base classes.
const HEADING_LINES: usize = 8;

/// Compares the uses and definitions of a file with a qualifier.
pub(super) struct Narrowing<'f> {
    qualifier: &'f str,
    /// Types that implement or extend the qualifier.
    subtypes: &'f HashSet<String>,
    name: &'f str,
    outline: &'f FileOutline,
    uses: &'f [Use],
    lines: Vec<&'f str>,
    /// Words on the lines that contain the qualifier. These names may extend it, be bound to it or be aliases
    /// of it.
    related: HashSet<&'f str>,
    /// True if the file or one of its directories is the qualifying module.
    is_module: bool,
    has_implicit_members: bool,
    /// Classes that define the name in this file.
    defining: HashSet<&'f str>,
}

impl<'f> Narrowing<'f> {
    /// Returns `None` for a file without a syntax tree.
    pub(super) fn new(
        (qualifier, subtypes): (&'f str, &'f HashSet<String>),
        name: &'f str,
        path: &str,
        file: &'f OutlinedFile,
    ) -> Option<Self> {
        let uses = file.uses.as_deref()?;
        let lines: Vec<&str> = forage_fs::lines(&file.text).collect();
        let of_qualifier = lines.iter().filter(|line| has_word(line, qualifier));
        let related = of_qualifier.flat_map(|line| words(line)).collect();
        let language = language_of(path).unwrap_or_default();
        let stem = |part: &str| part.split('.').next() == Some(qualifier);
        let is_module = is_module_name(qualifier) && path.split('/').any(stem)
            // In OCaml, `queue.ml` is the module `Queue`.
            || language == "ocaml" && stem(&capitalized(path.rsplit('/').next().unwrap_or(path)));
        let mut narrowing = Self {
            qualifier,
            subtypes,
            name,
            outline: &file.outline,
            uses,
            lines,
            related,
            is_module,
            has_implicit_members: IMPLICIT_MEMBERS.contains(&language),
            defining: HashSet::new(),
        };
        let all = file.outline.definitions.iter().chain(&file.outline.fields);
        let defining = all.filter(|it| it.name == name).filter_map(|it| narrowing.class_of(it));
        narrowing.defining = defining.collect();
        Some(narrowing)
    }

    /// Decides whether the uses on a 1-based line belong to the qualifier, and of which kind they are. If
    /// there are several uses, the one that fits best counts.
    pub(super) fn line(&self, line: u32) -> (Fit, UseKind) {
        let first = self.uses.partition_point(|used| used.line < line);
        let on_line = self.uses[first..].iter().take_while(|used| used.line == line);
        let fits = on_line.map(|used| (self.use_fit(used), used.kind));
        fits.min().unwrap_or((Fit::Unknown, UseKind::Code))
    }

    /// Decides whether a definition of the name belongs to the qualifier.
    pub(super) fn definition(&self, definition: &'f Definition) -> Fit {
        let is_scoped = definition.scope.as_deref().is_some_and(|scope| self.is_qualifier(scope));
        if self.is_module || is_scoped || self.is_within(definition.parent) {
            return Fit::Within;
        }
        self.class_of(definition).map_or(Fit::Unknown, |class| Fit::Other(class.to_owned()))
    }

    fn use_fit(&self, used: &Use) -> Fit {
        let innermost = self.outline.innermost(used.line);
        let within_or = |is_other: bool, other: &str| match (self.is_within(innermost), is_other) {
            (true, _) => Fit::Within,
            (false, true) => Fit::Other(other.to_owned()),
            (false, false) => Fit::Unknown,
        };
        if used.kind == UseKind::Definition {
            let all = self.outline.definitions.iter().chain(&self.outline.fields);
            let mut defined = all.filter(|it| it.line == used.line && it.name == self.name);
            return defined.next().map_or_else(|| within_or(false, ""), |it| self.definition(it));
        }
        match &used.receiver {
            Some(Receiver::Own) => {
                // A class that defines the name means its own. Otherwise it may inherit the name from the
                // qualifier.
                let class = innermost.and_then(|at| self.class_around(at)).unwrap_or_default();
                within_or(self.defining.contains(class), class)
            }
            Some(Receiver::Super) => within_or(false, ""),
            Some(Receiver::Type(name)) if self.is_qualifier(name) => Fit::Within,
            Some(Receiver::Type(name)) if self.is_other(name) => Fit::Other(name.clone()),
            Some(Receiver::Variable(name)) if name == self.qualifier => Fit::Within,
            Some(Receiver::Type(_) | Receiver::Variable(_) | Receiver::Expression) => Fit::Unknown,
            None if self.is_module => Fit::Within,
            None if self.has_implicit_members => within_or(false, ""),
            None => Fit::Unknown,
        }
    }

    /// Returns true if a type or module is certainly not the qualifier.
    fn is_other(&self, name: &str) -> bool {
        let plain = |name: &str| name.replace('_', "").to_lowercase();
        // A module may export the names of another one, so we can't exclude either of them.
        !(is_module_name(name) && is_module_name(self.qualifier))
            && plain(name) != plain(self.qualifier)
            && !self.related.contains(name)
    }

    /// Returns true if a definition or an enclosing one is the qualifier or extends it.
    fn is_within(&self, at: Option<usize>) -> bool {
        let Some(at) = at else { return self.is_module };
        self.is_module
            || self.outline.around(at).any(|around| {
                let is_scoped = around.scope.as_deref().is_some_and(|scope| self.is_qualifier(scope));
                is_scoped || self.is_qualifier(&around.name) || is_class(around.kind) && self.extends(around)
            })
    }

    fn is_qualifier(&self, name: &str) -> bool {
        // This also accepts, e.g., `Queue<T>` and `a::Queue`.
        let name = name.split(['<', '[', '(']).next().unwrap_or(name);
        let last = name.rsplit([':', '.', '\\', '/']).next().unwrap_or(name);
        last == self.qualifier || self.subtypes.contains(last)
    }

    /// Checks whether the heading of a class mentions the qualifier or one of its subtypes.
    fn extends(&self, class: &Definition) -> bool {
        let first = (class.line as usize).saturating_sub(1);
        let last = first + HEADING_LINES.min((class.end_line.saturating_sub(class.line) + 1) as usize);
        let lines = self.lines.get(first..last.min(self.lines.len())).unwrap_or_default();
        let is_end = |line: &&str| line.contains('{') || line.trim_end().ends_with(':');
        let heading = lines.iter().position(is_end).map_or(lines, |end| &lines[..=end]);
        heading.iter().any(|line| {
            let line = line.split('{').next().unwrap_or(line);
            words(line).any(|word| word == self.qualifier || self.subtypes.contains(word))
        })
    }

    /// Finds the class that a definition belongs to.
    fn class_of(&self, definition: &'f Definition) -> Option<&'f str> {
        let scope = definition.scope.as_deref();
        scope.or_else(|| definition.parent.and_then(|at| self.class_around(at)))
    }

    /// Finds the innermost class at or around a definition.
    fn class_around(&self, at: usize) -> Option<&'f str> {
        let class =
            |it: &'f Definition| if is_class(it.kind) { Some(it.name.as_str()) } else { it.scope.as_deref() };
        self.outline.around(at).find_map(class)
    }
}

/// Returns true if a name looks like that of a module (e.g. `queue`) rather than that of a type.
fn is_module_name(name: &str) -> bool {
    !name.starts_with(char::is_uppercase)
}

fn capitalized(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

fn is_class(kind: DefinitionKind) -> bool {
    matches!(kind, DefinitionKind::Type | DefinitionKind::Extension | DefinitionKind::Module)
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Returns true if a line contains `word` as a whole word.
pub(in super::super) fn has_word(line: &str, word: &str) -> bool {
    line.contains(word) && words(line).any(|it| it == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read_as_names() {
        let cases = [
            ("spin_lock", Some(("spin_lock", None))),
            (r"\bspin_lock\b", Some(("spin_lock", None))),
            ("Client::send", Some(("send", Some("Client")))),
            ("a.b.Client.send", Some(("send", Some("Client")))),
            ("client->send()", Some(("send", Some("client")))),
            ("größe", Some(("größe", None))),
            ("::spawn", Some(("spawn", None))),
            ("empty?", Some(("empty?", None))),
            ("Account#save!", Some(("save!", Some("Account")))),
            ("self.send", Some(("send", None))),
            ("kebab-case", Some(("kebab-case", None))),
            ("->cart", Some(("->cart", None))),
            ("operator==", Some(("operator==", None))),
            ("leveldb::Slice::operator[]", Some(("operator[]", Some("Slice")))),
            ("Call::operator()", Some(("operator()", Some("Call")))),
            ("operator->", Some(("operator->", None))),
            ("my_operator::operator==", Some(("operator==", Some("my_operator")))),
            ("my_operator", Some(("my_operator", None))),
            ("(*Queue).Push", Some(("Push", Some("Queue")))),
            ("queue.(*Queue[K]).Push()", Some(("Push", Some("Queue")))),
            ("cooperator<T>", None),
            ("a b", None),
            ("send|receive", None),
            ("", None),
            ("::", None),
            ("x.*", None),
        ];
        for (pattern, name) in cases {
            let found = QualifiedName::new(pattern).ok().map(|found| (found.name, found.qualifier));
            assert_eq!(found, name, "{pattern}");
        }
    }
}

//! Finds the receiver of a name, e.g. `Tag` in `Tag.objects` and `self` in `self.objects`.
//!
//! We read the text before the name because this works alike for all languages. The kinds and fields of the
//! nodes around it differ from grammar to grammar. A single table lists what each language writes between a
//! receiver and a name.

use std::cell::OnceCell;
use std::collections::HashSet;

/// The object, type or module through which a name is accessed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Receiver {
    /// The object or type of the surrounding class, e.g. `self`, `this` and `Self`.
    Own,
    /// The parent of the surrounding class, e.g. `super` and `base`.
    Super,
    /// A type or module, given by its last name.
    Type(String),
    /// A variable or field, given by its last name. We don't know its type.
    Variable(String),
    /// Another expression.
    Expression,
}

/// How a language writes access through a receiver.
struct Access {
    languages: &'static [&'static str],
    /// Separators after an object or type.
    separators: &'static [&'static str],
    /// Separators that only follow types and modules.
    scopes: &'static [&'static str],
    /// True if names of types and modules begin with an upper case letter, and names of variables don't.
    has_upper_types: bool,
    /// True if separators may have white space around them.
    is_spaced: bool,
}

const BASE: Access =
    Access { languages: &[], separators: &["."], scopes: &[], has_upper_types: true, is_spaced: true };

/// The table. The last row is for all languages that no other row names.
const ACCESS: &[Access] = &[
    Access { languages: &["rust"], scopes: &["::"], ..BASE },
    Access {
        languages: &["c", "cpp", "objective-c"],
        separators: &["->", "."],
        scopes: &["::"],
        has_upper_types: false,
        ..BASE
    },
    Access {
        languages: &["php"],
        separators: &["->"],
        scopes: &["::", "\\"],
        has_upper_types: false,
        ..BASE
    },
    Access { languages: &["perl"], separators: &["->"], scopes: &["::"], ..BASE },
    Access { languages: &["ruby", "java", "kotlin", "groovy", "gradle"], separators: &["::", "."], ..BASE },
    Access { languages: &["haskell"], is_spaced: false, ..BASE },
    Access { languages: &["erlang"], separators: &[], scopes: &[":"], is_spaced: false, ..BASE },
    Access { languages: &["clojure"], separators: &["/"], has_upper_types: false, is_spaced: false, ..BASE },
    Access { languages: &["lua"], separators: &[":", "."], has_upper_types: false, ..BASE },
    Access { languages: &["r"], separators: &["$", "@"], scopes: &["::"], has_upper_types: false, ..BASE },
    Access { languages: &["powershell"], separators: &["::", "."], has_upper_types: false, ..BASE },
    Access { languages: &["bash", "lisp", "make", "cmake", "dockerfile"], separators: &[], ..BASE },
    // Here, names of variables, fields or properties may also begin with an upper case letter.
    Access {
        languages: &[
            "go", "csharp", "fsharp", "pascal", "ada", "matlab", "fortran", "sql", "vhdl", "verilog",
        ],
        has_upper_types: false,
        ..BASE
    },
    BASE,
];

/// The rules for comments and strings.
const PROSE: Access = Access { separators: &["::", "->", ".", "#"], is_spaced: false, ..BASE };

const OWN: &[&str] = &["self", "this", "Self", "cls", "static", "__MODULE__"];
const SUPER: &[&str] = &["super", "base", "parent"];

/// Maximum number of names in a path that we read.
const PATH_NAMES: usize = 16;

/// Maximum length, in characters, of type arguments that we skip.
const TYPE_ARGUMENTS_BYTES: usize = 200;

/// Finds the receivers of names in a text.
pub(crate) struct Receivers<'t> {
    language: &'static str,
    text: &'t str,
    access: &'static Access,
    imports: OnceCell<HashSet<&'t str>>,
}

impl<'t> Receivers<'t> {
    pub(crate) fn new(language: &'static str, text: &'t str) -> Self {
        let is_it = |access: &&Access| access.languages.is_empty() || access.languages.contains(&language);
        let access = ACCESS.iter().find(is_it).unwrap_or(&PROSE);
        Self { language, text, access, imports: OnceCell::new() }
    }

    /// Finds the receiver of the name at a byte offset, or `None` if it has none. Set `is_code` to false in
    /// comments and strings.
    pub(crate) fn before(&self, at: usize, is_code: bool) -> Option<Receiver> {
        let access = if is_code { self.access } else { &PROSE };
        let (rest, separator) = access.separated(self.text.get(..at)?)?;
        let object = if access.is_spaced { rest.trim_end() } else { rest };
        if object.len() < rest.len() && !is_continued(object, &rest[object.len()..]) {
            return Some(Receiver::Expression);
        }
        let is_path = separator == "::" || separator == "\\";
        // `a?.b`, `a!.b`, `a&.b`
        let object = if is_path { object } else { object.trim_end_matches(['?', '!', '&']) };
        let Some(name) = last_name(object) else {
            // A leading `::name` is global. In Swift and Zig, `.name` is a member of an implied type.
            return (!is_path).then_some(Receiver::Expression);
        };
        let path = access.path(object, name.start);
        let has_sigil = object[..name.start].ends_with(['$', '@']);
        let name = &object[name];
        if path == Path::Alone && OWN.contains(&name) && (!has_sigil || matches!(name, "this" | "self")) {
            return Some(Receiver::Own);
        }
        if path == Path::Alone && SUPER.contains(&name) && !has_sigil {
            return Some(Receiver::Super);
        }
        let is_upper = access.has_upper_types && is_upper_camel(name);
        let is_type = match if is_code { self.language } else { "" } {
            // In Erlang, variables begin with an upper case letter, and modules don't.
            "erlang" => !name.starts_with(char::is_uppercase),
            // This distinguishes `$name->` from `Name->`.
            "perl" => is_path || name.starts_with(char::is_uppercase),
            "go" | "python" | "jupyter" if path == Path::Alone => is_upper || self.is_imported(name),
            _ if access.scopes.contains(&separator) => !is_short_upper(name) && name != "crate",
            _ => is_upper,
        };
        Some(match is_type && !has_sigil && path != Path::Object {
            true => Receiver::Type(name.to_owned()),
            false => Receiver::Variable(name.to_owned()),
        })
    }

    /// Returns true if the text imports a module under this name.
    fn is_imported(&self, name: &str) -> bool {
        let imports = || match self.language {
            "go" => imports_of_go(self.text),
            _ => imports_of_python(self.text),
        };
        self.imports.get_or_init(imports).contains(name)
    }
}

/// Returns true if an expression continues after this white space: on a later line, without a comment in
/// between.
fn is_continued(object: &str, space: &str) -> bool {
    let line = object.rsplit('\n').next().unwrap_or_default();
    space.contains('\n') && !["//", "*/", "#", "--"].iter().any(|mark| line.contains(mark))
}

/// The text before the last name of a receiver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Alone,
    /// Names of modules and types.
    Names,
    /// An object or a type parameter, as in `self.Tag`, `f().Tag` and `T::Item`.
    Object,
}

impl Access {
    /// Removes the separator at the end of a text. Returns the rest and the separator.
    fn separated<'t>(&self, before: &'t str) -> Option<(&'t str, &'static str)> {
        let trimmed = if self.is_spaced { before.trim_end() } else { before };
        let separators = self.scopes.iter().chain(self.separators);
        let mut found =
            separators.filter_map(|separator| Some((trimmed.strip_suffix(separator)?, *separator)));
        // `a..name` and `...name` are ranges and lists.
        found.find(|(rest, separator)| !rest.ends_with(&separator[..1]))
    }

    fn path(&self, text: &str, start: usize) -> Path {
        let (mut rest, mut is_alone) = (text[..start].trim_end_matches('$'), true);
        for _ in 0..PATH_NAMES {
            let Some((before, separator)) = self.separated(rest) else {
                return if is_alone { Path::Alone } else { Path::Names };
            };
            let Some(name) = last_name(before) else {
                // A leading separator, as in `::a::b`, makes a name global.
                let is_global = separator == "::" || separator == "\\";
                return if is_global { Path::Names } else { Path::Object };
            };
            let first = &before[name.start..name.end];
            if OWN.contains(&first) || is_short_upper(first) || before[..name.start].ends_with(['$', '@']) {
                return Path::Object;
            }
            (rest, is_alone) = (&before[..name.start], false);
        }
        Path::Object
    }
}

/// Finds the name at the end of a text. Type arguments may follow it, e.g. in `Queue::<T>`.
fn last_name(text: &str) -> Option<std::ops::Range<usize>> {
    let mut named = text;
    if text.ends_with('>') {
        let mut depth = 0_usize;
        let mut signs = text.char_indices().rev().take(TYPE_ARGUMENTS_BYTES);
        let open = signs.find(|(_, sign)| {
            depth += usize::from(*sign == '>');
            depth -= usize::from(*sign == '<' && depth > 0);
            depth == 0
        });
        named = text[..open?.0].trim_end_matches("::");
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let start = named.char_indices().rev().take_while(|(_, c)| is_word(*c)).last()?.0;
    // A number isn't a name.
    let is_name = !named[start..].starts_with(|c: char| c.is_ascii_digit());
    is_name.then_some(start..named.len())
}

/// Checks whether a name is written like that of a type, and not like that of a constant.
fn is_upper_camel(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// Returns true if a name is written like that of a type parameter.
fn is_short_upper(name: &str) -> bool {
    name.chars().count() <= 2 && name.starts_with(char::is_uppercase) && !name.contains(char::is_lowercase)
}

/// Finds the names under which a text imports packages, e.g. `http` for `"net/http"` and `alias` for
/// `alias "net/http"`.
fn imports_of_go(text: &str) -> HashSet<&str> {
    fn import(line: &str) -> Option<&str> {
        let (alias, path) = line.trim().trim_start_matches("import").split_once('"')?;
        let (path, _) = path.split_once('"')?;
        let is_version = |part: &&str| {
            let version = part.strip_prefix('v').unwrap_or(part);
            version.chars().all(|c| c.is_ascii_digit())
        };
        let last = path.rsplit('/').find(|part| !is_version(part))?;
        let alias = Some(alias.trim()).filter(|alias| !alias.is_empty());
        alias.or_else(|| last.split('.').next())
    }
    text.lines().take_while(|line| !line.starts_with("func ")).filter_map(import).collect()
}

/// Finds the names under which a text imports modules, e.g. `name` for `import name` and for
/// `import a as name`.
fn imports_of_python(text: &str) -> HashSet<&str> {
    fn name(module: &str) -> Option<&str> {
        let mut words = module.split_whitespace();
        let first = words.next();
        words.nth(1).or(first)
    }
    let imports = text.lines().filter_map(|line| line.trim_start().strip_prefix("import "));
    imports.flat_map(|modules| modules.split(',')).filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_are_read_from_the_text_before_a_name() {
        let object = |name: &str| Some(Receiver::Variable(name.to_owned()));
        let named = |name: &str| Some(Receiver::Type(name.to_owned()));
        let cases = [
            ("python", "Tag.name", named("Tag")),
            ("python", "models.Tag.name", named("Tag")),
            ("python", "self.Tag.name", object("Tag")),
            ("python", "TAGS.name", object("TAGS")),
            ("python", "tag.name", object("tag")),
            ("python", "self.name", Some(Receiver::Own)),
            ("python", "f().name", Some(Receiver::Expression)),
            ("python", "import os\nos.name", named("os")),
            ("python", "from os import path\npath.name", object("path")),
            ("python", "[0][name", None),
            ("rust", "a::Queue::<T>::name", named("Queue")),
            ("rust", "Queue<T>::name", named("Queue")),
            ("rust", "queue::name", named("queue")),
            ("rust", "T::name", object("T")),
            ("rust", "T::Item::name", object("Item")),
            ("rust", "Self::name", Some(Receiver::Own)),
            ("rust", "0..name", None),
            ("rust", "::name", None),
            ("rust", "fn f() -> name", None),
            ("rust", "a\n    // b\n    .name", Some(Receiver::Expression)),
            ("rust", "a\n    .name", object("a")),
            ("go", "import \"net/http\"\nhttp.name", named("http")),
            ("go", "import (\n\tq \"a/queue\"\n)\nq.name", named("q")),
            ("go", "http.name", object("http")),
            ("go", "Default.name", object("Default")),
            ("typescript", "Tag?.name", named("Tag")),
            ("typescript", "...name", None),
            ("java", "Tag::name", named("Tag")),
            ("java", "list::name", object("list")),
            ("ruby", "Tag::name", named("Tag")),
            ("ruby", "@tag&.name", object("tag")),
            ("cpp", "tag->name", object("tag")),
            ("cpp", "Tag::name", named("Tag")),
            ("cpp", "Widget.name", object("Widget")),
            ("php", "$this->name", Some(Receiver::Own)),
            ("php", "$tag->name", object("tag")),
            ("php", "Tag::name", named("Tag")),
            ("perl", "Tag->name", named("Tag")),
            ("erlang", "tag:name", named("tag")),
            ("erlang", "Tag:name", object("Tag")),
            ("haskell", "Map.name", named("Map")),
            ("haskell", "f . name", None),
            ("haskell", "x :: name", None),
            ("csharp", "Items.name", object("Items")),
            ("swift", "case .name", Some(Receiver::Expression)),
            ("bash", "a.name", None),
        ];
        for (language, text, expected) in cases {
            let at = text.len() - "name".len();
            assert_eq!(Receivers::new(language, text).before(at, true), expected, "{language}: {text}");
        }
        let prose = |text: &str| Receivers::new("rust", text).before(text.len() - "name".len(), false);
        assert_eq!(prose("see Tag#name"), named("Tag"));
        assert_eq!(prose("of a Tag. name"), None);
    }
}

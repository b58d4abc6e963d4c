//! Describes languages as far as needed to split their files: comments, and the keywords of definitions.

mod table;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::limits;
pub(crate) use table::LANGUAGES;
pub(crate) use table::PASTED;
use table::{DATA_NAME, OTHER};

/// The kind of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DefinitionKind {
    /// A class, struct, enum, interface, trait, protocol, type alias.
    Type = 0,
    /// A function, method, macro.
    Function = 1,
    /// A module, namespace or package.
    Module = 2,
    /// A constant, a top-level variable, or a field that a keyword of its own declares.
    Constant = 3,
    /// Members of a type that is defined elsewhere: `impl`, `extension`, `instance`.
    Extension = 4,
    /// A prototype without a body.
    Declaration = 5,
    /// A heading in documentation.
    Heading = 6,
}

impl DefinitionKind {
    /// Returns the word for this kind in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Function => "function",
            Self::Module => "module",
            Self::Constant => "constant",
            Self::Extension => "extension",
            Self::Declaration => "declaration",
            Self::Heading => "heading",
        }
    }

    pub(crate) fn from_number(number: u32) -> Option<Self> {
        let kinds = [
            Self::Type,
            Self::Function,
            Self::Module,
            Self::Constant,
            Self::Extension,
            Self::Declaration,
            Self::Heading,
        ];
        kinds.into_iter().find(|&kind| kind as u32 == number)
    }
}

/// The shape of definitions that don't begin with a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommentStyle {
    /// Keywords only.
    Keywords,
    /// `type name(arguments) {` at the margin, and within namespaces and classes.
    C,
    /// `modifiers type name(arguments) {` within classes.
    Java,
    /// `name(arguments) {` within classes, `name = (arguments) =>`, `exports.name =`.
    JavaScript,
    /// `NAME = …` at the margin.
    Python,
    /// `Name = …`, `attr_reader :name`.
    Ruby,
    /// `name :: type` at the margin.
    Haskell,
    /// `name = function`.
    Lua,
    /// `name() {`.
    Shell,
    /// `const name = struct`.
    Zig,
    /// `CREATE … TABLE name`, in upper or lower case.
    Sql,
    /// Headings.
    Prose,
}

/// A deviation of a language's definitions from those of its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyntaxQuirk {
    /// `- (type)name`, `+ (type)name`: methods begin with a sign.
    SignedMethods,
    /// Constants with at most this many bytes of indentation are members; others are locals.
    MembersTo(usize),
    /// `keyword "kind" "name" {`
    QuotedNames,
    /// `keyword (receiver) name`
    ReceiverInBrackets,
    /// `keyword receiver.name(`
    ReceiverWithDot,
    /// `keyword <parameters> name`
    TypeParametersFirst,
    /// `keyword type name(`
    NameBeforeBracket,
    /// `keyword (` is a function without a name.
    NamelessFunctions,
    /// `keyword << name`, `keyword self.name`
    OfAnObject,
    /// `#[…]` is an attribute, though `#` begins a comment.
    Attributes,
    /// `'…'` is a string, not a character or the name of a lifetime.
    SingleQuotedStrings,
}

/// Keywords that begin definitions of a kind.
pub(crate) type Keywords = (DefinitionKind, &'static [&'static str]);

/// A language, as far as the ranking needs it.
#[derive(Debug)]
pub(crate) struct LanguageRow {
    /// The name for `lang:`, in lower case.
    pub(crate) name: &'static str,
    /// Other names for it.
    pub(crate) aliases: &'static [&'static str],
    /// Whole names of files in this language, whatever their extension.
    pub(crate) names: &'static [&'static str],
    /// Extensions in lower case, the usual one first.
    pub(crate) extensions: &'static [&'static str],
    pub(crate) line_comments: &'static [&'static str],
    pub(crate) block_comments: &'static [(&'static str, &'static str)],
    pub(crate) keywords: &'static [Keywords],
    pub(crate) style: CommentStyle,
    pub(crate) quirks: &'static [SyntaxQuirk],
    /// True if its files are data or configuration rather than programs.
    pub(crate) is_data: bool,
}

impl LanguageRow {
    pub(crate) fn has(&self, quirk: SyntaxQuirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// Returns the maximum indentation, in bytes, of constants that are members. Languages without this habit
    /// have no maximum.
    pub(crate) fn members_to(&self) -> usize {
        let bound =
            |quirk: &SyntaxQuirk| if let SyntaxQuirk::MembersTo(bytes) = quirk { Some(*bytes) } else { None };
        self.quirks.iter().find_map(bound).unwrap_or(usize::MAX)
    }
}

static UNKNOWN: LanguageRow = OTHER;

/// Languages by file extension.
static BY_EXTENSION: LazyLock<HashMap<&'static str, &'static LanguageRow>> =
    LazyLock::new(|| gathered(|language| language.extensions));

/// Languages by whole file name.
static BY_NAME: LazyLock<HashMap<&'static str, &'static LanguageRow>> =
    LazyLock::new(|| gathered(|language| language.names));

fn gathered(
    of: impl Fn(&LanguageRow) -> &'static [&'static str],
) -> HashMap<&'static str, &'static LanguageRow> {
    LANGUAGES.iter().flat_map(|language| of(language).iter().map(move |word| (*word, language))).collect()
}

/// Looks up the language of a file by its name.
#[must_use]
pub(crate) fn language(path: &str) -> &'static LanguageRow {
    let name = path.rsplit('/').next().unwrap_or(path);
    if let Some(language) = BY_NAME.get(name) {
        return language;
    }
    let Some((bare, extension)) = name.rsplit_once('.') else { return &UNKNOWN };
    let known = BY_EXTENSION.get(extension).copied().or_else(|| {
        let upper = extension.bytes().any(|byte| byte.is_ascii_uppercase());
        BY_EXTENSION.get(extension.to_ascii_lowercase().as_str()).copied().filter(|_| upper)
    });
    match known {
        Some(language) => language,
        // A template has the language of its output.
        None if TEMPLATES.contains(&extension) => language(bare),
        // For example `Dockerfile.dev`.
        None => BY_NAME.get(bare).copied().unwrap_or(&UNKNOWN),
    }
}

/// Determines the language of a file from its name and text. The text decides this if two languages share the
/// extension, or if a script has none.
#[must_use]
pub(crate) fn language_of_text(path: &str, text: &str) -> &'static LanguageRow {
    let named = language(path);
    let head = &text[..text.floor_char_boundary(limits::LANGUAGE_HEAD_BYTES)];
    let has_line = |starts: &[&str]| {
        head.lines().any(|line| starts.iter().any(|start| line.trim_start().starts_with(start)))
    };
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let other = match extension {
        "h" if has_line(&["@interface", "@protocol", "@class", "#import"]) => "objective-c",
        "h" if head.lines().any(is_cpp) => "cpp",
        "m" if !has_line(&["@", "#import", "#include", "//"])
            && has_line(&["%", "function ", "classdef "]) =>
        {
            "matlab"
        }
        // Coq and Prolog, which have no row of their own.
        "v" if has_line(&["Require ", "From ", "Theorem ", "Lemma ", "Definition ", "(*"]) => {
            return &UNKNOWN;
        }
        "pl" if has_line(&[":- ", "?- ", "% "]) && !has_line(&["use ", "#!", "sub "]) => return &UNKNOWN,
        _ if named.name.is_empty() => head.lines().next().and_then(interpreted).unwrap_or_default(),
        _ => return named,
    };
    called(other).unwrap_or(named)
}

/// Returns true if a line of a header is C++ and not C. A word such as `class` isn't enough: a line of a
/// comment may begin with it.
fn is_cpp(line: &str) -> bool {
    let line = line.trim();
    let begins = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
    begins(&["template <", "template<", "public:", "private:", "protected:", "using namespace "])
        || begins(&["namespace ", "class ", "enum class ", "struct "]) && line.ends_with('{') && {
            begins(&["namespace ", "class ", "enum class "]) || line.contains(" : ")
        }
}

/// Parses the interpreter that a script names in its first line, for example `#!/usr/bin/env python3 -u`.
fn interpreted(line: &str) -> Option<&'static str> {
    let mut words = line.strip_prefix("#!")?.split_ascii_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    let program = match program {
        "env" => words.find(|word| !word.starts_with('-') && !word.contains('='))?,
        program => program,
    };
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match bare {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "bats" => "bash",
        "python" | "pypy" => "python",
        "node" | "nodejs" | "bun" => "javascript",
        "deno" | "ts-node" | "tsx" => "typescript",
        "ruby" | "jruby" => "ruby",
        "perl" => "perl",
        "php" => "php",
        "lua" | "luajit" => "lua",
        "Rscript" => "r",
        "julia" => "julia",
        "elixir" => "elixir",
        "escript" => "erlang",
        "groovy" => "groovy",
        "swift" => "swift",
        "pwsh" => "powershell",
        "make" => "make",
        _ => return None,
    })
}

/// Extensions that mark a template or a sample, and follow the extension of its output.
const TEMPLATES: &[&str] = &["in", "tmpl", "tpl", "template", "dist", "example", "sample", "j2"];

/// Looks up a language by its name, an alias or an extension.
pub(crate) fn called(name: &str) -> Option<&'static LanguageRow> {
    let lower = name.to_lowercase();
    let lower = lower.strip_prefix('.').unwrap_or(&lower);
    let is_called = |language: &&LanguageRow| language.name == lower || language.aliases.contains(&lower);
    let found = LANGUAGES.iter().find(is_called).or_else(|| BY_EXTENSION.get(lower).copied());
    found.filter(|language| language.name != DATA_NAME)
}

/// Returns the names of all known languages, in order, each with how its definitions are found: `parsed`,
/// `by line`, `headings`, or `text` for data without definitions.
#[must_use]
pub fn languages() -> Vec<(&'static str, &'static str)> {
    let named = LANGUAGES.iter().filter(|language| !language.name.is_empty() && language.name != DATA_NAME);
    let reading = |language: &LanguageRow| match language {
        language if forage_syntax::Language::for_name(language.name, "").is_some() => "parsed",
        language if language.style == CommentStyle::Prose => "headings",
        language if language.is_data && language.keywords.is_empty() => "text",
        _ => "by line",
    };
    let mut languages: Vec<(&str, &str)> = named.map(|language| (language.name, reading(language))).collect();
    languages.sort_unstable();
    languages
}

/// Looks up the language of a file by its path, and returns its name in lower case (`rust`, `cpp`, `csharp`,
/// `markdown`, `json`). `None` if it isn't known.
#[must_use]
pub fn language_of(path: &str) -> Option<&'static str> {
    let name = language(path).name;
    (!name.is_empty() && name != DATA_NAME).then_some(name)
}

/// Returns true if a file is text for people, by its path.
#[must_use]
pub fn is_prose(path: &str) -> bool {
    language(path).style == CommentStyle::Prose
}

/// Looks up a language by name, alias (`c++`, `golang`) or extension (`ts`, `.md`), in any case, and returns
/// its name as in [`language_of`]. `None` if it isn't known.
#[must_use]
pub fn known_language(name: &str) -> Option<&'static str> {
    called(name).map(|language| language.name)
}

#[cfg(test)]
mod tests;

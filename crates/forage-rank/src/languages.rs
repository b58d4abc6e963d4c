//! What has to be known of a language to cut its files: comments, and the words that begin a definition.

mod table;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::limits;
pub(crate) use table::LANGUAGES;
use table::{DATA_NAME, OTHER};

/// The kinds of definitions, by what they define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DefinitionKind {
    /// A class, struct, enum, interface, trait, protocol, type alias.
    Type = 0,
    /// A function, method, macro.
    Function = 1,
    /// A module, namespace, package.
    Module = 2,
    /// A constant, a variable of the outermost level, a field that is declared by a word of its own.
    Constant = 3,
    /// Something that belongs to a type defined elsewhere: `impl`, `extension`, `instance`.
    Extension = 4,
    /// A prototype without a body.
    Declaration = 5,
    /// A heading of documentation.
    Heading = 6,
}

impl DefinitionKind {
    /// The word for records.
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

/// How definitions look that no keyword begins.
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

/// How a language's definitions differ from those of others of its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// `- (type)name`, `+ (type)name`: methods begin with a sign.
    SignedMethods,
    /// Constants that are indented by no more than so many bytes are members; others are locals.
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

/// Words that begin definitions of a kind.
pub(crate) type Keywords = (DefinitionKind, &'static [&'static str]);

/// A language, as far as it matters here.
#[derive(Debug)]
pub(crate) struct LanguageRow {
    /// What `lang:` calls it, in lower case.
    pub(crate) name: &'static str,
    /// What else it is called.
    pub(crate) aliases: &'static [&'static str],
    /// Files of this name are in it, whatever their extension.
    pub(crate) names: &'static [&'static str],
    /// In lower case, the usual one first.
    pub(crate) extensions: &'static [&'static str],
    pub(crate) line_comments: &'static [&'static str],
    pub(crate) block_comments: &'static [(&'static str, &'static str)],
    pub(crate) keywords: &'static [Keywords],
    pub(crate) style: CommentStyle,
    pub(crate) habits: &'static [Habit],
    /// Files are data or configuration rather than programs.
    pub(crate) is_data: bool,
}

impl LanguageRow {
    pub(crate) fn has(&self, habit: Habit) -> bool {
        self.habits.contains(&habit)
    }

    /// Bytes of indentation up to which constants are members; any where that is not known.
    pub(crate) fn members_to(&self) -> usize {
        let bound = |habit: &Habit| if let Habit::MembersTo(bytes) = habit { Some(*bytes) } else { None };
        self.habits.iter().find_map(bound).unwrap_or(usize::MAX)
    }
}

static UNKNOWN: LanguageRow = OTHER;

/// Languages by the extensions of their files.
static BY_EXTENSION: LazyLock<HashMap<&'static str, &'static LanguageRow>> =
    LazyLock::new(|| gathered(|language| language.extensions));

/// Languages by the whole names of files.
static BY_NAME: LazyLock<HashMap<&'static str, &'static LanguageRow>> =
    LazyLock::new(|| gathered(|language| language.names));

fn gathered(
    of: impl Fn(&LanguageRow) -> &'static [&'static str],
) -> HashMap<&'static str, &'static LanguageRow> {
    LANGUAGES.iter().flat_map(|language| of(language).iter().map(move |word| (*word, language))).collect()
}

/// The language of a file, by its name.
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
        // What is made of it has its language.
        None if TEMPLATES.contains(&extension) => language(bare),
        // `Dockerfile.dev`.
        None => BY_NAME.get(bare).copied().unwrap_or(&UNKNOWN),
    }
}

/// The language of a file whose text is at hand. Where an extension has two languages, or a script has no extension, the
/// text decides.
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
        // Coq and Prolog, for which nothing else is known.
        "v" if has_line(&["Require ", "From ", "Theorem ", "Lemma ", "Definition ", "(*"]) => {
            return &UNKNOWN;
        }
        "pl" if has_line(&[":- ", "?- ", "% "]) && !has_line(&["use ", "#!", "sub "]) => return &UNKNOWN,
        _ if named.name.is_empty() => head.lines().next().and_then(interpreted).unwrap_or_default(),
        _ => return named,
    };
    called(other).unwrap_or(named)
}

/// Returns whether a line of a header is C++ and not C. Words such as `class` may begin a line of a comment.
fn is_cpp(line: &str) -> bool {
    let line = line.trim();
    let begins = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
    begins(&["template <", "template<", "public:", "private:", "protected:", "using namespace "])
        || begins(&["namespace ", "class ", "enum class ", "struct "]) && line.ends_with('{') && {
            begins(&["namespace ", "class ", "enum class "]) || line.contains(" : ")
        }
}

/// The language of the interpreter that a script names in its first line: `#!/usr/bin/env python3 -u`.
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

/// Extensions that stand behind that of what a file is a template or a sample of.
const TEMPLATES: &[&str] = &["in", "tmpl", "tpl", "template", "dist", "example", "sample", "j2"];

/// The language that somebody means with a name, an alias or an extension.
pub(crate) fn called(name: &str) -> Option<&'static LanguageRow> {
    let lower = name.to_lowercase();
    let lower = lower.strip_prefix('.').unwrap_or(&lower);
    let is_called = |language: &&LanguageRow| language.name == lower || language.aliases.contains(&lower);
    let found = LANGUAGES.iter().find(is_called).or_else(|| BY_EXTENSION.get(lower).copied());
    found.filter(|language| language.name != DATA_NAME)
}

/// Returns the names of all languages that are known, in order, and how their definitions are found: `parsed`, `by line`,
/// `headings`, or `text` for data without definitions.
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

/// Returns the name of the language of a file, by its path, in lower case (`rust`, `cpp`, `csharp`, `markdown`,
/// `json`); `None` for a file of no language that is known.
#[must_use]
pub fn language_of(path: &str) -> Option<&'static str> {
    let name = language(path).name;
    (!name.is_empty() && name != DATA_NAME).then_some(name)
}

/// Returns whether a file is text for people, by its path.
#[must_use]
pub fn is_prose(path: &str) -> bool {
    language(path).style == CommentStyle::Prose
}

/// Returns what [`language_of`] calls a language that is given by its name, by an alias (`c++`, `golang`) or by an
/// extension (`ts`, `.md`), in upper or lower case; `None` for what is no language that is known.
#[must_use]
pub fn known_language(name: &str) -> Option<&'static str> {
    called(name).map(|language| language.name)
}

#[cfg(test)]
mod tests;

//! Decides which lines may define a name. Only files with such a line are parsed to find its definitions.
//!
//! We look at each line on its own, before and after the name. When in doubt, the answer must be yes: parsing
//! one file too many costs time, but with one too few the answer lacks a definition. The rules come from
//! 273,561 definitions in 18 projects. They missed 157, most of them names that a parser takes from invalid
//! code.

use crate::chunk::{self, LineClassifier, LineKind};
use crate::languages::LanguageRow;

/// Words before a name that is being defined, in any language.
const DECLARING: &[&str] = &[
    "actor",
    "alias",
    "class",
    "concept",
    "const",
    "contract",
    "def",
    "defmacro",
    "defmodule",
    "defp",
    "define",
    "enum",
    "extension",
    "fn",
    "fun",
    "func",
    "function",
    "impl",
    "interface",
    "let",
    "mod",
    "module",
    "namespace",
    "object",
    "package",
    "protocol",
    "record",
    "rule",
    "struct",
    "sub",
    "task",
    "trait",
    "type",
    "typealias",
    "typedef",
    "union",
    "val",
    "var",
];

/// Words before a name that is being used.
const USING: &[&str] = &[
    "return",
    "new",
    "await",
    "throw",
    "raise",
    "case",
    "in",
    "is",
    "not",
    "or",
    "if",
    "else",
    "elif",
    "while",
    "import",
    "from",
    "yield",
    "delete",
    "typeof",
    "instanceof",
    "extends",
    "implements",
    "as",
];

/// Words between the name of a definition and its body.
const FOLLOWING: &[&str] = &[
    "async",
    "const",
    "default",
    "extends",
    "final",
    "implements",
    "noexcept",
    "on",
    "override",
    "permits",
    "throws",
    "volatile",
    "where",
    "with",
];

/// Operators before a name that is an operand.
const OPERATORS: &[&str] = &["==", "!=", "&&", "||", "+", "-", "/", "%"];

/// First words of lines in Ruby that define the names of their symbols.
const RUBY_MACROS: &[&str] = &[
    "task",
    "multitask",
    "namespace",
    "file",
    "let",
    "subject",
    "scope",
    "delegate",
    "module_function",
    "private",
];

/// The style in which a language writes definitions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// A type or a keyword comes before each name, as in Java.
    Typed,
    /// Like `Typed`, but declarations may look like calls, as in C.
    TypedC,
    Python,
    Go,
    Rust,
    Script,
    Ruby,
    Php,
    /// A keyword comes before most names, as in Kotlin.
    Keyword,
    Cmake,
    Nix,
    Shell,
    /// Any line with the name may define it.
    Other,
}

fn style(language: &LanguageRow) -> Style {
    match language.name {
        "java" | "csharp" | "groovy" => Style::Typed,
        "c" | "cpp" | "dart" => Style::TypedC,
        "python" => Style::Python,
        "go" => Style::Go,
        "rust" => Style::Rust,
        "javascript" | "typescript" => Style::Script,
        "ruby" => Style::Ruby,
        "php" => Style::Php,
        "kotlin" | "swift" | "scala" => Style::Keyword,
        "cmake" => Style::Cmake,
        "nix" => Style::Nix,
        "bash" | "" => Style::Shell,
        _ => Style::Other,
    }
}

/// Returns true if a line may define a name.
pub(super) fn defines(language: &LanguageRow, line: &str, name: &str) -> bool {
    let line = without_lead(line);
    // In some languages, sigils are part of the name.
    let bare = name.trim_start_matches(['$', '@', '%']);
    let name = if bare.starts_with(is_word) { bare } else { name };
    let code = match LineClassifier::new(language).read(line) {
        LineKind::Blank => return false,
        // In a script without a known language, a line that looks like a comment may be code.
        LineKind::Comment if language.name.is_empty() => line,
        LineKind::Comment => return false,
        LineKind::Code(end) => &line[..end],
    };
    let style = style(language);
    // This is a line of a multi-line comment, since a pointer has no space after its star. In JavaScript, it
    // may also be a generator method: `* name() {`.
    let may_be_method = style == Style::Script && code.trim_end().ends_with(['{', ',', '}']);
    if !matches!(style, Style::Other | Style::Shell) && code.trim_start().starts_with("* ") && !may_be_method
    {
        return false;
    }
    // A name that is also a keyword has a prefix.
    let prefix = match language.name {
        "rust" => "r#",
        "csharp" => "@",
        _ => "",
    };
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        let before = before.strip_suffix(prefix).unwrap_or(before);
        Candidate { style, code, start: before.len(), before, after }.may_define()
    }) || chunk::definition(code, language).is_some_and(|definition| definition.name == name)
}

/// Returns true if the ranking sees a definition of the name in a line. We use this for languages without a
/// grammar.
pub(super) fn is_seen(language: &LanguageRow, line: &str, name: &str) -> bool {
    let found = code_or_comment(language, line).and_then(|code| chunk::definition(code, language));
    found.is_some_and(|definition| definition.name == name)
}

/// Removes a trailing comment. A line that is a comment is returned whole, and `None` means a blank line.
pub(super) fn code_or_comment<'l>(language: &LanguageRow, line: &'l str) -> Option<&'l str> {
    match LineClassifier::new(language).read(line) {
        LineKind::Blank => None,
        LineKind::Comment => Some(line),
        LineKind::Code(end) => Some(&line[..end]),
    }
}

/// Removes a comment in `/* … */`, or an attribute in `#[…]` that may look like a comment, from the beginning
/// of a line.
fn without_lead(line: &str) -> &str {
    let trimmed = line.trim_start();
    let after = |start, end| trimmed.strip_prefix(start)?.split_once(end);
    match after("/*", "*/").or_else(|| after("#[", "]")) {
        Some((_, rest)) if !rest.trim().is_empty() => rest,
        _ => line,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn last_word(text: &str) -> &str {
    text.rsplit(|c| !is_word(c)).next().unwrap_or_default()
}

fn first_word(text: &str) -> &str {
    text.trim_start().split(|c| !is_word(c)).next().unwrap_or_default()
}

/// A name in a line.
#[derive(Clone, Copy)]
struct Candidate<'l> {
    style: Style,
    code: &'l str,
    /// The offset of the name in the code.
    start: usize,
    before: &'l str,
    after: &'l str,
}

impl<'l> Candidate<'l> {
    fn may_define(self) -> bool {
        let Self { style, before, after, .. } = self;
        let name = self.name();
        let is_within_word = name.starts_with(is_word) && before.ends_with(is_word)
            || name.ends_with(is_word) && after.starts_with(is_word);
        if is_within_word {
            return false;
        }
        if style == Style::Other {
            return true;
        }
        // Sigils belong to the name.
        let before = before.trim_end_matches(['$', '@', '%']);
        let is_variable = before.len() < self.before.len();
        let before = before.trim_end();
        let before = match before.strip_suffix("*/").and_then(|rest| rest.rfind("/*")) {
            Some(start) => before[..start].trim_end(),
            None => before,
        };
        if DECLARING.contains(&last_word(before)) && before.ends_with(is_word) {
            return true;
        }
        if self.is_operand() {
            return false;
        }
        let candidate = Self { before, ..self };
        match style {
            Style::Typed | Style::TypedC => candidate.may_define_typed(),
            Style::Python => candidate.may_define_in_python(),
            Style::Go => candidate.may_define_in_go(),
            Style::Rust => candidate.may_define_in_rust(),
            Style::Script => candidate.may_define_in_script(),
            Style::Ruby => candidate.may_define_in_ruby(),
            Style::Php => candidate.may_define_in_php(is_variable),
            Style::Cmake => before.ends_with('(') || candidate.may_follow(),
            Style::Nix => before.ends_with('.') || candidate.may_follow(),
            Style::Shell => after.starts_with('=') || candidate.may_follow(),
            Style::Keyword | Style::Other => candidate.may_define_by_keyword(),
        }
    }

    /// Returns true if the name is the operand of an operator or the receiver of a call.
    fn is_operand(self) -> bool {
        if matches!(self.style, Style::Shell | Style::Cmake | Style::Nix) {
            return false;
        }
        let after = self.after;
        let spaced = after.trim_start();
        let is_member = after.starts_with('.') && !after.starts_with("...");
        let is_scope = after.starts_with("::") && self.style != Style::Ruby;
        is_member
            || is_scope
            || after.starts_with("->")
            || after.starts_with("?.")
            || OPERATORS.iter().any(|operator| spaced.starts_with(operator))
                && !spaced.starts_with("->")
                && !spaced.starts_with("||=")
    }

    /// Counts the unclosed brackets before the name.
    fn depth(self) -> usize {
        let mut depth = 0_usize;
        for c in self.before.chars() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        depth
    }

    fn ends_with<const N: usize>(self, ends: [char; N]) -> bool {
        self.code.trim_end().ends_with(ends)
    }

    /// Returns the first character after the name that isn't white space.
    fn next(self) -> Option<char> {
        self.after.trim_start().chars().next()
    }

    /// Returns true if the name is the first word of its statement.
    fn is_first(self) -> bool {
        self.before.is_empty() || self.before.ends_with(['{', ';', '}'])
    }

    /// Returns true if a single `=` follows.
    fn is_assigned(self) -> bool {
        let after = self.after.trim_start();
        let is_single = after.starts_with('=') && !after.starts_with("==") && !after.starts_with("=>");
        is_single || after.starts_with("||=")
    }

    /// Returns true if the name follows a comma in a list of declared names, e.g. `a, b = 1, 2`.
    fn is_listed(self) -> bool {
        self.before.ends_with(',') && self.depth() == 0
    }

    fn may_define_typed(self) -> bool {
        let Self { style, code, before, .. } = self;
        if self.depth() > 0 {
            // This may be a record, a function type, or a macro that creates functions, e.g.
            // `TEST(Suite, Name) {`.
            let first = first_word(code);
            let is_macro = style == Style::TypedC
                && before.trim_start().len() > first.len()
                && first.chars().next().is_some_and(char::is_uppercase)
                && (code.trim_end().ends_with(['{', '}', ')']) || !code.starts_with(' '));
            let has = |word: &str| code.split(|c| !is_word(c)).any(|other| other == word);
            let is_head = ["record", "class", "struct", "typedef", "using"].into_iter().any(has);
            let is_pointer = before.ends_with(['*', '^']) && matches!(self.next(), Some(')' | '(' | '['));
            return is_head || is_macro || is_pointer || before.trim_start() == "(";
        }
        if self.is_type() {
            return false;
        }
        if self.is_first() {
            let has_body = code.contains("=>") || code.contains('{');
            let is_call =
                self.next() == Some('(') && style == Style::Typed && self.ends_with([';']) && !has_body;
            let is_constant = self.name().chars().all(|c| c.is_uppercase() || c == '_' || c.is_numeric());
            let is_assignment = self.is_assigned() && self.ends_with([';']) && !is_constant;
            return !is_call && !is_assignment;
        }
        // C# implements a method of an interface under its qualified name, and Dart names constructors.
        let is_explicit = before.ends_with('.')
            && !before.contains('=')
            && matches!(self.next(), Some('(' | '<' | '{' | '='))
            && (!self.ends_with([';']) || ["=>", " = ", " : "].iter().any(|sign| code.contains(sign)));
        is_explicit
            || self.is_listed()
            || before.ends_with(['?', ':']) && !before.ends_with("::") && style == Style::TypedC
            || before.ends_with('?')
            || self.may_follow()
    }

    /// Returns true if the name is the type of another name that follows.
    fn is_type(self) -> bool {
        let mut after = self.after.trim_start();
        if let Some(generic) = after.strip_prefix('<') {
            let mut depth = 1_usize;
            let end = generic.find(|c| {
                match c {
                    '<' => depth += 1,
                    '>' => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
            let Some(end) = end else { return false };
            after = generic[end + 1..].trim_start();
        }
        let after = after.trim_start_matches("[]").trim_start_matches(['*', '&', '?', '.', ' ']);
        let word = first_word(after);
        let is_macro =
            word.chars().all(|c| c.is_uppercase() || c == '_') && after[word.len()..].starts_with('(');
        after.starts_with(|c| is_word(c) || c == '$') && !FOLLOWING.contains(&word) && !is_macro
    }

    fn name(self) -> &'l str {
        &self.code[self.start..self.code.len() - self.after.len()]
    }

    fn may_define_in_python(self) -> bool {
        // For example `(a, b) = …`. A line may also have several statements, or both the head and the body of
        // a block.
        let before = self.before.rsplit([';', ':']).next().unwrap_or_default();
        let before = before.trim_start().trim_start_matches(['(', '[']);
        let is_target = before.is_empty() || before.ends_with(',') && !before.contains(['(', '[', '=']);
        let is_after_keyword = matches!(last_word(before), "as" | "global" | "nonlocal" | "for");
        let continues = matches!(self.next(), Some('=' | ':' | ',' | ')' | ']' | '\\') | None);
        is_after_keyword || is_target && continues && self.code.contains(['=', ':'])
    }

    fn may_define_in_go(self) -> bool {
        let after = self.after.trim_start();
        let is_group = ["const", "var", "type"].contains(&first_word(self.code));
        // `:=` declares a local variable, which is in no outline.
        if after.starts_with(":=") || self.depth() > 0 && !is_group {
            return false;
        }
        self.before.is_empty() || self.is_listed() || self.before.ends_with([')', '{', '(', ';'])
    }

    fn may_define_in_rust(self) -> bool {
        let after = self.after.trim_start();
        if self.before.ends_with('!') {
            return true;
        }
        let is_after_word = matches!(
            last_word(self.before),
            "pub" | "static" | "mut" | "ref" | "crate" | "type" | "macro_rules" | "unsafe"
        );
        let is_member = self.before.is_empty()
            || self.before.ends_with(['{', ',', ']', ')', '(', '\'', '|'])
            || is_after_word;
        let is_call = after.starts_with('(') && !self.ends_with([',', '}']);
        is_member && !is_call && !after.starts_with(['!', '?', ';']) || is_after_word
    }

    fn may_define_in_script(self) -> bool {
        let after = self.after.trim_start();
        if first_word(self.code) == "import" {
            return false;
        }
        if self.before.ends_with(is_word) {
            return !USING.contains(&last_word(self.before));
        }
        let is_head =
            ["):", "=>", "{"].iter().any(|sign| after.contains(sign)) || self.name() == "constructor";
        let is_call = after.starts_with('(') && self.ends_with([';', ')']) && !is_head;
        let is_key = self.next() == Some(':');
        let is_value = self.is_assigned() || is_key || after.starts_with('(');
        !is_call
            && (self.may_follow()
                || self.before.ends_with('.') && self.is_assigned()
                || self.before.ends_with(',') && is_key
                || self.before.ends_with(['*', '#']) && is_value)
    }

    fn may_define_in_ruby(self) -> bool {
        let Self { before, .. } = self;
        let first = first_word(self.code);
        if before.ends_with(':') && !before.ends_with("::") {
            return self.code.trim_start().starts_with(':')
                || before.contains("alias_method")
                || first.contains("attr")
                || first.starts_with("define")
                || first.starts_with("alias")
                || RUBY_MACROS.contains(&first);
        }
        let is_after_word =
            matches!(last_word(before), "alias" | "self" | "private" | "public" | "protected");
        let is_nested = before.ends_with("::") && matches!(first, "class" | "module");
        is_after_word
            || is_nested
            || before.ends_with('.') && first == "def"
            || self.is_assigned() && (self.is_first() || before.ends_with("::") || self.is_listed())
            || self.next() == Some(',') && before.is_empty() && self.code.contains('=')
            || before.ends_with("<<")
            || before.ends_with(['"', '\''])
                && ["attr", "define", "alias"].iter().any(|word| before.contains(word))
    }

    fn may_define_by_keyword(self) -> bool {
        let has = |keywords: &[&str]| self.before.split(|c| !is_word(c)).any(|word| keywords.contains(&word));
        let is_extension = self.before.ends_with('.') && has(&["fun", "val", "var"]);
        let is_pattern = self.depth() > 0 && has(&["val", "var", "let"]) || is_extension;
        is_pattern || last_word(self.before) == "case" || self.may_follow()
    }

    fn may_define_in_php(self, is_variable: bool) -> bool {
        let Self { before, code, .. } = self;
        if is_variable {
            let follows_type =
                before.ends_with(|c| is_word(c) || c == '?' || c == '&' || c == ')' || c == '.');
            let modifiers = ["public", "private", "protected", "var", "readonly", "static"];
            let is_property = code.split(|c| !is_word(c)).any(|word| modifiers.contains(&word));
            return is_property && (follows_type || self.is_listed())
                || self.is_first() && self.is_assigned() && self.depth() == 0;
        }
        // The type of a constant may come before its name.
        let is_constant = before.split_whitespace().take(4).any(|word| word == "const");
        is_constant || before.ends_with(['&', '\'', '"', '\\']) || last_word(before) == "case"
    }

    /// Returns true if a definition's name may follow the text before it, judging by its last word or sign.
    fn may_follow(self) -> bool {
        let before = self.before;
        match before.chars().next_back() {
            None => true,
            Some(c) if is_word(c) => !USING.contains(&last_word(before)),
            // For example a type before the name, a block, a quoted name, an attribute, or the `::` of a
            // method that is defined outside its class.
            Some(
                '*' | '&' | '>' | ']' | ')' | '{' | '}' | ';' | '"' | '\'' | '`' | '@' | '#' | '~' | '-',
            ) => true,
            Some(':') => before.ends_with("::"),
            Some('.') => {
                before.trim_start().starts_with("function") || before.trim_start().starts_with("def ")
            }
            Some('(') => before.trim_start() == "(",
            Some(',') => self.is_listed(),
            Some(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use forage_base::Stop;

    use crate::languages::DefinitionKind;
    use crate::outline::{may_define, outline};

    /// Uses the sources with which the grammars are tested, in all languages.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the sources are in the repository")]
    fn every_definition_that_a_parser_finds_may_be_one_by_its_line() {
        let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../forage-syntax/tests");
        let directories =
            std::fs::read_dir(tests.join("fixtures")).unwrap().map(|entry| entry.unwrap().path());
        let (mut looked_at, mut missed) = (0, Vec::new());
        for directory in directories.chain([tests.join("traps")]) {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let Ok(text) = std::fs::read_to_string(&path) else { continue };
                let path = path.file_name().unwrap().to_string_lossy();
                let found = outline(&path, &text, &Stop::never());
                let lines: Vec<&str> = forage_fs::lines(&text).collect();
                for it in found.definitions.iter().chain(&found.fields) {
                    let line = lines[it.line as usize - 1];
                    let is_listed = !matches!(it.kind, DefinitionKind::Extension | DefinitionKind::Heading);
                    if found.is_by_line || !is_listed || !line.contains(&it.name) {
                        continue;
                    }
                    looked_at += 1;
                    if !may_define(&path, line, &it.name) {
                        missed.push(format!("{path}: {} {}: {}", it.word, it.name, line.trim()));
                    }
                }
            }
        }
        assert!(looked_at > 1_000, "{looked_at}");
        assert_eq!(missed, [""; 0]);
    }

    #[test]
    fn definitions_in_unusual_places_are_candidates() {
        for (path, line, name) in [
            ("a.nim", "proc name() = discard", "name"),
            ("a.rkt", "(define name 1)", "name"),
            ("a.php", "    private static ?int $name = 1;", "$name"),
            ("a.ts", "  * name () {},", "name"),
            ("a.ts", "  name (a,", "name"),
            ("a.go", "type I interface { M1(); name() }", "name"),
            ("a.go", "const ( A = 1; name = 2 )", "name"),
            ("a.py", "a = 1; name = 2", "name"),
            ("a.py", "if a: name = 1", "name"),
            ("a.rb", "NAME ||= 1", "NAME"),
            ("a.cpp", "int (*name[3])(int);", "name"),
            ("a.kt", "fun (() -> Unit).name() {}", "name"),
        ] {
            assert!(may_define(path, line, name), "{path}: {line}");
        }
        assert!(may_define("a.c", &"name(name, a); ".repeat(100_000), "name"));
    }

    #[test]
    fn lines_that_only_use_a_name_are_no_candidates() {
        for (path, line) in [
            ("a.java", "    Name name = new Name();"),
            ("a.java", "    public Name<String>[] get() {"),
            ("a.java", "    Name(a);"),
            ("a.java", "    b.get(Name, a);"),
            ("a.java", "     * A {@link Name} that counts."),
            ("a.c", "    Name *name;"),
            ("a.cs", "    private readonly Name? name;"),
            ("a.py", "    Name(a)"),
            ("a.py", "    Name.get(a)"),
            ("a.go", "    Name.Get(a)"),
            ("a.rs", "    Name(a)?;"),
            ("a.ts", "import { Name } from './name'"),
            ("a.rb", "    Name.get a"),
            ("a.php", "    private Name $name;"),
        ] {
            assert!(!may_define(path, line, "Name"), "{path}: {line}");
        }
    }
}

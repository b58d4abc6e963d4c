//! Recognises the definition that begins on a line.

use crate::languages::{CommentStyle, DefinitionKind, LanguageRow, SyntaxQuirk};
use crate::limits;

/// The definition that a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SymbolDefinition<'a> {
    pub(crate) name: &'a str,
    pub(super) kind: DefinitionKind,
}

/// Words that are not names in any language with braces.
pub(crate) const STATEMENTS: &[&str] = &[
    "case", "catch", "do", "else", "for", "function", "if", "import", "new", "return", "switch", "throw",
    "try", "while",
];

/// More words that may precede a parenthesis without being called, in some language.
const CONTROL: &[&str] = &[
    "except",
    "finally",
    "with",
    "match",
    "when",
    "foreach",
    "elseif",
    "elsif",
    "unless",
    "until",
    "await",
    "yield",
    "typeof",
    "sizeof",
    "super",
    "lock",
    "using",
    "fixed",
    "defined",
    "assert",
    "delete",
    "goto",
    "not",
    "and",
    "or",
    "in",
    "is",
    "require",
    "synchronized",
    "constructor",
];

fn is_control(word: &str) -> bool {
    is_one_of(STATEMENTS, word) || is_one_of(CONTROL, word)
}

/// Words before the keyword of a definition.
const MODIFIERS: &[&str] = &[
    "pub",
    "public",
    "private",
    "protected",
    "internal",
    "fileprivate",
    "open",
    "export",
    "default",
    "declare",
    "async",
    "static",
    "abstract",
    "final",
    "sealed",
    "override",
    "virtual",
    "partial",
    "readonly",
    "ref",
    "unsafe",
    "extern",
    "inline",
    "noinline",
    "suspend",
    "operator",
    "infix",
    "tailrec",
    "external",
    "expect",
    "actual",
    "data",
    "value",
    "annotation",
    "inner",
    "companion",
    "lateinit",
    "case",
    "implicit",
    "lazy",
    "constexpr",
    "consteval",
    "explicit",
    "friend",
    "mutable",
    "volatile",
    "register",
    "noexcept",
    "local",
    "mutating",
    "nonmutating",
    "indirect",
    "convenience",
    "required",
    "dynamic",
    "weak",
    "unowned",
    "optional",
    "isolated",
    "nonisolated",
    "synchronized",
    "transient",
    "native",
    "strictfp",
    "threadlocal",
    "comptime",
    "callconv",
    "transparent",
    "opaque",
    "rec",
    "private_class_method",
    "module_function",
    "auto",
];

/// Parses the definition that begins on a line, if there is one. `line` must be code without its comment.
pub(crate) fn definition<'a>(line: &'a str, language: &LanguageRow) -> Option<SymbolDefinition<'a>> {
    let line = &line[..line.floor_char_boundary(limits::DEFINITION_BYTES)];
    let trimmed = line.trim();
    let outermost = !line.starts_with([' ', '\t']);
    if language.style == CommentStyle::Prose {
        let heading = trimmed.strip_prefix('#')?.trim_start_matches('#');
        // A line indented by four columns is code, and `#word` is not a heading.
        let is_heading = heading.starts_with([' ', '\t']) && super::indent(line) < 4;
        let heading = heading.trim();
        return (is_heading && !heading.is_empty())
            .then_some(SymbolDefinition { name: heading, kind: DefinitionKind::Heading });
    }
    if language.style == CommentStyle::Sql {
        return created(trimmed);
    }
    if language.has(SyntaxQuirk::SignedMethods) && trimmed.starts_with(['-', '+']) {
        // `- (void)take:(int)count`
        let (_, after) = trimmed.split_once(')')?;
        let kind =
            if trimmed.ends_with(';') { DefinitionKind::Declaration } else { DefinitionKind::Function };
        return identifier(after.trim_start()).map(|name| SymbolDefinition { name, kind });
    }
    let (keyword, modified, rest) = keyword(trimmed, language);
    if let Some(kind) = keyword {
        return named(rest, kind, line, language, outermost);
    }
    let found = match language.style {
        CommentStyle::C => c_function(trimmed, outermost),
        CommentStyle::Java => typed_function(trimmed, modified, rest),
        CommentStyle::JavaScript => javascript(trimmed, rest, outermost),
        CommentStyle::Python if outermost => {
            let name = assigned(trimmed, "=").or_else(|| assigned(trimmed, ":"));
            name.filter(|name| !is_control(name))
        }
        CommentStyle::Ruby => {
            assigned(trimmed, "=").filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
        }
        CommentStyle::Haskell if outermost => {
            let name = identifier(trimmed)?;
            let after = trimmed[name.len()..].trim_start();
            return (after.starts_with("::") || after.starts_with(','))
                .then_some(SymbolDefinition { name, kind: DefinitionKind::Function });
        }
        CommentStyle::Lua => return lua_function(trimmed, outermost),
        CommentStyle::Shell => return shell_definition(trimmed),
        _ => None,
    }?;
    let constant = matches!(language.style, CommentStyle::Python | CommentStyle::Ruby);
    let kind = if constant {
        DefinitionKind::Constant
    } else if trimmed.ends_with(';') && language.style == CommentStyle::C {
        DefinitionKind::Declaration
    } else {
        DefinitionKind::Function
    };
    Some(SymbolDefinition { name: found, kind })
}

/// Parses the leading keywords and modifiers. Returns the kind for the last keyword, true if there are
/// modifiers, and the rest of the line.
fn keyword<'a>(trimmed: &'a str, language: &LanguageRow) -> (Option<DefinitionKind>, bool, &'a str) {
    let mut rest = trimmed;
    let mut found = None;
    let mut modified = false;
    loop {
        let end = rest.bytes().position(|byte| matches!(byte, b' ' | b'\t' | b'<' | b':' | b'\''));
        let word = &rest[..end.unwrap_or(rest.len())];
        // `(record Name` and similar keywords include the parenthesis.
        let first = word.as_bytes().first();
        let is_word = |keyword: &&&str| {
            keyword.as_bytes().first() == first
                && (**keyword == word || keyword.ends_with('(') && word.starts_with(**keyword))
        };
        let mut known = language.keywords.iter();
        if let Some((kind, keyword)) =
            known.find_map(|(kind, words)| Some((*kind, words.iter().find(is_word)?)))
        {
            found = Some(kind);
            rest = rest[keyword.len()..].trim_start();
            continue;
        }
        if found.is_some() {
            return (found, modified, rest);
        }
        // `pub(crate)`, `private(set)`, `private[scope]`, `extern "C"`, `template <class T>`.
        let bracket = word.bytes().position(|byte| matches!(byte, b'(' | b'['));
        let bare = match bracket.map(|at| (&word[..at], word.as_bytes()[at])) {
            Some((scoped @ ("private" | "protected"), b'[')) => scoped,
            _ => word.split('(').next().unwrap_or(word),
        };
        if is_one_of(MODIFIERS, bare) {
            modified = true;
            rest = &rest[bare.len()..];
            if rest.starts_with('(') {
                rest = after_bracket(rest, '(', ')');
            } else if rest.starts_with('[') {
                rest = after_bracket(rest, '[', ']');
            }
            rest = rest.trim_start();
            if let Some(quoted) = rest.strip_prefix('"') {
                rest = quoted.split_once('"').map_or("", |(_, after)| after).trim_start();
            }
            continue;
        }
        if word == "template" && rest["template".len()..].trim_start().starts_with('<') {
            rest = after_bracket(rest["template".len()..].trim_start(), '<', '>').trim_start();
            continue;
        }
        if word.starts_with('@') && rest.len() > word.len() && !word.contains('(') {
            // An annotation comes before its target.
            rest = rest[word.len()..].trim_start();
            continue;
        }
        return (found, modified, rest);
    }
}

/// Searches a list. Comparing first letters rejects most words quickly.
fn is_one_of(list: &[&str], word: &str) -> bool {
    let first = word.as_bytes().first();
    list.iter().any(|known| known.as_bytes().first() == first && *known == word)
}

/// Skips the bracket that `text` begins with. The rest is empty if this bracket isn't closed on the line.
fn after_bracket(text: &str, open: char, close: char) -> &str {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        if character == open {
            depth += 1;
        } else if character == close {
            depth -= 1;
            if depth == 0 {
                return &text[at + close.len_utf8()..];
            }
        }
    }
    ""
}

/// Parses the definition after its keyword.
fn named<'a>(
    rest: &'a str,
    kind: DefinitionKind,
    line: &'a str,
    language: &LanguageRow,
    outermost: bool,
) -> Option<SymbolDefinition<'a>> {
    let mut rest = rest;
    if kind == DefinitionKind::Constant && is_local(line, language, outermost) {
        return None;
    }
    if language.style == CommentStyle::Zig && kind == DefinitionKind::Constant {
        return zig_constant(rest, line, outermost);
    }
    if language.has(SyntaxQuirk::QuotedNames) {
        // `resource "kind" "name" {`
        let name = rest.split('"').nth_back(1)?;
        return (outermost && !name.is_empty()).then_some(SymbolDefinition { name, kind });
    }
    if language.has(SyntaxQuirk::ReceiverInBrackets) && rest.starts_with('(') {
        rest = after_bracket(rest, '(', ')').trim_start();
    }
    if (language.has(SyntaxQuirk::TypeParametersFirst) || kind == DefinitionKind::Extension)
        && rest.starts_with('<')
    {
        rest = after_bracket(rest, '<', '>').trim_start();
    }
    if language.has(SyntaxQuirk::NameBeforeBracket)
        && let Some((head, _)) = rest.split_once('(')
        && !head.contains([':', '{'])
    {
        // `delegate void Name(`, `record Name(`
        let head = if head.ends_with('>') { head.split('<').next().unwrap_or(head) } else { head };
        return last_name(head.trim_end()).map(|name| SymbolDefinition { name, kind });
    }
    if kind == DefinitionKind::Function
        && rest.starts_with('(')
        && (language.style == CommentStyle::JavaScript || language.has(SyntaxQuirk::NamelessFunctions))
    {
        // An anonymous function.
        return None;
    }
    if language.style == CommentStyle::Haskell && kind != DefinitionKind::Module {
        // `class (Monad m) => Name a`
        rest = rest.split_once("=>").map_or(rest, |(_, after)| after.trim_start());
    }
    if kind == DefinitionKind::Extension {
        return extended(rest).map(|name| SymbolDefinition { name, kind });
    }
    if language.style == CommentStyle::C {
        return c_type(line.trim(), rest, kind, outermost);
    }
    if language.style == CommentStyle::JavaScript && kind == DefinitionKind::Constant {
        return javascript_constant(rest);
    }
    if language.has(SyntaxQuirk::ReceiverWithDot) && kind == DefinitionKind::Function {
        let head = rest.split('(').next().unwrap_or(rest);
        return last_name(head.trim()).map(|name| SymbolDefinition { name, kind });
    }
    if language.has(SyntaxQuirk::OfAnObject) {
        rest = rest.trim_start_matches("<<").trim_start_matches([':', ' ']);
        rest = rest.strip_prefix("self.").unwrap_or(rest);
    }
    rest = rest.trim_start_matches(['&', '*', ':', '`', '(']);
    let end = rest
        .find(|character: char| !(character.is_alphanumeric() || "_.:?!$'-".contains(character)))
        .unwrap_or(rest.len());
    let name = rest[..end].trim_end_matches([':', '.', '-', '\'']);
    last_name(name).map(|name| SymbolDefinition { name, kind })
}

/// Returns true if a constant is a local variable. We leave these out, as no query looks for them.
fn is_local(line: &str, language: &LanguageRow, outermost: bool) -> bool {
    match language.style {
        CommentStyle::JavaScript | CommentStyle::C => !outermost,
        // We only want members of a type, and nothing within functions.
        CommentStyle::Keywords => line.len() - line.trim_start().len() > language.members_to(),
        _ => false,
    }
}

/// Matches `name = function(` and `name <- function(`, and other values of an exported `M.name`.
fn lua_function(trimmed: &str, outermost: bool) -> Option<SymbolDefinition<'_>> {
    let name = trimmed.strip_prefix("local ").unwrap_or(trimmed);
    let (left, right) = name.split_once(['=']).or_else(|| name.split_once("<-"))?;
    let right = right.trim_start_matches('-').trim_start();
    let left = left.trim_end_matches(['<', ' ']);
    let is_defined = right.starts_with("function") || outermost && left.starts_with("M.");
    let name = is_defined.then(|| last_name(left.trim())).flatten()?;
    Some(SymbolDefinition { name, kind: DefinitionKind::Function })
}

/// Matches `name() {` and `list=()`.
fn shell_definition(trimmed: &str) -> Option<SymbolDefinition<'_>> {
    let name = trimmed.split(['(', ' ']).next()?;
    let after = trimmed[name.len()..].trim_start();
    if let Some(name) = name.strip_suffix('=').filter(|_| after.starts_with('(')) {
        return identifier(name).map(|name| SymbolDefinition { name, kind: DefinitionKind::Constant });
    }
    let is_function = after.starts_with("()") && !name.is_empty() && !is_control(name);
    is_function.then_some(SymbolDefinition { name, kind: DefinitionKind::Function })
}

/// Matches `name = struct {` and other constants. Those within functions must be types.
fn zig_constant<'a>(rest: &'a str, line: &str, outermost: bool) -> Option<SymbolDefinition<'a>> {
    let name = identifier(rest)?;
    let value = rest.split_once('=').map_or("", |(_, value)| value).trim_start();
    let value = value.trim_start_matches("extern ").trim_start_matches("packed ");
    let is_type = ["struct", "enum", "union", "error", "opaque"].iter().any(|word| value.starts_with(word));
    let kept = is_type || outermost || line.trim_start().starts_with("pub");
    let kind = if is_type { DefinitionKind::Type } else { DefinitionKind::Constant };
    kept.then_some(SymbolDefinition { name, kind })
}

/// Matches `name = value`, where the value may be a function.
fn javascript_constant(rest: &str) -> Option<SymbolDefinition<'_>> {
    let name = identifier(rest)?;
    let value = rest.split_once('=').map_or("", |(_, value)| value).trim_start();
    let function = value.contains("=>") || value.starts_with("function") || value.starts_with("async");
    let kind = if function { DefinitionKind::Function } else { DefinitionKind::Constant };
    Some(SymbolDefinition { name, kind })
}

/// Matches `CREATE OR REPLACE FUNCTION schema.name(` and `create table if not exists name`.
fn created(trimmed: &str) -> Option<SymbolDefinition<'_>> {
    const BEFORE: &[&str] =
        &["or", "replace", "temp", "temporary", "global", "unlogged", "unique", "materialized", "virtual"];
    let mut words = trimmed.split_whitespace();
    let is = |word: &str, known: &[&str]| known.iter().any(|known| known.eq_ignore_ascii_case(word));
    words.next().filter(|word| is(word, &["create"]))?;
    let mut words = words.skip_while(|word| is(word, BEFORE));
    let what = words.next()?;
    let kind = match what {
        _ if is(what, &["table", "view", "type", "domain"]) => DefinitionKind::Type,
        _ if is(what, &["function", "procedure", "trigger"]) => DefinitionKind::Function,
        _ if is(what, &["schema", "database", "extension"]) => DefinitionKind::Module,
        _ if is(what, &["index", "sequence"]) => DefinitionKind::Constant,
        _ => return None,
    };
    let name = words.find(|word| !is(word, &["concurrently", "if", "not", "exists"]))?;
    let name = name.split(['(', ';']).next()?;
    last_name(name.trim_matches(['"', '`', '[', ']']))
        .map(|name| SymbolDefinition { name: name.trim_start_matches(['"', '`', '[']), kind })
}

/// Parses the type in `impl Trait for Type<T>` or `extension Type: Protocol`, and the class in
/// `instance Class Type`.
fn extended(rest: &str) -> Option<&str> {
    let mut target = rest.split(" for ").nth(1).unwrap_or(rest).trim_start_matches(['&', '(', ' ']);
    if target.starts_with('\'') {
        // `&'a mut Type`
        target = target.split_once(' ').map_or("", |(_, after)| after);
    }
    for word in ["mut ", "dyn "] {
        target = target.strip_prefix(word).unwrap_or(target);
    }
    let end = target.find(|c: char| !(c.is_alphanumeric() || "_.:".contains(c))).unwrap_or(target.len());
    last_name(target[..end].trim_end_matches([':', '.']))
}

/// Finds the last of several names that are separated by dots or colons, without trailing marks.
fn last_name(name: &str) -> Option<&str> {
    let last = name[last_name_start(name)..].trim_end_matches(['?', '!', '=']);
    last.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$').then_some(last)
}

/// Returns the offset of the last of several names. The length of this name doesn't give the offset because
/// trailing marks are removed.
fn last_name_start(name: &str) -> usize {
    name.rfind(['.', ':', '>', ' ']).map_or(0, |at| at + 1)
}

fn identifier(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_$'".contains(c))).unwrap_or(text.len());
    let name = &text[..end];
    name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$').then_some(name)
}

/// Parses the name that is assigned to, if only this name comes before the sign.
fn assigned<'a>(trimmed: &'a str, sign: &str) -> Option<&'a str> {
    let name = identifier(trimmed)?;
    let after = trimmed[name.len()..].trim_start();
    (after.starts_with(sign) && !after.starts_with("==")).then_some(name)
}

/// Matches `struct Name {`, `class EXPORT Name : public Base`, `namespace name`, `typedef … Name;` and
/// `#define NAME`. A line that begins with a type may also define a function or a value of this type.
fn c_type<'a>(
    trimmed: &'a str,
    rest: &'a str,
    kind: DefinitionKind,
    outermost: bool,
) -> Option<SymbolDefinition<'a>> {
    let before = trimmed[..trimmed.len() - rest.len()].trim_end();
    let is_typedef = before.split(' ').any(|word| word == "typedef");
    let is_tag = ["struct", "class", "union", "enum"].iter().any(|word| before.ends_with(word));
    let rest = if is_tag { without_attributes(rest) } else { rest };
    if is_tag && !is_typedef {
        let head = rest.split(['{', ';']).next().unwrap_or(rest).trim_end();
        // `Name : public Base<int (*)()>`, but not `name::Type`.
        let has_bases = head.replace("::", "").contains(':');
        if let Some(open) = head.find('(').filter(|_| !has_bases)
            && is_returned(&head[..open])
        {
            let name = c_function(rest, outermost)?;
            let is_declaration = trimmed.ends_with(';');
            let kind = if is_declaration { DefinitionKind::Declaration } else { DefinitionKind::Function };
            return Some(SymbolDefinition { name, kind });
        }
        if let Some((left, _)) = head.split_once('=').filter(|_| !has_bases) {
            let left = left.split('[').next().unwrap_or(left).trim_end();
            let name = &left[left.rfind(['*', '&', ' '])? + 1..];
            return (outermost && identifier(name) == Some(name))
                .then_some(SymbolDefinition { name, kind: DefinitionKind::Constant });
        }
        // A parameter or a field of this type defines no type.
        let is_parameter = head.ends_with([',', ')']) || head.contains('*');
        let is_member = rest.ends_with(';') && !outermost;
        if !has_bases && (is_parameter && !rest.contains('{') || is_member) {
            return None;
        }
    }
    if rest.ends_with(';')
        && kind == DefinitionKind::Type
        && !rest.contains('=')
        && (is_typedef || !rest.contains('{'))
    {
        // A forward declaration, or a typedef, whose name comes last.
        let name = last_name(rest.trim_end_matches(';').trim_end_matches(')').trim_end())?;
        let several = rest.contains(' ');
        return several.then_some(SymbolDefinition { name, kind: DefinitionKind::Declaration });
    }
    let head = rest.split(['{', ':', '(', '=', '<', ';']).next()?.trim();
    if head.is_empty() {
        return None;
    }
    // Visibility macros precede the name.
    let name = if kind == DefinitionKind::Constant {
        identifier(rest)?
    } else {
        head.split(' ').rev().find(|word| *word != "final" && identifier(word) == Some(word))?
    };
    Some(SymbolDefinition { name, kind })
}

/// Checks whether the text between the keyword of a type and a bracket is a type followed by the name of a
/// function, e.g. `Type *name`.
fn is_returned(head: &str) -> bool {
    let head = head.trim_end();
    let start = head.rfind(['*', '&', ' ']).map_or(0, |at| at + 1);
    start > 0 && !head.contains('<')
}

/// Skips `__attribute__((…))`, `alignas(…)` and similar macros.
fn without_attributes(rest: &str) -> &str {
    let name = identifier(rest).unwrap_or_default();
    let is_attribute = matches!(name, "__attribute__" | "alignas" | "__declspec")
        || !name.is_empty() && !name.chars().any(char::is_lowercase);
    match rest[name.len()..].starts_with('(') && is_attribute {
        true => without_attributes(after_bracket(&rest[name.len()..], '(', ')').trim_start()),
        false => rest,
    }
}

/// Matches `type name(`, either not indented or indented with a body.
fn c_function(trimmed: &str, outermost: bool) -> Option<&str> {
    // Most lines are indented and don't open a body, so we check this first.
    if !outermost && !trimmed.ends_with(['{', '}']) {
        return None;
    }
    let open = trimmed.find('(')?;
    let head = trimmed[..open].trim_end();
    // These occur in expressions and calls, but not in the head of a function.
    let is_value = |byte: u8| b"=.\"{+-!?,|#".contains(&byte);
    if head.bytes().any(is_value) || head.ends_with("operator") {
        return None;
    }
    // `type *name(`, `Type::~Type(`
    let start = head.rfind(['*', '&', '~']).map_or(0, |at| at + 1);
    let name = last_name(&head[start..])?;
    if is_control(name) || is_control(head.split(' ').next()?) {
        return None;
    }
    let typed = head.len() > name.len() && head.contains([' ', '*', '&', ':']);
    if trimmed.ends_with(';') {
        return (typed && outermost).then_some(name);
    }
    let opens =
        trimmed.ends_with(['{', ',', '(', ')']) || trimmed.ends_with("const") || trimmed.ends_with('}');
    (opens && (outermost || (typed && trimmed.ends_with(['{', '}'])))).then_some(name)
}

/// Matches `modifiers type name(arguments)`. Constructors have modifiers and no type.
fn typed_function<'a>(trimmed: &'a str, modified: bool, rest: &'a str) -> Option<&'a str> {
    // Without a modifier, this may be a call.
    if trimmed.ends_with(';') && !modified {
        return None;
    }
    let open = rest.find('(')?;
    let head = rest[..open].trim_end();
    if head.contains(['=', '"', '{', '+', '!', '|', '(']) || head.starts_with([':', '?']) || head.is_empty() {
        return None;
    }
    let head = match head.find('<') {
        // `name<T>(`
        Some(at) if head.ends_with('>') && !head[..at].is_empty() => &head[..at],
        _ => head,
    };
    let name = last_name(head)?;
    if is_control(name) || is_control(head.split(' ').next()?) || head.contains("->") {
        return None;
    }
    let typed = head[..last_name_start(head)].ends_with(' ');
    (typed || modified).then_some(name)
}

/// Matches `name(arguments) {`, `name = (arguments) =>`, `name: function`, `exports.name =` and
/// `Type.prototype.name =`.
fn javascript<'a>(trimmed: &'a str, rest: &'a str, outermost: bool) -> Option<&'a str> {
    let rest =
        ["get ", "set ", "*", "#"].iter().fold(rest, |rest, word| rest.strip_prefix(word).unwrap_or(rest));
    if let Some((left, right)) = rest.split_once('=') {
        let (left, right) = (left.trim_end(), right.trim_start());
        let path = left.split(':').next().unwrap_or(left).trim();
        let function = right.starts_with("function")
            || right.starts_with("async")
            || (right.contains("=>") && (right.starts_with('(') || identifier(right).is_some()));
        let exported = outermost && (path.starts_with("exports.") || path.contains(".prototype."));
        let plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte));
        if plain && !right.starts_with(['=', '>']) && (exported || (function && !path.is_empty())) {
            return last_name(path);
        }
    }
    let name = identifier(rest)?;
    let after = &rest[name.len()..];
    if is_control(name) && name != "constructor" || trimmed.ends_with(';') && !after.starts_with('<') {
        return None;
    }
    if after.starts_with('(')
        && trimmed.ends_with('{')
        && !outermost
        && !trimmed.contains("=>")
        && !trimmed.contains("function")
    {
        return Some(name);
    }
    if let Some(value) = after.strip_prefix(": ") {
        let is_function =
            value.starts_with("function") || value.starts_with("async function") || value.contains(") => {");
        return (is_function && !outermost).then_some(name);
    }
    None
}

//! What one file contributes to an impact: its definitions of the followed names, and its uses of them.

use std::collections::BTreeSet;

use forage_fs::{RelPath, lines};
use forage_rank::{Definition, DefinitionKind, FileOutline, Receiver, Use, UseKind, is_test, language_of};

use super::super::uses::qualifier::{IMPLICIT_MEMBERS, has_word};
use super::super::uses::{GrepWithin, defines, file_name, is_called, within};
use super::imports::{Import, imports};
use super::test_names::test_name;
use super::variable_type::variable_type;
use crate::outlines::Parsed;

/// A file, as far as it matters for resolving names.
#[derive(Debug)]
pub(super) struct FilePlace {
    pub(super) path: RelPath,
    pub(super) language: &'static str,
    /// Languages that use each other's definitions.
    pub(super) family: &'static str,
    /// The names of its directories.
    pub(super) directory: Vec<String>,
    /// These, and the name of the file without its extension, unless it stands for its directory.
    pub(super) parts: Vec<String>,
    pub(super) is_test: bool,
    pub(super) imports: Vec<Import>,
}

impl FilePlace {
    pub(super) fn new(path: &RelPath) -> Self {
        let name = file_name(path);
        let language = language_of(&name).unwrap_or_default();
        let family = match language {
            "typescript" | "vue" | "svelte" => "javascript",
            "jupyter" | "starlark" => "python",
            "c" | "objective-c" => "cpp",
            "kotlin" | "groovy" | "scala" => "java",
            other => other,
        };
        let mut parts: Vec<String> = name.split('/').map(str::to_owned).collect();
        let last = parts.pop().unwrap_or_default();
        let directory = parts.clone();
        let stem = last.strip_suffix(".d.ts").or_else(|| last.rsplit_once('.').map(|(stem, _)| stem));
        let stem = stem.unwrap_or(&last);
        let stands_for_directory = match family {
            "python" => stem == "__init__",
            "javascript" => stem == "index",
            "rust" => matches!(stem, "mod" | "lib" | "main"),
            _ => false,
        };
        if !stands_for_directory {
            parts.push(stem.to_owned());
        }
        let is_test = is_test(&name);
        Self { path: path.clone(), language, family, directory, parts, is_test, imports: Vec::new() }
    }

    /// Returns true if the language imports names from directories rather than from files.
    pub(super) fn names_directories(&self) -> bool {
        matches!(self.family, "go" | "java")
    }
}

/// Where a name is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Container {
    File,
    Class(String),
    /// Lines of the function.
    Function(u32, u32),
}

/// A definition of a followed name.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) container: Container,
    /// The module around it within its file, with its lines.
    module: Option<(String, u32, u32)>,
    pub(super) kind: DefinitionKind,
    pub(super) enclosing: Enclosing,
}

impl Site {
    /// Creates the definition that a change removed.
    pub(super) fn removed(symbol: &str, word: &'static str, lines: (u32, u32)) -> Self {
        let mut names = symbol.rsplit(" > ");
        let name = names.next().unwrap_or(symbol).to_owned();
        let container =
            names.next().map_or(Container::File, |class| Container::Class(bare(class).to_owned()));
        let within = GrepWithin { symbol: symbol.to_owned(), start_line: lines.0, end_line: lines.1 };
        let enclosing = Enclosing { within, word, name, ..Enclosing::default() };
        Self { container, module: None, kind: DefinitionKind::Function, enclosing }
    }

    /// Returns true if the definition is in a type or module of this name.
    pub(super) fn is_qualified(&self, place: &FilePlace, qualifier: &str) -> bool {
        let is_class = matches!(&self.container, Container::Class(name) if name == qualifier);
        is_class
            || self.module_name() == Some(qualifier)
            || self.container == Container::File && place.parts.iter().any(|part| part == qualifier)
    }

    pub(super) fn module_name(&self) -> Option<&str> {
        self.module.as_ref().map(|(name, ..)| name.as_str())
    }

    /// Returns the first of the lines where the bare name means this definition, if `line` is one of them.
    fn visible_from(&self, line: u32, class: Option<&str>, language: &str) -> Option<u32> {
        let module = self.module.as_ref().map(|(_, first, last)| (*first, *last));
        let (first, last) = match &self.container {
            Container::Function(first, last) => (*first, *last),
            Container::File => module.unwrap_or((0, u32::MAX)),
            Container::Class(name)
                if IMPLICIT_MEMBERS.contains(&language) && class == Some(name.as_str()) =>
            {
                module.unwrap_or((0, u32::MAX))
            }
            Container::Class(_) => return None,
        };
        (first..=last).contains(&line).then_some(first)
    }
}

/// A definition around a use.
#[derive(Clone, Debug)]
pub(super) struct Enclosing {
    pub(super) within: GrepWithin,
    pub(super) word: &'static str,
    pub(super) name: String,
    /// The definition to follow in the second step: its name and its first line.
    pub(super) followed: Option<(String, u32)>,
    pub(super) is_in_test: bool,
    /// Its name as a test runner takes it, if it is a test.
    pub(super) test: Option<String>,
}

impl Default for Enclosing {
    fn default() -> Self {
        let within = GrepWithin { symbol: String::new(), start_line: 0, end_line: 0 };
        Self { within, word: "", name: String::new(), followed: None, is_in_test: false, test: None }
    }
}

/// A use of a followed name.
#[derive(Debug)]
pub(super) struct UseFact {
    pub(super) line: u32,
    pub(super) receiver: Option<Receiver>,
    /// The type of the variable that is the receiver.
    pub(super) receiver_type: Option<String>,
    /// The definition in the same file that the bare name means here, by index.
    pub(super) visible: Option<usize>,
    /// True if the function around it has a variable or parameter of this name.
    pub(super) is_shadowed: bool,
    /// The class around it.
    pub(super) class: Option<String>,
    pub(super) enclosing: Option<Enclosing>,
}

/// One name in one file.
#[derive(Debug, Default)]
pub(super) struct NameFacts {
    pub(super) sites: Vec<Site>,
    pub(super) uses: Vec<UseFact>,
    /// Lines with the name in a file without a syntax tree.
    pub(super) unparsed: Vec<u32>,
    /// True if an object of this file has a field of this name that no definition declares.
    pub(super) is_assigned: bool,
    /// True if it imports the name and does not use it otherwise.
    pub(super) is_only_imported: bool,
}

/// Special names of constructors. To use them, a program names their class.
const CONSTRUCTORS: &[&str] = &["__init__", "__new__", "constructor"];

/// Collects the facts about one name.
pub(super) fn name_facts(place: &FilePlace, text: &str, parsed: &Parsed, name: &str) -> NameFacts {
    let outline = &*parsed.outline;
    let all: Vec<&str> = lines(text).collect();
    let around = |at| enclosing(place, outline, &all, at);
    let named = outline.definitions.iter().map(|it| (Some(it), it));
    let named = named.chain(outline.fields.iter().map(|it| (None, it)));
    let own = named
        .enumerate()
        .filter(|(_, (_, it))| is_called(it, name) && defines(it.kind) && it.kind != DefinitionKind::Module);
    let sites: Vec<Site> =
        own.map(|(at, (is_listed, it))| site(outline, it, is_listed.map(|_| around(at)))).collect();
    let Some(uses) = &parsed.uses else {
        let unparsed = (1..).zip(&all).filter(|(_, line)| has_word(line, name)).map(|(number, _)| number);
        return NameFacts { unparsed: unparsed.collect(), sites, ..NameFacts::default() };
    };
    let bindings = bindings(text, &all, outline, uses);
    let is_wanted = |used: &&Use| {
        use UseKind::{Comment, Definition, Import, String};
        !matches!(used.kind, Definition | Comment | String | Import)
            && !is_key(text, used, place.family)
            && !bindings.contains(&(used.line, used.range.start))
    };
    let is_own_field = |used: &&Use| {
        let after = text[used.range.end..].trim_start();
        let is_set = used.receiver == Some(Receiver::Own) && (is_assigned(after) || after.starts_with(": "));
        let mut around = outline.innermost(used.line).into_iter().flat_map(|at| outline.around(at));
        let class = if is_set { around.find_map(class_name) } else { None };
        let is_declared =
            |class: &str| sites.iter().any(|it| it.container == Container::Class(class.to_owned()));
        is_set && !class.is_some_and(is_declared)
    };
    let is_imported = uses.iter().any(|used| used.kind == UseKind::Import);
    let facts = uses.iter().filter(is_wanted).map(|used| {
        let at = outline.innermost(used.line);
        let class = at.and_then(|at| outline.around(at).find_map(class_name));
        let visible_from = |site: &Site| site.visible_from(used.line, class, place.language);
        let visible = sites.iter().enumerate().filter_map(|(at, site)| Some((visible_from(site)?, at)));
        let nearest = visible.max_by_key(|(first, at)| (*first, std::cmp::Reverse(*at)));
        UseFact {
            line: used.line,
            receiver: used.receiver.clone(),
            receiver_type: match &used.receiver {
                Some(Receiver::Variable(name)) => {
                    variable_type((text, &all), outline, (used.range.start, used.line), name)
                }
                _ => None,
            },
            visible: nearest.map(|(_, at)| at),
            is_shadowed: used.receiver.is_none() && is_shadowed(&bindings, outline, used.line),
            class: class.map(str::to_owned),
            enclosing: at.map(&around),
        }
    });
    let facts: Vec<UseFact> = facts.collect();
    let is_assigned = uses.iter().any(|used| is_own_field(&used));
    let is_only_imported = is_imported && facts.is_empty() && sites.is_empty();
    NameFacts { sites, uses: facts, unparsed: Vec::new(), is_assigned, is_only_imported }
}

/// Reads the imports of a file.
pub(super) fn file_imports(place: &FilePlace, text: &str, outline: &FileOutline) -> Vec<Import> {
    imports(place.language, &outline.imports, text)
}

fn site(outline: &FileOutline, it: &Definition, enclosing: Option<Enclosing>) -> Site {
    let mut container = it.scope.as_deref().map(|scope| Container::Class(bare(scope).to_owned()));
    let mut module = None;
    let mut at = it.parent;
    while let Some(around) = at.and_then(|at| outline.definitions.get(at)) {
        let (first, last) = (around.start_line, around.end_line);
        match around.kind {
            DefinitionKind::Module => {
                module.get_or_insert_with(|| (around.name.clone(), first, last));
            }
            DefinitionKind::Heading => {}
            DefinitionKind::Function => {
                container.get_or_insert(Container::Function(first, last));
            }
            _ => {
                container.get_or_insert_with(|| Container::Class(bare(&around.name).to_owned()));
            }
        }
        at = around.parent;
    }
    // A field has no place of its own among the definitions.
    let enclosing = enclosing.unwrap_or_else(|| {
        let symbol = match it.parent {
            Some(at) => format!("{} > {}", within(outline, at).symbol, it.name),
            None => it.name.clone(),
        };
        let within = GrepWithin { symbol, start_line: it.start_line, end_line: it.end_line };
        Enclosing { within, word: it.word, name: it.name.clone(), ..Enclosing::default() }
    });
    Site { container: container.unwrap_or(Container::File), module, kind: it.kind, enclosing }
}

fn enclosing(place: &FilePlace, outline: &FileOutline, lines: &[&str], at: usize) -> Enclosing {
    let it = &outline.definitions[at];
    let is_class = |it: &&Definition| it.kind == DefinitionKind::Type;
    let class = || outline.around(at).find(is_class).map(|class| (class.name.clone(), class.start_line));
    let test = test_name(place, outline, lines, at);
    let followed = match it.kind {
        DefinitionKind::Function if CONSTRUCTORS.contains(&it.name.as_str()) => class(),
        DefinitionKind::Function | DefinitionKind::Type | DefinitionKind::Constant => {
            Some((it.name.clone(), it.start_line))
        }
        _ => None,
    };
    Enclosing {
        within: within(outline, at),
        word: it.word,
        name: it.name.clone(),
        followed: followed.filter(|_| test.is_none()),
        is_in_test: place.is_test || it.is_test,
        test,
    }
}

fn class_name(it: &Definition) -> Option<&str> {
    let is_class = matches!(it.kind, DefinitionKind::Type | DefinitionKind::Extension);
    if is_class { Some(bare(&it.name)) } else { it.scope.as_deref().map(bare) }
}

/// Removes type arguments and qualifiers from the name of a type.
fn bare(name: &str) -> &str {
    let name = name.split(['<', '[', '(', ' ']).next().unwrap_or(name);
    name.rsplit([':', '.', '\\']).next().unwrap_or(name)
}

/// Returns true if a name is a keyword argument or the key of an object, and no use of a definition.
fn is_key(text: &str, used: &Use, family: &str) -> bool {
    if used.receiver.is_some() {
        return false;
    }
    let before = text[..used.range.start].trim_end();
    let after = text[used.range.end..].trim_start();
    let is_colon = after.starts_with(':') && !after.starts_with("::") && !after.starts_with(":=");
    match family {
        "python" => is_assigned(after) && before.ends_with(['(', ',']),
        "javascript" => (is_colon || after.starts_with("?:")) && before.ends_with(['{', ',', ';']),
        "rust" | "go" => is_colon && before.ends_with(['{', ',']),
        _ => false,
    }
}

fn is_assigned(after: &str) -> bool {
    after.starts_with('=') && !after.starts_with("==") && !after.starts_with("=>")
}

/// Lines of a function's head in which we look for parameters.
const HEAD_LINES: u32 = 16;

/// Finds where the name is that of a variable or a parameter: the lines and the places in the text.
fn bindings(text: &str, lines: &[&str], outline: &FileOutline, uses: &[Use]) -> BTreeSet<(u32, usize)> {
    let is_bare = |it: &&Use| matches!(it.kind, UseKind::Code | UseKind::Call) && it.receiver.is_none();
    let binds = |it: &&Use| {
        let around = outline.innermost(it.line).into_iter().flat_map(|at| outline.around(at));
        let has_head =
            |it: &&Definition| matches!(it.kind, DefinitionKind::Function | DefinitionKind::Declaration);
        let is_in_head = around.filter(has_head).any(|head| {
            let max = (head.line + HEAD_LINES).min(head.end_line);
            let ends = |line: u32| {
                let line = lines.get(line as usize - 1).map_or("", |line| line.trim_end());
                line.ends_with(['{', ':', ';']) || line.contains(") {") || line.contains("):")
            };
            let end = (head.line..=max).find(|line| ends(*line)).unwrap_or(max);
            (head.line..=end).contains(&it.line)
        });
        is_binding(text, it, is_in_head)
    };
    uses.iter().filter(is_bare).filter(binds).map(|it| (it.line, it.range.start)).collect()
}

/// Checks whether the outermost function around a line binds the name.
fn is_shadowed(bindings: &BTreeSet<(u32, usize)>, outline: &FileOutline, line: u32) -> bool {
    let around = outline.innermost(line).into_iter().flat_map(|at| outline.around(at));
    let function = around.filter(|it| it.kind == DefinitionKind::Function).last();
    let (first, last) = function.map_or((line, line), |it| (it.line, it.end_line));
    bindings.range((first, 0)..=(last, usize::MAX)).next().is_some()
}

/// Words before a name that is bound.
const BINDING_WORDS: &[&str] = &["let", "mut", "const", "var", "for", "as", "ref", "lambda", "val"];

fn is_binding(text: &str, used: &Use, is_in_head: bool) -> bool {
    let start = text[..used.range.start].rfind('\n').map_or(0, |at| at + 1);
    let before = text[start..used.range.start].trim();
    let rest = text[used.range.end..].split('\n').next().unwrap_or_default();
    let after = rest.trim_start();
    let last = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_list = |c: char| c.is_alphanumeric() || "_, .*".contains(c);
    let first = before.split_whitespace().next().unwrap_or_default();
    let is_arrow = |rest: &str| rest.trim_start().starts_with("=>");
    is_assigned(after) && !before.ends_with(['(', ',', '.'])
        || after.starts_with(":=")
        || is_arrow(after)
        || after.split_once(')').is_some_and(|(inner, rest)| !inner.contains('(') && is_arrow(rest))
            && before.ends_with(['(', ','])
        || BINDING_WORDS.contains(&last)
        || before.ends_with('|') && !before.ends_with("||")
        // The parameters of a closure, as in `|a, name|`.
        || after.starts_with('|') && !after.starts_with("||") && before.contains('|')
        || matches!(first, "const" | "let" | "var" | "for") && !before.contains('=')
            && !before.contains(" in ") && !before.contains(" of ")
        || before.chars().all(is_list) && after.starts_with(',')
            && after.split_once('=').is_some_and(|(list, value)| {
                !value.starts_with('=') && list.trim_end_matches(':').chars().all(is_list)
            })
        || is_in_head && before.ends_with(['(', ',', '*', '&']) && !after.starts_with('(')
        || is_in_head && before.is_empty() && after.starts_with([',', ':', ')', '='])
}

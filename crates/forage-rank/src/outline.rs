//! What a file defines, with the lines of each definition.
//!
//! Definitions come from the syntax tree where `forage-syntax` has a grammar for the language. Files of other languages,
//! and files that are too large to parse, are read by line: a definition begins where the ranking sees one, and ends where
//! its indentation does.

use forage_base::Stop;
use forage_syntax::{Category, Language, Use};

use crate::chunk::{self, ChunkSymbol, LineKind};
use crate::languages::{CommentStyle, DefinitionKind, LanguageRow, language_of_text};

/// What a file defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOutline {
    /// Definitions in the order of their first lines, without the fields of types.
    pub definitions: Vec<Definition>,
    /// Fields of types.
    pub fields: Vec<Definition>,
    /// They were found by line, not in a syntax tree: some may be missing, and their last lines may be wrong.
    pub is_by_line: bool,
}

/// A definition of a file with its lines, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name, without what qualifies it.
    pub name: String,
    /// What it belongs to, if its own text says so: `Queue` of `func (q *Queue) Push`.
    pub scope: Option<String>,
    /// Its kind, the same for all languages.
    pub kind: DefinitionKind,
    /// The language's own word for its kind, such as `struct`; the kind's name if it was found by line.
    pub word: &'static str,
    /// First line of its comments and attributes, from 1.
    pub start_line: u32,
    /// The line that has the name.
    pub line: u32,
    /// The last line of its body.
    pub end_line: u32,
    /// Position of the innermost definition around it.
    pub parent: Option<usize>,
    /// Number of definitions around it.
    pub depth: u32,
    /// The parser met an error in it, so its last line may be wrong.
    pub has_error: bool,
}

impl FileOutline {
    fn from_tree(found: Vec<forage_syntax::Definition>) -> Self {
        let mut outline = Self::default();
        // Positions among those that are not fields. A field holds nothing but types without a name.
        let mut positions: Vec<Option<usize>> = Vec::with_capacity(found.len());
        for definition in found {
            let is_field = definition.category == Category::Field;
            let parent = definition.parent.and_then(|at| positions[at]);
            positions.push(if is_field { parent } else { Some(outline.definitions.len()) });
            let depth = parent.map_or(0, |at| outline.definitions[at].depth + 1);
            let list = if is_field { &mut outline.fields } else { &mut outline.definitions };
            list.push(Definition { parent, depth, ..Definition::from(definition) });
        }
        outline
    }

    fn by_line(row: &LanguageRow, text: &str) -> Self {
        let is_by_line = row.style != CommentStyle::Prose;
        Self { definitions: by_line(row, text), fields: Vec::new(), is_by_line }
    }

    /// Returns the position of the innermost definition that a line, counted from 1, is in.
    #[must_use]
    pub fn innermost(&self, line: u32) -> Option<usize> {
        let holds = |definition: &Definition| (definition.start_line..=definition.end_line).contains(&line);
        let holding = self.definitions.iter().enumerate().filter(|(_, definition)| holds(definition));
        holding.max_by_key(|(_, definition)| definition.depth).map(|(at, _)| at)
    }

    /// Returns a definition and those around it, the innermost first.
    pub fn around(&self, at: usize) -> impl Iterator<Item = &Definition> {
        let first = self.definitions.get(at);
        let outer = |inner: &&Definition| inner.parent.and_then(|at| self.definitions.get(at));
        std::iter::successors(first, move |inner| outer(inner))
    }

    /// Returns the names of a definition and of those around it, the outermost first.
    #[must_use]
    pub fn qualified(&self, at: usize) -> Vec<&str> {
        let mut qualified: Vec<&str> = Vec::new();
        for definition in self.around(at) {
            qualified.push(&definition.name);
            qualified.extend(definition.scope.as_deref());
        }
        qualified.reverse();
        qualified
    }
}

/// Returns what a file defines. `path` is only looked at for its name.
#[must_use]
pub fn outline(path: &str, text: &str, stop: &Stop) -> FileOutline {
    let row = language_of_text(path, text);
    let parsed = Language::for_name(row.name, path)
        .and_then(|language| forage_syntax::definitions(language, text, stop).ok());
    parsed.map_or_else(|| FileOutline::by_line(row, text), FileOutline::from_tree)
}

/// Returns what a file defines and how it uses a name; `None` instead of uses if the file was read by line.
#[must_use]
pub fn outline_and_uses(path: &str, text: &str, name: &str, stop: &Stop) -> (FileOutline, Option<Vec<Use>>) {
    let row = language_of_text(path, text);
    let parsed = Language::for_name(row.name, path)
        .and_then(|language| forage_syntax::definitions_and_uses(language, text, name, stop).ok());
    match parsed {
        Some((found, uses)) => (FileOutline::from_tree(found), Some(uses)),
        None => (FileOutline::by_line(row, text), None),
    }
}

impl From<forage_syntax::Definition> for Definition {
    fn from(found: forage_syntax::Definition) -> Self {
        Self {
            name: found.name,
            scope: found.scope,
            kind: DefinitionKind::from(found.category),
            word: found.kind,
            start_line: found.start_line,
            line: found.line,
            end_line: found.end_line,
            parent: found.parent,
            depth: found.depth,
            has_error: found.has_error,
        }
    }
}

impl From<Category> for DefinitionKind {
    fn from(category: Category) -> Self {
        match category {
            Category::Type => Self::Type,
            Category::Function => Self::Function,
            Category::Module => Self::Module,
            Category::Constant | Category::Field => Self::Constant,
            Category::Extension => Self::Extension,
            Category::Declaration => Self::Declaration,
            Category::Heading => Self::Heading,
        }
    }
}

/// Returns the definitions that are seen in single lines.
fn by_line(language: &LanguageRow, text: &str) -> Vec<Definition> {
    let mut lines: Vec<OutlineLine<'_>> = Vec::new();
    let symbols = chunk::outline_with(text, language, |line, kind, is_quoted| {
        let sort = match kind {
            LineKind::Blank => LineSort::Blank,
            LineKind::Comment => LineSort::Comment,
            LineKind::Code(_) if is_quoted => LineSort::Quoted,
            LineKind::Code(_) => LineSort::Code,
        };
        lines.push(OutlineLine { trimmed: line.trim(), indent: chunk::indent(line), sort });
    })
    .symbols;
    let is_heading = |symbol: &&ChunkSymbol| symbol.kind == DefinitionKind::Heading;
    let headings: Vec<usize> = symbols.iter().filter(is_heading).map(|symbol| symbol.line as usize).collect();
    let limits = next_beside(&symbols, lines.len());
    let mut found: Vec<Definition> = Vec::with_capacity(symbols.len());
    // The definitions around the next one, with their last lines.
    let mut around: Vec<(usize, u32)> = Vec::new();
    // Behind the last definition: what is above the next one begins there at the earliest.
    let mut behind = 0;
    for (symbol, limit) in symbols.into_iter().zip(limits) {
        let line = symbol.line as usize;
        let first = first_line(&lines, behind.min(line), line);
        behind = line + 1;
        let end = match symbol.kind {
            DefinitionKind::Heading => end_of_section(&lines, &headings, line),
            _ => end_of_block(&lines[..limit], line, symbol.indent, language),
        };
        while around.pop_if(|(_, end)| *end < symbol.line).is_some() {}
        found.push(Definition {
            name: symbol.name,
            scope: None,
            kind: symbol.kind,
            word: symbol.kind.name(),
            start_line: first as u32 + 1,
            line: symbol.line + 1,
            end_line: end as u32 + 1,
            parent: around.last().map(|(at, _)| *at),
            depth: around.len() as u32,
            has_error: false,
        });
        around.push((found.len() - 1, end as u32));
    }
    found
}

/// Returns whether a line, looked at by itself, may define a name. Only files with such a line are parsed to find
/// definitions of the name. `path` is only looked at for its name.
#[must_use]
pub fn may_define(path: &str, line: &str, name: &str) -> bool {
    let language = crate::languages::language(path);
    let code = match chunk::LineClassifier::new(language).read(line) {
        LineKind::Blank => return false,
        LineKind::Comment => line,
        LineKind::Code(end) => &line[..end],
    };
    let is_seen = || chunk::definition(code, language).is_some_and(|definition| definition.name == name);
    let is_parsed = || Language::for_name(language.name, path).is_some();
    is_seen() || is_parsed() && code.match_indices(name).any(|(at, _)| may_begin_name(&code[..at]))
}

/// Returns whether the name of a definition may stand after this part of a line. After an operator, an opening bracket,
/// a comma or a dot a name is used.
fn may_begin_name(before: &str) -> bool {
    const USES: &[&str] = &[
        "return",
        "new",
        "await",
        "throw",
        "raise",
        "case",
        "in",
        "is",
        "not",
        "and",
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
    let before = before.trim_end();
    let last_word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    match before.chars().next_back() {
        None => true,
        Some(c) if c.is_alphanumeric() || c == '_' => !USES.contains(&last_word),
        // Types before the name, blocks, quoted names, attributes, `::` of a method that is defined outside its class.
        Some('*' | '&' | '>' | ']' | ')' | '{' | '}' | ';' | '"' | '\'' | '`' | '@' | '#' | '~' | '-') => {
            true
        }
        Some(':') => before.ends_with("::"),
        // `(name)` of operators and patterns, and Go's and Lua's receivers with a dot.
        Some('.') => before.trim_start().starts_with("function") || before.trim_start().starts_with("def "),
        Some('(') => before.trim_start() == "(",
        Some(_) => false,
    }
}

/// For each symbol the line of the next one that is indented no deeper, in which it can't go on; else the number of lines.
fn next_beside(symbols: &[ChunkSymbol], lines: usize) -> Vec<usize> {
    let mut limits = vec![lines; symbols.len()];
    // Symbols behind that nothing between them and here closes, the nearest last.
    let mut behind: Vec<&ChunkSymbol> = Vec::new();
    for (symbol, limit) in symbols.iter().zip(&mut limits).rev() {
        while behind.pop_if(|other| other.indent > symbol.indent).is_some() {}
        *limit = behind.last().map_or(lines, |other| other.line as usize);
        behind.push(symbol);
    }
    limits
}

/// A line as far as it tells where definitions end.
struct OutlineLine<'t> {
    trimmed: &'t str,
    indent: u32,
    sort: LineSort,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineSort {
    Blank,
    Comment,
    /// Within a string of several lines, whose indentation says nothing.
    Quoted,
    Code,
}

/// Comments and attributes without a blank line between belong to what is below them.
fn first_line(lines: &[OutlineLine<'_>], from: usize, line: usize) -> usize {
    let belongs = |above: &usize| {
        let OutlineLine { trimmed, indent, sort } = &lines[*above];
        *indent == lines[line].indent
            && (*sort == LineSort::Comment || *sort == LineSort::Code && chunk::is_lead(trimmed))
    };
    (from..line).rev().take_while(belongs).last().unwrap_or(line)
}

/// The last line of the block that a definition opens, or its own.
fn end_of_block(lines: &[OutlineLine<'_>], line: usize, indent: u32, language: &LanguageRow) -> usize {
    let mut end = line;
    for (number, next) in lines.iter().enumerate().skip(line + 1) {
        if next.sort != LineSort::Code {
            continue;
        }
        if next.indent > indent || next.indent == indent && goes_on(next.trimmed, language) {
            end = number;
        } else if next.indent < indent || !may_stand_within(next.trimmed, language) {
            break;
        }
    }
    end
}

/// Whether a line beside a definition opens its block, closes it or goes on with it.
fn goes_on(trimmed: &str, language: &LanguageRow) -> bool {
    const WORDS: &[&str] = &["end", "begin", "where", "rescue", "ensure", "else", "after", "catch"];
    let word = trimmed.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    // Python's blocks end without a word; an `else` beside a function belongs to something else.
    let is_word = language.style != CommentStyle::Python && WORDS.contains(&word);
    is_word || trimmed.starts_with(['{', '}', ')', ']'])
}

/// Labels, `public:` and directives of the preprocessor stand at the margin whatever they are in. They end nothing, and none of
/// them is the last line of anything.
fn may_stand_within(trimmed: &str, language: &LanguageRow) -> bool {
    // There a colon begins a block.
    if language.style == CommentStyle::Python {
        return false;
    }
    let label = trimmed.strip_suffix(':').is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' '))
    });
    label || trimmed.starts_with('#')
}

/// The last line before the next heading of the same level, or of one above it.
fn end_of_section(lines: &[OutlineLine<'_>], headings: &[usize], line: usize) -> usize {
    let level = |trimmed: &str| {
        let mark = trimmed.chars().next().filter(|mark| matches!(mark, '#' | '=' | '*'));
        mark.map_or(1, |mark| trimmed.chars().take_while(|c| *c == mark).count())
    };
    let own = level(lines[line].trimmed);
    let behind = &headings[headings.partition_point(|heading| *heading <= line)..];
    let next = behind.iter().find(|other| level(lines[**other].trimmed) <= own);
    let last = next.map_or(lines.len(), |next| *next) - 1;
    (line..=last).rev().find(|number| lines[*number].sort != LineSort::Blank).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str, text: &str) -> String {
        let show = |it: &Definition| {
            let indent = "  ".repeat(it.depth as usize);
            format!("{indent}{} {} {}-{}\n", it.kind.name(), it.name, it.start_line, it.end_line)
        };
        by_line(crate::languages::language(path), text).iter().map(show).collect()
    }

    #[test]
    fn blocks_end_where_their_indentation_does() {
        let rust = "/// Counts.\n#[derive(Debug)]\npub struct Counter {\n    count: u32,\n}\n\nimpl Counter {\n    \
                    /// Adds.\n    pub fn add(\n        &mut self,\n        by: u32,\n    ) -> u32\n    where\n        u32: \
                    Copy,\n    {\n        self.count += by;\n\n        self.count\n    }\n}\n\nconst MOST: u32 = 3;\n";
        assert_eq!(
            shown("a.rs", rust),
            "type Counter 1-5\nextension Counter 7-20\n  function add 8-19\nconstant MOST 22-22\n"
        );
        let python = "X = 1\n\nclass A:\n    \"\"\"Doc.\n\nat the margin\n    \"\"\"\n\n    @property\n    def b(self):\n        \
                      return SQL\n\n    SQL = \"\"\"\nselect\n\"\"\"\n\nif X:\n    pass\nelse:\n    pass\n";
        assert_eq!(shown("a.py", python), "constant X 1-1\ntype A 3-13\n  function b 9-11\n");
        let c = "static int\nf(int a)\n{\n\tif (a)\n\t\tgoto out;\n#ifdef DEBUG\n\tlog(a);\n#endif\nout:\n\treturn \
                 a;\n}\n\n#ifdef X\nint g(void)\n{\n\treturn 0;\n}\n#endif\n";
        assert_eq!(shown("a.c", c), "function f 2-11\nfunction g 14-17\n");
        // A directive ends nothing, but is the beginning of its own definition.
        let header = "#define A 1\n#define B \\\n\t2\n#define C 3\n";
        assert_eq!(shown("a.h", header), "constant A 1-1\nconstant B 2-3\nconstant C 4-4\n");
        let cpp = "class A {\npublic:\n    int b();\n};\nint c() { return 1; }\n";
        let shown_cpp = shown("a.cpp", cpp);
        assert!(
            shown_cpp.starts_with("type A 1-4\n") && shown_cpp.ends_with("function c 5-5\n"),
            "{shown_cpp}"
        );
        let ruby = "class A\n  def b\n    c\n  rescue E\n    d\n  end\n\n  def e; end\nend\n";
        assert_eq!(shown("a.rb", ruby), "type A 1-9\n  function b 2-6\n  function e 8-8\n");
        let page = "# A\n\ntext\n\n## B\n\nmore\n\n## C\n\n# D\n";
        assert_eq!(shown("a.md", page), "heading A 1-9\n  heading B 5-7\n  heading C 9-9\nheading D 11-11\n");
    }

    proptest::proptest! {
        #[test]
        fn definitions_of_any_text_are_in_order_and_nested(text in crate::chunk::any_text(), language in 0..crate::languages::LANGUAGES.len()) {
            let row = &crate::languages::LANGUAGES[language];
            let lines = text.lines().count() as u32;
            let found = by_line(row, &text);
            for definition in &found {
                proptest::prop_assert!(1 <= definition.start_line && definition.start_line <= definition.line);
                proptest::prop_assert!(definition.line <= definition.end_line && definition.end_line <= lines);
            }
            proptest::prop_assert!(found.is_sorted_by_key(|definition| definition.line));
        }
    }
}

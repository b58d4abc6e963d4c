//! Finds the definitions of a file and the lines of each.
//!
//! If `forage-syntax` has a grammar for the language, definitions come from the syntax tree. Files in other
//! languages, and files that are too large to parse, are read by line. A definition then begins where the
//! ranking sees one, and ends where its indentation does.

mod candidate;

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::RangeInclusive;

use forage_base::Stop;
use forage_syntax::{Category, Language, Use};

use crate::chunk::{self, ChunkSymbol, LineKind};
use crate::languages::{CommentStyle, DefinitionKind, LanguageRow, language_of_text};
use crate::limits;

/// The definitions and comments of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOutline {
    /// Definitions in the order of their first lines, without the fields of types.
    pub definitions: Vec<Definition>,
    /// Fields of types.
    pub fields: Vec<Definition>,
    /// Adjacent lines that only contain comments or documentation strings.
    pub comments: Vec<RangeInclusive<u32>>,
    /// The texts of statements that import names, if the file was parsed.
    pub imports: Vec<String>,
    /// True if they were found by line and not in a syntax tree: some may be missing, and their last lines
    /// may be wrong.
    pub is_by_line: bool,
    /// True if the parser met errors. Definitions near these were also found by line, or may be missing.
    pub has_errors: bool,
    /// True if definitions after the first [`limits::OUTLINE_DEFINITIONS`] are missing.
    pub has_more: bool,
}

/// A definition of a file with its lines, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name, without its qualifiers.
    pub name: String,
    /// The type it belongs to, if its own text says so, e.g. `Queue` for `func (q *Queue) Push`.
    pub scope: Option<String>,
    /// The kind, which is common to all languages.
    pub kind: DefinitionKind,
    /// The language's own word for the kind, e.g. `struct`. If it was found by line, the kind's name.
    pub word: &'static str,
    /// The first line of its comments and attributes, 1-based.
    pub start_line: u32,
    /// The line with the name.
    pub line: u32,
    /// The last line of the body.
    pub end_line: u32,
    /// Index of the innermost definition around it.
    pub parent: Option<usize>,
    /// Number of definitions around it.
    pub depth: u32,
    /// True if the parser met an error in it, so that its last line may be wrong.
    pub has_error: bool,
    /// True if it is a test among other code, or within such a test.
    pub is_test: bool,
}

impl FileOutline {
    fn from_tree(found: Vec<forage_syntax::Definition>, comments: Vec<RangeInclusive<u32>>) -> Self {
        let mut outline = Self { comments, ..Self::default() };
        // Indexes into `definitions`; a field counts as its parent, since a field can only contain unnamed
        // types.
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
        let (definitions, comments, has_more) = by_line(row, text);
        Self { definitions, comments, is_by_line, has_more, ..Self::default() }
    }

    /// Repairs the outline where the parser met errors. Adds definitions that are found by line there and
    /// that the parser may have lost. Also ends a function that swallowed the next one after an error.
    fn mended(mut self, row: &LanguageRow, text: &str, errors: &[RangeInclusive<u32>]) -> Self {
        if errors.is_empty() && !self.definitions.iter().any(|definition| definition.has_error) {
            return self;
        }
        self.has_errors = true;
        let lines: Vec<&str> = forage_fs::lines(text).collect();
        let in_error = covered(lines.len(), errors.iter().map(|error| (*error.start(), *error.end())));
        self.definitions.retain(|it| !(in_error[it.line as usize] && is_no_name(&it.name)));
        let ranges = |has_error: bool| {
            let of = self.definitions.iter().filter(move |it| it.has_error == has_error);
            covered(lines.len(), of.map(|it| (it.start_line, it.end_line)))
        };
        let (in_doubt, in_clean) = (ranges(true), ranges(false));
        let known: HashSet<u32> = self.definitions.iter().map(|it| it.line).collect();
        let indent = |line: u32| lines.get(line as usize - 1).map_or(0, |line| chunk::indent(line));
        let (seen, ..) = by_line(row, text);
        let begins = |kind| matches!(kind, DefinitionKind::Function | DefinitionKind::Type);
        for it in self.definitions.iter_mut().filter(|it| it.has_error && it.kind == DefinitionKind::Function)
        {
            let first = seen.partition_point(|other| other.line <= it.line);
            let next = seen[first..]
                .iter()
                .take_while(|other| other.line <= it.end_line)
                .find(|other| begins(other.kind) && indent(other.line) <= indent(it.line));
            if let Some(next) = next {
                let end = next.start_line.max(it.line + 1) - 1;
                let is_blank =
                    |line: u32| lines.get(line as usize - 1).is_none_or(|line| line.trim().is_empty());
                it.end_line = (it.line..=end).rev().find(|line| !is_blank(*line)).unwrap_or(it.line);
            }
        }
        let is_lost = |it: &Definition| {
            let line = it.line as usize;
            (in_error[line] || in_doubt[line]) && !in_clean[line] && !known.contains(&it.line)
        };
        let lost = seen.into_iter().filter(is_lost).map(|it| Definition { has_error: true, ..it });
        self.definitions.extend(lost);
        self.definitions.sort_by_key(|it| (it.start_line, Reverse(it.end_line), it.line));
        let mut open: Vec<(usize, u32)> = Vec::new();
        for (at, it) in self.definitions.iter_mut().enumerate() {
            // A definition that ends within the next one isn't its parent.
            while open.pop_if(|(_, end)| *end < it.end_line || *end < it.start_line).is_some() {}
            (it.parent, it.depth) = (open.last().map(|(at, _)| *at), open.len() as u32);
            open.push((at, it.end_line));
        }
        for at in 0..self.definitions.len() {
            let parent = self.definitions[at].parent;
            self.definitions[at].is_test |= parent.is_some_and(|parent| self.definitions[parent].is_test);
        }
        // The indexes of definitions have changed, so we look up the parents of fields again by line.
        let mut fields = std::mem::take(&mut self.fields);
        for field in &mut fields {
            field.parent = self.innermost(field.line);
            field.depth = field.parent.map_or(0, |at| self.definitions[at].depth + 1);
        }
        self.fields = fields;
        self
    }

    /// Returns the lines of long comments except for the first line with words. Answers should leave these
    /// out.
    pub fn folded<'a>(&'a self, lines: &'a [&'a str]) -> impl Iterator<Item = RangeInclusive<u32>> + 'a {
        let is_long = |run: &&RangeInclusive<u32>| run.end() - run.start() >= limits::COMMENT_LINES;
        let has_words = move |line: &u32| {
            let line = lines.get(*line as usize - 1);
            line.is_some_and(|line| line.contains(char::is_alphanumeric))
        };
        self.comments.iter().filter(is_long).map(move |run| {
            let first = run.clone().find(has_words).unwrap_or(*run.start());
            first + 1..=*run.end()
        })
    }

    /// Finds the innermost definition that contains a line, 1-based, and returns its index.
    #[must_use]
    pub fn innermost(&self, line: u32) -> Option<usize> {
        let holds = |definition: &Definition| (definition.start_line..=definition.end_line).contains(&line);
        let holding = self.definitions.iter().enumerate().filter(|(_, definition)| holds(definition));
        holding.max_by_key(|(_, definition)| definition.depth).map(|(at, _)| at)
    }

    /// Returns a definition and those around it, innermost first.
    pub fn around(&self, at: usize) -> impl Iterator<Item = &Definition> {
        let first = self.definitions.get(at);
        let outer = |inner: &&Definition| inner.parent.and_then(|at| self.definitions.get(at));
        std::iter::successors(first, move |inner| outer(inner))
    }

    /// Returns the names of a definition and of those around it, outermost first.
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

/// Further keywords that a parser takes for names after an error.
const DECLARING: &[&str] = &["class", "const", "export", "let", "var"];

fn is_no_name(word: &str) -> bool {
    chunk::STATEMENTS.contains(&word) || DECLARING.contains(&word)
}

/// Computes for each line, 1-based, whether any of the ranges contains it.
fn covered(lines: usize, ranges: impl Iterator<Item = (u32, u32)>) -> Vec<bool> {
    let mut changes = vec![0_i32; lines + 3];
    for (start, end) in ranges {
        changes[(start as usize).min(lines + 1)] += 1;
        changes[(end as usize + 1).min(lines + 2)] -= 1;
    }
    let mut depth = 0;
    let is_covered = |change: &i32| {
        depth += change;
        depth > 0
    };
    changes.iter().map(is_covered).collect()
}

/// Finds the definitions of a file. Only the name of `path` matters.
#[must_use]
pub fn outline(path: &str, text: &str, stop: &Stop) -> FileOutline {
    read(path, text, None, stop).0
}

/// Finds the definitions of a file and the uses of a name. The uses are `None` if the file was read by line.
#[must_use]
pub fn outline_and_uses(path: &str, text: &str, name: &str, stop: &Stop) -> (FileOutline, Option<Vec<Use>>) {
    read(path, text, Some(name), stop)
}

fn read(path: &str, text: &str, name: Option<&str>, stop: &Stop) -> (FileOutline, Option<Vec<Use>>) {
    let row = language_of_text(path, text);
    let parsed = Language::for_name(row.name, path)
        .and_then(|language| forage_syntax::parsed(language, text, name, stop).ok());
    match parsed {
        Some(found) => {
            let outline = FileOutline::from_tree(found.definitions, found.comments);
            let outline = FileOutline { imports: found.imports, ..outline };
            (outline.mended(row, text, &found.errors), Some(found.uses))
        }
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
            is_test: found.is_test,
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
        }
    }
}

/// Finds definitions by looking at single lines. Also returns runs of adjacent comment lines, and true if
/// there are further definitions.
fn by_line(language: &LanguageRow, text: &str) -> (Vec<Definition>, Vec<RangeInclusive<u32>>, bool) {
    let count = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let mut lines: Vec<OutlineLine<'_>> = Vec::with_capacity(count + 1);
    let chunk::Outline { symbols, has_more, .. } =
        chunk::outline_with(text, language, |line, kind, is_quoted| {
            let sort = match kind {
                LineKind::Blank => LineSort::Blank,
                LineKind::Comment => LineSort::Comment,
                LineKind::Code(_) if is_quoted => LineSort::Quoted,
                LineKind::Code(_) => LineSort::Code,
            };
            lines.push(OutlineLine { trimmed: line.trim(), indent: chunk::indent(line), sort });
        });
    let is_heading = |symbol: &&ChunkSymbol| symbol.kind == DefinitionKind::Heading;
    let headings: Vec<usize> = symbols.iter().filter(is_heading).map(|symbol| symbol.line as usize).collect();
    let limits = next_beside(&symbols, lines.len());
    let mut found: Vec<Definition> = Vec::with_capacity(symbols.len());
    // The definitions around the next one, with their last lines.
    let mut around: Vec<(usize, u32)> = Vec::new();
    // The line after the last definition, before which the next one can't begin.
    let mut after = 0;
    for (symbol, limit) in symbols.into_iter().zip(limits) {
        let line = symbol.line as usize;
        let first = first_line(&lines, after.min(line), line);
        after = line + 1;
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
            is_test: false,
        });
        around.push((found.len() - 1, end as u32));
    }
    let numbered: Vec<(u32, LineSort)> =
        (1..).zip(&lines).map(|(number, line)| (number, line.sort)).collect();
    let runs = numbered.chunk_by(|(_, before), (_, next)| before == next);
    let comments =
        runs.filter(|run| run[0].1 == LineSort::Comment).map(|run| run[0].0..=run[run.len() - 1].0);
    (found, comments.collect(), has_more)
}

/// Returns true if a line on its own may define a name. To find definitions of a name, we only need to parse
/// files with such a line. Only the name of `path` matters.
#[must_use]
pub fn may_define(path: &str, line: &str, name: &str) -> bool {
    let language = crate::languages::language(path);
    // A file without a known extension may be a script, whose language needs the text.
    let is_parsed = language.name.is_empty() || Language::for_name(language.name, path).is_some();
    match is_parsed {
        _ if line.len() > limits::CANDIDATE_LINE_BYTES => true,
        true => candidate::defines(language, line, name),
        false => candidate::is_seen(language, line, name),
    }
}

/// Returns true if the line may be in the head of a type that implements or extends the name. This must not
/// miss any, but may return true too often. It saves parsing files in which the name is only called, imported
/// or used as a type.
#[must_use]
pub fn may_implement(path: &str, line: &str, name: &str) -> bool {
    const HEADS: &[&str] = &[
        "actor",
        "behaviour",
        "class",
        "defimpl",
        "derive",
        "derives",
        "deriving",
        "enum",
        "exception",
        "extend",
        "extends",
        "extension",
        "impl",
        "implements",
        "implementation",
        "include",
        "inherit",
        "inherits",
        "instance",
        "interface",
        "mixin",
        "module",
        "object",
        "prepend",
        "protocol",
        "record",
        "struct",
        "trait",
        "type",
        "use",
        "with",
    ];
    const IMPORTS: &[&str] = &["#include", "from", "import", "package", "using"];
    let language = crate::languages::language(path);
    if !language.name.is_empty() && Language::for_name(language.name, path).is_none() {
        return false;
    }
    if line.len() > limits::CANDIDATE_LINE_BYTES {
        return true;
    }
    let Some(code) = candidate::code_or_comment(language, line) else { return false };
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '#';
    let words = |text: &str, listed: &[&str]| text.split(|c| !is_word(c)).any(|word| listed.contains(&word));
    if code.split_whitespace().next().is_some_and(|first| IMPORTS.contains(&first)) {
        return false;
    }
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], code[at + name.len()..].trim_start());
        // A head may continue over several lines, and Go embeds a type by its name alone.
        let goes_on = || {
            let is_list = |c: char| c.is_whitespace() || is_word(c) || matches!(c, ',' | '.' | '*' | '\\');
            before.replace("::", "").chars().all(is_list)
                && !after.starts_with(|c: char| is_word(c) || matches!(c, '(' | '=' | '.' | ':'))
        };
        let is_anonymous = || before.trim_end().ends_with("new") && code.trim_end().ends_with('{');
        let is_second_line = || before.trim_start().starts_with(':');
        words(before, HEADS) || goes_on() || is_second_line() || is_anonymous()
    })
}

/// Returns, for each symbol, the line of the next one that isn't indented deeper, where it must have ended;
/// otherwise the number of lines.
fn next_beside(symbols: &[ChunkSymbol], lines: usize) -> Vec<usize> {
    let mut limits = vec![lines; symbols.len()];
    // Symbols further down that no symbol between closes, nearest last.
    let mut after: Vec<&ChunkSymbol> = Vec::new();
    for (symbol, limit) in symbols.iter().zip(&mut limits).rev() {
        while after.pop_if(|other| other.indent > symbol.indent).is_some() {}
        *limit = after.last().map_or(lines, |other| other.line as usize);
        after.push(symbol);
    }
    limits
}

/// A line, reduced to the properties that show where definitions end.
struct OutlineLine<'t> {
    trimmed: &'t str,
    indent: u32,
    sort: LineSort,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineSort {
    Blank,
    Comment,
    /// Within a multi-line string, whose indentation means nothing.
    Quoted,
    Code,
}

/// Finds the first line of a definition, including the comments and attributes directly above it.
fn first_line(lines: &[OutlineLine<'_>], from: usize, line: usize) -> usize {
    let belongs = |above: &usize| {
        let OutlineLine { trimmed, indent, sort } = &lines[*above];
        // An interpreter line is about the file.
        let is_interpreter = *above == 0 && trimmed.starts_with("#!");
        *indent == lines[line].indent
            && !is_interpreter
            && (*sort == LineSort::Comment || *sort == LineSort::Code && chunk::is_lead(trimmed))
    };
    (from..line).rev().take_while(belongs).last().unwrap_or(line)
}

/// Finds the last line of the block that a definition opens, or its own line.
fn end_of_block(lines: &[OutlineLine<'_>], line: usize, indent: u32, language: &LanguageRow) -> usize {
    let mut end = line;
    for (number, next) in lines.iter().enumerate().skip(line + 1) {
        if next.sort != LineSort::Code {
            continue;
        }
        if next.indent > indent || next.indent == indent && continues_definition(next.trimmed, language) {
            end = number;
        } else if next.indent < indent || !may_be_at_margin(next.trimmed, language) {
            break;
        }
    }
    end
}

/// Checks whether a line at a definition's indentation opens, continues or closes its block.
fn continues_definition(trimmed: &str, language: &LanguageRow) -> bool {
    const WORDS: &[&str] = &["end", "begin", "where", "rescue", "ensure", "else", "after", "catch"];
    let word = trimmed.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    // Python's blocks have no end keyword, so an `else` at this indentation belongs to another statement.
    let is_word = language.style != CommentStyle::Python && WORDS.contains(&word);
    is_word || trimmed.starts_with(['{', '}', ')', ']'])
}

/// Returns true for labels, `public:` and preprocessor directives, which may be at the margin within a block.
/// They don't end a definition, and a definition can't end with one.
fn may_be_at_margin(trimmed: &str, language: &LanguageRow) -> bool {
    // In Python, a colon begins a block.
    if language.style == CommentStyle::Python {
        return false;
    }
    let label = trimmed.strip_suffix(':').is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' '))
    });
    label || trimmed.starts_with('#')
}

/// Finds the last line before the next heading of the same or a higher level.
fn end_of_section(lines: &[OutlineLine<'_>], headings: &[usize], line: usize) -> usize {
    let level = |trimmed: &str| {
        let mark = trimmed.chars().next().filter(|mark| matches!(mark, '#' | '=' | '*'));
        mark.map_or(1, |mark| trimmed.chars().take_while(|c| *c == mark).count())
    };
    let own = level(lines[line].trimmed);
    let after = &headings[headings.partition_point(|heading| *heading <= line)..];
    let next = after.iter().find(|other| level(lines[**other].trimmed) <= own);
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
        by_line(crate::languages::language(path), text).0.iter().map(show).collect()
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
        // A directive doesn't end a definition, but may begin its own.
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
        let script = "#!/usr/bin/awk -f\nfunction a() {\n  b\n}\n# About it.\nfunction c() {\n  d\n}\n";
        assert_eq!(shown("a.awk", script), "function a 2-4\nfunction c 5-8\n");
        let page = "# A\n\ntext\n\n## B\n\nmore\n\n## C\n\n# D\n";
        assert_eq!(shown("a.md", page), "heading A 1-9\n  heading B 5-7\n  heading C 9-9\nheading D 11-11\n");
        // Comments in code aren't headings, and a shorter fence doesn't end the block.
        let page = "# A\n\n````sh\n# one\n```\n# two\n````\n\n    # three\n\n#four\n\n~~~\n# five\n~~~\n\n```a``` b\n# B\n";
        assert_eq!(shown("a.md", page), "heading A 1-17\nheading B 18-18\n");
    }

    #[test]
    fn definitions_near_errors_are_read_by_line() {
        let names = |path: &str, text: &str| {
            let outline = outline(path, text, &Stop::never());
            let names = outline.definitions.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
            (names, outline.has_errors, outline.is_by_line)
        };
        let unfinished = "fn before() {}\n\nfn unfinished() {\n    if x {\n\nfn after() {\n    y();\n}\n";
        let found = ["before", "unfinished", "after"].map(str::to_owned).to_vec();
        assert_eq!(names("a.rs", unfinished), (found, true, false));
        assert_eq!(names("a.rs", "fn a() {}\n"), (vec!["a".to_owned()], false, false));
        // A scanner that can't be interrupted must not be started.
        assert!(names("a.dart", &"`".repeat(60_000)).2);
    }

    #[test]
    fn a_head_that_extends_a_name_is_not_missed() {
        for (path, line) in [
            ("a.java", "public class A extends B implements C, Name {"),
            ("a.java", "        Name {"),
            ("a.java", "        C, Name,"),
            ("a.java", "listener = new Name() {"),
            ("a.rs", "impl<T> Name for A<T> {"),
            ("a.rs", "#[derive(Debug, Name)]"),
            ("a.py", "class A(b.Name, metaclass=C):"),
            ("a.kt", "    : Name(b), C {"),
            ("a.kt", "object : Name by b {"),
            ("a.cpp", "    public ns::Name {"),
            ("a.go", "\t*http.Name"),
            ("a.rb", "  include A::Name"),
            ("a.php", "    use Name;"),
            ("a.hs", "instance Name A where"),
        ] {
            assert!(may_implement(path, line, "Name"), "{path}: {line}");
        }
        for (path, line) in [
            ("a.java", "import a.b.Name;"),
            ("a.java", "    private final Name name;"),
            ("a.java", "void a(Name name) {"),
            ("a.java", "return new Name(b);"),
            ("a.rs", "    let name = Name::new();"),
            ("a.ts", "    name: Name,"),
            ("a.py", "    return Name(1)"),
            ("a.md", "class A extends Name"),
        ] {
            assert!(!may_implement(path, line, "Name"), "{path}: {line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn definitions_of_any_text_are_in_order_and_nested(text in crate::chunk::any_text(), language in 0..crate::languages::LANGUAGES.len()) {
            let row = &crate::languages::LANGUAGES[language];
            let lines = text.lines().count() as u32;
            let (found, ..) = by_line(row, &text);
            for definition in &found {
                proptest::prop_assert!(1 <= definition.start_line && definition.start_line <= definition.line);
                proptest::prop_assert!(definition.line <= definition.end_line && definition.end_line <= lines);
            }
            proptest::prop_assert!(found.is_sorted_by_key(|definition| definition.line));
            // Parse it with the language's grammar as well, where most generated texts have errors.
            let path = format!("a.{}", row.extensions.first().unwrap_or(&"m"));
            let parsed = outline(&path, &text, &Stop::never());
            for (at, definition) in parsed.definitions.iter().enumerate() {
                proptest::prop_assert!(1 <= definition.start_line && definition.start_line <= definition.end_line);
                proptest::prop_assert!((definition.start_line..=definition.end_line).contains(&definition.line));
                proptest::prop_assert!(definition.end_line <= lines.max(1) && definition.parent.is_none_or(|it| it < at));
            }
        }
    }
}

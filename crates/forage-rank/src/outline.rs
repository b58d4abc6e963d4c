//! What a file defines, with the lines of each definition.
//!
//! A definition begins where the ranking sees one, and goes on as its indentation says: over deeper lines, and over those
//! beside it that open or close its block. That is syntactic and knows no grammar; where a file is not indented by its
//! structure, a definition ends too early, never in the next one.

use crate::chunk::{self, ChunkSymbol, LineKind};
use crate::languages::{CommentStyle, DefinitionKind, LanguageRow, language};

/// A definition of a file with its lines, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name, without what qualifies it.
    pub name: String,
    /// What it names.
    pub kind: DefinitionKind,
    /// The first line of the comments and attributes above it, or [`Definition::line`].
    pub start_line: u32,
    /// The line that has the name.
    pub line: u32,
    /// The last line of its body.
    pub end_line: u32,
    /// Definitions around it.
    pub depth: u32,
}

/// Returns the definitions of a file in the order of their lines; none where its language has none. `path` is only looked at
/// for its name.
pub fn definitions(path: &str, text: &str) -> Vec<Definition> {
    let language = language(path);
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
    // The definitions around the next one, by their last lines.
    let mut around: Vec<u32> = Vec::new();
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
        while around.pop_if(|end| *end < symbol.line).is_some() {}
        found.push(Definition {
            name: symbol.name,
            kind: symbol.kind,
            start_line: first as u32 + 1,
            line: symbol.line + 1,
            end_line: end as u32 + 1,
            depth: around.len() as u32,
        });
        around.push(end as u32);
    }
    found
}

/// Returns whether a line, looked at by itself, may be one that [`definitions`] gives for a name. It is where the line is one.
/// `path` is only looked at for its name.
#[must_use]
pub fn may_define(path: &str, line: &str, name: &str) -> bool {
    let language = language(path);
    let code = match chunk::LineClassifier::new(language).read(line) {
        LineKind::Blank => return false,
        LineKind::Comment => line,
        LineKind::Code(end) => &line[..end],
    };
    chunk::definition(code, language).is_some_and(|definition| definition.name == name)
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
        definitions(path, text).iter().map(show).collect()
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
            let path = format!("a.{}", row.extensions.first().unwrap_or(&"txt"));
            let lines = text.lines().count() as u32;
            let found = definitions(&path, &text);
            for definition in &found {
                proptest::prop_assert!(1 <= definition.start_line && definition.start_line <= definition.line);
                proptest::prop_assert!(definition.line <= definition.end_line && definition.end_line <= lines);
            }
            proptest::prop_assert!(found.is_sorted_by_key(|definition| definition.line));
        }
    }
}

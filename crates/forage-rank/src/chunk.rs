//! Splits files into chunks at their definitions.
//!
//! Definitions are found line by line: a keyword of the language after modifiers, or a known shape without a
//! keyword. A parser would find more, but the ranking only needs to know where definitions begin and what
//! they are called. This way, it finds the right file as often as with syntax trees, which take thirty times
//! as long (`bench/results.md`).

mod definition;

use definition::SymbolDefinition;
pub(crate) use definition::{STATEMENTS, definition};

use forage_fs::lines;

use crate::languages::{CommentStyle, DefinitionKind, LanguageRow, SyntaxQuirk};
use crate::limits;

/// The kind of a line, which determines the weights of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// Only white space.
    Blank,
    /// A comment, or documentation in a string.
    Comment,
    /// Code up to this byte offset, then a comment.
    Code(usize),
}

/// A definition and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkSymbol {
    /// The name without its qualifier.
    pub name: String,
    /// The kind of this definition.
    pub kind: DefinitionKind,
    /// The 0-based line.
    pub line: u32,
    /// The indentation, in columns.
    pub indent: u32,
}

/// Lines that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChunk {
    /// The first line, 1-based.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// The definitions in this chunk, as a range of [`Outline::symbols`].
    pub symbols: std::ops::Range<usize>,
}

/// The structure of a file, as used by the index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    /// The kind of each line.
    pub lines: Vec<LineKind>,
    /// All definitions, ordered by line.
    pub symbols: Vec<ChunkSymbol>,
    /// Chunks that cover all lines.
    pub chunks: Vec<FileChunk>,
    /// True if symbols after the first [`limits::OUTLINE_DEFINITIONS`] are missing.
    pub has_more: bool,
}

/// Computes the outline of a text.
#[must_use]
pub(crate) fn outline(text: &str, language: &LanguageRow) -> Outline {
    outline_with(text, language, |_, _, _| ())
}

/// Like `outline`, but calls `each` with every line, its kind, and true if the line begins within a string
/// value.
pub(crate) fn outline_with<'t>(
    text: &'t str,
    language: &LanguageRow,
    mut each: impl FnMut(&'t str, LineKind, bool),
) -> Outline {
    let mut outline = Outline::default();
    let mut reader = LineClassifier::new(language);
    // The first line of the next definition's chunk, including the comment and the attributes above it.
    let mut lead: Option<u32> = None;
    // True if the comment above is documentation. A blank line does not separate documentation from its
    // definition.
    let mut is_documented = false;
    let mut before = LineKind::Blank;
    let mut starts: Vec<(u32, u32)> = Vec::new();
    for (number, line) in lines(text).enumerate() {
        let number = number as u32;
        // We must ask this first, because the line may end the string.
        let within_string = reader.is_in_string();
        let kind = reader.read(line);
        each(line, kind, within_string);
        outline.lines.push(kind);
        match kind {
            LineKind::Blank => {
                if before == LineKind::Blank || !is_documented {
                    lead = None;
                }
            }
            LineKind::Comment => {
                if before == LineKind::Blank {
                    lead = None;
                }
                if lead.is_none() {
                    // The comment at the start of a file is its licence.
                    is_documented = number > 0 && is_documentation(line.trim_start());
                }
                lead.get_or_insert(number);
                // In Lua, comments such as `---@class Name` define types.
                if language.style == CommentStyle::Lua && line.starts_with("---@") {
                    push(&mut outline, definition(line, language), number, 0);
                }
            }
            LineKind::Code(end) => {
                let code = &line[..end];
                let trimmed = code.trim_start();
                let indent = indent(code);
                // Quoted code in a string does not define anything.
                let found = if within_string { None } else { definition(code, language) };
                if found.is_some() {
                    starts.push((lead.unwrap_or(number), indent));
                    push(&mut outline, found, number, indent);
                    lead = None;
                } else if is_lead(trimmed) {
                    lead.get_or_insert(number);
                } else {
                    lead = None;
                }
                is_documented = false;
            }
        }
        before = kind;
    }
    outline.chunks = cut(&outline, &starts);
    outline
}

fn push(outline: &mut Outline, found: Option<SymbolDefinition<'_>>, line: u32, indent: u32) {
    let Some(SymbolDefinition { name, kind }) = found else { return };
    match outline.symbols.len() < limits::OUTLINE_DEFINITIONS {
        true => outline.symbols.push(ChunkSymbol { name: name.to_owned(), kind, line, indent }),
        false => outline.has_more = true,
    }
}

/// Computes the indentation of a line, in columns.
pub(crate) fn indent(line: &str) -> u32 {
    line.bytes()
        .map_while(|byte| match byte {
            b' ' => Some(1),
            b'\t' => Some(4),
            _ => None,
        })
        .sum()
}

/// Checks whether a comment looks like documentation of the next definition, and not like a note on the
/// surrounding lines.
fn is_documentation(trimmed: &str) -> bool {
    let begins = ["/**", "///", "-- |", "--|", "(**"].iter().any(|mark| trimmed.starts_with(mark));
    // Lines of stars or slashes separate parts of a file.
    begins && !trimmed.starts_with("/***") && !trimmed.starts_with("////")
}

/// Returns true for attributes, decorators and template heads, which precede the definition that they belong
/// to.
pub(crate) fn is_lead(trimmed: &str) -> bool {
    trimmed.starts_with('@')
        || trimmed.starts_with("#[")
        || trimmed.starts_with('[')
        || trimmed.starts_with("template")
}

/// Classifies the lines of a file one by one. They must be given in order.
pub(crate) struct LineClassifier<'l> {
    language: &'l LanguageRow,
    open: Option<OpenBlock>,
}

impl<'l> LineClassifier<'l> {
    /// Starts at the beginning of a file.
    pub(crate) fn new(language: &'l LanguageRow) -> Self {
        Self { language, open: None }
    }

    /// Returns true if the next line begins within a string value, or within a code block of a document.
    pub(crate) fn is_in_string(&self) -> bool {
        matches!(self.open, Some(OpenBlock::String(_) | OpenBlock::Fence(..)))
    }

    /// Classifies the next line.
    pub(crate) fn read(&mut self, line: &str) -> LineKind {
        line_kind(line, self.language, &mut self.open)
    }
}

/// A construct that continues on the next line, with the mark that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenBlock {
    Comment(&'static str),
    /// A multi-line string that is a value, not documentation.
    String(&'static str),
    /// A code block in Markdown, with the character of its fence and the length.
    Fence(char, usize),
}

fn line_kind(line: &str, language: &LanguageRow, open: &mut Option<OpenBlock>) -> LineKind {
    let trimmed = line.trim();
    match *open {
        Some(OpenBlock::Comment(end)) => {
            if memchr::memmem::find(trimmed.as_bytes(), end.as_bytes()).is_some() {
                *open = None;
            }
            return if trimmed.is_empty() { LineKind::Blank } else { LineKind::Comment };
        }
        Some(OpenBlock::String(_)) => {
            let code = line.trim_end().len();
            follow_strings(line, code, language, open);
            return if trimmed.is_empty() { LineKind::Blank } else { LineKind::Code(code) };
        }
        Some(OpenBlock::Fence(sign, length)) => {
            if fence(line).is_some_and(|(it, count, info)| it == sign && count >= length && info.is_empty()) {
                *open = None;
            }
            return if trimmed.is_empty() { LineKind::Blank } else { LineKind::Code(line.trim_end().len()) };
        }
        None => {}
    }
    if trimmed.is_empty() {
        return LineKind::Blank;
    }
    if language.name == "markdown"
        && let Some((sign, length, info)) = fence(line)
        // Three backquotes may also enclose inline code.
        && !(sign == '`' && info.contains(sign))
    {
        *open = Some(OpenBlock::Fence(sign, length));
        return LineKind::Code(line.trim_end().len());
    }
    for (start, end) in language.block_comments {
        if let Some(rest) = opens(trimmed, start) {
            if !rest.contains(end) {
                *open = Some(OpenBlock::Comment(end));
            }
            return LineKind::Comment;
        }
    }
    if language.line_comments.iter().any(|marker| trimmed.starts_with(marker))
        && !is_directive(trimmed, language)
    {
        return LineKind::Comment;
    }
    // A trailing comment is a marker after white space. The marker may also be within a string, but this is
    // rare enough to ignore.
    let code = line.trim_end().len();
    let bytes = line.as_bytes();
    let end = language
        .line_comments
        .iter()
        .filter_map(|marker| {
            // For a marker of one or two bytes, building a searcher would take longer than scanning the line.
            memchr::memchr_iter(marker.as_bytes()[0], bytes)
                .filter(|&at| at > 0 && bytes[at - 1].is_ascii_whitespace())
                .find(|&at| bytes[at..].starts_with(marker.as_bytes()))
        })
        .min()
        .unwrap_or(code);
    follow_strings(line, end, language, open);
    LineKind::Code(end)
}

/// Parses a Markdown fence: returns its character, its length and the info string after it.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let trimmed = line.trim();
    let sign = trimmed.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let info = trimmed.trim_start_matches(sign);
    let length = trimmed.len() - info.len();
    (length >= 3).then_some((sign, length, info.trim()))
}

/// Opens and closes multi-line strings. We must follow them because documentation is also written in such
/// strings. Otherwise the end of `SQL = """` would start a comment, and code and comments would be swapped
/// from there on.
fn follow_strings(line: &str, code: usize, language: &LanguageRow, open: &mut Option<OpenBlock>) {
    let marks = || language.block_comments.iter().filter(|(start, end)| start == end).map(|(mark, _)| *mark);
    let find = |mark: &str, from: usize| {
        memchr::memmem::find(&line.as_bytes()[from..], mark.as_bytes()).map(|at| from + at)
    };
    let mut at = 0;
    loop {
        if let Some(OpenBlock::String(mark)) = *open {
            let Some(end) = find(mark, at) else { return };
            (*open, at) = (None, end + mark.len());
        }
        let next = marks().filter_map(|mark| Some((find(mark, at)?, mark))).min();
        let Some((start, mark)) = next.filter(|(start, _)| *start < code) else { return };
        at = start + mark.len();
        // `'"""'` is a short string that contains the mark.
        let around = |place: Option<usize>| place.and_then(|place| line.as_bytes().get(place)).copied();
        let (before, after) = (around(start.checked_sub(1)), around(Some(at)));
        let quoted = before == after && matches!(before, Some(b'"' | b'\''));
        if !quoted {
            *open = Some(OpenBlock::String(mark));
        }
    }
}

/// Strips the mark that begins a comment or a documentation string, and returns the rest of the line.
fn opens<'a>(trimmed: &'a str, start: &str) -> Option<&'a str> {
    if let Some(rest) = trimmed.strip_prefix(start) {
        return Some(rest);
    }
    if start.starts_with('"') || start.starts_with('\'') {
        // Prefixes of strings in Python.
        let quoted = trimmed.trim_start_matches(['r', 'b', 'u', 'R']);
        if let Some(rest) = quoted.strip_prefix(start) {
            return Some(rest);
        }
        // `@doc """`
        if trimmed.starts_with('@') && trimmed.ends_with(start) {
            return Some("");
        }
    }
    None
}

/// Returns true for `#[…]` in languages where this is an attribute and not a comment.
fn is_directive(trimmed: &str, language: &LanguageRow) -> bool {
    trimmed.starts_with("#[") && language.has(SyntaxQuirk::Attributes)
}

/// Splits a file before its definitions. A chunk should be long enough to understand and short enough to
/// read. So a definition only begins a new chunk if the current one has at least [`limits::SHORT_CHUNK`]
/// lines. A definition that is indented deeper than the start of the chunk needs twice as many.
fn cut(outline: &Outline, starts: &[(u32, u32)]) -> Vec<FileChunk> {
    let total = outline.lines.len() as u32;
    let mut cuts: Vec<u32> = vec![0];
    let mut last = 0;
    let mut last_indent = 0;
    for &(line, indent) in starts {
        let length = line - last;
        let wanted = if indent <= last_indent { limits::SHORT_CHUNK } else { 2 * limits::SHORT_CHUNK };
        if length >= wanted {
            cuts.push(line);
            last = line;
            last_indent = indent;
        }
    }
    let mut chunks = Vec::new();
    let mut first_symbol = 0;
    for (index, &start) in cuts.iter().enumerate() {
        let end = cuts.get(index + 1).copied().unwrap_or(total);
        let mut start = start;
        while start < end {
            let stop = if end - start > limits::LONG_CHUNK { blank_before(outline, start) } else { end };
            let symbols = first_symbol
                ..first_symbol
                    + outline.symbols[first_symbol..].iter().take_while(|symbol| symbol.line < stop).count();
            first_symbol = symbols.end;
            chunks.push(FileChunk { start_line: start + 1, end_line: stop, symbols });
            start = stop;
        }
    }
    chunks
}

/// Chooses the line at which to split a chunk that is too long: after the last blank line in the second half
/// of [`limits::LONG_CHUNK`] lines, or after all of them.
fn blank_before(outline: &Outline, start: u32) -> u32 {
    let longest = start + limits::LONG_CHUNK;
    let shortest = start + limits::LONG_CHUNK / 2;
    (shortest..longest)
        .rev()
        .find(|&line| outline.lines.get(line as usize) == Some(&LineKind::Blank))
        .map_or(longest, |line| line + 1)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::any_text;

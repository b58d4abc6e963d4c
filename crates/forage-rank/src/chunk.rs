//! Files cut at their definitions.
//!
//! Definitions are found by line: a keyword of the language after modifiers, or a shape that has none. That is less
//! than a parser knows; what the ranking needs of a file is where things begin and what they are called, and it finds
//! the right file as often with it as with syntax trees, which take thirty times as long (`bench/README.md`).

mod definition;

use definition::SymbolDefinition;
pub(crate) use definition::{STATEMENTS, definition};

use forage_fs::lines;

use crate::languages::{CommentStyle, DefinitionKind, Habit, LanguageRow};
use crate::limits;

/// What a line is, for the weights of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// Nothing but white space.
    Blank,
    /// A comment, or documentation in a string.
    Comment,
    /// Code up to this byte, a comment from there on.
    Code(usize),
}

/// A definition, where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkSymbol {
    /// The name, without what qualifies it.
    pub name: String,
    /// What it names.
    pub kind: DefinitionKind,
    /// Its line, from 0.
    pub line: u32,
    /// White space before it, in columns.
    pub indent: u32,
}

/// Lines that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChunk {
    /// The first line, from 1.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// Definitions in it, as a range of [`Outline::symbols`].
    pub symbols: std::ops::Range<usize>,
}

/// A file as the index sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    /// One per line.
    pub lines: Vec<LineKind>,
    /// All definitions, in the order of lines.
    pub symbols: Vec<ChunkSymbol>,
    /// All lines, cut.
    pub chunks: Vec<FileChunk>,
}

/// Cuts a text.
#[must_use]
pub(crate) fn outline(text: &str, language: &LanguageRow) -> Outline {
    outline_with(text, language, |_, _, _| ())
}

/// The same; `each` is given every line, what it is, and whether it begins within a string that is a value.
pub(crate) fn outline_with<'t>(
    text: &'t str,
    language: &LanguageRow,
    mut each: impl FnMut(&'t str, LineKind, bool),
) -> Outline {
    let mut outline = Outline::default();
    let mut reader = LineClassifier::new(language);
    // Where the chunk of a definition would begin: at the comment and the attributes above it.
    let mut lead: Option<u32> = None;
    // The comment above is documentation, which a blank line parts from nothing.
    let mut is_documented = false;
    let mut before = LineKind::Blank;
    let mut starts: Vec<(u32, u32)> = Vec::new();
    for (number, line) in lines(text).enumerate() {
        let number = number as u32;
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
                    // What a file begins with is its licence.
                    is_documented = number > 0 && is_documentation(line.trim_start());
                }
                lead.get_or_insert(number);
                if language.style == CommentStyle::Lua && line.starts_with("---@") {
                    push(&mut outline.symbols, definition(line, language), number, 0);
                }
            }
            LineKind::Code(end) => {
                let code = &line[..end];
                let trimmed = code.trim_start();
                let indent = indent(code);
                // What a string quotes defines nothing here.
                let found = if within_string { None } else { definition(code, language) };
                if found.is_some() {
                    starts.push((lead.unwrap_or(number), indent));
                    push(&mut outline.symbols, found, number, indent);
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

fn push(symbols: &mut Vec<ChunkSymbol>, found: Option<SymbolDefinition<'_>>, line: u32, indent: u32) {
    if let Some(SymbolDefinition { name, kind }) = found {
        symbols.push(ChunkSymbol { name: name.to_owned(), kind, line, indent });
    }
}

/// White space in front of a line, in columns.
pub(crate) fn indent(line: &str) -> u32 {
    line.bytes()
        .map_while(|byte| match byte {
            b' ' => Some(1),
            b'\t' => Some(4),
            _ => None,
        })
        .sum()
}

/// Whether a comment begins as documentation of what comes next does, not as one about the lines around it.
fn is_documentation(trimmed: &str) -> bool {
    let begins = ["/**", "///", "-- |", "--|", "(**"].iter().any(|mark| trimmed.starts_with(mark));
    // Lines of stars and slashes are drawn above parts of a file.
    begins && !trimmed.starts_with("/***") && !trimmed.starts_with("////")
}

/// Attributes, decorators and template heads stand above what they belong to.
pub(crate) fn is_lead(trimmed: &str) -> bool {
    trimmed.starts_with('@')
        || trimmed.starts_with("#[")
        || trimmed.starts_with('[')
        || trimmed.starts_with("template")
}

/// Tells the lines of a file apart, one after the other.
pub(crate) struct LineClassifier<'l> {
    language: &'l LanguageRow,
    open: Option<OpenBlock>,
}

impl<'l> LineClassifier<'l> {
    /// At the beginning of a file.
    pub(crate) fn new(language: &'l LanguageRow) -> Self {
        Self { language, open: None }
    }

    /// Whether the next line begins within a string that is a value, or within the code of a document.
    pub(crate) fn is_in_string(&self) -> bool {
        matches!(self.open, Some(OpenBlock::String(_) | OpenBlock::Fence(..)))
    }

    /// What the next line is.
    pub(crate) fn read(&mut self, line: &str) -> LineKind {
        line_kind(line, self.language, &mut self.open)
    }
}

/// What a line leaves open, with the mark that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenBlock {
    Comment(&'static str),
    /// A string of several lines that is a value, not documentation.
    String(&'static str),
    /// Code in Markdown, with the character of its fence and their number.
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
        // Three back quotes may also enclose code in a line.
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
    // Behind code: a marker that follows white space. One within a string is rare enough to be taken for one.
    let code = line.trim_end().len();
    let bytes = line.as_bytes();
    let end = language
        .line_comments
        .iter()
        .filter_map(|marker| {
            // For a mark of one or two bytes a searcher takes longer to be made than a line to be looked at.
            memchr::memchr_iter(marker.as_bytes()[0], bytes)
                .filter(|&at| at > 0 && bytes[at - 1].is_ascii_whitespace())
                .find(|&at| bytes[at..].starts_with(marker.as_bytes()))
        })
        .min()
        .unwrap_or(code);
    follow_strings(line, end, language, open);
    LineKind::Code(end)
}

/// Returns the sign of a line that begins or ends code in Markdown, the number of signs and what follows them.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let trimmed = line.trim();
    let sign = trimmed.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let info = trimmed.trim_start_matches(sign);
    let length = trimmed.len() - info.len();
    (length >= 3).then_some((sign, length, info.trim()))
}

/// Opens and closes strings of several lines, which documentation is written in as well: without this the end of
/// `SQL = """` would begin a comment, and all that follows be taken for the other of the two.
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
        // `'"""'` is a short string with the mark in it.
        let around = |place: Option<usize>| place.and_then(|place| line.as_bytes().get(place)).copied();
        let (before, behind) = (around(start.checked_sub(1)), around(Some(at)));
        let quoted = before == behind && matches!(before, Some(b'"' | b'\''));
        if !quoted {
            *open = Some(OpenBlock::String(mark));
        }
    }
}

/// The rest of a line that begins a comment or a documentation string.
fn opens<'a>(trimmed: &'a str, start: &str) -> Option<&'a str> {
    if let Some(rest) = trimmed.strip_prefix(start) {
        return Some(rest);
    }
    if start.starts_with('"') || start.starts_with('\'') {
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

/// `#define` and `#[…]` are no comments where `#` is none, and in some languages `#[…]` is an attribute.
fn is_directive(trimmed: &str, language: &LanguageRow) -> bool {
    trimmed.starts_with("#[") && language.has(Habit::Attributes)
}

/// Cuts before definitions. A chunk is long enough to be understood and short enough to be read: what is shorter
/// than [`limits::SHORT_CHUNK`] takes in what follows at the same depth or deeper.
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
    for (nth, &start) in cuts.iter().enumerate() {
        let end = cuts.get(nth + 1).copied().unwrap_or(total);
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

/// Where to cut what is too long: at the last blank line that leaves at least half.
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

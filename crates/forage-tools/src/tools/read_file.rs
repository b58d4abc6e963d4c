//! `read_file`: reads a file, a range of its lines, one of its definitions, or its outline.

mod structure;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::ops::{Range, RangeInclusive};

use forage_base::Stop;
use forage_fs::{Contents, DecodedText, Encoding, OpenedFile, ReadBuffer, RelPath, Root, decode};
use forage_redact::{ExcerptLine, KeyBlocks, RedactionReport};
use forage_search::{CHARACTER_BYTES, shown_part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::adapted;
use crate::arguments::{ArgumentAlias, ArgumentAliases, Clamp};
use crate::call::Call;
use crate::error::ToolError;
use crate::file_text::{FileSource, is_binary};
use crate::head::Counts;
use crate::limits;
use crate::notes::{notes, with_notes};
use crate::outcome::{Limit, Render, ToolOutcome};
use crate::output_redactor::{OutputRedactor, without_cut_word};
use crate::place::PathTarget;
use crate::sanitize::{line_text, path_bytes, record_text};
use crate::shown::{Rendered, ShownFiles};
use crate::text::{count, grouped};
use crate::tool::{Tool, ToolSpec};
pub use structure::OutlineEntry;
use structure::{SymbolLines, SymbolRequest};

/// The `read_file` tool.
pub struct ReadFile;

/// The arguments of `read_file`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReadRequest {
    /// File, relative to the project root or absolute.
    pub path: String,
    /// First line (default: 1).
    pub start_line: Option<i64>,
    /// Last line, inclusive (default: the last that fits).
    pub end_line: Option<i64>,
    /// Definitions to read, such as "Client::send, close".
    pub symbol: Option<String>,
    /// Lines around each definition (default: 0).
    pub context_lines: Option<i64>,
    /// Show what the file defines.
    pub outline: Option<bool>,
}

impl ReadRequest {
    /// Creates a request with the defaults: the whole file, as far as it fits.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            start_line: None,
            end_line: None,
            symbol: None,
            context_lines: None,
            outline: None,
        }
    }

    setters! {
        start_line: i64,
        end_line: i64,
        symbol: String,
        context_lines: i64,
        outline: bool,
    }
}

/// The records that `read_file` returns.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ReadResponse {
    /// The file, below the root.
    pub path: String,
    /// The bytes of the path in base64, if `path` is quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// The first line of `lines`, from 1.
    pub start_line: u64,
    /// The last line shown; 0 for an empty file.
    pub end_line: u64,
    /// Lines of the file; a lower bound unless `total_exact`.
    pub total_lines: u64,
    /// True if `total_lines` is exact.
    pub total_exact: bool,
    /// Bytes of the file.
    pub size: u64,
    /// The encoding of the file, such as `UTF-8`.
    pub encoding: &'static str,
    /// The lines without line ends. U+FFFD replaces bytes that are not UTF-8; characters that hide or reorder text
    /// are escaped.
    pub lines: Vec<String>,
    /// Further definitions, if several were requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<ReadPart>,
    /// Other definitions with a requested name, and members of a requested type outside of its lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symbol_notes: Vec<String>,
    /// The definitions in line order, if an outline was requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<OutlineEntry>,
    /// Number of definitions that the outline omits, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outline_left_out: BTreeMap<&'static str, usize>,
    /// The outline was built line by line, because there is no parser for the language or the file is too large:
    /// definitions may be missing or have wrong ends.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outline_by_line: bool,
    /// The parser found errors in the file: definitions near them may be missing or have wrong ends.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outline_has_errors: bool,
    /// By line number, the bytes in base64 of lines that differ in `lines`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub line_bytes: BTreeMap<u64, String>,
    /// Numbers of the lines in which a secret was replaced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted_lines: Vec<u64>,
    /// Number of lines that were cut.
    pub cut_lines: u64,
    /// True if lines end with CR LF.
    pub crlf: bool,
    /// True if U+FFFD replaces bytes that are not text.
    not_utf8: bool,
    #[serde(skip)]
    wanted_end: Option<u64>,
    /// True if the caller requested an outline.
    #[serde(skip)]
    is_outline: bool,
    /// Lines to which the caller limited the outline.
    #[serde(skip)]
    outline_lines: Option<(i64, i64)>,
}

impl ReadResponse {
    /// Creates a response without lines.
    fn new(source: &FileSource, size: u64, encoding: &'static str) -> Self {
        Self {
            path: source.shown.clone(),
            path_bytes: path_bytes(&source.path),
            start_line: 1,
            end_line: 0,
            total_lines: 0,
            total_exact: false,
            size,
            encoding,
            lines: Vec::new(),
            further: Vec::new(),
            symbol_notes: Vec::new(),
            outline: Vec::new(),
            outline_left_out: BTreeMap::new(),
            outline_by_line: false,
            outline_has_errors: false,
            line_bytes: BTreeMap::new(),
            redacted_lines: Vec::new(),
            cut_lines: 0,
            crlf: false,
            not_utf8: false,
            wanted_end: None,
            is_outline: false,
            outline_lines: None,
        }
    }
}

/// A further requested definition.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ReadPart {
    /// The first line of `lines`, from 1.
    pub start_line: u64,
    /// The last line shown.
    pub end_line: u64,
    /// As in [`ReadResponse::lines`].
    pub lines: Vec<String>,
}

/// Finds the first and the last line of each definition with this name in the text of a file.
///
/// # Errors
///
/// Fails if the file has no definition with this name.
pub(super) fn definition_lines(
    call: &Call,
    file: (&RelPath, &str),
    symbol: &str,
    stop: &Stop,
) -> Result<Vec<(u64, u64)>, ToolError> {
    let request = SymbolRequest { symbols: symbol, around: 0, takes_all: true };
    let found = structure::lines_of_all(call, file, request, stop)?;
    Ok(found.into_iter().map(|of| (of.start, of.end)).collect())
}

/// Reads the file of a definition (`path#name`) or of lines (`path:FIRST-LAST`), and finds these lines. A single
/// line stands for the definition around it.
///
/// # Errors
///
/// Fails if there is no such file or definition, or if the path alone is given.
pub(super) fn named_code(
    call: &Call,
    path: &str,
    stop: &Stop,
) -> Result<(FileSource, String, RangeInclusive<u32>), ToolError> {
    let (target, symbol) = structure::named(call, &ReadRequest::new(path))?;
    let source = FileSource::new(&target, stop)?;
    let text = source.whole_text(stop)?.0.into_text();
    let number = |line: i64| u32::try_from(line).unwrap_or(u32::MAX);
    let lines = match (symbol, target.lines) {
        (Some(symbol), _) => {
            let request = SymbolRequest { symbols: &symbol, around: 0, takes_all: false };
            let found = structure::lines_of_all(call, (&source.path, &text), request, stop)?;
            found.first().map(|of| number(of.start.cast_signed())..=number(of.end.cast_signed()))
        }
        (None, Some(lines)) if *lines.end() == i64::MAX => {
            let path = String::from_utf8_lossy(source.path.as_bytes());
            let outline = call.workspace.outlines.outline(&path, &text, stop);
            let around = outline.innermost(number(*lines.start())).map(|at| &outline.definitions[at]);
            let definition = around.ok_or_else(|| {
                let problem = format!("no definition has line {}; give `path:FIRST-LAST`", lines.start());
                ToolError::argument("path", problem)
            })?;
            Some(definition.start_line..=definition.end_line)
        }
        (None, Some(lines)) => Some(number(*lines.start())..=number(*lines.end())),
        (None, None) => None,
    };
    let problem = "it names a file; add the name of a definition (`path#name`) or lines (`path:FIRST-LAST`)";
    let lines = lines.ok_or_else(|| ToolError::argument("path", problem))?;
    Ok((source, text, lines))
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const FOREIGN: &'static [ArgumentAliases] = &[
        (&["file", "file_path", "filePath", "absolute_path", "target_file"], ArgumentAlias::Rename("path")),
        (&["filename", "uri", "paths"], ArgumentAlias::Rename("path")),
        (&["start", "line", "line_start", "startLine", "from_line"], ArgumentAlias::Rename("start_line")),
        (&["start_line_one_indexed"], ArgumentAlias::Rename("start_line")),
        (&["end", "line_end", "endLine", "to_line"], ArgumentAlias::Rename("end_line")),
        (&["end_line_one_indexed_inclusive"], ArgumentAlias::Rename("end_line")),
    ];
    type Request = ReadRequest;
    type Response = ReadResponse;

    fn spec() -> ToolSpec {
        ToolSpec {
            method: "read".into(),
            distinct_name: "read_project_file".into(),
            is_quick: true,
            ..ToolSpec::new(Self::NAME, "Read a file", include_str!("read_file.md").trim_ascii_end())
        }
    }

    fn adapt(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
        adapted::to_lines(fields)
    }

    fn path(request: &ReadRequest) -> Option<&str> {
        Some(&request.path)
    }

    fn run(call: &Call, request: ReadRequest) -> Result<ToolOutcome<ReadResponse>, ToolError> {
        let (target, symbol) = structure::named(call, &request)?;
        let source = FileSource::new(&target, &call.stop.within(call.limits.timeout))?;
        let PathTarget { path, lines, note, .. } = target;
        // With lines in the path we don't need this note: the answer will show the path and the lines.
        let note = note.filter(|_| lines.is_none());
        let stop = call.stop.within(call.limits.timeout);
        let names_lines = request.start_line.is_some() || request.end_line.is_some();
        if request.outline == Some(true) {
            if names_lines || symbol.is_some() {
                let problem = "it covers the whole file; omit lines and names of definitions";
                return Err(ToolError::argument("outline", problem));
            }
            return structure::answer(call, &source, lines, note, &stop);
        }
        let mut clamp = Clamp::new(&call.workspace.names, Self::NAME);
        let max = limits::GREP_CONTEXT_MAX;
        let around = clamp.number("context_lines", request.context_lines, 0, 0, max);
        let mut of_symbols = match &symbol {
            Some(_) if names_lines => {
                return Err(ToolError::argument("symbol", "it selects the lines; omit line numbers"));
            }
            Some(symbol) => {
                let text = source.whole_text(&stop)?.0;
                let request = SymbolRequest { symbols: symbol, around, takes_all: false };
                structure::lines_of_all(call, (&path, &text), request, &stop)?
            }
            None => Vec::new(),
        }
        .into_iter();
        let of_symbol = of_symbols.next();
        let lines = of_symbol.as_ref().map(|of| of.start.cast_signed()..=of.end.cast_signed()).or(lines);
        let asked = AskedLines::new(call, &request, lines, &mut clamp);
        let mut hidden = RedactionReport::default();
        let mut redactor = OutputRedactor::new(&call.workspace.redactor, &mut hidden);
        let range = (asked.start, asked.end);
        let mut wanted = WantedLines::read(call.limits.text_bytes, &source, range, &mut redactor, &stop)?;
        asked.warn(&wanted.reader, &mut clamp);
        let mut symbols = SymbolParts::new(of_symbol, &mut wanted);
        let room = call.limits.text_bytes.saturating_sub(wanted.shown.text_bytes());
        symbols.read(room, &source, of_symbols, &mut redactor, &stop)?;
        let lines = wanted.shown.lines.len() as u64;
        let last = (asked.start + lines).saturating_sub(1);
        let is_complete = wanted.reader.complete;
        // If time ran out before the first line of a file that has lines, nothing was found.
        let mut outcome = ToolOutcome::new(
            ReadResponse {
                start_line: asked.start,
                end_line: if lines == 0 { 0 } else { last },
                further: symbols.parts,
                symbol_notes: symbols.notes,
                redacted_lines: symbols.redacted,
                wanted_end: asked.end,
                ..wanted.response(&source)
            },
            lines > 0 || is_complete,
        );
        outcome.hidden = hidden;
        outcome.warnings = clamp.warnings;
        outcome.warnings.extend(note);
        outcome.warnings.extend(symbols.warnings);
        let is_shown = is_complete || asked.end.is_some_and(|end| last >= end);
        if let Some(stopped) = stop.check().filter(|_| !is_shown) {
            outcome.truncated_by = Some(stopped.into());
        } else if symbols.is_cut {
            outcome.truncated_by = Some(Limit::TextBytes);
        }
        Ok(outcome)
    }
}

/// The range of lines that a call asks for.
struct AskedLines {
    start: u64,
    end: Option<u64>,
    /// The last line as it was given. It may be before the first one.
    given_end: Option<i64>,
}

impl AskedLines {
    /// Takes the range from the request, and what it leaves open from `lines`.
    fn new(
        call: &Call,
        request: &ReadRequest,
        lines: Option<RangeInclusive<i64>>,
        clamp: &mut Clamp<'_>,
    ) -> Self {
        let first = request.start_line.or(lines.as_ref().map(|lines| *lines.start()));
        let start = clamp.at_least("start_line", first, 1).unwrap_or(1);
        let last = lines.filter(|_| request.start_line.is_none()).map(|lines| *lines.end());
        let last = last.filter(|last| *last < i64::MAX);
        let given_end = request.end_line.or(last);
        // `warn` repeats this, because its warning comes after the file could be read.
        let end = Clamp::new(&call.workspace.names, ReadFile::NAME).at_least("end_line", given_end, start);
        Self { start, end, given_end }
    }

    /// Warns if the range ends before its start or after the end of the file.
    fn warn(&self, reader: &LineReader, clamp: &mut Clamp<'_>) {
        let all = reader.lines_seen.max(1);
        // This warns if the requested end is before the first displayed line.
        clamp.at_least("end_line", self.given_end, self.start);
        if reader.complete
            && self.start <= all
            && let Some(beyond) = self.end.filter(|&end| end > all)
        {
            clamp.note("end_line", beyond, 1, all);
        }
    }
}

/// The requested definitions after the first one, and the notes about all of them.
struct SymbolParts {
    parts: Vec<ReadPart>,
    redacted: Vec<u64>,
    warnings: Vec<String>,
    notes: Vec<String>,
    /// True if there was no room for all lines.
    is_cut: bool,
}

impl SymbolParts {
    /// Begins with the notes about the first definition, or about a range of lines.
    fn new(first: Option<SymbolLines>, wanted: &mut WantedLines) -> Self {
        let (warnings, notes) = first.map(|of| (of.warnings, of.notes)).unwrap_or_default();
        let redacted = std::mem::take(&mut wanted.shown.redacted);
        Self { parts: Vec::new(), redacted, warnings, notes, is_cut: wanted.reader.out_of_room }
    }

    /// Reads the lines of further definitions, limited to `room` bytes. Names the lines that had no room.
    fn read(
        &mut self,
        mut room: usize,
        source: &FileSource,
        symbols: impl Iterator<Item = SymbolLines>,
        redactor: &mut OutputRedactor<'_>,
        stop: &Stop,
    ) -> Result<(), ToolError> {
        let mut left_out: Vec<(u64, u64)> = Vec::new();
        for of in symbols {
            if self.is_cut {
                left_out.push((of.start, of.end));
                continue;
            }
            let range = (of.start, Some(of.end));
            let WantedLines { reader, shown, .. } = WantedLines::read(room, source, range, redactor, stop)?;
            room = room.saturating_sub(shown.text_bytes());
            self.is_cut = reader.out_of_room;
            self.redacted.extend(shown.redacted);
            self.warnings.extend(of.warnings);
            self.notes.extend(of.notes);
            let end_line = (of.start + shown.lines.len() as u64).saturating_sub(1);
            if self.is_cut {
                left_out.push((end_line + 1, of.end));
            }
            self.parts.push(ReadPart { start_line: of.start, end_line, lines: shown.lines });
        }
        for notes in [&mut self.warnings, &mut self.notes] {
            notes.sort();
            notes.dedup();
        }
        self.notes.extend(left_out_note(&left_out));
        Ok(())
    }
}

/// Builds the note about requested lines that had no room.
fn left_out_note(ranges: &[(u64, u64)]) -> Option<String> {
    let named = ranges.iter().take(limits::SYMBOL_PLACES);
    let named: Vec<String> = named.map(|(start, end)| format!("{start} to {end}")).collect();
    let more = ranges.len() - named.len();
    let more = if more > 0 { format!(", and {}", count(more as u64, "more range")) } else { String::new() };
    let ranges = named.join(", ");
    (!named.is_empty()).then(|| format!("no room for lines {ranges}{more}: ask for them in another call"))
}

/// Requested lines of a file.
struct WantedLines {
    reader: LineReader,
    shown: ShownLines,
    encoding: &'static str,
    size: u64,
}

impl WantedLines {
    /// Reads lines of a file, limited to `room` bytes.
    fn read(
        room: usize,
        source: &FileSource,
        (start, end): (u64, Option<u64>),
        redactor: &mut OutputRedactor<'_>,
        stop: &Stop,
    ) -> Result<Self, ToolError> {
        let mut reader = LineReader::new(start, end, room, redactor.margin());
        let (encoding, size) = match &source.stored {
            Some(bytes) => (feed_whole(bytes, &mut reader, stop), bytes.len() as u64),
            None => {
                let mut file = source.root.open_file(&source.path)?;
                let size = file.size();
                (read(&mut file, &mut reader, stop)?, size)
            }
        };
        let encoding = encoding.ok_or_else(|| is_binary(&source.path, size))?;
        let shown = reader.finish(redactor);
        Ok(Self { reader, shown, encoding, size })
    }

    /// Builds the records of these lines, without their numbers.
    fn response(self, source: &FileSource) -> ReadResponse {
        let Self { reader, shown, encoding, size } = self;
        ReadResponse {
            total_lines: reader.lines_seen,
            total_exact: reader.complete,
            cut_lines: shown.cut_lines,
            crlf: reader.crlf,
            not_utf8: shown.not_utf8,
            lines: shown.lines,
            line_bytes: shown.bytes,
            ..ReadResponse::new(source, size, encoding)
        }
    }
}

/// Feeds a whole file to `lines`. Returns the name of its encoding, or `None` if the file is binary.
fn feed_whole(bytes: &[u8], lines: &mut LineReader, stop: &Stop) -> Option<&'static str> {
    match decode(bytes) {
        DecodedText::Binary => None,
        DecodedText::Text { bytes, encoding } => {
            lines.complete = lines.feed_within(&bytes, stop);
            Some(encoding.name())
        }
    }
}

/// Feeds the file's text to `lines`. Returns the name of its encoding, or `None` if the file is binary.
fn read(
    file: &mut OpenedFile,
    lines: &mut LineReader,
    stop: &Stop,
) -> Result<Option<&'static str>, ToolError> {
    let failed = |error: std::io::Error| ToolError::argument("path", format!("it can't be read: {error}"));
    let mut buffer = ReadBuffer::default();
    if file.read_into(&mut buffer, forage_fs::limits::DETECTION_BYTES).map_err(failed)? == Contents::Whole {
        return Ok(feed_whole(&buffer, lines, stop));
    }
    let encoding = Encoding::detect(&buffer);
    let mut text = encoding.reader(Read::chain(&buffer[..], file.reader()));
    let (mut piece, mut read) = (ReadBuffer::default(), 0);
    loop {
        piece.clear();
        let got = piece.read_more(&mut text, PIECE_BYTES).map_err(failed)?;
        if got == 0 {
            lines.complete = true;
            return Ok(Some(encoding.name()));
        }
        // A NUL byte makes the file binary, even if it comes late.
        if memchr::memchr(0, &piece).is_some() {
            return Ok(None);
        }
        read += got as u64;
        // Beyond this limit we no longer count lines, and read only the requested ones.
        if !lines.feed_within(&piece, stop) || (read > limits::READ_COUNT_BYTES && lines.has_enough()) {
            return Ok(Some(encoding.name()));
        }
    }
}

/// Bytes that we read and parse between deadline checks. This takes a few milliseconds, even if all of them
/// are line feeds.
const PIECE_BYTES: usize = 1 << 20;

/// Extracts the requested lines from a text that comes in chunks, and counts all lines.
struct LineReader {
    start: u64,
    end: Option<u64>,
    /// Bytes of text that the lines may take.
    budget: usize,
    /// Bytes left after the lines so far, including the secrets in these.
    room: usize,
    /// Number of lines before and after the requested ones that we keep for redaction.
    margin: u64,
    kept: Vec<SourceLine>,
    /// The first requested line that did not fit. We show no line after it.
    first_left_out: Option<u64>,
    lines_seen: u64,
    /// Bytes before the next line.
    place: u64,
    /// The start of an unfinished line, as far as we keep it, and the full length of that line.
    partial: Vec<u8>,
    partial_bytes: usize,
    out_of_room: bool,
    crlf: bool,
    /// The private keys in the text.
    keys: KeyBlocks,
    /// True if the end of the file was reached.
    complete: bool,
}

/// A line as it was read.
struct SourceLine {
    number: u64,
    /// Its offset in the text.
    place: u64,
    /// The line without its line end, as far as we keep it.
    bytes: Vec<u8>,
    /// Bytes of the whole line.
    length: usize,
}

/// Lines as displayed.
#[derive(Default)]
struct ShownLines {
    lines: Vec<String>,
    bytes: BTreeMap<u64, String>,
    redacted: Vec<u64>,
    cut_lines: u64,
    not_utf8: bool,
}

impl ShownLines {
    fn text_bytes(&self) -> usize {
        self.lines.iter().map(String::len).sum()
    }
}

impl LineReader {
    fn new(start: u64, end: Option<u64>, budget: usize, margin: usize) -> Self {
        // This reserves room for the notes.
        let budget = budget.saturating_sub(1_000);
        Self {
            start,
            end,
            budget,
            room: budget,
            margin: margin as u64,
            kept: Vec::new(),
            first_left_out: None,
            lines_seen: 0,
            place: 0,
            partial: Vec::new(),
            partial_bytes: 0,
            out_of_room: false,
            crlf: false,
            keys: KeyBlocks::default(),
            complete: false,
        }
    }

    fn has_enough(&self) -> bool {
        let last = self.first_left_out.map(|number| number - 1).or(self.end);
        last.is_some_and(|last| self.lines_seen >= last + self.margin)
    }

    /// Feeds a text in chunks. Returns false if time ran out.
    fn feed_within(&mut self, text: &[u8], stop: &Stop) -> bool {
        text.chunks(PIECE_BYTES).all(|piece| {
            self.feed(piece);
            stop.check().is_none()
        })
    }

    fn feed(&mut self, mut text: &[u8]) {
        // Only redaction needs the keys. Without redaction, the margin is 0.
        if self.margin > 0 {
            self.keys.feed(text);
        }
        while !text.is_empty() {
            let (part, rest, ended) = match memchr::memchr(b'\n', text) {
                Some(feed) => (&text[..feed], &text[feed + 1..], true),
                None => (text, &text[..0], false),
            };
            if self.keeps_next() {
                let max = limits::READ_LINE_CHARACTERS * CHARACTER_BYTES
                    + if self.margin > 0 { limits::REDACTION_CONTEXT_BYTES } else { 4 };
                let keep = max.saturating_sub(self.partial.len()).min(part.len());
                self.partial.extend_from_slice(&part[..keep]);
            }
            self.partial_bytes += part.len();
            self.crlf |= ended && part.last() == Some(&b'\r');
            if ended {
                self.end_line();
            } else {
                self.partial_bytes = self.partial_bytes.max(1);
            }
            text = rest;
        }
    }

    fn keeps_next(&self) -> bool {
        let number = self.lines_seen + 1;
        let last = self.first_left_out.map(|number| number - 1).or(self.end);
        number + self.margin >= self.start && last.is_none_or(|last| number <= last + self.margin)
    }

    /// Returns true if a line is requested and may still fit.
    fn is_shown(&self, number: u64) -> bool {
        let is_wanted = number >= self.start && self.end.is_none_or(|end| number <= end);
        is_wanted && self.first_left_out.is_none_or(|left_out| number < left_out)
    }

    fn end_line(&mut self) {
        let number = self.lines_seen + 1;
        if self.keeps_next() {
            let line = self.partial.strip_suffix(b"\r").unwrap_or(&self.partial);
            let length = self.partial_bytes - (self.partial.len() - line.len()).min(self.partial_bytes);
            if self.is_shown(number) {
                let cost = cost(&shown(&String::from_utf8_lossy(line), length).0);
                // We always show the first line. Otherwise a caller could not continue after it.
                if cost > self.room && number > self.start {
                    self.first_left_out = Some(number);
                    self.out_of_room = true;
                }
                self.room = self.room.saturating_sub(cost);
            }
            // No rule recognizes half a secret, so the word at the cut must go.
            let is_cut = self.margin > 0 && line.len() < length;
            let bytes = if is_cut { without_cut_word(line) } else { line }.to_vec();
            self.kept.push(SourceLine { number, place: self.place, bytes, length });
        }
        self.lines_seen = number;
        self.place += self.partial_bytes as u64 + 1;
        self.partial.clear();
        self.partial_bytes = 0;
    }

    /// Ends a last line that has no line feed, and redacts the requested lines. Lines that no longer fit
    /// after redaction are dropped.
    fn finish(&mut self, redactor: &mut OutputRedactor<'_>) -> ShownLines {
        if self.partial_bytes > 0 {
            self.end_line();
        }
        self.keys.end();
        let within = |line: &SourceLine| match self.keys.is_empty() {
            true => Vec::new(),
            false => self.keys.within(line.place, &line.bytes),
        };
        let in_keys: Vec<Vec<Range<usize>>> = self.kept.iter().map(within).collect();
        let lines: Vec<ExcerptLine<'_>> = self
            .kept
            .iter()
            .zip(&in_keys)
            .map(|(line, in_key)| ExcerptLine {
                number: line.number,
                bytes: &line.bytes,
                in_key,
                is_shown: self.is_shown(line.number),
            })
            .collect();
        let texts = redactor.lines(&lines);
        let mut all = ShownLines::default();
        let mut room = self.budget;
        for (kept, redacted) in self.kept.iter().zip(texts) {
            if !self.is_shown(kept.number) {
                continue;
            }
            let raw = String::from_utf8_lossy(&kept.bytes);
            let (text, was_cut) = shown(redacted.as_deref().unwrap_or(&raw), kept.length);
            let cost = cost(&text);
            if cost > room && !all.lines.is_empty() {
                self.out_of_room = true;
                break;
            }
            room = room.saturating_sub(cost);
            all.cut_lines += u64::from(was_cut);
            all.not_utf8 |= std::str::from_utf8(&kept.bytes).is_err_and(|error| error.error_len().is_some());
            // If a line was redacted or cut, we must not return its bytes: they contain more than the
            // displayed text.
            let whole = (redacted.is_none() && !was_cut).then_some(&*kept.bytes);
            let (text, bytes) = record_text(whole.unwrap_or(text.as_bytes()));
            all.bytes.extend(bytes.filter(|_| whole.is_some()).map(|bytes| (kept.number, bytes)));
            all.redacted.extend(redacted.map(|_| kept.number));
            all.lines.push(text);
        }
        all
    }
}

/// Formats a line for display. Also returns true if the line was cut.
fn shown(line: &str, length: usize) -> (Cow<'_, str>, bool) {
    let part = shown_part(line.as_bytes(), limits::READ_LINE_CHARACTERS, None);
    // If we did not keep the whole line, it is longer than the displayed part.
    if part.end == line.len() && length <= limits::READ_LINE_CHARACTERS * CHARACTER_BYTES {
        return (Cow::Borrowed(line), false);
    }
    let kept = format!("{}…", &line[part]);
    let more = length.saturating_sub(kept.len() - '…'.len_utf8());
    (Cow::Owned(format!("{kept} [{} bytes more]", grouped(more as u64))), true)
}

/// Computes the bytes that a line takes in the text, with its number, tab and line feed.
fn cost(line: &str) -> usize {
    line_text(line.as_bytes()).len() + 8
}

/// Formats line numbers, with runs as ranges, e.g. `3, 7-9`.
fn runs(numbers: &[u64]) -> String {
    let run = |run: &[u64]| match run {
        [first, .., last] => format!("{first}-{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    };
    numbers.chunk_by(|a, b| a + 1 == *b).map(run).collect::<Vec<_>>().join(", ")
}

/// Builds the note about the shown range of lines, unless it is the whole file.
fn range_note(outcome: &ToolOutcome<ReadResponse>) -> Option<String> {
    let response = &outcome.response;
    let at_least = if response.total_exact { "" } else { "at least " };
    let total = format!("{at_least}{}", count(response.total_lines, "line"));
    let (start, last) = (response.start_line, response.end_line);
    if response.further.is_empty()
        && last < response.total_lines
        && response.wanted_end.is_none_or(|end| last < end)
        && last > 0
    {
        let mut next = vec![("path", response.path.clone()), ("start_line", (last + 1).to_string())];
        next.extend(response.wanted_end.map(|end| ("end_line", end.to_string())));
        let next = outcome.names.call(ReadFile::NAME, &next);
        return Some(format!("lines {start} to {last} of {total}; to continue: {next}"));
    }
    if response.total_lines > 0 && start > response.total_lines {
        return Some(format!("no lines from {start} on: the file has {total}"));
    }
    if response.total_lines > 0 && (start > 1 || last < response.total_lines) {
        let further = response.further.iter();
        let further: String =
            further.map(|part| format!(", {} to {}", part.start_line, part.end_line)).collect();
        return Some(format!("lines {start} to {last}{further} of {total}"));
    }
    None
}

impl Render for ReadResponse {
    fn redact(&mut self, redactor: &mut OutputRedactor<'_>) {
        // The path comes from the caller, so we don't redact it.
        self.symbol_notes.iter_mut().for_each(|note| redactor.text(note));
    }

    fn name_whole_paths(&mut self, _: &Root) {
        // The path stays as the caller wrote it.
    }

    fn counts(&self) -> Counts<'_> {
        Counts::plain(self.lines.len().max(self.outline.len()) as u64, "lines", 1)
    }

    fn render(outcome: &ToolOutcome<Self>, budget: usize) -> Rendered {
        let response = &outcome.response;
        if response.is_outline {
            return structure::render(outcome, budget);
        }
        let mut text = String::new();
        let mut write = |start: u64, lines: &[String]| {
            for (number, line) in (start..).zip(lines) {
                let _ = writeln!(text, "{number:>6}\t{}", line_text(line.as_bytes()));
            }
        };
        write(response.start_line, &response.lines);
        for part in &response.further {
            write(part.start_line, &part.lines);
        }
        if response.size == 0 || response.total_lines == 0 {
            text.push_str("(empty file)");
        }
        let mut notes = notes(outcome, None);
        if let Some(note) = range_note(outcome) {
            notes.insert(0, note);
        }
        notes.extend(response.symbol_notes.iter().cloned());
        if !response.redacted_lines.is_empty() {
            let lines = if response.redacted_lines.len() == 1 { "line" } else { "lines" };
            notes.push(format!("secrets are hidden in {lines} {}", runs(&response.redacted_lines)));
        }
        if response.encoding != "UTF-8" {
            notes.push(format!("encoding: {}", response.encoding));
        }
        if response.not_utf8 {
            notes.push("some bytes are not UTF-8 and are shown as \u{fffd}".to_owned());
        }
        if response.crlf {
            notes.push("lines end with CR LF".to_owned());
        }
        let mut shown = ShownFiles::default();
        for part in &response.further {
            shown.read(&response.path, part.start_line, part.end_line);
        }
        if response.lines.is_empty() {
            shown.named(&response.path, 0);
        } else {
            shown.read(
                &response.path,
                response.start_line,
                response.start_line + response.lines.len() as u64 - 1,
            );
        }
        let is_cut = outcome.truncated_by == Some(Limit::TextBytes);
        let text = with_notes(text, &notes);
        Rendered { text, is_cut, hides_results: is_cut, shown: shown.into_files() }
    }
}

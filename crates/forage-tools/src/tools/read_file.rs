//! `read_file`: a file, or a range of its lines.

use std::fmt::Write as _;
use std::io::Read;

use forage_fs::{Contents, Decoded, OpenedFile, Stop, decode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::ToolError;
use crate::limits;
use crate::outcome::{Limit, Outcome, Render};
use crate::sanitize::line_text;
use crate::text::{count, grouped, notes, with_notes};
use crate::tool::Tool;

/// The tool.
pub struct ReadFile;

/// The arguments of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// File to read, relative to the project root or absolute within it.
    path: String,
    /// First line to read, counted from 1 (default: 1).
    start_line: Option<i64>,
    /// Last line to read, inclusive (default: the last line that fits).
    end_line: Option<i64>,
}

/// The records of `read_file`.
#[derive(Debug, Serialize)]
pub struct Response {
    path: String,
    start_line: u64,
    /// The last line shown; 0 for an empty file.
    end_line: u64,
    /// Lines of the file; a lower bound unless `total_exact`.
    total_lines: u64,
    total_exact: bool,
    /// Bytes of the file.
    size: u64,
    encoding: &'static str,
    /// Lines as they are in the file, without line ends; U+FFFD for what is not UTF-8.
    lines: Vec<String>,
    /// Lines cut for their length.
    cut_lines: u64,
    crlf: bool,
    not_utf8: bool,
    #[serde(skip)]
    wanted_end: Option<u64>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const TITLE: &'static str = "Read a file";
    const DESCRIPTION: &'static str = include_str!("read_file.md");
    const IS_QUICK: bool = true;
    const ARGUMENT_ALIASES: &'static [(&'static str, &'static str)] = &[
        ("file", "path"),
        ("file_path", "path"),
        ("filename", "path"),
        ("offset", "start_line"),
        ("start", "start_line"),
        ("end", "end_line"),
        ("limit", "end_line"),
    ];
    type Request = Request;
    type Response = Response;

    fn run(context: &Context, request: Request) -> Result<Outcome<Response>, ToolError> {
        let line = |argument, value: Option<i64>| match value {
            Some(value) => u64::try_from(value).ok().filter(|&value| value > 0).map(Some).ok_or_else(|| {
                ToolError::argument(
                    argument,
                    format!("{value} is not a line number; lines are counted from 1"),
                )
            }),
            None => Ok(None),
        };
        let start = line("start_line", request.start_line)?.unwrap_or(1);
        let end = line("end_line", request.end_line)?;
        if let Some(end) = end.filter(|&end| end < start) {
            return Err(ToolError::argument(
                "end_line",
                format!("{end} lies before start_line {start}; swap them"),
            ));
        }
        let (root, path) = context.roots.find(&request.path)?;
        let mut file = root.open_file(&path)?;
        let size = file.size();
        let shown_path = path.display().into_owned();
        let stop = context.stop.within(context.timeout);
        let mut reader = LineReader::new(start, end, context.text_bytes);
        let binary = || {
            ToolError::argument(
                "path",
                format!(
                    "{shown_path} is a binary file of {} and can't be shown as text",
                    count(size, "byte")
                ),
            )
        };
        let encoding = read(&mut file, &mut reader, &stop, size)?.ok_or_else(binary)?;
        reader.finish();
        if start > reader.lines_seen.max(1) && reader.complete {
            return Err(ToolError::argument(
                "start_line",
                format!("{start} lies beyond the end: {shown_path} has {}", count(reader.lines_seen, "line")),
            ));
        }
        let shown = reader.lines.len() as u64;
        let last = (start + shown).saturating_sub(1);
        let cut = reader.out_of_room;
        let mut outcome = Outcome::new(
            Response {
                path: shown_path,
                start_line: start,
                end_line: if shown == 0 { 0 } else { last },
                total_lines: reader.lines_seen,
                total_exact: reader.complete,
                size,
                encoding,
                cut_lines: reader.cut_lines,
                crlf: reader.crlf,
                not_utf8: reader.not_utf8,
                lines: reader.lines,
                wanted_end: end,
            },
            true,
        );
        if let Some(stopped) = stop.check() {
            outcome.truncated_by = Some(stopped.into());
        } else if cut {
            outcome.truncated_by = Some(Limit::TextBytes);
        }
        Ok(outcome)
    }
}

/// Feeds the file's text to `lines`; `None` when it is binary, else the name of its encoding.
fn read(
    file: &mut OpenedFile,
    lines: &mut LineReader,
    stop: &Stop,
    size: u64,
) -> Result<Option<&'static str>, ToolError> {
    let failed = |error: std::io::Error| ToolError::argument("path", format!("it can't be read: {error}"));
    let mut buffer = Vec::new();
    if file.read_into(&mut buffer, limits::READ_DECODE_BYTES).map_err(failed)? == Contents::Whole {
        return Ok(match decode(&buffer) {
            Decoded::Binary => None,
            Decoded::Text { bytes, encoding } => {
                lines.complete = lines.feed_within(&bytes, stop);
                Some(encoding.name())
            }
        });
    }
    if matches!(buffer.get(..2), Some([0xff, 0xfe] | [0xfe, 0xff])) {
        let limit = grouped(limits::READ_DECODE_BYTES as u64);
        return Err(ToolError::argument(
            "path",
            format!("it is UTF-16 and has {size} bytes, over the {limit} that can be decoded"),
        ));
    }
    let encoding = if buffer.starts_with(b"\xef\xbb\xbf") { "UTF-8 with a byte-order mark" } else { "UTF-8" };
    let mut read = buffer.len() as u64;
    let mut piece = buffer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&buffer).to_vec();
    loop {
        if memchr::memchr(0, &piece).is_some() {
            return Ok(None);
        }
        // Beyond the bound only what was asked for is worth reading.
        if !lines.feed_within(&piece, stop) || (read > limits::READ_COUNT_BYTES && lines.has_enough()) {
            return Ok(Some(encoding));
        }
        piece.resize(PIECE_BYTES, 0);
        let got = file.reader().read(&mut piece).map_err(failed)?;
        if got == 0 {
            lines.complete = true;
            return Ok(Some(encoding));
        }
        piece.truncate(got);
        read += got as u64;
    }
}

/// Bytes that are read and taken apart between two looks at the deadline: some milliseconds, if all are line feeds.
const PIECE_BYTES: usize = 1 << 20;

/// Takes the wanted lines out of a text that comes in pieces, and counts all.
struct LineReader {
    start: u64,
    end: Option<u64>,
    room: usize,
    lines: Vec<String>,
    lines_seen: u64,
    /// The beginning of a line whose end has not come, as far as it is kept, and its full length.
    partial: Vec<u8>,
    partial_bytes: usize,
    cut_lines: u64,
    out_of_room: bool,
    crlf: bool,
    not_utf8: bool,
    /// The end of the file was reached.
    complete: bool,
}

impl LineReader {
    fn new(start: u64, end: Option<u64>, budget: usize) -> Self {
        // The notes need some room.
        let room = budget.saturating_sub(1_000);
        Self {
            start,
            end,
            room,
            lines: Vec::new(),
            lines_seen: 0,
            partial: Vec::new(),
            partial_bytes: 0,
            cut_lines: 0,
            out_of_room: false,
            crlf: false,
            not_utf8: false,
            complete: false,
        }
    }

    fn has_enough(&self) -> bool {
        self.out_of_room || self.end.is_some_and(|end| self.lines_seen >= end)
    }

    /// Whether there was time for all of it.
    fn feed_within(&mut self, text: &[u8], stop: &Stop) -> bool {
        text.chunks(PIECE_BYTES).all(|piece| {
            self.feed(piece);
            stop.check().is_none()
        })
    }

    fn feed(&mut self, mut text: &[u8]) {
        while !text.is_empty() {
            let (part, rest, ended) = match memchr::memchr(b'\n', text) {
                Some(feed) => (&text[..feed], &text[feed + 1..], true),
                None => (text, &text[..0], false),
            };
            if self.wants_next() {
                let keep = (limits::READ_LINE_BYTES + 4).saturating_sub(self.partial.len()).min(part.len());
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

    fn wants_next(&self) -> bool {
        let number = self.lines_seen + 1;
        number >= self.start && self.end.is_none_or(|end| number <= end) && !self.out_of_room
    }

    fn end_line(&mut self) {
        if self.wants_next() {
            let line = self.partial.strip_suffix(b"\r").unwrap_or(&self.partial);
            let length = self.partial_bytes - (self.partial.len() - line.len()).min(self.partial_bytes);
            self.not_utf8 |= std::str::from_utf8(line).is_err_and(|error| error.error_len().is_some());
            let mut shown = String::from_utf8_lossy(line).into_owned();
            if length > limits::READ_LINE_BYTES {
                self.cut_lines += 1;
                let kept = crate::text::clip(&shown, limits::READ_LINE_BYTES);
                let more = length.saturating_sub(kept.len() - '…'.len_utf8());
                shown = format!("{kept} [{} bytes more]", grouped(more as u64));
            }
            // Number, tab and line feed.
            let cost = line_text(shown.as_bytes()).len() + 8;
            if cost > self.room && !self.lines.is_empty() {
                self.out_of_room = true;
            } else {
                self.room = self.room.saturating_sub(cost);
                self.lines.push(shown);
            }
        }
        self.lines_seen += 1;
        self.partial.clear();
        self.partial_bytes = 0;
    }

    /// Ends a last line without line feed.
    fn finish(&mut self) {
        if self.partial_bytes > 0 {
            self.end_line();
        }
    }
}

impl Render for Response {
    fn render(outcome: &Outcome<Self>, _budget: usize) -> (String, bool) {
        let response = &outcome.response;
        let mut text = String::new();
        for (number, line) in (response.start_line..).zip(&response.lines) {
            let _ = writeln!(text, "{number:>6}\t{}", line_text(line.as_bytes()));
        }
        if response.size == 0 || response.total_lines == 0 {
            text.push_str("(empty file)");
        }
        let mut notes = notes(outcome, None);
        let at_least = if response.total_exact { "" } else { "at least " };
        let total = format!("{at_least}{}", count(response.total_lines, "line"));
        let last = response.end_line;
        if last < response.total_lines && response.wanted_end.is_none_or(|end| last < end) && last > 0 {
            let end = response.wanted_end.map(|end| format!(", end_line={end}")).unwrap_or_default();
            notes.insert(
                0,
                format!(
                    "lines {} to {last} of {total}; to go on: read_file(path={:?}, start_line={}{end})",
                    response.start_line,
                    response.path,
                    last + 1
                ),
            );
        } else if response.total_lines > 0 && (response.start_line > 1 || last < response.total_lines) {
            notes.insert(0, format!("lines {} to {last} of {total}", response.start_line));
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
        (with_notes(text, &notes), outcome.truncated_by == Some(Limit::TextBytes))
    }
}

//! The record of a file, stored next to its words: the positions of its chunks and their definitions.

use crate::chunk::{ChunkSymbol, FileChunk};
use crate::languages::DefinitionKind;

/// A file's chunks and symbols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredFile {
    pub(crate) path: String,
    pub(crate) chunks: Vec<RecordChunk>,
    pub(crate) symbols: Vec<RecordSymbol>,
    /// The names of all symbols in one string, so that reading a record needs only a few allocations.
    pub(crate) names: String,
    /// The position after the last word.
    pub(crate) end_position: u32,
}

/// A chunk and the position of its first word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordChunk {
    pub(crate) start_line: u32,
    pub(crate) end_line: u32,
    pub(crate) position: u32,
}

/// A definition and the position of the first part of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordSymbol {
    name: (u32, u32),
    pub(crate) kind: DefinitionKind,
    pub(crate) line: u32,
    pub(crate) indent: u32,
    pub(crate) position: u32,
    pub(crate) parts: u32,
}

impl StoredFile {
    pub(crate) fn push_chunk(&mut self, chunk: &FileChunk, position: u32) {
        let FileChunk { start_line, end_line, .. } = *chunk;
        self.chunks.push(RecordChunk { start_line, end_line, position });
    }

    pub(crate) fn push_symbol(&mut self, symbol: &ChunkSymbol, position: u32, parts: u32) {
        let ChunkSymbol { name, kind, line, indent } = symbol;
        let start = self.names.len() as u32;
        self.names.push_str(name);
        self.symbols.push(RecordSymbol {
            name: (start, self.names.len() as u32),
            kind: *kind,
            line: *line,
            indent: *indent,
            position,
            parts,
        });
    }

    /// Looks up the name of one of its symbols.
    pub(crate) fn name(&self, symbol: &RecordSymbol) -> &str {
        self.names.get(symbol.name.0 as usize..symbol.name.1 as usize).unwrap_or_default()
    }

    /// Computes the number of words in a chunk of this file.
    pub(crate) fn chunk_length(&self, chunk: usize) -> u32 {
        let end = self.chunks.get(chunk + 1).map_or(self.end_position, |next| next.position);
        end - self.chunks[chunk].position
    }

    /// Finds the chunk of this file that contains a 0-based line.
    pub(crate) fn chunk_of_line(&self, line: u32) -> usize {
        self.chunks.partition_point(|chunk| chunk.start_line <= line + 1).saturating_sub(1)
    }

    /// Serialises this record. We use text because the engine reads text at once but bytes one by one. Lines
    /// and positions are stored as differences, which mostly fit into one byte.
    pub(crate) fn to_text(&self) -> String {
        let mut text =
            String::with_capacity(64 + self.names.len() + 8 * self.chunks.len() + 8 * self.symbols.len());
        write_text(&mut text, &self.path);
        write_text(&mut text, &self.names);
        write_number(&mut text, self.end_position);
        write_number(&mut text, self.chunks.len() as u32);
        let (mut line, mut position) = (0, 0);
        for chunk in &self.chunks {
            write_number(&mut text, chunk.start_line - line);
            write_number(&mut text, chunk.end_line - chunk.start_line);
            write_number(&mut text, chunk.position - position);
            (line, position) = (chunk.start_line, chunk.position);
        }
        write_number(&mut text, self.symbols.len() as u32);
        let (mut line, mut position) = (0, 0);
        for symbol in &self.symbols {
            write_number(&mut text, symbol.name.1 - symbol.name.0);
            write_number(&mut text, symbol.kind as u32);
            write_number(&mut text, symbol.line - line);
            write_number(&mut text, symbol.indent);
            write_number(&mut text, symbol.position - position);
            write_number(&mut text, symbol.parts);
            (line, position) = (symbol.line, symbol.position);
        }
        text
    }

    /// Parses a record. `None` if the text isn't one.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut rest = text;
        let mut record = Self { path: read_text(&mut rest)?.to_owned(), ..Self::default() };
        record.names = read_text(&mut rest)?.to_owned();
        let mut numbers = rest.chars().map(number);
        let mut next = || numbers.next();
        record.end_position = next()?;
        let (mut line, mut position) = (0_u32, 0_u32);
        for _ in 0..next()? {
            line = line.checked_add(next()?)?;
            let end_line = line.checked_add(next()?)?;
            position = position.checked_add(next()?)?;
            record.chunks.push(RecordChunk { start_line: line, end_line, position });
        }
        let (mut line, mut position, mut start) = (0_u32, 0_u32, 0_u32);
        for _ in 0..next()? {
            let end = start.checked_add(next()?)?;
            let name = (start, end);
            start = end;
            let kind = DefinitionKind::from_number(next()?)?;
            line = line.checked_add(next()?)?;
            let indent = next()?;
            position = position.checked_add(next()?)?;
            let parts = next()?;
            record.symbols.push(RecordSymbol { name, kind, line, indent, position, parts });
        }
        let nothing_behind = next().is_none();
        (nothing_behind && record.is_sound()).then_some(record)
    }

    /// Checks that all derived values are within bounds. We must check this because damaged text may still
    /// parse as numbers.
    fn is_sound(&self) -> bool {
        let lines = self.chunks.last().map_or(0, |chunk| chunk.end_line);
        let chunks = self.chunks.iter().all(|chunk| {
            (1..=chunk.end_line).contains(&chunk.start_line) && chunk.position <= self.end_position
        });
        let apart = self.chunks.windows(2).all(|pair| pair[0].end_line < pair[1].start_line);
        chunks
            && apart
            && self.symbols.iter().all(|symbol| {
                let end = symbol.position.checked_add(symbol.parts);
                symbol.line < lines
                    && end.is_some_and(|end| end <= self.end_position)
                    && self.names.get(symbol.name.0 as usize..symbol.name.1 as usize).is_some()
            })
    }
}

/// The first surrogate and the number of surrogates. These aren't valid characters, so we shift all numbers
/// from here on.
const SURROGATES: (u32, u32) = (0xD800, 0x800);

/// Writes a number as one character. A file of at most [`crate::limits::FILE_BYTES`] can't have a number that
/// is too large for this.
pub(super) fn write_number(text: &mut String, number: u32) {
    let shifted = if number < SURROGATES.0 { number } else { number.saturating_add(SURROGATES.1) };
    text.push(char::from_u32(shifted).unwrap_or(char::MAX));
}

pub(super) fn number(character: char) -> u32 {
    let number = character as u32;
    // A character is never a surrogate, so this can't underflow.
    if number < SURROGATES.0 { number } else { number - SURROGATES.1 }
}

fn write_text(into: &mut String, text: &str) {
    write_number(into, text.len() as u32);
    into.push_str(text);
}

fn read_text<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let mut characters = rest.chars();
    let length = number(characters.next()?) as usize;
    let (text, after) = characters.as_str().split_at_checked(length)?;
    *rest = after;
    Some(text)
}

//! Jupyter notebooks: the Python in their cells.
//!
//! Notebooks are JSON with one string for each line of a cell. A cell that is written as one string on one line, as in
//! JSON without indentation, stays unread: its lines have no lines in the file.

use crate::language::{Row, Source};
use crate::languages::python;

pub(crate) static JUPYTER: Row = Row { name: "jupyter", source: Source::Lines(cells), ..python::PYTHON_ROW };

/// Returns a text with as many lines as the notebook: each line of Python at its place, and empty lines elsewhere.
fn cells(text: &str) -> String {
    let mut reader = Reader::new(text);
    reader.read();
    if reader.is_other_language {
        return String::new();
    }
    let mut lines = vec![String::new(); text.matches('\n').count() + 1];
    for (line, code) in reader.code {
        if let Some(place) = lines.get_mut(line) {
            *place = code;
        }
    }
    lines.join("\n")
}

/// An object or array around the current position, with the object's current key.
struct Level {
    is_array: bool,
    key: String,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    levels: Vec<Level>,
    /// The strings of the current cell's source, with their lines.
    source: Vec<(usize, String)>,
    is_code: bool,
    /// The lines of all cells with code.
    code: Vec<(usize, String)>,
    is_other_language: bool,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        let (levels, source, code) = (Vec::new(), Vec::new(), Vec::new());
        Self { text, at: 0, line: 0, levels, source, is_code: false, code, is_other_language: false }
    }

    fn read(&mut self) {
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            self.at += 1;
            match byte {
                b'\n' => self.line += 1,
                b'{' => self.levels.push(Level { is_array: false, key: String::new() }),
                b'[' => self.levels.push(Level { is_array: true, key: String::new() }),
                b'}' | b']' => {
                    if self.is_at(&["cells", ""]) && *byte == b'}' {
                        self.end_cell();
                    }
                    self.levels.pop();
                }
                b'"' => {
                    let string = self.string();
                    self.add(string);
                }
                _ => {}
            }
        }
    }

    /// Returns whether the containers around the position have these keys, the outermost first. Arrays have none; the
    /// innermost container may be at any key.
    fn is_at(&self, keys: &[&str]) -> bool {
        let around = self.levels.len().checked_sub(1).map(|inner| &self.levels[..inner]);
        around.is_some_and(|around| around.iter().map(|level| level.key.as_str()).eq(keys.iter().copied()))
    }

    /// Reads a string from after its first quote. Escapes remain.
    fn string(&mut self) -> &'t str {
        let start = self.at;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
        let end = self.at.min(bytes.len());
        self.at += 1;
        self.text.get(start..end).unwrap_or_default()
    }

    fn add(&mut self, string: &str) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_key = rest.trim_start().starts_with(':');
        if is_key && let Some(level) = self.levels.last_mut().filter(|level| !level.is_array) {
            string.clone_into(&mut level.key);
            return;
        }
        let key = self.levels.last().map_or("", |level| level.key.as_str());
        if self.is_at(&["cells", ""]) && key == "cell_type" {
            self.is_code = string == "code";
        } else if self.is_at(&["cells", "", "source"]) {
            self.source.push((self.line, decoded(string)));
        } else if (self.is_at(&["metadata", "language_info"]) && key == "name")
            || (self.is_at(&["metadata", "kernelspec"]) && key == "language")
        {
            self.is_other_language |=
                !string.eq_ignore_ascii_case("python") && !string.eq_ignore_ascii_case("ipython");
        }
    }

    fn end_cell(&mut self) {
        let source = std::mem::take(&mut self.source);
        let is_code = std::mem::take(&mut self.is_code);
        // `%%bash` makes another language of the cell; these only measure it.
        let magic = source.first().and_then(|(_, line)| line.strip_prefix("%%"));
        let is_python = magic.is_none_or(|magic| {
            matches!(magic.split_whitespace().next(), Some("time" | "timeit" | "capture" | "prun"))
        });
        if !is_code || !is_python {
            return;
        }
        let lines: Vec<usize> = source.iter().map(|(line, _)| *line).collect();
        for (nth, (line, mut code)) in source.into_iter().enumerate() {
            let is_alone =
                lines.get(nth + 1) != Some(&line) && (nth == 0 || lines.get(nth - 1) != Some(&line));
            if code.ends_with('\n') {
                code.pop();
            }
            // Magics and commands of a shell are no Python.
            let is_python = !code.trim_start().starts_with(['%', '!', '?']);
            if is_alone && is_python && !code.contains('\n') {
                self.code.push((line, code));
            }
        }
    }
}

/// Decodes the escapes of a JSON string.
fn decoded(string: &str) -> String {
    let mut decoded = String::with_capacity(string.len());
    let mut rest = string;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        decoded.push_str(plain);
        let escape = escaped.chars().next();
        rest = escaped.get(escape.map_or(0, char::len_utf8)..).unwrap_or_default();
        match escape {
            Some('n') => decoded.push('\n'),
            Some('t') => decoded.push('\t'),
            Some('r') => decoded.push('\r'),
            Some('b') => decoded.push('\u{8}'),
            Some('f') => decoded.push('\u{c}'),
            Some('u') => {
                let (unit, after) = hex(rest);
                let second = after.strip_prefix("\\u").map(hex);
                let is_pair = second.is_some_and(|(low, _)| {
                    (0xd800..0xdc00).contains(&unit) && (0xdc00..0xe000).contains(&low)
                });
                let (code, after) = match second.filter(|_| is_pair) {
                    Some((low, after)) => (0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), after),
                    None => (unit, after),
                };
                decoded.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                rest = after;
            }
            Some(other) => decoded.push(other),
            None => {}
        }
    }
    decoded.push_str(rest);
    decoded
}

/// Reads four hexadecimal digits, and returns the text after them.
fn hex(text: &str) -> (u32, &str) {
    let digits = text.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match digits {
        Some(unit) => (unit, text.get(4..).unwrap_or_default()),
        None => (u32::from(char::REPLACEMENT_CHARACTER), text),
    }
}

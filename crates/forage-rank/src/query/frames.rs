//! Finds the files that a text mentions: in the frames of stack traces, and in its prose.
//!
//! A frame is a file with a line number, in the notation of any of several languages. A program may have been
//! built or installed in any directory, so we identify a file by the last components of its path.

use crate::languages::{CommentStyle, language};
use crate::limits;

/// A file that a text mentions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReportedFile {
    /// The components of its path in lower case, file name first. If we only know a class, the file name has
    /// no extension.
    pub(crate) names: Vec<String>,
    /// The function of a frame, if its file may have been generated from other files.
    pub(crate) function: Option<String>,
    /// The trace that contains the frame. The frames of a trace are ordered by their distance from the
    /// failure.
    pub(crate) trace: Option<usize>,
}

/// A line of a stack trace.
#[derive(Debug, PartialEq)]
struct TraceFrame<'a> {
    names: Vec<&'a str>,
    function: Option<&'a str>,
    /// True for Python's format, in which a trace ends with the failure, and each frame is followed by a line
    /// of code.
    is_python: bool,
    /// True if the line contains more than a location.
    tells: bool,
}

/// Parses the lines of a text one by one. They must be given in order.
#[derive(Debug, Default)]
pub(super) struct TraceReader<'a> {
    /// Files from frames.
    files: Vec<ReportedFile>,
    /// Files from prose.
    mentioned: Vec<ReportedFile>,
    /// Frames of the current trace.
    open: Vec<TraceFrame<'a>>,
    /// Number of lines since the last frame.
    since: usize,
    /// The order of the frames, if a line before the trace states it: true if the failure comes last.
    ends_with_last: Option<bool>,
    traces: usize,
}

impl<'a> TraceReader<'a> {
    /// Parses the next line. Files outside of frames only count if the author of the text wrote the line.
    /// Returns true if the line is part of a trace.
    pub(super) fn read(&mut self, line: &'a str, is_writers: bool) -> bool {
        if let Some(frame) = frame(line) {
            let tells = frame.tells;
            self.since = 0;
            if self.open.len() < limits::TRACE_FRAMES {
                self.open.push(frame);
            } else if frame.is_python {
                // The failure comes last, so we drop the first frame.
                self.open.remove(0);
                self.open.push(frame);
            }
            return !tells;
        }
        if line.starts_with("    ") && self.open.last().is_some_and(|last| last.is_python) {
            return true;
        }
        if line.contains("most recent call ") {
            self.close();
            self.ends_with_last = Some(line.contains("most recent call last"));
            self.since = 0;
            return true;
        }
        self.since += 1;
        // A line between two frames is a function name; the cause of a failure has its own trace.
        if self.since > 2 || line.trim().is_empty() || line.trim_start().starts_with("Caused by:") {
            self.close();
        }
        if is_writers {
            for file in mentions(line) {
                push(&mut self.mentioned, file);
            }
        }
        false
    }

    fn close(&mut self) {
        let ends_with_last = self.ends_with_last.take();
        let mut frames = std::mem::take(&mut self.open);
        let Some(first) = frames.first() else { return };
        if ends_with_last.unwrap_or(first.is_python) {
            frames.reverse();
        }
        for frame in frames {
            let file = ReportedFile {
                names: lower(&frame.names),
                function: frame.function.map(str::to_owned),
                trace: Some(self.traces),
            };
            push(&mut self.files, file);
        }
        self.traces += 1;
    }

    /// Finishes the text and returns its files, those of frames first.
    pub(super) fn finish(mut self) -> Vec<ReportedFile> {
        self.close();
        self.files.append(&mut self.mentioned);
        self.files.truncate(limits::NAMED_FILES);
        self.files
    }
}

fn push(files: &mut Vec<ReportedFile>, file: ReportedFile) {
    if files.len() < limits::NAMED_FILES && !files.contains(&file) {
        files.push(file);
    }
}

/// Parses a line as a frame. Note that a file with a line number in the middle of a sentence isn't a frame.
fn frame(line: &str) -> Option<TraceFrame<'_>> {
    let text = line.trim();
    if let Some(rest) = text.strip_prefix("File \"") {
        let (path, rest) = rest.split_once('"')?;
        let is_frame = rest.starts_with(", line ") && !names(path).is_empty();
        return is_frame.then(|| TraceFrame {
            names: names(path),
            function: None,
            is_python: true,
            tells: false,
        });
    }
    if let Some((start, end, is_told)) = file_with_line(text) {
        let beside = text.split_whitespace().count();
        let is_lead =
            start == 0 || is_told || ["at ", "from ", "#"].iter().any(|lead| text.starts_with(lead));
        if beside > limits::FRAME_WORDS && !is_lead {
            return None;
        }
        let mut names = names(&text[start..end]);
        // Java names the class, and the file without its directory, so we add the package.
        if let Some(called) = text[..start].strip_suffix('(').filter(|_| names.len() == 1) {
            names.extend(package(called));
        }
        // `name.c:12:3: error: …` is an error message.
        let tells = beside > limits::FRAME_WORDS && (start == 0 || is_told);
        return Some(TraceFrame { names, function: function(text), is_python: false, tells });
    }
    // In C# without file names: `at Name.Space.Class.Method(Int32 count)`.
    let called = qualified(text.strip_prefix("at ")?.split_once('(')?.0);
    let mut parts = called.rsplit('.');
    let function = parts.next();
    let names: Vec<&str> = parts
        .filter(|name| !name.is_empty() && !name.contains(['<', '>', '+']))
        .map(|name| name.split('`').next().unwrap_or(name))
        .take(limits::NAMED_FILE_NAMES)
        .collect();
    (names.len() > 1).then_some(TraceFrame { names, function, is_python: false, tells: false })
}

/// Parses the function of a frame of the form `at function (location)`. Languages with this form are often
/// compiled to files with other names.
fn function(text: &str) -> Option<&str> {
    let called = text.strip_prefix("at ")?;
    let called = called.split([' ', '(']).find(|word| !matches!(*word, "async" | "new"))?;
    let name = called.rsplit('.').next()?;
    let is_name = name.len() > 1 && name.chars().all(|c| c.is_alphanumeric() || "_$".contains(c));
    is_name.then_some(name)
}

/// Parses the directories of the class in a call, innermost first. For example, `io.netty.Channel.close` is
/// in `netty`, which is in `io`.
fn package(called: &str) -> Vec<&str> {
    let called = qualified(called);
    let is_directory = |name: &&str| name.starts_with(|first: char| first.is_lowercase());
    let mut names: Vec<&str> = called.split('.').take_while(is_directory).collect();
    if names.len() == called.split('.').count() {
        return Vec::new();
    }
    names.reverse();
    names.truncate(limits::NAMED_FILE_NAMES - 1);
    names
}

/// Finds the first file on a line that is followed by a line number, as a range. Also returns true if words
/// mark it as a file.
fn file_with_line(text: &str) -> Option<(usize, usize, bool)> {
    const LINE_SEPARATORS: [&str; 5] = [":", "(", ":line ", " on line ", "\", line "];
    for (at, _) in text.match_indices([':', '(', ' ', '"']) {
        let is_line = |after: &&str| {
            let number = text[at..].strip_prefix(*after);
            number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
        };
        if let Some(after) = LINE_SEPARATORS.iter().find(|after| is_line(after)) {
            let path = end_of(&text[..at], is_of_path);
            if is_code(path) {
                return Some((at - path.len(), at, after.len() > 1));
            }
        }
    }
    None
}

/// Finds the files that a line of prose mentions.
fn mentions(line: &str) -> impl Iterator<Item = ReportedFile> + '_ {
    let words = line.split(|c| !is_of_path(c)).map(|word| word.trim_matches('.'));
    words.filter(|word| is_code(word)).map(|word| ReportedFile {
        names: lower(&names(word)),
        function: None,
        trace: None,
    })
}

/// Finds the qualified name at the end of a text.
fn qualified(text: &str) -> &str {
    end_of(text, |c| c.is_alphanumeric() || "._$<>`+".contains(c))
}

fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || "_./\\@+~$-".contains(c)
}

/// Finds the longest suffix of a text that only consists of accepted characters.
fn end_of(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    text.char_indices().rev().take_while(|(_, c)| is_part(*c)).last().map_or("", |(at, _)| &text[at..])
}

/// Returns true if a path is that of a source file.
fn is_code(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let Some((bare, _)) = name.rsplit_once('.') else { return false };
    // No file name can be this long.
    if name.len() > limits::FILE_NAME_BYTES {
        return false;
    }
    let language = language(name);
    !bare.is_empty() && !language.name.is_empty() && language.style != CommentStyle::Prose
}

/// Splits a path into its components, last first.
fn names(path: &str) -> Vec<&str> {
    let tells = |name: &&str| !matches!(*name, "" | "." | ".." | "~");
    path.rsplit(['/', '\\']).filter(tells).take(limits::NAMED_FILE_NAMES).collect()
}

fn lower(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_lowercase()).collect()
}

#[cfg(test)]
mod tests;

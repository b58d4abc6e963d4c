//! Runs one engine over one text, and returns the matching lines and whether the result is complete.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use forage_base::{Stop, count};
use rustix::fs::{MemfdFlags, memfd_create};

use super::arguments::Arguments;
use super::output::LineNumbers;
use super::process::{self, ProcessEnd, ProcessHalt};
use super::{ExternalError, ExternalRequest, Program};
use crate::limits;
use crate::pattern::Pattern;

/// An engine with its arguments, shared by the workers of one search.
pub(super) struct ExternalEngine<'a> {
    program: &'a Program,
    arguments: Arguments,
    given_up: AtomicU64,
}

/// Results of searching one text.
#[derive(Debug, Default)]
pub(super) struct SearchedFiles {
    /// The offsets at which matching lines begin, ascending.
    pub(super) starts: Vec<u64>,
    /// True if the search was ended before the engine finished, so that later lines are unknown.
    pub(super) halted: bool,
    /// True if the engine ended before the end of the text without reporting this, so that lines are missing.
    pub(super) gave_up: bool,
}

/// Diagnostics that the runs of a search produce in addition to lines.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// True if any line matched.
    pub(super) found: bool,
    /// The highest exit code.
    pub(super) code: Option<i32>,
    /// The beginning of the runs' stderr output.
    pub(super) stderr: Vec<u8>,
    pub(super) warnings: Vec<String>,
    /// True if lines may be missing.
    pub(super) incomplete: bool,
}

impl Notes {
    pub(super) fn merge(&mut self, other: Self) {
        self.found |= other.found;
        self.incomplete |= other.incomplete;
        self.code = self.code.max(other.code);
        let room = limits::EXTERNAL_STDERR_BYTES.saturating_sub(self.stderr.len());
        self.stderr.extend_from_slice(&other.stderr[..other.stderr.len().min(room)]);
        for warning in other.warnings {
            self.warn(warning);
        }
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// Messages by which the engines report an invalid pattern.
const INVALID_PATTERN: &[&str] = &[
    "regex parse error",
    "error parsing",
    "error at position",
    "is not allowed in a regex",
    "exceeds size limit",
];

impl<'a> ExternalEngine<'a> {
    pub(super) fn new(
        program: &'a Program,
        request: &ExternalRequest<'_>,
        stop: &Stop,
    ) -> Result<Self, ExternalError> {
        let arguments = Arguments::new(program.kind(), request, stop)?;
        Ok(Self { program, arguments, given_up: AtomicU64::new(0) })
    }

    /// Returns the pattern as the embedded engine compiles it, which locates matches within a line.
    pub(super) fn pattern(&self) -> Option<&Pattern> {
        self.arguments.pattern.as_ref()
    }

    /// Searches `text`, whose last line must end with a line feed.
    pub(super) fn search(
        &self,
        text: &[u8],
        halt: ProcessHalt<'_>,
        notes: &mut Notes,
    ) -> Result<SearchedFiles, ExternalError> {
        let mut searched = SearchedFiles { halted: halt.is_due(), ..SearchedFiles::default() };
        if searched.halted {
            return Ok(searched);
        }
        let handle = self.memory_file(text).map_err(|source| ExternalError::Memory { source })?;
        let line_count = memchr::memchr_iter(b'\n', text).count() as u64;
        let output_limit =
            2 * text.len() as u64 + (line_count + 2) * limits::EXTERNAL_OUTPUT_PER_LINE + (1 << 20);
        let (mut last, mut start, mut reached_end, mut beyond) = (1, 0, false, 0);
        let mut found = |number: u64| match number - 1 {
            // The first line of the input is the empty line that we added.
            0 => {}
            number if number <= line_count => {
                start = skip_lines(text, start, (number - last) as usize);
                last = number;
                searched.starts.push(start as u64);
            }
            number if number == line_count + 1 && self.arguments.last_line.is_some() => reached_end = true,
            _ => beyond += 1,
        };
        let (path, mut numbers) = (self.program.path(), LineNumbers::default());
        let take = |piece: &[u8]| numbers.push(piece, &mut found);
        let ended = process::run(path, &self.arguments.list, &handle, output_limit, halt, take)
            .map_err(|source| ExternalError::Start { program: self.shown(), source })?;
        // We drop the last line of an interrupted run, because its match could continue in the next line.
        if !(ended.halted || ended.flooded) {
            numbers.end(&mut found);
        }
        searched.halted = ended.halted;
        if !searched.halted {
            searched.gave_up = self.arguments.last_line.is_some() && !reached_end;
            let any = !searched.starts.is_empty();
            self.judge(ended, numbers.noise + beyond, numbers.spanning, any, reached_end, notes)?;
        }
        Ok(searched)
    }

    /// Counts a file in which the engine gave up. Returns an error if there are too many.
    pub(super) fn give_up(&self, file: &str, notes: &mut Notes) -> Result<(), ExternalError> {
        notes.incomplete = true;
        notes.warn(format!(
            "{} stopped early in {file} (its matcher runs out of memory if a pattern can match a long line \
             in many ways): matches may be missing there; the embedded engine searches the whole file",
            self.program.kind().name()
        ));
        match self.given_up.fetch_add(1, Ordering::Relaxed) < limits::EXTERNAL_GIVEN_UP_FILES {
            true => Ok(()),
            false => Err(ExternalError::GaveUp { program: self.shown() }),
        }
    }

    /// Creates an in-memory file with the text. It is in no directory, so it has no name that could be taken
    /// for an option, and nothing can replace it.
    fn memory_file(&self, text: &[u8]) -> std::io::Result<OwnedFd> {
        let mut file = std::fs::File::from(memfd_create("forage-text", MemfdFlags::CLOEXEC)?);
        // We write an empty line first, so that no bytes are taken for a byte-order mark. This matters
        // because the text is already decoded.
        file.write_all(b"\n")?;
        file.write_all(text)?;
        if let Some(last) = &self.arguments.last_line {
            file.write_all(last.as_bytes())?;
            file.write_all(b"\n")?;
        }
        Ok(file.into())
    }

    /// Interprets an ended run by the lines that it reported. The exit code alone is ambiguous. For example,
    /// a search with matches and an unreadable file gives 1 in ugrep and 2 in ripgrep.
    fn judge(
        &self,
        ended: ProcessEnd,
        noise: u64,
        spanning: u64,
        found: bool,
        reached_end: bool,
        notes: &mut Notes,
    ) -> Result<(), ExternalError> {
        let stderr = || String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        if ended.flooded {
            return Err(ExternalError::Flooded { program: self.shown() });
        }
        let failed = ended.signal.is_some() || ended.code.is_some_and(|code| code >= 2);
        if failed && !(found || reached_end) {
            let stderr = stderr();
            return Err(match INVALID_PATTERN.iter().any(|words| stderr.contains(words)) {
                true => ExternalError::InvalidPattern { program: self.shown(), message: stderr },
                false => ExternalError::Failed {
                    program: self.shown(),
                    code: ended.code,
                    signal: ended.signal,
                    stderr,
                },
            });
        }
        let name = self.program.kind().name();
        if failed {
            notes.incomplete = true;
            let how = match (ended.code, ended.signal) {
                (_, Some(signal)) => format!("was killed by signal {signal}"),
                (code, None) => format!("ended with exit code {}", code.unwrap_or(-1)),
            };
            notes.warn(format!("{name} {how} after its first matches: some may be missing"));
        }
        if noise > 0 {
            notes.warn(format!(
                "{name} printed {noise} lines that are not numbered lines of the text; they were left out"
            ));
        }
        if spanning > 0 {
            notes.warn(format!(
                "left out: {} of {name} across several lines, since a pattern can't match across lines",
                count(spanning, "match")
            ));
        }
        // The sentinel line is not a result.
        let code = match ended.code {
            Some(0) if !found => Some(1),
            code => code,
        };
        notes.merge(Notes { found, code, stderr: ended.stderr, ..Notes::default() });
        Ok(())
    }

    fn shown(&self) -> String {
        self.program.path().display().to_string()
    }
}

/// Finds the start of the line that is `lines` lines after the one at `start`. Counting line feeds per chunk
/// is several times faster than visiting each line.
fn skip_lines(text: &[u8], mut start: usize, mut lines: usize) -> usize {
    while lines > 0 {
        let stretch = &text[start..text.len().min(start + 512)];
        let feeds = memchr::memchr_iter(b'\n', stretch).count();
        if feeds >= lines {
            return memchr::memchr_iter(b'\n', stretch)
                .nth(lines - 1)
                .map_or(text.len(), |feed| start + feed + 1);
        }
        (start, lines) = (start + stretch.len(), lines - feeds);
    }
    start
}

//! `rg` and `ugrep` as alternatives to the embedded engine.
//!
//! The external program decides only one thing: which lines of a text match. It never sees a file name and
//! never opens a file of the repository. Our own confined walk chooses the files, and the embedded engine's
//! code opens, reads and decodes them. We concatenate the texts of many files into an in-memory file, and one
//! process searches it: `rg … -e PATTERN -- /proc/self/fd/N`. We use only the line numbers of its output. We
//! map them back to the files, and the embedded engine's code adds context, match positions, cuts and limits.
//!
//! This design rules out, rather than guards against:
//! - a file that is renamed or replaced by a link between our check and the program opening it;
//! - names that look like options, contain line feeds, or look like `name:3:text` in the output;
//! - files of a repository that configure a program, for example `.ugrep` or `.rgignore` (the program runs in
//!   `/` with an empty environment and reads no configuration);
//! - filters, decompressors and pagers that are selected by a file's name;
//! - a search of the working directory or of stdin because no file was left to name.
//!
//! Both engines therefore give equal results if they agree on which lines match. `docs/engines.md` lists the
//! differences between their dialects, each with the test that asserts it.
//!
//! When a run must end, we kill it together with its process group. This happens at the deadline, on
//! cancellation, when the caller has enough, on an error and in a panic. External engines work on Linux and
//! Android only, because elsewhere a child can't open an in-memory file by a path.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod arguments;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod batch;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod dialect;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod engine;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod large;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod output;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod process;
mod program;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod session;

use forage_fs::{OpenError, WalkReport};

pub use program::{Program, ProgramError, ProgramKind};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use session::search;

use crate::error::PatternError;
use crate::pattern::PatternOptions;

/// A pattern for an external engine.
#[derive(Clone, Copy, Debug)]
pub struct ExternalRequest<'a> {
    /// The pattern in the embedded engine's syntax; ugrep also accepts look-around and backreferences.
    pub pattern: &'a str,
    /// The pattern options. Only ugrep supports edits.
    pub options: PatternOptions,
}

/// The result of an external search, apart from the lines found.
#[derive(Debug, Default)]
pub struct ExternalReport {
    /// The report of the walk that found the files.
    pub walk: WalkReport,
    /// Messages for the user about the engine's runs.
    pub notes: Vec<String>,
    /// True if lines may be missing. This happens if the engine failed after it had found something, or gave
    /// up within a file.
    pub incomplete: bool,
    /// The highest exit code of all runs, except that 1 becomes 0 if any run found something. `None` if there
    /// was nothing to search or no run completed.
    pub exit_code: Option<i32>,
    /// The beginning of the runs' stderr output. This is raw, so it must not be printed to a terminal as it
    /// is.
    pub stderr: String,
}

/// Reasons why an external search fails. Each message says what to do instead.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The start of the search can't be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The pattern is invalid for every engine.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The pattern contains a NUL character.
    #[error("the pattern contains a NUL character, which no text file has; search for the text around it")]
    Nul,
    /// The pattern contains bytes that are not UTF-8, or the `R` flag for line ends.
    #[error(
        "ugrep supports neither bytes that are not UTF-8 (`(?-u:\\xff)`) nor the flag `R`; use rg or the \
         embedded engine"
    )]
    NotForUgrep,
    /// The pattern has a repetition count over the limit of PCRE2.
    #[error(
        "ugrep repeats a part of a pattern at most {} times; use a smaller count, or rg or the embedded engine",
        crate::limits::UGREP_REPETITIONS
    )]
    CountForUgrep,
    /// ripgrep has no fuzzy search.
    #[error("rg has no fuzzy search; use ugrep or the embedded engine, or search without `fuzzy`")]
    FuzzyNeedsUgrep,
    /// The engine rejected the pattern.
    #[error(
        "{program} rejected the pattern; correct it, or search for it as literal text. Its message: {message}"
    )]
    InvalidPattern {
        /// The program's path.
        program: String,
        /// The program's stderr output.
        message: String,
    },
    /// The engine could not be started.
    #[error("{program} could not be started: {source}; check the program, or use the embedded engine")]
    Start {
        /// The program's path.
        program: String,
        /// The system error.
        source: std::io::Error,
    },
    /// The engine failed without a result.
    #[error(
        "{program} failed ({}) and found nothing; run it manually to check it, or use the embedded engine. \
         Its message: {stderr}",
        ending(*code, *signal)
    )]
    Failed {
        /// The program's path.
        program: String,
        /// The exit code, if the program exited.
        code: Option<i32>,
        /// The signal that killed the program, if any.
        signal: Option<i32>,
        /// The program's stderr output.
        stderr: String,
    },
    /// The program wrote more output than a search of its text can produce.
    #[error("{program} produced more output than a search can and was killed; use the embedded engine")]
    Flooded {
        /// The program's path.
        program: String,
    },
    /// The program ended before the end of the text in too many files.
    #[error(
        "{program} gave up before the end of {} files; write a pattern with fewer ways to match, or use the embedded \
         engine",
        crate::limits::EXTERNAL_GIVEN_UP_FILES
    )]
    GaveUp {
        /// The program's path.
        program: String,
    },
    /// The in-memory file for the text could not be created.
    #[error("can't create an in-memory file for the text: {source}; use the embedded engine")]
    Memory {
        /// The system error.
        source: std::io::Error,
    },
    /// The system is neither Linux nor Android.
    #[error(transparent)]
    Unsupported(ProgramError),
}

/// Describes how a run ended.
fn ending(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(code), None) => format!("exit code {code}"),
        (None, None) => "no exit code".to_owned(),
    }
}

/// Always fails, because external engines are not supported on this system.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(clippy::too_many_arguments, reason = "the same parameters as on Linux")]
pub fn search(
    _: &Program,
    _: &ExternalRequest<'_>,
    _: &std::sync::Arc<forage_fs::Root>,
    _: &forage_fs::RelPath,
    _: &forage_fs::WalkOptions,
    _: &crate::options::ScanOptions,
    _: &forage_base::Stop,
    _: impl FnMut(crate::event::FileEvents) -> std::ops::ControlFlow<()> + Send,
) -> Result<ExternalReport, ExternalError> {
    Err(ExternalError::Unsupported(ProgramError::Unsupported))
}

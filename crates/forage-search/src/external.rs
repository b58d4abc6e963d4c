//! `rg` and `ugrep` as engines beside the embedded one.
//!
//! The external program decides one thing: which lines of a text match. It never sees the name of a file and never
//! opens one of the repository. Our own confined walk chooses the files, the same code as in the embedded engine opens,
//! reads and decodes them, the texts of many files are put one after the other into a file in memory, and one process
//! searches that: `rg … -e PATTERN -- /proc/self/fd/N`. Of its output only the line numbers are used. They are mapped
//! back to the files, and context, places of matches, cuts and limits are made by the embedded engine's code.
//!
//! What this makes impossible, rather than guards against:
//! - a file renamed or replaced by a link between our check and the program's opening it;
//! - names that look like options, hold line feeds, or look like `name:3:text` in the output;
//! - `.ugrep`, `.rgignore` and other files of a repository that steer a program (it stands in `/`, without environment,
//!   and is told to read no configuration);
//! - filters, decompressors and pagers that are chosen by a file's name;
//! - a search of the working directory or of stdin, because there were no files left to name.
//!
//! Equality with the embedded engine thus rests on which lines match. Where the engines' dialects differ is written down
//! in `docs/engines.md`, each difference with the test that asserts it.
//!
//! A run is killed with its whole process group when it must end: at the deadline, when it is cancelled, when the caller
//! has enough, on an error and in a panic. Linux (and Android) only: elsewhere there is no file in memory that a child
//! can open by a path.

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
    /// The pattern, in the embedded engine's syntax; ugrep also takes look-around and backreferences.
    pub pattern: &'a str,
    /// The options with which it is read. Edits are allowed with ugrep only.
    pub options: PatternOptions,
}

/// The report of an external search.
#[derive(Debug, Default)]
pub struct ExternalReport {
    /// The report of the walk that found the files.
    pub walk: WalkReport,
    /// Sentences about the engine's runs that the user has to be told.
    pub notes: Vec<String>,
    /// The engine failed after it had found something, or gave up within a file: lines may be missing.
    pub incomplete: bool,
    /// The engine's exit code: 0 when a run found something, 1 when none did, else the highest of all runs. `None`
    /// when there was nothing to run it on, or no run came to its end.
    pub exit_code: Option<i32>,
    /// The beginning of what the runs wrote to stderr; raw, not fit for a terminal.
    pub stderr: String,
}

/// The reasons for which an external search fails. The messages say what to do instead.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The place to start from can't be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The pattern is none for any engine.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A NUL character in the pattern.
    #[error("the pattern holds a NUL character, which no text file has; search for the text beside it")]
    Nul,
    /// Bytes beyond UTF-8, or line ends of the `R` flag.
    #[error(
        "ugrep can't search for bytes that are not UTF-8 (`(?-u:\\xff)`) nor with the flag `R`; use rg or the embedded \
         engine"
    )]
    NotForUgrep,
    /// ripgrep knows no fuzzy search.
    #[error("rg has no fuzzy search; use ugrep or the embedded engine, or search without `fuzzy`")]
    FuzzyNeedsUgrep,
    /// The engine can't read the pattern.
    #[error(
        "{program} can't read the pattern; correct it, or search for it as literal text. It says: {message}"
    )]
    InvalidPattern {
        /// Its path.
        program: String,
        /// What it wrote to stderr.
        message: String,
    },
    /// The engine could not be started.
    #[error("{program} could not be started: {source}; check the program, or use the embedded engine")]
    Start {
        /// Its path.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The engine failed without a result.
    #[error(
        "{program} failed ({}) and found nothing; check it by hand, or use the embedded engine. It says: {stderr}",
        ending(*code, *signal)
    )]
    Failed {
        /// Its path.
        program: String,
        /// Its exit code, if it exited.
        code: Option<i32>,
        /// The signal that killed it, if one did.
        signal: Option<i32>,
        /// What it wrote to stderr.
        stderr: String,
    },
    /// It wrote more than its text can account for.
    #[error(
        "{program} wrote more than a search of its text can give and was killed; use the embedded engine"
    )]
    Flooded {
        /// Its path.
        program: String,
    },
    /// It ended before the end of too many files.
    #[error(
        "{program} gave up before the end of {} files; write a pattern with fewer ways to match, or use the embedded \
         engine",
        crate::limits::EXTERNAL_GIVEN_UP_FILES
    )]
    GaveUp {
        /// Its path.
        program: String,
    },
    /// There was no memory for the text.
    #[error("there is no file in memory for the text: {source}; use the embedded engine")]
    Memory {
        /// What the system said.
        source: std::io::Error,
    },
    /// Another system than Linux.
    #[error(transparent)]
    Unsupported(ProgramError),
}

/// How a run ended, in words.
fn ending(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(code), None) => format!("exit code {code}"),
        (None, None) => "no exit code".to_owned(),
    }
}

/// External engines are not run here.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(clippy::too_many_arguments, reason = "those of the function for Linux")]
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

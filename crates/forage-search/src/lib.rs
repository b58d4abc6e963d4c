//! Search engines that find the matching lines of files.
//!
//! [`search`] scans a tree for one [`Pattern`] and delivers [`FileEvents`] in path and line order.
//! [`keyword::gather`] searches for many terms in one pass and keeps an exact account of the output of `rg`
//! for each. This crate reaches files only through `forage-fs` and never opens one by a string path.
//!
//! With [`PatternOptions::fuzzy`] a search also finds lines that are within a few edits of the pattern.
//!
//! Each line is its own haystack: a match never crosses a line feed, and look-around stops at the ends of the
//! line.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use forage_base::Stop;
//! use forage_fs::{RelPath, Root, RootPolicy, SecretPolicy, WalkOptions};
//! use forage_search::{Pattern, PatternOptions, ScanOptions, search};
//!
//! let root = Root::open("src".as_ref(), &RootPolicy::default(), SecretPolicy::standard(&[]))?;
//! let pattern = Pattern::new(r"pub fn \w+\(", &PatternOptions::default())?;
//! let mut lines = Vec::new();
//! search(
//!     &root,
//!     &RelPath::root(),
//!     &WalkOptions::default(),
//!     &pattern,
//!     &ScanOptions::default(),
//!     &Stop::never(),
//!     |file| {
//!         let number = |event: &forage_search::SearchEvent| (file.path.display().to_string(), event.line_number);
//!         lines.extend(file.events.iter().map(number));
//!         ControlFlow::Continue(())
//!     },
//! )?;
//! assert!(lines.len() > 10 && lines[0].1 > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backtracking;
mod budget;
mod buffer;
mod code;
mod detached;
mod error;
mod event;
pub mod external;
mod fuzzy;
pub mod index;
pub mod keyword;
mod large;
#[doc(hidden)]
pub mod limits;
mod lines;
mod notebook;
mod options;
mod pattern;
mod prefilter;
mod scan;
mod shown_part;
mod size;
mod stepped;
mod stored;
mod whole_text;

pub use backtracking::{BacktrackError, BacktrackMatcher};
pub use budget::PatternBudget;
pub use error::PatternError;
pub use event::{CutLine, EventKind, FileEvents, SearchEvent, Span, word_bytes};
pub use forage_syntax::CodePattern;
pub use lines::LineMatches;
pub use options::{ResumePoint, ScanOptions};
pub use pattern::{Case, Pattern, PatternOptions};
pub use regex_syntax::escape;
pub use scan::{Decoding, FileBytes, FileReading, FileScan, search};
pub use shown_part::{CHARACTER_BYTES, shown_part};
pub use stored::{ReadStored, StoredTexts};

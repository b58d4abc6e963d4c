//! The engines: which lines of which files match.
//!
//! [`search`] scans a tree for one [`Pattern`] and delivers [`FileEvents`] in path and line order;
//! [`keyword::gather`] searches for many terms in one pass and keeps exact account of what `rg` would have
//! printed for each. Files are reached only through `forage-fs`; a file is never opened by a string path here.
//!
//! With [`PatternOptions::fuzzy`] the lines are found that come within a few edits of the pattern.
//!
//! A line is its own haystack: no match reaches over a line feed, and looking around ends at the line's ends.
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
mod beside;
mod buffer;
mod code;
mod error;
mod event;
pub mod external;
mod fuzzy;
pub mod index;
mod key_blocks;
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
mod whole_text;

pub use backtracking::{BacktrackError, BacktrackMatcher};
pub use error::PatternError;
pub use event::{CutLine, EventKind, FileEvents, SearchEvent, Span, word_bytes};
pub use forage_syntax::CodePattern;
pub use key_blocks::KeyBlocks;
pub use options::{Delivered, ScanOptions};
pub use pattern::{Case, Pattern, PatternOptions};
pub use regex_syntax::escape;
pub use scan::{Decoding, FileBytes, FileReading, FileScan, search};
pub use shown_part::{CHARACTER_BYTES, shown_part};

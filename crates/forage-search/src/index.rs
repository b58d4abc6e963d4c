//! The instant index: which files can hold a match, told from trigrams without reading the files.
//!
//! A file is represented by its distinct trigrams, in lower case, that do not reach over a line feed
//! ([`trigrams::Trigrams`]). A pattern becomes a [`Query`] over trigrams that every file with a match fulfils; the
//! other files need not be read. What fulfils it is verified by the engine that scans, so that an index can change how
//! long an answer takes and nothing else.

mod build;
mod files;
mod listed;
mod lookup;
mod plan;
mod postings;
mod read_at;
mod segment;
mod trigrams;

pub use build::{Built, build};
pub use files::FileSet;
pub(crate) use listed::Choice;
pub(crate) use lookup::Unread;
pub use lookup::{Cursor, Index};
pub use plan::Query;
pub use segment::{Builder, Content, FileEntry, IndexError, ReadAt, Segment};
pub use trigrams::{Trigram, Trigrams};

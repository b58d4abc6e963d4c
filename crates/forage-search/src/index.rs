//! The instant index: which files can hold a match, told from trigrams without reading the files.
//!
//! A file is represented by the distinct trigrams of its parts, which are whole lines of 16 KiB together, in lower case
//! ([`trigrams::Trigrams`]). A pattern becomes a [`Query`] over trigrams that a part fulfils in which a line matches; the
//! files without such a part need not be read. What fulfils it is verified by the engine that scans, so that an index can
//! change how long an answer takes and nothing else.

mod build;
mod builder;
mod listed;
mod lookup;
mod numbers;
mod plan;
mod postings;
mod read_at;
mod segment;
mod trigrams;
mod verify;

pub use build::{Built, build};
pub use builder::{Builder, FileEntry, Part};
pub(crate) use listed::Choice;
pub(crate) use lookup::Unread;
pub use lookup::{Cursor, Index};
pub use numbers::NumberSet;
pub use plan::Query;
pub(crate) use segment::Stretch;
pub use segment::{Content, IndexError, PartEnd, ReadAt, Segment};
pub use trigrams::{Trigram, Trigrams};
pub use verify::{Reread, Verification, reread, verify};

//! The instant index: which files can hold a match, told from trigrams without reading the files.
//!
//! A file is represented by the distinct trigrams of its parts, which are whole lines of 16 KiB together, in lower case
//! ([`trigrams::Trigrams`]). A pattern becomes a [`TrigramQuery`] over trigrams that a part fulfils in which a line matches; the
//! files without such a part need not be read. What fulfils it is verified by the engine that scans, so that an index can
//! change how long an answer takes and nothing else.

mod build;
mod builder;
mod candidates;
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
pub use builder::{IndexedFile, SegmentBuilder, SegmentPart};
pub(crate) use listed::ListedFiles;
pub(crate) use lookup::UnreadFile;
pub use lookup::{Index, LookupCursor};
pub use numbers::NumberSet;
pub use plan::TrigramQuery;
pub(crate) use segment::Stretch;
pub use segment::{Content, PartEnd, ReadAt, Segment, TrigramIndexError};
pub use trigrams::{Trigram, Trigrams};
pub use verify::{Reread, Verification, reread, verify};

//! The trigram index: decides which files can contain a match without reading them.
//!
//! Each file is split into parts of whole lines, about 16 KiB each. A part is represented by its distinct
//! trigrams in lower case ([`trigrams::Trigrams`]). A pattern is translated to a [`TrigramQuery`]
//! that holds for every part in which a line matches. Files without such a part need not be read. Matches are
//! still verified by the scanning engine, so an index can only change how long an answer takes.

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
pub(crate) use segment::FilePart;
pub use segment::{Content, PartEnd, ReadAt, Segment, TrigramIndexError};
pub use trigrams::{Trigram, Trigrams};
pub use verify::{ScrubOutcome, Verification, scrub_file, verify};

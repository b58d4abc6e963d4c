//! Every limit of this crate.

use std::time::Duration;

/// Characters of the name of a collection. It is the name of a directory, of which file systems take 255 bytes.
pub const NAME_CHARACTERS: usize = 100;

/// Bytes of a file of the engine's log. Its own 32 MiB would be most of what a small collection takes.
pub const LOG_FILE_BYTES: usize = 4 << 20;

/// Complete files of the engine's log at which it is shortened. Each is mapped as long as the collection is open.
pub const LOG_FILES: usize = 8;

/// Bytes of the journal at which the engine writes through to the disk. It is read into memory and done again when a
/// collection is opened that a killed process has left. What is written while the segments are put in order comes on top:
/// some [`ARRANGED_POINTS`].
pub const JOURNAL_BYTES: u64 = 16 << 20;

/// Bytes of a journal that is read: far more than any that is written.
pub const JOURNAL_MOST_BYTES: u64 = 1 << 30;

/// Bytes of a file of the engine's, which maps most of them.
pub const ENGINE_FILE_BYTES: u64 = 64 << 30;

/// Bytes that `collection.json` may have.
pub const DESCRIPTION_BYTES: u64 = 1 << 20;

/// Bytes that a seal may have, which are some hundred for each file of the collection.
pub const SEAL_BYTES: u64 = 64 << 20;

/// Bytes that are read at once where a file is hashed.
pub const PIECE_BYTES: usize = 1 << 20;

/// Points that are read and written together where all are looked at.
pub const PAGE_POINTS: usize = 1_000;

/// Points that are written before the engine puts them into an index that is not changed any more. In one that is, a
/// point costs as much as there are others with its words, so that writing all at once takes the square of their number.
pub const ARRANGED_POINTS: u64 = 5_000;

/// Segments that the engine may leave. Fewer would be written anew more often while a collection is filled; each costs a
/// query some hundredths of a millisecond.
pub const SEGMENTS: usize = 10;

/// KiB of vectors of a segment whose index is worth to be made anew.
pub const ARRANGED_KIB: usize = 100;

/// Characters of the engine's own words in a message.
pub const REASON_CHARACTERS: usize = 300;

/// Share of a segment's points that may be dead, removed or replaced, after a collection is finished. The engine counts
/// the dead among those that have a word, so this bounds how far a score is from that of a collection that was made
/// anew. A segment is written anew when it has more.
pub const DEAD_SHARE: f64 = 0.01;

/// The longest that a child that is being started may keep a copy of a lock that was had before. It takes milliseconds.
pub const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Times that the engine loads a collection which is closed, until it leaves the files as they are.
pub(crate) const MENDING_LOADS: usize = 4;

//! Every limit of this crate.

/// Characters of a word; FastEmbed drops longer ones (`token_max_length`), and so does what is equal to it.
pub const WORD_CHARACTERS: usize = 40;

/// Bytes of an identifier or code; longer runs of letters and digits are data, not names. Hashes of 512 bits in
/// hexadecimal digits have 128.
pub const IDENTIFIER_BYTES: usize = 200;

/// Words of a query that are tried as one identifier: `parse http header`.
pub const JOINED_WORDS: usize = 5;

/// Lines of a chunk.
pub const CHUNK_LINES: usize = 24;

/// Lines from the beginning of one chunk to that of the next: what stands at the end of one stands at the beginning of
/// the next, with what belongs to it.
pub const CHUNK_STRIDE: usize = 16;

/// Bytes of a chunk. Longer lines, as of minified code, are cut into several chunks.
pub const CHUNK_BYTES: usize = 16 << 10;

/// Bytes of a file; larger ones are left out and counted.
pub const FILE_BYTES: usize = 20 << 20;

/// Points that are written in one request. A store answers no query while it takes one (the embedded store), and a
/// request of so many chunks stays far below the 4 MB that servers take by default.
pub const BATCH_POINTS: usize = 256;

/// Bytes of texts that are written in one request.
pub const BATCH_BYTES: usize = 1 << 20;

/// Requests that are under way at the same time.
pub const WRITERS: usize = 2;

/// Points of a page when a collection is compared with a tree.
pub const SCAN_POINTS: usize = 2_000;

/// Points that are removed in one request.
pub const REMOVED_POINTS: usize = 1_000;

/// Points that a lookup may return.
pub const HITS: usize = 100;

/// Points beyond those that are wanted that are asked for, so that which of those that score the same are returned is
/// decided by their ids and not by the store.
pub const HITS_MORE: usize = 200;

/// Points that are asked for at the most, however many score the same.
pub const HITS_ASKED: usize = 10_000;

/// Requests that are made again when a store is busy or away for a moment.
pub const RETRIES: u32 = 2;

/// The first wait before a request is made again; each next is twice as long.
pub const BACKOFF: std::time::Duration = std::time::Duration::from_millis(500);

/// The longest wait.
pub const BACKOFF_MOST: std::time::Duration = std::time::Duration::from_secs(8);

//! Every limit of this crate.

/// Characters of a word; FastEmbed drops longer ones (`token_max_length`), and so does what is equal to it.
pub const WORD_CHARACTERS: usize = 40;

/// Bytes of an identifier or code; longer runs of letters and digits are data, not names. Hashes of 512 bits in
/// hexadecimal digits have 128.
pub const IDENTIFIER_BYTES: usize = 200;

/// Words of a query that are tried as one identifier: `parse http header`.
pub const JOINED_WORDS: usize = 5;

/// Parts of an identifier that may be left out between two that are looked up together, and one: `get login` is in
/// `get_user_login_name`. Farther ones find little more.
pub const PAIRED_PARTS: usize = 3;

/// The same for the parts of a query, of which less is left out.
pub const PAIRED_WORDS: usize = 2;

/// Lines of a chunk.
pub const CHUNK_LINES: usize = 24;

/// Lines from the beginning of one chunk to that of the next: what stands at the end of one stands at the beginning of
/// the next, with what belongs to it.
pub const CHUNK_STRIDE: usize = 16;

/// Bytes of a chunk. Longer lines, as of minified code, are cut into several chunks.
pub const CHUNK_BYTES: usize = 16 << 10;

/// Bytes of a file; larger ones are left out and counted.
pub const FILE_BYTES: usize = 20 << 20;

/// Bytes of a text whose vector is printed: some hundred chunks, whose dimensions are some megabytes of JSON.
pub const PRINTED_TEXT_BYTES: usize = 1 << 20;

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

/// Points that are asked for at the most, however many score the same.
pub const HITS_ASKED: usize = 10_000;

/// Points whose texts are compared with a name, to tell whether the collection has it. With their texts they are some
/// megabytes.
pub const NAMES_COMPARED: usize = 1_000;

/// Dimensions of a name that are asked for one after the other, until one is so rare that all its points can be compared.
pub const NAME_DIMENSIONS_ASKED: usize = 3;

/// Dimensions of a query whose rarity in all shards is asked for, where each shard counts by itself. In a query of more a single
/// one counts for little.
pub const WEIGHED_DIMENSIONS: usize = 128;

/// Dimensions whose points are counted in one request where the store does not weigh words. With [`HITS_ASKED`] points
/// each an answer takes some 10 MB of memory.
pub const COUNTED_DIMENSIONS: usize = 8;

/// Points of a dimension that are counted to tell its rarity; of one that more have it is told by samples.
pub const COUNTED_POINTS: usize = 1_000;

/// Points of a dimension by which its rarity in their shards is told.
pub const SAMPLED_POINTS: usize = 32;

/// Shares of dimensions that differ by less of them are of one shard: 32-bit scores tell them to the sixth digit.
pub const SAME_SHARE: f64 = 1e-5;

/// About the bytes that the payload of a point takes in memory beside its text.
pub const POINT_OVERHEAD: usize = 1_000;

/// Time for which it is kept how rare a dimension is, and dimensions of which it is kept.
pub const RARITY_KEPT: std::time::Duration = std::time::Duration::from_secs(60);
/// See [`RARITY_KEPT`].
pub const DIMENSIONS_KEPT: usize = 100_000;

/// Points whose scores are counted anew where shards are of one value each.
pub const RESCORED_POINTS_KEYED: usize = 256;

/// Points whose scores are counted anew at first, and where others may score better, at the most. With their vectors these are two
/// megabytes.
pub const RESCORED_POINTS: usize = 32;
/// See [`RESCORED_POINTS`].
pub const HITS_RESCORED: usize = 1_000;

/// How many times as much as in its shard a point is taken to score at the most.
pub const RARITY_RATIO: f64 = 2.0;

/// Bytes of a name, as in [`IDENTIFIER_BYTES`]: what is longer is no name.
pub const NAME_BYTES: usize = 200;

/// The share of the best score below which a result is left out: it has nothing in common with the query but a word that
/// nearly everything has.
pub const SCORE_SHARE: f32 = 0.01;

/// Values of a condition of a filter.
pub const FILTER_VALUES: usize = 64;

/// Bytes of the name of a payload field in a filter.
pub const FILTER_FIELD_BYTES: usize = 200;

/// Requests that are made again when a store is busy or away for a moment.
pub const RETRIES: u32 = 2;

/// The first wait before a request is made again; each next is twice as long.
pub const BACKOFF: std::time::Duration = std::time::Duration::from_millis(500);

/// The longest wait between two tries, unless the server names one.
pub const BACKOFF_MOST: std::time::Duration = std::time::Duration::from_secs(8);

/// The longest wait that a server may ask for. One that is busy for longer is an error at once.
pub const RETRY_AFTER_MOST: std::time::Duration = std::time::Duration::from_secs(60);

/// Tokens of a text that BM42 reads, with the two that mark its ends. The model was trained on no longer texts.
pub const BM42_TOKENS: usize = 256;

/// Characters of a word that is split into pieces; a longer one is an unknown word (BERT's `max_input_chars_per_word`).
pub const PIECED_WORD_CHARACTERS: usize = 100;

/// Time for one request to a server, unless the settings say otherwise: a batch of some hundred points takes a busy server
/// seconds.
pub const REQUEST_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// Time for a connection to a server, unless the settings say otherwise.
pub const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// Characters of a server's message that are passed on; it is a third party's text.
pub const SERVER_MESSAGE_CHARACTERS: usize = 300;

/// Qdrant's port for REST, where an address names none.
pub const REST_PORT: u16 = 6333;

/// Qdrant's port for gRPC, which is often given in its place.
pub const GRPC_PORT: u16 = 6334;

/// Bytes of a server's answer. The largest that is asked for, [`SERVER_PAGE_POINTS`] with a text of [`CHUNK_BYTES`] each,
/// has 160 MiB.
pub const RESPONSE_BYTES: u64 = 256 << 20;

/// Bytes of a hit without payload and vector in an answer: an id, a version, a score, and the name of a shard.
pub const BARE_HIT_BYTES: u64 = 512;

/// Bytes of a server's refusal, of which [`SERVER_MESSAGE_CHARACTERS`] are shown.
pub const REFUSAL_BYTES: u64 = 64 << 10;

/// Connections to a server that are kept for the next calls: as many as ask at the same time on a busy machine.
pub const KEPT_CONNECTIONS: usize = 16;

/// Hits that a query of a server gives at the most. It makes room for as many as it is asked for, and fails where that is more
/// than there can be.
pub const SERVER_HITS: usize = 1_000_000;

/// Points of a page that a server gives at the most; what follows is on the next one.
pub const SERVER_PAGE_POINTS: usize = 10_000;

/// The time within which every node of a cluster makes a shard that was agreed on, and the pause between two tries to write to it.
pub const SHARD_PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
/// See [`SHARD_PATIENCE`].
pub const SHARD_PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

/// Bytes of the name of an embedded collection. It names a directory, for which file systems take 255.
pub const COLLECTION_NAME_BYTES: usize = 100;

/// Bytes of payloads that are compressed together in the embedded store. A hit reads one block, and a scan in the order
/// of ids reads one for each point.
pub const PAYLOAD_BLOCK_BYTES: usize = 4 << 10;

/// Blocks of payloads that a segment of the embedded store keeps uncompressed.
pub const PAYLOAD_BLOCKS: usize = 64;

/// Bytes of a text in the embedded store's index of payload fields: as many as a path may have.
pub const TAG_BYTES: usize = 4 << 10;

/// Bytes of a file of the embedded store.
pub const SEGMENT_FILE_BYTES: u64 = 64 << 30;

/// Bytes that the embedded store gathers before it writes a segment.
pub const GATHERED_BYTES: usize = 64 << 20;

/// Points up to which segments of the embedded store count as alike: eight of a size become one.
pub const SMALL_SEGMENT_POINTS: u32 = 1_000;

/// Points of a segment of the embedded store that is merged no more, which would take longer than it saves lookups.
pub const LARGE_SEGMENT_POINTS: usize = 2_000_000;

/// Share of a segment's points that were removed from which on the embedded store writes it again without them.
pub const REMOVED_SHARE: f32 = 0.3;

/// Interval at which a call looks whether another has finished with the embedded store.
pub const LOCK_POLL: std::time::Duration = std::time::Duration::from_millis(2);

/// Points that the embedded store looks at before it asks whether the time is over: some milliseconds where each payload
/// is read.
pub const STORE_STEPS: usize = 512;

/// Segments of an embedded collection from which on they are merged after a commit that nobody asked for.
pub const SCATTERED_SEGMENTS: usize = 32;

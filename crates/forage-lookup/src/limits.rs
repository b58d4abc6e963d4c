//! All limits of this crate, each with its unit and reason.

/// Maximum length of a word in characters. FastEmbed drops longer words (`token_max_length`), so encoders
/// that are equal to it must do the same.
pub const WORD_CHARACTERS: usize = 40;

/// Maximum length in bytes of an identifier or code. Longer runs of letters and digits are data, not names:
/// for example, a 512-bit hash has 128 hexadecimal digits.
pub const IDENTIFIER_BYTES: usize = 200;

/// Maximum number of words of a query that we try as one identifier, for example `parse http header`.
pub const JOINED_WORDS: usize = 5;

/// Maximum distance of two parts of an identifier that form a pair. This is one more than the number of parts
/// between them: `get login` matches `get_user_login_name`. More distant pairs hardly improve results.
pub const PAIRED_PARTS: usize = 3;

/// Maximum distance of two words of a query that form a pair. This is less than [`PAIRED_PARTS`] because a
/// query omits parts, so that its words are closer together.
pub const PAIRED_WORDS: usize = 2;

/// Maximum number of lines in a chunk.
pub const CHUNK_LINES: usize = 24;

/// Distance in lines between the starts of two chunks. Chunks overlap so that the last lines of one are
/// repeated with their context at the start of the next.
pub const CHUNK_STRIDE: usize = 16;

/// Maximum size of a chunk in bytes. Longer lines, for example in minified code, are split into several
/// chunks.
pub const CHUNK_BYTES: usize = 16 << 10;

/// Maximum size of a file in bytes; larger ones are left out and counted.
pub const FILE_BYTES: usize = 20 << 20;

/// Maximum size in bytes of a text whose vector is printed. This is a few hundred chunks, and their
/// dimensions are a few megabytes of JSON.
pub const PRINTED_TEXT_BYTES: usize = 1 << 20;

/// Maximum number of points written in one request. The embedded store answers no query while it processes a
/// request, and this many chunks are far below the 32 MB that Qdrant accepts by default.
pub const BATCH_POINTS: usize = 256;

/// Maximum number of text bytes written in one request.
pub const BATCH_BYTES: usize = 1 << 20;

/// Number of concurrent write requests.
pub const WRITERS: usize = 2;

/// Number of points per page when a collection is compared with a tree.
pub const SCAN_POINTS: usize = 2_000;

/// Maximum number of points removed in one request.
pub const REMOVED_POINTS: usize = 1_000;

/// Maximum number of points that a lookup may return.
pub const HITS: usize = 100;

/// Maximum number of points to request, even if more have the same score.
pub const HITS_ASKED: usize = 10_000;

/// Maximum number of points whose texts are compared with a name to decide whether the collection contains
/// it. Together with their texts, they are a few megabytes.
pub const NAMES_COMPARED: usize = 1_000;

/// Maximum number of dimensions of a name that we query one by one, until one is rare enough to compare all
/// of its points.
pub const NAME_DIMENSIONS_ASKED: usize = 3;

/// Maximum number of dimensions of a query whose idf is determined across all shards, if each shard counts
/// separately. In a larger query, a single dimension has little influence.
pub const WEIGHED_DIMENSIONS: usize = 128;

/// Number of dimensions whose points we count in one request if the store does not apply an idf. With
/// [`HITS_ASKED`] points each, an answer takes about 10 MB of memory.
pub const COUNTED_DIMENSIONS: usize = 8;

/// Maximum number of points of a dimension that we count to determine its idf. For more frequent dimensions,
/// we estimate it from samples.
pub const COUNTED_POINTS: usize = 1_000;

/// Number of points sampled to estimate the idf of a dimension in their shards.
pub const SAMPLED_POINTS: usize = 32;

/// Relative difference below which we assume that two estimated shares belong to the same shard, since 32-bit
/// scores are exact to six digits.
pub const SAME_SHARE: f64 = 1e-5;

/// Approximate memory size in bytes of a point's payload, in addition to its text.
pub const POINT_OVERHEAD: usize = 1_000;

/// Time for which document frequencies are cached.
pub const FREQUENCY_CACHE_TIME: std::time::Duration = std::time::Duration::from_secs(60);
/// Maximum number of dimensions whose document frequencies are cached.
pub const DIMENSIONS_KEPT: usize = 100_000;

/// Number of points to rescore if the collection is sharded by a field. This is more than
/// [`RESCORED_POINTS`], because we then know no maximum ratio of the scores and make only one attempt.
pub const RESCORED_POINTS_KEYED: usize = 256;

/// Number of points to rescore at first.
pub const RESCORED_POINTS: usize = 32;
/// Maximum number of points to rescore if others may have better scores. With their vectors, they take two
/// megabytes.
pub const HITS_RESCORED: usize = 1_000;

/// Maximum assumed ratio between the score of a point and its score within its shard.
pub const IDF_RATIO: f64 = 2.0;

/// Maximum length of a name in bytes, as in [`IDENTIFIER_BYTES`].
pub const NAME_BYTES: usize = 200;

/// Share of the best score below which a result is left out. Such a result contains only words of the query
/// that nearly all points contain.
pub const SCORE_SHARE: f32 = 0.01;

/// Maximum number of values in a condition of a filter.
pub const FILTER_VALUES: usize = 64;

/// Maximum length in bytes of the name of a payload field in a filter.
pub const FILTER_FIELD_BYTES: usize = 200;

/// Number of retries if a store is busy or unavailable for a moment.
pub const RETRIES: u32 = 2;

/// Pause before the first retry. Each further pause is twice as long.
pub const BACKOFF: std::time::Duration = std::time::Duration::from_millis(500);

/// Maximum pause between two attempts, unless the server requests a longer one.
pub const BACKOFF_MAX: std::time::Duration = std::time::Duration::from_secs(8);

/// Maximum pause that a server may request. If it is busy for longer, the call fails at once.
pub const RETRY_AFTER_MAX: std::time::Duration = std::time::Duration::from_secs(60);

/// Maximum number of tokens that BM42 reads, including the two that mark its ends. The model was not trained
/// on longer texts.
pub const BM42_TOKENS: usize = 256;

/// Maximum length in characters of a word that is split into pieces. A longer word counts as unknown (BERT's
/// `max_input_chars_per_word`).
pub const PIECED_WORD_CHARACTERS: usize = 100;

/// Default timeout of a request to a server. A busy server may need seconds for a batch of a few hundred
/// points.
pub const REQUEST_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// Default timeout for connecting to a server.
pub const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// Maximum number of characters of a server's message that we show. This is third-party text, so we cut it.
pub const SERVER_MESSAGE_CHARACTERS: usize = 300;

/// Qdrant's port for REST, which is the default of an address.
pub const REST_PORT: u16 = 6333;

/// Qdrant's port for gRPC, which users often give by mistake.
pub const GRPC_PORT: u16 = 6334;

/// Maximum size of a server's answer in bytes. The largest answer that we request has about 160 MB:
/// [`SERVER_PAGE_POINTS`] points with a text of [`CHUNK_BYTES`] each.
pub const RESPONSE_BYTES: u64 = 256 << 20;

/// Maximum size in bytes of a hit without payload and vector in an answer: an id, a version, a score, and the
/// name of a shard.
pub const BARE_HIT_BYTES: u64 = 512;

/// Maximum size in bytes of a server's error answer. We show up to [`SERVER_MESSAGE_CHARACTERS`] of it.
pub const REFUSAL_BYTES: u64 = 64 << 10;

/// Maximum number of idle connections to a server. A busy machine makes about this many calls at the same
/// time.
pub const IDLE_CONNECTIONS: usize = 16;

/// Maximum number of hits to request from a server. The server allocates memory for all of them, and fails if
/// the number is too large.
pub const SERVER_HITS: usize = 1_000_000;

/// Maximum number of points on a page from a server; the others are on later pages.
pub const SERVER_PAGE_POINTS: usize = 10_000;

/// Time within which every node of a cluster should create a shard after the cluster has agreed on it.
pub const SHARD_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
/// Pause between two attempts to write to such a shard.
pub const SHARD_PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

/// Maximum length in bytes of the name of an embedded collection. This is also the name of a directory, for
/// which file systems allow 255 bytes.
pub const COLLECTION_NAME_BYTES: usize = 100;

/// Number of payload bytes that the embedded store compresses together. A hit reads one block, and a scan in
/// id order reads one block per point.
pub const PAYLOAD_BLOCK_BYTES: usize = 4 << 10;

/// Number of payload blocks that a segment of the embedded store caches uncompressed.
pub const PAYLOAD_BLOCKS: usize = 64;

/// Maximum size in bytes of a text in the embedded store's index of payload fields. This is the maximum
/// length of a path.
pub const TAG_BYTES: usize = 4 << 10;

/// Maximum size in bytes of a file of the embedded store.
pub const SEGMENT_FILE_BYTES: u64 = 64 << 30;

/// Number of bytes that the embedded store collects before it writes a segment.
pub const GATHERED_BYTES: usize = 64 << 20;

/// Number of points below which all segments of the embedded store count as equally large. Eight segments of
/// similar size are merged.
pub const SMALL_SEGMENT_POINTS: u32 = 1_000;

/// Number of points from which the embedded store no longer merges a segment, because the merge would take
/// longer than it saves in lookups.
pub const LARGE_SEGMENT_POINTS: usize = 2_000_000;

/// Share of removed points from which the embedded store rewrites a segment without them.
pub const REMOVED_SHARE: f32 = 0.3;

/// Interval at which a call checks whether another call has finished using the embedded store.
pub const LOCK_POLL: std::time::Duration = std::time::Duration::from_millis(2);

/// Number of points that the embedded store processes between two deadline checks. This takes a few
/// milliseconds if each payload is read.
pub const STORE_STEPS: usize = 512;

/// Number of segments above which an embedded collection is merged after an automatic commit.
pub const SCATTERED_SEGMENTS: usize = 32;

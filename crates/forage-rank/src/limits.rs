//! Limits of the ranking, with their units and reasons.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Bytes at the start of a file in which we look for signs of its language, if its name doesn't decide.
pub const LANGUAGE_HEAD_BYTES: usize = 256 << 10;

/// Bytes of a line in which we distinguish strings and comments from code.
pub const MENTION_BYTES: usize = 16 << 10;

/// Minimum length of a chunk, in lines, before a definition may begin a new one. Shorter chunks are extended.
/// A definition that is indented deeper needs twice as many.
pub const SHORT_CHUNK: u32 = 12;

/// Maximum length of a chunk, in lines. A longer one is split at blank lines.
pub const LONG_CHUNK: u32 = 80;

/// Bytes of a file that we index. A larger file is data or generated.
pub const FILE_BYTES: usize = 1 << 20;

/// Bytes of a line in which we look for a definition. It begins its line, and longer lines are generated.
/// This also bounds a quadratic cost: we search for each modifier in the rest of the line.
pub const DEFINITION_BYTES: usize = 512;

/// Maximum number of definitions that we read by line in a file. A shown outline needs about a kilobyte for
/// each. Large files of generated code have ten thousand.
pub const OUTLINE_DEFINITIONS: usize = 100_000;

/// Bytes of the longest token. Anything longer is data that no query asks for, e.g. a hash or an encoded
/// blob.
pub const LONGEST_TOKEN: usize = 64;

/// Words of a typical chunk, for length normalisation. Measured over nineteen languages.
pub const USUAL_CHUNK: f32 = 150.0;

/// Maximum distance between neighbouring words, in words, so that one other word may come between them.
pub const NEAR: u32 = 2;

/// Words that count as the head of a file without definitions: a few paragraphs.
pub const BARE_HEAD: u32 = 200;

/// Maximum length of a head, in words. This suffices for a licence and a description of the file. The head
/// ends here even if the first definition comes later.
pub const LONGEST_HEAD: u32 = 400;

/// Files that we examine closely after retrieval. A longer answer must begin like a shorter one. So it has
/// these first, followed by as many more as it needs.
pub const CANDIDATES: usize = 80;

/// Files whose positions we check for a phrase, of those that contain all of its words.
pub const PHRASE_CANDIDATES: usize = 4000;

/// Number of these that we read at a time.
pub const PHRASE_BATCH: usize = 128;

/// Maximum number of files in an answer.
pub const RESULTS: usize = 1000;

/// Default number of chunks per file in an answer.
pub const CHUNKS_OF_A_FILE: usize = 5;

/// Steps of a search, each a posting or a position, between checks for a stop. They take some microseconds.
pub const STOP_STEPS: usize = 4096;

/// Occurrences of a word in a field of a file that we read. Further ones add no information, and a file may
/// have half a million.
pub const HITS: usize = 1024;

/// Like [`HITS`], for words of a phrase, since their first match may come late.
pub const PHRASE_HITS: usize = 16_384;

/// Bytes of a query that we read. The longest bug reports have this many.
pub const QUERY_BYTES: usize = 32 << 10;

/// Maximum number of words in a query that may use our syntax. A longer one was probably pasted, so its
/// quotes and minus signs are text.
pub const SHORT_QUERY: usize = 16;

/// Maximum number of words in a query that names its target. A longer query describes it, and most of its
/// words occur in some name by chance.
pub const NAMING_QUERY: usize = 11;

/// Maximum number of words in a first line that counts as the title of a text.
pub const TITLE_WORDS: usize = 30;

/// Files named by a text that we look for among the candidates.
pub const NAMED_FILES: usize = 64;

/// Components of the path of such a file that we keep.
pub const NAMED_FILE_NAMES: usize = 12;

/// Frames of a stack trace that we read.
pub const TRACE_FRAMES: usize = 200;

/// Maximum number of words in a line that counts as a frame, wherever in the line its file is.
pub const FRAME_WORDS: usize = 8;

/// Bytes of the longest file name (`NAME_MAX`).
pub const FILE_NAME_BYTES: usize = 255;

/// Maximum number of files that may define the function of a frame whose file is unknown. If more files
/// define a name, it says nothing.
pub const NAMED_FUNCTION_FILES: usize = 4;

/// Names of a query that we compare with definitions.
pub const QUERY_NAMES: usize = 32;

/// Bytes of a path filter in a query, whether a part of a path or a pattern. This must be bounded because
/// each filter is compared with every path.
pub const PATH_FILTER_BYTES: usize = 256;

/// Words that a query may exclude.
pub const EXCLUDED_WORDS: usize = 16;

/// Distinct words of a query that we look up.
pub const QUERY_WORDS: usize = 256;

/// Number of these that count. We keep the rarest ones.
pub const KEPT_WORDS: usize = 48;

/// Maximum number of threads that write an index.
pub const WRITER_THREADS: usize = 8;

/// Maximum bytes that a thread buffers before it writes a segment. With less, there are many small segments,
/// which slow down queries or must be merged.
pub const WRITER_BYTES: usize = 32 << 20;

/// Bytes that all threads together should buffer. With two threads, each gets half of it. Note that more than
/// four threads exceed it because each gets at least [`WRITER_BYTES_MIN`].
pub const ALL_WRITERS_BYTES: usize = 64 << 20;

/// Bytes for a thread that writes a few files, and the minimum for any thread. The engine's tables grow as
/// large as this allows, whatever they contain.
pub const WRITER_BYTES_MIN: usize = 16 << 20;

/// Words of a query, the rarest ones, whose total idf we expect an answer to have. Questions don't have more.
/// For reports, we chose 8 so that the mark on a weak answer is missing rather than wrong.
pub const STRENGTH_WORDS: usize = 8;

/// Share of a query's total idf below which the best file may be wrong (`evaluate --strength`). Of 641
/// queries with an answer, 8 % are below it. Of queries that were asked of the wrong repository, it is 73 %.
/// For passages of documentation of 150 words, these figures are 19 % and 39 %: a text this long has
/// something in common with everything. For 251 bug reports, they are 1.6 % and 28.7 %. Of the 227 reports
/// with a right file among the first ten, four are below it.
pub const WEAK_STRENGTH: f32 = 0.35;

/// Files up to which segments count as equal in size when we decide what to merge. Eight equal ones are
/// merged.
pub const SMALL_SEGMENT: u32 = 64;

/// Share of removed or changed files above which a segment is rewritten without them.
pub const DELETED_SHARE: f32 = 0.3;

/// Maximum number of files that a small update opens: new ones, and those that differ from the index. A call
/// waits longer for a small update than for a large one.
pub const SMALL_UPDATE_FILES: u64 = 500;

/// Number of changed files from which several threads write them.
pub const FILES_FOR_ONE_WRITER: usize = 200;

/// Targets of a query with known answers. Each candidate stores its targets as the bits of one integer.
pub const TARGETS: usize = 64;

/// Lines that a query is about, or that an answer shows, when we count their overlap.
pub const KNOWN_LINES: u64 = 1_000_000;

/// Bytes of changed files that we keep from the comparison until they are indexed. Further files are read
/// twice. A checkout of two thousand files has some twenty million.
pub const CHANGED_BYTES: usize = 32 << 20;

/// Number of files above which a segment is no longer merged. Merging would take longer than reading it costs
/// searches, and must keep everything in memory: a hundred megabytes for ten thousand files.
pub const LARGE_SEGMENT: usize = 1_500;

/// Time that an update must have left to merge segments.
pub const MERGE_TIME: Duration = Duration::from_secs(8);

/// An answer ends once the chance of further lines falls below this share of its expected F1. With .3, 198
/// fixes in 18 projects have an F1 of .30 in 2,200 tokens of code. With .05, which is for callers that ask
/// for a number of tokens, more of the right lines are shown: .62 in 4,000 tokens, with an F1 of .24.
pub const EARNED_SHARE: f32 = 0.3;
/// See [`EARNED_SHARE`].
pub const ASKED_SHARE: f32 = 0.05;

/// Tokens up to which we choose lines as if they were asked for.
pub const EARNED_TOKENS: usize = 400;

/// Expected lines in total for each one in the files that we examine, since 11 % are in other files.
pub const EXPECTED_ELSEWHERE: f32 = 1.12;

/// Maximum length, in lines, of a definition that we show completely if its name is the whole query.
pub const NAMED_WHOLE_LINES: u32 = 60;

/// Minimum length of a line, in bytes without surrounding white space, for us to compare it with the lines of
/// other units.
pub const TELLING_LINE_BYTES: usize = 12;

/// Minimum number of such lines in a unit that may count as a copy of one that the answer already shows.
pub const COPY_LINES: usize = 5;

/// Maximum length, in lines, of a comment that an answer with code shows completely.
pub const COMMENT_LINES: u32 = 12;

/// One part in this many of an answer's tokens may remain unused.
pub const PASSAGE_LEFT_PART: usize = 100;

/// Maximum bytes of an index's manifest. It lists about eight files for each of a few dozen segments.
pub const MANIFEST_BYTES: u64 = 4 << 20;

/// Bytes of an index that we hash between looks at the clock. This takes less than a millisecond in memory,
/// and a few milliseconds from a disk.
pub const HASHED_AT_ONCE: usize = 1 << 20;

/// We reserve the time for which a segment was built, divided by this, to write it. Writing takes about a
/// fifth.
pub const WRITING_PART: u32 = 2;

/// Time that we reserve to write even the smallest segment.
pub const WRITING_TIME: Duration = Duration::from_millis(40);

/// Time after its deadline in which an update may still write buffered data. More would keep the caller
/// waiting. Without it, seconds of work would be lost for lack of a few milliseconds.
pub const WRITE_GRACE: Duration = Duration::from_millis(100);

/// Bytes of a line up to which we check whether it may define a name. For a longer one we assume so: checking
/// each name together with all text before it would take minutes for a megabyte.
pub const CANDIDATE_LINE_BYTES: usize = 4 << 10;

/// Lines of a passage that we choose as a unit. A longer definition is split into such parts.
pub const PASSAGE_LINES: usize = 120;

/// Maximum bytes that a line of a passage costs. People don't write longer lines.
pub const PASSAGE_LINE_BYTES: usize = 400;

/// Tokens of the note on a line that is cut, and its bytes including the marks.
pub const PASSAGE_CUT_TOKENS: usize = 10;
/// See [`PASSAGE_CUT_TOKENS`].
pub const PASSAGE_CUT_BYTES: usize = 36;

/// Tokens and bytes that a run of lines costs in addition to its file's path, for a mark, two numbers, the
/// definition around it and a line feed.
pub const PASSAGE_HEAD_TOKENS: usize = 11;
/// See [`PASSAGE_HEAD_TOKENS`].
pub const PASSAGE_HEAD_BYTES: usize = 48;

/// Minimum and maximum number of newest commits whose messages we use. [`COMMITS_PER_FILE`] determines the
/// number within this range. Three times as many found nothing more of what 487 fixes changed.
pub const COMMITS: RangeInclusive<usize> = 1_000..=4_000;

/// Commits that we use per file in the checkout. Reading ten times as many takes longer than indexing the
/// files, and found nothing more.
pub const COMMITS_PER_FILE: usize = 3;

/// Maximum number of commits that we visit to find these. They include merges and commits that changed too
/// many files.
pub const WALKED_COMMITS: usize = 12_000;

/// Maximum number of files in a commit whose message we use. A larger commit moves, renames or formats files.
pub const COMMIT_FILES: usize = 30;

/// Minimum number of digits in an abbreviated commit name. This is as many as git prints.
pub const SHORT_NAME: usize = 7;

/// Words of a message that we read.
pub const MESSAGE_WORDS: usize = 500;

/// Commits that add to the scores of their files. They are the ones whose messages match the query best.
pub const SCORED_COMMITS: usize = 80;

/// Other words of a question that files must contain before we ignore the project's name.
pub const WORDS_BESIDES_PROJECT_NAME: usize = 2;

/// Bytes of a manifest or a README in which we look for the project's name.
pub const PROJECT_FILE_BYTES: usize = 64 * 1024;

/// Time that a call reads commits for, after which the next one continues. Four thousand commits take .3 to 2
/// seconds.
pub const HISTORY_TIME: Duration = Duration::from_secs(5);

/// A call may spend one part in this many of its time on reading commits.
pub const HISTORY_PART: u32 = 4;

/// Maximum bytes of a stored history.
pub const HISTORY_BYTES: u64 = 64 << 20;

/// Minimum share of a project's files for their kind to count as what the project is written in.
pub const FAIR_SHARE: f32 = 0.2;

/// Minimum number of files for such a share.
pub const FAIR_SHARE_FILES: usize = 3;

/// Bytes of the longest extension by which a query may name a file.
pub const EXTENSION_BYTES: usize = 12;

/// Maximum number of other words in a query that asks for a file by its name.
pub const WORDS_BESIDES_FILE_NAME: usize = 1;

/// Percent of the requested tokens for which parts of a map are chosen. We only estimate their text, and
/// exactly as many as fit are shown.
pub const MAP_RESERVE: usize = 130;

/// The share of a map's tokens that is for directories, as numerator and denominator. On eight repositories,
/// 600 tokens of directories place 90 of 100 files that fixes change, 400 tokens 80, and 900 tokens 97.
pub const MAP_DIRECTORIES_SHARE: (usize, usize) = (3, 5);

/// Tokens of a directory's line in a map, in addition to its path: the count and the signs around it.
pub const MAP_DIRECTORY_TOKENS: usize = 5;

/// Tokens of a definition in a map, in addition to its name and file: the line and the signs around it.
pub const MAP_DEFINITION_TOKENS: usize = 4;

/// Minimum files of a directory whose definitions a map considers.
pub const MAP_FILES: usize = 6;

/// Files whose definitions a map considers in a project with a single directory. A larger directory gets its
/// share of these, if that is more than [`MAP_FILES`].
pub const MAP_ALL_FILES: f64 = 160.0;

/// Maximum definitions of a file whose uses a map counts: types first, then functions, in line order.
pub const MAP_FILE_DEFINITIONS: usize = 32;

/// Minimum bytes of a name in a map. Shorter names are local ones.
pub const MAP_NAME_BYTES: usize = 3;

/// Decompressed blocks of stored documents that a map caches per segment.
pub const MAP_STORE_BLOCKS: usize = 64;

/// Minimum tokens of a piece of code to find similar code for, and of a definition to compare. With fewer,
/// chance decides.
pub const SIMILAR_TOKENS: usize = 12;

/// Maximum runs of tokens, and words, by which a piece of code is compared. A longer piece is compared by a
/// random sample. Both together take 128 bytes per file.
pub const SIMILAR_RUNS: usize = 768;
/// See [`SIMILAR_RUNS`].
pub const SIMILAR_WORDS: usize = 256;

/// Minimum similarity of a definition that an answer names.
pub const SIMILAR_MIN: f32 = 0.3;

/// Maximum files whose definitions are compared exactly. Parsing them takes a few tenths of a second.
pub const SIMILAR_FILES: usize = 60;

/// Files that a scan for similar code keeps, with their features. They take a megabyte.
pub const SIMILAR_FILES_HELD: usize = 4_000;

/// Maximum definitions of a file whose lines and names are compared with those of the piece. An answer has at most
/// 100, and generated files have tens of thousands.
pub const SIMILAR_EXPLAINED: usize = 100;

/// Maximum names that an answer lists as common to both pieces, and minimum bytes of each.
pub const SIMILAR_NAMES: usize = 4;
/// See [`SIMILAR_NAMES`].
pub const SIMILAR_NAME_BYTES: usize = 3;

/// Maximum size in bytes of a failure whose cause we look for. Longer ones are logs, whose words say little.
pub const SUSPECT_TEXT_BYTES: usize = 64 << 10;

/// Maximum number of different words of a failure. A commit keeps a few bytes for each of them that it has.
pub const SUSPECT_WORDS: usize = 512;

//! Bounds of the ranking, with their units and reasons.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Bytes at the beginning of a file in which its language is looked for where its name does not say it.
pub const LANGUAGE_HEAD_BYTES: usize = 256 << 10;

/// Bytes of a line in which strings and comments are told apart.
pub const MENTION_BYTES: usize = 16 << 10;

/// Lines from which on a definition begins a new chunk; shorter ones stay together.
pub const SHORT_CHUNK: u32 = 12;

/// Lines of the longest chunk; what is longer is cut at blank lines.
pub const LONG_CHUNK: u32 = 80;

/// Bytes of a file that is indexed. Larger ones are data or generated.
pub const FILE_BYTES: usize = 1 << 20;

/// Bytes of a line in which a definition is looked for. Lines that are longer are generated, and a definition begins its
/// line; each modifier is looked for in the rest of it, so this bounds the square.
pub const DEFINITION_BYTES: usize = 512;

/// Most definitions that are read by line in a file, a kilobyte each in an outline that is shown. Large files of
/// generated code have ten thousand.
pub const OUTLINE_DEFINITIONS: usize = 100_000;

/// Bytes of a token; what is longer is data (hashes, encoded blobs) that nobody asks for.
pub const LONGEST_TOKEN: usize = 64;

/// Words of a chunk of usual length, for the normalisation of lengths; measured over nineteen languages.
pub const USUAL_CHUNK: f32 = 150.0;

/// Distance, in words, of neighbours: one may stand between.
pub const NEAR: u32 = 2;

/// Words of a file without definitions that are its head: some paragraphs.
pub const BARE_HEAD: u32 = 200;

/// Words of the longest head: a licence and what a file says of itself. A definition that comes later ends no head.
pub const LONGEST_HEAD: u32 = 400;

/// Files that are looked at closely after retrieval. A longer answer has them first, so that its beginning is that of
/// a shorter one, and behind them as many more as it needs.
pub const CANDIDATES: usize = 80;

/// Files in which the words of a phrase are looked at, of those that have all of them.
pub const PHRASE_CANDIDATES: usize = 4000;

/// Of these, how many are read at a time.
pub const PHRASE_BATCH: usize = 128;

/// Files of an answer.
pub const RESULTS: usize = 1000;

/// Chunks of a file that an answer has unless more are asked for.
pub const CHUNKS_OF_A_FILE: usize = 5;

/// Steps of a search (a posting read, a position) after which it asks whether to stop: some microseconds.
pub const STOP_STEPS: usize = 4096;

/// Occurrences of a word in a field of a file that are looked at. More tell nothing, and a file can have half a million.
pub const HITS: usize = 1024;

/// As above for words of phrases, which may stand together late.
pub const PHRASE_HITS: usize = 16_384;

/// Bytes of a query that are read; the longest bug reports have as many.
pub const QUERY_BYTES: usize = 32 << 10;

/// Words up to which a query is written for a search: in what is longer, and pasted, quotes and minus signs are text.
pub const SHORT_QUERY: usize = 16;

/// Words up to which a query names what it looks for. What is longer tells of it, and most of its words are in some name by
/// chance.
pub const NAMING_QUERY: usize = 11;

/// Words up to which the first line of a text is its title.
pub const TITLE_WORDS: usize = 30;

/// Files that a text names that are looked for among the candidates.
pub const NAMED_FILES: usize = 64;

/// Names of the path of such a file.
pub const NAMED_FILE_NAMES: usize = 12;

/// Frames of a stack trace that are looked at.
pub const TRACE_FRAMES: usize = 200;

/// Words of a line up to which it is a frame wherever in it the file is.
pub const FRAME_WORDS: usize = 8;

/// Bytes of the longest name of a file (`NAME_MAX`).
pub const FILE_NAME_BYTES: usize = 255;

/// Files that may define the function of a frame whose file is unknown; what more files define tells nothing.
pub const NAMED_FUNCTION_FILES: usize = 4;

/// Names of a query that definitions are compared with.
pub const QUERY_NAMES: usize = 32;

/// Bytes of a part of a path, or of a pattern, that a query filters by. Each is compared with all of every path.
pub const PATH_FILTER_BYTES: usize = 256;

/// Words that a query leaves out.
pub const EXCLUDED_WORDS: usize = 16;

/// Distinct words of a query that are looked up.
pub const QUERY_WORDS: usize = 256;

/// Of these, the rarest that count.
pub const KEPT_WORDS: usize = 48;

/// Threads that write an index.
pub const WRITER_THREADS: usize = 8;

/// Bytes that a thread gathers before it writes a segment, at the most; less makes many small segments, which queries pay
/// for, or merging.
pub const WRITER_BYTES: usize = 32 << 20;

/// Bytes that all threads together gather before they write: half of them with two, more segments with eight.
pub const ALL_WRITERS_BYTES: usize = 64 << 20;

/// Bytes for a thread that writes a few files, and the least for any: its tables are as large as that lets them become,
/// whatever is in them.
pub const LEAST_WRITER_BYTES: usize = 16 << 20;

/// Words of a query, the rarest, whose rarity is all that an answer is expected to have. Questions have no more; with 8
/// of the words of a report the mark for weak answers is rather missed than wrong.
pub const STRENGTH_WORDS: usize = 8;

/// Share of a query's rarity below which the best file may be no answer (`evaluate --strength`). Of 641 queries with an
/// answer 8 % are below it, of queries that were put to other repositories than they were made for 73 %. Of passages of
/// documentation, 150 words long, it is 19 % and 39 %: so long a text has something of everything. Of 251 reports of bugs it
/// is 1.6 %, and 28.7 %; of the 227 with a right file among the first ten, four are below it.
pub const WEAK_STRENGTH: f32 = 0.35;

/// Files up to which segments count as alike when it is decided what is merged. Eight alike become one.
pub const SMALL_SEGMENT: u32 = 64;

/// Share of a segment's files that are gone or changed from which on it is written anew without them.
pub const DELETED_SHARE: f32 = 0.3;

/// Files that a small update opens at the most: new ones, and those that are not as the index has them. A call waits longer for
/// a small update than for a large one.
pub const SMALL_UPDATE_FILES: u64 = 500;

/// Changed files from which on more than one thread writes them.
pub const FILES_FOR_ONE_WRITER: usize = 200;

/// Targets of a query whose answers are known; a candidate remembers which it is as bits of a word.
pub const TARGETS: usize = 64;

/// Lines that a query is about, or that an answer shows, where it is counted how many of them are the same.
pub const KNOWN_LINES: u64 = 1_000_000;

/// Bytes of changed files that are kept from when they were compared until they are indexed; what is beyond is read twice. A
/// checkout of two thousand files has some twenty million.
pub const CHANGED_BYTES: usize = 32 << 20;

/// Files from which on segments are merged no more: that would take longer than reading them costs searches, and all that is
/// merged is in memory meanwhile, a hundred megabytes for ten thousand files.
pub const LARGE_SEGMENT: usize = 1_500;

/// Time that must be left of an update for segments to be merged in it.
pub const MERGE_TIME: Duration = Duration::from_secs(8);

/// Share of the expected F1 of an answer below which the chance of further lines ends it. At .3, 198 fixes in 18 projects
/// have an F1 of .30 in 2,200 tokens of code. At .05, for callers that name a number of tokens, more of the right lines
/// are shown: .62 in 4,000 tokens, with an F1 of .24.
pub const EARNED_SHARE: f32 = 0.3;
/// See [`EARNED_SHARE`].
pub const ASKED_SHARE: f32 = 0.05;

/// Tokens up to which lines are chosen as if they were asked for.
pub const EARNED_TOKENS: usize = 400;

/// Lines that a query is about for each that is expected in the files that are looked at: 11 % are in others.
pub const EXPECTED_ELSEWHERE: f32 = 1.12;

/// Lines up to which a definition whose name is the whole query is shown with all that it holds.
pub const NAMED_WHOLE_LINES: u32 = 60;

/// Bytes of a line, without white space around it, from which on it is compared with the lines of other units.
pub const TELLING_LINE_BYTES: usize = 12;

/// Such lines of a unit from which on it may be a copy of another one, which an answer shows already.
pub const COPY_LINES: usize = 5;

/// Lines of a comment up to which answers with code have it whole.
pub const COMMENT_LINES: u32 = 12;

/// Part of the tokens of an answer with code that may stay unused.
pub const PASSAGE_LEFT_PART: usize = 100;

/// Bytes of the manifest of an index, which names some eight files for each of some dozens of segments.
pub const MANIFEST_BYTES: u64 = 4 << 20;

/// Bytes of an index that are compared with their hash between two looks at the clock: less than a millisecond where
/// they are in memory, some milliseconds of a disk.
pub const HASHED_AT_ONCE: usize = 1 << 20;

/// The part of the time for which a segment was gathered that is kept for writing it: it takes about a fifth.
pub const WRITING_PART: u32 = 2;

/// Time that is kept for writing the smallest segment.
pub const WRITING_TIME: Duration = Duration::from_millis(40);

/// Time after its deadline in which an update may still write what it has gathered. More would keep whoever waits;
/// with none, work of seconds is lost for a few milliseconds.
pub const WRITE_GRACE: Duration = Duration::from_millis(100);

/// Bytes of a line up to which we look at it for names that it may define. A longer one may define any: each name in
/// it is looked at with all that is before it, which takes minutes for a megabyte.
pub const CANDIDATE_LINE_BYTES: usize = 4 << 10;

/// Lines of a passage that is chosen as one; longer definitions are cut into such parts.
pub const PASSAGE_LINES: usize = 120;

/// Bytes that a line of a passage counts at the most. Nobody wrote longer ones.
pub const PASSAGE_LINE_BYTES: usize = 400;

/// Tokens of what is told of a line that is cut, and bytes with its marks.
pub const PASSAGE_CUT_TOKENS: usize = 10;
/// See [`PASSAGE_CUT_TOKENS`].
pub const PASSAGE_CUT_BYTES: usize = 36;

/// Tokens and bytes that a run of lines costs in addition to its file's path: a mark, two numbers, the definition around it and a
/// line feed.
pub const PASSAGE_HEAD_TOKENS: usize = 11;
/// See [`PASSAGE_HEAD_TOKENS`].
pub const PASSAGE_HEAD_BYTES: usize = 48;

/// Commits whose messages are used, the newest, at the least and at the most: [`COMMITS_PER_FILE`] decides. Three times as many
/// found nothing more of what 487 fixes changed.
pub const COMMITS: RangeInclusive<usize> = 1_000..=4_000;

/// Commits that are used for each file of the one that is checked out. Reading ten times as many takes longer than indexing the
/// files, and found nothing more.
pub const COMMITS_PER_FILE: usize = 3;

/// Commits that are looked at for these; merges and what changed too many files are among them.
pub const WALKED_COMMITS: usize = 12_000;

/// Files up to which a commit tells what it is about: more are moved, renamed or formatted.
pub const COMMIT_FILES: usize = 30;

/// Digits from which on the beginning of a commit's name is taken for it; git prints as many.
pub const SHORT_NAME: usize = 7;

/// Words of a message that are read.
pub const MESSAGE_WORDS: usize = 500;

/// Commits that lend to their files, those whose messages resemble a query most.
pub const LENDING_COMMITS: usize = 80;

/// Words of a question that files have, beside which the name of the project weighs nothing.
pub const BESIDE_OWN_NAME: usize = 2;

/// Bytes of a manifest and of a README that are looked at for the name of the project.
pub const PROJECT_FILE_BYTES: usize = 64 * 1024;

/// Time that a call reads commits for; the next one goes on. Four thousand take .3 to 2 seconds.
pub const HISTORY_TIME: Duration = Duration::from_secs(5);

/// The part of the time of a call that may go into reading commits.
pub const HISTORY_PART: u32 = 4;

/// Bytes of what is kept of a history.
pub const HISTORY_BYTES: u64 = 64 << 20;

/// Share of a project's files from which on files of a kind are what the project is written in.
pub const FAIR_SHARE: f32 = 0.2;

/// Files that are no share of a project, being fewer.
pub const FAIR_SHARE_FILES: usize = 3;

/// Bytes of the longest extension that a query may name a file by.
pub const EXTENSION_BYTES: usize = 12;

/// Words that tell something beside the name of a file that a query asks for.
pub const BESIDE_FILE_NAME: usize = 1;

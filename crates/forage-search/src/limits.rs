//! All limits of the engines, each with its unit and reason.

use std::time::Duration;

/// Maximum size in bytes of a file that is read whole and searched in one buffer. We read larger files in
/// pieces. Reading a file whole is 1.5 times faster, and all but a handful of source files are small enough
/// for it.
pub const WHOLE_FILE_BYTES: usize = 8 << 20;

/// Maximum length in bytes of a line with its context in a piecewise search. A longer line ends the search of
/// its file, and the file is counted as having too long a line.
pub const PIECE_BYTES: usize = 8 << 20;

/// Bytes searched between two deadline checks.
pub const BYTES_PER_CHECK: usize = 256 << 10;

/// Work between two deadline checks, in visited states of an automaton: two to ten milliseconds. If a single
/// step would take longer than this, we use an engine that can be interrupted in the middle of a line.
pub const WORK_PER_LOOK: u64 = 1 << 20;

/// Grace period after the end of a call, in which we still locate the matches within lines that are known to
/// match. A deadline that passes at this moment must not lose them. Slow matches get no grace period.
pub const SPANS_GRACE: Duration = Duration::from_millis(50);

/// Bytes of literals compared with a text between two deadline checks: two milliseconds. This assumes that
/// the literals occur at every position.
pub const COMPARED_BYTES_PER_LOOK: usize = 4 << 20;

/// Maximum length in bytes of a prefilter's literal. A longer one is hardly more selective, and if a text
/// consists of nothing else, each literal must be compared at every position.
pub const PREFILTER_LITERAL_BYTES: usize = 64;

/// Maximum number of steps that a backtracking matcher may take on one line: at most a tenth of a second.
pub const BACKTRACKING_STEPS: usize = 1_000_000;

/// Maximum length of a pattern in bytes. Anything longer is data, not a pattern.
pub const PATTERN_BYTES: usize = 16 << 10;

/// Maximum size in bytes of a compiled pattern. This is the order of magnitude of ripgrep's default: a nested
/// repetition that would need more is refused at once.
pub const COMPILED_PATTERN_BYTES: usize = 10 << 20;

/// Maximum work of expanding the classes of a pattern, in units of `size::class_work`: about forty
/// milliseconds. A case-insensitive class takes a sixth of a millisecond even if it ends up small. A pattern
/// of sixteen thousand bytes can contain five thousand of them.
pub const CLASS_WORK: u64 = 64 << 10;

/// Time between two deadline checks while a call waits for uninterruptible work.
pub const RESULT_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum work of expanding classes on the calling thread, in units of `size::class_work`: about two
/// milliseconds. More work than this runs on a helper thread so that the call can time out.
pub const CLASS_WORK_AT_ONCE: u64 = 4 << 10;

/// Number of positions from which a pattern is compiled on a helper thread. A smaller pattern compiles in a
/// millisecond or two.
pub const POSITIONS_AT_ONCE: u64 = 500;

/// Length in bytes from which a pattern is compiled on a helper thread. A long pattern of small parts takes
/// as long as a large one.
pub const PATTERN_BYTES_AT_ONCE: usize = 2 << 10;

/// Maximum number of parts of a pattern that we analyze for required text. Further parts are treated as
/// matching anything. A part takes up to a thirtieth of a millisecond.
pub const ANALYSED_PARTS: usize = 2048;

/// Maximum bytes of all compiled patterns of one call. A pattern of [`COMPILED_PATTERN_BYTES`] takes 40 MiB
/// of this, as it is compiled to four automata.
pub const PATTERNS_BYTES: u64 = 48 << 20;

/// Bytes of compiled patterns above which a call must wait until no other call has as many. This is enough
/// for 64 patterns like `\w+x`. Eight such calls and one large one stay below 500 MiB.
pub const SMALL_PATTERNS_BYTES: u64 = 16 << 20;

/// Maximum bytes of the compiled patterns of one call and of the caches of all its threads. A call with large
/// patterns therefore runs on fewer threads.
pub const PATTERNS_AND_THREADS_BYTES: u64 = 128 << 20;

/// Estimated bytes of an automaton up to which we don't measure it before compiling it. Measuring takes as
/// long as compiling.
pub const UNMEASURED_AUTOMATON_BYTES: u64 = SMALL_PATTERNS_BYTES / 4;

/// Lazy automata per pattern and thread: the matcher and the interruptible search have one per direction.
pub const CACHES_PER_PATTERN: usize = 4;

/// Maximum bytes of the caches of all lazy automata of a call, unless its patterns need more.
pub const CACHES_BYTES: usize = 32 << 20;

/// Maximum size in bytes of a lazy automaton's cache. This is smaller than ripgrep's 1 GB because every
/// worker has its own.
pub const AUTOMATON_CACHE_BYTES: usize = 4 << 20;

/// Minimum size in bytes of a lazy automaton's cache. A simple pattern takes 10 to 50 KB.
pub const AUTOMATON_CACHE_BYTES_MIN: usize = 64 << 10;

/// Maximum size in bytes of the cache of a large lazy automaton, which must have room for some of its states.
pub const LARGE_AUTOMATON_CACHE_BYTES: usize = 16 << 20;

/// Maximum bytes of all automata of a pattern with look-around or backreferences, which consists of several
/// regexes. We first try the share of a small call, and then that of a large one. When each regex had the
/// limit of a whole pattern, 300 of them took 1.5 GB and half a minute.
pub const BACKTRACKING_BYTES: [u64; 2] = [SMALL_PATTERNS_BYTES / 2, PATTERNS_BYTES * 2 / 3];

/// Minimum bytes for each automaton of such a pattern: enough for a character of any class.
pub const BACKTRACKING_PART_BYTES: usize = 64 << 10;

/// Bounds in bytes for the cache of each lazy automaton of such a pattern. The upper bound is the engine's
/// default.
pub const BACKTRACKING_CACHE_BYTES: std::ops::RangeInclusive<usize> = 64 << 10..=2 << 20;

/// Maximum nesting depth of groups in a pattern.
pub const PATTERN_NESTING: u32 = 250;

/// Maximum number of matching lines kept per file if a search has no limit of its own.
pub const FILE_MATCHES: usize = 1_000_000;

/// Maximum number of bytes of matching and context lines kept per file.
pub const FILE_EVENT_BYTES: usize = 16 << 20;

/// Maximum number of matches kept per file, 24 bytes each. Without this limit, lines of one letter would take
/// fifteen times [`FILE_EVENT_BYTES`].
pub const FILE_SPANS: usize = 1 << 20;

/// Maximum number of matches kept per line. A line of one letter can have a match at every byte.
pub const LINE_SPANS: usize = 10_000;

/// Maximum bytes of ripgrep output for one term. A term with more is too broad (the requirement's 64 KiB).
pub const TERM_BYTES: u64 = 64 << 10;

/// The ripgrep output of all kept terms must be smaller than this, in bytes (the requirement's 128 KiB).
pub const EVIDENCE_BYTES: u64 = 128 << 10;

/// Lines of context in keyword evidence (the requirement's 10).
pub const EVIDENCE_CONTEXT: u64 = 10;

/// Lines of context around a line chosen by a ranking.
pub const RANKED_CONTEXT: u64 = 2;

/// Maximum number of lines counted in one file for a term that is too broad in this file alone. More lines
/// would not change the choice.
pub const COUNTED_LINES: u32 = 1_000;

/// Share of the remaining time that we reserve for choosing evidence from the results, limited by
/// [`CHOICE_TIME`]. For example, reading a few hundred files again takes a tenth of a second.
pub const CHOICE_SHARE: f64 = 0.125;
/// See [`CHOICE_SHARE`].
pub const CHOICE_TIME: Duration = Duration::from_secs(2);

/// Maximum number of files among which we choose the evidence of broad terms, about 200 bytes each. Further
/// files in path order are only counted.
pub const CANDIDATES: usize = 200_000;

/// Maximum number of bytes charged for one line of chosen evidence. A longer line is shown as 400 bytes and
/// marks for the omitted parts.
pub const CHOSEN_LINE_BYTES: u64 = 460;

/// Bytes that we keep of a line in chosen evidence: the shown part and 4 KiB on either side. A secret may
/// extend from there into the shown part.
pub const KEPT_LINE_BYTES: usize = 9 << 10;

/// Number of files that may show more than their best lines in chosen evidence. If each takes an eighth of
/// the remaining budget, nothing is left after this many.
pub const DEEP_FILES: usize = 64;

/// Lines kept for each of the [`DEEP_FILES`] files. Each other file keeps [`SHALLOW_LINES`].
pub const DEEP_LINES: usize = 24;
/// See [`DEEP_LINES`].
pub const SHALLOW_LINES: usize = 2;

/// Time after the deadline for reading the only file that we show if no other file has lines. This is
/// thousands of times the usual duration.
pub const FIRST_FILE_TIME: Duration = Duration::from_millis(100);

/// Share of the lines of a file, or of the files, from which a term counts as being on nearly every line.
pub const BROAD_TERM_SHARE: f64 = 0.5;

/// Maximum number of terms of a keyword search. Each term is one bit of a 64-bit mask.
pub const TERMS: usize = 64;

/// Maximum number of edits of a fuzzy search. From five edits on, the pieces of a typical identifier have
/// only two or three letters. The results then have little to do with the pattern.
pub const FUZZY_EDITS: u8 = 4;

/// Maximum size of a fuzzy pattern's graph: its nodes times its layers, one layer per number of edits. For
/// example, a literal of 3,000 characters fits with four edits, and compiling it takes half a second.
pub const FUZZY_STATES: usize = 16 << 10;

/// Minimum and maximum size in bytes of the cache of one fuzzy automaton.
pub const FUZZY_CACHE_BYTES: std::ops::RangeInclusive<usize> = 256 << 10..=4 << 20;

/// Maximum number of bytes of a line in which we locate fuzzy matches. In a longer line, this is the part
/// around its first match.
pub const FUZZY_WINDOW_BYTES: usize = 64 << 10;

/// Maximum number of states visited while locating the fuzzy matches of one line: about a second. Only a
/// pattern that can stretch over all of a long line, many times, comes close to this.
pub const FUZZY_SPAN_STEPS: u64 = 100_000_000;

/// Cost of visiting one state while locating fuzzy matches, in the units of [`WORK_PER_LOOK`].
pub const FUZZY_STEP_WORK: u64 = 4;

/// States of a fuzzy automaton built between two deadline checks: a millisecond or two.
pub const FUZZY_BUILD_STATES_PER_LOOK: u64 = 64;

/// Maximum count of a repetition in a pattern for ugrep, which PCRE2 sets.
pub const UGREP_REPETITIONS: u32 = 65_535;

/// Bytes of text in an external engine's first batch. This is small so that the first results arrive early.
pub const EXTERNAL_FIRST_BATCH_BYTES: usize = 64 << 10;

/// Bytes of text after which we close a batch; its last file may exceed this by [`WHOLE_FILE_BYTES`]. This is
/// also the size of one piece of a file too large to be read whole. Starting a process costs little compared
/// with searching this much text.
pub const EXTERNAL_BATCH_BYTES: usize = 4 << 20;

/// Growth factor of batches, up to [`EXTERNAL_BATCH_BYTES`].
pub const EXTERNAL_BATCH_GROWTH: usize = 4;

/// Time between two deadline checks while an external engine runs.
pub const EXTERNAL_TICK: Duration = Duration::from_millis(20);

/// Bytes of an external engine's output read at once.
pub const EXTERNAL_READ_BYTES: usize = 64 << 10;

/// Maximum number of bytes read from a pipe after the engine has exited. This is the default maximum capacity
/// of a pipe on Linux.
pub const EXTERNAL_LEFT_BYTES: usize = 1 << 20;

/// Maximum number of bytes of an external engine's stderr output that are kept.
pub const EXTERNAL_STDERR_BYTES: usize = 16 << 10;

/// Bytes that a well-behaved engine may output per line of text, in addition to the line itself: the number
/// and ripgrep's note that replaces a long line.
pub const EXTERNAL_OUTPUT_PER_LINE: u64 = 64;

/// Maximum number of files in which an external engine may give up before this fails the whole search. Each
/// of these files costs several processes.
pub const EXTERNAL_GIVEN_UP_FILES: u64 = 32;

/// Maximum number of bytes read of an engine's version output, which is about a kilobyte long.
pub const EXTERNAL_VERSION_BYTES: usize = 16 << 10;

/// Time that a search runs before its index is opened, unless the search is exhaustive. Opening takes a
/// millisecond or two of processor time, and a search that finds enough in the first files will be done by
/// then. Other searches get the index this much later.
pub const INDEX_HEAD_START: Duration = Duration::from_millis(2);

/// The same for a search that has found something in this many files by then, because it may soon be done.
pub const INDEX_LONG_HEAD_START: (Duration, u64) = (Duration::from_millis(7), 4);

/// Time between two deadline checks while waiting for the index.
pub const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum size in bytes of a file in an index. Every search must read a larger file than this.
pub const LARGE_FILE_BYTES: u64 = 256 << 20;

/// Maximum length in bytes of a line of an indexed file that is searched in pieces. The result for longer
/// lines depends on how many of them fill a piece ([`PIECE_BYTES`]), and source code has no such lines.
pub const LARGE_LINE_BYTES: usize = 4 << 10;

/// Approximate size in bytes of a part of a file. A file of several megabytes has most trigrams somewhere,
/// but not in the same part. With 64 KiB, the Linux kernel's index takes 7.5 % of the text. A search for a
/// call with a flag as its last argument then has 1,152 candidate files. With 16 KiB the index takes 9.5 %,
/// and this search has 833 candidates.
pub const PART_BYTES: usize = 16 << 10;

/// Maximum size in bytes of the last or only part of a file.
pub const LAST_PART_BYTES: usize = PART_BYTES + PART_BYTES / 2;

/// Maximum number of trigrams, summed over its parts, with which a file of any size is indexed. A larger file
/// gets one more for each [`BYTES_PER_TRIGRAM`] bytes. A part of source text has a thousand or more. We
/// therefore index a repetitive file of many megabytes, but not one without repetition, which would fill the
/// index.
pub const FILE_TRIGRAMS: usize = 320_000;
/// See [`FILE_TRIGRAMS`].
pub const BYTES_PER_TRIGRAM: usize = 16;

/// Number of (trigram, part) pairs that we compare at once when verifying an index, 8 bytes each: 64 MiB.
/// With this limit, the posting lists of the Linux kernel are read about 15 times.
pub const VERIFIED_AT_ONCE: usize = 8 << 20;

/// Maximum number of files listed by name if their text differs from the index; the rest are counted.
pub const DIFFERENT_FILES_NAMED: usize = 100;

/// Bytes of a file held in memory at once while it is scrubbed. A background task does not need more than
/// this.
pub const SCRUB_BYTES: usize = 256 << 10;

/// Time between two scrubbing steps of a server, which read files again to check the index. With
/// [`SCRUB_STEPS`] steps for all files this takes twelve hours, so even a busy server should finish within a
/// day.
pub const SCRUB_INTERVAL: Duration = Duration::from_secs(60);
/// See [`SCRUB_INTERVAL`].
pub const SCRUB_STEPS: u64 = 720;

/// Bytes after which a scrubbing step ends: a megabyte per second, or 90 GB per day.
pub const SCRUB_BYTES_PER_STEP: u64 = 64 << 20;

/// Maximum number of stored texts that a thread searches before it passes its results on.
pub const STORED_PIECE: usize = 2_048;

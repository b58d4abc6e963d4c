//! All limits of the engines, each with its unit and reason.

use std::time::Duration;

/// Maximum size in bytes of a file that is read whole and searched in one buffer; larger ones are read in
/// pieces. Reading whole files is 1.5 times faster than reading in pieces, and all but a handful of source
/// files are smaller.
pub const WHOLE_FILE_BYTES: usize = 8 << 20;

/// Maximum length in bytes of a line with its context in a piecewise search. A longer line ends the search of
/// its file, which is counted.
pub const PIECE_BYTES: usize = 8 << 20;

/// Bytes searched between two deadline checks.
pub const BYTES_PER_CHECK: usize = 256 << 10;

/// Work between two deadline checks, in visited states of an automaton: two to ten milliseconds. Anything
/// that takes longer at a time is done by engines that can be interrupted in the middle of a line.
pub const WORK_PER_LOOK: u64 = 1 << 20;

/// Time after the end of a call in which we still locate the matches of known matching lines, if this is
/// quick. A deadline that passes at this moment must not lose them.
pub const SPANS_GRACE: Duration = Duration::from_millis(50);

/// Bytes of literals compared with a text between two deadline checks, assuming that they occur at every
/// position: two milliseconds.
pub const COMPARED_BYTES_PER_LOOK: usize = 4 << 20;

/// Maximum length in bytes of a literal of a prefilter. A longer one is hardly more selective, and in a text
/// that consists of nothing else each literal is compared at every position.
pub const PREFILTER_LITERAL_BYTES: usize = 64;

/// Maximum number of steps of a backtracking matcher on one line: at most a tenth of a second.
pub const BACKTRACKING_STEPS: usize = 1_000_000;

/// Maximum length of a pattern in bytes; longer ones are data, not patterns.
pub const PATTERN_BYTES: usize = 16 << 10;

/// Maximum size in bytes of a compiled pattern. This is the order of magnitude of ripgrep's default: a nested
/// repetition that would need more is refused at once.
pub const COMPILED_PATTERN_BYTES: usize = 10 << 20;

/// Maximum work of expanding the classes of a pattern, in units of `size`: about forty milliseconds. A
/// case-insensitive class takes a sixth of a millisecond even if it ends up small, and a pattern of sixteen
/// thousand bytes can contain five thousand of them.
pub const CLASS_WORK: u64 = 64 << 10;

/// Time between two deadline checks of a call that waits for uninterruptible work.
pub const LOOK: Duration = Duration::from_millis(10);

/// Work of expanding classes that is done without a helper thread, in units of `size`: about two
/// milliseconds.
pub const CLASS_WORK_AT_ONCE: u64 = 4 << 10;

/// Maximum number of positions of a pattern that is compiled without a helper thread, in a millisecond or
/// two.
pub const POSITIONS_AT_ONCE: u64 = 500;

/// Maximum length in bytes of a pattern that is compiled without a helper thread. A longer one of small parts
/// takes as long as a large one.
pub const PATTERN_BYTES_AT_ONCE: usize = 2 << 10;

/// Maximum number of parts of a pattern that are analyzed for required text. Further parts are treated as
/// matching anything. A part takes up to a thirtieth of a millisecond.
pub const ANALYSED_PARTS: usize = 2048;

/// Maximum bytes of the compiled patterns of one call, all together. One pattern of
/// [`COMPILED_PATTERN_BYTES`] takes 40 MiB: it is compiled to four automata.
pub const PATTERNS_BYTES: u64 = 48 << 20;

/// Bytes of the compiled patterns of a call above which it waits until no other call has as many: enough for
/// 64 patterns like `\w+x`. Eight such calls and one large one stay below 500 MiB.
pub const SMALL_PATTERNS_BYTES: u64 = 16 << 20;

/// Bytes of the compiled patterns of one call and of the caches of all of its threads. A call with large
/// patterns has fewer threads.
pub const PATTERNS_AND_THREADS_BYTES: u64 = 128 << 20;

/// Estimated bytes of an automaton up to which it is not measured before it is compiled, which takes as long
/// as compiling it.
pub const UNMEASURED_AUTOMATON_BYTES: u64 = SMALL_PATTERNS_BYTES / 4;

/// Lazy automata per pattern and thread: those of the matcher and of the interruptible search, in both
/// directions.
pub const CACHES_PER_PATTERN: usize = 4;

/// Bytes of the caches of all lazy automata of a call together, unless its patterns need more.
pub const CACHES_BYTES: usize = 32 << 20;

/// Maximum size in bytes of a lazy automaton's cache. It is smaller than ripgrep's 1 GB because every worker
/// has one.
pub const AUTOMATON_CACHE_BYTES: usize = 4 << 20;

/// Minimum size in bytes of a lazy automaton's cache. A simple pattern takes 10 to 50 KB.
pub const AUTOMATON_CACHE_BYTES_MIN: usize = 64 << 10;

/// Maximum size in bytes of the cache of a large lazy automaton, which holds some of its states.
pub const LARGE_AUTOMATON_CACHE_BYTES: usize = 16 << 20;

/// Maximum bytes of all automata of a pattern with look-around or backreferences, which consists of several
/// regexes: first as many as a small call may have, then as many as a large one may. With the limit of a whole
/// pattern for each, 300 of them took 1.5 GB and half a minute.
pub const BACKTRACKING_BYTES: [u64; 2] = [SMALL_PATTERNS_BYTES / 2, PATTERNS_BYTES * 2 / 3];

/// Minimum bytes that each automaton of such a pattern may have: a character of any class.
pub const BACKTRACKING_PART_BYTES: usize = 64 << 10;

/// Minimum and maximum size in bytes of the cache of each lazy automaton of such a pattern. The maximum is the
/// engine's default.
pub const BACKTRACKING_CACHE_BYTES: std::ops::RangeInclusive<usize> = 64 << 10..=2 << 20;

/// Maximum nesting depth of groups in a pattern.
pub const PATTERN_NESTING: u32 = 250;

/// Maximum number of matching lines kept per file if a search has no limit of its own.
pub const FILE_MATCHES: usize = 1_000_000;

/// Maximum number of bytes of matching and context lines kept per file.
pub const FILE_EVENT_BYTES: usize = 16 << 20;

/// Maximum number of matches kept per file, 24 bytes each. Without it, lines of one letter would take fifteen times
/// [`FILE_EVENT_BYTES`].
pub const FILE_SPANS: usize = 1 << 20;

/// Maximum number of matches kept per line. A line of one letter has a match at every byte.
pub const LINE_SPANS: usize = 10_000;

/// A term with more bytes of ripgrep output than this is too broad (the requirement's 64 KiB).
pub const TERM_BYTES: u64 = 64 << 10;

/// The ripgrep output of all kept terms must be smaller than this, in bytes (the requirement's 128 KiB).
pub const EVIDENCE_BYTES: u64 = 128 << 10;

/// Lines of context in keyword evidence (the requirement's 10).
pub const EVIDENCE_CONTEXT: u64 = 10;

/// Lines of context around a line that a ranking chose.
pub const RANKED_CONTEXT: u64 = 2;

/// Lines counted in one file for a term that this file alone makes too broad. More lines would not change the
/// choice.
pub const COUNTED_LINES: u32 = 1_000;

/// Share of the remaining time reserved for choosing evidence from the results, limited by [`CHOICE_TIME`].
/// Reading a few hundred files again takes a tenth of a second.
pub const CHOICE_SHARE: f64 = 0.125;
/// See [`CHOICE_SHARE`].
pub const CHOICE_TIME: Duration = Duration::from_secs(2);

/// Maximum number of files among which the evidence of broad terms is chosen, about 200 bytes each. Further
/// files in path order are only counted.
pub const CANDIDATES: usize = 200_000;

/// Maximum number of bytes for which a line of chosen evidence counts: longer lines are shown with 400 bytes
/// and marks for the rest.
pub const CHOSEN_LINE_BYTES: u64 = 460;

/// Bytes kept of a line in chosen evidence: the shown part, and 4 KiB on either side, because a secret may
/// extend from there into it.
pub const KEPT_LINE_BYTES: usize = 9 << 10;

/// Number of files that can be shown with more than their best lines when evidence is chosen: if each takes
/// an eighth of the remaining budget, nothing is left after them.
pub const DEEP_FILES: usize = 64;

/// Lines kept for each of these files, and for each of the others.
pub const DEEP_LINES: usize = 24;
/// See [`DEEP_LINES`].
pub const SHALLOW_LINES: usize = 2;

/// Time after the deadline for reading the one file that is shown if no other has lines: thousands of times
/// the usual duration.
pub const FIRST_FILE_TIME: Duration = Duration::from_millis(100);

/// Share of the lines of a file, and of the files, above which a term counts as being on nearly every line.
pub const NEARLY_EVERY: f64 = 0.5;

/// Maximum number of private key blocks of one file whose positions are kept at a time, 16 bytes each. A
/// search needs only those near its lines.
pub const KEY_BLOCKS_KEPT: usize = 64 << 10;

/// Maximum number of bytes of an unfinished line that are buffered to look for a key mark; the longest key in
/// one line has about 13,000.
pub const KEY_LINE_BYTES: usize = 64 << 10;

/// Maximum number of terms of a keyword search: one bit each.
pub const TERMS: usize = 64;

/// Maximum number of edits of a fuzzy search. From five on, the pieces of a typical identifier are only two
/// or three letters long, and the results have little to do with the pattern.
pub const FUZZY_EDITS: u8 = 4;

/// Maximum number of nodes of a fuzzy pattern's graph times its layers, one per number of edits. A literal of
/// 3,000 characters fits with four edits; compiling it takes half a second.
pub const FUZZY_STATES: usize = 16 << 10;

/// Bytes of the caches of all fuzzy automata of a call together. There are up to ten of them per thread, which
/// rarely use a megabyte.
pub const FUZZY_CACHES_BYTES: usize = 32 << 20;

/// Minimum and maximum size in bytes of the cache of one fuzzy automaton.
pub const FUZZY_CACHE_BYTES: std::ops::RangeInclusive<usize> = 256 << 10..=4 << 20;

/// Maximum number of bytes of a line in which fuzzy matches are located; for a longer line this is the part
/// around its first match.
pub const FUZZY_WINDOW_BYTES: usize = 64 << 10;

/// Maximum number of states visited while locating the fuzzy matches of one line: about a second. Only a
/// pattern that can stretch over all of a long line, many times, comes close.
pub const FUZZY_SPAN_STEPS: u64 = 100_000_000;

/// Work, in units of [`WORK_PER_LOOK`], of one state visited while locating fuzzy matches.
pub const FUZZY_STEP_WORK: u64 = 4;

/// States of a fuzzy automaton built between two deadline checks: a millisecond or two.
pub const FUZZY_BUILD_STATES_PER_LOOK: u64 = 64;

/// Bytes of text in an external engine's first batch. It is small so that the first results arrive early.
pub const EXTERNAL_FIRST_BATCH_BYTES: usize = 64 << 10;

/// Bytes of text after which a batch is closed (its last file may exceed this by [`WHOLE_FILE_BYTES`]), and
/// size of a piece of a file too large to be read whole. The cost of starting one process is small compared
/// to this much text.
pub const EXTERNAL_BATCH_BYTES: usize = 4 << 20;

/// The growth factor of batches, up to [`EXTERNAL_BATCH_BYTES`].
pub const EXTERNAL_BATCH_GROWTH: usize = 4;

/// Time between two deadline checks while an external engine runs.
pub const EXTERNAL_TICK: Duration = Duration::from_millis(20);

/// Bytes of an external engine's output read at once.
pub const EXTERNAL_READ_BYTES: usize = 64 << 10;

/// Maximum number of bytes read from a pipe after the engine exited: the default maximum capacity of a pipe
/// on Linux.
pub const EXTERNAL_LEFT_BYTES: usize = 1 << 20;

/// Maximum number of bytes of an external engine's stderr output that are kept.
pub const EXTERNAL_STDERR_BYTES: usize = 16 << 10;

/// Bytes of output per line of text, in addition to the line itself, that a well-behaved engine can produce:
/// the number and ripgrep's note that replaces a long line.
pub const EXTERNAL_OUTPUT_PER_LINE: u64 = 64;

/// Maximum number of files in which an external engine may give up before the search fails: each costs
/// several processes.
pub const EXTERNAL_GIVEN_UP_FILES: u64 = 32;

/// Maximum number of bytes read of an engine's version output, which is about a kilobyte long.
pub const EXTERNAL_VERSION_BYTES: usize = 16 << 10;

/// Time that a search runs before its index is opened, unless the search is exhaustive. Opening takes a
/// millisecond or two of processor time, and a search that finds enough in the first files is done by then.
/// Other searches get the index this much later.
pub const INDEX_HEAD_START: Duration = Duration::from_millis(2);

/// The same for a search that has found something in this many files by then: it may be done soon.
pub const INDEX_LONG_HEAD_START: (Duration, u64) = (Duration::from_millis(7), 4);

/// Time between two deadline checks while waiting for the index.
pub const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Maximum size in bytes of a file in an index.
pub const LARGE_FILE_BYTES: u64 = 256 << 20;

/// Maximum length in bytes of a line of an indexed file that is searched in pieces. The result for longer
/// lines depends on how many of them fill a piece ([`PIECE_BYTES`]), and source code has none.
pub const LARGE_LINE_BYTES: usize = 4 << 10;

/// Approximate size in bytes of a part of a file. In a file of megabytes most trigrams occur somewhere, but
/// not in the same part. With 64 KiB the Linux kernel's index takes 7.5 % of the text, and a call with a flag
/// as its last argument has 1,152 candidate files. With 16 KiB it takes 9.5 % and has 833 candidates.
pub const PART_BYTES: usize = 16 << 10;

/// Maximum size in bytes of the last or only part of a file.
pub const LAST_PART_BYTES: usize = PART_BYTES + PART_BYTES / 2;

/// Maximum number of trigrams, summed over its parts, with which a file of any size is indexed. A larger file
/// gets one more for each [`BYTES_PER_TRIGRAM`] bytes. A part of source text has a thousand or more. A
/// repetitive file of many megabytes is therefore indexed, but one without repetition would fill the index.
pub const FILE_TRIGRAMS: usize = 320_000;
/// See [`FILE_TRIGRAMS`].
pub const BYTES_PER_TRIGRAM: usize = 16;

/// Number of (trigram, part) pairs compared at once when an index is verified, 8 bytes each: 64 MiB. The
/// posting lists of the Linux kernel are read about 15 times.
pub const VERIFIED_AT_ONCE: usize = 8 << 20;

/// Maximum number of files listed by name if their text differs from the index; the rest are counted.
pub const DIFFERENT_FILES_NAMED: usize = 100;

/// Bytes of a file held at once while it is scrubbed. A background task does not need more.
pub const REREAD_BYTES: usize = 256 << 10;

/// Time between two scrubbing steps of a server, which read files again to check the index. With
/// [`REREAD_STEPS`] steps for all files this takes twelve hours, so a server that is also busy otherwise
/// finishes within a day.
pub const BETWEEN_REREADS: Duration = Duration::from_secs(60);
/// See [`BETWEEN_REREADS`].
pub const REREAD_STEPS: u64 = 720;

/// Bytes after which a scrubbing step ends: a megabyte per second, or 90 GB per day.
pub const REREAD_BYTES_PER_STEP: u64 = 64 << 20;

/// Maximum number of stored texts that a thread searches before the results are passed on.
pub const STORED_PIECE: usize = 2_048;

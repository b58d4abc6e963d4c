//! Every bound of the engines, with its unit and its reason.

use std::time::Duration;

/// Bytes of a file that is read whole and searched in one buffer; larger ones are read in pieces. Reading whole
/// files is 1.5 times faster than reading in pieces, and all but a handful of source files are smaller.
pub const WHOLE_FILE_BYTES: usize = 8 << 20;

/// Bytes of a line (with its context) that a piece-wise search may hold. A longer line ends the search of its file,
/// which is counted.
pub const PIECE_BYTES: usize = 8 << 20;

/// Bytes searched between two looks at the deadline.
pub const BYTES_PER_CHECK: usize = 256 << 10;

/// Work between two looks at the deadline, in states of an automaton that are visited: two to ten milliseconds. What
/// takes more than that at a time is done by engines that can be ended in the middle of a line.
pub const WORK_PER_LOOK: u64 = 1 << 20;

/// Time behind the end of a call in which the places of matches are still looked for in lines that are known to match, and
/// in which that takes little: a deadline that passes at this moment must not cost them.
pub const SPANS_GRACE: Duration = Duration::from_millis(50);

/// Bytes of literals that are compared with a text between two looks at the deadline, if they are at every place of it:
/// two milliseconds.
pub const COMPARED_BYTES_PER_LOOK: usize = 4 << 20;

/// Bytes of a literal that a prefilter looks for. One more finds hardly less, and each is compared at every place of a
/// text that consists of nothing else.
pub const PREFILTER_LITERAL_BYTES: usize = 64;

/// Steps of a backtracking matcher on one line: a tenth of a second at the most.
pub const BACKTRACKING_STEPS: usize = 1_000_000;

/// Bytes of a pattern; longer ones are data, not patterns.
pub const PATTERN_BYTES: usize = 16 << 10;

/// Bytes of a compiled pattern, as in ripgrep's default by order of magnitude: a nested repetition that would
/// need more is refused at once.
pub const COMPILED_PATTERN_BYTES: usize = 10 << 20;

/// Work of writing out the classes of a pattern, as `size` counts it: some forty milliseconds. A class that is
/// compared without regard to case takes a sixth of a millisecond, however little is left of it, and sixteen thousand bytes
/// hold five thousand of them.
pub const CLASS_WORK: u64 = 64 << 10;

/// Time between two looks at the deadline of a call that waits for what can't be ended.
pub const LOOK: Duration = Duration::from_millis(10);

/// Work of writing out classes that is done at once, as `size` counts it: some two milliseconds.
pub const CLASS_WORK_AT_ONCE: u64 = 4 << 10;

/// Positions of a pattern that is compiled at once, in a millisecond or two.
pub const POSITIONS_AT_ONCE: u64 = 500;

/// Bytes of a pattern that is compiled at once; a longer one of small parts takes as long as a large one.
pub const PATTERN_BYTES_AT_ONCE: usize = 2 << 10;

/// Parts of a pattern that are looked at for what all its matches must hold; what more there are may be anything. A part
/// takes up to a thirtieth of a millisecond.
pub const ANALYSED_PARTS: usize = 2048;

/// Bytes of the lazy automaton's cache, per thread. Below ripgrep's 1 GB: every worker has one.
pub const AUTOMATON_CACHE_BYTES: usize = 16 << 20;

/// Nesting of groups in a pattern.
pub const PATTERN_NESTING: u32 = 250;

/// Matching lines of one file that are kept when a search has no limit of its own.
pub const FILE_MATCHES: usize = 1_000_000;

/// Bytes of matching and context lines of one file that are kept.
pub const FILE_EVENT_BYTES: usize = 16 << 20;

/// Matches within one line whose places are kept. A line of one letter has a match at every byte.
pub const LINE_SPANS: usize = 10_000;

/// Bytes of ripgrep's output for one term from which on the term is too broad (the requirement's 64 KiB).
pub const TERM_BYTES: u64 = 64 << 10;

/// Bytes of ripgrep's output that all kept terms together must stay under (the requirement's 128 KiB).
pub const EVIDENCE_BYTES: u64 = 128 << 10;

/// Lines of context in keyword evidence (the requirement's 10).
pub const EVIDENCE_CONTEXT: u64 = 10;

/// Lines of context around a line that a ranking chose.
pub const RANKED_CONTEXT: u64 = 2;

/// Lines of one file that are counted for a term that the file alone makes too broad. More say nothing more of the file.
pub const COUNTED_LINES: u32 = 1_000;

/// Part of the time that a search has left, and how much at the most, in which evidence is chosen from what was found by
/// then. To read some hundred files again takes a tenth of a second.
pub const CHOICE_SHARE: f64 = 0.125;
/// See [`CHOICE_SHARE`].
pub const CHOICE_TIME: Duration = Duration::from_secs(2);

/// Files among which the evidence of broad terms is chosen, some 200 bytes each. Those behind them in path order are
/// counted.
pub const CANDIDATES: usize = 200_000;

/// Bytes that a line of chosen evidence counts as at the most: of a longer one 400 are shown, with marks of how many are not.
pub const CHOSEN_LINE_BYTES: u64 = 460;

/// Bytes of a line that are kept for evidence that is chosen: what is shown of it, and 4 KiB on either side, in which a secret
/// may begin that ends there.
pub const KEPT_LINE_BYTES: usize = 9 << 10;

/// Files of which more than the best lines can be shown when evidence is chosen: with an eighth of what is left for each,
/// nothing is left behind them.
pub const DEEP_FILES: usize = 64;

/// Lines of such a file that are held for it, and of all others.
pub const DEEP_LINES: usize = 24;
/// See [`DEEP_LINES`].
pub const SHALLOW_LINES: usize = 2;

/// Time after the deadline for the one file that is shown where no other has lines: thousands of times what a usual one takes.
pub const FIRST_FILE_TIME: Duration = Duration::from_millis(100);

/// Part of the lines of a file, and of the files, that a term is on to be on nearly every line.
pub const NEARLY_EVERY: f64 = 0.5;

/// Blocks of private keys of one file whose places are known at a time: 16 bytes each, and a file of a search needs those
/// around its lines.
pub const KEY_BLOCKS_KEPT: usize = 64 << 10;

/// Bytes of a line that are held until it is looked at for the mark of a key; the longest key in one line has some 13,000.
pub const KEY_LINE_BYTES: usize = 64 << 10;

/// Terms of one keyword search: one bit each.
pub const TERMS: usize = 64;

/// Edits of a fuzzy search. From five on the pieces of a usual identifier are down to two or three letters, and what
/// is found has little to do with what was meant.
pub const FUZZY_EDITS: u8 = 4;

/// Nodes of a fuzzy pattern's graph times its layers, one for each count of edits. A literal of 3,000 characters
/// fits with four edits; to compile it takes half a second.
pub const FUZZY_STATES: usize = 16 << 10;

/// Bytes of the cache of one lazy automaton of a fuzzy search, per thread; there are up to ten of them, which rarely
/// hold a tenth of it.
pub const FUZZY_CACHE_BYTES: usize = 8 << 20;

/// Bytes of a line in which the places of fuzzy matches are looked for; of a longer line it is the part around the
/// first matching place.
pub const FUZZY_WINDOW_BYTES: usize = 64 << 10;

/// States visited while the places of fuzzy matches in one line are looked for: about a second. Only a pattern that
/// can stretch over the whole of a long line, many times, comes near it.
pub const FUZZY_SPAN_STEPS: u64 = 100_000_000;

/// Work, as [`WORK_PER_LOOK`] counts it, of one state visited while the places of fuzzy matches are looked for.
pub const FUZZY_STEP_WORK: u64 = 4;

/// States of a fuzzy pattern's automaton that are built between two looks at the deadline: a millisecond or two.
pub const FUZZY_BUILD_STATES_PER_LOOK: u64 = 64;

/// Bytes of text in an external engine's first batch: little, so that the first results come early.
pub const EXTERNAL_FIRST_BATCH_BYTES: usize = 64 << 10;

/// Bytes of text from which on a batch is closed (its last file may go over it by [`WHOLE_FILE_BYTES`]), and of a
/// piece of a file too large to be read whole. One process per so much text makes starting it cheap by comparison.
pub const EXTERNAL_BATCH_BYTES: usize = 4 << 20;

/// The factor by which each batch is larger than the one before it, until [`EXTERNAL_BATCH_BYTES`].
pub const EXTERNAL_BATCH_GROWTH: usize = 4;

/// Time between two looks at the deadline while an external engine runs.
pub const EXTERNAL_TICK: Duration = Duration::from_millis(20);

/// Bytes of an external engine's output that are read at once.
pub const EXTERNAL_READ_BYTES: usize = 64 << 10;

/// Bytes that are read from a pipe after the engine exited: as many as a pipe can hold on Linux by default.
pub const EXTERNAL_LEFT_BYTES: usize = 1 << 20;

/// Bytes of an external engine's error output that are kept.
pub const EXTERNAL_STDERR_BYTES: usize = 16 << 10;

/// Bytes of output for one line of text, besides the line itself, that are no sign of an engine gone wild: the number
/// and ripgrep's note in place of a long line.
pub const EXTERNAL_OUTPUT_PER_LINE: u64 = 64;

/// Files in which an external engine may give up before the search ends with an error: each costs several processes.
pub const EXTERNAL_GIVEN_UP_FILES: u64 = 32;

/// Bytes that are read of what an engine prints about its version, which is about a kilobyte.
pub const EXTERNAL_VERSION_BYTES: usize = 16 << 10;

/// Time that a search has, unless it looks for all there is, before its index is opened, which takes a millisecond or two
/// of a processor: one that finds enough in the first files is done by then. Others have the index late by as much.
pub const INDEX_HEAD_START: Duration = Duration::from_millis(2);

/// The same for one that has found something in so many files by then: it may be done soon.
pub const INDEX_LONG_HEAD_START: (Duration, u64) = (Duration::from_millis(7), 4);

/// Time after which one that waits for the index looks whether its call must end.
pub const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Bytes of a file up to which it can be in an index.
pub const LARGE_FILE_BYTES: u64 = 256 << 20;

/// Bytes of a line of a file that is searched in pieces, up to which it can be in an index: what a search says of longer
/// lines depends on how many of them fill a piece ([`PIECE_BYTES`]), and no source has them.
pub const LARGE_LINE_BYTES: usize = 4 << 10;

/// Bytes of a part of a file, about: in a file of megabytes most trigrams are somewhere, in one of its parts they are not.
/// With 64 KiB the Linux kernel's index takes 7.5 % of the text and a call with a flag behind it may be in 1,152 files; with
/// 16 KiB it is 9.5 % and 833 files.
pub const PART_BYTES: usize = 16 << 10;

/// Bytes up to which the last part of a file may be longer, or its only one.
pub const LAST_PART_BYTES: usize = PART_BYTES + PART_BYTES / 2;

/// Trigrams of the parts of a file, up to which it is in an index whatever its size is, and the bytes of a larger file for
/// each. A part of source text has a thousand or more: a file of many megabytes whose text repeats itself is in the index, one
/// whose text does not would fill it.
pub const FILE_TRIGRAMS: usize = 320_000;
/// See [`FILE_TRIGRAMS`].
pub const BYTES_PER_TRIGRAM: usize = 16;

/// Trigrams of files whose posting lists are compared at a time when an index is verified, in eight bytes each: 64 MiB. The
/// posting lists of the Linux kernel are looked through some 15 times.
pub const VERIFIED_AT_ONCE: usize = 8 << 20;

/// Files that are named of those of which an index says something else than their text; the rest are counted.
pub const DIFFERENT_FILES_NAMED: usize = 100;

/// Bytes of a file that are held at a time while it is read again: whoever does that in the background has no need of more.
pub const REREAD_BYTES: usize = 256 << 10;

/// Time between two steps in which a server reads again what an index is trusted for, and the steps that it takes for all
/// files: twelve hours, so that it is done within a day of a server that is also busy otherwise.
pub const BETWEEN_REREADS: Duration = Duration::from_secs(60);
/// See [`BETWEEN_REREADS`].
pub const REREAD_STEPS: u64 = 720;

/// Bytes after which such a step ends: a megabyte per second, or 90 GB in a day.
pub const REREAD_BYTES_PER_STEP: u64 = 64 << 20;

//! Every bound of the disk layer, with its unit and its reason.

use std::time::Duration;

/// Bytes of one ignore file. Larger ones are not applied and reported: the glob compiler needs minutes and
/// gigabytes for a hostile one, and most of a second for a hostile one of this size.
pub const IGNORE_FILE_BYTES: u64 = 64 << 10;

/// Bytes of all ignore files of one walk: many small hostile files must not do what one large one may not.
/// The Linux kernel has 32 KB in 350 files.
pub const IGNORE_WALK_BYTES: usize = 1 << 20;

/// Wildcards (`*`, `?`, `[`) in all rules of one walk, which is what compiling them costs: 100,000 took about a second.
/// Honest rules have one or two each.
pub const IGNORE_WALK_WILDCARDS: usize = 60_000;

/// Bytes of one line of an ignore file; longer lines are left out and reported.
pub const IGNORE_LINE_BYTES: usize = 1 << 10;

/// Rules of one ignore file. Compiling globs costs more than linearly: 100,000 took 13 s, 2,000 some 20 ms;
/// real files stay below a few hundred.
pub const IGNORE_FILE_RULES: usize = 2_000;

/// Rules of all ignore files of one walk.
pub const IGNORE_WALK_RULES: usize = 20_000;

/// Bytes of the names of a tree's directories that are kept for later walks: some three million names.
pub const SNAPSHOT_BYTES: usize = 64 << 20;

/// Directories that a walk keeps open for files that it comes to after other directories. A process may have some 1,000
/// files open, and several walks go on in it.
pub const WALK_KEPT_OPEN: usize = 32;

/// Directory levels below the start of a walk. Paths beyond the kernel's own limit (4,096 bytes) end earlier.
pub const WALK_DEPTH: usize = 512;

/// Entries looked at in one walk, a bound on time and memory rather than on honest trees.
pub const WALK_ENTRIES: u64 = 20_000_000;

/// Files that one task of a walk hands to a worker: large enough to make the queue's lock cheap, small enough
/// to keep both ends of a directory busy.
pub const WALK_BATCH_FILES: usize = 64;

/// Bytes of results (as weighed by the visitor) that may wait for an earlier, slower file before the other
/// workers pause.
pub const WALK_BUFFERED_BYTES: usize = 32 << 20;

/// Links followed while one path is resolved, as in Linux.
pub const LINKS_PER_PATH: usize = 40;

/// Bytes of a path below a root, the kernel's own limit.
pub const PATH_BYTES: usize = 4_096;

/// Names looked at while one path is resolved, those of its links included: every link can hold some
/// thousand of them.
pub const NAMES_PER_PATH: usize = 1_024;

/// Time after which a file's state tells of every further change of it. Clocks of file systems advance in steps of some
/// milliseconds; a write that the system holds up goes on for some tenths of a second after the time that it sets.
pub const SETTLING: Duration = Duration::from_secs(2);

/// Directories of a tree up to which it is watched, and the part of the user's watches that one tree may take. The kernel
/// keeps about a kilobyte for each, and by default some thousands to a million in all.
pub const LISTED_DIRECTORIES: usize = 50_000;
/// See [`LISTED_DIRECTORIES`].
pub const LISTED_PART: usize = 8;

/// Entries of a tree up to which it is listed: some hundred bytes each.
pub const LISTED_ENTRIES: usize = 1_000_000;

/// Directories, and entries in them, that are listed again while a call waits: some 40 ms.
pub const LISTED_AGAIN: (usize, usize) = (1_000, 20_000);

/// Links of a tree, and names on their ways, that may have to be looked up in every call: some microseconds each.
pub const LISTED_LINKS: usize = 200;
/// See [`LISTED_LINKS`].
pub const LISTED_LINK_NAMES: usize = 2_000;

/// Time after which a listing that nobody asks for is dropped.
pub const LISTING_DROPPED: Duration = Duration::from_secs(600);

/// Listings that are kept of one root: some ten megabytes each for 100,000 files.
pub const LISTINGS_KEPT: usize = 4;

/// Time after which a listing that nobody asked for makes room for another.
pub const LISTING_UNUSED: Duration = Duration::from_secs(60);

/// The least time between two listings of a tree in which too much changes, and the part of the time that listing it
/// may take.
pub const BETWEEN_LISTINGS: Duration = Duration::from_secs(1);
/// See [`BETWEEN_LISTINGS`].
pub const LISTING_PART: u32 = 10;

/// Time after which a tree that could not be listed is tried again.
pub const LISTING_FAILED: Duration = Duration::from_secs(60);

/// Files and directories of a watched tree up to which their states are compared in every call, because what is written
/// through a mapping, or by a name outside of the tree, is told by nobody: some milliseconds, and 20 on a busy machine.
pub const COMPARED_ALWAYS: usize = 5_000;

/// The same up to which a call that finds them to be due waits for it: a fifth of a second on two processors that are
/// busy otherwise. Those of a larger tree are compared in the background of a call.
pub const COMPARED_IN_CALLS: usize = 50_000;

/// In trees of more than [`COMPARED_ALWAYS`], the least time between two comparisons, and the part of the time that they
/// may take.
pub const BETWEEN_COMPARISONS: Duration = Duration::from_secs(1);
/// See [`BETWEEN_COMPARISONS`].
pub const COMPARING_PART: u32 = 20;

/// Pieces of a comparison per thread.
pub const COMPARED_PIECES: usize = 8;

/// Directory levels below a directory of the user's own. Engines that keep their files there make some four.
pub const PRIVATE_DEPTH: usize = 32;

/// Times that opening a path is tried again when a link appears where there was none a moment ago.
pub const OPEN_RETRIES: usize = 4;

/// Warnings kept with their text; the rest are counted.
pub const WARNINGS_KEPT: usize = 20;

/// Bytes at the beginning of a file in which a NUL byte is looked for before the file is searched.
pub const BINARY_HEAD_BYTES: usize = 8 << 10;

/// Bytes at the beginning of a file that decide its encoding. A larger file that is UTF-8 up to there is taken for that; its
/// other bytes are searched as they are.
pub const DETECTION_BYTES: usize = 8 << 20;

/// Bytes from the first that is not ASCII from which an encoding is guessed: some milliseconds. More hardly change the guess.
pub const DETECTION_SAMPLE_BYTES: usize = 64 << 10;

/// Characters of UTF-8 for each byte that is none, from which on a text is damaged UTF-8 and no other encoding. Text of
/// other encodings has less than one by chance.
pub const CHARACTERS_PER_BROKEN_BYTE: usize = 4;

/// Least number of UTF-16 units from which a text without a byte-order mark is recognised: fewer look like anything.
pub const UTF16_UNITS: usize = 4;

/// Names of a directory between two looks at the deadline: a millisecond or two.
pub const NAMES_PER_LOOK: usize = 4096;

/// Names of directories that were not entered which are told.
pub const PRUNED_NAMES: usize = 100;

/// Directories in which something is left out that a report has; if there are more, all are looked into that might be.
pub const HIDING_DIRECTORIES: usize = 20_000;

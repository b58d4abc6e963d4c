//! All limits of the disk layer, each with its unit and reason.

use std::time::Duration;

/// Maximum size in bytes of an ignore file. Larger ones are reported and not applied. The glob compiler can
/// take minutes and gigabytes for a hostile file, and still most of a second for one of this size.
pub const IGNORE_FILE_BYTES: u64 = 64 << 10;

/// Maximum total size in bytes of the ignore files of a walk, so that many small hostile files can't get
/// around the limit on a single one. For comparison, the Linux kernel has 32 KB in 350 files.
pub const IGNORE_WALK_BYTES: usize = 1 << 20;

/// Maximum number of wildcards (`*`, `?`, `[`) in all rules of a walk. They determine the cost of compiling
/// the rules: 100,000 took about a second. Honest rules have one or two each.
pub const IGNORE_WALK_WILDCARDS: usize = 60_000;

/// Maximum length in bytes of a line in an ignore file; longer lines are ignored and reported.
pub const IGNORE_LINE_BYTES: usize = 1 << 10;

/// Maximum number of rules in an ignore file. The cost of compiling globs is superlinear: 100,000 took 13 s,
/// 2,000 about 20 ms. Real files have at most a few hundred.
pub const IGNORE_FILE_RULES: usize = 2_000;

/// Maximum number of rules in all ignore files of a walk.
pub const IGNORE_WALK_RULES: usize = 20_000;

/// Maximum size in bytes of a snapshot of a tree's directories: about three million names.
pub const SNAPSHOT_BYTES: usize = 64 << 20;

/// Maximum number of directories that a walk keeps open for files that it will visit after other directories.
/// A process can usually have about 1,000 open files, and may run several walks at once.
pub const WALK_KEPT_OPEN: usize = 32;

/// Maximum depth of a walk below its start, in directory levels. The kernel's limit on paths (4,096 bytes)
/// usually applies earlier.
pub const WALK_DEPTH: usize = 512;

/// Maximum number of entries listed in one walk. This limits time and memory, and should never affect an
/// honest tree.
pub const WALK_ENTRIES: u64 = 20_000_000;

/// Number of files that a walk passes to a worker in one task. This must be large enough that the cost of the
/// queue's lock does not matter, and small enough that a large directory keeps all workers busy.
pub const WALK_BATCH_FILES: usize = 64;

/// Bytes of results (as weighed by the visitor) after which the rest of a batch becomes a task of its own.
/// Otherwise the batch would hold the results of all of its files before any of them is delivered.
pub const WALK_TASK_BYTES: usize = 2 << 20;

/// Bytes of results (as weighed by the visitor) that may wait for an earlier, slower file before the other
/// workers pause.
pub const WALK_BUFFERED_BYTES: usize = 32 << 20;

/// Maximum number of links followed when resolving a path, as in Linux.
pub const LINKS_PER_PATH: usize = 40;

/// Maximum length in bytes of a path below a root. This is the kernel's own limit.
pub const PATH_BYTES: usize = 4_096;

/// Maximum number of names looked up when resolving a path, including those of its links: each link can
/// contain thousands.
pub const NAMES_PER_PATH: usize = 1_024;

/// Minimum age of the last change before the state of a file reliably reflects further changes. File system
/// clocks advance in steps of a few milliseconds. A delayed write can also continue for some tenths of a
/// second after the time that it sets.
pub const SETTLING: Duration = Duration::from_secs(2);

/// Maximum number of directories in a watched tree, and the share of the user's watches ([`LISTED_PART`])
/// that one tree may take. The kernel needs about a kilobyte per watch, and by default allows some thousands
/// to a million in total.
pub const LISTED_DIRECTORIES: usize = 50_000;
/// See [`LISTED_DIRECTORIES`].
pub const LISTED_PART: usize = 8;

/// Maximum number of entries in a watched tree. Each takes about a hundred bytes.
pub const LISTED_ENTRIES: usize = 1_000_000;

/// Maximum number of directories, and of entries in them, that are listed again while a call waits. This
/// takes about 40 ms.
pub const LISTED_AGAIN: (usize, usize) = (1_000, 20_000);

/// Maximum number of links in a watched tree, and of names on their paths. We may have to look them up in
/// every call, which takes a few microseconds each.
pub const LISTED_LINKS: usize = 200;
/// See [`LISTED_LINKS`].
pub const LISTED_LINK_NAMES: usize = 2_000;

/// Time after which an unused listing is dropped.
pub const LISTING_DROPPED: Duration = Duration::from_secs(600);

/// Maximum number of listings kept per root: about ten megabytes each for 100,000 files.
pub const LISTINGS_KEPT: usize = 4;

/// Time after which an unused listing may be replaced by another.
pub const LISTING_UNUSED: Duration = Duration::from_secs(60);

/// Minimum time between two listings of a tree with too many changes. Listing may take at most one in
/// [`LISTING_PART`] of the time.
pub const BETWEEN_LISTINGS: Duration = Duration::from_secs(1);
/// See [`BETWEEN_LISTINGS`].
pub const LISTING_PART: u32 = 10;

/// Time after which a tree that could not be listed is tried again.
pub const LISTING_FAILED: Duration = Duration::from_secs(60);

/// Maximum number of files and directories in a watched tree whose states we compare in every call. We must
/// do this because the kernel does not report writes through a memory mapping, or through a name outside of
/// the tree. It takes a few milliseconds, or 20 on a busy machine.
pub const COMPARED_ALWAYS: usize = 5_000;

/// Maximum number of files and directories for which a call waits when a comparison is due. This takes a
/// fifth of a second on two busy processors. Larger trees are compared in the background.
pub const COMPARED_IN_CALLS: usize = 50_000;

/// In trees with more than [`COMPARED_ALWAYS`] entries, the minimum time between two comparisons. They may
/// take at most one in [`COMPARING_PART`] of the time.
pub const BETWEEN_COMPARISONS: Duration = Duration::from_secs(1);
/// See [`BETWEEN_COMPARISONS`].
pub const COMPARING_PART: u32 = 20;

/// Number of pieces per thread into which a comparison is divided.
pub const COMPARED_PIECES: usize = 8;

/// Maximum depth below a private directory. Engines that store files there use about four levels.
pub const PRIVATE_DEPTH: usize = 32;

/// Number of times that opening a path is retried if a link appears where there was none a moment ago.
pub const OPEN_RETRIES: usize = 4;

/// Maximum number of warnings kept with their text; the rest are counted.
pub const WARNINGS_KEPT: usize = 20;

/// Bytes at the beginning of a file that are checked for a NUL byte before the file is searched.
pub const BINARY_HEAD_BYTES: usize = 8 << 10;

/// Maximum number of bytes at the beginning of a file that decide its encoding. If a larger file is UTF-8 up
/// to there, we treat it as UTF-8 and search the other bytes as they are.
pub const DETECTION_BYTES: usize = 8 << 20;

/// Maximum number of bytes, counted from the first non-ASCII one, for guessing an encoding. This takes a few
/// milliseconds; more bytes would hardly change the result.
pub const DETECTION_SAMPLE_BYTES: usize = 64 << 10;

/// Minimum number of UTF-8 characters per invalid byte for a text to be treated as damaged UTF-8 and not as
/// another encoding. Text in other encodings has less than one by chance.
pub const CHARACTERS_PER_BROKEN_BYTE: usize = 4;

/// Minimum number of UTF-16 units for recognizing a text without a byte-order mark. Fewer could look like
/// anything.
pub const UTF16_UNITS: usize = 8;

/// Number of directory entries read between two deadline checks. This takes a millisecond or two.
pub const NAMES_PER_LOOK: usize = 4096;

/// Maximum number of names of pruned directories in a report.
pub const PRUNED_NAMES: usize = 100;

/// Maximum number of directories with hidden entries in a report. If there are more, every directory that
/// could have some is searched for hidden files.
pub const HIDING_DIRECTORIES: usize = 20_000;

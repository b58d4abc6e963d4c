//! All limits for reading a repository, each with its unit and reason.

use std::time::Duration;

/// Maximum size in bytes of an object. Messages should be shorter, and a directory of this size has a hundred
/// thousand names.
pub const OBJECT_BYTES: usize = 4 << 20;

/// Maximum size in bytes of a compressed loose object.
pub const LOOSE_BYTES: usize = 4 << 20;

/// Maximum delta chain depth. Git's default is 50, and its maximum is 4,095, which we must accept.
pub const DELTAS: usize = 4_096;

/// Maximum total size in bytes of the deltas of one object.
pub const DELTA_BYTES: usize = 16 << 20;

/// Maximum number of bytes produced while reconstructing one object. This is enough for a tree of two
/// thousand names with a thousand deltas.
pub const MADE_BYTES: usize = 128 << 20;

/// Maximum size in bytes of the cache of objects, which serve as bases of others.
pub const KEPT_BYTES: usize = 24 << 20;

/// Number of bytes of a pack read at once. This is more than the size of most objects, and the bytes after an
/// object usually belong to something else.
pub const BLOCK_BYTES: u64 = 4 << 10;

/// Maximum number of cached blocks per file. These take eight million bytes.
pub const BLOCKS: usize = 2_048;

/// Maximum total size in bytes of the pack indexes that are cached completely. We must cache them because ids
/// are spread over all of an index, which has about thirty bytes per object.
pub const KEPT_INDEX_BYTES: u64 = 64 << 20;

/// Number of bytes of such an index read at once.
pub const INDEX_BLOCK_BYTES: u64 = 64 << 10;

/// Maximum number of packs, each with two open files. `git gc` merges them if there are more than 50.
pub const PACKS: usize = 64;

/// Maximum number of entries of the pack directory.
pub const PACK_NAMES: usize = 4_096;

/// Number of ids of an index read at once, around the expected position.
pub const INDEX_WINDOW: u64 = 128;

/// Maximum size in bytes of a file with references. A hundred thousand references take six million bytes.
pub const REFS_BYTES: usize = 16 << 20;

/// Maximum number of symbolic references to follow to a commit.
pub const SYMBOLIC_REFS: usize = 5;

/// Maximum size in bytes of the list of commits at which a shallow clone ends.
pub const SHALLOW_BYTES: usize = 1 << 20;

/// Maximum number of directories of a commit that we compare with those of its parent.
pub const TREES: usize = 1_024;

/// Maximum number of directories of a commit that we read to count its files.
pub const COUNTED_TREES: usize = 4_096;

/// Maximum number of names of a path in a tree.
pub const TREE_DEPTH: usize = 128;

/// Maximum length in bytes of a path in a tree.
pub const PATH_BYTES: usize = 4_096;

/// Maximum number of parents of a commit. The largest merge in git's own history has 66.
pub const PARENTS: usize = 128;

/// Minimum number of digits in an abbreviated id, as in git.
pub const PREFIX_DIGITS: usize = 4;

/// Maximum number of objects that we examine because their ids begin with the same digits.
pub const PREFIX_OBJECTS: usize = 256;

/// Maximum number of names in a directory of loose objects. `git gc` packs these from about 7,000 in total
/// on.
pub const LOOSE_NAMES: usize = 65_536;

/// Maximum number of steps of a revision, such as `^2`.
pub const REVISION_STEPS: usize = 64;

/// Maximum number of tags of tags on the way to a commit. Git has no limit.
pub const TAGS: usize = 64;

/// Maximum size in bytes of a repository's `config` file.
pub const CONFIG_BYTES: usize = 1 << 20;

/// Maximum number of lines in this file.
pub const CONFIG_LINES: usize = 20_000;

/// Maximum size in bytes of git's index, which has about a hundred bytes for each file.
pub const GIT_INDEX_BYTES: usize = 256 << 20;

/// Maximum number of files in git's index. The largest public repositories have four hundred thousand.
pub const GIT_INDEX_FILES: usize = 2_000_000;

/// Maximum number of files in which two trees differ.
pub const CHANGED_FILES: usize = 200_000;

/// Maximum number of directories that we read to compare two trees.
pub const COMPARED_TREES: usize = 100_000;

/// Maximum number of objects that one reference each replaces (`git replace`).
pub const REPLACED_OBJECTS: usize = 65_536;

/// Maximum number of objects on the way from a replaced one to the one that is read. Git also follows five.
pub const REPLACEMENTS: usize = 6;

/// Maximum number of commits that we read to find a common ancestor.
pub const MERGE_BASE_COMMITS: usize = 200_000;

/// Number of older commits that we read after a range of commits has ended, because commit times may be wrong. Git
/// reads five.
pub const RANGE_SLOP: u32 = 64;

/// Maximum number of untracked files that we report.
pub const UNTRACKED_FILES: usize = 10_000;

/// We look for renames of edited files if there are at most the square of this number of pairs. This is git's
/// `diff.renameLimit`.
pub const RENAME_LIMIT: usize = 1_000;

/// Maximum time for finding renames of edited files.
pub const RENAME_TIME: Duration = Duration::from_secs(2);

/// Maximum number of line hashes that we cache to find renames: 128 million bytes.
pub const RENAME_HASHES: usize = 16 << 20;

/// Maximum size in bytes of a file in the working tree that we read to find out whether it has changed. If a
/// larger file has another state, it counts as changed.
pub const HASHED_BYTES: usize = 256 << 20;

/// Maximum number of commits in which we look for files that change together.
pub const COMPANION_COMMITS: usize = 1_000;

/// Maximum number of files in such a commit. A larger commit is usually a mechanical change, e.g. of
/// formatting.
pub const COMPANION_FILES: usize = 30;

/// Minimum number of commits that must have changed both of two files that go together.
pub const COMPANION_TIMES: usize = 3;

/// Maximum number of commits that one call looks at to answer a question about the history. The kernel of
/// Linux has 1.4 million.
pub const HISTORY_COMMITS: u64 = 2_000_000;

/// Maximum number of bytes of file contents that one call reads for this. A minute of reading.
pub const HISTORY_BYTES: usize = 16 << 30;

/// Maximum number of cached results for contents: 60 million bytes.
pub const HISTORY_SIGNATURES: usize = 1 << 20;

/// Maximum size in bytes of the versions of a definition that are cached. Most versions occur in two commits, as
/// the old and as the new one.
pub const HISTORY_DEFINITION_BYTES: usize = 32 << 20;

/// Maximum number of lines of a text that we compare with another. This takes about a second if the texts
/// have nothing in common.
pub const HISTORY_DIFF_LINES: usize = 200_000;

/// Minimum time for which a call must have looked at a commit before it may be left out. All others take
/// milliseconds, so a call that ends within one of them has run out of time for other reasons.
pub const HISTORY_COMMIT_TIME: Duration = Duration::from_secs(1);

/// Maximum number of changed files in which we look for a definition that may have been moved. More are changed
/// by formatters and renames of whole directories.
pub const HISTORY_MOVED_FILES: usize = 100;

//! All limits for reading a repository, each with its unit and reason.

/// Maximum size in bytes of an object. Messages are shorter, and a directory of this size has a hundred
/// thousand names.
pub const OBJECT_BYTES: usize = 4 << 20;

/// Maximum size in bytes of a compressed loose object.
pub const LOOSE_BYTES: usize = 4 << 20;

/// Maximum delta chain depth. Git's default is 50, and its maximum is 4,095.
pub const DELTAS: usize = 4_096;

/// Maximum total size in bytes of the deltas of one object.
pub const DELTA_BYTES: usize = 16 << 20;

/// Maximum number of bytes produced while reconstructing one object: a tree of two thousand names with a
/// thousand deltas.
pub const MADE_BYTES: usize = 128 << 20;

/// Size in bytes of the cache of objects, which serve as bases of others.
pub const KEPT_BYTES: usize = 24 << 20;

/// Number of bytes of a pack read at once. This is more than the size of most objects, and the bytes after an
/// object usually belong to something else.
pub const BLOCK_BYTES: u64 = 4 << 10;

/// Maximum number of cached blocks per file: eight million bytes.
pub const BLOCKS: usize = 2_048;

/// Maximum total size in bytes of the pack indexes that are cached completely. We must cache them because ids
/// are spread over all of an index, which has about thirty bytes per object.
pub const KEPT_INDEX_BYTES: u64 = 64 << 20;

/// Number of bytes of such an index read at once.
pub const INDEX_BLOCK_BYTES: u64 = 64 << 10;

/// Maximum number of packs, each with two open files. `git gc` merges them from 50 on.
pub const PACKS: usize = 64;

/// Maximum number of entries of the pack directory.
pub const PACK_NAMES: usize = 4_096;

/// Number of ids of an index read at once, around the expected position.
pub const INDEX_WINDOW: u64 = 128;

/// Maximum size in bytes of a file with references. A hundred thousand take six million bytes.
pub const REFS_BYTES: usize = 16 << 20;

/// Maximum number of symbolic references that lead to a commit.
pub const SYMBOLIC_REFS: usize = 5;

/// Maximum size in bytes of the list of commits at which a shallow clone ends.
pub const SHALLOW_BYTES: usize = 1 << 20;

/// Maximum number of directories of a commit that are compared with those of its parent.
pub const TREES: usize = 1_024;

/// Maximum number of directories of a commit that are read to count its files.
pub const COUNTED_TREES: usize = 4_096;

/// Maximum number of names of a path in a tree.
pub const TREE_DEPTH: usize = 128;

/// Maximum length in bytes of a path in a tree.
pub const PATH_BYTES: usize = 4_096;

/// Maximum number of parents of a commit. The largest merge in git's own history has 66.
pub const PARENTS: usize = 128;

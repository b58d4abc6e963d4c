//! Bounds of reading a repository, with their units and reasons.

/// Bytes of an object that is read. Messages are shorter, and a directory with as many has a hundred thousand names.
pub const OBJECT_BYTES: usize = 4 << 20;

/// Bytes of a loose object before it is inflated.
pub const LOOSE_BYTES: usize = 4 << 20;

/// Objects that one is made of by differences. Git makes 50 unless told otherwise, and never more than 4,095.
pub const DELTAS: usize = 4_096;

/// Bytes of all differences that one object is made of.
pub const DELTA_BYTES: usize = 16 << 20;

/// Bytes that are made on the way to one object: a tree of two thousand names, made by a thousand differences.
pub const MADE_BYTES: usize = 128 << 20;

/// Bytes of objects that are kept, for others are made of them.
pub const KEPT_BYTES: usize = 24 << 20;

/// Bytes that are read of a file of a pack at a time: more than most objects have, and what is near the next one is mostly
/// something else.
pub const BLOCK_BYTES: u64 = 4 << 10;

/// Blocks that are kept of a file: eight million bytes.
pub const BLOCKS: usize = 2_048;

/// Bytes of the indexes of all packs together that are kept as they are read: names are spread over all of an index, which has
/// some thirty bytes for an object.
pub const KEPT_INDEX_BYTES: u64 = 64 << 20;

/// Bytes that are read of such an index at a time.
pub const INDEX_BLOCK_BYTES: u64 = 64 << 10;

/// Packs that are looked into, each with two open files. `git gc` joins them from 50 on.
pub const PACKS: usize = 64;

/// Names of the directory of packs that are looked at.
pub const PACK_NAMES: usize = 4_096;

/// Identifiers that are read of an index at a time, around the place where one is to be expected.
pub const INDEX_WINDOW: u64 = 128;

/// Bytes of a file with references. A hundred thousand take six million.
pub const REFS_BYTES: usize = 16 << 20;

/// References that name another one, up to the one that names a commit.
pub const SYMBOLIC_REFS: usize = 5;

/// Bytes of the list of commits whose parents a shallow clone lacks.
pub const SHALLOW_BYTES: usize = 1 << 20;

/// Directories of a commit that are compared with those of its parent.
pub const TREES: usize = 1_024;

/// Directories of a commit that are looked into to count its files.
pub const COUNTED_TREES: usize = 4_096;

/// Names of a path in a tree.
pub const TREE_DEPTH: usize = 128;

/// Bytes of a path in a tree.
pub const PATH_BYTES: usize = 4_096;

/// Parents of a commit that are looked at. Git's own largest merge has 66.
pub const PARENTS: usize = 128;

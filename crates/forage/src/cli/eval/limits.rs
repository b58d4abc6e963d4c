//! Bounds of `forage eval`, with their units and reasons.

use std::time::Duration;

/// Bytes of a file with sets of queries: a hundred thousand queries.
pub(super) const SET_BYTES: u64 = 64 << 20;

/// Commits of the first-parent line that are looked at by default, unless that is more than half of it: some hundred
/// queries, on a base that is not too old.
pub(super) const COMMITS: usize = 400;

/// The same at the most: further back, few of the files of today exist.
pub(super) const COMMITS_MOST: u64 = 5_000;

/// Commits after the base, side branches included, whose messages are read.
pub(super) const LOG_COMMITS: usize = 50_000;

/// Time for one run of git. Reading all files of a large repository takes it most of a minute.
pub(super) const GIT_TIME: Duration = Duration::from_secs(600);

/// How often it is looked whether that time is over, and whether git has ended.
pub(super) const GIT_TICK: Duration = Duration::from_millis(20);

/// Bytes of a file in which git names other directories of its own.
pub(super) const GIT_LINK_BYTES: u64 = 64 << 10;

/// How often borrowed objects may be borrowed themselves: git's own bound.
pub(super) const GIT_ALTERNATES: usize = 5;

/// Directories in which git may find what it reads of one repository.
pub(super) const GIT_DATABASES: usize = 64;

/// Bytes that git may print of names, messages and trees.
pub(super) const GIT_BYTES: u64 = 512 << 20;

/// Bytes that git may print of files.
pub(super) const GIT_FILES_BYTES: u64 = 16 << 30;

/// Bytes of its errors that are told.
pub(super) const GIT_STDERR_BYTES: u64 = 4 << 10;

/// Files that wait between git and the threads that index them, at [`forage_rank::limits::FILE_BYTES`] each.
pub(super) const FILES_AHEAD: usize = 32;

/// Words of a subject from which on it says something that can be looked for.
pub(super) const SUBJECT_WORDS: usize = 3;

/// Touched files up to which a message can be about them.
pub(super) const TOUCHED_FILES: usize = 5;

/// Bytes of what stands before the colon of a subject. More is a sentence.
pub(super) const PREFIX_BYTES: usize = 60;

/// Missing targets that the text names; the records have all.
pub(super) const MISSING_SHOWN: usize = 20;

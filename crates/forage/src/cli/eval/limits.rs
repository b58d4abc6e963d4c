//! Limits of `forage eval`, with their units and reasons.

use std::time::Duration;

/// Maximum bytes of a query-set file: about a hundred thousand queries.
pub(super) const SET_BYTES: u64 = 64 << 20;

/// Commits of the first-parent line to use by default, but at most half of it. This gives a few hundred
/// queries on a base that is not too old.
pub(super) const COMMITS: usize = 400;

/// Maximum value of that number. Further back, few of today's files exist.
pub(super) const COMMITS_MOST: u64 = 5_000;

/// Maximum commits after the base, including side branches, whose messages are read.
pub(super) const LOG_COMMITS: usize = 50_000;

/// Time limit for one run of git. Reading all files of a large repository takes most of a minute.
pub(super) const GIT_TIME: Duration = Duration::from_secs(600);

/// Interval at which we check that limit and if git has exited.
pub(super) const GIT_TICK: Duration = Duration::from_millis(20);

/// Maximum bytes of a file in which git names other directories.
pub(super) const GIT_LINK_BYTES: u64 = 64 << 10;

/// Maximum nesting of borrowed objects, as in git itself.
pub(super) const GIT_ALTERNATES: usize = 5;

/// Maximum directories that git may read for one repository.
pub(super) const GIT_DATABASES: usize = 64;

/// Maximum bytes of git's output of names, messages and trees.
pub(super) const GIT_BYTES: u64 = 512 << 20;

/// Maximum bytes of git's output of files.
pub(super) const GIT_FILES_BYTES: u64 = 16 << 30;

/// Bytes shown of git's standard error.
pub(super) const GIT_STDERR_BYTES: u64 = 4 << 10;

/// Files in the queue between git and the indexing threads, with up to [`forage_rank::limits::FILE_BYTES`]
/// each.
pub(super) const FILES_AHEAD: usize = 32;

/// Minimum words of a subject that is specific enough for a query.
pub(super) const SUBJECT_WORDS: usize = 3;

/// Maximum touched files for a message that can be about all of them.
pub(super) const TOUCHED_FILES: usize = 5;

/// Maximum bytes of the prefix before the colon of a subject. A longer one is a sentence.
pub(super) const PREFIX_BYTES: usize = 60;

/// Missing targets that the text lists; the records contain all.
pub(super) const MISSING_SHOWN: usize = 20;

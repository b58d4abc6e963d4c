//! Limits of `forage eval`, with their units and reasons.

use std::time::Duration;

/// Maximum size in bytes of a query-set file. This is enough for about a hundred thousand queries.
pub(super) const SET_BYTES: u64 = 64 << 20;

/// Default number of commits on the first-parent line, but at most half of that line. This gives a few
/// hundred queries on a base that is not too old.
pub(super) const COMMITS: usize = 400;

/// Maximum value of that number. Further back, few of today's files exist.
pub(super) const COMMITS_MAX: u64 = 5_000;

/// Maximum number of commits after the base whose messages are read, including those of side branches.
pub(super) const LOG_COMMITS: usize = 50_000;

/// Timeout for one run of git. Note that reading all files of a large repository takes most of a minute.
pub(super) const GIT_TIME: Duration = Duration::from_secs(600);

/// Interval between checks of that timeout, and of whether git has exited.
pub(super) const GIT_TICK: Duration = Duration::from_millis(20);

/// Maximum size in bytes of a file in which git names other directories, e.g. `objects/info/alternates`.
pub(super) const GIT_LINK_BYTES: u64 = 64 << 10;

/// Maximum nesting of repositories that borrow objects. Git itself has the same limit.
pub(super) const GIT_ALTERNATES: usize = 5;

/// Maximum number of directories that git may read for one repository.
pub(super) const GIT_DATABASES: usize = 64;

/// Maximum size in bytes of git's output if it consists of names, messages or trees.
pub(super) const GIT_BYTES: u64 = 512 << 20;

/// Maximum size in bytes of git's output if it consists of files.
pub(super) const GIT_FILES_BYTES: u64 = 16 << 30;

/// Bytes shown of git's standard error.
pub(super) const GIT_STDERR_BYTES: u64 = 4 << 10;

/// Maximum number of files in the queue between git and the indexing threads. Each has up to
/// [`forage_rank::limits::FILE_BYTES`].
pub(super) const FILES_AHEAD: usize = 32;

/// Minimum number of words in a subject. A shorter one is too unspecific for a query.
pub(super) const SUBJECT_WORDS: usize = 3;

/// Maximum number of touched files. If there are more, the message can't be about all of them.
pub(super) const TOUCHED_FILES: usize = 5;

/// Maximum length in bytes of the prefix before the colon of a subject. A longer one must be a sentence.
pub(super) const PREFIX_BYTES: usize = 60;

/// Maximum number of missing targets that the text lists. The records contain all of them.
pub(super) const MISSING_SHOWN: usize = 20;

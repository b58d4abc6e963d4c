//! Bounds of what is kept and of what the page may ask.

use std::time::Duration;

/// Calls that a process keeps.
pub const KEPT_CALLS: usize = 500;

/// Calls that the page has of one file, the last ones.
pub(crate) const FILE_CALLS: usize = 20_000;

/// Bytes of a line of a socket; a longer one is none of ours.
#[cfg(unix)]
pub(crate) const LINE_BYTES: usize = 4 << 20;

/// How long a socket that was read to its end is left alone.
#[cfg(unix)]
pub(crate) const SOCKET_PAUSE: Duration = Duration::from_millis(500);

/// Calls that the page knows.
pub(crate) const ALL_CALLS: usize = 50_000;

/// Bytes of a file that is shown.
pub(crate) const FILE_BYTES: u64 = 256 << 20;

/// Readers of one process's calls at the same time.
#[cfg(unix)]
pub(crate) const READERS: usize = 8;

/// How long a reader may take for what it is sent.
#[cfg(unix)]
pub(crate) const WRITE_TIME: Duration = Duration::from_secs(5);

/// How often a reader that waits is looked after.
#[cfg(unix)]
pub(crate) const READER_WAIT: Duration = Duration::from_secs(2);

/// How often new processes are looked for.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How long the page's question for news may wait.
pub(crate) const NEWS_WAIT: Duration = Duration::from_secs(20);

/// Connections of the page at the same time.
pub(crate) const CONNECTIONS: usize = 64;

/// Time for the head of a request.
pub(crate) const HEAD_TIME: Duration = Duration::from_secs(10);

/// Bytes of the head of a request: arguments stand in it.
pub(crate) const HEAD_BYTES: usize = 256 << 10;

/// Files of a map.
pub(crate) const MAP_FILES: usize = 300_000;

/// Paths that a map lists of what is not searched.
pub(crate) const MAP_UNSEARCHED: usize = 5_000;

/// Calls whose cost is asked at once.
pub(crate) const COST_CALLS: usize = 100;

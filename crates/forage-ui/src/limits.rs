//! Limits of kept calls and of the page's requests.

use std::time::Duration;

/// Maximum calls that a process keeps in memory.
pub const RECENT_CALLS: usize = 500;

/// Maximum calls that the page reads from one file. If there are more, it reads the last ones.
pub(crate) const FILE_CALLS: usize = 20_000;

/// Maximum bytes of a line from a socket. Our own lines are never longer.
#[cfg(unix)]
pub(crate) const LINE_BYTES: usize = 4 << 20;

/// Time after which we may read a socket again that we have read to its end.
#[cfg(unix)]
pub(crate) const SOCKET_PAUSE: Duration = Duration::from_millis(500);

/// Maximum calls on the page.
pub(crate) const ALL_CALLS: usize = 50_000;

/// Maximum bytes of a file that the page shows.
pub(crate) const FILE_BYTES: u64 = 256 << 20;

/// Maximum readers of one process's calls at the same time.
#[cfg(unix)]
pub(crate) const READERS: usize = 8;

/// Timeout for sending to a reader.
#[cfg(unix)]
pub(crate) const WRITE_TIME: Duration = Duration::from_secs(5);

/// Interval at which we check that a waiting reader is still connected.
#[cfg(unix)]
pub(crate) const READER_WAIT: Duration = Duration::from_secs(2);

/// Interval at which we look for new processes.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum time that the page's request waits for new calls.
pub(crate) const NEWS_WAIT: Duration = Duration::from_secs(20);

/// Maximum connections of the page at the same time. A new one replaces one that has not sent the token, or
/// else the oldest. Browsers open up to six per tab.
pub(crate) const CONNECTIONS: usize = 64;

/// Timeout for receiving the head of a request.
pub(crate) const HEAD_TIME: Duration = Duration::from_secs(10);

/// Maximum bytes of the head of a request. Note that it contains the arguments.
pub(crate) const HEAD_BYTES: usize = 256 << 10;

/// Maximum files of a map.
pub(crate) const MAP_FILES: usize = 300_000;

/// Maximum unsearched paths that a map lists.
pub(crate) const MAP_UNSEARCHED: usize = 5_000;

/// Maximum calls in one cost request.
pub(crate) const COST_CALLS: usize = 100;

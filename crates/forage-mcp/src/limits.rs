//! Limits of the server, each with its unit and reason.

use std::time::Duration;

/// Maximum size in bytes of one line on stdin, and of the body of one HTTP request. The largest arguments are
/// a few kilobytes, and the answers of a client's model a little more. Note that parsing a hostile line takes
/// a hundred times its size.
pub const REQUEST_BYTES: usize = 1 << 20;

/// Number of bytes of unread answers after which we treat a client on pipes as gone.
pub const UNREAD_BYTES: usize = 64 << 20;

/// Maximum number of consecutive lines that are not messages and still get an answer. Without this limit, a
/// client that echoes our errors would be answered forever.
pub const BAD_LINES_ANSWERED: u32 = 32;

/// Maximum number of calls that read one file or list one directory and may run at the same time. They have
/// their own queue so that they never wait for searches.
pub const QUICK_CALLS: usize = 8;

/// Minimum number of searches that may run at the same time. On machines with more processors there may be
/// more. Each search uses all processors.
pub const SEARCHES_MIN: usize = 2;

/// Maximum number of calls that may wait for a model's answer at the same time without occupying a search
/// permit.
pub const ASKING_CALLS: usize = 64;

/// Maximum number of calls that may wait in each queue; further calls will get an error that says that the
/// server is busy.
pub const WAITING_CALLS: usize = 1_000;

/// Maximum number of calls of one token that may wait in each queue. They must wait for each other before
/// they compete with the calls of other tokens.
pub const WAITING_CALLS_OF_TOKEN: usize = 250;

/// Number of requests of one token other than calls, for example `tools/list`, that we process at the same
/// time. Each takes a processor for about a millisecond.
pub const OTHERS_PROCESSED: usize = 2;

/// Time until the first progress notification of a running call, and between two of them.
pub const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Time that a client has to name its roots when it is first asked. A client knows its roots, so one that
/// does not answer in this time never will.
pub const ROOTS_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum number of roots taken from a client.
pub const CLIENT_ROOTS: usize = 32;

/// Grace period for running calls after the client has gone. This can be short: calls notice the cancellation
/// within milliseconds.
pub const SHUTDOWN: Duration = Duration::from_millis(800);

/// Grace period for running calls when an HTTP server should shut down. A search has a deadline of 20 s. This
/// must be shorter than the times after which Kubernetes and systemd kill the process, 30 s and 90 s.
pub const DRAIN: Duration = Duration::from_secs(25);

/// Interval at which we check for calls that are still running.
pub const ANSWERED_PAUSE: Duration = Duration::from_millis(20);

/// Timeout of a readiness check.
pub const READINESS_TIME: Duration = Duration::from_secs(3);
/// Time for which the result of a readiness check is reused.
pub const READINESS_KEPT: Duration = Duration::from_secs(2);

/// Time that a client on pipes waits for its last answers after it has closed stdin. A search takes up to
/// 20 s and a model 60 s; the rest is a margin. Calls have their own deadlines; this limit covers anything
/// that those miss.
pub const LAST_ANSWERS: Duration = Duration::from_secs(90);

/// Time that `tools/list` waits until we know whether a model is available. This is also the interval between
/// later checks.
pub const MODEL_LOOK: Duration = Duration::from_millis(300);

/// Maximum time that we wait for a model to become available in order to notify the client of it.
pub const MODEL_WAIT: Duration = Duration::from_secs(60);

/// Bytes of a client's input that are quoted in messages to it.
pub const SHOWN_BYTES: usize = 100;

/// Maximum number of characters in the instructions. Claude Code keeps this many.
pub const INSTRUCTIONS: usize = 2_048;

/// Milliseconds for which a client may cache the list of tools; it changes only with the configuration.
pub const LIST_TTL_MS: u64 = 300_000;

/// Maximum number of authenticated HTTP connections. When all are in use, the next one evicts the connection
/// that has been idle longest.
pub const CLIENTS: usize = 256;

/// Maximum number of unauthenticated HTTP connections; the next one evicts the oldest. A client's request
/// arrives with its connection or one round trip later. At a thousand new unauthenticated connections per
/// second, each has a quarter of a second.
pub const UNAUTHENTICATED_CONNECTIONS: usize = 256;

/// File descriptors that HTTP connections must leave to calls, e.g. for roots, directories, files, indexes
/// and file watchers.
pub const FILES_RESERVED: u64 = 128;

/// Minimum number of connections of each kind, however few file descriptors are available.
pub const PLACES_MIN: usize = 8;

/// Length of the kernel's queue of connections that are not accepted yet. This must be larger than the number
/// of unauthenticated connections that arrive while the accepting thread waits for a processor. Clients whose
/// connection does not fit will retry after a second.
pub const BACKLOG: u32 = 4_096;

/// Pause before the next accept after one failed because no file descriptors were left.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Maximum size in bytes of the head of an HTTP request. Clients send some hundred bytes, and proxies that
/// add cookies may send some thousand.
pub const HEAD_BYTES: usize = 16 << 10;

/// Maximum number of headers in an HTTP request, the same as in hyper.
pub const HEAD_FIELDS: usize = 100;

/// Time that a connection with a refused request stays open so that the client can read the answer.
pub const LINGER: Duration = Duration::from_secs(1);

/// Time that an evicted idle connection has to finish a request that just arrived or an answer that is being
/// sent.
pub const EVICTION: Duration = Duration::from_millis(100);

/// Seconds after which a client that found the server busy may retry.
pub const RETRY_AFTER_SECONDS: u64 = 1;

/// Timeout for receiving the head of an HTTP request, and for its body.
pub const HTTP_READ: Duration = Duration::from_secs(10);

/// Maximum number of rounds in which we ask a client for its roots and its model's answers during one call.
/// Each round repeats the search. Without this limit, a tree that changes faster than the client answers
/// would lead to endless questions.
pub const SAMPLING_ROUNDS: usize = 4;

//! The bounds of the server, with unit and reason.

use std::time::Duration;

/// Bytes of one line on stdin, and of the body of one HTTP request. The largest arguments are a few kilobytes, what a
/// client's model says some more; parsed, a hostile line takes a hundred times its size.
pub const REQUEST_BYTES: usize = 1 << 20;

/// Bytes of answers that a client on pipes has not read, from which on it is taken for gone.
pub const UNREAD_BYTES: usize = 64 << 20;

/// Lines in a row that are no message and are answered; a client that sends our own errors back would otherwise be
/// answered for ever.
pub const BAD_LINES_ANSWERED: u32 = 32;

/// Calls that read one file or list one directory and may run at the same time. They have a queue of their own, so
/// that they never wait behind searches.
pub const QUICK_CALLS: usize = 8;

/// Searches that may run at the same time at the least; more where there are more processors. Each uses all of them.
pub const SEARCHES_MIN: usize = 2;

/// Calls that may wait for a model's answer at the same time without holding a place among the searches.
pub const ASKING_CALLS: usize = 64;

/// Calls that may wait for a place in each queue; those beyond are told that the server is busy.
pub const WAITING_CALLS: usize = 1_000;

/// The same of one token, whose calls wait for each other before they wait for those of others.
pub const WAITING_CALLS_OF_TOKEN: usize = 250;

/// Time after which a call that runs on tells of its progress, and between two such messages.
pub const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Time for a client to name its roots, the first time that it is asked. It knows them; a client that does not answer
/// never will.
pub const ROOTS_TIMEOUT: Duration = Duration::from_secs(3);

/// Roots that are taken from a client.
pub const CLIENT_ROOTS: usize = 32;

/// Time that running calls have to end when the client has gone; they see it within milliseconds.
pub const SHUTDOWN: Duration = Duration::from_millis(800);

/// Time that running calls have to be answered when an HTTP server is asked to end; a search has 20 s. Kubernetes and systemd kill
/// after 30 and 90.
pub const DRAIN: Duration = Duration::from_secs(25);

/// The pause between two looks for calls that still run.
pub const ANSWERED_PAUSE: Duration = Duration::from_millis(20);

/// Time to find out whether calls can be answered, and how long that holds.
pub const READINESS_TIME: Duration = Duration::from_secs(3);
/// See [`READINESS_TIME`].
pub const READINESS_KEPT: Duration = Duration::from_secs(2);

/// Time that a client on pipes waits for its last answers after it has closed its end: a search's 20 s and a model's 60 s,
/// and some more. The calls have deadlines of their own, and what they do not hold ends here.
pub const LAST_ANSWERS: Duration = Duration::from_secs(90);

/// Time for which a list of tools waits until it is known whether there is a model, and between two looks after that.
pub const MODEL_LOOK: Duration = Duration::from_millis(300);

/// Time after which a client is no longer told that there is a model.
pub const MODEL_WAIT: Duration = Duration::from_secs(60);

/// Bytes of what a client sent that are shown to it again.
pub const SHOWN_BYTES: usize = 100;

/// Characters of the instructions, as many as Claude Code keeps.
pub const INSTRUCTIONS: usize = 2_048;

/// Milliseconds for which a client may keep the list of tools; it changes with the configuration only.
pub const LIST_TTL_MS: u64 = 300_000;

/// HTTP connections at the same time of which a request was let in; the next takes the place of the longest idle.
pub const CLIENTS: usize = 256;

/// HTTP connections at the same time of which none was let in yet; the next takes the place of the oldest. A client's
/// request comes with its connection or a round trip later: at a thousand new strangers a second it has a quarter of one.
pub const STRANGERS: usize = 256;

/// File descriptors that HTTP connections leave to calls: their roots, directories and files, indexes, and what listens
/// for changes.
pub const FILES_RESERVED: u64 = 128;

/// Connections of each kind that are held at the least, however few file descriptors there are.
pub const PLACES_MIN: usize = 8;

/// Connections that the kernel keeps until they are taken. More than strangers bring while the thread that takes them
/// waits for a processor; those beyond are tried again by their side after a second.
pub const BACKLOG: u32 = 4_096;

/// Pause before a connection is taken again when there were no file descriptors for it.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Bytes of the head of an HTTP request. Clients send some hundred, proxies that add cookies some thousand.
pub const HEAD_BYTES: usize = 16 << 10;

/// Headers of an HTTP request, as many as hyper takes.
pub const HEAD_FIELDS: usize = 100;

/// Time that a connection with a refused request is kept open for its answer to be read.
pub const LINGER: Duration = Duration::from_secs(1);

/// Time that an idle connection which makes room has to finish what came in or was answered in that moment.
pub const EVICTION: Duration = Duration::from_millis(100);

/// Seconds after which a client that found no place may try again.
pub const RETRY_AFTER_SECONDS: u64 = 1;

/// Time for the head of an HTTP request, and for its body.
pub const HTTP_READ: Duration = Duration::from_secs(10);

/// Rounds in which a client is asked for its roots and for what its model says to one call. Each repeats the search,
/// and a tree that changes faster than the client answers would be asked about for ever.
pub const SAMPLING_ROUNDS: usize = 4;

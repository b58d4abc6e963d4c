//! Limits of the binary itself, with units and reasons. The libraries define their own.

use std::time::Duration;

/// How long a server may take to exit on its own after we close its input.
pub(crate) const SERVER_GRACE: Duration = Duration::from_millis(300);

/// Maximum length in bytes of a line from a server. A longer one ends the session.
pub(crate) const SERVER_LINE_BYTES: u64 = 4 << 20;

/// Length in bytes of the stored tail of a server's standard error.
pub(crate) const SERVER_STDERR_BYTES: usize = 64 << 10;

/// Bytes kept of a line that is not a message. This is more than we ever show.
pub(crate) const SERVER_NOISE_BYTES: usize = 4 << 10;

/// Maximum number of a server's requests that we answer, so that a server can't keep us busy forever.
pub(crate) const SERVER_REQUESTS: usize = 1_000;

/// Maximum length in bytes of the id of a server's request, which our reply must repeat.
pub(crate) const SERVER_ID_BYTES: usize = 256;

/// Maximum number of messages in the queue to a server. Once the queue is full, we stop writing to that
/// server.
pub(crate) const SERVER_QUEUE_MESSAGES: usize = 64;

/// Bytes kept of a server's error. The agent shows fewer, but it must redact secrets before it truncates.
pub(crate) const SERVER_ERROR_BYTES: usize = 20_000;

/// Maximum number of servers in `ask.servers`.
pub(crate) const SERVERS: usize = 8;

/// How long the servers may take to start and list their tools. Note that `npx` may have to resolve a package
/// first.
pub(crate) const SERVER_START: Duration = Duration::from_secs(20);

/// Maximum number of pages of a tool list. Even with one tool per page, this covers all the tools that we
/// accept.
pub(crate) const SERVER_PAGES: usize = 64;

/// Maximum number of tools per server, because the model reads all of them with each request.
pub(crate) const SERVER_TOOLS: usize = 32;

/// Maximum size in bytes of all tool definitions of all servers together.
pub(crate) const SERVER_LIST_BYTES: usize = 40_000;

/// Maximum length in bytes of the description of a server's tool.
pub(crate) const SERVER_DESCRIPTION_BYTES: usize = 2_000;

/// Maximum length in bytes of the input schema of a server's tool.
pub(crate) const SERVER_SCHEMA_BYTES: usize = 16_000;

/// Maximum length in bytes of the text of a result. No answer may be longer than this.
pub(crate) const SERVER_TEXT_BYTES: usize = 400_000;

/// Maximum size in bytes of `ask.prompt_file`. This is a quarter of a small model's context.
pub(crate) const ASK_PROMPT_BYTES: u64 = 32 << 10;

/// Maximum characters of the progress line on a terminal. A line that wraps can't be redrawn in place.
pub(crate) const PROGRESS_WIDTH: usize = 79;

/// Maximum characters of a call's arguments in a log line of `ask`.
pub(crate) const PROGRESS_ARGUMENTS: usize = 160;

/// Maximum number of questions kept of a conversation. The oldest are dropped first.
pub(crate) const CONVERSATION_EXCHANGES: usize = 10;

/// Maximum size in bytes of a conversation's file.
pub(crate) const CONVERSATION_BYTES: usize = 256 << 10;

/// Maximum number of roots with a stored conversation. The oldest are evicted first.
pub(crate) const CONVERSATION_ROOTS: usize = 100;

/// Age at which a conversation expires. Users do not expect traces of their questions to stay forever.
pub(crate) const CONVERSATION_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Maximum size in bytes of a recording. This is enough for a few thousand calls.
pub(crate) const RECORDING_BYTES: u64 = 256 << 20;

/// Maximum length in bytes of a configured tool description. Some clients show only half of this, and models
/// read all of it with each request.
pub(crate) const TOOL_DESCRIPTION_BYTES: usize = 4_096;

/// Timeout for testing a client's entry. Clients wait 10 to 60 seconds for a server to start, whereas Forage
/// takes a few milliseconds.
pub(crate) const PROBE_TIME: Duration = Duration::from_secs(10);

/// Timeout for a client to list its servers. The slowest client that we tried took 6 s on an idle machine.
pub(crate) const LISTING_TIME: Duration = Duration::from_secs(40);

/// Bytes kept of a client's list of servers.
pub(crate) const LISTING_BYTES: u64 = 256 << 10;

/// Bytes of a server's or client's own output that a report shows, e.g. of its standard error.
pub(crate) const PROBE_SHOWN_BYTES: usize = 500;

/// How long we cache the list of repositories in a collection that a token's holder may see.
pub(crate) const REPOSITORIES_KEPT: Duration = Duration::from_secs(30);

/// Maximum size in bytes of a token file. This is enough for about ten thousand tokens.
pub(crate) const TOKENS_FILE_BYTES: u64 = 4 << 20;

/// Maximum length in bytes of a token's name.
pub(crate) const TOKEN_NAME_BYTES: usize = 64;

/// Minimum time between two warnings that calls are not being audited.
pub(crate) const AUDIT_COMPLAINT: Duration = Duration::from_secs(60);

/// Timeout for a store to answer when a load balancer asks whether the server is ready.
pub(crate) const READINESS_TIME: Duration = Duration::from_secs(2);

/// Maximum number of calls in the queue to the journal's writer thread.
pub(crate) const JOURNAL_WAITING: usize = 1_000;

/// How long an ending process waits for its journal to be written.
pub(crate) const JOURNAL_END: Duration = Duration::from_millis(500);

/// Pause between two polls of the journal's queue.
pub(crate) const JOURNAL_PAUSE: Duration = Duration::from_millis(2);

/// Number of empty polls after which the journal's thread blocks until the next call.
pub(crate) const JOURNAL_LOOKS: u32 = 500;

/// Size in bytes at which a telemetry file or journal is rotated. This is about ten thousand calls.
pub(crate) const ROTATE_BYTES: u64 = 10 << 20;

//! Limits of the command, in addition to those of its libraries, with their units and reasons.

use std::time::Duration;

/// Time for a started server to exit on its own after its input is closed.
pub(crate) const SERVER_GRACE: Duration = Duration::from_millis(300);

/// Maximum bytes of a line. We stop reading from a server that sends a longer one.
pub(crate) const SERVER_LINE_BYTES: u64 = 4 << 20;

/// Bytes kept of the end of a server's standard error.
pub(crate) const SERVER_STDERR_BYTES: usize = 64 << 10;

/// Bytes kept of a line that is not a message: more than we ever show.
pub(crate) const SERVER_NOISE_BYTES: usize = 4 << 10;

/// Maximum requests from a server that we answer, so that one that never stops asking does not keep us busy.
pub(crate) const SERVER_REQUESTS: usize = 1_000;

/// Maximum bytes of the id of a server's request, which our reply repeats.
pub(crate) const SERVER_ID_BYTES: usize = 256;

/// Maximum messages in the queue to a server. We stop writing to one that reads none of them.
pub(crate) const SERVER_UNTAKEN: usize = 64;

/// Bytes kept of an error. The agent shows fewer, and redacts secrets before it truncates.
pub(crate) const SERVER_ERROR_BYTES: usize = 20_000;

/// Maximum servers of `ask.servers`.
pub(crate) const SERVERS: usize = 8;

/// Time for the servers to start and list their tools. `npx` may have to resolve a package first.
pub(crate) const SERVER_START: Duration = Duration::from_secs(20);

/// Maximum pages of a tool list. Even with one tool per page this is enough for all tools that we accept.
pub(crate) const SERVER_PAGES: usize = 64;

/// Maximum tools per server, because a model reads all of them with each request.
pub(crate) const SERVER_TOOLS: usize = 32;

/// Maximum bytes of all descriptions and schemas together.
pub(crate) const SERVER_LIST_BYTES: usize = 40_000;

/// Maximum bytes of the description of a server's tool.
pub(crate) const SERVER_DESCRIPTION_BYTES: usize = 2_000;

/// Maximum bytes of the schema of a server's tool.
pub(crate) const SERVER_SCHEMA_BYTES: usize = 16_000;

/// Maximum bytes of the text of a result. No answer has more.
pub(crate) const SERVER_TEXT_BYTES: usize = 400_000;

/// Maximum bytes of `ask.prompt_file`: a quarter of a small model's context.
pub(crate) const ASK_PROMPT_BYTES: u64 = 32 << 10;

/// Maximum characters of the progress line on a terminal. A line that wraps can't be redrawn.
pub(crate) const PROGRESS_WIDTH: usize = 79;

/// Maximum characters of arguments in a log line of `ask`.
pub(crate) const PROGRESS_ARGUMENTS: usize = 160;

/// Maximum questions kept of a conversation; the oldest are dropped first.
pub(crate) const CONVERSATION_EXCHANGES: usize = 10;

/// Maximum bytes of a conversation's file.
pub(crate) const CONVERSATION_BYTES: usize = 256 << 10;

/// Maximum roots with stored conversations; the oldest are evicted first.
pub(crate) const CONVERSATION_ROOTS: usize = 100;

/// Age after which a conversation expires, because users do not expect traces of it to stay forever.
pub(crate) const CONVERSATION_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Maximum bytes of a recording: a few thousand calls.
pub(crate) const RECORDING_BYTES: u64 = 256 << 20;

/// Maximum bytes of a configured tool description. Some clients show only half of this, and models read all
/// of it with each request.
pub(crate) const TOOL_DESCRIPTION_BYTES: usize = 4_096;

/// Time for testing a client's entry. Clients wait 10 to 60 seconds for a server; Forage takes a few
/// milliseconds.
pub(crate) const PROBE_TIME: Duration = Duration::from_secs(10);

/// Time for a client to list its servers. The slowest of those that we tried took 6 s on an idle machine.
pub(crate) const LISTING_TIME: Duration = Duration::from_secs(40);

/// Bytes that are kept of a client's list.
pub(crate) const LISTING_BYTES: u64 = 256 << 10;

/// Bytes of foreign output shown in the report of such a test.
pub(crate) const PROBE_SHOWN_BYTES: usize = 500;

/// Time for which the repositories that a token's holder may see in a collection are cached.
pub(crate) const REPOSITORIES_KEPT: Duration = Duration::from_secs(30);

/// Maximum bytes of a token file: about ten thousand tokens.
pub(crate) const TOKENS_FILE_BYTES: u64 = 4 << 20;

/// Maximum bytes of a token's name.
pub(crate) const TOKEN_NAME_BYTES: usize = 64;

/// Minimum time between two complaints that calls are not audited.
pub(crate) const AUDIT_COMPLAINT: Duration = Duration::from_secs(60);

/// Time for a store to answer when a load balancer checks if the server is ready.
pub(crate) const READINESS_TIME: Duration = Duration::from_secs(2);

/// Maximum calls in the queue to a journal.
pub(crate) const JOURNAL_WAITING: usize = 1_000;

/// Time for which a process waits for its journal when it ends.
pub(crate) const JOURNAL_END: Duration = Duration::from_millis(500);

/// Pause between two polls of the journal's queue.
pub(crate) const JOURNAL_PAUSE: Duration = Duration::from_millis(2);

/// Number of empty polls after which the journal thread sleeps until the next call.
pub(crate) const JOURNAL_LOOKS: u32 = 500;

/// Bytes after which a telemetry file or journal is rotated: about ten thousand calls.
pub(crate) const ROTATE_BYTES: u64 = 10 << 20;

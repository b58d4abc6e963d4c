//! Bounds of the command beside those of its libraries, with their units and reasons.

use std::time::Duration;

/// Time that a started server has to end by itself once nobody talks to it any more.
pub(crate) const SERVER_GRACE: Duration = Duration::from_millis(300);

/// Bytes of a line; a server that sends a longer one is not listened to any more.
pub(crate) const SERVER_LINE_BYTES: u64 = 4 << 20;

/// Bytes of what a server says on standard error that are kept, the last ones.
pub(crate) const SERVER_STDERR_BYTES: usize = 64 << 10;

/// Bytes of a line that is no message which are kept: more than is ever shown.
pub(crate) const SERVER_NOISE_BYTES: usize = 4 << 10;

/// Requests of a server's that are answered. One that asks on and on is not.
pub(crate) const SERVER_REQUESTS: usize = 1_000;

/// Bytes of the id of a server's request, which its answer repeats.
pub(crate) const SERVER_ID_BYTES: usize = 256;

/// Messages that wait for a server to take them. One that takes none is not spoken to any more.
pub(crate) const SERVER_UNTAKEN: usize = 64;

/// Bytes of an error that are taken. The agent shows fewer, and takes secrets out before it cuts.
pub(crate) const SERVER_ERROR_BYTES: usize = 20_000;

/// Servers of `ask.servers`.
pub(crate) const SERVERS: usize = 8;

/// Time for them to start, and to say what tools there are. `npx` may have to look a package up.
pub(crate) const SERVER_START: Duration = Duration::from_secs(20);

/// Pages of a list of tools that are asked for: one tool on each is still enough for all that are taken.
pub(crate) const SERVER_PAGES: usize = 64;

/// Tools that are taken of one server; a model reads all of them with each request.
pub(crate) const SERVER_TOOLS: usize = 32;

/// Bytes of all descriptions and schemas together.
pub(crate) const SERVER_LIST_BYTES: usize = 40_000;

/// Bytes of the description of a server's tool.
pub(crate) const SERVER_DESCRIPTION_BYTES: usize = 2_000;

/// Bytes of its schema.
pub(crate) const SERVER_SCHEMA_BYTES: usize = 16_000;

/// Bytes of the text of its result: no answer has more.
pub(crate) const SERVER_TEXT_BYTES: usize = 400_000;

/// Bytes of `ask.prompt_file`: a quarter of what a small model reads.
pub(crate) const ASK_PROMPT_BYTES: u64 = 32 << 10;

/// Characters of the line of progress on a terminal: one that wraps can't be redrawn.
pub(crate) const PROGRESS_WIDTH: usize = 79;

/// Characters of arguments in a line of the log of `ask`.
pub(crate) const PROGRESS_ARGUMENTS: usize = 160;

/// Questions of a conversation that are kept; the oldest go first.
pub(crate) const CONVERSATION_EXCHANGES: usize = 10;

/// Bytes of a conversation's file.
pub(crate) const CONVERSATION_BYTES: usize = 256 << 10;

/// Roots whose conversations are kept; the oldest go first.
pub(crate) const CONVERSATION_ROOTS: usize = 100;

/// Age from which on a conversation is over: nobody expects a trace of it to stay for ever.
pub(crate) const CONVERSATION_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Bytes of a recording: some thousand calls.
pub(crate) const RECORDING_BYTES: u64 = 256 << 20;

/// Bytes of a tool's description from the configuration: what some clients show of one is half of it, and models read all of
/// it with each request.
pub(crate) const TOOL_DESCRIPTION_BYTES: usize = 4_096;

/// Time to try a client's entry. Clients wait 10 to 60 seconds for a server; Forage takes some milliseconds.
pub(crate) const PROBE_TIME: Duration = Duration::from_secs(10);

/// Bytes of what others have written that are shown then.
pub(crate) const PROBE_SHOWN_BYTES: usize = 500;

/// The names of the repositories of a collection that the holder of a token may see are looked up again after so long.
pub(crate) const REPOSITORIES_KEPT: Duration = Duration::from_secs(30);

/// Bytes of a file of tokens: some ten thousand of them.
pub(crate) const TOKENS_FILE_BYTES: u64 = 4 << 20;

/// Bytes of the name of a token.
pub(crate) const TOKEN_NAME_BYTES: usize = 64;

/// How often is told at the most that calls are not on record.
pub(crate) const AUDIT_COMPLAINT: Duration = Duration::from_secs(60);

/// Time for a store to answer when whoever sends clients to a server asks whether it is ready.
pub(crate) const READINESS_TIME: Duration = Duration::from_secs(2);

/// Calls that wait to be written into a journal.
pub(crate) const JOURNAL_WAITING: usize = 1_000;

/// How long a process that ends waits for its journal.
pub(crate) const JOURNAL_END: Duration = Duration::from_millis(500);

/// Pause between two looks at whether there is something to be written into a journal.
pub(crate) const JOURNAL_PAUSE: Duration = Duration::from_millis(2);

/// Looks in vain after which nobody looks until there is a call.
pub(crate) const JOURNAL_LOOKS: u32 = 500;

/// Bytes after which another file is begun of telemetry, or of a journal: some ten thousand calls.
pub(crate) const ROTATE_BYTES: u64 = 10 << 20;

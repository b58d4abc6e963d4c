//! Limits of this crate, each with its unit and reason.

use std::time::Duration;

/// Maximum size of a response body, in bytes. The answer of a filter has a few KB, so a server that sends
/// more than 1 MiB is broken or hostile.
pub const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// Maximum size of a streamed answer, in bytes, including envelopes. A token of a few bytes arrives in an
/// event of about 300 bytes. This is therefore enough for an answer that reaches [`MAX_ANSWER_BYTES`] after
/// much reasoning.
pub const MAX_STREAM_BYTES: usize = 32 * 1024 * 1024;

/// Maximum size of an event in a streamed answer, in bytes. This also limits the length of a line. A single
/// event may contain a whole answer.
pub const MAX_EVENT_BYTES: usize = MAX_ANSWER_BYTES;

/// Maximum number of tool calls, and of blocks of any other kind, in one answer. A model that follows its
/// instructions makes about ten calls in a turn.
pub const MAX_ANSWER_BLOCKS: usize = 512;

/// Maximum size of one page of a model list, in bytes. The longest known lists have a description and prices
/// for each model, and take a few MB.
pub const MAX_LISTING_BYTES: usize = 8 * 1024 * 1024;

/// Number of models per page of a paginated list. This is the maximum that the providers allow.
pub const LISTING_PAGE: usize = 1000;

/// Maximum number of pages of a list. A server that sends more is broken or hostile.
pub const MAX_LISTING_PAGES: usize = 10;

/// Maximum size of an error body, in bytes. Only [`MAX_SERVER_MESSAGE_CHARS`] of it can be shown.
pub const MAX_ERROR_BODY_BYTES: usize = 16 * 1024;

/// Size of one read from a response body, in bytes. This is small enough to stop soon after a limit, and
/// large enough that an ordinary answer takes one read.
pub const BODY_PIECE_BYTES: usize = 16 * 1024;

/// Maximum length of a server's own message in an error, in characters. This is enough for a reason but too
/// little to echo the request.
pub const MAX_SERVER_MESSAGE_CHARS: usize = 300;

/// Minimum length, in characters, of text shared by a server message and the request that counts as a
/// quotation. We withhold such a message. Shorter common texts occur by chance, for example model names and
/// common words.
pub const QUOTED_REQUEST_CHARS: usize = 24;

/// Minimum length, in characters, of text shared by a server message and the key that counts as a leak.
/// Providers echo keys with all but a few characters masked, and we may show those few.
pub const QUOTED_KEY_CHARS: usize = 8;

/// Maximum number of models chosen for one request. We ask each one if the one before it fails, the best
/// model of each provider first. If eight in a row fail, the cause must be the network.
pub const MAX_MODELS_PER_CALL: usize = 8;

/// Number of retries of the same model after a retryable error. One retry handles a brief failure, and more
/// would take time from the next model.
pub const RETRIES_PER_MODEL: usize = 1;

/// Maximum pause that a server may request. No call lasts that long.
pub const MAX_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// Pause before a retry if the server requests none. This is long enough for a load balancer to choose
/// another machine, and too short to be noticed.
pub const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Maximum number of models in a list. Gateways have a few hundred.
pub const MAX_LISTED_MODELS: usize = 10_000;

/// Maximum length of the id of a listed model, in bytes. No real id is longer.
pub const MAX_MODEL_ID_BYTES: usize = 200;

/// Maximum time for all model lists of one choice together. A list takes one round trip, and a search waits
/// for it.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum time for the model list of a server on this machine, which answers from memory. Anything slower is
/// another program on that port, and must not delay searches.
pub const LOCAL_LIST_TIMEOUT: Duration = Duration::from_millis(500);

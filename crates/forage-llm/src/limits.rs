//! Every limit of this crate, with its unit and its reason.

use std::time::Duration;

/// Largest response body that is read, in bytes. A filter answer is a few KB; a server that sends more than
/// 1 MiB is broken or hostile.
pub const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// Most bytes of a streamed answer that are read, envelopes included. A token of a few bytes comes in an event of
/// about 300, so this is enough for an answer that reaches [`MAX_ANSWER_BYTES`] after much reasoning.
pub const MAX_STREAM_BYTES: usize = 32 * 1024 * 1024;

/// Largest event of a streamed answer, in bytes; its lines are bounded by it too. An event may hold a whole answer.
pub const MAX_EVENT_BYTES: usize = MAX_ANSWER_BYTES;

/// Most calls of tools, and most blocks of any other kind, in one answer. A model that follows its instructions makes
/// some ten calls in a turn.
pub const MAX_ANSWER_BLOCKS: usize = 512;

/// Largest list of models that is read, in bytes per page. The longest known ones have a description and prices per
/// model and come to some MB.
pub const MAX_LISTING_BYTES: usize = 8 * 1024 * 1024;

/// Models per page of a list, where it has pages: the most that the providers with pages allow.
pub const LISTING_PAGE: usize = 1000;

/// Most pages of a list that are read. Beyond it a server is broken or hostile.
pub const MAX_LISTING_PAGES: usize = 10;

/// Largest error body that is read, in bytes. Only [`MAX_SERVER_MESSAGE_CHARS`] of it can be shown.
pub const MAX_ERROR_BODY_BYTES: usize = 16 * 1024;

/// Size of one read from a response body, in bytes: small enough to stop soon after a limit, large enough that
/// an ordinary answer takes one read.
pub const BODY_PIECE_BYTES: usize = 16 * 1024;

/// Longest excerpt of a server's own message in an error, in characters. Enough for a reason, too little for
/// an echo of the request.
pub const MAX_SERVER_MESSAGE_CHARS: usize = 300;

/// Length, in characters, from which text shared by a server message and the request counts as a quotation, so
/// that the message is withheld. Shorter runs are shared by chance (model names, common words).
pub const QUOTED_REQUEST_CHARS: usize = 24;

/// Length, in characters, from which text shared by a server message and the key counts as a leak of the key.
/// Providers echo keys with all but a few characters masked; those few may stay.
pub const QUOTED_KEY_CHARS: usize = 8;

/// Most models that are chosen for one request, each asked when the one before it fails: the best of each provider
/// first. More would only matter where eight in a row fail, and then the network does.
pub const MAX_MODELS_PER_CALL: usize = 8;

/// Retries of the same model after a retryable error. One rides out a hiccup; more would eat the time of the
/// next model.
pub const RETRIES_PER_MODEL: usize = 1;

/// Longest pause that a server is taken to ask for, in seconds. No call has that long.
pub const MAX_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// Pause before a retry when the server names none, in milliseconds: long enough for a load balancer to pick
/// another machine, short enough not to be noticed.
pub const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Shortest password that is redacted, in characters. Shorter values behind such names are nearly always words of code.
pub const MIN_PASSWORD_CHARS: usize = 6;

/// Shortest text with blanks that counts as a passphrase, in characters.
pub const MIN_PASSPHRASE_CHARS: usize = 16;

/// Shortest token behind a telling name, in characters, as in gitleaks' generic rule.
pub const MIN_TOKEN_CHARS: usize = 10;

/// Shortest token behind a name that may tell of something else, in characters.
pub const MIN_WEAK_CHARS: usize = 16;

/// Bits by which a value must be likelier drawn at random than written to count as a token. Of names in source code
/// 95 in 100 have less than 10, of random texts of ten characters one in 50, of 16 one in 1,000.
pub const MIN_RANDOM_BITS: f64 = 9.0;

/// Least Shannon entropy of an assigned token, in bits per character. It leaves repeated pieces alone; what is random is
/// decided by [`MIN_RANDOM_BITS`].
pub const MIN_SECRET_ENTROPY: f64 = 2.5;

/// Bytes behind its literal within which a form must be seen to match. The longest, tokens with claims inside, come to
/// some 1,500; what matches goes on to its end.
pub const MAX_FORM_BYTES: usize = 2048;

/// Literals of a rule that are looked at within characters without a gap, before only the last one is.
pub const MAX_LOOKS: usize = 16;

/// Longest value in a line of settings, in bytes.
pub const MAX_VALUE_BYTES: usize = 8 * 1024;

/// Most lines of one value: a key in a block of YAML has some 60.
pub const MAX_BLOCK_LINES: usize = 300;

/// Longest part of a value that entropy is computed over, in bytes. More would not change the verdict, and
/// the bound keeps hostile input linear.
pub const MAX_JUDGED_BYTES: usize = 512;

/// Most times that the redaction rules go over a text. A round in which nothing is found ends it; text without
/// secrets takes one round. A secret within the value of another needs two, and only hostile text more.
pub const MAX_REDACTION_ROUNDS: usize = 8;

/// Most models of a list. Gateways have some hundreds.
pub const MAX_LISTED_MODELS: usize = 10_000;

/// Longest id of a listed model, in bytes. Longer ones are no ids.
pub const MAX_MODEL_ID_BYTES: usize = 200;

/// Time for all model lists of a choice together, in seconds: a list takes a round trip, and a search waits for it.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(2);

/// Time for the list of a server on this machine, in milliseconds. It answers from memory; whatever takes longer is
/// something else that has the port, and must not hold up searches.
pub const LOCAL_LIST_TIMEOUT: Duration = Duration::from_millis(500);

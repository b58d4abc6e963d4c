//! Limits of the agent, each with its unit and reason. [`Limits`] holds those that a user can set.

use std::time::Duration;

/// Maximum number of turns of the model, including the answer. Published search agents explore for four to
/// six turns. Harder questions need a few more; beyond that, models repeat themselves.
pub const TURNS: usize = 8;

/// Maximum number of calls that we run in one turn. Models trained for parallel calls make up to eight.
pub const CALLS_PER_TURN: usize = 8;

/// Maximum number of calls that we run in a conversation: five full turns.
pub const CALLS: usize = 40;

/// Maximum size in bytes of the tool results in a conversation. This is about 100,000 tokens: the context of
/// common models minus the space that they need to answer.
pub const BYTES: usize = 320_000;

/// Maximum time for a whole question. A person waits this long for an answer that took eight model calls.
pub const TOTAL: Duration = Duration::from_secs(120);

/// Maximum time for one model call.
pub const MODEL_CALL: Duration = Duration::from_secs(60);

/// Maximum pause within a streamed answer before we give up on the model. Some models are silent while they
/// reason.
pub const MODEL_SILENCE: Duration = Duration::from_secs(45);

/// Maximum number of calls that run at the same time: all calls of a turn.
pub const PARALLEL: usize = CALLS_PER_TURN;

/// Divisor of the total time. The quotient is reserved for the answer.
pub const ANSWER_SHARE: u32 = 4;

/// Divisor of a conversation's bytes. The quotient is the maximum for all results of one turn together. A
/// full turn therefore never evicts its own results, and the turns before it stay readable.
pub const TURN_SHARE: usize = 4;

/// Maximum size in bytes of the directory listing at the start of a conversation.
pub const LISTING_BYTES: usize = 8_000;

/// Maximum time for that listing. It is optional: without it, the model can list files itself.
pub const LISTING_TIME: Duration = Duration::from_secs(3);

/// Maximum size in bytes of a question.
pub const QUESTION_BYTES: usize = 16 << 10;

/// Maximum number of tokens in one answer of the model, including its reasoning.
pub const ANSWER_TOKENS: u32 = 8_192;

/// Number of turns with the same call after which the model must answer, because it is going in circles.
pub const SAME_CALL_TURNS: usize = 3;

/// Maximum number of times that old results are evicted because a provider found the conversation too long.
pub const SHRINKS: usize = 4;

/// Maximum number of citations that we check in an answer.
pub const CITATIONS: usize = 200;

/// Maximum time for checking the citations. The files are usually in the page cache; only many large ones
/// take longer.
pub const CITATION_TIME: Duration = Duration::from_secs(5);

/// Maximum length in bytes of a cited path. This is the kernel's own limit: a longer text can't be a path,
/// and we would scan it again for each number in it.
pub const CITED_PATH_BYTES: usize = 4096;

/// Maximum number of bytes of a cited file that we decode at once. In a larger file, we count the line feeds
/// piece by piece.
pub const CITED_FILE_BYTES: usize = 16 << 20;

/// Maximum size in bytes of the earlier questions that a model gets; we leave out the oldest. This is a tenth
/// of the limit for results.
pub const EARLIER_BYTES: usize = 32_000;

/// Maximum size in bytes of an earlier answer that a later question gets.
pub const EXCHANGE_ANSWER_BYTES: usize = 16_000;

/// Maximum number of calls of an earlier answer that a later question gets.
pub const EXCHANGE_CALLS: usize = 40;

/// Maximum number of cited files of an earlier answer that we check again.
pub const EXCHANGE_FILES: usize = 50;

/// Maximum number of bytes of such a file that we hash.
pub const EXCHANGE_FILE_BYTES: usize = 4 << 20;

/// Maximum size in bytes of an error of a tool that is not ours.
pub const EXTERNAL_ERROR_BYTES: usize = 2_000;

/// Maximum number of characters of arguments, and of the first line of a result, in a text transcript.
pub const SHOWN_BYTES: usize = 160;

/// The limits of a conversation that a user can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// See [`TURNS`].
    pub turns: usize,
    /// See [`CALLS_PER_TURN`].
    pub calls_per_turn: usize,
    /// See [`CALLS`].
    pub calls: usize,
    /// See [`BYTES`].
    pub bytes: usize,
    /// See [`TOTAL`].
    pub total: Duration,
    /// See [`MODEL_CALL`].
    pub model_call: Duration,
    /// See [`PARALLEL`]; 1 runs the calls of a turn one at a time.
    pub parallel: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: TURNS,
            calls_per_turn: CALLS_PER_TURN,
            calls: CALLS,
            bytes: BYTES,
            total: TOTAL,
            model_call: MODEL_CALL,
            parallel: PARALLEL,
        }
    }
}

//! Every bound of the agent, with its unit and its reason. [`Limits`] holds those that a user may change.

use std::time::Duration;

/// Turns of the model, the answer included. Published search agents explore for four to six turns; harder questions
/// need a few more, and beyond that models repeat themselves.
pub const TURNS: usize = 8;

/// Calls of one turn that are run. Models that are trained for parallel calls make up to eight.
pub const CALLS_PER_TURN: usize = 8;

/// Calls of a conversation that are run: five full turns.
pub const CALLS: usize = 40;

/// Bytes of tool results that a conversation holds: some 100,000 tokens, which is the context of common models less
/// what they need to answer.
pub const BYTES: usize = 320_000;

/// Time for everything. A person waits that long for an answer that took eight calls to a model.
pub const TOTAL: Duration = Duration::from_secs(120);

/// Time for one call to a model.
pub const MODEL_CALL: Duration = Duration::from_secs(60);

/// Silence within a streamed answer after which the model is given up. Some say nothing while they reason.
pub const MODEL_SILENCE: Duration = Duration::from_secs(45);

/// Calls that run at the same time, if the turn has as many.
pub const PARALLEL: usize = CALLS_PER_TURN;

/// The part of the whole time that is kept for the answer: one over this.
pub const ANSWER_SHARE: u32 = 4;

/// The part of a conversation's bytes that the results of one turn may take together: one over this. So a full turn
/// never pushes itself out, and the turns before it stay readable.
pub const TURN_SHARE: usize = 4;

/// Bytes of the listing that a conversation begins with.
pub const LISTING_BYTES: usize = 8_000;

/// Time for that listing. It is a help; without it the model lists for itself.
pub const LISTING_TIME: Duration = Duration::from_secs(3);

/// Bytes of a question.
pub const QUESTION_BYTES: usize = 16 << 10;

/// Tokens of one answer of the model, its reasoning included.
pub const ANSWER_TOKENS: u32 = 8_192;

/// Turns in which the same call is asked for until the model is told to answer: it goes in circles.
pub const SAME_CALL_TURNS: usize = 3;

/// Times that old results make room because a provider found the conversation too long.
pub const SHRINKS: usize = 4;

/// Citations of an answer that are checked.
pub const CITATIONS: usize = 200;

/// Time for checking them. Files come from the page cache; only many large ones take longer.
pub const CITATION_TIME: Duration = Duration::from_secs(5);

/// Bytes of a path that is cited, the kernel's limit: what is longer is none, and is not looked at again for each number in
/// it.
pub const CITED_PATH_BYTES: usize = 4096;

/// Bytes of a cited file that are decoded at once; the line feeds of a larger one are counted piece by piece.
pub const CITED_FILE_BYTES: usize = 16 << 20;

/// Bytes of what a model is told of earlier questions; the oldest are left out. A tenth of what results may have.
pub const EARLIER_BYTES: usize = 32_000;

/// Bytes of an answer that a later question goes on from.
pub const EXCHANGE_ANSWER_BYTES: usize = 16_000;

/// Calls that are told of it.
pub const EXCHANGE_CALLS: usize = 40;

/// Files that it cites and that are looked at again.
pub const EXCHANGE_FILES: usize = 50;

/// Bytes of such a file that its hash is of.
pub const EXCHANGE_FILE_BYTES: usize = 4 << 20;

/// Bytes of an error of a tool that is not ours.
pub const GUEST_ERROR_BYTES: usize = 2_000;

/// Bytes of arguments, and of the first line of a result, that a transcript in text shows.
pub const SHOWN_BYTES: usize = 160;

/// The limits of a conversation that a user may change.
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
    /// See [`PARALLEL`]; 1 runs the calls of a turn one after the other.
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

//! What every model speaks, whatever its wire protocol: request, answer, budget.

use std::fmt;
use std::time::{Duration, Instant};

use crate::error::ChatError;
use crate::redact::Redacted;

/// One question to a model. Both texts are [`Redacted`], so that nothing else can reach a socket.
#[derive(Debug, Clone)]
pub struct ChatRequest {
    /// Instructions of the system role.
    pub system: Redacted,
    /// The user's message: evidence and query.
    pub user: Redacted,
    /// Most tokens that the model may answer with, its reasoning included.
    pub max_output_tokens: u32,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatAnswer {
    /// The answer's text without reasoning, trimmed, never empty. It is untrusted.
    pub text: String,
    /// The provider that answered.
    pub provider: String,
    /// The model id that was asked for.
    pub model: String,
    /// Tokens used, when the provider reported them.
    pub usage: Option<Usage>,
    /// Whether the answer is whole.
    pub finish: Finish,
    /// Wall time of this call, retries not included.
    pub elapsed: Duration,
}

/// Tokens of one call as the provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the request that the provider had in its cache; 0 when it does not say.
    pub cached_input_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub output_tokens: u64,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It had said everything.
    Complete,
    /// It ran into the output limit; the text may end in the middle.
    Length,
    /// Anything else, also when the provider gives no reason or an unknown one.
    Other,
}

/// A model that can be asked. Implementations block the calling thread.
pub trait ChatModel: Send + Sync {
    /// `provider/model`.
    fn name(&self) -> String;

    /// Asks once, without retries.
    ///
    /// # Errors
    /// [`ChatError`]; it holds neither a key nor text of the request. By the budget's deadline the call has
    /// returned, and a cancelled call returns within about 50 ms.
    fn complete(&self, request: &ChatRequest, budget: &CallBudget<'_>) -> Result<ChatAnswer, ChatError>;
}

/// How long a call may take, and a way to end it earlier.
#[derive(Clone, Copy)]
pub struct CallBudget<'a> {
    /// The instant by which the call must have returned.
    pub deadline: Instant,
    /// Tells whether the caller has given up. It is asked every few milliseconds, from more than one thread,
    /// and must not block.
    pub cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// Why a budget ended a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The caller gave up.
    Cancelled,
    /// The deadline passed.
    Deadline,
}

impl CallBudget<'static> {
    /// A budget that only the deadline ends.
    pub fn until(deadline: Instant) -> Self {
        fn never() -> bool {
            false
        }
        Self { deadline, cancelled: &never }
    }
}

impl CallBudget<'_> {
    /// Tells whether to go on. Cancellation wins over the deadline.
    ///
    /// # Errors
    /// [`Stop`] with the reason to end.
    pub fn check(&self) -> Result<(), Stop> {
        if (self.cancelled)() {
            Err(Stop::Cancelled)
        } else if Instant::now() >= self.deadline {
            Err(Stop::Deadline)
        } else {
            Ok(())
        }
    }

    /// Time left until the deadline; zero after it.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

impl fmt::Debug for CallBudget<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CallBudget").field("remaining", &self.remaining()).finish_non_exhaustive()
    }
}

//! Errors of calls to a model.

use std::time::Duration;

use forage_base::{Stopped, count};
use forage_http::ConnectHalt;
use thiserror::Error;

use crate::chat::Usage;
use crate::finish::Finish;

/// A failed call. Every message must begin with `provider/model` and say what to do next.
///
/// No variant contains a key or text of the request. Text from the server is sanitized and limited to
/// [`MAX_SERVER_MESSAGE_CHARS`](crate::limits::MAX_SERVER_MESSAGE_CHARS) characters.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ChatError {
    /// The provider rejected the key (401, 403, or Gemini's 400 for an invalid key).
    #[error("{model}: the provider refused the key (HTTP {status}); check the key set for this provider")]
    Unauthorized {
        /// `provider/model`.
        model: String,
        /// HTTP status.
        status: u16,
    },
    /// The account has no credit left (402, or a 429 that says so).
    #[error(
        "{model}: the account has no credit or quota left (HTTP {status}); top it up or use another provider"
    )]
    OutOfCredit {
        /// `provider/model`.
        model: String,
        /// HTTP status.
        status: u16,
    },
    /// Too many requests (429).
    #[error(
        "{model}: rate limited{}; try again later or configure a second model",
        after(*retry_after)
    )]
    RateLimited {
        /// `provider/model`.
        model: String,
        /// The pause that the server requested.
        retry_after: Option<Duration>,
    },
    /// The provider failed (5xx, 408).
    #[error("{model}: the provider failed (HTTP {status}); try again later or configure a second model")]
    Server {
        /// `provider/model`.
        model: String,
        /// HTTP status.
        status: u16,
        /// The pause that the server requested.
        retry_after: Option<Duration>,
    },
    /// The provider does not have this model, or the model does not support the request (404, 410, or a 400
    /// that says so).
    #[error(
        "{model}: this model can't be used (HTTP {status}): {message}; check model id and base_url, or choose another model"
    )]
    ModelUnusable {
        /// `provider/model`.
        model: String,
        /// HTTP status.
        status: u16,
        /// The server's reason, sanitized.
        message: String,
    },
    /// The request exceeds the model's context (413, or a 400 that says so).
    #[error(
        "{model}: the request is larger than the model's context (HTTP {status}): {message}; send less, or choose a model with a larger context"
    )]
    ContextOverflow {
        /// `provider/model`.
        model: String,
        /// HTTP status.
        status: u16,
        /// The server's reason, sanitized.
        message: String,
    },
    /// The provider rejected the request (any other 4xx).
    #[error(
        "{model}: the provider rejected the request (HTTP {status}): {message}; check model id and base_url"
    )]
    BadRequest {
        /// `provider/model`.
        model: String,
        /// HTTP status.
        status: u16,
        /// The server's reason, sanitized.
        message: String,
    },
    /// We could not connect. No byte of the request was sent.
    #[error("{model}: cannot connect: {why}; check base_url and the network, or start the server")]
    Unreachable {
        /// `provider/model`.
        model: String,
        /// The cause reported by the system or TLS, sanitized.
        why: String,
    },
    /// The connection was lost while we sent the request or read the answer, or a streamed answer ended
    /// without a finish reason.
    #[error("{model}: the connection was lost before the answer was complete; try again")]
    ConnectionLost {
        /// `provider/model`.
        model: String,
    },
    /// The deadline has passed.
    #[error("{model}: no answer by the deadline; allow more time or choose a faster model")]
    DeadlineExceeded {
        /// `provider/model`.
        model: String,
    },
    /// Before the deadline, a streamed answer paused for longer than the budget allows.
    #[error("{model}: no data for {:.1} s; try again or choose another model", idle.as_secs_f64())]
    Stalled {
        /// `provider/model`.
        model: String,
        /// The pause that was exceeded.
        idle: Duration,
    },
    /// The caller has cancelled the call.
    #[error("{model}: cancelled; call again if you still need the answer")]
    Cancelled {
        /// `provider/model`.
        model: String,
    },
    /// The body of the answer is larger than the limit.
    #[error(
        "{model}: the answer is larger than {}; check that base_url is the address of a chat model",
        count(*limit as u64, "byte")
    )]
    AnswerTooLarge {
        /// `provider/model`.
        model: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The answer does not follow the protocol.
    #[error("{model}: unusable answer: {why}; check that base_url speaks this protocol")]
    BadAnswer {
        /// `provider/model`.
        model: String,
        /// The problem, without quoting the answer.
        why: String,
    },
    /// A recording could not be written, or it has no answer to this request. In the second case we have sent
    /// nothing.
    #[error("{model}: {why}")]
    Recording {
        /// `provider/model`.
        model: String,
        /// The problem and how to solve it. The request is identified by its digest.
        why: String,
    },
    /// There was no answer from a model that we call indirectly, for example through the client of a server.
    #[error("{model}: no answer: {why}")]
    Declined {
        /// `provider/model`.
        model: String,
        /// The reason, sanitized, and what to do next.
        why: String,
    },
    /// The answer contains neither text outside of reasoning nor a call.
    #[error("{model}: the answer is empty{}", advice(*finish))]
    EmptyAnswer {
        /// `provider/model`.
        model: String,
        /// The reason why the model stopped.
        finish: Finish,
        /// Tokens, if known.
        usage: Option<Usage>,
        /// Cost in US dollars, if known.
        cost_usd: Option<f64>,
    },
}

fn after(pause: Option<Duration>) -> String {
    pause.map(|pause| format!(" for {:.1} s", pause.as_secs_f64())).unwrap_or_default()
}

fn advice(finish: Finish) -> &'static str {
    match finish {
        Finish::Length => "; its reasoning used up the output limit, so raise the limit",
        Finish::Refused => "; the model refused, so rephrase the request or choose another model",
        Finish::Complete | Finish::ToolCalls | Finish::Other => "; try again or choose another model",
    }
}

impl ChatError {
    /// Returns true if the same request to the same model may succeed soon.
    ///
    /// An unreachable server should not be retried, because every address has already failed. A stalled
    /// server should not be retried either: it has used its time.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Server { .. } | Self::ConnectionLost { .. })
    }

    /// Returns true if the budget has ended the call, so that we must not try another model either.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Cancelled { .. } | Self::DeadlineExceeded { .. })
    }

    /// Returns true if no model of this provider will answer until the user changes something. The key is
    /// rejected, the credit is used up, or the provider is unreachable.
    pub fn rules_out_provider(&self) -> bool {
        matches!(self, Self::Unauthorized { .. } | Self::OutOfCredit { .. } | Self::Unreachable { .. })
    }

    /// The pause that the server requested, if any.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Server { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Creates the error for a call that was ended by its budget.
    pub fn stopped(model: String, stopped: Stopped) -> Self {
        match stopped {
            Stopped::Cancelled => Self::Cancelled { model },
            Stopped::Deadline => Self::DeadlineExceeded { model },
        }
    }

    /// Creates the error for a call that had to end while it was connecting or reading the answer.
    pub(crate) fn halted(model: String, halt: ConnectHalt) -> Self {
        match halt {
            ConnectHalt::Stopped(stopped) => Self::stopped(model, stopped),
            ConnectHalt::Idle(idle) => Self::Stalled { model, idle },
        }
    }
}

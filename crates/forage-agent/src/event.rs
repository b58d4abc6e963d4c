//! Events during a conversation, for observers.

use std::time::Duration;

use forage_llm::Usage;

/// An event in a conversation. Its texts come from models and files, so observers must sanitize them before
/// display.
#[derive(Debug)]
pub enum AgentEvent<'a> {
    /// A model is asked.
    Asking {
        /// The turn, counted from 1.
        turn: usize,
        /// Maximum number of turns in the conversation.
        turns: usize,
        /// The model as `provider/model`.
        model: &'a str,
        /// True if the model must answer now.
        last: bool,
    },
    /// A piece of the model's text, while it is being written.
    Text(&'a str),
    /// A model has responded.
    Said {
        /// Number of calls that the model requests.
        calls: usize,
        /// Token usage, if known.
        usage: Option<Usage>,
        /// Cost in US dollars, if the price is known.
        cost_usd: Option<f64>,
        /// Wall time.
        elapsed: Duration,
    },
    /// A model failed.
    Failed {
        /// The error.
        error: &'a str,
        /// The reaction to the error, for example which model continues.
        then: &'a str,
    },
    /// A call has started.
    CallStarted {
        /// Number of the call in the conversation, counted from 1.
        number: usize,
        /// The tool.
        tool: &'a str,
        /// The arguments as JSON.
        arguments: &'a str,
    },
    /// A call has ended.
    CallEnded {
        /// See [`AgentEvent::CallStarted`].
        number: usize,
        /// The tool.
        tool: &'a str,
        /// Size of the result in bytes.
        bytes: usize,
        /// Wall time.
        elapsed: Duration,
        /// The error, if the call failed.
        error: Option<&'a str>,
    },
    /// The oldest results were evicted from the conversation.
    MadeRoom {
        /// Number of evicted results.
        results: usize,
    },
}

/// A function that receives every event. Parallel calls report from their own threads.
pub type EventListener<'a> = &'a (dyn Fn(&AgentEvent<'_>) + Sync);

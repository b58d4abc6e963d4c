//! What happens in a conversation, for whoever watches.

use std::time::Duration;

use forage_llm::Usage;

/// Something happened. Texts in it come from models and files: whoever shows them makes them fit for that.
#[derive(Debug)]
pub enum AgentEvent<'a> {
    /// A model is asked.
    Asking {
        /// The turn, counted from 1.
        turn: usize,
        /// Most turns of the conversation.
        turns: usize,
        /// `provider/model`.
        model: &'a str,
        /// It is told to answer now.
        last: bool,
    },
    /// A piece of its text, while it is written.
    Text(&'a str),
    /// A model said something.
    Said {
        /// Calls that it wants made.
        calls: usize,
        /// Tokens, where they are known.
        usage: Option<Usage>,
        /// US dollars, where the price is known.
        cost_usd: Option<f64>,
        /// Wall time.
        elapsed: Duration,
    },
    /// A model failed, and what is done about it.
    Failed {
        /// What went wrong.
        error: &'a str,
        /// What is done about it.
        then: &'a str,
    },
    /// A tool begins.
    CallStarted {
        /// Number of the call in the conversation, counted from 1.
        number: usize,
        /// The tool.
        tool: &'a str,
        /// Its arguments as JSON.
        arguments: &'a str,
    },
    /// A tool has ended.
    CallEnded {
        /// See [`AgentEvent::CallStarted`].
        number: usize,
        /// The tool.
        tool: &'a str,
        /// Bytes of its result.
        bytes: usize,
        /// Wall time.
        elapsed: Duration,
        /// Why it failed, if it did.
        error: Option<&'a str>,
    },
    /// The oldest results were taken out of the conversation.
    MadeRoom {
        /// How many.
        results: usize,
    },
}

/// A function that is told of every event. Calls that run in parallel report from their own threads.
pub type EventListener<'a> = &'a (dyn Fn(&AgentEvent<'_>) + Sync);

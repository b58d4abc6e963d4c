//! The agent: answers a question about a repository with the tools.
//!
//! A model is shown the question and the tools, calls them, several at a time, reads the results and answers. Everything
//! that it is shown from files is redacted and fenced; its budget of turns, calls, bytes and time is told to it with
//! each request; what it cites is checked against the disk. It ends by its deadline, whatever models and tools do, with
//! what is known by then.
//!
//! - [`Agent`]: what an agent is made of, and [`Agent::ask`]. The loop itself is in `session`.
//! - [`Limits`]: what a user may bound, with the defaults and their reasons in [`limits`].
//! - [`Event`]: what happens on the way, for whoever watches.
//! - [`Transcript`]: what came of it, as records and as text.

mod arguments;
mod border;
mod budget;
mod citation;
mod conversation;
mod event;
mod executor;
pub mod limits;
mod memory;
mod prompt;
mod session;
mod speaker;
mod transcript;
mod turn;

use std::sync::Arc;

use forage_llm::ChatModel;
use forage_tools::registry::{AnyTool, Choice, advertised};
use forage_tools::{Context, FilterMode, ToolError};

pub use budget::LastTurn;
pub use citation::Citation;
pub use event::{Event, Watch};
pub use limits::Limits;
pub use transcript::{Call, Ended, Transcript, Turn};

/// An agent. One agent can be asked many questions, one after the other or at the same time.
#[derive(Clone)]
pub struct Agent {
    /// Who is asked, in order of preference. The second goes on when the first fails.
    pub models: Vec<Arc<dyn ChatModel>>,
    /// What the models may call.
    pub tools: Vec<&'static dyn AnyTool>,
    /// Roots, limits and settings of the tools. Its redactor is the conversation's, too, and its `stop` ends it.
    pub context: Context,
    /// Bounds of a conversation.
    pub limits: Limits,
    /// Whether answers are read while they are written. What is answered is the same; [`Event::Text`] comes of it.
    pub streams: bool,
    /// Whether the same question about the same tree makes the same requests, so that they can be replayed: the fence
    /// is computed from the question instead of drawn, and the model is not told the seconds that are left.
    pub repeatable: bool,
}

/// Why a question is not asked at all.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is nobody to ask.
    #[error("no model is configured that could answer")]
    NoModel,
    /// There is nothing to ask.
    #[error("the question is empty; say in a sentence what you want to know about the repository")]
    NoQuestion,
    /// It is no question any more.
    #[error(
        "the question has {bytes} bytes, over the limit of {most}; shorten it, and name files instead of quoting them"
    )]
    LongQuestion {
        /// Its bytes.
        bytes: usize,
        /// The limit.
        most: usize,
    },
}

impl Agent {
    /// An agent with the default limits.
    pub fn new(models: Vec<Arc<dyn ChatModel>>, tools: Vec<&'static dyn AnyTool>, context: Context) -> Self {
        Self { models, tools, context, limits: Limits::default(), streams: false, repeatable: false }
    }

    /// Answers a question. Blocks until there is an answer, the time is up or `context.stop` is cancelled.
    ///
    /// # Errors
    /// [`AskError`] when nothing was asked. Whatever goes wrong later is told by the transcript.
    pub fn ask(&self, question: &str, watch: Watch<'_>) -> Result<Transcript, AskError> {
        let (bytes, most) = (question.len(), limits::QUESTION_BYTES);
        if question.trim().is_empty() {
            return Err(AskError::NoQuestion);
        }
        if bytes > most {
            return Err(AskError::LongQuestion { bytes, most });
        }
        if self.models.is_empty() {
            return Err(AskError::NoModel);
        }
        Ok(session::run(self, question.trim(), watch))
    }
}

/// The tools that an agent is given: those that agents are told of, less `keyword_search` where nobody could filter its
/// results.
///
/// # Errors
/// Two of them have one name.
pub fn usable_tools(context: &Context, mut choice: Choice) -> Result<Vec<&'static dyn AnyTool>, ToolError> {
    if context.filter.mode != FilterMode::Lexical && context.filter.models.is_empty() {
        choice.off.push("keyword_search");
    }
    advertised(&choice)
}

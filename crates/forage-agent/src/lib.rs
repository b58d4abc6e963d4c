//! The agent: answers a question about a repository with the tools.
//!
//! A model is shown the question and the tools, calls them, several at a time, reads the results and answers. Everything
//! that it is shown from files is redacted and fenced; its budget of turns, calls, bytes and time is told to it with
//! each request; what it cites is checked against the disk. It ends by its deadline, whatever models and tools do, with
//! what is known by then.
//!
//! - [`Agent`]: what an agent is made of, and [`Agent::ask`]. The loop itself is in `session`.
//! - [`Limits`]: what a user may bound, with the defaults and their reasons in [`limits`].
//! - [`AgentEvent`]: what happens on the way, for whoever watches.
//! - [`Transcript`]: what came of it, as records and as text.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use forage_agent::{Agent, usable_tools};
//! use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
//! use forage_llm::{Endpoint, EndpointSettings, Wire};
//! use forage_tools::registry::{AnyTool, ToolSelection};
//! use forage_tools::{Answer, Context, ToolError};
//! use serde_json::{Value, json};
//!
//! /// A tool of this program, beside Forage's own.
//! struct Tickets;
//!
//! impl AnyTool for Tickets {
//!     fn name(&self) -> &str {
//!         "tickets"
//!     }
//!     fn title(&self) -> &str {
//!         "Look a ticket up"
//!     }
//!     fn description(&self) -> &str {
//!         "Returns what a ticket says, by its number."
//!     }
//!     fn input_schema(&self) -> Value {
//!         json!({"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]})
//!     }
//!     fn call(&self, _: &Context, request: Value) -> Result<Answer, ToolError> {
//!         Ok(Answer::of_text(format!("Ticket {}: retries are never counted.", request["number"])))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let root = Root::open(".".as_ref(), &RootPolicy::default(), SecretPolicy::standard(&[]))?;
//! let context = Context::new(Roots::new(vec![root], RelPath::root())?);
//! let model = Wire::OpenAiChat.client(Endpoint::new(EndpointSettings::new("local", "http://localhost:11434/v1", "qwen3"))?);
//! let mut agent = Agent::new(vec![model], usable_tools(&context, ToolSelection::default())?, context);
//! agent.add_tool(Arc::new(Tickets))?;
//! let transcript = agent.ask("Where would ticket 7 be mended?", &|_| ())?;
//! println!("{}", transcript.text());
//! # Ok(())
//! # }
//! ```

mod arguments;
mod border;
mod budget;
mod citation;
mod conversation;
mod earlier;
mod event;
mod executor;
mod guest;
pub mod limits;
mod memory;
mod prompt;
mod session;
mod speaker;
mod transcript;
mod turn;

use std::sync::Arc;

use forage_llm::ChatModel;
use forage_tools::registry::{AnyTool, ToolSelection, advertised, is_name, shared};
use forage_tools::{Context, FilterMode, Manner, Plain, ToolError};

pub use budget::LastTurn;
pub use citation::Citation;
pub use earlier::{CitedFile, EarlierExchange};
pub use event::{AgentEvent, EventListener};
use guest::Guest;
pub use limits::Limits;
pub use transcript::{ToolCallRecord, Transcript, Turn, TurnEnd};

/// An agent. One agent can be asked many questions, one after the other or at the same time.
#[derive(Clone)]
pub struct Agent {
    /// The models that are asked, in order of preference. The next one goes on when one fails.
    pub models: Vec<Arc<dyn ChatModel>>,
    /// The tools that the models may call. A program's own tools come by [`Agent::add_tool`].
    pub tools: Vec<Arc<dyn AnyTool>>,
    /// Roots, limits and settings of the tools. Its redactor is the conversation's, too, and its `stop` ends it.
    pub context: Context,
    /// The words in which they are told of what can be done about an error.
    pub manner: &'static dyn Manner,
    /// The text that tells the models of their work in place of what is built in: a template, in which `{grep_search}`
    /// stands for what that tool is called. What tells data from instructions stands behind it always.
    pub prompt: Option<Arc<str>>,
    /// Bounds of a conversation.
    pub limits: Limits,
    /// Whether answers are read while they are written. What is answered is the same; [`AgentEvent::Text`] comes of it.
    pub streams: bool,
    /// Whether the same question about the same tree makes the same requests, so that they can be replayed: the fence
    /// is computed from the question instead of drawn, and the model is not told the seconds that are left.
    pub repeatable: bool,
}

/// The reasons for which a question is not asked at all.
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
    pub fn new(models: Vec<Arc<dyn ChatModel>>, tools: Vec<Arc<dyn AnyTool>>, context: Context) -> Self {
        let limits = Limits::default();
        Self {
            models,
            tools,
            context,
            manner: &Plain,
            prompt: None,
            limits,
            streams: false,
            repeatable: false,
        }
    }

    /// Gives the models one more tool, of the program's own. What it answers is nobody's promise: it goes through the same
    /// border as files do, is cut at [`Context::text_bytes`], and is not waited for beyond the time of the tools, whatever
    /// the tool does.
    ///
    /// # Errors
    /// Its name is none that models take, or another tool has it.
    pub fn add_tool(&mut self, tool: Arc<dyn AnyTool>) -> Result<(), ToolError> {
        let name = tool.name().to_owned();
        if !is_name(&name) {
            return Err(ToolError::BadName { name: name.escape_debug().to_string(), key: "name".to_owned() });
        }
        let is_named = |other: &&Arc<dyn AnyTool>| {
            other.name() == name || other.id() == name || other.aliases().contains(&name.as_str())
        };
        if let Some(other) = self.tools.iter().find(is_named) {
            return Err(ToolError::SameName {
                first: other.id().to_owned(),
                second: name.clone(),
                keys: "`name`".to_owned(),
                name,
            });
        }
        self.tools.push(Arc::new(Guest::new(tool, &self.context.redactor)));
        Ok(())
    }

    /// Answers a question. Blocks until there is an answer, the time is up or `context.stop` is cancelled.
    ///
    /// # Errors
    /// [`AskError`] when nothing was asked. Whatever goes wrong later is told by the transcript.
    pub fn ask(&self, question: &str, watch: EventListener<'_>) -> Result<Transcript, AskError> {
        self.ask_after(&[], question, watch)
    }

    /// The same for a question that goes on from earlier ones, the oldest first. The models need not be those that
    /// answered them: they are told in words. What files those answers cite is looked at again, and what has changed is
    /// said.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn ask_after(
        &self,
        earlier: &[EarlierExchange],
        question: &str,
        watch: EventListener<'_>,
    ) -> Result<Transcript, AskError> {
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
        Ok(session::run(self, earlier, question.trim(), watch))
    }
}

/// The tools that an agent is given: those that agents are told of, less `keyword_search` where nobody could filter its
/// results.
///
/// # Errors
/// Two of them have one name.
pub fn usable_tools(
    context: &Context,
    mut choice: ToolSelection,
) -> Result<Vec<Arc<dyn AnyTool>>, ToolError> {
    if context.filter.mode != FilterMode::Lexical && context.filter.models.is_empty() {
        choice.off.push("keyword_search");
    }
    Ok(advertised(&choice)?.into_iter().filter_map(shared).collect())
}

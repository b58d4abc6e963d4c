//! The agent: answers questions about a repository with the tools.
//!
//! The model gets the question and the tools. It calls tools, several at a time, reads the results and
//! answers. All file contents that it sees are redacted and fenced. Each request states the remaining budget
//! of turns, calls, bytes and time, and we check the answer's citations against the disk. The agent always
//! ends by its deadline with the results known by then, whatever models and tools do.
//!
//! - [`Agent`]: the parts of an agent, and [`Agent::ask`]. The loop itself is in `session`.
//! - [`Limits`]: the limits that a user can set; [`limits`] has the defaults and their reasons.
//! - [`AgentEvent`]: events during a conversation, for observers.
//! - [`Transcript`]: the result, as records and as text.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use forage_agent::{Agent, usable_tools};
//! use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
//! use forage_llm::{Endpoint, EndpointSettings, Wire};
//! use forage_tools::registry::{AnyTool, ToolSelection};
//! use forage_tools::{Answer, Call, ToolError, ToolSpec, Workspace};
//! use serde_json::{Value, json};
//!
//! /// A tool of this program, in addition to Forage's own.
//! struct Tickets(ToolSpec);
//!
//! impl AnyTool for Tickets {
//!     fn spec(&self) -> &ToolSpec {
//!         &self.0
//!     }
//!     fn input_schema(&self) -> Value {
//!         json!({"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]})
//!     }
//!     fn call(&self, _: &Call, request: Value) -> Result<Answer, ToolError> {
//!         Ok(Answer::from_text(format!("Ticket {}: retries are never counted.", request["number"])))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let root = Root::open(".".as_ref(), &RootPolicy::default(), SecretPolicy::standard(&[]))?;
//! let workspace = Workspace::new(Roots::new(vec![root], RelPath::root())?);
//! let model = Wire::OpenAiChat.client(Endpoint::new(EndpointSettings::new("local", "http://localhost:11434/v1", "qwen3"))?);
//! let mut agent = Agent::new(vec![model], usable_tools(&workspace, ToolSelection::default())?, workspace);
//! let tickets = ToolSpec::new("tickets", "Look a ticket up", "Returns what a ticket says, by its number.");
//! agent.add_tool(Arc::new(Tickets(tickets)))?;
//! let transcript = agent.ask("Where would ticket 7 be mended?", &|_| ())?;
//! println!("{}", transcript.text());
//! # Ok(())
//! # }
//! ```

mod arguments;
mod budget;
mod citation;
mod conversation;
mod earlier;
mod event;
mod executor;
mod external_tool;
pub mod limits;
mod memory;
mod model_client;
mod prompt;
mod result_redactor;
mod session;
mod transcript;
mod turn;

use std::sync::Arc;

use forage_llm::ChatModel;
use forage_tools::registry::{AnyTool, ToolSelection, advertised, is_name, shared};
use forage_tools::{FilterMode, Phrasing, Plain, ToolError, Workspace};

pub use budget::LastTurn;
pub use citation::Citation;
pub use earlier::{CitedFile, EarlierExchange};
pub use event::{AgentEvent, EventListener};
use external_tool::ExternalTool;
pub use limits::Limits;
pub use transcript::{ToolCallRecord, Transcript, Turn, TurnEnd};

/// An agent. One agent can answer many questions, even at the same time.
#[derive(Clone)]
pub struct Agent {
    /// The models to ask, in order of preference. If one fails, the next one continues.
    pub models: Vec<Arc<dyn ChatModel>>,
    /// The tools that the models may call. Use [`Agent::add_tool`] for a program's own tools.
    pub tools: Vec<Arc<dyn AnyTool>>,
    /// Roots, limits and settings of the tools. The conversation uses its redactor, and cancelling its `stop`
    /// ends the conversation.
    pub workspace: Workspace,
    /// The wording of advice to the models about errors.
    pub phrasing: &'static dyn Phrasing,
    /// The system prompt to use instead of the built-in one. This is a template: for example, `{grep_search}`
    /// is replaced by that tool's name. The rules that separate data from instructions are always appended.
    pub prompt: Option<Arc<str>>,
    /// Limits of a conversation.
    pub limits: Limits,
    /// True to stream answers. The answers are the same, but streaming adds [`AgentEvent::Text`] events.
    pub streams: bool,
    /// True if the same question about the same tree should make the same requests so that recordings can be
    /// replayed. The fence is then computed from the question instead of drawn at random, and the model does
    /// not see the remaining seconds.
    pub repeatable: bool,
}

/// Reasons why a question is not asked at all.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is no model to ask.
    #[error("no usable model is configured to answer the question")]
    NoModel,
    /// The question is empty.
    #[error("the question is empty; say in a sentence what you want to know about the repository")]
    NoQuestion,
    /// The question is too long.
    #[error(
        "the question has {}, over the limit of {}; shorten it, and name files instead of quoting them",
        forage_base::count(*bytes as u64, "byte"),
        forage_base::grouped(*max as u64)
    )]
    LongQuestion {
        /// Size of the question in bytes.
        bytes: usize,
        /// The limit in bytes.
        max: usize,
    },
}

impl Agent {
    /// Creates an agent with the default limits.
    pub fn new(models: Vec<Arc<dyn ChatModel>>, tools: Vec<Arc<dyn AnyTool>>, workspace: Workspace) -> Self {
        let limits = Limits::default();
        Self {
            models,
            tools,
            workspace,
            phrasing: &Plain,
            prompt: None,
            limits,
            streams: false,
            repeatable: false,
        }
    }

    /// Adds a tool of the program's own. We do not trust its answers: they are redacted and fenced like file
    /// contents, and cut at the `text_bytes` of a call. Whatever the tool does, we do not wait for it beyond
    /// the time for tools.
    ///
    /// # Errors
    ///
    /// Fails if models do not accept the name, or another tool already has it.
    pub fn add_tool(&mut self, tool: Arc<dyn AnyTool>) -> Result<(), ToolError> {
        let name = tool.name().to_owned();
        if !is_name(&name) {
            return Err(ToolError::BadName { name: name.escape_debug().to_string(), key: "name".to_owned() });
        }
        let is_named = |other: &&Arc<dyn AnyTool>| {
            other.name() == name || other.id() == name || other.spec().aliases.contains(&name.as_str())
        };
        if let Some(other) = self.tools.iter().find(is_named) {
            return Err(ToolError::SameName {
                first: other.id().to_owned(),
                second: name.clone(),
                keys: "`name`".to_owned(),
                name,
            });
        }
        self.tools.push(Arc::new(ExternalTool::new(tool, &self.workspace.redactor)));
        Ok(())
    }

    /// Answers a question. Blocks until there is an answer, the time is up, or `workspace.stop` is cancelled.
    ///
    /// # Errors
    ///
    /// Fails with [`AskError`] if the question could not be asked. The transcript reports all later failures.
    pub fn ask(&self, question: &str, watch: EventListener<'_>) -> Result<Transcript, AskError> {
        self.ask_after(&[], question, watch)
    }

    /// Answers a question that follows earlier ones, given oldest first. The models read the earlier answers
    /// as text, so they need not be the models that gave them. We check the files that the earlier answers
    /// cite again, and notify the model of changes.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Self::ask`].
    pub fn ask_after(
        &self,
        earlier: &[EarlierExchange],
        question: &str,
        watch: EventListener<'_>,
    ) -> Result<Transcript, AskError> {
        let (bytes, max) = (question.len(), limits::QUESTION_BYTES);
        if question.trim().is_empty() {
            return Err(AskError::NoQuestion);
        }
        if bytes > max {
            return Err(AskError::LongQuestion { bytes, max });
        }
        if self.models.is_empty() {
            return Err(AskError::NoModel);
        }
        Ok(session::run(self, earlier, question.trim(), watch))
    }
}

/// Selects the tools for an agent: the advertised ones, without `keyword_search` if no model can filter its
/// results.
///
/// # Errors
///
/// Fails if two tools have the same name.
pub fn usable_tools(
    workspace: &Workspace,
    mut choice: ToolSelection,
) -> Result<Vec<Arc<dyn AnyTool>>, ToolError> {
    if workspace.filter.mode != FilterMode::Lexical && workspace.filter.models.is_empty() {
        choice.off.push("keyword_search");
    }
    Ok(advertised(&choice)?.into_iter().filter_map(shared).collect())
}

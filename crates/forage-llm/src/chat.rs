//! Requests, answers and budgets, shared by all wire protocols.

use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_redact::Redacted;
use serde_json::Value;

use crate::error::ChatError;
use crate::finish::Finish;

/// A chat request: the conversation so far. The model writes the next turn.
///
/// It consists only of text of the program itself, [`Redacted`] text, and a model's own output
/// ([`ModelTurn`]). Nothing else can reach a socket.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    /// Instructions in the system role.
    pub system: Redacted,
    /// The turns in order. The first one must be the user's.
    pub messages: Vec<ChatMessage>,
    /// The tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Whether the model may or must call a tool.
    pub tool_choice: ToolChoice,
    /// The schema for the text of the answer; [`AnswerShape`] says how it is used.
    pub answer_schema: Option<AnswerSchema>,
    /// Maximum number of tokens in the answer, including reasoning.
    pub max_output_tokens: u32,
}

impl ChatRequest {
    /// Creates a request with one question and no tools.
    pub fn question(system: Redacted, user: Redacted, max_output_tokens: u32) -> Self {
        Self { system, messages: vec![ChatMessage::User(user)], max_output_tokens, ..Self::default() }
    }

    /// Returns the request to send. It has either both the schema and the prompt text that asks for it, or
    /// neither.
    pub(crate) fn shaped(&self, shape: AnswerShape) -> Self {
        let mut request = self.clone();
        let schema = request.answer_schema.take().filter(|_| shape != AnswerShape::Text);
        let Some(schema) = schema else { return request };
        request.system.push(&Redacted::trusted(schema.ask));
        if shape == AnswerShape::Schema {
            request.answer_schema = Some(schema);
            return request;
        }
        request.tool_choice = ToolChoice::Answer(schema.name);
        request.tools.push(ToolDefinition {
            name: schema.name.to_owned(),
            description: ANSWER_TOOL.to_owned(),
            parameters: schema.schema,
        });
        request
    }

    /// Returns the name of the tool whose arguments are the answer.
    pub(crate) fn answer_tool(&self) -> Option<&'static str> {
        match self.tool_choice {
            ToolChoice::Answer(name) => Some(name),
            ToolChoice::Free | ToolChoice::None => None,
        }
    }

    /// Iterates over all texts that do not come from a model: first the system prompt, then those of the user
    /// and the tools.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.system.as_str()).chain(self.messages.iter().flat_map(ChatMessage::texts))
    }
}

/// A turn of a conversation.
#[derive(Debug, Clone)]
pub enum ChatMessage {
    /// The user, or the program on behalf of the user.
    User(Redacted),
    /// The model.
    Model(ModelTurn),
    /// Results of the previous turn's calls. There must be one for each call, in the same order.
    ToolResults(Vec<ToolResult>),
}

impl ChatMessage {
    fn texts(&self) -> Vec<&str> {
        match self {
            Self::User(text) => vec![text.as_str()],
            Self::Model(_) => Vec::new(),
            Self::ToolResults(results) => results.iter().map(|result| result.text.as_str()).collect(),
        }
    }
}

/// The text and the calls of one turn of a model. Only an answer can create it, so a model has always derived
/// its text from redacted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTurn {
    text: String,
    calls: Vec<ToolCall>,
    state: Option<ProviderState>,
}

impl ModelTurn {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// Returns the provider state to send back with this turn to `model` (`provider/model`) over the wire
    /// named `wire`. Returns `None` if the turn came from another wire or model.
    pub(crate) fn state(&self, wire: &str, model: &str) -> Option<&Value> {
        self.state
            .as_ref()
            .filter(|state| state.wire == wire && state.model == model)
            .map(|state| &state.value)
    }
}

/// Data that a provider wants back unchanged with a turn, e.g. signatures of its reasoning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderState {
    /// The wire protocol from which it came.
    pub(crate) wire: &'static str,
    /// The `provider/model` from which it came. Other models can't verify its signatures, and may reject
    /// unknown fields.
    pub(crate) model: String,
    pub(crate) value: Value,
}

/// A tool that a model may call.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// The tool's name: up to 64 letters, digits, `_` and `-`.
    pub name: String,
    /// A description for the model.
    pub description: String,
    /// The arguments, as a JSON schema of an object.
    pub parameters: Value,
}

/// Whether the model may or must call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Free,
    /// The model must answer in text now. We still declare the tools, because the conversation contains their
    /// results.
    None,
    /// The model must call this tool. Its arguments are the answer, and [`ChatAnswer::text`] contains them.
    Answer(&'static str),
}

/// A tool call that a model requests. All of it is untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Identifies the call in its result. This is never empty and is unique within its turn, even if the
    /// server's ids are not.
    pub id: String,
    /// The name of the tool. There may be no such tool.
    pub name: String,
    /// The arguments as the model wrote them. This is JSON if the model follows the protocol, and empty for a
    /// call without arguments.
    pub arguments: String,
}

/// The result of a tool call.
#[derive(Debug, Clone)]
pub struct ToolResult {
    /// The [`ToolCall::id`].
    pub call_id: String,
    /// The [`ToolCall::name`].
    pub name: String,
    /// The text for the model.
    pub text: Redacted,
    /// Whether the call failed.
    pub is_error: bool,
}

/// A JSON schema for an answer.
#[derive(Debug, Clone)]
pub struct AnswerSchema {
    /// A short name: letters, digits, `_` and `-`.
    pub name: &'static str,
    /// Text that asks for this shape. We append it to the system prompt if we send the schema. Empty if the
    /// prompt itself asks for the shape.
    pub ask: &'static str,
    /// The schema, in the subset that all providers support. It may consist of arrays, strings, integers,
    /// enums, and objects whose properties are all required and that allow no additional ones.
    pub schema: Value,
}

/// The description of the tool whose arguments are the answer.
const ANSWER_TOOL: &str =
    "Returns the answer. The arguments are the JSON object that the instructions ask for. Call it once.";

/// How we ask for an answer that has a schema. The order is that of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerShape {
    /// The endpoint enforces the schema.
    Schema,
    /// The model must call a tool whose parameters are the schema.
    Tool,
    /// Only the prompt describes the answer.
    #[default]
    Text,
}

/// A model's answer: text, calls, or both.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatAnswer {
    /// The text without reasoning, trimmed. It is untrusted. It is empty only if there are calls.
    pub text: String,
    /// The tool calls that the model requests.
    pub calls: Vec<ToolCall>,
    /// The provider that answered.
    pub provider: String,
    /// The requested model id.
    pub model: String,
    /// Tokens used, if the provider reported them.
    pub usage: Option<Usage>,
    /// The cost of the call in US dollars, if we know tokens and prices.
    pub cost_usd: Option<f64>,
    /// The reason why the model stopped, which shows whether the answer is complete.
    pub finish: Finish,
    /// How we asked for this answer.
    pub shape: AnswerShape,
    /// Wall time of this call, without retries.
    pub elapsed: Duration,
    pub(crate) state: Option<ProviderState>,
}

impl ChatAnswer {
    /// Creates a complete answer without calls and without usage, for models other than endpoints.
    pub fn from_text(provider: impl Into<String>, model: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            calls: Vec::new(),
            provider: provider.into(),
            model: model.into(),
            usage: None,
            cost_usd: None,
            finish: Finish::Complete,
            shape: AnswerShape::Text,
            elapsed: Duration::ZERO,
            state: None,
        }
    }

    /// Converts the answer to a turn of the conversation.
    pub fn into_turn(self) -> ModelTurn {
        ModelTurn { text: self.text, calls: self.calls, state: self.state }
    }
}

/// Token counts of one call, as reported by the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens of the request, including cached ones.
    pub input_tokens: u64,
    /// Tokens of the request that were in the provider's cache, or 0 if the provider does not report this.
    pub cached_input_tokens: u64,
    /// Tokens of the answer, including reasoning.
    pub output_tokens: u64,
}

/// A chat model. Implementations block the calling thread.
pub trait ChatModel: Send + Sync {
    /// The name in the form `provider/model`.
    fn name(&self) -> String;

    /// The name of the provider. Models of one provider tend to fail together.
    fn provider(&self) -> String {
        let name = self.name();
        name.split_once('/').map_or(name.as_str(), |(provider, _)| provider).to_owned()
    }

    /// Sends the request once, without retries.
    ///
    /// # Errors
    ///
    /// Returns a [`ChatError`], which contains neither a key nor text of the request. The call must return by
    /// the budget's deadline, or within about 50 ms after a cancellation.
    fn complete(&self, request: &ChatRequest, budget: &CallBudget) -> Result<ChatAnswer, ChatError>;

    /// Sends the request once. Passes pieces of the answer's text to the callback as they arrive, without
    /// reasoning.
    ///
    /// The answer is the same as that of [`ChatModel::complete`], and its text is the concatenation of the
    /// pieces. If an error follows, the pieces passed on before it must not be used as an answer.
    ///
    /// Note that one kind of reasoning can be recognized only at its end (`</think>` on a line of its own),
    /// because the server's template has dropped its beginning. In this case the pieces contain the
    /// reasoning, but the answer does not.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ChatModel::complete`], and [`ChatError::Stalled`] if nothing arrives for
    /// longer than the budget's [`CallBudget::idle`].
    fn stream(
        &self,
        request: &ChatRequest,
        budget: &CallBudget,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<ChatAnswer, ChatError> {
        let answer = self.complete(request, budget)?;
        on_text(&answer.text);
        Ok(answer)
    }
}

/// The time that a call may take, and a way to cancel it.
#[derive(Clone, Debug)]
pub struct CallBudget {
    /// Ends the call, by a deadline or a cancellation. The call must have returned by the deadline.
    pub stop: Stop,
    /// The longest pause that we allow in a streamed answer, including the wait for the first byte. Any byte
    /// counts, even comments that only keep the connection alive. This does not apply to calls that are not
    /// streamed, because their servers send nothing until the answer is complete.
    pub idle: Option<Duration>,
}

impl CallBudget {
    /// Creates a budget that ends only at the deadline.
    pub fn until(deadline: Instant) -> Self {
        Self::new(Stop::until(deadline))
    }

    /// Creates a budget that ends at the deadline or when the caller cancels.
    pub fn new(stop: Stop) -> Self {
        Self { stop, idle: None }
    }

    /// Computes the time left until the deadline: zero after it, [`Duration::MAX`] without one.
    pub fn remaining(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.stop.deadline().map_or(Duration::MAX, left)
    }
}

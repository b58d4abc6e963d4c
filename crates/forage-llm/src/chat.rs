//! What every model speaks, whatever its wire protocol: request, answer, budget.

use std::time::{Duration, Instant};

use forage_base::Stop;
use serde_json::Value;

use crate::error::ChatError;
use crate::finish::Finish;
use crate::redact::Redacted;

/// A conversation so far, to which the model is to say the next thing. What it is made of is the program's own text,
/// [`Redacted`] text, or a model's own words ([`ModelTurn`]): nothing else can reach a socket.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    /// Instructions of the system role.
    pub system: Redacted,
    /// The turns in order; the first is the user's.
    pub messages: Vec<ChatMessage>,
    /// The tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Whether it has to answer in text now. The tools stay declared for the results that the conversation holds.
    pub must_answer: bool,
    /// The shape that the answer's text is to have, where the endpoint can hold the model to one.
    pub answer_schema: Option<AnswerSchema>,
    /// Most tokens that the model may answer with, its reasoning included.
    pub max_output_tokens: u32,
}

impl ChatRequest {
    /// One question without tools.
    pub fn question(system: Redacted, user: Redacted, max_output_tokens: u32) -> Self {
        Self { system, messages: vec![ChatMessage::User(user)], max_output_tokens, ..Self::default() }
    }

    /// The request as it is sent: with the schema and the text that asks for its shape, or with neither.
    pub(crate) fn shaped(&self, takes_schema: bool) -> Self {
        let mut request = self.clone();
        request.answer_schema = request.answer_schema.filter(|_| takes_schema);
        if let Some(schema) = &request.answer_schema {
            request.system.push(&Redacted::trusted(schema.ask));
        }
        request
    }

    /// The texts that did not come from a model: the system's, then those of the user and the tools.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.system.as_str()).chain(self.messages.iter().flat_map(ChatMessage::texts))
    }
}

/// A turn of a conversation.
#[derive(Debug, Clone)]
pub enum ChatMessage {
    /// The user, or the program on the user's behalf.
    User(Redacted),
    /// The model.
    Model(ModelTurn),
    /// What became of the calls of the turn before: one result per call, in the order of the calls.
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

/// The text and the calls of a model in one turn. It can only be made by an answer, so its text holds nothing but what
/// a model made of redacted text.
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

    /// What the wire named `wire` wants back with this turn when it asks `model` (`provider/model`); `None` also when
    /// another wire or model made the turn.
    pub(crate) fn state(&self, wire: &str, model: &str) -> Option<&Value> {
        self.state
            .as_ref()
            .filter(|state| state.wire == wire && state.model == model)
            .map(|state| &state.value)
    }
}

/// What a provider wants back unchanged with a turn, such as signatures of its reasoning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderState {
    /// The wire protocol that made it.
    pub(crate) wire: &'static str,
    /// `provider/model` that made it: no other can check a signature or need take a field that it does not know.
    pub(crate) model: String,
    pub(crate) value: Value,
}

/// A tool that a model may call.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// A description of what it does, for the model.
    pub description: String,
    /// Its arguments as a JSON schema of an object.
    pub parameters: Value,
}

/// A model's wish to call a tool. All of it is untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Names the call in its result; not empty and unique within its turn, whatever the server sent.
    pub id: String,
    /// The tool's name, which need not exist.
    pub name: String,
    /// The arguments as the model wrote them: JSON if it kept to the protocol; empty for none.
    pub arguments: String,
}

/// The result of a call.
#[derive(Debug, Clone)]
pub struct ToolResult {
    /// [`ToolCall::id`].
    pub call_id: String,
    /// [`ToolCall::name`].
    pub name: String,
    /// The text that the model is to read.
    pub text: Redacted,
    /// Whether the call failed.
    pub is_error: bool,
}

/// A JSON schema that an answer is to keep to.
#[derive(Debug, Clone)]
pub struct AnswerSchema {
    /// A short name: letters, digits, `_` and `-`.
    pub name: &'static str,
    /// Text that asks for this shape, appended to the system prompt where the schema is sent; empty for a prompt that
    /// asks for the shape itself.
    pub ask: &'static str,
    /// The schema, in the subset that all providers take: objects whose properties are all required and without
    /// additional ones, arrays, strings, integers, enums.
    pub schema: Value,
}

/// A model's answer: text, or calls, or both.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatAnswer {
    /// The answer's text without reasoning, trimmed; empty only beside calls. It is untrusted.
    pub text: String,
    /// The tools that the model wants called.
    pub calls: Vec<ToolCall>,
    /// The provider that answered.
    pub provider: String,
    /// The model id that was asked for.
    pub model: String,
    /// Tokens used, when the provider reported them.
    pub usage: Option<Usage>,
    /// The cost of the call in US dollars, when tokens and prices are known.
    pub cost_usd: Option<f64>,
    /// The reason for which the model stopped, which tells whether the answer is whole.
    pub finish: Finish,
    /// Wall time of this call, retries not included.
    pub elapsed: Duration,
    pub(crate) state: Option<ProviderState>,
}

impl ChatAnswer {
    /// A whole answer without calls and without known usage, for models that are no endpoint.
    pub fn of_text(provider: impl Into<String>, model: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            calls: Vec::new(),
            provider: provider.into(),
            model: model.into(),
            usage: None,
            cost_usd: None,
            finish: Finish::Complete,
            elapsed: Duration::ZERO,
            state: None,
        }
    }

    /// This answer as a turn of the conversation.
    pub fn into_turn(self) -> ModelTurn {
        ModelTurn { text: self.text, calls: self.calls, state: self.state }
    }
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

/// A model that can be asked. Implementations block the calling thread.
pub trait ChatModel: Send + Sync {
    /// `provider/model`.
    fn name(&self) -> String;

    /// The provider, whose models fail together.
    fn provider(&self) -> String {
        let name = self.name();
        name.split_once('/').map_or(name.as_str(), |(provider, _)| provider).to_owned()
    }

    /// Asks once, without retries.
    ///
    /// # Errors
    /// [`ChatError`]; it holds neither a key nor text of the request. By the budget's deadline the call has
    /// returned, and a cancelled call returns within about 50 ms.
    fn complete(&self, request: &ChatRequest, budget: &CallBudget) -> Result<ChatAnswer, ChatError>;

    /// Asks once and passes the answer's text on in pieces as they arrive, reasoning left out. The answer is the
    /// same as [`ChatModel::complete`]'s, and the pieces put together are its text; pieces that were passed on before
    /// an error are no answer. One kind of reasoning is known for what it is only at its end, because a server's
    /// template has swallowed its beginning (`</think>` on a line of its own): the pieces hold it, the answer does not.
    ///
    /// # Errors
    /// As [`ChatModel::complete`], and [`ChatError::Stalled`] when nothing arrives for longer than the budget's
    /// [`CallBudget::idle`].
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

/// The time that a call may take, and a way to end it earlier.
#[derive(Clone, Debug)]
pub struct CallBudget {
    /// Ends the call: by its deadline, by which the call must have returned, or when the caller gives up.
    pub stop: Stop,
    /// Longest time that a streamed answer may pause, the wait for its first byte included. Whatever arrives counts,
    /// comments that only keep the connection alive too. Calls that are not streamed know no pauses: their servers
    /// are silent until all is said.
    pub idle: Option<Duration>,
}

impl CallBudget {
    /// Returns a budget that only the deadline ends.
    pub fn until(deadline: Instant) -> Self {
        Self::new(Stop::until(deadline))
    }

    /// Returns a budget that the deadline or the caller ends.
    pub fn new(stop: Stop) -> Self {
        Self { stop, idle: None }
    }

    /// Returns the time left until the deadline: zero after it, [`Duration::MAX`] without one.
    pub fn remaining(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.stop.deadline().map_or(Duration::MAX, left)
    }
}

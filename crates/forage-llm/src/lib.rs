//! Clients for language models. This is the only crate that opens sockets to model providers.
//!
//! It only sends redacted text: [`ChatRequest`] is made of [`Redacted`](forage_redact::Redacted), which comes
//! from a [`Redactor`](forage_redact::Redactor) or from a constant of the program. It does not read files or
//! environment variables, and it neither prints nor logs. Calls block, and each call uses one thread.
//!
//! - [`EndpointSettings`] → [`Endpoint`]: the address, key and id of a model, checked once.
//! - [`ChatModel`]: the interface of all wire protocols. [`Wire`] creates one from an endpoint, and lists a
//!   provider's models.
//! - [`ExchangeMode`]: the source of answers: the network, the network with recording, or only a recording.
//! - [`reasoning`]: separates the answer from reasoning that precedes it in the same text.
//! - [`ProviderTable`]: providers, preferred models and facts as data. [`choose`] ranks the models for a
//!   [`ModelRole`].
//! - [`complete_first`]: returns the first answer from a list of models, with one retry each.
//! - [`limits`]: all limits, with unit and reason.
//!
//! Each wire protocol is one file of `wire`. They share the `http` module, which enforces deadline,
//! cancellation and size limits and follows no redirects.
//!
//! ```no_run
//! use std::time::{Duration, Instant};
//!
//! use forage_llm::{
//!     CallBudget, ChatModel, ChatRequest, Endpoint, EndpointSettings, ExchangeMode, Wire, WireClient,
//! };
//! use forage_redact::{Redacted, Redactor};
//!
//! let settings = EndpointSettings::new("local", "http://127.0.0.1:8080/v1", "small");
//! let model = WireClient::new(Wire::OpenAiChat, Endpoint::new(settings)?, ExchangeMode::Live);
//! let system = Redacted::trusted("Name the language of the code in one word.");
//! let code = Redactor::standard().redact("fn main() {}");
//! let budget = CallBudget::until(Instant::now() + Duration::from_secs(5));
//! match model.complete(&ChatRequest::question(system, code, 100), &budget) {
//!     Ok(answer) => println!("{}", answer.text),
//!     Err(error) => eprintln!("{error}"),
//! }
//! # Ok::<(), forage_llm::EndpointError>(())
//! ```

mod chat;
mod endpoint;
mod error;
mod exchange;
mod failover;
mod finish;
mod http;
#[doc(hidden)]
pub mod limits;
mod message;
pub mod reasoning;
mod recording;
mod sse;
mod table;
mod wire;
mod wire_name;

pub use chat::{
    AnswerSchema, AnswerShape, CallBudget, ChatAnswer, ChatMessage, ChatModel, ChatRequest, ModelTurn,
    ToolCall, ToolChoice, ToolDefinition, ToolResult, Usage,
};
pub use endpoint::{
    Endpoint, EndpointError, EndpointSettings, ModelFacts, OutputLimitField, Price, Reasoning,
    is_loopback_url,
};
pub use error::ChatError;
pub use failover::{AllFailed, complete_first};
pub use finish::Finish;
pub use forage_base::{ApiKey, KeyError};
pub use recording::{
    ExchangeMode, ExchangeSink, RecordedExchange, RecordedModel, RecordingError, Recordings,
};
pub use table::{
    FactSettings, IdPattern, ListFailure, ModelCandidate, ModelChoice, ModelLister, ModelListing, ModelRole,
    Obstacle, Origin, Preference, Provider, ProviderSettings, ProviderTable, ResolvedModel, RoleSettings,
    RoleTable, SkippedModels, TableError, TableSettings, WireLister, choose,
};
pub use wire::{ListedModel, WireClient};
pub use wire_name::Wire;

//! Clients for language models. This is the only crate that opens sockets to model providers.
//!
//! It only sends redacted text: [`ChatRequest`] is made of [`Redacted`], which comes from a [`Redactor`] or
//! from a constant of the program. It does not read files or environment variables, and it neither prints nor
//! logs. Calls block, and each call uses one thread.
//!
//! - [`redact`](mod@redact): removes secrets from text line by line, and counts them.
//! - [`EndpointSettings`] → [`Endpoint`]: the address, key and id of a model, checked once.
//! - [`ChatModel`]: the interface of all wire protocols. [`Wire`] creates one from an endpoint, and lists a
//!   provider's models.
//! - [`Exchanges`]: the source of answers: the network, the network with recording, or only a recording.
//! - [`reasoning`]: separates the answer from reasoning that precedes it in the same text.
//! - [`ProviderTable`]: providers, preferred models and facts as data. [`choose`] ranks the models for a
//!   [`ModelRole`].
//! - [`complete_first`]: returns the first answer from a list of models, with one retry each.
//! - [`limits`]: all limits, with unit and reason.
//!
//! Each wire protocol is one file of `wire`. They share the `http` module, which enforces deadline,
//! cancellation and size limits and follows no redirects.
//!
//! ```
//! use forage_llm::Redactor;
//!
//! let redacted = Redactor::standard().redact("url = postgres://app:s3cr3t-Wq7x@db.internal/main");
//! assert!(!redacted.as_str().contains("s3cr3t"));
//! assert_eq!(redacted.counts().total(), 1);
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
pub mod redact;
mod sse;
mod table;
mod wire;
mod wire_name;

pub use chat::{
    AnswerSchema, CallBudget, ChatAnswer, ChatMessage, ChatModel, ChatRequest, ModelTurn, ToolCall,
    ToolDefinition, ToolResult, Usage,
};
pub use endpoint::{
    Endpoint, EndpointError, EndpointSettings, ModelFacts, OutputLimitField, Price, Reasoning,
    is_loopback_url,
};
pub use error::ChatError;
pub use failover::{AllFailed, complete_first};
pub use finish::Finish;
pub use forage_base::{ApiKey, KeyError};
pub use recording::{ExchangeSink, Exchanges, RecordedExchange, RecordedModel, RecordingError, Recordings};
pub use redact::{Redacted, RedactionCounts, Redactor};
pub use table::{
    FactSettings, IdPattern, ListFailure, ModelCandidate, ModelChoice, ModelLister, ModelListing, ModelRole,
    Origin, PassedOver, Preference, Provider, ProviderSettings, ProviderTable, ResolvedModel, RoleSettings,
    RoleTable, TableError, TableSettings, WireLister, choose,
};
pub use wire::{ListedModel, WireClient};
pub use wire_name::Wire;

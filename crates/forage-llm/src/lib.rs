//! The models: the only crate that opens sockets to model providers.
//!
//! It sends redacted text only: [`ChatRequest`] is made of [`Redacted`], which comes from a [`Redactor`] or from a
//! constant of the program. It reads no file and no setting of the environment, and it neither prints nor logs.
//! Calls block; one thread makes one call.
//!
//! - [`redact`](mod@redact): secrets out of text, line by line, counted.
//! - [`EndpointSettings`] → [`Endpoint`]: where a model is, checked once.
//! - [`ChatModel`]: what every wire protocol offers; [`Wire`] makes one of an endpoint, and lists a provider's models.
//! - [`Exchanges`]: the network, the network with a recording of it, or a recording alone.
//! - [`reasoning`]: where an answer begins in a text that thinks aloud first.
//! - [`ProviderTable`]: providers, preferred models and facts as data; [`choose`] orders the models for a [`ModelRole`].
//! - [`complete_first`]: the first model of a list that answers, with one retry each.
//! - [`limits`]: every bound, with unit and reason.
//!
//! Each wire protocol is one file of `wire` over the shared `http` module, which enforces deadline, cancellation and
//! size limits and follows no redirect.
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

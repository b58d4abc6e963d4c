//! Model lists of providers.

use super::ResolvedModel;
use crate::chat::CallBudget;
use crate::error::ChatError;
use crate::recording::ExchangeMode;
use crate::wire::ListedModel;

/// The result of requesting a model list.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelListing {
    /// The model list.
    Read(Vec<ListedModel>),
    /// We could not read a list.
    Failed(ListFailure),
}

/// The error of requesting a model list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFailure {
    /// True if the provider has rejected the key, so that none of its models can be used.
    pub key_refused: bool,
    /// The reason in words, without the key.
    pub why: String,
}

impl ListFailure {
    /// Creates a failure after which the provider's models can still be used.
    pub fn new(why: impl Into<String>) -> Self {
        Self { key_refused: false, why: why.into() }
    }
}

/// Requests model lists from providers.
pub trait ModelLister: Sync {
    /// Lists the models of a provider, in its order.
    ///
    /// # Errors
    ///
    /// Returns [`ListFailure`]. The call must return by the budget's deadline.
    fn list(&self, provider: &ResolvedModel, budget: &CallBudget) -> Result<Vec<ListedModel>, ListFailure>;
}

/// Requests the lists from the providers, each over its wire protocol.
#[derive(Debug, Default)]
pub struct WireLister {
    /// Where answers come from.
    pub exchanges: ExchangeMode,
}

impl ModelLister for WireLister {
    fn list(&self, provider: &ResolvedModel, budget: &CallBudget) -> Result<Vec<ListedModel>, ListFailure> {
        let endpoint = provider.endpoint_of_list().map_err(ListFailure::new)?;
        provider.wire.list_models(&endpoint, &self.exchanges, budget).map_err(|error| failure(&error))
    }
}

fn failure(error: &ChatError) -> ListFailure {
    let refused = |status: u16| format!("the provider has no list for this key (HTTP {status})");
    let why = match error {
        // Only a 401 rules out the key. A 403 may forbid just the list, so the pinned models stay candidates.
        ChatError::Unauthorized { status: 401, .. } => {
            let why = "the provider refused the key (HTTP 401)".to_owned();
            return ListFailure { key_refused: true, why };
        }
        ChatError::Unauthorized { status, .. }
        | ChatError::OutOfCredit { status, .. }
        | ChatError::Server { status, .. }
        | ChatError::ModelUnusable { status, .. }
        | ChatError::ContextOverflow { status, .. }
        | ChatError::BadRequest { status, .. } => refused(*status),
        ChatError::RateLimited { .. } => refused(429),
        ChatError::DeadlineExceeded { .. } => "no answer in time".to_owned(),
        ChatError::Unreachable { why, .. } => format!("cannot connect: {why}"),
        ChatError::ConnectionLost { .. } => "the connection was lost".to_owned(),
        ChatError::AnswerTooLarge { limit, .. } => {
            format!("the list is larger than {}", forage_base::count(*limit as u64, "byte"))
        }
        ChatError::BadAnswer { why, .. } => format!("the answer is not a list: {why}"),
        ChatError::Recording { why, .. } | ChatError::Declined { why, .. } => why.clone(),
        ChatError::Stalled { .. } | ChatError::Cancelled { .. } | ChatError::EmptyAnswer { .. } => {
            "there was no answer".to_owned()
        }
    };
    ListFailure::new(why)
}

//! The wire protocols, one file each, and their shared parts.
//!
//! A protocol writes a request and parses an answer. If an answer arrives in events, we first assemble the
//! whole answer, so that both forms can use the same parser.

mod answer;
mod anthropic;
mod client;
#[cfg(test)]
mod fuzz;
mod gemini;
mod listed;
mod listing;
mod openai_chat;
mod protocol;
mod protocols;
mod status;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::chat::{CallBudget, ChatModel};
use crate::endpoint::Endpoint;
use crate::error::ChatError;
use crate::recording::ExchangeMode;
use crate::wire_name::Wire;

pub use client::WireClient;
pub use listed::ListedModel;

impl Wire {
    /// Creates a client of the endpoint. It does not connect before the first call.
    pub fn client(self, endpoint: Endpoint) -> Arc<dyn ChatModel> {
        Arc::new(WireClient::new(self, endpoint, ExchangeMode::Live))
    }

    /// Does the same as [`Self::client`], with an explicit source of answers.
    pub fn client_with(self, endpoint: Endpoint, exchanges: ExchangeMode) -> Arc<dyn ChatModel> {
        Arc::new(WireClient::new(self, endpoint, exchanges))
    }

    /// Lists the provider's models, in its order. This ignores the endpoint's model; see
    /// [`Endpoint::without_model`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ChatModel::complete`].
    pub fn list_models(
        self,
        endpoint: &Endpoint,
        exchanges: &ExchangeMode,
        budget: &CallBudget,
    ) -> Result<Vec<ListedModel>, ChatError> {
        listing::list(self, endpoint, exchanges, budget)
    }
}

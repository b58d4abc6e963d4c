//! The wire protocols, one file each, and their shared parts.
//!
//! A protocol writes a request and parses an answer. For an answer in events, it first assembles the whole
//! answer, so that both forms use the same parser.

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
use crate::recording::Exchanges;
use crate::wire_name::Wire;

pub use client::WireClient;
pub use listed::ListedModel;

impl Wire {
    /// Creates a client of the endpoint. It connects only when it is called.
    pub fn client(self, endpoint: Endpoint) -> Arc<dyn ChatModel> {
        Arc::new(WireClient::new(self, endpoint, Exchanges::Live))
    }

    /// Like [`Self::client`], with an explicit source of answers.
    pub fn client_with(self, endpoint: Endpoint, exchanges: Exchanges) -> Arc<dyn ChatModel> {
        Arc::new(WireClient::new(self, endpoint, exchanges))
    }

    /// Lists the provider's models, in its order. The endpoint's model is ignored; see
    /// [`Endpoint::without_model`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ChatModel::complete`].
    pub fn list_models(
        self,
        endpoint: &Endpoint,
        exchanges: &Exchanges,
        budget: &CallBudget,
    ) -> Result<Vec<ListedModel>, ChatError> {
        listing::list(self, endpoint, exchanges, budget)
    }
}

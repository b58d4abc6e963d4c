//! The wire protocols: one file each, and beside them what they share.
//!
//! A protocol writes a request and reads an answer; it does so for a whole answer and for one in events, from which it
//! puts the whole answer together again, so that both ways end in the same reading.

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
    /// A client of the endpoint. Connects only when asked something.
    pub fn client(self, endpoint: Endpoint) -> Arc<dyn ChatModel> {
        Arc::new(WireClient::new(self, endpoint, Exchanges::Live))
    }

    /// As [`Self::client`], with a say in where answers come from.
    pub fn client_with(self, endpoint: Endpoint, exchanges: Exchanges) -> Arc<dyn ChatModel> {
        Arc::new(WireClient::new(self, endpoint, exchanges))
    }

    /// The models that the provider lists, in its order. The endpoint's model is not looked at:
    /// [`Endpoint::without_model`] makes a fitting one.
    ///
    /// # Errors
    /// As [`ChatModel::complete`].
    pub fn list_models(
        self,
        endpoint: &Endpoint,
        exchanges: &Exchanges,
        budget: &CallBudget,
    ) -> Result<Vec<ListedModel>, ChatError> {
        listing::list(self, endpoint, exchanges, budget)
    }
}

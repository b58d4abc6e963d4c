//! Failover: tries a list of models until one of them answers.

use thiserror::Error;

use crate::chat::{CallBudget, ChatAnswer, ChatModel, ChatRequest};
use crate::error::ChatError;
use crate::limits::{RETRIES_PER_MODEL, RETRY_PAUSE};

/// The error if no model has answered.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("no model answered: {}", listed(errors))]
pub struct AllFailed {
    /// The last error of each model that we asked, in order. Empty if there were no models.
    pub errors: Vec<ChatError>,
}

fn listed(errors: &[ChatError]) -> String {
    if errors.is_empty() {
        return "none is configured; configure one".to_owned();
    }
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl AllFailed {
    /// Returns true if the caller has cancelled, as opposed to the models having failed.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.errors.last(), Some(ChatError::Cancelled { .. }))
    }
}

/// Asks the models in order until one of them answers. Returns the answer, and the last error of each model
/// that we asked before.
///
/// After a retryable error, we ask the same model once more. We first wait for the pause that the server
/// requested, or for [`RETRY_PAUSE`]. If this would take longer than the deadline allows, we ask the next
/// model at once. If an error rules out a provider, we skip its other models, and they do not count as asked.
///
/// # Errors
///
/// Returns [`AllFailed`] if no model answered. A cancellation or the deadline ends the search at once.
pub fn complete_first<M: AsRef<dyn ChatModel>>(
    models: &[M],
    request: &ChatRequest,
    budget: &CallBudget,
) -> Result<(ChatAnswer, Vec<ChatError>), AllFailed> {
    let mut errors = Vec::new();
    let mut ruled_out: Vec<String> = Vec::new();
    for model in models.iter().map(AsRef::as_ref) {
        let provider = model.provider();
        if ruled_out.contains(&provider) {
            continue;
        }
        match with_retries(model, request, budget) {
            Ok(answer) => return Ok((answer, errors)),
            Err(error) => {
                let is_over = error.is_stop();
                if error.rules_out_provider() {
                    ruled_out.push(provider);
                }
                errors.push(error);
                if is_over {
                    break;
                }
            }
        }
    }
    Err(AllFailed { errors })
}

fn with_retries(
    model: &dyn ChatModel,
    request: &ChatRequest,
    budget: &CallBudget,
) -> Result<ChatAnswer, ChatError> {
    let mut retries = 0;
    loop {
        let error = match model.complete(request, budget) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let pause = error.retry_after().unwrap_or(RETRY_PAUSE);
        if !error.is_retryable() || retries == RETRIES_PER_MODEL || pause >= budget.remaining() {
            return Err(error);
        }
        retries += 1;
        if let Some(stopped) = budget.stop.wait(pause) {
            return Err(ChatError::stopped(model.name(), stopped));
        }
    }
}

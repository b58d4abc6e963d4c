//! Fallback among the models: a model is retried once after a temporary failure, then the next one continues
//! for the rest of the conversation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use forage_base::{Stop, Stopped};
use forage_llm::limits::RETRY_PAUSE;
use forage_llm::{CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest, Finish, Usage};

use super::event::{AgentEvent, EventListener};
use super::limits::MODEL_SILENCE;

/// Reasons why there is no answer.
#[derive(Debug)]
pub(super) enum ModelFailure {
    /// The caller cancelled the call.
    Interrupted,
    /// The total time is up.
    Time,
    /// The model returned an empty answer.
    Empty,
    /// The model, or a filter in front of it, refused.
    Refused,
    /// The conversation is longer than the model's context.
    TooLong(ChatError),
    /// All models failed.
    Failed,
}

/// The models of a conversation.
pub(super) struct ModelClient<'a> {
    models: &'a [Arc<dyn ChatModel>],
    at: usize,
    /// Providers that won't answer with any of their models.
    ruled_out: Vec<String>,
    stop: &'a Stop,
    watch: EventListener<'a>,
    streams: bool,
    /// Failures along the way, one sentence each.
    pub(super) failures: Vec<String>,
    /// Tokens and costs of the empty answers, if known.
    pub(super) discarded: Vec<(Option<Usage>, Option<f64>)>,
    /// The text that the model had written when its call was cut short.
    pub(super) unfinished: String,
}

impl<'a> ModelClient<'a> {
    pub(super) fn new(
        models: &'a [Arc<dyn ChatModel>],
        stop: &'a Stop,
        watch: EventListener<'a>,
        streams: bool,
    ) -> Self {
        Self {
            models,
            at: 0,
            ruled_out: Vec::new(),
            stop,
            watch,
            streams,
            failures: Vec::new(),
            discarded: Vec::new(),
            unfinished: String::new(),
        }
    }

    /// The name of the model that is asked next.
    pub(super) fn name(&self) -> String {
        self.models.get(self.at).map(|model| model.name()).unwrap_or_default()
    }

    /// Asks until a model answers. We retry each model once if its failure may be temporary, and then ask the
    /// next one. No call takes longer than `max` or continues after `deadline`.
    pub(super) fn ask(
        &mut self,
        request: &ChatRequest,
        max: Duration,
        deadline: Instant,
    ) -> Result<ChatAnswer, ModelFailure> {
        let mut retried = false;
        loop {
            let Some(model) = self.models.get(self.at) else { return Err(ModelFailure::Failed) };
            let error = match self.once(model.as_ref(), request, max, deadline) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if let ChatError::EmptyAnswer { usage, cost_usd, .. } = &error {
                self.discarded.push((*usage, *cost_usd));
            }
            // If the call had to end, the model's error is only a consequence.
            if self.stop.is_cancelled() {
                return Err(ModelFailure::Interrupted);
            }
            if Instant::now() >= deadline {
                return Err(ModelFailure::Time);
            }
            match &error {
                ChatError::EmptyAnswer { finish, .. } if *finish != Finish::Refused => {
                    self.failures.push(error.to_string());
                    return Err(ModelFailure::Empty);
                }
                ChatError::ContextOverflow { .. } => return Err(ModelFailure::TooLong(error)),
                _ => {}
            }
            let pause = error.retry_after().unwrap_or(RETRY_PAUSE);
            if !retried && is_momentary(&error) && pause < deadline.saturating_duration_since(Instant::now())
            {
                self.note(&error, "retrying");
                retried = true;
                self.wait(pause, deadline)?;
            } else if !self.change(&error) {
                return Err(match error {
                    ChatError::EmptyAnswer { .. } => ModelFailure::Refused,
                    _ => ModelFailure::Failed,
                });
            } else {
                retried = false;
            }
        }
    }

    /// Switches to the next model, or to the next provider if the error affects all models of this one.
    /// Returns false if none is left.
    pub(super) fn change(&mut self, error: &ChatError) -> bool {
        if error.rules_out_provider() {
            self.ruled_out.extend(self.models.get(self.at).map(|model| model.provider()));
        }
        let is_fit = |at: &usize| !self.ruled_out.contains(&self.models[*at].provider());
        let Some(next) = (self.at + 1..self.models.len()).find(is_fit) else {
            self.note(error, "no other model is left");
            return false;
        };
        self.at = next;
        self.note(error, &format!("{} takes over", self.name()));
        true
    }

    /// Records an error after which old results were evicted and the same model is asked again.
    pub(super) fn made_room(&mut self, error: &ChatError) {
        self.failures.push(error.to_string());
    }

    fn note(&mut self, error: &ChatError, then: &str) {
        let error = error.to_string();
        (self.watch)(&AgentEvent::Failed { error: &error, then });
        self.failures.push(format!("{error} ({then})"));
    }

    fn once(
        &mut self,
        model: &dyn ChatModel,
        request: &ChatRequest,
        max: Duration,
        deadline: Instant,
    ) -> Result<ChatAnswer, ChatError> {
        let budget = CallBudget::new(self.stop.by(deadline).within(max));
        if !self.streams {
            return model.complete(request, &budget);
        }
        let budget = CallBudget { idle: Some(MODEL_SILENCE), ..budget };
        let mut written = String::new();
        let answer = model.stream(request, &budget, &mut |piece| {
            written.push_str(piece);
            (self.watch)(&AgentEvent::Text(piece));
        });
        self.unfinished = if answer.is_ok() { String::new() } else { written };
        answer
    }

    fn wait(&self, pause: Duration, deadline: Instant) -> Result<(), ModelFailure> {
        match self.stop.by(deadline).wait(pause) {
            None => Ok(()),
            Some(Stopped::Cancelled) => Err(ModelFailure::Interrupted),
            Some(Stopped::Deadline) => Err(ModelFailure::Time),
        }
    }
}

/// Returns true if the same request may soon succeed. In addition to the client's retryable errors, this
/// covers answers that violate the protocol: the model has usually answered correctly before.
fn is_momentary(error: &ChatError) -> bool {
    error.is_retryable() || matches!(error, ChatError::BadAnswer { .. })
}

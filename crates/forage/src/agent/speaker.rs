//! Who answers: the first model, asked once more when it fails for a moment, then the second for the rest of the
//! conversation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use forage_fs::Stop;
use forage_llm::{CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest, Finish};

use super::event::{Event, Watch};
use super::limits::{RETRY_PAUSE, WAIT_SLICE};

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// The caller gave up.
    Interrupted,
    /// The time for everything is up.
    Time,
    /// The model said nothing at all.
    Empty,
    /// The model, or a guard in front of it, refused.
    Refused,
    /// The conversation is longer than the model can read.
    TooLong,
    /// The models failed.
    Failed,
}

/// The models of a conversation.
pub(super) struct Speaker<'a> {
    models: &'a [Arc<dyn ChatModel>],
    at: usize,
    stop: &'a Stop,
    watch: Watch<'a>,
    streams: bool,
    /// What went wrong on the way, a sentence each.
    pub(super) failures: Vec<String>,
    /// What the model had written when its call was ended.
    pub(super) unfinished: String,
}

impl<'a> Speaker<'a> {
    pub(super) fn new(
        models: &'a [Arc<dyn ChatModel>],
        stop: &'a Stop,
        watch: Watch<'a>,
        streams: bool,
    ) -> Self {
        Self { models, at: 0, stop, watch, streams, failures: Vec::new(), unfinished: String::new() }
    }

    /// The name of the model that is asked next.
    pub(super) fn name(&self) -> String {
        self.models.get(self.at).map(|model| model.name()).unwrap_or_default()
    }

    /// Asks until a model answers: each once more if its failure may be over in a moment, and at most one change of
    /// the model in a conversation. No call takes longer than `most`, nor beyond `deadline`.
    pub(super) fn ask(
        &mut self,
        request: &ChatRequest,
        most: Duration,
        deadline: Instant,
    ) -> Result<ChatAnswer, Silence> {
        let mut retried = false;
        loop {
            let Some(model) = self.models.get(self.at) else { return Err(Silence::Failed) };
            let error = match self.once(model.as_ref(), request, most, deadline) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if self.stop.is_cancelled() {
                return Err(Silence::Interrupted);
            }
            if Instant::now() >= deadline {
                return Err(Silence::Time);
            }
            match &error {
                ChatError::EmptyAnswer { finish, .. } if *finish != Finish::Refused => {
                    self.failures.push(error.to_string());
                    return Err(Silence::Empty);
                }
                error if is_too_long(error) => {
                    self.failures.push(error.to_string());
                    return Err(Silence::TooLong);
                }
                _ => {}
            }
            let pause = error.retry_after().unwrap_or(RETRY_PAUSE);
            if !retried && is_momentary(&error) && Instant::now() + pause < deadline {
                self.note(&error, "it is asked once more");
                retried = true;
                self.wait(pause)?;
            } else if !self.change(&error) {
                return Err(match error {
                    ChatError::EmptyAnswer { .. } => Silence::Refused,
                    _ => Silence::Failed,
                });
            } else {
                retried = false;
            }
        }
    }

    /// Lets the next model go on with the conversation, once.
    fn change(&mut self, error: &ChatError) -> bool {
        let next = self.models.get(self.at + 1).filter(|_| self.at == 0).map(|model| model.name());
        let Some(next) = next else {
            self.note(error, "no other model is left");
            return false;
        };
        self.note(error, &format!("{next} goes on"));
        self.at += 1;
        true
    }

    /// Whether another model can take over.
    pub(super) fn change_from_too_long(&mut self) -> bool {
        let error = ChatError::BadAnswer {
            model: self.name(),
            why: "the conversation is too long for it, even without its old results".to_owned(),
        };
        self.change(&error)
    }

    fn note(&mut self, error: &ChatError, then: &str) {
        let error = error.to_string();
        (self.watch)(&Event::Failed { error: &error, then });
        self.failures.push(format!("{error} ({then})"));
    }

    fn once(
        &mut self,
        model: &dyn ChatModel,
        request: &ChatRequest,
        most: Duration,
        deadline: Instant,
    ) -> Result<ChatAnswer, ChatError> {
        let cancelled = || self.stop.is_cancelled();
        let budget = CallBudget { deadline: deadline.min(Instant::now() + most), cancelled: &cancelled };
        if !self.streams {
            return model.complete(request, &budget);
        }
        let mut written = String::new();
        let answer = model.stream(request, &budget, &mut |piece| {
            written.push_str(piece);
            (self.watch)(&Event::Text(piece));
        });
        self.unfinished = if answer.is_ok() { String::new() } else { written };
        answer
    }

    fn wait(&self, pause: Duration) -> Result<(), Silence> {
        let until = Instant::now() + pause;
        loop {
            if self.stop.is_cancelled() {
                return Err(Silence::Interrupted);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(WAIT_SLICE));
        }
    }
}

/// Whether the same request may succeed shortly after. Beside what the client says, an answer that is not what its
/// protocol says: in the middle of a conversation the model has shown that it can do better.
fn is_momentary(error: &ChatError) -> bool {
    error.is_retryable() || matches!(error, ChatError::BadAnswer { .. })
}

/// Whether a provider refused a request for its length. There is no code for it that all providers share.
fn is_too_long(error: &ChatError) -> bool {
    let ChatError::BadRequest { status, message, .. } = error else { return false };
    let message = message.to_lowercase();
    let says_so = ["context", "too long", "too large", "maximum", "token limit", "exceeds"]
        .iter()
        .any(|words| message.contains(words));
    *status == 413 || (matches!(status, 400 | 422) && says_so)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_too_long_is_told_from_other_mistakes() {
        let error = |status, message: &str| ChatError::BadRequest {
            model: "p/m".to_owned(),
            status,
            message: message.to_owned(),
        };
        for (status, message) in [
            (400, "This model's maximum context length is 8192 tokens."),
            (400, "prompt is too long: 210000 tokens > 200000 maximum"),
            (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
            (413, "request_too_large"),
        ] {
            assert!(is_too_long(&error(status, message)), "{message}");
        }
        for (status, message) in [(400, "unknown field `tools`"), (404, "no such model: context-1")] {
            assert!(!is_too_long(&error(status, message)), "{message}");
        }
    }
}

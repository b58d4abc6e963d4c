//! Asks the client's own model through the protocol's sampling. It is the last fallback among the models.
#![expect(deprecated, reason = "sampling is deprecated since 2026-07-28, but some clients have nothing else")]

use std::hash::{Hash as _, Hasher as _};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use forage_base::{Hash64, WAIT_SLICE};
use forage_llm::{CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest, Finish};
use forage_tools::{clip, sanitize, sanitize_line};
use rmcp::model::{
    CreateMessageRequest, CreateMessageRequestParams, InputRequest, InputRequests, InputResponses,
    SamplingMessage,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{RoleServer, service::ServiceError};
use serde_json::Value;
use tokio::sync::mpsc;

use super::client::{self, is_stateless};
use super::limits;

/// The provider's name in notes and errors.
const NAME: &str = "client";

/// Questions that the client must answer before the call can be completed.
pub(super) type Questions = Arc<Mutex<InputRequests>>;

/// A client that lets servers ask its model.
pub(super) struct ClientModel {
    way: SamplingRoute,
}

enum SamplingRoute {
    /// After a handshake: the server sends a request and waits for the response.
    Request(mpsc::UnboundedSender<SamplingRequest>),
    /// Without a handshake: we answer the call with the questions, and the client repeats it with its
    /// answers.
    Answer { said: InputResponses, questions: Questions },
}

impl ClientModel {
    /// Creates the model of this request's client, if it offers one. `said` holds the client's answers to
    /// earlier questions; this adds new questions to `questions`.
    pub(super) fn for_request(
        request: &RequestContext<RoleServer>,
        said: &InputResponses,
        questions: &Questions,
    ) -> (Option<Self>, mpsc::UnboundedReceiver<SamplingRequest>) {
        let (ask, asked) = mpsc::unbounded_channel();
        let offered = request.client_capabilities().is_some_and(|client| client.sampling.is_some())
            && !client::profile(request).sampling_hangs();
        let way = match is_stateless(request) {
            true => SamplingRoute::Answer { said: said.clone(), questions: Arc::clone(questions) },
            false => SamplingRoute::Request(ask),
        };
        (offered.then_some(Self { way }), asked)
    }
}

/// A question for the client, and the channel for its answer.
pub(super) struct SamplingRequest {
    question: CreateMessageRequestParams,
    answer: SyncSender<Result<Value, String>>,
}

/// Sends the call's questions to the client one at a time, for as long as this future is polled.
pub(super) async fn ask(
    peer: &Peer<RoleServer>,
    mut asked: mpsc::UnboundedReceiver<SamplingRequest>,
) -> std::convert::Infallible {
    while let Some(SamplingRequest { question, answer }) = asked.recv().await {
        let said = match peer.create_message(question).await {
            Ok(message) => serde_json::to_value(message).map_err(|error| error.to_string()),
            Err(ServiceError::McpError(error)) => Err(format!("the client says: {}", error.message)),
            Err(error) => Err(error.to_string()),
        };
        // The receiver is gone if the call has ended meanwhile.
        let _ = answer.try_send(said);
    }
    std::future::pending().await
}

impl ChatModel for ClientModel {
    fn name(&self) -> String {
        format!("{NAME}/sampling")
    }

    fn complete(&self, request: &ChatRequest, budget: &CallBudget) -> Result<ChatAnswer, ChatError> {
        let message = match &self.way {
            SamplingRoute::Request(client) => self.ask(client, request, budget)?,
            SamplingRoute::Answer { said, questions } => {
                let key = key(request);
                match said.get(&key) {
                    Some(answer) => answer.clone(),
                    None => {
                        let ask = InputRequest::CreateMessage(CreateMessageRequest::new(params(request)));
                        questions.lock().unwrap_or_else(PoisonError::into_inner).insert(key, ask);
                        return Err(self.declined("the client is asked first"));
                    }
                }
            }
        };
        self.answer(&message)
    }
}

impl ClientModel {
    fn ask(
        &self,
        client: &mpsc::UnboundedSender<SamplingRequest>,
        request: &ChatRequest,
        budget: &CallBudget,
    ) -> Result<Value, ChatError> {
        let (answer, said) = sync_channel(1);
        let gone = || self.declined("the client has disconnected");
        client.send(SamplingRequest { question: params(request), answer }).map_err(|_| gone())?;
        loop {
            match said.recv_timeout(WAIT_SLICE) {
                Ok(said) => return said.map_err(|why| self.declined(&why)),
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(stopped) = budget.stop.check() {
                        return Err(ChatError::stopped(self.name(), stopped));
                    }
                }
            }
        }
    }

    fn answer(&self, message: &Value) -> Result<ChatAnswer, ChatError> {
        let text = text_of(message);
        let finish = match message["stopReason"].as_str() {
            Some("endTurn") | None => Finish::Complete,
            Some("maxTokens") => Finish::Length,
            Some(_) => Finish::Other,
        };
        if text.trim().is_empty() {
            let model = self.name();
            return Err(ChatError::EmptyAnswer { model, finish, usage: None, cost_usd: None });
        }
        let model = message["model"].as_str().unwrap_or("sampling");
        let model = clip(&sanitize_line(model), limits::SHOWN_BYTES);
        let mut answer = ChatAnswer::from_text(NAME, model, text.trim());
        answer.finish = finish;
        Ok(answer)
    }

    fn declined(&self, why: &str) -> ChatError {
        ChatError::Declined { model: self.name(), why: clip(&sanitize(why), limits::SHOWN_BYTES * 4) }
    }
}

/// Converts the request to sampling parameters. We do not pass on tools, because only `keyword_search` asks
/// here, and it has none.
fn params(request: &ChatRequest) -> CreateMessageRequestParams {
    let mut texts = request.texts();
    let system = texts.next().unwrap_or_default().to_owned();
    let messages = texts.map(SamplingMessage::user_text).collect();
    CreateMessageRequestParams::new(messages, request.max_output_tokens).with_system_prompt(system)
}

/// Computes the key that identifies the question when the call is repeated. This works because the same
/// search asks the same question.
fn key(request: &ChatRequest) -> String {
    let mut hasher = Hash64::default();
    request.texts().for_each(|text| text.hash(&mut hasher));
    format!("model-{:016x}", hasher.finish())
}

/// Extracts the text of a model's message: all its text blocks, joined.
fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        block => block["text"].as_str().unwrap_or_default().to_owned(),
    }
}

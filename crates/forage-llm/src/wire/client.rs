//! A chat model over any wire protocol.

use std::cell::Cell;
use std::time::Instant;

use serde_json::Value;

use super::answer;
use super::protocol::{Fault, base, headers};
use super::protocols::protocol;
use super::status::{StatusRefusal, status_of};
use super::stream::{StreamEnd, StreamReader};
use crate::chat::{CallBudget, ChatAnswer, ChatModel, ChatRequest};
use crate::endpoint::Endpoint;
use crate::error::ChatError;
use crate::exchange::{HttpCall, Reply};
use crate::http::HttpClient;
use crate::limits::{MAX_ANSWER_BYTES, MAX_STREAM_BYTES};
use crate::recording::ExchangeMode;
use crate::wire_name::Wire;

/// A model at an endpoint. `Debug` does not show the key.
#[derive(Debug)]
pub struct WireClient {
    wire: Wire,
    endpoint: Endpoint,
    http: HttpClient,
}

impl WireClient {
    /// Creates a client of the endpoint. It does not connect before the first call.
    pub fn new(wire: Wire, endpoint: Endpoint, exchanges: ExchangeMode) -> Self {
        Self { wire, endpoint, http: HttpClient::new(exchanges) }
    }

    /// Builds the call and passes it to `send`.
    fn call<T>(
        &self,
        request: &ChatRequest,
        streamed: bool,
        send: impl FnOnce(&HttpCall<'_>) -> Result<T, ChatError>,
    ) -> Result<T, ChatError> {
        let protocol = protocol(self.wire);
        let path = protocol.path(self.endpoint.model(), streamed);
        send(&HttpCall {
            name: &self.endpoint.name(),
            wire: self.wire.name(),
            model: self.endpoint.model(),
            key: self.endpoint.key(),
            base_url: base(&self.endpoint, &path),
            path: &path,
            headers: headers(protocol, &self.endpoint)?,
            body: Some(&protocol.body(&self.endpoint, request, streamed)),
            limit: if streamed { MAX_STREAM_BYTES } else { MAX_ANSWER_BYTES },
        })
    }

    /// Sends the request once, without a retry.
    fn ask(&self, request: &ChatRequest, budget: &CallBudget) -> Result<ChatAnswer, ChatError> {
        let started = Instant::now();
        let reply = self.call(request, false, |call| self.http.send(call, budget, None))?;
        self.check_status(&reply, request)?;
        let document = serde_json::from_slice(&reply.body)
            .map_err(|_| self.error(Fault::Bad("it is not JSON"), request))?;
        self.answer(document, request, started)
    }

    fn check_status(&self, reply: &Reply, request: &ChatRequest) -> Result<(), ChatError> {
        let Reply { status, retry_after, body } = reply;
        let refusal = StatusRefusal {
            endpoint: &self.endpoint,
            request: Some(request),
            status: *status,
            retry_after: *retry_after,
            body,
        };
        refusal.error().map_or(Ok(()), Err)
    }

    fn answer(
        &self,
        document: Value,
        request: &ChatRequest,
        started: Instant,
    ) -> Result<ChatAnswer, ChatError> {
        let said = protocol(self.wire).read(document).map_err(|fault| self.error(fault, request))?;
        answer::build(self.wire, &self.endpoint, said, started.elapsed())
    }

    fn error(&self, fault: Fault, request: &ChatRequest) -> ChatError {
        let model = self.endpoint.name();
        let bad = |why: &str| ChatError::BadAnswer { model: model.clone(), why: why.to_owned() };
        match fault {
            Fault::Bad(why) => bad(why),
            Fault::TooLarge(limit) => ChatError::AnswerTooLarge { model, limit },
            Fault::Error(document) => {
                let body = document.to_string();
                let refusal = StatusRefusal {
                    endpoint: &self.endpoint,
                    request: Some(request),
                    status: status_of(&document),
                    retry_after: None,
                    body: body.as_bytes(),
                };
                refusal.error().unwrap_or_else(|| bad("it is an error of an unknown kind"))
            }
        }
    }

    /// Sends the request with its schema if the endpoint takes one, and without it if the server rejects the
    /// request then and `may_repeat` returns true.
    fn shaped(
        &self,
        request: &ChatRequest,
        mut ask: impl FnMut(&ChatRequest) -> Result<ChatAnswer, ChatError>,
        may_repeat: impl Fn() -> bool,
    ) -> Result<ChatAnswer, ChatError> {
        let shaped = request.shaped(self.endpoint.facts().answer_schema);
        match ask(&shaped) {
            // The table may be wrong about an endpoint. Servers word this rejection in too many ways to
            // recognize it, so we try again without the schema. If the request is invalid for another reason,
            // the server will reject it again.
            Err(ChatError::BadRequest { .. } | ChatError::ModelUnusable { status: 400 | 422, .. })
                if shaped.answer_schema.is_some() && may_repeat() =>
            {
                ask(&request.shaped(false))
            }
            outcome => outcome,
        }
    }

    /// Sends the request once as a stream, without a retry.
    fn ask_for_stream(
        &self,
        request: &ChatRequest,
        budget: &CallBudget,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<ChatAnswer, ChatError> {
        let started = Instant::now();
        let mut reader = StreamReader::new(protocol(self.wire).events());
        let mut take = |piece: &[u8]| reader.push(piece, on_text).map_err(|fault| self.error(fault, request));
        let sent = self.call(request, true, |call| self.http.send(call, budget, Some(&mut take)));
        match sent {
            Ok(reply) => self.check_status(&reply, request)?,
            // The answer is complete, and only the end of the transfer is missing.
            Err(
                ChatError::ConnectionLost { .. }
                | ChatError::Stalled { .. }
                | ChatError::DeadlineExceeded { .. },
            ) if reader.is_whole() => {}
            Err(error) => return Err(error),
        }
        let is_one_document = reader.is_one_document();
        let document = match reader.end(on_text).map_err(|fault| self.error(fault, request))? {
            StreamEnd::Whole(document) => document,
            StreamEnd::Cut => return Err(ChatError::ConnectionLost { model: self.name() }),
        };
        let answer = self.answer(document, request, started)?;
        // A server that does not stream sends one document, whose text we have not passed on yet.
        if is_one_document && !answer.text.is_empty() {
            on_text(&answer.text);
        }
        Ok(answer)
    }
}

impl ChatModel for WireClient {
    fn name(&self) -> String {
        self.endpoint.name()
    }

    fn provider(&self) -> String {
        self.endpoint.provider().to_owned()
    }

    fn complete(&self, request: &ChatRequest, budget: &CallBudget) -> Result<ChatAnswer, ChatError> {
        self.shaped(request, |request| self.ask(request, budget), || true)
    }

    fn stream(
        &self,
        request: &ChatRequest,
        budget: &CallBudget,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<ChatAnswer, ChatError> {
        let has_text = Cell::new(false);
        let mut on_text = |piece: &str| {
            has_text.set(true);
            on_text(piece);
        };
        // Text that was passed on can't be taken back.
        self.shaped(request, |request| self.ask_for_stream(request, budget, &mut on_text), || !has_text.get())
    }
}

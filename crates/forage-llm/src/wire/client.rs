//! A chat model over any wire protocol.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::Value;

use super::answer;
use super::protocol::{Fault, base, headers};
use super::protocols::protocol;
use super::status::{StatusRefusal, status_of};
use super::stream::{StreamEnd, StreamReader};
use crate::chat::{AnswerShape, CallBudget, ChatAnswer, ChatModel, ChatRequest};
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
    /// How many of the [`AnswerShape`]s, in their order, the server has refused.
    refused: AtomicUsize,
    /// Whether we use `refused`. Recorded calls must each be complete, because a replay may have another order.
    remembers: bool,
}

impl WireClient {
    /// Creates a client of the endpoint. It does not connect before the first call.
    pub fn new(wire: Wire, endpoint: Endpoint, exchanges: ExchangeMode) -> Self {
        let remembers = matches!(exchanges, ExchangeMode::Live);
        Self { wire, endpoint, http: HttpClient::new(exchanges), refused: AtomicUsize::new(0), remembers }
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
        answer::build(self.wire, &self.endpoint, said, request.answer_tool(), started.elapsed())
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

    /// Lists the shapes in which we may ask for the answer, in order of preference.
    fn shapes(&self, request: &ChatRequest) -> impl Iterator<Item = AnswerShape> {
        let facts = self.endpoint.facts();
        let has_schema = request.answer_schema.is_some();
        let shapes = [
            (AnswerShape::Schema, has_schema && facts.answer_schema),
            // A forced call would keep the model from calling the request's own tools.
            (AnswerShape::Tool, has_schema && facts.answer_tool && request.tools.is_empty()),
            (AnswerShape::Text, true),
        ];
        let refused = self.refused.load(Ordering::Relaxed);
        shapes.into_iter().skip(refused).filter(|(_, is_usable)| *is_usable).map(|(shape, _)| shape)
    }

    /// Sends the request in the first shape that the endpoint takes. If the server rejects it and `may_repeat`
    /// returns true, sends it in the next shape. Once a later shape was accepted, we don't try the earlier
    /// ones again.
    fn shaped(
        &self,
        request: &ChatRequest,
        mut ask: impl FnMut(&ChatRequest) -> Result<ChatAnswer, ChatError>,
        may_repeat: impl Fn() -> bool,
    ) -> Result<ChatAnswer, ChatError> {
        let mut shapes = self.shapes(request);
        let first = shapes.next().unwrap_or_default();
        let mut shape = first;
        loop {
            let outcome = ask(&request.shaped(shape));
            // The table may be wrong about an endpoint. Servers word this rejection in too many ways to
            // recognize it, so we try the next shape. If the request is invalid for another reason, the server
            // will reject it again.
            let is_refused = matches!(
                outcome,
                Err(ChatError::BadRequest { .. } | ChatError::ModelUnusable { status: 400 | 422, .. })
            );
            if is_refused
                && may_repeat()
                && let Some(next) = shapes.next()
            {
                shape = next;
                continue;
            }
            if outcome.is_ok() && shape != first && self.remembers {
                self.refused.fetch_max(shape as usize, Ordering::Relaxed);
            }
            return outcome.map(|answer| ChatAnswer { shape, ..answer });
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
        // The arguments of a call are complete only at its end, and so is the text that contains them.
        let is_call = request.answer_tool().is_some();
        let mut pass = |piece: &str| {
            if !is_call {
                on_text(piece);
            }
        };
        let mut reader = StreamReader::new(protocol(self.wire).events());
        let mut take =
            |piece: &[u8]| reader.push(piece, &mut pass).map_err(|fault| self.error(fault, request));
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
        let document = match reader.end(&mut pass).map_err(|fault| self.error(fault, request))? {
            StreamEnd::Whole(document) => document,
            StreamEnd::Cut => return Err(ChatError::ConnectionLost { model: self.name() }),
        };
        let answer = self.answer(document, request, started)?;
        // A server that does not stream sends one document, whose text we have not passed on yet.
        if (is_one_document || is_call) && !answer.text.is_empty() {
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

//! Parses a response that arrives in events, in pieces of any size.

use std::ops::ControlFlow;

use serde_json::Value;

use super::protocol::{Events, Fault};
use crate::limits::{MAX_ANSWER_BYTES, MAX_EVENT_BYTES};
use crate::reasoning::ReasoningFilter;
use crate::sse::EventReader;

/// The event that ends an OpenAI stream. It is the only one that is not JSON.
const DONE: &[u8] = b"[DONE]";

pub(super) struct StreamReader {
    form: StreamForm,
    lines: EventReader,
    events: Box<dyn Events>,
    spoken: ReasoningFilter,
    is_done: bool,
    has_events: bool,
}

/// The form of the response. The first byte shows it: no line of an event begins like JSON.
enum StreamForm {
    Unknown,
    Events,
    /// A whole answer, because the server does not stream, or an error.
    Whole(Vec<u8>),
}

/// The result of a stream that has ended.
pub(super) enum StreamEnd {
    /// The answer as if it had arrived whole.
    Whole(Value),
    /// The stream ended before the finish reason, so part of the answer may be missing.
    Cut,
}

impl StreamReader {
    pub(super) fn new(events: Box<dyn Events>) -> Self {
        Self {
            form: StreamForm::Unknown,
            lines: EventReader::default(),
            events,
            spoken: ReasoningFilter::default(),
            is_done: false,
            has_events: false,
        }
    }

    /// Adds a piece, and passes on the answer's text in it. Breaks if no more is needed.
    pub(super) fn push(
        &mut self,
        piece: &[u8],
        on_text: &mut dyn FnMut(&str),
    ) -> Result<ControlFlow<()>, Fault> {
        if let StreamForm::Unknown = self.form {
            match piece.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => {}
                Some(b'{' | b'[') => self.form = StreamForm::Whole(Vec::new()),
                Some(_) => self.form = StreamForm::Events,
            }
        }
        if let StreamForm::Whole(body) = &mut self.form {
            if body.len() + piece.len() > MAX_ANSWER_BYTES {
                return Err(Fault::TooLarge(MAX_ANSWER_BYTES));
            }
            body.extend_from_slice(piece);
            return Ok(ControlFlow::Continue(()));
        }
        let mut events = Vec::new();
        // We process the events before one that is too long, because they may contain the server's error.
        let read = self.lines.push(piece, &mut events);
        for event in events {
            self.take(&event, on_text)?;
            if self.is_over() {
                return Ok(ControlFlow::Break(()));
            }
        }
        read.map_err(|_| Fault::TooLarge(MAX_EVENT_BYTES))?;
        Ok(ControlFlow::Continue(()))
    }

    fn take(&mut self, event: &[u8], on_text: &mut dyn FnMut(&str)) -> Result<(), Fault> {
        if event == DONE {
            self.is_done = true;
            return Ok(());
        }
        let event = serde_json::from_slice(event).map_err(|_| Fault::Bad("one of its events is not JSON"))?;
        self.has_events = true;
        let mut text = String::new();
        self.events.take(event, &mut text)?;
        pass_on(&self.spoken.push(&text), on_text);
        Ok(())
    }

    /// Returns true if the answer is complete, even if the connection is lost from here on.
    pub(super) fn is_whole(&self) -> bool {
        self.events.is_whole()
    }

    fn is_over(&self) -> bool {
        self.is_done || self.events.is_over()
    }

    /// Ends the response and returns its result.
    pub(super) fn end(mut self, on_text: &mut dyn FnMut(&str)) -> Result<StreamEnd, Fault> {
        if let StreamForm::Whole(body) = &self.form {
            let whole = serde_json::from_slice(body).map_err(|_| Fault::Bad("it is not JSON"))?;
            return Ok(StreamEnd::Whole(whole));
        }
        if !self.is_over() {
            // If an event is incomplete, the stream was cut. It does not mean that the server writes no JSON.
            let last = self.lines.end().map_err(|_| Fault::TooLarge(MAX_EVENT_BYTES))?;
            match last {
                Some(event) if event == DONE || serde_json::from_slice::<Value>(&event).is_ok() => {
                    self.take(&event, on_text)?;
                }
                Some(_) if !self.is_whole() => return Ok(StreamEnd::Cut),
                _ => {}
            }
        }
        if !self.has_events && !self.is_done {
            return match self.form {
                StreamForm::Unknown => Ok(StreamEnd::Cut),
                _ => Err(Fault::Bad("it has no events")),
            };
        }
        if !self.is_whole() {
            return Ok(StreamEnd::Cut);
        }
        pass_on(&self.spoken.end(), on_text);
        Ok(StreamEnd::Whole(self.events.whole()))
    }

    /// Returns true if the answer arrived whole, so that we have not passed on its text yet.
    pub(super) fn is_one_document(&self) -> bool {
        matches!(self.form, StreamForm::Whole(_))
    }
}

fn pass_on(text: &str, on_text: &mut dyn FnMut(&str)) {
    if !text.is_empty() {
        on_text(text);
    }
}

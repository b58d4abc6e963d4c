//! A minimal HTTP client for the wire protocols: one request within a budget.
//!
//! Each call opens a new connection. Model calls take seconds, so a pool would gain little. Also, if the
//! server had already closed a pooled connection, this would look like a lost answer.

use std::io::Read;
use std::ops::ControlFlow;
use std::time::Duration;

use forage_http::ureq;
use forage_http::ureq::http::{HeaderMap, Request, Response};
use forage_http::{CallState, ConnectStage, Line, LineSettings};

use crate::chat::CallBudget;
use crate::error::ChatError;
use crate::exchange::{BodyPieces, HttpCall, Reply, pause};
use crate::limits::{BODY_PIECE_BYTES, MAX_ERROR_BODY_BYTES};
use crate::message::sanitise;
use crate::recording::{ExchangeMode, RecordedExchange};

/// An HTTP client for one endpoint.
#[derive(Debug, Default)]
pub(crate) struct HttpClient {
    settings: LineSettings,
    exchanges: ExchangeMode,
}

impl HttpClient {
    pub(crate) fn new(exchanges: ExchangeMode) -> Self {
        Self { exchanges, ..Self::default() }
    }

    /// Sends the request and reads the response. If `pieces` is given, it receives the body of a success.
    pub(crate) fn send(
        &self,
        call: &HttpCall<'_>,
        budget: &CallBudget,
        pieces: Option<BodyPieces<'_>>,
    ) -> Result<Reply, ChatError> {
        if let Some(stopped) = budget.stop.check() {
            return Err(ChatError::stopped(call.name.to_owned(), stopped));
        }
        let mut reply = Reply::default();
        let (sent, body) = match &self.exchanges {
            ExchangeMode::Live => {
                return self.over_network(call, budget, pieces, &mut reply).map(|()| reply);
            }
            ExchangeMode::Replay(recordings) => {
                return recordings.answer(call, pieces);
            }
            ExchangeMode::Record(_) => match pieces {
                None => (self.over_network(call, budget, None, &mut reply), None),
                Some(pieces) => {
                    let mut body = Vec::new();
                    let mut tee = |piece: &[u8]| {
                        body.extend_from_slice(piece);
                        pieces(piece)
                    };
                    (self.over_network(call, budget, Some(&mut tee), &mut reply), Some(body))
                }
            },
        };
        if let ExchangeMode::Record(sink) = &self.exchanges
            && let Some(exchange) = RecordedExchange::new(call, &reply, body, sent.as_ref().err())
        {
            sink.take(&exchange).map_err(|why| {
                call.cannot(format!(
                    "the exchange can't be recorded: {why}; record elsewhere, or turn recording off"
                ))
            })?;
        }
        sent.map(|()| reply)
    }

    fn over_network(
        &self,
        call: &HttpCall<'_>,
        budget: &CallBudget,
        pieces: Option<BodyPieces<'_>>,
        reply: &mut Reply,
    ) -> Result<(), ChatError> {
        // If a response is not streamed, the server is silent until the answer is complete.
        let idle = budget.idle.filter(|_| pieces.is_some());
        let line = Line::new(self.settings.clone());
        let state = &*line.begin(&budget.stop, idle);
        let fail = |error| failure(call.name, state, &error);
        let response = run(&line, call).map_err(fail)?;
        reply.status = response.status().as_u16();
        reply.retry_after = retry_after(response.headers());
        // For any other status, reading the body would only cause a delay.
        match reply.status {
            200..=299 => read_answer(call, response, state, pieces, &mut reply.body),
            400..=499 => {
                // We already have the status, so a lost connection does not matter here, but the budget does.
                let read = |piece: &[u8]| take_piece(&mut reply.body, piece, MAX_ERROR_BODY_BYTES);
                let _ = read_pieces(response, read);
                state.check().map_err(fail)
            }
            _ => Ok(()),
        }
    }
}

fn run(line: &Line, call: &HttpCall<'_>) -> Result<Response<ureq::Body>, ureq::Error> {
    let url = format!("{}{}", call.base_url, call.path);
    let request = match call.body {
        Some(_) => Request::post(url).header("content-type", "application/json"),
        None => Request::get(url),
    };
    let request = call.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
    match call.body {
        Some(body) => line.run(request.body(body.to_string())?),
        None => line.run(request.body(())?),
    }
}

fn read_answer(
    call: &HttpCall<'_>,
    response: Response<ureq::Body>,
    state: &CallState,
    pieces: Option<BodyPieces<'_>>,
    body: &mut Vec<u8>,
) -> Result<(), ChatError> {
    // If the server announces the size, we need not read up to the limit first.
    if response.body().content_length().is_some_and(|length| length > call.limit as u64) {
        return Err(call.too_large());
    }
    let mut error = None;
    let end = match pieces {
        None => read_pieces(response, |piece| take_piece(body, piece, call.limit)),
        Some(pieces) => {
            let mut left = call.limit;
            read_pieces(response, |piece| {
                let fits = piece.len().min(left);
                left -= fits;
                match pieces(&piece[..fits]) {
                    Ok(ControlFlow::Continue(())) if fits < piece.len() => TakenBytes::Limit,
                    Ok(ControlFlow::Continue(())) => TakenBytes::More,
                    Ok(ControlFlow::Break(())) => TakenBytes::Enough,
                    Err(bad) => {
                        error = Some(bad);
                        TakenBytes::Enough
                    }
                }
            })
        }
    };
    match (error, end) {
        (Some(error), _) => Err(error),
        (None, BodyEnd::Whole) => Ok(()),
        (None, BodyEnd::Limit) => Err(call.too_large()),
        (None, BodyEnd::Broken(error)) => Err(failure(call.name, state, &error)),
    }
}

enum TakenBytes {
    More,
    Enough,
    Limit,
}

fn take_piece(body: &mut Vec<u8>, piece: &[u8], limit: usize) -> TakenBytes {
    let fits = piece.len().min(limit - body.len());
    body.extend_from_slice(&piece[..fits]);
    if fits < piece.len() { TakenBytes::Limit } else { TakenBytes::More }
}

enum BodyEnd {
    Whole,
    Limit,
    Broken(ureq::Error),
}

fn read_pieces(mut response: Response<ureq::Body>, mut take: impl FnMut(&[u8]) -> TakenBytes) -> BodyEnd {
    let mut reader = response.body_mut().as_reader();
    let mut piece = vec![0; BODY_PIECE_BYTES];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return BodyEnd::Whole,
            Ok(count) => match take(&piece[..count]) {
                TakenBytes::More => {}
                TakenBytes::Enough => return BodyEnd::Whole,
                TakenBytes::Limit => return BodyEnd::Limit,
            },
            Err(error) => return BodyEnd::Broken(error.into()),
        }
    }
}

fn failure(model: &str, state: &CallState, error: &ureq::Error) -> ChatError {
    let model = model.to_owned();
    // A halt also breaks the connection, so we must check it first.
    if let Some(halt) = state.halt() {
        return ChatError::halted(model, halt);
    }
    if state.stage() != ConnectStage::Connected {
        return ChatError::Unreachable { model, why: sanitise(&error.to_string()) };
    }
    match error {
        ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) | ureq::Error::Http(_) => {
            ChatError::BadAnswer { model, why: "the server does not speak HTTP/1.1".to_owned() }
        }
        _ => ChatError::ConnectionLost { model },
    }
}

/// Returns the pause that the server requests: `retry-after-ms`, otherwise `retry-after` in seconds. We
/// ignore the date form of `retry-after`, because no model provider uses it and it would require synchronized
/// clocks.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"))?;
    pause(seconds)
}

#[cfg(test)]
mod tests {
    use forage_http::ureq::http::HeaderValue;

    use super::*;

    #[test]
    fn pauses_are_read_from_either_header() {
        let pause = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            retry_after(&headers)
        };
        assert_eq!(pause("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(pause("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(pause("retry-after-ms", "30"), Some(Duration::from_millis(30)));
        assert_eq!(pause("retry-after", "1e19"), Some(crate::limits::MAX_PAUSE));
        for odd in ["-1", "NaN", "inf", "1e300", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(pause("retry-after", odd), None, "{odd}");
        }
    }
}

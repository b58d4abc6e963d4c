//! One POST within a budget: what every wire protocol needs of HTTP, and nothing more.
//!
//! No redirect is followed, so that a key never reaches a host that the user did not name. No proxy is used. Each
//! call has a connection of its own: model calls take seconds, so a pool would gain little, and a pooled connection
//! that the server has closed meanwhile looks like a lost answer.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderMap, HeaderValue, Request, Response};
use ureq::unversioned::transport::RustlsConnector;

use crate::chat::CallBudget;
use crate::connect::{BudgetConnector, CallState};
use crate::error::ChatError;
use crate::limits::{BODY_PIECE_BYTES, MAX_ANSWER_BYTES, MAX_ERROR_BODY_BYTES, WAIT_SLICE};
use crate::message::sanitise;
use crate::resolve::BudgetResolver;

/// An HTTP client of one endpoint.
#[derive(Debug, Default)]
pub(crate) struct HttpClient {
    tls: Arc<RustlsConnector>,
}

/// A request to send.
pub(crate) struct Post<'a> {
    /// `provider/model`, for errors.
    pub(crate) model: &'a str,
    pub(crate) url: &'a str,
    /// Headers beside content type and length.
    pub(crate) headers: Vec<(&'static str, HeaderValue)>,
    /// A JSON document.
    pub(crate) body: &'a [u8],
}

/// A response, whatever its status.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    /// The body of a success; of a 4xx at most [`MAX_ERROR_BODY_BYTES`], as far as it could be read; else empty.
    pub(crate) body: Vec<u8>,
}

impl HttpClient {
    /// Sends the request and reads the response.
    pub(crate) fn post(&self, post: &Post<'_>, budget: &CallBudget<'_>) -> Result<Reply, ChatError> {
        budget.check().map_err(|stop| ChatError::stopped(post.model.to_owned(), stop))?;
        let state = Arc::new(CallState::new(budget.deadline));
        watched(budget, &state, || self.exchange(post, &state)).unwrap_or_else(|error| {
            Err(ChatError::Unreachable {
                model: post.model.to_owned(),
                why: format!("no thread to watch for cancellation: {error}"),
            })
        })
    }

    fn exchange(&self, post: &Post<'_>, state: &Arc<CallState>) -> Result<Reply, ChatError> {
        let fail = |error| failure(post.model, state, &error);
        let mut request = Request::post(post.url).header("content-type", "application/json");
        for (name, value) in &post.headers {
            request = request.header(*name, value);
        }
        let request = request.body(post.body).map_err(|error| fail(error.into()))?;
        let response = self.agent(state).run(request).map_err(fail)?;
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        // Elsewhere the status says everything, and a body could only delay it.
        let body = match status {
            200..=299 => read_answer(post.model, response, state)?,
            400..=499 => read_error_body(response, state).map_err(fail)?,
            _ => Vec::new(),
        };
        Ok(Reply { status, retry_after, body })
    }

    /// Asks for a document of at most `limit` bytes; `name` is the provider's, for errors.
    pub(crate) fn get(
        &self,
        name: &str,
        url: &str,
        headers: Vec<(&'static str, HeaderValue)>,
        limit: usize,
        budget: &CallBudget<'_>,
    ) -> Result<Reply, ChatError> {
        budget.check().map_err(|stop| ChatError::stopped(name.to_owned(), stop))?;
        let state = Arc::new(CallState::new(budget.deadline));
        let exchange = || {
            let fail = |error| failure(name, &state, &error);
            let mut request = Request::get(url);
            for (header, value) in &headers {
                request = request.header(*header, value);
            }
            let request = request.body(()).map_err(|error| fail(error.into()))?;
            let response = self.agent(&state).run(request).map_err(fail)?;
            let status = response.status().as_u16();
            let mut body = Vec::new();
            if status == 200 {
                let (bytes, end) = read_up_to(response, limit);
                match end {
                    End::Whole => body = bytes,
                    End::Limit => return Err(ChatError::AnswerTooLarge { model: name.to_owned(), limit }),
                    End::Broken(error) => return Err(fail(error)),
                }
            }
            Ok(Reply { status, retry_after: None, body })
        };
        watched(budget, &state, exchange).unwrap_or_else(|error| {
            Err(ChatError::Unreachable { model: name.to_owned(), why: sanitise(&error.to_string()) })
        })
    }

    fn agent(&self, state: &Arc<CallState>) -> Agent {
        let config = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(concat!("forage/", env!("CARGO_PKG_VERSION")))
            .max_idle_connections(0)
            .build();
        let connector = BudgetConnector { state: Arc::clone(state), tls: Arc::clone(&self.tls) };
        Agent::with_parts(config, connector, BudgetResolver { state: Arc::clone(state) })
    }
}

/// Ends the watcher when the work is over, also by a panic, which would otherwise wait for it forever.
struct EndWatch<'a> {
    over: &'a AtomicBool,
    watcher: Thread,
}

impl Drop for EndWatch<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}

/// Does the work while a second thread asks the budget for cancellation and passes it on. That thread is joined
/// before this returns; it exists because the caller's budget is a borrow, which ureq's layers cannot hold.
fn watched<T>(budget: &CallBudget<'_>, state: &CallState, work: impl FnOnce() -> T) -> std::io::Result<T> {
    let over = AtomicBool::new(false);
    let cancelled = budget.cancelled;
    thread::scope(|scope| {
        let watch = || {
            while !over.load(Ordering::Acquire) {
                if cancelled() {
                    return state.cancel();
                }
                thread::park_timeout(WAIT_SLICE);
            }
        };
        let watcher =
            thread::Builder::new().name("forage-llm-watch".to_owned()).spawn_scoped(scope, watch)?;
        let _end = EndWatch { over: &over, watcher: watcher.thread().clone() };
        Ok(work())
    })
}

fn read_answer(model: &str, response: Response<ureq::Body>, state: &CallState) -> Result<Vec<u8>, ChatError> {
    let too_large = || ChatError::AnswerTooLarge { model: model.to_owned(), limit: MAX_ANSWER_BYTES };
    if response.body().content_length().is_some_and(|length| length > MAX_ANSWER_BYTES as u64) {
        return Err(too_large());
    }
    let (body, cause) = read_up_to(response, MAX_ANSWER_BYTES);
    match cause {
        End::Whole => Ok(body),
        End::Limit => Err(too_large()),
        End::Broken(error) => Err(failure(model, state, &error)),
    }
}

/// The body of an error response. A break does not matter, the status says enough; the budget does.
fn read_error_body(response: Response<ureq::Body>, state: &CallState) -> Result<Vec<u8>, ureq::Error> {
    let (body, _) = read_up_to(response, MAX_ERROR_BODY_BYTES);
    state.check().map(|()| body)
}

enum End {
    Whole,
    Limit,
    Broken(ureq::Error),
}

fn read_up_to(mut response: Response<ureq::Body>, limit: usize) -> (Vec<u8>, End) {
    let mut reader = response.body_mut().as_reader();
    let mut body = Vec::new();
    let mut piece = vec![0; BODY_PIECE_BYTES];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return (body, End::Whole),
            Ok(count) if body.len() + count > limit => {
                body.extend_from_slice(&piece[..limit - body.len()]);
                return (body, End::Limit);
            }
            Ok(count) => body.extend_from_slice(&piece[..count]),
            Err(error) => return (body, End::Broken(error.into())),
        }
    }
}

fn failure(model: &str, state: &CallState, error: &ureq::Error) -> ChatError {
    let model = model.to_owned();
    if let Some(stop) = state.stop() {
        return ChatError::stopped(model, stop);
    }
    if !state.is_connected() {
        return ChatError::Unreachable { model, why: sanitise(&error.to_string()) };
    }
    match error {
        ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) | ureq::Error::Http(_) => {
            ChatError::BadAnswer { model, why: "it is not HTTP/1.1".to_owned() }
        }
        _ => ChatError::ConnectionLost { model },
    }
}

/// The pause that the server asks for: `retry-after-ms`, else `retry-after` in seconds. The date form of
/// `retry-after` counts as absent: no model provider uses it, and it would need both clocks to agree.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_watcher_ends_with_the_work_also_when_that_panics() {
        let asked = AtomicUsize::new(0);
        let ask = || {
            asked.fetch_add(1, Ordering::SeqCst);
            false
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        let budget = CallBudget { deadline, cancelled: &ask };
        let state = CallState::new(deadline);
        let work = || thread::sleep(WAIT_SLICE * 4);
        watched(&budget, &state, work).unwrap();
        let panic = || watched(&budget, &state, || panic!("the work fails"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panic)).is_err());
        let before = asked.load(Ordering::SeqCst);
        assert!(before > 1, "it did ask");
        thread::sleep(WAIT_SLICE * 4);
        assert_eq!(asked.load(Ordering::SeqCst), before);
        assert!(state.stop().is_none());
    }

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
        for odd in ["-1", "NaN", "inf", "1e300", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(pause("retry-after", odd), None, "{odd}");
        }
    }
}

//! Tests the crate through its public boundary, with real sockets on the loopback, a scripted server and real
//! deadlines.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod aimock;
mod budget;
mod conversations;
mod failover;
mod listing;
mod peer;
mod recordings;
mod samples;
mod secrets;
mod streams;
mod wire;

use std::time::{Duration, Instant};

use forage_llm::{
    ApiKey, CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest, Endpoint, EndpointSettings, Exchanges,
    Redacted, Redactor, Wire, WireClient,
};

/// The key of every test; no output may contain it.
const KEY: &str = "test-key-0f9e8d7c6b5a";

fn request(user: &str) -> ChatRequest {
    let system = Redacted::trusted("You filter search results.");
    ChatRequest::question(system, Redactor::standard().redact(user), 321)
}

fn settings(base_url: &str) -> EndpointSettings {
    let mut settings = EndpointSettings::new("acme", base_url, "small-1");
    settings.key = Some(ApiKey::new(KEY).unwrap());
    settings
}

fn model(base_url: &str) -> WireClient {
    client(Wire::OpenAiChat, base_url)
}

fn client(wire: Wire, base_url: &str) -> WireClient {
    WireClient::new(wire, Endpoint::new(settings(base_url)).unwrap(), Exchanges::Live)
}

/// A budget that no healthy test exhausts.
fn ample() -> CallBudget {
    CallBudget::until(Instant::now() + Duration::from_secs(30))
}

/// A budget with time left, whose caller cancels.
fn given_up(time: Duration) -> CallBudget {
    let budget = CallBudget::until(Instant::now() + time);
    budget.stop.cancel();
    budget
}

/// Asks once, and checks the properties of every outcome.
fn ask(base_url: &str) -> Result<ChatAnswer, ChatError> {
    let outcome = model(base_url).complete(&request("the question of this test"), &ample());
    if let Err(error) = &outcome {
        check_error(error);
    }
    outcome
}

/// Checks the properties of every error: it names the model, and shows neither key nor request.
fn check_error(error: &ChatError) {
    let shown = format!("{error} {error:?}");
    assert!(shown.starts_with("acme") && shown.contains("/small-1: "), "{shown}");
    assert!(!shown.contains(KEY), "{shown}");
    assert!(!shown.contains("the question of this test"), "{shown}");
    assert!(shown.len() < 2000, "{shown}");
}

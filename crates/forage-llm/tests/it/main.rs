//! Tests the crate through its public interface, with real sockets on the loopback interface, a scripted
//! server and real deadlines.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod aimock;
mod answer_shapes;
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
    ApiKey, CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest, Endpoint, EndpointSettings,
    ExchangeMode, Wire, WireClient,
};
use forage_redact::{Redacted, Redactor};

/// The key in every test. It must never appear in any output.
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
    WireClient::new(wire, Endpoint::new(settings(base_url)).unwrap(), ExchangeMode::Live)
}

/// Creates a budget that no healthy test exhausts.
fn ample() -> CallBudget {
    CallBudget::until(Instant::now() + Duration::from_secs(30))
}

/// Creates a budget with time left whose caller cancels after `time`.
fn given_up(time: Duration) -> CallBudget {
    let budget = CallBudget::until(Instant::now() + time);
    budget.stop.cancel();
    budget
}

/// Asks once, and checks the properties that every result must have.
fn ask(base_url: &str) -> Result<ChatAnswer, ChatError> {
    let outcome = model(base_url).complete(&request("the question of this test"), &ample());
    if let Err(error) = &outcome {
        check_error(error);
    }
    outcome
}

/// Checks the properties of every error: it must name the model, and show neither the key nor the request.
fn check_error(error: &ChatError) {
    let shown = format!("{error} {error:?}");
    assert!(shown.starts_with("acme") && shown.contains("/small-1: "), "{shown}");
    assert!(!shown.contains(KEY), "{shown}");
    assert!(!shown.contains("the question of this test"), "{shown}");
    assert!(shown.len() < 2000, "{shown}");
}

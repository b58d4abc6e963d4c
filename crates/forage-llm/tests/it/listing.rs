//! Tests lists of models.

use std::time::{Duration, Instant};

use forage_llm::limits::MAX_LISTING_BYTES;
use forage_llm::{CallBudget, ChatError, Endpoint, ExchangeMode, ListedModel, Wire};
use serde_json::json;

use crate::peer::{Peer, Reply, json as reply};
use crate::{KEY, ample, settings};

fn list(wire: Wire, peer: &Peer, budget: &CallBudget) -> Result<Vec<ListedModel>, ChatError> {
    let endpoint = Endpoint::without_model(settings(&peer.root())).unwrap();
    let outcome = wire.list_models(&endpoint, &ExchangeMode::Live, budget);
    if let Err(error) = &outcome {
        let shown = format!("{error} {error:?}");
        assert!(shown.starts_with("acme: ") && !shown.contains(KEY), "{shown}");
    }
    outcome
}

fn model(id: &str, created: Option<u64>) -> ListedModel {
    ListedModel { created, ..ListedModel::new(id) }
}

#[test]
fn openai_lists_in_one_document() {
    let data = json!([
        {"id": "a/b", "object": "model", "created": 1_760_486_400},
        {"id": "c", "created": 0},
        {"id": "bad\nid"},
        {"name": "no id"},
    ]);
    for body in [json!({"object": "list", "data": data}), data.clone()] {
        let peer = Peer::start([reply(200, "", &body.to_string())]);
        let listed = list(Wire::OpenAiChat, &peer, &ample()).unwrap();
        assert_eq!(listed, [model("a/b", Some(1_760_486_400)), model("c", None)]);
        let head = peer.requests()[0].to_ascii_lowercase();
        assert!(head.starts_with("get /models http/1.1\r\n"), "{head}");
        assert!(head.contains(&format!("\r\nauthorization: bearer {KEY}")), "{head}");
    }
}

#[test]
fn anthropic_lists_in_pages() {
    let first = json!({"data": [{"id": "a", "created_at": "2025-10-15T00:00:00Z"}], "has_more": true, "last_id": "a b"});
    let second = json!({"data": [{"id": "b", "created_at": "1970-01-01T00:00:00Z"}], "has_more": false, "last_id": "b"});
    let peer = Peer::start([reply(200, "", &first.to_string()), reply(200, "", &second.to_string())]);
    let listed = list(Wire::Anthropic, &peer, &ample()).unwrap();
    assert_eq!(listed, [model("a", Some(1_760_486_400)), model("b", None)]);
    let requests = peer.requests();
    assert!(requests[0].starts_with("GET /v1/models?limit=1000 HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(
        requests[1].starts_with("GET /v1/models?limit=1000&after_id=a%20b HTTP/1.1\r\n"),
        "{}",
        requests[1]
    );
    assert!(requests[1].to_ascii_lowercase().contains("\r\nanthropic-version: 2023-06-01\r\n"));
}

#[test]
fn gemini_lists_what_can_generate_content() {
    let body = json!({"models": [
        {"name": "models/g-flash", "supportedGenerationMethods": ["generateContent", "countTokens"]},
        {"name": "models/embedder", "supportedGenerationMethods": ["embedContent"]},
        {"name": "models/unknown"},
    ]});
    let peer = Peer::start([reply(200, "", &body.to_string())]);
    assert_eq!(list(Wire::Gemini, &peer, &ample()).unwrap(), [model("g-flash", None)]);
    let request = &peer.requests()[0];
    assert!(request.starts_with("GET /v1beta/models?pageSize=1000 HTTP/1.1\r\n"), "{request}");
}

#[test]
fn large_model_list_is_read_and_endless_one_refused() {
    let data: Vec<_> = (0..5_000).map(|id| json!({"id": format!("m{id}"), "x": "y".repeat(400)})).collect();
    let peer = Peer::start([reply(200, "", &json!({"data": data}).to_string())]);
    assert_eq!(list(Wire::OpenAiChat, &peer, &ample()).unwrap().len(), 5_000);
    let data: Vec<_> = (0..20_000).map(|id| json!({"id": format!("m{id}")})).collect();
    let peer = Peer::start([reply(200, "", &json!({"data": data}).to_string())]);
    let error = list(Wire::OpenAiChat, &peer, &ample()).unwrap_err();
    assert!(matches!(error, ChatError::BadAnswer { .. }), "{error:?}");
    let peer = Peer::start([reply(200, "", &" ".repeat(MAX_LISTING_BYTES + 1))]);
    let error = list(Wire::OpenAiChat, &peer, &ample()).unwrap_err();
    assert!(matches!(error, ChatError::AnswerTooLarge { .. }), "{error:?}");
    let page = json!({"data": [], "has_more": true, "last_id": "a"}).to_string();
    let peer = Peer::start(vec![reply(200, "", &page); 20]);
    let error = list(Wire::Anthropic, &peer, &ample()).unwrap_err();
    assert!(matches!(error, ChatError::BadAnswer { .. }), "{error:?}");
}

#[test]
fn failures_of_lists_are_those_of_calls() {
    for wire in Wire::ALL {
        for (answer, kind) in [
            (reply(401, "", "{}"), "Unauthorized"),
            (reply(404, "", "{}"), "ModelUnusable"),
            (reply(503, "", "{}"), "Server"),
            (reply(302, "location: http://h/\r\n", ""), "BadAnswer"),
            (reply(200, "", "<html>"), "BadAnswer"),
            (reply(200, "", "{}"), "BadAnswer"),
            (Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec()), "ConnectionLost"),
        ] {
            let error = list(wire, &Peer::start([answer]), &ample()).unwrap_err();
            assert!(format!("{error:?}").starts_with(kind), "{wire:?} {kind}: {error:?}");
        }
        let budget = CallBudget::until(Instant::now() + Duration::from_millis(200));
        let error = list(wire, &Peer::start([Reply::Hang(Vec::new())]), &budget).unwrap_err();
        assert!(matches!(error, ChatError::DeadlineExceeded { .. }), "{error:?}");
    }
}

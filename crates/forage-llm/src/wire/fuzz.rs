//! Tests properties that must hold for any response: there are no panics, memory use stays within
//! [`forage_fuzz::limits::INPUT_BYTES`], and the result does not depend on how the bytes were split.

use std::ops::ControlFlow;

use forage_base::ApiKey;
use forage_fuzz::target;

use super::answer::unique_ids;
use super::status::{StatusRefusal, status_of};
use super::stream::{StreamEnd, StreamReader};
use super::tests::samples;
use serde_json::Value;

use super::protocol::*;
use super::protocols::protocol;
use super::*;
use crate::endpoint::EndpointSettings;
use crate::limits::MAX_MODEL_ID_BYTES;

const KEY: &str = "sk-fuzz-0123456789abcdef0123456789abcdef";

/// Describes the result of a stream in these pieces, with the text that was passed on.
fn streamed(wire: Wire, pieces: &[&[u8]]) -> (String, Option<RawAnswer>) {
    let mut reader = StreamReader::new(protocol(wire).events());
    let (mut text, mut fault) = (String::new(), None);
    for piece in pieces {
        match reader.push(piece, &mut |piece| text.push_str(piece)) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => break,
            Err(error) => {
                fault = Some(error);
                break;
            }
        }
    }
    let ended = match fault {
        Some(fault) => Err(fault),
        None => reader.end(&mut |piece| text.push_str(piece)),
    };
    let said = ended.and_then(|ended| match ended {
        StreamEnd::Whole(document) => protocol(wire).read(document).map(Some),
        StreamEnd::Cut => Ok(None),
    });
    let shown = format!("{text} {said:?}");
    (shown, said.ok().flatten())
}

#[test]
fn a_streamed_answer_is_the_same_however_it_is_cut() {
    let mut seeds = Vec::new();
    for sample in samples() {
        seeds.push(sample.lines("\n").into_bytes());
        seeds.push(sample.lines("\r\n").into_bytes());
        seeds.push(sample.whole.to_string().into_bytes());
    }
    seeds.extend(forage_fuzz::seeds(["data: {\"error\":{\"code\":503,\"message\":\"no\"}}\n\n"]));
    target!(&seeds, |input| {
        for wire in Wire::ALL {
            let (shown, said) = streamed(wire, &[input]);
            let halves = input.split_at(input.len() / 2);
            let by_threes: Vec<&[u8]> = input.chunks(3.max(input.len() / 500)).collect();
            assert_eq!(streamed(wire, &[halves.0, halves.1]).0, shown, "{wire:?} in halves");
            assert_eq!(streamed(wire, &by_threes).0, shown, "{wire:?} in many pieces");
            let Some(mut said) = said else { continue };
            let ids: std::collections::HashSet<_> = said.calls.iter().map(|call| call.id.clone()).collect();
            assert!(ids.len() == said.calls.len() && !ids.contains(""), "ids of calls: {:?}", said.calls);
            let before = said.calls.clone();
            unique_ids(&mut said.calls);
            assert_eq!(said.calls, before, "unique ids stay");
        }
    });
}

#[test]
fn a_list_of_models_names_only_what_can_be_asked_for() {
    let seeds = forage_fuzz::seeds([
        r#"{"object":"list","data":[{"id":"acme/one-2","created":1700000000,"context_length":128000,"pricing":{"prompt":"0.0000001","completion":"0.000002","input_cache_read":"1e-8"}},{"id":"two","created":0,"pricing":{"input":0.1,"output":2}}]}"#,
        r#"{"data":[{"type":"model","id":"three-4","created_at":"2025-05-22T00:00:00Z"}],"has_more":true,"last_id":"three-4"}"#,
        r#"{"models":[{"name":"models/four","inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent"]}],"nextPageToken":"abc=="}"#,
        r#"[{"id":"five","max_model_len":4096}]"#,
    ]);
    target!(&seeds, |input| {
        let Ok(page) = serde_json::from_slice(input) else { return };
        for wire in Wire::ALL {
            let Some((models, cursor)) = protocol(wire).read_listing(&page) else { continue };
            for model in models {
                let id = model.id.as_bytes();
                assert!(!id.is_empty() && id.len() <= MAX_MODEL_ID_BYTES, "{model:?}");
                assert!(id.iter().all(u8::is_ascii_graphic), "{model:?}");
                let prices = model.price.map(|price| [price.input, price.cached_input, price.output]);
                assert!(
                    prices.into_iter().flatten().all(|price| price.is_finite() && price >= 0.0),
                    "{model:?}"
                );
            }
            // We send the cursor back in an address, where it must be a single value of the query.
            let path = protocol(wire).listing_path(cursor.as_deref());
            assert!(path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'), "{path}");
        }
    });
}

#[test]
fn a_refusal_is_an_error_without_the_key() {
    let mut settings = EndpointSettings::new("acme", "https://h", "m");
    settings.key = Some(ApiKey::new(KEY).unwrap());
    let endpoint = Endpoint::new(settings).unwrap();
    let mut seeds = forage_fuzz::seeds([
        r#"{"error":{"code":"context_length_exceeded","message":"too many tokens","type":"invalid_request_error"}}"#,
        r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"reason":"X"},{"retryDelay":"17s"}]}}]"#,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        "<html>502 Bad Gateway</html>",
    ]);
    seeds.push(format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}."}}}}"#).into_bytes());
    seeds.push(format!("key {KEY} {KEY}").into_bytes());
    target!(&seeds, |input| {
        for status in [200, 307, 400, 401, 404, 408, 413, 422, 429, 500, 529, 599] {
            let refusal =
                StatusRefusal { endpoint: &endpoint, request: None, status, retry_after: None, body: input };
            let Some(error) = refusal.error() else {
                assert_eq!(status, 200);
                continue;
            };
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains(KEY), "{shown}");
        }
        let document = serde_json::from_slice(input).unwrap_or(Value::Null);
        assert!((400..600).contains(&status_of(&document)));
    });
}

//! Properties of all wire protocols: names, addresses, and that an answer in events equals the whole answer.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::protocol::*;
use super::protocols::protocol;
use super::stream::{StreamEnd, StreamReader};
use super::*;
use crate::chat::Usage;
use crate::endpoint::EndpointSettings;
use crate::reasoning::without_reasoning;

#[test]
fn names_lead_back_to_their_wires() {
    for wire in Wire::ALL {
        assert_eq!(Wire::from_name(wire.name()), Some(wire));
    }
    assert_eq!(Wire::from_name("carrier-pigeon"), None);
}

#[test]
fn version_in_the_base_url_is_not_repeated() {
    let base = |url: &str, path| {
        base(&Endpoint::new(EndpointSettings::new("acme", url, "m")).unwrap(), path).to_owned()
    };
    assert_eq!(base("https://h/v1", "/v1/messages"), "https://h");
    assert_eq!(base("https://h/gateway", "/v1/messages"), "https://h/gateway");
    assert_eq!(base("https://h/v1beta/", "/v1beta/models"), "https://h");
    assert_eq!(base("https://h/xv1", "/v1/messages"), "https://h/xv1");
    assert_eq!(base("https://h/v1", "/chat/completions"), "https://h/v1");
}

#[test]
fn a_model_id_stays_one_segment() {
    assert_eq!(percent_encoded("a/../b?key=c#d e:ä"), "a%2F..%2Fb%3Fkey%3Dc%23d%20e%3A%C3%A4");
    for byte in 0..128_u8 {
        let stays = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let expected = if stays { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        assert_eq!(percent_encoded(&char::from(byte).to_string()), expected);
    }
}

/// One answer as a whole and in events, with everything that a wire protocol supports: reasoning, multi-byte
/// text, two calls, signatures and token counts.
pub(super) struct Sample {
    wire: Wire,
    pub(super) whole: Value,
    events: Vec<Value>,
    end: &'static str,
}

pub(super) fn samples() -> Vec<Sample> {
    let chunk =
        |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}], "usage": {}});
    let call = |index: u64, id: &str, name: &str| json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
    let arguments = |index: u64, piece: &str| json!({"index": index, "function": {"arguments": piece}});
    let openai = Sample {
        wire: Wire::OpenAiChat,
        whole: json!({
            "choices": [{
                "message": {
                    "content": "<think>hm</think>\nGrüße, 世界 😀.",
                    "reasoning_content": "so, so",
                    "tool_calls": [
                        {"id": "a", "function": {"name": "grep", "arguments": "{\"pattern\":\"ä\"}"}},
                        {"id": "b", "function": {"name": "read", "arguments": "{}"}},
                    ],
                },
                "finish_reason": "tool_calls",
            }],
            "usage": {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
        }),
        events: vec![
            chunk(json!({"role": "assistant", "content": ""})),
            chunk(json!({"reasoning_content": "so, "})),
            chunk(json!({"reasoning_content": "so", "content": null})),
            chunk(json!({"content": "<thi"})),
            chunk(json!({"content": "nk>hm</th"})),
            chunk(json!({"content": "ink>\nGrüße, "})),
            chunk(json!({"content": "世界 😀."})),
            chunk(json!({"tool_calls": [call(0, "a", "grep")]})),
            chunk(json!({"tool_calls": [arguments(0, "{\"pattern\":")]})),
            chunk(json!({"tool_calls": [call(1, "b", "read"), arguments(0, "\"ä\"}")]})),
            chunk(json!({"tool_calls": [arguments(1, "{}")]})),
            json!({"object": "something.new"}),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}}),
        ],
        end: "[DONE]",
    };
    let thinking = json!({"type": "thinking", "thinking": "so, so", "signature": "c2lnbmVk"});
    let delta =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let anthropic = Sample {
        wire: Wire::Anthropic,
        whole: json!({
            "content": [
                thinking,
                {"type": "text", "text": "Grüße, 世界 😀."},
                {"type": "tool_use", "id": "a", "name": "grep", "input": {"pattern": "ä"}},
                {"type": "tool_use", "id": "b", "name": "read", "input": {}},
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 2, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5},
        }),
        events: vec![
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 2, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
            json!({"type": "ping"}),
            delta(0, json!({"type": "thinking_delta", "thinking": "so, "})),
            delta(0, json!({"type": "thinking_delta", "thinking": "so"})),
            delta(0, json!({"type": "signature_delta", "signature": "c2lnbmVk"})),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            delta(1, json!({"type": "text_delta", "text": "Grüße, "})),
            delta(1, json!({"type": "text_delta", "text": "世界 😀."})),
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "a", "name": "grep", "input": {}}}),
            delta(2, json!({"type": "input_json_delta", "partial_json": ""})),
            delta(2, json!({"type": "input_json_delta", "partial_json": "{\"pattern\":"})),
            delta(2, json!({"type": "input_json_delta", "partial_json": " \"ä\"}"})),
            json!({"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "b", "name": "read", "input": {}}}),
            json!({"type": "something_new", "index": 99}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
        ],
        end: r#"{"type":"message_stop"}"#,
    };
    let response = |parts: Value| json!({"candidates": [{"content": {"parts": parts}}]});
    let counts = json!({"promptTokenCount": 9, "cachedContentTokenCount": 4, "candidatesTokenCount": 2, "thoughtsTokenCount": 3});
    let grep =
        json!({"functionCall": {"name": "grep", "args": {"pattern": "ä"}}, "thoughtSignature": "c2lnbmVk"});
    let read = json!({"functionCall": {"name": "read"}});
    let gemini = Sample {
        wire: Wire::Gemini,
        whole: json!({
            "candidates": [{
                "content": {"role": "model", "parts": [
                    {"text": "so, so", "thought": true}, {"text": "Grüße, 世界 😀."}, grep, read,
                ]},
                "finishReason": "STOP",
            }],
            "usageMetadata": counts,
        }),
        events: vec![
            response(json!([{"text": "so, ", "thought": true}])),
            response(json!([{"text": "so", "thought": true}, {"text": "Grüße, "}])),
            json!({"usageMetadata": {"promptTokenCount": 9}}),
            response(json!([{"text": "世界 😀."}])),
            response(json!([grep, read])),
            json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}], "usageMetadata": counts}),
        ],
        end: "",
    };
    vec![openai, anthropic, gemini]
}

impl Sample {
    pub(super) fn lines(&self, line_end: &str) -> String {
        let mut text = format!(": OPENROUTER PROCESSING{line_end}{line_end}");
        for event in &self.events {
            let kind = event["type"].as_str().unwrap_or("message");
            text.push_str(&format!("event: {kind}{line_end}data: {event}{line_end}{line_end}"));
        }
        if !self.end.is_empty() {
            text.push_str(&format!("data: {}{line_end}{line_end}", self.end));
        }
        text
    }
}

/// Returns the result of a stream in these pieces, and the text that was passed on.
fn streamed(wire: Wire, pieces: &[&[u8]]) -> Result<Option<(RawAnswer, String)>, Fault> {
    let mut reader = StreamReader::new(protocol(wire).events());
    let mut text = String::new();
    for piece in pieces {
        let flow = reader.push(piece, &mut |piece| text.push_str(piece))?;
        if flow.is_break() {
            break;
        }
    }
    match reader.end(&mut |piece| text.push_str(piece))? {
        StreamEnd::Whole(document) => Ok(Some((protocol(wire).read(document)?, text))),
        StreamEnd::Cut => Ok(None),
    }
}

#[test]
fn a_sample_says_all_that_a_wire_knows() {
    for sample in samples() {
        let said = protocol(sample.wire).read(sample.whole.clone()).unwrap();
        assert_eq!(without_reasoning(&said.text), "Grüße, 世界 😀.");
        let calls: Vec<_> = said.calls.iter().map(|call| (&*call.name, &*call.arguments)).collect();
        assert_eq!(calls[0], ("grep", r#"{"pattern":"ä"}"#));
        assert_eq!((calls.len(), calls[1].0), (2, "read"));
        let usage = Usage { input_tokens: 9, cached_input_tokens: 4, output_tokens: 5 };
        assert_eq!(said.usage, Some(usage), "{:?}", sample.wire);
        assert!(said.state.is_some(), "{:?}", sample.wire);
    }
}

#[test]
fn a_stream_that_ends_early_is_cut_wherever_it_ends() {
    for sample in samples() {
        let lines = sample.lines("\n");
        let said_why = lines.rfind("reason\":\"").or(lines.rfind("Reason\":\"")).unwrap();
        for end in 0..said_why {
            let outcome = streamed(sample.wire, &[&lines.as_bytes()[..end]]);
            // Before the first event, a stream cannot be distinguished from other responses.
            let is_cut =
                matches!(outcome, Ok(None)) || matches!(outcome, Err(Fault::Bad("it has no events")));
            assert!(is_cut, "{:?} {:?}", sample.wire, &lines.get(..end));
        }
        assert!(streamed(sample.wire, &[lines.as_bytes()]).unwrap().is_some());
    }
}

proptest! {
    #[test]
    fn pieces_and_line_ends_do_not_change_an_answer(
        cuts in prop::collection::vec(0usize..6000, 0..60),
        line_end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        has_end in any::<bool>(),
    ) {
        for mut sample in samples() {
            if !has_end {
                sample.end = "";
            }
            let lines = sample.lines(line_end);
            let bytes = lines.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let (said, text) = streamed(sample.wire, &pieces).unwrap().unwrap();
            let whole = protocol(sample.wire).read(sample.whole).unwrap();
            prop_assert_eq!(text, without_reasoning(&whole.text));
            prop_assert_eq!(said, whole);
        }
    }

    #[test]
    fn a_hostile_stream_is_an_error_or_an_answer_and_never_a_panic(
        pieces in prop::collection::vec(
            prop_oneof![
                Just(r#"{"choices":[{"delta":{"tool_calls":[{"index":18446744073709551615,"id":7}]}}]}"#.to_owned()),
                Just(r#"{"choices":[{"delta":"x"},7],"usage":7}"#.to_owned()),
                Just(r#"{"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":"x"}}"#.to_owned()),
                Just(r#"{"type":"content_block_start","index":0,"content_block":7}"#.to_owned()),
                Just(r#"{"candidates":[{"content":{"parts":[7,{"text":7},{"functionCall":{"name":"x","args":7}}]}}]}"#.to_owned()),
                Just(r#"{"error":{"code":"x"}}"#.to_owned()),
                Just("[7]".to_owned()),
                "[ -~]{0,40}",
            ],
            0..8,
        ),
    ) {
        let lines: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
        for wire in Wire::ALL {
            let _ = streamed(wire, &[lines.as_bytes()]);
        }
    }
}

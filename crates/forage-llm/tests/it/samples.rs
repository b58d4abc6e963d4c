//! Creates the same answers in every wire protocol.

use forage_llm::Wire;
use serde_json::{Value, json};

use crate::peer::{Reply, json as reply};

/// Creates an answer with this text.
pub(crate) fn whole(wire: Wire, text: &str) -> Value {
    match wire {
        Wire::OpenAiChat => json!({
            "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7},
        }),
        Wire::Anthropic => json!({
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 11, "output_tokens": 7},
        }),
        Wire::Gemini => json!({
            "candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7},
        }),
    }
}

/// Creates the events of a stream up to the end of its text: the start event, and one event for each piece.
pub(crate) fn beginning(wire: Wire, pieces: &[&str]) -> Vec<Value> {
    let piece = |text: &&str| match wire {
        Wire::OpenAiChat => json!({"choices": [{"delta": {"content": text}}]}),
        Wire::Anthropic => {
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
        }
        Wire::Gemini => json!({"candidates": [{"content": {"parts": [{"text": text}]}}]}),
    };
    let mut events = match wire {
        Wire::Anthropic => vec![
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 11}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ],
        _ => Vec::new(),
    };
    events.extend(pieces.iter().map(piece));
    events
}

/// Creates the event with the finish reason.
pub(crate) fn reason(wire: Wire) -> Value {
    match wire {
        Wire::OpenAiChat => json!({
            "choices": [{"delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7},
        }),
        Wire::Anthropic => {
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}})
        }
        Wire::Gemini => json!({
            "candidates": [{"finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7},
        }),
    }
}

/// Formats the events as a server sends them.
pub(crate) fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// The head of a stream that ends when the connection closes.
pub(crate) const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/// Formats a whole stream with these pieces of text.
pub(crate) fn stream_text(wire: Wire, pieces: &[&str]) -> String {
    let mut events = beginning(wire, pieces);
    events.push(reason(wire));
    lines(&events)
}

/// Creates a reply that sends these lines and closes the connection.
pub(crate) fn streamed(lines: &str) -> Reply {
    Reply::Raw(format!("{STREAM_HEAD}{lines}").into_bytes())
}

/// Creates a valid reply, streamed or not.
pub(crate) fn good(wire: Wire, is_stream: bool, text: &str) -> Reply {
    match is_stream {
        true => streamed(&stream_text(wire, &[text])),
        false => reply(200, "", &whole(wire, text).to_string()),
    }
}

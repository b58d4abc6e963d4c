//! Tests the shapes in which we ask for an answer with a schema: the schema itself, a forced tool call, and
//! the prompt alone.

use std::sync::Arc;

use forage_llm::{
    AnswerSchema, AnswerShape, ChatAnswer, ChatError, ChatModel, ChatRequest, Endpoint, EndpointSettings,
    ExchangeMode, ExchangeSink, Finish, ModelFacts, RecordedExchange, ToolDefinition, Wire, WireClient,
};
use forage_redact::Redacted;
use serde_json::{Value, json};

use crate::peer::{Peer, Reply, json as reply};
use crate::samples::{good, lines, streamed};
use crate::{ample, settings};

const TOOL_ONLY: ModelFacts = facts(false, true);
const ALL: ModelFacts = facts(true, true);

const fn facts(answer_schema: bool, answer_tool: bool) -> ModelFacts {
    ModelFacts {
        output_limit_field: forage_llm::OutputLimitField::MaxTokens,
        accepts_temperature: false,
        reasoning: forage_llm::Reasoning::AsItIs,
        answer_schema,
        answer_tool,
        price: None,
        context_tokens: None,
    }
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"files": {"type": "array"}}, "required": ["files"]})
}

fn question() -> ChatRequest {
    let mut request =
        ChatRequest::question(Redacted::trusted("You filter."), Redacted::trusted("Which?"), 50);
    request.answer_schema = Some(AnswerSchema { name: "relevant_files", ask: " In JSON.", schema: schema() });
    request
}

fn model(wire: Wire, facts: ModelFacts, peer: &Peer, exchanges: ExchangeMode) -> WireClient {
    let endpoint = Endpoint::new(EndpointSettings { facts, ..settings(&peer.root()) }).unwrap();
    WireClient::new(wire, endpoint, exchanges)
}

fn live(wire: Wire, facts: ModelFacts, peer: &Peer) -> WireClient {
    model(wire, facts, peer, ExchangeMode::Live)
}

fn bodies(peer: &Peer) -> Vec<Value> {
    let body = |request: &String| serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    peer.requests().iter().map(body).collect()
}

/// Names the shape of each request.
fn shapes(peer: &Peer) -> Vec<&'static str> {
    let shape = |body: &Value| {
        let has = |word: &str| body.to_string().contains(word);
        let has_schema = has("\"required\"");
        assert_eq!(has("You filter. In JSON.\""), has_schema, "{body}");
        match (has_schema, has("relevant_files\"") && body["tools"].is_array()) {
            (true, true) => "tool",
            (true, false) => "schema",
            (false, _) => "text",
        }
    };
    bodies(peer).iter().map(shape).collect()
}

fn refuse(status: u16) -> Reply {
    reply(status, "", r#"{"error": {"message": "no such field"}}"#)
}

/// Creates an answer with this text and a call of this tool with these arguments.
fn called(wire: Wire, text: &str, tool: &str, arguments: &Value) -> Value {
    match wire {
        // With a named tool, OpenAI reports `stop`.
        Wire::OpenAiChat => json!({"choices": [{"message": {"content": text, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}},
        ]}, "finish_reason": "stop"}]}),
        Wire::Anthropic => json!({"content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
            {"type": "text", "text": text},
            {"type": "tool_use", "id": "c", "name": tool, "input": arguments},
        ], "stop_reason": "tool_use"}),
        Wire::Gemini => json!({"candidates": [{"content": {"parts": [
            {"text": text},
            {"functionCall": {"name": tool, "args": arguments}, "thoughtSignature": "c2lnbmVk"},
        ]}, "finishReason": "STOP"}]}),
    }
}

/// Creates the same as a stream.
fn called_in_events(wire: Wire, text: &str, tool: &str, arguments: &Value) -> String {
    let written = arguments.to_string();
    let (first, second) = written.split_at(written.len() / 2);
    let events = match wire {
        Wire::OpenAiChat => vec![
            json!({"choices": [{"delta": {"content": text}}]}),
            json!({"choices": [{"delta": {"tool_calls": [
                {"index": 0, "id": "c", "function": {"name": tool, "arguments": first}},
            ]}}]}),
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": second}}]}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        ],
        Wire::Anthropic => {
            let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
            let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
            let piece = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
            vec![
                start(0, json!({"type": "text", "text": ""})),
                delta(0, json!({"type": "text_delta", "text": text})),
                start(1, json!({"type": "tool_use", "id": "c", "name": tool, "input": {}})),
                delta(1, piece(first)),
                delta(1, piece(second)),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            ]
        }
        Wire::Gemini => vec![
            json!({"candidates": [{"content": {"parts": [{"text": text}]}}]}),
            json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": tool, "args": arguments}}]}}]}),
            json!({"candidates": [{"finishReason": "STOP"}]}),
        ],
    };
    lines(&events)
}

#[test]
fn forced_tool_bodies_are_exact() {
    let description = "Returns the answer. The arguments are the JSON object that the instructions ask for. \
                       Call it once.";
    for (wire, body) in [
        (
            Wire::OpenAiChat,
            json!({
                "model": "small-1",
                "messages": [
                    {"role": "system", "content": "You filter. In JSON."},
                    {"role": "user", "content": "Which?"},
                ],
                "max_tokens": 50,
                "stream": false,
                "tools": [{"type": "function", "function": {
                    "name": "relevant_files", "description": description, "parameters": schema(),
                }}],
                "tool_choice": {"type": "function", "function": {"name": "relevant_files"}},
            }),
        ),
        (
            Wire::Anthropic,
            json!({
                "model": "small-1",
                "max_tokens": 50,
                "messages": [{"role": "user", "content": [{"type": "text", "text": "Which?"}]}],
                "stream": false,
                "system": [{"type": "text", "text": "You filter. In JSON."}],
                "tools": [
                    {"name": "relevant_files", "description": description, "input_schema": schema()},
                ],
                "tool_choice": {"type": "tool", "name": "relevant_files"},
            }),
        ),
        (
            Wire::Gemini,
            json!({
                "contents": [{"role": "user", "parts": [{"text": "Which?"}]}],
                "generationConfig": {"maxOutputTokens": 50},
                "systemInstruction": {"parts": [{"text": "You filter. In JSON."}]},
                "tools": [{"functionDeclarations": [{
                    "name": "relevant_files", "description": description, "parametersJsonSchema": schema(),
                }]}],
                "toolConfig": {"functionCallingConfig": {
                    "mode": "ANY", "allowedFunctionNames": ["relevant_files"],
                }},
            }),
        ),
    ] {
        let peer = Peer::start([good(wire, false, "x")]);
        live(wire, TOOL_ONLY, &peer).complete(&question(), &ample()).unwrap();
        assert_eq!(bodies(&peer), [body], "{wire:?}");
    }
}

#[test]
fn forced_tool_arguments_are_the_answer() {
    let files = json!({"files": [{"path": "a.rs", "why": "ä"}]});
    for (wire, text) in Wire::ALL.into_iter().flat_map(|wire| [(wire, ""), (wire, "I looked.")]) {
        let expected = format!("{text}{}{files}", if text.is_empty() { "" } else { "\n" });
        let check = |answer: ChatAnswer| {
            assert_eq!(answer.text, expected, "{wire:?}");
            assert_eq!((answer.shape, answer.finish), (AnswerShape::Tool, Finish::Complete), "{wire:?}");
            assert!(answer.calls.is_empty(), "{wire:?}");
        };
        let whole = called(wire, text, "relevant_files", &files).to_string();
        let events = called_in_events(wire, text, "relevant_files", &files);
        let peer = Peer::start([reply(200, "", &whole), streamed(&events), reply(200, "", &whole)]);
        let model = live(wire, TOOL_ONLY, &peer);
        check(model.complete(&question(), &ample()).unwrap());
        // Once in events, and once from a server that does not stream.
        for _ in 0..2 {
            let mut passed = String::new();
            let mut on_text = |piece: &str| passed.push_str(piece);
            check(model.stream(&question(), &ample(), &mut on_text).unwrap());
            assert_eq!(passed, expected, "{wire:?}");
        }
        assert_eq!(shapes(&peer), ["tool"; 3], "{wire:?}");
    }
}

#[test]
fn only_a_call_of_the_answer_tool_is_an_answer() {
    for wire in Wire::ALL {
        let ask = |answer: Value| {
            let peer = Peer::start([reply(200, "", &answer.to_string())]);
            live(wire, TOOL_ONLY, &peer).complete(&question(), &ample())
        };
        // The server has ignored the tool.
        let answer = ask(crate::samples::whole(wire, "a.rs: why")).unwrap();
        assert_eq!((answer.text.as_str(), answer.shape), ("a.rs: why", AnswerShape::Tool), "{wire:?}");
        // The model has called a tool that does not exist.
        let answer = ask(called(wire, "", "read_file", &json!({"files": []}))).unwrap();
        assert_eq!((answer.text.as_str(), answer.calls.len()), ("", 1), "{wire:?}");
    }
    let empty = json!({"choices": [{"message": {"tool_calls": [
        {"id": "c", "function": {"name": "relevant_files", "arguments": ""}},
    ]}, "finish_reason": "tool_calls"}]});
    let peer = Peer::start([reply(200, "", &empty.to_string())]);
    let error = live(Wire::OpenAiChat, TOOL_ONLY, &peer).complete(&question(), &ample()).unwrap_err();
    assert!(matches!(error, ChatError::EmptyAnswer { .. }), "{error:?}");
    // The output limit has cut the arguments.
    let cut = json!({"choices": [{"message": {"tool_calls": [
        {"id": "c", "function": {"name": "relevant_files", "arguments": "{\"files\":[{\"pa"}},
    ]}, "finish_reason": "length"}]});
    let peer = Peer::start([reply(200, "", &cut.to_string())]);
    let answer = live(Wire::OpenAiChat, TOOL_ONLY, &peer).complete(&question(), &ample()).unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("{\"files\":[{\"pa", Finish::Length));
}

#[test]
fn refused_shapes_fall_back_and_are_remembered() {
    for (wire, status) in Wire::ALL.into_iter().flat_map(|wire| [(wire, 400), (wire, 422)]) {
        let call = called(wire, "", "relevant_files", &json!({"files": []})).to_string();
        let call = || reply(200, "", &call);
        let text = || good(wire, false, "a.rs: x");
        for (facts, replies, expected) in [
            (ALL, vec![refuse(status), call(), call()], vec!["schema", "tool", "tool"]),
            (
                ALL,
                vec![refuse(status), refuse(status), text(), text()],
                vec!["schema", "tool", "text", "text"],
            ),
            (TOOL_ONLY, vec![refuse(status), text(), text()], vec!["tool", "text", "text"]),
            (facts(true, false), vec![refuse(status), text(), text()], vec!["schema", "text", "text"]),
        ] {
            let peer = Peer::start(replies);
            let model = live(wire, facts, &peer);
            let answers = [0, 1].map(|_| model.complete(&question(), &ample()).unwrap());
            assert_eq!(shapes(&peer), expected, "{wire:?}");
            for answer in answers {
                let shape = if expected.ends_with(&["tool"]) { AnswerShape::Tool } else { AnswerShape::Text };
                assert_eq!(answer.shape, shape, "{wire:?}");
            }
        }
        // A request that is invalid for another reason says nothing about the shapes.
        let peer = Peer::start([refuse(status), refuse(status), refuse(status), call()]);
        let model = live(wire, ALL, &peer);
        assert!(matches!(
            model.complete(&question(), &ample()).unwrap_err(),
            ChatError::BadRequest { status: said, .. } if said == status
        ));
        model.complete(&question(), &ample()).unwrap();
        assert_eq!(shapes(&peer), ["schema", "tool", "text", "schema"], "{wire:?}");
    }
    for status in [401, 404, 413, 429, 500] {
        let peer = Peer::start([refuse(status), good(Wire::OpenAiChat, false, "x")]);
        live(Wire::OpenAiChat, TOOL_ONLY, &peer).complete(&question(), &ample()).unwrap_err();
        assert_eq!(shapes(&peer), ["tool"], "{status}");
    }
}

/// A question without a schema must not change what we remember about schemas.
#[test]
fn plain_question_forgets_no_shape() {
    let peer = Peer::start((0..2).map(|_| good(Wire::OpenAiChat, false, "x")));
    let model = live(Wire::OpenAiChat, ALL, &peer);
    let plain = ChatRequest { answer_schema: None, ..question() };
    assert_eq!(model.complete(&plain, &ample()).unwrap().shape, AnswerShape::Text);
    assert_eq!(model.complete(&question(), &ample()).unwrap().shape, AnswerShape::Schema);
}

#[derive(Debug)]
struct Sink;

impl ExchangeSink for Sink {
    fn take(&self, _: &RecordedExchange) -> Result<(), String> {
        Ok(())
    }
}

/// Otherwise a replay whose requests come in another order would miss exchanges.
#[test]
fn recorded_calls_try_every_shape() {
    let text = || good(Wire::OpenAiChat, false, "x");
    let peer = Peer::start([refuse(400), text(), refuse(400), text()]);
    let model = model(Wire::OpenAiChat, TOOL_ONLY, &peer, ExchangeMode::Record(Arc::new(Sink)));
    for _ in 0..2 {
        model.complete(&question(), &ample()).unwrap();
    }
    assert_eq!(shapes(&peer), ["tool", "text", "tool", "text"]);
}

#[test]
fn request_with_tools_is_never_forced_to_answer() {
    let mut request = question();
    request.tools.push(ToolDefinition {
        name: "grep".to_owned(),
        description: "It searches.".to_owned(),
        parameters: schema(),
    });
    for wire in Wire::ALL {
        let peer = Peer::start([good(wire, false, "x")]);
        let answer = live(wire, TOOL_ONLY, &peer).complete(&request, &ample()).unwrap();
        assert_eq!(answer.shape, AnswerShape::Text, "{wire:?}");
        let text = bodies(&peer)[0].to_string();
        for word in ["relevant_files", "tool_choice", "toolConfig"] {
            assert!(!text.contains(word), "{wire:?} {text}");
        }
    }
}

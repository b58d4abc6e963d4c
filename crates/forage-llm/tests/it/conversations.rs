//! Tests the requests of the wire protocols: conversations with tools, and provider state that is sent back.

use forage_llm::{
    AnswerSchema, ChatAnswer, ChatMessage, ChatModel, ChatRequest, Endpoint, EndpointSettings, ExchangeMode,
    ModelFacts, Reasoning, ToolChoice, ToolDefinition, ToolResult, Wire, WireClient,
};
use forage_redact::{Redacted, Redactor};
use serde_json::{Value, json};

use crate::peer::{Peer, json as reply};
use crate::samples::good;
use crate::{KEY, ample, client, settings};

fn sent(peer: &Peer, index: usize) -> (String, Value) {
    let requests = peer.requests();
    let (head, body) = requests[index].split_once("\r\n\r\n").unwrap();
    (head.to_owned(), serde_json::from_str(body).unwrap())
}

fn parameters() -> Value {
    json!({"type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]})
}

fn conversation() -> ChatRequest {
    let tool = |name: &str| ToolDefinition {
        name: name.to_owned(),
        description: "It searches.".to_owned(),
        parameters: parameters(),
    };
    ChatRequest {
        system: Redacted::trusted("You explore."),
        messages: vec![ChatMessage::User(Redacted::trusted("Where is it?"))],
        tools: vec![tool("grep"), tool("read")],
        tool_choice: ToolChoice::Free,
        answer_schema: None,
        max_output_tokens: 100,
    }
}

/// Returns an answer with reasoning and two calls that have the same id.
fn two_calls(wire: Wire) -> Value {
    match wire {
        Wire::OpenAiChat => json!({"choices": [{"message": {
            "content": null,
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "t", "type": "function", "function": {"name": "grep", "arguments": "{\"pattern\": \"a\"}"}},
                {"id": "t", "type": "function", "function": {"name": "read", "arguments": "{\"pat"}},
            ],
        }, "finish_reason": "tool_calls"}]}),
        Wire::Anthropic => json!({"content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "tool_use", "id": "t", "name": "grep", "input": {"pattern": "a"}},
            {"type": "tool_use", "id": "t", "name": "read", "input": {}},
        ], "stop_reason": "tool_use"}),
        Wire::Gemini => json!({"candidates": [{"content": {"parts": [
            {"functionCall": {"name": "grep", "args": {"pattern": "a"}}, "thoughtSignature": "c2lnbmVk"},
            {"functionCall": {"name": "read", "args": {}}},
        ]}, "finishReason": "STOP"}]}),
    }
}

/// Continues a conversation after an answer: with the results of its calls, and then a user message.
fn go_on(request: &mut ChatRequest, answer: ChatAnswer) {
    let results = answer.calls.iter().enumerate().map(|(index, call)| ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        text: Redactor::standard().redact(&format!("result {index}")),
        is_error: index == 1,
    });
    let results = results.collect();
    request.messages.push(ChatMessage::Model(answer.into_turn()));
    request.messages.push(ChatMessage::ToolResults(results));
    request.messages.push(ChatMessage::User(Redacted::trusted("Two turns are left.")));
}

fn second_request(wire: Wire) -> (String, Value) {
    let peer = Peer::start([reply(200, "", &two_calls(wire).to_string()), good(wire, true, "done")]);
    let model = client(wire, &peer.root());
    let mut request = conversation();
    let answer = model.complete(&request, &ample()).unwrap();
    assert_eq!(answer.calls.len(), 2);
    assert_ne!(answer.calls[0].id, answer.calls[1].id, "{wire:?}");
    assert_eq!(answer.finish, forage_llm::Finish::ToolCalls, "{wire:?}");
    go_on(&mut request, answer);
    assert_eq!(model.stream(&request, &ample(), &mut |_| {}).unwrap().text, "done");
    let (head, _) = sent(&peer, 0);
    assert_eq!(peer.requests()[0].matches(KEY).count(), 1, "the key is in its header only");
    assert!(!head.lines().next().unwrap().contains(KEY));
    sent(&peer, 1)
}

#[test]
fn openai_gets_one_message_per_result() {
    let (head, body) = second_request(Wire::OpenAiChat);
    assert!(head.starts_with("POST /chat/completions HTTP/1.1\r\n"), "{head}");
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
    assert_eq!(
        body["tools"][0],
        json!({"type": "function", "function": {
            "name": "grep", "description": "It searches.", "parameters": parameters(),
        }})
    );
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "You explore."},
            {"role": "user", "content": "Where is it?"},
            {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
                {"id": "t", "type": "function", "function": {"name": "grep", "arguments": "{\"pattern\": \"a\"}"}},
                {"id": "call_2", "type": "function", "function": {
                    "name": "read", "arguments": "{\"arguments\":\"{\\\"pat\"}",
                }},
            ]},
            {"role": "tool", "tool_call_id": "t", "content": "result 0"},
            {"role": "tool", "tool_call_id": "call_2", "content": "result 1"},
            {"role": "user", "content": "Two turns are left."},
        ])
    );
}

#[test]
fn anthropic_gets_turns_thinking_and_cache_marks() {
    let (head, body) = second_request(Wire::Anthropic);
    let head = head.to_ascii_lowercase();
    assert!(head.starts_with("post /v1/messages http/1.1\r\n"), "{head}");
    assert!(
        head.contains(&format!("\r\nx-api-key: {KEY}")) && head.contains("\r\nanthropic-version: 2023-06-01")
    );
    assert!(!head.contains("authorization"), "{head}");
    let cache = json!({"type": "ephemeral"});
    assert_eq!(body["system"], json!([{"type": "text", "text": "You explore.", "cache_control": cache}]));
    assert_eq!(
        body["tools"],
        json!([
            {"name": "grep", "description": "It searches.", "input_schema": parameters()},
            {"name": "read", "description": "It searches.", "input_schema": parameters(), "cache_control": cache},
        ])
    );
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Where is it?"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
                {"type": "redacted_thinking", "data": "b3BhcXVl"},
                {"type": "tool_use", "id": "t", "name": "grep", "input": {"pattern": "a"}},
                {"type": "tool_use", "id": "call_2", "name": "read", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": "result 0", "is_error": false},
                {"type": "tool_result", "tool_use_id": "call_2", "content": "result 1", "is_error": true},
                {"type": "text", "text": "Two turns are left.", "cache_control": cache},
            ]},
        ])
    );
}

#[test]
fn gemini_gets_alternating_turns_and_its_signatures_back() {
    let (head, body) = second_request(Wire::Gemini);
    assert!(
        head.starts_with("POST /v1beta/models/small-1:streamGenerateContent?alt=sse HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(head.to_ascii_lowercase().contains(&format!("\r\nx-goog-api-key: {KEY}")), "{head}");
    assert_eq!(body["systemInstruction"], json!({"parts": [{"text": "You explore."}]}));
    let declaration =
        |name| json!({"name": name, "description": "It searches.", "parametersJsonSchema": parameters()});
    assert_eq!(body["tools"], json!([{"functionDeclarations": [declaration("grep"), declaration("read")]}]));
    assert_eq!(
        body["contents"],
        json!([
            {"role": "user", "parts": [{"text": "Where is it?"}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "grep", "args": {"pattern": "a"}}, "thoughtSignature": "c2lnbmVk"},
                {"functionCall": {"name": "read", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "grep", "response": {"output": "result 0"}}},
                {"functionResponse": {"name": "read", "response": {"error": "result 1"}}},
                {"text": "Two turns are left."},
            ]},
        ])
    );
}

#[test]
fn what_one_model_wants_back_no_other_gets() {
    for (from, to) in [
        (Wire::Anthropic, Wire::OpenAiChat),
        (Wire::OpenAiChat, Wire::Anthropic),
        (Wire::Anthropic, Wire::Gemini),
    ] {
        let peer = Peer::start([reply(200, "", &two_calls(from).to_string()), good(to, false, "done")]);
        let mut request = conversation();
        let answer = client(from, &peer.root()).complete(&request, &ample()).unwrap();
        go_on(&mut request, answer);
        client(to, &peer.root()).complete(&request, &ample()).unwrap();
        let (_, body) = sent(&peer, 1);
        let text = body.to_string();
        assert!(!text.contains("c2lnbmVk") && !text.contains("\"hm\""), "{text}");
        assert!(text.contains("result 1") && text.contains("grep"), "{text}");
        // The ids of another server may be invalid for this one, but call and result must still match.
        let is_renamed =
            ["\"id\":\"call_1_1\"", "\"tool_use_id\":\"call_1_1\""].iter().all(|id| text.contains(id));
        assert_eq!(is_renamed, to == Wire::Anthropic, "{text}");
    }
    // This is the same wire protocol, but another model.
    let peer = Peer::start([
        reply(200, "", &two_calls(Wire::Anthropic).to_string()),
        good(Wire::Anthropic, false, "done"),
    ]);
    let mut request = conversation();
    let answer = client(Wire::Anthropic, &peer.root()).complete(&request, &ample()).unwrap();
    go_on(&mut request, answer);
    let other = EndpointSettings { model: "other".to_owned(), ..settings(&peer.root()) };
    let other = Wire::Anthropic.client(Endpoint::new(other).unwrap());
    other.complete(&request, &ample()).unwrap();
    assert!(!sent(&peer, 1).1.to_string().contains("c2lnbmVk"));
}

/// Creates a question with a schema.
fn shaped_question() -> ChatRequest {
    let mut request =
        ChatRequest::question(Redacted::trusted("You filter."), Redacted::trusted("Which?"), 50);
    request.answer_schema = Some(AnswerSchema { name: "files", ask: " In JSON.", schema: parameters() });
    request
}

fn model_with_facts(wire: Wire, facts: ModelFacts, peer: &Peer) -> WireClient {
    let endpoint = Endpoint::new(EndpointSettings { facts, ..settings(&peer.root()) }).unwrap();
    WireClient::new(wire, endpoint, ExchangeMode::Live)
}

fn question_with_facts(wire: Wire, facts: ModelFacts) -> Value {
    let peer = Peer::start([good(wire, false, "x")]);
    model_with_facts(wire, facts, &peer).complete(&shaped_question(), &ample()).unwrap();
    sent(&peer, 0).1
}

#[test]
fn facts_become_the_fields_of_each_wire() {
    let facts = |effort| ModelFacts {
        accepts_temperature: true,
        reasoning: Reasoning::Effort(effort),
        answer_schema: true,
        ..ModelFacts::default()
    };
    let body = question_with_facts(Wire::OpenAiChat, facts("minimal"));
    assert_eq!((&body["temperature"], &body["reasoning_effort"]), (&json!(0), &json!("minimal")));
    assert_eq!(
        body["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "files", "strict": true, "schema": parameters()}})
    );
    let body = question_with_facts(Wire::Anthropic, facts("low"));
    assert_eq!(body["temperature"], 0);
    assert_eq!(
        body["output_config"],
        json!({"effort": "low", "format": {"type": "json_schema", "schema": parameters()}})
    );
    assert!(!body.to_string().contains("cache_control"), "a single question is not cached: {body}");
    let body = question_with_facts(Wire::Anthropic, facts("none"));
    assert_eq!(
        (&body["thinking"]["type"], &body["output_config"]["effort"]),
        (&json!("disabled"), &Value::Null)
    );
    let body = question_with_facts(Wire::Gemini, facts("low"));
    assert_eq!(
        body["generationConfig"],
        json!({
            "maxOutputTokens": 50,
            "temperature": 0,
            "thinkingConfig": {"thinkingLevel": "low"},
            "responseMimeType": "application/json",
            "responseJsonSchema": parameters(),
        })
    );
    let body = question_with_facts(Wire::Gemini, facts("none"));
    assert_eq!(body["generationConfig"]["thinkingConfig"], json!({"thinkingBudget": 0}));
    // Without these facts, we should send none of this.
    for wire in Wire::ALL {
        let text = question_with_facts(wire, ModelFacts::default()).to_string();
        assert!(text.contains("You filter.\""), "{text}");
        for word in ["temperature", "effort", "thinking", "schema", "Schema", "In JSON"] {
            assert!(!text.contains(word), "{wire:?} {text}");
        }
    }
}

/// The rejections have the wording of OpenAI and DeepSeek, Anthropic, and Gemini.
#[test]
fn a_refused_schema_is_left_out_once() {
    let facts = ModelFacts { answer_schema: true, ..ModelFacts::default() };
    let ask = |model: &WireClient, streamed: bool| match streamed {
        true => model.stream(&shaped_question(), &ample(), &mut |_| {}),
        false => model.complete(&shaped_question(), &ample()),
    };
    let refusals = [
        (
            Wire::OpenAiChat,
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        ),
        (Wire::OpenAiChat, "This response_format type is unavailable now"),
        (Wire::Anthropic, "output_config.format: Extra inputs are not permitted"),
        (Wire::Gemini, "Invalid JSON payload received. Unknown name \"responseJsonSchema\""),
    ];
    // Regression test: a stream was not asked for again.
    let both = |(wire, refusal)| [(wire, refusal, false), (wire, refusal, true)];
    for (wire, refusal, streamed) in refusals.into_iter().flat_map(both) {
        let refuse = |reason: &str| reply(400, "", &json!({"error": {"message": reason}}).to_string());
        let peer = Peer::start([refuse(refusal), good(wire, streamed, "x")]);
        let model = model_with_facts(wire, facts, &peer);
        assert_eq!(ask(&model, streamed).unwrap().text, "x", "{wire:?}");
        let [first, second] = [0, 1].map(|index| sent(&peer, index).1.to_string());
        assert!(first.contains("You filter. In JSON.\"") && first.contains("pattern"), "{first}");
        assert!(second.contains("You filter.\"") && !second.contains("pattern"), "{second}");

        let peer = Peer::start([refuse(refusal), refuse("messages are missing"), good(wire, streamed, "x")]);
        let error = ask(&model_with_facts(wire, facts, &peer), streamed).unwrap_err();
        assert!(error.to_string().contains("messages are missing"), "{error}");
        assert_eq!(peer.requests().len(), 2, "{wire:?}");
    }
    // We must not send a request again that was rejected for another reason.
    for status in [401, 404, 413, 429, 500] {
        let peer = Peer::start([reply(status, "", "{}"), good(Wire::OpenAiChat, false, "x")]);
        model_with_facts(Wire::OpenAiChat, facts, &peer).complete(&shaped_question(), &ample()).unwrap_err();
        assert_eq!(peer.requests().len(), 1, "{status}");
    }
}

#[test]
fn a_secret_reaches_no_wire_and_without_redaction_every_one() {
    let secret = ["AKIA", "IOSFODNN7EXAMPLE"].concat();
    for wire in Wire::ALL {
        for (redactor, arrives) in [(Redactor::standard(), false), (Redactor::off(), true)] {
            let peer = Peer::start([good(wire, false, "x")]);
            let text = redactor.redact(&format!("id = '{secret}'"));
            let mut request = conversation();
            request.messages.push(ChatMessage::User(text));
            client(wire, &peer.root()).complete(&request, &ample()).unwrap();
            assert_eq!(peer.requests()[0].contains(&secret), arrives, "{wire:?}");
        }
    }
}

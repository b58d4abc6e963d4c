//! The wire protocol of OpenAI chat completions, which most hosted and all common local servers support.

use serde_json::{Map, Value, json};

use super::answer::{arguments_object, arguments_text, unique_ids};
use super::listed::{ListedModel, context_tokens, price, unix_seconds};
use super::protocol::{Events, Fault, Protocol, RawAnswer};
use crate::chat::{
    AnswerSchema, ChatMessage, ChatRequest, ModelTurn, ToolCall, ToolChoice, ToolDefinition, Usage,
};
use crate::endpoint::{Endpoint, OutputLimitField, Reasoning};
use crate::finish::Finish;
use crate::limits::{MAX_ANSWER_BLOCKS, MAX_ANSWER_BYTES};
use crate::wire_name::Wire;

pub(super) struct OpenAiChat;

/// Message fields that contain reasoning. Servers that send them want them back with the resulting calls.
/// DeepSeek and others use the first field, OpenRouter the second.
const REASONING_FIELDS: [&str; 2] = ["reasoning_content", "reasoning_details"];

/// The field in which Gemini's endpoint for this protocol stores the signature of a call.
const CALL_EXTRA: &str = "extra_content";

impl Protocol for OpenAiChat {
    fn path(&self, _: &str, _: bool) -> String {
        "/chat/completions".to_owned()
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    fn body(&self, endpoint: &Endpoint, request: &ChatRequest, streamed: bool) -> Value {
        let facts = endpoint.facts();
        let limit = match facts.output_limit_field {
            OutputLimitField::MaxTokens => "max_tokens",
            OutputLimitField::MaxCompletionTokens => "max_completion_tokens",
        };
        let mut body = json!({
            "model": endpoint.model(),
            "messages": messages(request, &endpoint.name()),
            limit: request.max_output_tokens,
            "stream": streamed,
        });
        if streamed {
            // Without this option, a stream contains no token counts.
            body["stream_options"] = json!({"include_usage": true});
        }
        if facts.accepts_temperature {
            body["temperature"] = json!(0);
        }
        if let Reasoning::Effort(effort) = facts.reasoning {
            body["reasoning_effort"] = json!(effort);
        }
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
            match request.tool_choice {
                ToolChoice::Free => {}
                ToolChoice::None => body["tool_choice"] = json!("none"),
                ToolChoice::Answer(name) => {
                    body["tool_choice"] = json!({"type": "function", "function": {"name": name}});
                }
            }
        }
        if let Some(AnswerSchema { name, schema, .. }) = &request.answer_schema {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": {"name": name, "strict": true, "schema": schema},
            });
        }
        body
    }

    fn read(&self, answer: Value) -> Result<RawAnswer, Fault> {
        let choice = &answer["choices"][0];
        if !choice.is_object() {
            return Err(match answer["error"].is_null() && answer[0]["error"].is_null() {
                true => Fault::Bad("it has no `choices`"),
                false => Fault::Error(answer),
            });
        }
        // This is how gateways report that the upstream server failed during the answer.
        if !choice["error"].is_null() {
            return Err(Fault::Error(choice.clone()));
        }
        let message = &choice["message"];
        let text = content_text(&message["content"]);
        let finish = match choice["finish_reason"].as_str() {
            _ if text.is_empty() && message["refusal"].is_string() => Finish::Refused,
            Some("stop") => Finish::Complete,
            Some("length" | "max_tokens") => Finish::Length,
            Some("tool_calls" | "function_call") => Finish::ToolCalls,
            Some("content_filter") => Finish::Refused,
            _ => Finish::Other,
        };
        let calls = calls(&message["tool_calls"])?;
        let state = state(message, &calls);
        Ok(RawAnswer { text, calls, finish, usage: usage(&answer["usage"]), state })
    }

    fn events(&self) -> Box<dyn Events> {
        Box::<Chunks>::default()
    }

    fn listing_path(&self, _: Option<&str>) -> String {
        "/models".to_owned()
    }

    fn read_listing(&self, page: &Value) -> Option<(Vec<ListedModel>, Option<String>)> {
        // One server sends the array without an envelope.
        let data = page["data"].as_array().or(page.as_array())?;
        let model = |model: &Value| {
            let listed =
                ListedModel::read(model["id"].as_str()?, model["created"].as_i64().and_then(unix_seconds))?;
            let (price, context_tokens) = (price(&model["pricing"]), context_tokens(model));
            Some(ListedModel { price, context_tokens, ..listed })
        };
        Some((data.iter().filter_map(model).collect(), None))
    }
}

fn messages(request: &ChatRequest, name: &str) -> Vec<Value> {
    let mut messages = vec![json!({"role": "system", "content": request.system.as_str()})];
    for message in &request.messages {
        match message {
            ChatMessage::User(text) => messages.push(json!({"role": "user", "content": text.as_str()})),
            ChatMessage::Model(turn) => messages.push(model_message(turn, name)),
            ChatMessage::ToolResults(results) => messages.extend(results.iter().map(|result| {
                json!({"role": "tool", "tool_call_id": result.call_id, "content": result.text.as_str()})
            })),
        }
    }
    messages
}

fn model_message(turn: &ModelTurn, name: &str) -> Value {
    let mut message = json!({"role": "assistant", "content": turn.text()});
    if turn.calls().is_empty() {
        return message;
    }
    let state = turn.state(Wire::OpenAiChat.name(), name);
    if let Some(state) = state {
        for field in REASONING_FIELDS.into_iter().filter(|field| !state[field].is_null()) {
            message[field] = state[field].clone();
        }
    }
    let call = |(index, call): (usize, &ToolCall)| {
        // Some servers fill a template with the arguments. They parse them first, and fail if they are not
        // JSON.
        let arguments = match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
            Ok(_) => call.arguments.clone(),
            Err(_) => arguments_object(&call.arguments).to_string(),
        };
        let mut written = json!({
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": arguments},
        });
        if let Some(extra) = state.map(|state| &state[CALL_EXTRA][index]).filter(|extra| !extra.is_null()) {
            written[CALL_EXTRA] = extra.clone();
        }
        written
    };
    message["tool_calls"] = turn.calls().iter().enumerate().map(call).collect();
    message
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    })
}

/// Returns the data that the server wants back, in addition to text and calls.
fn state(message: &Value, calls: &[ToolCall]) -> Option<Value> {
    if calls.is_empty() {
        return None;
    }
    let mut state = Map::new();
    for field in REASONING_FIELDS.into_iter().filter(|field| !message[field].is_null()) {
        state.insert(field.to_owned(), message[field].clone());
    }
    let extras: Vec<Value> =
        named_calls(&message["tool_calls"]).map(|(call, _)| call[CALL_EXTRA].clone()).collect();
    if extras.iter().any(|extra| !extra.is_null()) {
        state.insert(CALL_EXTRA.to_owned(), Value::Array(extras));
    }
    (!state.is_empty()).then_some(Value::Object(state))
}

fn named_calls(calls: &Value) -> impl Iterator<Item = (&Value, &str)> {
    let calls = calls.as_array().into_iter().flatten();
    calls.filter_map(|call| Some((call, call["function"]["name"].as_str()?)))
}

fn calls(calls: &Value) -> Result<Vec<ToolCall>, Fault> {
    if calls.as_array().is_some_and(|calls| calls.len() > MAX_ANSWER_BLOCKS) {
        return Err(Fault::Bad("it has too many calls"));
    }
    let call = |(call, name): (&Value, &str)| ToolCall {
        id: call["id"].as_str().unwrap_or_default().to_owned(),
        name: name.to_owned(),
        arguments: arguments_text(&call["function"]["arguments"]),
    };
    let mut calls: Vec<ToolCall> = named_calls(calls).map(call).collect();
    unique_ids(&mut calls);
    Ok(calls)
}

/// Extracts the text of `content`. This is a string, or an array whose text parts we join. Reasoning parts
/// have no `text`, or a `type` that marks them.
fn content_text(content: &Value) -> String {
    let part = |part: &Value| match part["type"].as_str() {
        None | Some("text" | "output_text") => part["text"].as_str().or(part.as_str()).map(str::to_owned),
        Some(_) => None,
    };
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(part).collect(),
        _ => String::new(),
    }
}

/// Parses the token counts. Returns `None` if the provider has sent none, or an empty object.
fn usage(usage: &Value) -> Option<Usage> {
    let input = usage["prompt_tokens"].as_u64();
    let output = usage["completion_tokens"].as_u64();
    if input.is_none() && output.is_none() {
        return None;
    }
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        cached_input_tokens: usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0),
        output_tokens: output.unwrap_or(0),
    })
}

/// Assembles an answer from chunks.
#[derive(Default)]
struct Chunks {
    content: String,
    reasoning: String,
    reasoning_details: Vec<Value>,
    refusal: Option<String>,
    calls: Vec<PartialCall>,
    finish: Option<Value>,
    usage: Value,
    bytes: usize,
}

#[derive(Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: Option<String>,
    arguments: String,
    extra: Value,
}

impl Chunks {
    /// Adds to the size of the stored data, and checks the limit.
    fn keep(&mut self, bytes: usize) -> Result<(), Fault> {
        self.bytes += bytes;
        if self.bytes > MAX_ANSWER_BYTES {
            return Err(Fault::TooLarge(MAX_ANSWER_BYTES));
        }
        Ok(())
    }

    fn take_call(&mut self, delta: &Value) -> Result<(), Fault> {
        let index = delta["index"].as_u64();
        let id = delta["id"].as_str().unwrap_or_default();
        let name = delta["function"]["name"].as_str().filter(|name| !name.is_empty());
        // The index must only be used to distinguish calls, and never to size anything. Some servers omit it
        // or use the same one for every call, so a new id or name also starts a call.
        let fits = |call: &PartialCall| {
            let same_id = id.is_empty() || call.id.is_empty() || call.id == id;
            match (index, call.index) {
                (Some(index), Some(other)) => index == other && same_id,
                _ if !id.is_empty() => call.id == id,
                _ => true,
            }
        };
        let begins = index.is_none() && id.is_empty() && name.is_some();
        let at = if begins { None } else { self.calls.iter().rposition(fits) };
        let at = match at {
            Some(at) => at,
            None if self.calls.len() == MAX_ANSWER_BLOCKS => return Err(Fault::Bad("it has too many calls")),
            None => {
                self.calls.push(PartialCall { index, ..PartialCall::default() });
                self.calls.len() - 1
            }
        };
        let arguments = match &delta["function"]["arguments"] {
            // Some servers begin with `null` and continue with text.
            Value::Null => String::new(),
            value => arguments_text(value),
        };
        let extra = &delta[CALL_EXTRA];
        self.keep(id.len() + name.map_or(0, str::len) + arguments.len() + size(extra))?;
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_none() {
            call.name = name.map(str::to_owned);
        }
        if !extra.is_null() {
            call.extra = extra.clone();
        }
        call.arguments.push_str(&arguments);
        Ok(())
    }
}

fn size(value: &Value) -> usize {
    if value.is_null() { 0 } else { value.to_string().len() }
}

impl Events for Chunks {
    fn take(&mut self, event: Value, text: &mut String) -> Result<(), Fault> {
        if !event["error"].is_null() {
            return Err(Fault::Error(event));
        }
        if event["usage"].as_object().is_some_and(|usage| !usage.is_empty()) {
            self.usage = event["usage"].clone();
        }
        let mut choices = event["choices"].as_array().into_iter().flatten();
        let Some(choice) = choices.find(|choice| choice["index"].as_u64().unwrap_or(0) == 0) else {
            return Ok(());
        };
        let delta = &choice["delta"];
        let piece = content_text(&delta["content"]);
        self.keep(piece.len())?;
        self.content.push_str(&piece);
        text.push_str(&piece);
        if let Some(reasoning) = delta["reasoning_content"].as_str() {
            self.keep(reasoning.len())?;
            self.reasoning.push_str(reasoning);
        }
        if let Some(details) = delta["reasoning_details"].as_array() {
            self.keep(size(&delta["reasoning_details"]))?;
            join_details(&mut self.reasoning_details, details)?;
        }
        if let Some(refusal) = delta["refusal"].as_str() {
            self.keep(refusal.len())?;
            self.refusal.get_or_insert_default().push_str(refusal);
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.take_call(call)?;
        }
        if choice["finish_reason"].is_string() {
            self.finish = Some(choice["finish_reason"].clone());
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    fn is_over(&self) -> bool {
        // We must wait for `[DONE]`, since token counts come after the finish reason.
        false
    }

    fn whole(self: Box<Self>) -> Value {
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = Value::String(self.reasoning);
        }
        if !self.reasoning_details.is_empty() {
            message["reasoning_details"] = Value::Array(self.reasoning_details);
        }
        if let Some(refusal) = self.refusal {
            message["refusal"] = Value::String(refusal);
        }
        let call = |call: PartialCall| {
            let mut written =
                json!({"id": call.id, "function": {"name": call.name, "arguments": call.arguments}});
            if !call.extra.is_null() {
                written[CALL_EXTRA] = call.extra;
            }
            written
        };
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.into_iter().map(call).collect();
        }
        json!({"choices": [{"message": message, "finish_reason": self.finish}], "usage": self.usage})
    }
}

/// Appends pieces of OpenRouter's reasoning. If a piece has the same index and type as the previous one, it
/// continues its text. We copy its other fields, for example a final signature.
fn join_details(details: &mut Vec<Value>, pieces: &[Value]) -> Result<(), Fault> {
    for piece in pieces {
        let goes_on = |last: &Value| {
            piece["index"].is_number() && last["index"] == piece["index"] && last["type"] == piece["type"]
        };
        if !details.last().is_some_and(goes_on) {
            if details.len() == MAX_ANSWER_BLOCKS {
                return Err(Fault::Bad("it has too many pieces of reasoning"));
            }
            details.push(piece.clone());
            continue;
        }
        let last = details.last_mut().and_then(Value::as_object_mut);
        let (Some(last), Some(fields)) = (last, piece.as_object()) else { continue };
        for (name, value) in fields {
            match (last.get_mut(name), value) {
                (Some(Value::String(before)), Value::String(more))
                    if matches!(name.as_str(), "text" | "summary" | "data") =>
                {
                    before.push_str(more);
                }
                (_, Value::Null) => {}
                _ => {
                    last.insert(name.clone(), value.clone());
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_text_or_parts() {
        assert_eq!(content_text(&json!("a")), "a");
        assert_eq!(content_text(&json!(null)), "");
        assert_eq!(content_text(&json!(["a", {"text": "b"}, {"type": "text", "text": "c"}])), "abc");
        assert_eq!(
            content_text(&json!([{"type": "thinking", "text": "x"}, {"type": "text", "text": "c"}])),
            "c"
        );
        assert_eq!(content_text(&json!({"odd": 1})), "");
    }

    #[test]
    fn usage_survives_what_servers_send() {
        assert_eq!(usage(&json!(null)), None);
        assert_eq!(usage(&json!({})), None);
        assert_eq!(usage(&json!({"prompt_tokens": "many"})), None);
        let whole = json!({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}});
        assert_eq!(usage(&whole), Some(Usage { input_tokens: 9, cached_input_tokens: 4, output_tokens: 2 }));
        assert_eq!(usage(&json!({"completion_tokens": 2})).map(|usage| usage.output_tokens), Some(2));
    }

    fn streamed(deltas: &[Value]) -> Vec<ToolCall> {
        let mut chunks = Chunks::default();
        for delta in deltas {
            let event = json!({"choices": [{"delta": {"tool_calls": [delta]}}]});
            chunks.take(event, &mut String::new()).unwrap();
        }
        calls(&Box::new(chunks).whole()["choices"][0]["message"]["tool_calls"]).unwrap()
    }

    #[test]
    fn calls_are_put_together_however_servers_number_them() {
        let part = |index: Value, id: &str, name: Value, arguments: &str| {
            let mut part = json!({"function": {"name": name, "arguments": arguments}});
            if !index.is_null() {
                part["index"] = index;
            }
            if !id.is_empty() {
                part["id"] = json!(id);
            }
            part
        };
        let none = Value::Null;
        let huge = json!(u64::MAX);
        let cases = [
            // This is OpenAI's format.
            vec![
                part(json!(0), "a", json!("f"), ""),
                part(json!(0), "", none.clone(), "{\"x\":"),
                part(json!(1), "b", json!("g"), "{"),
                part(json!(0), "", none.clone(), "1}"),
                part(json!(1), "", none.clone(), "}"),
            ],
            // This index would exhaust memory if anything were sized by it.
            vec![
                part(huge.clone(), "a", json!("f"), "{\"x\":"),
                part(huge, "", none.clone(), "1}"),
                part(json!(4_294_967_295_u64), "b", json!("g"), "{}"),
            ],
            // There is no index.
            vec![
                part(none.clone(), "a", json!("f"), "{\"x\":"),
                part(none.clone(), "", none.clone(), "1}"),
                part(none.clone(), "b", json!("g"), "{}"),
            ],
            // All calls have the same index, and an id is repeated.
            vec![
                part(json!(0), "a", json!("f"), "{\"x\":"),
                part(json!(0), "a", json!("f"), "1}"),
                part(json!(0), "b", json!("g"), "{}"),
            ],
        ];
        for deltas in &cases {
            let calls = streamed(deltas);
            let read: Vec<_> = calls.iter().map(|call| (&*call.id, &*call.name, &*call.arguments)).collect();
            assert_eq!(read, [("a", "f", "{\"x\":1}"), ("b", "g", "{}")], "{deltas:?}");
        }
        // There is neither an index nor an id.
        let calls = streamed(&[part(none.clone(), "", json!("f"), "{}"), part(none, "", json!("f"), "{}")]);
        assert_eq!(calls.len(), 2);
    }

    #[test]
    fn the_number_of_calls_is_bounded() {
        let mut chunks = Chunks::default();
        let event = |index: usize| json!({"choices": [{"delta": {"tool_calls": [{"index": index}]}}]});
        for index in 0..MAX_ANSWER_BLOCKS {
            chunks.take(event(index), &mut String::new()).unwrap();
        }
        assert!(chunks.take(event(MAX_ANSWER_BLOCKS), &mut String::new()).is_err());
    }

    #[test]
    fn reasoning_details_are_joined() {
        let mut details = Vec::new();
        let text =
            |text: &str| json!({"type": "reasoning.text", "index": 0, "text": text, "signature": null});
        let signed = json!({"type": "reasoning.text", "index": 0, "signature": "s"});
        for piece in [text("a"), text("b"), signed, json!({"type": "reasoning.encrypted", "data": "x"})] {
            join_details(&mut details, &[piece]).unwrap();
        }
        assert_eq!(
            details,
            [
                json!({"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"}),
                json!({"type": "reasoning.encrypted", "data": "x"}),
            ]
        );
    }
}

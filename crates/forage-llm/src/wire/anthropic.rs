//! The wire protocol of Anthropic messages.

use serde_json::{Map, Value, json};

use super::answer::{arguments_object, arguments_text, push_turn, unique_ids};
use super::listed::{ListedModel, rfc3339_seconds};
use super::protocol::{Events, Fault, Protocol, RawAnswer, percent_encoded};
use crate::chat::{
    AnswerSchema, ChatMessage, ChatRequest, ModelTurn, ToolCall, ToolChoice, ToolDefinition, Usage,
};
use crate::endpoint::{Endpoint, Reasoning};
use crate::finish::Finish;
use crate::limits::{LISTING_PAGE, MAX_ANSWER_BLOCKS, MAX_ANSWER_BYTES};
use crate::wire_name::Wire;

pub(super) struct Anthropic;

/// The effort that means no reasoning at all. This protocol has another field for it.
const NO_EFFORT: &str = "none";

impl Protocol for Anthropic {
    fn path(&self, _: &str, _: bool) -> String {
        "/v1/messages".to_owned()
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn body(&self, endpoint: &Endpoint, request: &ChatRequest, streamed: bool) -> Value {
        let facts = endpoint.facts();
        // We send a conversation with tools again for every turn. We never do so for a single question, where
        // writing to the cache would cost more than not using it.
        let caches = !request.tools.is_empty() && request.answer_tool().is_none();
        let mut messages = messages(request, &endpoint.name());
        // Thinking blocks can't be marked for caching, and a model's turn may end with one.
        if caches
            && let Some(last) = messages.last_mut().filter(|last| last["role"] == "user")
            && let Some(blocks) = last["content"].as_array_mut()
        {
            mark_cached(blocks);
        }
        let mut body = json!({
            "model": endpoint.model(),
            "max_tokens": request.max_output_tokens,
            "messages": messages,
            "stream": streamed,
        });
        if !request.system.as_str().is_empty() {
            let mut system = vec![text_block(request.system.as_str())];
            if caches {
                mark_cached(&mut system);
            }
            body["system"] = Value::Array(system);
        }
        if !request.tools.is_empty() {
            let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
            if caches {
                mark_cached(&mut tools);
            }
            body["tools"] = Value::Array(tools);
            match request.tool_choice {
                ToolChoice::Free => {}
                ToolChoice::None => body["tool_choice"] = json!({"type": "none"}),
                ToolChoice::Answer(name) => body["tool_choice"] = json!({"type": "tool", "name": name}),
            }
        }
        if facts.accepts_temperature {
            body["temperature"] = json!(0);
        }
        let mut output = Map::new();
        match facts.reasoning {
            Reasoning::AsItIs => {}
            Reasoning::Effort(NO_EFFORT) => body["thinking"] = json!({"type": "disabled"}),
            Reasoning::Effort(effort) => {
                output.insert("effort".to_owned(), json!(effort));
            }
        }
        if let Some(AnswerSchema { schema, .. }) = &request.answer_schema {
            output.insert("format".to_owned(), json!({"type": "json_schema", "schema": schema}));
        }
        if !output.is_empty() {
            body["output_config"] = Value::Object(output);
        }
        body
    }

    fn read(&self, mut answer: Value) -> Result<RawAnswer, Fault> {
        if !answer["content"].is_array() {
            return Err(match answer["error"].is_null() {
                true => Fault::Bad("it has no `content`"),
                false => Fault::Error(answer),
            });
        }
        let mut blocks = match answer["content"].take() {
            Value::Array(blocks) => blocks,
            _ => Vec::new(),
        };
        if blocks.len() > MAX_ANSWER_BLOCKS {
            return Err(Fault::Bad("it has too many blocks"));
        }
        let text = blocks.iter().filter(|block| block["type"] == "text");
        let text = text.filter_map(|block| block["text"].as_str()).collect();
        let calls = take_calls(&mut blocks);
        let finish = match answer["stop_reason"].as_str() {
            Some("end_turn" | "stop_sequence") => Finish::Complete,
            Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
            Some("tool_use") => Finish::ToolCalls,
            Some("refusal") => Finish::Refused,
            _ => Finish::Other,
        };
        // Thinking is signed, so we must return it unchanged. Plain text and calls can be serialized again.
        let is_signed = |block: &Value| !matches!(block["type"].as_str(), Some("text" | "tool_use"));
        let state = blocks.iter().any(is_signed).then(|| Value::Array(blocks));
        Ok(RawAnswer { text, calls, finish, usage: usage(&answer["usage"]), state })
    }

    fn events(&self) -> Box<dyn Events> {
        Box::<ContentBlocks>::default()
    }

    fn listing_path(&self, cursor: Option<&str>) -> String {
        match cursor {
            None => format!("/v1/models?limit={LISTING_PAGE}"),
            Some(id) => format!("/v1/models?limit={LISTING_PAGE}&after_id={}", percent_encoded(id)),
        }
    }

    fn read_listing(&self, page: &Value) -> Option<(Vec<ListedModel>, Option<String>)> {
        let model = |model: &Value| {
            ListedModel::read(model["id"].as_str()?, model["created_at"].as_str().and_then(rfc3339_seconds))
        };
        let models = page["data"].as_array()?.iter().filter_map(model).collect();
        let next = page["last_id"].as_str().filter(|_| page["has_more"] == true);
        Some((models, next.map(str::to_owned)))
    }
}

/// Extracts the calls from the blocks, and makes their ids unique in both places.
fn take_calls(blocks: &mut [Value]) -> Vec<ToolCall> {
    let is_call = |block: &&mut Value| block["type"] == "tool_use" && block["name"].is_string();
    let mut calls: Vec<ToolCall> = blocks
        .iter_mut()
        .filter(is_call)
        .map(|block| ToolCall {
            id: block["id"].as_str().unwrap_or_default().to_owned(),
            name: block["name"].as_str().unwrap_or_default().to_owned(),
            arguments: arguments_text(&block["input"]),
        })
        .collect();
    unique_ids(&mut calls);
    for (block, call) in blocks.iter_mut().filter(is_call).zip(&calls) {
        block["id"] = json!(call.id);
        block["input"] = arguments_object(&call.arguments);
    }
    calls
}

/// Builds the turns, in which user and model alternate. All results of a turn are in one message, before the
/// user's text.
fn messages(request: &ChatRequest, name: &str) -> Vec<Value> {
    let mut messages = Vec::new();
    // Maps the call ids of the last turn to ids that this server accepts. This is needed if another model
    // made the turn.
    let mut renamed: Vec<(&str, String)> = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        match message {
            ChatMessage::User(text) => {
                push_turn(&mut messages, "user", "content", vec![text_block(text.as_str())]);
            }
            ChatMessage::Model(turn) => {
                // The ids of other providers may not be unique in the conversation, or may contain characters
                // other than letters and digits.
                let new = |(number, call)| {
                    let call: &ToolCall = call;
                    (call.id.as_str(), format!("call_{index}_{number}"))
                };
                renamed = match own_blocks(turn, name) {
                    Some(_) => Vec::new(),
                    None => turn.calls().iter().enumerate().map(new).collect(),
                };
                push_turn(&mut messages, "assistant", "content", turn_blocks(turn, name, &renamed));
            }
            ChatMessage::ToolResults(results) => {
                let result = |result: &crate::chat::ToolResult| {
                    let id = renamed.iter().find(|(old, _)| *old == result.call_id);
                    json!({
                        "type": "tool_result",
                        "tool_use_id": id.map_or(result.call_id.as_str(), |(_, new)| new),
                        "content": result.text.as_str(),
                        "is_error": result.is_error,
                    })
                };
                push_turn(&mut messages, "user", "content", results.iter().map(result).collect());
            }
        }
    }
    messages
}

/// Returns the blocks of a turn if they came from this model.
fn own_blocks<'a>(turn: &'a ModelTurn, name: &str) -> Option<&'a Vec<Value>> {
    turn.state(Wire::Anthropic.name(), name)?.as_array()
}

fn turn_blocks(turn: &ModelTurn, name: &str, renamed: &[(&str, String)]) -> Vec<Value> {
    // The server rejects empty text, even in a turn of its own.
    let is_sayable = |block: &Value| {
        block["type"] != "text" || block["text"].as_str().is_some_and(|text| !text.trim().is_empty())
    };
    if let Some(blocks) = own_blocks(turn, name) {
        return blocks.iter().filter(|block| is_sayable(block)).cloned().collect();
    }
    let call = |(call, (_, id)): (&ToolCall, &(&str, String))| {
        json!({
            "type": "tool_use",
            "id": id,
            "name": call.name,
            "input": arguments_object(&call.arguments),
        })
    };
    let text = text_block(turn.text());
    Some(text).into_iter().filter(is_sayable).chain(turn.calls().iter().zip(renamed).map(call)).collect()
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Marks the last block. The server caches everything up to a marked block.
fn mark_cached(blocks: &mut [Value]) {
    if let Some(last) = blocks.last_mut() {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
}

/// Parses the token counts. Note that `input_tokens` does not include cached tokens.
fn usage(usage: &Value) -> Option<Usage> {
    let count = |name: &str| usage[name].as_u64();
    let (input, output) = (count("input_tokens"), count("output_tokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let cached = count("cache_read_input_tokens").unwrap_or(0);
    let written = count("cache_creation_input_tokens").unwrap_or(0);
    Some(Usage {
        input_tokens: input.unwrap_or(0).saturating_add(cached).saturating_add(written),
        cached_input_tokens: cached,
        output_tokens: output.unwrap_or(0),
    })
}

/// Assembles an answer from content blocks that arrive in increments.
#[derive(Default)]
struct ContentBlocks {
    blocks: Vec<PartialBlock>,
    usage: Map<String, Value>,
    stop_reason: Value,
    is_over: bool,
    bytes: usize,
}

struct PartialBlock {
    index: Option<u64>,
    block: Value,
    input: String,
}

impl ContentBlocks {
    /// Adds to the size of the stored data, and checks the limit.
    fn keep(&mut self, bytes: usize) -> Result<(), Fault> {
        self.bytes += bytes;
        if self.bytes > MAX_ANSWER_BYTES {
            return Err(Fault::TooLarge(MAX_ANSWER_BYTES));
        }
        Ok(())
    }

    fn begin(&mut self, event: &mut Value, text: &mut String) -> Result<(), Fault> {
        if self.blocks.len() == MAX_ANSWER_BLOCKS {
            return Err(Fault::Bad("it has too many blocks"));
        }
        let index = event["index"].as_u64();
        let block = event["content_block"].take();
        self.keep(block.to_string().len())?;
        if block["type"] == "text" {
            text.push_str(block["text"].as_str().unwrap_or_default());
        }
        self.blocks.push(PartialBlock { index, block, input: String::new() });
        Ok(())
    }

    fn grow(&mut self, event: &Value, text: &mut String) -> Result<(), Fault> {
        let delta = &event["delta"];
        let (field, piece) = match delta["type"].as_str() {
            Some("text_delta") => ("text", &delta["text"]),
            Some("thinking_delta") => ("thinking", &delta["thinking"]),
            Some("signature_delta") => ("signature", &delta["signature"]),
            Some("input_json_delta") => ("", &delta["partial_json"]),
            _ => return Ok(()),
        };
        let piece = piece.as_str().unwrap_or_default();
        self.keep(piece.len())?;
        let index = event["index"].as_u64();
        // The index must only be compared, and never be used in arithmetic.
        let at = self.blocks.iter().rposition(|block| index.is_none() || block.index == index);
        let Some(partial) = at.map(|at| &mut self.blocks[at]) else {
            return Err(Fault::Bad("one of its pieces belongs to no block"));
        };
        let Some(block) = partial.block.as_object_mut() else {
            return Err(Fault::Bad("one of its blocks is not an object"));
        };
        if field.is_empty() {
            partial.input.push_str(piece);
            return Ok(());
        }
        match block.get_mut(field) {
            Some(Value::String(before)) => before.push_str(piece),
            _ => {
                block.insert(field.to_owned(), json!(piece));
            }
        }
        if field == "text" {
            text.push_str(piece);
        }
        Ok(())
    }

    fn count(&mut self, usage: &Value) {
        let counts = usage.as_object().into_iter().flatten().filter(|(_, count)| count.is_number());
        self.usage.extend(counts.map(|(name, count)| (name.clone(), count.clone())));
    }
}

impl Events for ContentBlocks {
    fn take(&mut self, mut event: Value, text: &mut String) -> Result<(), Fault> {
        if !event["error"].is_null() {
            return Err(Fault::Error(event));
        }
        match event["type"].as_str() {
            Some("message_start") => self.count(&event["message"]["usage"]),
            Some("content_block_start") => self.begin(&mut event, text)?,
            Some("content_block_delta") => self.grow(&event, text)?,
            Some("message_delta") => {
                self.count(&event["usage"]);
                if event["delta"]["stop_reason"].is_string() {
                    self.stop_reason = event["delta"]["stop_reason"].take();
                }
            }
            Some("message_stop") => self.is_over = true,
            _ => {}
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.stop_reason.is_string()
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn whole(self: Box<Self>) -> Value {
        let block = |PartialBlock { mut block, input, .. }: PartialBlock| {
            if !input.is_empty() {
                // We keep invalid JSON as text, so that the caller can detect it.
                block["input"] = serde_json::from_str(&input).unwrap_or(Value::String(input));
            }
            block
        };
        json!({
            "content": self.blocks.into_iter().map(block).collect::<Vec<_>>(),
            "stop_reason": self.stop_reason,
            "usage": self.usage,
        })
    }
}

//! The wire protocol of OpenAI chat completions, which most hosted and all common local servers speak.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::http::HeaderValue;

use crate::chat::{
    AnswerSchema, CallBudget, ChatAnswer, ChatModel, ChatRequest, Finish, Message, ModelTurn, ToolCall,
    ToolDefinition, Usage,
};
use crate::endpoint::{Endpoint, OutputLimitField, Reasoning};
use crate::error::ChatError;
use crate::http::{HttpClient, Post, Reply};
use crate::message::server_message;

/// A model behind `POST {base_url}/chat/completions`.
#[derive(Debug)]
pub struct OpenAiChat {
    endpoint: Endpoint,
    url: String,
    http: HttpClient,
}

impl OpenAiChat {
    /// A client of the endpoint. Connects only when asked something.
    pub fn new(endpoint: Endpoint) -> Self {
        let url = format!("{}/chat/completions", endpoint.base_url());
        Self { endpoint, url, http: HttpClient::default() }
    }

    fn body(&self, request: &ChatRequest) -> Vec<u8> {
        let facts = self.endpoint.facts();
        let limit = match facts.output_limit_field {
            OutputLimitField::MaxTokens => "max_tokens",
            OutputLimitField::MaxCompletionTokens => "max_completion_tokens",
        };
        let mut body = json!({
            "model": self.endpoint.model(),
            "messages": messages(request),
            limit: request.max_output_tokens,
            "stream": false,
        });
        if facts.accepts_temperature {
            body["temperature"] = json!(0);
        }
        if let Reasoning::Effort(effort) = facts.reasoning {
            body["reasoning_effort"] = json!(effort);
        }
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if let Some(AnswerSchema { name, schema }) = &request.answer_schema
            && facts.answer_schema
        {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": {"name": name, "strict": true, "schema": schema},
            });
        }
        body.to_string().into_bytes()
    }

    fn headers(&self) -> Result<Vec<(&'static str, HeaderValue)>, ChatError> {
        let Some(key) = self.endpoint.key() else { return Ok(Vec::new()) };
        // Cannot fail: a key is printable ASCII. An error is still better than a panic.
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
            .map_err(|_| ChatError::Unauthorized { model: self.name(), status: 401 })?;
        value.set_sensitive(true);
        Ok(vec![("authorization", value)])
    }

    /// The error that a status stands for, `None` for success.
    fn refusal(&self, status: u16, reply: &Reply, request: &ChatRequest) -> Option<ChatError> {
        let model = self.name();
        let retry_after = reply.retry_after;
        match status {
            200..=299 => None,
            300..=399 => Some(ChatError::BadAnswer {
                model,
                why: format!(
                    "HTTP {status} points to another address, and redirects are not followed so that the key stays here; set base_url to the final address"
                ),
            }),
            401 | 403 => Some(ChatError::Unauthorized { model, status }),
            429 => Some(ChatError::RateLimited { model, retry_after }),
            408 | 500.. => Some(ChatError::Server { model, status, retry_after }),
            _ => {
                let message = server_message(&reply.body, request, self.endpoint.key());
                Some(ChatError::BadRequest { model, status, message })
            }
        }
    }

    fn read(&self, reply: &Reply, request: &ChatRequest, elapsed: Duration) -> Result<ChatAnswer, ChatError> {
        let bad = |why: &str| ChatError::BadAnswer { model: self.name(), why: why.to_owned() };
        let answer: Value = serde_json::from_slice(&reply.body).map_err(|_| bad("it is not JSON"))?;
        let choice = &answer["choices"][0];
        if !choice.is_object() {
            // Gateways report the failure of the server behind them with status 200 and an error object.
            if answer["error"].is_null() {
                return Err(bad("it has no `choices`"));
            }
            let status = answer["error"]["code"].as_u64().and_then(|code| u16::try_from(code).ok());
            let status = status.filter(|code| (400..600).contains(code)).unwrap_or(400);
            return Err(self.refusal(status, reply, request).unwrap_or_else(|| bad("it has no `choices`")));
        }
        let message = &choice["message"];
        let finish = match choice["finish_reason"].as_str() {
            Some("stop") => Finish::Complete,
            Some("length" | "max_tokens") => Finish::Length,
            Some("tool_calls" | "function_call") => Finish::ToolCalls,
            Some("content_filter") => Finish::Refused,
            _ if message["refusal"].is_string() => Finish::Refused,
            _ => Finish::Other,
        };
        let content = content_text(&message["content"]);
        let text = without_reasoning(&content).trim();
        let calls = calls(&message["tool_calls"]);
        if text.is_empty() && calls.is_empty() {
            return Err(ChatError::EmptyAnswer { model: self.name(), finish });
        }
        let usage = usage(&answer["usage"]);
        Ok(ChatAnswer {
            text: text.to_owned(),
            calls,
            provider: self.endpoint.provider().to_owned(),
            model: self.endpoint.model().to_owned(),
            cost_usd: self.endpoint.facts().price.zip(usage).map(|(price, usage)| price.of(&usage)),
            usage,
            finish,
            elapsed,
            state: None,
        })
    }
}

fn messages(request: &ChatRequest) -> Vec<Value> {
    let mut messages = vec![json!({"role": "system", "content": request.system.as_str()})];
    for message in &request.messages {
        match message {
            Message::User(text) => messages.push(json!({"role": "user", "content": text.as_str()})),
            Message::Model(turn) => messages.push(model_message(turn)),
            Message::ToolResults(results) => messages.extend(results.iter().map(|result| {
                json!({"role": "tool", "tool_call_id": result.call_id, "content": result.text.as_str()})
            })),
        }
    }
    messages
}

fn model_message(turn: &ModelTurn) -> Value {
    let mut message = json!({"role": "assistant", "content": turn.text()});
    if !turn.calls().is_empty() {
        let call = |call: &ToolCall| {
            json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            })
        };
        message["tool_calls"] = turn.calls().iter().map(call).collect();
    }
    message
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    })
}

/// The calls of an answer. Servers leave ids out or repeat them; the conversation needs unique ones.
fn calls(calls: &Value) -> Vec<ToolCall> {
    let mut read: Vec<ToolCall> = Vec::new();
    for call in calls.as_array().into_iter().flatten() {
        let Some(name) = call["function"]["name"].as_str() else { continue };
        let arguments = match &call["function"]["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            // Some servers send the object itself.
            value => value.to_string(),
        };
        let id = call["id"].as_str().unwrap_or_default();
        let id = match !id.is_empty() && read.iter().all(|call| call.id != id) {
            true => id.to_owned(),
            false => format!("call_{}", read.len() + 1),
        };
        read.push(ToolCall { id, name: name.to_owned(), arguments });
    }
    read
}

impl ChatModel for OpenAiChat {
    fn name(&self) -> String {
        self.endpoint.name()
    }

    fn complete(&self, request: &ChatRequest, budget: &CallBudget<'_>) -> Result<ChatAnswer, ChatError> {
        let started = Instant::now();
        let body = self.body(request);
        let post = Post { model: &self.name(), url: &self.url, headers: self.headers()?, body: &body };
        let reply = self.http.post(&post, budget)?;
        if let Some(error) = self.refusal(reply.status, &reply, request) {
            return Err(error);
        }
        self.read(&reply, request, started.elapsed())
    }
}

/// The text of `content`: a string, or an array whose text parts are joined; parts of reasoning have no `text`
/// or a `type` that says so.
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

/// The answer behind the reasoning that some servers leave in the text.
fn without_reasoning(text: &str) -> &str {
    const OPEN: &str = "<think>";
    const CLOSE: &str = "</think>";
    let mut rest = text.trim_start();
    while let Some(thought) = rest.strip_prefix(OPEN) {
        // Reasoning that was cut by the output limit has no end, and nothing follows it.
        rest = thought.split_once(CLOSE).map_or("", |(_, answer)| answer.trim_start());
    }
    // Templates that open the block in the prompt leave only its end, on a line of its own; anywhere else the
    // mark may be part of an answer about such marks.
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if line.trim() == CLOSE {
            return &rest[at..];
        }
    }
    rest
}

/// The token counts; `None` when the provider sent none, or an empty object.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_before_the_answer_is_cut_off() {
        for (text, answer) in [
            ("plain", "plain"),
            ("<think>a\nb</think>\n\nanswer", "answer"),
            (" \n<think></think><think>b</think>answer", "answer"),
            ("<think>never ends", ""),
            ("thoughts\n</think>\nanswer", "answer"),
            ("a.rs: reads `</think>` marks\nb.rs: x", "a.rs: reads `</think>` marks\nb.rs: x"),
            ("a.rs: handles <think>x</think>", "a.rs: handles <think>x</think>"),
        ] {
            assert_eq!(without_reasoning(text).trim(), answer, "{text}");
        }
    }

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
}

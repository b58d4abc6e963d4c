//! The wire protocol of Gemini's `generateContent`.

use serde_json::{Map, Value, json};

use super::answer::{arguments_object, arguments_text, push_turn, unique_ids};
use super::listed::ListedModel;
use super::protocol::{Events, Fault, Protocol, RawAnswer, percent_encoded};
use crate::chat::{
    AnswerSchema, ChatMessage, ChatRequest, ModelTurn, ToolCall, ToolChoice, ToolDefinition, ToolResult,
    Usage,
};
use crate::endpoint::{Endpoint, Reasoning};
use crate::finish::Finish;
use crate::limits::{LISTING_PAGE, MAX_ANSWER_BLOCKS, MAX_ANSWER_BYTES};
use crate::wire_name::Wire;

pub(super) struct Gemini;

/// The prefix of every id in a model list. It is optional in a configuration.
const ID_PREFIX: &str = "models/";

/// The effort that means no reasoning at all. In this protocol it is a budget of zero tokens.
const NO_EFFORT: &str = "none";

impl Protocol for Gemini {
    fn path(&self, model: &str, streamed: bool) -> String {
        let model = percent_encoded(model.strip_prefix(ID_PREFIX).unwrap_or(model));
        match streamed {
            true => format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
            false => format!("/v1beta/models/{model}:generateContent"),
        }
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-goog-api-key", "")
    }

    fn body(&self, endpoint: &Endpoint, request: &ChatRequest, _: bool) -> Value {
        let facts = endpoint.facts();
        let mut config = json!({"maxOutputTokens": request.max_output_tokens});
        if facts.accepts_temperature {
            config["temperature"] = json!(0);
        }
        match facts.reasoning {
            Reasoning::AsItIs => {}
            Reasoning::Effort(NO_EFFORT) => config["thinkingConfig"] = json!({"thinkingBudget": 0}),
            Reasoning::Effort(effort) => config["thinkingConfig"] = json!({"thinkingLevel": effort}),
        }
        // Models before Gemini 3 reject a schema together with tools.
        if let Some(AnswerSchema { schema, .. }) = &request.answer_schema
            && request.tools.is_empty()
        {
            config["responseMimeType"] = json!("application/json");
            config["responseJsonSchema"] = schema.clone();
        }
        let mut body = json!({"contents": contents(request, &endpoint.name()), "generationConfig": config});
        if !request.system.as_str().is_empty() {
            body["systemInstruction"] = json!({"parts": [{"text": request.system.as_str()}]});
        }
        if !request.tools.is_empty() {
            let declarations: Vec<Value> = request.tools.iter().map(tool).collect();
            body["tools"] = json!([{"functionDeclarations": declarations}]);
            let calling = match request.tool_choice {
                ToolChoice::Free => None,
                ToolChoice::None => Some(json!({"mode": "NONE"})),
                ToolChoice::Answer(name) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
            };
            if let Some(calling) = calling {
                body["toolConfig"] = json!({"functionCallingConfig": calling});
            }
        }
        body
    }

    fn read(&self, answer: Value) -> Result<RawAnswer, Fault> {
        let candidate = &answer["candidates"][0];
        let blocked = answer["promptFeedback"]["blockReason"].is_string();
        if !candidate.is_object() && !blocked {
            return Err(match answer["error"].is_null() && answer[0]["error"].is_null() {
                true => Fault::Bad("it has no `candidates`"),
                false => Fault::Error(answer),
            });
        }
        let mut parts = candidate["content"]["parts"].as_array().cloned().unwrap_or_default();
        if parts.len() > MAX_ANSWER_BLOCKS {
            return Err(Fault::Bad("it has too many parts"));
        }
        let text = parts.iter().filter(|part| part["thought"] != true);
        let text = text.filter_map(|part| part["text"].as_str()).collect();
        let calls = take_calls(&mut parts);
        let finish = match candidate["finishReason"].as_str() {
            _ if blocked => Finish::Refused,
            Some("STOP") => Finish::Complete,
            Some("MAX_TOKENS") => Finish::Length,
            // Gemini itself returns `STOP` for calls. Other servers with this protocol return
            // `FUNCTION_CALL`.
            Some("FUNCTION_CALL") => Finish::ToolCalls,
            Some(
                "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
                | "IMAGE_SAFETY",
            ) => Finish::Refused,
            _ => Finish::Other,
        };
        // Signatures must be returned together with the parts that contained them.
        let is_signed = |part: &Value| part["thoughtSignature"].is_string();
        let state = parts.iter().any(is_signed).then(|| Value::Array(parts));
        Ok(RawAnswer { text, calls, finish, usage: usage(&answer["usageMetadata"]), state })
    }

    fn events(&self) -> Box<dyn Events> {
        Box::<Responses>::default()
    }

    fn listing_path(&self, cursor: Option<&str>) -> String {
        match cursor {
            None => format!("/v1beta/models?pageSize={LISTING_PAGE}"),
            Some(token) => {
                format!("/v1beta/models?pageSize={LISTING_PAGE}&pageToken={}", percent_encoded(token))
            }
        }
    }

    fn read_listing(&self, page: &Value) -> Option<(Vec<ListedModel>, Option<String>)> {
        let model = |model: &Value| {
            let methods = model["supportedGenerationMethods"].as_array()?;
            let id = model["name"].as_str()?;
            methods
                .iter()
                .any(|method| method == "generateContent")
                .then(|| ListedModel::read(id.strip_prefix(ID_PREFIX).unwrap_or(id), None))?
        };
        let models = page["models"].as_array()?.iter().filter_map(model).collect();
        let next = page["nextPageToken"].as_str().filter(|token| !token.is_empty());
        Some((models, next.map(str::to_owned)))
    }
}

/// Extracts the calls from the parts, and creates ids if the server has sent none.
fn take_calls(parts: &mut [Value]) -> Vec<ToolCall> {
    let is_call = |part: &&mut Value| part["functionCall"]["name"].is_string();
    let mut calls: Vec<ToolCall> = parts
        .iter_mut()
        .filter(is_call)
        .map(|part| {
            let call = &part["functionCall"];
            ToolCall {
                id: call["id"].as_str().unwrap_or_default().to_owned(),
                name: call["name"].as_str().unwrap_or_default().to_owned(),
                arguments: arguments_text(&call["args"]),
            }
        })
        .collect();
    unique_ids(&mut calls);
    for (part, call) in parts.iter_mut().filter(is_call).zip(&calls) {
        // If a part came without an id, we must send it back without one.
        if part["functionCall"]["id"].as_str().is_some_and(|id| !id.is_empty()) {
            part["functionCall"]["id"] = json!(call.id);
        }
    }
    calls
}

/// Builds the turns, in which user and model alternate. All results of a turn are in one turn.
fn contents(request: &ChatRequest, name: &str) -> Vec<Value> {
    let mut contents = Vec::new();
    // The ids that the server sent for the calls of the last turn. It does not know any other ids.
    let mut ids: Vec<String> = Vec::new();
    for message in &request.messages {
        match message {
            ChatMessage::User(text) => {
                push_turn(&mut contents, "user", "parts", vec![json!({"text": text.as_str()})]);
            }
            ChatMessage::Model(turn) => {
                let parts = turn_parts(turn, name);
                let id = |part: &Value| part["functionCall"]["id"].as_str().map(str::to_owned);
                ids = parts.iter().filter_map(id).collect();
                push_turn(&mut contents, "model", "parts", parts);
            }
            ChatMessage::ToolResults(results) => {
                let results = results.iter().map(|result| result_part(result, &ids));
                push_turn(&mut contents, "user", "parts", results.collect());
            }
        }
    }
    contents
}

fn turn_parts(turn: &ModelTurn, name: &str) -> Vec<Value> {
    if let Some(Value::Array(parts)) = turn.state(Wire::Gemini.name(), name) {
        return parts.clone();
    }
    let call = |call: &ToolCall| json!({"functionCall": {"name": call.name, "args": arguments_object(&call.arguments)}});
    let text = Some(turn.text()).filter(|text| !text.is_empty()).map(|text| json!({"text": text}));
    text.into_iter().chain(turn.calls().iter().map(call)).collect()
}

/// Builds the part with a result. The server matches results without an id to calls by their order.
fn result_part(result: &ToolResult, ids: &[String]) -> Value {
    let field = if result.is_error { "error" } else { "output" };
    let mut response = json!({"name": result.name, "response": {field: result.text.as_str()}});
    if ids.contains(&result.call_id) {
        response["id"] = json!(result.call_id);
    }
    json!({"functionResponse": response})
}

fn tool(tool: &ToolDefinition) -> Value {
    // We do not use `parameters`, which supports only a subset of JSON Schema.
    json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters})
}

/// Parses the token counts. The count of the answer does not include reasoning tokens, but that of the prompt
/// includes cached tokens.
fn usage(usage: &Value) -> Option<Usage> {
    let count = |name: &str| usage[name].as_u64();
    let (input, output) = (count("promptTokenCount"), count("candidatesTokenCount"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let beside =
        |tokens: Option<u64>, name: &str| tokens.unwrap_or(0).saturating_add(count(name).unwrap_or(0));
    Some(Usage {
        input_tokens: beside(input, "toolUsePromptTokenCount"),
        cached_input_tokens: count("cachedContentTokenCount").unwrap_or(0),
        output_tokens: beside(output, "thoughtsTokenCount"),
    })
}

/// Assembles an answer from several responses that contain some of the parts each.
#[derive(Default)]
struct Responses {
    parts: Vec<Value>,
    finish_reason: Value,
    feedback: Value,
    usage: Map<String, Value>,
    bytes: usize,
}

impl Responses {
    fn take_part(&mut self, part: &mut Value, text: &mut String) -> Result<(), Fault> {
        self.bytes += part.to_string().len();
        if self.bytes > MAX_ANSWER_BYTES {
            return Err(Fault::TooLarge(MAX_ANSWER_BYTES));
        }
        if part["thought"] != true {
            text.push_str(part["text"].as_str().unwrap_or_default());
        }
        // We join adjacent plain text. Anything else must stay separate, and so must signed parts.
        let is_plain = |part: &Value| {
            part["text"].is_string() && part["thoughtSignature"].is_null() && part["functionCall"].is_null()
        };
        if let Some(last) = self.parts.last_mut()
            && is_plain(last)
            && is_plain(part)
            && last["thought"] == part["thought"]
            && let (Value::String(before), Some(more)) = (&mut last["text"], part["text"].as_str())
        {
            before.push_str(more);
            return Ok(());
        }
        if self.parts.len() == MAX_ANSWER_BLOCKS {
            return Err(Fault::Bad("it has too many parts"));
        }
        self.parts.push(part.take());
        Ok(())
    }
}

impl Events for Responses {
    fn take(&mut self, mut event: Value, text: &mut String) -> Result<(), Fault> {
        if !event["error"].is_null() || !event[0]["error"].is_null() {
            return Err(Fault::Error(event));
        }
        if let Some(counts) = event["usageMetadata"].as_object() {
            let counts = counts.iter().filter(|(_, count)| count.is_number());
            self.usage.extend(counts.map(|(name, count)| (name.clone(), count.clone())));
        }
        if event["promptFeedback"]["blockReason"].is_string() {
            self.feedback = event["promptFeedback"].take();
        }
        // We must use `get_mut`: indexing panics if the value is not an object.
        let candidate = event.get_mut("candidates").and_then(|candidates| candidates.get_mut(0));
        let Some(candidate) = candidate else { return Ok(()) };
        if candidate["finishReason"].is_string() {
            self.finish_reason = candidate["finishReason"].take();
        }
        let parts = candidate.get_mut("content").and_then(|content| content.get_mut("parts"));
        for part in parts.and_then(Value::as_array_mut).into_iter().flatten() {
            if part.is_object() {
                self.take_part(part, text)?;
            }
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.finish_reason.is_string() || self.feedback.is_object()
    }

    fn is_over(&self) -> bool {
        // We must wait for the end of the stream, since token counts may follow the finish reason.
        false
    }

    fn whole(self: Box<Self>) -> Value {
        json!({
            "candidates": [{"content": {"role": "model", "parts": self.parts}, "finishReason": self.finish_reason}],
            "promptFeedback": self.feedback,
            "usageMetadata": self.usage,
        })
    }
}

//! Tests the wire protocols against aimock, an independent server whose authors test it against the real
//! ones.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use forage_fuzz::peers;
use forage_llm::{
    AnswerSchema, AnswerShape, ApiKey, CallBudget, ChatAnswer, ChatError, ChatMessage, ChatModel,
    ChatRequest, Endpoint, EndpointSettings, ExchangeMode, Finish, ModelFacts, ToolDefinition, ToolResult,
    Usage, Wire, WireClient, complete_first,
};
use forage_redact::{Redacted, Redactor};
use serde_json::json;

use crate::{KEY, ample, client, settings};

/// A running server.
struct Aimock {
    child: Child,
    /// Must stay open, because the server exits if it can't write its log.
    _output: BufReader<ChildStdout>,
    url: String,
}

impl Aimock {
    /// Starts the server. Returns `None` if it is missing.
    #[expect(clippy::disallowed_methods, reason = "tests run the server that they compare with")]
    fn start() -> Option<Self> {
        if !peers::are_there(&["node", "aimock"]) {
            return None;
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut child = Command::new(peers::program("node"))
            .arg(peers::program("aimock"))
            .args(["--port", "0", "--strict", "--validate-on-load", "--fixtures"])
            .arg(folder.join("tests/data/aimock.json"))
            .env("AIMOCK_API_KEYS", KEY)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while output.read_line(&mut line).unwrap() > 0 && !line.contains("listening on ") {
            line.clear();
        }
        let url = line.split_once("listening on ").map(|(_, url)| url.trim().to_owned());
        let url = url.unwrap_or_else(|| panic!("aimock ends without saying where it listens"));
        Some(Self { child, _output: output, url })
    }

    /// Returns the address in the form that a wire protocol expects.
    fn base(&self, wire: Wire) -> String {
        match wire {
            Wire::OpenAiChat => format!("{}/v1", self.url),
            Wire::Anthropic | Wire::Gemini => self.url.clone(),
        }
    }

    fn ask(&self, wire: Wire, is_stream: bool, question: &'static str) -> Result<ChatAnswer, ChatError> {
        let system = Redacted::trusted("You filter.");
        let request = ChatRequest::question(system, Redacted::trusted(question), 50);
        ask(wire, is_stream, &self.base(wire), &request)
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(wire: Wire, is_stream: bool, base: &str, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
    ask_model(&client(wire, base), is_stream, request)
}

/// Asks with or without streaming. Checks that a stream passes on exactly the text of the answer.
fn ask_model(model: &WireClient, is_stream: bool, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
    if !is_stream {
        return model.complete(request, &ample());
    }
    let mut text = String::new();
    let answer = model.stream(request, &ample(), &mut |piece| text.push_str(piece))?;
    assert_eq!(text, answer.text);
    Ok(answer)
}

fn every_way() -> impl Iterator<Item = (Wire, bool)> {
    Wire::ALL.into_iter().flat_map(|wire| [(wire, false), (wire, true)])
}

#[test]
fn it_answers_every_wire_in_both_ways() {
    let Some(aimock) = Aimock::start() else { return };
    for (wire, is_stream) in every_way() {
        let answer = aimock.ask(wire, is_stream, "say hello").unwrap();
        assert_eq!(answer.text, "a.rs: héllo wörld 😀, and some more text that comes in several pieces");
        assert_eq!(answer.finish, Finish::Complete, "{wire:?} {is_stream}");
        let usage = Usage { input_tokens: 11, cached_input_tokens: 0, output_tokens: 7 };
        assert_eq!(answer.usage, Some(usage), "{wire:?} {is_stream}");
        assert_eq!(aimock.ask(wire, is_stream, "think first").unwrap().text, "thought through");
    }
}

#[test]
fn it_calls_tools_and_takes_their_results() {
    let Some(aimock) = Aimock::start() else { return };
    let parameters = json!({"type": "object", "properties": {"pattern": {"type": "string"}}});
    let tool = |name: &str| ToolDefinition {
        name: name.to_owned(),
        description: "It searches.".to_owned(),
        parameters: parameters.clone(),
    };
    for (wire, is_stream) in every_way() {
        let mut request = ChatRequest::question(Redacted::trusted("s"), Redacted::trusted("explore"), 50);
        request.tools = vec![tool("grep"), tool("read")];
        let answer = ask(wire, is_stream, &aimock.base(wire), &request).unwrap();
        let calls: Vec<_> = answer.calls.iter().map(|call| (&*call.name, &*call.arguments)).collect();
        assert_eq!(calls, [("grep", r#"{"pattern":"a"}"#), ("read", r#"{"path":"ä b"}"#)], "{wire:?}");
        assert_eq!(answer.finish, Finish::ToolCalls, "{wire:?} {is_stream}");
        let results = answer.calls.iter().map(|call| ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            text: Redactor::standard().redact("a result"),
            is_error: false,
        });
        let results = results.collect();
        request.messages.extend([ChatMessage::Model(answer.into_turn()), ChatMessage::ToolResults(results)]);
        let answer = ask(wire, is_stream, &aimock.base(wire), &request).unwrap();
        assert_eq!((answer.text.as_str(), answer.finish), ("found it", Finish::Complete), "{wire:?}");
    }
}

#[test]
fn aimock_answers_by_tool_call() {
    let Some(aimock) = Aimock::start() else { return };
    for (wire, is_stream) in every_way() {
        let mut request = ChatRequest::question(Redacted::trusted("s"), Redacted::trusted("which files"), 50);
        let schema = json!({"type": "object", "properties": {"files": {"type": "array"}}});
        request.answer_schema = Some(AnswerSchema { name: "relevant_files", ask: "", schema });
        let facts = ModelFacts { answer_tool: true, ..ModelFacts::default() };
        let settings = EndpointSettings { facts, ..settings(&aimock.base(wire)) };
        let model = WireClient::new(wire, Endpoint::new(settings).unwrap(), ExchangeMode::Live);
        let answer = ask_model(&model, is_stream, &request).unwrap();
        assert_eq!(answer.text, r#"{"files":[{"path":"ä b"}]}"#, "{wire:?} {is_stream}");
        assert_eq!((answer.shape, answer.finish), (AnswerShape::Tool, Finish::Complete), "{wire:?}");
        assert!(answer.calls.is_empty(), "{wire:?} {is_stream}");
    }
}

#[test]
fn its_faults_are_told_apart() {
    let Some(aimock) = Aimock::start() else { return };
    for (wire, is_stream) in every_way() {
        for (question, kinds) in [
            ("forbid", &["Unauthorized"][..]),
            ("which model", &["ModelUnusable"]),
            ("break", &["Server"]),
            ("overload", &["Server"]),
            ("malformed", &["BadAnswer"]),
            ("disconnect", &["ConnectionLost"]),
        ] {
            let error = aimock.ask(wire, is_stream, question).unwrap_err();
            let shown = format!("{error:?}");
            assert!(
                kinds.iter().any(|kind| shown.starts_with(kind)),
                "{wire:?} {is_stream} {question}: {shown}"
            );
        }
        if is_stream {
            let error = aimock.ask(wire, true, "truncate").unwrap_err();
            assert!(matches!(error, ChatError::ConnectionLost { .. }), "{wire:?}: {error:?}");
        }
        let other = EndpointSettings {
            key: Some(ApiKey::new("another-key").unwrap()),
            ..settings(&aimock.base(wire))
        };
        let stranger = wire.client(Endpoint::new(other).unwrap());
        let error = stranger.complete(&crate::request("say hello"), &ample()).unwrap_err();
        assert!(error.rules_out_provider(), "{wire:?}: {error:?}");
    }
}

#[test]
fn its_rate_limit_is_waited_for() {
    for wire in Wire::ALL {
        // The server counts requests, so each round needs its own one.
        let Some(aimock) = Aimock::start() else { return };
        let error = aimock.ask(wire, true, "limit me").unwrap_err();
        assert_eq!(error.retry_after(), Some(Duration::from_secs(1)), "{wire:?} {error:?}");
        drop(aimock);
        let Some(aimock) = Aimock::start() else { return };
        let model = wire.client(Endpoint::new(settings(&aimock.base(wire))).unwrap());
        let (answer, _) = complete_first(&[model], &crate::request("limit me"), &ample()).unwrap();
        assert_eq!(answer.text, "later", "{wire:?}");
    }
}

#[test]
fn it_lists_its_models() {
    let Some(aimock) = Aimock::start() else { return };
    let endpoint = Endpoint::without_model(settings(&aimock.base(Wire::OpenAiChat))).unwrap();
    let budget: CallBudget = ample();
    let listed = Wire::OpenAiChat.list_models(&endpoint, &ExchangeMode::Live, &budget).unwrap();
    assert!(listed.len() > 1 && listed.iter().all(|model| model.created.is_some()), "{listed:?}");
}

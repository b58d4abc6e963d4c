//! Tests recorded exchanges and their replay without a network.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use forage_llm::{
    CallBudget, ChatAnswer, ChatError, ChatModel, Endpoint, EndpointSettings, ExchangeMode, ExchangeSink,
    RecordedExchange, Recordings, Wire, complete_first,
};

use crate::peer::{Peer, Reply, json};
use crate::samples::{STREAM_HEAD, beginning, good, lines, streamed};
use crate::{KEY, ample, given_up, request, settings};

#[derive(Debug, Default)]
struct Tape(Mutex<String>);

impl ExchangeSink for Tape {
    fn take(&self, exchange: &RecordedExchange) -> Result<(), String> {
        let mut lines = self.0.lock().unwrap();
        lines.push_str(&exchange.to_line());
        lines.push('\n');
        Ok(())
    }
}

/// Records some work on a model of this peer.
fn record(wire: Wire, replies: Vec<Reply>, work: impl FnOnce(Arc<dyn ChatModel>)) -> String {
    let tape = Arc::new(Tape::default());
    let peer = Peer::start(replies);
    let endpoint = Endpoint::new(settings(&peer.root())).unwrap();
    work(wire.client_with(endpoint, ExchangeMode::Record(Arc::<Tape>::clone(&tape))));
    let lines = tape.0.lock().unwrap().clone();
    assert!(!lines.contains(KEY) && !lines.contains(&peer.root()), "{lines}");
    lines
}

/// Creates the same model with the recording instead of the network. There is no listener at its address.
fn replay(wire: Wire, recording: &str) -> Arc<dyn ChatModel> {
    let keyless = EndpointSettings { key: None, ..settings("http://127.0.0.1:1") };
    let recordings = Arc::new(Recordings::from_lines(recording).unwrap());
    wire.client_with(Endpoint::new(keyless).unwrap(), ExchangeMode::Replay(recordings))
}

fn without_time(mut answer: ChatAnswer) -> ChatAnswer {
    answer.elapsed = Duration::ZERO;
    answer
}

#[test]
fn a_recording_answers_as_the_server_did() {
    for wire in Wire::ALL {
        let asked = request("which files?");
        let mut answers = Vec::new();
        let replies = vec![good(wire, false, "whole"), good(wire, true, "in pieces")];
        let recording = record(wire, replies, |model| {
            answers.push(model.complete(&asked, &ample()).unwrap());
            answers.push(model.stream(&asked, &ample(), &mut |_| {}).unwrap());
        });
        assert_eq!(recording.lines().count(), 2);
        let model = replay(wire, &recording);
        let mut text = String::new();
        // The replay is in reverse order.
        let streamed = model.stream(&asked, &ample(), &mut |piece| text.push_str(piece)).unwrap();
        let whole = model.complete(&asked, &ample()).unwrap();
        let replayed = [whole, streamed].map(without_time);
        assert_eq!(replayed.to_vec(), answers.into_iter().map(without_time).collect::<Vec<_>>(), "{wire:?}");
        assert_eq!(text, "in pieces");
    }
}

#[test]
fn unrecorded_request_error_names_the_request() {
    let recording = record(Wire::OpenAiChat, vec![good(Wire::OpenAiChat, false, "x")], |model| {
        model.complete(&request("a"), &ample()).unwrap();
    });
    let model = replay(Wire::OpenAiChat, &recording);
    let error = model.complete(&request("the question of this test"), &ample()).unwrap_err();
    crate::check_error(&error);
    assert!(matches!(error, ChatError::Recording { .. }), "{error:?}");
    assert!(
        error.to_string().contains("not in the recording") && error.to_string().contains("/chat/completions")
    );
    assert!(!error.is_retryable());
    // A stream with the same question must count as a different request.
    assert!(model.stream(&request("a"), &ample(), &mut |_| {}).is_err());
    assert_eq!(model.complete(&request("a"), &ample()).unwrap().text, "x");
    let error = model.complete(&request("a"), &ample()).unwrap_err();
    assert!(error.to_string().contains("more often"), "{error}");
}

#[test]
fn replayed_equal_requests_get_answers_in_order() {
    let wire = Wire::OpenAiChat;
    let replies = ["a1", "b1", "a2"].map(|text| good(wire, false, text)).to_vec();
    let recording = record(wire, replies, |model| {
        for question in ["a", "b", "a"] {
            model.complete(&request(question), &ample()).unwrap();
        }
    });
    let model = replay(wire, &recording);
    for (question, text) in [("a", "a1"), ("a", "a2"), ("b", "b1")] {
        assert_eq!(model.complete(&request(question), &ample()).unwrap().text, text);
    }
}

#[test]
fn failures_are_recorded_and_retries_replayed() {
    let wire = Wire::Anthropic;
    let replies = vec![json(429, "retry-after-ms: 30\r\n", "{}"), good(wire, false, "later")];
    let recording = record(wire, replies, |model| {
        let answer = complete_first(&[model], &request("q"), &ample());
        assert_eq!(answer.unwrap().0.text, "later");
    });
    let model = replay(wire, &recording);
    let (answer, errors) = complete_first(&[model], &request("q"), &ample()).unwrap();
    assert_eq!((answer.text.as_str(), errors.len()), ("later", 0));
}

#[test]
fn every_failure_comes_back_as_it_was() {
    let wire = Wire::OpenAiChat;
    let begun = lines(&beginning(wire, &["half"]));
    for (reply, idle) in [
        (json(401, "", &format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#)), None),
        (json(400, "", r#"{"error":{"code":"context_length_exceeded"}}"#), None),
        (json(503, "retry-after: 2\r\n", ""), None),
        (streamed(&begun), None),
        (streamed("<html>"), None),
        (Reply::Raw(format!("HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{begun}").into_bytes()), None),
        (Reply::Raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n".to_vec()), None),
        (Reply::Raw([STREAM_HEAD.as_bytes(), b"data: \"\xff\"\n\n"].concat()), None),
        (Reply::Hang(format!("{STREAM_HEAD}{begun}").into_bytes()), Some(Duration::from_millis(100))),
        (Reply::Hang(format!("{STREAM_HEAD}{begun}").into_bytes()), None),
    ] {
        let budget = || CallBudget { idle, ..CallBudget::until(Instant::now() + Duration::from_millis(700)) };
        let mut first = None;
        let mut texts = [String::new(), String::new()];
        let recording = record(wire, vec![reply], |model| {
            first = Some(
                model.stream(&request("q"), &budget(), &mut |piece| texts[0].push_str(piece)).unwrap_err(),
            );
        });
        let model = replay(wire, &recording);
        let again =
            model.stream(&request("q"), &budget(), &mut |piece| texts[1].push_str(piece)).unwrap_err();
        assert_eq!(Some(again), first);
        assert_eq!(texts[0], texts[1]);
    }
}

#[test]
fn a_call_that_is_given_up_leaves_no_trace() {
    let recording = record(Wire::OpenAiChat, vec![good(Wire::OpenAiChat, false, "x")], |model| {
        let budget = given_up(Duration::from_secs(5));
        model.complete(&request("q"), &budget).unwrap_err();
    });
    assert_eq!(recording, "");
}

#[test]
fn a_recording_that_cannot_be_kept_fails_the_call() {
    #[derive(Debug)]
    struct Full;
    impl ExchangeSink for Full {
        fn take(&self, _: &RecordedExchange) -> Result<(), String> {
            Err("no space left on device".to_owned())
        }
    }
    let peer = Peer::start([good(Wire::OpenAiChat, false, "x")]);
    let endpoint = Endpoint::new(settings(&peer.root())).unwrap();
    let model = Wire::OpenAiChat.client_with(endpoint, ExchangeMode::Record(Arc::new(Full)));
    let error = model.complete(&request("q"), &ample()).unwrap_err();
    assert!(matches!(error, ChatError::Recording { .. }), "{error:?}");
    assert!(error.to_string().contains("no space left"), "{error}");
}

#[test]
fn lists_of_models_are_replayed_too() {
    let tape = Arc::new(Tape::default());
    let peer = Peer::start([json(200, "", r#"{"data":[{"id":"a"}]}"#)]);
    let endpoint = Endpoint::without_model(settings(&peer.root())).unwrap();
    let recorded = ExchangeMode::Record(Arc::<Tape>::clone(&tape));
    let listed = Wire::OpenAiChat.list_models(&endpoint, &recorded, &ample()).unwrap();
    let recordings = Arc::new(Recordings::from_lines(&tape.0.lock().unwrap()).unwrap());
    let replayed = Wire::OpenAiChat.list_models(&endpoint, &ExchangeMode::Replay(recordings), &ample());
    assert_eq!(replayed.unwrap(), listed);
    assert_eq!(listed.len(), 1);
}

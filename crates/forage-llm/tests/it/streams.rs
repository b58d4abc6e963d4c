//! Tests streamed answers, and every way in which they can fail.

use std::time::{Duration, Instant};

use forage_llm::limits::MAX_EVENT_BYTES;
use forage_llm::{CallBudget, ChatAnswer, ChatError, ChatModel, Finish, Usage, Wire};
use serde_json::json;

use crate::peer::{Peer, Reply, json as reply};
use crate::samples::{STREAM_HEAD, beginning, lines, reason, stream_text, streamed, whole};
use crate::{ample, check_error, client, request};

/// Asks for a stream. Returns the result, and the text that was passed on.
fn ask(wire: Wire, reply: Reply, budget: &CallBudget) -> (Result<ChatAnswer, ChatError>, String) {
    let peer = Peer::start([reply]);
    let mut text = String::new();
    let model = client(wire, &peer.url());
    let outcome =
        model.stream(&request("the question of this test"), budget, &mut |piece| text.push_str(piece));
    if let Err(error) = &outcome {
        check_error(error);
    }
    (outcome, text)
}

#[test]
fn a_stream_gives_the_answer_of_a_whole_response() {
    for wire in Wire::ALL {
        let text = stream_text(wire, &[" a.rs: ", "höh", "\n\nb.rs: x\n"]);
        let bytes = format!("{STREAM_HEAD}{text}").into_bytes();
        let (streamed, passed_on) = ask(wire, Reply::Drip(bytes, 11, Duration::from_millis(1)), &ample());
        let mut streamed = streamed.unwrap();
        let peer = Peer::start([reply(200, "", &whole(wire, " a.rs: höh\n\nb.rs: x\n").to_string())]);
        let complete = client(wire, &peer.url()).complete(&request("q"), &ample()).unwrap();
        streamed.elapsed = complete.elapsed;
        assert_eq!(streamed, complete, "{wire:?}");
        assert_eq!((passed_on.as_str(), streamed.finish), (streamed.text.as_str(), Finish::Complete));
        assert_eq!(streamed.text, "a.rs: höh\n\nb.rs: x");
        let usage = Usage { input_tokens: 11, cached_input_tokens: 0, output_tokens: 7 };
        assert_eq!(streamed.usage, Some(usage), "{wire:?}");
    }
}

#[test]
fn text_arrives_while_the_server_is_still_writing() {
    for wire in Wire::ALL {
        let begun = lines(&beginning(wire, &["first", " second"]));
        let hanging = Reply::Hang(format!("{STREAM_HEAD}{begun}").into_bytes());
        let budget = CallBudget::until(Instant::now() + Duration::from_millis(400));
        let (outcome, text) = ask(wire, hanging, &budget);
        assert!(matches!(outcome, Err(ChatError::DeadlineExceeded { .. })), "{outcome:?}");
        assert_eq!(text, "first second", "{wire:?}");
    }
}

#[test]
fn a_stream_that_ends_without_a_reason_is_no_answer() {
    for wire in Wire::ALL {
        let begun = lines(&beginning(wire, &["half of "]));
        let announced = format!("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n{begun}").into_bytes();
        let half_an_event = format!("{begun}{}", &lines(&[reason(wire)])[..30]);
        for cut in [
            streamed(&begun),
            streamed(&half_an_event),
            streamed(&format!("{begun}data: [DONE]\n\n")),
            streamed(""),
            Reply::Raw(announced),
            Reply::Raw(
                format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfff\r\n{begun}").into_bytes(),
            ),
        ] {
            let (outcome, _) = ask(wire, cut, &ample());
            assert!(matches!(outcome, Err(ChatError::ConnectionLost { .. })), "{wire:?} {outcome:?}");
        }
    }
}

#[test]
fn a_break_after_the_reason_loses_nothing() {
    for wire in Wire::ALL {
        let text = stream_text(wire, &["all of it"]);
        let announced = format!("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n{text}").into_bytes();
        let hanging = Reply::Hang(format!("{STREAM_HEAD}{text}").into_bytes());
        for broken in [Reply::Raw(announced), hanging] {
            let budget = CallBudget::until(Instant::now() + Duration::from_millis(500));
            let (outcome, passed_on) = ask(wire, broken, &budget);
            assert_eq!((outcome.unwrap().text.as_str(), passed_on.as_str()), ("all of it", "all of it"));
        }
    }
}

#[test]
fn error_in_a_stream_ends_the_call() {
    for (wire, end) in [(Wire::OpenAiChat, "[DONE]"), (Wire::Anthropic, r#"{"type":"message_stop"}"#)] {
        let text = format!("{STREAM_HEAD}{}data: {end}\n\n", stream_text(wire, &["x"]));
        let started = Instant::now();
        let (outcome, _) = ask(wire, Reply::Hang(text.into_bytes()), &ample());
        assert_eq!(outcome.unwrap().text, "x");
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn errors_in_a_stream_are_those_of_statuses() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
    let unavailable = json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}});
    let broken = json!({"error": {"code": 500, "message": "does not match the expected peg-native format"}});
    let limited = json!({"error": {"code": "rate_limit_exceeded", "message": "slow down"}});
    for (wire, error, status) in [
        (Wire::Anthropic, &overloaded, Some(529)),
        (Wire::Gemini, &unavailable, Some(503)),
        (Wire::Gemini, &json!([unavailable]), Some(503)),
        (Wire::OpenAiChat, &broken, Some(500)),
        (Wire::OpenAiChat, &limited, None),
    ] {
        for before in [Vec::new(), beginning(wire, &["half of "])] {
            let text = lines(&before) + &lines(std::slice::from_ref(error));
            let (outcome, _) = ask(wire, streamed(&text), &ample());
            match (outcome.unwrap_err(), status) {
                (ChatError::Server { status, .. }, Some(expected)) => assert_eq!(status, expected),
                (ChatError::RateLimited { .. }, None) => {}
                (other, _) => panic!("{wire:?} {error}: {other:?}"),
            }
        }
    }
}

#[test]
fn statuses_are_seen_before_a_stream() {
    for wire in Wire::ALL {
        let outcome = |status, headers| ask(wire, reply(status, headers, "{}"), &ample()).0.unwrap_err();
        assert!(matches!(outcome(401, ""), ChatError::Unauthorized { .. }));
        assert!(matches!(outcome(404, ""), ChatError::ModelUnusable { .. }));
        assert!(matches!(outcome(503, ""), ChatError::Server { .. }));
        assert!(matches!(outcome(302, "location: http://h/\r\n"), ChatError::BadAnswer { .. }));
        assert_eq!(outcome(429, "retry-after: 3\r\n").retry_after(), Some(Duration::from_secs(3)));
    }
}

#[test]
fn a_server_that_does_not_stream_is_understood() {
    for wire in Wire::ALL {
        let (outcome, text) = ask(wire, reply(200, "", &whole(wire, "all at once").to_string()), &ample());
        assert_eq!((outcome.unwrap().text.as_str(), text.as_str()), ("all at once", "all at once"));
        let (outcome, text) = ask(wire, reply(200, "", r#"{"error":{"code":429}}"#), &ample());
        assert!(matches!(outcome, Err(ChatError::RateLimited { .. })), "{outcome:?}");
        assert_eq!(text, "");
    }
}

#[test]
fn non_stream_response_is_a_bad_answer() {
    for wire in Wire::ALL {
        for body in ["<html><body>Sign in</body></html>", "data: nonsense\n\n", "hello", "data: \u{1}\n\n"] {
            let (outcome, _) = ask(wire, streamed(body), &ample());
            assert!(matches!(outcome, Err(ChatError::BadAnswer { .. })), "{wire:?} {body}: {outcome:?}");
        }
        let invalid = [STREAM_HEAD.as_bytes(), b"data: \"\xff\xfe\"\n\n"].concat();
        let (outcome, _) = ask(wire, Reply::Raw(invalid), &ample());
        assert!(matches!(outcome, Err(ChatError::BadAnswer { .. })), "{outcome:?}");
    }
}

#[test]
fn a_stream_that_never_ends_is_given_up_at_the_limits() {
    for wire in Wire::ALL {
        let line = format!("data: {}", "x".repeat(MAX_EVENT_BYTES + 10));
        let piece = "y".repeat(MAX_EVENT_BYTES / 8);
        let much = lines(&beginning(wire, &[piece.as_str(); 12]));
        for text in [line, much] {
            let (outcome, _) = ask(wire, streamed(&text), &ample());
            assert!(matches!(outcome, Err(ChatError::AnswerTooLarge { .. })), "{wire:?} {outcome:?}");
        }
    }
}

#[test]
fn reasoning_is_not_passed_on() {
    for wire in Wire::ALL {
        let text = stream_text(wire, &["<th", "ink>secret ", "plans</thi", "nk>\n", "answer"]);
        let (outcome, passed_on) = ask(wire, streamed(&text), &ample());
        assert_eq!((outcome.unwrap().text.as_str(), passed_on.as_str()), ("answer", "answer"));
        let (outcome, passed_on) =
            ask(wire, streamed(&stream_text(wire, &["<think>only thoughts"])), &ample());
        assert!(matches!(outcome, Err(ChatError::EmptyAnswer { .. })), "{outcome:?}");
        assert_eq!(passed_on, "");
    }
}

#[test]
fn refusals_and_silence_have_their_reason() {
    let refusal = json!({"choices": [{"delta": {"refusal": "no"}, "finish_reason": "stop"}]});
    let filtered = json!({"choices": [{"delta": {}, "finish_reason": "content_filter"}]});
    let refused = json!({"type": "message_delta", "delta": {"stop_reason": "refusal"}});
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let unsafe_text = json!({"candidates": [{"finishReason": "SAFETY"}]});
    for (wire, event) in [
        (Wire::OpenAiChat, refusal),
        (Wire::OpenAiChat, filtered),
        (Wire::Anthropic, refused),
        (Wire::Gemini, blocked),
        (Wire::Gemini, unsafe_text),
    ] {
        let (outcome, _) = ask(wire, streamed(&lines(&[event])), &ample());
        assert!(
            matches!(outcome, Err(ChatError::EmptyAnswer { finish: Finish::Refused, .. })),
            "{outcome:?}"
        );
    }
    for wire in Wire::ALL {
        let (outcome, _) = ask(wire, streamed(&lines(&[reason(wire)])), &ample());
        assert!(
            matches!(outcome, Err(ChatError::EmptyAnswer { finish: Finish::Complete, .. })),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_pause_ends_a_stream_before_its_deadline() {
    for wire in Wire::ALL {
        let begun = format!("{STREAM_HEAD}{}", lines(&beginning(wire, &["half"])));
        for (bytes, is_stalled) in [(begun.clone(), true), (String::new(), true)] {
            let started = Instant::now();
            let idle = Some(Duration::from_millis(200));
            let budget = CallBudget { idle, ..CallBudget::until(started + Duration::from_secs(20)) };
            let error = ask(wire, Reply::Hang(bytes.into_bytes()), &budget).0.unwrap_err();
            assert_eq!(matches!(error, ChatError::Stalled { .. }), is_stalled, "{error:?}");
            assert!(!error.is_stop() && !error.is_retryable() && started.elapsed() < Duration::from_secs(10));
        }
        // Comments show from time to time that the server is alive. There is no long pause, but the deadline
        // must still hold.
        let alive = format!("{STREAM_HEAD}{}", ": alive\n".repeat(200)).into_bytes();
        let idle = Some(Duration::from_millis(400));
        let budget = CallBudget { idle, ..CallBudget::until(Instant::now() + Duration::from_millis(1200)) };
        let (outcome, _) = ask(wire, Reply::Drip(alive, 1, Duration::from_millis(20)), &budget);
        assert!(matches!(outcome, Err(ChatError::DeadlineExceeded { .. })), "{outcome:?}");
    }
}

#[test]
fn a_whole_response_may_take_its_time() {
    let peer = Peer::start([Reply::Hang(Vec::new())]);
    let idle = Some(Duration::from_millis(50));
    let budget = CallBudget { idle, ..CallBudget::until(Instant::now() + Duration::from_millis(400)) };
    let error = client(Wire::OpenAiChat, &peer.url()).complete(&request("q"), &budget).unwrap_err();
    assert!(matches!(error, ChatError::DeadlineExceeded { .. }), "{error:?}");
}

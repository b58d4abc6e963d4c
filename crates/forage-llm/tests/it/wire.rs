//! Tests the wire protocol: our requests, and the result for every kind of response.

use std::time::Duration;

use forage_llm::limits::MAX_ANSWER_BYTES;
use forage_llm::{
    ChatError, ChatModel, Endpoint, EndpointSettings, Finish, ModelFacts, OutputLimitField, Usage, Wire,
};
use serde_json::{Value, json};

use crate::peer::{Peer, Reply, answer_body, content, good, json as reply};
use crate::{KEY, ample, ask, model, request, settings};

fn sent_body(peer: &Peer) -> Value {
    let requests = peer.requests();
    let (_, body) = requests[0].split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

#[test]
fn a_request_and_its_answer() {
    let peer = Peer::start([good("a.rs: because")]);
    let answer = ask(&peer.url()).unwrap();
    assert_eq!(answer.text, "a.rs: because");
    assert_eq!((answer.provider.as_str(), answer.model.as_str()), ("acme", "small-1"));
    assert_eq!(answer.finish, Finish::Complete);
    assert_eq!(answer.usage, Some(Usage { input_tokens: 11, cached_input_tokens: 5, output_tokens: 7 }));
    assert!(answer.elapsed > Duration::ZERO);

    let requests = peer.requests();
    let head = requests[0].split("\r\n\r\n").next().unwrap().to_ascii_lowercase();
    assert!(head.starts_with("post /v1/chat/completions http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("\r\nauthorization: bearer {KEY}")), "{head}");
    assert!(head.contains("\r\ncontent-type: application/json"), "{head}");
    assert_eq!(requests[0].matches(KEY).count(), 1, "the key is in its header only");
    assert_eq!(
        sent_body(&peer),
        json!({
            "model": "small-1",
            "messages": [
                {"role": "system", "content": "You filter search results."},
                {"role": "user", "content": "the question of this test"},
            ],
            "max_tokens": 321,
            "stream": false,
        })
    );
}

#[test]
fn facts_change_the_request_and_without_a_key_no_header_is_sent() {
    let peer = Peer::start([good("x")]);
    let facts = ModelFacts {
        output_limit_field: OutputLimitField::MaxCompletionTokens,
        accepts_temperature: true,
        ..ModelFacts::default()
    };
    let settings = EndpointSettings { facts, ..EndpointSettings::new("acme", peer.url() + "/", "small-1") };
    let model = Wire::OpenAiChat.client(Endpoint::new(settings).unwrap());
    assert_eq!(model.name(), "acme/small-1");
    model.complete(&request("q"), &ample()).unwrap();
    let body = sent_body(&peer);
    assert_eq!(body["max_completion_tokens"], 321);
    assert_eq!(body["temperature"], 0);
    assert!(body.get("max_tokens").is_none());
    assert!(!peer.requests()[0].to_ascii_lowercase().contains("authorization"));
}

#[test]
fn localhost_needs_no_look_up() {
    let peer = Peer::start([good("x")]);
    assert!(ask(&peer.url().replace("127.0.0.1", "localhost")).is_ok());
}

#[test]
fn a_large_request_arrives_whole() {
    let peer = Peer::start([good("x")]);
    let text = "a line of code, neither short nor long\n".repeat(30_000);
    model(&peer.url()).complete(&request(&text), &ample()).unwrap();
    assert_eq!(sent_body(&peer)["messages"][1]["content"], text);
}

#[test]
fn the_forms_in_which_answers_come() {
    for (form, text) in [
        (r#""<think>\nhm\n</think>\n\na.rs: x""#, "a.rs: x"),
        (
            r#"[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a.rs: "},{"type":"text","text":"x"}]"#,
            "a.rs: x",
        ),
        (r#""  a.rs: x\n""#, "a.rs: x"),
    ] {
        let peer = Peer::start([content(form)]);
        assert_eq!(ask(&peer.url()).unwrap().text, text, "{form}");
    }
    for (rest, finish) in [
        (r#""finish_reason":"length"}],"usage":{}"#, Finish::Length),
        (r#""finish_reason":""}],"usage":null"#, Finish::Other),
        (r#""finish_reason":"strange"}]"#, Finish::Other),
        (r#""logprobs":null}],"error":null"#, Finish::Other),
    ] {
        let peer =
            Peer::start([reply(200, "", &format!(r#"{{"choices":[{{"message":{{"content":"x"}},{rest}}}"#))]);
        let answer = ask(&peer.url()).unwrap();
        assert_eq!((answer.finish, answer.usage), (finish, None), "{rest}");
    }
}

#[test]
fn an_answer_without_text_is_an_error() {
    for (message, finish, expected) in [
        (r#"{"content":null,"reasoning_content":"hm"}"#, "length", Finish::Length),
        (r#"{"content":""}"#, "stop", Finish::Complete),
        (r#"{"content":"<think>hm</think>"}"#, "stop", Finish::Complete),
        (r#"{"content":"<think>never ends"}"#, "length", Finish::Length),
        (r#"{"refusal":"no"}"#, "content_filter", Finish::Refused),
    ] {
        let body = format!(r#"{{"choices":[{{"message":{message},"finish_reason":"{finish}"}}]}}"#);
        let peer = Peer::start([reply(200, "", &body)]);
        let error = ask(&peer.url()).unwrap_err();
        assert_eq!(
            error,
            ChatError::EmptyAnswer {
                model: "acme/small-1".to_owned(),
                finish: expected,
                usage: None,
                cost_usd: None
            },
            "{body}"
        );
    }
}

#[test]
fn bodies_come_chunked_in_pieces_and_until_the_connection_ends() {
    let body = answer_body("\"a.rs: höh\"");
    let (first, second) = body.as_bytes().split_at(60);
    let mut chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for chunk in [first, second, b""] {
        chunked.extend(format!("{:x}\r\n", chunk.len()).bytes());
        chunked.extend(chunk);
        chunked.extend(b"\r\n");
    }
    let unbounded = [b"HTTP/1.1 200 OK\r\n\r\n", body.as_bytes()].concat();
    for reply in [
        Reply::Raw(chunked.clone()),
        Reply::Raw(unbounded),
        // Each piece takes longer than one wait of the client.
        Reply::Drip(chunked, 40, Duration::from_millis(50)),
    ] {
        let peer = Peer::start([reply]);
        assert_eq!(ask(&peer.url()).unwrap().text, "a.rs: höh");
    }
}

#[test]
fn a_huge_answer_is_given_up_at_the_limit() {
    let huge = answer_body(&format!("\"{}\"", "x".repeat(10 * 1024 * 1024)));
    let unannounced = [b"HTTP/1.1 200 OK\r\n\r\n", huge.as_bytes()].concat();
    for reply in [reply(200, "", &huge), Reply::Raw(unannounced)] {
        let peer = Peer::start([reply]);
        assert_eq!(
            ask(&peer.url()).unwrap_err(),
            ChatError::AnswerTooLarge { model: "acme/small-1".to_owned(), limit: MAX_ANSWER_BYTES }
        );
    }
}

#[test]
fn malformed_response_is_a_bad_answer() {
    for reply in [
        reply(200, "", "{\"choices\": [{"),
        reply(200, "", "{}"),
        reply(200, "", "[]"),
        reply(200, "", "{\"choices\": []}"),
        Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello".to_vec()),
        Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n\xff\xfe\xfd".to_vec()),
        Reply::Raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n".to_vec()),
    ] {
        let peer = Peer::start([reply]);
        let error = ask(&peer.url()).unwrap_err();
        assert!(matches!(error, ChatError::BadAnswer { .. }), "{error:?}");
    }
}

#[test]
fn statuses_become_errors() {
    let name = || "acme/small-1".to_owned();
    for (status, headers, expected) in [
        (401, "", ChatError::Unauthorized { model: name(), status: 401 }),
        (403, "", ChatError::Unauthorized { model: name(), status: 403 }),
        (429, "", ChatError::RateLimited { model: name(), retry_after: None }),
        (
            429,
            "retry-after: 7\r\n",
            ChatError::RateLimited { model: name(), retry_after: Some(Duration::from_secs(7)) },
        ),
        (500, "", ChatError::Server { model: name(), status: 500, retry_after: None }),
        (529, "", ChatError::Server { model: name(), status: 529, retry_after: None }),
        (
            404,
            "",
            ChatError::ModelUnusable { model: name(), status: 404, message: "no such model".to_owned() },
        ),
    ] {
        let peer = Peer::start([reply(status, headers, r#"{"error":{"message":"no such model"}}"#)]);
        assert_eq!(ask(&peer.url()).unwrap_err(), expected);
    }
    // Gateways report the status of the upstream server inside a successful response.
    let peer = Peer::start([reply(200, "", r#"{"error":{"code":429,"message":"slow down"}}"#)]);
    assert_eq!(ask(&peer.url()).unwrap_err(), ChatError::RateLimited { model: name(), retry_after: None });
}

#[test]
fn a_cut_connection_is_a_lost_one() {
    let whole = format!("HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{}", answer_body("\"x\""));
    for bytes in [
        whole.as_bytes(),
        b"HTTP/1.1 200 OK\r\ncont",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nabc",
        b"",
    ] {
        let peer = Peer::start([Reply::Raw(bytes.to_vec())]);
        let error = ask(&peer.url()).unwrap_err();
        assert!(matches!(error, ChatError::ConnectionLost { .. }), "{error:?}");
        assert!(error.is_retryable());
    }
}

#[test]
fn connection_refused_is_unreachable() {
    // This socket is bound, so that no other process gets the port, but it never listens.
    let held = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    held.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = held.local_addr().unwrap().as_socket().unwrap();
    let error = ask(&format!("http://{address}")).unwrap_err();
    assert!(matches!(error, ChatError::Unreachable { .. }), "{error:?}");
    // If a server does not speak TLS, we must not send the request, which contains the key.
    let peer = Peer::start([Reply::Blurt(b"HTTP/1.1 400 Bad Request\r\n\r\n")]);
    let error = ask(&peer.url().replace("http:", "https:")).unwrap_err();
    assert!(matches!(error, ChatError::Unreachable { .. }), "{error:?}");
    let requests = peer.into_requests();
    assert!(matches!(&requests[..], [hello] if !hello.contains(KEY) && !hello.contains("POST")));
}

#[test]
fn settings_reach_the_endpoint() {
    let endpoint = Endpoint::new(settings("https://h/v1/")).unwrap();
    assert_eq!((endpoint.base_url(), endpoint.name().as_str()), ("https://h/v1", "acme/small-1"));
}

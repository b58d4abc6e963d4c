//! Tests data that must never leave: secrets in the text, the key to another host, and either of them in an
//! error.

use forage_llm::{ChatError, ChatModel, ChatRequest};
use forage_redact::{Redacted, Redactor};

use crate::peer::{Peer, good, json};
use crate::{KEY, ample, ask, check_error, model};

/// We assemble these at run time, so that scanners of source code do not report them as live secrets.
fn planted() -> [String; 3] {
    ["AKIA", "ghp_16C7e42F292c6912", "x8Kz2mQ9vR4t"]
        .into_iter()
        .zip(["IOSFODNN7EXAMPLE", "E7710c838347Ae178B4a", "B7nW1pLsY5c"])
        .map(|(head, tail)| format!("{head}{tail}"))
        .collect::<Vec<_>>()
        .try_into()
        .unwrap()
}

fn evidence() -> String {
    let [id, token, password] = planted();
    format!("src/a.py\n  1: AWS = '{id}'\r\n  2: git('{token}')\r\n  3: password = \"{password}\"\r\n")
}

fn send(redactor: Redactor) -> String {
    let peer = Peer::start([good("x")]);
    let request = ChatRequest::question(Redacted::trusted("s"), redactor.redact(&evidence()), 9);
    model(&peer.url()).complete(&request, &ample()).unwrap();
    peer.requests().concat()
}

#[test]
fn planted_secrets_do_not_reach_the_server() {
    let sent = send(Redactor::standard());
    for secret in planted() {
        assert!(!sent.contains(&secret), "{sent}");
    }
    assert!(sent.contains("[redacted:aws-access-key-id]"), "{sent}");
}

#[test]
fn without_redaction_they_do() {
    let sent = send(Redactor::off());
    for secret in planted() {
        assert!(sent.contains(&secret), "{sent}");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let other = Peer::start([good("stolen")]);
        let peer =
            Peer::start([json(status, &format!("location: {}/chat/completions\r\n", other.url()), "")]);
        let error = ask(&peer.url()).unwrap_err();
        assert!(matches!(error, ChatError::BadAnswer { .. }), "{error:?}");
        assert!(error.to_string().contains("redirect"), "{error}");
        assert!(other.requests().is_empty());
    }
}

#[test]
fn errors_never_quote_the_request_or_the_key() {
    for body in [
        format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#),
        r#"{"error":{"message":"cannot parse: the question of this test"}}"#.to_owned(),
        format!("<html>Authorization: Bearer {KEY}</html>"),
        "x".repeat(100_000),
    ] {
        let peer = Peer::start([json(400, "", &body)]);
        let error = ask(&peer.url()).unwrap_err();
        check_error(&error);
        assert!(matches!(error, ChatError::BadRequest { status: 400, .. }), "{error:?}");
        assert!(error.to_string().chars().count() < 450, "{error}");
    }
}

#[test]
fn debug_output_of_a_client_hides_the_key() {
    let shown = format!("{:?}", model("https://api.example.com"));
    assert!(shown.contains("***") && !shown.contains(KEY), "{shown}");
}

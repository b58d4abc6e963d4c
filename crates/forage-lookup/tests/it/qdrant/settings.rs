//! Tests settings that are rejected before anything is sent, and values that are never shown.

use std::io::ErrorKind;
use std::net::TcpListener;

use forage_lookup::KeyError;

use super::*;

fn refusal(settings: ServerSettings) -> String {
    match ServerStore::connect(settings) {
        Ok(_) => "accepted".to_owned(),
        Err(StoreError::Invalid(message)) => message,
        Err(other) => panic!("{other:?}"),
    }
}

fn with_key(url: &str) -> ServerSettings {
    ServerSettings { api_key: Some(key()), ..ServerSettings::new(url, "code") }
}

#[test]
fn a_key_goes_to_another_machine_only_under_tls() {
    for url in [
        "http://qdrant.example.org:6333",
        "http://10.0.0.7",
        "http://[2001:db8::1]:6333",
        "http://128.0.0.1",
        "http://localhost.example.org",
        // These names could be made to point elsewhere.
        "http://localhost.",
        "http://qdrant.localhost",
        "http://127.0.0.1.example.org",
        "http://0.0.0.0:6333",
    ] {
        let text = refusal(with_key(url));
        assert!(
            text.contains("in plain text") && text.contains("https://") && text.contains("allow_plain_key"),
            "{text}"
        );
        assert!(text.contains(url) && !text.contains(KEY), "{text}");
        assert_eq!(refusal(ServerSettings { allow_plain_key: true, ..with_key(url) }), "accepted");
        assert_eq!(refusal(ServerSettings { api_key: None, ..with_key(url) }), "accepted");
        assert_eq!(refusal(with_key(&url.replace("http:", "https:"))), "accepted");
    }
}

#[test]
fn a_key_goes_to_this_machine_as_it_is() {
    for url in [
        "http://127.0.0.1:6333",
        "http://127.8.9.1",
        "http://localhost:6333",
        "http://LOCALHOST",
        "http://[::1]:6333",
        "http://[::ffff:127.0.0.1]:6333",
    ] {
        assert_eq!(refusal(with_key(url)), "accepted", "{url}");
    }
}

#[test]
fn an_address_that_is_none_is_refused_and_not_repeated() {
    for (url, why) in [
        ("", "is not a URL"),
        ("http://", "is not a URL"),
        ("http://a b", "is not a URL"),
        ("localhost:6333", "has neither http:// nor https://"),
        ("/tmp/qdrant.sock", "has neither http:// nor https://"),
        ("grpc://localhost:6333", "has neither http:// nor https://"),
        ("http://secret:word@localhost:6333", "has a user name or password, which Qdrant does not support"),
        ("http://localhost:6333/?api-key=secret", "has a path or a query, which is not supported"),
        ("http://localhost:6333/secret", "has a path or a query, which is not supported"),
        ("http://localhost:66333", "has an invalid port"),
    ] {
        let expected =
            format!("the address of the Qdrant server {why}: write http://host:6333 or https://host:6333");
        assert_eq!(refusal(ServerSettings::new(url, "code")), expected, "{url}");
    }
    assert_eq!(refusal(ServerSettings::new("http://localhost", "")), "the collection name is empty");
}

#[test]
fn an_address_without_a_port_has_that_of_rest() {
    for (url, shown) in [
        ("http://localhost", "http://localhost:6333"),
        (" http://localhost/ ", "http://localhost:6333"),
        ("http://localhost:80", "http://localhost:80"),
        ("https://[::1]", "https://[::1]:6333"),
        ("HTTPS://q.example.org:443", "https://q.example.org:443"),
    ] {
        let store = ServerStore::connect(ServerSettings::new(url, "code")).unwrap();
        assert_eq!(store.place(), format!("collection `code` at {shown}"));
    }
}

#[test]
fn a_place_steers_no_terminal() {
    let store = ServerStore::connect(ServerSettings::new("http://localhost", "a\u{1b}[2J\nb")).unwrap();
    assert_eq!(store.place(), "collection `a\\u{1b}[2J\\nb` at http://localhost:6333");
}

#[test]
fn a_key_is_trimmed_and_never_shown() {
    let padded = ApiKey::new(&format!(" {KEY}\r\n")).unwrap();
    assert_eq!(padded, key());
    assert_eq!(format!("{padded} {padded:?}"), "*** ***");
    let settings = format!("{:?}", with_key("http://localhost"));
    assert!(settings.contains("api_key: Some(***)") && !settings.contains(KEY), "{settings}");
    assert_eq!(ApiKey::new(" \n"), Err(KeyError::Empty));
    let error = ApiKey::new("abc\r\nX-Evil: 1").unwrap_err();
    assert!(error == KeyError::Unprintable && !error.to_string().contains("Evil"));
}

#[test]
fn a_store_connects_to_nothing_before_the_first_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let store = ServerStore::connect(settings(&url)).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    let within = Stop::never().within(Duration::from_millis(300));
    assert_eq!(ask(&store, &within).unwrap_err().kind(), "timeout");
    assert!(listener.accept().is_ok(), "the control: a request does connect");
}

//! Tests how we report errors of a server and a missing server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use super::*;

/// Returns the error of a query to which the server gives this reply.
fn refused(reply: &Reply) -> StoreError {
    let peer = Scripted::start();
    let reply = reply.clone();
    peer.on("POST /points/query", move |_| reply.clone());
    ask(&store(&peer), &Stop::never()).unwrap_err()
}

/// Returns the message of an error without the place with which it begins.
fn said(error: &StoreError) -> String {
    let text = error.to_string();
    let rest = text.strip_prefix("collection `code` at http://127.0.0.1:").unwrap();
    rest.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned()
}

#[test]
fn every_refusal_has_its_kind_and_keeps_what_the_server_says() {
    let table = [
        (
            403,
            "Forbidden: Global access is required",
            "unauthorized",
            ": the API key does not allow this; use one that may read or write the collection",
        ),
        (404, "Not found: Collection `code` doesn't exist!", "no_collection", " does not exist"),
        (409, "Wrong input: Collection `code` already exists!", "exists", " already exists"),
        (400, "Wrong input: Collection `code` already exists!", "exists", " already exists"),
        (
            400,
            "Wrong input: Not existing vector name error: x",
            "invalid",
            ": it has no sparse vector of that name",
        ),
        (422, "Validation error: must be unique", "invalid", ""),
        (400, "Format error in JSON body", "invalid", ""),
        (405, "Qdrant is running in standalone mode", "invalid", ""),
        (408, "Timeout error", "timeout", ": the server timed out"),
        (429, "Rate limiting exceeded", "rate_limited", ": too many requests"),
        (500, "Service internal error", "unavailable", ": the server failed"),
        (503, "1 of 2 shards failed", "unavailable", ": the server failed"),
        (507, "No space left", "unavailable", ": the server is out of disk or memory"),
    ];
    for (status, message, kind, says) in table {
        let error = refused(&Reply::error(status, message));
        assert_eq!((error.kind(), said(&error)), (kind, format!("{says}: {message}")), "{status}");
        assert_eq!(error.is_transient(), matches!(kind, "unavailable" | "rate_limited"), "{error}");
    }
}

#[test]
fn proxy_errors_are_distinguished_from_server_errors() {
    for (status, kind, says) in [
        (
            302,
            "invalid",
            ": the server redirects, and redirects are not followed; use the target address (nginx says so)",
        ),
        (401, "unauthorized", ": the server requires an API key, and none is set: nginx says so"),
        (403, "unauthorized", ": the server requires an API key, and none is set: nginx says so"),
        (
            404,
            "invalid",
            ": the server does not know this request; check that this is the address of Qdrant's REST API, and the \
             server's version: nginx says so",
        ),
        (502, "unavailable", ": the server failed: nginx says so"),
        (504, "timeout", ": the server timed out: nginx says so"),
    ] {
        let error = refused(&Reply::Text { status, text: "nginx says so".to_owned() });
        assert_eq!((error.kind(), said(&error).as_str()), (kind, says), "{status}");
    }
    for body in ["{", "[]", "{\"result\":5}", "<html>"] {
        let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let error = refused(&Reply::Bytes(text.into_bytes()));
        assert_eq!(error.kind(), "invalid");
        assert!(error.to_string().contains("unexpected answer (line "), "{error}");
    }
}

#[test]
fn no_redirect_is_followed() {
    let other = Scripted::start();
    other.on("POST /points/query", |_| no_hits());
    for status in [301, 302, 307, 308] {
        let location = vec![("location", format!("{}/collections/code/points/query", other.url()))];
        let reply = Reply::Json { status, headers: location, body: Value::Null };
        assert_eq!(refused(&reply).kind(), "invalid", "{status}");
    }
    assert_eq!(other.total(), 0);
}

#[test]
fn a_rate_limit_says_how_long_to_wait_if_the_server_does() {
    let limited = |headers: &[(&'static str, &str)]| Reply::Json {
        status: 429,
        headers: headers.iter().map(|&(name, value)| (name, value.to_owned())).collect(),
        body: json!({"status": {"error": "Rate limiting exceeded"}}),
    };
    let table = [
        (limited(&[]), None),
        (limited(&[("retry-after", "7")]), Some(Duration::from_secs(7))),
        (limited(&[("retry-after", "0")]), Some(Duration::ZERO)),
        (limited(&[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")]), None),
        (limited(&[("retry-after", "-3")]), None),
    ];
    for (reply, expected) in table {
        match refused(&reply) {
            StoreError::RateLimited { retry_after, .. } => assert_eq!(retry_after, expected, "{reply:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_refusal_is_not_asked_again() {
    for status in [429, 404, 400, 401, 500, 503] {
        let peer = Scripted::start();
        peer.on("POST /points/query", move |_| Reply::error(status, "no"));
        ask(&store(&peer), &Stop::never()).unwrap_err();
        assert_eq!(peer.total(), 1, "{status}");
    }
}

#[test]
fn no_collection_is_an_answer_to_whoever_asks_for_it() {
    let peer = Scripted::start();
    let gone = || Reply::error(404, "Not found: Collection `code` doesn't exist!");
    peer.on("GET ", move |_| gone());
    peer.on("DELETE ", move |_| gone());
    let store = store(&peer);
    assert_eq!(store.collection(&Stop::never()), Ok(None));
    assert_eq!(store.drop_collection(&Stop::never()), Ok(false));
}

#[test]
fn a_collection_that_is_there_is_not_made_again() {
    let peer = Scripted::start();
    peer.on("PUT ", |_| Reply::error(409, "already exists"));
    let error = store(&peer).create(&creation(Sharding::default()), &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "exists");
    assert_eq!(peer.total(), 1, "no index is made in a collection that is not ours");
}

#[test]
fn a_key_is_sent_and_a_wrong_or_missing_one_refused() {
    let peer = Scripted::start();
    peer.on("POST /points/query", |asked| match asked.header("api-key") {
        Some(KEY) => no_hits(),
        // This server repeats the given key.
        Some(given) => Reply::Text { status: 401, text: format!("Invalid API key or JWT: {given}") },
        None => Reply::Text { status: 401, text: "Must provide an API key".to_owned() },
    });
    let with_key = |key: Option<&str>| {
        let api_key = key.map(|key| ApiKey::new(key).unwrap());
        ServerStore::connect(ServerSettings { api_key, ..settings(&peer.url()) }).unwrap()
    };
    assert_eq!(ask(&with_key(Some(KEY)), &Stop::never()), Ok(0));
    let wrong = ask(&with_key(Some("wrong-4711")), &Stop::never()).unwrap_err();
    let missing = ask(&with_key(None), &Stop::never()).unwrap_err();
    assert_eq!((wrong.kind(), missing.kind()), ("unauthorized", "unauthorized"));
    assert_eq!(
        said(&wrong),
        ": the server rejected the API key; check that it belongs to this server: Invalid API key or JWT: ***"
    );
    let required = ": the server requires an API key, and none is set: Must provide an API key";
    assert_eq!(said(&missing), required);
}

#[test]
fn a_key_that_a_server_repeats_is_in_no_message() {
    for status in [200, 302, 400, 401, 403, 404, 405, 408, 409, 422, 429, 500, 503, 507] {
        let text = format!("{KEY} is no key, {KEY}! {}", "x".repeat(400));
        for reply in [Reply::error(status, &text), Reply::Text { status, text: text.clone() }] {
            let peer = Scripted::start();
            peer.on("POST /points/query", move |_| reply.clone());
            let settings = ServerSettings { api_key: Some(key()), ..settings(&peer.url()) };
            let error = ask(&ServerStore::connect(settings).unwrap(), &Stop::never()).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(!text.contains(KEY), "{text}");
            assert!(status == 200 || text.contains("*** is no key, ***!"), "{text}");
        }
    }
}

#[test]
fn a_hostile_message_is_cut_and_steers_no_terminal() {
    let hostile =
        format!("\u{1b}[2J\u{1b}]0;owned\u{7}\r\nerror: all is well\u{202e}\u{200b}{}", "y".repeat(10_000));
    for status in [400, 500, 429, 404] {
        let text = refused(&Reply::error(status, &hostile)).to_string();
        assert!(
            text.contains("\\u{1b}[2J") && text.contains("\\r\\nerror: all is well\\u{202e}\\u{200b}yyy"),
            "{text}"
        );
        assert!(
            !text.contains(|character: char| character.is_control() || character == '\u{202e}'),
            "{text:?}"
        );
        assert!(text.ends_with('…') && text.len() < 700, "{} {text}", text.len());
    }
}

#[test]
fn an_answer_without_a_usable_id_is_an_error() {
    for id in [Value::Null, json!("no-uuid"), json!("12"), json!(-1), json!(1.5)] {
        let peer = Scripted::start();
        peer.on("POST /points/query", move |_| hits(&[json!({"id": id, "score": 1.0})]));
        let error = ask(&store(&peer), &Stop::never()).unwrap_err();
        assert!(error.to_string().contains("without a usable id"), "{error}");
    }
}

/// Returns an address that no server listens on. It was ours a moment ago.
fn nowhere() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn unreachable(url: &str) -> String {
    let error = ask(&ServerStore::connect(settings(url)).unwrap(), &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "unavailable", "{error}");
    error.to_string()
}

#[test]
fn connection_refused_error_names_the_address() {
    let address = nowhere();
    let text = unreachable(&format!("http://{address}"));
    let expected = format!(
        "can't reach Qdrant at http://{address}: nothing is listening there; check that Qdrant is running \
         and that the port is that of its REST API"
    );
    assert_eq!(text, expected);
}

#[test]
fn invalid_name_is_distinguished_from_a_down_server() {
    let text = unreachable("http://no-such-host.invalid:6333");
    assert_eq!(
        text,
        "can't reach Qdrant at http://no-such-host.invalid:6333: the host name can't be resolved; check the \
         address and the network"
    );
}

#[test]
fn tls_to_a_plain_server_is_reported() {
    let refusal = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let text = unreachable(&format!("https://{}", answering("127.0.0.1:0", refusal).unwrap()));
    assert!(text.contains("does not speak TLS as expected") && text.contains("check the port"), "{text}");
}

/// Starts a server that answers every connection with these bytes.
fn answering(address: &str, bytes: &'static [u8]) -> Option<String> {
    let listener = TcpListener::bind(address).ok()?;
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = |mut stream: TcpStream| {
                let mut received = [0; 1024];
                let _ = stream.read(&mut received)?;
                stream.write_all(bytes)
            };
            // A client that disconnects should not fail the test.
            let _ = stream.and_then(answer);
        }
    });
    Some(address)
}

#[test]
fn port_of_another_protocol_is_reported() {
    for bytes in [&b"SSH-2.0-OpenSSH_9.2p1\r\n"[..], b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"] {
        let text = unreachable(&format!("http://{}", answering("127.0.0.1:0", bytes).unwrap()));
        assert!(text.contains("that of its REST API"), "{text}");
    }
}

/// The frame with which an HTTP/2 server, e.g. for gRPC, closes a connection that it does not understand.
#[cfg(target_os = "linux")]
const GO_AWAY: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01";

/// This test needs a specific port number. To be alone on it, we use a loopback address of our own, which
/// only Linux has.
#[cfg(target_os = "linux")]
#[test]
fn the_port_of_grpc_leads_to_that_of_rest() {
    let [.., a, b, c] = std::process::id().to_be_bytes();
    let address = format!("127.{}.{b}.{c}:6334", 64 + a % 64);
    let Some(address) = answering(&address, GO_AWAY) else { panic!("the port is taken") };
    let store = ServerStore::connect(settings(&format!("http://{address}"))).unwrap();
    let error = ask(&store, &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "invalid", "asking again is of no use: {error}");
    assert_eq!(
        error.to_string(),
        format!(
            "collection `code` at http://{address}: 6334 is Qdrant's gRPC port, which does not answer over HTTP; use \
             the port of its REST API, 6333"
        )
    );
}

#[test]
fn a_server_that_comes_back_is_found_again() {
    let peer = Scripted::start();
    peer.on("POST /points/query", |_| no_hits());
    let store = store(&peer);
    assert_eq!(ask(&store, &Stop::never()), Ok(0));
    let address = peer.address();
    drop(peer);
    let error = ask(&store, &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "unavailable", "{error}");
    let peer = Scripted::at(&address);
    peer.on("POST /points/query", |_| no_hits());
    assert_eq!(ask(&store, &Stop::never()), Ok(0));
}

#[test]
fn connections_are_reused_and_replaced_when_closed() {
    let peer = Scripted::start();
    peer.on("POST /points/query", |_| no_hits());
    let store = store(&peer);
    let connections = || peer.server.connections.load(std::sync::atomic::Ordering::SeqCst);
    for _ in 0..5 {
        assert_eq!(ask(&store, &Stop::never()), Ok(0));
    }
    assert_eq!(connections(), 1);
    peer.server.close_connections();
    assert_eq!(ask(&store, &Stop::never()), Ok(0));
    assert_eq!(connections(), 2);
    // This server closes the connection at the second request.
    let count = std::sync::atomic::AtomicUsize::new(0);
    peer.on("POST /points/query", move |_| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Reply::Bytes(Vec::new()),
        _ => no_hits(),
    });
    assert_eq!(ask(&store, &Stop::never()), Ok(0));
    assert_eq!(connections(), 3);
}

/// No connection is attempted, so there is none to retry.
#[test]
fn a_request_that_can_not_be_sent_is_tried_once() {
    let peer = Scripted::start();
    let settings = ServerSettings::new(&peer.url(), &"x".repeat(70_000));
    let error = ServerStore::connect(settings).unwrap().collection(&Stop::never()).unwrap_err();
    assert!(error.kind() == "invalid" && error.to_string().contains("can't be sent"), "{error}");
    assert_eq!(peer.total(), 0);
}

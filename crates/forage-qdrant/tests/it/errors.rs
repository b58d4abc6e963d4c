//! What a server, or the lack of one, becomes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use qdrant::{CreateCollection, DeleteCollection, GetCollectionInfoRequest, QueryPoints};
use tonic::{Code, Status};

use super::*;

/// What a query says of a server that refuses it so.
fn refused(status: &Status) -> StoreError {
    let peer = Peer::start();
    let status = status.clone();
    peer.on(move |_: &QueryPoints| Reply::<qdrant::QueryResponse>::Refuse(status.clone()));
    ask(&store(&peer), &Stop::never()).unwrap_err()
}

/// With what a server sends beside its message.
fn with(mut status: Status, name: &'static str, value: &str) -> Status {
    status.metadata_mut().insert(name, value.parse().unwrap());
    status
}

#[test]
fn every_refusal_has_its_kind_and_keeps_what_the_server_says() {
    let table = [
        (Code::Unauthenticated, "Must provide an API key", "unauthorized", "none is set"),
        (Code::PermissionDenied, "Forbidden: global access", "unauthorized", "does not allow this"),
        (Code::NotFound, "Not found: Collection `code` doesn't exist!", "no_collection", "there is none"),
        (Code::AlreadyExists, "Collection `code` already exists!", "exists", "there already"),
        (Code::InvalidArgument, "Wrong input: Collection `code` already exists!", "exists", "there already"),
        (
            Code::InvalidArgument,
            "Wrong input: Not existing vector name error: x",
            "invalid",
            "no sparse vector of that name",
        ),
        (Code::InvalidArgument, "Wrong input: must be unique", "invalid", "must be unique"),
        (Code::FailedPrecondition, "Locked", "invalid", "Locked"),
        (Code::OutOfRange, "too long", "invalid", "too long"),
        (Code::Unimplemented, "unknown service", "invalid", "version"),
        (Code::DeadlineExceeded, "Timeout error", "timeout", "lack of time"),
        (Code::ResourceExhausted, "Rate limiting exceeded", "rate_limited", "too many requests"),
        (Code::Internal, "Service internal error", "unavailable", "the server failed"),
        (Code::Unavailable, "1 of 2 shards failed", "unavailable", "the server failed"),
        (Code::Unknown, "?!", "unavailable", "the server failed"),
        (Code::DataLoss, "checksum", "unavailable", "the server failed"),
    ];
    for (code, message, kind, says) in table {
        let error = refused(&Status::new(code, message));
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{code:?}: {text}");
        assert!(text.contains(says) && text.contains(message), "{text}");
        assert!(text.starts_with("collection `code` at http://127.0.0.1:"), "{text}");
        assert_eq!(error.is_transient(), matches!(kind, "unavailable" | "rate_limited"), "{text}");
    }
}

#[test]
fn a_rate_limit_says_how_long_to_wait_if_the_server_does() {
    let limited = || Status::resource_exhausted("Rate limiting exceeded");
    let table = [
        (limited(), None),
        (with(limited(), "retry-after", "7"), Some(Duration::from_secs(7))),
        (with(limited(), "retry-after", "0"), Some(Duration::ZERO)),
        (with(limited(), "retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"), None),
        (with(limited(), "retry-after", "-3"), None),
    ];
    for (status, expected) in table {
        match refused(&status) {
            StoreError::RateLimited { retry_after, .. } => assert_eq!(retry_after, expected, "{status:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_full_disk_is_no_rate_limit() {
    let full = with(Status::resource_exhausted("No space left"), "qdrant-insufficient-storage", "1");
    for status in [full.clone(), with(full, "retry-after", "7")] {
        let error = refused(&status);
        assert_eq!(error.kind(), "unavailable");
        assert!(error.to_string().contains("out of disk"), "{error}");
    }
}

#[test]
fn a_refusal_is_not_asked_again() {
    for code in [Code::ResourceExhausted, Code::NotFound, Code::InvalidArgument, Code::Unauthenticated] {
        let peer = Peer::start();
        peer.on(move |_: &QueryPoints| Reply::<qdrant::QueryResponse>::Refuse(Status::new(code, "no")));
        ask(&store(&peer), &Stop::never()).unwrap_err();
        assert_eq!(peer.total(), 1, "{code:?}");
    }
}

/// The client's doing, which its users can't switch off: it takes the failure for one of the connection.
#[test]
fn a_server_that_failed_inside_is_asked_once_more_and_no_further() {
    let peer = Peer::start();
    peer.on(|_: &QueryPoints| {
        Reply::<qdrant::QueryResponse>::Refuse(Status::internal("Service internal error"))
    });
    ask(&store(&peer), &Stop::never()).unwrap_err();
    assert_eq!(peer.total(), 2);
}

#[test]
fn no_collection_is_an_answer_to_whoever_asks_for_it() {
    let peer = Peer::start();
    let gone = || Status::not_found("Not found: Collection `code` doesn't exist!");
    peer.on(move |_: &GetCollectionInfoRequest| Reply::<qdrant::GetCollectionInfoResponse>::Refuse(gone()));
    peer.on(move |_: &DeleteCollection| Reply::<qdrant::CollectionOperationResponse>::Refuse(gone()));
    let store = store(&peer);
    assert_eq!(store.collection(&Stop::never()), Ok(None));
    assert_eq!(store.drop_collection(&Stop::never()), Ok(false));
}

#[test]
fn a_collection_that_is_there_is_not_made_again() {
    let peer = Peer::start();
    peer.on(|_: &CreateCollection| {
        Reply::<qdrant::CollectionOperationResponse>::Refuse(Status::already_exists("already exists"))
    });
    let error = store(&peer).create(&creation(Sharding::default()), &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "exists");
    assert_eq!(peer.total(), 1, "no index is made in a collection that is not ours");
}

#[test]
fn a_key_is_sent_and_a_wrong_or_missing_one_refused() {
    let peer = Peer::with_key(Some(KEY));
    peer.on(|_: &QueryPoints| no_hits());
    let with_key = |key: Option<&str>| {
        let api_key = key.map(|key| ApiKey::new(key).unwrap());
        ServerStore::connect(ServerSettings { api_key, ..settings(&peer.url()) }).unwrap()
    };
    assert_eq!(ask(&with_key(Some(KEY)), &Stop::never()), Ok(0));
    let wrong = ask(&with_key(Some("wrong-4711")), &Stop::never()).unwrap_err();
    let missing = ask(&with_key(None), &Stop::never()).unwrap_err();
    assert_eq!((wrong.kind(), missing.kind()), ("unauthorized", "unauthorized"));
    assert!(wrong.to_string().contains("does not accept the API key"), "{wrong}");
    // The server repeats the key that it was given.
    assert!(wrong.to_string().contains("Invalid API key or JWT: ***"), "{wrong}");
    assert!(missing.to_string().contains("none is set"), "{missing}");
}

#[test]
fn a_key_that_a_server_repeats_is_in_no_message() {
    for code in 1..=16 {
        let peer = Peer::start();
        peer.on(move |_: &QueryPoints| {
            let status =
                Status::new(Code::from_i32(code), format!("{KEY} is no key, {KEY}! {}", "x".repeat(400)));
            Reply::<qdrant::QueryResponse>::Refuse(with(status, "x-key", KEY))
        });
        let settings = ServerSettings { api_key: Some(key()), ..settings(&peer.url()) };
        let error = ask(&ServerStore::connect(settings).unwrap(), &Stop::never()).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains(KEY) && text.contains("*** is no key, ***!"), "{text}");
    }
}

#[test]
fn a_hostile_message_is_cut_and_steers_no_terminal() {
    let hostile =
        format!("\u{1b}[2J\u{1b}]0;owned\u{7}\r\nerror: all is well\u{202e}\u{200b}{}", "y".repeat(10_000));
    for code in [Code::InvalidArgument, Code::Internal, Code::ResourceExhausted, Code::NotFound] {
        let text = refused(&Status::new(code, hostile.clone())).to_string();
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
    for id in [None, Some("no-uuid".into()), Some("12".into())] {
        let peer = Peer::start();
        peer.on(move |_: &QueryPoints| {
            let hit = qdrant::ScoredPoint { id: id.clone(), ..Default::default() };
            Reply::Now(qdrant::QueryResponse { result: vec![hit], ..Default::default() })
        });
        let error = ask(&store(&peer), &Stop::never()).unwrap_err();
        assert!(error.to_string().contains("without a usable id"), "{error}");
    }
}

/// An address where nothing listens: it was ours a moment ago.
fn nowhere() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn unreachable(url: &str) -> String {
    let error = ask(&ServerStore::connect(settings(url)).unwrap(), &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "unavailable", "{error}");
    error.to_string()
}

#[test]
fn where_nothing_listens_the_message_names_the_address_and_what_to_check() {
    let address = nowhere();
    let text = unreachable(&format!("http://{address}"));
    let expected = format!(
        "can't reach Qdrant at http://{address}: nothing listens there; check that Qdrant runs and that the port is its \
         port for gRPC"
    );
    assert_eq!(text, expected);
}

#[test]
fn a_name_that_is_none_is_told_from_a_server_that_is_down() {
    let text = unreachable("http://no-such-host.invalid:6334");
    assert_eq!(
        text,
        "can't reach Qdrant at http://no-such-host.invalid:6334: the name can't be resolved; check the address and the \
         network"
    );
}

#[test]
fn tls_with_a_server_that_has_none_is_told() {
    let peer = Peer::start();
    let text = unreachable(&format!("https://{}", peer.address()));
    assert!(text.contains("does not speak TLS as expected; check the port"), "{text}");
}

/// Answers every connection with these bytes.
fn answering(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = |mut stream: TcpStream| {
                let mut received = [0; 1024];
                let _ = stream.read(&mut received)?;
                stream.write_all(bytes)
            };
            // A client that leaves is no failure of the test.
            let _ = stream.and_then(answer);
        }
    });
    address
}

#[test]
fn the_port_of_another_protocol_is_told() {
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"[..],
        b"SSH-2.0-OpenSSH_9.2p1\r\n",
        b"",
    ] {
        let text = unreachable(&format!("http://{}", answering(bytes)));
        assert!(text.contains("port for gRPC"), "{text}");
    }
}

#[test]
fn a_server_that_comes_back_is_found_again() {
    let peer = Peer::start();
    peer.on(|_: &QueryPoints| no_hits());
    let store = store(&peer);
    assert_eq!(ask(&store, &Stop::never()), Ok(0));
    let address = peer.address().to_owned();
    drop(peer);
    let error = ask(&store, &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "unavailable", "{error}");
    let peer = Peer::at(&address);
    peer.on(|_: &QueryPoints| no_hits());
    assert_eq!(ask(&store, &Stop::never()), Ok(0));
}

//! Tests how calls end: by the deadline, by the request timeout, or by a cancellation.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::*;

/// Far longer than it takes to end a call, and far shorter than [`LONG`].
const SOON: Duration = Duration::from_secs(10);

fn patient(url: &str) -> ServerStore {
    let settings =
        ServerSettings { request_timeout: LONG, connect_timeout: LONG, ..ServerSettings::new(url, "code") };
    ServerStore::connect(settings).unwrap()
}

fn hasty(url: &str) -> ServerStore {
    let settings =
        ServerSettings { request_timeout: Duration::from_millis(200), ..ServerSettings::new(url, "code") };
    ServerStore::connect(settings).unwrap()
}

fn silent_peer() -> Scripted {
    let peer = Scripted::start();
    peer.on("POST /points/query", |_| Reply::Never(None));
    peer.on("PUT /points", |_| Reply::Never(None));
    peer
}

/// Creates a socket that accepts connections but sends nothing.
fn deaf() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

#[test]
fn a_server_that_never_answers_ends_by_the_deadline_of_the_call() {
    let peer = silent_peer();
    let store = patient(&peer.url());
    let begun = Instant::now();
    let error = ask(&store, &Stop::after(Duration::from_millis(300))).unwrap_err();
    assert_eq!(error.kind(), "timeout");
    assert!(error.to_string().contains("no answer within 0.3 s; allow more time"), "{error}");
    assert!(begun.elapsed() >= Duration::from_millis(300) && begun.elapsed() < SOON, "{:?}", begun.elapsed());
    peer.wait_until_abandoned();
}

#[test]
fn a_server_that_never_answers_ends_by_the_time_for_a_request() {
    let peer = silent_peer();
    let store = hasty(&peer.url());
    let begun = Instant::now();
    let points = vec![point(PointId::Number(1), json!({}))];
    assert_eq!(store.upsert(points, "v", &Stop::after(LONG)).unwrap_err().kind(), "timeout");
    assert!(begun.elapsed() < SOON);
    assert_eq!(peer.total(), 1, "it is not asked again");
}

#[test]
fn silent_socket_ends_by_the_request_timeout() {
    let (_listener, address) = deaf();
    for scheme in ["http", "https"] {
        let begun = Instant::now();
        assert_eq!(
            ask(&hasty(&format!("{scheme}://{address}")), &Stop::never()).unwrap_err().kind(),
            "timeout"
        );
        assert!(begun.elapsed() < SOON);
    }
}

/// A socket whose queue is full. A client gets no reply at all, as from a firewall that drops packets.
#[cfg(target_os = "linux")]
#[test]
fn unreachable_address_ends_by_the_connect_timeout() {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap().into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(300));
    let queued: Vec<_> = std::iter::from_fn(|| connect().ok()).take(50).collect();
    assert!(queued.len() < 50, "the control: the queue is full");

    let url = format!("http://{address}");
    let settings = ServerSettings {
        request_timeout: LONG,
        connect_timeout: Duration::from_millis(200),
        ..ServerSettings::new(&url, "code")
    };
    let begun = Instant::now();
    let error = ask(&ServerStore::connect(settings).unwrap(), &Stop::never()).unwrap_err();
    let expected = format!(
        "can't reach Qdrant at {url}: no connection within 0.2 s; check the address, the network and firewalls"
    );
    assert_eq!(error, StoreError::Unavailable(expected));
    assert!(begun.elapsed() < SOON);
}

/// The answer arrives one byte at a time, but neither the head nor the body is ever complete.
#[test]
fn partial_response_ends_by_the_deadline() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 90000\r\n\r\n";
    let pause = Duration::from_millis(30);
    for is_head in [true, false] {
        let peer = Scripted::start();
        peer.on("POST /points/query", move |_| match is_head {
            true => Reply::Drip(Vec::new(), head.repeat(50).into_bytes(), pause),
            false => Reply::Drip(head.as_bytes().to_vec(), vec![b' '; 80_000], pause),
        });
        let begun = Instant::now();
        let error = ask(&patient(&peer.url()), &Stop::after(Duration::from_millis(300))).unwrap_err();
        assert_eq!(error.kind(), "timeout", "{error}");
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
}

#[test]
fn expired_call_is_not_sent() {
    let peer = Scripted::start();
    let store = store(&peer);
    let cancelled = Stop::never();
    cancelled.cancel();
    assert_eq!(ask(&store, &cancelled), Err(StoreError::Cancelled));
    assert_eq!(ask(&store, &Stop::after(Duration::ZERO)).unwrap_err().kind(), "timeout");
    assert_eq!(peer.total(), 0);
}

#[test]
fn a_cancellation_ends_a_call_and_is_passed_on_to_the_server() {
    let peer = silent_peer();
    let store = patient(&peer.url());
    let stop = Stop::never();
    thread::scope(|scope| {
        let call = scope.spawn(|| (ask(&store, &stop), Instant::now()));
        peer.wait_until_asked();
        let cancelled = Instant::now();
        stop.cancel();
        let (result, ended) = call.join().unwrap();
        assert_eq!(result, Err(StoreError::Cancelled));
        assert!(ended - cancelled < Duration::from_secs(2), "{:?}", ended - cancelled);
    });
    peer.wait_until_abandoned();
}

#[test]
fn a_call_is_cancelled_while_it_connects() {
    let (listener, address) = deaf();
    let store = patient(&format!("https://{address}"));
    let stop = Stop::never();
    thread::scope(|scope| {
        let call = scope.spawn(|| ask(&store, &stop));
        let _connection = listener.accept().unwrap();
        stop.cancel();
        assert_eq!(call.join().unwrap(), Err(StoreError::Cancelled));
    });
}

/// Starts a proxy for a server. It accepts and ignores the first connections.
fn forgetful(to: &str, forgotten: usize) -> (String, Arc<AtomicUsize>) {
    let (listener, address) = deaf();
    let (to, count) = (to.to_owned(), Arc::new(AtomicUsize::new(0)));
    thread::spawn({
        let count = Arc::clone(&count);
        move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                if count.fetch_add(1, Ordering::SeqCst) < forgotten {
                    kept.push(stream);
                    continue;
                }
                let server = TcpStream::connect(&to).unwrap();
                let (from, back) = (stream.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || pump(from, server));
                thread::spawn(move || pump(back, stream));
            }
        }
    });
    (address, count)
}

fn pump(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[test]
fn call_after_a_timeout_reconnects() {
    let peer = Scripted::start();
    peer.on("POST /points/query", |_| no_hits());
    let (address, connections) = forgetful(&peer.address(), 1);
    let store = patient(&format!("http://{address}"));
    assert_eq!(ask(&store, &Stop::after(Duration::from_millis(300))).unwrap_err().kind(), "timeout");
    for _ in 0..3 {
        assert_eq!(ask(&store, &Stop::after(SOON)), Ok(0));
    }
    assert_eq!(connections.load(Ordering::SeqCst), 2, "and keeps that connection");
}

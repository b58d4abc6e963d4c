//! Tests the deadline and cancellation at every point at which a server may hang.

use std::thread;
use std::time::{Duration, Instant};

use forage_llm::{CallBudget, ChatError, ChatModel, ChatRequest, Wire};

use crate::peer::{Peer, Reply, good};
use crate::samples::{STREAM_HEAD, beginning, lines};
use crate::{check_error, client, given_up, model, request};

/// This is much longer than the crate guarantees, since test machines are busy, and much shorter than the
/// server's patience.
const LATE: Duration = Duration::from_secs(15);

fn hanging() -> Vec<(&'static str, Reply)> {
    vec![
        ("before headers", Reply::Hang(Vec::new())),
        ("in headers", Reply::Hang(b"HTTP/1.1 200 OK\r\ncontent-".to_vec())),
        ("in the body", Reply::Hang(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"cho".to_vec())),
        ("in an error body", Reply::Hang(b"HTTP/1.1 400 No\r\ncontent-length: 100\r\n\r\n{\"err".to_vec())),
        (
            "dripping",
            Reply::Drip(
                b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{ ".to_vec(),
                1,
                Duration::from_millis(40),
            ),
        ),
    ]
}

#[test]
fn a_hanging_server_is_left_at_the_deadline() {
    for (place, reply) in hanging() {
        let peer = Peer::start([reply]);
        let started = Instant::now();
        let budget = CallBudget::until(started + Duration::from_millis(300));
        let error = model(&peer.url()).complete(&request("q"), &budget).unwrap_err();
        let elapsed = started.elapsed();
        assert!(matches!(error, ChatError::DeadlineExceeded { .. }), "{place}: {error:?}");
        check_error(&error);
        assert!(elapsed >= Duration::from_millis(300) && elapsed < LATE, "{place}: {elapsed:?}");
    }
}

fn cancel_after(delay: Duration, url: &str, request: &ChatRequest) -> (ChatError, Duration) {
    let budget = CallBudget::until(Instant::now() + Duration::from_secs(60));
    thread::scope(|scope| {
        let canceller = scope.spawn(|| {
            thread::sleep(delay);
            budget.stop.cancel();
            Instant::now()
        });
        let error = model(url).complete(request, &budget).unwrap_err();
        let returned = Instant::now();
        (error, returned.saturating_duration_since(canceller.join().unwrap()))
    })
}

#[test]
fn a_cancelled_call_returns_at_once() {
    for (place, reply) in hanging() {
        let peer = Peer::start([reply]);
        let (error, late) = cancel_after(Duration::from_millis(150), &peer.url(), &request("q"));
        assert!(matches!(error, ChatError::Cancelled { .. }), "{place}: {error:?}");
        check_error(&error);
        assert!(late < LATE, "{place}: {late:?}");
    }
}

#[test]
fn a_request_that_nobody_reads_can_be_cancelled() {
    let peer = Peer::start([Reply::Deaf]);
    // This is more than the socket buffers of both sides can hold.
    let large = request(&"some text that fills buffers\n".repeat(1_000_000));
    let (error, late) = cancel_after(Duration::from_millis(150), &peer.url(), &large);
    assert!(matches!(error, ChatError::Cancelled { .. }), "{error:?}");
    assert!(late < LATE, "{late:?}");
}

#[test]
fn a_handshake_that_hangs_ends_with_the_deadline() {
    let peer = Peer::start([Reply::Hang(Vec::new())]);
    let started = Instant::now();
    let budget = CallBudget::until(started + Duration::from_millis(300));
    let url = peer.url().replace("http:", "https:");
    let error = model(&url).complete(&request("q"), &budget).unwrap_err();
    assert!(matches!(error, ChatError::DeadlineExceeded { .. }), "{error:?}");
    assert!(started.elapsed() < LATE);
}

#[test]
fn connecting_to_a_silent_host_can_be_cancelled() {
    // If the listener's queue of pending connections is full, it drops further requests, as a firewall would.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut filling = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
        filling.push(stream);
        assert!(filling.len() < 10_000, "the queue never fills");
    }
    let (error, late) = cancel_after(Duration::from_millis(150), &format!("http://{address}"), &request("q"));
    assert!(matches!(error, ChatError::Cancelled { .. }), "{error:?}");
    assert!(late < LATE, "{late:?}");
}

#[test]
fn a_call_that_is_over_before_it_begins_sends_nothing() {
    let peer = Peer::start([good("x"), good("x")]);
    let cancelled = given_up(Duration::from_secs(60));
    let error = model(&peer.url()).complete(&request("q"), &cancelled).unwrap_err();
    assert!(matches!(error, ChatError::Cancelled { .. }), "{error:?}");
    let error = model(&peer.url()).complete(&request("q"), &CallBudget::until(Instant::now())).unwrap_err();
    assert!(matches!(error, ChatError::DeadlineExceeded { .. }), "{error:?}");
    assert!(peer.requests().is_empty());
}

/// Measures how late a call returns if the server hangs in this way.
fn lateness(wire: Wire, is_stream: bool, place: &str, reply: Reply) -> Duration {
    let peer = Peer::start([reply]);
    let deadline = Instant::now() + Duration::from_millis(300);
    let (model, budget) = (client(wire, &peer.url()), CallBudget::until(deadline));
    let outcome = match is_stream {
        true => model.stream(&request("q"), &budget, &mut |_| {}),
        false => model.complete(&request("q"), &budget),
    };
    let late = deadline.elapsed();
    let error = outcome.unwrap_err();
    assert!(matches!(error, ChatError::DeadlineExceeded { .. }), "{wire:?} {place}: {error:?}");
    late
}

#[test]
fn calls_end_within_200_ms_of_the_deadline() {
    let cases = Wire::ALL.into_iter().flat_map(|wire| {
        let begun = format!("{STREAM_HEAD}{}", lines(&beginning(wire, &["half"])));
        let drip = begun.clone().into_bytes();
        let streams = [
            ("in a stream", Reply::Hang(begun.into_bytes())),
            ("dripping a stream", Reply::Drip(drip, 1, Duration::from_millis(15))),
        ];
        let both = [false, true]
            .into_iter()
            .flat_map(|is_stream| hanging().into_iter().map(move |(place, reply)| (is_stream, place, reply)));
        let streams = streams.into_iter().map(|(place, reply)| (true, place, reply));
        both.chain(streams).map(move |(is_stream, place, reply)| (wire, is_stream, place, reply))
    });
    thread::scope(|scope| {
        for (wire, is_stream, place, reply) in cases {
            scope.spawn(move || {
                // A busy machine may delay a thread once, but a call that waits too long would do so every
                // time.
                let max = Duration::from_millis(200);
                let is_in_time = (0..4).any(|_| lateness(wire, is_stream, place, reply.clone()) <= max);
                assert!(is_in_time, "{wire:?} {is_stream} {place}");
            });
        }
    });
}

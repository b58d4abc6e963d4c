//! Nothing is printed: under a protocol on stdout a single line breaks the session.

use std::process::Command;

use qdrant::{HealthCheckReply, HealthCheckRequest, QueryPoints};
use qdrant_client::Qdrant;

use super::*;

/// What a test of this binary prints beyond the frame of the test harness, run on its own.
fn printed_by(test: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "stdout can be watched only from the outside")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", test, "--nocapture", "--test-threads=1"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    let is_frame =
        |line: &&str| line.is_empty() || line.starts_with("running 1 ") || line.starts_with("test result:");
    let rest: Vec<&str> = text.lines().filter(|line| !is_frame(line)).collect();
    rest.join("\n").replace(&format!("test {test} ... "), "").trim_end_matches("ok").to_owned()
}

/// A server that no client is compatible with.
fn ancient() -> Peer {
    let peer = Peer::start();
    peer.on(|_: &HealthCheckRequest| {
        Reply::Now(HealthCheckReply { version: "0.1.0".to_owned(), ..Default::default() })
    });
    peer.on(|_: &QueryPoints| no_hits());
    peer
}

#[test]
fn a_store_that_meets_an_ancient_server_and_none() {
    let peer = ancient();
    assert_eq!(ask(&store(&peer), &Stop::never()), Ok(0));
    assert!(peer.asked::<HealthCheckRequest>().is_empty());
    let nobody = ServerStore::connect(settings("http://127.0.0.1:1")).unwrap();
    assert_eq!(ask(&nobody, &Stop::never()).unwrap_err().kind(), "unavailable");
}

#[test]
fn the_client_s_own_check_of_an_ancient_server() {
    let peer = ancient();
    assert!(Qdrant::from_url(&peer.url()).build().is_ok());
    assert_eq!(peer.asked::<HealthCheckRequest>().len(), 1);
}

#[test]
fn a_store_prints_nothing_where_the_client_s_own_check_does() {
    assert_eq!(printed_by("silence::a_store_that_meets_an_ancient_server_and_none"), "");
    let control = printed_by("silence::the_client_s_own_check_of_an_ancient_server");
    assert!(control.contains("is not compatible with server version 0.1.0"), "{control:?}");
}

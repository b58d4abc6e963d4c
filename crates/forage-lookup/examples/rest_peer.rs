//! A server with Qdrant's REST API for tests in other languages: `rest_peer [PORT [KEY]]`. It prints
//! its port and serves until it is killed. There are no collections at the start. `POST /fault` with `{"on":
//! "/points/query", "reply": "hang", "times": 1}` makes the next such request fail. The reply must be `hang`,
//! `close` or a status.
#![expect(clippy::disallowed_macros, reason = "the parent process reads the port")]
#![expect(clippy::unwrap_used, reason = "a test program fails by panicking")]

use std::net::TcpListener;
use std::sync::Arc;

#[path = "../tests/peer/mod.rs"]
mod peer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let port: u16 = arguments.next().map_or(Ok(0), |port| port.parse())?;
    let points = peer::points::Peer::new(arguments.next().as_deref());
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    let server = peer::http::Server::start(listener, None, Arc::new(move |asked| points.answer(asked)))?;
    println!("{}", server.address.port());
    server.wait();
    Ok(())
}

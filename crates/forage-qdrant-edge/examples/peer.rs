//! A server of Qdrant's protocol for clients that are not written in Rust: `peer [PORT [KEY]]`. Prints its port and
//! serves until it is killed. It begins without a collection.
#![expect(clippy::disallowed_macros, reason = "whoever starts it reads the port")]

#[path = "../tests/it/peer.rs"]
mod peer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().map_or(Ok(0), |port| port.parse())?;
    let (address, server) = peer::Peer::new()?.serve(port, arguments.next().as_deref())?;
    println!("{}", address.port());
    Ok(server.await?)
}

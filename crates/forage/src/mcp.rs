//! The tools as a server of the Model Context Protocol, over stdio and HTTP, for clients with and without a handshake
//! (revisions 2024-11-05 to 2026-07-28).
//!
//! The protocol itself is `rmcp`'s. What it leaves open, or answers in a way that a client could wait for or stumble
//! over, is settled here: a panic, the end of input, lines that are no message, methods that are not there, arguments
//! that do not fit, more calls than the machine has room for. Everything is decided per call; nothing is remembered
//! of a connection but what its handshake said.

mod call;
mod client;
mod client_model;
mod gate;
mod http;
mod instructions;
pub mod limits;
mod profiles;
mod rounds;
mod server;
mod stdio;

pub use http::{BearerToken, HttpError, HttpSettings, serve as serve_http};
pub use instructions::instructions;
pub use profiles::Profile;
pub use server::{McpServer, McpSettings, McpWorkspace, OutputForm, ToolSet};
pub use stdio::serve as serve_stdio;

/// Two threads carry all messages; the work of calls never keeps them from it.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

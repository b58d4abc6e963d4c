//! The tools as a server of the Model Context Protocol, over stdio and HTTP, for clients with and without a handshake
//! (revisions 2024-11-05 to 2026-07-28).
//!
//! The protocol itself is `rmcp`'s. What it leaves open, or answers in a way that a client could wait for or stumble
//! over, is settled here: a panic, the end of input, lines that are no message, methods that are not there, arguments
//! that do not fit, more calls than the machine has room for. Everything is decided per call; nothing is remembered
//! of a connection but what its handshake said.
//!
//! A program says where calls run and serves, here the directory `src` to whoever has started it:
//!
//! ```no_run
//! use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
//! use forage_mcp::{CallOrigin, McpServer, McpSettings, McpWorkspace, OutputForm, ServerMetrics, ToolSet, serve_stdio};
//! use forage_tools::registry::TOOLS;
//! use forage_tools::{Context, Plain};
//!
//! struct Source(Roots);
//!
//! impl McpWorkspace for Source {
//!     fn asks_clients(&self) -> bool {
//!         false
//!     }
//!     fn open(&self, _: &CallOrigin<'_>) -> Result<Context, String> {
//!         Ok(Context::new(self.0.clone()))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let root = Root::open("src".as_ref(), &RootPolicy::default(), SecretPolicy::standard(&[]))?;
//! let server = McpServer::new(McpSettings {
//!     left_out: Vec::new(),
//!     tools: TOOLS.to_vec(),
//!     workspace: Box::new(Source(Roots::new(vec![root], RelPath::root())?)),
//!     tool_set: ToolSet::ByClient,
//!     output: OutputForm::ByClient,
//!     manner: &Plain,
//!     metrics: ServerMetrics::new(),
//!     observer: None,
//!     journal: None,
//! })?;
//! let shutdown = server.shutdown().clone();
//! serve_stdio(server, &shutdown)?;
//! # Ok(())
//! # }
//! ```

mod call;
mod caller;
mod client;
mod client_model;
mod gate;
mod http;
mod instructions;
mod journal;
pub mod limits;
mod metrics;
mod profiles;
mod rounds;
mod server;
mod stdio;

pub use caller::{Caller, CallerLimits};
pub use http::{AccessToken, HttpError, HttpSettings, ReadyCheck, TokenDigest, serve as serve_http};
pub use instructions::instructions;
pub use metrics::{CallObserver, EndedCall, ServerMetrics};
pub use profiles::Profile;
pub use server::{CallOrigin, McpServer, McpSettings, McpWorkspace, OutputForm, ToolSet};
pub use stdio::serve as serve_stdio;

/// Returns the revisions of the protocol that the server speaks, the oldest first.
pub fn revisions() -> Vec<&'static str> {
    rmcp::model::ProtocolVersion::KNOWN_VERSIONS.iter().map(|version| version.as_str()).collect()
}

/// Two threads carry all messages; the work of calls never keeps them from it.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

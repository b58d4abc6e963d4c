//! Serves the tools over the Model Context Protocol, on stdio and HTTP, to clients with and without a
//! handshake (revisions 2024-11-05 to 2026-07-28).
//!
//! `rmcp` implements the protocol itself. This crate handles the cases that the protocol leaves open, or that
//! `rmcp` answers in a way that could make a client wait or fail. Examples are panics, end of input, lines
//! that are not messages, missing methods, malformed arguments, and more calls than the machine can run.
//! Every decision is made per call. A connection keeps only the facts of its handshake and a short memory of
//! its answers, for example the roots that the last one named.
//!
//! A program supplies the workspace in which calls run and starts a transport. This example serves the
//! directory `src` to its parent process:
//!
//! ```no_run
//! use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
//! use forage_mcp::{CallOrigin, McpServer, McpSettings, McpWorkspace, OutputForm, ToolSet, serve_stdio};
//! use forage_tools::registry::TOOLS;
//! use forage_tools::{CallObservers, Plain, Workspace};
//!
//! struct Source(Roots);
//!
//! impl McpWorkspace for Source {
//!     fn asks_clients(&self) -> bool {
//!         false
//!     }
//!     fn open(&self, _: &CallOrigin<'_>) -> Result<Workspace, String> {
//!         Ok(Workspace::new(self.0.clone()))
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
//!     phrasing: &Plain,
//!     observers: CallObservers::default(),
//! })?;
//! let shutdown = server.shutdown().clone();
//! serve_stdio(server, &shutdown)?;
//! # Ok(())
//! # }
//! ```

mod admission;
mod call;
mod caller;
mod client;
mod client_model;
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
pub use metrics::ServerMetrics;
pub use profiles::Profile;
pub use server::{CallOrigin, McpServer, McpSettings, McpWorkspace, OutputForm, ToolSet};
pub use stdio::serve as serve_stdio;

/// Lists the supported revisions of the protocol, oldest first.
pub fn revisions() -> Vec<&'static str> {
    rmcp::model::ProtocolVersion::KNOWN_VERSIONS.iter().map(|version| version.as_str()).collect()
}

/// Builds the runtime for messages. Two threads are enough because calls run on other threads.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

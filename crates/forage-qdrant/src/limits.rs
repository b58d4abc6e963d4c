//! Every limit of this crate.

use std::time::Duration;

/// For one request, unless the settings say otherwise: a batch of some hundred points takes a busy server seconds.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// For a connection, unless the settings say otherwise.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Characters of a server's message that are passed on; it is a third party's text.
pub const SERVER_MESSAGE_CHARACTERS: usize = 300;

/// Qdrant's port for gRPC, where an address names none.
pub const GRPC_PORT: u16 = 6334;

/// Threads that talk to a server: one may be decoding a large page while another answers a query.
pub const CONNECTION_THREADS: usize = 2;

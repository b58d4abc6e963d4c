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

/// Hits that a query gives at the most. A server makes room for as many as it is asked for, and fails where that is more than
/// there can be.
pub const HITS: usize = 1_000_000;

/// Points of a page that a scan gives at the most; what follows is on the next one.
pub const PAGE_POINTS: usize = 10_000;

/// The time within which every node of a cluster makes a shard that was agreed on, and the pause between two tries to write to it.
pub const SHARD_PATIENCE: Duration = Duration::from_secs(10);
/// See [`SHARD_PATIENCE`].
pub const SHARD_PAUSE: Duration = Duration::from_millis(50);

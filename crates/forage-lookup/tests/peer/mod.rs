//! A server with Qdrant's REST interface for tests: it accepts and returns the same as a real server.

pub(crate) mod http;
pub(crate) mod points;

//! A server with Qdrant's REST API for tests. It should accept and return the same as a real server.

pub(crate) mod http;
pub(crate) mod points;

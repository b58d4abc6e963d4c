//! A server of Qdrant's REST interface for tests: what a client sends and gets is what a real server takes and gives.

pub(crate) mod http;
pub(crate) mod points;

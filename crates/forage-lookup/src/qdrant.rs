//! Sparse vectors on a Qdrant server or cluster, through its REST API.
//!
//! [`ServerStore`] connects only to the address in its [`ServerSettings`]. With `https://` it trusts the
//! certificates of the operating system, or those in the file that `SSL_CERT_FILE` names.
//!
//! The store does not retry: the caller should decide this by the kind of the error. The only exception is a
//! request on an idle connection that the server has closed, which we repeat on a new connection. This is
//! safe: all requests are idempotent.

mod calls;
mod error;
mod settings;
mod shards;
mod shown;
mod store;
mod wire;

pub use settings::ServerSettings;
pub use store::ServerStore;

//! Sparse vectors on a Qdrant server or cluster, through its REST interface.
//!
//! [`ServerStore`] connects only to the address in its [`ServerSettings`]. With `https://` it trusts the
//! certificates of the operating system; `SSL_CERT_FILE` names a file with others.
//!
//! The store does not retry: the caller should decide this by the kind of the error. The exception is a
//! request on an idle connection that the server has closed, which is repeated on a new connection. All
//! requests are idempotent.

mod calls;
mod error;
mod settings;
mod shards;
mod shown;
mod store;
mod wire;

pub use settings::ServerSettings;
pub use store::ServerStore;

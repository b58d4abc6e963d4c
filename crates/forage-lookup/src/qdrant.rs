//! Sparse vectors on a Qdrant server or cluster, over its REST interface.
//!
//! [`ServerStore`] opens connections to the address of its [`ServerSettings`] and to nothing else. Under `https://` the
//! certificates of the operating system count; `SSL_CERT_FILE` names a file of others.
//!
//! It asks once: whether to ask again is its caller's to decide, by the kind of the error. A request that went over a kept
//! connection which the server had closed meanwhile is sent again over a new one; all of them may be repeated.

mod calls;
mod error;
mod settings;
mod shards;
mod shown;
mod store;
mod wire;

pub use settings::ServerSettings;
pub use store::ServerStore;

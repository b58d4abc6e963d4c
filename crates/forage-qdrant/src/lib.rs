//! Sparse vectors on a Qdrant server or cluster, over gRPC.
//!
//! [`ServerStore`] is a [`forage_lookup::PointStore`]. It opens connections to the address of its [`ServerSettings`] and to
//! nothing else, reads no file and no environment itself, and prints nothing. Under `https://` the certificates of the
//! operating system count; `SSL_CERT_FILE` names a file of others.
//!
//! It asks once: whether to ask again is its caller's to decide, by the kind of the error. (The client beneath asks a
//! second time, over a new connection, for points where a connection broke or the server failed inside.)
//!
//! ```no_run
//! use forage_base::Stop;
//! use forage_qdrant::{ServerSettings, ServerStore};
//! use forage_lookup::{PointFilter, PointStore};
//!
//! let store = ServerStore::connect(ServerSettings::new("http://localhost:6334", "code"))?;
//! println!("{} points", store.count(&PointFilter::default(), &Stop::never())?);
//! # Ok::<(), forage_lookup::StoreError>(())
//! ```

mod calls;
mod convert;
mod error;
#[doc(hidden)]
pub mod limits;
mod settings;
mod shards;
mod shown;
mod store;

pub use forage_base::{ApiKey, KeyError};
pub use settings::ServerSettings;
pub use store::ServerStore;

//! A [`PointStore`](crate::PointStore) in a directory of this machine.
//!
//! ```text
//! DIRECTORY/.code.lock        locked by the process that writes, with its number
//! DIRECTORY/code/manifest     what the collection consists of: replaced in one step, with lengths and hashes
//! DIRECTORY/code/3f….term     segments, which never change
//! ```
//!
//! A collection is a set of tantivy segments ([`forage_rank::segments`]). A dimension is a term, and the bits of a
//! weight are the position at which the term occurs, so that weights come back exactly. Scores are Qdrant's: the inverse
//! document frequency is counted over the points that are there, whatever was removed before.
//!
//! Any number of processes read while one writes. A process that is killed loses what it had not committed yet, never
//! what was there before. Every file is compared with its hash before it is used, so that damage is an error.
//!
//! ```
//! use forage_base::Stop;
//! use forage_lookup::{
//!     CodeSuperset, Creation, EmbeddedStore, Encoder, PointFilter, PointReader, PointStore, Sharding,
//! };
//!
//! # let home = tempfile::tempdir()?;
//! # let directory = home.path();
//! let store = EmbeddedStore::new(directory, "code")?;
//! let creation = Creation {
//!     using: "text".to_owned(),
//!     contract: CodeSuperset::new().contract(),
//!     indexed_fields: vec!["path".to_owned()],
//!     sharding: Sharding::default(),
//! };
//! store.create(&creation, &Stop::never())?;
//! assert_eq!(store.count(&PointFilter::default(), &Stop::never())?, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod directory;
mod lock;
mod schema;
mod segment;
mod snapshot;
mod store;
mod writer;

pub use store::EmbeddedStore;

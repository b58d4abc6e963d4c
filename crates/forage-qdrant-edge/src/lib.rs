//! A [`forage_lookup::PointStore`] in a directory of this machine, on the engine of Qdrant in this process.
//!
//! A collection is a directory that belongs to one [`EmbeddedStore`] at a time:
//!
//! ```text
//! DIRECTORY/.code.lock             held by the process that has the collection open, with its number
//! DIRECTORY/code/collection.json   what the engine doesn't know: format, contract, name of the vector
//! DIRECTORY/code/journal           what was written since the engine last wrote through to the disk
//! DIRECTORY/code/seal              lengths and hashes of all files, while nobody writes
//! DIRECTORY/code/shard/            the engine's
//! ```
//!
//! The engine (0.7.1) keeps a log of what it is told, but neither reads it when it is opened nor ever makes it shorter.
//! So the journal is what a killed process is recovered from, and the engine's log is shortened by the rules of its own
//! newer versions.
//!
//! ```
//! use forage_base::Stop;
//! use forage_qdrant_edge::EmbeddedStore;
//! use forage_lookup::{CodeSuperset, Creation, Encoder, PointFilter, PointStore, Sharding};
//!
//! # let home = tempfile::tempdir()?;
//! # let directory = home.path();
//! let store = EmbeddedStore::open(directory, "code")?;
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

mod description;
mod directory;
mod engine;
mod failure;
mod journal;
#[doc(hidden)]
pub mod limits;
mod lock;
mod name;
mod seal;
mod store;

pub use store::EmbeddedStore;

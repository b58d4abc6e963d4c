//! A [`PointStore`](crate::PointStore) in a local directory.
//!
//! ```text
//! DIRECTORY/.code.lock        locked by the process that writes; contains its process id
//! DIRECTORY/code/manifest     the files of the collection with lengths and hashes; replaced atomically
//! DIRECTORY/code/3f….term     segments, which are immutable
//! ```
//!
//! A collection is a set of tantivy segments ([`forage_rank::segments`]). Each dimension is a term, and the
//! bits of a weight are stored as the position of the term, so that weights are restored exactly. Scores
//! equal Qdrant's: the inverse document frequency counts only the points that exist, not removed ones.
//!
//! Any number of processes can read while one writes. A process that is killed loses its uncommitted changes,
//! but never earlier ones. We check every file against its hash before we use it, so damage is reported as an
//! error.
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

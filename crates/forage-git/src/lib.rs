//! Reads the commits of a repository directly from its files.
//!
//! [`Repository`] returns the information of `git log --name-only`: commits with their messages and parents,
//! and the files in which two trees differ. This crate executes nothing, reads no configuration, and opens
//! every file beneath the root. Files outside of the root, for example the repository of a linked worktree,
//! are not accessible. Sizes, depths and numbers are limited ([`limits`]), because a pack may contain
//! anything.
//!
//! ```no_run
//! use forage_base::Stop;
//! use forage_fs::{Root, RootPolicy, SecretPolicy};
//! use forage_git::Repository;
//!
//! let root = Root::open(".".as_ref(), &RootPolicy::default(), SecretPolicy::standard(&[]))?;
//! let mut repository = Repository::open(&root, &Stop::never())?;
//! let newest = repository.commit(&repository.head())?;
//! println!("{}", newest.message);
//! if let Some(files) = repository.changed_files(&newest, 30)? {
//!     files.iter().for_each(|path| println!("{}", String::from_utf8_lossy(path)));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod commit;
mod delta;
mod error;
mod id;
mod inflate;
#[doc(hidden)]
pub mod limits;
mod pack;
mod paged;
mod refs;
mod repository;
mod tree;

pub use commit::CommitObject;
pub use error::{NoHistory, ObjectError};
pub use id::ObjectId;
pub use repository::{HistoryState, Repository};

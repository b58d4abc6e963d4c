//! Commits of a repository, read from its own files.
//!
//! [`Repository`] reads what `git log --name-only` would tell: commits with their messages and parents, and the files in
//! which two trees differ. Nothing is executed, no configuration is read, and every file is opened beneath the root; what
//! lies elsewhere, as the repository of a linked worktree does, is not there. Sizes, depths and numbers are bounded
//! ([`limits`]), for a pack may say anything.
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

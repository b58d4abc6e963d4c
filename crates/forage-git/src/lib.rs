//! Reads the commits of a repository directly from its files.
//!
//! [`Repository`] provides the information of `git log --name-only`: commits with their messages and parents,
//! and the files in which two trees differ. [`Repository::changes`] provides that of `git diff --name-status
//! -M` and `git status`, and [`Repository::history`] that of `git log -S`, `-G` and `-- PATH`. This crate
//! executes nothing, and reads no configuration except for a few settings of `.git/config`, such as the
//! upstream of a branch and `core.fileMode`. It opens every file beneath the root, so files outside of it, for
//! example the repository of a linked worktree, are not accessible. We limit sizes, depths and numbers
//! ([`limits`]), because a pack may contain anything.
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

mod changes;
mod commit;
mod companions;
mod config;
mod delta;
mod error;
mod history;
mod id;
mod index_file;
mod inflate;
#[doc(hidden)]
pub mod limits;
mod merge_base;
mod pack;
mod paged;
mod refs;
mod renames;
mod repository;
mod revision;
mod substitutes;
mod tree;

pub use changes::{ChangeKind, ChangeSet, Comparison, FileChange, FileVersion, StoredEntry};
pub use commit::CommitObject;
pub use companions::Companion;
pub use error::{HistoryError, ObjectError, RevisionError};
pub use history::{
    DefinitionQuery, FindDefinition, HistoryCommit, HistoryEnd, HistoryFile, HistoryFilter, HistoryLine,
    HistoryQuery, HistoryReport, MatchLines,
};
pub use id::ObjectId;
pub use repository::{HistoryState, Repository};
pub use tree::FileMode;

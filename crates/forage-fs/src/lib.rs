//! Disk access: the only crate that reads the user's files.
//!
//! Everything is opened beneath a [`Root`] handle, one name at a time. No link is followed unless we resolved
//! it first, so no symlink, `..`, magic link or concurrent rename can lead outside of the root. We read only
//! regular files; everything left out is counted by reason in [`Skipped`].
//!
//! This crate does not depend on patterns, JSON or models.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use forage_base::Stop;
//! use forage_fs::{RelPath, Root, RootPolicy, SecretPolicy, WalkStep, WalkOptions, walk};
//!
//! let root = Root::open("src".as_ref(), &RootPolicy::default(), SecretPolicy::standard(&[]))?;
//! let mut paths = Vec::new();
//! // Results arrive in path order, however many threads walk.
//! walk(
//!     &root,
//!     &RelPath::root(),
//!     &WalkOptions::default(),
//!     &Stop::never(),
//!     || (),
//!     |(), entry, _| WalkStep::Item(entry.path.display().to_string(), 64),
//!     |path| {
//!         paths.push(path);
//!         ControlFlow::Continue(())
//!     },
//! )?;
//! assert!(paths.len() > 10 && paths.contains(&"walk/entry.rs".to_owned()));
//!
//! // No path leads out of the root.
//! let outside = RelPath::parse("../Cargo.toml", &RelPath::root()).map(|path| root.open_file(&path).is_err());
//! assert!(outside.unwrap_or(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attributes;
mod error;
mod file;
mod git_rule;
mod ignore_rules;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(portable_disk)))]
mod kernel;
#[doc(hidden)]
pub mod limits;
mod private;
mod quoting;
mod read_buffer;
mod rel_path;
mod root;
mod secrets;
mod skipped;
mod state;
mod sys;
mod text;
mod trust;
mod walk;

pub use attributes::AttributeRules;
pub use error::{NoStates, OpenError, RootError};
pub use file::{Contents, OpenedFile, StateReliability, is_safe_to_map};
pub use private::{NamedFile, PrivateDirectory, PrivateEntry, PrivatePlace, open_named, resolved};
pub use quoting::{
    display_below, display_foreign_path, display_message, display_path, display_text, is_like_a_note,
    needs_escape,
};
pub use read_buffer::ReadBuffer;
pub use rel_path::{RelPath, RelPathError, compare_paths};
pub use root::{Names, Root, RootPolicy, Roots, canonical, find_git_root, project_around};
pub use secrets::SecretPolicy;
pub use skipped::{SkipReason, Skipped};
pub use state::{FileState, NameStatus};
pub use text::{
    DecodedText, Encoding, count_lines, decode, decode_head, decode_head_as, extends_ascii, is_binary, lines,
};
pub use trust::{PrivateError, TrustError};
pub use walk::{
    Entry, EntryKind, ExcludingDirectories, Exclusion, FileListing, FileSet, FileTypes, Globs, ListingFilter,
    Mounts, NOISE, PendingFile, Snapshot, Subtree, VisitDecision, Walk, WalkOptions, WalkReport, WalkStep,
    WatchedTree, exclusion, files_of_worktree, glob_of_type, walk,
};

//! Removes secrets from text before it leaves the machine.
//!
//! [`Redactor::redact`] is the only way to convert file text to [`Redacted`], and a request to a model
//! consists only of [`Redacted`] text. Each secret is replaced with `[redacted:RULE]`. We never join, split
//! or drop lines, so that line numbers stay correct. There are two kinds of rules:
//!
//! - Patterns that match only secrets. The module `rules` contains their table.
//! - Values of sensitive names (`names`, `assignment`). The module `judge` decides by their syntactic context
//!   and by how random they look (`randomness`).
//!
//! An answer shows some lines of a file, and one line may not show that it contains a secret.
//! [`Redactor::redact_lines`] redacts such lines together with their context, and [`RedactionReport`] counts
//! the secrets of those that are shown. [`Redactor::redact_text`] and [`Redactor::redact_name`] do the same
//! for messages and file names.
//!
//! This can't find everything. Known gaps are secrets without a known pattern or a sensitive name, and the
//! middle of a key block without its first and last line. A caller that shows some lines of a file must
//! therefore scan the whole file with [`KeyBlocks`].
//!
//! This crate knows text only: it opens no file and no connection.
//!
//! ```
//! use forage_redact::Redactor;
//!
//! let redacted = Redactor::standard().redact("url = postgres://app:s3cr3t-Wq7x@db.internal/main");
//! assert_eq!(redacted.as_str(), "url = postgres://app:[redacted:url-credentials]@db.internal/main");
//! assert_eq!(redacted.counts().total(), 1);
//! ```

mod assignment;
mod encoded;
mod engine;
mod excerpt;
mod hidden;
mod judge;
mod key_blocks;
mod kubernetes;
#[doc(hidden)]
pub mod limits;
mod mark;
mod names;
mod private_key;
mod randomness;
mod redactor;
mod rules;
#[cfg(test)]
mod tests;

pub use excerpt::{ExcerptLine, concealed};
pub use hidden::RedactionReport;
pub use key_blocks::KeyBlocks;
pub use mark::{KEY_MARK, MARK, replacements};
pub use redactor::{Redacted, RedactionCounts, Redactor};

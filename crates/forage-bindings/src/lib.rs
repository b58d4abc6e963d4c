//! Common base of the packages for other languages: a workspace whose tools are called by name, with JSON as
//! input and output.
//!
//! A package adds what its language needs (objects, cancellation, iteration) but has no code for single
//! tools: it generates its methods from [`methods`]. Rust programs should use `forage-tools` instead, which
//! has typed requests and responses.
//!
//! ```
//! use forage_bindings::{Toolbox, ToolboxSettings};
//! use forage_tools::Stop;
//! use serde_json::json;
//!
//! # fn main() -> Result<(), forage_bindings::BindingError> {
//! let settings: ToolboxSettings = ToolboxSettings { index: false.into(), ..ToolboxSettings::default() };
//! let toolbox = Toolbox::open(&[env!("CARGO_MANIFEST_DIR").into()], settings)?;
//! let answer = toolbox.call("grep_search", json!({ "pattern": "^name = ", "path": "crates/forage-bindings/Cargo.toml" }), &Stop::never())?;
//! assert!(answer.text.contains("forage-bindings"));
//! assert_eq!(answer.records()["match_count"], 1);
//! # Ok(())
//! # }
//! ```

mod collection;
mod error;
mod guide;
mod method;
mod open;
mod pieces;
mod settings;
mod sparse;
mod toolbox;
mod workers;

pub use collection::CollectionSettings;
pub use error::{BindingError, ErrorClass, error_classes};
pub use method::{EachMethod, Method, MethodCalls, methods};
pub use open::end_all;
pub use pieces::{PieceBatch, Pieces};
pub use settings::{FilterAnswer, IndexSetting, KeywordSettings, ModelSettings, ToolboxSettings};
pub use sparse::Bm25;
pub use toolbox::{Asked, Toolbox};
pub use workers::{RunCall, SPIN_TIME, guarded, receive, run, run_apart};

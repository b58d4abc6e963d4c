//! Finds the definitions of source files in their tree-sitter syntax trees.
//!
//! [`definitions()`] parses a text and returns its definitions: names, kinds in the language's own words, and
//! exact line ranges, which include documentation and attributes. Each language is a table of node kinds in
//! `src/languages`. This crate never reads files, and parsing is bounded by [`limits`].
//!
//! ```
//! use forage_base::Stop;
//! use forage_syntax::{Category, Language, definitions};
//!
//! let rust = Language::for_name("rust", "src/queue.rs").ok_or("unknown language")?;
//! let text = "/// A queue.\nstruct Queue;\n\nimpl Queue {\n    fn push(&mut self) {}\n}\n";
//! let found = definitions(rust, text, &Stop::never())?;
//! let push = &found[2];
//! assert_eq!((push.name.as_str(), push.kind, push.category), ("push", "fn", Category::Function));
//! assert_eq!((found[0].start_line, found[0].line, found[0].end_line), (1, 2, 2));
//! assert_eq!(push.parent, Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod definitions;
mod heritage;
mod language;
mod languages;
pub mod limits;
mod notebook;
mod parse;
mod pattern;
mod receiver;
mod test_code;
mod uses;

pub use definitions::{Definition, Parsed, definitions, parsed};
pub use language::{Category, Language};
pub use notebook::NotebookText;
pub use parse::ParseError;
pub use pattern::{CodePattern, CodePatternError};
pub use receiver::Receiver;
pub use uses::{Use, UseKind};

//! Ranking: which files and lines answer a question, best first, without a model.
//!
//! [`RankIndex`] holds the words of files, cut at definitions; [`search()`] finds candidates by BM25F and orders them by
//! the rules of [`RULES`]. [`tree`] keeps an index true to
//! the files below a root.

mod chunk;
mod error;
pub mod evaluation;
#[cfg(test)]
mod fuzz;
mod halt;
mod index;
mod languages;
pub mod limits;
mod lines;
mod panics;
mod query;
mod retrieve;
mod rules;
mod search;
mod tokens;
pub mod tree;

pub use error::IndexError;
pub use index::{FORMAT, RankIndex, Stamp, Writer};
pub use languages::{Kind, known_language, language_of};
pub use lines::Words;
pub use query::QueryWeights;
pub use retrieve::FieldWeights;
pub use rules::{Effect, RULES, Rule, RuleWeights};
pub use search::{ChunkHit, FileHit, Ranking, Request, Weights, search};

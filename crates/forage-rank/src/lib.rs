//! Ranks the files and lines of a tree by how well they answer a question, without a language model.
//!
//! [`RankIndex`] stores the words of files, split into chunks at definitions. [`search()`] retrieves
//! candidates by BM25F and orders them by the rules in [`RULES`]. [`tree`] keeps an index in sync with the
//! files below a root.
//!
//! ```
//! use std::sync::Arc;
//!
//! use forage_fs::{Root, RootPolicy, SecretPolicy};
//! use forage_rank::tree::{UpdateEffort, update};
//! use forage_rank::{RankIndex, RankedSearch, search};
//!
//! let root = Root::open("src".as_ref(), &RootPolicy::default(), SecretPolicy::standard(&[]))?;
//! let index = RankIndex::in_memory()?;
//! let effort = UpdateEffort { threads: 2, ..UpdateEffort::default() };
//! // No other process can write to an index in memory.
//! update(&index, &root, None, &effort, || Ok(()))?;
//! let ranking = search(&index, &RankedSearch::new("where is a file cut into chunks at definitions", 3))?;
//! assert!(ranking.files[0].path.starts_with("chunk"), "{}", ranking.files[0].path);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunk;
mod error;
pub mod evaluation;
#[cfg(test)]
mod fuzz;
mod history;
mod index;
mod kinds;
mod languages;
mod latent;
#[doc(hidden)]
pub mod limits;
mod lines;
mod map;
mod mentions;
mod model_tokens;
mod outline;
mod passages;
mod project;
mod query;
mod retrieve;
mod rules;
mod search;
pub mod segments;
mod similar;
mod stop_checker;
mod suspects;
mod tokens;
pub mod tree;

pub use error::IndexError;

pub use forage_syntax::{Receiver, Use, UseKind};
pub use history::is_trailer;
pub use index::{FORMAT, RankIndex, Stamp, Writer};
pub use kinds::is_test;
#[doc(hidden)]
pub use kinds::{PathRuleMatch, path_rule_matches};
pub use languages::{DefinitionKind, is_prose, known_language, language_of, languages};
pub use lines::QueryWords;
pub use map::{MapDefinition, MapDirectory, MapPiece, MapRequest, ProjectMap};
pub use mentions::{MentionKind, mentions};
pub use model_tokens::{max_model_tokens, model_tokens};
pub use outline::{Definition, FileOutline, may_define, may_implement, outline, outline_and_uses};
pub use passages::{PassageBudget, PassageFile, PassageSearch, Passages};
pub use query::QueryWeights;
pub use retrieve::FieldWeights;
pub use rules::{Effect, RULES, RankingRule, RuleWeights, SecondaryKind};
pub use search::{AllowFile, ChunkHit, FileHit, RankWeights, RankedSearch, Ranking, search, search_all};
pub use similar::{BestFiles, CodePiece, FeatureWeights, ScannedFile, ScannedFiles, SimilarDefinition};
pub use suspects::{Failure, Suspect, SuspectCommit, WordCounts};

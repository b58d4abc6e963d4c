//! The tools: what an agent or a person can ask for. Every front (command line, MCP, agent, library) runs the
//! [`registry`] and gives the same bytes.
//!
//! A tool is one file that ties together its name, description, request, response and code; its description stands
//! next to it in a `.md` file. The way of a call: JSON → coercion → typed request → checked arguments → engine →
//! [`Outcome`] → text and records.
//!
//! This is the only crate that writes text that a model reads. It knows no protocol, no command line and no stdout.

mod answer_cache;
mod arguments;
mod border;
mod context;
mod correction;
mod cursor;
mod error;
mod finish;
mod indexes;
pub mod kept;
pub mod limits;
mod lines;
mod models;
mod names;
mod noise;
mod outcome;
mod place;
pub mod registry;
mod sanitize;
pub mod schema;
pub mod telemetry;
mod text;
mod tool;
pub mod tools;
mod verdict;

pub use answer_cache::{AnswerCache, CacheKey, CachedAnswer};
pub use arguments::Foreign;
pub use border::Hidden;
pub use context::{
    AnswerForm, Context, EngineSetting, EvidenceForm, FilterBreadth, FilterMode, FilterSettings,
    LookupSettings, OnModelFailure, SearchSettings, Waiting,
};
pub use error::ToolError;
pub use forage_search::external::Program;
pub use indexes::{Indexes, Ranked};
pub use models::{FoundModels, Models};
pub use names::Names;
pub use outcome::{Answer, Limit, Outcome};
pub use sanitize::{sanitize, sanitize_line};
pub use telemetry::{Telemetry, Told};
pub use text::clip;
pub use tool::{Egress, Tool};

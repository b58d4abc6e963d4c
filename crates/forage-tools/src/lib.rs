//! The tools that an agent or a person can call. Every front end (command line, MCP, agent, library) runs the
//! [`registry`] and returns the same bytes.
//!
//! A tool is one module that contains its name, description, request, response and code. Its description is
//! in a `.md` file next to it. A call goes through these steps: JSON → coercion → typed request → checked
//! arguments → engine → [`ToolOutcome`] → text and records.
//!
//! A program opens a [`Workspace`] and calls the tools by their typed methods:
//!
//! ```
//! use forage_tools::Workspace;
//! use forage_tools::tools::{GrepRequest, RankRequest, ReadRequest};
//!
//! let workspace = Workspace::open(".")?;
//! # // One crate alone.
//! # let root = forage_fs::Root::open("src".as_ref(), &Default::default(), forage_fs::SecretPolicy::standard(&[]))?;
//! # let roots = forage_fs::Roots::new(vec![root], forage_fs::RelPath::root())?;
//! # let workspace = Workspace::new(roots);
//! let found = workspace.grep(GrepRequest::new(r"pub struct \w+").file_pattern("*.rs"))?.response;
//! for file in &found.files {
//!     println!("{}: {} of {} matches", file.path, file.match_count, found.match_count);
//! }
//! let ranked = workspace.rank(RankRequest::new("where are secrets taken out of answers"))?.response;
//! let best = &ranked.files[0];
//! for code in &best.code {
//!     println!("{}:{}: {}", best.path, code.start_line, code.lines[0]);
//! }
//! for entry in workspace.read(ReadRequest::new(&best.path).outline(true))?.response.outline {
//!     println!("{entry:?}");
//! }
//! # assert!(found.totals_exact && found.match_count > 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Workspace::keep_indexes`] makes it as fast as the command line, with the same indexes.
//! [`Workspace::grep_each`] and [`Workspace::search_each`] stream all results file by file while the search
//! runs. [`registry`] offers the tools without their types, for front ends whose callers write JSON.
//!
//! This is the only crate that writes the text of answers. It does not depend on any protocol, command line
//! or stdout.

mod answer_cache;
mod arguments;
mod call;
mod changes;
mod correction;
mod cursor;
mod dependencies;
mod error;
mod file_names;
mod file_text;
mod finish;
mod head;
pub mod index_manager;
mod indexes;
pub mod journal;
pub mod limits;
mod lines;
mod models;
mod multi_root;
mod names;
mod noise;
mod notes;
mod other_readings;
mod outcome;
mod outlines;
mod output_redactor;
mod place;
pub mod records;
pub mod registry;
mod revision;
mod sanitize;
pub mod schema;
mod search_facts;
mod settings;
mod shown;
mod shown_earlier;
pub mod telemetry;
mod text;
#[macro_use]
mod tool;
pub mod tools;
mod tree_files;
mod verdict;
mod why;
mod workspace;

pub use answer_cache::{AnswerCache, CacheKey, CachedAnswer};
pub use arguments::{ArgumentAlias, ArgumentAliases, read_arguments};
pub use call::{Call, CallProgress, WaitingFor};
pub use changes::ChangedFiles;
pub use dependencies::{DEPENDENCY, DependencyPlace, DependencyStores};
pub use error::{ErrorCode, ToolError};
pub use file_names::globs_without_files;
pub use forage_base::Stop;
pub use forage_search::external::Program;
pub use head::{AnswerHead, FunnelStep};
pub use indexes::{Indexes, Ranked};
pub use journal::{AskedTool, CallHead, CallStatus, TraceParent};
pub use models::{FoundModels, Models};
pub use multi_root::{OtherRoot, RootScope};
pub use names::{OTHER_SEARCH, Phrasing, Plain, ToolNames, WITHOUT_MODEL};
pub use other_readings::other_readings;
pub use outcome::{Answer, CallProblem, Limit, ToolOutcome};
pub use outlines::{OutlineCache, enclosing_definition};
pub use place::ROOT;
pub use revision::RevisionFiles;
pub use sanitize::{sanitize, sanitize_line};
pub use search_facts::{DecodedFiles, unfit_globs_note, walk_warnings};
pub use settings::{
    AnswerForm, CallLimits, EngineSetting, EvidenceForm, FilterBreadth, FilterCandidates, FilterMode,
    FilterSettings, LookupSettings, OnModelFailure, SearchSettings,
};
pub use shown::{ShownFile, ShownKind};
pub use shown_earlier::ShownEarlier;
pub use telemetry::{CallObservers, CallSink, EndedCall, TelemetryEvent};
pub use text::clip;
pub use tool::{Egress, RecordReceiver, Tool, ToolSpec};
pub use tree_files::{TreeBounds, TreeFiles, UnsearchedPath, tree_files};
pub use verdict::{CallVerdict, HiddenMatches, hidden_matches};
pub use why::{PathExplanation, why};
pub use workspace::{Workspace, WorkspaceError};

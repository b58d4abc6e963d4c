//! Errors of a call. All of them are for whoever made the call: they name the argument and what to do next.

use forage_base::Stop;
use forage_fs::OpenError;
use forage_search::PatternError;

use crate::names::Names;
use crate::sanitize::sanitize;

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// No tool has this name.
    #[error("there is no tool `{name}`; the tools are {known}")]
    UnknownTool {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Two tools that are on have one name.
    #[error(
        "the tools {first} and {second} are both called `{name}`; give one another name ({keys}), or turn one off"
    )]
    SameName {
        /// What both are called.
        name: String,
        /// A tool by its own name.
        first: String,
        /// The other.
        second: String,
        /// The settings that call them so.
        keys: String,
    },
    /// A tool can't be called so.
    #[error(
        "`{key}`: {name:?} is no name that clients and models take; give 1 to 64 of the characters a-z, A-Z, 0-9, _ and -"
    )]
    BadName {
        /// What it was to be called.
        name: String,
        /// The setting that calls it so.
        key: String,
    },
    /// The request is not a JSON object with the right fields.
    #[error("{}", sanitize(.0))]
    Request(String),
    /// An argument's value can't be used.
    #[error("`{argument}`: {problem}")]
    Argument {
        /// The argument's name.
        argument: &'static str,
        /// What is wrong, and what to write instead.
        problem: String,
    },
    /// A pattern is not valid.
    #[error("`{argument}`: {}", sanitize(&source.to_string()))]
    Pattern {
        /// The argument's name.
        argument: &'static str,
        /// What is wrong with it.
        source: PatternError,
    },
    /// A path can't be used.
    #[error("`path`: {}", sanitize(&.0.to_string()))]
    Path(#[from] OpenError),
    /// Every term of a keyword search is too broad. The first sentence is the requirement's.
    #[error("each of those search terms yielded too many results\n{terms}\nUse longer, more specific terms.")]
    TooBroad {
        /// A line per term with its size.
        terms: String,
    },
    /// No model can be asked, and no other way was chosen.
    #[error(
        "no model is configured to filter the results of {tool}{instead}. {looked_for}\nWithout a model, ask for \
         deterministic ranking explicitly: `--filter lexical`, or `filter = \"lexical\"` in your configuration."
    )]
    NoModel {
        /// What the tool is called.
        tool: String,
        /// Tools that can do without a model, as the rest of the sentence.
        instead: String,
        /// Providers and variables that were looked for; names only.
        looked_for: String,
    },
    /// Every model that was asked failed.
    #[error(
        "no model could filter the results: {errors}\nTry again, choose another model, or rank without one: \
         `--filter lexical`, or `on_model_failure = \"lexical\"` in your configuration."
    )]
    ModelsFailed {
        /// One sentence per model.
        errors: String,
    },
    /// No external engine can be used, and one was asked for.
    #[error(
        "no external search engine can be used: {problems}. Install ugrep or ripgrep, or search with the embedded \
         engine: `--engine embedded`, or `engine = \"embedded\"` under `[tools.search]` in your configuration"
    )]
    NoEngine {
        /// What is wrong with each.
        problems: String,
    },
    /// An external engine failed.
    #[error("{0}")]
    Engine(String),
    /// The ranked index is not as the tree is: an answer from it could be wrong.
    #[error("{0}")]
    Index(String),
    /// There is no collection to look words up in, or it can't be asked so.
    #[error("{}", sanitize(.0))]
    Collection(String),
    /// The caller cancelled.
    #[error("the call was cancelled")]
    Cancelled,
    /// A fault of this program.
    #[error("internal error in {tool}: {message}; please report it")]
    Internal {
        /// The tool's name.
        tool: String,
        /// What happened.
        message: String,
    },
}

/// What an agent can do where terms don't tell one file from another, a template for [`Names::fill`].
const INSTEAD: &str = "[[ {search_index} ranks files for a question as it stands.]][[ {grep_search} finds a pattern in one \
                       directory or kind of file.]]";

impl ToolError {
    /// The message for an agent: what else it can do, with those of these tools that are offered.
    pub fn for_agent(&self, names: &Names) -> String {
        match self {
            Self::TooBroad { .. } => format!("{self}{}", names.fill(INSTEAD)),
            error => error.to_string(),
        }
    }

    /// One word for telemetry.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnknownTool { .. } => "unknown_tool",
            Self::BadName { .. } => "bad_name",
            Self::SameName { .. } => "same_name",
            Self::Request(_) => "request",
            Self::Argument { .. } => "argument",
            Self::Pattern { .. } => "pattern",
            Self::Path(_) => "path",
            Self::TooBroad { .. } => "too_broad",
            Self::NoModel { .. } => "no_model",
            Self::ModelsFailed { .. } => "models_failed",
            Self::NoEngine { .. } => "no_engine",
            Self::Engine(_) => "engine",
            Self::Index(_) => "index",
            Self::Collection(_) => "collection",
            Self::Cancelled => "cancelled",
            Self::Internal { .. } => "internal",
        }
    }

    /// A pattern that can't be used, or was not compiled in time.
    pub(crate) fn pattern(argument: &'static str, source: PatternError, stop: &Stop) -> Self {
        match source {
            PatternError::Stopped if stop.is_cancelled() => Self::Cancelled,
            source => Self::Pattern { argument, source },
        }
    }

    /// The same of a pattern beside which `globs` names the argument for globs.
    pub(crate) fn pattern_or_glob(pattern: &str, globs: &str, source: PatternError, stop: &Stop) -> Self {
        let is_glob = pattern.starts_with('*') && !pattern.contains([' ', '\\', '(']);
        match source {
            source @ PatternError::Syntax { .. } if is_glob => Self::argument(
                "pattern",
                format!(
                    "{source}. A glob for names of files is given as `{globs}`, beside what is looked for in them"
                ),
            ),
            source => Self::pattern("pattern", source, stop),
        }
    }

    /// An argument whose value can't be used.
    pub(crate) fn argument(argument: &'static str, problem: impl Into<String>) -> Self {
        Self::Argument { argument, problem: sanitize(&problem.into()) }
    }
}

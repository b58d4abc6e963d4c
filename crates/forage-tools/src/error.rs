//! Errors of calls. They address the caller, so they must name the argument and the next step.

use std::fmt;

use forage_base::{Hint, Stop};
use forage_fs::OpenError;
use forage_search::PatternError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::names::ToolNames;
use crate::sanitize::sanitize;

/// Reasons why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// There is no tool with this name.
    #[error("there is no tool `{name}`; the tools are {known}")]
    UnknownTool {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
    /// Two enabled tools have the same name.
    #[error("the tools {first} and {second} are both called `{name}`; rename one ({keys}), or turn one off")]
    SameName {
        /// The name of both.
        name: String,
        /// The original name of the first tool.
        first: String,
        /// The original name of the second tool.
        second: String,
        /// The settings that assign this name.
        keys: String,
    },
    /// A tool can't have this name.
    #[error(
        "`{key}`: {name:?} is not a valid tool name; use 1 to 64 of the characters a-z, A-Z, 0-9, _ and -"
    )]
    BadName {
        /// The rejected name.
        name: String,
        /// The setting that assigns it.
        key: String,
    },
    /// The request is not a JSON object with the right fields.
    #[error("{}", sanitize(.0))]
    Request(String),
    /// An argument has an invalid value.
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
        /// The reason.
        source: PatternError,
    },
    /// A path can't be used.
    #[error("`path`: {}", sanitize(&.0.to_string()))]
    Path(#[from] OpenError),
    /// A path does not exist.
    #[error("`path`: {}; did you mean {}?", sanitize(&error.to_string()), sanitize(&nearest.join(" or ")))]
    NoSuchPath {
        /// The error of the root.
        error: OpenError,
        /// Similar paths that exist, the nearest first.
        nearest: Vec<String>,
    },
    /// Every term of a keyword search is too broad. The requirement defines the first sentence of the
    /// message.
    #[error("each of those search terms yielded too many results\n{terms}\nUse longer, more specific terms.")]
    TooBroad {
        /// One line per term with its size.
        terms: String,
    },
    /// No model can be used, and no other filter was chosen.
    #[error(
        "no {} filter the results of {tool}",
        if *is_configured { "configured model can" } else { "usable model is configured to" }
    )]
    NoModel {
        /// The name of the tool.
        tool: String,
        /// True if the configuration names models, but none of them can be used.
        is_configured: bool,
        /// The providers and variables that were checked, or why the models can't be used; names only.
        looked_for: String,
    },
    /// All models failed.
    #[error("no model could filter the results: {errors}")]
    ModelsFailed {
        /// One sentence per model.
        errors: String,
    },
    /// The root has no repository, or it can't be read. Other roots may have one.
    #[error("{}", sanitize(.0))]
    Repository(String),
    /// An external engine was requested, and none can be used.
    #[error("no external search engine can be used: {problems}")]
    NoEngine {
        /// The problem with each engine.
        problems: String,
    },
    /// An external engine failed.
    #[error("{0}")]
    Engine(String),
    /// The ranked index is not up to date with the tree, so an answer from it could be wrong.
    #[error("{message}")]
    Index {
        /// The problem.
        message: String,
        /// The next step.
        hint: Option<Hint>,
    },
    /// There is no collection to look words up in, or it does not support the request.
    #[error("{}", sanitize(message))]
    Collection {
        /// The problem.
        message: String,
        /// The next step.
        hint: Option<Hint>,
    },
    /// A condition uses a field that does not support filtering.
    #[error("`filter`: `{}` can't be used in a filter; the fields that can are {known}", sanitize(field))]
    Field {
        /// The field.
        field: String,
        /// A list of the fields that support it.
        known: String,
    },
    /// The caller cancelled the call.
    #[error("the call was cancelled")]
    Cancelled,
    /// A bug in this program.
    #[error("internal error in {tool}: {message}; please report it")]
    Internal {
        /// The tool's name.
        tool: String,
        /// Description of the failure.
        message: String,
    },
}

/// Error code for programs: `code` in `--json` output, `error_type` in telemetry.
///
/// The first sentence of a code says what happened, the rest what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The command line is not valid. See `forage help COMMAND`.
    Usage,
    /// The request of a tool is not a JSON object with the right fields. The message names the field.
    Request,
    /// The value of an argument is not valid, for example a malformed glob. The message names the argument
    /// and the values that it accepts.
    Argument,
    /// A pattern is not valid. Fix it at the position in the message, or search for plain text.
    Pattern,
    /// A path does not exist, can't be read, or is outside of the roots. The message suggests similar paths.
    Path,
    /// There is no tool with this name. The message lists the tools.
    UnknownTool,
    /// The configuration gives a tool a name that clients do not accept. Change the setting in the message.
    BadName,
    /// The configuration gives two tools the same name. Change one of the settings in the message, or turn a
    /// tool off.
    SameName,
    /// Every term of a keyword search matches too much. Use longer, more specific terms.
    TooBroad,
    /// No model is available. Set a key, run a local model, or filter without one; the message lists the
    /// settings that were checked.
    NoModel,
    /// All requested models failed. The message has the errors; try again later, or use another model.
    ModelsFailed,
    /// None of the configured external engines can run. Install ugrep or ripgrep, or use the embedded engine.
    NoEngine,
    /// An external engine failed. The message has its output; the embedded engine needs no other program.
    Engine,
    /// The ranked index can't be used. Search lines, or rebuild the index.
    Index,
    /// The collection does not exist or is incompatible, or its store does not answer. See the message.
    Collection,
    /// The call ended before it found anything, for example at its time limit. There may be matches: allow
    /// more time, or search a smaller directory.
    Unfinished,
    /// The model returned no answer, or refused. Rephrase the question, or use another model.
    NoAnswer,
    /// The call was interrupted. The answer has the results so far.
    Cancelled,
    /// A token of a team's server has reached its limit of calls. The message says when you should call
    /// again.
    RateLimited,
    /// A bug in Forage. Please report it.
    Internal,
    /// Any other error, such as an invalid configuration. See the message.
    Failed,
}

impl ToolError {
    /// Formats the error of a call of `tool` with the next step, in the reader's terms.
    pub fn message(&self, tool: &str, names: &ToolNames) -> String {
        let is_of_argument =
            matches!(self.code(), ErrorCode::Argument | ErrorCode::Pattern | ErrorCode::Path);
        let text = self.to_string();
        // The message names the argument as in JSON, but the reader may know it by another name.
        let text = match text.strip_prefix('`').and_then(|text| text.split_once("`: ")) {
            Some((argument, problem)) if is_of_argument => {
                format!("`{}`: {problem}", names.argument(tool, argument))
            }
            _ => text,
        };
        text + &names.hint(self.hint())
    }

    /// Suggests the next step if the message does not contain it.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Path(error) | Self::NoSuchPath { error, .. } => error.hint(),
            Self::TooBroad { .. } => Some(Hint::OtherSearch),
            Self::NoModel { .. } => Some(Hint::ConfigureModel),
            Self::ModelsFailed { .. } => Some(Hint::OtherModel),
            Self::NoEngine { .. } => Some(Hint::EmbeddedEngine),
            Self::Field { .. } => Some(Hint::ShowField),
            Self::Index { hint, .. } | Self::Collection { hint, .. } => *hint,
            Self::UnknownTool { .. }
            | Self::BadName { .. }
            | Self::SameName { .. }
            | Self::Request(_)
            | Self::Argument { .. }
            | Self::Pattern { .. }
            | Self::Repository(_)
            | Self::Engine(_)
            | Self::Cancelled
            | Self::Internal { .. } => None,
        }
    }

    /// Returns the error code for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownTool { .. } => ErrorCode::UnknownTool,
            Self::BadName { .. } => ErrorCode::BadName,
            Self::SameName { .. } => ErrorCode::SameName,
            Self::Request(_) => ErrorCode::Request,
            Self::Argument { .. } | Self::Field { .. } => ErrorCode::Argument,
            Self::Pattern { .. } => ErrorCode::Pattern,
            Self::Path(_) | Self::NoSuchPath { .. } | Self::Repository(_) => ErrorCode::Path,
            Self::TooBroad { .. } => ErrorCode::TooBroad,
            Self::NoModel { .. } => ErrorCode::NoModel,
            Self::ModelsFailed { .. } => ErrorCode::ModelsFailed,
            Self::NoEngine { .. } => ErrorCode::NoEngine,
            Self::Engine(_) => ErrorCode::Engine,
            Self::Index { .. } => ErrorCode::Index,
            Self::Collection { .. } => ErrorCode::Collection,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::Internal { .. } => ErrorCode::Internal,
        }
    }

    /// Creates the error for a pattern that is invalid or could not be compiled in time.
    pub(crate) fn pattern(argument: &'static str, source: PatternError, stop: &Stop) -> Self {
        match source {
            PatternError::Stopped if stop.is_cancelled() => Self::Cancelled,
            source => Self::Pattern { argument, source },
        }
    }

    /// Like [`Self::pattern`], but if the pattern looks like a glob, the message points to `globs`, the
    /// argument for globs.
    pub(crate) fn pattern_or_glob(pattern: &str, globs: &str, source: PatternError, stop: &Stop) -> Self {
        // No regular expression begins with `*`, but many globs do.
        let is_glob = pattern.starts_with('*') && !pattern.contains([' ', '\\', '(']);
        match source {
            source @ PatternError::Syntax { .. } if is_glob => Self::argument(
                "pattern",
                format!(
                    "{source}. To select files by name, pass the glob as `{globs}`, in addition to a pattern"
                ),
            ),
            source => Self::pattern("pattern", source, stop),
        }
    }

    /// Creates the error for a ranked index that can't be used.
    pub(crate) fn index(message: &impl fmt::Display, hint: Option<Hint>) -> Self {
        Self::Index { message: message.to_string(), hint }
    }

    /// Creates the error for an argument with an invalid value.
    pub(crate) fn argument(argument: &'static str, problem: impl Into<String>) -> Self {
        Self::Argument { argument, problem: sanitize(&problem.into()) }
    }
}

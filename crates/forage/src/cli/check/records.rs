//! The records of a checked entry for programs.

use schemars::JsonSchema;
use serde::Serialize;

/// What came of starting the command of a client's entry as the client would.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub(in crate::cli) struct EntryCheck {
    /// Whether the command was started.
    pub(super) tried: bool,
    /// Why it was not started; null when it was.
    pub(super) why: Option<String>,
    /// Whether it serves tools; null when it was not started.
    pub(super) serves: Option<bool>,
    /// Whether the client can use it: it serves tools, and the client lists it. Null when the client was not asked.
    pub(super) works: Option<bool>,
    /// The command line of the client that lists it; null when there is none.
    pub(super) listed_by: Option<String>,
    /// Wall time in milliseconds from its start to its list of tools; null unless it serves tools.
    pub(super) milliseconds: Option<u64>,
    /// The tools that it lists, by the names that the client's model sees; empty unless it serves any.
    pub(super) tools: Vec<String>,
    /// The call that was tried; null unless it serves a tool to call.
    pub(super) call: Option<TriedCall>,
    /// Whether the client hides the tools until its model searches for them; null where it never does, or it serves none.
    pub(super) deferred: Option<bool>,
    /// Why it does not work; null when it does, or was not started.
    pub(super) problem: Option<String>,
    /// In words, what to do about that; null without a problem.
    pub(super) advice: Option<String>,
    /// Variables that Forage uses here and that the client does not hand on.
    pub(super) missing_variables: Vec<String>,
    /// Sentences about fields of the entry that are likely to be misspelt.
    pub(super) entry_problems: Vec<String>,
    /// Sentences about what the client asks its user for before it calls a tool.
    pub(super) asks: Vec<String>,
    /// Steps that are left to the user, each in a few words.
    pub(super) needs: Vec<String>,
    /// Sentences about what keeps the client from a part of it.
    pub(super) warnings: Vec<String>,
}

/// A call of a tool that was tried.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct TriedCall {
    /// The tool.
    pub(super) tool: String,
    /// The error that it was answered with; null when there was none.
    pub(super) error: Option<String>,
}

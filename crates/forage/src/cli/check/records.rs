//! Records of a checked entry, for `--json`.

use schemars::JsonSchema;
use serde::Serialize;

/// The test of a client's entry: the command is started as the client would start it.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub(in crate::cli) struct EntryCheck {
    /// True if the command was started.
    pub(super) tried: bool,
    /// The reason why it was not started, or null.
    pub(super) why: Option<String>,
    /// True if it serves tools; null if it was not started.
    pub(super) serves: Option<bool>,
    /// True if it serves tools and the client lists it; null if the client was not asked.
    pub(super) works: Option<bool>,
    /// The client's command that lists servers, or null.
    pub(super) listed_by: Option<String>,
    /// Wall time in milliseconds from its start to its list of tools; null unless it serves tools.
    pub(super) milliseconds: Option<u64>,
    /// Its tools, by the names that the client's model sees.
    pub(super) tools: Vec<String>,
    /// The test call, or null.
    pub(super) call: Option<TriedCall>,
    /// True if the client hides the tools until its model searches for them; null if it never does, or there are no
    /// tools.
    pub(super) deferred: Option<bool>,
    /// The reason why it does not work, or null.
    pub(super) problem: Option<String>,
    /// The remedy in words, or null.
    pub(super) advice: Option<String>,
    /// Variables that Forage uses and that the client does not pass on.
    pub(super) missing_variables: Vec<String>,
    /// Fields of the entry that are probably misspelt.
    pub(super) entry_problems: Vec<String>,
    /// Confirmations that the client requests before a call.
    pub(super) asks: Vec<String>,
    /// Steps for the user.
    pub(super) needs: Vec<String>,
    /// Problems that affect a part of it.
    pub(super) warnings: Vec<String>,
}

/// A test call of a tool.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct TriedCall {
    /// The tool.
    pub(super) tool: String,
    /// The error of the call, or null.
    pub(super) error: Option<String>,
}

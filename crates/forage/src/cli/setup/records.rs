//! The records that `forage setup --json` prints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::cli::check::EntryCheck;
use crate::setup::{ClientState, Site};

/// A client that is known, of the list that `forage setup` prints without one.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct KnownClient {
    /// Its name as an argument.
    pub(super) client: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// The format of its files: `json`, `toml` or `yaml`.
    pub(super) format: &'static str,
    /// The user's file as people write it; null when the client has none.
    pub(super) user_file: Option<&'static str>,
    /// The project's file, from its root; null when the client has none.
    pub(super) project_file: Option<&'static str>,
    /// The file that has Forage's entry and nothing else.
    pub(super) snippet: String,
    /// In words, what somebody should know who sets it up; null when that is nothing.
    pub(super) remark: Option<String>,
    /// The version of the client that the entry was tried with; null when it was tried with none.
    pub(super) tried: Option<&'static str>,
    /// In words, by what it is recognised.
    pub(super) traces: Vec<String>,
    /// In words, those of these that are on this machine; empty when the client is not.
    pub(super) found: Vec<String>,
    /// Its files.
    pub(super) files: Vec<ClientFile>,
    /// What can be put in beside the entry.
    pub(super) with: Vec<SetupExtra>,
}

/// What a client takes beside the entry.
#[derive(JsonSchema, Serialize)]
pub(super) struct SetupExtra {
    /// Its name as an argument of `--with`.
    pub(super) name: &'static str,
    /// In words, what it is.
    pub(super) about: String,
    /// The user's file that it stands in; null when it is a part of the entry, or there is no such file.
    pub(super) user_file: Option<&'static str>,
    /// The project's file that it stands in, likewise.
    pub(super) project_file: Option<&'static str>,
    /// The file that has it and nothing else, where that is JSON; null otherwise.
    pub(super) snippet: Option<String>,
}

/// A client's file, with what is there of Forage.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct ClientFile {
    /// Whose file it is: `user` or `project`.
    scope: &'static str,
    /// Its path.
    file: String,
    /// `absent`, `set_up`, `foreign` for an entry that Forage did not write, or `not_understood`.
    state: &'static str,
    /// The command that the entry runs; null when the state is not `set_up`.
    command: Option<String>,
    /// In words, why Forage leaves the file alone; null when it does not.
    problem: Option<String>,
}

impl ClientFile {
    pub(in crate::cli) fn of(site: &Site) -> Self {
        Self {
            scope: site.scope.name(),
            file: site.path.display().to_string(),
            state: super::state_name(&site.state),
            command: match &site.state {
                ClientState::SetUp { command } => Some(command.clone()),
                _ => None,
            },
            problem: match &site.state {
                ClientState::Foreign => Some(super::state_words(&site.state)),
                ClientState::Unclear(refusal) => Some(refusal.to_string()),
                _ => None,
            },
        }
    }
}

/// Of `forage setup CLIENT`: what was done for a client, or would be.
#[derive(Default, JsonSchema, Serialize)]
pub(in crate::cli) struct ClientSetup {
    /// The client.
    pub(super) client: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// Whose file it is about: `user` or `project`.
    pub(super) scope: &'static str,
    /// The path of the file; null when the client was passed over.
    pub(super) file: Option<String>,
    /// The object or table of the file that holds the servers; null when the client was passed over.
    pub(super) section: Option<&'static str>,
    /// How the file was before: `absent`, `set_up`, `foreign` or `not_understood`; null when the client was passed over.
    pub(super) state_before: Option<&'static str>,
    /// What is done to the file: `none`, `create`, `add`, `update`, `remove` or `delete`; `refused` when it is left as it is.
    pub(super) change: &'static str,
    /// Whether that was done; else it was only shown, or there was nothing to do.
    pub(super) written: bool,
    /// The entry that the file gets, in the client's own fields; null when the client was passed over.
    pub(super) entry: Option<Value>,
    /// Names of the other servers in the file.
    pub(super) other_servers: Vec<String>,
    /// What stands beside the entry.
    pub(super) with: Vec<SetupAddition>,
    /// Names of what was asked for with `--with` and the client does not take.
    pub(super) not_taken: Vec<&'static str>,
    /// Why the client was passed over; null when it was not.
    pub(super) problem: Option<String>,
    /// What came of trying the entry; null unless it was written and tried.
    pub(super) check: Option<EntryCheck>,
}

/// What was put in or taken out beside the entry, or would be.
#[derive(JsonSchema, Serialize)]
pub(super) struct SetupAddition {
    /// Its name as an argument of `--with`.
    pub(super) name: &'static str,
    /// The file that it stands in.
    pub(super) file: String,
    /// What is done to the file: `none`, `create`, `add`, `update`, `remove`, `delete` or `refused`.
    pub(super) change: &'static str,
    /// Whether that was done; else it was only shown, or there was nothing to do.
    pub(super) written: bool,
    /// Why it was refused; null when it was not.
    pub(super) problem: Option<String>,
}

/// Of `forage setup --plugin-files`: the text of each file by which the repository is a plugin, by its path.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct PluginFiles(pub(super) BTreeMap<String, String>);

/// Of `forage setup other`: what a client takes that is not known.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct OtherClient<'a> {
    /// The name that was given.
    pub(super) client: &'a str,
    /// Whether the client is known: `false`.
    pub(super) known: bool,
    /// Names of known clients that may be meant.
    pub(super) similar: Vec<&'static str>,
    /// The command that the client has to run.
    pub(super) command: &'a str,
    /// Its arguments.
    pub(super) args: [&'static str; 1],
    /// What as a rule goes into the configuration of a client, by the format of its file.
    pub(super) snippets: BTreeMap<&'static str, String>,
}

//! Records that `forage setup --json` prints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::cli::check::EntryCheck;
use crate::setup::{ClientConfig, ClientState};

/// A known client, as `forage setup` lists it.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct KnownClient {
    /// Its name as an argument.
    pub(super) client: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// The format of its files: `json`, `toml` or `yaml`.
    pub(super) format: &'static str,
    /// The user's file, with `~`; null if the client has none.
    pub(super) user_file: Option<&'static str>,
    /// The project's file, below its root; null if the client has none.
    pub(super) project_file: Option<&'static str>,
    /// A file with only Forage's entry.
    pub(super) snippet: String,
    /// A note for the setup, or null.
    pub(super) remark: Option<String>,
    /// The version of the client with which the entry was tested, or null.
    pub(super) tried: Option<&'static str>,
    /// The signs by which the client is detected, in words.
    pub(super) traces: Vec<String>,
    /// The signs that are on this machine, in words.
    pub(super) found: Vec<String>,
    /// Its files.
    pub(super) files: Vec<ClientFile>,
    /// Possible additions to the entry.
    pub(super) with: Vec<SetupExtra>,
}

/// A possible addition to the entry.
#[derive(JsonSchema, Serialize)]
pub(super) struct SetupExtra {
    /// Its name as an argument of `--with`.
    pub(super) name: &'static str,
    /// Its kind, in words.
    pub(super) about: String,
    /// The user's file for it; null if it is a part of the entry, or there is no such file.
    pub(super) user_file: Option<&'static str>,
    /// The project's file for it; null if it is a part of the entry, or there is no such file.
    pub(super) project_file: Option<&'static str>,
    /// A file with only this addition, if that is JSON, or null.
    pub(super) snippet: Option<String>,
}

/// A client's file, and Forage's state in it.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct ClientFile {
    /// Owner of the file: `user` or `project`.
    scope: &'static str,
    /// Its path.
    file: String,
    /// `absent`, `set_up`, `foreign` for an entry that Forage did not write, or `not_understood`.
    state: &'static str,
    /// The command of the entry; null unless the state is `set_up`.
    command: Option<String>,
    /// The reason why Forage does not change the file, or null.
    problem: Option<String>,
}

impl ClientFile {
    pub(in crate::cli) fn from_site(site: &ClientConfig) -> Self {
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

/// Changes for a client.
#[derive(Default, JsonSchema, Serialize)]
pub(in crate::cli) struct ClientSetup {
    /// The client.
    pub(super) client: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// Owner of the file: `user` or `project`.
    pub(super) scope: &'static str,
    /// Path of the file; null if the client was skipped.
    pub(super) file: Option<String>,
    /// The object or table with the servers in this file; null if the client was skipped.
    pub(super) section: Option<&'static str>,
    /// State before: `absent`, `set_up`, `foreign` or `not_understood`; null if the client was skipped.
    pub(super) state_before: Option<&'static str>,
    /// Change of the file: `none`, `create`, `add`, `update`, `remove`, `delete` or `refused`.
    pub(super) change: &'static str,
    /// True if the change was written, false if it was only shown or none was necessary.
    pub(super) written: bool,
    /// The new entry, in the format of the client; null if the client was skipped.
    pub(super) entry: Option<Value>,
    /// Names of the other servers in the file.
    pub(super) other_servers: Vec<String>,
    /// Additions to the entry.
    pub(super) with: Vec<SetupAddition>,
    /// Names of requested additions that the client does not support.
    pub(super) not_taken: Vec<&'static str>,
    /// Why the client was skipped, or null.
    pub(super) problem: Option<String>,
    /// Result of the test of the entry; null if it was not tested.
    pub(super) check: Option<EntryCheck>,
}

/// A change of an addition to the entry.
#[derive(JsonSchema, Serialize)]
pub(super) struct SetupAddition {
    /// Its name as an argument of `--with`.
    pub(super) name: &'static str,
    /// The file for it.
    pub(super) file: String,
    /// What is done to the file: `none`, `create`, `add`, `update`, `remove`, `delete` or `refused`.
    pub(super) change: &'static str,
    /// True if the change was written, false if it was only shown or none was necessary.
    pub(super) written: bool,
    /// The reason for a refusal, or null.
    pub(super) problem: Option<String>,
}

/// The text of each file of the plugin, by path.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct PluginFiles(pub(super) BTreeMap<String, String>);

/// Entries for unknown clients.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct OtherClient<'a> {
    /// The requested name.
    pub(super) client: &'a str,
    /// Always `false`.
    pub(super) known: bool,
    /// Similar names of known clients.
    pub(super) similar: Vec<&'static str>,
    /// The command that the client must run.
    pub(super) command: &'a str,
    /// Its arguments.
    pub(super) args: [&'static str; 1],
    /// Usual entries in the configuration of a client, by file format.
    pub(super) snippets: BTreeMap<&'static str, String>,
    /// Usual entry in JSON of a client that connects to a server over HTTP.
    pub(super) http: String,
}

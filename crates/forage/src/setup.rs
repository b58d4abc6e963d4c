//! Sets Forage up in the programs that run it. This adds one entry to a client's configuration file, changes
//! nothing else in that file, and can later remove the entry so that the original bytes return.
//!
//! We never reformat a file, and we refuse to edit one that we don't understand. The rest of a file may be
//! secret, so nothing of it must appear in our output except for the names of the other servers.

mod addition;
mod block;
mod clients;
pub(crate) mod detect;
mod entry;
mod extension;
mod extras;
mod file;
#[cfg(test)]
mod fuzz;
mod jsonc;
mod launch;
mod listing;
mod markdown;
mod marked;
mod owned;
mod pieces;
pub(crate) mod plugin;
mod probe;
mod settings;
mod skill;
#[cfg(test)]
mod tests;
pub(crate) mod texts;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) use addition::{Addition, ExtraParts, profile};
pub(crate) use clients::{CLIENTS, Client, FileFormat, NAME, SetupScope, is_forage};
pub(crate) use entry::{ServerEntry, expanded};
pub(crate) use extension::{Extension, extension};
pub(crate) use extras::{Extra, ExtraKind, HookEvent, extras_of, hooks_remark};
pub(crate) use launch::{Consent, Environment, Launch, OfferedTools};
pub(crate) use listing::{Listed, listed};
pub(crate) use pieces::snippet as extra_snippet;
pub(crate) use probe::{ProbeCall, ProbeFailure, ProbeReport, ProbeStart, program, talk};
pub(crate) use settings::{EntrySettings, Permission};

use crate::config::ClientDirectories;
use jsonc::{JsonTarget, Leaf};

/// Why a file is left unchanged. The text must read well after "FILE is left unchanged: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SetupRefusal(String);

impl SetupRefusal {
    fn new(reason: String) -> Self {
        Self(reason)
    }
}

/// Whether a client is set up in a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClientState {
    /// There is no entry. If `exists` is false, there is no file either.
    Absent { exists: bool },
    /// This is Forage's own entry, and it runs `command`.
    SetUp { command: String },
    /// An entry with Forage's name exists, but it runs another program.
    Foreign,
    /// We can't read or parse the file.
    Unclear(SetupRefusal),
}

/// A client's configuration file and its content.
#[derive(Debug)]
pub(crate) struct ClientConfig {
    pub(crate) client: &'static Client,
    pub(crate) scope: SetupScope,
    pub(crate) path: PathBuf,
    pub(crate) state: ClientState,
    /// The names of the other servers in the file.
    pub(crate) neighbours: Vec<String>,
    /// True if the file already has a section for servers.
    pub(crate) has_section: bool,
    /// Forage's entry exactly as it is in the file, including fields that the user added.
    entry: Option<Value>,
    file: Option<file::FoundFile>,
}

/// An edit of a configuration file, with the new text if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileChange {
    /// The file is already in the wanted state.
    None,
    Create(String),
    Add(String),
    /// The entry exists already and gets another command or other fields.
    Update(String),
    Remove(String),
    /// We created the file for the entry, so we delete it together with the entry.
    Delete,
}

impl FileChange {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Create(_) => "create",
            Self::Add(_) => "add",
            Self::Update(_) => "update",
            Self::Remove(_) => "remove",
            Self::Delete => "delete",
        }
    }
}

impl ClientConfig {
    /// Inspects a client's file. Returns `None` if the client has no file in this scope, or if its location
    /// is unknown.
    pub(crate) fn find(
        client: &'static Client,
        scope: SetupScope,
        directories: &ClientDirectories,
        project: &Path,
    ) -> Option<Self> {
        let client = client.variant(scope, directories);
        let path = client.file(scope, directories, project)?;
        let project = (scope == SetupScope::Project).then_some(project);
        let mut site = Self {
            client,
            scope,
            path,
            state: ClientState::Absent { exists: false },
            neighbours: Vec::new(),
            has_section: false,
            entry: None,
            file: None,
        };
        match file::read(&site.path, project) {
            Ok(found) => {
                if let Some(text) = &found.text {
                    site.look(text);
                }
                site.file = Some(found);
            }
            Err(refusal) => site.state = ClientState::Unclear(refusal),
        }
        Some(site)
    }

    fn look(&mut self, text: &str) {
        let spot = self.client.spot();
        let found = match self.client.format {
            FileFormat::Json => jsonc::inspect(text, spot),
            FileFormat::Skill => skill::inspect(text),
            format => format.inspect(text, spot),
        };
        match found {
            Err(refusal) => self.state = ClientState::Unclear(refusal),
            Ok(found) => {
                self.state = match found.entry.as_ref().map(|entry| self.client.command_of(entry)) {
                    None => ClientState::Absent { exists: true },
                    Some(Some(command)) => ClientState::SetUp { command },
                    Some(None) => ClientState::Foreign,
                };
                (self.neighbours, self.has_section) = (found.neighbours, found.has_section);
                self.entry = found.entry;
            }
        }
    }

    /// Computes the edit that makes the client run `command`, with these fields in the entry.
    pub(crate) fn add(&self, command: &str, extensions: &[Extension]) -> Result<FileChange, SetupRefusal> {
        let client = self.client;
        let mut entry = client.entry(command);
        extensions.iter().for_each(|extension| extension.put(&mut entry));
        let text = self.file.as_ref().and_then(|file| file.text.as_deref());
        match (&self.state, text, &self.entry) {
            (ClientState::Unclear(refusal), ..) => Err(refusal.clone()),
            (ClientState::Foreign, ..) => Err(SetupRefusal::new(format!(
                "it already has an entry `{NAME}`, which does not run `forage mcp`; rename or remove it"
            ))),
            (_, None, _) => Ok(FileChange::Create(created(client, &entry))),
            // Keep the fields that the user has added.
            (ClientState::SetUp { .. }, Some(text), Some(present)) => {
                let mut wanted = client.with_command(present, command);
                extensions.iter().for_each(|extension| extension.put(&mut wanted));
                self.update(text, present, &wanted)
            }
            (_, Some(text), _) => Ok(FileChange::Add(added(client, text, &entry)?)),
        }
    }

    /// Computes the edit that removes these fields from the entry.
    pub(crate) fn retract(&self, extensions: &[Extension]) -> Result<FileChange, SetupRefusal> {
        let text = self.file.as_ref().and_then(|file| file.text.as_deref());
        match (&self.state, text, &self.entry) {
            (ClientState::Unclear(refusal), ..) => Err(refusal.clone()),
            (ClientState::SetUp { .. }, Some(text), Some(present)) => {
                let mut wanted = present.clone();
                extensions.iter().for_each(|extension| extension.take(&mut wanted));
                self.update(text, present, &wanted)
            }
            _ => Ok(FileChange::None),
        }
    }

    fn update(&self, text: &str, present: &Value, wanted: &Value) -> Result<FileChange, SetupRefusal> {
        // The text of a skill differs between versions of Forage, even if its entry is the same.
        if wanted == present && self.client.format != FileFormat::Skill {
            return Ok(FileChange::None);
        }
        let new = added(self.client, text, wanted)?;
        Ok(if new == text { FileChange::None } else { FileChange::Update(new) })
    }

    /// Returns true if the entry has this extension's field.
    pub(crate) fn has(&self, extension: &Extension) -> bool {
        self.entry.as_ref().is_some_and(|present| {
            let mut without = present.clone();
            extension.take(&mut without);
            without != *present
        })
    }

    /// Computes the edit that stops the client from running Forage.
    pub(crate) fn remove(&self) -> Result<FileChange, SetupRefusal> {
        match (&self.state, &self.file) {
            (ClientState::Unclear(refusal), _) => Err(refusal.clone()),
            (ClientState::Foreign, _) => Err(SetupRefusal::new(format!(
                "its entry `{NAME}` does not run `forage mcp`, so Forage did not write it; remove it by hand"
            ))),
            (ClientState::SetUp { .. }, Some(file)) => {
                let text = file.text.as_deref().unwrap_or_default();
                match removed(self.client, text)? {
                    None if file.may_go() => Ok(FileChange::Delete),
                    rest => Ok(FileChange::Remove(rest.unwrap_or_default())),
                }
            }
            _ => Ok(FileChange::None),
        }
    }

    /// Applies an edit to the file.
    pub(crate) fn apply(&self, change: &FileChange) -> Result<(), SetupRefusal> {
        self.file.as_ref().map_or(Ok(()), |file| file.apply(change))
    }
}

/// Formats a configuration file that contains only Forage's entry, so that users can paste it.
pub(crate) fn snippet(client: &Client, command: &str, extensions: &[&Extension]) -> String {
    general_snippet(client.format, client.spot(), &entry_with(client, command, extensions))
}

fn general_snippet(format: FileFormat, spot: EntryLocation<'static>, entry: &Value) -> String {
    match format {
        FileFormat::Json => jsonc::created(spot.target(), entry),
        FileFormat::Skill => skill::text(entry),
        format => format.lines(spot, entry, true).join("\n") + "\n",
    }
}

/// Splits [`snippet`] into lines.
pub(crate) fn entry_lines(client: &Client, command: &str, extensions: &[&Extension]) -> Vec<String> {
    snippet(client, command, extensions).lines().map(str::to_owned).collect()
}

/// Builds the entry that runs `command`, with the requested fields.
pub(crate) fn entry_with(client: &Client, command: &str, extensions: &[&Extension]) -> Value {
    let mut entry = client.entry(command);
    extensions.iter().for_each(|extension| extension.put(&mut entry));
    entry
}

/// Formats one snippet per file format for clients that are not in our list. Most of them accept such an
/// entry within a section of servers.
pub(crate) fn general_snippets(command: &str) -> [(&'static str, String); 3] {
    let entry = serde_json::json!({ "command": command, "args": ["mcp"] });
    [(FileFormat::Json, "mcpServers"), (FileFormat::Toml, "mcp_servers"), (FileFormat::Yaml, "mcpServers")]
        .map(|(format, section)| {
            let spot = EntryLocation { section, name: NAME, is_list: false };
            (format.name(), general_snippet(format, spot, &entry))
        })
}

/// Formats an entry for a client that connects to a server over HTTP.
pub(crate) fn http_snippet() -> String {
    let entry = serde_json::json!({
        "type": "http", "url": "http://127.0.0.1:8930/mcp", "headers": { "Authorization": "Bearer TOKEN" },
    });
    general_snippet(
        FileFormat::Json,
        EntryLocation { section: "mcpServers", name: NAME, is_list: false },
        &entry,
    )
}

fn created(client: &Client, entry: &Value) -> String {
    match client.format {
        FileFormat::Json => jsonc::created(client.spot().target(), entry),
        FileFormat::Skill => skill::text(entry),
        format => marked::created(&format.lines(client.spot(), entry, true)),
    }
}

fn added(client: &Client, text: &str, entry: &Value) -> Result<String, SetupRefusal> {
    match client.format {
        FileFormat::Json => jsonc::add(text, client.spot().target(), entry),
        FileFormat::Skill => Ok(skill::text(entry)),
        format => format.add(text, client.spot(), entry),
    }
}

/// Removes the entry. Returns `None` if we created the file for it and should now delete it.
fn removed(client: &Client, text: &str) -> Result<Option<String>, SetupRefusal> {
    match client.format {
        FileFormat::Json => jsonc::remove(text, client.spot().target()),
        FileFormat::Skill => Ok(None),
        format => format.remove(text, client.spot()),
    }
}

/// Where an entry is in a file: `name` within the top-level `section`.
#[derive(Clone, Copy, Debug)]
struct EntryLocation<'a> {
    section: &'a str,
    name: &'a str,
    /// True if the section is a list. Its elements then contain their own names.
    is_list: bool,
}

impl<'a> EntryLocation<'a> {
    fn target(&'a self) -> JsonTarget<'a> {
        JsonTarget { path: std::slice::from_ref(&self.section), leaf: Leaf::Member(self.name) }
    }
}

/// The servers in a file.
#[derive(Debug, Default)]
struct FileContents {
    entry: Option<Value>,
    /// The names of the other entries of the section.
    neighbours: Vec<String>,
    has_section: bool,
}

fn contents(file: &Value, spot: EntryLocation<'_>) -> Result<FileContents, SetupRefusal> {
    let Some(section) = file.get(spot.section) else { return Ok(FileContents::default()) };
    let all: Vec<(&str, &Value)> = match section {
        Value::Object(entries) if !spot.is_list => {
            entries.iter().map(|(name, entry)| (name.as_str(), entry)).collect()
        }
        Value::Array(items) if spot.is_list => {
            items.iter().map(|item| (item["name"].as_str().unwrap_or_default(), item)).collect()
        }
        // In YAML, the value of a section without entries is null.
        Value::Null => Vec::new(),
        _ => {
            let form = if spot.is_list { "list" } else { "table of servers" };
            return Err(SetupRefusal::new(format!("`{}` in it is not a {form}", spot.section)));
        }
    };
    let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, _)| *name == spot.name);
    if own.len() > 1 {
        return Err(SetupRefusal::new(format!("it has `{}` more than once", spot.name)));
    }
    let neighbours = others.iter().map(|(name, _)| *name).filter(|name| !name.is_empty());
    Ok(FileContents {
        entry: own.first().map(|(_, entry)| (*entry).clone()),
        neighbours: neighbours.map(str::to_owned).collect(),
        has_section: true,
    })
}

/// Detects the line ending of a text from its first line.
fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

//! An [extra](super::extras) in a client's files: detects, adds and removes it.

use std::path::{Path, PathBuf};

use forage_mcp::Profile;
use forage_tools::ToolNames;
use forage_tools::registry::AnyTool;

use super::extras::{AgentForm, Extra, ExtraPiece, ExtraTarget, OwnFileText};
use super::owned::{self, Comment};
use super::pieces::{self, slots, tool_slots};
use super::{Client, FileChange, SetupRefusal, SetupScope, file, markdown, texts};
use crate::config::ClientDirectories;

/// The data from which extras are generated.
pub(crate) struct ExtraParts {
    /// The command that runs Forage.
    pub(crate) command: String,
    /// The tools that are advertised to agents.
    pub(crate) tools: Vec<&'static dyn AnyTool>,
    /// The names of the variables that Forage reads, if they are set.
    pub(crate) variables: Vec<String>,
}

impl ExtraParts {
    /// Returns the tools that are offered to a client. A client with its own file tools does not need ours.
    fn offered(&self, client: &Client) -> Vec<&'static dyn AnyTool> {
        let has_files = profile(client).has_files();
        let is_offered = |tool: &&&'static dyn AnyTool| {
            !has_files || !["read_file", "list_directory"].contains(&tool.id())
        };
        self.tools.iter().filter(is_offered).copied().collect()
    }

    fn names(&self, client: &Client, is_bare: bool) -> ToolNames {
        texts::names(&self.offered(client), (!is_bare).then(|| profile(client)))
    }

    /// Lists the names that the tools have in this client.
    pub(super) fn tool_names(&self, client: &Client) -> Vec<String> {
        let profile = profile(client);
        self.offered(client).iter().map(|tool| profile.listed(*tool)).collect()
    }
}

/// Looks up the profile that describes how a client writes tool names.
pub(crate) fn profile(client: &Client) -> Profile {
    // Profiles go by the name in the handshake, where Qwen Code calls itself `qwen-cli-…`.
    match client.name {
        "qwen" => Profile::for_client("qwen-cli"),
        name => Profile::for_client(name),
    }
}

/// An extra and its file.
#[derive(Debug)]
pub(crate) struct Addition {
    pub(crate) extra: &'static Extra,
    client: &'static Client,
    scope: SetupScope,
    pub(crate) path: PathBuf,
    file: Result<file::FoundFile, SetupRefusal>,
}

impl Addition {
    /// Inspects the file of an extra. Returns `None` if the extra is a field of the entry, or if the client
    /// has no such file in this scope.
    pub(crate) fn find(
        client: &'static Client,
        extra: &'static Extra,
        scope: SetupScope,
        directories: &ClientDirectories,
        project: &Path,
    ) -> Option<Self> {
        let place = extra.place(scope)?;
        let (path, project) = match scope {
            SetupScope::User => (directories.resolve(place)?, None),
            SetupScope::Project => (project.join(place), Some(project)),
        };
        let file = file::read(&path, project);
        Some(Self { extra, client, scope, path, file })
    }

    fn text(&self) -> Option<&str> {
        self.file.as_ref().ok()?.text.as_deref()
    }

    /// Returns true if at least a part of the extra is present.
    pub(crate) fn is_present(&self) -> bool {
        let Some(text) = self.text() else { return false };
        match &self.extra.how {
            ExtraTarget::Entry(_) => false,
            ExtraTarget::Json(pieces) => pieces.iter().any(|piece| {
                let slots = slots(*piece, &pieces::known_tools());
                // A version number alone does not show that Forage wrote the file.
                !matches!(piece, ExtraPiece::Version(..))
                    && slots.iter().any(|slot| matches!(slot.find(text), Ok(Some(_))))
            }),
            ExtraTarget::File(text_of) => owned::check(text, comment(*text_of)).is_ok(),
            ExtraTarget::Block => markdown::has(text, self.client.name).unwrap_or(false),
        }
    }

    /// Computes the edit that adds the extra.
    pub(crate) fn add(&self, words: &ExtraParts) -> Result<FileChange, SetupRefusal> {
        let file = self.file.as_ref().map_err(Clone::clone)?;
        let text = file.text.as_deref();
        let new = match &self.extra.how {
            ExtraTarget::Entry(_) => return Ok(FileChange::None),
            ExtraTarget::Json(pieces) => pieces::add(pieces, text, self.client, words)?,
            ExtraTarget::File(text_of) => {
                if let Some(text) = text {
                    owned::check(text, comment(*text_of))?;
                }
                self.whole(*text_of, words)
            }
            ExtraTarget::Block => {
                let lines = self.lines_of_block(words);
                match text {
                    Some(text) => markdown::add(text, &lines, self.client.name)?,
                    None => markdown::created(&lines, self.client.name),
                }
            }
        };
        Ok(match text {
            Some(text) if text == new => FileChange::None,
            Some(_) if self.is_present() => FileChange::Update(new),
            Some(_) => FileChange::Add(new),
            None => FileChange::Create(new),
        })
    }

    /// Computes the edit that removes the extra.
    pub(crate) fn remove(&self, words: &ExtraParts) -> Result<FileChange, SetupRefusal> {
        let file = self.file.as_ref().map_err(Clone::clone)?;
        let Some(text) = file.text.as_deref() else { return Ok(FileChange::None) };
        let rest = match &self.extra.how {
            ExtraTarget::Entry(_) => return Ok(FileChange::None),
            ExtraTarget::Json(pieces) => pieces::remove(pieces, text)?,
            // Ignore a file that Forage did not write. If our own file was changed, it must stay.
            ExtraTarget::File(text_of) => match owned::check(text, comment(*text_of)) {
                Ok(()) => None,
                Err(refusal) if text.contains(owned::MARK) => return Err(refusal),
                Err(_) => return Ok(FileChange::None),
            },
            ExtraTarget::Block => markdown::remove(text, &self.lines_of_block(words), self.client.name)?,
        };
        Ok(match rest {
            Some(rest) if rest == text => FileChange::None,
            None if file.may_go() => FileChange::Delete,
            rest => FileChange::Remove(rest.unwrap_or_default()),
        })
    }

    /// Applies an edit to the file.
    pub(crate) fn apply(&self, change: &FileChange) -> Result<(), SetupRefusal> {
        self.file.as_ref().map_err(Clone::clone)?.apply(change)
    }

    /// Lists the lines that the extra adds to the file. The flag is true for the extra's own lines, and false
    /// for containers that may already exist.
    pub(crate) fn shown(&self, words: &ExtraParts) -> Vec<(bool, String)> {
        let own = |text: String| text.lines().map(|line| (true, line.to_owned())).collect::<Vec<_>>();
        match &self.extra.how {
            ExtraTarget::Entry(_) => Vec::new(),
            ExtraTarget::File(text_of) => own(self.whole(*text_of, words)),
            ExtraTarget::Block => own(markdown::created(&self.lines_of_block(words), self.client.name)),
            ExtraTarget::Json(pieces) => {
                let mut lines = Vec::new();
                for piece in *pieces {
                    if matches!(piece, ExtraPiece::Version(..)) && self.text().is_some() {
                        continue;
                    }
                    for slot in slots(*piece, &tool_slots(*piece, self.client, words)) {
                        let depth = slot.path.len() + 1;
                        let text = slot.created(&slot.value(self.client, words));
                        let all = text.lines().count();
                        let is_own =
                            |index: usize| self.text().is_none() || (depth..all - depth).contains(&index);
                        lines.extend(
                            text.lines().enumerate().map(|(index, line)| (is_own(index), line.to_owned())),
                        );
                    }
                }
                lines
            }
        }
    }

    fn lines_of_block(&self, words: &ExtraParts) -> Vec<String> {
        let is_shared = self.scope == SetupScope::Project && self.path.ends_with("AGENTS.md");
        texts::instructions(&words.names(self.client, is_shared))
    }

    fn whole(&self, text: OwnFileText, words: &ExtraParts) -> String {
        let names = words.names(self.client, false);
        let written = |name: &String| profile(self.client).prefixed(name);
        let body = match text {
            OwnFileText::Rule(front) => texts::rule(front, &names),
            OwnFileText::Skill => texts::skill(&names),
            OwnFileText::Agent(form) => {
                let tools: Vec<String> = words.tool_names(self.client).iter().map(written).collect();
                texts::agent(form, &tools, &names)
            }
        };
        owned::marked(&body, comment(text))
    }
}

fn comment(text: OwnFileText) -> Comment {
    match text {
        OwnFileText::Agent(AgentForm::Codex) => Comment::Hash,
        _ => Comment::Markdown,
    }
}

//! One of the [`extras`](super::extras) in the files of a client: whether it is there, how it comes in and goes out.

use std::path::{Path, PathBuf};

use forage_mcp::Profile;
use forage_tools::ToolNames;
use forage_tools::registry::AnyTool;

use super::extras::{AgentForm, Extra, ExtraPiece, How, OwnFileText};
use super::owned::{self, Comment};
use super::pieces::{self, slots, tool_slots};
use super::{Client, FileChange, SetupRefusal, SetupScope, file, markdown, texts};
use crate::config::ClientDirectories;

/// What extras are made of.
pub(crate) struct ExtraParts {
    /// What runs Forage.
    pub(crate) command: String,
    /// The tools that agents are told of.
    pub(crate) tools: Vec<&'static dyn AnyTool>,
    /// The names of the variables that Forage reads, and that are set.
    pub(crate) variables: Vec<String>,
}

impl ExtraParts {
    /// Those that are offered to a client.
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

    /// The names by which the client is told of the tools.
    pub(super) fn tool_names(&self, client: &Client) -> Vec<String> {
        let profile = profile(client);
        self.offered(client).iter().map(|tool| profile.listed(*tool)).collect()
    }
}

/// What is known of how a client writes names.
pub(crate) fn profile(client: &Client) -> Profile {
    match client.name {
        "qwen" => Profile::of("qwen-cli"),
        name => Profile::of(name),
    }
}

/// An extra in its file.
#[derive(Debug)]
pub(crate) struct Addition {
    pub(crate) extra: &'static Extra,
    client: &'static Client,
    scope: SetupScope,
    pub(crate) path: PathBuf,
    file: Result<file::FoundFile, SetupRefusal>,
}

impl Addition {
    /// Looks at its file; `None` for a field of the entry, and where the client has none of that scope.
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

    /// Whether something of it is there.
    pub(crate) fn is_there(&self) -> bool {
        let Some(text) = self.text() else { return false };
        match &self.extra.how {
            How::Entry(_) => false,
            How::Json(pieces) => pieces.iter().any(|piece| {
                let slots = slots(*piece, &pieces::known_tools());
                // A version is not Forage's alone.
                !matches!(piece, ExtraPiece::Version(..))
                    && slots.iter().any(|slot| matches!(slot.find(text), Ok(Some(_))))
            }),
            How::File(text_of) => owned::check(text, comment(*text_of)).is_ok(),
            How::Block => markdown::has(text, self.client.name).unwrap_or(false),
        }
    }

    /// What it takes to have it there.
    pub(crate) fn add(&self, words: &ExtraParts) -> Result<FileChange, SetupRefusal> {
        let file = self.file.as_ref().map_err(Clone::clone)?;
        let text = file.text.as_deref();
        let new = match &self.extra.how {
            How::Entry(_) => return Ok(FileChange::None),
            How::Json(pieces) => pieces::add(pieces, text, self.client, words)?,
            How::File(text_of) => {
                if let Some(text) = text {
                    owned::check(text, comment(*text_of))?;
                }
                self.whole(*text_of, words)
            }
            How::Block => {
                let lines = self.lines_of_block(words);
                match text {
                    Some(text) => markdown::add(text, &lines, self.client.name)?,
                    None => markdown::created(&lines, self.client.name),
                }
            }
        };
        Ok(match text {
            Some(text) if text == new => FileChange::None,
            Some(_) if self.is_there() => FileChange::Update(new),
            Some(_) => FileChange::Add(new),
            None => FileChange::Create(new),
        })
    }

    /// What it takes to have it there no longer.
    pub(crate) fn remove(&self) -> Result<FileChange, SetupRefusal> {
        let file = self.file.as_ref().map_err(Clone::clone)?;
        let Some(text) = file.text.as_deref() else { return Ok(FileChange::None) };
        let rest = match &self.extra.how {
            How::Entry(_) => return Ok(FileChange::None),
            How::Json(pieces) => pieces::remove(pieces, text)?,
            // Somebody else's is none of ours; one that was changed is, and stays.
            How::File(text_of) => match owned::check(text, comment(*text_of)) {
                Ok(()) => None,
                Err(refusal) if text.contains(owned::MARK) => return Err(refusal),
                Err(_) => return Ok(FileChange::None),
            },
            How::Block => markdown::remove(text, self.client.name)?,
        };
        Ok(match rest {
            Some(rest) if rest == text => FileChange::None,
            None if file.may_go() => FileChange::Delete,
            rest => FileChange::Remove(rest.unwrap_or_default()),
        })
    }

    /// Does it.
    pub(crate) fn apply(&self, change: &FileChange) -> Result<(), SetupRefusal> {
        self.file.as_ref().map_err(Clone::clone)?.apply(change)
    }

    /// The lines that come into the file, and whether each is one of its own or belongs to what may be there already.
    pub(crate) fn shown(&self, words: &ExtraParts) -> Vec<(bool, String)> {
        let own = |text: String| text.lines().map(|line| (true, line.to_owned())).collect::<Vec<_>>();
        match &self.extra.how {
            How::Entry(_) => Vec::new(),
            How::File(text_of) => own(self.whole(*text_of, words)),
            How::Block => own(markdown::created(&self.lines_of_block(words), self.client.name)),
            How::Json(pieces) => {
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
                            |nth: usize| self.text().is_none() || (depth..all - depth).contains(&nth);
                        lines.extend(
                            text.lines().enumerate().map(|(nth, line)| (is_own(nth), line.to_owned())),
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

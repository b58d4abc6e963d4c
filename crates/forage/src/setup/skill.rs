//! Clients without MCP get a skill that runs the program in a shell, in a file that Forage owns as a whole.

use serde_json::{Value, json};

use super::owned::{self, Comment};
use super::{FileContents, SetupRefusal, texts};

/// Returns the text of the file for an entry.
pub(super) fn text(entry: &Value) -> String {
    let command = entry["command"].as_str().unwrap_or_default();
    owned::marked(&texts::shell_skill(command), Comment::Markdown)
}

/// Returns the entry that a file was written for. A file that somebody else wrote, or changed, is an error.
pub(super) fn inspect(text: &str) -> Result<FileContents, SetupRefusal> {
    owned::check(text, Comment::Markdown)?;
    let command = texts::command_of_shell_skill(text);
    let entry = command.map(|command| json!({ "command": command, "args": ["mcp"] }));
    Ok(FileContents { entry, ..FileContents::default() })
}

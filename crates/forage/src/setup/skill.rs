//! Skills for clients without MCP. The skill runs the program in a shell, and its file belongs to Forage as a
//! whole.

use serde_json::{Value, json};

use super::owned::{self, Comment};
use super::{FileContents, SetupRefusal, texts};

/// Formats the file for an entry.
pub(super) fn text(entry: &Value) -> String {
    let command = entry["command"].as_str().unwrap_or_default();
    owned::marked(&texts::shell_skill(command), Comment::Markdown)
}

/// Reads the entry back from a file. Refuses a file that Forage did not write or that was changed since.
pub(super) fn inspect(text: &str) -> Result<FileContents, SetupRefusal> {
    owned::check(text, Comment::Markdown)?;
    let command = texts::command_of_shell_skill(text);
    let entry = command.map(|command| json!({ "command": command, "args": ["mcp"] }));
    Ok(FileContents { entry, ..FileContents::default() })
}

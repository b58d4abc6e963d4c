//! Installs this repository as a plugin of real clients. The server must search the project that the client
//! is in.

use std::path::Path;

use serde_json::json;

use super::stage::Stage;
use super::{NEEDLE, call, last_word, table, texts};

/// In Claude Code, the tools of a plugin's server have another prefix.
static CLAUDE_CODE: table::Client = table::Client {
    arguments: &["-p", "{prompt}", "--allowedTools", "mcp__plugin_forage_forage"],
    ..table::CLAUDE_CODE
};

fn project_is_searched(client: &'static table::Client, commands: [&[&str]; 2]) {
    let script = json!([call("grep_search", &json!({ "pattern": "needle" })), last_word()]);
    let Some(stage) = Stage::new(client, &[NEEDLE], &script) else { return };
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let repository = repository.to_str().unwrap();
    for command in commands {
        let arguments: Vec<&str> =
            command.iter().map(|word| if *word == "REPOSITORY" { repository } else { *word }).collect();
        stage.command(&arguments);
    }
    stage.run();
    let result = stage.result(0);
    assert!(result.contains("a needle in it"), "{result}");
    assert!(result.contains(&format!("[root: {}]", stage.project.root.display())), "{result}");
    // No text may name a tool by a prefix that it doesn't have there.
    let mut shown = Vec::new();
    let conversation = stage.conversation();
    texts(&conversation[0]["body"], &mut shown);
    assert!(!shown.iter().any(|text| text.contains("mcp__forage__")), "{shown:?}");
}

/// Adds the marketplace.
const ADD: [&str; 4] = ["plugin", "marketplace", "add", "REPOSITORY"];

#[test]
fn of_claude_code() {
    project_is_searched(&CLAUDE_CODE, [&ADD[..], &["plugin", "install", "forage@forage"]]);
}

/// Copilot starts the server in the plugin's directory.
#[test]
fn of_copilot_cli() {
    project_is_searched(&table::COPILOT_CLI, [&ADD[..], &["plugin", "install", "forage@forage"]]);
}

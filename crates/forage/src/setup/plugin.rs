//! The files that turn Forage's repository into a plugin marketplace (for Claude Code, Codex and Copilot) and
//! an extension (for Gemini CLI).
//!
//! `cargo xtask generate` writes these files, so that they always match the program.

use std::collections::BTreeMap;

use forage_mcp::Profile;
use forage_tools::registry::{AnyTool, ToolSelection, advertised};
use serde_json::{Map, Value, json};

use super::extras::AgentForm;
use super::{Client, Extra, ExtraKind, ExtraParts, HookEvent, NAME, extra_snippet, extras_of, texts};

/// The path of the plugin in the repository.
const PLUGIN: &str = "packaging/plugin";

const DESCRIPTION: &str =
    "Code search for coding agents: the right files by question, by pattern or by name, with exact totals";

/// The prefix that Claude Code puts before the tools of a plugin's server.
const PREFIX: &str = "mcp__plugin_forage_forage__";

/// The client name in the hooks of a plugin. The names of its tools depend on which client has installed it,
/// so we can't name one here.
pub(crate) const CLIENT: &str = "plugin";

/// Generates the files, by their paths.
pub(crate) fn files() -> BTreeMap<String, String> {
    let tools = advertised(&ToolSelection::default()).unwrap_or_default();
    let tools: Vec<&'static dyn AnyTool> =
        tools.into_iter().filter(|tool| !["read_file", "list_directory"].contains(&tool.id())).collect();
    let written: Vec<String> = tools.iter().map(|tool| format!("{PREFIX}{}", tool.name())).collect();
    let (bare, gemini) =
        (texts::names(&tools, None), texts::names(&tools, Some(Profile::for_client("gemini-cli"))));
    let version = env!("CARGO_PKG_VERSION");
    let server = json!({ NAME: { "command": NAME, "args": ["mcp"] } });
    let about = json!({ "name": NAME, "version": version, "description": DESCRIPTION });
    let in_plugin = |path: &str| format!("{PLUGIN}/{path}");
    let files = [
        (
            ".claude-plugin/marketplace.json".to_owned(),
            pretty(&json!({
                "name": NAME,
                "owner": { "name": "Forage" },
                "metadata": { "description": DESCRIPTION, "version": version },
                "plugins": [{
                    "name": NAME,
                    "source": format!("./{PLUGIN}"),
                    "description": DESCRIPTION,
                    "version": version,
                }],
            })),
        ),
        (
            in_plugin(".claude-plugin/plugin.json"),
            pretty(&with(&about, &json!({ "author": { "name": "Forage" }, "license": "MIT OR Apache-2.0" }))),
        ),
        (in_plugin(".mcp.json"), pretty(&json!({ "mcpServers": server }))),
        (in_plugin("hooks/hooks.json"), hooks(tools.clone())),
        (in_plugin("skills/forage/SKILL.md"), texts::skill(&bare)),
        (
            in_plugin("agents/forage-search.md"),
            texts::agent(AgentForm::Claude, &written, &texts::names_with(&tools, PREFIX)),
        ),
        (in_plugin("GEMINI.md"), texts::rule(&[], &gemini).trim_end().to_owned() + "\n"),
        (
            "gemini-extension.json".to_owned(),
            pretty(&with(
                &about,
                &json!({ "mcpServers": server, "contextFileName": in_plugin("GEMINI.md") }),
            )),
        ),
    ];
    files.into()
}

/// Formats Claude Code's hooks, with the plugin in place of the client.
fn hooks(tools: Vec<&'static dyn AnyTool>) -> String {
    let words = ExtraParts { command: NAME.to_owned(), tools, variables: Vec::new() };
    let is_it = |extra: &&Extra| extra.with == ExtraKind::Hooks;
    let client = Client::find("claude-code");
    let extra = client.and_then(|client| extras_of(client.name).iter().find(is_it));
    let text = client.zip(extra).and_then(|(client, extra)| extra_snippet(extra, client, &words));
    let (of_client, own) = (format!("--client {}", "claude-code"), format!("--client {CLIENT}"));
    let text = text.unwrap_or_default().replace(&of_client, &own);
    debug_assert!(
        [HookEvent::SessionStart, HookEvent::Search].iter().all(|event| text.contains(event.name()))
    );
    // Use the usual JSON layout, which people expect in this file.
    serde_json::from_str::<Value>(&text).map(|value| pretty(&value)).unwrap_or_default()
}

fn with(value: &Value, more: &Value) -> Value {
    let fields = [value, more].into_iter().filter_map(Value::as_object).flatten();
    Value::Object(Map::from_iter(fields.map(|(key, value)| (key.clone(), value.clone()))))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

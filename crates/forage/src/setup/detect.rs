//! Detects installed clients by their programs and by the files that they create.

use std::path::PathBuf;

use super::Client;
use crate::config::ClientDirectories;

/// Signs that a client is installed: its programs, and files or directories that it creates.
struct Traces {
    client: &'static str,
    programs: &'static [&'static str],
    files: &'static [&'static str],
}

const fn traces(
    client: &'static str,
    programs: &'static [&'static str],
    files: &'static [&'static str],
) -> Traces {
    Traces { client, programs, files }
}

static TRACES: &[Traces] = &[
    traces("claude-code", &["claude"], &["~/.claude.json", "~/.claude"]),
    traces("cursor", &["cursor", "cursor-agent"], &["~/.cursor"]),
    traces("vscode", &["code"], &["~/.config/Code/User"]),
    traces("codex", &["codex"], &["~/.codex"]),
    traces("zed", &["zed", "zeditor"], &["~/.config/zed"]),
    traces("goose", &["goose"], &["~/.config/goose"]),
    // Check for a file here: Antigravity uses the same directory.
    traces("gemini-cli", &["gemini"], &["~/.gemini/settings.json"]),
    traces("claude-desktop", &["claude-desktop"], &[]),
    traces("copilot", &["copilot"], &["~/.copilot"]),
    traces("qwen", &["qwen"], &["~/.qwen"]),
    traces("opencode", &["opencode"], &["~/.config/opencode"]),
    traces("cline", &["cline"], &["~/.cline"]),
    traces("continue", &["cn"], &["~/.continue"]),
    traces("windsurf", &["windsurf"], &["~/.codeium/windsurf"]),
    traces("kilo", &["kilo", "kilocode"], &["~/.config/kilo", "~/.kilocode"]),
    traces("kimi", &["kimi"], &["~/.kimi-code"]),
    traces("kiro", &["kiro", "kiro-cli"], &["~/.kiro"]),
    traces("junie", &["junie"], &["~/.junie"]),
    traces("antigravity", &["antigravity", "agy"], &["~/.gemini/antigravity"]),
    traces("amp", &["amp"], &["~/.config/amp"]),
    traces("pi", &["pi"], &["~/.pi/agent"]),
    traces("crush", &["crush"], &["~/.config/crush"]),
];

fn find_traces(client: &Client) -> Option<&'static Traces> {
    TRACES.iter().find(|traces| traces.client == client.name)
}

/// Lists the traces of a client in their displayed form.
pub(crate) fn shown(client: &Client) -> Vec<String> {
    let Some(traces) = find_traces(client) else { return Vec::new() };
    let programs = traces.programs.iter().map(|program| format!("`{program}` on the `PATH`"));
    programs.chain(traces.files.iter().map(|file| format!("`{file}`"))).collect()
}

/// Finds the traces of a client. The list is empty if the client is not installed.
pub(crate) fn found(client: &Client, directories: &ClientDirectories) -> Vec<String> {
    let Some(traces) = find_traces(client) else { return Vec::new() };
    let programs = traces.programs.iter().filter(|program| directories.has_program(program));
    let programs = programs.map(|program| format!("`{program}` on the PATH"));
    let files = traces.files.iter().filter_map(|file| directories.resolve(file));
    // A desktop client's directory is where applications keep their settings, so it differs by system.
    let own = client.directory(directories).into_iter();
    let mut files: Vec<PathBuf> = files.chain(own).filter(|path| path.exists()).collect();
    files.dedup();
    programs.chain(files.iter().map(|path| path.display().to_string())).collect()
}

/// Lists the clients that are missing from the table.
#[cfg(test)]
pub(super) fn missing() -> Vec<&'static str> {
    let has_row = |client: &&Client| find_traces(client).is_none();
    super::CLIENTS.iter().filter(has_row).map(|client| client.name).collect()
}

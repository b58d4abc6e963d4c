//! Detects installed clients by their programs and by the files that they create.

use std::path::PathBuf;

use super::Client;
use crate::config::ClientDirectories;

/// The traces of a client: names of programs, and files or directories that it creates.
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
    // Antigravity uses the same directory, so we check for a file.
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

fn of(client: &Client) -> Option<&'static Traces> {
    TRACES.iter().find(|traces| traces.client == client.name)
}

/// Returns the traces of a client in their displayed form.
pub(crate) fn shown(client: &Client) -> Vec<String> {
    let Some(traces) = of(client) else { return Vec::new() };
    let programs = traces.programs.iter().map(|program| format!("`{program}` on the `PATH`"));
    programs.chain(traces.files.iter().map(|file| format!("`{file}`"))).collect()
}

/// Returns the traces that were found of a client; empty if it is not installed.
pub(crate) fn found(client: &Client, directories: &ClientDirectories) -> Vec<String> {
    let Some(traces) = of(client) else { return Vec::new() };
    let programs = traces.programs.iter().filter(|program| directories.has_program(program));
    let programs = programs.map(|program| format!("`{program}` on the PATH"));
    let files = traces.files.iter().filter_map(|file| directories.resolve(file));
    // The directory of a desktop client is where applications keep their settings, which differs by system.
    let own = client.directory(directories).into_iter();
    let mut files: Vec<PathBuf> = files.chain(own).filter(|path| path.exists()).collect();
    files.dedup();
    programs.chain(files.iter().map(|path| path.display().to_string())).collect()
}

/// Returns the clients that are missing from the table.
#[cfg(test)]
pub(super) fn missing() -> Vec<&'static str> {
    let has_row = |client: &&Client| of(client).is_none();
    super::CLIENTS.iter().filter(has_row).map(|client| client.name).collect()
}

//! Asks a client to list its servers. Only this shows if the client really reads our entry.
//!
//! A client that lists its servers may also start them and rewrite its files. In their versions of November
//! 2026, Claude Code, Gemini CLI, Qwen Code, opencode and Kilo started them, and all of these except Gemini
//! CLI rewrote files. So the client must run in an empty home with only Forage's entry, outside of any
//! project.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use forage_base::count;
use forage_tools::{clip, sanitize_line};

use super::{ClientConfig, NAME, SetupScope, created, program};
use crate::config;
use crate::limits::{LISTING_TIME, PROBE_SHOWN_BYTES};
use crate::{child, private_file};

/// The result of asking a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// The client lists the entry. The text is the command line that was run.
    Yes(String),
    /// The client does not list the entry, or lists it as not usable. The texts are the command line and its
    /// output.
    No(String, String),
    /// The client was not asked, for this reason.
    NotAsked(String),
}

/// The variables that are passed on to the client. Any other could lead it to files outside of the empty
/// home.
const HANDED_ON: [&str; 8] =
    ["LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "COMSPEC", "PATHEXT", "WINDIR", "PROGRAMFILES"];

/// The directories in the empty home, each with the variable that must point to it.
const IN_HOME: [(&str, &str); 8] = [
    ("HOME", ""),
    ("USERPROFILE", ""),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("APPDATA", "AppData/Roaming"),
    ("LOCALAPPDATA", "AppData/Local"),
];

/// Turns off updates, telemetry and colours. The last one is for Gemini CLI, which starts servers only in
/// trusted directories.
const SETTINGS: [(&str, &str); 7] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("DO_NOT_TRACK", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("COPILOT_AUTO_UPDATE", "false"),
    ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
];

/// Words that mean that the server on the same line is not usable.
const FAILED: [&str; 7] = ["✗", "✘", "fail", "error", "disabled", "disconnected", "not connected"];

/// Asks the client for its servers. The client's program must be outside of `roots`.
pub(crate) fn listed(site: &ClientConfig, roots: &[&Path]) -> Listed {
    let title = site.client.title;
    if site.scope == SetupScope::Project {
        return Listed::NotAsked(format!("{title} would start everything that the project's files name"));
    }
    let (Some(listing), Some(place)) = (site.client.launch.listing, site.client.place(site.scope)) else {
        return Listed::NotAsked(format!("Forage has no way to ask {title} about this file"));
    };
    let entry = site.entry.clone().unwrap_or_default();
    let command_of_entry = site.client.command_of(&entry).unwrap_or_default();
    let path = config::variables().into_iter().find(|(name, _)| name.eq_ignore_ascii_case("PATH"));
    let path = config::outside(&path.map(|(_, value)| value).unwrap_or_default(), roots);
    let path = std::env::join_paths(path).unwrap_or_default();
    let line = [&[listing.program][..], listing.arguments].concat().join(" ");
    let Ok(found) = program(listing.program, &[("PATH".into(), path.clone())]) else {
        return Listed::NotAsked(format!("`{}` is not on the PATH, so it can't be asked", listing.program));
    };
    // A directory outside of the project may contain a link to a program in it.
    if !config::is_outside(&found, roots) {
        return Listed::NotAsked(format!("`{}` on the PATH is a program of the project", listing.program));
    }
    let failed = |error: std::io::Error| Listed::NotAsked(format!("`{line}` can't be run: {error}"));
    let home = match home(place, &created(site.client, &entry)) {
        Ok(home) => home,
        Err(error) => return failed(error),
    };
    let arguments: Vec<String> = listing.arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let command = child::command(&found, &arguments, &variables(home.path(), path), &home.path().join(EMPTY));
    match child::output(command, LISTING_TIME) {
        Err(error) => failed(error),
        Ok(None) => {
            let time = count(LISTING_TIME.as_secs(), "second");
            Listed::NotAsked(format!("`{line}` did not answer within {time}"))
        }
        Ok(Some((status, text))) if !status.success() => {
            Listed::NotAsked(format!("`{line}` failed ({status}): {}", shown(&text)))
        }
        Ok(Some((_, text))) if lists(&text, &command_of_entry) => Listed::Yes(line),
        Ok(Some((_, text))) => Listed::No(line, shown(&text)),
    }
}

/// The client's working directory inside the empty home.
const EMPTY: &str = "empty";

/// Creates a home with one file and an empty directory.
fn home(place: &str, text: &str) -> std::io::Result<tempfile::TempDir> {
    let home = tempfile::Builder::new().prefix("forage-").tempdir()?;
    private_file::create_directory(&home.path().join(EMPTY))?;
    private_file::replace(&home.path().join(place.trim_start_matches("~/")), text.as_bytes())?;
    Ok(home)
}

fn variables(home: &Path, path: OsString) -> Vec<(OsString, OsString)> {
    let own = config::variables().into_iter();
    let is_handed_on = |name: &OsStr| HANDED_ON.iter().any(|own| name.eq_ignore_ascii_case(own));
    let in_home = IN_HOME.map(|(name, below)| (name.into(), home.join(below).into_os_string()));
    own.filter(|(name, _)| is_handed_on(name))
        .chain(in_home)
        .chain(SETTINGS.map(|(name, value)| (name.into(), value.into())))
        .chain([("PATH".into(), path)])
        .collect()
}

/// Returns true if a line of the client's list begins with the entry's name and does not report a failure.
/// `command` is ignored in that line because its path may contain any word.
fn lists(text: &str, command: &str) -> bool {
    without_colours(text).lines().any(|line| {
        let rest = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '/').strip_prefix(NAME);
        let ends_name = |c: char| !c.is_alphanumeric() && !"-_/.".contains(c);
        let said = line.replace(command, "").to_lowercase();
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(ends_name))
            && !FAILED.iter().any(|word| said.contains(word))
    })
}

/// Removes the terminal's control sequences (`ESC [ … letter`) from a text.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|c| !('@'..='~').contains(&c)).get(1..).unwrap_or("")
    })
}

/// Prepares a client's output for display: one line of limited length, without control characters.
fn shown(text: &str) -> String {
    let line = without_colours(text).split_whitespace().collect::<Vec<_>>().join(" ");
    clip(&sanitize_line(&line), PROBE_SHOWN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lists of the clients in the versions of `tests/clients/real/package.json`, and of Kilo 7.7.7.
    #[test]
    fn entries_are_found_in_the_lists_of_clients() {
        for (text, expected) in [
            ("Checking MCP server health…\n\nforage: /opt/forage mcp - ✔ Connected\n", true),
            ("Checking MCP server health…\n\nforage: /opt/forage mcp - ✘ Failed to connect\n", false),
            ("No MCP servers configured. Use `claude mcp add` to add a server.\n", false),
            (
                "Name    Command      Args  Env  Cwd  Status   Auth\nforage  /opt/forage  mcp   -    -    enabled  Unsupported\n",
                true,
            ),
            (
                "Name    Command      Args  Env  Cwd  Status   Auth\nforage  /opt/forage  mcp   -    -    disabled  Unsupported\n",
                false,
            ),
            (
                "Configured MCP servers:\n\n\u{1b}[32m✓\u{1b}[0m forage: /opt/forage mcp (stdio) - Connected\n",
                true,
            ),
            ("Configured MCP servers:\n\n○ forage: /opt/forage mcp (stdio) - Disabled\n", false),
            (
                "\u{1b}[0m\n┌  MCP Servers\n│\n●  ✓ forage \u{1b}[90mconnected\n│      \u{1b}[90m/opt/forage mcp\n",
                true,
            ),
            ("┌  MCP Servers\n│\n●  ✗ forage \u{1b}[90mfailed\n│      /opt/forage mcp\n", false),
            ("▲  No MCP servers configured\n", false),
            ("User servers:\n  forage (local)\n", true),
            ("Configured MCP servers (/x/cline_mcp_settings.json):\n  forage [stdio]\n", true),
            ("forage-old: /opt/forage mcp - ✔ Connected\n", false),
            ("/opt/forage mcp\n", false),
            ("", false),
        ] {
            assert_eq!(lists(text, "/opt/forage"), expected, "{text}");
        }
        assert!(lists("forage: /errors/forage mcp - ✔ Connected", "/errors/forage"));
    }
}

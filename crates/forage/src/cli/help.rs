//! Arranges the help: the program's help shows commands in groups, and a command's short help shows two
//! examples.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::{StyledStr, Styles};

/// The groups of commands in the program's help. Of all other commands, it shows only the names.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Search", &["grep", "rank", "keyword", "lookup", "files", "list", "read", "ask"]),
    ("Agents", &["setup", "mcp", "ui"]),
    ("Index", &["index"]),
    ("Inspect", &["why", "doctor", "config"]),
    ("Scripts", &["call"]),
];

/// Number of examples in the short help of a command.
const EXAMPLES: usize = 2;

/// Rearranges the help of all commands. This hides commands from clap's own list, so the result should only
/// be used for parsing and for help.
pub(super) fn arranged(commands: Command) -> Command {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = StyledStr::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    for (group, names) in GROUPS {
        let _ = writeln!(text, "{header}{group}:{header:#}");
        for name in names {
            let command = commands.find_subcommand(name);
            let about = command.and_then(Command::get_about).map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<8}{literal:#} {about}");
        }
        let _ = writeln!(text);
    }
    let is_shown = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others: Vec<&str> = commands
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && !is_shown(command.get_name()))
        .map(Command::get_name)
        .collect();
    let _ = writeln!(text, "Also: {}\n\n{{all-args}}{{after-help}}", others.join(", "));
    let short = |command: Command| {
        let Some(long) = command.get_after_long_help().map(ToString::to_string) else {
            return command.hide(true);
        };
        let lines: Vec<&str> =
            long.lines().filter(|line| line.starts_with("  forage")).take(EXAMPLES).collect();
        command.after_help(format!("Examples:\n{}", lines.join("\n"))).hide(true)
    };
    commands.override_usage("forage [OPTIONS] [COMMAND]").help_template(text).mut_subcommands(short)
}

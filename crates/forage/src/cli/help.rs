//! The help of the program: its commands in groups, and two examples of each.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::{StyledStr, Styles};

/// The commands that the help of the program shows. It names all others.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Search", &["grep", "rank", "keyword", "lookup", "files", "list", "read", "ask"]),
    ("Agents", &["setup", "mcp", "ui"]),
    ("Index", &["index", "sparse"]),
    ("Inspect", &["doctor", "config"]),
    ("Scripts", &["call"]),
];

/// Examples that the short help of a command has.
const EXAMPLES: usize = 2;

/// Arranges the help of all commands. Commands are hidden from clap's own list, and so this is for help alone.
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

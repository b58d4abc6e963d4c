//! Generates the page of commands from the help that the program prints.

use std::fmt::Write as _;

use crate::cargo::Workspace;
use crate::generate::escaped;

/// An argument, an option or a subcommand with its description.
type Entry = (String, String);

/// Returns the page with the short help of every command.
pub(crate) fn page(workspace: &Workspace) -> Result<String, String> {
    let mut page = String::from(
        "# Commands\n\n<!-- Written by `cargo xtask generate` from the program; don't edit. -->\n\n\
         `forage help COMMAND` also prints the rare options, and more examples. [Which command?](which.md) helps you to\n\
         choose. Exit status: 0 found, 1 nothing found, 2 an error, 130 interrupted.\n",
    );
    let names = workspace.forage_text(&["man", "--list"])?;
    for name in names.lines() {
        let help = workspace.forage_text(&[name, "-h"])?;
        section(&mut page, name, &help)?;
    }
    let help = workspace.forage_text(&["--help"])?;
    let of_all = part(&help, "Options of every command:").ok_or("the help has no common options")?;
    page.push_str("\n## Options of every command\n");
    table(&mut page, &entries(&format!("Options:\n{of_all}")));
    Ok(page)
}

fn section(page: &mut String, name: &str, help: &str) -> Result<(), String> {
    let lacks = |what: &str| format!("the help of `forage {name}` has no {what}");
    let about = help.lines().next().ok_or_else(|| lacks("description"))?;
    let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).ok_or_else(|| lacks("usage"))?;
    let usage = usage.split_once(' ').map_or(usage, |(_, arguments)| arguments);
    let _ = write!(page, "\n## `forage {name}`\n\n{}. `forage {usage}`\n", escaped(about));
    let own = help.split("\nOptions of every command:").next().unwrap_or(help);
    let entries: Vec<Entry> =
        entries(own).into_iter().filter(|(name, _)| !name.contains("--help") && name != "help").collect();
    table(page, &entries);
    if let Some(examples) = part(help, "Examples:") {
        let examples: Vec<&str> = examples.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let _ = write!(page, "\n```text\n{}\n```\n", examples.join("\n"));
    }
    Ok(())
}

/// Returns the text below a heading, up to the next one.
fn part<'a>(help: &'a str, heading: &str) -> Option<&'a str> {
    let rest = help.split_once(&format!("\n{heading}\n"))?.1;
    let end = rest.match_indices('\n').find(|(at, _)| {
        let next = &rest[at + 1..];
        !next.is_empty() && !next.starts_with([' ', '\n'])
    });
    Some(end.map_or(rest, |(at, _)| &rest[..at]))
}

/// Reads the entries of a help text. A description may begin on the line of its entry, and continues on
/// lines that are indented further.
fn entries(help: &str) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let mut is_list = false;
    for line in help.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if indent == 0 {
            // Only the parts with a heading are lists.
            is_list = text.ends_with(':') || is_list && text.is_empty();
            continue;
        }
        let is_command = indent == 2 && text.starts_with(|c: char| c.is_ascii_lowercase());
        let is_entry = indent <= 6 && text.starts_with(['-', '<', '[']) || is_command;
        match found.last_mut() {
            _ if !is_list => {}
            _ if is_entry => {
                let (name, description) = text.split_once("  ").unwrap_or((text, ""));
                found.push((name.to_owned(), description.trim().to_owned()));
            }
            Some((_, description)) if !text.is_empty() => {
                let space = if description.is_empty() { "" } else { " " };
                let _ = write!(description, "{space}{text}");
            }
            _ => {}
        }
    }
    found
}

fn table(page: &mut String, entries: &[Entry]) {
    if entries.is_empty() {
        return;
    }
    page.push_str("\n| | |\n|---|---|\n");
    for (name, description) in entries {
        let _ = writeln!(page, "| `{name}` | {} |", escaped(description).replace('|', "\\|"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_arguments_options_and_examples() {
        let help = "Find <it>\n\nUsage: forage find [OPTIONS] <NAME>\n\nArguments:\n  <NAME>  Name, which\n          is long\n\n\
            Options:\n  -a, --all     All|each\n      --n <N>\n          Number\n  -h, --help    Print help\n\n\
            Options of every command:\n      --json  JSON\n\nExamples:\n  forage find a    how\n";
        let mut page = String::new();
        section(&mut page, "find", help).unwrap();
        let expected = "\n## `forage find`\n\nFind &lt;it>. `forage find [OPTIONS] <NAME>`\n\n| | |\n|---|---|\n\
            | `<NAME>` | Name, which is long |\n| `-a, --all` | All\\|each |\n| `--n <N>` | Number |\n\n\
            ```text\nforage find a    how\n```\n";
        assert_eq!(page, expected);
        assert_eq!(part(help, "Options of every command:").unwrap().trim(), "--json  JSON");
    }
}

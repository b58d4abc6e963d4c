//! Generates the page on commands from the program's help.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use super::escaped;
use crate::cargo::{Workspace, printed};

/// An argument, an option or a subcommand.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// The heading of the list that contains it.
    heading: String,
    /// Its names, followed by the name of its value.
    name: String,
    about: String,
}

impl Entry {
    /// Returns its first name, without the name of its value.
    fn flag(&self) -> &str {
        self.name.split([',', ' ', '[', '<']).next().unwrap_or(&self.name).trim_end_matches("...")
    }
}

/// The help of a command.
struct Help {
    name: String,
    about: String,
    entries: Vec<Entry>,
}

/// The headings of options that ripgrep does not have.
const OWN_HEADINGS: [&str; 4] = ["Arguments", "Options", "Commands", "Forage's own"];

/// Generates the page with the short help of every command.
pub(crate) fn page(workspace: &Workspace) -> Result<String> {
    let mut page = include_str!("commands.md").to_owned();
    let text = |arguments: &str| printed(&mut workspace.forage(arguments)?);
    let names = text("man --list")?;
    let read = |name: &str| parsed(name, &text(&format!("{name} -h"))?);
    let helps: Vec<Help> = names.lines().map(read).collect::<Result<_, _>>()?;
    let shared = shared(&helps);
    helps.iter().for_each(|help| section(&mut page, help, &shared));
    page.push_str("\n## Options of several commands\n\n| | | |\n|---|---|---|\n");
    for (entry, names) in &shared {
        let about = cell(&entry.about);
        let _ = writeln!(page, "| `{}` | {} | {about} |", entry.name, names.join(", "));
    }
    let help = text("--help")?;
    let of_all = part(&help, "Global options:").context("the help has no common options")?;
    page.push_str("\n## Global options\n");
    table(&mut page, &entries(&format!("Options:\n{of_all}")));
    Ok(page)
}

fn parsed(name: &str, help: &str) -> Result<Help> {
    let about = help.lines().next().with_context(|| format!("`forage {name}` has no description"))?;
    let own = help.split("\nGlobal options:").next().unwrap_or(help);
    let entries: Vec<Entry> =
        entries(own).into_iter().filter(|it| !it.name.contains("--help") && it.name != "help").collect();
    Ok(Help { name: name.to_owned(), about: about.to_owned(), entries })
}

/// Finds the options that several commands share, with the same description. Returns them with the commands'
/// names.
fn shared(helps: &[Help]) -> Vec<(Entry, Vec<&str>)> {
    let mut found: Vec<(Entry, Vec<&str>)> = Vec::new();
    for help in helps {
        for entry in help.entries.iter().filter(|entry| entry.name.starts_with('-')) {
            match found.iter_mut().find(|(known, _)| known.name == entry.name && known.about == entry.about) {
                Some((_, names)) => names.push(&help.name),
                None => found.push((entry.clone(), vec![&help.name])),
            }
        }
    }
    found.retain(|(_, names)| names.len() > 1);
    found
}

fn section(page: &mut String, help: &Help, shared: &[(Entry, Vec<&str>)]) {
    let _ = write!(page, "\n## `forage {}`\n\n{}.\n", help.name, escaped(&help.about));
    let is_shared = |entry: &&Entry| {
        shared.iter().any(|(known, _)| known.name == entry.name && known.about == entry.about)
    };
    let is_own = |entry: &&Entry| OWN_HEADINGS.contains(&entry.heading.as_str());
    let own: Vec<Entry> = help.entries.iter().filter(|it| is_own(it) && !is_shared(it)).cloned().collect();
    table(page, &own);
    let mut headings: Vec<&str> = Vec::new();
    for entry in help.entries.iter().filter(|entry| !is_own(entry)) {
        if !headings.contains(&entry.heading.as_str()) {
            headings.push(&entry.heading);
        }
    }
    if !headings.is_empty() {
        page.push_str("\nThe other options are [ripgrep's](ripgrep.md):\n\n| | |\n|---|---|\n");
    }
    for heading in headings {
        let flags = help.entries.iter().filter(|entry| entry.heading == heading);
        let flags: Vec<String> = flags.map(|entry| format!("`{}`", entry.flag())).collect();
        let _ = writeln!(page, "| {} | {} |", heading.to_lowercase(), flags.join(" "));
    }
    let also: Vec<String> =
        help.entries.iter().filter(is_shared).map(|entry| format!("`{}`", entry.flag())).collect();
    if !also.is_empty() {
        let _ = write!(page, "\n[Common options](#options-of-several-commands): {}.\n", also.join(", "));
    }
}

/// Finds the text below a heading, up to the next heading.
fn part<'a>(help: &'a str, heading: &str) -> Option<&'a str> {
    let rest = help.split_once(&format!("\n{heading}\n"))?.1;
    let end = rest.match_indices('\n').find(|(at, _)| {
        let next = &rest[at + 1..];
        !next.is_empty() && !next.starts_with([' ', '\n'])
    });
    Some(end.map_or(rest, |(at, _)| &rest[..at]))
}

/// Parses the entries of a help text. A description may begin on the same line as its entry. It continues on
/// lines that are indented further.
fn entries(help: &str) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let mut heading = None;
    for line in help.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if indent == 0 {
            // Only parts with a heading are lists.
            heading = text.strip_suffix(':').or(heading.filter(|_| text.is_empty()));
            continue;
        }
        let Some(heading) = heading else { continue };
        let is_command = indent == 2 && text.starts_with(|c: char| c.is_ascii_lowercase());
        let is_entry = indent <= 6 && text.starts_with(['-', '<', '[']) || is_command;
        match found.last_mut() {
            _ if is_entry => {
                let (name, about) = text.split_once("  ").unwrap_or((text, ""));
                let (name, about) = (name.to_owned(), about.trim().to_owned());
                found.push(Entry { heading: heading.to_owned(), name, about });
            }
            Some(entry) if !text.is_empty() => {
                let space = if entry.about.is_empty() { "" } else { " " };
                let _ = write!(entry.about, "{space}{text}");
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
    for entry in entries {
        let _ = writeln!(page, "| `{}` | {} |", entry.name, cell(&entry.about));
    }
}

/// Formats text for a cell of a table.
fn cell(text: &str) -> String {
    escaped(text).replace('|', "\\|").replace("[possible values: ", "[")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_arguments_and_options() {
        let help = "Find <it>\n\nUsage: forage find [OPTIONS] <NAME>\n\nArguments:\n  <NAME>  Name, which\n          is long\n\n\
            Options:\n  -a, --all     All|each [possible values: a, b]\n      --n <N>\n          Number\n  -h, --help    Print help\n\n\
            Files:\n  -u, --unrestricted...  More\n      --code[=<TOKENS>]  Code\n\n\
            Global options:\n      --json  JSON\n\nExamples:\n  forage find a    how\n";
        let helps = [
            parsed("find", help).unwrap(),
            parsed("seek", "Seek\n\nOptions:\n      --n <N>  Number\n").unwrap(),
        ];
        let shared = shared(&helps);
        assert_eq!(shared[0].1, ["find", "seek"]);
        let mut page = String::new();
        section(&mut page, &helps[0], &shared);
        let expected = "\n## `forage find`\n\nFind &lt;it>.\n\n| | |\n|---|---|\n\
            | `<NAME>` | Name, which is long |\n| `-a, --all` | All\\|each [a, b] |\n\n\
            The other options are [ripgrep's](ripgrep.md):\n\n| | |\n|---|---|\n| files | `-u` `--code` |\n\n\
            [Common options](#options-of-several-commands): `--n`.\n";
        assert_eq!(page, expected);
        assert_eq!(part(help, "Global options:").unwrap().trim(), "--json  JSON");
    }
}

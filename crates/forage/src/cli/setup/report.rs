//! Formats the output of `forage setup CLIENT`. It shows Forage's own lines. Of everything else in a client's
//! file, it may show names but never values.

use std::fmt::Write as _;

use super::{EntryTest, Setup, SetupOutcome};
use crate::config;
use crate::setup::{
    Addition, ClientConfig, ClientState, Extension, ExtraKind, FileChange, FileFormat, NAME, SetupRefusal,
    SetupScope, entry_lines, hooks_remark,
};

/// Maximum number of other servers to list around the entry.
const NEIGHBOURS: usize = 8;

pub(super) fn report(setup: &Setup, site: &ClientConfig, done: &SetupOutcome) -> anyhow::Result<String> {
    let mut text = String::new();
    let is_only_beside = setup.is_removal && !setup.with.is_empty();
    let change = &done.entry;
    if !is_only_beside || *change != FileChange::None {
        report_entry(&mut text, setup, site, done, change)?;
    }
    for (addition, change) in &done.additions {
        if let Ok(change) = change {
            report_addition(&mut text, setup, site, addition, change)?;
        }
    }
    for with in &done.lacking {
        writeln!(text, "{}.", setup.unsupported(site.client, *with))?;
    }
    let is_change = |change: &FileChange| *change != FileChange::None;
    let changes = done.additions.iter().filter_map(|(_, change)| change.as_ref().ok());
    let would_write = is_change(change) || changes.clone().any(is_change);
    if text.is_empty() {
        writeln!(text, "{}: nothing to do", site.client.title)?;
    }
    if would_write && !setup.is_written {
        writeln!(text, "\nNothing has been written. To apply the changes, run {}.", how_phrase(setup, site))?;
    }
    if site.scope == SetupScope::Project && setup.words.command == NAME && !setup.is_removal {
        let here = if config::this_program().is_ok_and(|(_, is_found)| is_found) {
            ""
        } else {
            "; on yours, it is missing or is another program"
        };
        writeln!(
            text,
            "\nEveryone who opens the project shares this file, so `{NAME}` must be on everyone's PATH{here}."
        )?;
    }
    // Tell the user that hooks only run once they are approved.
    if let Some(remark) = hooks_remark(site.client.name).filter(|_| setup.puts_in(ExtraKind::Hooks)) {
        writeln!(text, "\n{remark}")?;
    }
    if let Some(remark) = site.client.remark.filter(|_| is_change(change) && !setup.is_removal) {
        writeln!(text, "\n{remark}")?;
    }
    Ok(text)
}

fn report_entry(
    text: &mut String,
    setup: &Setup,
    site: &ClientConfig,
    done: &SetupOutcome,
    change: &FileChange,
) -> std::fmt::Result {
    let (title, path) = (site.client.title, site.path.display());
    match change {
        FileChange::None if matches!(site.state, ClientState::SetUp { .. }) => {
            return writeln!(text, "{title} is set up already: {path}");
        }
        FileChange::None => {
            return writeln!(text, "{title} is not set up: there is no entry `{NAME}` in {path}");
        }
        change => writeln!(text, "{title}: {} {path}\n", verb(change, "the entry", setup.is_written))?,
    }
    let is_there = |extension: &&Extension| site.has(extension);
    let present: Vec<&Extension> = done.extensions.iter().filter(is_there).collect();
    let all: Vec<&Extension> = done.extensions.iter().collect();
    match (change, &site.state) {
        (FileChange::Remove(_) | FileChange::Delete, ClientState::SetUp { command }) => {
            write_lines(text, site, change, '-', &entry_lines(site.client, command, &present))
        }
        (FileChange::Update(_), ClientState::SetUp { command }) => {
            let new = match setup.is_removal {
                true => entry_lines(site.client, command, &[]),
                false => entry_lines(site.client, &setup.words.command, &all),
            };
            write_lines(text, site, change, '-', &entry_lines(site.client, command, &present))?;
            write_lines(text, site, change, '+', &new)
        }
        _ => write_lines(text, site, change, '+', &entry_lines(site.client, &setup.words.command, &all)),
    }
}

fn report_addition(
    text: &mut String,
    setup: &Setup,
    site: &ClientConfig,
    addition: &Addition,
    change: &FileChange,
) -> std::fmt::Result {
    let (title, with, path) = (site.client.title, addition.extra.with.name(), addition.path.display());
    if *change == FileChange::None {
        return match (setup.is_removal, setup.with.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => writeln!(text, "{title}, {with}: not in {path}"),
            (false, _) => writeln!(text, "{title}, {with}: already in {path}"),
        };
    }
    if !text.is_empty() {
        writeln!(text)?;
    }
    writeln!(text, "{title}, {with}: {} {path}\n", verb(change, "it", setup.is_written))?;
    let sign = if setup.is_removal { '-' } else { '+' };
    for (is_own, line) in addition.shown(&setup.words) {
        writeln!(text, "{} {line}", if is_own { sign } else { ' ' })?;
    }
    Ok(())
}

/// Words a change so that the path of the file can follow.
fn verb(change: &FileChange, what: &str, is_done: bool) -> String {
    let (done, planned, preposition) = match change {
        FileChange::Create(_) => ("created", "create", ""),
        FileChange::Delete => ("removed", "remove", ""),
        FileChange::Add(_) => ("added", "add", "to"),
        FileChange::Update(_) => ("updated", "update", "in"),
        FileChange::Remove(_) => ("removed", "remove", "from"),
        FileChange::None => ("left", "leave", ""),
    };
    let verb = if is_done { done.to_owned() } else { format!("would {planned}") };
    match preposition {
        "" => verb,
        preposition => format!("{verb} {what} {preposition}"),
    }
}

/// Writes the entry's lines, each with a sign. Of the existing lines around them, this shows only the names.
fn write_lines(
    text: &mut String,
    site: &ClientConfig,
    change: &FileChange,
    sign: char,
    lines: &[String],
) -> std::fmt::Result {
    let is_whole = matches!(change, FileChange::Create(_) | FileChange::Delete);
    // Of the lines, this many at the top and at the bottom are context.
    let (above, below) = match (site.client.format, is_whole, site.has_section) {
        (_, true, _) | (FileFormat::Toml | FileFormat::Skill, ..) | (FileFormat::Yaml, _, false) => (0, 0),
        (FileFormat::Json, _, true) => (2, 2),
        (FileFormat::Json, _, false) => (1, 1),
        (FileFormat::Yaml, _, true) => (1, 0),
    };
    // We add a JSON member before the others, but a block of lines after them.
    let is_first = site.client.format == FileFormat::Json;
    let neighbours = if is_first { lines.len() - below } else { above };
    for (number, line) in lines.iter().enumerate() {
        if number == neighbours && site.has_section && !is_whole {
            write_neighbours(text, site)?;
        }
        let is_context = number < above || number >= lines.len() - below;
        writeln!(text, "{} {line}", if is_context { ' ' } else { sign })?;
    }
    Ok(())
}

fn write_neighbours(text: &mut String, site: &ClientConfig) -> std::fmt::Result {
    for name in site.neighbours.iter().take(NEIGHBOURS) {
        match site.client.format {
            FileFormat::Json => writeln!(text, "      {}: …", serde_json::Value::from(name.as_str()))?,
            FileFormat::Toml => writeln!(text, "  [{}.{name}] …", site.client.section())?,
            FileFormat::Yaml if site.client.is_list() => writeln!(text, "    - name: {name} …")?,
            FileFormat::Yaml => writeln!(text, "    {name}: …")?,
            FileFormat::Skill => {}
        }
    }
    match site.neighbours.len().saturating_sub(NEIGHBOURS) {
        0 => Ok(()),
        rest => writeln!(text, "      … and {rest} more"),
    }
}

fn how_phrase(setup: &Setup, site: &ClientConfig) -> String {
    let scope = if site.scope == SetupScope::Project { " --scope project" } else { "" };
    let option = if setup.is_removal { "--remove" } else { "--write" };
    let names: Vec<&str> = setup.with.iter().map(|with| with.name()).collect();
    let with = match (setup.names_all, names.is_empty()) {
        (true, _) => " --with all".to_owned(),
        (false, true) => String::new(),
        (false, false) => format!(" --with {}", names.join(",")),
    };
    format!("`forage setup {}{scope}{}{with} {option}`", site.client.name, setup.repeated)
}

/// Formats a table of the clients, with the steps that the user must still take.
pub(super) fn table(rows: &[(&str, EntryTest)]) -> String {
    let Some(title_width) = rows.iter().map(|(title, _)| title.chars().count()).max() else {
        return String::new();
    };
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or_default();
    let state_width = width(&mut rows.iter().map(|(_, tried)| tried.state.chars().count()));
    let mut text = format!("{:<title_width$}  {:<state_width$}  still needs\n", "client", "state");
    for (title, tried) in rows {
        let needs = if tried.needs.is_empty() { "-".to_owned() } else { tried.needs.join(", ") };
        text.push_str(&format!("{title:<title_width$}  {:<state_width$}  {needs}\n", tried.state));
    }
    let is_extra = |need: &String| ["permission", "variables"].contains(&need.as_str());
    if rows.iter().any(|(_, tried)| tried.needs.iter().any(is_extra)) {
        text.push_str("`--with permission` and `--with variables` add these.\n");
    }
    text
}

/// Creates the error for a file that can't be changed. It shows how to make the change by hand.
pub(super) fn refused(
    site: &ClientConfig,
    is_removal: bool,
    refusal: &SetupRefusal,
    snippet: &str,
) -> anyhow::Error {
    let path = site.path.display();
    if is_removal {
        return anyhow::anyhow!("{path} is left unchanged: {refusal}");
    }
    let what = match site.client.format {
        FileFormat::Json => "merge this into the file",
        FileFormat::Toml | FileFormat::Yaml | FileFormat::Skill => "add this to the file",
    };
    anyhow::anyhow!("{path} is left unchanged: {refusal}\nTo do it by hand, {what}:\n\n{snippet}")
}

//! `forage setup`: writes Forage into the configuration of a client, or shows what it would write.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use forage_fs::find_git_root;
use forage_tools::sanitize;
use serde_json::{Value, json};

use super::output::Output;
use super::{Global, Status};
use crate::config::{self, ClientDirectories};
use crate::setup::{CLIENTS, Change, Client, Format, NAME, Refusal, Scope, Site, State, snippet};

/// Other servers that are named beside the entry.
const NEIGHBOURS: usize = 8;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Clients: claude-code, claude-desktop, codex, cursor, vscode, copilot, gemini-cli, qwen, opencode, cline, \
                        windsurf, kilo, kiro, junie, zed, goose, antigravity, amp, crush. Without one, all of them are listed \
                        with their files; in any other client, the command is `forage mcp`.\nOnly Forage's own entry is written, every other byte of the file \
                        stays; `--remove` gives the file back as it was."
)]
pub(crate) struct Arguments {
    /// The client to set up
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)), hide_possible_values = true)]
    client: Option<String>,
    /// Write the file; without it, what would be written is shown
    #[arg(long)]
    write: bool,
    /// Take Forage's entry out of the file again, and nothing else
    #[arg(long, conflicts_with = "write")]
    remove: bool,
    /// Only show what --remove would do
    #[arg(long, conflicts_with = "write")]
    dry_run: bool,
    /// Whose file [default: user]
    #[arg(long, value_name = "SCOPE", value_enum)]
    scope: Option<Scope>,
    /// The command that the client runs [default: `forage` if that is this program on the PATH, else its absolute
    /// path]
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let command = match &arguments.command {
        Some(command) => command.clone(),
        None => default_command()?,
    };
    let directories = ClientDirectories::find();
    let project = project(global)?;
    let Some(name) = &arguments.client else {
        if arguments.write || arguments.remove {
            bail!("which client? Name one of those that `forage setup` lists");
        }
        return overview(&command, &directories, &project, output);
    };
    let client = Client::find(name).with_context(|| format!("there is no client {name}"))?;
    let scope = arguments.scope.unwrap_or(Scope::User);
    if client.place(scope).is_none() {
        bail!("{} has no configuration file for a project; leave --scope out", client.title);
    }
    let site = Site::find(client, scope, &directories, &project).with_context(|| {
        format!("there is no telling where {} keeps its file: HOME is not set", client.title)
    })?;
    let change = if arguments.remove { site.remove() } else { site.add(&command) };
    let is_written = (arguments.write || arguments.remove) && !arguments.dry_run;
    let done = change.and_then(|change| {
        if is_written {
            site.apply(&change)?;
        }
        Ok(change)
    });
    let change = done.map_err(|refusal| refused(&site, &command, arguments.remove, &refusal))?;
    if output.wants_json() {
        output.value(&record(&site, &change, is_written, &command))?;
    } else {
        output.text(&sanitize(&report(&site, &change, is_written, &command)?))?;
        output.flush()?;
    }
    Ok(Status::Found)
}

/// The sites of all clients, for whoever tells where Forage is set up.
pub(crate) fn sites(global: &Global) -> anyhow::Result<Vec<Site>> {
    let (directories, project) = (ClientDirectories::find(), project(global)?);
    Ok(all_sites(&directories, &project))
}

fn all_sites(directories: &ClientDirectories, project: &Path) -> Vec<Site> {
    let scopes = |client| Scope::ALL.into_iter().map(move |scope| (client, scope));
    let pairs = CLIENTS.iter().flat_map(scopes);
    pairs.filter_map(|(client, scope)| Site::find(client, scope, directories, project)).collect()
}

/// `forage` where that is this program, else where this program is.
fn default_command() -> anyhow::Result<String> {
    let (program, is_found) = config::this_program()?;
    if is_found {
        return Ok(NAME.to_owned());
    }
    let text = program.to_str().map(str::to_owned);
    text.with_context(|| format!("{} is not UTF-8; give the command with --command", program.display()))
}

/// The project of a project's file.
fn project(global: &Global) -> anyhow::Result<PathBuf> {
    let working = config::working_directory()?;
    Ok(match global.root.first() {
        Some(root) => working.join(root),
        None => find_git_root(&working).unwrap_or(working),
    })
}

/// How things stand, in a few words.
pub(crate) fn state_words(state: &State) -> String {
    match state {
        State::Absent { exists: true } => "not set up".to_owned(),
        State::Absent { exists: false } => "not set up, no file yet".to_owned(),
        State::SetUp { command } => format!("set up, runs {command}"),
        State::Foreign => format!("has an entry `{NAME}` that Forage did not write"),
        State::Unclear(refusal) => format!("not understood: {refusal}"),
    }
}

/// One word for records.
pub(crate) fn state_name(state: &State) -> &'static str {
    match state {
        State::Absent { .. } => "absent",
        State::SetUp { .. } => "set_up",
        State::Foreign => "foreign",
        State::Unclear(_) => "not_understood",
    }
}

fn overview(
    command: &str,
    directories: &ClientDirectories,
    project: &Path,
    output: &mut Output,
) -> anyhow::Result<Status> {
    let sites = all_sites(directories, project);
    if output.wants_json() {
        let client = |client: &'static Client| {
            let sites = sites.iter().filter(|site| site.client.name == client.name);
            json!({
                "client": client.name,
                "title": client.title,
                "format": client.format.name(),
                "user_file": client.place(Scope::User),
                "project_file": client.place(Scope::Project),
                "snippet": snippet(client, command),
                "remark": client.remark,
                "tried": client.tried(),
                "files": sites.map(site_record).collect::<Vec<_>>(),
            })
        };
        output.value(&CLIENTS.iter().map(client).collect::<Vec<Value>>().into())?;
        return Ok(Status::Found);
    }
    let mut text = String::new();
    for client in CLIENTS {
        writeln!(text, "{:<12} {}", client.name, client.title)?;
        for site in sites.iter().filter(|site| site.client.name == client.name) {
            writeln!(
                text,
                "  {:<8} {}: {}",
                site.scope.name(),
                site.path.display(),
                state_words(&site.state)
            )?;
        }
    }
    writeln!(text, "\n`forage setup CLIENT` shows what it would write; with --write it does.")?;
    output.text(&sanitize(&text))?;
    output.flush()?;
    Ok(Status::Found)
}

/// A file with how things stand in it.
pub(crate) fn site_record(site: &Site) -> Value {
    json!({
        "scope": site.scope.name(),
        "file": site.path.display().to_string(),
        "state": state_name(&site.state),
        "command": match &site.state {
            State::SetUp { command } => Some(command),
            _ => None,
        },
        "problem": match &site.state {
            State::Foreign => Some(state_words(&site.state)),
            State::Unclear(refusal) => Some(refusal.to_string()),
            _ => None,
        },
    })
}

fn record(site: &Site, change: &Change, is_written: bool, command: &str) -> Value {
    json!({
        "client": site.client.name,
        "title": site.client.title,
        "scope": site.scope.name(),
        "file": site.path.display().to_string(),
        "section": site.client.section(),
        "state_before": state_name(&site.state),
        "change": change.name(),
        "written": is_written && *change != Change::None,
        "entry": site.client.entry(command),
        "other_servers": site.neighbours,
    })
}

fn report(site: &Site, change: &Change, is_written: bool, command: &str) -> anyhow::Result<String> {
    let (title, path) = (site.client.title, site.path.display());
    let mut text = String::new();
    let said = |done: &str, planned: &str| if is_written { done.to_owned() } else { planned.to_owned() };
    match change {
        Change::None if matches!(site.state, State::SetUp { .. }) => {
            writeln!(text, "{title} is set up already: {path}")?;
            return Ok(text);
        }
        Change::None => {
            writeln!(text, "{title} is not set up: there is no entry `{NAME}` in {path}")?;
            return Ok(text);
        }
        Change::Create(_) => writeln!(text, "{title}: {} {path}", said("created", "would create"))?,
        Change::Add(_) => {
            writeln!(text, "{title}: {} {path}", said("added an entry to", "would add an entry to"))?
        }
        Change::Update(_) => {
            writeln!(text, "{title}: {} {path}", said("updated the entry in", "would update the entry in"))?;
        }
        Change::Remove(_) => {
            writeln!(
                text,
                "{title}: {} {path}",
                said("removed the entry from", "would remove the entry from")
            )?;
        }
        Change::Delete => {
            writeln!(text, "{title}: {} {path}", said("removed", "would remove"))?;
        }
    }
    let (sign, command) = match (change, &site.state) {
        (Change::Remove(_) | Change::Delete, State::SetUp { command }) => ('-', command.as_str()),
        _ => ('+', command),
    };
    writeln!(text)?;
    if let (Change::Update(_), State::SetUp { command }) = (change, &site.state) {
        write_lines(&mut text, site, change, '-', command)?;
    }
    write_lines(&mut text, site, change, sign, command)?;
    if !is_written {
        writeln!(text, "\nNothing is written. {} does it.", said_how(site, change))?;
    }
    if let Some(remark) = site.client.remark.filter(|_| sign == '+') {
        writeln!(text, "\n{remark}")?;
    }
    Ok(text)
}

/// The entry's lines with a sign, and around them what is there already: names, never values.
fn write_lines(
    text: &mut String,
    site: &Site,
    change: &Change,
    sign: char,
    command: &str,
) -> std::fmt::Result {
    let snippet = snippet(site.client, command);
    let lines: Vec<&str> = snippet.lines().collect();
    let is_whole = matches!(change, Change::Create(_) | Change::Delete);
    // Lines of the surroundings above and below the entry.
    let (above, below) = match (site.client.format, is_whole, site.has_section) {
        (_, true, _) | (Format::Toml, ..) | (Format::Yaml, _, false) => (0, 0),
        (Format::Json, _, true) => (2, 2),
        (Format::Json, _, false) => (1, 1),
        (Format::Yaml, _, true) => (1, 0),
    };
    for (number, line) in lines.iter().enumerate() {
        if number == above && site.has_section && !is_whole {
            write_neighbours(text, site)?;
        }
        let is_context = number < above || number >= lines.len() - below;
        writeln!(text, "{} {line}", if is_context { ' ' } else { sign })?;
    }
    Ok(())
}

fn write_neighbours(text: &mut String, site: &Site) -> std::fmt::Result {
    for name in site.neighbours.iter().take(NEIGHBOURS) {
        match site.client.format {
            Format::Json => writeln!(text, "      {}: …", Value::from(name.as_str()))?,
            Format::Toml => writeln!(text, "  [{}.{name}] …", site.client.section())?,
            Format::Yaml => writeln!(text, "    {name}: …")?,
        }
    }
    match site.neighbours.len().saturating_sub(NEIGHBOURS) {
        0 => Ok(()),
        rest => writeln!(text, "      … and {rest} more"),
    }
}

fn said_how(site: &Site, change: &Change) -> String {
    let scope = if site.scope == Scope::Project { " --scope project" } else { "" };
    let option = if matches!(change, Change::Remove(_) | Change::Delete) { "--remove" } else { "--write" };
    format!("`forage setup {}{scope} {option}`", site.client.name)
}

/// The error for a file that is left as it is, with what there is to do by hand.
fn refused(site: &Site, command: &str, is_removal: bool, refusal: &Refusal) -> anyhow::Error {
    let path = site.path.display();
    if is_removal {
        return anyhow::anyhow!("{path} is left as it is: {refusal}");
    }
    let what = match site.client.format {
        Format::Json => "what has to stand in it, merged with what does",
        Format::Toml | Format::Yaml => "what has to stand in it",
    };
    anyhow::anyhow!(
        "{path} is left as it is: {refusal}\nBy hand, this is {what}:\n\n{}",
        snippet(site.client, command)
    )
}
